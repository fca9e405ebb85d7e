CREATE TABLE t (id INTEGER, a INTEGER, b VARCHAR);

INSERT INTO t VALUES (1, 1, 'x'), (2, NULL, 'x'), (3, 3, NULL), (4, NULL, NULL), (5, 1, 'y');

-- NULL never matches a comparison, not even its opposite.
SELECT id FROM t WHERE a = NULL;
-- (no rows)
SELECT id FROM t WHERE a <> NULL;
-- (no rows)
SELECT id FROM t WHERE a = 1;
-- 1
-- 5
SELECT id FROM t WHERE a <> 1;
-- 3
SELECT id FROM t WHERE NOT a = 1;
-- 3
SELECT id FROM t WHERE NOT (a = 1 AND b = 'x');
-- 3
-- 5
SELECT id FROM t WHERE a < 2 OR a >= 2;
-- 1
-- 3
-- 5
SELECT id FROM t WHERE a = a;
-- 1
-- 3
-- 5
SELECT id FROM t WHERE a BETWEEN 0 AND 9;
-- 1
-- 3
-- 5
SELECT id FROM t WHERE a NOT BETWEEN 0 AND 2;
-- 3
SELECT id FROM t WHERE b LIKE '%';
-- 1
-- 2
-- 5
SELECT id FROM t WHERE b NOT LIKE 'x%';
-- 5

SELECT id FROM t WHERE a IS NULL;
-- 2
-- 4
SELECT id FROM t WHERE a IS NOT NULL AND b IS NULL;
-- 3

-- A NULL in a list: IN may still be true, NOT IN never is.
SELECT id FROM t WHERE a IN (1, NULL);
-- 1
-- 5
SELECT id FROM t WHERE a NOT IN (1, NULL);
-- (no rows)
SELECT id FROM t WHERE a NOT IN (1, 2);
-- 3

-- Three-valued logic.
SELECT NULL AND FALSE, NULL AND TRUE, NULL OR TRUE, NULL OR FALSE, NOT NULL;
-- false | NULL | true | NULL | NULL
SELECT 1 = NULL, NULL = NULL, NULL IS NULL, 1 IS NOT NULL;
-- NULL | NULL | true | true
SELECT 1 + NULL, NULL * 0, -CAST(NULL AS INTEGER);
-- NULL | NULL | NULL

-- NULLs form a group of their own.
SELECT a, count(*) FROM t GROUP BY a;
-- 1 | 2
-- 3 | 1
-- NULL | 2
SELECT b, sum(a) FROM t GROUP BY b;
-- 'x' | 1
-- 'y' | 1
-- NULL | 3
SELECT DISTINCT a FROM t;
-- 1
-- 3
-- NULL

-- Aggregates pass over NULLs; count(*) counts rows. Of nothing, a sum is NULL and a count 0.
SELECT count(*), count(a), count(b), sum(a), min(a), max(a), avg(a) FROM t WHERE id <> 5;
-- 4 | 2 | 2 | 4 | 1 | 3 | 2.0
SELECT count(*), count(a), sum(a), min(a), max(b), avg(a) FROM t WHERE id = 4;
-- 1 | 0 | NULL | NULL | NULL | NULL
SELECT count(*), count(a), sum(a), min(a), max(b), avg(a) FROM t WHERE id > 5;
-- 0 | 0 | NULL | NULL | NULL | NULL
SELECT a, count(*) FROM t WHERE id > 5 GROUP BY a;
-- (no rows)

-- As in PostgreSQL, NULL comes after all values: last in ascending order, first in descending.
SELECT a, id FROM t ORDER BY a, id;
-- 1 | 1
-- 1 | 5
-- 3 | 3
-- NULL | 2
-- NULL | 4
SELECT a, id FROM t ORDER BY a DESC, id;
-- NULL | 2
-- NULL | 4
-- 3 | 3
-- 1 | 1
-- 1 | 5
SELECT a, id FROM t ORDER BY a NULLS FIRST, id;
-- NULL | 2
-- NULL | 4
-- 1 | 1
-- 1 | 5
-- 3 | 3
SELECT a, id FROM t ORDER BY a DESC NULLS LAST, id DESC;
-- 3 | 3
-- 1 | 5
-- 1 | 1
-- NULL | 4
-- NULL | 2

-- NULL keys do not join.
SELECT l.id, r.id FROM t AS l, t AS r WHERE l.a = r.a AND l.id < r.id;
-- 1 | 5
SELECT l.id, r.id FROM t AS l LEFT JOIN t AS r ON l.a = r.a AND l.id < r.id;
-- 1 | 5
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
-- 5 | NULL
