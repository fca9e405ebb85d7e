CREATE TABLE a (x INTEGER, y INTEGER);

CREATE TABLE b (x INTEGER, z INTEGER);

-- Each condition filters the one table that it is about.
SELECT z FROM a, b WHERE a.x = b.x AND y > 1 AND z < 5;
-- before:
--   Project z
--     InnerJoin (x = x) AND (y > 1) AND (z < 5)
--       Scan a (x, y)
--       Scan b (x, z)
-- after:
--   Project z
--     InnerJoin (x = x)
--       Filter (y > 1)
--         Scan a (x, y)
--       Filter (z < 5)
--         Scan b (x, z)

-- The condition of a left join filters its right side, WHERE its left side.
SELECT z FROM a LEFT JOIN b ON a.x = b.x AND z < 5 WHERE y > 1;
-- before:
--   Project z
--     Filter (y > 1)
--       OuterJoin left (x = x) AND (z < 5)
--         Scan a (x, y)
--         Scan b (x, z)
-- after:
--   Project z
--     OuterJoin left (x = x)
--       Filter (y > 1)
--         Scan a (x, y)
--       Filter (z < 5)
--         Scan b (x, z)

-- A condition on a group key filters rows, one on an aggregate groups.
SELECT x, count(*) FROM (SELECT DISTINCT x, y FROM a) AS q GROUP BY x HAVING x > 1 AND count(*) > 2;
-- before:
--   Project x, count(*) := count_star
--     Filter ((x > 1) AND (count_star > 2))
--       Aggregate count(*) by x
--         Aggregate distinct by x, y [star of a]
--           Scan a (x, y)
-- after:
--   Project x, count(*) := count_star
--     Filter (count_star > 2)
--       Aggregate count(*) by x
--         Filter (x > 1)
--           Aggregate distinct by x, y [star of a]
--             Scan a (x, y)

-- Partitions are dropped whole, before their windows.
SELECT * FROM (SELECT x, row_number() OVER (PARTITION BY x ORDER BY y) AS r FROM a) AS q
WHERE x = 3 AND r = 1;
-- before:
--   Project x, r := row_number
--     Filter ((x = 3) AND (row_number = 1))
--       Window row_number() OVER (PARTITION BY x ORDER BY y RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
--         Scan a (x, y)
-- after:
--   Project x, r := row_number
--     Filter (row_number = 1)
--       Window row_number() OVER (PARTITION BY x ORDER BY y RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
--         Filter (x = 3)
--           Scan a (x, y)

-- A filter goes below a left join, and on into the inner join there.
SELECT b.z FROM a JOIN b ON a.x = b.x LEFT JOIN a AS c ON b.z = c.y WHERE b.z = 3 AND a.y < b.z;
-- before:
--   Project z
--     Filter ((z = 3) AND (y < z))
--       OuterJoin left (z = y) AND (y = 3)
--         InnerJoin (x = x)
--           Scan a (x, y)
--           Scan b (x, z)
--         Scan a (x, y)
-- after:
--   Project z
--     OuterJoin left (z = y)
--       InnerJoin (x = x) AND (y < z)
--         Scan a (x, y)
--         Filter (z = 3)
--           Scan b (x, z)
--       Filter (y = 3)
--         Scan a (x, y)

-- A filter of a union is one of each of its sources.
SELECT y FROM (SELECT x, y FROM a UNION ALL SELECT z, x FROM b) AS u WHERE x = 3;
-- before:
--   Project y
--     Filter (x = 3)
--       Union (x, y)
--         Project x, y
--           Scan a (x, y)
--         Project z, x
--           Scan b (x, z)
-- after:
--   Project y
--     Union (x, y)
--       Project x, y
--         Filter (x = 3)
--           Scan a (x, y)
--       Project z, x
--         Filter (z = 3)
--           Scan b (x, z)
