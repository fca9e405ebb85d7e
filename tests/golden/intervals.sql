-- An interval has months, days and time. In Python it is a timedelta where it has no months.
SELECT INTERVAL '1' DAY, INTERVAL 1 DAY, INTERVAL '1 day', '1 day'::INTERVAL, INTERVAL '90' DAY (3);
-- datetime.timedelta(days=1) | datetime.timedelta(days=1) | datetime.timedelta(days=1) | datetime.timedelta(days=1) | datetime.timedelta(days=90)

SELECT INTERVAL '1 year 2 months'::VARCHAR, INTERVAL '1-2' YEAR TO MONTH::VARCHAR,
  INTERVAL '1.5 months'::VARCHAR, INTERVAL '1.5' YEAR::VARCHAR, INTERVAL '-1 month 3 days'::VARCHAR,
  INTERVAL '1 2:03:04' DAY TO SECOND::VARCHAR, INTERVAL 'P1Y2M3DT4H5M6.5S'::VARCHAR,
  INTERVAL '2 weeks ago'::VARCHAR, INTERVAL '0 days'::VARCHAR, INTERVAL '100 hours'::VARCHAR;
-- '1 year 2 mons' | '1 year 2 mons' | '1 mon 15 days' | '1 year 6 mons' | '-1 mons +3 days' | '1 day 02:03:04' | '1 year 2 mons 3 days 04:05:06.5' | '-14 days' | '00:00:00' | '100:00:00'

SELECT INTERVAL '1 century' = INTERVAL '100 years', INTERVAL '3' QUARTER = INTERVAL '9' MONTH;
-- true | true

SELECT INTERVAL '1 fortnight';
-- error: DataError: '1 fortnight' is not a valid INTERVAL (line 1, column 17)

SELECT INTERVAL 'soon' DAY;
-- error: DataError: 'soon' is not a number of days (line 1, column 17)

SELECT INTERVAL '1' FORTNIGHT;
-- datetime.timedelta(seconds=1)

SELECT INTERVAL '10:20' MINUTE TO SECOND;
-- error: NotSupportedError: INTERVAL ... MINUTE TO SECOND is not supported (line 1, column 17)

CREATE TABLE t (id INTEGER, i INTERVAL, d DATE, n INTEGER);

INSERT INTO t VALUES (1, '1 month', '2024-01-31', 2), (2, '30 days', '2024-02-29', -1),
  (3, INTERVAL '31' DAY, '2023-12-31', 0), (4, NULL, NULL, NULL), (5, '-1 day', '2024-03-31', 1),
  (6, '720 hours', '2024-01-30', 3);

-- Months are compared as 30 days.
SELECT id FROM t ORDER BY i, id;
-- 5
-- 1
-- 2
-- 6
-- 3
-- 4

SELECT id FROM t WHERE i = INTERVAL '1 month' ORDER BY id;
-- 1
-- 2
-- 6

SELECT id FROM t WHERE i > '30 days' OR i IN (INTERVAL '-1' DAY) ORDER BY id;
-- 3
-- 5

SELECT count(*), min(id) FROM t GROUP BY i ORDER BY 2;
-- 3 | 1
-- 1 | 3
-- 1 | 4
-- 1 | 5

SELECT count(DISTINCT i) FROM t;
-- 3

SELECT a.id, b.id FROM t a JOIN t b ON a.i = b.i WHERE a.id < b.id ORDER BY 1, 2;
-- 1 | 2
-- 1 | 6
-- 2 | 6

SELECT sum(i) FROM t;
-- error: ProgrammingError: sum() needs a number, not 'i' (INTERVAL) (line 1, column 8)

-- Arithmetic; the end of a month stays within the month.
SELECT id, d + i, d - i, d + INTERVAL '1' MONTH, d + INTERVAL (n) MONTH, d + n * INTERVAL '1 day'
FROM t ORDER BY id;
-- 1 | 2024-02-29T00:00:00 | 2023-12-31T00:00:00 | 2024-02-29T00:00:00 | 2024-03-31T00:00:00 | 2024-02-02T00:00:00
-- 2 | 2024-03-30T00:00:00 | 2024-01-30T00:00:00 | 2024-03-29T00:00:00 | 2024-01-29T00:00:00 | 2024-02-28T00:00:00
-- 3 | 2024-01-31T00:00:00 | 2023-11-30T00:00:00 | 2024-01-31T00:00:00 | 2023-12-31T00:00:00 | 2023-12-31T00:00:00
-- 4 | NULL | NULL | NULL | NULL | NULL
-- 5 | 2024-03-30T00:00:00 | 2024-04-01T00:00:00 | 2024-04-30T00:00:00 | 2024-04-30T00:00:00 | 2024-04-01T00:00:00
-- 6 | 2024-02-29T00:00:00 | 2023-12-31T00:00:00 | 2024-02-29T00:00:00 | 2024-04-30T00:00:00 | 2024-02-02T00:00:00

SELECT DATE '2024-01-31' + INTERVAL '1 month 1 day', TIMESTAMP '2024-03-31 10:00' - INTERVAL '1 month',
  TIME '23:00' + INTERVAL '2 hours', TIME '01:00' - INTERVAL '25 hours 1 day';
-- 2024-03-01T00:00:00 | 2024-02-29T10:00:00 | datetime.time(1, 0) | datetime.time(0, 0)

SELECT (INTERVAL '1 day' * 2)::VARCHAR, (1.5 * INTERVAL '1 month')::VARCHAR,
  (INTERVAL '1 month' / 2)::VARCHAR, (INTERVAL '1 day' - INTERVAL '1 hour')::VARCHAR,
  (-INTERVAL '1 year 1 day')::VARCHAR, (INTERVAL '1 year' + '2 days')::VARCHAR;
-- '2 days' | '1 mon 15 days' | '15 days' | '1 day -01:00:00' | '-1 years -1 days' | '1 year 2 days'

SELECT INTERVAL '1 day' / 0;
-- error: DataError: division by zero

SELECT DATE '9999-12-31' + INTERVAL '1 day';
-- '10000-01-01 00:00:00'

SELECT DATE '2024-01-01' + INTERVAL '100000' YEAR;
-- '102024-01-01 00:00:00'

SELECT INTERVAL '2000000000 months' + INTERVAL '2000000000 months';
-- error: DataError: the result of the addition is out of range for INTERVAL

SELECT INTERVAL '1 day' + 1;
-- error: ProgrammingError: cannot add 1 (INTEGER) to '1 day' (INTERVAL) (line 1, column 17)

SELECT INTERVAL '1 day' * INTERVAL '1 day';
-- error: ProgrammingError: cannot multiply '1 day' (INTERVAL) by '1 day' (INTERVAL) (line 1, column 17)

-- Differences.
SELECT DATE '2024-03-01' - DATE '2024-02-01', DATE '2024-03-01' - '2024-01-01',
  (TIMESTAMP '2024-03-01 01:00' - TIMESTAMP '2024-02-28 03:00')::VARCHAR,
  (TIMESTAMP '2024-03-01' - DATE '2024-03-05')::VARCHAR, (TIME '10:00' - TIME '11:30')::VARCHAR;
-- 29 | 60 | '1 day 22:00:00' | '-4 days' | '-01:30:00'

-- Parts.
SELECT extract(year FROM i), extract(month FROM i), extract(day FROM i), extract(hour FROM i),
  extract(minute FROM i), extract(second FROM i), extract(epoch FROM i)
FROM (SELECT INTERVAL '1 year 14 months 40 days 30:05:06.5' AS i);
-- 2 | 2 | 40 | 30 | 5 | 6.500000 | 71863506.500000

SELECT extract(week FROM INTERVAL '1 day');
-- error: ProgrammingError: '1 day' (INTERVAL) has no part 'week' (line 1, column 35)

SELECT date_trunc('month', i)::VARCHAR, date_trunc('day', i)::VARCHAR, date_trunc('hour', i)::VARCHAR
FROM (SELECT INTERVAL '1 year 14 months 40 days 30:05:06.5' AS i);
-- '2 years 2 mons' | '2 years 2 mons 40 days' | '2 years 2 mons 40 days 30:00:00'

SELECT make_interval(1, 2, 3, 4)::VARCHAR, to_days(3)::VARCHAR, to_months(14)::VARCHAR,
  to_hours(30)::VARCHAR, to_seconds(1.5)::VARCHAR, to_weeks(2)::VARCHAR, to_years(NULL);
-- '1 year 2 mons 25 days' | '3 days' | '1 year 2 mons' | '30:00:00' | '00:00:01.5' | '14 days' | NULL

-- Constants with a month are folded; the comparison is one of dates.
EXPLAIN SELECT count(*) FROM t WHERE d <= date '2024-06-01' - interval '90' day;
-- has: d <= '2024-03-03'

SELECT count(*) FROM t WHERE d < DATE '2024-01-30' + INTERVAL '36 hours';
-- 3

SELECT count(*) FROM t WHERE d >= TIMESTAMP '2024-01-31 00:00:01';
-- 2

-- Conditions on intervals that are stored in files.
ATTACH '$TMP/intervals.raydb' AS stored;

CREATE TABLE stored.t AS FROM (VALUES (1, INTERVAL '1 day'), (2, INTERVAL '24 hours'), (3, INTERVAL '0 days'), (4, NULL)) AS v(id, i);

DETACH stored;

ATTACH '$TMP/intervals.raydb' AS stored;

SELECT id FROM stored.t WHERE i IN (INTERVAL '0 days', INTERVAL '24 hours') ORDER BY id;
-- 1
-- 2
-- 3

SELECT id FROM stored.t WHERE i = INTERVAL '1 day' ORDER BY id;
-- 1
-- 2

SELECT id FROM stored.t WHERE i < INTERVAL '1 hour';
-- 3

-- The fields of a type say nothing: a value may have others, as in DuckDB.
SELECT CAST('2' AS INTERVAL SECOND) AS a, '1 day 02:00'::INTERVAL DAY TO SECOND AS b, typeof(NULL::INTERVAL YEAR TO MONTH) AS c;
-- datetime.timedelta(seconds=2) | datetime.timedelta(days=1, seconds=7200) | 'INTERVAL'
