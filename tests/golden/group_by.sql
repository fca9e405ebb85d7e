CREATE TABLE sale (id INTEGER, region VARCHAR, nation VARCHAR, amount INTEGER, price DECIMAL(6, 2), sold DATE);

INSERT INTO sale VALUES
  (1, 'ASIA', 'CHINA', 10, 1.50, '1994-01-01'),
  (2, 'ASIA', 'CHINA', 20, 2.50, '1994-06-01'),
  (3, 'ASIA', 'JAPAN', -30, 3.00, '1995-01-01'),
  (4, 'EUROPE', 'FRANCE', 5, NULL, '1996-01-01'),
  (5, 'EUROPE', NULL, NULL, 0.25, '1994-01-01');

SELECT region, sum(amount), count(*), min(amount), max(amount), avg(amount) FROM sale GROUP BY region;
-- 'ASIA' | 0 | 3 | -30 | 20 | 0.0
-- 'EUROPE' | 5 | 2 | 5 | 5 | 5.0

-- A group that sums to 0 is still a group.
SELECT region, nation, sum(amount), sum(price) FROM sale GROUP BY region, nation;
-- 'ASIA' | 'CHINA' | 30 | 4.00
-- 'ASIA' | 'JAPAN' | -30 | 3.00
-- 'EUROPE' | 'FRANCE' | 5 | NULL
-- 'EUROPE' | NULL | NULL | 0.25

SELECT sum(amount), count(amount), min(sold), max(nation), min(price) FROM sale;
-- 5 | 4 | 1994-01-01 | 'JAPAN' | 0.25
SELECT sum(amount * price), sum(amount - id), sum(price * 2) FROM sale;
-- -25.00 | -5 | 14.50
SELECT sum(1), sum(0.5), count(1), min('x') FROM sale;
-- 5 | 2.5 | 5 | 'x'
SELECT count(DISTINCT region), count(DISTINCT nation), count(DISTINCT amount > 0) FROM sale;
-- 2 | 3 | 2
SELECT sum(DISTINCT price * 0 + 1), avg(DISTINCT amount) FROM sale;
-- 1.00 | 1.25

-- Expressions over keys and aggregates.
SELECT region, sum(amount) + count(*) AS x FROM sale GROUP BY region ORDER BY x DESC;
-- 'EUROPE' | 7
-- 'ASIA' | 3
SELECT region, max(amount) - min(amount) FROM sale GROUP BY region;
-- 'ASIA' | 50
-- 'EUROPE' | 0
SELECT amount % 20, count(*) FROM sale GROUP BY amount % 20;
-- 10 | 1
-- 0 | 1
-- -10 | 1
-- 5 | 1
-- NULL | 1
SELECT amount % 20 + 1, count(*) FROM sale WHERE amount > 0 GROUP BY amount % 20;
-- 11 | 1
-- 1 | 1
-- 6 | 1

-- Keys need not be selected, and can be named by position or by alias.
SELECT count(*) FROM sale GROUP BY region;
-- 3
-- 2
SELECT region FROM sale GROUP BY region;
-- 'ASIA'
-- 'EUROPE'
SELECT region AS r, count(*) FROM sale GROUP BY 1;
-- 'ASIA' | 3
-- 'EUROPE' | 2
SELECT region AS r, count(*) FROM sale GROUP BY r;
-- 'ASIA' | 3
-- 'EUROPE' | 2

-- HAVING
SELECT region, count(*) FROM sale GROUP BY region HAVING count(*) > 2;
-- 'ASIA' | 3
SELECT nation FROM sale GROUP BY nation HAVING sum(amount) < 10;
-- 'JAPAN'
-- 'FRANCE'
SELECT nation, count(*) FROM sale GROUP BY nation HAVING nation IS NOT NULL AND max(price) > 2.5;
-- 'JAPAN' | 1
SELECT region FROM sale GROUP BY region HAVING sum(amount) IS NULL;
-- (no rows)
SELECT count(*) FROM sale HAVING count(*) > 5;
-- (no rows)
SELECT count(*) FROM sale HAVING count(*) = 5;
-- 5
SELECT count(*) FROM sale WHERE id > 100;
-- 0

SELECT region, amount FROM sale GROUP BY region;
-- error: ProgrammingError: column 'amount' must be in GROUP BY or inside an aggregate (line 1, column 16)
SELECT region, sum(sum(amount)) FROM sale GROUP BY region;
-- error: ProgrammingError: an aggregate cannot contain the aggregate sum (line 1, column 20)
SELECT sum(amount) FROM sale GROUP BY sum(amount);
-- error: ProgrammingError: GROUP BY cannot contain the aggregate sum (line 1, column 39)
SELECT sum(*) FROM sale;
-- error: ProgrammingError: * is not allowed in an aggregate (line 1, column 12)
SELECT total(amount) FROM sale;
-- error: ProgrammingError: function 'total' does not exist; did you mean 'today'? (line 1, column 8)
SELECT region FROM sale GROUP BY 2;
-- error: ProgrammingError: GROUP BY position 2 is not in the SELECT list, which has 1
