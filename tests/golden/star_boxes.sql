-- OR over several hierarchies of a BVH: a union of boxes of cells.
CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER, d_month INTEGER);
CREATE TABLE sale (day INTEGER REFERENCES day (d_id), city VARCHAR, size INTEGER, amount INTEGER);
INSERT INTO day VALUES (1, 1993, 1), (2, 1993, 7), (3, 1997, 1), (4, 1998, 7), (5, NULL, 2);
INSERT INTO sale SELECT 1 + i % 5, CASE WHEN i % 4 > 0 THEN 'C' || i % 4 END, i % 3, i FROM range(120) AS r (i);
CREATE BVH sales ON sale (SCAN (d_year, city), GROUP BY (d_month), AGGREGATE (amount));
EXPLAIN SELECT sum(amount) FROM sale, day WHERE day = d_id AND (d_year = 1993 AND city = 'C1' OR d_year = 1997 AND city = 'C2');
-- has: bvh: sales
-- has: Z 2 of 2
-- has: estimated rows: 18 of 120
SELECT sum(amount) FROM sale, day WHERE day = d_id AND (d_year = 1993 AND city = 'C1' OR d_year = 1997 AND city = 'C2');
-- 948

-- Boxes that overlap, that are empty, that NULL keeps out, and two such conditions.
SELECT d_year, city, count(*), sum(amount) FROM sale, day WHERE day = d_id AND (d_year > 1993 AND city = 'C1' OR d_year <= 1997 AND city >= 'C1' OR city IS NULL) GROUP BY d_year, city ORDER BY d_year, city;
-- 1993 | 'C1' | 12 | 636
-- 1993 | 'C2' | 12 | 696
-- 1993 | 'C3' | 12 | 756
-- 1993 | NULL | 12 | 696
-- 1997 | 'C1' | 6 | 402
-- 1997 | 'C2' | 6 | 312
-- 1997 | 'C3' | 6 | 342
-- 1997 | NULL | 6 | 372
-- 1998 | 'C1' | 6 | 378
-- 1998 | NULL | 6 | 348
-- NULL | NULL | 6 | 324
SELECT count(*) FROM sale, day WHERE day = d_id AND (d_year = 1 AND city = 'C1' OR d_year = 1997 AND city = 'none');
-- 0
SELECT count(*) FROM sale, day WHERE day = d_id AND (d_year <> 1993 OR city <> 'C1');
-- 84
SELECT d_month, count(*) FROM sale, day WHERE day = d_id AND (d_year = 1993 OR city = 'C1') AND (d_year = 1997 OR city = 'C2') GROUP BY d_month ORDER BY 1;
-- 1 | 12
-- 7 | 6
SELECT count(*) FROM sale, day WHERE day = d_id AND d_month = 7 AND (d_year = 1993 AND city = 'C1' OR d_year = 1998);
-- 30

-- An attribute that is not of the cells' order is looked up for each row.
EXPLAIN SELECT sum(amount) FROM sale, day WHERE day = d_id AND (d_month = 7 OR city = 'C1');
-- has: fetched by row id
SELECT sum(amount) FROM sale, day WHERE day = d_id AND (d_month = 7 OR city = 'C1');
-- 3942
SELECT sum(amount) FROM sale, day WHERE day = d_id AND (d_year = 1993 OR size = 1);
-- 4236
