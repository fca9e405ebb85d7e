-- Window functions: ranks, other rows' values, aggregates over a partition and running ones.
CREATE TABLE sale (id INTEGER, region VARCHAR, amount INTEGER, price DECIMAL(6, 2), day DATE);

INSERT INTO sale VALUES
  (1, 'ASIA', 10, 1.50, '2024-01-01'),
  (2, 'ASIA', 20, 2.50, '2024-01-02'),
  (3, 'ASIA', 20, 3.00, '2024-01-04'),
  (4, 'EUROPE', NULL, NULL, '2024-01-01'),
  (5, 'EUROPE', 5, 0.25, '2024-01-03'),
  (6, 'EUROPE', 7, 0.75, NULL),
  (7, NULL, 1, 9.00, '2024-01-02');

-- The rows stay in the order of the source; NULL is a partition like any other.
SELECT id, row_number() OVER (PARTITION BY region ORDER BY id), count(*) OVER (PARTITION BY region) FROM sale ORDER BY id;
-- 1 | 1 | 3
-- 2 | 2 | 3
-- 3 | 3 | 3
-- 4 | 1 | 3
-- 5 | 2 | 3
-- 6 | 3 | 3
-- 7 | 1 | 1

-- Ties share a rank; NULLs come last in ascending and first in descending order.
SELECT id, rank() OVER (ORDER BY amount), dense_rank() OVER (ORDER BY amount), rank() OVER (ORDER BY amount DESC), rank() OVER (ORDER BY amount DESC NULLS LAST) FROM sale ORDER BY id;
-- 1 | 4 | 4 | 4 | 3
-- 2 | 5 | 5 | 2 | 1
-- 3 | 5 | 5 | 2 | 1
-- 4 | 7 | 6 | 1 | 7
-- 5 | 2 | 2 | 6 | 5
-- 6 | 3 | 3 | 5 | 4
-- 7 | 1 | 1 | 7 | 6

SELECT id, percent_rank() OVER w, cume_dist() OVER w, ntile(3) OVER (PARTITION BY region ORDER BY id) FROM sale WINDOW w AS (PARTITION BY region ORDER BY amount) ORDER BY id;
-- 1 | 0.0 | 0.3333333333333333 | 1
-- 2 | 0.5 | 1.0 | 2
-- 3 | 0.5 | 1.0 | 3
-- 4 | 1.0 | 1.0 | 1
-- 5 | 0.0 | 0.3333333333333333 | 2
-- 6 | 0.5 | 0.6666666666666666 | 3
-- 7 | 0.0 | 1.0 | 1

-- Without ORDER BY the frame is the partition, with it all up to the current row and its peers.
SELECT id, sum(amount) OVER (PARTITION BY region), sum(amount) OVER (PARTITION BY region ORDER BY amount), avg(price) OVER (ORDER BY id), max(price) OVER (ORDER BY id) FROM sale ORDER BY id;
-- 1 | 50 | 10 | 1.5 | 1.50
-- 2 | 50 | 50 | 2.0 | 2.50
-- 3 | 50 | 50 | 2.3333333333333335 | 3.00
-- 4 | 12 | 12 | 2.3333333333333335 | 3.00
-- 5 | 12 | 5 | 1.8125 | 3.00
-- 6 | 12 | 12 | 1.6 | 3.00
-- 7 | 1 | 1 | 2.8333333333333335 | 9.00

SELECT id, min(region) OVER (ORDER BY id DESC), min(day) OVER (ORDER BY id DESC), max(amount > 5) OVER (ORDER BY id) FROM sale ORDER BY id;
-- 1 | 'ASIA' | 2024-01-01 | true
-- 2 | 'ASIA' | 2024-01-01 | true
-- 3 | 'ASIA' | 2024-01-01 | true
-- 4 | 'EUROPE' | 2024-01-01 | true
-- 5 | 'EUROPE' | 2024-01-02 | true
-- 6 | 'EUROPE' | 2024-01-02 | true
-- 7 | NULL | 2024-01-02 | true

-- Expressions around and inside; partitions and orders by expressions.
SELECT id, amount - avg(amount) OVER (PARTITION BY id % 2) AS d, 100 * sum(price * 2) OVER (ORDER BY id) FROM sale ORDER BY id;
-- 1 | 1.0 | 300.00
-- 2 | 6.5 | 800.00
-- 3 | 11.0 | 1400.00
-- 4 | NULL | 1400.00
-- 5 | -4.0 | 1450.00
-- 6 | -6.5 | 1600.00
-- 7 | -8.0 | 3400.00

-- The same function twice is computed once; a window sorts by what is not selected.
SELECT id FROM sale ORDER BY row_number() OVER (ORDER BY price DESC NULLS LAST), id;
-- 7
-- 3
-- 2
-- 1
-- 6
-- 5
-- 4

-- Over groups: the windows come after GROUP BY and HAVING.
SELECT region, sum(amount), rank() OVER (ORDER BY sum(amount) DESC), sum(sum(amount)) OVER () FROM sale GROUP BY region ORDER BY region;
-- 'ASIA' | 50 | 1 | 63
-- 'EUROPE' | 12 | 2 | 63
-- NULL | 1 | 3 | 63
SELECT region, count(*) OVER () FROM sale GROUP BY region HAVING count(*) > 1 ORDER BY region;
-- 'ASIA' | 2
-- 'EUROPE' | 2

-- Over no rows, and over one.
SELECT id, rank() OVER (ORDER BY id), sum(id) OVER () FROM sale WHERE id > 100;
-- (no rows)
SELECT sum(1) OVER (), count(*) OVER (ORDER BY 1), lag(5) OVER ();
-- 1 | 1 | NULL

-- In a subquery, below a filter on what they gave.
SELECT id, n FROM (SELECT id, region, row_number() OVER (PARTITION BY region ORDER BY price DESC) AS n FROM sale) WHERE n = 1 AND region = 'ASIA';
-- 3 | 1

-- Sums in a window never wrap either.
SELECT x, sum(x) OVER (ORDER BY x ROWS UNBOUNDED PRECEDING) FROM (VALUES (9223372036854775807), (9223372036854775806), (-5)) t (x) ORDER BY x;
-- -5 | -5
-- 9223372036854775806 | 9223372036854775801
-- 9223372036854775807 | 18446744073709551608
SELECT sum(x) OVER (), avg(x) OVER () FROM (VALUES (99999999999999999999999999999999999.99), (99999999999999999999999999999999999.99)) t (x);
-- 199999999999999999999999999999999999.98 | 1e+35
-- 199999999999999999999999999999999999.98 | 1e+35

-- Doubles: NaN equals NaN and is the greatest, -0.0 equals 0.0.
SELECT x, rank() OVER (ORDER BY x), count(*) OVER (PARTITION BY x), max(x) OVER () FROM (VALUES ('NaN'::DOUBLE), ('NaN'::DOUBLE), (0.0), ('-0.0'::DOUBLE), ('inf'::DOUBLE), (NULL)) t (x) ORDER BY 1, 2;
-- 0.0 | 1 | 2 | nan
-- -0.0 | 1 | 2 | nan
-- inf | 3 | 1 | nan
-- nan | 4 | 2 | nan
-- nan | 4 | 2 | nan
-- NULL | 6 | 1 | nan

-- What goes wrong.
SELECT id FROM sale WHERE rank() OVER (ORDER BY id) = 1;
-- error: ProgrammingError: WHERE cannot contain the window function rank (line 1, column 27)
SELECT region FROM sale GROUP BY region, rank() OVER (ORDER BY id);
-- error: ProgrammingError: GROUP BY cannot contain the window function rank (line 1, column 42)
SELECT region FROM sale GROUP BY region HAVING rank() OVER (ORDER BY region) = 1;
-- error: ProgrammingError: HAVING cannot contain the window function rank (line 1, column 48)
SELECT sum(rank() OVER (ORDER BY id)) FROM sale;
-- error: ProgrammingError: an aggregate cannot contain the window function rank (line 1, column 12)
SELECT rank() OVER (ORDER BY rank() OVER (ORDER BY id)) FROM sale;
-- error: ProgrammingError: a window function cannot contain the window function rank (line 1, column 30)
SELECT sum(amount) FILTER (WHERE rank() OVER (ORDER BY id) = 1) OVER () FROM sale;
-- error: ProgrammingError: a window function cannot contain the window function rank (line 1, column 34)
SELECT rank() FROM sale;
-- error: ProgrammingError: the window function rank() needs OVER (...) (line 1, column 8)
SELECT rank(id) OVER (ORDER BY id) FROM sale;
-- error: ProgrammingError: rank() takes 0 arguments, not 1 (line 1, column 8)
SELECT lower(region) OVER () FROM sale;
-- error: ProgrammingError: 'lower' is no window function and no aggregate (line 1, column 8)
SELECT rang() OVER (ORDER BY id) FROM sale;
-- error: ProgrammingError: 'rang' is no window function and no aggregate; did you mean 'rank'? (line 1, column 8)
SELECT rank() FILTER (WHERE id > 1) OVER (ORDER BY id) FROM sale;
-- error: ProgrammingError: rank() takes no FILTER, as it is no aggregate (line 1, column 8)
SELECT ntile(0) OVER (ORDER BY id) FROM sale;
-- error: DataError: ntile() needs a number of buckets above zero
SELECT ntile(NULL) OVER (ORDER BY id) FROM sale WHERE id < 3;
-- NULL
-- NULL
SELECT ntile('a') OVER (ORDER BY id) FROM sale;
-- error: ProgrammingError: ntile() needs an integer, not 'a' (VARCHAR) (line 1, column 8)
SELECT region, rank() OVER (ORDER BY amount) FROM sale GROUP BY region;
-- error: ProgrammingError: column 'amount' must be in GROUP BY or inside an aggregate (line 1, column 38)
SELECT sum(region) OVER () FROM sale;
-- error: ProgrammingError: sum() needs a number, not 'region' (VARCHAR) (line 1, column 8)
