CREATE TABLE a (x INTEGER NOT NULL, y INTEGER, s VARCHAR);

CREATE TABLE b (x INTEGER, z INTEGER NOT NULL);

CREATE TABLE city (id INTEGER PRIMARY KEY, name VARCHAR);

INSERT INTO a VALUES (1, NULL, 'p');

INSERT INTO b VALUES (NULL, 1);

-- Uncorrelated: one row beside all others.
SELECT x FROM a WHERE y > (SELECT avg(z) FROM b);
-- before:
--   Project x
--     Filter (CAST(y AS DOUBLE) > scalar subquery)
--       Scan a (x, y, s)
-- after:
--   Project x
--     Project x, y, s
--       Filter (CAST(y AS DOUBLE) > avg(z))
--         InnerJoin
--           Scan a (x, y, s)
--           Project avg(z) := avg
--             Aggregate avg(z)
--               Scan b (x, z)

SELECT (SELECT z FROM b);
-- before:
--   Project (SELECT z FROM b) := scalar subquery
--     Values 1 rows ()
-- after:
--   Project (SELECT z FROM b) := z
--     InnerJoin
--       Values 1 rows ()
--       Project z := single(z, z)
--         Aggregate first(z), count(*)
--           Project z
--             Scan b (x, z)

-- Correlated by equalities: a group for each key, and the rows without one.
SELECT x, (SELECT count(*) FROM b WHERE b.x = a.x) FROM a;
-- before:
--   Project x, (SELECT count(*) FROM b WHERE b.x = a.x) := scalar subquery
--     Scan a (x, y, s)
-- after:
--   Project x, (SELECT count(*) FROM b WHERE b.x = a.x) := coalesce(count_star, 0)
--     OuterJoin left (x = x)
--       Scan a (x, y, s)
--       Aggregate count(*) by x
--         Scan b (x, z)

SELECT x, (SELECT max(z) FROM b WHERE b.x = a.x HAVING count(*) > 1) FROM a;
-- before:
--   Project x, (SELECT max(z) FROM b WHERE b.x = a.x HAVING count(*) > 1) := scalar subquery
--     Scan a (x, y, s)
-- after:
--   Project x, (SELECT max(z) FROM b WHERE b.x = a.x HAVING count(*) > 1) := case((coalesce(count_star, 0) > 1), max, NULL)
--     OuterJoin left (x = x)
--       Scan a (x, y, s)
--       Aggregate max(z), count(*) by x
--         Scan b (x, z)

-- By the key of a table there is one row at most.
SELECT (SELECT name FROM city WHERE id = a.y) FROM a;
-- before:
--   Project (SELECT name FROM city WHERE id = a.y) := scalar subquery
--     Scan a (x, y, s)
-- after:
--   Project (SELECT name FROM city WHERE id = a.y) := name
--     OuterJoin left (id = y)
--       Scan a (x, y, s)
--       Project id, name
--         Scan city (id, name)

-- Otherwise: the query for all distinct outer values, which join its tables.
SELECT x, (SELECT sum(z) FROM b WHERE b.x < a.x) FROM a;
-- before:
--   Project x, (SELECT sum(z) FROM b WHERE b.x < a.x) := scalar subquery
--     Scan a (x, y, s)
-- after:
--   Project x, (SELECT sum(z) FROM b WHERE b.x < a.x) := sum(z)
--     OuterJoin left (x = x)
--       Project x, y, s
--         Project x, y, s
--           Scan a (x, y, s)
--       Project sum(z) := sum, x
--         Project sum, x
--           OuterJoin left (x = x)
--             CommonTable shared rows (x)
--               Project x
--                 Aggregate distinct by x
--                   Project x
--                     Project x, y, s
--                       Project x, y, s
--                         Scan a (x, y, s)
--             Aggregate sum(z) by x
--               Filter (x < x)
--                 InnerJoin
--                   CommonTable shared rows (x)
--                     Project x
--                       Aggregate distinct by x
--                         Project x
--                           Project x, y, s
--                             Project x, y, s
--                               Scan a (x, y, s)
--                   Scan b (x, z)

SELECT x, (SELECT z FROM b WHERE b.x <= a.y ORDER BY z LIMIT 1) FROM a;
-- before:
--   Project x, (SELECT z FROM b WHERE b.x <= a.y ORDER BY z LIMIT 1) := scalar subquery
--     Scan a (x, y, s)
-- after:
--   Project x, (SELECT z FROM b WHERE b.x <= a.y ORDER BY z LIMIT 1) := z
--     OuterJoin left (y IS NOT DISTINCT FROM y)
--       Project x, y, s
--         Project x, y, s
--           Scan a (x, y, s)
--       Project z, y
--         Filter (row_number <= 1)
--           Window row_number() OVER (PARTITION BY y ORDER BY z ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
--             Project z, y
--               Filter (x <= y)
--                 InnerJoin
--                   Project y
--                     Project y
--                       Aggregate distinct by y
--                         Project y
--                           Project x, y, s
--                             Project x, y, s
--                               Scan a (x, y, s)
--                   Scan b (x, z)

-- EXISTS and IN: semi joins where they filter, marks elsewhere.
SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND b.z > a.y);
-- before:
--   Project x
--     Filter exists subquery
--       Scan a (x, y, s)
-- after:
--   Project x
--     SemiJoin semi (x = x) AND (z > y)
--       Scan a (x, y, s)
--       Scan b (x, z)

SELECT x FROM a WHERE x NOT IN (SELECT z FROM b);
-- before:
--   Project x
--     Filter NOT any subquery
--       Scan a (x, y, s)
-- after:
--   Project x
--     SemiJoin anti (x = z)
--       Scan a (x, y, s)
--       Project z
--         Scan b (x, z)

SELECT x FROM a WHERE y NOT IN (SELECT x FROM b);
-- before:
--   Project x
--     Filter NOT any subquery
--       Scan a (x, y, s)
-- after:
--   Project x
--     Project x, y, s
--       Filter NOT ((y IS NULL) AND mark)
--         SemiJoin mark
--           SemiJoin anti (x IS NULL)
--             SemiJoin anti (y = x)
--               Scan a (x, y, s)
--               Project x
--                 Project x
--                   Project x
--                     Scan b (x, z)
--             Project x
--               Project x
--                 Project x
--                   Scan b (x, z)
--           Limit 1
--             Project x
--               Project x
--                 Project x
--                   Scan b (x, z)

SELECT x, y IN (SELECT x FROM b) FROM a;
-- before:
--   Project x, y IN (SELECT x FROM b) := any subquery
--     Scan a (x, y, s)
-- after:
--   Project x, y IN (SELECT x FROM b) := case(mark, True, (mark OR ((y IS NULL) AND mark)), NULL, False)
--     SemiJoin mark
--       SemiJoin mark (x IS NULL)
--         SemiJoin mark (y = x)
--           Scan a (x, y, s)
--           Project x
--             Project x
--               Project x
--                 Scan b (x, z)
--         Project x
--           Project x
--             Project x
--               Scan b (x, z)
--       Limit 1
--         Project x
--           Project x
--             Project x
--               Scan b (x, z)

SELECT x > ALL (SELECT z FROM b) FROM a;
-- before:
--   Project x > ALL (SELECT z FROM b) := NOT any subquery
--     Scan a (x, y, s)
-- after:
--   Project x > ALL (SELECT z FROM b) := NOT mark
--     SemiJoin mark (x <= z)
--       Scan a (x, y, s)
--       Project z
--         Scan b (x, z)

-- LATERAL.
SELECT a.x, l.z FROM a LEFT JOIN LATERAL (SELECT z, a.y + 1 AS n FROM b WHERE b.x = a.x) l ON l.n > 1;
-- before:
--   Project x, z
--     Apply left (y, x)
--       Scan a (x, y, s)
--       Project z, n := (y + 1)
--         Filter (x = x)
--           Scan b (x, z)
-- after:
--   Project x, z
--     Project x, y, s, z, n := case(NOT (is there IS NULL), (y + 1), NULL)
--       OuterJoin left (x = x) AND ((y + 1) > 1)
--         Scan a (x, y, s)
--         Project x, z, is there := True
--           Project x, z
--             Scan b (x, z)

-- Several levels.
SELECT x FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.x = a.x AND EXISTS (SELECT 1 FROM city WHERE city.id = b.z AND city.name = a.s));
-- before:
--   Project x
--     Filter exists subquery
--       Scan a (x, y, s)
-- after:
--   Project x
--     SemiJoin semi (x = x) AND (s = s)
--       Project x, y, s
--         Project x, y, s
--           Scan a (x, y, s)
--       SemiJoin semi (id = z) AND (name = s)
--         Filter (x = x)
--           InnerJoin
--             Project x, s
--               Project x, s
--                 Aggregate distinct by x, s
--                   Project x, s
--                     Project x, y, s
--                       Project x, y, s
--                         Scan a (x, y, s)
--             Scan b (x, z)
--         Scan city (id, name)
