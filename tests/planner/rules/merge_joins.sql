CREATE TABLE a (x INTEGER);

CREATE TABLE b (x INTEGER, y INTEGER);

CREATE TABLE c (y INTEGER, z INTEGER);

-- Nested joins and the filters among them are one join of three tables.
SELECT z FROM a JOIN (SELECT b.x, c.z FROM b JOIN c USING (y) WHERE c.z > 1) AS q USING (x) WHERE z < 9;
-- before:
--   Project z
--     Filter (z < 9)
--       InnerJoin (x = x)
--         Scan a (x)
--         Filter (z > 1)
--           InnerJoin (y = y)
--             Scan b (x, y)
--             Scan c (y, z)
-- after:
--   Project z
--     InnerJoin (y = y) AND (z > 1) AND (x = x) AND (z < 9)
--       Scan a (x)
--       Scan b (x, y)
--       Scan c (y, z)

-- An outer join keeps its sides.
SELECT b.y FROM a LEFT JOIN b USING (x) JOIN c ON c.y = b.y OR c.z = 0;
-- unchanged:
--   Project y
--     InnerJoin ((y = y) OR (z = 0))
--       OuterJoin left (x = x)
--         Scan a (x)
--         Scan b (x, y)
--       Scan c (y, z)
