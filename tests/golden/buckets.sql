-- Buckets of time are counted from Monday 2000-01-03, those of months from January 2000.
SELECT time_bucket(INTERVAL '15 minutes', TIMESTAMP '2026-05-17 10:37:21'), time_bucket('1 week', DATE '2026-05-17'), time_bucket(INTERVAL '2 months', DATE '2026-04-15');
-- 2026-05-17T10:30:00 | 2026-05-11 | 2026-03-01
SELECT time_bucket(INTERVAL '1 day', TIMESTAMP '2026-05-17 04:00', INTERVAL '6 hours'), time_bucket(INTERVAL '7 days', DATE '2026-05-17', DATE '2026-01-01'), time_bucket(INTERVAL '1 year', TIMESTAMP '1999-12-31 23:59');
-- 2026-05-16T06:00:00 | 2026-05-14T00:00:00 | 1999-01-01T00:00:00
SELECT time_bucket(INTERVAL '10 days', day), count(*) FROM (SELECT DATE '2026-01-01' + CAST(range AS INTEGER) AS day FROM range(30)) AS t GROUP BY 1 ORDER BY 1;
-- 2025-12-27 | 5
-- 2026-01-06 | 10
-- 2026-01-16 | 10
-- 2026-01-26 | 5
SELECT time_bucket(INTERVAL '1 hour', CAST(NULL AS TIMESTAMP)), time_bucket(INTERVAL '1 hour', DATE '1970-01-01');
-- NULL | 1970-01-01T00:00:00
SELECT time_bucket(INTERVAL '1 month 1 day', DATE '2026-05-17');
-- error: ProgrammingError: time_bucket() needs an interval of months, or of days and time, not '1 mon 1 day' (INTERVAL) (line 1, column 8)
SELECT time_bucket(INTERVAL '-1 day', DATE '2026-05-17');
-- error: ProgrammingError: time_bucket() needs an interval of months, or of days and time, not '-1 days' (INTERVAL) (line 1, column 8)
SELECT time_bucket(INTERVAL '0 days', DATE '2026-05-17');
-- error: ProgrammingError: time_bucket() needs an interval of months, or of days and time, not '00:00:00' (INTERVAL) (line 1, column 8)
SELECT time_bucket(1, DATE '2026-05-17');
-- error: ProgrammingError: time_bucket() needs a constant INTERVAL, not 1 (INTEGER) (line 1, column 8)
SELECT time_bucket(INTERVAL '1 day', 5);
-- error: ProgrammingError: time_bucket() needs a date or a timestamp, not 5 (INTEGER) (line 1, column 8)

SELECT date_bin(INTERVAL '15 minutes', TIMESTAMP '2020-02-11 15:44:17', TIMESTAMP '2001-01-01 00:02:30'), date_bin('1 day', DATE '2020-02-11', DATE '2001-01-01');
-- 2020-02-11T15:32:30 | 2020-02-11T00:00:00
SELECT date_bin(INTERVAL '1 month', DATE '2020-02-11', DATE '2001-01-01');
-- error: ProgrammingError: date_bin() needs an interval of days and time, not '1 mon' (INTERVAL) (line 1, column 8)

-- width_bucket is exact for decimals.
SELECT width_bucket(5.35, 0.024, 10.06, 5), width_bucket(0, 0, 10, 5), width_bucket(10, 0, 10, 5), width_bucket(-1, 0, 10, 5), width_bucket(0.3, 0.1, 0.4, 3), width_bucket(7, 10, 0, 5), width_bucket(2.5e0, 0, 10, 4);
-- 3 | 1 | 6 | 0 | 3 | 2 | 2
SELECT width_bucket(x, 0, 4, 2), count(*) FROM (VALUES (0), (1), (2), (3), (9), (NULL)) AS v (x) GROUP BY 1 ORDER BY 1;
-- 1 | 2
-- 2 | 2
-- 3 | 1
-- NULL | 1
SELECT width_bucket(1, 1, 1, 5);
-- error: DataError: width_bucket() cannot place 1 between 1 and 1
SELECT width_bucket(1, 0, 5, 0);
-- error: DataError: width_bucket() needs a bucket at least, not 0
SELECT width_bucket('NaN'::DOUBLE, 0, 5, 2);
-- error: DataError: width_bucket() cannot place nan between 0.0 and 5.0
SELECT width_bucket('a', 0, 5, 2);
-- error: ProgrammingError: width_bucket() needs a number, not 'a' (VARCHAR) (line 1, column 8)

-- BETWEEN SYMMETRIC takes its bounds in any order.
SELECT 5 BETWEEN SYMMETRIC 9 AND 1, 5 NOT BETWEEN SYMMETRIC 9 AND 6, 5 BETWEEN SYMMETRIC NULL AND 1, 5 BETWEEN ASYMMETRIC 9 AND 1;
-- true | true | NULL | false
