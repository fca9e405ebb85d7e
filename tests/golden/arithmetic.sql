SELECT 1 + 2 * 3, (1 + 2) * 3, 7 - 2 - 1, -(2 + 3), - 5, 2 - -3;
-- 7 | 9 | 4 | -5 | -5 | 5

-- Integer division truncates towards zero, and the remainder has the sign of the dividend.
SELECT 7 / 2, -7 / 2, 7 / -2, 7 % 2, -7 % 2;
-- 3 | -3 | -3 | 1 | -1

-- Decimals are exact.
SELECT 0.1 + 0.2, 1.10 - 2, 1.5 * 1.5, 0.1 + 0.2 = 0.3;
-- 0.3 | -0.90 | 2.25 | true
SELECT 1.0 / 4 = 0.25, 7 / 2.0 = 3.5;
-- true | true
SELECT 1e0 / 4, 1.5 + 1e0, 3 * 0.5e0;
-- 0.25 | 2.5 | 1.5

CREATE TABLE t (a INTEGER, b BIGINT, c DECIMAL(8, 2), d DOUBLE);

INSERT INTO t VALUES (7, 2, 10.25, 0.5), (2147483647, 9223372036854775807, 999999.99, 1e308);

SELECT a + b, a - b, a * b, a / b, a % b, c + a, c * b, c - c, d * 2 FROM t WHERE a = 7;
-- 9 | 5 | 14 | 3 | 1 | 17.25 | 20.50 | 0.00 | 1.0
SELECT c * (1 - 0.1), c * (100 - b) FROM t WHERE a = 7;
-- 9.225 | 1004.50

-- Nothing wraps.
SELECT b + 1 FROM t;
-- error: DataError: the result of the addition is out of range for BIGINT
SELECT b * 2 FROM t;
-- error: DataError: the result of the multiplication is out of range for BIGINT
SELECT -b - 2 FROM t;
-- error: DataError: the result of the subtraction is out of range for BIGINT
SELECT sum(b) FROM t;
-- 9223372036854775809
SELECT sum(b - b), sum(a), sum(c) FROM t;
-- 0 | 2147483654 | 1000010.24

SELECT 1 / 0;
-- error: DataError: division by zero
SELECT 1 % 0;
-- error: DataError: division by zero
SELECT 1.5 / 0;
-- error: DataError: division by zero
SELECT a / (a - 7) FROM t;
-- error: DataError: division by zero
SELECT a / (a - 7) FROM t WHERE a <> 7;
-- 1

SELECT sum(a * b) FROM t WHERE a = 7;
-- 14
SELECT sum(a) / count(*), sum(c) * 2 + 1 FROM t WHERE a = 7;
-- 7 | 21.50

SELECT 7 // 2, -7 // 2, 7.5 // 2, 1 + 7 // 2 * 3, typeof(7::TINYINT // 2::BIGINT), a // 2 FROM t WHERE a = 7;
-- 3 | -3 | 3.75 | 10 | 'BIGINT' | 3
SELECT 7 // 0;
-- error: DataError: division by zero
