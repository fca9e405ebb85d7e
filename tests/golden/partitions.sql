-- COPY into folders of columns, and reading what is in such folders.
CREATE TABLE sale (year INTEGER, city VARCHAR, amount DECIMAL(6, 2));

INSERT INTO sale VALUES (2025, 'Oslo', 1.5), (2025, 'São Paulo', 2), (2026, 'Oslo', 3), (2026, NULL, 4.25);

COPY sale TO '$TMP/sales' (FORMAT parquet, PARTITION_BY (year));

SELECT * FROM '$TMP/sales/*/*.parquet' ORDER BY ALL;
-- 'Oslo' | 1.50 | 2025
-- 'Oslo' | 3.00 | 2026
-- 'São Paulo' | 2.00 | 2025
-- NULL | 4.25 | 2026

SELECT amount, year FROM read_parquet('$TMP/sales/*/*.parquet', hive_partitioning = true) WHERE year > 2025 ORDER BY ALL;
-- 3.00 | 2026
-- 4.25 | 2026

SELECT * FROM read_parquet('$TMP/sales/*/*.parquet', hive_partitioning = false) ORDER BY ALL;
-- 'Oslo' | 1.50
-- 'Oslo' | 3.00
-- 'São Paulo' | 2.00
-- NULL | 4.25

SELECT DISTINCT typeof(year), year FROM read_parquet('$TMP/sales/*/*.parquet', hive_types = {'year': 'VARCHAR'}) ORDER BY ALL;
-- 'VARCHAR' | '2025'
-- 'VARCHAR' | '2026'

SELECT DISTINCT typeof(year) FROM read_parquet('$TMP/sales/*/*.parquet', hive_types_autocast = false);
-- 'VARCHAR'

SELECT DISTINCT typeof(year) FROM read_parquet('$TMP/sales/*/*.parquet', hive_types = {'YEAR': 'SMALLINT'}, hive_types_autocast = false);
-- 'SMALLINT'

SELECT * FROM read_parquet('$TMP/sales/*/*.parquet', hive_types = {'years': 'VARCHAR'});
-- error: ProgrammingError: folder 'years' does not exist in the path; did you mean 'year'?

SELECT * FROM read_parquet('$TMP/sales/*/*.parquet', hive_types = {'year': 'DATE'});
-- error: DataError: folders 'year=' do not all name a DATE

-- The path stands before the columns of folders.
SELECT amount, filename = '$TMP/sales/year=2026/data_0.parquet', year FROM read_parquet('$TMP/sales/*/*.parquet', filename = true) WHERE city IS NULL;
-- 4.25 | true | 2026

-- What is there already.
COPY sale TO '$TMP/sales' (FORMAT parquet, PARTITION_BY (year));
-- error: OperationalError: directory '$TMP/sales' is not empty; OVERWRITE_OR_IGNORE writes to it all the same

COPY (FROM sale WHERE year = 2026) TO '$TMP/sales' (FORMAT parquet, PARTITION_BY (year), OVERWRITE_OR_IGNORE);

SELECT count(*) FROM '$TMP/sales/*/*.parquet';
-- 4

COPY (FROM sale WHERE year = 2025) TO '$TMP/sales' (FORMAT parquet, PARTITION_BY (city), OVERWRITE, FILENAME_PATTERN 'part_{i}');

SELECT replace(file, '$TMP', '') FROM glob('$TMP/sales/**/*.parquet') ORDER BY ALL;
-- '/sales/city=Oslo/part_0.parquet'
-- '/sales/city=S%C3%A3o Paulo/part_0.parquet'

SELECT * FROM '$TMP/sales/*/*.parquet' ORDER BY ALL;
-- 2025 | 1.50 | 'Oslo'
-- 2025 | 2.00 | 'São Paulo'

COPY sale TO '$TMP/ids' (FORMAT csv, HEADER, PARTITION_BY (year), FILENAME_PATTERN '{uuid}');

SELECT length(regexp_extract(file, '/([^/]*)\.csv$', 1)) FROM glob('$TMP/ids/*/*.csv');
-- 36
-- 36

COPY sale TO '$TMP/whole' (FORMAT csv, PARTITION_BY (year, city), WRITE_PARTITION_COLUMNS);

SELECT * FROM read_csv('$TMP/whole/*/*/*.csv', hive_partitioning = false) ORDER BY ALL;
-- 2025 | 'Oslo' | 1.5
-- 2025 | 'São Paulo' | 2.0
-- 2026 | 'Oslo' | 3.0
-- 2026 | NULL | 4.25

COPY sale TO '$TMP/all' (FORMAT csv, PARTITION_BY (year, city, amount));
-- error: ProgrammingError: PARTITION_BY has to leave a column for the files

COPY sale TO '$TMP/all' (FORMAT csv, PARTITION_BY (year, city, amount), WRITE_PARTITION_COLUMNS);

SELECT count(*) FROM '$TMP/all/**/*.csv';
-- 4

COPY sale TO '$TMP/other' (FORMAT csv, PARTITION_BY year, FILENAME_PATTERN '../x');
-- error: ProgrammingError: option filename_pattern is the name of a file, not '../x'
