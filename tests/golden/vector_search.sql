CREATE TABLE docs (id INTEGER PRIMARY KEY, lang VARCHAR, emb FLOAT[2]);
INSERT INTO docs SELECT range, CASE WHEN range % 3 = 0 THEN 'en' ELSE 'de' END, [range % 10, range / 10]::FLOAT[2] FROM range(100);
INSERT INTO docs VALUES (100, 'en', NULL);

-- Without an index all rows are compared. Of rows at the same distance the first comes first.
SELECT id, rank, distance, probes, guarantee FROM vector_search(docs, emb, [3, 4], k => 5);
-- 33 | 2 | 1.0 | 0 | 'exact'
-- 42 | 3 | 1.0 | 0 | 'exact'
-- 43 | 1 | 0.0 | 0 | 'exact'
-- 44 | 4 | 1.0 | 0 | 'exact'
-- 53 | 5 | 1.0 | 0 | 'exact'
SELECT id, rank, round(distance, 6) FROM vector_search(docs, emb, [3.4, 4.1]::FLOAT[2], k => 2) ORDER BY rank;
-- 43 | 1 | 0.412311
-- 44 | 2 | 0.608276
SELECT count(*) FROM vector_search(docs, emb, [0.0, 0.0]);
-- 10
SELECT * FROM vector_search(docs, emb, [0, 0], k => 1) AS near (a, b, c);
-- 0 | 'en' | (0.0, 0.0) | 1 | 0.0 | 0 | 'exact'
SELECT id, distance FROM vector_search(docs, emb, [1, 2], k => 2, metric => 'ip');
-- 98 | -26.0
-- 99 | -27.0
SELECT id FROM vector_search(docs, emb, [1, 2], k => 1, nprobe => 3);
-- 21
-- warning: nprobe => 3 has no effect: there is no ivf index of 'emb' of 'docs' for l2, and all rows are compared
EXPLAIN SELECT id FROM vector_search(docs, emb, [1, 2], k => 1, nprobe => 3);
-- has: note: nprobe => 3 has no effect: there is no ivf index of 'emb' of 'docs' for l2, and all rows are compared
EXPLAIN SELECT id FROM vector_search(docs, emb, [1, 2], k => 2);
-- has: NearestRows: 2 nearest to FLOAT[2] by l2
-- has: search: all rows are compared (no ivf index of 'emb' of 'docs' for l2)

-- An index scans some of its lists.
CREATE INDEX near ON docs USING ivf (emb) WITH (lists = 10, metric = 'l2', seed = 1);
SELECT name, table_name, column_name, metric, lists, vectors, rows_beside, null_vectors, size_bytes > 1000 FROM vector_indexes();
-- 'near' | 'docs' | 'emb' | 'l2' | 10 | 100 | 0 | 1 | true
SELECT * FROM indexes();
-- 'near' | 'docs' | 'emb' | false
SELECT id, rank, guarantee FROM vector_search(docs, emb, [3, 4], k => 3, nprobe => 4);
-- 33 | 2 | 'uncalibrated'
-- 42 | 3 | 'uncalibrated'
-- 43 | 1 | 'uncalibrated'
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4], k => 5, nprobe => 10);
-- 33 | 2 | 10 | 'exact'
-- 42 | 3 | 10 | 'exact'
-- 43 | 1 | 10 | 'exact'
-- 44 | 4 | 10 | 'exact'
-- 53 | 5 | 10 | 'exact'
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4], k => 5, nprobe => 99);
-- 33 | 2 | 10 | 'exact'
-- 42 | 3 | 10 | 'exact'
-- 43 | 1 | 10 | 'exact'
-- 44 | 4 | 10 | 'exact'
-- 53 | 5 | 10 | 'exact'
SELECT id, rank, probes, guarantee FROM vector_search(docs, emb, [3, 4], k => 5, exact => true);
-- 33 | 2 | 0 | 'exact'
-- 42 | 3 | 0 | 'exact'
-- 43 | 1 | 0 | 'exact'
-- 44 | 4 | 0 | 'exact'
-- 53 | 5 | 0 | 'exact'
SELECT count(*), max(probes) FROM vector_search(docs, emb, [0, 0], k => 100, nprobe => 1);
-- 100 | 10
EXPLAIN SELECT id FROM vector_search(docs, emb, [1, 2], k => 2, nprobe => 3);
-- has: search: 3 of 10 lists of 'near'
EXPLAIN SELECT id FROM vector_search(docs, emb, [1, 2], k => 2, exact => true);
-- has: search: all rows are compared, those of 'near' in it (exact => true)
SELECT count(*) FROM vector_search(docs, emb, [1, 2], k => 2, metric => 'ip', nprobe => 4) a, docs q, LATERAL vector_search(docs, emb, q.emb, k => 2, metric => 'ip', nprobe => 4) b;
-- 400
-- warning: nprobe => 4 has no effect: there is no ivf index of 'emb' of 'docs' for ip, and all rows are compared
SELECT count(*) FROM vector_search((SELECT emb FROM docs UNION ALL SELECT emb FROM docs), emb, [1, 2], k => 2, nprobe => 4);
-- 2
-- warning: nprobe => 4 has no effect: only rows of one table have an index, and all rows are compared
CREATE TABLE found AS SELECT id FROM vector_search(docs, emb, [1, 2], k => 2, metric => 'ip', nprobe => 4);
-- warning: nprobe => 4 has no effect: there is no ivf index of 'emb' of 'docs' for ip, and all rows are compared
COPY (SELECT id FROM vector_search(docs, emb, [1, 2], k => 2, metric => 'ip', nprobe => 4)) TO '$TMP/found.csv';
-- warning: nprobe => 4 has no effect: there is no ivf index of 'emb' of 'docs' for ip, and all rows are compared
DROP TABLE found;
EXPLAIN SELECT id FROM vector_search(docs, emb, [1, 2], k => 2, metric => 'cosine');
-- has: search: all rows are compared (no ivf index of 'emb' of 'docs' for cosine)

-- Some rows of a table: all k of them are found, where there are so many.
SELECT id, rank, guarantee FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, [3, 4], k => 3, nprobe => 1);
-- 30 | 3 | 'filtered'
-- 42 | 1 | 'filtered'
-- 51 | 2 | 'filtered'
SELECT n, rank FROM vector_search((SELECT id + 1 AS n, emb AS e FROM docs WHERE id IN (5, 6)), e, [0, 0], k => 3);
-- 6 | 1
-- 7 | 2
SELECT count(*) FROM vector_search((SELECT * FROM docs WHERE id > 1000), emb, [0, 0]);
-- 0
WITH few AS (SELECT * FROM docs WHERE id < 5) SELECT id FROM vector_search(few, emb, [9, 0], k => 1);
-- 4
CREATE VIEW german AS SELECT id, emb FROM docs WHERE lang = 'de';
SELECT id FROM vector_search(german, emb, [0, 0], k => 2);
-- 1
-- 10
SELECT id, guarantee FROM vector_search((SELECT a.id, b.emb FROM docs a JOIN docs b ON a.id = b.id + 1), emb, [0, 0], k => 2);
-- 1 | 'exact'
-- 2 | 'exact'
EXPLAIN SELECT id FROM vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, [1, 2], k => 2);
-- has: FilterRows: (lang = 'en')

-- A query vector for each row of a table, in one batch.
SELECT q.id, d.id, d.rank FROM docs q, LATERAL vector_search(docs, emb, q.emb, k => 2, exact => true) d WHERE q.id IN (0, 55, 100);
-- 0 | 0 | 1
-- 0 | 1 | 2
-- 55 | 45 | 2
-- 55 | 55 | 1
SELECT q.id, d.id FROM docs q CROSS JOIN LATERAL vector_search((SELECT * FROM docs WHERE lang = 'en'), emb, q.emb, k => 1) d WHERE q.id < 4 AND d.rank = 1;
-- 0 | 0
-- 1 | 0
-- 2 | 3
-- 3 | 3
SELECT q.id, count(*) FROM docs q JOIN LATERAL vector_search(docs, emb, q.emb, k => 4, nprobe => 1) d ON d.id <> q.id WHERE q.id < 2 GROUP BY q.id;
-- 0 | 3
-- 1 | 3
SELECT id FROM vector_search(docs, emb, (SELECT emb FROM docs WHERE id = 42), k => 1);
-- 42
SELECT count(*) FROM vector_search(docs, emb, NULL);
-- 0

-- A LEFT JOIN keeps the rows that have no vector, or find nothing.
SELECT q.id, d.id, d.rank, d.distance, d.probes, d.guarantee FROM docs q LEFT JOIN LATERAL vector_search(docs, emb, q.emb, k => 1) d ON true WHERE q.id > 98;
-- 100 | NULL | NULL | NULL | NULL | NULL
-- 99 | 99 | 1 | 0.0 | 3 | 'uncalibrated'
SELECT q.id, d.id, d.one FROM docs q LEFT JOIN LATERAL vector_search((SELECT id, emb, 1 AS one FROM docs WHERE id > 98), emb, q.emb, k => 1) d ON true WHERE q.id > 98;
-- 100 | NULL | NULL
-- 99 | 99 | 1
SELECT q.id, d.id, d.one FROM docs q LEFT JOIN LATERAL vector_search((SELECT id, emb, 1 AS one FROM docs WHERE id > 1000), emb, q.emb, k => 1) d ON true WHERE q.id > 98;
-- 100 | NULL | NULL
-- 99 | NULL | NULL
SELECT q.id, d.id FROM docs q LEFT JOIN LATERAL vector_search((SELECT a.id, a.emb FROM docs a JOIN docs b ON a.id = b.id + 99), emb, q.emb, k => 1) d ON true WHERE q.id > 98;
-- 100 | NULL
-- 99 | 99
SELECT q.id FROM docs q LEFT JOIN LATERAL vector_search(docs, emb, q.emb, k => 1) d ON true WHERE d.id IS NULL;
-- 100
SELECT count(*), count(d.id) FROM docs q LEFT JOIN LATERAL vector_search(docs, emb, q.emb, k => 3) d ON true;
-- 301 | 300
SELECT q.id, d.id FROM docs q LEFT JOIN vector_search(docs, emb, [0, 0], k => 1) d ON d.id = q.id WHERE q.id < 2;
-- 0 | 0
-- 1 | NULL
SELECT q.id, d.id FROM docs q LEFT JOIN LATERAL vector_search(docs, emb, q.emb, k => 2, exact => true) d ON d.id <> q.id WHERE q.id IN (0, 55, 100);
-- 0 | 1
-- 100 | NULL
-- 55 | 45

-- Rows that are added, changed and deleted are seen at once.
INSERT INTO docs VALUES (101, 'en', [3.0, 4.125]);
SELECT id, rank FROM vector_search(docs, emb, [3, 4], k => 2, nprobe => 1);
-- 101 | 2
-- 43 | 1
DELETE FROM docs WHERE id = 43;
UPDATE docs SET emb = [3.0, 4.25] WHERE id = 0;
SELECT id, rank FROM vector_search(docs, emb, [3, 4], k => 2, nprobe => 10);
-- 0 | 2
-- 101 | 1
SELECT vectors, rows_beside, null_vectors FROM vector_indexes();
-- 100 | 2 | 1
BEGIN;
DELETE FROM docs;
SELECT count(*) FROM vector_search((SELECT * FROM docs), emb, [3, 4], k => 1);
-- error: ProgrammingError: vector_search() cannot find 1 rows: table 'docs' has 0 (line 1, column 51)
SELECT count(*) FROM vector_search((SELECT * FROM docs WHERE true), emb, [3, 4], k => 1);
-- error: ProgrammingError: vector_search() cannot find 1 rows: table 'docs' has 0 (line 1, column 51)
ROLLBACK;
VACUUM;
SELECT id, rank FROM vector_search(docs, emb, [3, 4], k => 2, nprobe => 10);
-- 0 | 2
-- 101 | 1
REINDEX near;
SELECT vectors, rows_beside, null_vectors FROM vector_indexes();
-- 100 | 0 | 1
SELECT id, rank FROM vector_search(docs, emb, [3, 4], k => 2, nprobe => 10);
-- 0 | 2
-- 101 | 1

-- One index a metric; which one is said where there are several.
CREATE INDEX again ON docs USING ivf (emb);
-- error: ProgrammingError: column 'emb' of table 'docs' has the ivf index 'near' for l2 already (line 1, column 39)
CREATE INDEX products ON docs USING ivf (emb) WITH (metric = 'ip');
SELECT lists FROM vector_indexes() WHERE name = 'products';
-- 10
SELECT id FROM vector_search(docs, emb, [3, 4], k => 1);
-- error: ProgrammingError: column 'emb' of table 'docs' has ivf indexes for 'l2' and 'ip': vector_search() needs metric => one of them (line 1, column 36)
SELECT id FROM vector_search(docs, emb, [3, 4], k => 1, metric => 'ip', nprobe => 10);
-- 99
DROP INDEX products;
SELECT id FROM vector_search(docs, emb, [3, 4], k => 1, nprobe => 10);
-- 101

-- Vectors that have no distance to others.
INSERT INTO docs VALUES (200, 'en', [0, 0]);
CREATE INDEX angles ON docs USING ivf (emb) WITH (metric = 'cosine');
-- error: DataError: table 'docs', row 102: the vector in 'emb' has a length of 0, which is no direction
DELETE FROM docs WHERE id = 200;
CREATE INDEX angles ON docs USING ivf (emb) WITH (metric = 'cosine');
INSERT INTO docs VALUES (200, 'en', [0, 0]);
-- error: DataError: index 'angles', new row 1: the vector in 'emb' has a length of 0, which is no direction
INSERT INTO docs VALUES (200, 'en', ['nan'::FLOAT, 0]);
-- error: DataError: index 'near', new row 1: the vector in 'emb' has NaN or infinity
UPDATE docs SET emb = ['inf'::FLOAT, 0] WHERE id = 1;
-- error: DataError: index 'near', new row 1: the vector in 'emb' has NaN or infinity
INSERT INTO docs VALUES (200, 'en', [1e300, 0]);
-- error: DataError: 1e+300 is out of range for REAL
INSERT INTO docs SELECT 200, 'en', [x, 0] FROM (VALUES (1e300)) AS v (x);
-- error: DataError: 1e+300 is out of range for REAL
SELECT id FROM vector_search(docs, emb, [1e300, 0], k => 1, metric => 'l2');
-- error: DataError: 1e+300 is out of range for REAL
SELECT id FROM vector_search(docs, emb, [1e20, 0], k => 1, metric => 'l2');
-- error: DataError: row 1: the query of vector_search() has a number beyond 1e17
INSERT INTO docs VALUES (200, 'en', [1e18, 0]);
-- error: DataError: index 'near', new row 1: the vector in 'emb' has a number beyond 1e17
INSERT INTO docs VALUES (200, 'en', [NULL, 1]);
-- error: DataError: row 1: the vector in 'emb' has a NULL in it
SELECT id FROM vector_search(docs, emb, [0, 0], k => 1, metric => 'cosine');
-- error: DataError: row 1: the query of vector_search() has a length of 0, which is no direction
SELECT id FROM vector_search(docs, emb, ['nan'::FLOAT, 0], k => 1, metric => 'cosine');
-- error: DataError: row 1: the query of vector_search() has NaN or infinity
SELECT id FROM vector_search(docs, emb, [NULL, 0], k => 1, metric => 'l2');
-- error: DataError: row 1: the query of vector_search() has a NULL in it
CREATE TABLE raw (v FLOAT[2]);
INSERT INTO raw VALUES ([1, 2]), (['nan'::FLOAT, 2]), (['inf'::FLOAT, -1e38]);
SELECT v, v = ['nan'::FLOAT, 2]::FLOAT[2] FROM raw;
-- (1.0, 2.0) | false
-- (inf, -9.999999680285692e+37) | false
-- (nan, 2.0) | true
SELECT * FROM vector_search(raw, v, [1, 1], k => 1);
-- error: DataError: row 2: the vector in 'v' has NaN or infinity

-- Arguments that do not fit.
SELECT * FROM vector_search(docs, emb);
-- error: ProgrammingError: vector_search() takes a table, a file or a query in parentheses, a column of it and a vector; what follows is named, such as k => 10 (line 1, column 15)
SELECT * FROM vector_search(docs, k => 3, emb, [1, 2]);
-- error: ProgrammingError: vector_search() takes a table, a file or a query in parentheses, a column of it and a vector; what follows is named, such as k => 10 (line 1, column 15)
SELECT * FROM vector_search(1, emb, [1, 2]);
-- error: ProgrammingError: vector_search() takes a table, a file or a query in parentheses first (line 1, column 15)
SELECT * FROM vector_search(nothing, emb, [1, 2]);
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 29)
SELECT * FROM vector_search(docs, embb, [1, 2]);
-- error: ProgrammingError: column 'embb' of vector_search() does not exist; did you mean 'emb'? (line 1, column 15)
SELECT * FROM vector_search(docs, docs.emb, [1, 2]);
-- error: ProgrammingError: vector_search() takes the name of a column second, without quotes and without a table (line 1, column 15)
SELECT * FROM vector_search(docs, id, [1, 2]);
-- error: ProgrammingError: column 'id' of vector_search() is INTEGER, not FLOAT[n], DOUBLE[n], FLOAT16[n], TINYINT[n], BIT or BLOB (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2, 3]);
-- error: ProgrammingError: column 'emb' of vector_search() has vectors of 2 numbers, the query has 3 (line 1, column 15)
SELECT * FROM vector_search(docs, emb, 'x');
-- error: DataError: 'x' is not a valid FLOAT[2] (line 1, column 15)
SELECT * FROM vector_search(docs, emb, q);
-- error: ProgrammingError: column 'q' does not exist (line 1, column 40)
SELECT * FROM vector_search(docs, emb, [1, 2], k => 0);
-- error: ProgrammingError: k of vector_search() is a whole number from 1, not 0 (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2], k => 1.5);
-- error: ProgrammingError: k of vector_search() is a whole number from 1, not 1.5 (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2], k => 1000, metric => 'l2');
-- error: ProgrammingError: vector_search() cannot find 1000 rows: table 'docs' has 101 (line 1, column 29)
SELECT * FROM vector_search(docs, emb, [1, 2], k => 1, k => 2);
-- error: ProgrammingError: argument 'k' of vector_search() is given twice (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2], nprobe => 0);
-- error: ProgrammingError: nprobe of vector_search() is a whole number from 1, not 0 (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2], nprobes => 3);
-- error: ProgrammingError: vector_search() takes no argument 'nprobes'; did you mean 'nprobe'? (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2], exact => 1);
-- error: ProgrammingError: exact of vector_search() is true or false, not 1 (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2], exact => true, nprobe => 2);
-- error: ProgrammingError: vector_search() takes nprobe or exact => true, not both (line 1, column 15)
SELECT * FROM vector_search(docs, emb, [1, 2], metric => 'l3');
-- error: ProgrammingError: metric of vector_search() is 'l2', 'cosine', 'ip', 'l1' or 'hamming', not 'l3' (line 1, column 15)
SELECT vector_search(docs, emb, [1, 2]);
-- error: ProgrammingError: vector_search() gives rows, so it stands in FROM (line 1, column 8)
SELECT * FROM vector_indexes(1);
-- error: ProgrammingError: vector_indexes() takes no arguments, not 1

-- Indexes that cannot be.
CREATE INDEX i ON docs USING ivf (id);
-- error: NotSupportedError: column 'id' of table 'docs' is INTEGER, but an ivf index needs FLOAT[n], DOUBLE[n], FLOAT16[n], TINYINT[n], BIT or BLOB (line 1, column 35)
CREATE INDEX i ON docs USING ivf (nothing);
-- error: ProgrammingError: column 'nothing' does not exist in 'docs' (line 1, column 35)
CREATE INDEX i ON docs USING ivf (emb, id);
-- error: NotSupportedError: the ivf index 'i' is of one column, not UNIQUE or DESC (line 1, column 14)
CREATE INDEX i ON docs USING ivf (emb DESC);
-- error: NotSupportedError: the ivf index 'i' is of one column, not UNIQUE or DESC (line 1, column 14)
CREATE UNIQUE INDEX i ON docs USING ivf (emb);
-- error: NotSupportedError: the ivf index 'i' is of one column, not UNIQUE or DESC (line 1, column 21)
CREATE INDEX i ON docs USING rtree (emb);
-- error: NotSupportedError: CREATE INDEX ... USING rtree is not supported, only ivf, hnsw and fts
CREATE INDEX r ON raw USING ivf (v);
-- error: DataError: table 'raw', row 2: the vector in 'v' has NaN or infinity
CREATE INDEX i ON docs USING ivf (emb) WITH (list = 3);
-- error: ProgrammingError: option 'list' of an ivf index does not exist; did you mean 'lists'? (line 1, column 46)
CREATE INDEX i ON docs USING ivf (emb) WITH (lists = 3, lists = 4);
-- error: ProgrammingError: the index 'i' has the option 'lists' twice (line 1, column 14)
CREATE INDEX i ON docs USING ivf (emb) WITH (lists = 0);
-- error: ProgrammingError: option 'lists' of an ivf index is a whole number from 1, not '0' (line 1, column 46)
CREATE INDEX i ON docs USING ivf (emb) WITH (lists = 1000, metric = 'ip');
-- error: ProgrammingError: the index 'i' cannot have 1000 lists: column 'emb' of table 'docs' has 100 vectors (line 1, column 14)
CREATE INDEX i ON docs USING ivf (emb) WITH (metric = 'l3');
-- error: ProgrammingError: the metric of an ivf index is l2, cosine, ip, l1 or hamming, not 'l3' (line 1, column 55)
CREATE INDEX i ON docs USING ivf (emb) WITH (seed = -1);
-- error: ProgrammingError: option 'seed' of an ivf index is a whole number from 0, not '-1' (line 1, column 46)
CREATE INDEX i ON docs (id) WITH (lists = 3);
-- error: ProgrammingError: syntax error at line 1, column 29: unexpected 'WITH', expected the end of the statement
ALTER TABLE docs ALTER COLUMN emb TYPE FLOAT[];
-- error: NotSupportedError: the type of column 'emb' cannot be changed: the index 'near' needs it; DROP INDEX first (line 1, column 31)

-- Vectors of DOUBLE[n] are searched as FLOAT[n].
CREATE TABLE exact (id INTEGER, v DOUBLE[2]);
INSERT INTO exact SELECT range, [range, 0.1] FROM range(20);
SELECT id, distance FROM vector_search(exact, v, [3, 0.1], k => 1);
-- 3 | 0.0
CREATE INDEX doubles ON exact USING ivf (v) WITH (lists = 4);
INSERT INTO exact VALUES (20, [20, 0.1]), (21, NULL);
SELECT id, distance, guarantee FROM vector_search(exact, v, [19.6, 0.1]::DOUBLE[2], k => 2, nprobe => 4) ORDER BY rank;
-- 20 | 0.39999961853027344 | 'exact'
-- 19 | 0.6000003814697266 | 'exact'
SELECT a.id, b.id FROM exact a, LATERAL vector_search(exact, v, a.v, k => 1) b WHERE a.id > 18;
-- 19 | 19
-- 20 | 20
INSERT INTO exact VALUES (22, [1e300, 0]);
-- error: DataError: index 'doubles', new row 1: the vector in 'v' has a number beyond 1e17
DROP TABLE exact;

DROP VIEW german;
DROP INDEX i;
-- error: ProgrammingError: index 'i' does not exist (line 1, column 12)

-- Names change, and the index goes with its column or its table.
ALTER TABLE docs RENAME COLUMN emb TO vector;
ALTER TABLE docs RENAME TO pages;
SELECT name, table_name, column_name, metric FROM vector_indexes();
-- 'angles' | 'pages' | 'vector' | 'cosine'
-- 'near' | 'pages' | 'vector' | 'l2'
SELECT id FROM vector_search(pages, vector, [3, 4], k => 1, metric => 'l2', nprobe => 10);
-- 101
TRUNCATE pages;
SELECT name, vectors, rows_beside FROM vector_indexes();
-- 'angles' | 0 | 0
-- 'near' | 0 | 0
INSERT INTO pages VALUES (1, 'en', [1, 1]);
SELECT id, rank FROM vector_search(pages, vector, [3, 4], k => 1, metric => 'l2');
-- 1 | 1
REINDEX;
REINDEX TABLE raw;
DROP INDEX near;
CREATE INDEX near ON pages USING ivf (vector);
SELECT name, lists, vectors FROM vector_indexes();
-- 'angles' | 1 | 1
-- 'near' | 1 | 1
ALTER TABLE pages DROP COLUMN vector CASCADE;
SELECT * FROM vector_indexes();
-- (no rows)

-- An index whose rows are gone is made anew, with as many of its lists as there are vectors.
CREATE TABLE gone (id INTEGER, v FLOAT[2]);
INSERT INTO gone SELECT range, [range, 1] FROM range(20);
CREATE INDEX gone_v ON gone USING ivf (v) WITH (lists = 4);
DELETE FROM gone;
REINDEX gone_v;
INSERT INTO gone VALUES (1, [1, 1]), (2, [2, 1]), (3, [9, 1]);
SELECT id FROM vector_search(gone, v, [3, 1], k => 2);
-- 1
-- 2
REINDEX gone_v;
SELECT id FROM vector_search(gone, v, [3, 1], k => 2, nprobe => 3);
-- 1
-- 2
DROP TABLE gone;
