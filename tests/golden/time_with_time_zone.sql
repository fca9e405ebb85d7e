-- TIME WITH TIME ZONE, also called TIMETZ: a time of the day and how far it is from UTC.
SELECT '10:37:00+02'::TIMETZ::VARCHAR, TIME WITH TIME ZONE '10:37:21.5 -03:30'::VARCHAR, '10:37'::TIMETZ::VARCHAR, '10:37:00Z'::TIMETZ::VARCHAR, '00:00:00.1234567+15:59:59'::TIMETZ::VARCHAR, TIMETZ '9:5+2';
-- '10:37:00+02' | datetime.time(10, 37, 21, 500000, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=73800))) | '10:37:00+00' | '10:37:00+00' | '00:00:00.123457+15:59:59' | datetime.time(9, 5, tzinfo=datetime.timezone(datetime.timedelta(seconds=7200)))
SELECT typeof('10:37+02'::TIMETZ), pg_typeof('10:37+02'::TIMETZ), NULL::TIMETZ, TRY_CAST('x' AS TIMETZ);
-- 'TIME WITH TIME ZONE' | 'time with time zone' | NULL | NULL
SELECT '24:00+00'::TIMETZ;
-- error: DataError: '24:00+00' is not a valid TIME WITH TIME ZONE (line 1, column 8)
SELECT '10:37+16'::TIMETZ;
-- error: DataError: '10:37+16' is not a valid TIME WITH TIME ZONE (line 1, column 8)
SELECT '10:37 Europe/Oslo'::TIMETZ;
-- error: DataError: '10:37 Europe/Oslo' is not a valid TIME WITH TIME ZONE (line 1, column 8)
SELECT 'x'::TIMETZ;
-- error: DataError: 'x' is not a valid TIME WITH TIME ZONE (line 1, column 8)
SELECT '10:37+02'::TIMETZ::INTEGER;
-- error: ProgrammingError: cannot cast 10:37:00+02 (TIME WITH TIME ZONE) to INTEGER (line 1, column 8)

-- Casts: of a TIME it is of UTC, of an instant what clocks show in the session's zone.
SET timezone = 'Europe/Oslo';
SELECT '10:37+02'::TIMETZ::TIME, TIME '10:37'::TIMETZ::VARCHAR, TIMESTAMPTZ '2026-05-17 10:37Z'::TIMETZ::VARCHAR, TIMESTAMPTZ '2026-01-17 10:37Z'::TIMETZ::VARCHAR;
-- datetime.time(10, 37) | '10:37:00+00' | '12:37:00+02' | '11:37:00+01'
SELECT 'infinity'::TIMESTAMPTZ::TIMETZ;
-- error: DataError: infinity is out of range for TIME WITH TIME ZONE
RESET timezone;

-- The moment counts first; of one moment what is farther ahead of UTC is less, and not equal.
SELECT '10:00+02'::TIMETZ < '10:00+01'::TIMETZ, '10:00+02'::TIMETZ = '08:00+00'::TIMETZ, '10:00+02'::TIMETZ < '08:00+00'::TIMETZ, '10:00+02'::TIMETZ = '10:00:00+02:00', '10:00+02'::TIMETZ IN ('10:00+02', '11:00+03');
-- true | false | true | true | true
SELECT '10:00+02'::TIMETZ = TIME '10:00';
-- error: ProgrammingError: cannot compare 10:00:00+02 (TIME WITH TIME ZONE) with 10:00:00 (TIME) (line 1, column 8)

SELECT ('23:30+02'::TIMETZ + INTERVAL '1 hour')::VARCHAR, (INTERVAL '90 minutes' + '10:00-03'::TIMETZ)::VARCHAR, ('00:30+02'::TIMETZ - INTERVAL '1 day 1 hour')::VARCHAR, (DATE '2026-05-17' + '10:00+02'::TIMETZ) = TIMESTAMPTZ '2026-05-17 08:00Z', ('10:00+02'::TIMETZ + DATE '2026-05-17') = TIMESTAMPTZ '2026-05-17 08:00Z';
-- '00:30:00+02' | '11:30:00-03' | '23:30:00+02' | true | true
SELECT '10:00+02'::TIMETZ - '10:00+01'::TIMETZ;
-- error: ProgrammingError: cannot subtract 10:00:00+01 (TIME WITH TIME ZONE) from 10:00:00+02 (TIME WITH TIME ZONE) (line 1, column 8)
SELECT '10:00+02'::TIMETZ + 1;
-- error: ProgrammingError: cannot add 1 (INTEGER) to 10:00:00+02 (TIME WITH TIME ZONE) (line 1, column 8)
SELECT hour(t), minute(t), second(t), epoch(t), epoch_us(t), extract(timezone FROM t), timezone_hour(t), timezone_minute(t), date_part(['hour', 'timezone_hour'], t) FROM (VALUES ('10:37:21.5-03:30'::TIMETZ)) v(t);
-- 10 | 37 | 21.500000 | 38241.500000 | 38241500000 | -12600 | -3 | -30 | {'hour': 10, 'timezone_hour': -3}
SELECT year('10:00+02'::TIMETZ);
-- error: ProgrammingError: an expression (TIME) has no part 'year' (line 1, column 8)
SELECT date_trunc('hour', '10:00+02'::TIMETZ);
-- error: ProgrammingError: date_trunc() needs a date or a timestamp, not 10:00:00+02 (TIME WITH TIME ZONE) (line 1, column 8)
SELECT ('10:37+02'::TIMETZ AT TIME ZONE 'UTC')::VARCHAR, timezone(INTERVAL '-3 hours', '01:00+02'::TIMETZ)::VARCHAR, ('10:37+02'::TIMETZ AT TIME ZONE 'Asia/Tokyo')::VARCHAR;
-- '08:37:00+00' | '20:00:00-03' | '17:37:00+09'
SELECT '10:37+02'::TIMETZ AT TIME ZONE 'Asia/Toky';
-- error: ProgrammingError: time zone 'Asia/Toky' does not exist; did you mean 'Asia/Tokyo'? (line 1, column 8)
SELECT timezone(INTERVAL '16 hours', '01:00+02'::TIMETZ);
-- error: DataError: the result of the clock_at_offset is out of range for TIME WITH TIME ZONE

CREATE TABLE t (k INTEGER, x TIMETZ DEFAULT '12:00+01');
INSERT INTO t VALUES (1, '10:00+02'), (2, '08:00+00'), (3, NULL), (4, '10:00:00+02'), (5, TIME '07:00');
INSERT INTO t (k) VALUES (6);
INSERT INTO t VALUES (7, 'noon');
-- error: DataError: column 'x': 'noon' is not a valid TIME WITH TIME ZONE
DESCRIBE t;
-- 'k' | 'INTEGER' | 'YES' | NULL | NULL | NULL
-- 'x' | 'TIME WITH TIME ZONE' | 'YES' | NULL | '''12:00+01''' | NULL
SELECT k, x::VARCHAR FROM t ORDER BY x DESC NULLS LAST, k;
-- 6 | '12:00:00+01'
-- 2 | '08:00:00+00'
-- 1 | '10:00:00+02'
-- 4 | '10:00:00+02'
-- 5 | '07:00:00+00'
-- 3 | NULL
SELECT x::VARCHAR, count(*) FROM t GROUP BY x ORDER BY x;
-- '07:00:00+00' | 1
-- '10:00:00+02' | 2
-- '08:00:00+00' | 1
-- '12:00:00+01' | 1
-- NULL | 1
SELECT min(x), max(x)::VARCHAR, count(DISTINCT x), mode(x)::VARCHAR, arg_max(k, x), list(x ORDER BY x, k)::VARCHAR, quantile_disc(x, 0.5)::VARCHAR FROM t;
-- datetime.time(7, 0, tzinfo=datetime.timezone.utc) | '12:00:00+01' | 4 | '10:00:00+02' | 6 | '[''07:00:00+00'', ''10:00:00+02'', ''10:00:00+02'', ''08:00:00+00'', ''12:00:00+01'', NULL]' | '10:00:00+02'
SELECT a.k, b.k FROM t a JOIN t b ON a.x = b.x WHERE a.k < b.k;
-- 1 | 4
SELECT k FROM t WHERE x BETWEEN '07:30Z' AND '09:00+01' ORDER BY k;
-- 1
-- 4
SELECT x::VARCHAR FROM t UNION SELECT x::VARCHAR FROM t WHERE k = 1 ORDER BY 1;
-- '07:00:00+00'
-- '08:00:00+00'
-- '10:00:00+02'
-- '12:00:00+01'
-- NULL
SELECT k, rank() OVER (ORDER BY x), lag(x) OVER (ORDER BY k)::VARCHAR FROM t ORDER BY k;
-- 1 | 2 | NULL
-- 2 | 4 | '10:00:00+02'
-- 3 | 6 | '08:00:00+00'
-- 4 | 2 | NULL
-- 5 | 1 | '10:00:00+02'
-- 6 | 5 | '07:00:00+00'
SELECT [x], {'a': x}, to_json(x), x || '' FROM t WHERE k = 1;
-- [datetime.time(10, 0, tzinfo=datetime.timezone(datetime.timedelta(seconds=7200)))] | {'a': datetime.time(10, 0, tzinfo=datetime.timezone(datetime.timedelta(seconds=7200)))} | '"10:00:00+02"' | '10:00:00+02'
UPDATE t SET x = x + INTERVAL '1 hour' WHERE k = 5;
SELECT greatest(x, '11:00+03')::VARCHAR, coalesce(x, '00:00')::VARCHAR, nullif(x, '10:00+02')::VARCHAR FROM t ORDER BY k;
-- '10:00:00+02' | '10:00:00+02' | NULL
-- '08:00:00+00' | '08:00:00+00' | '08:00:00+00'
-- '11:00:00+03' | '00:00:00+00' | NULL
-- '10:00:00+02' | '10:00:00+02' | NULL
-- '08:00:00+00' | '08:00:00+00' | '08:00:00+00'
-- '12:00:00+01' | '12:00:00+01' | '12:00:00+01'
CREATE TABLE p (x TIMETZ PRIMARY KEY);
INSERT INTO p VALUES ('10:00+02'), ('08:00+00');
INSERT INTO p VALUES ('10:00+02');
-- error: IntegrityError: table 'p', row 1: the primary key (x) = ('10:00:00+02') is in the table already
SELECT count(*) FROM p WHERE x = '10:00+02';
-- 1
