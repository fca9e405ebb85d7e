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
-- error: DataError: file '$DATA/empty.tbl' is empty
COPY nation FROM '$DATA/empty.csv';
-- error: DataError: file '$DATA/empty.csv' is empty
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
