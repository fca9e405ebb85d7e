CREATE TABLE t (id INTEGER, d DATE, ts TIMESTAMP);

INSERT INTO t VALUES (1, '2024-02-29', '2024-02-29 13:14:15.678901'), (2, '1969-12-31', '1969-12-31 23:59:59'),
  (3, NULL, NULL), (4, '2000-01-01', '2000-01-01 00:00:00'), (5, '2021-01-03', '2021-01-03 12:00');

SELECT extract(year FROM d), extract(quarter FROM d), extract(month FROM d), extract(week FROM d),
  extract(isoyear FROM d), extract(day FROM d), extract(dow FROM d), extract(isodow FROM d),
  extract(doy FROM d) FROM t ORDER BY id;
-- 2024 | 1 | 2 | 9 | 2024 | 29 | 4 | 4 | 60
-- 1969 | 4 | 12 | 1 | 1970 | 31 | 3 | 3 | 365
-- NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
-- 2000 | 1 | 1 | 52 | 1999 | 1 | 6 | 6 | 1
-- 2021 | 1 | 1 | 53 | 2020 | 3 | 0 | 7 | 3

SELECT extract(decade FROM d), extract(century FROM d), extract(millennium FROM d), extract(epoch FROM d),
  extract(hour FROM d) FROM t ORDER BY id;
-- 202 | 21 | 3 | 1709164800 | 0
-- 196 | 20 | 2 | -86400 | 0
-- NULL | NULL | NULL | NULL | NULL
-- 200 | 20 | 2 | 946684800 | 0
-- 202 | 21 | 3 | 1609632000 | 0

SELECT extract(hour FROM ts), extract(minute FROM ts), extract(second FROM ts),
  extract(milliseconds FROM ts), extract(microseconds FROM ts), extract(epoch FROM ts)
FROM t ORDER BY id;
-- 13 | 14 | 15.678901 | 15678.901 | 15678901 | 1709212455.678901
-- 23 | 59 | 59.000000 | 59000.000 | 59000000 | -1.000000
-- NULL | NULL | NULL | NULL | NULL | NULL
-- 0 | 0 | 0.000000 | 0.000 | 0 | 946684800.000000
-- 12 | 0 | 0.000000 | 0.000 | 0 | 1609675200.000000

SELECT date_part('year', ts), year(d), month(d), day(ts), hour(ts), dayofweek(d), dayname(d), monthname(d)
FROM t ORDER BY id;
-- 2024 | 2024 | 2 | 29 | 13 | 4 | 'Thursday' | 'February'
-- 1969 | 1969 | 12 | 31 | 23 | 3 | 'Wednesday' | 'December'
-- NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
-- 2000 | 2000 | 1 | 1 | 0 | 6 | 'Saturday' | 'January'
-- 2021 | 2021 | 1 | 3 | 12 | 0 | 'Sunday' | 'January'

SELECT extract(fortnight FROM d) FROM t;
-- error: ProgrammingError: there is no part 'fortnight' of a date or time (line 1, column 31)

SELECT date_part('yeer', d) FROM t;
-- error: ProgrammingError: there is no part 'yeer' of a date or time; did you mean 'year'? (line 1, column 8)

SELECT date_trunc('millennium', d), date_trunc('century', d), date_trunc('decade', d), date_trunc('year', d),
  date_trunc('quarter', d), date_trunc('month', d), date_trunc('week', d), date_trunc('day', ts)
FROM t ORDER BY id;
-- 2001-01-01T00:00:00 | 2001-01-01T00:00:00 | 2020-01-01T00:00:00 | 2024-01-01T00:00:00 | 2024-01-01T00:00:00 | 2024-02-01T00:00:00 | 2024-02-26T00:00:00 | 2024-02-29T00:00:00
-- 1001-01-01T00:00:00 | 1901-01-01T00:00:00 | 1960-01-01T00:00:00 | 1969-01-01T00:00:00 | 1969-10-01T00:00:00 | 1969-12-01T00:00:00 | 1969-12-29T00:00:00 | 1969-12-31T00:00:00
-- NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL
-- 1001-01-01T00:00:00 | 1901-01-01T00:00:00 | 2000-01-01T00:00:00 | 2000-01-01T00:00:00 | 2000-01-01T00:00:00 | 2000-01-01T00:00:00 | 1999-12-27T00:00:00 | 2000-01-01T00:00:00
-- 2001-01-01T00:00:00 | 2001-01-01T00:00:00 | 2020-01-01T00:00:00 | 2021-01-01T00:00:00 | 2021-01-01T00:00:00 | 2021-01-01T00:00:00 | 2020-12-28T00:00:00 | 2021-01-03T00:00:00

SELECT date_trunc('hour', ts), date_trunc('minute', ts), date_trunc('second', ts),
  date_trunc('milliseconds', ts), date_trunc('microseconds', ts) FROM t ORDER BY id;
-- 2024-02-29T13:00:00 | 2024-02-29T13:14:00 | 2024-02-29T13:14:15 | 2024-02-29T13:14:15.678000 | 2024-02-29T13:14:15.678901
-- 1969-12-31T23:00:00 | 1969-12-31T23:59:00 | 1969-12-31T23:59:59 | 1969-12-31T23:59:59 | 1969-12-31T23:59:59
-- NULL | NULL | NULL | NULL | NULL
-- 2000-01-01T00:00:00 | 2000-01-01T00:00:00 | 2000-01-01T00:00:00 | 2000-01-01T00:00:00 | 2000-01-01T00:00:00
-- 2021-01-03T12:00:00 | 2021-01-03T12:00:00 | 2021-01-03T12:00:00 | 2021-01-03T12:00:00 | 2021-01-03T12:00:00

SELECT date_trunc('moon', ts) FROM t;
-- error: ProgrammingError: there is no unit 'moon' of time; did you mean 'month'? (line 1, column 8)

SELECT date_trunc('month', d) AS m, count(*) FROM t GROUP BY 1 ORDER BY 1;
-- 1969-12-01T00:00:00 | 1
-- 2000-01-01T00:00:00 | 1
-- 2021-01-01T00:00:00 | 1
-- 2024-02-01T00:00:00 | 1
-- NULL | 1

SELECT date_diff('year', DATE '2023-12-31', d), date_diff('month', DATE '2023-12-31', d),
  date_diff('week', DATE '2023-12-31', d), datediff('day', DATE '2023-12-31', d),
  date_diff('hour', TIMESTAMP '2023-12-31 23:30', ts), date_sub('month', DATE '2023-12-31', d)
FROM t ORDER BY id;
-- 1 | 2 | 8 | 60 | 1430 | 1
-- -54 | -648 | -2817 | -19723 | -473352 | -648
-- NULL | NULL | NULL | NULL | NULL | NULL
-- -23 | -287 | -1252 | -8765 | -210383 | -287
-- -2 | -35 | -156 | -1092 | -26219 | -35

SELECT date_add(d, INTERVAL '1 month'), last_day(d), d + 1, d - 1, 1 + d FROM t ORDER BY id;
-- 2024-03-29T00:00:00 | 2024-02-29 | 2024-03-01 | 2024-02-28 | 2024-03-01
-- 1970-01-31T00:00:00 | 1969-12-31 | 1970-01-01 | 1969-12-30 | 1970-01-01
-- NULL | NULL | NULL | NULL | NULL
-- 2000-02-01T00:00:00 | 2000-01-31 | 2000-01-02 | 1999-12-31 | 2000-01-02
-- 2021-02-03T00:00:00 | 2021-01-31 | 2021-01-04 | 2021-01-02 | 2021-01-04

SELECT date(TIMESTAMP '2024-02-03 10:00:00'), date('2099-12-31'), date(NULL);
-- 2024-02-03 | 2099-12-31 | NULL

SELECT date('soon');
-- error: DataError: 'soon' is not a valid DATE (line 1, column 8)

SELECT date(1);
-- error: NotSupportedError: a cast from INTEGER to DATE is not supported

SELECT age(TIMESTAMP '2001-04-10', TIMESTAMP '1957-06-13')::VARCHAR,
  age(DATE '2024-03-01', DATE '2024-01-31')::VARCHAR, age(DATE '2024-01-31', DATE '2024-03-01')::VARCHAR;
-- '43 years 9 mons 27 days' | '1 mon 1 day' | '-1 mons -1 days'

SELECT make_date(2024, 2, 29), make_timestamp(2024, 2, 29, 1, 2, 3.5), to_timestamp(0), epoch_ms(1500),
  epoch_ms(TIMESTAMP '1970-01-01 00:00:01.5');
-- 2024-02-29 | 2024-02-29T01:02:03.500000 | 1970-01-01T00:00:00+00:00 | 1970-01-01T00:00:01.500000 | 1500

SELECT make_date(2023, 2, 29);
-- error: DataError: the result of the make_date is out of range for DATE

SELECT make_time(24, 0, 0);
-- error: DataError: the result of the make_time is out of range for TIME

SELECT strftime(ts, '%Y-%m-%d %H:%M:%S.%f'), strftime(ts, '%a %-d %B %y, %I:%M %p, week %V, day %j %%')
FROM t ORDER BY id;
-- '2024-02-29 13:14:15.678901' | 'Thu 29 February 24, 01:14 PM, week 09, day 060 %'
-- '1969-12-31 23:59:59.000000' | 'Wed 31 December 69, 11:59 PM, week 01, day 365 %'
-- NULL | NULL
-- '2000-01-01 00:00:00.000000' | 'Sat 1 January 00, 12:00 AM, week 52, day 001 %'
-- '2021-01-03 12:00:00.000000' | 'Sun 3 January 21, 12:00 PM, week 53, day 003 %'

SELECT strftime(ts, '%Q') FROM t;
-- error: NotSupportedError: the code '%Q' in the format '%Q' is not supported (line 1, column 8)

SELECT strptime('29/02/2024 13:14', '%d/%m/%Y %H:%M'), strptime(NULL, '%Y');
-- 2024-02-29T13:14:00 | NULL

SELECT strptime('2024', '%d');
-- error: DataError: '2024' does not have the format '%d'

SELECT to_char(ts, 'YYYY-MM-DD HH24:MI:SS.MS'), to_char(ts, 'Dy, DD Mon YY "at" HH12 PM') FROM t ORDER BY id;
-- '2024-02-29 13:14:15.678' | 'Thu, 29 Feb 24 at 01 PM'
-- '1969-12-31 23:59:59.000' | 'Wed, 31 Dec 69 at 11 PM'
-- NULL | NULL
-- '2000-01-01 00:00:00.000' | 'Sat, 01 Jan 00 at 12 AM'
-- '2021-01-03 12:00:00.000' | 'Sun, 03 Jan 21 at 12 PM'

SELECT to_char(ts, 'YYYY TZ') FROM t;
-- error: NotSupportedError: the pattern 'TZ' of to_char() is not supported (line 1, column 8)

SELECT current_date = today(), now() = current_timestamp, localtimestamp = now(), age(current_date) = INTERVAL '0 days';
-- true | true | true | true

SELECT current_date::VARCHAR = now()::DATE::VARCHAR, localtime = now()::TIME, now() > TIMESTAMP '2024-01-01';
-- true | true | true

SELECT ts AT TIME ZONE 'UTC' FROM t;
-- 1969-12-31T23:59:59+00:00
-- 2000-01-01T00:00:00+00:00
-- 2021-01-03T12:00:00+00:00
-- 2024-02-29T13:14:15.678901+00:00
-- NULL

SELECT d + d FROM t;
-- error: ProgrammingError: cannot add 'd' (DATE) to 'd' (DATE) (line 1, column 8)

SELECT d * 2 FROM t;
-- error: ProgrammingError: cannot multiply 'd' (DATE) by 2 (INTEGER) (line 1, column 8)

SELECT year('2024-01-01');
-- error: ProgrammingError: year() needs a date, not '2024-01-01' (VARCHAR) (line 1, column 8)

SELECT epoch_ms(m), epoch_us(m), epoch_ns(m)
FROM (VALUES (TIMESTAMP '2024-01-01 00:00:00.5'), (NULL), (TIMESTAMP '1969-12-31 23:59:59.9995')) AS t (m);
-- -1 | -500 | -500000
-- 1704067200500 | 1704067200500000 | 1704067200500000000
-- NULL | NULL | NULL

SELECT epoch_ms(DATE '2024-01-01'), epoch_us(DATE '2024-01-01'), epoch_ns(DATE '1969-12-31');
-- 1704067200000 | 1704067200000000 | -86400000000000

SELECT epoch_us(TIMESTAMPTZ '2024-01-01 00:00:00+01'), epoch_ms('2024-01-01'), epoch_ms(1704067200500);
-- 1704063600000000 | 1704067200000 | 2024-01-01T00:00:00.500000

SELECT epoch_ms(INTERVAL '1 day 2 seconds'), epoch_us(INTERVAL '1 month'), epoch_ns(TIME '00:00:01');
-- 86402000 | 2592000000000 | 1000000000

SELECT epoch_ns(TIMESTAMP '2262-04-11 23:47:16');
-- 9223372036000000000

SELECT epoch_ns(TIMESTAMP '2300-01-01');
-- error: DataError: the result of the epoch_ns is out of range for BIGINT

SELECT epoch_us('x');
-- error: DataError: 'x' is not a valid TIMESTAMP (line 1, column 8)

SELECT epoch_us(1);
-- error: ProgrammingError: epoch_us() needs a date, not 1 (INTEGER) (line 1, column 8)

SELECT try_strptime(s, '%d.%m.%Y') FROM (VALUES ('29.02.2024'), ('30.02.2024'), (NULL), ('soon')) t (s);
-- 2024-02-29T00:00:00
-- NULL
-- NULL
-- NULL
SELECT try_strptime('2024-01-31 10:00 +02', '%Y-%m-%d %H:%M %z'), try_strptime('2024-01-31 10:00 +99', '%Y-%m-%d %H:%M %z');
-- 2024-01-31T08:00:00+00:00 | NULL

-- Several parts at once.
SELECT date_part(['year', 'Month'], DATE '2024-05-06'), date_part(['hour', 'epoch'], TIME '10:11:12');
-- {'year': 2024, 'month': 5} | {'hour': 10, 'epoch': Decimal('36672.000000')}

SELECT date_part(['year', 'nothing'], DATE '2024-05-06');
-- error: ProgrammingError: there is no part 'nothing' of a date or time (line 1, column 8)

SELECT date_part([1], DATE '2024-05-06');
-- error: ProgrammingError: date_part() needs parts, not a list (INTEGER[]) (line 1, column 8)

-- the number of the day and of the week with its year; a unit may be called by what it begins
SELECT julian(DATE '1970-01-01'), julian(TIMESTAMP '2026-05-17 18:00:00'), extract(julian FROM DATE 'infinity'), yearweek(DATE '2027-01-01'), yearweek(DATE '0044-03-15 (BC)');
-- 2440588.0 | 2461178.75 | NULL | 202653 | -4311
SELECT date_trunc('dow', TIMESTAMP '2026-05-17 10:37:00'), date_trunc('yearweek', DATE '2027-01-01'), date_diff('doy', DATE '2026-01-01', DATE '2027-01-01');
-- 2026-05-17T00:00:00 | 2026-12-28T00:00:00 | 365
SELECT date_part(NULL, DATE '2026-05-17'), date_trunc(NULL, DATE '2026-05-17');
-- NULL | NULL

-- weeks of a year, whose days are the first ones where none is said
SELECT strptime('1', '%U'), strptime('30', '%U'), strptime('30', '%W'), try_strptime('30', '%V'), strptime('2026-W20-7', '%G-W%V-%u');
-- 1900-01-07T00:00:00 | 1900-07-29T00:00:00 | 1900-07-23T00:00:00 | 1900-07-23T00:00:00 | 2026-05-17T00:00:00
SELECT strptime('2026 20 Sun', '%Y %U %a'), strptime('2026/20', '%Y/%W'), strptime('2-4', '%V-%u'), strftime(strptime('20', '%W'), '%W'), try_strptime('60', '%U');
-- 2026-05-17T00:00:00 | 2026-05-18T00:00:00 | 1900-01-11T00:00:00 | '20' | NULL
SELECT strptime('2026-05-12 19', '%Y-%m-%d %U');
-- error: NotSupportedError: strptime() of a week beside a month or a day is not supported (line 1, column 8)
SELECT strptime('20 +02', '%W %z') = TIMESTAMPTZ '1900-05-14 00:00:00+02', try_strptime('20', '%W %z');
-- true | NULL
