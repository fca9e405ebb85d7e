-- range() stops before its end, as in DuckDB; generate_series() reaches it, as in PostgreSQL.
FROM range(3);
-- 0
-- 1
-- 2
SELECT * FROM generate_series(1, 3);
-- 1
-- 2
-- 3
SELECT i FROM range(1, 10, 4) AS r (i);
-- 1
-- 5
-- 9
SELECT i FROM range(5, 1, -2) AS r (i) ORDER BY i DESC;
-- 5
-- 3
SELECT i FROM generate_series(5, 1, -2) AS r (i) ORDER BY i DESC;
-- 5
-- 3
-- 1
FROM range(0);
-- (no rows)
FROM range(-3);
-- (no rows)
FROM generate_series(2, 1);
-- (no rows)
FROM range(NULL);
-- (no rows)
FROM generate_series(1, NULL, 2);
-- (no rows)

-- The alias of generate_series() names its column too; range() keeps its own name.
SELECT g FROM generate_series(1, 2) AS g;
-- 1
-- 2
SELECT range FROM range(2) AS r;
-- 0
-- 1
SELECT i FROM range(2) AS r (i, j);
-- error: ProgrammingError: 'r' has 1 columns, but its alias names 2 (line 1, column 15)

-- The arguments are constants of any form.
SELECT sum(i) FROM range(2 * 5, 10 + abs(-3)) AS r (i);
-- 33
SELECT * FROM range(CAST('3' AS INTEGER));
-- 0
-- 1
-- 2

-- Large series are made as arrays.
SELECT count(*), sum(i), min(i), max(i) FROM range(3000000) AS r (i) WHERE i % 3 = 0;
-- 1000000 | 1499998500000 | 0 | 2999997
SELECT i FROM range(4000000) AS r (i) LIMIT 2 OFFSET 3999997;
-- 3999997
-- 3999998
SELECT i FROM generate_series(9223372036854775806, 9223372036854775807) AS r (i) ORDER BY i;
-- 9223372036854775806
-- 9223372036854775807
SELECT count(*) FROM range(-9223372036854775808, 9223372036854775807);
-- error: DataError: range() would have 18446744073709551615 rows, which is more than fit in memory (line 1, column 22)

-- Joins, and the rows of a query made by numbers.
SELECT a.i, b.i FROM range(2) AS a (i), range(2) AS b (i) ORDER BY a.i, b.i;
-- 0 | 0
-- 0 | 1
-- 1 | 0
-- 1 | 1
SELECT i, j FROM range(3) AS a (i) LEFT JOIN range(1, 5) AS b (j) ON j = i ORDER BY i;
-- 0 | NULL
-- 1 | 1
-- 2 | 2
SELECT i % 2 AS odd, count(*), sum(i) FROM range(5) AS r (i) GROUP BY odd ORDER BY odd;
-- 0 | 3 | 6
-- 1 | 2 | 4
SELECT (SELECT max(i) FROM range(4) AS r (i)) AS top;
-- 3

-- Dates and timestamps, by an interval; the series is of timestamps, as in PostgreSQL.
FROM generate_series(DATE '2024-01-30', DATE '2024-02-01', INTERVAL '1 day');
-- 2024-01-30T00:00:00
-- 2024-01-31T00:00:00
-- 2024-02-01T00:00:00
SELECT t FROM range(DATE '2024-01-01', DATE '2024-01-02', INTERVAL '8 hours') AS r (t);
-- 2024-01-01T00:00:00
-- 2024-01-01T08:00:00
-- 2024-01-01T16:00:00
SELECT t FROM range(TIMESTAMP '2024-01-02', TIMESTAMP '2024-01-01', INTERVAL '-12 hours') AS r (t);
-- 2024-01-01T12:00:00
-- 2024-01-02T00:00:00
SELECT count(*), min(t), max(t) FROM generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-12-31', INTERVAL '1 minute') AS r (t);
-- 525601 | 2024-01-01T00:00:00 | 2024-12-31T00:00:00

-- Each month follows from the one before.
SELECT t FROM generate_series(DATE '2024-01-31', DATE '2024-05-31', INTERVAL '1 month') AS r (t) ORDER BY t;
-- 2024-01-31T00:00:00
-- 2024-02-29T00:00:00
-- 2024-03-29T00:00:00
-- 2024-04-29T00:00:00
-- 2024-05-29T00:00:00
SELECT t FROM range(DATE '2024-03-01', DATE '2024-01-01', INTERVAL '-1 month') AS r (t) ORDER BY t;
-- 2024-02-01T00:00:00
-- 2024-03-01T00:00:00
FROM range(DATE '2024-01-01', NULL, INTERVAL '1 day');
-- (no rows)
FROM range(DATE '2024-01-01', DATE '2023-01-01', INTERVAL '1 day');
-- (no rows)

-- The elements of a constant list.
SELECT x FROM unnest([3, 1, NULL]) AS u (x);
-- 1
-- 3
-- NULL
SELECT u FROM unnest(['a', 'b']) AS u;
-- 'a'
-- 'b'
SELECT unnest FROM unnest(ARRAY[1.5, 2]);
-- 1.5
-- 2.0
SELECT u FROM unnest([[1, 2], [3]]) AS u;
-- [1, 2]
-- [3]
SELECT count(*) FROM unnest(CAST(NULL AS INTEGER[]));
-- 0

-- What is wrong.
FROM range(1, 2, 0);
-- error: DataError: the step of range() cannot be zero (line 1, column 6)
FROM range(DATE '2024-01-01', DATE '2024-02-01', INTERVAL '0 days');
-- error: DataError: the step of range() cannot be zero (line 1, column 6)
FROM range();
-- error: ProgrammingError: range() takes 1 to 3 arguments, not 0 (line 1, column 6)
FROM range(1, 2, 3, 4);
-- error: ProgrammingError: range() takes 1 to 3 arguments, not 4 (line 1, column 6)
FROM generate_series(1);
-- error: ProgrammingError: generate_series() takes 2 to 3 arguments, not 1 (line 1, column 6)
FROM range('a');
-- error: ProgrammingError: range() takes integers, or two dates or timestamps and an interval, not 'a' (VARCHAR) (line 1, column 6)
FROM range(1.5);
-- error: ProgrammingError: range() takes integers, or two dates or timestamps and an interval, not 1.5 (DECIMAL(2,1)) (line 1, column 6)
FROM range(9223372036854775808);
-- error: ProgrammingError: range() takes integers, or two dates or timestamps and an interval, not 9223372036854775808 (HUGEINT) (line 1, column 6)
FROM range(DATE '2024-01-01', DATE '2024-02-01');
-- error: ProgrammingError: range() of dates needs a step, such as INTERVAL '1 day' (line 1, column 6)
FROM range(DATE '2024-01-01', DATE '2024-02-01', 1);
-- error: ProgrammingError: range() of dates takes an interval, not 1 (INTEGER) (line 1, column 6)
FROM range(DATE '2024-01-01', 5, INTERVAL '1 day');
-- error: ProgrammingError: range() of dates takes two dates, not 5 (INTEGER) (line 1, column 6)
FROM unnest(1);
-- error: ProgrammingError: unnest() needs a list, not 1 (INTEGER) (line 1, column 13)
FROM unnest([1]) WITH ORDINALITY;
-- 1 | 1
FROM rang(3);
-- error: NotSupportedError: the table function rang() is not supported; did you mean 'range'? (line 1, column 6)
SELECT * FROM (VALUES (1)) AS t (a), range(t.a);
-- 1 | 0
EXPLAIN SELECT i FROM range(1, 10, 4) AS r (i);
-- has: SeriesRows: 1 to 10 by 4

SELECT * FROM generate_series(4, 6) WITH ORDINALITY;
-- 4 | 1
-- 5 | 2
-- 6 | 3
SELECT a, b FROM range(4, 6) WITH ORDINALITY AS r (a, b) WHERE b > 1;
-- 5 | 2
SELECT * FROM (VALUES (1), (2)) AS t (n), generate_series(1, t.n) WITH ORDINALITY AS g (x, o);
-- 1 | 1 | 1
-- 2 | 1 | 1
-- 2 | 2 | 2
SELECT x, n FROM generate_series(9, 1, -3) WITH ORDINALITY AS g (x, n) ORDER BY n DESC;
-- 3 | 3
-- 6 | 2
-- 9 | 1
SELECT * FROM range(3) WITH ORDINALITY LIMIT 2;
-- 0 | 1
-- 1 | 2
SELECT x, n FROM generate_series(1, 9000000000000000000) WITH ORDINALITY AS g (x, n) LIMIT 1;
-- error: DataError: generate_series() would have 9000000000000000000 rows, which is more than fit in memory (line 1, column 18)
SELECT * FROM range(DATE '2026-01-01', DATE '2026-01-03', INTERVAL 1 DAY) WITH ORDINALITY;
-- 2026-01-01T00:00:00 | 1
-- 2026-01-02T00:00:00 | 2
SELECT * FROM generate_series(1, NULL) WITH ORDINALITY;
-- (no rows)
SELECT * FROM range(1, 2, 3, 4) WITH ORDINALITY;
-- error: ProgrammingError: range() takes 1 to 3 arguments, not 4 (line 1, column 15)
SELECT n FROM range(-9223372036854775807, 9223372036854775807, 9000000000000000000) WITH ORDINALITY AS g (x, n);
-- 1
-- 2
-- 3
SELECT * FROM (VALUES (1)) AS t (n) WITH ORDINALITY;
-- error: ProgrammingError: syntax error at line 1, column 37: unexpected 'WITH'
