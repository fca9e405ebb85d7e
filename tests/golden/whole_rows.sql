-- The name of a table in FROM is its row as a struct, where no column has that name.
CREATE TABLE sale (id INTEGER, city VARCHAR);
INSERT INTO sale VALUES (1, 'Oslo'), (2, 'Lyon'), (3, NULL);
SELECT sale FROM sale ORDER BY id;
-- {'id': 1, 'city': 'Oslo'}
-- {'id': 2, 'city': 'Lyon'}
-- {'id': 3, 'city': None}
SELECT s, s.id FROM sale AS s ORDER BY s DESC;
-- {'id': 3, 'city': None} | 3
-- {'id': 2, 'city': 'Lyon'} | 2
-- {'id': 1, 'city': 'Oslo'} | 1
SELECT typeof(s) FROM sale AS s LIMIT 1;
-- 'STRUCT(id INTEGER, city VARCHAR)'
SELECT sale.id FROM sale WHERE sale = {'id': 1, 'city': 'Oslo'};
-- 1
SELECT to_json(s) FROM (SELECT id, city FROM sale WHERE id < 3) AS s ORDER BY s.id;
-- '{"id":1,"city":"Oslo"}'
-- '{"id":2,"city":"Lyon"}'
SELECT s, count(*) FROM sale AS s, sale AS t GROUP BY s ORDER BY s;
-- {'id': 1, 'city': 'Oslo'} | 3
-- {'id': 2, 'city': 'Lyon'} | 3
-- {'id': 3, 'city': None} | 3
SELECT list(s ORDER BY s.id) FROM sale AS s;
-- [{'id': 1, 'city': 'Oslo'}, {'id': 2, 'city': 'Lyon'}, {'id': 3, 'city': None}]
SELECT s FROM sale AS s LEFT JOIN sale AS t ON s.id = t.id + 2 ORDER BY t DESC LIMIT 1;
-- {'id': 1, 'city': 'Oslo'}
SELECT unnest(s) FROM sale AS s WHERE id = 2;
-- 2 | 'Lyon'

-- Columns come first, and aliases.
SELECT city FROM sale AS city ORDER BY id LIMIT 1;
-- 'Oslo'
SELECT id + 1 AS sale FROM sale ORDER BY sale DESC;
-- 4
-- 3
-- 2
SELECT (SELECT max(x) FROM (VALUES (5)) AS id (x) WHERE x > id) FROM sale ORDER BY id LIMIT 1;
-- 5

-- A column may have the name of its table, and fields.
SELECT s.a FROM (SELECT {'a': 7} AS s, 8 AS b) AS s;
-- 7
SELECT s.k, s.b FROM (SELECT MAP {'k': 9} AS s, 8 AS b) AS s;
-- 9 | 8

-- Errors.
SELECT sale FROM sale AS s;
-- error: ProgrammingError: column 'sale' does not exist in 's' (line 1, column 8)
SELECT sale.town FROM sale;
-- error: ProgrammingError: column 'town' does not exist in 'sale' (line 1, column 8)
SELECT s FROM (SELECT 1 AS a, 2 AS a) AS s;
-- error: ProgrammingError: a struct of 's' has two fields named 'a' (line 1, column 8)
SELECT s, count(*) FROM sale AS s GROUP BY s.id;
-- error: ProgrammingError: column 'city' must be in GROUP BY or inside an aggregate
SELECT s + 1 FROM sale AS s;
-- error: ProgrammingError: cannot add 1 (INTEGER) to an expression (STRUCT(id INTEGER, city VARCHAR)) (line 1, column 8)

-- A derived table does not see the tables beside it first; a subquery sees the columns around it first.
SELECT * FROM (SELECT sale FROM sale WHERE id = 1) AS a JOIN (SELECT sale AS other FROM sale) AS b ON a.sale = b.other;
-- {'id': 1, 'city': 'Oslo'} | {'id': 1, 'city': 'Oslo'}
SELECT (SELECT city FROM (VALUES (5)) AS city (x)) FROM sale ORDER BY id LIMIT 1;
-- 'Oslo'
SELECT (SELECT max(x + 1) AS n FROM (VALUES (5)) AS n (x) ORDER BY n) FROM sale LIMIT 1;
-- 6
SELECT r FROM range(2) AS r;
-- 0
-- 1
SELECT g FROM generate_series(1, 2) AS g;
-- 1
-- 2
SELECT v FROM (VALUES (1)) AS v;
-- {'column1': 1}
