CREATE TABLE docs (id INTEGER PRIMARY KEY, lang VARCHAR, emb FLOAT[2]);
INSERT INTO docs SELECT range, CASE WHEN range % 3 = 0 THEN 'en' ELSE 'de' END, [range % 10, range / 10]::FLOAT[2] FROM range(100);
INSERT INTO docs VALUES (100, 'en', NULL);

-- Rows are scanned as bytes, and distances are exact all the same.
CREATE INDEX near ON docs USING ivf (emb) WITH (lists = 10, quantization = 'int8', seed = 1);
SELECT id, rank, distance, guarantee FROM vector_search(docs, emb, [3, 4], k => 3, nprobe => 4);
-- 33 | 2 | 1.0 | 'uncalibrated'
-- 42 | 3 | 1.0 | 'uncalibrated'
-- 43 | 1 | 0.0 | 'uncalibrated'
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4], k => 5, nprobe => 10);
-- 33 | 2 | 10 | 'exact'
-- 42 | 3 | 10 | 'exact'
-- 43 | 1 | 10 | 'exact'
-- 44 | 4 | 10 | 'exact'
-- 53 | 5 | 10 | 'exact'
SELECT id, rank, guarantee FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, [3, 4], k => 3, nprobe => 2);
-- 42 | 1 | 'filtered'
-- 45 | 3 | 'filtered'
-- 54 | 2 | 'filtered'
CREATE TABLE plain AS SELECT * FROM docs;
CREATE INDEX plain_near ON plain USING ivf (emb) WITH (lists = 10, quantization = 'none', seed = 1);
SELECT count(*) FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => 7, nprobe => 2) d;
-- 700
SELECT count(*) FROM (
  SELECT q.id, d.id, d.rank, d.distance, d.probes FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => 7, nprobe => 2) d
  EXCEPT
  SELECT q.id, d.id, d.rank, d.distance, d.probes FROM docs q, LATERAL vector_search(plain, emb, q.emb, k => 7, nprobe => 2) d);
-- 0

-- They follow the rows.
DELETE FROM docs WHERE id IN (43, 100);
VACUUM;
INSERT INTO docs VALUES (101, 'en', [3, 4]);
SELECT id, rank, distance FROM vector_search(docs, emb, [3, 4], k => 3, nprobe => 4);
-- 101 | 1 | 0.0
-- 33 | 2 | 1.0
-- 42 | 3 | 1.0
REINDEX near;
SELECT id, rank, distance FROM vector_search(docs, emb, [3, 4], k => 3, nprobe => 4);
-- 101 | 1 | 0.0
-- 33 | 2 | 1.0
-- 42 | 3 | 1.0
SELECT name, vectors, rows_beside FROM vector_indexes() ORDER BY name;
-- 'near' | 100 | 0
-- 'plain_near' | 100 | 0

CREATE INDEX other ON docs USING ivf (emb) WITH (metric = 'ip', quantization = 'int4');
-- error: ProgrammingError: the quantization of an ivf index is none or int8, not 'int4'; did you mean 'int8'? (line 1, column 80)
CREATE INDEX other ON docs USING ivf (emb) WITH (metric = 'ip', quantisation = 'int8');
-- error: ProgrammingError: option 'quantisation' of an ivf index does not exist; did you mean 'quantization'? (line 1, column 65)
