CREATE TABLE t (id INTEGER, price_net INTEGER, price_gross INTEGER, "Odd Name" INTEGER);
INSERT INTO t VALUES (1, 2, 3, 4), (5, 6, 7, 8);

SELECT COLUMNS('price_.*') FROM t;
-- 2 | 3
-- 6 | 7
SELECT COLUMNS('d') FROM t;
-- 1 | 4
-- 5 | 8
SELECT max(COLUMNS('price')) - min(COLUMNS('price')), count(*) FROM t;
-- 4 | 4 | 2
SELECT COLUMNS(*) + 1 FROM t;
-- 2 | 3 | 4 | 5
-- 6 | 7 | 8 | 9
SELECT sum(COLUMNS(* EXCLUDE (id))) FROM t;
-- 8 | 10 | 12
SELECT a.id, COLUMNS('^id$') FROM t AS a, t AS b WHERE a.id < b.id;
-- 1 | 1 | 5
DESCRIBE SELECT max(COLUMNS('net|Odd')) FROM t;
-- 'max("Odd Name")' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'max(price_net)' | 'INTEGER' | 'YES' | NULL | NULL | NULL

-- A list of names, and conditions on them.
SELECT COLUMNS(['Odd Name', 'ID']) FROM t;
-- 1 | 4
-- 5 | 8
SELECT COLUMNS(name -> name LIKE 'price%' AND name <> 'price_net') FROM t;
-- 3
-- 7
SELECT sum(COLUMNS(lambda name: length(name) > 8)) FROM t;
-- 8 | 10
SELECT * LIKE 'price%' FROM t;
-- 2 | 3
-- 6 | 7
SELECT * NOT LIKE 'price%' FROM t;
-- 1 | 4
-- 5 | 8
SELECT * ILIKE 'PRICE%' FROM t;
-- 2 | 3
-- 6 | 7
SELECT * EXCLUDE (price_net) SIMILAR TO '(price|Odd)%' FROM t;
-- 3 | 4
-- 7 | 8
SELECT * GLOB 'p*t' FROM t;
-- 2
-- 6
SELECT COLUMNS(* ILIKE 'PRICE_N%') + 1 FROM t;
-- 3
-- 7
SELECT COLUMNS(* LIKE 'price%') + 1 FROM t;
-- 3 | 4
-- 7 | 8

-- An error names what is wrong.
SELECT COLUMNS(['id', 'weight']) FROM t;
-- error: ProgrammingError: column 'weight' does not exist in 't' (line 1, column 23)
SELECT COLUMNS([1]) FROM t;
-- error: ProgrammingError: the list of COLUMNS has names in quotes
SELECT COLUMNS(name -> name = 'weight') FROM t;
-- error: ProgrammingError: no column is one of columns(lambda name: name = 'weight') (line 1, column 31)
SELECT COLUMNS(name -> weight LIKE 'a') FROM t;
-- error: NotSupportedError: COLUMNS takes *, a regular expression in quotes, a list of names or a condition, as in COLUMNS(name -> name LIKE 'a%')
SELECT * REPLACE (1 AS id) ILIKE 'i%' FROM t;
-- error: NotSupportedError: REPLACE is not supported
SELECT * LIKE id FROM t;
-- error: ProgrammingError: column 'id' does not exist (line 1, column 15)
SELECT COLUMNS('weight') FROM t;
-- error: ProgrammingError: no column is one of columns('weight') (line 1, column 16)
SELECT COLUMNS(* EXCLUDE (weight)) FROM t;
-- error: ProgrammingError: EXCLUDE names 'weight', no column of * (line 1, column 27)
SELECT COLUMNS('(') FROM t;
-- error: DataError: '(' is not a valid regular expression: missing )
SELECT COLUMNS('net') / COLUMNS('gross') FROM t;
-- error: NotSupportedError: different COLUMNS(...) in one expression are not supported
SELECT COLUMNS(id) FROM t;
-- error: NotSupportedError: COLUMNS takes *, a regular expression in quotes, a list of names or a condition, as in COLUMNS(name -> name LIKE 'a%')

-- In a condition all of them, in an order one after the other; of one table with its name.
SELECT id FROM t WHERE COLUMNS('price') > 2;
-- 5
SELECT id FROM t WHERE COLUMNS('Odd|gross') > 2;
-- 1
-- 5
SELECT id FROM t WHERE COLUMNS(*) < 5 OR id = 5;
-- 1
-- 5
SELECT id, sum(price_net) FROM t GROUP BY ALL HAVING sum(COLUMNS('price')) > 2;
-- 5 | 6
SELECT id FROM t QUALIFY row_number() OVER (ORDER BY COLUMNS('price') DESC) = 1;
-- 5
SELECT id FROM t ORDER BY COLUMNS(['price_net', 'id']) DESC;
-- 5
-- 1
SELECT id FROM t ORDER BY -COLUMNS('net');
-- 5
-- 1
SELECT COLUMNS(a.*) FROM t AS a, t AS b WHERE a.id < b.id;
-- 1 | 2 | 3 | 4
SELECT max(COLUMNS(b.*)) FROM t AS a, t AS b WHERE a.id < b.id;
-- 5 | 6 | 7 | 8
SELECT id FROM t WHERE COLUMNS('weight') > 2;
-- error: ProgrammingError: no column is one of columns('weight') (line 1, column 32)
SELECT id FROM t WHERE COLUMNS('price') > weight;
-- error: ProgrammingError: column 'weight' does not exist in 't' (line 1, column 43)
SELECT id FROM t ORDER BY COLUMNS('weight');
-- error: ProgrammingError: no column is one of columns('weight') (line 1, column 35)
SELECT COLUMNS(c.*) FROM t;
-- error: ProgrammingError: table 'c' is not in FROM (line 1, column 16)

-- A query inside has columns of its own.
SELECT (SELECT max(COLUMNS('net')) FROM t AS b WHERE b.id > a.id) AS m FROM t AS a ORDER BY m;
-- 6
-- NULL
SELECT id FROM t WHERE price_net IN (SELECT COLUMNS('net') FROM t AS b WHERE COLUMNS('id|net') > 1);
-- 5
