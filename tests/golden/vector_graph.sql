-- An hnsw index: a graph over vectors, along which a search walks.

CREATE TABLE docs (id INTEGER, lang VARCHAR, emb FLOAT[2]);
INSERT INTO docs SELECT range, CASE WHEN range % 3 = 0 THEN 'en' ELSE 'de' END, [range % 10, range // 10] FROM range(100);
INSERT INTO docs VALUES (100, 'en', NULL);
SELECT id FROM vector_search(docs, emb, [3, 4], k => 2, ef => 9);
-- 33
-- 43
-- warning: ef => 9 has no effect: there is no ivf index of 'emb' of 'docs' for l2, and all rows are compared
CREATE INDEX near ON docs USING hnsw (emb) WITH (m = 4, seed = 1);
SELECT name, column_name, method, metric, lists, vectors, rows_beside, null_vectors, size_bytes > 1000, options FROM vector_indexes();
-- 'near' | 'emb' | 'hnsw' | 'l2' | 10 | 100 | 0 | 1 | true | 'metric = ''l2'', seed = 1, m = 4, ef_construction = 12'
SELECT id, rank, distance, guarantee FROM vector_search(docs, emb, [3, 4.1], k => 3) ORDER BY rank;
-- 43 | 1 | 0.09999990463256836 | 'uncalibrated'
-- 53 | 2 | 0.9000000953674316 | 'uncalibrated'
-- 42 | 3 | 1.0049875526226795 | 'uncalibrated'
SELECT id, rank, probes > 2, guarantee FROM vector_search(docs, emb, [3, 4.1], k => 3, ef => 20) ORDER BY rank;
-- 43 | 1 | true | 'uncalibrated'
-- 53 | 2 | true | 'uncalibrated'
-- 42 | 3 | true | 'uncalibrated'
SELECT id, rank, guarantee FROM vector_search(docs, emb, [3, 4.1], k => 3, nprobe => 3) ORDER BY rank;
-- 43 | 1 | 'uncalibrated'
-- 53 | 2 | 'uncalibrated'
-- 42 | 3 | 'uncalibrated'
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4.1], k => 3, exact => true) ORDER BY rank;
-- 43 | 1 | 0 | 'exact'
-- 53 | 2 | 0 | 'exact'
-- 42 | 3 | 0 | 'exact'
SELECT count(*), count(DISTINCT id) FROM vector_search(docs, emb, [3, 4.1], k => 90);
-- 90 | 90
SELECT count(*) FROM vector_search(docs, emb, [3, 4.1], k => 101);
-- 100
SELECT id, rank, guarantee FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, [3, 4.1], k => 2, ef => 5) ORDER BY rank;
-- 42 | 1 | 'filtered'
-- 33 | 2 | 'filtered'
-- warning: ef => 5 has no effect: among filtered rows, and for more than 1000, lists are scanned
SELECT id FROM vector_search(docs, emb, [3, 4.1], max_distance => 0.5);
-- 43
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3);
-- has: search: a walk along the graph of 'near' that keeps 100 vectors
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3, ef => 20);
-- has: search: a walk along the graph of 'near' that keeps 20 vectors
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3, nprobe => 3);
-- has: search: 3 of 10 lists of 'near'
EXPLAIN ANALYZE SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3, ef => 20);
-- has: search: a walk along the graph of 'near' that keeps 20 vectors
-- has: probes: 20.0 on average over one query

-- ORDER BY, and the setting by the names that others have for it.
SELECT id FROM docs ORDER BY emb <-> [3, 4.1] LIMIT 3;
-- 43
-- 53
-- 42
EXPLAIN SELECT id FROM docs ORDER BY array_distance(emb, [3, 4.1]) LIMIT 3;
-- has: search: a walk along the graph of 'near' that keeps 100 vectors
SET ef_search = 40;
EXPLAIN SELECT id FROM docs ORDER BY array_distance(emb, [3, 4.1]) LIMIT 3;
-- has: search: a walk along the graph of 'near' that keeps 40 vectors
SET hnsw_ef_search = 41;
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3);
-- has: search: a walk along the graph of 'near' that keeps 41 vectors
SET nprobe = 2;
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3);
-- has: search: 2 of 10 lists of 'near'
RESET nprobe;
SET ef_search = 0;
-- error: ProgrammingError: ef_search is 'auto' or a number from 1 to 2000, not '0'
SET ef_search = 'many';
-- error: ProgrammingError: ef_search is 'auto' or a number from 1 to 2000, not 'many'
RESET ef_search;
SHOW ef_search;
-- 'auto'

-- A promise: `ef` is what is calibrated.
CALIBRATE INDEX near WITH (fnr = '0.05,0.2', k = '3', seed = 1);
SELECT k, fnr, score, threshold = fixed_nprobe, risk <= fnr, mean_probes > 1, source, state FROM index_calibrations('near') ORDER BY fnr;
-- 3 | 0.05 | 'ef' | true | true | true | 'held-out rows' | 'fresh'
-- 3 | 0.2 | 'ef' | true | true | true | 'held-out rows' | 'fresh'
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [3, 4.1], k => 3, fnr => 0.2);
-- 'marginal'
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3, fnr => 0.2);
-- has: search: a walk along the graph of 'near' that keeps 3 vectors and looks at about 3; at most 0.2 missed on average, calibrated with 75 held-out rows (fresh)
SELECT id, guarantee FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, [3, 4.1], k => 2, fnr => 0.2);
-- error: ProgrammingError: index 'near' is not calibrated for k => 2, fnr => 0.2, only for k => 3 with fnr => 0.05 or 0.2: CALIBRATE INDEX adds to that
SELECT DISTINCT guarantee FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, [3, 4.1], k => 3, fnr => 0.2);
-- 'exact'
EXPLAIN SELECT id FROM docs ORDER BY emb <-> [3, 4.1] LIMIT 3;
-- has: search: a walk along the graph of 'near' that keeps 3 vectors and looks at about 3; at most 0.05 missed on average, calibrated with 75 held-out rows (fresh)
CALIBRATE INDEX near WITH (fnr = '0.2', k = '3', score = 'ratio', seed = 1);
SELECT k, fnr, score FROM index_calibrations('near') ORDER BY ALL;
-- 3 | 0.05 | 'ef'
-- 3 | 0.2 | 'ef'
-- 3 | 0.2 | 'ratio'
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3, fnr => 0.2, score => 'ratio');
-- has: search: the first of 10 lists of 'near', which finds enough; at most 0.2 missed on average, calibrated with 75 held-out rows (fresh)
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4.1], k => 3, fnr => 0.2);
-- has: search: a walk along the graph of 'near' that keeps 3 vectors and looks at about 3; at most 0.2 missed on average, calibrated with 75 held-out rows (fresh)

-- Rows that come and go.
INSERT INTO docs VALUES (200, 'en', [3, 4.1]), (201, 'en', [3, 4.2]);
DELETE FROM docs WHERE id = 43;
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 3) ORDER BY rank;
-- 200 | 1
-- 201 | 2
-- 53 | 3
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [3, 4.1], k => 3, fnr => 0.2);
-- 'stale'
REINDEX near;
SELECT vectors, rows_beside FROM vector_indexes();
-- 101 | 0
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 3) ORDER BY rank;
-- 200 | 1
-- 201 | 2
-- 53 | 3
SELECT fnr, score, state FROM index_calibrations('near') ORDER BY ALL;
-- 0.05 | 'ef' | 'fresh'
-- 0.2 | 'ef' | 'fresh'
-- 0.2 | 'ratio' | 'fresh'
VACUUM;
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 3) ORDER BY rank;
-- 200 | 1
-- 201 | 2
-- 53 | 3
INSERT INTO docs VALUES (202, 'en', ['nan'::FLOAT, 1]);
-- error: DataError: index 'near', new row 1: the vector in 'emb' has NaN or infinity
UPDATE docs SET emb = [50, 50] WHERE id = 200;
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 2) ORDER BY rank;
-- 201 | 1
-- 53 | 2
SELECT id, rank FROM vector_search(docs, emb, [49, 50], k => 2) ORDER BY rank;
-- 200 | 1
-- 99 | 2
TRUNCATE docs;
SELECT count(*) FROM vector_search(docs, emb, [3, 4.1], k => 1);
-- error: ProgrammingError: vector_search() cannot find 1 rows: table 'docs' has 0 (line 1, column 36)
SELECT id FROM docs ORDER BY emb <-> [3, 4.1] LIMIT 3;
-- (no rows)
INSERT INTO docs VALUES (1, 'en', [1, 1]);
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 1) ORDER BY rank;
-- 1 | 1
REINDEX near;
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 1) ORDER BY rank;
-- 1 | 1
DELETE FROM docs;
REINDEX near;
SELECT vectors, lists FROM vector_indexes();
-- 0 | 0

-- What cannot be.
CREATE INDEX other ON docs USING ivf (emb);
-- error: ProgrammingError: column 'emb' of table 'docs' has the hnsw index 'near' for l2 already (line 1, column 39)
CREATE INDEX i ON docs USING hnsw (id);
-- error: NotSupportedError: column 'id' of table 'docs' is INTEGER, but an hnsw index needs FLOAT[n], DOUBLE[n], FLOAT16[n], TINYINT[n], BIT or BLOB (line 1, column 36)
CREATE UNIQUE INDEX i ON docs USING hnsw (emb);
-- error: NotSupportedError: the hnsw index 'i' is of one column, not UNIQUE or DESC (line 1, column 21)
CREATE INDEX i ON docs USING hnsw (emb) WITH (m = 1);
-- error: ProgrammingError: option 'm' of an hnsw index is a whole number from 2, not '1' (line 1, column 47)
CREATE INDEX i ON docs USING hnsw (emb) WITH (m = 500);
-- error: ProgrammingError: option 'm' of an hnsw index is a number from 2 to 128, not 500 (line 1, column 47)
CREATE INDEX i ON docs USING hnsw (emb) WITH (efc = 1);
-- error: ProgrammingError: option 'efc' of an hnsw index does not exist (line 1, column 47)
CREATE INDEX i ON docs USING ivf (emb) WITH (m = 16);
-- error: ProgrammingError: option 'm' of an ivf index does not exist (line 1, column 46)
CREATE INDEX i ON docs USING hnsw (emb) WITH (ef_construction = 'x');
-- error: ProgrammingError: option 'ef_construction' of an hnsw index is a whole number from 1, not 'x' (line 1, column 47)
INSERT INTO docs SELECT range, 'de', [range % 10, range // 10] FROM range(100);
SELECT id FROM vector_search(docs, emb, [3, 4], k => 2, ef => 0);
-- error: ProgrammingError: ef of vector_search() is a whole number from 1, not 0 (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], k => 2, ef => 3000);
-- error: ProgrammingError: ef of vector_search() is a whole number from 1 to 2000, not 3000 (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], k => 2, ef => 9, nprobe => 3);
-- error: ProgrammingError: vector_search() takes nprobe or ef, not both (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], max_distance => 2, ef => 9);
-- error: ProgrammingError: ef of vector_search() goes with k: all rows are not walked to (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], k => 2, fnr => 0.1);
-- error: ProgrammingError: index 'near' is not calibrated for k => 2, fnr => 0.1: CALIBRATE INDEX does that
DROP INDEX near;
CREATE INDEX near ON docs USING ivf (emb) WITH (lists = 4);
CALIBRATE INDEX near WITH (score = 'ef');
-- error: ProgrammingError: index 'near' has no graph, which score = 'ef' is for (line 1, column 17)
SELECT count(*) FROM vector_search(docs, emb, [3, 4], k => 2, ef => 9);
-- 2
-- warning: ef => 9 has no effect: index 'near' has no graph
CREATE INDEX angles ON docs USING hnsw (emb) WITH (metric = 'cosine');
-- error: DataError: table 'docs', row 2: the vector in 'emb' has a length of 0, which is no direction
DELETE FROM docs WHERE id = 0;
CREATE INDEX angles ON docs USING hnsw (emb) WITH (metric = 'cosine');
CREATE INDEX products ON docs USING hnsw (emb) WITH (metric = 'ip', ef_construction = 20);
DROP INDEX near;
CREATE INDEX near ON docs USING hnsw (emb vector_ip_ops) WITH (metric = 'l2sq');
-- error: ProgrammingError: index 'near' is for ip by its operators, not for l2 (line 1, column 14)
CREATE INDEX near ON docs USING hnsw (emb vector_l2_ops) WITH (metric = 'l2sq', m = 16, ef_construction = 64);
DROP INDEX angles;
CREATE INDEX angles ON docs USING ivfflat (emb vector_cosine_ops) WITH (lists = 5);
SET hnsw.ef_search = 50;
RESET ef_search;
SELECT name, method, metric, options FROM vector_indexes() ORDER BY ALL;
-- 'angles' | 'ivf' | 'cosine' | 'lists = 5, metric = ''cosine'', seed = 0'
-- 'near' | 'hnsw' | 'l2' | 'metric = ''l2'', seed = 0, m = 16, ef_construction = 64'
-- 'products' | 'hnsw' | 'ip' | 'metric = ''ip'', seed = 0, m = 16, ef_construction = 20'
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 3, metric => 'cosine') ORDER BY rank;
-- 75 | 1
-- 43 | 2
-- 86 | 3
SELECT id, rank FROM vector_search(docs, emb, [3, 4.1], k => 3, metric => 'ip') ORDER BY rank;
-- 99 | 1
-- 98 | 2
-- 89 | 3
SELECT id FROM docs ORDER BY emb <=> [3, 4.1] LIMIT 3;
-- 75
-- 43
-- 86
SELECT id FROM docs ORDER BY emb <#> [3, 4.1] LIMIT 3;
-- 99
-- 98
-- 89
SELECT q.id, d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => 2, metric => 'cosine') d WHERE q.id IN (12, 57);
-- 12 | 12
-- 12 | 36
-- 57 | 34
-- 57 | 57
