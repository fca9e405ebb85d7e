-- vector_search() with max_distance and offset, and with k and max_distance that differ by row.
CREATE TABLE docs (id INTEGER PRIMARY KEY, lang VARCHAR, emb FLOAT[2], near DOUBLE, n INTEGER);
INSERT INTO docs SELECT range, CASE WHEN range % 3 = 0 THEN 'en' ELSE 'de' END, [range % 10, range // 10]::FLOAT[2], CASE WHEN range <> 2 THEN range % 3 END, range % 4 + 1 FROM range(100);

-- Without k all rows within the distance are found, with k the nearest of them.
SELECT id, rank, distance, probes, guarantee FROM vector_search(docs, emb, [3, 4], max_distance => 1) ORDER BY rank;
-- 43 | 1 | 0.0 | 0 | 'exact'
-- 33 | 2 | 1.0 | 0 | 'exact'
-- 42 | 3 | 1.0 | 0 | 'exact'
-- 44 | 4 | 1.0 | 0 | 'exact'
-- 53 | 5 | 1.0 | 0 | 'exact'
SELECT id, rank FROM vector_search(docs, emb, [3, 4], k => 3, max_distance => 0.5);
-- 43 | 1
SELECT id, rank FROM vector_search(docs, emb, [3, 4], max_distance => 1, offset => 2) ORDER BY rank;
-- 42 | 3
-- 44 | 4
-- 53 | 5
SELECT id, rank FROM vector_search(docs, emb, [3, 4], k => 2, offset => 2) ORDER BY rank;
-- 42 | 3
-- 44 | 4
SELECT id, rank FROM vector_search(docs, emb, [3, 4], k => 4, offset => 2, max_distance => 1) ORDER BY rank;
-- 42 | 3
-- 44 | 4
-- 53 | 5
SELECT count(*) FROM vector_search(docs, emb, [3, 4], offset => 95, k => 5);
-- 5
SELECT id, rank FROM vector_search(docs, emb, [3, 4], offset => 98, k => 5) ORDER BY rank;
-- 89 | 99
-- 99 | 100
SELECT id FROM vector_search(docs, emb, [3, 4], offset => 100, k => 5);
-- (no rows)
SELECT id FROM vector_search(docs, emb, [3, 4], offset => 2000000000, k => 5);
-- (no rows)
SELECT count(*) FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => q.n, offset => 98) d WHERE q.id < 4;
-- 7
SELECT count(*) FROM vector_search(docs, emb, [3, 4], max_distance => 'inf'::DOUBLE);
-- 100
SELECT count(*) FROM vector_search(docs, emb, [3, 4], max_distance => '-inf'::DOUBLE);
-- 0
SELECT count(*) FROM vector_search(docs, emb, [3, 4], max_distance => -1);
-- 0
SELECT count(*) FROM vector_search(docs, emb, [3, 4], max_distance => 0);
-- 1
SELECT count(*), max(rank) FROM vector_search(docs, emb, [3, 4], max_distance => 1e300);
-- 100 | 100
SELECT count(*) FROM vector_search(docs, emb, NULL, max_distance => 2);
-- 0
SELECT count(*) FROM vector_search((FROM docs WHERE false), emb, [1, 1], max_distance => 2);
-- 0
SELECT id, distance FROM vector_search(docs, emb, [1, 2], max_distance => -25.5, metric => 'ip');
-- 98 | -26.0
-- 99 | -27.0
SELECT count(*) FROM vector_search((FROM docs WHERE id > 0), emb, [1, 1], max_distance => 0.001, metric => 'cosine');
-- 9
EXPLAIN SELECT id FROM vector_search(docs, emb, [3, 4], max_distance => 1, offset => 2);
-- has: NearestRows: all nearest to FLOAT[2] within 1 by l2 after 2
EXPLAIN SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => q.n, max_distance => q.near) d;
-- has: NearestRows: CAST(n AS BIGINT) nearest to emb within near by l2

-- With an index they are those of the lists that are scanned; with a filter, all that pass it.
CREATE INDEX lists ON docs USING ivf (emb) WITH (lists = 10, seed = 1);
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4], max_distance => 1, nprobe => 2) ORDER BY rank;
-- 43 | 1 | 2 | 'uncalibrated'
-- 42 | 2 | 2 | 'uncalibrated'
-- 44 | 3 | 2 | 'uncalibrated'
-- 53 | 4 | 2 | 'uncalibrated'
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4], max_distance => 1, exact => true) ORDER BY rank;
-- 43 | 1 | 0 | 'exact'
-- 33 | 2 | 0 | 'exact'
-- 42 | 3 | 0 | 'exact'
-- 44 | 4 | 0 | 'exact'
-- 53 | 5 | 0 | 'exact'
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4], max_distance => 1, nprobe => 10) ORDER BY rank;
-- 43 | 1 | 10 | 'exact'
-- 33 | 2 | 10 | 'exact'
-- 42 | 3 | 10 | 'exact'
-- 44 | 4 | 10 | 'exact'
-- 53 | 5 | 10 | 'exact'
SELECT id, rank, probes, guarantee FROM vector_search((FROM docs WHERE lang = 'en'), emb, [3, 4], max_distance => 1.5, nprobe => 1) ORDER BY rank;
-- 33 | 1 | 0 | 'exact'
-- 42 | 2 | 0 | 'exact'
-- 54 | 3 | 0 | 'exact'
SELECT id, rank FROM vector_search(docs, emb, [3, 4], offset => 99, k => 5, exact => true);
-- 99 | 100
SELECT id FROM vector_search(docs, emb, [3, 4], offset => 100, k => 5, nprobe => 10);
-- (no rows)
SELECT id FROM docs ORDER BY emb <-> '[3, 4]' LIMIT 3 OFFSET 98;
-- 89
-- 99
SELECT id FROM docs ORDER BY emb <-> '[3, 4]' LIMIT 3 OFFSET 200;
-- (no rows)
INSERT INTO docs VALUES (100, 'en', [3.25, 4], NULL, NULL);
DELETE FROM docs WHERE id = 33;
SELECT id, rank FROM vector_search(docs, emb, [3, 4], max_distance => 1, nprobe => 10) ORDER BY rank;
-- 43 | 1
-- 100 | 2
-- 42 | 3
-- 44 | 4
-- 53 | 5
EXPLAIN ANALYZE SELECT id FROM vector_search(docs, emb, [3, 4], max_distance => 1, nprobe => 2);
-- has: probes: 2.0 on average over one query

-- Each row says how many, or how near; NULL finds nothing.
SELECT q.id, d.id, rank FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => q.n, exact => true) d WHERE q.id < 3;
-- 0 | 0 | 1
-- 1 | 0 | 2
-- 1 | 1 | 1
-- 2 | 1 | 2
-- 2 | 2 | 1
-- 2 | 3 | 3
SELECT q.id, d.id, rank FROM docs q, LATERAL vector_search(docs, emb, q.emb, max_distance => q.near, exact => true) d WHERE q.id < 4;
-- 0 | 0 | 1
-- 1 | 0 | 2
-- 1 | 1 | 1
-- 1 | 11 | 4
-- 1 | 2 | 3
-- 3 | 3 | 1
SELECT q.id, d.id FROM docs q LEFT JOIN LATERAL vector_search(docs, emb, q.emb, max_distance => q.near, k => q.n, exact => true) d ON true WHERE q.id < 4;
-- 0 | 0
-- 1 | 0
-- 1 | 1
-- 2 | NULL
-- 3 | 3
SELECT q.id, d.id, rank FROM docs q, LATERAL vector_search((FROM docs o WHERE o.lang = q.lang AND o.id <> q.id), emb, q.emb, max_distance => q.near) d WHERE q.id < 4;
-- 1 | 11 | 2
-- 1 | 2 | 1
SELECT q.id, d.id, rank FROM docs q, LATERAL vector_search((FROM docs o WHERE o.lang = q.lang AND o.id <> q.id), emb, q.emb, k => q.n) d WHERE q.id < 3;
-- 0 | 12 | 1
-- 1 | 11 | 2
-- 1 | 2 | 1
-- 2 | 1 | 1
-- 2 | 11 | 2
-- 2 | 13 | 3
SELECT count(*) FROM vector_search(docs, emb, [3, 4], max_distance => (SELECT 2), exact => true);
-- 13
SELECT id FROM docs q WHERE 2 <= (SELECT count(*) FROM vector_search(docs, emb, q.emb, max_distance => 0.25, exact => true));
-- 100
-- 43

-- The best of each group.
SELECT lang, id FROM docs QUALIFY row_number() OVER (PARTITION BY lang ORDER BY emb <-> '[3, 4]') <= 2;
-- 'en' | 42
-- 'de' | 43
-- 'de' | 44
-- 'en' | 100
SELECT DISTINCT ON (lang) lang, id FROM docs ORDER BY lang, emb <-> '[3, 4]';
-- 'de' | 43
-- 'en' | 100
SELECT lang, id, rank FROM vector_search(docs, emb, [3, 4], k => 20, exact => true) QUALIFY row_number() OVER (PARTITION BY lang ORDER BY rank) = 1;
-- 'de' | 43 | 1
-- 'en' | 100 | 2

-- What is refused.
SELECT id FROM vector_search(docs, emb, [3, 4], max_distance => 'x');
-- error: ProgrammingError: max_distance of vector_search() is a number, not 'x' (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], max_distance => NULL);
-- error: ProgrammingError: max_distance of vector_search() is a number, not NULL (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], max_distance => 'nan'::DOUBLE);
-- error: ProgrammingError: max_distance of vector_search() is a number, not nan (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], max_distance => random());
-- error: NotSupportedError: random() in vector_search() is not supported (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], offset => -1);
-- error: ProgrammingError: offset of vector_search() is a whole number from 0, not -1 (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], offset => NULL);
-- error: ProgrammingError: offset of vector_search() is a whole number from 0, not NULL (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], offset => 1.5);
-- error: ProgrammingError: offset of vector_search() is a whole number from 0, not 1.5 (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], k => 101, offset => 2);
-- error: ProgrammingError: vector_search() cannot find 101 rows: table 'docs' has 100 (line 1, column 30)
SELECT id FROM vector_search(docs, emb, [3, 4], k => 0);
-- error: ProgrammingError: k of vector_search() is a whole number from 1, not 0 (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], k => NULL);
-- error: ProgrammingError: k of vector_search() is a whole number from 1, not NULL (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], fnr => 0.1, max_distance => 1);
-- error: ProgrammingError: vector_search() takes fnr or max_distance, not both: what is promised is a share of the k nearest rows (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [3, 4], fnr => 0.1, offset => 1);
-- error: ProgrammingError: vector_search() takes fnr or offset, not both: what is promised is a share of the k nearest rows (line 1, column 16)
SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, fnr => 0.1, k => q.n) d;
-- error: ProgrammingError: vector_search() with fnr needs one k for all rows (line 1, column 34)
SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => q.lang) d;
-- error: ProgrammingError: k of vector_search() is a whole number, not 'lang' (VARCHAR) (line 1, column 34)
SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => q.n - 1) d;
-- error: ProgrammingError: k of vector_search() is a whole number from 1, not 0
SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => q.near) d;
-- error: ProgrammingError: k of vector_search() is a whole number, not 'near' (DOUBLE) (line 1, column 34)
SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, max_distance => q.lang) d;
-- error: ProgrammingError: max_distance of vector_search() is a number, not 'lang' (VARCHAR) (line 1, column 34)
SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, max_distance => q.near + 'nan'::DOUBLE) d;
-- error: ProgrammingError: max_distance of vector_search() is a number, not NaN
SELECT d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, offset => q.n) d;
-- error: NotSupportedError: offset of vector_search() is a constant, the same for all rows, not 'n' (INTEGER) (line 1, column 34)
SELECT id FROM vector_search(docs, emb, [3, 4], max_dist => 1);
-- error: ProgrammingError: vector_search() takes no argument 'max_dist'; did you mean 'max_distance'? (line 1, column 16)
