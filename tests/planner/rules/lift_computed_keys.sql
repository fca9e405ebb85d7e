CREATE TABLE hit (ip INTEGER, day DATE, url VARCHAR, seconds DOUBLE);

-- What other keys determine is computed of the groups.
SELECT ip, ip - 1, ip - 2, count(*) FROM hit GROUP BY ip, ip - 1, ip - 2;
-- before:
--   Project ip, ip - 1, ip - 2, count(*) := count_star
--     Aggregate count(*) by ip, ip - 1 := (ip - 1), ip - 2 := (ip - 2)
--       Scan hit (ip, day, url, seconds)
-- after:
--   Project ip, ip - 1, ip - 2, count(*) := count_star
--     Project ip, ip - 1 := (ip - 1), ip - 2 := (ip - 2), count_star
--       Aggregate count(*) by ip
--         Scan hit (ip, day, url, seconds)

SELECT 1, url, upper(url) || 'x', sum(ip) FROM hit GROUP BY 1, 2, 3 HAVING upper(url) || 'x' <> 'AX';
-- before:
--   Project 1, url, upper(url) || 'x' := 3, sum(ip) := sum
--     Filter (3 <> 'AX')
--       Aggregate sum(ip) by 1, url, 3 := (upper(url) || 'x')
--         Scan hit (ip, day, url, seconds)
-- after:
--   Project 1, url, upper(url) || 'x' := 3, sum(ip) := sum
--     Filter (3 <> 'AX')
--       Project 1, url, 3 := (upper(url) || 'x'), sum
--         Aggregate sum(ip) by url
--           Scan hit (ip, day, url, seconds)

SELECT x, y, count(*) FROM (SELECT day AS x, date_trunc('month', day) AS y FROM hit) GROUP BY x, y;
-- before:
--   Project x, y, count(*) := count_star
--     Aggregate count(*) by x := day, y := date_trunc('month', CAST(day AS TIMESTAMP))
--       Scan hit (ip, day, url, seconds)
-- after:
--   Project x, y, count(*) := count_star
--     Project x, y := date_trunc('month', CAST(x AS TIMESTAMP)), count_star
--       Aggregate count(*) by x := day
--         Scan hit (ip, day, url, seconds)

-- Equal doubles may differ, 0.0 and -0.0, and random() is another number for each row.
SELECT seconds, 1 / seconds, count(*) FROM hit GROUP BY ALL;
-- unchanged:
--   Project seconds, 1 / seconds := key, count(*) := count_star
--     Aggregate count(*) by seconds, key := (1.0 / seconds)
--       Scan hit (ip, day, url, seconds)

SELECT DISTINCT ip, ip + random() FROM hit;
-- unchanged:
--   Aggregate distinct by ip, ip + random()
--     Project ip, ip + random() := (CAST(ip AS DOUBLE) + random())
--       Scan hit (ip, day, url, seconds)

-- One key has to stay, and grouping sets have theirs in different places.
SELECT 1, 2, count(*) FROM hit GROUP BY 1, 2;
-- unchanged:
--   Project 1, 2, count(*) := count_star
--     Aggregate count(*) by 1, 2
--       Scan hit (ip, day, url, seconds)

SELECT ip, ip + 1, count(*) FROM hit GROUP BY GROUPING SETS ((ip), (ip + 1));
-- unchanged:
--   Project ip, ip + 1, count(*) := count_star
--     Aggregate count(*) by ip, ip + 1 := (ip + 1) in 2 sets
--       Scan hit (ip, day, url, seconds)
