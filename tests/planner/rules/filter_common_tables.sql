CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER);

-- What each of all references asks of a key of the groups goes below them.
WITH s AS (SELECT a, b, sum(c) AS s FROM t GROUP BY a, b)
SELECT x.s, y.s FROM s x, s y WHERE x.a = y.a AND x.b = 1 AND y.b = 2 AND y.s > 7;
-- before:
--   Project s, s
--     InnerJoin (a = a) AND (b = 1) AND (b = 2) AND (s > 7)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Scan t (a, b, c)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Scan t (a, b, c)
-- after:
--   Project s, s
--     InnerJoin (a = a) AND (b = 1) AND (b = 2) AND (s > 7)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Filter ((b = 1) OR (b = 2))
--               Scan t (a, b, c)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Filter ((b = 1) OR (b = 2))
--               Scan t (a, b, c)

-- A union gives it to each of its branches, where constants drop out.
WITH s AS (
  SELECT 'one' AS kind, a, sum(c) AS s FROM t GROUP BY a
  UNION ALL SELECT 'two' AS kind, b, sum(c) AS s FROM t GROUP BY b
)
SELECT x.s, y.s FROM s x, s y WHERE x.kind = 'one' AND x.a = 1 AND y.kind = 'two' AND y.a = 2;
-- before:
--   Project s, s
--     InnerJoin (kind = 'one') AND (a = 1) AND (kind = 'two') AND (a = 2)
--       CommonTable s (kind, a, s)
--         Union (kind, a, s)
--           Project kind := 'one', a, s := sum
--             Aggregate sum(c) by a
--               Scan t (a, b, c)
--           Project kind := 'two', b, s := sum
--             Aggregate sum(c) by b
--               Scan t (a, b, c)
--       CommonTable s (kind, a, s)
--         Union (kind, a, s)
--           Project kind := 'one', a, s := sum
--             Aggregate sum(c) by a
--               Scan t (a, b, c)
--           Project kind := 'two', b, s := sum
--             Aggregate sum(c) by b
--               Scan t (a, b, c)
-- after:
--   Project s, s
--     InnerJoin (kind = 'one') AND (a = 1) AND (kind = 'two') AND (a = 2)
--       CommonTable s (kind, a, s)
--         Union (kind, a, s)
--           Project kind := 'one', a, s := sum
--             Aggregate sum(c) by a
--               Filter ((a = 1) OR (a = 2))
--                 Scan t (a, b, c)
--           Project kind := 'two', b, s := sum
--             Aggregate sum(c) by b
--               Filter ((b = 1) OR (b = 2))
--                 Scan t (a, b, c)
--       CommonTable s (kind, a, s)
--         Union (kind, a, s)
--           Project kind := 'one', a, s := sum
--             Aggregate sum(c) by a
--               Filter ((a = 1) OR (a = 2))
--                 Scan t (a, b, c)
--           Project kind := 'two', b, s := sum
--             Aggregate sum(c) by b
--               Filter ((b = 1) OR (b = 2))
--                 Scan t (a, b, c)

-- One reference reads all rows.
WITH s AS (SELECT a, sum(c) AS s FROM t GROUP BY a)
SELECT x.s, y.s FROM s x, s y WHERE x.a = 1;
-- unchanged:
--   Project s, s
--     InnerJoin (a = 1)
--       CommonTable s (a, s)
--         Project a, s := sum
--           Aggregate sum(c) by a
--             Scan t (a, b, c)
--       CommonTable s (a, s)
--         Project a, s := sum
--           Aggregate sum(c) by a
--             Scan t (a, b, c)

-- An outer join keeps the rows on its left, and reads on its right those that its condition names.
WITH s AS (SELECT a, b, sum(c) AS s FROM t GROUP BY a, b)
SELECT x.s, y.s FROM (SELECT * FROM s WHERE b = 1) x LEFT JOIN s y ON x.a = y.a AND y.b = 2;
-- before:
--   Project s, s
--     OuterJoin left (a = a) AND (b = 2)
--       Project a, b, s
--         Filter (b = 1)
--           CommonTable s (a, b, s)
--             Project a, b, s := sum
--               Aggregate sum(c) by a, b
--                 Scan t (a, b, c)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Scan t (a, b, c)
-- after:
--   Project s, s
--     OuterJoin left (a = a) AND (b = 2)
--       Project a, b, s
--         Filter (b = 1)
--           CommonTable s (a, b, s)
--             Project a, b, s := sum
--               Aggregate sum(c) by a, b
--                 Filter ((b = 1) OR (b = 2))
--                   Scan t (a, b, c)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Filter ((b = 1) OR (b = 2))
--               Scan t (a, b, c)

-- A condition that may fail is asked of no other rows.
WITH s AS (SELECT a, b, sum(c) AS s FROM t GROUP BY a, b)
SELECT x.s, y.s FROM s x, s y WHERE 1 / x.b = 1 AND y.b = 2;
-- unchanged:
--   Project s, s
--     InnerJoin ((1 / b) = 1) AND (b = 2)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Scan t (a, b, c)
--       CommonTable s (a, b, s)
--         Project a, b, s := sum
--           Aggregate sum(c) by a, b
--             Scan t (a, b, c)

-- Rows behind a LIMIT would be other ones.
WITH s AS (SELECT a, b FROM t ORDER BY c LIMIT 3)
SELECT x.b, y.b FROM s x, s y WHERE x.a = 1 AND y.a = 2;
-- unchanged:
--   Project b, b
--     InnerJoin (a = 1) AND (a = 2)
--       CommonTable s (a, b)
--         Limit 3
--           Project a, b
--             Sort order key
--               Project a, b, order key := c
--                 Scan t (a, b, c)
--       CommonTable s (a, b)
--         Limit 3
--           Project a, b
--             Sort order key
--               Project a, b, order key := c
--                 Scan t (a, b, c)
