CREATE TABLE t (id INTEGER, i INTEGER, p DECIMAL(6, 2), x DOUBLE);
INSERT INTO t VALUES (1, 7, 2.45, 2.5), (2, -7, -2.45, -2.5), (3, 0, 0.00, 0.0), (4, NULL, NULL, NULL), (5, 2147483647, 9999.99, 1e300);

-- Halves are rounded away from zero; a decimal keeps the digits that can be there.
SELECT round(p), round(p, 1), round(p, -2), trunc(p), trunc(p, 1), ceil(p), floor(p) FROM t ORDER BY id;
-- 2 | 2.5 | 0 | 2 | 2.4 | 3 | 2
-- -2 | -2.5 | 0 | -2 | -2.4 | -2 | -3
-- 0 | 0.0 | 0 | 0 | 0.0 | 0 | 0
-- NULL | NULL | NULL | NULL | NULL | NULL | NULL
-- 10000 | 10000.0 | 10000 | 9999 | 9999.9 | 10000 | 9999
SELECT round(x), round(x, 1), trunc(x), ceil(x), floor(x) FROM t ORDER BY id;
-- 3.0 | 2.5 | 2.0 | 3.0 | 2.0
-- -3.0 | -2.5 | -2.0 | -2.0 | -3.0
-- 0.0 | 0.0 | 0.0 | 0.0 | 0.0
-- NULL | NULL | NULL | NULL | NULL
-- 1e+300 | 1e+300 | 1e+300 | 1e+300 | 1e+300
SELECT round(i, -1), trunc(i, -1), ceil(i), floor(i) FROM t WHERE id < 5 ORDER BY id;
-- 10 | 0 | 7 | 7
-- -10 | 0 | -7 | -7
-- 0 | 0 | 0 | 0
-- NULL | NULL | NULL | NULL
SELECT round(i, -1) FROM t WHERE id = 5;
-- error: DataError: the result of the rounding is out of range for INTEGER
SELECT id, round(p, id - 2), round(x, id - 2) FROM t WHERE id < 4 ORDER BY id;
-- 1 | 0.00 | 0.0
-- 2 | -2.00 | -3.0
-- 3 | 0.00 | 0.0
SELECT round(2.5, 'two');
-- error: ProgrammingError: round() needs a number of digits, not 'two' (VARCHAR) (line 1, column 8)

SELECT abs(i), abs(p), abs(x), sign(i), sign(p), sign(x) FROM t ORDER BY id;
-- 7 | 2.45 | 2.5 | 1 | 1 | 1.0
-- 7 | 2.45 | 2.5 | -1 | -1 | -1.0
-- 0 | 0.00 | 0.0 | 0 | 0 | 0.0
-- NULL | NULL | NULL | NULL | NULL | NULL
-- 2147483647 | 9999.99 | 1e+300 | 1 | 1 | 1.0
SELECT abs(-2147483648);
-- error: DataError: the result of the absolute value is out of range for INTEGER
SELECT abs(CAST(-2147483648 AS INTEGER));
-- error: DataError: the result of the absolute value is out of range for INTEGER
SELECT mod(i, 3), i % 3, mod(p, 0.4), mod(x, 0.75) FROM t WHERE id < 5 ORDER BY id;
-- 1 | 1 | 0.05 | 0.25
-- -1 | -1 | -0.05 | -0.25
-- 0 | 0 | 0.00 | 0.0
-- NULL | NULL | NULL | NULL
SELECT mod(5, 0);
-- error: DataError: division by zero

-- Powers, roots and logarithms are DOUBLE.
SELECT power(2, 10), pow(2.5, 2), 2 ^ 10, 2 ^ -1, sqrt(16), cbrt(-27), exp(0), ln(1), log(1000), log(2, 8), log2(8), log10(0.01);
-- 1024.0 | 6.25 | 1024.0 | 0.5 | 4.0 | -3.0 | 1.0 | 0.0 | 3.0 | 3.0 | 3.0 | -2.0
SELECT -2 ^ 2, 2 ^ 3 ^ 2;
-- 4.0 | 64.0
SELECT sqrt(-1);
-- error: DataError: sqrt(-1.0) is not defined
SELECT sqrt(x) FROM t;
-- error: DataError: sqrt(-2.5) is not defined
SELECT ln(0);
-- error: DataError: ln(0.0) is out of range for DOUBLE
SELECT log(-5);
-- error: DataError: log10(-5.0) is not defined
SELECT exp(1000);
-- error: DataError: exp(1000.0) is out of range for DOUBLE
SELECT power(0, -1);
-- error: DataError: power(0.0, -1.0) is out of range for DOUBLE
SELECT power(-8, 0.5);
-- error: DataError: power(-8.0, 0.5) is not defined
SELECT CASE WHEN x > 0 THEN ln(x) END FROM t WHERE id < 5 ORDER BY id;
-- 0.9162907318741551
-- NULL
-- NULL
-- NULL

SELECT round(sin(1), 6), round(cos(1), 6), round(tan(1), 6), round(cot(1), 6), asin(1) = pi() / 2, acos(1), atan(0), atan2(0, 1);
-- 0.841471 | 0.540302 | 1.557408 | 0.642093 | true | 0.0 | 0.0 | 0.0
SELECT round(sinh(1), 6), cosh(0), tanh(0), asinh(0), acosh(1), atanh(0), degrees(pi()), radians(180) = pi();
-- 1.175201 | 1.0 | 0.0 | 0.0 | 0.0 | 0.0 | 180.0 | true
SELECT asin(2);
-- error: DataError: asin(2.0) is not defined

SELECT greatest(i, 3, NULL), least(i, p, x), greatest(NULL, NULL) FROM t ORDER BY id;
-- 7 | 2.45 | NULL
-- 3 | -7.0 | NULL
-- 3 | 0.0 | NULL
-- 3 | NULL | NULL
-- 2147483647 | 9999.99 | NULL
SELECT greatest('a', 'B'), least(DATE '2020-01-02', DATE '2020-01-01'), greatest(1, 'x');
-- error: DataError: 'x' is not a valid INTEGER (line 1, column 73)
SELECT greatest(1, 2.5), least(1, 2.5), greatest('a', 'B'), least(DATE '2020-01-02', DATE '2020-01-01');
-- 2.5 | 1.0 | 'a' | 2020-01-01
SELECT greatest(b, NULL, true), least(b, true), greatest(b, false) FROM (VALUES (true), (false), (NULL)) AS v (b);
-- true | false | false
-- true | true | false
-- true | true | true
SELECT greatest(v, INTERVAL '1 month'), least(INTERVAL '1 month', v) FROM (VALUES (INTERVAL '31 days'), (INTERVAL '1 hour'), (NULL)) AS v (v);
-- MonthDayNano(months=1, days=0, nanoseconds=0) | MonthDayNano(months=1, days=0, nanoseconds=0)
-- MonthDayNano(months=1, days=0, nanoseconds=0) | datetime.timedelta(seconds=3600)
-- datetime.timedelta(days=31) | MonthDayNano(months=1, days=0, nanoseconds=0)
SELECT greatest(z, TIMESTAMP '2026-01-01') AT TIME ZONE 'UTC', least(z, NULL) IS NULL FROM (VALUES (TIMESTAMPTZ '2026-05-01 10:00Z'), (NULL)) AS v (z);
-- 2026-01-01T00:00:00 | true
-- 2026-05-01T10:00:00 | false
SELECT greatest(1.0e0, CAST('NaN' AS DOUBLE)), least(1.0e0, CAST('NaN' AS DOUBLE));
-- nan | 1.0
SELECT gcd(12, 18), gcd(-12, 18), gcd(0, 0), lcm(4, 6), lcm(0, 5), factorial(0), factorial(20), factorial(33);
-- 6 | 6 | 0 | 12 | 0 | 1 | 2432902008176640000 | 8683317618811886495518194401280000000
SELECT factorial(34);
-- error: DataError: the result of factorial() has more than 38 digits
SELECT factorial(-1);
-- error: DataError: the factorial of a negative number is not defined
SELECT lcm(2147483647, 2147483646);
-- error: DataError: the result of the lcm is out of range for INTEGER

-- Bits.
SELECT 5 & 3, 5 | 3, 5 # 3, ~5, 1 << 4, -16 >> 2, xor(5, 3), bit_count(7), bit_count(-1);
-- 1 | 7 | 6 | -6 | 16 | -4 | 6 | 3 | 32
SELECT i & 6, i | 8, ~i, i << 1, i >> 1 FROM t ORDER BY id;
-- 6 | 15 | -8 | 14 | 3
-- 0 | -7 | 6 | -14 | -4
-- 0 | 8 | -1 | 0 | 0
-- NULL | NULL | NULL | NULL | NULL
-- 6 | 2147483647 | -2147483648 | -2 | 1073741823
SELECT 1 << 32;
-- error: DataError: INTEGER is shifted by 0 to 31 bits
SELECT 1.5 & 1;
-- error: ProgrammingError: & needs integers, not 1.5 (DECIMAL(2,1)) (line 1, column 8)

SELECT isnan(CAST('NaN' AS DOUBLE)), isnan(1), isinf(CAST('-inf' AS DOUBLE)), isfinite(x) FROM t ORDER BY id;
-- true | false | true | true
-- true | false | true | true
-- true | false | true | true
-- true | false | true | NULL
-- true | false | true | true
SELECT nullif(1, 1), nullif(1, 2), ifnull(NULL, 3), nvl(2, 3), coalesce(NULL, NULL, 4), if(1 > 0, 'yes', 'no'), iif(NULL, 1, 2);
-- NULL | 1 | 3 | 2 | 4 | 'yes' | 2
SELECT if(1, 2, 3);
-- error: ProgrammingError: if() needs a condition, not 1 (INTEGER) (line 1, column 8)
SELECT typeof(1), typeof(2.50), typeof('a'), typeof(round(2.45, 1)), typeof(2 ^ 2), typeof(NULL);
-- 'INTEGER' | 'DECIMAL(3,2)' | 'VARCHAR' | 'DECIMAL(3,1)' | 'DOUBLE' | 'NULL'
SELECT sqrt('a');
-- error: ProgrammingError: sqrt() needs a number, not 'a' (VARCHAR) (line 1, column 8)
SELECT round();
-- error: ProgrammingError: round() takes 1 or 2 arguments, not 0 (line 1, column 8)
