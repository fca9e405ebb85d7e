CREATE TABLE t (id INTEGER, name VARCHAR, price DECIMAL(10, 2), day DATE, at TIMESTAMP, ok BOOLEAN, x DOUBLE);

INSERT INTO t SELECT i, 'name ' || i, i * 1.5, DATE '2026-01-01' + CAST(i AS INTEGER), TIMESTAMP '2026-01-01' + i * INTERVAL '1 hour', i % 2 = 0, i / 4.0 FROM range(1000) AS r (i);
INSERT INTO t (id) VALUES (NULL);

-- Row groups of 100 rows: those that the statistics exclude are not read.
COPY t TO '$TMP/t.parquet' (ROW_GROUP_SIZE 100, COMPRESSION snappy);

SELECT count(*) FROM '$TMP/t.parquet';
-- 1001
SELECT * FROM '$TMP/t.parquet' WHERE id = 321;
-- 321 | 'name 321' | 481.50 | 2026-11-18 | 2026-01-14T09:00:00 | false | 80.25
SELECT id FROM '$TMP/t.parquet' WHERE id IN (5, 7, 650) ORDER BY id;
-- 5
-- 7
-- 650
SELECT count(*), sum(price) FROM '$TMP/t.parquet' WHERE id BETWEEN 95 AND 205;
-- 111 | 24975.00
SELECT count(*) FROM '$TMP/t.parquet' WHERE name < 'name 2' AND id >= 900;
-- 0
SELECT count(*) FROM '$TMP/t.parquet' WHERE id > 2000;
-- 0
SELECT count(*) FROM '$TMP/t.parquet' WHERE id IS NULL;
-- 1
SELECT min(day), max(at) FROM '$TMP/t.parquet' WHERE day < DATE '2026-02-01' AND at >= TIMESTAMP '2026-01-02';
-- 2026-01-25 | 2026-01-02T06:00:00
SELECT id FROM '$TMP/t.parquet' WHERE x = 2.5;
-- 10
SELECT id FROM '$TMP/t.parquet' WHERE price = 4.5 OR id = 999 ORDER BY id;
-- 3
-- 999
SELECT id, name FROM '$TMP/t.parquet' LIMIT 2 OFFSET 399;
-- 399 | 'name 399'
-- 400 | 'name 400'
SELECT name FROM '$TMP/t.parquet' ORDER BY id DESC NULLS LAST LIMIT 1;
-- 'name 999'

-- With the function; it takes several files, and options.
SELECT count(*) FROM read_parquet(['$TMP/t.parquet', '$TMP/t.par*']);
-- 2002
SELECT filename = '$TMP/t.parquet' FROM read_parquet('$TMP/t.parquet', filename = true) LIMIT 1;
-- true
SELECT id FROM read_parquet('$TMP/t.parquet') AS p WHERE p.id = 1;
-- 1
SELECT a.id FROM '$TMP/t.parquet' AS a JOIN t ON t.id = a.id WHERE a.id < 2 ORDER BY a.id;
-- 0
-- 1
EXPLAIN SELECT name FROM '$TMP/t.parquet' WHERE id = 1;
-- has: t.parquet' (id, name)

-- Writing.
COPY (SELECT id, name FROM t WHERE id < 3) TO '$TMP/none.parquet' (COMPRESSION none);
COPY (SELECT id, name FROM t WHERE id < 3) TO '$TMP/gzip.dat' (FORMAT parquet, COMPRESSION 'gzip');

SELECT * FROM read_parquet('$TMP/gzip.dat') ORDER BY id;
-- 0 | 'name 0'
-- 1 | 'name 1'
-- 2 | 'name 2'
COPY t TO '$TMP/t.parquet' (COMPRESSION lzma);
-- error: ProgrammingError: option compression is zstd, snappy, gzip, brotli, lz4 or none, not 'lzma'
COPY t TO '$TMP/t.parquet' (ROW_GROUP_SIZE 0);
-- error: ProgrammingError: option row_group_size is a number of rows above 0
COPY t TO '$TMP/t.parquet' (ROW_GROUP_SIZE many);
-- error: ProgrammingError: option row_group_size is a whole number, not 'many'
COPY t TO '$TMP/t.parquet' (DELIMITER ';');
-- error: ProgrammingError: option 'delimiter' does not apply to parquet files
COPY t TO '$TMP/t.parquet' (ROWGROUP_SIZE 5);
-- error: ProgrammingError: option 'rowgroup_size' does not exist; did you mean 'row_group_size'?
SELECT count(*) FROM '$TMP/t.parquet';
-- 1001
SELECT * FROM read_parquet('$TMP/t.parquet', header => true);
-- error: ProgrammingError: option 'header' does not apply to parquet files
SELECT * FROM read_parquet('$TMP/t.parquet', file_name => true);
-- error: ProgrammingError: option 'file_name' does not exist; did you mean 'filename'?
SELECT * FROM read_parquet('$DATA/nation.csv');
-- has: nation.csv' is not a Parquet file
