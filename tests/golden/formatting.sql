CREATE TABLE t (id INTEGER, n INTEGER, x DOUBLE, s VARCHAR, b BLOB);
INSERT INTO t VALUES (1, 255, 3.14159, 'Ray', x'00FF'), (2, -1, -0.5, 'Å', x''), (3, NULL, NULL, NULL, NULL);

SELECT hex(n), hex(s), hex(b), octet_length(b), unhex(hex(s)) FROM t ORDER BY id;
-- 'FF' | '526179' | '00FF' | 2 | b'Ray'
-- 'FFFFFFFFFFFFFFFF' | 'C385' | '' | 0 | b'\xc3\x85'
-- NULL | NULL | NULL | NULL | NULL
SELECT hex(CAST(-1 AS TINYINT)), hex(0), unhex(''), from_hex('0aFF');
-- 'FFFFFFFFFFFFFFFF' | '0' | b'' | b'\n\xff'
SELECT unhex('ABC');
-- error: DataError: 'ABC' is not an even number of hexadecimal digits
SELECT unhex('xy');
-- error: DataError: 'xy' is not an even number of hexadecimal digits
SELECT hex(1.5);
-- error: ProgrammingError: hex() needs an integer, a string or a BLOB, not 1.5 (DECIMAL(2,1)) (line 1, column 8)

SELECT format('%s has %s, %1$s has %% and %s', s, n) FROM t ORDER BY id;
-- 'Ray has 255, Ray has % and 255'
-- 'Å has -1, Å has % and -1'
-- ' has ,  has % and '
SELECT format('plain'), format('%2$s%1$s', 'a', 'b'), format('%s', 1.50), format('%s', DATE '2026-05-17');
-- 'plain' | 'ba' | '1.50' | '2026-05-17'
SELECT format('%s and %s', 1);
-- error: ProgrammingError: format() has 1 values, and none for '%s' (line 1, column 8)
SELECT format('%3$s', 1);
-- error: ProgrammingError: format() has 1 values, and none for '%3$s' (line 1, column 8)
SELECT format('%d', 1);
-- error: NotSupportedError: format() knows %s, %1$s, %I, %L and %%, not '%d' (line 1, column 8)
SELECT format('%L', 'a');
-- '''a'''
SELECT format(s) FROM t;
-- error: NotSupportedError: format() needs a constant format, not 's' (VARCHAR) (line 1, column 8)

SELECT printf('%d|%5d|%-5d|%05d|%+d', n, n, n, n, n), printf('%f %.2f %8.3f %e %g', x, x, x, x, x), printf('%s%%|%5s|%-5s|', s, s, s) FROM t ORDER BY id;
-- '255|  255|255  |00255|+255' | '3.141590 3.14    3.142 3.141590e+00 3.14159' | 'Ray%|  Ray|Ray  |'
-- '-1|   -1|-1   |-0001|-1' | '-0.500000 -0.50   -0.500 -5.000000e-01 -0.5' | 'Å%|    Å|Å    |'
-- NULL | NULL | NULL
SELECT printf('%.1f', 2.25), printf('%s', true), printf('none');
-- '2.2' | 'true' | 'none'
SELECT printf('%d', 1.5);
-- error: ProgrammingError: printf() needs an integer, not 1.5 (DECIMAL(2,1)) (line 1, column 8)
SELECT printf('%d');
-- error: ProgrammingError: '%d' takes 1 values, not 0 (line 1, column 8)
SELECT printf('%d', 1, 2);
-- error: ProgrammingError: '%d' takes 1 values, not 2 (line 1, column 8)
SELECT printf('%q', 1);
-- error: ProgrammingError: '%q' is no form of printf(): a field ends in one of diuxXocsfFeEgG, and %% is a per cent sign (line 1, column 8)
SELECT printf('100%');
-- error: ProgrammingError: '100%' is no form of printf(): a field ends in one of diuxXocsfFeEgG, and %% is a per cent sign (line 1, column 8)

SELECT pg_typeof(1), pg_typeof(1.5), pg_typeof('a'), pg_typeof([1.5]), pg_typeof(TIMESTAMP '2026-01-01'), pg_typeof(x'00'), pg_typeof(true);
-- 'integer' | 'numeric' | 'text' | 'numeric[]' | 'timestamp without time zone' | 'bytea' | 'boolean'
SELECT current_schema(), current_database(), current_catalog(), version() LIKE 'RayDB _%';
-- 'main' | 'raydb' | 'raydb' | true

-- sizes
SELECT format_bytes(0), format_bytes(1), format_bytes(1023), format_bytes(2047), format_bytes(-16000), format_bytes(9223372036854775807);
-- '0 bytes' | '1 byte' | '1023 bytes' | '1.9 KiB' | '-15.6 KiB' | '8191.9 PiB'
SELECT formatReadableSize(x), formatReadableDecimalSize(x) FROM (VALUES (999999), (NULL), (1000000)) AS v (x);
-- '976.5 KiB' | '1.0 MB'
-- '976.5 KiB' | '999.9 kB'
-- NULL | NULL
SELECT parse_formatted_bytes('16 KiB'), parse_formatted_bytes(' 1.5MB '), parse_formatted_bytes('7 bytes'), parse_formatted_bytes('1e3 k');
-- 16384 | 1500000 | 7 | 1000000
SELECT parse_formatted_bytes('5');
-- error: DataError: '5' is no size such as '16 KiB' or '1.5 MB'
SELECT parse_formatted_bytes('1.2.3 kB');
-- error: DataError: '1.2.3 kB' is no size such as '16 KiB' or '1.5 MB'
SELECT parse_formatted_bytes('9 EiB');
-- error: DataError: '9 EiB' is out of range for BIGINT

-- Fields as in C: places, hexadecimal, characters, groups of digits.
SELECT printf('%2$s %1$s', 'a', 'b'), printf('%x|%X|%o|%#x|%u', 255, 255, 8, 255, -1), printf('%c%c', 82, 68);
-- 'b a' | 'ff|FF|10|0xff|18446744073709551615' | 'RD'

SELECT printf('%,d|%''d|%_d|%.d', n, n, n, n), printf('%,.2f', 12345.678), printf('%.3d|%ld|%i', 5, 6, 7) FROM (VALUES (-1234567), (12)) AS v (n);
-- '-1,234,567|-1''234''567|-1_234_567|-1.234.567' | '12,345.68' | '005|6|7'
-- '12|12|12|12' | '12,345.68' | '005|6|7'

SELECT printf('%#o|%#x|%#X|%+ x|%hd|%zu', 8, 0, 255, 8, 5, 6), printf('%,.f|%0,15d|%-,12d|%+012.3f', 1234567.891, 1234567, 12345, -2.5);
-- '010|0|0XFF|8|5|6' | '1,234,568|0000001,234,567|12,345      |-0000002.500'

SELECT printf('%8.3s|%-4c|%05s|%E|%G|%#.0f', 'abcdef', 65, 'ab', 12345.678, 1e-10, 3), printf('%f|%08.1f|%.0f', 'inf'::DOUBLE, 'nan'::DOUBLE, -0.4);
-- '     abc|A   |   ab|1.234568E+04|1E-10|3.' | 'inf|     nan|-0'

SELECT printf('%c', 55296);
-- error: DataError: 55296 is no character

SELECT printf('%c', 1114112);
-- error: DataError: 1114112 is no character

SELECT printf('%0$s', 1);
-- error: ProgrammingError: '%0$s' takes 0 values, not 1 (line 1, column 8)

SELECT printf('%2$s', 1);
-- error: ProgrammingError: '%2$s' takes 2 values, not 1 (line 1, column 8)
