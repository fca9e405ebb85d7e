-- TIMESTAMP WITH TIME ZONE is an instant; the session's time zone says how it is read and shown.
SET timezone = 'Europe/Oslo';
SELECT TIMESTAMPTZ '2026-05-17 10:37' AS local, TIMESTAMPTZ '2026-05-17 10:37:00.5Z' AS utc;
-- 2026-05-17T10:37:00+02:00 | 2026-05-17T12:37:00.500000+02:00
SELECT '2026-05-17T10:37:00-03:30'::TIMESTAMPTZ, '2026-05-17 10:37 America/New_York'::TIMESTAMP WITH TIME ZONE;
-- 2026-05-17T16:07:00+02:00 | 2026-05-17T16:37:00+02:00
SELECT typeof(now()), typeof(current_timestamp), typeof(localtimestamp), pg_typeof(now());
-- 'TIMESTAMP WITH TIME ZONE' | 'TIMESTAMP WITH TIME ZONE' | 'TIMESTAMP' | 'timestamp with time zone'
SELECT localtimestamp = now()::TIMESTAMP, current_date = now()::DATE, now() = localtimestamp;
-- true | true | true

-- A text without a time zone type is what it shows, whatever zone it names.
SELECT '2026-05-17T10:37:00Z'::TIMESTAMP, '2026-05-17 23:37+02:00'::DATE, '2026/05/17'::DATE, '2026 5 17 10:37'::TIMESTAMP;
-- 2026-05-17T10:37:00 | 2026-05-17 | 2026-05-17 | 2026-05-17T10:37:00
SELECT '2026-05-17 10:37 Europe/Osl'::TIMESTAMPTZ;
-- error: DataError: '2026-05-17 10:37 Europe/Osl' is not a valid TIMESTAMP WITH TIME ZONE (line 1, column 8)
SELECT '2026-05-17 10:37+16'::TIMESTAMPTZ;
-- error: DataError: '2026-05-17 10:37+16' is not a valid TIMESTAMP WITH TIME ZONE (line 1, column 8)
SELECT '17.05.2026'::DATE;
-- error: DataError: '17.05.2026' is not a valid DATE (line 1, column 8)
SELECT TRY_CAST('2026-05-17 10:37 Nowhere' AS TIMESTAMPTZ), TRY_CAST('2026/05/17' AS DATE);
-- NULL | 2026-05-17

-- Clocks go back: 02:30 comes twice, and is the later one. They go forward: 02:30 is 03:30.
SELECT TIMESTAMPTZ '2026-10-25 02:30', TIMESTAMPTZ '2026-10-25 02:30+02', TIMESTAMPTZ '2026-03-29 02:30';
-- 2026-10-25T02:30:00+01:00 | 2026-10-25T02:30:00+02:00 | 2026-03-29T03:30:00+02:00

-- AT TIME ZONE, both ways.
SELECT TIMESTAMPTZ '2026-05-17 10:37Z' AT TIME ZONE 'America/New_York', TIMESTAMP '2026-05-17 10:37' AT TIME ZONE 'america/new_york';
-- 2026-05-17T06:37:00 | 2026-05-17T16:37:00+02:00
SELECT TIMESTAMP '2026-05-17 10:37' AT TIME ZONE 'UTC' AT TIME ZONE 'Asia/Kolkata', timezone('UTC', DATE '2026-05-17');
-- 2026-05-17T16:07:00 | 2026-05-17T02:00:00+02:00
SELECT z, TIMESTAMPTZ '2026-05-17 10:37Z' AT TIME ZONE z FROM (VALUES ('UTC'), ('Asia/Tokyo'), (NULL)) AS v (z);
-- 'Asia/Tokyo' | 2026-05-17T19:37:00
-- 'UTC' | 2026-05-17T10:37:00
-- NULL | NULL
SELECT TIMESTAMPTZ '2026-05-17 10:37Z' AT TIME ZONE z FROM (VALUES ('Asia/Toky')) AS v (z);
-- error: DataError: time zone 'Asia/Toky' does not exist; did you mean 'Asia/Tokyo'?
SELECT now() AT TIME ZONE 'Europe/Osl';
-- error: ProgrammingError: time zone 'Europe/Osl' does not exist; did you mean 'Europe/Oslo'? (line 1, column 8)
SELECT 5 AT TIME ZONE 'UTC';
-- error: ProgrammingError: timezone() needs a date or a timestamp, not 5 (INTEGER) (line 1, column 8)
SELECT NULL AT TIME ZONE 'UTC', TIMESTAMP '2026-05-17' AT TIME ZONE NULL;
-- NULL | NULL

-- Days are those that clocks show, hours are hours that pass.
SELECT TIMESTAMPTZ '2026-10-24 12:00' + INTERVAL '1 day', TIMESTAMPTZ '2026-10-24 12:00' + INTERVAL '24 hours';
-- 2026-10-25T12:00:00+01:00 | 2026-10-25T11:00:00+01:00
SELECT TIMESTAMPTZ '2026-10-26' - TIMESTAMPTZ '2026-10-25', date_diff('hour', TIMESTAMPTZ '2026-10-25', TIMESTAMPTZ '2026-10-26'), date_diff('day', TIMESTAMPTZ '2026-10-25', TIMESTAMPTZ '2026-10-26');
-- datetime.timedelta(days=1, seconds=3600) | 25 | 1
SELECT date_sub('day', TIMESTAMPTZ '2026-10-24 12:00', TIMESTAMPTZ '2026-10-25 11:59'), age(TIMESTAMPTZ '2026-10-26', TIMESTAMPTZ '2026-10-24');
-- 0 | datetime.timedelta(days=2)
SELECT date_trunc('day', TIMESTAMPTZ '2026-10-25 12:00'), date_trunc('hour', TIMESTAMPTZ '2026-10-25 00:30Z');
-- 2026-10-25T00:00:00+02:00 | 2026-10-25T02:00:00+02:00
SELECT time_bucket(INTERVAL '1 day', TIMESTAMPTZ '2026-10-25 12:00'), time_bucket(INTERVAL '1 day', TIMESTAMPTZ '2026-10-25 12:00', 'Europe/Oslo');
-- 2026-10-25T02:00:00+02:00 | 2026-10-25T00:00:00+02:00
SELECT * FROM generate_series(TIMESTAMPTZ '2026-03-28 12:00', TIMESTAMP '2026-03-30 12:00', INTERVAL '1 day');
-- 2026-03-28T12:00:00+01:00
-- 2026-03-29T12:00:00+02:00
-- 2026-03-30T12:00:00+02:00
SELECT * FROM range(TIMESTAMPTZ '2026-03-29 00:00', TIMESTAMPTZ '2026-03-29 05:00', INTERVAL '2 hours');
-- 2026-03-29T00:00:00+01:00
-- 2026-03-29T03:00:00+02:00
SELECT TIMESTAMPTZ '9999-12-31 20:00Z' + INTERVAL '1 day';
-- '10000-01-01 21:00:00+01'

-- Parts, texts, numbers.
SELECT extract(hour FROM t), extract(timezone FROM t), extract(timezone_hour FROM t), extract(timezone_minute FROM t), epoch(t), epoch_ms(t) FROM (VALUES (TIMESTAMPTZ '2026-05-17 10:37Z')) AS v (t);
-- 12 | 7200 | 2 | 0 | 1779014220.000000 | 1779014220000
SELECT extract(timezone FROM TIMESTAMP '2026-05-17');
-- error: ProgrammingError: 2026-05-17 00:00:00 (TIMESTAMP) has no part 'timezone' (line 1, column 40)
SELECT strftime(TIMESTAMPTZ '2026-05-17 10:37Z', '%H:%M %z %Z'), to_char(TIMESTAMPTZ '2026-05-17 10:37Z', 'HH24:MI OF'), strftime(TIMESTAMP '2026-05-17', '%z|%Z');
-- '12:37 +02 Europe/Oslo' | '12:37 +02' | '+00|'
SELECT strptime('17.05.2026 10:37 +0530', '%d.%m.%Y %H:%M %z'), strptime('17.05.2026 Asia/Tokyo', '%d.%m.%Y %Z'), strptime('2026-05-17+02', '%Y-%m-%d%z');
-- 2026-05-17T07:07:00+02:00 | 2026-05-16T17:00:00+02:00 | 2026-05-17T00:00:00+02:00
SELECT strptime('17.05.2026', '%d.%m.%Y %z');
-- error: DataError: '17.05.2026' does not have the format '%d.%m.%Y %z'
SELECT strptime('17.05.2026 !', '%d.%m.%Y %z');
-- error: DataError: '17.05.2026 !' does not have the format '%d.%m.%Y %z'
SELECT strptime('17.05.2026 Asia/Toky', '%d.%m.%Y %Z');
-- error: DataError: '17.05.2026 Asia/Toky' does not have the format '%d.%m.%Y %Z'
SELECT strptime('+02 17', '%z %d');
-- error: NotSupportedError: strptime() reads a time zone at the end of a text only (line 1, column 8)
SELECT make_timestamptz(2026, 5, 17, 10, 37, 0), make_timestamptz(2026, 5, 17, 10, 37, 0, 'UTC'), make_timestamptz(1), to_timestamp(1);
-- 2026-05-17T10:37:00+02:00 | 2026-05-17T12:37:00+02:00 | 1970-01-01T01:00:00.000001+01:00 | 1970-01-01T01:00:01+01:00

-- Casts and comparisons with other types.
SELECT t::DATE, t::TIME, t::TIMESTAMP, t::VARCHAR, [t]::VARCHAR, DATE '2026-05-17'::TIMESTAMPTZ FROM (VALUES (TIMESTAMPTZ '2026-05-17 23:30Z')) AS v (t);
-- 2026-05-18 | datetime.time(1, 30) | 2026-05-18T01:30:00 | '2026-05-18 01:30:00+02' | '[''2026-05-18 01:30:00+02'']' | 2026-05-17T00:00:00+02:00
SELECT TIMESTAMPTZ '2026-05-17 10:00Z' = TIMESTAMP '2026-05-17 12:00', TIMESTAMPTZ '2026-05-17 10:00Z' > DATE '2026-05-18', typeof(coalesce(now(), current_date));
-- true | false | 'TIMESTAMP WITH TIME ZONE'
SELECT '10:00'::TIME WITH TIME ZONE;
-- datetime.time(10, 0, tzinfo=datetime.timezone.utc)
SELECT TIMESTAMPTZ '2026-05-17' = 5;
-- error: ProgrammingError: cannot compare 2026-05-16 22:00:00+00:00 (TIMESTAMP WITH TIME ZONE) with 5 (INTEGER) (line 1, column 20)

-- Tables.
CREATE TABLE visit (id INTEGER PRIMARY KEY, at TIMESTAMPTZ NOT NULL, seen TIMESTAMP WITH TIME ZONE DEFAULT now(), s TIMESTAMP_S, m TIMESTAMP_MS, n TIMESTAMP_NS, CHECK (at > '2000-01-01 00:00Z'));
DESCRIBE visit;
-- 'at' | 'TIMESTAMP WITH TIME ZONE' | 'NO' | NULL | NULL | NULL
-- 'id' | 'INTEGER' | 'NO' | 'PRI' | NULL | NULL
-- 'm' | 'TIMESTAMP_MS' | 'YES' | NULL | NULL | NULL
-- 'n' | 'TIMESTAMP_NS' | 'YES' | NULL | NULL | NULL
-- 's' | 'TIMESTAMP_S' | 'YES' | NULL | NULL | NULL
-- 'seen' | 'TIMESTAMP WITH TIME ZONE' | 'YES' | NULL | 'now()' | NULL
SELECT data_type FROM information_schema.columns WHERE table_name = 'visit' AND column_name = 'at';
-- 'TIMESTAMP WITH TIME ZONE'
INSERT INTO visit (id, at) VALUES (1, '2026-05-17 10:00Z'), (2, TIMESTAMP '2026-05-17 12:00'), (3, DATE '2026-05-18'), (4, '2026-05-17 23:00-04');
INSERT INTO visit (id, at) VALUES (5, '1999-12-31');
-- error: IntegrityError: table 'visit', row 1: the check (at > '2000-01-01 00:00Z') does not hold: (at) = ('1999-12-30 23:00:00.000000Z')
SELECT at, count(*) FROM visit GROUP BY at ORDER BY at DESC;
-- 2026-05-18T05:00:00+02:00 | 1
-- 2026-05-18T00:00:00+02:00 | 1
-- 2026-05-17T12:00:00+02:00 | 2
SELECT at::DATE AS day, min(at), max(at), count(DISTINCT at), median(at) FROM visit GROUP BY day ORDER BY day;
-- 2026-05-17 | 2026-05-17T12:00:00+02:00 | 2026-05-17T12:00:00+02:00 | 1 | 2026-05-17T12:00:00+02:00
-- 2026-05-18 | 2026-05-18T00:00:00+02:00 | 2026-05-18T05:00:00+02:00 | 2 | 2026-05-18T02:30:00+02:00
SELECT a.id, b.id FROM visit AS a JOIN (SELECT id, at::TIMESTAMP AS at FROM visit) AS b ON a.at = b.at ORDER BY 1, 2;
-- 1 | 1
-- 1 | 2
-- 2 | 1
-- 2 | 2
-- 3 | 3
-- 4 | 4
SELECT id, lag(at) OVER (ORDER BY at, id), count(*) OVER (ORDER BY at RANGE BETWEEN INTERVAL '1 day' PRECEDING AND CURRENT ROW) FROM visit ORDER BY id;
-- 1 | NULL | 2
-- 2 | 2026-05-17T12:00:00+02:00 | 2
-- 3 | 2026-05-17T12:00:00+02:00 | 3
-- 4 | 2026-05-18T00:00:00+02:00 | 4
UPDATE visit SET at = at + INTERVAL '1 month' WHERE at < '2026-05-18';
SELECT id FROM visit WHERE at BETWEEN '2026-06-17' AND '2026-06-18' ORDER BY id;
-- 1
-- 2
SET timezone = 'Asia/Kolkata';
SELECT id, at FROM visit ORDER BY id;
-- 1 | 2026-06-17T15:30:00+05:30
-- 2 | 2026-06-17T15:30:00+05:30
-- 3 | 2026-05-18T03:30:00+05:30
-- 4 | 2026-05-18T08:30:00+05:30
SUMMARIZE SELECT at FROM visit;
-- 'at' | 'TIMESTAMP WITH TIME ZONE' | '2026-05-18 03:30:00+05:30' | '2026-06-17 15:30:00+05:30' | 3 | NULL | NULL | '2026-05-18 03:30:00+05:30' | '2026-05-18 08:30:00+05:30' | '2026-06-17 15:30:00+05:30' | 4 | 0.00

-- The setting.
SHOW timezone;
-- 'Asia/Kolkata'
SET TIME ZONE 'europe/berlin';
SHOW timezone;
-- 'Europe/Berlin'
SET timezone = 'Europe/Berln';
-- error: ProgrammingError: time zone 'Europe/Berln' does not exist; did you mean 'Europe/Berlin'? (line 1, column 16)
SET timezone = '';
-- error: ProgrammingError: time zone '' does not exist
SET nanoseconds = 'round';
-- error: ProgrammingError: nanoseconds is 'error' or 'cut', not 'round'
RESET timezone;

-- In files.
COPY (SELECT TIMESTAMPTZ '2024-01-01 10:00:00+02' AS ts, 1 AS x) TO '$TMP/tz.parquet';

SELECT ts, ts::VARCHAR, typeof(ts), date_part('hour', ts), ts AT TIME ZONE 'Europe/Berlin' FROM '$TMP/tz.parquet';
-- 2024-01-01T08:00:00+00:00 | '2024-01-01 08:00:00+00' | 'TIMESTAMP WITH TIME ZONE' | 8 | 2024-01-01T09:00:00

SELECT x FROM '$TMP/tz.parquet' WHERE ts > TIMESTAMPTZ '2024-01-01 08:30:00+01';
-- 1

SELECT '2024-01-01T10:00:00Z'::TIMESTAMP, '2024-01-01T10:00:00+02:00'::TIMESTAMP, '2024/01/31 10:00'::TIMESTAMP, '2024/01/31'::DATE;
-- 2024-01-01T10:00:00 | 2024-01-01T10:00:00 | 2024-01-31T10:00:00 | 2024-01-31

SELECT '2024-02-30'::DATE;
-- error: DataError: '2024-02-30' is not a valid DATE (line 1, column 8)
