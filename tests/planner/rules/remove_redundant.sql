CREATE TABLE t (a INTEGER, b INTEGER, c VARCHAR);

-- DISTINCT over the keys of a group.
SELECT DISTINCT a, sum(b) FROM t GROUP BY a;
-- before:
--   Aggregate distinct by a, sum(b)
--     Project a, sum(b) := sum
--       Aggregate sum(b) by a
--         Scan t (a, b, c)
-- after:
--   Project a, sum(b)
--     Project a, sum(b) := sum
--       Aggregate sum(b) by a
--         Scan t (a, b, c)

-- A group by more keys than DISTINCT has is another matter.
SELECT DISTINCT a FROM t GROUP BY a, b;
-- unchanged:
--   Aggregate distinct by a
--     Project a
--       Aggregate distinct by a, b
--         Scan t (a, b, c)

-- Orders that nothing sees: below a sum, a join, another order; but not below string_agg.
SELECT sum(a) FROM (SELECT a FROM t ORDER BY b) AS s;
-- before:
--   Project sum(a) := sum
--     Aggregate sum(a)
--       Project a
--         Sort order key
--           Project a, order key := b
--             Scan t (a, b, c)
-- after:
--   Project sum(a) := sum
--     Aggregate sum(a)
--       Project a
--         Project a, order key := b
--           Scan t (a, b, c)

SELECT string_agg(c, ',') FROM (SELECT c FROM t ORDER BY b) AS s;
-- unchanged:
--   Project string_agg(c, ',') := string_agg
--     Aggregate string_agg(c, ',')
--       Project c
--         Sort order key
--           Project c, order key := b
--             Scan t (a, b, c)

SELECT s.a FROM (SELECT a FROM t ORDER BY a) AS s LEFT JOIN t ON s.a = t.b ORDER BY s.a;
-- before:
--   Sort a
--     Project a
--       OuterJoin left (a = b)
--         Sort a
--           Project a
--             Scan t (a, b, c)
--         Scan t (a, b, c)
-- after:
--   Sort a
--     Project a
--       OuterJoin left (a = b)
--         Project a
--           Scan t (a, b, c)
--         Scan t (a, b, c)

-- A limit makes the order below it matter.
SELECT sum(a) FROM (SELECT a FROM t ORDER BY b LIMIT 3) AS s;
-- unchanged:
--   Project sum(a) := sum
--     Aggregate sum(a)
--       Limit 3
--         Project a
--           Sort order key
--             Project a, order key := b
--               Scan t (a, b, c)

-- A condition that is always true.
SELECT a FROM t WHERE true;
-- before:
--   Project a
--     Filter True
--       Scan t (a, b, c)
-- after:
--   Project a
--     Scan t (a, b, c)
