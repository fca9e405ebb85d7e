-- CREATE BVH ... WITH (sieve = true): totals of each cell, which answer for its rows.
CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR, nation VARCHAR);

CREATE TABLE sale (shop INTEGER REFERENCES shop (id), quantity INTEGER, price INTEGER, weight DOUBLE, cost DECIMAL(9, 2));

INSERT INTO shop SELECT range, 'C' || range % 40, CASE WHEN range % 40 = 39 THEN 'M' ELSE 'N' || range % 5 END FROM range(200);

INSERT INTO sale SELECT range * 7 % 200, range % 50, nullif(range % 1000, 7) - 400, range / 8.0, range / 100.0 FROM range(20000);

CREATE BVH sieved ON sale (SCAN (nation, quantity), GROUP BY (city), AGGREGATE (price, weight, cost)) WITH (sieve = true);

SELECT name, sieve, row_count, sieve_bytes BETWEEN 300 * 40 AND 301 * 80, size_bytes - sieve_bytes > 20000 * 18 FROM bvhs();
-- 'sieved' | true | 20000 | true | true

-- One group: an interval of cells is the difference of two sums.
EXPLAIN SELECT sum(price) FROM sale WHERE quantity BETWEEN 3 AND 20;
-- has: path: fused
-- has: sieve: 108 cells in place of 7200 rows
-- has: estimated rows: 0 of 20000

SELECT sum(price), count(price), min(price), max(price), avg(price), sum(cost), min(cost), max(cost), avg(cost), sum(weight), min(weight), max(weight), avg(weight), count(*) FROM sale WHERE quantity BETWEEN 3 AND 20;
-- 630660 | 7180 | -397 | 570 | 87.83565459610028 | 719028.00 | 0.03 | 199.70 | 99.865 | 8987850.0 | 0.375 | 2496.25 | 1248.3125 | 7200

SELECT sum(price), count(price), min(weight), max(cost), count(*) FROM sale;
-- 1997860 | 19980 | 0.0 | 199.99 | 20000

SELECT count(*) FROM sale WHERE quantity < 5;
-- 2000

-- No row: one group without keys, none with keys.
SELECT sum(price), count(price), min(price), max(weight), count(*) FROM sale WHERE quantity = 50;
-- NULL | 0 | NULL | NULL | 0

SELECT quantity, sum(price) FROM sale WHERE quantity = 50 GROUP BY quantity;
-- (no rows)

-- Groups that vary by cell.
EXPLAIN SELECT nation, sum(price) FROM sale JOIN shop ON shop = id WHERE quantity > 40 GROUP BY nation;
-- has: sieve: 54 cells in place of 3600 rows
-- has: estimated rows: 0 of 20000

SELECT nation, sum(price), count(price), min(cost), max(weight), count(*) FROM sale JOIN shop ON shop = id WHERE quantity > 40 GROUP BY nation;
-- 'M' | 9700 | 100 | 0.97 | 2487.125 | 100
-- 'N0' | 48000 | 400 | 0.45 | 2499.375 | 400
-- 'N1' | 96400 | 800 | 0.43 | 2499.75 | 800
-- 'N2' | 94800 | 800 | 0.41 | 2499.5 | 800
-- 'N3' | 97200 | 800 | 0.44 | 2499.875 | 800
-- 'N4' | 85900 | 700 | 0.42 | 2499.625 | 700

SELECT quantity, sum(cost) FROM sale WHERE quantity IN (1, 3, 48) GROUP BY quantity HAVING sum(cost) > 0 ORDER BY quantity;
-- 1 | 39904.00
-- 3 | 39912.00
-- 48 | 40092.00

SELECT count(DISTINCT nation), count(DISTINCT quantity) FROM sale JOIN shop ON shop = id WHERE quantity < 9;
-- 6 | 9

-- Rows of a cell differ: they are read.
EXPLAIN SELECT city, sum(price) FROM sale JOIN shop ON shop = id WHERE nation = 'N1' AND quantity < 9 GROUP BY city;
-- has: sieve: not used (the rows of a cell differ in city)
-- has: estimated rows: 800 of 20000

SELECT city, sum(price), count(*) FROM sale JOIN shop ON shop = id WHERE nation = 'N1' AND quantity < 9 GROUP BY city;
-- 'C1' | 10300 | 100
-- 'C11' | 5300 | 100
-- 'C16' | 800 | 100
-- 'C21' | 300 | 100
-- 'C26' | 15800 | 100
-- 'C31' | 15300 | 100
-- 'C36' | 10800 | 100
-- 'C6' | 5800 | 100

-- Some cells are covered, and the rows of the others are read.
EXPLAIN SELECT sum(price), min(weight) FROM sale JOIN shop ON shop = id WHERE (nation = 'N3' OR city = 'C1') AND quantity < 9;
-- has: sieve: 9 cells in place of 400 rows
-- has: estimated rows: 800 of 20000

SELECT sum(price), min(weight), max(cost), count(*) FROM sale JOIN shop ON shop = id WHERE (nation = 'N3' OR city = 'C1') AND quantity < 9;
-- 41900 | 0.5 | 199.54 | 500

SELECT CASE WHEN nation = 'M' THEN nation ELSE city END AS place, sum(price), count(*) FROM sale JOIN shop ON shop = id WHERE (nation = 'M' OR city < 'C11') AND quantity < 9 GROUP BY place ORDER BY place;
-- 'C0' | 0 | 100
-- 'C1' | 10300 | 100
-- 'C10' | 15000 | 100
-- 'M' | 5700 | 100

EXPLAIN SELECT sum(price) FROM sale JOIN shop ON shop = id WHERE city IN ('C1', 'C39') AND quantity < 9;
-- has: sieve: 9 cells in place of 100 rows
-- has: estimated rows: 800 of 20000

-- What is fetched by row id needs rows.
EXPLAIN SELECT sum(price + 1) FROM sale WHERE quantity = 3;
-- has: sieve: not used (rows are fetched by row id)

EXPLAIN SELECT sum(price) FROM sale WHERE quantity = 3 AND price % 2 = 0;
-- has: sieve: not used (rows are fetched by row id)

SELECT sum(price) FROM sale WHERE quantity = 3 AND price % 2 = 1;
-- 66720

-- Cells of few rows are looked up one by one no faster than their rows.
CREATE TABLE ticket (number INTEGER, price INTEGER);

INSERT INTO ticket SELECT range % 9000, range FROM range(18000);

CREATE BVH tickets ON ticket (SCAN (number), AGGREGATE (price)) WITH (sieve = true);

EXPLAIN SELECT number % 10 AS digit, sum(price) FROM ticket GROUP BY digit;
-- has: sieve: not used (its 9000 cells have no more than 18000 rows)

EXPLAIN SELECT sum(price), max(price) FROM ticket WHERE number >= 10;
-- has: sieve: 8990 cells in place of 17980 rows

SELECT sum(price), max(price), count(*) FROM ticket WHERE number >= 10;
-- 161900910 | 17999 | 17980

-- A sum that might not fit 64 bits is added up by rows.
CREATE TABLE big (a INTEGER, x BIGINT);

INSERT INTO big VALUES (1, 9223372036854775807), (1, 9223372036854775806), (2, -9223372036854775807), (2, -9223372036854775807), (3, NULL), (4, 5);

CREATE BVH bigs ON big (SCAN (a), AGGREGATE (x)) WITH (sieve = on);

EXPLAIN SELECT sum(x) FROM big WHERE a <= 2;
-- has: sieve: not used (a sum of 4 values may not fit 64 bits)

SELECT a, sum(x), min(x), max(x), avg(x), count(x), count(*) FROM big WHERE a > 1 GROUP BY a ORDER BY a;
-- 2 | -18446744073709551614 | -9223372036854775807 | -9223372036854775807 | -9.223372036854776e+18 | 2 | 2
-- 3 | NULL | NULL | NULL | NULL | 0 | 1
-- 4 | 5 | 5 | 5 | 5.0 | 1 | 1

SELECT sum(x) FROM big WHERE a = 1;
-- 18446744073709551613

EXPLAIN SELECT min(x), max(x), count(x) FROM big WHERE a <= 2;
-- has: sieve: 2 cells in place of 4 rows

SELECT a, min(x), max(x), count(x) FROM big GROUP BY a ORDER BY a;
-- 1 | 9223372036854775806 | 9223372036854775807 | 2
-- 2 | -9223372036854775807 | -9223372036854775807 | 2
-- 3 | NULL | NULL | 0
-- 4 | 5 | 5 | 1

EXPLAIN SELECT sum(x) FROM big WHERE a = 4;
-- has: sieve: 1 cells in place of 1 rows

SELECT sum(x) FROM big WHERE a >= 4;
-- 5

-- NaN is greater than every number, infinities are numbers.
CREATE TABLE floats (a INTEGER, x DOUBLE);

INSERT INTO floats VALUES (1, 'NaN'), (1, 1.5), (2, 'NaN'), (3, NULL), (4, 'Infinity'), (4, '-Infinity'), (5, -0.25), (5, NULL);

CREATE BVH float_cells ON floats (SCAN (a), AGGREGATE (x)) WITH (sieve = true);

SELECT a, min(x), max(x), count(x), sum(x) FROM floats GROUP BY a ORDER BY a;
-- 1 | 1.5 | nan | 2 | nan
-- 2 | nan | nan | 1 | nan
-- 3 | NULL | NULL | 0 | NULL
-- 4 | -inf | inf | 2 | nan
-- 5 | -0.25 | -0.25 | 1 | -0.25

SELECT min(x), max(x), sum(x), count(x) FROM floats WHERE a >= 5 OR a = 3;
-- -0.25 | -0.25 | -0.25 | 1

-- Rows that come and go.
INSERT INTO sale VALUES (1, 3, 1000000, 0.5, 7), (NULL, 3, NULL, NULL, NULL);

DELETE FROM sale WHERE quantity = 3 AND price < 0;

UPDATE sale SET price = -5000 WHERE quantity = 4 AND shop = 28;

SELECT quantity, sum(price), min(price), max(price), count(price), count(*) FROM sale WHERE quantity BETWEEN 2 AND 5 GROUP BY quantity ORDER BY quantity;
-- 2 | 30800 | -398 | 552 | 400 | 400
-- 3 | 1066720 | 3 | 1000000 | 241 | 242
-- 4 | -468800 | -5000 | 554 | 400 | 400
-- 5 | 32000 | -395 | 555 | 400 | 400

SELECT min(price), max(price), sum(cost), count(*) FROM sale WHERE quantity BETWEEN 2 AND 5;
-- -5000 | 1000000 | 144178.20 | 1442

-- No rows at all.
CREATE TABLE nothing (a INTEGER, x INTEGER);

CREATE BVH empty ON nothing (SCAN (a), AGGREGATE (x)) WITH (sieve = true);

SELECT sum(x), min(x), count(*) FROM nothing WHERE a > 1;
-- NULL | NULL | 0

SELECT name, sieve, sieve_bytes FROM bvhs() WHERE table_name = 'nothing';
-- 'empty' | true | 4

-- With the same coverage, the one that reads less is chosen.
CHECKPOINT;

CREATE BVH plain ON sale (SCAN (nation, quantity), GROUP BY (city), AGGREGATE (price, weight, cost));

EXPLAIN SELECT sum(price) FROM sale WHERE quantity BETWEEN 3 AND 20;
-- has: bvh: sieved (coverage 3 as 'plain', but less to read: 126 against 7042)

DROP BVH sieved;

CREATE BVH sieved ON sale (SCAN (nation), AGGREGATE (price)) WITH (sieve = FALSE);

SELECT name, sieve, sieve_bytes FROM bvhs() WHERE table_name = 'sale' ORDER BY name;
-- 'plain' | false | 0
-- 'sieved' | false | 0

-- A change of the table keeps the option.
ALTER TABLE big ADD COLUMN z INTEGER;

ALTER TABLE floats ALTER COLUMN a SET TYPE BIGINT;
-- error: ProgrammingError: syntax error at line 1, column 35: unexpected 'SET', expected 'TYPE'

SELECT name, sieve, sieve_bytes > 0 FROM bvhs() WHERE table_name IN ('big', 'floats') ORDER BY name;
-- 'bigs' | true | true
-- 'float_cells' | true | true

SELECT a, min(x), count(x) FROM floats WHERE a < 3 GROUP BY a ORDER BY a;
-- 1 | 1.5 | 2
-- 2 | nan | 1

-- Errors.
CREATE BVH other ON sale (SCAN (quantity)) WITH (seive = true);
-- error: ProgrammingError: option 'seive' of a BVH does not exist; did you mean 'sieve'? (line 1, column 50)

CREATE BVH other ON sale (SCAN (quantity)) WITH (fill = 3);
-- error: ProgrammingError: option 'fill' of a BVH does not exist (line 1, column 50)

CREATE BVH other ON sale (SCAN (quantity)) WITH (sieve = 3);
-- error: ProgrammingError: option 'sieve' of a BVH is true or false, not '3' (line 1, column 50)

CREATE BVH other ON sale (SCAN (quantity)) WITH (sieve = true, sieve = false);
-- error: ProgrammingError: the BVH 'other' has the option 'sieve' twice (line 1, column 12)

CREATE BVH other ON sale (SCAN (quantity)) WITH (sieve);
-- error: ProgrammingError: syntax error at line 1, column 55: unexpected ')', expected '='

CREATE BVH other ON sale (SCAN (quantity)) WITH ();
-- error: ProgrammingError: syntax error at line 1, column 50: unexpected ')', expected the name of an option

CREATE BVH other ON sale (SCAN (quantity)) WITH (sieve = true;
-- error: ProgrammingError: syntax error at line 1, column 62: the statement ends too early, expected ')'

CREATE BVH other ON sale (SCAN (quantity)) sieve = true;
-- error: ProgrammingError: syntax error at line 1, column 44: unexpected 'sieve', expected the end of the statement
