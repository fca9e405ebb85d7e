-- CAST, `::` and TRY_CAST, which gives NULL for what CAST refuses.
SELECT CAST('7' AS INTEGER), '7'::BIGINT, TRY_CAST('7' AS SMALLINT), TRY_CAST('seven' AS INTEGER);
-- 7 | 7 | 7 | NULL

CREATE TABLE t (id INTEGER, s VARCHAR, d DOUBLE, n DECIMAL(6, 3));

INSERT INTO t VALUES (1, ' 12 ', 2.5, 2.500), (2, '1e2', 3.5, 3.500), (3, 'abc', -2.5, -2.500),
  (4, '300', 1e10, 999.999), (5, NULL, NULL, NULL), (6, '-0.5', 'NaN', 0.499);

-- Doubles round half to even, decimals half away from zero.
SELECT id, TRY_CAST(d AS INTEGER), CAST(n AS INTEGER), CAST(n AS DECIMAL(4, 0)) FROM t ORDER BY id;
-- 1 | 2 | 3 | 3
-- 2 | 4 | 4 | 4
-- 3 | -2 | -3 | -3
-- 4 | NULL | 1000 | 1000
-- 5 | NULL | NULL | NULL
-- 6 | NULL | 0 | 0

SELECT id, TRY_CAST(s AS TINYINT), TRY_CAST(s AS DOUBLE), TRY_CAST(s AS DECIMAL(4, 1)),
  TRY_CAST(s AS DATE), TRY_CAST(s AS BOOLEAN) FROM t ORDER BY id;
-- 1 | 12 | 12.0 | 12.0 | NULL | NULL
-- 2 | NULL | 100.0 | 100.0 | NULL | NULL
-- 3 | NULL | NULL | NULL | NULL | NULL
-- 4 | NULL | 300.0 | 300.0 | NULL | NULL
-- 5 | NULL | NULL | NULL | NULL | NULL
-- 6 | NULL | -0.5 | -0.5 | NULL | NULL

SELECT CAST(s AS INTEGER) FROM t;
-- error: DataError: '1e2' is not a valid INTEGER

SELECT CAST(d AS INTEGER) FROM t WHERE id = 4;
-- error: DataError: 10000000000.0 is out of range for INTEGER

SELECT CAST(d AS DECIMAL(3, 1)) FROM t WHERE id = 4;
-- error: DataError: 10000000000.0 is out of range for DECIMAL(3,1)

SELECT CAST(n AS DECIMAL(4, 3)) FROM t WHERE id = 4;
-- error: DataError: 999.999 is out of range for DECIMAL(4,3)

-- Booleans.
SELECT 't'::BOOLEAN, 'TRUE'::BOOLEAN, 'yes'::BOOLEAN, 'on'::BOOLEAN, '1'::BOOLEAN, ' y '::BOOLEAN,
  'f'::BOOLEAN, 'False'::BOOLEAN, 'no'::BOOLEAN, 'off'::BOOLEAN, '0'::BOOLEAN, 'n'::BOOLEAN;
-- true | true | true | true | true | true | false | false | false | false | false | false

SELECT 'maybe'::BOOLEAN;
-- error: DataError: 'maybe' is not a valid BOOLEAN (line 1, column 8)

SELECT 1::BOOLEAN, 0::BOOLEAN, TRUE::INTEGER, FALSE::VARCHAR;
-- true | false | 1 | 'false'

-- Texts of values and back.
SELECT 1.50::DECIMAL(5, 2)::VARCHAR, 1e300::VARCHAR, 0.1::REAL::VARCHAR, DATE '2024-01-02'::VARCHAR,
  TIMESTAMP '2024-01-02 03:04:05.123'::VARCHAR, TIME '03:04:05'::VARCHAR,
  INTERVAL '1 year 2 months 3 days 04:05:06'::VARCHAR, [1, 2, NULL]::VARCHAR, 'a'::BLOB::VARCHAR;
-- '1.50' | '1e+300' | '0.1' | '2024-01-02' | '2024-01-02 03:04:05.123' | '03:04:05' | '1 year 2 mons 3 days 04:05:06' | '[1, 2, NULL]' | '\x61'

SELECT '1 year 2 mons 3 days 04:05:06'::INTERVAL::VARCHAR, '[1, 2, NULL]'::INTEGER[],
  '{1,2}'::INTEGER[], '[0.5, 1]'::FLOAT[2], '\x61'::BLOB;
-- '1 year 2 mons 3 days 04:05:06' | [1, 2, None] | [1, 2] | (0.5, 1.0) | b'a'

SELECT '-inf'::DOUBLE, 'Infinity'::DOUBLE, 'nan'::DOUBLE;
-- -inf | inf | nan

SELECT '1e400'::DOUBLE;
-- error: DataError: '1e400' is not a valid DOUBLE (line 1, column 8)

SELECT '0x1A'::INTEGER;
-- error: DataError: '0x1A' is not a valid INTEGER (line 1, column 8)

SELECT '1_000'::INTEGER;
-- error: DataError: '1_000' is not a valid INTEGER (line 1, column 8)

-- HUGEINT has 38 digits.
SELECT 12345678901234567890123::HUGEINT, '-7'::HUGEINT, 1.5::HUGEINT, 9223372036854775807::HUGEINT + 1;
-- 12345678901234567890123 | -7 | 2 | 9223372036854775808

SELECT '100000000000000000000000000000000000000'::HUGEINT;
-- error: DataError: '100000000000000000000000000000000000000' is not a valid HUGEINT

SELECT CAST(DATE '2024-01-02' AS INTEGER);
-- error: ProgrammingError: cannot cast 2024-01-02 (DATE) to INTEGER (line 1, column 18)

SELECT CAST(5 AS DATE);
-- error: ProgrammingError: cannot cast 5 (INTEGER) to DATE (line 1, column 13)

SELECT TRY_CAST(5 AS DATE);
-- error: ProgrammingError: cannot cast 5 (INTEGER) to DATE (line 1, column 17)

SELECT TRY_CAST(NULL AS DATE), CAST(NULL AS INTERVAL), CAST(NULL AS INTEGER[]), CAST(NULL AS FLOAT[3]);
-- NULL | NULL | NULL | NULL

-- Types that there are none of.
SELECT CAST('2024-01-01' AS TIMESTAMP WITH TIME ZONE);
-- 2024-01-01T00:00:00+00:00

SELECT CAST('1' AS UBIGINT);
-- 1

SELECT CAST('[1]' AS INTEGER[1]);
-- (1,)

-- Beyond the numbers of REAL there is no number; infinity and NaN are written as such.
SELECT CAST(1e300 AS FLOAT);
-- error: DataError: 1e+300 is out of range for REAL
SELECT CAST(-3.5e38 AS REAL);
-- error: DataError: -3.5e+38 is out of range for REAL
SELECT '1e300'::FLOAT;
-- error: DataError: '1e300' is not a valid REAL (line 1, column 8)
SELECT [1, 1e300]::FLOAT[2];
-- error: DataError: 1e+300 is out of range for REAL
SELECT [1e300]::FLOAT[];
-- error: DataError: 1e+300 is out of range for REAL
SELECT x::FLOAT FROM (VALUES (1e300)) AS v (x);
-- error: DataError: 1e+300 is out of range for REAL
SELECT TRY_CAST(1e300 AS FLOAT), TRY_CAST('1e300' AS FLOAT), TRY_CAST([1e300, 1] AS FLOAT[2]);
-- NULL | NULL | NULL
SELECT 3.4028234663852886e38::FLOAT, 'inf'::FLOAT, '-inf'::DOUBLE::FLOAT, 'nan'::FLOAT, 1e-300::FLOAT, ['inf'::FLOAT, 'nan'::FLOAT];
-- 3.4028234663852886e+38 | inf | -inf | nan | 0.0 | [inf, nan]
CREATE TABLE reals (f FLOAT, v FLOAT[2]);
INSERT INTO reals (f) VALUES (1e300);
-- error: DataError: 1e+300 is out of range for REAL
INSERT INTO reals (v) VALUES ([1, 1e300]);
-- error: DataError: 1e+300 is out of range for REAL
INSERT INTO reals SELECT x, NULL FROM (VALUES (1e300)) AS v (x);
-- error: DataError: 1e+300 is out of range for REAL
INSERT INTO reals VALUES ('inf', [1e38, 'nan'::FLOAT]);
UPDATE reals SET f = 1e39;
-- error: DataError: 1e+39 is out of range for REAL
SELECT * FROM reals WHERE f > 1e300;
-- inf | (9.999999680285692e+37, nan)

-- A decimal has no negative zero, a DOUBLE has one.
SELECT CAST(-0.0 AS DOUBLE) AS a, CAST('-0.0' AS DOUBLE) AS b, CAST('-0.0'::DECIMAL(2, 1) AS DOUBLE) AS c, -0e0 AS d;
-- 0.0 | -0.0 | 0.0 | -0.0

-- A column is called as its type is written.
DESCRIBE SELECT 4::TINYINT, 4::SMALLINT;
-- 'CAST(4 AS SMALLINT)' | 'SMALLINT' | 'YES' | NULL | NULL | NULL
-- 'CAST(4 AS TINYINT)' | 'TINYINT' | 'YES' | NULL | NULL | NULL
