CREATE TABLE t (id INTEGER, a INTEGER, s VARCHAR, d DATE, p DECIMAL(6, 2), x DOUBLE);

INSERT INTO t VALUES
  (1, 5, 'Rome', '1994-02-28', 2.45, 2.5),
  (2, -3, ' été ', '1996-12-31', -2.45, -2.5),
  (3, NULL, NULL, NULL, NULL, NULL);

-- CASE takes the first branch that is true, and computes no other.
SELECT id, CASE WHEN a > 0 THEN 'plus' WHEN a < 0 THEN 'minus' ELSE 'none' END FROM t ORDER BY id;
-- 1 | 'plus'
-- 2 | 'minus'
-- 3 | 'none'
SELECT id, CASE WHEN a > 0 THEN 1 END FROM t ORDER BY id;
-- 1 | 1
-- 2 | NULL
-- 3 | NULL
SELECT id, CASE a WHEN 5 THEN 'five' WHEN -3 THEN 'minus three' END FROM t ORDER BY id;
-- 1 | 'five'
-- 2 | 'minus three'
-- 3 | NULL
SELECT id, CASE WHEN a = 5 THEN 0 ELSE 10 / (a - 5) END FROM t WHERE a = 5;
-- 1 | 0
SELECT CASE WHEN a > 0 THEN 1 ELSE 0.5 END FROM t ORDER BY id;
-- 1.0
-- 0.5
-- 0.5
SELECT sum(CASE WHEN a > 0 THEN 1 ELSE 0 END) FROM t;
-- 1

SELECT id, coalesce(a, 0), coalesce(s, 'nothing'), coalesce(NULL, a, 7) FROM t ORDER BY id;
-- 1 | 5 | 'Rome' | 5
-- 2 | -3 | ' été ' | -3
-- 3 | 0 | 'nothing' | 7

-- Text, in characters.
SELECT upper(s), lower(s), length(s), trim(s), s || '!' FROM t ORDER BY id;
-- 'ROME' | 'rome' | 4 | 'Rome' | 'Rome!'
-- ' ÉTÉ ' | ' été ' | 5 | 'été' | ' été !'
-- NULL | NULL | NULL | NULL | NULL
SELECT substring(s, 2, 2), substring(s FROM 2 FOR 3), substring(s, 3) FROM t WHERE id < 3 ORDER BY id;
-- 'om' | 'ome' | 'me'
-- 'ét' | 'été' | 'té '

-- Dates.
SELECT extract(year FROM d), extract(month FROM d), extract(day FROM d) FROM t ORDER BY id;
-- 1994 | 2 | 28
-- 1996 | 12 | 31
-- NULL | NULL | NULL
SELECT extract(year FROM d) AS y, count(*) FROM t GROUP BY extract(year FROM d) ORDER BY y;
-- 1994 | 1
-- 1996 | 1
-- NULL | 1

-- Numbers. Halves are rounded away from zero.
SELECT abs(a), abs(p), round(p, 1), round(p), floor(p), ceil(p) FROM t ORDER BY id;
-- 5 | 2.45 | 2.5 | 2 | 2 | 3
-- 3 | 2.45 | -2.5 | -2 | -3 | -2
-- NULL | NULL | NULL | NULL | NULL | NULL
SELECT round(x), floor(x), ceil(x) FROM t ORDER BY id;
-- 3.0 | 2.0 | 3.0
-- -3.0 | -3.0 | -2.0
-- NULL | NULL | NULL

SELECT upper(a) FROM t;
-- error: ProgrammingError: upper() needs a string, not 'a' (INTEGER) (line 1, column 8)
SELECT round() FROM t;
-- error: ProgrammingError: round() takes 1 or 2 arguments, not 0 (line 1, column 8)

-- x.f(y) is f(x, y); the schemas of functions say no more.
SELECT 'aB'.lower(), 'a,b'.split(',').len(), [3, 1].list_sort(), [1, 2].list_transform(lambda x: x + 1), main.upper('a'), pg_catalog.abs(-1);
-- 'ab' | 2 | [1, 3] | [2, 3] | 'A' | 1

SELECT v.upper().length(), t.v.concat('!'), v.upper() AS u, u.lower() FROM (VALUES ('ab')) t(v) WHERE v.length() = 2 ORDER BY v.upper();
-- 2 | 'ab!' | 'AB' | 'ab'

SELECT i.sum(), v.string_agg('+') FROM (VALUES (1, 'a'), (2, 'b')) t(i, v);
-- 3 | 'a+b'

DESCRIBE SELECT v.lower() FROM (VALUES ('a')) t(v);
-- 'v.lower()' | 'VARCHAR' | 'YES' | NULL | NULL | NULL

SELECT v.nothing() FROM (VALUES ('a')) t(v);
-- error: ProgrammingError: function 'nothing' does not exist (line 1, column 8)

SELECT nothing.lower() FROM (VALUES ('a')) t(v);
-- error: ProgrammingError: column 'nothing' does not exist in 't' (line 1, column 8)

SELECT v.s FROM (VALUES ('a')) t(v);
-- error: ProgrammingError: table 'v' is not in FROM (line 1, column 8)
