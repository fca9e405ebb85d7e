-- l1 of numbers, and hamming of BIT and BLOB: exactly, through indexes, beside them, and what is refused.
CREATE TABLE b (id INTEGER, s BIT, t BLOB, emb FLOAT[2]);
INSERT INTO b VALUES (1, '10101010', '\xaa', [1, 2]), (2, '11110000', '\xf0', [3, 5]), (3, NULL, NULL, NULL), (4, '11110001', '\xf1', [4, 4]);
SELECT id, rank, distance, probes, guarantee FROM vector_search(b, s, '11110011', k => 3);
-- 1 | 3 | 4.0 | 0 | 'exact'
-- 2 | 2 | 2.0 | 0 | 'exact'
-- 4 | 1 | 1.0 | 0 | 'exact'
SELECT id, rank, distance FROM vector_search(b, t, '\xf3'::BLOB, k => 3);
-- 1 | 3 | 4.0
-- 2 | 2 | 2.0
-- 4 | 1 | 1.0
SELECT id, rank, distance FROM vector_search(b, emb, [3, 4], k => 3, metric => 'l1');
-- 1 | 3 | 4.0
-- 2 | 1 | 1.0
-- 4 | 2 | 1.0
SELECT id, distance FROM vector_search(b, s, '11110011', max_distance => 2);
-- 2 | 2.0
-- 4 | 1.0
SELECT id FROM vector_search((SELECT * FROM b WHERE id <> 4), s, '11110011', k => 1);
-- 2
SELECT x.id, d.id, distance FROM b x LEFT JOIN LATERAL vector_search(b, s, x.s, k => 2) d ON rank = 2 ORDER BY x.id;
-- 1 | 2 | 4.0
-- 2 | 4 | 1.0
-- 3 | NULL | NULL
-- 4 | 2 | 1.0
SELECT id FROM vector_search(b, s, NULL, k => 1);
-- (no rows)
SELECT hamming_distance(t, '\xf3'::BLOB), jaccard_distance(t, '\xf0'::BLOB) FROM b ORDER BY id;
-- 4 | 0.6666666666666667
-- 2 | 0.0
-- NULL | NULL
-- 1 | 0.19999999999999996

-- What is refused.
SELECT id FROM vector_search(b, s, '1111', k => 1);
-- error: DataError: row 1: the vector in 's' has 8 bits, not 4
SELECT id FROM vector_search(b, s, '12', k => 1);
-- error: DataError: '12' is not a valid BIT (line 1, column 16)
SELECT id FROM vector_search(b, s, 5, k => 1);
-- error: ProgrammingError: vector_search() needs a BIT, as column 's' is, not 5 (INTEGER) (line 1, column 16)
SELECT id FROM vector_search(b, t, '11'::BIT, k => 1);
-- error: ProgrammingError: vector_search() needs a BLOB, as column 't' is, not 11 (BIT) (line 1, column 16)
SELECT id FROM vector_search(b, s, '11110011', k => 1, metric => 'l2');
-- error: ProgrammingError: column 's' of vector_search() is BIT, whose metric is hamming, not l2 (line 1, column 16)
SELECT id FROM vector_search(b, emb, [1, 2], k => 1, metric => 'hamming');
-- error: ProgrammingError: column 'emb' of vector_search() is FLOAT[2], whose metric is l2, cosine, ip or l1, not hamming (line 1, column 16)
SELECT hamming_distance('\xf3'::BLOB, '\xf3f3'::BLOB);
-- error: DataError: hamming_distance() needs bits of one length, not of 8 and 16
CREATE INDEX x ON b USING ivf (s);
-- error: ProgrammingError: column 's' of table 'b' is BIT, whose metric is hamming, not l2 (line 1, column 32)
CREATE INDEX x ON b USING ivf (emb) WITH (metric = 'hamming');
-- error: ProgrammingError: column 'emb' of table 'b' is FLOAT[2], whose metric is l2, cosine, ip or l1, not hamming (line 1, column 32)
CREATE INDEX x ON b USING ivf (emb vector_l1_ops) WITH (quantization = 'int8');
-- error: NotSupportedError: quantization = 'int8' is for l2, cosine and ip, not l1 (line 1, column 72)

-- Through indexes, and rows beside them.
CREATE INDEX x ON b USING ivfflat (s bit_hamming_ops) WITH (lists = 2);
CREATE INDEX y ON b USING hnsw (t) WITH (metric = 'hamming');
CREATE INDEX z ON b USING ivf (emb vector_l1_ops) WITH (lists = 2);
SELECT id FROM b ORDER BY s <~> '11110011' LIMIT 2;
-- 4
-- 2
EXPLAIN SELECT id FROM b ORDER BY s <~> '11110011' LIMIT 2;
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: id'
-- '  LimitRows: 2'
-- '    SortRows: order key'
-- '      ComputeColumns: id, hamming_distance(s, ''11110011'') AS order key'
-- '        NearestRows: 2 nearest to BIT by hamming'
-- '          search: 1 of 2 lists of ''x'''
-- '          ConstantRows: 1 row'
-- '          ScanTable: b (id, s)'
EXPLAIN SELECT id FROM b ORDER BY hamming_distance(t, '\xf3'::BLOB) LIMIT 2;
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: id'
-- '  LimitRows: 2'
-- '    SortRows: order key'
-- '      ComputeColumns: id, hamming_distance(t, b''\xf3'') AS order key'
-- '        NearestRows: 2 nearest to BLOB by hamming'
-- '          search: a walk along the graph of ''y'' that keeps 100 vectors'
-- '          ConstantRows: 1 row'
-- '          ScanTable: b (id, t)'
EXPLAIN SELECT id FROM b ORDER BY emb <+> '[3, 4]' LIMIT 2;
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: id'
-- '  LimitRows: 2'
-- '    SortRows: order key'
-- '      ComputeColumns: id, array_l1_distance(emb, (3.0, 4.0)) AS order key'
-- '        NearestRows: 2 nearest to FLOAT[2] by l1'
-- '          search: 1 of 2 lists of ''z'''
-- '          ConstantRows: 1 row'
-- '          ScanTable: b (id, emb)'
SELECT id, emb <+> '[3, 4]' AS far FROM b ORDER BY far LIMIT 2;
-- 2 | 1.0
-- 4 | 1.0
INSERT INTO b VALUES (5, '1111', NULL, NULL);
-- error: DataError: row 1: the vector in 's' has 4 bits, not 8
INSERT INTO b VALUES (5, '11110011', '\xf3', [3, 4]);
SELECT id, guarantee FROM vector_search(b, s, '11110011', k => 2, nprobe => 2);
-- 4 | 'exact'
-- 5 | 'exact'
SELECT id FROM vector_search(b, s, '1111', k => 1);
-- error: DataError: column 's' of vector_search() has vectors of 8 bits, the query has 4
DELETE FROM b WHERE id = 4;
REINDEX x;
REINDEX y;
VACUUM;
SELECT name, metric, vectors, rows_beside, null_vectors, options FROM vector_indexes() ORDER BY name;
-- 'x' | 'hamming' | 3 | 0 | 1 | 'lists = 2, metric = ''hamming'', seed = 0'
-- 'y' | 'hamming' | 3 | 0 | 1 | 'metric = ''hamming'', seed = 0, m = 16, ef_construction = 48'
-- 'z' | 'l1' | 2 | 1 | 1 | 'lists = 2, metric = ''l1'', seed = 0'
SELECT id, distance FROM vector_search(b, s, '11110011', k => 2, nprobe => 1);
-- 2 | 2.0
-- 5 | 0.0
SELECT id, distance FROM vector_search(b, t, '\xf3'::BLOB, k => 2, ef => 10);
-- 2 | 2.0
-- 5 | 0.0
SELECT id, distance FROM vector_search(b, emb, [3, 4], k => 2, nprobe => 2);
-- 2 | 1.0
-- 5 | 0.0

-- An index of no rows has bits of any number until there are some.
CREATE TABLE e (s BIT);
CREATE INDEX ei ON e USING ivf (s bit_hamming_ops);
INSERT INTO e VALUES ('01'), ('011');
-- error: DataError: row 2: the vector in 's' has 3 bits, not 2
INSERT INTO e VALUES ('01'), ('11');
SELECT s, distance FROM vector_search(e, s, '10', k => 1);
-- '11' | 1.0
SELECT s FROM vector_search(e, s, '101', k => 1);
-- error: DataError: column 's' of vector_search() has vectors of 2 bits, the query has 3
DELETE FROM e;
INSERT INTO e VALUES ('0101');
REINDEX ei;
SELECT s, distance FROM vector_search(e, s, '1000', k => 1);
-- '0101' | 3.0
