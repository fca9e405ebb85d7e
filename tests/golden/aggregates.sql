-- Aggregates: NULLs do not count, a group of NULLs has no value, no rows give one row.
CREATE TABLE t (id INTEGER, g VARCHAR, x INTEGER, n BIGINT, m DECIMAL(6, 2), d DOUBLE, o BOOLEAN, day DATE, s VARCHAR);

INSERT INTO t VALUES
  (1, 'a', 1, 1, 1.50, 0.5, TRUE, '2024-01-01', 'x'),
  (2, 'a', 3, NULL, 2.25, 'NaN', FALSE, '2024-02-01', 'y'),
  (3, 'a', NULL, 7, NULL, -1.0, NULL, NULL, NULL),
  (4, 'b', 6, 6, 4.00, 2.0, TRUE, '2023-01-01', 'ä'),
  (5, 'b', 12, 3, -4.00, 1.5, TRUE, '2023-06-01', ''),
  (6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

SELECT g, count(*), count(x), sum(x), avg(x), min(x), max(x) FROM t GROUP BY g ORDER BY g;
-- 'a' | 3 | 2 | 4 | 2.0 | 1 | 3
-- 'b' | 2 | 2 | 18 | 9.0 | 6 | 12
-- NULL | 1 | 0 | NULL | NULL | NULL | NULL
SELECT count(*), count(x), sum(x), avg(x), min(s), max(day), any_value(x), stddev(x), median(x), string_agg(s, ','), array_agg(x), bool_and(o), mode(x), corr(x, n) FROM t WHERE FALSE;
-- 0 | 0 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
SELECT g, sum(x) FROM t WHERE FALSE GROUP BY g;
-- (no rows)

-- min and max over every type that has an order; NaN is the greatest double.
SELECT min(m), max(m), min(d), max(d), min(o), max(o), min(day), max(day), min(s), max(s) FROM t;
-- -4.00 | 4.00 | -1.0 | nan | false | true | 2023-01-01 | 2024-02-01 | '' | 'ä'
SELECT min(TIME '10:00:00'), max(TIMESTAMP '2024-01-01 00:00:00'), min('\x00'::BLOB), max(1::TINYINT), max(1.5::REAL), max(NULL);
-- datetime.time(10, 0) | 2024-01-01T00:00:00 | b'\x00' | 1 | 1.5 | NULL

SELECT g, bool_and(o), bool_or(o), every(o) FROM t GROUP BY g ORDER BY g;
-- 'a' | false | true | false
-- 'b' | true | true | true
-- NULL | NULL | NULL | NULL
SELECT g, bit_and(n), bit_or(n), bit_xor(n), product(x) FROM t GROUP BY g ORDER BY g;
-- 'a' | 1 | 7 | 6 | 3.0
-- 'b' | 2 | 7 | 5 | 72.0
-- NULL | NULL | NULL | NULL | NULL
SELECT count_if(x > 2), countif(o), count_if(NULL), count(NULL), count(1), count('a') FROM t;
-- 3 | 3 | 0 | 0 | 6 | 6
SELECT any_value(g), arg_min(id, m), arg_max(id, m), min_by(s, day), max_by(s, day), arg_max(s, n) FROM t;
-- 'a' | 5 | 4 | 'ä' | 'y' | 'ä'
SELECT g, first(x ORDER BY id), last(x ORDER BY id), any_value(x ORDER BY id DESC), first(n ORDER BY id) FROM t GROUP BY g ORDER BY g;
-- 'a' | 1 | NULL | 3 | 1
-- 'b' | 6 | 12 | 12 | 6
-- NULL | NULL | NULL | NULL | NULL

-- Groups by keys of every type.
SELECT d, count(*) FROM (VALUES (0.0::DOUBLE), ('-0.0'::DOUBLE), ('NaN'::DOUBLE), ('NaN'::DOUBLE), (NULL), (NULL)) v (d) GROUP BY d;
-- 0.0 | 2
-- NULL | 2
-- nan | 2
SELECT o, count(*), sum(x) FROM t GROUP BY o;
-- NULL | 2 | NULL
-- false | 1 | 3
-- true | 3 | 19
SELECT day, m, count(*) FROM t GROUP BY day, m ORDER BY day, m;
-- 2023-01-01 | 4.00 | 1
-- 2023-06-01 | -4.00 | 1
-- 2024-01-01 | 1.50 | 1
-- 2024-02-01 | 2.25 | 1
-- NULL | NULL | 2
SELECT t, count(*) FROM (VALUES (TIME '10:00:00'), (TIME '10:00:00'), (NULL)) v (t) GROUP BY t;
-- NULL | 1
-- datetime.time(10, 0) | 2
SELECT b, count(*) FROM (VALUES ('\x00'::BLOB), ('\x00'::BLOB), (''::BLOB)) v (b) GROUP BY b;
-- b'' | 1
-- b'\x00' | 2
SELECT s, count(*) FROM (VALUES (TIMESTAMP '2024-01-01 10:00:00'), (TIMESTAMP '2024-01-01 10:00:00.000001')) v (s) GROUP BY s ORDER BY s;
-- 2024-01-01T10:00:00 | 1
-- 2024-01-01T10:00:00.000001 | 1
SELECT g, o, day IS NULL, x > 5, count(*) FROM t GROUP BY g, o, day IS NULL, x > 5 ORDER BY 1, 2, 3, 4;
-- 'a' | false | false | false | 1
-- 'a' | true | false | false | 1
-- 'a' | NULL | true | NULL | 1
-- 'b' | true | false | true | 2
-- NULL | NULL | true | NULL | 1
SELECT i, count(*) FROM (VALUES (INTERVAL '1 month'), (INTERVAL '30 days'), (INTERVAL '31 days')) v (i) GROUP BY i ORDER BY 2;
-- datetime.timedelta(days=31) | 1
-- MonthDayNano(months=1, days=0, nanoseconds=0) | 2

-- Constants as arguments, and expressions.
SELECT sum(2), avg(0.5), max('z'), sum(x + 0.5), sum(NULL), avg(NULL), count(DISTINCT 1) FROM t;
-- 12 | 0.5 | 'z' | 24.0 | NULL | NULL | 1

-- What goes wrong.
SELECT sum(s) FROM t;
-- error: ProgrammingError: sum() needs a number, not 's' (VARCHAR) (line 1, column 8)
SELECT avg(day) FROM t;
-- error: ProgrammingError: avg() needs a number, not 'day' (DATE) (line 1, column 8)
SELECT sum(INTERVAL '1' DAY) FROM t;
-- error: ProgrammingError: sum() needs a number, not '1 day' (INTERVAL) (line 1, column 8)
SELECT max(i), min(i) FROM (VALUES (INTERVAL '1 month'), (INTERVAL '29 days'), (NULL)) v (i);
-- MonthDayNano(months=1, days=0, nanoseconds=0) | datetime.timedelta(days=29)
SELECT max(x, 2) FROM t;
-- [12, 6]
SELECT sum() FROM t;
-- error: ProgrammingError: sum() takes 1 argument, not 0 (line 1, column 8)
SELECT arg_max(x) FROM t;
-- error: ProgrammingError: arg_max() takes 2 arguments, not 1 (line 1, column 8)
SELECT bool_and(x) FROM t;
-- error: ProgrammingError: bool_and() needs a condition, not 'x' (INTEGER) (line 1, column 8)
SELECT bit_and(m) FROM t;
-- error: ProgrammingError: bit_and() needs an integer, not 'm' (DECIMAL(6,2)) (line 1, column 8)
SELECT sum(count(*)) FROM t;
-- error: ProgrammingError: an aggregate cannot contain the aggregate count (line 1, column 12)
SELECT x FROM t WHERE sum(x) > 1;
-- error: ProgrammingError: WHERE cannot contain the aggregate sum (line 1, column 23)
SELECT lower(g) FILTER (WHERE x > 1) FROM t;
-- error: ProgrammingError: lower() is no aggregate (line 1, column 8)
SELECT medain(x) FROM t;
-- error: ProgrammingError: function 'medain' does not exist; did you mean 'median'? (line 1, column 8)

SELECT g, sum(x > 1), sum(x > 5), typeof(sum(x > 1)), sum(DISTINCT x > 1)
FROM (VALUES ('a', 1), ('a', 2), ('b', 3), ('b', NULL), ('c', NULL)) AS t (g, x) GROUP BY g;
-- 'a' | 1 | 0 | 'BIGINT' | 1
-- 'b' | 1 | 0 | 'BIGINT' | 1
-- 'c' | NULL | NULL | 'BIGINT' | NULL

SELECT sum(true) OVER (ORDER BY x), sum(x = 2) FILTER (WHERE x > 0) OVER () FROM (VALUES (1), (2)) AS t (x);
-- 1 | 1
-- 2 | 1

-- How many values are up to each bin, and beyond the last.
SELECT histogram(x, [1, 3]), histogram(x, [3, 1, 1]) FILTER (WHERE x < 3), histogram(x::DOUBLE, [0.5]) FROM (VALUES (1), (2), (NULL), (7)) AS t (x);
-- {1: 1, 3: 1, 2147483647: 1} | {1: 1, 3: 1} | {0.5: 0, inf: 3}

SELECT histogram(x, ['b', 'd']), histogram_exact(x, ['b', 'd']) FROM (VALUES ('a'), ('b'), ('c'), ('z')) AS t (x);
-- {'b': 2, 'd': 1, '': 1} | {'b': 1, 'd': 0, '': 3}

SELECT histogram(x, [DATE '2020-01-01'])::VARCHAR FROM (VALUES (DATE '2019-05-01'), ('2021-01-01')) AS t (x);
-- '{2020-01-01=1, infinity=1}'

SELECT g, histogram(x, [2.5]) FROM (VALUES (1, 1.5), (1, 2.5), (2, 9.5)) AS t (g, x) GROUP BY g ORDER BY g;
-- 1 | {Decimal('2.5'): 2}
-- 2 | {Decimal('2.5'): 0, Decimal('9.9'): 1}

SELECT histogram(x, [1]) FROM (VALUES (1)) AS t (x) WHERE false;
-- NULL

SELECT histogram(x, []) FROM (VALUES (1)) AS t (x);
-- {2147483647: 1}

SELECT histogram(x, [1, NULL]) FROM (VALUES (1)) AS t (x);
-- error: DataError: the bins of histogram() are a list without NULL

SELECT histogram_exact(x, [1, NULL]) FROM (VALUES (1)) AS t (x);
-- error: DataError: the bins of histogram_exact() are a list without NULL

-- NaN is behind all others.
SELECT histogram(x, ['nan'::DOUBLE, 1]), histogram_exact(x, ['nan'::DOUBLE, 1]), histogram(x, [1]) FROM (VALUES ('nan'::DOUBLE), (1)) AS t (x);
-- {1.0: 1, nan: 1} | {1.0: 1, nan: 1} | {1.0: 1, inf: 1}

SELECT histogram(x, ['inf'::DOUBLE]) FROM (VALUES ('nan'::DOUBLE)) AS t (x);
-- error: DataError: histogram() counts all others at 'inf', a bin

SELECT histogram(x, 1) FROM (VALUES (1)) AS t (x);
-- error: ProgrammingError: histogram() needs a list, not 1 (INTEGER) (line 1, column 8)

SELECT histogram(x, [[1]]) FROM (VALUES ([2])) AS t (x);
-- error: NotSupportedError: histogram() of INTEGER[] with bins is not supported (line 1, column 8)

SELECT histogram_exact(x, ['']) FROM (VALUES ('a')) AS t (x);
-- error: DataError: histogram_exact() counts all others at '', a bin

SELECT histogram_exact(x) FROM (VALUES ('a')) AS t (x);
-- error: ProgrammingError: histogram_exact() takes 2 arguments, not 1 (line 1, column 8)
