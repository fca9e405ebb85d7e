CREATE TABLE a (x INTEGER, y INTEGER);

CREATE TABLE b (x INTEGER, z INTEGER);

-- What the join adds is dropped above.
SELECT a.y FROM a LEFT JOIN b USING (x) WHERE z > 1;
-- before:
--   Project y
--     Filter (z > 1)
--       OuterJoin left (x = x)
--         Scan a (x, y)
--         Scan b (x, z)
-- after:
--   Project y
--     Filter (z > 1)
--       InnerJoin (x = x)
--         Scan a (x, y)
--         Scan b (x, z)

SELECT a.y FROM a FULL JOIN b ON a.x = b.x WHERE z > 1;
-- before:
--   Project y
--     Filter (z > 1)
--       OuterJoin full (x = x)
--         Scan a (x, y)
--         Scan b (x, z)
-- after:
--   Project y
--     Filter (z > 1)
--       OuterJoin right (x = x)
--         Scan a (x, y)
--         Scan b (x, z)

SELECT a.y FROM a FULL JOIN b ON a.x = b.x WHERE z > y;
-- before:
--   Project y
--     Filter (z > y)
--       OuterJoin full (x = x)
--         Scan a (x, y)
--         Scan b (x, z)
-- after:
--   Project y
--     Filter (z > y)
--       InnerJoin (x = x)
--         Scan a (x, y)
--         Scan b (x, z)

-- It is not.
SELECT a.y FROM a LEFT JOIN b USING (x) WHERE z > 1 OR z IS NULL;
-- unchanged:
--   Project y
--     Filter ((z > 1) OR (z IS NULL))
--       OuterJoin left (x = x)
--         Scan a (x, y)
--         Scan b (x, z)

SELECT a.y FROM a LEFT JOIN b USING (x) WHERE coalesce(z, 5) > 1;
-- unchanged:
--   Project y
--     Filter (coalesce(z, 5) > 1)
--       OuterJoin left (x = x)
--         Scan a (x, y)
--         Scan b (x, z)

-- The outer one needs a partner, and so does the inner one by its condition.
SELECT a.y FROM a LEFT JOIN b USING (x) JOIN a c ON c.y = b.z;
-- before:
--   Project y
--     InnerJoin (y = z)
--       OuterJoin left (x = x)
--         Scan a (x, y)
--         Scan b (x, z)
--       Scan a (x, y)
-- after:
--   Project y
--     InnerJoin (y = z)
--       InnerJoin (x = x)
--         Scan a (x, y)
--         Scan b (x, z)
--       Scan a (x, y)

-- A row of c without a partner would come to be, if a lost rows here.
SELECT a.y FROM (SELECT a.x, y, z FROM a LEFT JOIN b USING (x)) a FULL JOIN b c ON a.x = c.x WHERE a.z > 1 OR c.z > 1;
-- unchanged:
--   Project y
--     Filter ((z > 1) OR (z > 1))
--       OuterJoin full (x = x)
--         Project x, y, z
--           OuterJoin left (x = x)
--             Scan a (x, y)
--             Scan b (x, z)
--         Scan b (x, z)
