-- COUNT(DISTINCT x), MIN(x) and MAX(x) over what a BVH encodes: the job groups by x as well.
CREATE TABLE shop (s_id INTEGER PRIMARY KEY, city VARCHAR, country VARCHAR NOT NULL);

CREATE TABLE sale (shop INTEGER REFERENCES shop (s_id), day DATE, amount INTEGER, tax DOUBLE, paid BOOLEAN);

INSERT INTO shop VALUES (1, 'Oslo', 'Norway'), (2, 'Bergen', 'Norway'), (3, 'Lyon', 'France'), (4, NULL, 'France');

INSERT INTO sale VALUES
  (1, '2026-05-01', 10, 0.5, TRUE), (1, '2026-05-02', 20, NULL, TRUE), (2, '2026-05-02', 5, 2.5, FALSE),
  (2, NULL, 7, 1.5, FALSE), (3, '2026-04-30', -3, NULL, NULL), (4, NULL, NULL, NULL, TRUE), (4, NULL, 8, 4, NULL);

CREATE BVH sales ON sale (SCAN (country, day), GROUP BY (city, paid), AGGREGATE (amount, tax));

EXPLAIN SELECT country, count(DISTINCT city), min(day), max(city), sum(amount) FROM sale, shop WHERE shop = s_id GROUP BY country;
-- has: path: fused
-- has: Y 4 of 4

SELECT country, count(DISTINCT city), min(day), max(day), min(city), max(city), sum(amount), count(amount), count(*), min(amount), max(tax)
FROM sale, shop WHERE shop = s_id GROUP BY country ORDER BY country;
-- 'France' | 1 | 2026-04-30 | 2026-04-30 | 'Lyon' | 'Lyon' | 5 | 2 | 3 | -3 | 4.0
-- 'Norway' | 2 | 2026-05-01 | 2026-05-02 | 'Bergen' | 'Oslo' | 42 | 4 | 4 | 5 | 2.5

-- A NULL is no value.
SELECT city, count(DISTINCT day), count(DISTINCT city), max(day), min(tax) FROM sale, shop WHERE shop = s_id GROUP BY city ORDER BY city;
-- 'Bergen' | 1 | 1 | 2026-05-02 | 1.5
-- 'Lyon' | 1 | 1 | 2026-04-30 | NULL
-- 'Oslo' | 2 | 1 | 2026-05-02 | 0.5
-- NULL | 0 | 0 | NULL | 4.0

-- Without keys there is one row, even of no rows.
SELECT count(DISTINCT city), count(DISTINCT day), min(city), avg(amount) FROM sale, shop WHERE shop = s_id;
-- 3 | 3 | 'Bergen' | 7.833333333333333
SELECT count(DISTINCT city), min(day), max(city), sum(amount), count(*) FROM sale, shop WHERE shop = s_id AND country = 'Peru';
-- 0 | NULL | NULL | NULL | 0
SELECT country, count(DISTINCT city) FROM sale, shop WHERE shop = s_id AND country = 'Peru' GROUP BY country;
-- (no rows)

-- Two questions to one column, an expression, and a filter that the BVH does not hold.
SELECT country, count(DISTINCT city), count(DISTINCT upper(city)), min(lower(city)), count(DISTINCT extract(month FROM day))
FROM sale, shop WHERE shop = s_id GROUP BY country ORDER BY country;
-- 'France' | 1 | 1 | 'lyon' | 1
-- 'Norway' | 2 | 2 | 'bergen' | 1
SELECT country, count(DISTINCT city), max(day), sum(amount) FROM sale, shop WHERE shop = s_id AND amount > 5 GROUP BY country ORDER BY country;
-- 'France' | 0 | NULL | 8
-- 'Norway' | 2 | 2026-05-02 | 37

-- Keys that the BVH does not hold.
SELECT amount % 2 AS odd, count(DISTINCT country), min(city), max(amount), max(tax) FROM sale, shop WHERE shop = s_id GROUP BY amount % 2 ORDER BY odd;
-- -1 | 1 | 'Lyon' | -3 | NULL
-- 0 | 2 | 'Oslo' | 20 | 4.0
-- 1 | 1 | 'Bergen' | 7 | 2.5
-- NULL | 1 | NULL | NULL | NULL

-- Grouping sets.
SELECT country, paid, count(DISTINCT day), max(city) FROM sale, shop WHERE shop = s_id GROUP BY ROLLUP (country, paid) ORDER BY country, paid, 3;
-- 'France' | true | 0 | NULL
-- 'France' | NULL | 1 | 'Lyon'
-- 'France' | NULL | 1 | 'Lyon'
-- 'Norway' | false | 1 | 'Bergen'
-- 'Norway' | true | 2 | 'Oslo'
-- 'Norway' | NULL | 2 | 'Oslo'
-- NULL | NULL | 3 | 'Oslo'

-- New rows are seen.
INSERT INTO sale VALUES (3, '2026-06-01', 1, 1, TRUE);
SELECT country, count(DISTINCT day), max(day) FROM sale, shop WHERE shop = s_id GROUP BY country ORDER BY country;
-- 'France' | 2 | 2026-06-01
-- 'Norway' | 2 | 2026-05-02
