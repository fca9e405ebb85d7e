CREATE TABLE sale (region VARCHAR, product VARCHAR, year INTEGER, amount INTEGER);

INSERT INTO sale VALUES ('N', 'p', 1, 10), ('N', 'q', 1, 20), ('S', 'p', 1, 30), ('S', 'p', 2, 40), ('S', NULL, 2, 50);

SELECT region, product, sum(amount) FROM sale GROUP BY ROLLUP (region, product) ORDER BY region, product, 3;
-- 'N' | 'p' | 10
-- 'N' | 'q' | 20
-- 'N' | NULL | 30
-- 'S' | 'p' | 70
-- 'S' | NULL | 50
-- 'S' | NULL | 120
-- NULL | NULL | 150
SELECT region, product, sum(amount), grouping(region), grouping(product), grouping(region, product)
FROM sale GROUP BY CUBE (region, product) ORDER BY 6, region, product;
-- 'N' | 'p' | 10 | 0 | 0 | 0
-- 'N' | 'q' | 20 | 0 | 0 | 0
-- 'S' | 'p' | 70 | 0 | 0 | 0
-- 'S' | NULL | 50 | 0 | 0 | 0
-- 'N' | NULL | 30 | 0 | 1 | 1
-- 'S' | NULL | 120 | 0 | 1 | 1
-- NULL | 'p' | 80 | 1 | 0 | 2
-- NULL | 'q' | 20 | 1 | 0 | 2
-- NULL | NULL | 50 | 1 | 0 | 2
-- NULL | NULL | 150 | 1 | 1 | 3
SELECT region, year, count(*) FROM sale GROUP BY GROUPING SETS ((region), (year), ()) ORDER BY region, year;
-- 'N' | NULL | 2
-- 'S' | NULL | 3
-- NULL | 1 | 3
-- NULL | 2 | 2
-- NULL | NULL | 5
SELECT region, year, count(*) FROM sale GROUP BY GROUPING SETS ((region, year), year) ORDER BY region, year;
-- 'N' | 1 | 2
-- 'S' | 1 | 1
-- 'S' | 2 | 2
-- NULL | 1 | 3
-- NULL | 2 | 2

-- Sets are kept when they come twice, and multiply with plain keys and with each other.
SELECT region, count(*) FROM sale GROUP BY GROUPING SETS ((region), (region)) ORDER BY region;
-- 'N' | 2
-- 'N' | 2
-- 'S' | 3
-- 'S' | 3
SELECT year, region, sum(amount) FROM sale GROUP BY year, ROLLUP (region) ORDER BY year, region;
-- 1 | 'N' | 30
-- 1 | 'S' | 30
-- 1 | NULL | 60
-- 2 | 'S' | 90
-- 2 | NULL | 90
SELECT region, year, count(*) FROM sale GROUP BY ROLLUP (region), ROLLUP (year) ORDER BY region, year;
-- 'N' | 1 | 2
-- 'N' | NULL | 2
-- 'S' | 1 | 1
-- 'S' | 2 | 2
-- 'S' | NULL | 3
-- NULL | 1 | 3
-- NULL | 2 | 2
-- NULL | NULL | 5
SELECT region, product, year, count(*) FROM sale GROUP BY ROLLUP ((region, product), year) ORDER BY region, product, year, 4;
-- 'N' | 'p' | 1 | 1
-- 'N' | 'p' | NULL | 1
-- 'N' | 'q' | 1 | 1
-- 'N' | 'q' | NULL | 1
-- 'S' | 'p' | 1 | 1
-- 'S' | 'p' | 2 | 1
-- 'S' | 'p' | NULL | 2
-- 'S' | NULL | 2 | 1
-- 'S' | NULL | NULL | 1
-- NULL | NULL | NULL | 5
SELECT region, count(*) FROM sale GROUP BY GROUPING SETS (ROLLUP (region), CUBE (region)) ORDER BY region;
-- 'N' | 2
-- 'N' | 2
-- 'S' | 3
-- 'S' | 3
-- NULL | 5
-- NULL | 5
SELECT region, sum(amount) FROM sale GROUP BY region, () ORDER BY region;
-- 'N' | 30
-- 'S' | 120
SELECT sum(amount) FROM sale GROUP BY ();
-- 150

-- The set of no keys gives a row even of no rows.
SELECT region, sum(amount), count(*), grouping(region) FROM sale WHERE amount > 99 GROUP BY ROLLUP (region);
-- NULL | NULL | 0 | 1
SELECT region, sum(amount) FROM sale WHERE amount > 99 GROUP BY GROUPING SETS ((region));
-- (no rows)

-- Keys by position, alias and expression; HAVING, QUALIFY and ORDER BY see the sets.
SELECT upper(region) || '!' AS r, sum(amount) FROM sale GROUP BY ROLLUP (r) ORDER BY r;
-- 'N!' | 30
-- 'S!' | 120
-- NULL | 150
SELECT region, sum(amount) FROM sale GROUP BY ROLLUP (1) ORDER BY 2;
-- 'N' | 30
-- 'S' | 120
-- NULL | 150
SELECT 'all' AS label, sum(amount) FROM sale GROUP BY ROLLUP (label) ORDER BY 1;
-- 'all' | 150
-- NULL | 150
SELECT region, product, sum(amount) FROM sale GROUP BY CUBE (region, product) HAVING grouping(region) = 1 ORDER BY product, 3;
-- NULL | 'p' | 80
-- NULL | 'q' | 20
-- NULL | NULL | 50
-- NULL | NULL | 150
SELECT CASE WHEN grouping(region) = 1 THEN 'total' ELSE region END AS r, sum(amount) FROM sale GROUP BY ROLLUP (region) ORDER BY grouping(region), r;
-- 'N' | 30
-- 'S' | 120
-- 'total' | 150
SELECT region, sum(amount) AS s, rank() OVER (PARTITION BY grouping(region) ORDER BY sum(amount) DESC) AS k
FROM sale GROUP BY ROLLUP (region) ORDER BY grouping(region), k;
-- 'S' | 120 | 1
-- 'N' | 30 | 2
-- NULL | 150 | 1
SELECT region, count(DISTINCT product), avg(year) FROM sale GROUP BY ROLLUP (region) ORDER BY region;
-- 'N' | 2 | 1.0
-- 'S' | 1 | 1.6666666666666667
-- NULL | 2 | 1.4
SELECT grouping(region) FROM sale GROUP BY region;
-- 0
-- 0
SELECT DISTINCT grouping_id(region, year) FROM sale GROUP BY CUBE (region, year) ORDER BY 1;
-- 0
-- 1
-- 2
-- 3
SELECT * FROM (SELECT region, sum(amount) AS s FROM sale GROUP BY ROLLUP (region)) AS t WHERE region = 'N';
-- 'N' | 30
SELECT count(*) FROM (SELECT DISTINCT region, sum(amount) FROM sale GROUP BY ROLLUP (region, year)) AS t;
-- 5

-- On a BVH each set is a fused job.
CREATE BVH by_region ON sale (SCAN (region, year), GROUP BY (region, product, year), AGGREGATE (amount));

EXPLAIN SELECT region, year, sum(amount) FROM sale WHERE year = 2 GROUP BY ROLLUP (region, year);
-- has: path: fused
-- has: ConcatenateRows: 3 sources
-- has: FusedScanAggregate: sum(amount) by region, year
-- has: FusedScanAggregate: sum(amount) by region
SELECT region, year, sum(amount), grouping(region, year) FROM sale WHERE year = 2 GROUP BY ROLLUP (region, year) ORDER BY region, year;
-- 'S' | 2 | 90 | 0
-- 'S' | NULL | 90 | 1
-- NULL | NULL | 90 | 3
SELECT region, sum(amount) FROM sale WHERE year = 9 GROUP BY ROLLUP (region);
-- NULL | NULL
SELECT * FROM (SELECT region, sum(amount) AS s FROM sale GROUP BY ROLLUP (region)) AS t WHERE region = 'N';
-- 'N' | 30

SELECT region, product, sum(amount) FROM sale GROUP BY ROLLUP (region);
-- error: ProgrammingError: column 'product' must be in GROUP BY or inside an aggregate (line 1, column 16)
SELECT grouping(product) FROM sale GROUP BY ROLLUP (region);
-- error: ProgrammingError: GROUPING needs keys of GROUP BY; 'product' (VARCHAR) is none (line 1, column 17)
SELECT region FROM sale WHERE grouping(region) = 1 GROUP BY ROLLUP (region);
-- error: ProgrammingError: WHERE cannot contain GROUPING (line 1, column 31)
SELECT grouping() FROM sale GROUP BY ROLLUP (region);
-- error: ProgrammingError: GROUPING needs keys of GROUP BY (line 1, column 8)
SELECT region FROM sale GROUP BY ROLLUP (sum(amount));
-- error: ProgrammingError: GROUP BY cannot contain the aggregate sum (line 1, column 42)
SELECT region FROM sale GROUP BY ROLLUP (7);
-- error: ProgrammingError: GROUP BY position 7 is not in the SELECT list, which has 1

-- Parentheses around a set mean nothing.
SELECT sum(n) FROM (VALUES (1, 2, 10), (1, 3, 20)) AS v(a, b, n) GROUP BY GROUPING SETS (((a, b)), ((a)), ()) ORDER BY 1;
-- 10
-- 20
-- 30
-- 30

-- Where all keys have few groups, these are put together for each set.
CREATE TABLE many AS SELECT i % 3 AS a, i % 2 = 0 AS b, CASE WHEN i % 5 > 0 THEN i END AS n FROM range(300) AS r (i);
CREATE BVH by_a ON many (SCAN (a, b), AGGREGATE (n));
EXPLAIN SELECT a, b, sum(n), avg(n), count(*), count(DISTINCT b) FROM many GROUP BY CUBE (a, b);
-- has: path: fused
-- has: sets: (a, b), (a), (b), ()
-- has: FusedScanAggregate: sum(n), count(n), count(*) by a, b, b
SELECT a, b, sum(n), avg(n), count(*), count(n), min(n), count(DISTINCT b), grouping(a, b) FROM many GROUP BY CUBE (a, b) ORDER BY 9, a, b;
-- 0 | false | 6000 | 150.0 | 50 | 40 | 3 | 1 | 0
-- 0 | true | 6000 | 150.0 | 50 | 40 | 6 | 1 | 0
-- 1 | false | 5800 | 145.0 | 50 | 40 | 1 | 1 | 0
-- 1 | true | 6100 | 152.5 | 50 | 40 | 4 | 1 | 0
-- 2 | false | 6200 | 155.0 | 50 | 40 | 11 | 1 | 0
-- 2 | true | 5900 | 147.5 | 50 | 40 | 2 | 1 | 0
-- 0 | NULL | 12000 | 150.0 | 100 | 80 | 3 | 2 | 1
-- 1 | NULL | 11900 | 148.75 | 100 | 80 | 1 | 2 | 1
-- 2 | NULL | 12100 | 151.25 | 100 | 80 | 2 | 2 | 1
-- NULL | false | 18000 | 150.0 | 150 | 120 | 1 | 1 | 2
-- NULL | true | 18000 | 150.0 | 150 | 120 | 2 | 1 | 2
-- NULL | NULL | 36000 | 150.0 | 300 | 240 | 1 | 2 | 3
SELECT b, a, max(n) FROM many WHERE a < 2 GROUP BY GROUPING SETS ((b, a), (b), (b), ()) ORDER BY b, a;
-- false | 0 | 297
-- false | 1 | 289
-- false | NULL | 297
-- false | NULL | 297
-- true | 0 | 294
-- true | 1 | 298
-- true | NULL | 298
-- true | NULL | 298
-- NULL | NULL | 298
SELECT a, sum(n), count(n), count(DISTINCT b) FROM many WHERE a > 9 GROUP BY ROLLUP (a);
-- NULL | NULL | 0 | 0
SELECT a, sum(n) FROM many GROUP BY ROLLUP (a) HAVING grouping(a) = 1 OR a = 1 ORDER BY a;
-- 1 | 11900
-- NULL | 36000

SELECT year > 1 AS late, year, sum(amount) FROM sale GROUP BY CUBE (year > 1, year) ORDER BY ALL;
-- false | 1 | 60
-- false | NULL | 60
-- true | 2 | 90
-- true | NULL | 90
-- NULL | 1 | 60
-- NULL | 2 | 90
-- NULL | NULL | 150
SELECT region = 'N' AS north, sum(amount) FROM sale GROUP BY ROLLUP (region = 'N', product IS NULL OR year = 1) ORDER BY ALL;
-- false | 40
-- false | 80
-- false | 120
-- true | 30
-- true | 30
-- NULL | 150
SELECT year, count(*) FROM sale GROUP BY GROUPING SETS (year, amount > 20, (), (year + 1, NOT region = 'N')) ORDER BY ALL;
-- 1 | 3
-- 2 | 2
-- NULL | 1
-- NULL | 2
-- NULL | 2
-- NULL | 2
-- NULL | 3
-- NULL | 5

-- A key with a subquery is the one of the select list, and NULL in the sets without it.
SELECT (SELECT max(v) FROM (VALUES (7)) AS m (v)) + x AS a, x AS b, count(*) FROM (VALUES (1), (2), (NULL)) AS t (x) GROUP BY CUBE ((SELECT max(v) FROM (VALUES (7)) AS m (v)) + x, x);
-- 8 | 1 | 1
-- 8 | NULL | 1
-- 9 | 2 | 1
-- 9 | NULL | 1
-- NULL | 1 | 1
-- NULL | 2 | 1
-- NULL | NULL | 1
-- NULL | NULL | 1
-- NULL | NULL | 1
-- NULL | NULL | 3

SELECT x IN (SELECT v FROM (VALUES (2), (3)) AS m (v)) AS a, count(*) FROM (VALUES (1), (2), (NULL)) AS t (x) GROUP BY ROLLUP (x IN (SELECT v FROM (VALUES (2), (3)) AS m (v)));
-- NULL | 1
-- NULL | 3
-- false | 1
-- true | 1

SELECT (SELECT max(v) FROM (VALUES (7)) AS m (v)) + x, count(*) FROM (VALUES (1), (2)) AS t (x) GROUP BY (SELECT max(v) FROM (VALUES (7)) AS m (v)) + x;
-- 8 | 1
-- 9 | 1

SELECT (SELECT max(v) FROM (VALUES (7)) AS m (v)) + x + 1 FROM (VALUES (1), (2)) AS t (x) GROUP BY ROLLUP ((SELECT max(v) FROM (VALUES (7)) AS m (v)) + x, x);
-- error: NotSupportedError: a subquery beside GROUPING SETS with one is not supported, but as in GROUP BY

-- An average whose sum does not fit its type.
CREATE TABLE wide AS SELECT i % 3 AS p, CAST('6000000000000000000000000000000000' AS DECIMAL(38, 4)) AS d FROM range(12) AS r(i);

SELECT p, avg(d) FROM wide GROUP BY ROLLUP (p);
-- 0 | 6e+33
-- 1 | 6e+33
-- 2 | 6e+33
-- NULL | 6e+33
