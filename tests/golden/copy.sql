CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR, rate DECIMAL(5, 2), since DATE);

-- As dbgen writes it: fields end with a bar, the last one too. An empty field is a NULL.
COPY nation FROM '$DATA/nation.tbl';

SELECT * FROM nation;
-- 1 | 'Italy' | 2.50 | 1994-01-31
-- 2 | 'Peru' | NULL | 1995-12-01
-- 3 | NULL | -0.75 | NULL

COPY nation FROM '$DATA/nation.csv' (HEADER);

SELECT * FROM nation WHERE id > 3;
-- 4 | 'Chile, the' | 1.00 | 1996-02-29
-- 5 | '"Cuba"' | NULL | NULL
-- 6 | 'two\nlines' | 3.10 | 1997-01-01

-- Bad input changes nothing.
COPY nation FROM '$DATA/empty.tbl';
COPY nation FROM '$DATA/empty.csv';
COPY nation FROM '$DATA/bad_number.tbl';
-- error: DataError: file '$DATA/bad_number.tbl', line 2, field 3 (rate): 'one' is not a DECIMAL(5,2)
COPY nation FROM '$DATA/short_row.tbl';
-- error: DataError: file '$DATA/short_row.tbl', line 2: 3 fields where 4 are expected
COPY nation FROM '$DATA/long_row.tbl';
-- error: DataError: file '$DATA/long_row.tbl', line 1: 5 fields where 4 are expected
COPY nation FROM '$DATA/bad_date.tbl';
-- error: DataError: file '$DATA/bad_date.tbl', line 1, field 4 (since): '1998-02-30' is not a DATE
COPY nation FROM '$DATA/repeated_key.tbl';
-- error: IntegrityError: table 'nation', row 2: the primary key (id) = (1) is in the table already
COPY nation FROM '$TMP/missing.tbl';
-- error: OperationalError: file '$TMP/missing.tbl' does not exist
COPY nation FROM '$TMP' (FORMAT csv);
-- error: OperationalError: '$TMP' is a directory, not a file
COPY natoin FROM '$DATA/nation.tbl';
-- error: ProgrammingError: table 'natoin' does not exist; did you mean 'nation'?
COPY nation FROM '$DATA/nation.tbl' (COLOUR 'red');
-- error: ProgrammingError: option 'colour' does not exist
SELECT count(*), max(id) FROM nation;
-- 6 | 6

-- Options of text: they are the same for writing and reading.
CREATE TABLE word (id INTEGER, text VARCHAR);

INSERT INTO word VALUES (1, 'it''s; "so"'), (2, ''), (3, NULL), (4, 'NULL'), (5, ' x ');

COPY word TO '$TMP/word.csv' (DELIMITER ';', QUOTE '''', ESCAPE '\', NULL 'NULL', HEADER false);
COPY word TO '$TMP/word.dat' WITH (FORMAT csv, HEADER, COMPRESSION gzip);

CREATE TABLE copy (id INTEGER, text VARCHAR);

COPY copy FROM '$TMP/word.csv' (DELIMITER ';', QUOTE '''', ESCAPE '\', NULL 'NULL', HEADER false);
COPY copy FROM '$TMP/word.dat' (FORMAT csv, COMPRESSION gzip);

SELECT id, text, count(*) FROM copy GROUP BY id, text ORDER BY id;
-- 1 | 'it''s; "so"' | 2
-- 2 | '' | 2
-- 3 | NULL | 2
-- 4 | 'NULL' | 2
-- 5 | ' x ' | 2
COPY copy FROM '$TMP/word.csv' (SKIP 4, DELIMITER ';');

SELECT count(*) FROM copy WHERE text LIKE '% x %';
-- 3
COPY copy FROM '$TMP/word.csv' (DELIMITER ';', DELIM ',');
-- error: ProgrammingError: options 'delim' and 'delimiter' mean the same; give one of them
COPY copy FROM '$TMP/word.csv' (COMPRESSION gzip);
-- has: word.csv' is not a gzip file
COPY copy TO '$TMP/word.csv' (QUOTE ',');
-- error: ProgrammingError: option delimiter is one ASCII character, no quote and no line end, not ','
COPY copy TO '$TMP/word.csv' (ESCAPE ',');
-- error: ProgrammingError: option escape is one ASCII character, not ','
COPY copy TO '$TMP/word.csv' (NULL 'a,b');
-- error: ProgrammingError: option null is a text without delimiter, quote and line end, not 'a,b'
COPY copy TO '$TMP/word.csv' (SKIP 1);
-- error: ProgrammingError: option 'skip' does not exist
COPY copy FROM '$TMP/none*.csv';
-- error: OperationalError: no file matches '$TMP/none*.csv'
