-- Functions that DuckDB's users bring along.
CREATE TABLE t (g INTEGER, x INTEGER, w DOUBLE);
INSERT INTO t VALUES (1, 1, 1), (1, 5, 2), (1, NULL, 3), (2, 3, NULL), (2, 8, 0.5), (3, NULL, NULL);

-- The n first values in order, NULL left out.
SELECT g, max(x, 2), min(x, 2), arg_max(w, x, 2), min_by(x, w, 1) FROM t GROUP BY g ORDER BY g;
-- 1 | [5, 1] | [1, 5] | [2.0, 1.0] | [1]
-- 2 | [8, 3] | [3, 8] | [0.5] | [8]
-- 3 | NULL | NULL | NULL | NULL
SELECT max(x, 1 + 1) FILTER (WHERE x < 8), arg_min(x, -x, 3) FROM t;
-- [5, 3] | [8, 5, 3]
SELECT max(x, 0) FROM t;
-- error: ProgrammingError: max() needs a number of values from 1 on (line 1, column 8)
SELECT max(x, x) FROM t;
-- error: ProgrammingError: max() needs a number of values from 1 on (line 1, column 8)
SELECT max(x, 2) OVER () FROM t;
-- [8, 5]
-- [8, 5]
-- [8, 5]
-- [8, 5]
-- [8, 5]
-- [8, 5]

SELECT g, mean(x), round(geomean(x), 6), wavg(x, w), weighted_avg(x, 1), round(sem(x), 6), kurtosis_pop(x) FROM t GROUP BY g ORDER BY g;
-- 1 | 3.0 | 2.236068 | 3.6666666666666665 | 3.0 | 1.414214 | -2.0
-- 2 | 5.5 | 4.898979 | 8.0 | 5.5 | 1.767767 | -2.0
-- 3 | NULL | NULL | NULL | NULL | NULL | NULL
SELECT mean(x) OVER (ORDER BY x), round(geomean(x) OVER (PARTITION BY g), 6) FROM t WHERE x > 1 ORDER BY x;
-- 3.0 | 4.898979
-- 4.0 | 5.0
-- 5.333333333333333 | 4.898979
SELECT weighted_avg(x) FROM t;
-- error: ProgrammingError: weighted_avg() takes 2 arguments, not 1 (line 1, column 8)

SELECT 2 ** 3, -2 ** 2, 2 * 3 ** 2, x ** 2 FROM t WHERE g = 2 ORDER BY x;
-- 8.0 | 4.0 | 18.0 | 9.0
-- 8.0 | 4.0 | 18.0 | 64.0

-- Values in braces, where the form has none of PostgreSQL's.
SELECT format('{} is {}', g, x), format('{1}{0}{1}', g, w), format('{{{}}}', x) FROM t WHERE g < 3 ORDER BY g, x;
-- '1 is 1' | '1.011.0' | '{1}'
-- '1 is 5' | '2.012.0' | '{5}'
-- NULL | '3.013.0' | NULL
-- '2 is 3' | NULL | '{3}'
-- '2 is 8' | '0.520.5' | '{8}'
SELECT format('{:,} {:>4} {:.2f} {:t.} {:x} {:05}', 1234567, 'ab', 2.5, 7654321, 255, 42);
-- '1,234,567   ab 2.50 7.654.321 ff 00042'
SELECT format('{} {}', 1);
-- error: ProgrammingError: format() has 1 values, and none for '{}' (line 1, column 8)
SELECT format('{:d}', 1.5);
-- error: DataError: 'd' is no format of 1.5
SELECT format('{:100000}', 1);
-- error: ProgrammingError: format() makes no field as wide as that of '{:100000}' (line 1, column 8)
SELECT format('a { b', 1);
-- error: ProgrammingError: 'a { b' has a brace without its other one (line 1, column 8)
SELECT format('{"n": %s}', 1), format('{}');
-- '{"n": 1}' | '{}'

SELECT bin(5), bin('A'), bin(-1), unbin('0100000101000010'), to_base(255, 16), to_base(5, 2, 8), base64('Ray'), from_base64('UmF5');
-- '101' | '01000001' | '1111111111111111111111111111111111111111111111111111111111111111' | b'AB' | 'FF' | '00000101' | 'UmF5' | b'Ray'
SELECT unbin('2');
-- error: DataError: '2' has other digits than 0 and 1
SELECT from_base64('?');
-- error: DataError: '?' is no Base64
SELECT to_base(1, 37);
-- error: DataError: to_base() needs a number from 0 on, a base of 2 to 36 and at most 10000 digits, not 1, 37 and 0
SELECT url_encode('a/b ä'), url_decode('a%2Fb%20%C3%A4');
-- 'a%2Fb%20%C3%A4' | 'a/b ä'
SELECT url_decode('%FF');
-- error: DataError: '%FF' has bytes that are no UTF-8
SELECT md5('\xAA'::BLOB), md5_number('abc'), sha1(''::BLOB), sha256(NULL);
-- '9fe0f7244a7da1d3f5b3d21f9b1e1ea8' | 152195979970564155685860391459828531600 | 'da39a3ee5e6b4b0d3255bfef95601890afd80709' | NULL

SELECT round_even(x / 2, 0), round_even(x / 2 :: DECIMAL(3, 1), 0), roundbankers(x * 10 + 5, -1) FROM t WHERE x IS NOT NULL ORDER BY x;
-- 0 | 0.0 | 20
-- 1 | 2.0 | 40
-- 2 | 2.0 | 60
-- 4 | 4.0 | 80
SELECT round_even(1.0000000000005, 12), round_even(1.0000000000005000000001, 12), round_even(-3.5), round_even(0.0000000000015, 12);
-- 1.000000000000 | 1.000000000001 | -4 | 2E-12
SELECT binom(5, 2), binom(2, 5), binom(100, 50), fmod(-7, 3), fmod(7.5, -2), fdiv(-7, 2), gamma(5), lgamma(2), signbit(-1), signbit(0);
-- 10 | 0 | 100891344545564193334812497256 | 2.0 | -0.5 | -4.0 | 24.0 | 0.0 | true | false
SELECT binom(-1, 2);
-- error: DataError: binom() needs numbers from 0 on, not -1 and 2
SELECT binom(1000, 500);
-- error: DataError: the result of binom() has more than 38 digits

SELECT list_slice([1, 2, 3, 4, 5], 1, 5, 2), array_slice([1, 2, 3, 4, 5], 5, 1, -2), list_slice([1, 2, 3], -2, -1, 1), list_slice([]::INTEGER[], 1, 9, 1), list_slice(NULL::INTEGER[], 1, 2, 1);
-- [1, 3, 5] | [5, 3, 1] | [2, 3] | [] | NULL
SELECT list_slice([1], 1, 1, 0);
-- error: DataError: the step of a slice is 0
SELECT grade_up([30, 10, NULL, 20]), list_grade_up(['b', 'a'], 'DESC'), array_grade_up([]::INTEGER[]);
-- [2, 4, 1, 3] | [1, 2] | []
SELECT array_push_back([1], 2), array_push_front([2], 1), array_pop_back([1, 2]), array_pop_front([1, 2]), list_cat([1], [2], [3]), concat([1], NULL, [2]), char_length([1, 2]);
-- [1, 2] | [1, 2] | [1] | [2] | [1, 2, 3] | [1, 2] | 2
SELECT aggregate([1, 2, 3], 'sum'), map_contains_value(MAP {'a': 1}, 1), map_contains_entry(MAP {'a': 1}, 'a', 2);
-- 6 | true | false
SELECT json_pretty('{"a":[1,{"b":2}],"c":{}}'), json_quote('a'), array_to_json([1]), row_to_json({'a': 1});
-- '{\n    "a": [\n        1,\n        {\n            "b": 2\n        }\n    ],\n    "c": {}\n}' | '"a"' | '[1]' | '{"a":1}'
SELECT json_pretty('{');
-- error: DataError: '{' is not valid JSON

SELECT strptime('5/17/2026', ['%d.%m.%Y', '%m/%d/%Y']), try_strptime('soon', ['%d', '%m']), dayofmonth(DATE '2026-05-17'), days_in_month(DATE '2024-02-01');
-- 2026-05-17T00:00:00 | NULL | 17 | 29
SELECT strptime('soon', ['%d.%m.%Y', '%m/%d/%Y']);
-- error: DataError: 'soon' does not have the format '%m/%d/%Y'
SELECT ago(INTERVAL 1 DAY) = now() - INTERVAL 1 DAY, transaction_timestamp() = now(), current_localtimestamp() = localtimestamp;
-- true | true | true
SELECT regexp_extract('aaBB', 'a[b]', 'i');
-- 'aB'

SELECT struct_values({'a': 1, 'b': 'x'}), struct_values(NULL::STRUCT(a INTEGER));
-- {'f1': 1, 'f2': 'x'} | NULL
SELECT map_extract_value(m, k) FROM (VALUES (MAP {1: 'x'}, 1), (MAP {1: 'y'}, 2), (NULL, 1)) AS v (m, k);
-- 'x'
-- NULL
-- NULL
SELECT struct_values(1);
-- error: ProgrammingError: struct_values() needs a struct, not 1 (INTEGER) (line 1, column 8)
SELECT map_extract_value(1, 2);
-- error: ProgrammingError: map_extract_value() needs a map, not 1 (INTEGER) (line 1, column 8)
