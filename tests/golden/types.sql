-- Literals. A number with a point is a decimal, one with an exponent a double.
SELECT 1, -1, 1.50, 1e3, 'text', '', 'it''s', TRUE, FALSE, NULL, DATE '1992-02-29';
-- 1 | -1 | 1.50 | 1000.0 | 'text' | '' | 'it''s' | true | false | NULL | 1992-02-29

SELECT 9223372036854775807;
-- 9223372036854775807

SELECT -9223372036854775808;
-- -9223372036854775808

-- Names of types, with the synonyms that dbgen's schema and other databases use.
CREATE TABLE t (
  a TINYINT, b SMALLINT, c INTEGER, d INT, e BIGINT,
  f DECIMAL(5, 2), g NUMERIC(18, 0), h DOUBLE, i DOUBLE PRECISION, j REAL,
  k VARCHAR, l VARCHAR(10), m CHAR(3), n TEXT, o BOOLEAN, p DATE);

INSERT INTO t VALUES
  (127, 32767, 2147483647, -2147483648, 9223372036854775807,
   999.99, 999999999999999999, 0.1, 1e300, 0.5,
   'é', 'ten', 'abc', 'text', TRUE, '0001-01-01'),
  (-128, -32768, -2147483648, 2147483647, -9223372036854775808,
   -999.99, -999999999999999999, -0.1, -1e300, -0.5,
   '', '', 'a', '', FALSE, DATE '9999-12-31'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);

SELECT a, b, c, d, e FROM t;
-- 127 | 32767 | 2147483647 | -2147483648 | 9223372036854775807
-- -128 | -32768 | -2147483648 | 2147483647 | -9223372036854775808
-- NULL | NULL | NULL | NULL | NULL

SELECT f, g, h, i, j FROM t;
-- 999.99 | 999999999999999999 | 0.1 | 1e+300 | 0.5
-- -999.99 | -999999999999999999 | -0.1 | -1e+300 | -0.5
-- NULL | NULL | NULL | NULL | NULL

SELECT k, l, m, n, o, p FROM t;
-- 'é' | 'ten' | 'abc' | 'text' | true | 0001-01-01
-- '' | '' | 'a' | '' | false | 9999-12-31
-- NULL | NULL | NULL | NULL | NULL | NULL

-- A value is stored in the column's type: decimals get its scale, doubles take integers.
INSERT INTO t (a, f, h) VALUES (1, 2, 3), (NULL, 2.5, 2.5);

SELECT a, f, h FROM t WHERE f = 2 OR f = 2.5;
-- 1 | 2.00 | 3.0
-- NULL | 2.50 | 2.5

-- Casts.
SELECT CAST('12' AS INTEGER), CAST(7 AS DECIMAL(5, 2)), CAST(2.5 AS DOUBLE);
-- 12 | 7.00 | 2.5

SELECT CAST(12 AS VARCHAR), CAST('1994-01-31' AS DATE), CAST(NULL AS INTEGER);
-- '12' | 1994-01-31 | NULL

SELECT CAST(300 AS TINYINT);
-- error: DataError: 300 is out of range for TINYINT

SELECT CAST('twelve' AS INTEGER);
-- error: DataError: 'twelve' is not a valid INTEGER (line 1, column 13)

SELECT DATE '1992-02-30';
-- error: DataError: '1992-02-30' is not a valid DATE (line 1, column 13)

-- Types that do not compare.
SELECT a FROM t WHERE k = 1;
-- error: ProgrammingError: cannot compare 'k' (VARCHAR) with 1 (INTEGER) (line 1, column 23)

SELECT a FROM t WHERE a = 'one';
-- error: DataError: 'one' is not a valid TINYINT (line 1, column 23)

SELECT a FROM t WHERE p = 1;
-- error: ProgrammingError: cannot compare 'p' (DATE) with 1 (INTEGER) (line 1, column 23)

SELECT a FROM t WHERE [a];
-- error: ProgrammingError: WHERE needs a condition, not an expression (TINYINT[])

SELECT k + 1 FROM t;
-- error: ProgrammingError: cannot add 1 (INTEGER) to 'k' (VARCHAR) (line 1, column 8)

SELECT sum(k) FROM t;
-- error: ProgrammingError: sum() needs a number, not 'k' (VARCHAR) (line 1, column 8)

CREATE TABLE u (a INTEGR);
-- error: ProgrammingError: type 'INTEGR' does not exist; did you mean 'INTEGER'? (line 1, column 19)

CREATE TABLE u (a DECIMAL(40, 2));
-- error: ProgrammingError: DECIMAL has 1 to 38 digits, not 40

-- DuckDB's other names of types; CREATE TYPE may take one.
SELECT typeof(1::uint8), typeof(1::UINT16), typeof(1::uint32), typeof(1::uint64), typeof('1'::integral), 5::signed, 1::logical;
-- 'UTINYINT' | 'USMALLINT' | 'UINTEGER' | 'UBIGINT' | 'INTEGER' | 5 | true
CREATE TABLE others (a UINT8, b NVARCHAR(3), c bpchar, d guid, e binary);
INSERT INTO others VALUES (255, 'abc', 'x', '00000000-0000-0000-0000-000000000001', 'ab');
SELECT * FROM others;
-- 255 | 'abc' | 'x' | UUID('00000000-0000-0000-0000-000000000001') | b'ab'
SELECT 256::uint8;
-- error: DataError: 256 is out of range for UTINYINT
DESCRIBE others;
-- 'a' | 'UTINYINT' | 'YES' | NULL | NULL | NULL
-- 'b' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'c' | 'VARCHAR' | 'YES' | NULL | NULL | NULL
-- 'd' | 'UUID' | 'YES' | NULL | NULL | NULL
-- 'e' | 'BLOB' | 'YES' | NULL | NULL | NULL
CREATE TYPE signed AS ENUM ('yes', 'no');
SELECT 'yes'::signed, 5::unsigned;
-- error: ProgrammingError: type 'unsigned' does not exist; did you mean 'signed'? (line 1, column 23)

-- FLOAT(n) has at least n bits.
SELECT typeof(1::FLOAT(1)) AS a, typeof(1::FLOAT(24)) AS b, typeof(1::FLOAT(25)) AS c, typeof(1::FLOAT(53)) AS d;
-- 'REAL' | 'REAL' | 'DOUBLE' | 'DOUBLE'

SELECT 1::FLOAT(54);
-- error: NotSupportedError: the type FLOAT(54) is not supported (line 1, column 8)
