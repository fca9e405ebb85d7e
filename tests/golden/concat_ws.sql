-- A row of NULLs is an empty text, and stays a row.
CREATE TABLE t (i INTEGER, a VARCHAR, b VARCHAR);
INSERT INTO t VALUES (1, NULL, NULL), (2, 'a', NULL), (3, NULL, 'b'), (4, 'a', 'b'), (5, '', '');
SELECT i, concat_ws('-', a, b), concat_ws('-', a), concat_ws(a, 'x', b, 'y') FROM t ORDER BY i;
-- 1 | '' | '' | NULL
-- 2 | 'a' | 'a' | 'xay'
-- 3 | 'b' | '' | NULL
-- 4 | 'a-b' | 'a' | 'xabay'
-- 5 | '-' | '' | 'xy'
SELECT count(*), count(concat_ws('-', a, b)) FROM t;
-- 5 | 5
SELECT i FROM t WHERE concat_ws('-', a, b) = '' ORDER BY i;
-- 1
SELECT concat_ws('-', NULL, NULL), concat_ws(NULL, 'a'), concat_ws('-', a, NULL) FROM t WHERE i < 3 ORDER BY i;
-- '' | NULL | ''
-- '' | NULL | 'a'
SELECT string_agg(concat_ws('-', a, b), '|' ORDER BY i) FROM t;
-- '|a|b|a-b|-'
