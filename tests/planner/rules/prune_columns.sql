CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER);

CREATE TABLE u (a INTEGER, d INTEGER);

-- Only what something above reads is read.
SELECT d FROM t JOIN u USING (a) WHERE b > 1;
-- before:
--   Project d
--     InnerJoin (a = a)
--       Filter (b > 1)
--         Scan t (a, b, c)
--       Scan u (a, d)
-- after:
--   Project d
--     InnerJoin (a = a)
--       Filter (b > 1)
--         Scan t (a, b)
--       Scan u (a, d)

-- An aggregate or a window that nothing reads is not computed.
SELECT a FROM (SELECT a, sum(b) AS s FROM t GROUP BY a) AS q;
-- before:
--   Project a
--     Aggregate sum(b) by a [star of t]
--       Scan t (a, b, c)
-- after:
--   Project a
--     Aggregate distinct by a [star of t]
--       Scan t (a, b, c)

SELECT a FROM (SELECT a, row_number() OVER (ORDER BY b) AS r FROM t) AS q;
-- before:
--   Project a
--     Window row_number() OVER (ORDER BY b RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
--       Scan t (a, b, c)
-- after:
--   Project a
--     Scan t (a)

-- The sources of UNION ALL by their places.
SELECT x FROM (SELECT a AS x, b FROM t UNION ALL SELECT d, a FROM u) AS q;
-- before:
--   Project x
--     Union (x, b)
--       Project x := a, b
--         Scan t (a, b, c)
--       Project d, a
--         Scan u (a, d)
-- after:
--   Project x
--     Union (x)
--       Project x := a
--         Scan t (a)
--       Project d
--         Scan u (d)
