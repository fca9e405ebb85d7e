CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR, rank INTEGER);

CREATE TABLE sale (shop INTEGER, day DATE, amount INTEGER);

INSERT INTO shop VALUES (1, 'Rome', 1), (2, 'Rome', 2), (3, 'Bari', NULL), (4, NULL, 4);

INSERT INTO sale VALUES (1, DATE '2024-01-01', 10), (1, DATE '2024-01-02', 30), (1, DATE '2024-01-03', NULL),
    (2, DATE '2024-01-01', 20), (3, DATE '2024-01-02', 20), (NULL, DATE '2024-01-02', 99);

-- An aggregate has a row for every shop: count is 0 where there are no sales, the others are NULL.
SELECT id, (SELECT sum(amount) FROM sale WHERE shop = id), (SELECT count(*) FROM sale WHERE shop = id), (SELECT count(amount) FROM sale WHERE shop = id) FROM shop;
-- 1 | 40 | 3 | 2
-- 2 | 20 | 1 | 1
-- 3 | 20 | 1 | 1
-- 4 | NULL | 0 | 0
SELECT id FROM shop WHERE (SELECT count(*) FROM sale WHERE shop = id) = 0;
-- 4
SELECT id, (SELECT count(*) + 1 FROM sale WHERE shop = id), (SELECT coalesce(sum(amount), -1) FROM sale WHERE shop = id) FROM shop;
-- 1 | 4 | 40
-- 2 | 2 | 20
-- 3 | 2 | 20
-- 4 | 1 | -1
SELECT id, (SELECT CASE WHEN count(*) = 0 THEN 'none' ELSE 'some' END FROM sale WHERE shop = id) FROM shop;
-- 1 | 'some'
-- 2 | 'some'
-- 3 | 'some'
-- 4 | 'none'
SELECT id, (SELECT count(DISTINCT amount) FROM sale WHERE shop = id) FROM shop;
-- 1 | 2
-- 2 | 1
-- 3 | 1
-- 4 | 0

-- Which is another thing than a group: that is there only where there are rows.
SELECT id, (SELECT count(*) FROM sale WHERE shop = id GROUP BY shop) FROM shop;
-- 1 | 3
-- 2 | 1
-- 3 | 1
-- 4 | NULL
SELECT id, (SELECT max(amount) FROM sale WHERE shop = id HAVING count(*) > 1) FROM shop;
-- 1 | 30
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
SELECT id, (SELECT count(*) FROM sale WHERE shop = id HAVING count(*) = 0) FROM shop;
-- 1 | NULL
-- 2 | NULL
-- 3 | NULL
-- 4 | 0

-- The condition is any: an inequality, several of them, IS NOT DISTINCT FROM, OR.
SELECT id, (SELECT sum(amount) FROM sale WHERE shop < id), (SELECT count(*) FROM sale WHERE shop < id) FROM shop;
-- 1 | NULL | 0
-- 2 | 40 | 3
-- 3 | 60 | 4
-- 4 | 80 | 5
SELECT id, (SELECT count(*) FROM sale WHERE shop <= id AND amount > 10 * rank) FROM shop;
-- 1 | 1
-- 2 | 1
-- 3 | 0
-- 4 | 0
SELECT id, (SELECT count(*) FROM sale WHERE shop IS NOT DISTINCT FROM rank) FROM shop;
-- 1 | 3
-- 2 | 1
-- 3 | 1
-- 4 | 0
SELECT id, (SELECT max(amount) FROM sale WHERE shop = id OR amount = 10 * rank) FROM shop;
-- 1 | 30
-- 2 | 20
-- 3 | 20
-- 4 | NULL
SELECT id, (SELECT count(*) FROM sale WHERE shop = id AND rank > 1) FROM shop;
-- 1 | 0
-- 2 | 1
-- 3 | 0
-- 4 | 0

-- Outer columns in the select list and inside of an aggregate.
SELECT id, (SELECT max(amount) + rank FROM sale WHERE shop = id) FROM shop;
-- 1 | 31
-- 2 | 22
-- 3 | NULL
-- 4 | NULL
SELECT id, (SELECT max(amount + rank) FROM sale WHERE shop = id) FROM shop;
-- 1 | 31
-- 2 | 22
-- 3 | NULL
-- 4 | NULL
SELECT id, (SELECT rank), (SELECT rank + 1 WHERE id < 3) FROM shop;
-- 1 | 1 | 2
-- 2 | 2 | 3
-- 3 | NULL | NULL
-- 4 | 4 | NULL
SELECT id, (SELECT sum(rank) FROM sale) FROM shop;
-- error: NotSupportedError: sum() of columns of the outer query is not supported in a subquery (line 1, column 20)

-- Rows in order, the first of them: a sort for every shop.
SELECT id, (SELECT amount FROM sale WHERE shop = id ORDER BY day DESC LIMIT 1) FROM shop;
-- 1 | NULL
-- 2 | 20
-- 3 | 20
-- 4 | NULL
SELECT id, (SELECT amount FROM sale WHERE shop = id ORDER BY day LIMIT 1 OFFSET 1) FROM shop;
-- 1 | 30
-- 2 | NULL
-- 3 | NULL
-- 4 | NULL
SELECT id, (SELECT day FROM sale WHERE shop <= id ORDER BY amount DESC NULLS LAST, day LIMIT 1) FROM shop;
-- 1 | 2024-01-02
-- 2 | 2024-01-02
-- 3 | 2024-01-02
-- 4 | 2024-01-02
SELECT id, (SELECT string_agg(CAST(amount AS VARCHAR), ',' ORDER BY day DESC) FROM sale WHERE shop = id) FROM shop;
-- 1 | '30,10'
-- 2 | '20'
-- 3 | '20'
-- 4 | NULL
SELECT id, (SELECT max(r) FROM (SELECT rank() OVER (ORDER BY amount) AS r FROM sale WHERE shop = id) AS ranked) FROM shop;
-- 1 | 3
-- 2 | 1
-- 3 | 1
-- 4 | NULL

-- By a key there is one row at most; otherwise it is an error to find two.
SELECT amount, (SELECT city FROM shop WHERE id = shop) FROM sale;
-- 10 | 'Rome'
-- 20 | 'Bari'
-- 20 | 'Rome'
-- 30 | 'Rome'
-- 99 | NULL
-- NULL | 'Rome'
SELECT id, (SELECT amount FROM sale WHERE shop = id) FROM shop;
-- error: DataError: a subquery used as an expression gave more than one row
SELECT id, (SELECT amount FROM sale WHERE shop = id) FROM shop WHERE id > 1;
-- 2 | 20
-- 3 | 20
-- 4 | NULL

-- Set operations, outer joins and derived tables inside.
SELECT id, (SELECT max(v) FROM (SELECT amount AS v FROM sale WHERE shop = id UNION ALL SELECT 10 * rank) AS u) FROM shop;
-- 1 | 30
-- 2 | 20
-- 3 | 20
-- 4 | 40
SELECT id, (SELECT count(*) FROM (SELECT amount FROM sale WHERE shop = id EXCEPT SELECT 20) AS u) FROM shop;
-- 1 | 3
-- 2 | 0
-- 3 | 0
-- 4 | 0
SELECT id, (SELECT count(day) FROM shop o LEFT JOIN sale ON sale.shop = o.id WHERE o.city = shop.city) FROM shop;
-- 1 | 4
-- 2 | 4
-- 3 | 1
-- 4 | 0
SELECT id, (SELECT count(*) FROM shop o LEFT JOIN sale ON sale.shop = o.id AND amount > 5 * shop.rank) FROM shop;
-- 1 | 5
-- 2 | 4
-- 3 | 4
-- 4 | 4
SELECT id, (SELECT count(*) FROM shop o FULL JOIN sale ON sale.shop = o.id AND o.rank = shop.rank) FROM shop;
-- 1 | 9
-- 2 | 9
-- 3 | 10
-- 4 | 10
SELECT id, (SELECT count(*) FROM (SELECT DISTINCT amount FROM sale WHERE shop >= id) AS d) FROM shop;
-- 1 | 4
-- 2 | 1
-- 3 | 1
-- 4 | 0
WITH total AS (SELECT shop, sum(amount) AS s FROM sale GROUP BY shop) SELECT id, (SELECT s FROM total WHERE shop = id), (SELECT count(*) FROM total WHERE s > 20 * rank) FROM shop;
-- 1 | 40 | 2
-- 2 | 20 | 1
-- 3 | 20 | 0
-- 4 | NULL | 1
SELECT id, (WITH mine AS (SELECT amount FROM sale WHERE shop = id) SELECT max(a.amount - b.amount) FROM mine a, mine b) FROM shop;
-- 1 | 20
-- 2 | 0
-- 3 | 0
-- 4 | NULL

-- Grouping sets: their total over no rows is there for every shop; WITH RECURSIVE.
SELECT id, (SELECT count(*) FROM (SELECT day, amount, count(*) FROM sale WHERE shop = id GROUP BY ROLLUP (day, amount)) AS g) FROM shop;
-- 1 | 7
-- 2 | 3
-- 3 | 3
-- 4 | 1
SELECT id, total.day, total.s FROM shop, LATERAL (SELECT day, sum(amount) AS s FROM sale WHERE shop = id GROUP BY CUBE (day)) AS total WHERE id > 1;
-- 2 | 2024-01-01 | 20
-- 2 | NULL | 20
-- 3 | 2024-01-02 | 20
-- 3 | NULL | 20
-- 4 | NULL | NULL
SELECT id, (WITH RECURSIVE n(i) AS (SELECT rank UNION ALL SELECT i + 1 FROM n WHERE i < shop.id) SELECT string_agg(CAST(i AS VARCHAR), '-' ORDER BY i) FROM n) FROM shop;
-- 1 | '1'
-- 2 | '2'
-- 3 | NULL
-- 4 | '4'

-- Several levels: the innermost query reads all rows around it.
SELECT id, (SELECT max((SELECT count(*) FROM sale s WHERE s.shop = o.id AND s.amount > 5 * shop.rank)) FROM shop o WHERE o.city = shop.city) FROM shop;
-- 1 | 2
-- 2 | 1
-- 3 | 0
-- 4 | NULL
SELECT id FROM shop WHERE rank < (SELECT max(rank) FROM shop o WHERE o.city = shop.city AND EXISTS (SELECT 1 FROM sale WHERE sale.shop = o.id AND sale.amount >= shop.rank));
-- 1

-- Names are looked for inside first.
SELECT id, (SELECT max(id) FROM shop o WHERE id < 3) FROM shop WHERE id = 4;
-- 4 | 2
SELECT id, (SELECT min(rank) FROM sale WHERE shop.id = sale.shop) FROM shop;
-- error: NotSupportedError: min() of columns of the outer query is not supported in a subquery (line 1, column 20)

-- Below groups and windows, in ORDER BY, GROUP BY and HAVING.
SELECT city, count(*), (SELECT max(rank) FROM shop o WHERE o.city = shop.city) FROM shop GROUP BY city;
-- 'Bari' | 1 | NULL
-- 'Rome' | 2 | 2
-- NULL | 1 | NULL
SELECT city FROM shop GROUP BY city HAVING count(*) > (SELECT count(*) FROM shop o WHERE o.city < shop.city);
-- 'Bari'
-- 'Rome'
-- NULL
SELECT city, max((SELECT sum(amount) FROM sale WHERE shop = id)) FROM shop GROUP BY city;
-- 'Bari' | 20
-- 'Rome' | 40
-- NULL | NULL
SELECT (SELECT count(*) FROM sale WHERE shop = id) AS sales, count(*) FROM shop GROUP BY sales;
-- 0 | 1
-- 1 | 2
-- 3 | 1
SELECT id FROM shop ORDER BY (SELECT sum(amount) FROM sale WHERE shop = id) DESC NULLS LAST, id;
-- 1
-- 2
-- 3
-- 4
SELECT id, sum(rank) OVER (ORDER BY (SELECT count(*) FROM sale WHERE shop = id), id) FROM shop;
-- 1 | 7
-- 2 | 6
-- 3 | 6
-- 4 | 4
SELECT city, (SELECT sum(amount) FROM sale WHERE shop = id) FROM shop GROUP BY city;
-- error: ProgrammingError: column 'id' must be in GROUP BY or inside an aggregate (line 1, column 57)

-- An aggregate whose argument is the outer row's belongs to the outer query.
SELECT (SELECT sum(shop.rank) FROM sale) FROM shop;
-- error: NotSupportedError: sum() of columns of the outer query is not supported in a subquery (line 1, column 16)
SELECT id, (SELECT max(total) FROM sale WHERE shop = shop.id) FROM shop;
-- error: ProgrammingError: column 'total' does not exist in 'sale' (line 1, column 24)
SELECT id, (SELECT max(amount) FROM sale WHERE shop = shops.id) FROM shop;
-- error: ProgrammingError: table 'shops' is not in FROM (line 1, column 55)
SELECT id, (WITH RECURSIVE n(i) AS (SELECT id UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT count(*) FROM n) FROM shop;
-- 1 | 5
-- 2 | 4
-- 3 | 3
-- 4 | 2

UPDATE shop SET rank = (SELECT count(*) FROM sale WHERE sale.shop = shop.id);

SELECT id, rank FROM shop;
-- 1 | 3
-- 2 | 1
-- 3 | 1
-- 4 | 0
DELETE FROM shop WHERE rank < (SELECT max(o.rank) FROM shop o WHERE o.city = shop.city);

SELECT id FROM shop;
-- 1
-- 3
-- 4
EXPLAIN SELECT id FROM shop WHERE rank > (SELECT avg(amount) FROM sale WHERE sale.shop = shop.id);
-- has: HashJoin: INNER
-- has: HashAggregate: avg(amount) by shop
