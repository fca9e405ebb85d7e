CREATE TABLE t (a INTEGER, b INTEGER);

CREATE TABLE u (a INTEGER, c INTEGER);

-- Joins below projections meet.
SELECT x + c FROM (SELECT a, b * 2 AS x FROM t) AS q JOIN u USING (a);
-- before:
--   Project x + c := (x + c)
--     InnerJoin (a = a)
--       Project a, x := (b * 2)
--         Scan t (a, b)
--       Scan u (a, c)
-- after:
--   Project x + c := ((b * 2) + c)
--     InnerJoin (a = a)
--       Scan t (a, b)
--       Scan u (a, c)

-- An aggregate reads the columns themselves.
SELECT sum(x) FROM (SELECT b * 2 AS x FROM t) AS q WHERE x > 4;
-- before:
--   Project sum(x) := sum
--     Aggregate sum(x)
--       Filter (x > 4)
--         Project x := (b * 2)
--           Scan t (a, b)
-- after:
--   Project sum(x) := sum
--     Aggregate sum((b * 2))
--       Filter ((b * 2) > 4)
--         Scan t (a, b)

-- random() stands where it is written.
SELECT x, x FROM (SELECT random() AS x FROM t) AS q;
-- unchanged:
--   Project x, x
--     Project x := random()
--       Scan t (a, b)
