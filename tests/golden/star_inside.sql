-- The fused path takes a star wherever it stands; the rest of the query works on its groups.
CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER);

CREATE TABLE sale (day INTEGER REFERENCES day (d_id), city VARCHAR, amount INTEGER);

INSERT INTO day VALUES (1, 1994), (2, 1995), (3, 1996);

INSERT INTO sale VALUES (1, 'Rome', 10), (1, 'Oslo', 20), (2, 'Rome', 40), (2, 'Oslo', 5), (3, 'Bari', 7);

CREATE BVH sales ON sale (SCAN (d_year, city), GROUP BY (d_year, city), AGGREGATE (amount));

CREATE VIEW joined AS SELECT d_year AS year, city, amount FROM sale JOIN day ON day = d_id;

CREATE VIEW yearly AS SELECT year, sum(amount) AS total FROM joined GROUP BY year;

-- In a common table expression that is used once, and in a view.
EXPLAIN WITH y AS (SELECT d_year, sum(amount) AS s FROM sale, day WHERE day = d_id GROUP BY d_year) SELECT d_year FROM y WHERE s > 20;
-- has: path: fused
-- has: FusedScanAggregate: sum(amount) by d_year
WITH y AS (SELECT d_year, sum(amount) AS s FROM sale, day WHERE day = d_id GROUP BY d_year) SELECT d_year FROM y WHERE s > 20 ORDER BY d_year;
-- 1994
-- 1995
EXPLAIN SELECT * FROM yearly WHERE total > 20;
-- has: path: fused
-- has: FusedScanAggregate: sum(amount) by d_year
SELECT * FROM yearly WHERE total > 20 ORDER BY year;
-- 1994 | 30
-- 1995 | 45

-- Used twice, it runs once.
EXPLAIN WITH y AS (SELECT d_year, sum(amount) AS s FROM sale, day WHERE day = d_id GROUP BY d_year)
SELECT a.d_year, b.s - a.s FROM y AS a JOIN y AS b ON b.d_year = a.d_year + 1;
-- has: path: fused
-- has: FusedScanAggregate: sum(amount) by d_year
-- has: SharedRows: y, as above
WITH y AS (SELECT d_year, sum(amount) AS s FROM sale, day WHERE day = d_id GROUP BY d_year)
SELECT a.d_year, b.s - a.s FROM y AS a JOIN y AS b ON b.d_year = a.d_year + 1 ORDER BY 1;
-- 1994 | 15
-- 1995 | -38

-- The join is what is used twice: each use of it is a star.
EXPLAIN WITH j AS (SELECT d_year, city, amount FROM sale, day WHERE day = d_id)
SELECT sum(amount) FROM j WHERE d_year = 1994 UNION ALL SELECT count(*) FROM j WHERE city = 'Rome';
-- has: path: fused
-- has: FusedScanAggregate: sum(amount)
-- has: FusedScanAggregate: count(*)
WITH j AS (SELECT d_year, city, amount FROM sale, day WHERE day = d_id)
SELECT sum(amount) FROM j WHERE d_year = 1994 UNION ALL SELECT count(*) FROM j WHERE city = 'Rome';
-- 2
-- 30

-- A fact table that is joined with itself is no star: the join runs once.
EXPLAIN WITH p AS (SELECT a.day FROM sale a, sale b WHERE a.day = b.day AND a.amount > b.amount)
SELECT count(*) FROM p x, p y WHERE x.day = y.day;
-- has: SharedRows: p, as above
WITH p AS (SELECT a.day FROM sale a, sale b WHERE a.day = b.day AND a.amount > b.amount)
SELECT count(*) FROM p x, p y WHERE x.day = y.day;
-- 2

-- In a derived table, under an order that nothing sees, in a subquery, below DISTINCT, windows and set operations.
EXPLAIN SELECT max(s) FROM (SELECT city, sum(amount) AS s FROM sale GROUP BY city) AS c;
-- has: path: fused
-- has: FusedScanAggregate: sum(amount) by city
SELECT max(s) FROM (SELECT city, sum(amount) AS s FROM sale GROUP BY city) AS c;
-- 50
EXPLAIN SELECT sum(amount) FROM (SELECT * FROM sale ORDER BY amount) AS s;
-- has: path: fused
SELECT sum(amount) FROM (SELECT * FROM sale ORDER BY amount) AS s;
-- 82
EXPLAIN SELECT city FROM sale WHERE amount = (SELECT max(amount) FROM sale);
-- has: path: fused
-- has: FusedScanAggregate: max(amount)
SELECT city FROM sale WHERE amount = (SELECT max(amount) FROM sale);
-- 'Rome'
EXPLAIN SELECT city, sum(amount), rank() OVER (ORDER BY sum(amount) DESC) FROM sale GROUP BY city QUALIFY rank() OVER (ORDER BY sum(amount)) > 1;
-- has: path: fused
-- has: WindowRows
SELECT city, sum(amount), rank() OVER (ORDER BY sum(amount) DESC) FROM sale GROUP BY city QUALIFY rank() OVER (ORDER BY sum(amount)) > 1 ORDER BY 3;
-- 'Rome' | 50 | 1
-- 'Oslo' | 25 | 2
EXPLAIN SELECT DISTINCT city, sum(amount) FROM sale GROUP BY city EXCEPT SELECT city, sum(amount) FROM sale WHERE city = 'Bari' GROUP BY city;
-- has: path: fused
-- has: FusedScanAggregate: sum(amount) by city
SELECT DISTINCT city, sum(amount) FROM sale GROUP BY city EXCEPT SELECT city, sum(amount) FROM sale WHERE city = 'Bari' GROUP BY city ORDER BY 1;
-- 'Oslo' | 25
-- 'Rome' | 50
EXPLAIN SELECT DISTINCT ON (d_year) d_year, city, sum(amount) FROM sale, day WHERE day = d_id GROUP BY ROLLUP (d_year, city) ORDER BY d_year, 3 DESC;
-- has: path: fused
-- has: FusedScanAggregate: sum(amount) by d_year, city
SELECT DISTINCT ON (d_year) d_year, city, sum(amount) FROM sale, day WHERE day = d_id GROUP BY ROLLUP (d_year, city) ORDER BY d_year, 3 DESC, city NULLS FIRST;
-- 1994 | NULL | 30
-- 1995 | NULL | 45
-- 1996 | NULL | 7
-- NULL | NULL | 82

-- A total is one row even where nothing of it is asked, and whatever the rows are.
SELECT count(*) FROM (SELECT sum(amount) FROM sale WHERE city = 'Rome') AS q;
-- 1
SELECT 1 FROM (SELECT sum(amount) FROM sale WHERE city = 'nowhere') AS q;
-- 1
SELECT EXISTS (SELECT sum(amount) FROM sale WHERE city = 'Rome');
-- true
WITH q AS (SELECT d_year, sum(amount) FROM sale, day WHERE day = d_id GROUP BY CUBE (d_year)) SELECT count(*) FROM q, q AS r;
-- 16
SELECT city, n FROM (SELECT DISTINCT city FROM sale) AS c, (SELECT 1 AS n FROM (SELECT max(amount) FROM sale) AS m) AS o ORDER BY city;
-- 'Bari' | 1
-- 'Oslo' | 1
-- 'Rome' | 1
