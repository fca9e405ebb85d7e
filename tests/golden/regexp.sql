CREATE TABLE t (id INTEGER, s VARCHAR, p VARCHAR);
INSERT INTO t VALUES (1, 'Thomas', '^T'), (2, 'thomas', 'T'), (3, NULL, 'a'), (4, '', '^$'), (5, E'one\ntwo', 'e.t'), (6, 'a.b', 'a\.b');

-- ~ searches for a regular expression, ~* ignores case.
SELECT id, s ~ 'om', s ~ '^T', s ~* '^T', s !~ 'om', s !~* 'OM' FROM t ORDER BY id;
-- 1 | true | true | true | false | false
-- 2 | true | false | true | false | false
-- 3 | NULL | NULL | NULL | NULL | NULL
-- 4 | false | false | false | true | true
-- 5 | false | false | false | true | true
-- 6 | false | false | false | true | true

-- The dot matches a line break, and ^ only the beginning of the text.
SELECT s ~ 'e.t', s ~ '^two', regexp_matches(s, '^two', 'n'), regexp_matches(s, 'e.t', 'n') FROM t WHERE id = 5;
-- true | false | true | false

-- The pattern may be a column.
SELECT id, s ~ p, s ~* p FROM t ORDER BY id;
-- 1 | true | true
-- 2 | false | true
-- 3 | NULL | NULL
-- 4 | true | true
-- 5 | true | true
-- 6 | true | true
SELECT regexp_like('Thomas', 'THO'), regexp_like('Thomas', 'THO', 'i'), regexp_full_match('Thomas', 'T.*s'), regexp_full_match('Thomas', 'T|om');
-- false | true | true | false
SELECT 'a' ~ NULL, NULL ~ 'a';
-- NULL | NULL
SELECT 'a' ~ '(';
-- error: DataError: '(' is not a valid regular expression: missing )
SELECT s ~ '[' FROM t;
-- error: DataError: '[' is not a valid regular expression: missing ]
SELECT regexp_matches('a', 'a', 'q');
-- error: DataError: there is no flag 'q' for regular expressions
SELECT 1 ~ 'a';
-- error: ProgrammingError: ~ needs strings, not 1 (INTEGER) (line 1, column 8)

SELECT regexp_replace('foobarbaz', 'b..', 'X'), regexp_replace('foobarbaz', 'b..', 'X', 'g'), regexp_replace('foobarbaz', 'b(..)', 'X\1Y', 'g');
-- 'fooXbaz' | 'fooXX' | 'fooXarYXazY'
SELECT regexp_replace('Thomas', '.[mN]a.', 'M'), regexp_replace('ABC', 'b', '<\&>', 'i'), regexp_replace('a', 'b', 'c');
-- 'ThM' | 'A<B>C' | 'a'
SELECT regexp_replace('abc', 'b', '\1');
-- error: DataError: the replacement '\1' names a group that 'b' does not have
SELECT regexp_extract('foobarbaz', 'b..'), regexp_extract('foobarbaz', '(b)(..)', 2), regexp_extract('foobar', 'x'), regexp_extract('a(b)', '\((.)\)', 1), regexp_extract('ABC', 'b', 0, 'i');
-- 'bar' | 'ar' | '' | 'b' | 'B'
SELECT regexp_extract('abc', '(a)', 2);
-- error: DataError: the regular expression '(a)' has no group 2
SELECT id, regexp_extract(s, '([a-z])([a-z])', 2) FROM t ORDER BY id;
-- 1 | 'o'
-- 2 | 'h'
-- 3 | NULL
-- 4 | ''
-- 5 | 'n'
-- 6 | ''

-- SIMILAR TO matches the whole text.
SELECT 'abc' SIMILAR TO 'abc', 'abc' SIMILAR TO 'a', 'abc' SIMILAR TO '%(b|d)%', 'abc' SIMILAR TO '(b|c)%', 'abc' NOT SIMILAR TO '_b_', 'a.c' SIMILAR TO 'a.c', 'abc' SIMILAR TO 'a.c';
-- true | false | true | false | false | true | false
SELECT 'a%c' SIMILAR TO 'a!%c' ESCAPE '!', 'abc' SIMILAR TO 'a!%c' ESCAPE '!', 'xyz' SIMILAR TO '[w-y]{1,2}z', 'ab' SIMILAR TO '[^b]b';
-- true | false | true | true
SELECT 'a' SIMILAR TO '(a';
-- error: DataError: '(a' is not a valid regular expression: missing )

SELECT s FROM t WHERE s ~ 'o' AND id < 5 ORDER BY id;
-- 'Thomas'
-- 'thomas'

-- groups by name, and patterns of a text
SELECT regexp_extract(t, '(\d+)-(\d+)', ['year', 'month']) AS found FROM (VALUES ('2026-05'), ('soon'), (NULL)) AS v (t);
-- {'year': '', 'month': ''}
-- {'year': '2026', 'month': '05'}
-- NULL
SELECT regexp_extract('2026-05', '(\d+)-(\d+)', ['year', 'month', 'day']);
-- error: DataError: the regular expression '(\d+)-(\d+)' has no group 3
SELECT regexp_escape('a.b (ø)'), 'a.b (ø)' ~ regexp_escape('a.b (ø)'), 'axb (ø)' ~ regexp_escape('a.b (ø)');
-- 'a\.b\ \(ø\)' | true | false

-- Groups by name, and texts as patterns.
SELECT regexp_extract('2024-01', '(\d+)-(\d+)', ['y', 'm']), regexp_extract('x', '(\d+)-(\d+)', ['y', 'm']).y, regexp_extract(NULL, '(\d)', ['d']);
-- {'y': '2024', 'm': '01'} | '' | NULL

SELECT regexp_extract(s, '([A-Z])(\d)', ['letter', 'digit'], 'i') FROM (VALUES ('x1'), ('y'), (NULL)) AS v(s);
-- NULL
-- {'letter': '', 'digit': ''}
-- {'letter': 'x', 'digit': '1'}

SELECT regexp_extract('a', '(a)', ['x', 'y']);
-- error: DataError: the regular expression '(a)' has no group 2

SELECT regexp_extract('a', '(a)', ['x', 'X']);
-- error: ProgrammingError: regexp_extract() needs a group, or different names for the first ones (line 1, column 8)

SELECT regexp_escape('a.b c-_é/'), regexp_escape(NULL), regexp_matches('1.5', regexp_escape('1.5')), regexp_matches('115', regexp_escape('1.5'));
-- 'a\.b\ c\-_é\/' | NULL | true | false
