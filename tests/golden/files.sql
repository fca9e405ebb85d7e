CREATE TABLE pet (id INTEGER PRIMARY KEY, name VARCHAR, weight DECIMAL(5, 2), born DATE);

INSERT INTO pet VALUES (1, 'Rex', 31.50, '2019-04-01'), (2, NULL, 4.25, NULL), (3, '', NULL, '2021-12-31');

-- A string in FROM is a file; its extension tells the format.
COPY pet TO '$TMP/pet.flat';
COPY pet TO '$TMP/pet.parquet';
COPY pet TO '$TMP/pet.csv';

SELECT * FROM '$TMP/pet.flat' ORDER BY id;
-- 1 | 'Rex' | 31.50 | 2019-04-01
-- 2 | NULL | 4.25 | NULL
-- 3 | '' | NULL | 2021-12-31
SELECT * FROM '$TMP/pet.parquet' ORDER BY id;
-- 1 | 'Rex' | 31.50 | 2019-04-01
-- 2 | NULL | 4.25 | NULL
-- 3 | '' | NULL | 2021-12-31

-- A .csv file has no types: they are found from its values, and DOUBLE stands for decimals.
SELECT * FROM '$TMP/pet.csv' ORDER BY id;
-- 1 | 'Rex' | 31.5 | 2019-04-01
-- 2 | NULL | 4.25 | NULL
-- 3 | '' | NULL | 2021-12-31

-- The table is called as the file, without its extension.
SELECT pet.name FROM '$TMP/pet.flat' WHERE pet.id = 1;
-- 'Rex'
SELECT a.name, b.weight FROM '$TMP/pet.flat' a JOIN '$TMP/pet.parquet' AS b USING (id) WHERE a.born IS NOT NULL ORDER BY id;
-- 'Rex' | 31.50
-- '' | NULL
SELECT p.n FROM '$TMP/pet.flat' AS p (i, n) WHERE i = 1;
-- 'Rex'
WITH heavy AS (SELECT * FROM '$TMP/pet.parquet' WHERE weight > 10) SELECT count(*) FROM heavy, pet;
-- 3
SELECT * FROM '$TMP/pet.flat', '$TMP/pet.flat';
-- error: ProgrammingError: table name 'pet' is used twice in FROM; give one of them an alias
SELECT nam FROM '$TMP/pet.flat';
-- error: ProgrammingError: column 'nam' does not exist in 'pet'; did you mean 'name'?

-- A query can be copied too, and a file be read into a table.
COPY (SELECT id + 10 AS id, name FROM '$TMP/pet.flat' WHERE id < 3) TO '$TMP/more.flat' (chunk_rows 1);
COPY pet (id, name) FROM '$TMP/more.flat';
INSERT INTO pet SELECT id + 100, name, weight, born FROM '$TMP/pet.parquet' WHERE id = 1;

SELECT * FROM pet WHERE id > 3 ORDER BY id;
-- 11 | 'Rex' | NULL | NULL
-- 12 | NULL | NULL | NULL
-- 101 | 'Rex' | 31.50 | 2019-04-01
COPY pet (name, id) TO '$TMP/names.dat' WITH (FORMAT csv, HEADER false, DELIMITER ';');
COPY pet (name, id) FROM '$TMP/names.dat' (FORMAT csv, DELIMITER ';');
-- error: IntegrityError: table 'pet', row 1: the primary key (id) = (1) is in the table already

-- A file is written complete or not at all, and must not lose a value.
COPY (SELECT id, id FROM pet) TO '$TMP/twice.flat';
-- error: ProgrammingError: file '$TMP/twice.flat' would have 2 columns named 'id'
SELECT * FROM '$TMP/twice.flat';
-- error: OperationalError: file '$TMP/twice.flat' does not exist
COPY (SELECT CAST('ab' AS VARCHAR) AS born) TO '$TMP/text.flat';
COPY pet (born) FROM '$TMP/text.flat';
-- error: ProgrammingError: file '$TMP/text.flat', column 'born': VARCHAR cannot be read as DATE
COPY pet FROM '$TMP/text.flat';
-- error: ProgrammingError: file '$TMP/text.flat' has no column 'id'
COPY pet TO '$TMP/pet.flat' (chunk_rows 0);
-- error: ProgrammingError: chunk_rows of column 'id' is 1 to 16777216, not 0
COPY pet TO '$TMP/pet.flat' (chunk_rows many);
-- error: ProgrammingError: option chunk_rows is a whole number, not 'many'
COPY pet TO '$TMP/pet.csv' (chunk_rows 8);
-- error: ProgrammingError: option 'chunk_rows' does not apply to csv files
COPY pet TO '$TMP/pet.flat' (chunkrows 8);
-- error: ProgrammingError: option 'chunkrows' does not exist; did you mean 'chunk_rows'?
COPY pet TO '$TMP/pet.tbl';
-- error: ProgrammingError: file '$TMP/pet.tbl' has the unknown extension '.tbl'; the format may be csv, parquet, flat, json, arrow or xlsx, by the extension or by the option format
COPY pet TO '$TMP/none/pet.csv';
-- error: OperationalError: file '$TMP/none/pet.csv' cannot be written: no such file or directory
COPY pet TO '$TMP' (FORMAT flat);
-- error: OperationalError: '$TMP' is a directory, not a file
COPY pets TO '$TMP/pet.csv';
-- error: ProgrammingError: table 'pets' does not exist; did you mean 'pet'?
COPY (SELECT 1) '$TMP/pet.csv';
-- error: ProgrammingError: syntax error at line 1, column 17: unexpected ''$TMP/pet.csv'', expected 'TO'
COPY (TRUNCATE) TO '$TMP/pet.csv';
-- error: ProgrammingError: syntax error at line 1, column 7: unexpected 'TRUNCATE', expected SELECT
COPY pet TO STDOUT;
-- error: NotSupportedError: COPY ... TO STDOUT is not supported
SELECT * FROM '$TMP/missing.flat';
-- error: OperationalError: file '$TMP/missing.flat' does not exist
SELECT * FROM '$TMP/pet.xls';
-- error: ProgrammingError: file '$TMP/pet.xls' has the unknown extension '.xls'; the format may be flat, parquet, csv, tbl, json, arrow or xlsx, by the extension
SELECT * FROM '$TMP/pet';
-- error: ProgrammingError: file '$TMP/pet' has no extension; the format may be flat, parquet, csv, tbl, json, arrow or xlsx, by the extension
SELECT * FROM '$DATA/empty.csv';
-- error: DataError: file '$DATA/empty.csv' is empty
SELECT column2, sum(column1) FROM '$DATA/nation.tbl' GROUP BY column2;
-- 'Italy' | 1
-- 'Peru' | 2
-- NULL | 3
SELECT * FROM '$DATA/short_row.tbl';
-- error: DataError: file '$DATA/short_row.tbl', line 2: 3 fields where 4 are expected

-- A view over a file opens it at each use.
CREATE VIEW v AS SELECT id, name FROM '$TMP/view.csv';
-- error: OperationalError: file '$TMP/view.csv' does not exist
COPY (SELECT 1 AS id, 'a' AS name) TO '$TMP/view.csv';
CREATE VIEW v AS SELECT id, name FROM '$TMP/view.csv';
CREATE VIEW w AS SELECT id + 1 AS next FROM v WHERE name <> 'z';

SELECT * FROM v JOIN w ON next = id + 1;
-- 1 | 'a' | 2
COPY (SELECT 2 AS id, 'b' AS name) TO '$TMP/view.csv';

SELECT * FROM w;
-- 3
INSERT INTO pet (id, name) SELECT id + 200, name FROM v;
SELECT name FROM pet WHERE id = 202;
-- 'b'
COPY (SELECT 2 AS id) TO '$TMP/view.csv';
SELECT * FROM w;
-- error: ProgrammingError: in the view 'w': in the view 'v': column 'name' does not exist in 'view' (line 1, column 15)
SELECT * FROM pet WHERE id IN (SELECT id - 1 FROM '$TMP/view.csv') AND EXISTS (SELECT 1 FROM '$TMP/pet.flat' AS f WHERE f.id = pet.id);
-- 1 | 'Rex' | 31.50 | 2019-04-01

-- The files of one statement are not those of another, nor are they tables.
SELECT * FROM "$TMP/pet.csv";
-- error: ProgrammingError: table '$TMP/pet.csv' does not exist
CREATE TABLE "'$TMP/pet.csv'" (a INTEGER);
SELECT * FROM '$TMP/pet.csv';
-- error: ProgrammingError: the table ''$TMP/pet.csv'' is called as the file is; rename it
DROP TABLE "'$TMP/pet.csv'";
EXPLAIN SELECT name FROM '$TMP/pet.flat' WHERE id = 1;
-- has: pet.flat' (id, name)
DELETE FROM '$TMP/pet.flat';
-- error: ProgrammingError: DELETE needs the name of a table
SELECT count(*) FROM '$TMP/pet.csv';
-- 3
