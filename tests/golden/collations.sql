CREATE TABLE t (id INTEGER, s VARCHAR);
INSERT INTO t VALUES (1, 'abc'), (2, 'ABC'), (3, 'Ab'), (4, 'äbc'), (5, 'b'), (6, 'B'), (7, NULL);
SELECT 'a' COLLATE NOCASE = 'A', 'A' = 'a' COLLATE nocase, 'ä' COLLATE NOACCENT = 'a', 'Ä' COLLATE NOCASE.NOACCENT = 'a', 'a' COLLATE "binary" = 'A', e'e\u0301' COLLATE NFC = 'é';
-- true | true | true | true | false | true
SELECT strip_accents('Ångström'), nfc_normalize(e'e\u0301') = 'é', 'Å' COLLATE NOACCENT;
-- 'Angstrom' | true | 'Å'
SELECT id FROM t WHERE s COLLATE NOCASE = 'ABC' ORDER BY id;
-- 1
-- 2
SELECT id FROM t WHERE s COLLATE NOCASE.NOACCENT IN ('ABC', 'x') ORDER BY id;
-- 1
-- 2
-- 4
SELECT id FROM t WHERE s COLLATE NOCASE BETWEEN 'AB' AND 'ABC' ORDER BY id;
-- 1
-- 2
-- 3
SELECT id FROM t WHERE s COLLATE NOCASE LIKE 'aB%' ORDER BY id;
-- 1
-- 2
-- 3
SELECT id FROM t WHERE s COLLATE NOCASE IN (SELECT 'aBC') ORDER BY id;
-- 1
-- 2
SELECT s FROM t ORDER BY s COLLATE NOCASE.NOACCENT, id;
-- 'Ab'
-- 'abc'
-- 'ABC'
-- 'äbc'
-- 'b'
-- 'B'
-- NULL
SELECT lower(s), count(*) FROM (SELECT s COLLATE NOCASE AS s FROM t) GROUP BY s ORDER BY s;
-- 'ab' | 1
-- 'abc' | 2
-- 'b' | 2
-- 'äbc' | 1
-- NULL | 1
SELECT lower(s), count(*) FROM (SELECT s COLLATE NOCASE AS s FROM t) GROUP BY ROLLUP (s) HAVING s > 'AB' OR s IS NULL ORDER BY 1, 2;
-- 'abc' | 2
-- 'b' | 2
-- 'äbc' | 1
-- NULL | 1
-- NULL | 7
SELECT lower(s) FROM (SELECT DISTINCT s COLLATE NOCASE AS s FROM t) ORDER BY s;
-- 'ab'
-- 'abc'
-- 'b'
-- 'äbc'
-- NULL
SELECT count(DISTINCT s), count(DISTINCT s COLLATE NOCASE), count(DISTINCT s COLLATE NOCASE.NOACCENT) FROM t;
-- 6 | 4 | 3
SELECT lower(min(s COLLATE NOCASE)), lower(max(s COLLATE NOCASE)) FROM t;
-- 'ab' | 'äbc'
SELECT a.id, b.id FROM t a JOIN t b ON a.s COLLATE NOACCENT = b.s WHERE a.id < b.id ORDER BY a.id;
-- 1 | 4
SELECT count(*) FROM (SELECT s COLLATE NOCASE AS s FROM t) JOIN t USING (s);
-- 10
SELECT id, row_number() OVER (PARTITION BY s COLLATE NOCASE ORDER BY id) FROM t ORDER BY id;
-- 1 | 1
-- 2 | 2
-- 3 | 1
-- 4 | 1
-- 5 | 1
-- 6 | 2
-- 7 | 1
SELECT string_agg(s, ',' ORDER BY s COLLATE NOCASE DESC, id) FROM t;
-- 'äbc,b,B,abc,ABC,Ab'
WITH c AS (SELECT upper(s COLLATE NOCASE) || 'x' AS s FROM t) SELECT count(*) FROM c WHERE s = 'abcX';
-- 2
SELECT 'a' COLLATE NOCASE = 'A' COLLATE NOACCENT;
-- error: ProgrammingError: texts of the collations nocase and noaccent do not go together (line 1, column 8)
SELECT 'a' COLLATE german;
-- error: ProgrammingError: collation 'german' does not exist (line 1, column 8)
SELECT 'a' COLLATE NOCASE.NOCASE;
-- error: ProgrammingError: the collation 'NOCASE.NOCASE' says a part twice (line 1, column 8)
SELECT 1 COLLATE NOCASE;
-- error: ProgrammingError: COLLATE needs a text (line 1, column 8)
