CREATE TABLE t (a INTEGER, b INTEGER);

-- The only reference is replaced by the query.
WITH c AS (SELECT a, sum(b) AS s FROM t GROUP BY a) SELECT s FROM c WHERE a = 1;
-- before:
--   Project s
--     Filter (a = 1)
--       CommonTable c (a, s)
--         Project a, s := sum
--           Aggregate sum(b) by a
--             Scan t (a, b)
-- after:
--   Project s
--     Filter (a = 1)
--       Project a, s
--         Project a, s := sum
--           Aggregate sum(b) by a
--             Scan t (a, b)

-- A query that only reads and filters a table is copied.
WITH c AS (SELECT a FROM t WHERE b > 1) SELECT x.a FROM c x JOIN c y ON x.a = y.a + 1;
-- before:
--   Project a
--     InnerJoin (a = (a + 1))
--       CommonTable c (a)
--         Project a
--           Filter (b > 1)
--             Scan t (a, b)
--       CommonTable c (a)
--         Project a
--           Filter (b > 1)
--             Scan t (a, b)
-- after:
--   Project a
--     InnerJoin (a = (a + 1))
--       Project a
--         Project a
--           Filter (b > 1)
--             Scan t (a, b)
--       Project a
--         Project a
--           Filter (b > 1)
--             Scan t (a, b)

-- Anything dearer runs once.
WITH c AS (SELECT a, sum(b) AS s FROM t GROUP BY a) SELECT x.s FROM c x JOIN c y ON x.a = y.a + 1;
-- unchanged:
--   Project s
--     InnerJoin (a = (a + 1))
--       CommonTable c (a, s)
--         Project a, s := sum
--           Aggregate sum(b) by a
--             Scan t (a, b)
--       CommonTable c (a, s)
--         Project a, s := sum
--           Aggregate sum(b) by a
--             Scan t (a, b)

-- The one who writes the query may decide.
WITH c AS MATERIALIZED (SELECT a FROM t) SELECT a FROM c;
-- unchanged:
--   Project a
--     CommonTable c (a)
--       Project a
--         Scan t (a, b)

WITH c AS NOT MATERIALIZED (SELECT sum(b) AS s FROM t) SELECT x.s FROM c x, c y;
-- before:
--   Project s
--     InnerJoin
--       CommonTable c (s)
--         Project s := sum
--           Aggregate sum(b)
--             Scan t (a, b)
--       CommonTable c (s)
--         Project s := sum
--           Aggregate sum(b)
--             Scan t (a, b)
-- after:
--   Project s
--     InnerJoin
--       Project s
--         Project s := sum
--           Aggregate sum(b)
--             Scan t (a, b)
--       Project s
--         Project s := sum
--           Aggregate sum(b)
--             Scan t (a, b)

-- A query that is kept refers to others.
WITH c AS (SELECT sum(b) AS s FROM t), d AS (SELECT s + 1 AS s FROM c UNION ALL SELECT s FROM c) SELECT x.s FROM d x, d y;
-- unchanged:
--   Project s
--     InnerJoin
--       CommonTable d (s)
--         Union (s)
--           Project s := (s + 1)
--             CommonTable c (s)
--               Project s := sum
--                 Aggregate sum(b)
--                   Scan t (a, b)
--           Project s
--             CommonTable c (s)
--               Project s := sum
--                 Aggregate sum(b)
--                   Scan t (a, b)
--       CommonTable d (s)
--         Union (s)
--           Project s := (s + 1)
--             CommonTable c (s)
--               Project s := sum
--                 Aggregate sum(b)
--                   Scan t (a, b)
--           Project s
--             CommonTable c (s)
--               Project s := sum
--                 Aggregate sum(b)
--                   Scan t (a, b)
