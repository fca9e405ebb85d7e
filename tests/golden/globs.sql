-- A pattern stands for the files that match, in order of their names; their columns agree by name.
SELECT * FROM '$DATA/sales/202*.csv' ORDER BY day;
-- 2025-12-30 | 1 | 10.5
-- 2025-12-31 | 2 | NULL
-- 2026-01-01 | 1 | 7.0
-- 2026-01-02 | 3 | 8.0
SELECT sum(amount) FROM '$DATA/sales/20?[56].csv';
-- 25.5
SELECT sum(amount) FROM '$DATA/**/2026.csv';
-- 15
SELECT count(*) FROM read_csv(['$DATA/sales/2025.csv', '$DATA/sales/2026.csv']);
-- 4
SELECT count(*) FROM read_csv('$DATA/sales/2025.csv'), read_csv('$DATA/sales/2026.csv') AS b;
-- 4

-- A file that is named twice is read twice.
SELECT count(*) FROM read_csv(['$DATA/sales/2025.csv', '$DATA/sales/*5.csv']);
-- 4

-- filename => true tells the file of each row.
SELECT count(*), filename = '$DATA/sales/2025.csv' AS is_first FROM read_csv('$DATA/sales/202*.csv', filename => true) GROUP BY is_first ORDER BY is_first;
-- 2 | false
-- 2 | true
SELECT shop FROM read_csv('$DATA/sales/202*.csv', filename => true) WHERE filename LIKE '%2026.csv' ORDER BY shop;
-- 1
-- 3

-- A column that some files lack is an error, or NULL with union_by_name.
SELECT * FROM '$DATA/sales/*.csv';
-- error: ProgrammingError: file '$DATA/sales/extra.csv' has no column 'amount', which '$DATA/sales/2025.csv' has; union_by_name => true reads it as NULL
SELECT * FROM read_csv('$DATA/sales/*.csv', union_by_name => true) ORDER BY day;
-- 2025-12-30 | 1 | 10.5 | NULL
-- 2025-12-31 | 2 | NULL | NULL
-- 2026-01-01 | 1 | 7.0 | NULL
-- 2026-01-02 | 3 | 8.0 | NULL
-- 2026-02-01 | 1 | NULL | 'late'

-- Types of numbers, and DATE and TIMESTAMP, become the wider one; a column without any value fits all.
COPY (SELECT 1 AS a, DATE '2026-01-01' AS d) TO '$TMP/w1.parquet';
COPY (SELECT 3000000000 AS a, TIMESTAMP '2026-01-01 10:00:00' AS d) TO '$TMP/w2.parquet';
COPY (SELECT CAST(1.5 AS DOUBLE) AS a, CAST(NULL AS TIMESTAMP) AS d) TO '$TMP/w3.parquet';

SELECT * FROM '$TMP/w[12].parquet' ORDER BY a;
-- 1 | 2026-01-01T00:00:00
-- 3000000000 | 2026-01-01T10:00:00
SELECT * FROM '$TMP/w*.parquet' WHERE a < 100 ORDER BY a;
-- 1.0 | 2026-01-01T00:00:00
-- 1.5 | NULL
SELECT a FROM '$TMP/w[12].parquet' WHERE a = 3000000000;
-- 3000000000
COPY (SELECT 'x' AS a, DATE '2026-01-01' AS d) TO '$TMP/w4.parquet';

SELECT * FROM '$TMP/w[14].parquet';
-- error: ProgrammingError: file '$TMP/w4.parquet', column 'a': VARCHAR, where '$TMP/w1.parquet' has INTEGER

-- Formats may be mixed.
COPY (SELECT 7 AS a, DATE '2026-01-01' AS d) TO '$TMP/w5.jsonl';

SELECT * FROM '$TMP/w[15].*' ORDER BY a;
-- 1 | 2026-01-01
-- 7 | 2026-01-01

-- Many files are copied into a table as one is.
CREATE TABLE sale (shop INTEGER, day DATE, amount DECIMAL(10, 2));

COPY sale (day, shop, amount) FROM '$DATA/sales/2025.csv';
COPY (SELECT shop, day, amount FROM sale) TO '$TMP/s1.csv';
COPY (SELECT shop + 10 AS shop, day, amount FROM sale) TO '$TMP/s2.csv';
COPY sale FROM '$TMP/s?.csv';

SELECT * FROM sale ORDER BY shop, day;
-- 1 | 2025-12-30 | 10.50
-- 1 | 2025-12-30 | 10.50
-- 2 | 2025-12-31 | NULL
-- 2 | 2025-12-31 | NULL
-- 11 | 2025-12-30 | 10.50
-- 12 | 2025-12-31 | NULL

-- glob() lists files.
SELECT count(*), min(file) = '$DATA/sales/2025.csv' FROM glob('$DATA/sales/*.csv');
-- 3 | true
SELECT count(*) FROM glob(['$DATA/sales/*5.csv', '$DATA/*.jsonl']);
-- 4
FROM glob('$TMP/nothing*');
-- (no rows)
SELECT * FROM '$TMP/nothing*.csv';
-- error: OperationalError: no file matches '$TMP/nothing*.csv'
SELECT * FROM read_csv('$TMP/nothing.csv');
-- error: OperationalError: file '$TMP/nothing.csv' does not exist
SELECT * FROM read_csv([]);
-- error: ProgrammingError: read_csv() takes a path or a list of paths, as strings
FROM glob('$TMP/*', hidden => true);
-- error: ProgrammingError: glob() takes no options

-- A path may be any constant.
COPY (SELECT 7 AS a) TO '$TMP/seven.csv';
COPY (SELECT 8 AS a) TO '$TMP/eight.csv';
SELECT * FROM read_csv('$TMP/' || 'seven' || '.csv');
-- 7
SET VARIABLE files = '$TMP/seven.csv';
SELECT * FROM read_csv(getvariable('files'));
-- 7
SET VARIABLE files = ['$TMP/eight.csv', '$TMP/seven.csv'];
SELECT * FROM read_csv(getvariable('files'));
-- 7
-- 8
SELECT * FROM read_csv(getvariable('nothing'));
-- error: ProgrammingError: read_csv() takes a path or a list of paths, as strings
SELECT * FROM read_csv(7);
-- error: ProgrammingError: read_csv() takes a path or a list of paths, as strings
SELECT * FROM read_csv([7]);
-- error: ProgrammingError: read_csv() takes a path or a list of paths, as strings
SELECT * FROM read_csv(random()::VARCHAR);
-- error: NotSupportedError: random() in read_csv() is not supported
SELECT * FROM read_csv((SELECT 'a.csv'));
-- error: NotSupportedError: a subquery in an argument of read_csv() is not supported (line 1, column 32)
SELECT * FROM (SELECT 'a.csv' AS file), read_csv(file);
-- error: ProgrammingError: column 'file' does not exist (line 1, column 50)
