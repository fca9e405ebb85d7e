-- A left join of sales with their refunds, of which there may be several: two stars put together.
CREATE TABLE day (id INTEGER PRIMARY KEY, year INTEGER);
CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, day INTEGER REFERENCES day (id), price INTEGER);
CREATE TABLE refund (sale INTEGER REFERENCES sale (sale_id), amount INTEGER);
INSERT INTO day VALUES (1, 1994), (2, 1995), (3, 1996), (4, NULL);
INSERT INTO sale VALUES (1, 1, 10), (2, 1, NULL), (3, 2, 30), (4, 3, 40), (5, NULL, 50), (6, 4, 60);
INSERT INTO refund VALUES (1, 3), (1, 4), (3, NULL), (5, 8), (NULL, 9), (6, 1);
CREATE BVH sales ON sale (SCAN (year), AGGREGATE (price));
CREATE BVH refunds ON refund (SCAN (year), AGGREGATE (amount));

EXPLAIN SELECT year, sum(amount) FROM sale LEFT JOIN refund ON sale = sale_id JOIN day ON day = id GROUP BY year;
-- has: path: fused
-- has: bvh: sales
-- has: bvh: refunds
SELECT year, sum(amount), avg(amount), count(amount), min(price), count(DISTINCT price), count(*) FILTER (WHERE amount > 3) FROM sale LEFT JOIN refund ON sale = sale_id JOIN day ON day = id GROUP BY year ORDER BY year;
-- 1994 | 7 | 3.5 | 2 | 10 | 1 | 1
-- 1995 | NULL | NULL | 0 | 30 | 1 | 0
-- 1996 | NULL | NULL | 0 | 40 | 1 | 0
-- NULL | 1 | 1.0 | 1 | 60 | 1 | 0
SELECT sum(amount), count(sale), max(price), count(DISTINCT amount) FROM sale LEFT JOIN refund ON sale = sale_id AND amount > 3 JOIN day ON day = id WHERE year < 1996;
-- 4 | 1 | 30 | 1
SELECT sum(amount), count(sale), max(price) FROM sale LEFT JOIN refund ON sale = sale_id JOIN day ON day = id WHERE year = 2001;
-- NULL | 0 | NULL
SELECT year, sum(amount) FROM sale LEFT JOIN refund ON sale = sale_id JOIN day ON day = id WHERE year = 2001 GROUP BY year;
-- (no rows)

-- Each sale is there once for each refund.
EXPLAIN SELECT year, count(*), sum(price) FROM sale LEFT JOIN refund ON sale = sale_id JOIN day ON day = id GROUP BY year;
-- has: path: general
SELECT year, count(*), sum(price) FROM sale LEFT JOIN refund ON sale = sale_id JOIN day ON day = id GROUP BY year ORDER BY year;
-- 1994 | 3 | 20
-- 1995 | 1 | 30
-- 1996 | 1 | 40
-- NULL | 1 | 60

-- Refunds that are one a sale at most, by a key.
CREATE TABLE gift (sale INTEGER UNIQUE REFERENCES sale (sale_id), amount INTEGER);
INSERT INTO gift VALUES (1, 3), (NULL, 4), (4, NULL), (NULL, 5), (2, 7);
CREATE BVH gifts ON gift (SCAN (year), AGGREGATE (amount));
EXPLAIN SELECT year, count(*), sum(price), sum(amount) FROM sale LEFT JOIN gift ON sale = sale_id JOIN day ON day = id GROUP BY year;
-- has: path: fused
SELECT year, count(*), sum(price), sum(amount), count(gift.sale) FROM sale LEFT JOIN gift ON sale = sale_id JOIN day ON day = id GROUP BY year ORDER BY year;
-- 1994 | 2 | 10 | 10 | 2
-- 1995 | 1 | 30 | NULL | 0
-- 1996 | 1 | 40 | NULL | 1
-- NULL | 1 | 60 | NULL | 0
