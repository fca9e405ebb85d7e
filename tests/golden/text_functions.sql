-- Functions of text count characters from 1, and are NULL for a NULL.
CREATE TABLE t (id INTEGER, s VARCHAR, n INTEGER);
INSERT INTO t VALUES (1, 'Thomas', 2), (2, '', 0), (3, NULL, 3), (4, '日本語', -1), (5, 'a b', NULL);

SELECT id, length(s), char_length(s), octet_length(s), bit_length(s) FROM t ORDER BY id;
-- 1 | 6 | 6 | 6 | 48
-- 2 | 0 | 0 | 0 | 0
-- 3 | NULL | NULL | NULL | NULL
-- 4 | 3 | 3 | 9 | 72
-- 5 | 3 | 3 | 3 | 24
SELECT lower(s), upper(s), initcap(s), reverse(s) FROM t ORDER BY id;
-- 'thomas' | 'THOMAS' | 'Thomas' | 'samohT'
-- '' | '' | '' | ''
-- NULL | NULL | NULL | NULL
-- '日本語' | '日本語' | '日本語' | '語本日'
-- 'a b' | 'A B' | 'A B' | 'b a'
SELECT initcap('hello wORLD, 2nd o''clock');
-- 'Hello World, 2nd O''Clock'

-- Positions before the first character count, as in the SQL standard.
SELECT substring('Thomas' FROM 2 FOR 3), substring('Thomas' FOR 2), substring('Thomas', 3), substr('Thomas', -1, 4);
-- 'hom' | 'Th' | 'omas' | 'Th'
SELECT substring('Thomas', 0, 2), substring('Thomas', 9, 2), substring('Thomas', 2, 0), substring('Thomas', 1, 2147483647);
-- 'T' | '' | '' | 'Thomas'
SELECT substring('Thomas', 2, -1);
-- error: DataError: the length of a substring cannot be negative, as -1 is
SELECT id, substring(s, n), substring(s, 2, n) FROM t WHERE n >= 0 OR n IS NULL ORDER BY id;
-- 1 | 'homas' | 'ho'
-- 2 | '' | ''
-- 3 | NULL | NULL
-- 5 | NULL | NULL
SELECT left('Thomas', 2), left('Thomas', -2), left('Thomas', 0), right('Thomas', 2), right('Thomas', -2), right('Thomas', 0);
-- 'Th' | 'Thom' | '' | 'as' | 'omas' | ''
SELECT id, left(s, n), right(s, n) FROM t ORDER BY id;
-- 1 | 'Th' | 'as'
-- 2 | '' | ''
-- 3 | NULL | NULL
-- 4 | '日本' | '本語'
-- 5 | NULL | NULL

-- TRIM takes a set of characters.
SELECT trim('  x '), ltrim('  x '), rtrim('  x ') || '|', btrim('xyzxx', 'yx');
-- 'x' | 'x ' | '  x|' | 'z'
SELECT trim(BOTH 'xy' FROM 'yxTomxx'), trim(LEADING 'x' FROM 'xxTomx'), trim(TRAILING FROM ' Tom ') || '|';
-- 'Tom' | 'Tomx' | ' Tom|'
SELECT trim('xy' FROM 'yxTomxx'), ltrim('zzzytest', 'xyz'), rtrim('testxxzx', 'xyz'), trim(' x', '');
-- 'Tom' | 'test' | 'test' | ' x'
SELECT trim(5);
-- error: ProgrammingError: trim() needs a string, not 5 (INTEGER) (line 1, column 13)

SELECT position('om' IN 'Thomas'), strpos('Thomas', 'x'), instr('日本語', '語'), position('' IN 'abc'), strpos('', 'a');
-- 3 | 0 | 3 | 1 | 0
SELECT replace('abcabc', 'bc', 'X'), replace('abc', '', 'X'), replace('abc', 'b', ''), translate('12345', '143', 'ax');
-- 'aXaX' | 'abc' | 'ac' | 'a2x5'
SELECT repeat('ab', 3), repeat('ab', 0), repeat('ab', -1);
-- 'ababab' | '' | ''
SELECT repeat('a long text', 1000000000);
-- error: DataError: the result of repeat() is longer than 100000000 bytes
SELECT lpad('hi', 5), lpad('hi', 5, 'xyz'), lpad('hello', 2), lpad('hi', 4, ''), rpad('hi', 5, 'xy') || '|', rpad('hi', -1);
-- '   hi' | 'xyzhi' | 'he' | 'hi' | 'hixyx|' | ''
SELECT id, lpad(s, n + 3, '*'), repeat(s, n) FROM t ORDER BY id;
-- 1 | 'Thoma' | 'ThomasThomas'
-- 2 | '***' | ''
-- 3 | NULL | NULL
-- 4 | '日本' | ''
-- 5 | NULL | NULL
SELECT overlay('Txxxxas' PLACING 'hom' FROM 2 FOR 4), overlay('Txxxxas' PLACING 'hom' FROM 2), overlay('abc', 'X', 9);
-- 'Thomas' | 'Thomxas' | 'abcX'
SELECT overlay('abc' PLACING 'X' FROM 0);
-- error: DataError: the length of a substring cannot be negative, as -1 is
SELECT split_part('abc~@~def~@~ghi', '~@~', 2), split_part('a,b', ',', 3), split_part('a,b', ',', -1), split_part('a,b', ',', -3);
-- 'def' | '' | 'b' | ''
SELECT split_part('', ',', 1), split_part('a', '', 1), split_part('a', '', 2);
-- '' | 'a' | ''
SELECT split_part('a,b', ',', 0);
-- error: DataError: split_part() counts from 1, or from -1 at the end; there is no part 0

-- concat leaves out NULL; || does not.
SELECT concat('a', NULL, 1, 2.50, true), 'a' || NULL, 'a' || 1, concat(NULL), concat_ws(',', 'a', NULL, 'b'), concat_ws(NULL, 'a');
-- 'a12.50true' | NULL | 'a1' | '' | 'a,b' | NULL

SELECT starts_with('alphabet', 'alph'), prefix('a', 'ab'), ends_with('alphabet', 'bet'), suffix('a', ''), contains('alphabet', 'hab');
-- true | false | true | true | true
SELECT ascii('x'), ascii(''), unicode('é'), ord('語'), chr(65), chr(128512), to_hex(255), to_hex(-1), to_hex(9223372036854775807);
-- 120 | 0 | 233 | 35486 | 'A' | '😀' | 'ff' | 'ffffffff' | '7fffffffffffffff'
SELECT chr(0);
-- error: DataError: there is no character with the number 0
SELECT chr(1114112);
-- error: DataError: there is no character with the number 1114112
SELECT md5('abc'), levenshtein('kitten', 'sitting'), levenshtein('日本', '日'), levenshtein('', 'abc');
-- '900150983cd24fb0d6963f7d28e17f72' | 3 | 1 | 3

-- A function takes as many arguments as it says, of its types.
SELECT lower(5);
-- error: ProgrammingError: lower() needs a string, not 5 (INTEGER) (line 1, column 8)
SELECT lpad('a');
-- error: ProgrammingError: lpad() takes 2 or 3 arguments, not 1 (line 1, column 8)
SELECT concat_ws(',');
-- error: ProgrammingError: concat_ws() takes at least 2 arguments, not 1 (line 1, column 8)
SELECT left('a', 'b');
-- error: ProgrammingError: left() needs an integer, not 'b' (VARCHAR) (line 1, column 8)
SELECT lowr('a');
-- error: ProgrammingError: function 'lowr' does not exist; did you mean 'lower'? (line 1, column 8)
SELECT replace('a', 'b');
-- error: ProgrammingError: replace() takes 3 arguments, not 2 (line 1, column 8)

-- Functions serve in filters and groups.
SELECT id FROM t WHERE left(s, 1) = 'T';
-- 1
SELECT length(s) AS size, count(*) FROM t GROUP BY length(s) ORDER BY size;
-- 0 | 1
-- 3 | 2
-- 6 | 1
-- NULL | 1

-- Characters by their numbers.
SELECT 'Bergen'[2:3], 'Bergen'[-1], 'Bergen'[0], 'Bergen'[:2], 'Bergen'[-2:], 'Bergen'[9], 'Bergen'[5:9];
-- 'er' | 'n' | '' | 'Be' | 'en' | '' | 'en'

SELECT x[2:], x[1], x[NULL:2] FROM (VALUES ('Zoë'), (NULL), ('')) t (x);
-- '' | '' | NULL
-- 'oë' | 'Z' | NULL
-- NULL | NULL | NULL

SELECT 'Bergen' ^@ 'Be', regexp_split_to_array('a1b22c', '\d+');
-- true | ['a', 'b', 'c']

SELECT string_split_regex('aaaäa', ''), string_split_regex('', ''), string_split_regex('a1b', '\d*');
-- ['a', 'a', 'a', 'ä', 'a'] | [] | ['a', '', 'b']
SELECT string_split_regex('abc', '(|abc)'), string_split_regex('a, b,c', ',? *'), string_split_regex('12', '\d*'), string_split_regex(NULL, 'x*');
-- ['a', 'b', 'c'] | ['a', '', 'b', '', 'c'] | ['', ''] | NULL

-- What matches nothing at some places alone ends the part before it.
SELECT regexp_split_to_array('ab', '\b'), regexp_split_to_array('abc', '\B'), string_split_regex('axb', 'x|\b');
-- ['a', 'b', ''] | ['a', 'b', 'c'] | ['a', '', 'b', '']
SELECT regexp_split_to_array('abc', '$'), regexp_split_to_array('abc', '^'), regexp_split_to_array('ab', 'b|$');
-- ['abc', ''] | ['a', 'bc'] | ['a', '']
SELECT string_split_regex('ax--', 'x|\b'), string_split_regex('aab', '^a'), string_split_regex('', '$'), string_split_regex('ä-ä', '\B');
-- ['a', '', '-', '-'] | ['', 'ab'] | [''] | ['ä', '-', 'ä']
SELECT regexp_split_to_table('ab', '\b') AS part;
-- 'a'
-- 'b'
-- ''
SELECT regexp_split_to_table('', '');
-- (no rows)
SELECT regexp_split_to_table('a', 'b', 'i');
-- error: ProgrammingError: regexp_split_to_table() takes (text, pattern), not such arguments (line 1, column 8)
SELECT regexp_split_to_array('a', '(');
-- error: DataError: '(' is not a valid regular expression: missing )

SELECT n, regexp_split_to_table(words, ' +') FROM (VALUES (1, 'a b  c'), (2, 'd')) AS t (n, words) ORDER BY ALL;
-- 1 | 'a'
-- 1 | 'b'
-- 1 | 'c'
-- 2 | 'd'
