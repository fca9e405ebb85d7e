CREATE TABLE a (x INTEGER, y INTEGER);

CREATE TABLE b (y INTEGER, z INTEGER);

CREATE TABLE few (x INTEGER, z INTEGER);

INSERT INTO a SELECT 1, 2 FROM range(100);

INSERT INTO b SELECT 1, 2 FROM range(100);

INSERT INTO few VALUES (1, 2);

SELECT x FROM a JOIN b USING (y) WHERE x IN (SELECT x FROM few);
-- before:
--   Project x
--     SemiJoin semi (x = x)
--       InnerJoin (y = y)
--         Scan a (x, y)
--         Scan b (y, z)
--       Project x
--         Scan few (x, z)
-- after:
--   Project x
--     InnerJoin (y = y)
--       SemiJoin semi (x = x)
--         Scan a (x, y)
--         Project x
--           Scan few (x, z)
--       Scan b (y, z)

SELECT x FROM a JOIN b USING (y) WHERE NOT EXISTS (SELECT 1 FROM few WHERE few.x = a.x) AND EXISTS (SELECT 1 FROM few WHERE few.z = b.z);
-- before:
--   Project x
--     SemiJoin semi (z = z)
--       SemiJoin anti (x = x)
--         InnerJoin (y = y)
--           Scan a (x, y)
--           Scan b (y, z)
--         Scan few (x, z)
--       Scan few (x, z)
-- after:
--   Project x
--     InnerJoin (y = y)
--       SemiJoin anti (x = x)
--         Scan a (x, y)
--         Scan few (x, z)
--       SemiJoin semi (z = z)
--         Scan b (y, z)
--         Scan few (x, z)

-- It reads both sources, or it is the larger side.
SELECT x FROM a JOIN b USING (y) WHERE EXISTS (SELECT 1 FROM few WHERE few.x = a.x AND few.z = b.z);
-- unchanged:
--   Project x
--     SemiJoin semi (x = x) AND (z = z)
--       InnerJoin (y = y)
--         Scan a (x, y)
--         Scan b (y, z)
--       Scan few (x, z)

SELECT few.x FROM few JOIN b USING (z) WHERE few.x IN (SELECT x FROM a);
-- unchanged:
--   Project x
--     SemiJoin semi (x = x)
--       InnerJoin (z = z)
--         Scan few (x, z)
--         Scan b (y, z)
--       Project x
--         Scan a (x, y)

-- A join that it stood between is ordered with the others.
SELECT a.x FROM a JOIN b USING (y) WHERE a.x IN (SELECT x FROM few) AND z = (SELECT max(z) FROM few);
-- before:
--   Project x
--     InnerJoin (z = max)
--       SemiJoin semi (x = x)
--         InnerJoin (y = y)
--           Scan a (x, y)
--           Scan b (y, z)
--         Project x
--           Scan few (x, z)
--       Aggregate max(z) [star of few]
--         Scan few (x, z)
-- after:
--   Project x
--     InnerJoin (y = y) AND (z = max)
--       SemiJoin semi (x = x)
--         Scan a (x, y)
--         Project x
--           Scan few (x, z)
--       Scan b (y, z)
--       Aggregate max(z) [star of few]
--         Scan few (x, z)
