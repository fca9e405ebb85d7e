-- Infinite dates and timestamps.
SELECT 'infinity'::DATE, '-infinity'::DATE, 'Inf'::TIMESTAMP, ' -INFINITY '::TIMESTAMPTZ::VARCHAR;
-- 9999-12-31 | 0001-01-01 | 9999-12-31T23:59:59.999999 | '-infinity'
SELECT 'infinity'::DATE::VARCHAR, '-infinity'::TIMESTAMP::VARCHAR, DATE 'infinity' = TIMESTAMP 'infinity';
-- 'infinity' | '-infinity' | true
SELECT '+infinity'::DATE;
-- error: DataError: '+infinity' is not a valid DATE (line 1, column 8)
SELECT TRY_CAST('infinite' AS DATE), TRY_CAST(x AS DATE)::VARCHAR FROM (VALUES ('inf'), ('info'), ('epoch')) t(x) ORDER BY 2;
-- NULL | '1970-01-01'
-- NULL | 'infinity'
-- NULL | NULL
SELECT isfinite(d), isinf(d), d::VARCHAR FROM (VALUES ('infinity'::DATE), ('-infinity'), ('2026-05-17'), (NULL)) t(d) ORDER BY d;
-- false | true | '-infinity'
-- true | false | '2026-05-17'
-- false | true | 'infinity'
-- NULL | NULL | NULL
SELECT min(d)::VARCHAR, max(d)::VARCHAR, count(DISTINCT d) FROM (VALUES ('infinity'::DATE), ('-infinity'), ('2026-05-17')) t(d);
-- '-infinity' | 'infinity' | 3
SELECT 'infinity'::DATE + 1, 'infinity'::DATE + INTERVAL '1 month', '-infinity'::TIMESTAMPTZ - INTERVAL '1 day' < now();
-- 9999-12-31 | 9999-12-31T23:59:59.999999 | true
SELECT 'infinity'::TIMESTAMP - TIMESTAMP '2026-05-17';
-- error: DataError: an infinite TIMESTAMP cannot be subtracted, nor subtracted from
SELECT x - TIMESTAMP '2026-05-17' FROM (VALUES ('infinity'::TIMESTAMP)) t(x);
-- error: DataError: an infinite TIMESTAMP cannot be subtracted, nor subtracted from
SELECT 'infinity'::TIMESTAMP::TIME;
-- error: DataError: infinity is out of range for TIME
SELECT year(d), extract(epoch FROM d), date_part('month', d), dayname(d), last_day(d), date_diff('day', d, DATE '2026-05-17'), age(d, DATE '2026-05-17') FROM (VALUES ('infinity'::DATE)) t(d);
-- NULL | NULL | NULL | NULL | NULL | NULL | NULL
SELECT date_trunc('month', d), time_bucket(INTERVAL '1 day', d), strftime(d, '%Y') FROM (VALUES ('infinity'::TIMESTAMP), ('2026-05-17')) t(d) ORDER BY d;
-- 2026-05-01T00:00:00 | 2026-05-17T00:00:00 | '2026'
-- 9999-12-31T23:59:59.999999 | 9999-12-31T23:59:59.999999 | 'infinity'
SELECT d::TIMESTAMP::VARCHAR, d::TIMESTAMPTZ::VARCHAR, d::TIMESTAMP::DATE::VARCHAR FROM (VALUES ('infinity'::DATE), ('-infinity')) t(d) ORDER BY d;
-- '-infinity' | '-infinity' | '-infinity'
-- 'infinity' | 'infinity' | 'infinity'
SELECT * FROM range(DATE '2026-05-17', 'infinity'::DATE, INTERVAL '1 day');
-- error: DataError: range() of dates goes beyond the years 1 to 9999 (line 1, column 15)
SELECT to_json({'d': 'infinity'::DATE}), ['infinity'::DATE]::VARCHAR;
-- '{"d":"infinity"}' | '[infinity]'

-- Years beyond 9999 and before 1.
SELECT '10000-01-01'::DATE, '0044-03-15 (BC)'::DATE, '0044-03-15 (bc) 10:00:00.5'::TIMESTAMP;
-- '10000-01-01' | '0044-03-15 (BC)' | '0044-03-15 (BC) 10:00:00.5'
SELECT '0000-12-31'::DATE, '-1-12-31'::DATE, '5877642-06-25 (BC)'::DATE, '5881580-07-10'::DATE;
-- '0001-12-31 (BC)' | '0002-12-31 (BC)' | '5877642-06-25 (BC)' | '5881580-07-10'
SELECT '5881580-07-11'::DATE;
-- error: DataError: '5881580-07-11' is not a valid DATE (line 1, column 8)
SELECT '0044-02-30 (BC)'::DATE;
-- error: DataError: '0044-02-30 (BC)' is not a valid DATE (line 1, column 8)
SELECT '290309-12-22 (BC) 00:00:00'::TIMESTAMP, '294247-01-10 04:00:54.775806'::TIMESTAMP;
-- '290309-12-22 (BC) 00:00:00' | '294247-01-10 04:00:54.775806'
SELECT '294247-01-10 04:00:54.775807'::TIMESTAMP;
-- error: DataError: '294247-01-10 04:00:54.775807' is not a valid TIMESTAMP (line 1, column 8)
SELECT '5881580-07-10'::DATE::TIMESTAMP;
-- error: DataError: 5881580-07-10 is out of range for TIMESTAMP
SELECT DATE '9999-12-31' + 1, DATE '0001-01-01' - 1, '10000-01-01'::DATE - DATE '0001-01-01', TIMESTAMP '9999-12-31 23:00' + INTERVAL '2 hours';
-- '10000-01-01' | '0001-12-31 (BC)' | 3652059 | '10000-01-01 01:00:00'
SELECT '5881580-07-10'::DATE + 1;
-- error: DataError: the result of the addition is out of range for DATE
SELECT '294247-01-10 04:00:54'::TIMESTAMP + INTERVAL '1 second';
-- error: DataError: the result of the addition is out of range for TIMESTAMP
SELECT d, year(d), month(d), day(d), dow(d), doy(d), week(d), isoyear(d), era(d), century(d), decade(d), dayname(d), monthname(d), last_day(d), strftime(d, '%d.%m.%Y') FROM (VALUES ('0044-03-15 (BC)'::DATE), ('12026-05-17')) t(d) ORDER BY d;
-- '0044-03-15 (BC)' | -43 | 3 | 15 | 5 | 74 | 11 | -43 | 0 | -1 | -4 | 'Friday' | 'March' | '0044-03-31 (BC)' | '15.03.-43'
-- '12026-05-17' | 12026 | 5 | 17 | 0 | 137 | 20 | 12026 | 1 | 121 | 1202 | 'Sunday' | 'May' | '12026-05-31' | '17.05.12026'
SELECT make_date(12026, 5, 17), make_date(-43, 3, 15), make_timestamp(12026, 5, 17, 10, 37, 0), date_trunc('century', '12026-05-17'::DATE);
-- '12026-05-17' | '0044-03-15 (BC)' | '12026-05-17 10:37:00' | '12001-01-01 00:00:00'
SELECT date_diff('microsecond', '290309-12-22 (BC)'::TIMESTAMP, '294247-01-01'::TIMESTAMP);
-- error: DataError: the result of the date_diff is out of range for BIGINT
SELECT '294247-01-01'::TIMESTAMP - '290309-12-22 (BC)'::TIMESTAMP;
-- datetime.timedelta(days=213503973)

-- In tables, and within values.
CREATE TABLE t (id INTEGER PRIMARY KEY, d DATE, m TIMESTAMP, z TIMESTAMPTZ);
INSERT INTO t VALUES (1, 'infinity', '-infinity', 'infinity'), (2, '12026-05-17', '0044-03-15 (BC) 10:00:00', '12026-05-17 10:00:00+00'), (3, '2026-05-17', '2026-05-17', '2026-05-17 00:00:00+00');
SELECT id, d::VARCHAR, m::VARCHAR, z = 'infinity' FROM t ORDER BY d DESC;
-- 1 | 'infinity' | '-infinity' | true
-- 2 | '12026-05-17' | '0044-03-15 (BC) 10:00:00' | false
-- 3 | '2026-05-17' | '2026-05-17 00:00:00' | false
SELECT id FROM t WHERE d > '9999-12-31' AND m < '0001-01-01' ORDER BY id;
-- 1
-- 2
SELECT id FROM t WHERE d = 'infinity' OR m = '0044-03-15 (BC) 10:00:00' ORDER BY id;
-- 1
-- 2
SELECT [d], {'m': m}, MAP {id: z IS NULL} FROM t ORDER BY id;
-- [datetime.date(9999, 12, 31)] | {'m': datetime.datetime(1, 1, 1, 0, 0)} | {1: False}
-- ['12026-05-17'] | {'m': '0044-03-15 (BC) 10:00:00'} | {2: False}
-- [datetime.date(2026, 5, 17)] | {'m': datetime.datetime(2026, 5, 17, 0, 0)} | {3: False}
CREATE TABLE u (d DATE PRIMARY KEY);
INSERT INTO u VALUES ('infinity'), ('12026-05-17');
INSERT INTO u VALUES ('12026-05-17');
-- error: IntegrityError: table 'u', row 1: the primary key (d) = ('12026-05-17') is in the table already
INSERT INTO u VALUES ('infinity');
-- error: IntegrityError: table 'u', row 1: the primary key (d) = ('infinity') is in the table already
SELECT count(*) FROM t JOIN u USING (d);
-- 2
COPY (SELECT d, m FROM t ORDER BY id) TO '$TMP/far.csv';
COPY t TO '$TMP/far.parquet';
SELECT id, d::VARCHAR, m::VARCHAR FROM '$TMP/far.parquet' ORDER BY id;
-- 1 | 'infinity' | '-infinity'
-- 2 | '12026-05-17' | '0044-03-15 (BC) 10:00:00'
-- 3 | '2026-05-17' | '2026-05-17 00:00:00'
SELECT * FROM read_csv('$TMP/far.csv', all_varchar = true);
-- '12026-05-17' | '0044-03-15 (BC) 10:00:00.000000'
-- '2026-05-17' | '2026-05-17 00:00:00.000000'
-- 'infinity' | '-infinity'
CREATE TABLE v (d DATE, m TIMESTAMP);
COPY v FROM '$TMP/far.csv';
-- error: DataError: file '$TMP/far.csv', line 2, field 1 (d): 'infinity' is not a DATE
SELECT count(*) FROM v JOIN t ON v.d = t.d AND v.m = t.m;
-- 0
SELECT count(*) FROM '$TMP/far.parquet' WHERE d IN ('infinity', '2026-05-17') AND m IN ('-infinity', '0044-03-15 (BC) 10:00:00');
-- 1
SELECT id FROM t WHERE d IN ('infinity', '2026-05-17') ORDER BY id;
-- 1
-- 3
SELECT d FROM u WHERE d IN ('infinity', '2026-05-17');
-- 9999-12-31
SELECT '0000-01-01 (BC)'::DATE;
-- error: DataError: '0000-01-01 (BC)' is not a valid DATE (line 1, column 8)
SELECT make_timestamptz(9223372036854775807);
-- error: DataError: the result of the from_microseconds is out of range for TIMESTAMP WITH TIME ZONE

-- By a BVH.
CREATE TABLE f (d DATE, k INTEGER);
INSERT INTO f SELECT DATE '2026-05-17' + (i % 50)::INTEGER, i FROM range(500) r(i);
INSERT INTO f VALUES ('infinity', 1), ('0044-03-15 (BC)', 2), ('12026-05-17', 3);
CREATE BVH b ON f (SCAN (d), GROUP BY (d), AGGREGATE (k));
SELECT sum(k) FROM f WHERE d > '9999-12-31';
-- 4
SELECT sum(k) FROM f WHERE d IN ('infinity', '0044-03-15 (BC)');
-- 3
SELECT d, sum(k) FROM f WHERE d < '2026-05-18' OR d > '2026-07-05' GROUP BY d ORDER BY d;
-- '0044-03-15 (BC)' | 2
-- 2026-05-17 | 2250
-- '12026-05-17' | 3
-- 9999-12-31 | 1
SELECT year(d), sum(k) FROM f GROUP BY 1 ORDER BY 1;
-- -43 | 2
-- 2026 | 124750
-- 12026 | 3
-- NULL | 1
EXPLAIN SELECT id FROM t WHERE d > '12000-01-01';
-- has: d > '12000-01-01'

-- What lies between the ends of TIMESTAMP, which are almost 2**64 microseconds apart.
CREATE TABLE ends (t TIMESTAMP);
INSERT INTO ends VALUES ('294247-01-10'), ('290309-12-22 (BC)');
SELECT median(t), quantile_cont(t, 0.75), percentile_cont(0.25) WITHIN GROUP (ORDER BY t DESC) FROM ends;
-- 1970-01-01T00:00:00 | '148108-07-06 12:00:00' | '148108-07-06 12:00:00'
SELECT mad(t), mad(t::DATE) FROM ends;
-- datetime.timedelta(days=106751991) | datetime.timedelta(days=106751991)
SELECT mad(t) FROM (SELECT t FROM ends UNION ALL SELECT min(t) FROM ends) u;
-- datetime.timedelta(0)
SELECT mad(t) FROM (VALUES ('294247-01-10'::TIMESTAMP), ('294247-01-10'), ('290309-12-22 (BC)'), ('290309-12-22 (BC)'), ('290309-12-22 (BC)')) v (t);
-- datetime.timedelta(0)
