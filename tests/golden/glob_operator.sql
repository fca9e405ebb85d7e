CREATE TABLE t (id INTEGER, s VARCHAR);
INSERT INTO t VALUES (1, 'abc'), (2, 'aBc'), (3, 'a*c'), (4, 'a]c'), (5, ''), (6, NULL), (7, E'a\nc'), (8, 'a\c');

SELECT id FROM t WHERE s GLOB 'a?c' ORDER BY id;
-- 1
-- 2
-- 3
-- 4
-- 7
-- 8
SELECT id FROM t WHERE s GLOB 'a[a-z]c' ORDER BY id;
-- 1
SELECT id FROM t WHERE s GLOB 'a[!a-z]*' ORDER BY id;
-- 2
-- 3
-- 4
-- 7
-- 8
SELECT id FROM t WHERE s GLOB 'a[^b]c' ORDER BY id;
-- 2
-- 3
-- 4
-- 7
-- 8
SELECT id FROM t WHERE s GLOB 'a\*c' ORDER BY id;
-- 3
SELECT id FROM t WHERE s GLOB 'a[]]c' ORDER BY id;
-- 4
SELECT id FROM t WHERE s GLOB 'a[*\]c' ORDER BY id;
-- 3
-- 8
SELECT id FROM t WHERE s GLOB '*' ORDER BY id;
-- 1
-- 2
-- 3
-- 4
-- 5
-- 7
-- 8
SELECT id FROM t WHERE s NOT GLOB 'a*' ORDER BY id;
-- 5
SELECT 'a[c' GLOB 'a[c', 'abc' GLOB s, 'x' GLOB NULL FROM t WHERE id = 3;
-- true | true | NULL
SELECT 'a' GLOB '[z-a]';
-- error: DataError: '[z-a]' is not a valid regular expression: invalid character class range
SELECT 1 GLOB 'a';
-- error: ProgrammingError: GLOB needs strings, not 1 (INTEGER) (line 1, column 8)
