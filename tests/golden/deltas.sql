-- Rows that a BVH lacks are read beside it, rows that are gone are left out of it.
SET bvh_merge = 'checkpoint';

CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR, nation VARCHAR, size INTEGER);

CREATE TABLE sale (shop INTEGER REFERENCES shop (id), units INTEGER, price DECIMAL(8, 2), big BIGINT, at DATE);

INSERT INTO shop VALUES (1, 'Rome', 'IT', 5), (2, 'Pisa', 'IT', 6), (3, 'Bonn', 'DE', 7);

INSERT INTO sale VALUES (1, 1, 1.50, 9223372036854775807, DATE '2020-01-01'), (2, 2, 2.50, 1, DATE '2020-01-02'), (3, 3, NULL, -5, DATE '2020-01-03'), (NULL, 4, 4.50, 7, NULL);

CREATE BVH places ON sale (SCAN (nation, units), GROUP BY (city, units), AGGREGATE (price, units, big));

EXPLAIN SELECT nation, sum(price) FROM sale JOIN shop ON shop = id GROUP BY nation;
-- has: FusedScanAggregate: sum(price) by nation

-- The parts are added up: sums, counts, extremes, averages, distinct values.
INSERT INTO shop VALUES (4, 'Oslo', 'NO', 8), (5, 'Rome', 'IT', 9);

INSERT INTO sale VALUES (4, 10, 8.25, 9223372036854775807, DATE '2021-01-01'), (5, 2, NULL, 9223372036854775807, NULL), (NULL, 1, 1, 1, NULL);

EXPLAIN SELECT nation, sum(price), avg(units), count(*) FROM sale JOIN shop ON shop = id GROUP BY nation;
-- has: path: fused
-- has: HashAggregate: sum(sum), avg_of_sums(sum, count), sum(count_star) by nation
-- has: ConcatenateRows: 2 sources
-- has: FusedScanAggregate: sum(price), sum(units), count(units), count(*) by nation
-- has: bvh: places
-- has: DeltaScan: sum(price), sum(units), count(units), count(*) by nation
-- has: newer than bvh: places
-- has: rows: 3, from row 4 on
-- has: by: lookup (few rows)

EXPLAIN ANALYZE SELECT nation, sum(price) FROM sale JOIN shop ON shop = id GROUP BY nation;
-- has: kernel:
-- has: gave: 3 rows in

SELECT nation, sum(price), avg(price), count(price), count(*), min(units), max(price) FROM sale JOIN shop ON shop = id GROUP BY nation ORDER BY nation;
-- 'DE' | NULL | NULL | 0 | 1 | 3 | NULL
-- 'IT' | 4.00 | 2.0 | 2 | 3 | 1 | 2.50
-- 'NO' | 8.25 | 8.25 | 1 | 1 | 10 | 8.25

SELECT nation, sum(big), avg(big), min(big) FROM sale JOIN shop ON shop = id GROUP BY nation ORDER BY nation;
-- 'DE' | -5 | -5.0 | -5
-- 'IT' | 18446744073709551615 | 6.148914691236517e+18 | 1
-- 'NO' | 9223372036854775807 | 9.223372036854776e+18 | 9223372036854775807

SELECT count(DISTINCT city), count(DISTINCT units), min(city), max(nation) FROM sale JOIN shop ON shop = id;
-- 4 | 4 | 'Bonn' | 'NO'

SELECT units, count(DISTINCT nation) FROM sale JOIN shop ON shop = id WHERE nation <> 'DE' GROUP BY units ORDER BY units;
-- 1 | 1
-- 2 | 1
-- 10 | 1

-- Without rows there are no groups, and a total of nothing is NULL, but a count is 0.
SELECT nation, sum(price) FROM sale JOIN shop ON shop = id WHERE nation = 'XX' GROUP BY nation;
-- (no rows)

SELECT count(*), sum(price), avg(units), count(DISTINCT city) FROM sale JOIN shop ON shop = id WHERE nation = 'XX';
-- 0 | NULL | NULL | 0

-- A NULL foreign key has no partner, in the BVH and beside it; alone it counts.
SELECT count(*), sum(units) FROM sale JOIN shop ON shop = id;
-- 5 | 18

SELECT count(*), sum(units) FROM sale;
-- 7 | 23

-- What the BVH lacks as well, HAVING, grouping sets.
SELECT city, sum(price), sum(size), count(at) FROM sale JOIN shop ON shop = id WHERE units < 5 AND size > 4 GROUP BY city HAVING count(*) > 1 ORDER BY city;
-- 'Rome' | 1.50 | 14 | 1

SELECT nation, city, count(*) FROM sale JOIN shop ON shop = id GROUP BY ROLLUP (nation, city) ORDER BY nation, city;
-- 'DE' | 'Bonn' | 1
-- 'DE' | NULL | 1
-- 'IT' | 'Pisa' | 1
-- 'IT' | 'Rome' | 2
-- 'IT' | NULL | 3
-- 'NO' | 'Oslo' | 1
-- 'NO' | NULL | 1
-- NULL | NULL | 5

SELECT DISTINCT city FROM sale JOIN shop ON shop = id ORDER BY city;
-- 'Bonn'
-- 'Oslo'
-- 'Pisa'
-- 'Rome'

-- Rows that are deleted or replaced are left out.
DELETE FROM sale WHERE units = 1;

UPDATE sale SET price = 100 WHERE units = 3;

SELECT row_count, newer_rows, dead_rows, is_stale FROM bvhs();
-- 4 | 3 | 2 | false

EXPLAIN SELECT nation, sum(price) FROM sale JOIN shop ON shop = id GROUP BY nation;
-- has: left out: 2 deleted rows
-- has: rows: 3, from row 4 on

SELECT nation, sum(price), count(*) FROM sale JOIN shop ON shop = id GROUP BY nation ORDER BY nation;
-- 'DE' | 100.00 | 1
-- 'IT' | 2.50 | 2
-- 'NO' | 8.25 | 1

-- A transaction sees its own rows, and a rollback takes them back.
BEGIN;

INSERT INTO sale VALUES (1, 1, 1000, 0, NULL);

SELECT nation, sum(price) FROM sale JOIN shop ON shop = id GROUP BY nation ORDER BY nation;
-- 'DE' | 100.00
-- 'IT' | 1002.50
-- 'NO' | 8.25

ROLLBACK;

SELECT nation, sum(price) FROM sale JOIN shop ON shop = id GROUP BY nation ORDER BY nation;
-- 'DE' | 100.00
-- 'IT' | 2.50
-- 'NO' | 8.25

-- A dimension's other columns may change, and so may rows that are not pointed to.
UPDATE shop SET size = size + 1;

DELETE FROM shop WHERE id = 1;

INSERT INTO shop VALUES (2, 'Pisa', 'IT', 1) ON CONFLICT (id) DO UPDATE SET city = excluded.city, size = 2;

SELECT is_stale FROM bvhs();
-- false

SELECT city, sum(price) FROM sale JOIN shop ON shop = id GROUP BY city ORDER BY city;
-- 'Bonn' | 100.00
-- 'Oslo' | 8.25
-- 'Pisa' | 2.50
-- 'Rome' | NULL

-- A new value of what the BVH encodes outdates it.
UPDATE shop SET city = 'Köln' WHERE id = 3;

SELECT is_stale FROM bvhs();
-- true

EXPLAIN SELECT city, sum(price) FROM sale JOIN shop ON shop = id GROUP BY city;
-- has: path: general (BVH 'places' serves no query: rows that it encodes were changed since it was built

SELECT city, sum(price) FROM sale JOIN shop ON shop = id GROUP BY city ORDER BY city;
-- 'Köln' | 100.00
-- 'Oslo' | 8.25
-- 'Pisa' | 2.50
-- 'Rome' | NULL

-- CHECKPOINT merges.
CHECKPOINT;

SELECT row_count, newer_rows, dead_rows, is_stale, merge FROM bvhs();
-- 5 | 0 | 0 | false | NULL

EXPLAIN SELECT city, sum(price) FROM sale JOIN shop ON shop = id GROUP BY city;
-- has: path: fused
-- has: FusedScanAggregate: sum(price) by city

SELECT city, sum(price) FROM sale JOIN shop ON shop = id GROUP BY city ORDER BY city;
-- 'Köln' | 100.00
-- 'Oslo' | 8.25
-- 'Pisa' | 2.50
-- 'Rome' | NULL

TRUNCATE sale;

SELECT row_count, newer_rows, dead_rows, is_stale FROM bvhs();
-- 0 | 0 | 0 | false

SELECT count(*), sum(price) FROM sale JOIN shop ON shop = id;
-- 0 | NULL

SET bvh_merge = 'never';
-- error: ProgrammingError: bvh_merge is 'background' or 'checkpoint', not 'never'

SHOW bvh_merge;
-- 'checkpoint'

RESET bvh_merge;

SHOW bvh_merge;
-- 'background'
