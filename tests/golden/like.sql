CREATE TABLE t (id INTEGER, a VARCHAR);

INSERT INTO t VALUES
  (1, 'MFGR#12'), (2, 'MFGR#1'), (3, 'MFGR#121'), (4, 'mfgr#12'), (5, ''), (6, NULL),
  (7, '50%'), (8, '500'), (9, 'a_c'), (10, 'abc'), (11, 'éa'), (12, 'a.c');

SELECT id FROM t WHERE a LIKE 'MFGR#12%';
-- 1
-- 3
SELECT id FROM t WHERE a LIKE 'MFGR#12';
-- 1
SELECT id FROM t WHERE a LIKE '%12%';
-- 1
-- 3
-- 4
SELECT id FROM t WHERE a LIKE '%1';
-- 2
-- 3
SELECT id FROM t WHERE a LIKE 'M%1';
-- 2
-- 3

-- An underscore is one character (not one byte), a point is a point.
SELECT id FROM t WHERE a LIKE 'a_c';
-- 9
-- 10
-- 12
SELECT id FROM t WHERE a LIKE 'a.c';
-- 12
SELECT id FROM t WHERE a LIKE '_a';
-- 11
SELECT id FROM t WHERE a LIKE '50_';
-- 7
-- 8
SELECT id FROM t WHERE a LIKE 'MFGR#__';
-- 1

SELECT id FROM t WHERE a LIKE '';
-- 5
SELECT id FROM t WHERE a LIKE '%';
-- 1
-- 2
-- 3
-- 4
-- 5
-- 7
-- 8
-- 9
-- 10
-- 11
-- 12
SELECT id FROM t WHERE a NOT LIKE '%#%';
-- 5
-- 7
-- 8
-- 9
-- 10
-- 11
-- 12
SELECT id FROM t WHERE a LIKE 'absent%';
-- (no rows)

-- A backslash takes its meaning from the character after it.
SELECT id FROM t WHERE a LIKE '50\%';
-- 7
SELECT id FROM t WHERE a LIKE 'a\_%';
-- 9
SELECT id FROM t WHERE a LIKE 'a\';
-- error: DataError: the LIKE pattern 'a\' must not end with its escape character

SELECT id FROM t WHERE id LIKE '1%';
-- error: ProgrammingError: LIKE needs strings, not 'id' (INTEGER) (line 1, column 24)
