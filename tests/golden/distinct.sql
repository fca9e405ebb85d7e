CREATE TABLE t (a INTEGER, b VARCHAR);

INSERT INTO t VALUES (1, 'x'), (1, 'x'), (1, 'y'), (NULL, 'x'), (NULL, 'x'), (2, NULL);

SELECT DISTINCT a FROM t;
-- 1
-- 2
-- NULL
SELECT DISTINCT a, b FROM t;
-- 1 | 'x'
-- 1 | 'y'
-- 2 | NULL
-- NULL | 'x'
SELECT DISTINCT * FROM t ORDER BY b DESC, a LIMIT 2;
-- 2 | NULL
-- 1 | 'y'
SELECT DISTINCT a + 1 AS c FROM t WHERE b = 'x' ORDER BY c;
-- 2
-- NULL
SELECT DISTINCT count(*) FROM t GROUP BY a, b;
-- 1
-- 2
SELECT DISTINCT 1 FROM t;
-- 1
SELECT DISTINCT a FROM t WHERE a > 5;
-- (no rows)
SELECT count(DISTINCT a), count(DISTINCT b) FROM t;
-- 2 | 2
SELECT b, count(DISTINCT a) FROM t GROUP BY b;
-- 'x' | 1
-- 'y' | 1
-- NULL | 1

SELECT DISTINCT a FROM t ORDER BY b;
-- error: ProgrammingError: ORDER BY of SELECT DISTINCT can only use selected columns

-- The groups of a star without aggregates, of a table that is too small for a pass.
CREATE TABLE few (o INTEGER, n VARCHAR);
INSERT INTO few VALUES (1, 'Ann'), (2, 'Bob'), (2, 'Bob');
SELECT DISTINCT o FROM few WHERE n = 'Bob';
-- 2
SELECT o FROM few WHERE n = 'Bob' GROUP BY o;
-- 2
