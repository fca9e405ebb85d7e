-- The catalog under DuckDB's names, and pragmas.

CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'x' NOT NULL CHECK (b <> 'y'), c INTEGER REFERENCES t (a));

CREATE VIEW v AS SELECT a, b AS c FROM t;

CREATE INDEX i ON t (b);

CREATE SEQUENCE s START 5;

PRAGMA table_info('t');
-- 0 | 'a' | 'INTEGER' | true | NULL | true
-- 1 | 'b' | 'VARCHAR' | true | '''x''' | false
-- 2 | 'c' | 'INTEGER' | false | NULL | false

PRAGMA table_info(T);
-- 0 | 'a' | 'INTEGER' | true | NULL | true
-- 1 | 'b' | 'VARCHAR' | true | '''x''' | false
-- 2 | 'c' | 'INTEGER' | false | NULL | false

PRAGMA table_info('nothing');
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 15)

PRAGMA show_tables;
-- 't'
-- 'v'

SELECT table_name, has_primary_key, estimated_size, column_count, index_count, check_constraint_count FROM duckdb_tables();
-- 't' | true | 0 | 3 | 1 | 1

SELECT table_name, column_name, column_index, column_default, is_nullable, data_type FROM duckdb_columns();
-- 't' | 'a' | 1 | NULL | false | 'INTEGER'
-- 't' | 'b' | 2 | '''x''' | false | 'VARCHAR'
-- 't' | 'c' | 3 | NULL | true | 'INTEGER'
-- 'v' | 'a' | 1 | NULL | true | 'INTEGER'
-- 'v' | 'c' | 2 | NULL | true | 'VARCHAR'

SELECT view_name, column_count, sql FROM duckdb_views();
-- 'v' | 2 | 'SELECT a, b AS c FROM t'

SELECT database_name, schema_name, internal FROM duckdb_schemas();
-- 'raydb' | 'information_schema' | true
-- 'raydb' | 'main' | false

SELECT database_name, internal, type FROM duckdb_databases();
-- 'raydb' | false | 'raydb'

SELECT function_type FROM duckdb_functions() WHERE function_name = 'abs';
-- 'scalar'

SELECT index_name, table_name, is_unique, expressions FROM duckdb_indexes();
-- 'i' | 't' | false | '[b]'

SELECT table_name, constraint_type, constraint_column_names, constraint_name FROM duckdb_constraints();
-- 't' | 'CHECK' | [] | 't_b_check'
-- 't' | 'FOREIGN KEY' | ['c'] | 't_c_fkey'
-- 't' | 'NOT NULL' | ['a'] | 't_a_not_null'
-- 't' | 'NOT NULL' | ['b'] | 't_b_not_null'
-- 't' | 'PRIMARY KEY' | ['a'] | 't_pkey'

SELECT sequence_name, start_value, min_value, increment_by, cycle FROM duckdb_sequences();
-- 's' | 5 | 1 | 1 | false

DROP INDEX i;

SELECT count(*) FROM duckdb_indexes();
-- 0

PRAGMA threads = 2;

SHOW threads;
-- '2'

PRAGMA enable_verification;

SET SESSION disabled_optimizers = 'filter_pushdown';

RESET disabled_optimizers;

SET max_memory = '1GB';

SHOW memory_limit;
-- '1GB'

PRAGMA nothing;
-- error: NotSupportedError: PRAGMA nothing is not supported

PRAGMA threads = ;
-- error: ProgrammingError: syntax error at line 1, column 17: the statement ends too early

SELECT table_name, constraint_type, constraint_text, constraint_column_indexes, referenced_column_indexes FROM duckdb_constraints();
-- 't' | 'CHECK' | 'CHECK (b <> ''y'')' | [] | NULL
-- 't' | 'FOREIGN KEY' | 'FOREIGN KEY (c) REFERENCES t(a)' | [2] | [0]
-- 't' | 'NOT NULL' | 'NOT NULL' | [0] | NULL
-- 't' | 'NOT NULL' | 'NOT NULL' | [1] | NULL
-- 't' | 'PRIMARY KEY' | 'PRIMARY KEY (a)' | [0] | NULL

SELECT index_name, sql, column_indexes FROM duckdb_indexes();
-- (no rows)

SELECT t.table_name, c.column_name, c.data_type_id FROM duckdb_tables() AS t JOIN duckdb_columns() AS c ON t.table_oid = c.table_oid ORDER BY c.column_index;
-- 't' | 'a' | 23
-- 't' | 'b' | 25
-- 't' | 'c' | 23

CREATE TYPE mood AS ENUM ('sad', 'ok');

CREATE TYPE whole AS INTEGER;

SELECT type_name, logical_type, labels FROM duckdb_types();
-- 'mood' | 'ENUM' | ['sad', 'ok']
-- 'whole' | 'ALIAS' | NULL

-- Values of settings are those of the moment.
SELECT name, value FROM duckdb_settings() WHERE name = 'nprobe';
-- 'nprobe' | 'auto'

SET nprobe = 7;

SELECT name, value FROM duckdb_settings() WHERE name = 'nprobe';
-- 'nprobe' | '7'

-- A view over files is in the catalogs; its columns are not, for they are known when it is read.
COPY (SELECT 1 AS n) TO '$TMP/numbers.parquet';
CREATE VIEW from_file AS FROM '$TMP/numbers.parquet';
CREATE VIEW above AS SELECT n + 1 AS more FROM from_file;
SELECT view_name, column_count FROM duckdb_views() WHERE view_name IN ('from_file', 'above') ORDER BY ALL;
-- 'above' | NULL
-- 'from_file' | NULL
SELECT table_name, table_type FROM information_schema.tables WHERE table_name IN ('from_file', 'above') ORDER BY ALL;
-- 'above' | 'VIEW'
-- 'from_file' | 'VIEW'
SELECT table_name, column_name FROM information_schema.columns WHERE table_name IN ('from_file', 'above');
-- (no rows)
SELECT relname, relkind FROM pg_catalog.pg_class WHERE relname IN ('from_file', 'above') ORDER BY ALL;
-- 'above' | 'v'
-- 'from_file' | 'v'
EXPORT DATABASE '$TMP/exported';
DESCRIBE above;
-- 'more' | 'INTEGER' | 'YES' | NULL | NULL | NULL
SELECT * FROM above;
-- 2
