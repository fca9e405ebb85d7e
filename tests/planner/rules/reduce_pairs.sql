CREATE TABLE a (k INTEGER, v INTEGER);

CREATE TABLE b (k INTEGER, x INTEGER);

CREATE TABLE c (x INTEGER, y INTEGER);

SELECT v FROM a WHERE k IN (SELECT b.k FROM b JOIN c ON b.x = c.x AND b.k <> c.y);
-- before:
--   Project v
--     SemiJoin semi (k = k)
--       Scan a (k, v)
--       Project k
--         InnerJoin (x = x) AND (k <> y)
--           Scan b (k, x)
--           Scan c (x, y)
-- after:
--   Project v
--     SemiJoin semi (k = k)
--       Scan a (k, v)
--       Project k
--         SemiJoin semi (x = x) AND (k <> y)
--           Scan b (k, x)
--           Scan c (x, y)

SELECT DISTINCT c.y FROM b JOIN c ON b.x = c.x WHERE b.k > 3;
-- before:
--   Aggregate distinct by y
--     InnerJoin (x = x)
--       Filter (k > 3)
--         Scan b (k, x)
--       Scan c (x, y)
-- after:
--   Aggregate distinct by y
--     SemiJoin semi (x = x)
--       Scan c (x, y)
--       Filter (k > 3)
--         Scan b (k, x)

SELECT count(*) FROM b JOIN c ON b.x = c.x;
-- unchanged:
--   Project count(*) := count_star
--     Aggregate count(*)
--       InnerJoin (x = x)
--         Scan b (x)
--         Scan c (x)

SELECT v FROM a WHERE k IN (SELECT b.k FROM b JOIN c ON b.x + random() > c.x);
-- unchanged:
--   Project v
--     SemiJoin semi (k = k)
--       Scan a (k, v)
--       Project k
--         InnerJoin ((CAST(x AS DOUBLE) + random()) > CAST(x AS DOUBLE))
--           Scan b (k, x)
--           Scan c (x)
