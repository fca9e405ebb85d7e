-- Delimiter, header and types are found; options tell what cannot be.
SELECT * FROM read_csv('$DATA/people.csv', skip => 2, nullstr => 'NA', dateformat => '%d/%m/%Y');
-- '''Bob''' | 1985-02-01 | NULL
-- 'Smith; Ann' | 1990-12-31 | '1,70'
SELECT name FROM read_csv('$DATA/people.csv', skip => 2, quote => '''', delim => ';', all_varchar => true) ORDER BY name;
-- error: DataError: file '$DATA/people.csv', line 4: 4 fields where 3 are expected
SELECT * FROM read_csv('$DATA/escaped.csv', escape => '\') ORDER BY id;
-- 1 | 'say "hi", \o/'
-- 2 | 'plain \ text'
-- 3 | NULL
-- 4 | ''
SELECT * FROM read_csv('$DATA/escaped.csv', header => false, escape => '\') ORDER BY column1 DESC LIMIT 2;
-- 'id' | 'text'
-- '4' | ''

-- =, => and := mean the same.
SELECT column1 FROM read_csv('$DATA/people.csv', skip = 4, header := false) WHERE column1 LIKE 'B%' OR column1 LIKE '%Bob%';
-- '''Bob'''

-- Types and names.
COPY (SELECT 1 AS a, '007' AS b, DATE '2026-01-02' AS c) TO '$TMP/x.csv';

SELECT * FROM '$TMP/x.csv';
-- 1 | '007' | 2026-01-02
SELECT * FROM read_csv('$TMP/x.csv', types => {'b': 'VARCHAR', 'a': 'DECIMAL(5, 2)'});
-- 1.00 | '007' | 2026-01-02
SELECT * FROM read_csv('$TMP/x.csv', types => ['SMALLINT', 'VARCHAR']);
-- 1 | '007' | 2026-01-02
SELECT * FROM read_csv('$TMP/x.csv', columns => {'x': 'INTEGER', 'y': VARCHAR, 'z': 'TIMESTAMP'});
-- 1 | '007' | 2026-01-02T00:00:00
SELECT y, a FROM read_csv('$TMP/x.csv', names => ['y']) AS t (y, z, a);
-- 1 | 2026-01-02
SELECT * FROM read_csv('$TMP/x.csv', all_varchar => true);
-- '1' | '007' | '2026-01-02'
SELECT * FROM read_csv('$TMP/x.csv', columns => {'x': 'INTEGER'});
-- error: ProgrammingError: file '$TMP/x.csv' has 3 columns, but the options tell of 1
SELECT * FROM read_csv('$TMP/x.csv', columns => {'x': 'INTEGER'}, names => ['x']);
-- error: ProgrammingError: option columns gives names and types; names and types do not apply
SELECT * FROM read_csv('$TMP/x.csv', types => {'d': 'INTEGER'});
-- error: ProgrammingError: file '$TMP/x.csv' has no column 'd'
SELECT * FROM read_csv('$TMP/x.csv', types => {'c': 'INTEGER'});
-- error: DataError: file '$TMP/x.csv', line 2, field 3 (c): '2026-01-02' is not an INTEGER
SELECT * FROM read_csv('$TMP/x.csv', types => {'c': 'INTEGRE'});
-- error: ProgrammingError: type 'INTEGRE' does not exist; did you mean 'INTEGER'?
SELECT * FROM read_csv('$TMP/x.csv', types => 'INTEGER');
-- error: ProgrammingError: option types gives types by the names of columns: {'a': 'INTEGER'}
SELECT * FROM read_csv('$TMP/x.csv', names => ['a', 'b', 'c', 'd']);
-- error: ProgrammingError: file '$TMP/x.csv' has 3 columns, but the options tell of 4

-- Compressed files, and tabs in a .tsv file.
COPY (SELECT 1 AS a, 'x y' AS b) TO '$TMP/x.csv.gz';
COPY (SELECT 1 AS a, 'x, y' AS b) TO '$TMP/x.tsv';
COPY (SELECT 2 AS a, 'x' AS b) TO '$TMP/plain.csv' (COMPRESSION zstd);

SELECT * FROM '$TMP/x.csv.gz';
-- 1 | 'x y'
SELECT * FROM '$TMP/x.tsv';
-- 1 | 'x, y'
SELECT * FROM read_csv('$TMP/plain.csv', compression => 'zstd');
-- 2 | 'x'
SELECT x.a FROM '$TMP/x.csv.gz';
-- 1

-- What is wrong.
SELECT * FROM read_csv('$TMP/x.csv', heaader => true);
-- error: ProgrammingError: option 'heaader' does not exist; did you mean 'header'?
SELECT * FROM read_csv('$TMP/x.csv', header => 'perhaps');
-- error: ProgrammingError: option header is true or false, not 'perhaps'
SELECT * FROM read_csv('$TMP/x.csv', delim => ',,');
-- error: ProgrammingError: option delimiter is one ASCII character, no quote and no line end, not ',,'
SELECT * FROM read_csv('$TMP/x.csv', delim => ',', sep => ';');
-- error: ProgrammingError: options 'delim' and 'sep' mean the same; give one of them
SELECT * FROM read_csv('$TMP/x.csv', quote => '');
-- 1 | '007' | 2026-01-02
SELECT * FROM read_csv('$TMP/x.csv', escape => 'ab');
-- error: ProgrammingError: option escape is one ASCII character, not 'ab'
SELECT * FROM read_csv('$TMP/x.csv', skip => -1);
-- error: ProgrammingError: option skip is a whole number, not '-1'
SELECT * FROM read_csv('$TMP/x.csv', skip => 10);
-- error: DataError: file '$TMP/x.csv' is empty
SELECT * FROM read_csv('$TMP/x.csv', compression => 'gzip');
-- error: DataError: file '$TMP/x.csv' is not a gzip file: zlib inflate failed: incorrect header check
SELECT * FROM read_csv('$TMP/x.csv', compression => 'zip');
-- error: ProgrammingError: option compression is auto, gzip, zstd or none, not 'zip'; did you mean 'gzip'?
SELECT * FROM read_csv('$TMP/x.csv', header => true, header => false);
-- error: ProgrammingError: option 'header' of read_csv() is given twice
SELECT * FROM read_csv('$TMP/x.csv', header => 1 + 1);
-- error: NotSupportedError: option header cannot be 1 + 1
SELECT * FROM read_csv();
-- error: ProgrammingError: read_csv() takes a path or a list of paths, not 0 arguments
SELECT * FROM read_csv(1);
-- error: ProgrammingError: read_csv() takes a path or a list of paths, as strings
SELECT * FROM read_csv('$TMP/x.csv', '$TMP/y.csv');
-- error: ProgrammingError: read_csv() takes a path or a list of paths, not 2 arguments
SELECT * FROM read_csv(header => true, '$TMP/x.csv');
-- error: ProgrammingError: the paths of read_csv() go before its options
SELECT * FROM read_csvs('$TMP/x.csv');
-- error: NotSupportedError: the table function read_csvs() is not supported; did you mean 'read_csv'?
SELECT * FROM read_csv('$DATA/people.csv');
-- error: DataError: file '$DATA/people.csv', line 4: 2 fields where 1 is expected
SELECT * FROM read_csv('$DATA/people.csv', skip => 2, types => {'height': 'DOUBLE'});
-- error: DataError: file '$DATA/people.csv', line 4, field 3 (height): '1,70' is not a DOUBLE
COPY (SELECT 1 AS filename) TO '$TMP/f.csv';
SELECT * FROM read_csv('$TMP/f.csv', filename => true);
-- error: ProgrammingError: file '$TMP/f.csv' has a column 'filename' already

-- a first line that a column's type reads is a row
CREATE TYPE answer AS ENUM ('Y', 'N');
COPY (SELECT unnest(['Y', 'Y', 'N'])) TO '$TMP/answers.csv' (HEADER false);
SELECT a FROM read_csv('$TMP/answers.csv', columns => {'a': 'answer'});
-- 'N'
-- 'Y'
-- 'Y'
COPY (SELECT unnest([true, false, true])) TO '$TMP/flags.csv' (HEADER false);
SELECT typeof(column1), column1 FROM '$TMP/flags.csv';
-- 'BOOLEAN' | false
-- 'BOOLEAN' | true
-- 'BOOLEAN' | true
COPY (SELECT 'true' AS a, 'size' AS b UNION ALL SELECT 'false', '3') TO '$TMP/named_flags.csv' (HEADER false);
SELECT * FROM '$TMP/named_flags.csv';
-- false | 3
COPY (SELECT unnest(['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002'])) TO '$TMP/ids.csv' (HEADER false);
SELECT count(*) FROM read_csv('$TMP/ids.csv', columns => {'id': 'UUID'});
-- 2

-- What DuckDB calls it, lines that cannot be read, and COPY as PostgreSQL once wrote it.
COPY (SELECT * FROM (VALUES ('1', '2'), ('x', '3'), ('7', '8')) AS v("A", b)) TO '$TMP/bad.csv' WITH CSV HEADER;

SELECT a, B FROM read_csv_auto('$TMP/bad.csv') ORDER BY a;
-- '1' | 2
-- '7' | 8
-- 'x' | 3

SELECT * FROM read_csv_auto('$TMP/bad.csv', header = true, delim = ',', types = {'a': 'VARCHAR'}, nullstr = 'x');
-- '1' | 2
-- '7' | 8
-- NULL | 3

SELECT * FROM read_csv('$TMP/bad.csv', columns = {'a': 'INTEGER', 'b': 'INTEGER'}, header = true);
-- error: DataError: file '$TMP/bad.csv', line 3, field 1 (a): 'x' is not an INTEGER

SELECT * FROM read_csv('$TMP/bad.csv', columns = {'a': 'INTEGER', 'b': 'INTEGER'}, header = true, ignore_errors = true);
-- 1 | 2
-- 7 | 8

SELECT count(*) FROM read_csv_auto(['$TMP/bad.csv', '$TMP/bad.csv'], all_varchar = true);
-- 6

CREATE TABLE good (a INTEGER, b INTEGER);

COPY good FROM '$TMP/bad.csv' WITH CSV HEADER;
-- error: DataError: file '$TMP/bad.csv', line 3, field 1 (a): 'x' is not an INTEGER

COPY good FROM '$TMP/bad.csv' (HEADER, IGNORE_ERRORS);

COPY good TO '$TMP/good.csv' WITH CSV HEADER DELIMITER ';' NULL 'NA';

COPY good (b) TO '$TMP/b.csv' CSV HEADER;

SELECT * FROM read_csv('$TMP/good.csv', delim = ';') ORDER BY 1;
-- 1 | 2
-- 7 | 8

FROM '$TMP/b.csv' ORDER BY b;
-- 2
-- 8

-- Names in any case.
SELECT BB, "aA" FROM (SELECT a AS Aa, b AS "bb" FROM good) ORDER BY AA;
-- 2 | 1
-- 8 | 7
