-- A key may be the element of a list: rows are taken apart before they are grouped.
CREATE TABLE t AS SELECT * FROM (VALUES (1, ['a', 'b']), (2, ['b']), (3, [])) AS v(x, l);
SELECT unnest(l) AS tag, count(*), sum(x) FROM t GROUP BY tag ORDER BY tag;
-- 'a' | 1 | 1
-- 'b' | 2 | 3
SELECT unnest(l) AS tag, count(*) FROM t GROUP BY 1 ORDER BY 1;
-- 'a' | 1
-- 'b' | 2
SELECT count(*) AS n FROM t GROUP BY unnest(l) ORDER BY n;
-- 1
-- 2
SELECT unnest(l) AS tag, x, count(*) FROM t GROUP BY tag, x ORDER BY ALL;
-- 'a' | 1 | 1
-- 'b' | 1 | 1
-- 'b' | 2 | 1
SELECT unnest(l) AS tag, count(*) FROM t GROUP BY tag HAVING tag = 'a';
-- 'a' | 1
SELECT upper(unnest(l)) AS u, count(*) FROM t GROUP BY u ORDER BY u;
-- 'A' | 1
-- 'B' | 2
SELECT unnest(l) AS tag, x, count(*) FROM t GROUP BY ROLLUP (tag, x) ORDER BY ALL;
-- 'a' | 1 | 1
-- 'a' | NULL | 1
-- 'b' | 1 | 1
-- 'b' | 2 | 1
-- 'b' | NULL | 2
-- NULL | NULL | 3
SELECT unnest(l), unnest([1, 2]) AS z, count(*) FROM t GROUP BY 1, 2 ORDER BY ALL;
-- 'a' | 1 | 1
-- 'b' | 1 | 1
-- 'b' | 2 | 1
-- NULL | 1 | 1
-- NULL | 2 | 2
SELECT x, unnest(list(l)) AS l FROM t GROUP BY x ORDER BY ALL;
-- 1 | ['a', 'b']
-- 2 | ['b']
-- 3 | []
SELECT unnest([1, 2]) AS n, x, count(*) FROM t WHERE x < 2 GROUP BY x ORDER BY ALL;
-- 1 | 1 | 1
-- 2 | 1 | 1
SELECT l, unnest(l) AS e, count(*) FROM t GROUP BY ALL ORDER BY ALL;
-- ['a', 'b'] | 'a' | 1
-- ['a', 'b'] | 'b' | 1
-- ['b'] | 'b' | 1
SELECT unnest(list(l)) AS z FROM t GROUP BY z;
-- error: ProgrammingError: GROUP BY cannot contain unnest() of an aggregate or a window function
SELECT unnest(l) AS tag, count(tag) FROM t GROUP BY tag;
-- error: ProgrammingError: count() cannot contain unnest(): write FROM t, unnest(t.list) AS u(x)
SELECT count(*) FROM t GROUP BY unnest([sum(x)]);
-- error: ProgrammingError: unnest() cannot contain the aggregate sum (line 1, column 41)
SELECT unnest(l) AS tag, count(*) FROM t GROUP BY ALL;
-- error: ProgrammingError: column 'l' must be in GROUP BY or inside an aggregate (line 1, column 15)
