CREATE TABLE t (id INTEGER, b BLOB);

INSERT INTO t VALUES (1, x'AB00'), (2, '\xAB'), (3, ''), (4, NULL), (5, 'text'), (6, x'AB00');

SELECT id, b, b::VARCHAR FROM t ORDER BY id;
-- 1 | b'\xab\x00' | '\xab00'
-- 2 | b'\xab' | '\xab'
-- 3 | b'' | '\x'
-- 4 | NULL | NULL
-- 5 | b'text' | '\x74657874'
-- 6 | b'\xab\x00' | '\xab00'

SELECT id FROM t ORDER BY b DESC, id;
-- 4
-- 1
-- 6
-- 2
-- 5
-- 3

SELECT id FROM t WHERE b = '\xAB' OR b > x'AB' ORDER BY id;
-- 1
-- 2
-- 6

SELECT b, count(*) FROM t GROUP BY b ORDER BY b;
-- b'' | 1
-- b'text' | 1
-- b'\xab' | 1
-- b'\xab\x00' | 2
-- NULL | 1

SELECT min(b), max(b), count(DISTINCT b) FROM t;
-- b'' | b'\xab\x00' | 4

SELECT DISTINCT b FROM t WHERE b IS NOT NULL;
-- b''
-- b'\xab'
-- b'\xab\x00'
-- b'text'

SELECT x.id, y.id FROM t x JOIN t y ON x.b = y.b WHERE x.id < y.id;
-- 1 | 6

SELECT id FROM t WHERE b IN (x'', '\x74657874') ORDER BY id;
-- 3
-- 5

SELECT b + 1 FROM t;
-- error: ProgrammingError: cannot add 1 (INTEGER) to 'b' (BLOB) (line 1, column 8)

INSERT INTO t VALUES (7, 5);
-- error: ProgrammingError: column 'b' has the type BLOB, but its value is 5 (INTEGER)

INSERT INTO t VALUES (7, '\xA');
-- error: DataError: column 'b': '\xA' is not a valid BLOB

COPY t TO '$TMP/blobs.parquet';

SELECT * FROM '$TMP/blobs.parquet' ORDER BY id;
-- 1 | b'\xab\x00'
-- 2 | b'\xab'
-- 3 | b''
-- 4 | NULL
-- 5 | b'text'
-- 6 | b'\xab\x00'

COPY t TO '$TMP/blobs.flat';

SELECT * FROM '$TMP/blobs.flat' ORDER BY id;
-- 1 | b'\xab\x00'
-- 2 | b'\xab'
-- 3 | b''
-- 4 | NULL
-- 5 | b'text'
-- 6 | b'\xab\x00'

-- bytes joined, and text as bytes
SELECT '\x01\xFF'::BLOB || '\x02'::BLOB, 'ab' || '\x00'::BLOB, '\x01'::BLOB || NULL, typeof(NULL || NULL);
-- b'\x01\xff\x02' | b'ab\x00' | NULL | 'VARCHAR'
SELECT b || b FROM (VALUES ('\x7F'::BLOB), (NULL)) AS v (b);
-- NULL
-- b'\x7f\x7f'
SELECT encode('Tromsø'), decode(encode('Tromsø')) = 'Tromsø', encode(NULL);
-- b'Troms\xc3\xb8' | true | NULL
SELECT decode('\xC3'::BLOB);
-- error: DataError: the bytes of decode() are no text in UTF-8
SELECT decode(5);
-- error: ProgrammingError: decode() needs a BLOB, not 5 (INTEGER) (line 1, column 8)
