-- A value among those of a subquery that no key leads to: it runs first, then the star is planned.
CREATE TABLE item (id INTEGER PRIMARY KEY, brand VARCHAR, price INTEGER);
CREATE TABLE sale (item INTEGER REFERENCES item (id), size INTEGER, amount INTEGER);
INSERT INTO item VALUES (1, 'A', 5), (2, 'A', 90), (3, 'B', 7), (4, NULL, 99), (5, 'C', 95), (6, 'B', NULL);
INSERT INTO sale SELECT CASE WHEN i % 7 > 0 THEN i % 7 END, i % 4, i FROM range(70) AS r (i);
CREATE BVH sales ON sale (SCAN (brand, size), AGGREGATE (amount));

EXPLAIN SELECT sum(amount) FROM sale, item WHERE item = id AND brand IN (SELECT brand FROM item WHERE price > 80);
-- has: path: fused
-- has: DeferredScan
SELECT brand, count(*), sum(amount) FROM sale, item WHERE item = id AND brand IN (SELECT brand FROM item WHERE price > 80) GROUP BY brand ORDER BY brand;
-- 'A' | 20 | 660
-- 'C' | 10 | 365
SELECT brand, count(*) FROM sale, item i WHERE item = id AND NOT EXISTS (SELECT 1 FROM item j WHERE j.brand = i.brand AND j.price > 92) GROUP BY brand ORDER BY brand;
-- 'A' | 20
-- 'B' | 20
-- NULL | 10
SELECT count(*) FROM sale, item WHERE item = id AND brand NOT IN (SELECT brand FROM item WHERE price > 92);
-- 0
SELECT count(*) FROM sale, item WHERE item = id AND brand NOT IN (SELECT brand FROM item WHERE price > 92 AND brand IS NOT NULL);
-- 40
SELECT count(*), sum(amount) FROM sale, item WHERE item = id AND (size = 3 OR brand IN (SELECT brand FROM item GROUP BY brand HAVING count(*) > 1));
-- 45 | 1563
SELECT count(*), sum(amount) FROM sale WHERE size IN (SELECT price FROM item WHERE price < 0);
-- 0 | NULL
SELECT count(*) FROM sale WHERE NOT EXISTS (SELECT 1 FROM item WHERE price = size AND price < 0);
-- 70
SELECT size, count(*) FROM sale WHERE size IN (SELECT id FROM item WHERE id % 2 = 1) GROUP BY size ORDER BY size;
-- 1 | 18
-- 3 | 17
EXPLAIN ANALYZE SELECT sum(amount) FROM sale, item WHERE item = id AND brand IN (SELECT brand FROM item WHERE price > 80);
-- has: FusedScanAggregate

-- Whether a row has a partner as a value of its own is no comparison.
SELECT brand IN (SELECT brand FROM item WHERE price > 92) AS is_dear, count(*) FROM sale, item WHERE item = id GROUP BY 1 ORDER BY 1;
-- true | 10
-- NULL | 50
