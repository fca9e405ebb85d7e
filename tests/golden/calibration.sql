CREATE TABLE docs (id INTEGER PRIMARY KEY, lang VARCHAR, emb FLOAT[3]);
INSERT INTO docs SELECT range, CASE WHEN range % 3 = 0 THEN 'en' ELSE 'de' END, [sin(range), cos(range * 1.7), sin(range * 0.3)]::FLOAT[3] FROM range(1000);
INSERT INTO docs VALUES (1000, 'en', NULL);
CREATE TABLE asked (n INTEGER, emb FLOAT[3], wide FLOAT[4], numbers DOUBLE[3], any_length FLOAT[]);
INSERT INTO asked SELECT range, [sin(range * 0.7), cos(range * 1.1), sin(range * 2.3)]::FLOAT[3], [1, 2, 3, 4], [sin(range * 0.7), 0.5, 1], [1, 2, range % 7] FROM range(200);
INSERT INTO asked (n) VALUES (200), (201);
CREATE INDEX near ON docs USING ivf (emb) WITH (lists = 25, seed = 1);
CREATE INDEX by_lang ON docs (lang);

-- Nothing is promised before.
SELECT * FROM index_calibrations();
-- (no rows)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], k => 5, fnr => 0.1);
-- error: ProgrammingError: index 'near' is not calibrated for k => 5, fnr => 0.1: CALIBRATE INDEX does that

-- By rows that are held out, with the defaults.
CALIBRATE INDEX near;
SELECT index_name, k, fnr, score, source, queries, tuning_queries, null_queries, seed, risk < fnr, mean_probes BETWEEN 1 AND 25, state, rows_added, rows_deleted, searched, recent_probes FROM index_calibrations('near') ORDER BY fnr;
-- 'near' | 10 | 0.05 | 'ratio' | 'held-out rows' | 750 | 250 | 0 | 0 | true | true | 'fresh' | 0 | 0 | 0 | NULL
-- 'near' | 10 | 0.1 | 'ratio' | 'held-out rows' | 750 | 250 | 0 | 0 | true | true | 'fresh' | 0 | 0 | 0 | NULL
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], fnr => 0.1);
-- 'marginal'
SELECT count(*) FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 10, fnr => 0.05, score => 'ratio');
-- 10
EXPLAIN SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], fnr => 0.1);
-- has: until the ratio score
-- has: at most 0.1 missed on average, calibrated with 750 held-out rows (fresh)
EXPLAIN ANALYZE SELECT q.id, d.id FROM docs q, LATERAL vector_search(docs, emb, q.emb, fnr => 0.1) d WHERE q.id < 7;
-- has: on average over 7 queries
SELECT searched, recent_probes >= 1 FROM index_calibrations('near') ORDER BY fnr;
-- 1 | true
-- 1 | true

-- By queries; those that are NULL are passed over. What is calibrated again replaces what was.
CALIBRATE INDEX near USING (SELECT emb FROM asked) WITH (fnr = '0.05, .2', k = '1,5', score = 'kth', seed = 7);
CALIBRATE INDEX near USING (SELECT emb FROM asked WHERE n < 100) WITH (fnr = 0.1);
CALIBRATE INDEX near USING (SELECT numbers FROM asked) WITH (fnr = .3, k = 2);
CALIBRATE INDEX near USING (SELECT any_length FROM asked) WITH (fnr = .3, k = 3);
CALIBRATE INDEX near USING (WITH q AS (SELECT emb FROM asked LIMIT 30) FROM q) WITH (k = 4, score = RATIO, fnr = 1e-1);
SELECT k, fnr, score, source, queries, tuning_queries, null_queries, seed FROM index_calibrations('near') ORDER BY k, fnr;
-- 1 | 0.05 | 'kth' | 'queries' | 200 | 0 | 2 | 7
-- 1 | 0.2 | 'kth' | 'queries' | 200 | 0 | 2 | 7
-- 2 | 0.3 | 'ratio' | 'queries' | 200 | 0 | 2 | 0
-- 3 | 0.3 | 'ratio' | 'queries' | 200 | 0 | 2 | 0
-- 4 | 0.1 | 'ratio' | 'queries' | 30 | 0 | 0 | 0
-- 5 | 0.05 | 'kth' | 'queries' | 200 | 0 | 2 | 7
-- 5 | 0.2 | 'kth' | 'queries' | 200 | 0 | 2 | 7
-- 10 | 0.05 | 'ratio' | 'held-out rows' | 750 | 250 | 0 | 0
-- 10 | 0.1 | 'ratio' | 'queries' | 100 | 0 | 0 | 0
SELECT DISTINCT guarantee, probes BETWEEN 1 AND 25 FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 5, fnr => 0.05);
-- 'marginal' | true
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 5, fnr => 0.05, score => 'kth');
-- 'marginal'
EXPLAIN SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 5, fnr => 0.05);
-- has: calibrated with 200 queries (fresh)
EXPLAIN SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 5, fnr => 0.05);
-- has: until the kth score

-- Only what was calibrated is promised.
SELECT id FROM vector_search(docs, emb, [0, 0, 0], k => 7, fnr => 0.1);
-- error: ProgrammingError: index 'near' is not calibrated for k => 7, fnr => 0.1, only for k => 1 with fnr => 0.05 or 0.2; k => 2 with fnr => 0.3; k => 3 with fnr => 0.3; k => 4 with fnr => 0.1; k => 5 with fnr => 0.05 or 0.2; k => 10 with fnr => 0.05 or 0.1: CALIBRATE INDEX adds to that
SELECT id FROM vector_search(docs, emb, [0, 0, 0], k => 10, fnr => 0.01);
-- error: ProgrammingError: index 'near' is not calibrated for k => 10, fnr => 0.01, only for k => 1 with fnr => 0.05 or 0.2; k => 2 with fnr => 0.3; k => 3 with fnr => 0.3; k => 4 with fnr => 0.1; k => 5 with fnr => 0.05 or 0.2; k => 10 with fnr => 0.05 or 0.1: CALIBRATE INDEX adds to that
SELECT id FROM vector_search(docs, emb, [0, 0, 0], k => 5, fnr => 0.2, score => 'ratio');
-- error: ProgrammingError: index 'near' is not calibrated for k => 5, fnr => 0.2, score => 'ratio', only for k => 2 with fnr => 0.3; k => 3 with fnr => 0.3; k => 4 with fnr => 0.1; k => 10 with fnr => 0.05 or 0.1: CALIBRATE INDEX adds to that
SELECT id FROM vector_search(docs, emb, [0, 0, 0], k => 5, fnr => 0.2, metric => 'cosine');
-- error: ProgrammingError: vector_search() with fnr needs an ivf index of 'emb' of 'docs' for cosine: CREATE INDEX and CALIBRATE INDEX make one (line 1, column 36)
SELECT id FROM vector_search((SELECT a.* FROM docs a JOIN docs b ON a.id = b.id), emb, [0, 0, 0], k => 5, fnr => 0.2);
-- error: ProgrammingError: vector_search() with fnr needs rows of one table, which an ivf index has
SELECT id FROM vector_search(docs, emb, [0, 0, 0], fnr => 0.1, nprobe => 3);
-- error: ProgrammingError: vector_search() takes nprobe or fnr, not both (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], fnr => 0.1, exact => true);
-- error: ProgrammingError: vector_search() takes exact => true or fnr, not both (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], fnr => 1);
-- error: ProgrammingError: fnr of vector_search() is a number between 0 and 1, not 1 (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], fnr => 0.0);
-- error: ProgrammingError: fnr of vector_search() is a number between 0 and 1, not 0.0 (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], fnr => '0.1');
-- error: ProgrammingError: fnr of vector_search() is a number between 0 and 1, not '0.1' (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], fnr => NULL);
-- error: ProgrammingError: fnr of vector_search() is a number between 0 and 1, not NULL (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], fnr => 0.1, score => 'best');
-- error: ProgrammingError: score of vector_search() is 'ef', 'ratio' or 'kth', not 'best' (line 1, column 16)
SELECT id FROM vector_search(docs, emb, [0, 0, 0], score => 'kth');
-- error: ProgrammingError: score of vector_search() goes with fnr (line 1, column 16)

-- The guarantee says what a search is worth.
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], nprobe => 2);
-- 'uncalibrated'
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], nprobe => 25);
-- 'exact'
SELECT DISTINCT guarantee FROM vector_search((SELECT * FROM docs WHERE lang = 'de'), emb, [0.1, 0.2, 0.3], fnr => 0.1);
-- 'exact'
EXPLAIN SELECT id FROM vector_search((SELECT * FROM docs WHERE lang = 'de'), emb, [0.1, 0.2, 0.3], fnr => 0.1);
-- has: all rows that the filter leaves are compared
SELECT DISTINCT guarantee FROM vector_search((SELECT * FROM docs WHERE id < 20), emb, [0.1, 0.2, 0.3], fnr => 0.1);
-- 'exact'
BEGIN;
INSERT INTO docs VALUES (2000, 'en', [0.1, 0.2, 0.3]);
SELECT id, rank, guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], fnr => 0.1) WHERE rank = 1;
-- 2000 | 1 | 'stale'
UPDATE docs SET emb = [0.1, 0.2, 0.4] WHERE id = 5;
DELETE FROM docs WHERE id < 3;
SELECT DISTINCT state, rows_added, rows_deleted FROM index_calibrations('near');
-- 'stale' | 2 | 4
EXPLAIN SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], fnr => 0.1);
-- has: (stale: 2 rows added, 4 deleted since)
ROLLBACK;
SELECT DISTINCT state FROM index_calibrations('near');
-- 'fresh'
DELETE FROM docs WHERE id = 999;
SELECT DISTINCT state, rows_added, rows_deleted FROM index_calibrations('near');
-- 'stale' | 0 | 1
VACUUM;
SELECT DISTINCT state, rows_added, rows_deleted FROM index_calibrations('near');
-- 'stale' | 0 | 1

-- Where the first list is enough there is no threshold.
SELECT DISTINCT k, fnr, threshold IS NULL, mean_probes < 1.5 FROM index_calibrations('near') WHERE score = 'ratio' ORDER BY k, fnr;
-- 2 | 0.3 | true | true
-- 3 | 0.3 | true | true
-- 4 | 0.1 | false | true
-- 10 | 0.05 | false | true
-- 10 | 0.1 | false | true
EXPLAIN SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 2, fnr => 0.3);
-- 'path: general (the query has no aggregate)'
-- 'ComputeColumns: id'
-- '  NearestRows: 2 nearest to FLOAT[3] by l2'
-- '    search: the first of 25 lists of ''near'', which finds enough; at most 0.3 missed on average, calibrated with 200 queries (stale: 0 rows added, 1 deleted since)'
-- '    ConstantRows: 1 row'
-- '    ScanTable: docs (id, emb)'

-- REINDEX asks the same queries again.
REINDEX near;
SELECT k, fnr, score, source, queries, null_queries, seed, state FROM index_calibrations('near') ORDER BY k, fnr;
-- 1 | 0.05 | 'kth' | 'queries' | 200 | 2 | 7 | 'fresh'
-- 1 | 0.2 | 'kth' | 'queries' | 200 | 2 | 7 | 'fresh'
-- 2 | 0.3 | 'ratio' | 'queries' | 200 | 2 | 0 | 'fresh'
-- 3 | 0.3 | 'ratio' | 'queries' | 200 | 2 | 0 | 'fresh'
-- 4 | 0.1 | 'ratio' | 'queries' | 30 | 0 | 0 | 'fresh'
-- 5 | 0.05 | 'kth' | 'queries' | 200 | 2 | 7 | 'fresh'
-- 5 | 0.2 | 'kth' | 'queries' | 200 | 2 | 7 | 'fresh'
-- 10 | 0.05 | 'ratio' | 'held-out rows' | 750 | 0 | 0 | 'fresh'
-- 10 | 0.1 | 'ratio' | 'queries' | 100 | 0 | 0 | 'fresh'

-- A rollback takes calibrations back.
BEGIN;
CALIBRATE INDEX near WITH (k = 50);
SELECT count(*) FROM index_calibrations();
-- 11
DELETE FROM docs WHERE id > 30;
REINDEX near;
-- warning: index 'near' has lost its calibration for k => 50, fnr => 0.05, score => 'ratio'; it cannot be calibrated for k = 50: its lists have 30 vectors beside the one that is held out
-- warning: index 'near' has lost its calibration for k => 50, fnr => 0.1, score => 'ratio'; it cannot be calibrated for k = 50: its lists have 30 vectors beside the one that is held out
SELECT k, fnr, source, state FROM index_calibrations('near') ORDER BY k, fnr;
-- 1 | 0.05 | 'queries' | 'fresh'
-- 1 | 0.2 | 'queries' | 'fresh'
-- 2 | 0.3 | 'queries' | 'fresh'
-- 3 | 0.3 | 'queries' | 'fresh'
-- 4 | 0.1 | 'queries' | 'fresh'
-- 5 | 0.05 | 'queries' | 'fresh'
-- 5 | 0.2 | 'queries' | 'fresh'
-- 10 | 0.05 | 'held-out rows' | 'fresh'
-- 10 | 0.1 | 'queries' | 'fresh'
SELECT count(*) FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 10, fnr => 0.1);
-- 10
SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 50, fnr => 0.1);
-- error: ProgrammingError: index 'near' is not calibrated for k => 50, fnr => 0.1, only for k => 1 with fnr => 0.05 or 0.2; k => 2 with fnr => 0.3; k => 3 with fnr => 0.3; k => 4 with fnr => 0.1; k => 5 with fnr => 0.05 or 0.2; k => 10 with fnr => 0.05 or 0.1: CALIBRATE INDEX adds to that
SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 20, fnr => 0.1);
-- error: ProgrammingError: index 'near' is not calibrated for k => 20, fnr => 0.1, only for k => 1 with fnr => 0.05 or 0.2; k => 2 with fnr => 0.3; k => 3 with fnr => 0.3; k => 4 with fnr => 0.1; k => 5 with fnr => 0.05 or 0.2; k => 10 with fnr => 0.05 or 0.1: CALIBRATE INDEX adds to that
DELETE FROM docs WHERE id > 27 OR id < 3;
REINDEX near;
SELECT * FROM index_calibrations('near');
-- 'near' | 1 | 0.05 | NULL | 'kth' | 0.0 | 1 | 0.0 | NULL | 'queries' | 200 | 0 | 2 | 7 | 0.0 | 1.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 1 | 0.2 | NULL | 'kth' | 0.0 | 1 | 0.0 | NULL | 'queries' | 200 | 0 | 2 | 7 | 0.0 | 1.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 10 | 0.05 | NULL | 'ratio' | 0.0 | 1 | 0.0 | NULL | 'held-out rows' | 19 | 6 | 0 | 0 | 0.0 | 11.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 10 | 0.1 | NULL | 'ratio' | 0.0 | 1 | 0.0 | NULL | 'queries' | 100 | 0 | 0 | 0 | 0.0 | 10.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 2 | 0.3 | NULL | 'ratio' | 0.0 | 1 | 0.0 | NULL | 'queries' | 200 | 0 | 2 | 0 | 0.0 | 2.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 3 | 0.3 | NULL | 'ratio' | 0.0 | 1 | 0.0 | NULL | 'queries' | 200 | 0 | 2 | 0 | 0.0 | 3.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 4 | 0.1 | NULL | 'ratio' | 0.0 | 1 | 0.0 | NULL | 'queries' | 30 | 0 | 0 | 0 | 0.0 | 4.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 5 | 0.05 | NULL | 'kth' | 0.0 | 1 | 0.0 | NULL | 'queries' | 200 | 0 | 2 | 7 | 0.0 | 5.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
-- 'near' | 5 | 0.2 | NULL | 'kth' | 0.0 | 1 | 0.0 | NULL | 'queries' | 200 | 0 | 2 | 7 | 0.0 | 5.0 | 1 | 0.0 | 'fresh' | 0 | 0 | 0 | NULL | NULL | 0.0 | NULL
REINDEX near;
DELETE FROM docs WHERE id < 4;
REINDEX near;
ROLLBACK;
SELECT count(*) FROM index_calibrations();
-- 9
BEGIN;
TRUNCATE docs;
SELECT DISTINCT state, rows_added, rows_deleted FROM index_calibrations('near');
-- 'stale' | 0 | 1000
ROLLBACK;
BEGIN;
DROP INDEX near;
SELECT count(*) FROM index_calibrations();
-- 0
CREATE INDEX near ON docs USING ivf (emb) WITH (lists = 25, seed = 1);
SELECT count(*) FROM index_calibrations();
-- 0
ROLLBACK;
ALTER TABLE docs RENAME TO pages;
SELECT DISTINCT index_name, state FROM index_calibrations();
-- 'near' | 'fresh'
ALTER TABLE pages RENAME TO docs;

-- What cannot be calibrated.
CALIBRATE INDEX nea;
-- error: ProgrammingError: index 'nea' does not exist; did you mean 'near'? (line 1, column 17)
CALIBRATE INDEX by_lang;
-- error: ProgrammingError: index 'by_lang' is no ivf index: there is nothing to calibrate (line 1, column 17)
CALIBRATE INDEX near WITH (fnr = '0.05,0.05');
-- error: ProgrammingError: the fnr 0.05 of a calibration is given twice
CALIBRATE INDEX near WITH (fnr = 0.1, fnr = 0.2);
-- error: ProgrammingError: the calibration of 'near' has the option 'fnr' twice (line 1, column 17)
CALIBRATE INDEX near WITH (fnr = '');
-- error: ProgrammingError: the fnr of a calibration is numbers between 0 and 1 such as '0.05,0.1', not ''
CALIBRATE INDEX near WITH (fnr = 'few');
-- error: ProgrammingError: the fnr of a calibration is numbers between 0 and 1 such as '0.05,0.1', not 'few'
CALIBRATE INDEX near WITH (fnr = '0.1,1');
-- error: ProgrammingError: the fnr of a calibration is numbers between 0 and 1 such as '0.05,0.1', not '1'
CALIBRATE INDEX near WITH (fnr = 0);
-- error: ProgrammingError: the fnr of a calibration is numbers between 0 and 1 such as '0.05,0.1', not '0'
CALIBRATE INDEX near WITH (fnr = -0.1);
-- error: ProgrammingError: the fnr of a calibration is numbers between 0 and 1 such as '0.05,0.1', not '-0.1'
CALIBRATE INDEX near WITH (fnr = 'nan');
-- error: ProgrammingError: the fnr of a calibration is numbers between 0 and 1 such as '0.05,0.1', not 'nan'
CALIBRATE INDEX near WITH (k = 0);
-- error: ProgrammingError: the k of a calibration is a whole number from 1, not '0' (line 1, column 32)
CALIBRATE INDEX near WITH (k = '5,x');
-- error: ProgrammingError: the k of a calibration is a whole number from 1, not 'x'
CALIBRATE INDEX near WITH (k = 99999999999999999999);
-- error: ProgrammingError: the k of a calibration is a whole number from 1, not '99999999999999999999' (line 1, column 32)
CALIBRATE INDEX near WITH (k = 1000);
-- error: ProgrammingError: index 'near' cannot be calibrated for k = 1000: its lists have 998 vectors beside the one that is held out (line 1, column 17)
CALIBRATE INDEX near USING (SELECT emb FROM asked) WITH (k = 1001);
-- error: ProgrammingError: index 'near' cannot be calibrated for k = 1001: its lists have 999 vectors (line 1, column 17)
CALIBRATE INDEX near WITH (score = 'rations');
-- error: ProgrammingError: the score of a calibration is ef, ratio or kth, not 'rations'; did you mean 'ratio'? (line 1, column 36)
CALIBRATE INDEX near WITH (seed = 1.5);
-- error: ProgrammingError: the seed of a calibration is a whole number from 0, not '1.5' (line 1, column 35)
CALIBRATE INDEX near WITH (fnrs = 0.1);
-- error: ProgrammingError: option 'fnrs' of CALIBRATE INDEX does not exist; did you mean 'fnr'? (line 1, column 28)
CALIBRATE INDEX near WITH (fnr = 0.0005);
-- error: ProgrammingError: index 'near' cannot be calibrated for fnr = 0.0005: that takes 1999 rows to hold out, and there are 999 (line 1, column 17)
CALIBRATE INDEX near USING (SELECT emb FROM asked WHERE n < 8 OR n >= 200) WITH (fnr = 0.1);
-- error: ProgrammingError: index 'near' cannot be calibrated for fnr = 0.1: that takes 9 queries, and there are 8 beside 2 that are NULL (line 1, column 17)
CALIBRATE INDEX near USING (SELECT emb FROM asked WHERE n < 0) WITH (fnr = 0.5);
-- error: ProgrammingError: index 'near' cannot be calibrated for fnr = 0.5: that takes 2 queries, and there are 0 (line 1, column 17)
CALIBRATE INDEX near USING (SELECT n, emb FROM asked);
-- error: ProgrammingError: the query of CALIBRATE INDEX 'near' gives one column of vectors, not 2 columns (line 1, column 17)
CALIBRATE INDEX near USING (SELECT n FROM asked);
-- error: ProgrammingError: the query of CALIBRATE INDEX 'near' gives vectors, not 'n' (INTEGER) (line 1, column 17)
CALIBRATE INDEX near USING (SELECT NULL FROM asked);
-- error: ProgrammingError: the query of CALIBRATE INDEX 'near' gives vectors, not 'NULL' (INTEGER) (line 1, column 17)
CALIBRATE INDEX near USING (SELECT wide FROM asked);
-- error: ProgrammingError: the query of CALIBRATE INDEX 'near' gives vectors of 4 numbers, the index has 3 (line 1, column 17)
CALIBRATE INDEX near USING (SELECT [1, 2] FROM asked);
-- error: DataError: a list of 2 elements does not fit FLOAT[3]
CALIBRATE INDEX near USING (SELECT [1, NULL, 2] FROM asked);
-- error: DataError: row 1: the query vector of CALIBRATE INDEX 'near' has a NULL in it
CALIBRATE INDEX near USING (SELECT ['nan'::FLOAT, 0, 0] FROM asked);
-- error: DataError: row 1: the query vector of CALIBRATE INDEX 'near' has NaN or infinity
CALIBRATE INDEX near USING ();
-- error: ProgrammingError: CALIBRATE INDEX 'near' USING () has no query (line 1, column 17)
CALIBRATE INDEX near USING asked;
-- error: ProgrammingError: syntax error at line 1, column 28: unexpected 'asked', expected '('
CALIBRATE INDEX near USING (DELETE FROM asked);
-- error: ProgrammingError: syntax error at line 1, column 29: unexpected 'DELETE', expected SELECT
CALIBRATE INDEX near USING (SELECT emb FROM nothing);
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 45)
CALIBRATE near;
-- error: ProgrammingError: syntax error at line 1, column 11: unexpected 'near', expected 'INDEX'
CALIBRATE INDEX near extra;
-- error: ProgrammingError: syntax error at line 1, column 22: unexpected 'extra', expected the end of the statement
SELECT * FROM index_calibrations('nea');
-- error: ProgrammingError: index 'nea' does not exist; did you mean 'near'? (line 1, column 34)
SELECT * FROM index_calibrations('by_lang');
-- error: ProgrammingError: index 'by_lang' is no ivf index: it has no calibrations (line 1, column 34)
SELECT count(*) FROM index_calibrations(near);
-- 9
SELECT * FROM index_calibrations(nea);
-- error: ProgrammingError: index 'nea' does not exist; did you mean 'near'? (line 1, column 34)
SELECT * FROM index_calibrations(1);
-- error: ProgrammingError: index_calibrations() takes the name of an index, not 1
SELECT * FROM index_calibrations('near', 2);
-- error: ProgrammingError: index_calibrations() takes the name of an index, or nothing
CREATE INDEX angles ON docs USING ivf (emb) WITH (metric = 'cosine');
CALIBRATE INDEX angles USING (SELECT [0, 0, 0] FROM asked);
-- error: DataError: row 1: the query vector of CALIBRATE INDEX 'angles' has a length of 0, which is no direction
CALIBRATE INDEX angles WITH (k = 5);
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 5, fnr => 0.1, metric => 'cosine');
-- 'marginal'
CREATE INDEX products ON docs USING ivf (emb) WITH (metric = 'ip');
CALIBRATE INDEX products WITH (k = 5);
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], k => 5, fnr => 0.1, metric => 'ip');
-- 'marginal'
SELECT index_name, count(*) FROM index_calibrations() GROUP BY index_name;
-- 'angles' | 2
-- 'near' | 9
-- 'products' | 2

-- With a confidence this very calibration promises it; more is left to spare, and more queries are asked for.
CREATE INDEX sure ON docs USING ivf (emb) WITH (lists = 25, seed = 1, metric = 'l1');
CALIBRATE INDEX sure WITH (fnr = '0.1', confidence = 0.95);
SELECT k, fnr, confidence, queries, risk < 0.09, mean_probes >= 1 FROM index_calibrations('sure');
-- 10 | 0.1 | 0.95 | 750 | true | true
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], metric => 'l1', fnr => 0.1);
-- 'confident'
EXPLAIN SELECT id FROM vector_search(docs, emb, [0.1, 0.2, 0.3], metric => 'l1', fnr => 0.1);
-- has: at most 0.1 missed on average with confidence 0.95, calibrated with 750 held-out rows (fresh)
REINDEX sure;
SELECT k, fnr, confidence, state FROM index_calibrations('sure');
-- 10 | 0.1 | 0.95 | 'fresh'
INSERT INTO docs VALUES (2000, 'en', [1, 2, 3]);
SELECT DISTINCT guarantee FROM vector_search(docs, emb, [0.1, 0.2, 0.3], metric => 'l1', fnr => 0.1);
-- 'stale'
CALIBRATE INDEX sure USING (SELECT emb FROM asked) WITH (fnr = '0.1', confidence = '.5');
CALIBRATE INDEX sure WITH (fnr = '0.1,0.2');
SELECT k, fnr, confidence FROM index_calibrations('sure') ORDER BY fnr;
-- 10 | 0.1 | NULL
-- 10 | 0.2 | NULL
CALIBRATE INDEX sure USING (SELECT emb FROM asked WHERE n < 58) WITH (fnr = '0.05', confidence = 0.95);
-- error: ProgrammingError: index 'sure' cannot be calibrated for fnr = 0.05 with confidence = 0.95: that takes 59 queries, and there are 58 (line 1, column 17)
CALIBRATE INDEX sure WITH (confidence = 1);
-- error: ProgrammingError: the confidence of a calibration is a number between 0 and 1, such as 0.95, not '1' (line 1, column 41)
CALIBRATE INDEX sure WITH (confidence = '95 %');
-- error: ProgrammingError: the confidence of a calibration is a number between 0 and 1, such as 0.95, not '95 %' (line 1, column 41)
DROP INDEX sure;
