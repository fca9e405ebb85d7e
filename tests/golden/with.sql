CREATE TABLE t (a INTEGER, b VARCHAR);

INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL);

WITH c AS (SELECT a + 1 AS n FROM t) SELECT n FROM c ORDER BY n;
-- 2
-- 3
-- 4

-- Each query sees those before it; several references see the same rows.
WITH c AS (SELECT a FROM t WHERE a > 1), d AS (SELECT a * 10 AS a FROM c)
SELECT c.a, d.a FROM c, d ORDER BY 1, 2;
-- 2 | 20
-- 2 | 30
-- 3 | 20
-- 3 | 30
WITH c(p, q) AS (SELECT * FROM t) SELECT q FROM c WHERE p = 2;
-- 'y'
WITH c(p) AS (SELECT * FROM t) SELECT p, b FROM c ORDER BY p;
-- 1 | 'x'
-- 2 | 'y'
-- 3 | NULL
WITH c AS (SELECT sum(a) AS s FROM t) SELECT x.s + y.s FROM c AS x, c AS y;
-- 12
WITH c AS (SELECT a FROM t ORDER BY a DESC LIMIT 2) SELECT x.a, y.a FROM c x JOIN c y ON x.a > y.a;
-- 3 | 2
WITH c AS MATERIALIZED (SELECT a FROM t) SELECT count(*) FROM c;
-- 3
WITH c AS NOT MATERIALIZED (SELECT sum(a) AS s FROM t) SELECT x.s, y.s FROM c x, c y;
-- 6 | 6
WITH c AS (VALUES (1, 'p'), (2, 'q')) SELECT column2 FROM c WHERE column1 = 2;
-- 'q'
WITH c AS (TABLE t) TABLE c ORDER BY a;
-- 1 | 'x'
-- 2 | 'y'
-- 3 | NULL
WITH c AS (SELECT 1 AS a UNION ALL SELECT 2) SELECT a FROM c EXCEPT SELECT 1;
-- 2
WITH c AS (SELECT 1 AS a) (SELECT a FROM c) UNION ALL SELECT a + 1 FROM c ORDER BY 1;
-- 1
-- 2

-- A name hides a table, and an inner name an outer one; the query itself does not see its own name.
WITH t AS (SELECT a FROM t WHERE a = 1) SELECT * FROM t;
-- 1
WITH c AS (SELECT 1 AS a) SELECT * FROM (WITH c AS (SELECT 2 AS a) SELECT a FROM c) AS s, c;
-- 2 | 1
WITH c AS (WITH d AS (SELECT 5 AS a) SELECT a + 1 AS a FROM d) SELECT a FROM c;
-- 6
WITH c AS (SELECT a FROM t) SELECT a FROM t WHERE a IN (SELECT max(a) FROM c);
-- 3
WITH c AS (SELECT max(a) AS m FROM t) SELECT a, (SELECT m FROM c) FROM t WHERE a < (SELECT m FROM c) ORDER BY a;
-- 1 | 3
-- 2 | 3

-- A query in a subquery may read the row outside.
SELECT a, (WITH c AS (SELECT t.a + 1 AS n) SELECT x.n * y.n FROM c x, c y) AS sq FROM t ORDER BY a;
-- 1 | 4
-- 2 | 9
-- 3 | 16

INSERT INTO t WITH c AS (SELECT max(a) AS m FROM t) SELECT m + 1, 'new' FROM c;

SELECT * FROM t WHERE a > 3;
-- 4 | 'new'

-- A view that is used twice is run once.
CREATE VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b;

SELECT count(*) FROM v AS p, v AS q;
-- 16

-- A query that is used nowhere still has to be right.
WITH c AS (SELECT nothing FROM t) SELECT 1;
-- error: ProgrammingError: column 'nothing' does not exist in 't' (line 1, column 19)
WITH c AS (SELECT 1), c AS (SELECT 2) SELECT 1;
-- error: ProgrammingError: WITH defines 'c' twice (line 1, column 6)
WITH c(p, q, r) AS (SELECT * FROM t) SELECT 1;
-- error: ProgrammingError: 'c' has 2 columns, but its alias names 3 (line 1, column 6)
WITH c AS (SELECT 1 AS a) SELECT b FROM c;
-- error: ProgrammingError: column 'b' does not exist in 'c' (line 1, column 34)
WITH c AS (SELECT * FROM d), d AS (SELECT 1) SELECT * FROM c;
-- error: ProgrammingError: table 'd' does not exist (line 1, column 26)
WITH c AS (SELECT 1) SELECT * FROM cc;
-- error: ProgrammingError: table 'cc' does not exist; did you mean 'c'? (line 1, column 36)
