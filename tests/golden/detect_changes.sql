-- A sine, a square wave and a sawtooth, one after the other, with a little noise that is always the same.
CREATE TABLE wave AS SELECT range AS n, range % 300 AS p, CAST(floor(range / 300) AS INTEGER) AS kind,
  sin(range * 12.9898) * 43758.5453 AS hashed FROM range(900);
CREATE TABLE sensor AS SELECT n, TIMESTAMP '2026-03-01' + INTERVAL 1 SECOND * n AS ts,
  CASE kind WHEN 0 THEN sin(p * 0.314159) WHEN 1 THEN sign(sin(p * 0.314159)) ELSE 2 * (p / 20.0 - floor(p / 20.0)) - 1 END
  + 0.1 * (hashed - floor(hashed)) AS x FROM wave;

SELECT * FROM detect_changes((SELECT ts, x FROM sensor), time => 'ts');
-- 1 | 2026-03-01T00:05:08 | 309 | 0.9848408633619902
-- 2 | 2026-03-01T00:10:01 | 602 | 0.9945622238797407
SELECT change, start_time, start_row FROM detect_changes((SELECT n, x FROM sensor), time => n, window => 20);
-- 1 | 308 | 309
-- 2 | 601 | 602
SELECT change, start_row FROM detect_changes((SELECT n / 10.0 AS t, 1000 * x::REAL + 5 AS y FROM sensor ORDER BY x), time => 't', window => 20);
-- 1 | 309
-- 2 | 602
SELECT change, start_row FROM detect_changes((SELECT n::DECIMAL(9, 2) AS t, x::DECIMAL(9, 4) AS y FROM sensor), time => 't', window => 20);
-- 1 | 309
-- 2 | 602
SELECT change, start_time FROM detect_changes((SELECT DATE '2026-01-01' + n::INTEGER AS day, x FROM sensor), time => 'day', window => 20);
-- 1 | 2026-11-05
-- 2 | 2027-08-25
SELECT change, start_time FROM detect_changes((SELECT TIME '01:00:00' + INTERVAL 1 SECOND * n AS t, x FROM sensor), time => 't', window => 20);
-- 1 | datetime.time(1, 5, 8)
-- 2 | datetime.time(1, 10, 1)

-- Several series, and several channels.
SELECT device, change, start_row FROM detect_changes((SELECT n % 2 = 0 AS device, n, x FROM sensor), time => 'n', partition_by => 'device', window => 10);
-- false | 1 | 149
-- false | 2 | 305
-- true | 1 | 151
-- true | 2 | 301
SELECT change, start_row FROM detect_changes((SELECT n, x, x * x AS y FROM sensor), time => n, window => 20);
-- 1 | 299
-- 2 | 608
CREATE VIEW seen AS SELECT n, x FROM sensor;
SELECT count(*) FROM detect_changes(seen, time => n, window => 20);
-- 2
WITH some AS (SELECT n, x FROM sensor WHERE n < 700) SELECT count(*) FROM detect_changes(some, time => n, window => 20);
-- 2
SELECT w, change, start_row FROM (VALUES (20), (NULL), (30)) v (w), LATERAL detect_changes((SELECT n, x FROM sensor), time => n, window => w);
-- 20 | 1 | 309
-- 20 | 2 | 602
-- 30 | 1 | 311
-- 30 | 2 | 603
SELECT k, d.change, d.start_row FROM (VALUES (500), (900), (2)) v (k), LATERAL detect_changes((SELECT n, x FROM sensor WHERE n < k), time => n, window => 20) d;
-- 500 | 1 | 299
-- 900 | 1 | 309
-- 900 | 2 | 602
SELECT k, d.change FROM (VALUES (500), (2)) v (k) LEFT JOIN LATERAL detect_changes((SELECT n, x FROM sensor WHERE n < k), time => n, window => 20) d ON true;
-- 2 | NULL
-- 500 | 1

-- Gaps.
SELECT * FROM detect_changes((SELECT ts, x FROM sensor WHERE n <> 100), time => 'ts', window => 20);
-- error: DataError: the series of detect_changes() has a gap behind 2026-03-01 00:01:39; gaps => 'split' or 'interpolate' takes series with gaps
SELECT * FROM detect_changes((SELECT ts, nullif(n, 100) + x AS x FROM sensor), time => 'ts', window => 20);
-- error: DataError: the series of detect_changes() lacks a value at 2026-03-01 00:01:40; gaps => 'split' or 'interpolate' takes series with gaps
SELECT change, start_row FROM detect_changes((SELECT ts, CASE WHEN n <> 100 THEN x END AS x FROM sensor), time => 'ts', gaps => 'interpolate', window => 20);
-- 1 | 309
-- 2 | 602
SELECT change, start_row FROM detect_changes((SELECT ts, x FROM sensor WHERE n <> 100), time => 'ts', gaps => 'interpolate', window => 20);
-- 1 | 308
-- 2 | 601
SELECT change, start_row FROM detect_changes((SELECT ts, x FROM sensor WHERE n <> 450), time => 'ts', gaps => 'split', window => 20);
-- 1 | 299
-- 2 | 601
SELECT * FROM detect_changes((SELECT ts + CASE WHEN n % 7 = 0 THEN INTERVAL 300 MILLISECOND ELSE INTERVAL 0 SECOND END AS ts, x FROM sensor), time => 'ts', window => 20);
-- error: DataError: the times of the series of detect_changes() are uneven, as between 2026-03-01 00:00:00.3 and 2026-03-01 00:00:01; resample => with a step, such as '1s', makes them even
SELECT change, start_time FROM detect_changes((SELECT ts + CASE WHEN n % 7 = 0 THEN INTERVAL 300 MILLISECOND ELSE INTERVAL 0 SECOND END AS ts, x FROM sensor), time => 'ts', resample => '1s', window => 20);
-- 1 | 2026-03-01T00:05:08.300000
-- 2 | 2026-03-01T00:10:01
SELECT change, start_time FROM detect_changes((SELECT n / 4.0 AS t, x FROM sensor), time => 't', resample => 0.5, window => 10);
-- 1 | 77.0
-- 2 | 152.0
SELECT * FROM detect_changes((SELECT n // 2 AS n, x FROM sensor), time => n, window => 20);
-- error: DataError: the series of detect_changes() has several rows at 0; resample takes the mean of them, and partition_by tells series apart

-- Series without a change.
SELECT * FROM detect_changes((SELECT n, x FROM sensor WHERE n < 50), time => n, window => 20);
-- (no rows)
SELECT * FROM detect_changes((SELECT n, 5 AS x FROM sensor), time => n);
-- (no rows)
SELECT * FROM detect_changes((SELECT n, x FROM sensor WHERE n < 0), time => n);
-- (no rows)

EXPLAIN SELECT start_row FROM detect_changes((SELECT kind, n, p FROM wave), time => n, partition_by => kind, window => 20);
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: start_row'
-- '  StateRows: detect_changes of p over n by kind'
-- '    window: 20'
-- '    gaps: ''error'''
-- '    ComputeColumns: kind, n, p'
-- '      ScanTable: wave (n, p, kind)'

-- What is refused.
SELECT * FROM detect_changes((SELECT n * n AS n, x FROM sensor), time => n);
-- error: DataError: the times of the series of detect_changes() are uneven, as between 2025 and 2116; resample => with a step, such as 0.5, makes them even
SELECT * FROM detect_changes((SELECT n, x FROM sensor));
-- error: ProgrammingError: detect_changes() needs time => (line 1, column 15)
SELECT * FROM detect_changes((SELECT n FROM sensor), time => n);
-- error: ProgrammingError: detect_changes() needs a column of numbers beside time and partition_by (line 1, column 15)
SELECT * FROM detect_changes((SELECT n, x, 'a' AS note FROM sensor), time => n);
-- error: ProgrammingError: column 'note' of detect_changes() is VARCHAR; channels, which are all columns beside time and partition_by, have numbers: leave out others (line 1, column 15)
SELECT * FROM detect_changes((SELECT 'a' AS n, x FROM sensor), time => n);
-- error: ProgrammingError: column 'n' of detect_changes() is VARCHAR; times are numbers, TIMESTAMP, DATE or TIME (line 1, column 15)
SELECT * FROM detect_changes((SELECT n, x, 1 AS score FROM sensor), time => n, partition_by => score);
-- error: ProgrammingError: partition_by of detect_changes(): a column cannot be called 'score', which is another column of the result (line 1, column 15)
SELECT * FROM detect_changes((SELECT n, x FROM sensor), time => n, window => 5);
-- error: ProgrammingError: window of detect_changes() is 'auto' or a whole number from 6, not 5 (INTEGER) (line 1, column 15)
SELECT * FROM detect_changes((SELECT n, x FROM sensor), time => n, window => 'wide');
-- error: ProgrammingError: window of detect_changes() is 'auto' or a whole number from 6, not 'wide' (VARCHAR) (line 1, column 15)
SELECT * FROM detect_changes((SELECT n, x FROM sensor), time => n, gaps => 'drop');
-- error: ProgrammingError: gaps of detect_changes() is 'error', 'split' or 'interpolate', not 'drop' (VARCHAR) (line 1, column 15)
SELECT * FROM detect_changes((SELECT n, x FROM sensor), time => n, resample => '1s');
-- error: ProgrammingError: resample of detect_changes() is a number above 0 for the BIGINT column 'n', not '1s' (VARCHAR) (line 1, column 15)
SELECT * FROM detect_changes((SELECT ts, x FROM sensor), time => ts, resample => 5);
-- error: ProgrammingError: resample of detect_changes() is an interval, such as '1s', for the TIMESTAMP column 'ts', not 5 (INTEGER) (line 1, column 15)
SELECT * FROM detect_changes((SELECT ts, x FROM sensor), time => ts, resample => INTERVAL 1 MONTH);
-- error: ProgrammingError: resample of detect_changes() is a step of one length in days or less, and at least a unit of the TIMESTAMP column 'ts'; not '1 mon' (INTERVAL) (line 1, column 15)
SELECT * FROM detect_changes((SELECT ts, x FROM sensor), time => ts, resample => '1 nanosecond');
-- error: ProgrammingError: resample of detect_changes() is an interval, such as '1s', for the TIMESTAMP column 'ts', not '1 nanosecond' (VARCHAR) (line 1, column 15)
SELECT * FROM detect_changes((SELECT nullif(n, 7) AS n, x FROM sensor), time => n);
-- error: DataError: rows of detect_changes() without a time: 1
SELECT * FROM detect_changes((SELECT n, CASE WHEN n = 7 THEN 'Infinity'::DOUBLE ELSE x END AS x FROM sensor), time => n);
-- error: DataError: the series of detect_changes() has an infinite value in 'x'
SELECT * FROM detect_changes((SELECT n, CAST(NULL AS DOUBLE) AS x FROM sensor), time => n);
-- error: DataError: the series of detect_changes() has no value in 'x'
SELECT * FROM detect_changes((SELECT CASE WHEN n = 7 THEN TIMESTAMP 'infinity' ELSE ts END AS ts, x FROM sensor), time => ts);
-- error: DataError: a time of detect_changes() is infinity; times are finite, and within 2**62 units of 0
SELECT * FROM detect_changes((SELECT n, x FROM sensor), time => n, classifier => 'rocket');
-- error: ProgrammingError: detect_changes() takes no argument 'classifier'; it takes time, partition_by, window, gaps, resample, seed (line 1, column 15)

-- Channels that never change tell nothing; decimal and real steps are exact.
SELECT change, start_row FROM detect_changes((SELECT n, x, 7 AS y FROM sensor), time => n, window => 20);
-- 1 | 309
-- 2 | 602
SELECT change, start_row FROM detect_changes((SELECT (n * 0.1)::DECIMAL(10, 1) AS t, x FROM sensor), time => t, resample => 0.1, window => 20);
-- 1 | 309
-- 2 | 602
SELECT change, start_row FROM detect_changes((SELECT n * 0.1::DOUBLE AS t, x FROM sensor), time => t, resample => 0.1::DOUBLE, window => 20);
-- 1 | 309
-- 2 | 602
SELECT count(*) FROM detect_changes((SELECT ts, x FROM sensor), time => ts, resample => INTERVAL '106751992 days', window => 20);
-- 0
SELECT count(*) FROM detect_changes((SELECT n, x FROM sensor), time => n, resample => 10000000000000000000, window => 20);
-- 0

-- What is too large, too far or in no channel.
SELECT * FROM detect_changes((SELECT n, CASE WHEN n % 2 = 0 THEN x END AS x, CASE WHEN n % 2 = 1 THEN x END AS y FROM sensor), time => n, gaps => 'split');
-- error: DataError: the series of detect_changes() has no time with a value in every channel
SELECT * FROM detect_changes((SELECT n::DOUBLE AS n, x FROM sensor), time => n, resample => 'inf'::DOUBLE);
-- error: ProgrammingError: resample of detect_changes() is a number above 0 for the DOUBLE column 'n', not inf (DOUBLE) (line 1, column 15)
SELECT * FROM detect_changes((SELECT n::DOUBLE AS n, x FROM sensor UNION ALL SELECT 1e19, 0), time => n, gaps => 'split');
-- error: DataError: the series of detect_changes() spans 1e+19 steps, which is more than 2**53
SELECT * FROM detect_changes((SELECT n::DOUBLE AS n, x FROM sensor), time => n, resample => 1e-300, gaps => 'interpolate');
-- error: DataError: the series of detect_changes() spans 8.99e+302 steps, which is more than 2**53
SELECT * FROM detect_changes((SELECT n, x * 1e155 AS x FROM sensor), time => n);
-- error: DataError: the series of detect_changes() has values up to 1.1e+155 in 'x'; what is compared lies between 1e-150 and 1e+150
SELECT * FROM detect_changes((SELECT n, x * 1e-162 AS x FROM sensor), time => n);
-- error: DataError: the series of detect_changes() has values up to 1.1e-162 in 'x'; what is compared lies between 1e-150 and 1e+150
SELECT * FROM detect_changes((SELECT n::HUGEINT + 100000000000000000000 AS n, x FROM sensor), time => n);
-- error: DataError: a time of detect_changes() is 100000000000000000000; times are finite, and within 2**62 units of 0
SELECT * FROM detect_changes((SELECT n::UBIGINT + 18000000000000000000 AS n, x FROM sensor), time => n);
-- error: DataError: a time of detect_changes() is 18000000000000000000; times are finite, and within 2**62 units of 0
