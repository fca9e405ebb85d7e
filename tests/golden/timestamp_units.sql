-- TIMESTAMP_S, TIMESTAMP_MS and TIMESTAMP_NS: timestamps of seconds, milliseconds and nanoseconds.
SELECT '2026-05-17 10:37:21.123456789'::TIMESTAMP_NS::VARCHAR, '2026-05-17 10:37:21.1234'::TIMESTAMP_MS::VARCHAR, '2026-05-17 10:37:21.4'::TIMESTAMP_S::VARCHAR, TIMESTAMP_NS '2026-05-17 10:37:21.100000100'::VARCHAR;
-- '2026-05-17 10:37:21.123456789' | '2026-05-17 10:37:21.123' | '2026-05-17 10:37:21' | '2026-05-17 10:37:21.1000001'
SELECT typeof('2026-05-17'::TIMESTAMP(0)), typeof('2026-05-17'::TIMESTAMP(3)), typeof('2026-05-17'::TIMESTAMP(6)), typeof('2026-05-17'::TIMESTAMP(9)), typeof('2026-05-17'::TIMESTAMP_US);
-- 'TIMESTAMP_S' | 'TIMESTAMP_MS' | 'TIMESTAMP' | 'TIMESTAMP_NS' | 'TIMESTAMP'
SELECT '2026-05-17 10:37:21.12345678999'::TIMESTAMP_NS::VARCHAR;
-- '2026-05-17 10:37:21.123456789'

-- Casts round, halves away from 1970; functions cut off.
SELECT '2026-05-17 10:37:21.999999999'::TIMESTAMP_NS::TIMESTAMP, '2026-05-17 10:37:21.5'::TIMESTAMP::TIMESTAMP_S, '1969-12-31 23:59:58.5'::TIMESTAMP::TIMESTAMP_S, '2026-05-17 10:37:21.0005'::TIMESTAMP::TIMESTAMP_MS;
-- 2026-05-17T10:37:22 | 2026-05-17T10:37:22 | 1969-12-31T23:59:58 | 2026-05-17T10:37:21.001000
SELECT year(t), t::DATE, t::TIME, date_trunc('day', t), typeof(date_trunc('day', t)), second(t), t::TIMESTAMP, t::TIMESTAMPTZ = t::TIMESTAMP::TIMESTAMPTZ FROM (VALUES ('2026-12-31 23:59:59.9999999'::TIMESTAMP_NS)) v(t);
-- 2026 | 2026-12-31 | datetime.time(23, 59, 59, 999999) | 2026-12-31T00:00:00 | 'TIMESTAMP' | 59.999999 | 2027-01-01T00:00:00 | true
SELECT DATE '2026-05-17'::TIMESTAMP_S, DATE '2026-05-17'::TIMESTAMP_NS, 'infinity'::TIMESTAMP_NS::VARCHAR, '-infinity'::TIMESTAMP_S::TIMESTAMP::VARCHAR, 'infinity'::DATE::TIMESTAMP_MS::VARCHAR, isinf('infinity'::TIMESTAMP_NS);
-- 2026-05-17T00:00:00 | 2026-05-17T00:00:00 | 'infinity' | '-infinity' | 'infinity' | true
SELECT '3000-01-01'::TIMESTAMP_NS;
-- error: DataError: '3000-01-01' is not a valid TIMESTAMP_NS (line 1, column 8)
SELECT '3000-01-01'::TIMESTAMP::TIMESTAMP_NS;
-- error: DataError: 3000-01-01 00:00:00 is out of range for TIMESTAMP_NS
SELECT TRY_CAST('3000-01-01' AS TIMESTAMP_NS), TRY_CAST('soon' AS TIMESTAMP_S), TRY_CAST(TIMESTAMP '3000-01-01' AS TIMESTAMP_NS);
-- NULL | NULL | NULL
SELECT '300000-01-01'::TIMESTAMP_S;
-- error: DataError: '300000-01-01' is not a valid TIMESTAMP_S (line 1, column 8)
SELECT 'soon'::TIMESTAMP_MS;
-- error: DataError: 'soon' is not a valid TIMESTAMP_MS (line 1, column 8)
SELECT '2026-05-17'::TIMESTAMP_NS::BIGINT;
-- error: ProgrammingError: cannot cast 2026-05-17 00:00:00.000000000 (TIMESTAMP_NS) to BIGINT (line 1, column 8)
SELECT '2026-05-17'::TIMESTAMP_NS + 1;
-- error: ProgrammingError: cannot add 1 (INTEGER) to 2026-05-17 00:00:00.000000000 (TIMESTAMP_NS) (line 1, column 8)
SELECT '2026-05-17'::TIMESTAMP(10);
-- error: NotSupportedError: the type TIMESTAMP(10) is not supported (line 1, column 8)

-- Beside each other the finest unit counts, and a text is read as exactly as it is written.
SELECT typeof(coalesce('2026-05-17'::TIMESTAMP_S, '2026-05-17'::TIMESTAMP)), typeof(coalesce('2026-05-17'::TIMESTAMP_NS, '2026-05-17'::TIMESTAMP_MS)), typeof(coalesce('2026-05-17'::TIMESTAMP_S, '2026-05-17'::DATE)), typeof(coalesce('2026-05-17'::TIMESTAMP_NS, now()));
-- 'TIMESTAMP' | 'TIMESTAMP_NS' | 'TIMESTAMP_S' | 'TIMESTAMP WITH TIME ZONE'
SELECT '2026-05-17 10:00:00.000000001'::TIMESTAMP_NS > '2026-05-17 10:00'::TIMESTAMP, '2026-05-17 10:00:00'::TIMESTAMP_S < '2026-05-17 10:00:00.4', '2026-05-17 10:00:00'::TIMESTAMP_S = '2026-05-17 10:00:00', '2026-05-17'::TIMESTAMP_MS = DATE '2026-05-17';
-- true | true | true | true
SELECT '2026-05-17 10:00:00'::TIMESTAMP_S IN (TIMESTAMP '2026-05-17 10:00:00.4', '2026-05-17 10:00:00'), '2026-05-17'::TIMESTAMP_NS BETWEEN DATE '2026-05-17' AND TIMESTAMP '2026-05-17 00:00:00.000001';
-- true | true
SELECT '2026-05-17'::TIMESTAMP_S = 5;
-- error: ProgrammingError: cannot compare 2026-05-17 00:00:00 (TIMESTAMP_S) with 5 (INTEGER) (line 1, column 8)

-- Intervals keep nanoseconds; differences are of microseconds.
SELECT (t + INTERVAL '1 month 1 microsecond')::VARCHAR, (INTERVAL '1 day' + t)::VARCHAR, (t - INTERVAL '1 hour')::VARCHAR, typeof(t + INTERVAL '1 day'), t - DATE '2026-05-17', t - t FROM (VALUES ('2026-05-17 00:00:00.000000499'::TIMESTAMP_NS)) v(t);
-- '2026-06-17 00:00:00.000001499' | '2026-05-18 00:00:00.000000499' | '2026-05-16 23:00:00.000000499' | 'TIMESTAMP_NS' | datetime.timedelta(0) | datetime.timedelta(0)
SELECT typeof('2026-05-17'::TIMESTAMP_S + INTERVAL '1 day'), '2026-05-17'::TIMESTAMP_MS - '2026-05-16'::TIMESTAMP_S, 'infinity'::TIMESTAMP_NS + INTERVAL '1 day' = 'infinity'::TIMESTAMP_NS;
-- 'TIMESTAMP' | datetime.timedelta(days=1) | true
SELECT '2262-04-11'::TIMESTAMP_NS + INTERVAL '1 day';
-- error: DataError: the result of the addition is out of range for TIMESTAMP_NS
SELECT '2262-04-11 23:47:16.854775806'::TIMESTAMP_NS::VARCHAR, '1677-09-21 00:12:43.145225'::TIMESTAMP_NS::VARCHAR;
-- '2262-04-11 23:47:16.854775806' | '1677-09-21 00:12:43.145225'
SELECT '2262-04-11 23:47:16.854775807'::TIMESTAMP_NS;
-- error: DataError: '2262-04-11 23:47:16.854775807' is not a valid TIMESTAMP_NS (line 1, column 8)

SELECT epoch_ns(t), epoch_us(t), epoch_ms(t), epoch(t), nanosecond(t), microsecond(t), strftime(t, '%S.%n %f %g'), make_timestamp_ns(epoch_ns(t)) = t FROM (VALUES ('2026-05-17 00:00:01.123456789'::TIMESTAMP_NS)) v(t);
-- 1778976001123456789 | 1778976001123456 | 1778976001123 | 1778976001.123456 | 1123456789 | 1123456 | '01.123456789 123456 123' | true
SELECT make_timestamp_ms(1500), make_timestamp(1500000), nanosecond(TIMESTAMP '2026-05-17 00:00:01.5'), nanosecond(NULL::TIMESTAMP_NS), make_timestamp_ns(NULL), strftime(TIMESTAMP '2026-05-17 00:00:01.5', '%n');
-- 1970-01-01T00:00:01.500000 | 1970-01-01T00:00:01.500000 | 1500000000 | NULL | NULL | '500000000'
SELECT make_timestamp_ns(9223372036854775807);
-- error: DataError: the result of the make_timestamp_ns is out of range for TIMESTAMP_NS
SELECT make_timestamp(1, 2);
-- error: ProgrammingError: make_timestamp() takes 1 or 6 arguments, not 2 (line 1, column 8)
SELECT nanosecond(5);
-- error: ProgrammingError: nanosecond() needs a timestamp, not 5 (INTEGER) (line 1, column 8)
SELECT strptime('1', '%n');
-- error: NotSupportedError: the code '%n' of strptime() is not supported (line 1, column 8)
SELECT date_diff('day', a, b), age(b, a), last_day(a), dayname(a), time_bucket(INTERVAL '1 hour', b), typeof(time_bucket(INTERVAL '1 hour', b)) FROM (VALUES ('2026-05-17 10:00:00'::TIMESTAMP_S, '2026-05-18 10:30:00'::TIMESTAMP_NS)) v(a, b);
-- 1 | datetime.timedelta(days=1, seconds=1800) | 2026-05-31 | 'Sunday' | 2026-05-18T10:00:00 | 'TIMESTAMP'
SELECT range, typeof(range) FROM range('2026-05-17'::TIMESTAMP_S, '2026-05-18'::TIMESTAMP_NS, INTERVAL '12 hours');
-- 2026-05-17T00:00:00 | 'TIMESTAMP'
-- 2026-05-17T12:00:00 | 'TIMESTAMP'

-- Tables, keys, aggregates, windows, sets.
CREATE TABLE t (id INTEGER, n TIMESTAMP_NS, m TIMESTAMP_MS, s TIMESTAMP_S DEFAULT '2026-01-01 00:00:00');
INSERT INTO t VALUES (1, '2026-05-17 10:00:00.000000002', '2026-05-17 10:00:00.002', '2026-05-17 10:00:00'), (2, '2026-05-17 10:00:00.000000001', TIMESTAMP '2026-05-17 10:00:00.0026', DATE '2026-05-17'), (3, NULL, NULL, NULL);
INSERT INTO t (id, n) VALUES (4, '2026-05-17 10:00:00.000000002');
INSERT INTO t (id, n) VALUES (5, '3000-01-01');
-- error: DataError: column 'n': '3000-01-01' is not a valid TIMESTAMP_NS
DESCRIBE t;
-- 'id' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'm' | 'TIMESTAMP_MS' | 'YES' | NULL | NULL | NULL
-- 'n' | 'TIMESTAMP_NS' | 'YES' | NULL | NULL | NULL
-- 's' | 'TIMESTAMP_S' | 'YES' | NULL | '''2026-01-01 00:00:00''' | NULL
SELECT id, n::VARCHAR, m::VARCHAR, s::VARCHAR FROM t ORDER BY n DESC NULLS LAST, id;
-- 1 | '2026-05-17 10:00:00.000000002' | '2026-05-17 10:00:00.002' | '2026-05-17 10:00:00'
-- 4 | '2026-05-17 10:00:00.000000002' | NULL | '2026-01-01 00:00:00'
-- 2 | '2026-05-17 10:00:00.000000001' | '2026-05-17 10:00:00.003' | '2026-05-17 00:00:00'
-- 3 | NULL | NULL | NULL
SELECT n::VARCHAR, count(*), max(m), min(s) FROM t GROUP BY n ORDER BY n;
-- '2026-05-17 10:00:00.000000001' | 1 | 2026-05-17T10:00:00.003000 | 2026-05-17T00:00:00
-- '2026-05-17 10:00:00.000000002' | 2 | 2026-05-17T10:00:00.002000 | 2026-01-01T00:00:00
-- NULL | 1 | NULL | NULL
SELECT max(n)::VARCHAR, min(m), count(DISTINCT n), mode(n)::VARCHAR, median(n)::VARCHAR, typeof(median(s)), quantile_disc(m, 0.5), arg_max(id, n), list(n ORDER BY n, id)::VARCHAR FROM t;
-- '2026-05-17 10:00:00.000000002' | 2026-05-17T10:00:00.002000 | 2 | '2026-05-17 10:00:00.000000002' | '2026-05-17 10:00:00.000000002' | 'TIMESTAMP' | 2026-05-17T10:00:00.002000 | 1 | '[''2026-05-17 10:00:00.000000001'', ''2026-05-17 10:00:00.000000002'', ''2026-05-17 10:00:00.000000002'', NULL]'
SELECT a.id, b.id FROM t a JOIN t b ON a.n = b.n ORDER BY ALL;
-- 1 | 1
-- 1 | 4
-- 2 | 2
-- 4 | 1
-- 4 | 4
SELECT a.id, b.id FROM t a JOIN t b ON a.s = b.m ORDER BY ALL;
-- (no rows)
SELECT id, count(*) OVER (ORDER BY n RANGE BETWEEN INTERVAL '1 microsecond' PRECEDING AND CURRENT ROW) AS c, row_number() OVER (ORDER BY n, id), lag(n) OVER (ORDER BY n, id)::VARCHAR FROM t ORDER BY id;
-- 1 | 3 | 2 | '2026-05-17 10:00:00.000000001'
-- 2 | 1 | 1 | NULL
-- 3 | 1 | 4 | '2026-05-17 10:00:00.000000002'
-- 4 | 3 | 3 | '2026-05-17 10:00:00.000000002'
SELECT m FROM t UNION SELECT n FROM t ORDER BY 1;
-- 2026-05-17T10:00:00
-- 2026-05-17T10:00:00
-- 2026-05-17T10:00:00.002000
-- 2026-05-17T10:00:00.003000
-- NULL
SELECT id FROM t WHERE n > '2026-05-17 10:00:00.000000001' AND s >= TIMESTAMP '2026-01-01' ORDER BY id;
-- 1
-- 4
UPDATE t SET n = n + INTERVAL '1 second' WHERE id = 4;
SELECT n::VARCHAR, [m], {'a': s}, MAP {n: id}, to_json(n), n || '' FROM t WHERE id = 4;
-- '2026-05-17 10:00:01.000000002' | [None] | {'a': datetime.datetime(2026, 1, 1, 0, 0)} | {datetime.datetime(2026, 5, 17, 10, 0, 1): 4} | '"2026-05-17 10:00:01.000000002"' | '2026-05-17 10:00:01.000000002'
CREATE TABLE k (n TIMESTAMP_NS PRIMARY KEY, s TIMESTAMP_S UNIQUE);
INSERT INTO k VALUES ('2026-05-17 10:00:00.000000001', '2026-05-17'), ('2026-05-17 10:00:00.000000002', '2026-05-18');
INSERT INTO k VALUES ('2026-05-17 10:00:00.000000002', NULL);
-- error: IntegrityError: table 'k', row 1: the primary key (n) = ('2026-05-17 10:00:00.000000002') is in the table already
SELECT s FROM k WHERE n = '2026-05-17 10:00:00.000000002';
-- 2026-05-18T00:00:00
