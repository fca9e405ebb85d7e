CREATE TABLE t (i INTEGER, m DECIMAL(6, 2), x DOUBLE, s VARCHAR, d DATE, b BOOLEAN, n INTEGER);

INSERT INTO t VALUES
  (1, 1.5, 0.5, 'a', '2026-05-01', true, NULL), (2, 2.5, 1, 'b', '2026-05-02', false, NULL),
  (3, NULL, 1.5, 'b', NULL, true, NULL), (NULL, 4, 2, NULL, '2026-05-09', true, NULL);

SUMMARIZE t;
-- 'b' | 'BOOLEAN' | 'false' | 'true' | 2 | NULL | NULL | NULL | NULL | NULL | 4 | 0.00
-- 'd' | 'DATE' | '2026-05-01' | '2026-05-09' | 3 | NULL | NULL | '2026-05-01' | '2026-05-02' | '2026-05-09' | 4 | 25.00
-- 'i' | 'INTEGER' | '1' | '3' | 3 | '2.0' | '1.0' | '1' | '2' | '3' | 4 | 25.00
-- 'm' | 'DECIMAL(6,2)' | '1.50' | '4.00' | 3 | '2.6666666666666665' | '1.2583057392117916' | '1.50' | '2.50' | '4.00' | 4 | 25.00
-- 'n' | 'INTEGER' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 4 | 100.00
-- 's' | 'VARCHAR' | 'a' | 'b' | 2 | NULL | NULL | NULL | NULL | NULL | 4 | 25.00
-- 'x' | 'DOUBLE' | '0.5' | '2.0' | 4 | '1.25' | '0.6454972243679028' | '0.5' | '1.0' | '1.5' | 4 | 0.00

DESCRIBE t;
-- 'b' | 'BOOLEAN' | 'YES' | NULL | NULL | NULL
-- 'd' | 'DATE' | 'YES' | NULL | NULL | NULL
-- 'i' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'm' | 'DECIMAL(6,2)' | 'YES' | NULL | NULL | NULL
-- 'n' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 's' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'x' | 'DOUBLE' | 'YES' | NULL | NULL | NULL

SUMMARIZE SELECT i * 2 AS twice FROM t WHERE i IS NOT NULL;
-- 'twice' | 'INTEGER' | '2' | '6' | 3 | '4.0' | '2.0' | '2' | '4' | '6' | 3 | 0.00

SUMMARIZE SELECT * FROM t WHERE i > 99;
-- 'b' | 'BOOLEAN' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'd' | 'DATE' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'i' | 'INTEGER' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'm' | 'DECIMAL(6,2)' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'n' | 'INTEGER' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 's' | 'VARCHAR' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL
-- 'x' | 'DOUBLE' | NULL | NULL | 0 | NULL | NULL | NULL | NULL | NULL | 0 | NULL

SUMMARIZE nothing;
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 11)

SUMMARIZE;
-- error: ProgrammingError: syntax error at line 1, column 10: the statement ends too early, expected the name of a table

-- It is a query in parentheses, too, and one of WITH.
CREATE TABLE sold (id INTEGER, city VARCHAR, price DOUBLE);
INSERT INTO sold VALUES (1, 'Ulm', 2.5), (2, 'Bonn', NULL), (3, 'Ulm', 4.5);
SELECT column_name, approx_unique, max FROM (SUMMARIZE sold) WHERE null_percentage < 10 ORDER BY 1;
-- 'city' | 2 | 'Ulm'
-- 'id' | 3 | '3'
SELECT q.column_name, q.count FROM (SUMMARIZE SELECT city, price FROM sold WHERE id > 1) AS q;
-- 'city' | 2
-- 'price' | 2
WITH q AS (SUMMARIZE sold) SELECT count(*), sum(count) FROM q;
-- 3 | 9
SELECT id FROM sold WHERE id IN (SELECT approx_unique FROM (SUMMARIZE sold)) ORDER BY id;
-- 2
-- 3

-- One for each row before it.
SELECT s.id, q.count, q.max FROM sold s, LATERAL (SUMMARIZE SELECT t.price FROM sold t WHERE t.id < s.id) q ORDER BY 1;
-- 1 | 0 | NULL
-- 2 | 1 | '2.5'
-- 3 | 2 | '2.5'
SELECT s.id, q.min FROM sold s, (SUMMARIZE SELECT id FROM sold) q ORDER BY 1;
-- 1 | '1'
-- 2 | '1'
-- 3 | '1'

-- Views and tables of it, and no rows.
CREATE VIEW told AS FROM (SUMMARIZE sold);
INSERT INTO sold VALUES (4, NULL, 0);
SELECT column_name, count, null_percentage FROM told;
-- 'city' | 4 | 25.00
-- 'id' | 4 | 0.00
-- 'price' | 4 | 25.00
CREATE TABLE kept AS SELECT * FROM (SUMMARIZE SELECT * FROM sold WHERE false);
SELECT column_name, column_type, count, null_percentage FROM kept;
-- 'city' | 'VARCHAR' | 0 | NULL
-- 'id' | 'INTEGER' | 0 | NULL
-- 'price' | 'DOUBLE' | 0 | NULL

-- Wrong.
FROM (SUMMARIZE nothing);
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 17)
FROM (SUMMARIZE sold WHERE id > 1);
-- error: ProgrammingError: syntax error at line 1, column 22: unexpected 'WHERE', expected ')'
FROM summarize(sold, 1);
-- error: ProgrammingError: syntax error at line 1, column 22: unexpected '1', expected ')'
SELECT 1 AS summarize;
-- 1
