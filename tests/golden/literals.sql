-- Numbers.
SELECT .5, 5., 1_000, 1e10, 1.5e-3, 0x1F, 0xff, 1_000.5;
-- 0.5 | 5 | 1000 | 10000000000.0 | 0.0015 | 31 | 255 | 1000.5

SELECT 1abc;
-- error: ProgrammingError: syntax error at line 1, column 9: unexpected 'abc'

SELECT 0o17;
-- error: ProgrammingError: syntax error at line 1, column 9: unexpected 'o17'

SELECT 0b11;
-- 3

-- Strings: quotes are doubled, parts are joined.
SELECT 'it''s', 'one ' 'string',
  'over '
  'two lines';
-- 'it''s' | 'one string' | 'over two lines'

SELECT e'a\nb', E'tab\there', e'it\'s';
-- 'a\nb' | 'tab	here' | 'it''s'

SELECT e'\x41\102\u0043', e'a\\b';
-- 'ABC' | 'a\b'

-- Bytes.
SELECT x'AB', X'00ff', x'', '\xAB'::BLOB, '\xABCD'::BYTEA;
-- b'\xab' | b'\x00\xff' | b'' | b'\xab' | b'\xab\xcd'

SELECT x'ABC';
-- error: DataError: x'ABC' has an odd number of hexadecimal digits (line 1, column 8)

SELECT '\xZZ'::BLOB;
-- error: DataError: '\xZZ' is not a valid BLOB (line 1, column 8)

-- Dates and times.
SELECT DATE '2024-02-29', DATE '2024-2-9', TIME '10:11:12.5', TIMESTAMP '2024-01-02 03:04',
  TIMESTAMP '2024-01-02T03:04:05.123456', TIMESTAMP '2024-01-02';
-- 2024-02-29 | 2024-02-09 | datetime.time(10, 11, 12, 500000) | 2024-01-02T03:04:00 | 2024-01-02T03:04:05.123456 | 2024-01-02T00:00:00

SELECT TIMESTAMP '2024-01-02 25:00:00';
-- error: DataError: '2024-01-02 25:00:00' is not a valid TIMESTAMP (line 1, column 18)

SELECT TIME '10:60';
-- error: DataError: '10:60' is not a valid TIME (line 1, column 13)

SELECT DATE 'yesterday';
-- error: DataError: 'yesterday' is not a valid DATE (line 1, column 13)

SELECT DATE '0000-01-01';
-- '0001-01-01 (BC)'

SELECT DATE '10000-01-01';
-- '10000-01-01'

SELECT TIMESTAMP '2024-01-02 03:04:05Z';
-- 2024-01-02T03:04:05

SELECT 1e3+1e3, 1e3-1, 2e1-1.5e1+1e0, -1E2-1;
-- 2000.0 | 999.0 | 6.0 | -101.0

SELECT 1,,2;
-- error: ProgrammingError: syntax error at line 1, column 10: unexpected ','

SELECT coalesce(, 1);
-- error: ProgrammingError: syntax error at line 1, column 17: unexpected ','

SELECT right('abc', -9223372036854775808), substring('abc', 9223372036854775807, 9223372036854775807);
-- '' | ''

-- Between dollars nothing has to be escaped; with a name between them, not even dollars.
SELECT $$it's$$, $a$x$$y$a$, '$$no$$', $$$$, e'$$\'$$', "a$$b" FROM (SELECT 1 AS "a$$b");
-- 'it''s' | 'x$$y' | '$$no$$' | '' | '$$''$$' | 1
SELECT $$two; -- texts$$, 1; -- $$ no more
-- 'two; -- texts' | 1
SELECT $$a 5 b$$ = 'a 5 b', $$a 6 b$$ = 'a 5 b';
-- true | false
CREATE VIEW quoted AS SELECT $$it's$$ AS s;
SELECT s FROM quoted;
-- 'it''s'
SELECT $$it's;
-- error: ProgrammingError: syntax error at line 1, column 8: this string does not end
SELECT $$a
b$$, none;
-- error: ProgrammingError: column 'none' does not exist (line 2, column 6)
SELECT 'b'$$a$$, $$a$$'b', '$$'$$a$$'$$', $$a$$ 'b';
-- 'ba' | 'ab' | '$$a$$' | 'ab'
SELECT /* /* */ ' */ $$it's$$, 'b';
-- 'it''s' | 'b'
SELECT $tag$abc;
-- error: ProgrammingError: syntax error at line 1, column 8: this string does not end
SELECT $é$x$é$, date $$2026-01-02$$;
-- 'x' | 2026-01-02
SELECT 0b_1, 0x_1F;
-- 1 | 31
SELECT 0b101, -0b11, 0b1_0, 0x1F;
-- 5 | -3 | 2 | 31
SELECT 0b12;
-- error: ProgrammingError: column '0b12' does not exist (line 1, column 8)
SELECT b'101';
-- error: NotSupportedError: a constant b'...' is not supported (line 1, column 8)

SELECT 1e;
-- error: ProgrammingError: the number 1e has an exponent without digits (line 1, column 8)

SELECT 2.e, 1;
-- error: ProgrammingError: the number 2.e has an exponent without digits (line 1, column 8)

SELECT 1 WHERE 1 < 1e+;
-- error: ProgrammingError: syntax error at line 1, column 23: the statement ends too early

-- Nothing is in a list of nothing.
SELECT x, x IN (), x NOT IN (), (x, 1) IN () FROM (VALUES (1), (NULL)) AS v (x);
-- 1 | false | true | false
-- NULL | false | true | false

SELECT x FROM (VALUES (1), (2)) AS v (x) WHERE x IN () OR x = 2;
-- 2
