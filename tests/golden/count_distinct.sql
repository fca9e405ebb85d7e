-- DISTINCT in an aggregate takes each value once; NULL is no value.
CREATE TABLE t (g INTEGER, x INTEGER, m DECIMAL(4, 2), s VARCHAR, d DOUBLE);

INSERT INTO t VALUES (1, 5, 1.50, 'a', 0.0), (1, 5, 1.50, 'b', '-0.0'), (1, 7, 2.00, 'a', 'NaN'), (2, NULL, NULL, NULL, 'NaN'), (2, 5, 1.50, 'b', 1.0), (3, NULL, NULL, NULL, NULL);

SELECT count(DISTINCT x), count(DISTINCT s), count(DISTINCT d), count(DISTINCT x > 5), approx_count_distinct(m) FROM t;
-- 2 | 2 | 3 | 2 | 2
SELECT g, count(DISTINCT x), sum(DISTINCT x), avg(DISTINCT m), min(DISTINCT s), count(x) FROM t GROUP BY g ORDER BY g;
-- 1 | 2 | 12 | 1.75 | 'a' | 3
-- 2 | 1 | 5 | 1.5 | 'b' | 1
-- 3 | 0 | NULL | NULL | NULL | 0
SELECT g, count(DISTINCT s), count(*), sum(DISTINCT m) FILTER (WHERE x = 5) FROM t GROUP BY g HAVING count(DISTINCT s) > 0 ORDER BY g;
-- 1 | 2 | 3 | 1.50
-- 2 | 1 | 2 | 1.50
SELECT string_agg(DISTINCT s, '+' ORDER BY s DESC), array_agg(DISTINCT x ORDER BY x), stddev_pop(DISTINCT x), product(DISTINCT x), median(DISTINCT x), bit_xor(DISTINCT x) FROM t;
-- 'b+a' | [5, 7, None] | 1.0 | 35.0 | 6.0 | 2
SELECT s, count(DISTINCT g) FROM t GROUP BY s ORDER BY s NULLS FIRST;
-- NULL | 2
-- 'a' | 1
-- 'b' | 2
SELECT count(DISTINCT x) FROM t WHERE FALSE;
-- 0
SELECT count(DISTINCT x) FROM t WHERE FALSE GROUP BY g;
-- (no rows)

SELECT count(DISTINCT *) FROM t;
-- error: ProgrammingError: count(DISTINCT *) is not possible; name a column (line 1, column 8)
SELECT count(DISTINCT x, s) FROM t;
-- error: ProgrammingError: count() takes 1 argument, not 2 (line 1, column 8)
SELECT string_agg(DISTINCT s, ',' ORDER BY x) FROM t;
-- error: ProgrammingError: string_agg(DISTINCT ...) can be ordered by its arguments only, as the others are not kept (line 1, column 8)
