CREATE TABLE t (id INTEGER, s VARCHAR, p VARCHAR);
INSERT INTO t VALUES (1, 'abc', 'a%'), (2, 'a%c', 'a\%c'), (3, NULL, '%'), (4, 'a\c', NULL), (5, '', ''), (6, 'ÄB', 'ä_');

-- The pattern may be a column, and ESCAPE names the character that takes meanings away.
SELECT id, s LIKE p, s NOT LIKE p, s ILIKE p FROM t ORDER BY id;
-- 1 | true | false | true
-- 2 | true | false | true
-- 3 | NULL | NULL | NULL
-- 4 | NULL | NULL | NULL
-- 5 | true | false | true
-- 6 | false | true | true
SELECT id FROM t WHERE s LIKE '%!%%' ESCAPE '!';
-- 2
SELECT id FROM t WHERE s NOT LIKE '%!%%' ESCAPE '!' ORDER BY id;
-- 1
-- 4
-- 5
-- 6
SELECT 'a\c' LIKE 'a\c' ESCAPE '', 'a\c' LIKE 'a\\c', 'a%' LIKE 'a#%' ESCAPE '#', 'ab' ILIKE 'A!_' ESCAPE '!';
-- true | true | true | false
SELECT 'ab' LIKE 'a!' ESCAPE '!';
-- error: DataError: the LIKE pattern 'a!' must not end with its escape character
SELECT 'ab' LIKE 'a\';
-- error: DataError: the LIKE pattern 'a\' must not end with its escape character
SELECT 'ab' LIKE 'ab' ESCAPE 'xy';
-- error: DataError: the escape of LIKE is one character or none, not 'xy'
SELECT 'abc' ~~ 'a%', 'abc' !~~ 'a%', 'abc' ~~* 'A%', 'abc' LIKE NULL, NULL LIKE 'a';
-- true | false | true | NULL | NULL
SELECT 5 LIKE '5';
-- error: ProgrammingError: LIKE needs strings, not 5 (INTEGER) (line 1, column 8)
SELECT id FROM t WHERE s LIKE 'a' || '%' ORDER BY id;
-- 1
-- 2
-- 4
SELECT id FROM t WHERE CASE WHEN id < 4 THEN 'abc' LIKE s || '%' END ORDER BY id;
-- 1
-- 2
