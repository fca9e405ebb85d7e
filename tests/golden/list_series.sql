SELECT range(3), generate_series(1, 3), range(1, 10, 4), range(5, 1, -2), range(NULL), range(3, 1), range(0);
-- [0, 1, 2] | [1, 2, 3] | [1, 5, 9] | [5, 3] | NULL | [] | []
SELECT range(DATE '2020-01-01', DATE '2020-01-03', INTERVAL 1 DAY), generate_series(TIMESTAMP '2020-01-31', TIMESTAMP '2020-04-01', INTERVAL 1 MONTH);
-- [datetime.datetime(2020, 1, 1, 0, 0), datetime.datetime(2020, 1, 2, 0, 0)] | [datetime.datetime(2020, 1, 31, 0, 0), datetime.datetime(2020, 2, 29, 0, 0), datetime.datetime(2020, 3, 29, 0, 0)]
SELECT range(DATE '2020-01-03', TIMESTAMP '2020-01-02', INTERVAL '-12 hours'), range(NULL, DATE '2020-01-01', INTERVAL 1 DAY);
-- [datetime.datetime(2020, 1, 3, 0, 0), datetime.datetime(2020, 1, 2, 12, 0)] | NULL
SELECT n, range(n), generate_series(n, 1, -1) FROM (VALUES (2), (NULL), (0)) t (n);
-- 0 | [] | []
-- 2 | [0, 1] | [2, 1]
-- NULL | NULL | NULL
SELECT unnest(range(3)), len(generate_series(5, 9));
-- 0 | 5
-- 1 | 5
-- 2 | 5
SELECT generate_series(9223372036854775806, 9223372036854775807), range(9223372036854775807, 9223372036854775806, -1);
-- [9223372036854775806, 9223372036854775807] | [9223372036854775807]
SELECT range(1, 2, 0);
-- []
SELECT range(DATE '2020-01-01', DATE '2020-01-01', INTERVAL 0 DAY);
-- []
SELECT range(DATE '2020-01-01', DATE '2020-01-03');
-- error: ProgrammingError: range() of dates needs a step, such as INTERVAL '1 day' (line 1, column 8)
SELECT range(DATE '2020-01-01', 5, INTERVAL 1 DAY);
-- error: ProgrammingError: range() of dates takes two dates, not 5 (INTEGER) (line 1, column 8)
SELECT range(DATE '2020-01-01', DATE '2020-01-03', 1);
-- error: ProgrammingError: range() of dates takes an interval, not 1 (INTEGER) (line 1, column 8)
SELECT range(now(), now(), INTERVAL 1 DAY);
-- error: NotSupportedError: range() of timestamps with a time zone stands in FROM; as a list it is not supported (line 1, column 8)
SELECT range(10000000000);
-- error: DataError: range() would have 10000000000 elements
SELECT range('a');
-- error: ProgrammingError: range() needs a number, not 'a' (VARCHAR) (line 1, column 8)

-- A series of what stands before it in FROM.
SELECT * FROM (VALUES (1), (2), (0), (NULL)) t (n), generate_series(1, t.n) ORDER BY ALL;
-- 1 | 1
-- 2 | 1
-- 2 | 2
SELECT * FROM (VALUES (1), (2), (0)) t (n) LEFT JOIN range(n) AS r (i) ON true ORDER BY ALL;
-- 0 | NULL
-- 1 | 0
-- 2 | 0
-- 2 | 1
SELECT n, (SELECT sum(i) FROM generate_series(1, n) AS g (i)) FROM (VALUES (1), (3), (0)) t (n) ORDER BY ALL;
-- 0 | NULL
-- 1 | 1
-- 3 | 6
SELECT generate_series FROM generate_series(1, x);
-- error: ProgrammingError: column 'x' does not exist (line 1, column 48)

SELECT unnest({'a': 1, 'b': 'x'}), 5;
-- 1 | 'x' | 5
SELECT unnest(s) FROM (VALUES ({'a': 1, 'b': [2]}), (NULL)) t (s);
-- 1 | [2]
-- NULL | NULL
SELECT a + 1 FROM (SELECT unnest({'a': 1, 'b': 2}));
-- 2
SELECT unnest(5);
-- error: ProgrammingError: unnest() needs a list, not 5 (INTEGER) (line 1, column 8)
SELECT 1 WHERE unnest({'a': true});
-- error: ProgrammingError: WHERE cannot contain unnest(), which is for FROM and the select list (line 1, column 16)

SELECT generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '9999-01-01', INTERVAL '1 microsecond');
-- error: DataError: generate_series() would have 251666697600000000 elements
SET memory_limit = '500MB';
SELECT range(100000000);
-- error: OperationalError: range() needs about 3.2 GB, and memory_limit is 500 MB; raise it with SET memory_limit or ask for less
SELECT range(TIMESTAMP '9999-01-01', TIMESTAMP '9000-01-01', INTERVAL '-1 minute');
-- error: OperationalError: range() needs about 37.8 GB, and memory_limit is 500 MB; raise it with SET memory_limit or ask for less
