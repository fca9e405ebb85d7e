-- A small star, twice snowflaked, with NULLs in every place where they can be.
CREATE TABLE region (r_id INTEGER PRIMARY KEY, r_name VARCHAR);

CREATE TABLE shop (s_id INTEGER PRIMARY KEY, s_region INTEGER REFERENCES region (r_id), s_city VARCHAR);

CREATE TABLE product (p_code VARCHAR PRIMARY KEY, p_brand VARCHAR, p_price DECIMAL(6, 2));

CREATE TABLE sale (
  shop INTEGER NOT NULL REFERENCES shop (s_id), product VARCHAR REFERENCES product (p_code),
  day DATE, quantity INTEGER, price DECIMAL(8, 2));

INSERT INTO region VALUES (1, 'NORTH'), (2, 'SOUTH');

INSERT INTO shop VALUES (10, 1, 'Oslo'), (11, 1, 'Riga'), (12, 2, 'Rome'), (13, NULL, 'Nowhere');

INSERT INTO product VALUES ('a', 'apex', 1.00), ('b', 'apex', 2.00), ('c', 'bolt', NULL);

INSERT INTO sale VALUES
  (10, 'a', '1994-01-01', 5, 10.00),
  (10, 'b', '1994-06-01', -5, 20.50),
  (11, 'a', '1995-01-01', 7, 0.25),
  (12, 'c', '1995-06-01', 3, 100.00),
  (12, NULL, '1996-01-01', 2, 1.00),
  (13, 'c', NULL, 4, 2.00),
  (10, 'a', '1994-01-01', NULL, NULL);

CREATE BVH by_city ON sale (
  SCAN (r_name, s_city, p_brand, day),
  GROUP BY (s_city, p_brand),
  AGGREGATE (quantity, quantity * price));

SELECT s_city, sum(quantity) FROM sale, shop WHERE sale.shop = s_id GROUP BY s_city ORDER BY s_city;
-- 'Nowhere' | 4
-- 'Oslo' | 0
-- 'Riga' | 7
-- 'Rome' | 5

-- The shop without a region is no partner in the join with the regions ...
SELECT r_name, sum(quantity), count(*)
FROM sale, shop, region WHERE sale.shop = s_id AND s_region = r_id GROUP BY r_name;
-- 'NORTH' | 7 | 4
-- 'SOUTH' | 5 | 2
EXPLAIN SELECT r_name, sum(quantity), count(*)
FROM sale, shop, region WHERE sale.shop = s_id AND s_region = r_id GROUP BY r_name;
-- has: path: fused
-- has: bvh: by_city

-- ... nor the sale without a product in the join with the products.
SELECT p_brand, count(*), sum(quantity * price)
FROM sale JOIN product ON product = p_code GROUP BY p_brand;
-- 'apex' | 4 | -50.75
-- 'bolt' | 2 | 308.00
SELECT count(*), sum(quantity) FROM sale;
-- 7 | 16
SELECT count(*), sum(quantity) FROM sale JOIN product ON product = p_code;
-- 6 | 14

SELECT p_brand, s_city, avg(quantity), min(quantity), max(quantity), count(quantity)
FROM sale, shop, product WHERE shop = s_id AND product = p_code GROUP BY p_brand, s_city;
-- 'apex' | 'Oslo' | 0.0 | -5 | 5 | 2
-- 'apex' | 'Riga' | 7.0 | 7 | 7 | 1
-- 'bolt' | 'Rome' | 3.0 | 3 | 3 | 1
-- 'bolt' | 'Nowhere' | 4.0 | 4 | 4 | 1

SELECT sum(quantity) FROM sale, shop, region
WHERE shop = s_id AND s_region = r_id AND r_name = 'NORTH' AND s_city <> 'Riga';
-- 0
SELECT sum(quantity) FROM sale WHERE day BETWEEN '1994-01-01' AND '1994-12-31';
-- 0
SELECT sum(quantity) FROM sale WHERE day < '1994-01-01';
-- NULL
SELECT count(*) FROM sale WHERE day IS NULL;
-- 1
SELECT s_city, count(*) FROM sale, shop WHERE shop = s_id AND s_city LIKE 'R%' GROUP BY s_city;
-- 'Riga' | 1
-- 'Rome' | 2
SELECT s_city, count(*) FROM sale, shop WHERE shop = s_id AND s_city IN ('Rome', 'Paris') GROUP BY s_city;
-- 'Rome' | 2
SELECT s_city, count(*) FROM sale, shop WHERE shop = s_id AND s_city = 'Paris' GROUP BY s_city;
-- (no rows)
SELECT count(*), sum(quantity), max(price) FROM sale, shop WHERE shop = s_id AND s_city = 'Paris';
-- 0 | NULL | NULL

-- OR on one attribute, and over two.
SELECT sum(quantity) FROM sale, shop WHERE shop = s_id AND (s_city = 'Oslo' OR s_city > 'Rome' OR s_city = 'Rome');
-- 5
SELECT sum(quantity) FROM sale, shop WHERE shop = s_id AND (s_city = 'Oslo' OR day = '1996-01-01');
-- 2

-- What the BVH does not hold is fetched by row id.
SELECT day, sum(price) FROM sale, shop WHERE shop = s_id AND s_city = 'Oslo' GROUP BY day;
-- 1994-01-01 | 10.00
-- 1994-06-01 | 20.50
SELECT sum(quantity) FROM sale, product WHERE product = p_code AND p_price < 1.5 AND quantity > 5;
-- 7
SELECT p_code, sum(quantity * price) FROM sale, product WHERE product = p_code AND p_brand = 'apex' GROUP BY p_code;
-- 'a' | 51.75
-- 'b' | -102.50

SELECT s_city, sum(quantity) AS q FROM sale, shop WHERE shop = s_id
GROUP BY s_city HAVING sum(quantity) > 0 ORDER BY q DESC, s_city LIMIT 2;
-- 'Riga' | 7
-- 'Rome' | 5
SELECT s_city, sum(quantity) * 2 + count(*) FROM sale, shop WHERE shop = s_id GROUP BY s_city;
-- 'Nowhere' | 9
-- 'Oslo' | 3
-- 'Riga' | 15
-- 'Rome' | 12
EXPLAIN SELECT s_city, sum(quantity) * 2 + count(*) FROM sale, shop WHERE shop = s_id GROUP BY s_city;
-- has: path: fused

-- Rows that come after the build are seen, with values that the BVH has never met.
INSERT INTO product VALUES ('d', 'apex', 9.00);

INSERT INTO shop VALUES (14, 2, 'Bari'), (15, NULL, NULL);

INSERT INTO sale VALUES (14, 'd', '2001-01-01', 1000, 1.00), (15, 'a', '1994-01-01', 1, NULL), (12, 'a', NULL, 1, 1.00);

SELECT s_city, sum(quantity) FROM sale, shop WHERE sale.shop = s_id GROUP BY s_city;
-- 'Bari' | 1000
-- 'Nowhere' | 4
-- 'Oslo' | 0
-- 'Riga' | 7
-- 'Rome' | 6
-- NULL | 1
SELECT r_name, sum(quantity)
FROM sale, shop, region WHERE sale.shop = s_id AND s_region = r_id AND day > '1995-01-01' GROUP BY r_name;
-- 'SOUTH' | 1005
SELECT sum(quantity * price) FROM sale, product WHERE product = p_code AND p_brand = 'apex';
-- 950.25
EXPLAIN SELECT sum(quantity * price) FROM sale, product WHERE product = p_code AND p_brand = 'apex';
-- has: path: fused

-- The same answers without the BVH.
DROP BVH by_city;

SELECT s_city, sum(quantity) FROM sale, shop WHERE sale.shop = s_id GROUP BY s_city;
-- 'Bari' | 1000
-- 'Nowhere' | 4
-- 'Oslo' | 0
-- 'Riga' | 7
-- 'Rome' | 6
-- NULL | 1
SELECT r_name, sum(quantity)
FROM sale, shop, region WHERE sale.shop = s_id AND s_region = r_id AND day > '1995-01-01' GROUP BY r_name;
-- 'SOUTH' | 1005
SELECT sum(quantity * price) FROM sale, product WHERE product = p_code AND p_brand = 'apex';
-- 950.25

-- Integers of different widths are keys of each other.
CREATE TABLE wide (w_id BIGINT PRIMARY KEY, w_name VARCHAR);

CREATE TABLE narrow (w SMALLINT REFERENCES wide (w_id), n INTEGER);

INSERT INTO wide VALUES (1, 'one'), (2, 'two'), (9223372036854775807, 'most');

INSERT INTO narrow VALUES (1, 10), (2, 20), (2, 30), (NULL, 40);

CREATE BVH by_name ON narrow (SCAN (w_name), AGGREGATE (n));

SELECT w_name, w_id, sum(n) FROM narrow, wide WHERE w = w_id AND w_id > 1 GROUP BY w_name, w_id;
-- 'two' | 2 | 50
