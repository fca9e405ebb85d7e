-- COMMENT ON: texts on what there is, which go with it.

CREATE SCHEMA s;

CREATE TABLE s.t (a INTEGER PRIMARY KEY, "Odd name" VARCHAR);

CREATE TABLE u (a INTEGER);

CREATE VIEW v AS SELECT a AS b FROM u;

CREATE INDEX i ON u (a);

CREATE SEQUENCE q;

CREATE TYPE mood AS ENUM ('sad', 'ok');

CREATE MACRO f(x) AS x + 1;

CREATE MACRO g(x) AS TABLE SELECT x AS y;

COMMENT ON TABLE s.t IS 'It''s a table';

comment on column s.t."Odd name" is 'a column';

COMMENT ON COLUMN U.A IS 'found in any case';

COMMENT ON COLUMN raydb.main.v.b IS 'of a view';

COMMENT ON VIEW v IS 'a view';

COMMENT ON SCHEMA s IS 'a schema';

COMMENT ON INDEX i IS 'an index';

COMMENT ON SEQUENCE q IS 'a sequence';

COMMENT ON TYPE mood IS 'a type';

COMMENT ON MACRO f IS 'a macro';

COMMENT ON MACRO TABLE g IS 'a macro of tables';

SELECT * FROM comments();
-- 'column' | 's.t' | 'Odd name' | 'a column'
-- 'column' | 'u' | 'a' | 'found in any case'
-- 'column' | 'v' | 'b' | 'of a view'
-- 'index' | 'i' | NULL | 'an index'
-- 'macro' | 'f' | NULL | 'a macro'
-- 'schema' | 's' | NULL | 'a schema'
-- 'sequence' | 'q' | NULL | 'a sequence'
-- 'table macro' | 'g' | NULL | 'a macro of tables'
-- 'table' | 's.t' | NULL | 'It''s a table'
-- 'type' | 'mood' | NULL | 'a type'
-- 'view' | 'v' | NULL | 'a view'

SELECT table_name, comment FROM duckdb_tables();
-- 't' | 'It''s a table'
-- 'u' | NULL

SELECT table_name, column_name, comment FROM duckdb_columns() WHERE comment IS NOT NULL;
-- 't' | 'Odd name' | 'a column'
-- 'u' | 'a' | 'found in any case'
-- 'v' | 'b' | 'of a view'

SELECT comment FROM duckdb_views() UNION ALL SELECT comment FROM duckdb_indexes() UNION ALL SELECT comment FROM duckdb_sequences()
UNION ALL SELECT comment FROM duckdb_types() UNION ALL SELECT comment FROM duckdb_schemas() WHERE comment IS NOT NULL
UNION ALL SELECT comment FROM duckdb_functions() WHERE comment IS NOT NULL;
-- 'a macro of tables'
-- 'a macro'
-- 'a schema'
-- 'a sequence'
-- 'a type'
-- 'a view'
-- 'an index'

SELECT table_name, table_comment FROM information_schema.tables;
-- 't' | 'It''s a table'
-- 'u' | NULL
-- 'v' | 'a view'

SELECT column_name, column_comment FROM information_schema.columns;
-- 'Odd name' | 'a column'
-- 'a' | 'found in any case'
-- 'a' | NULL
-- 'b' | 'of a view'

-- Another one takes its place, NULL takes it away.
COMMENT ON TABLE u IS 'first';

COMMENT ON TABLE u IS 'second';

COMMENT ON MACRO f IS NULL;

COMMENT ON MACRO TABLE g IS NULL;

COMMENT ON TYPE mood IS NULL;

COMMENT ON TYPE mood IS NULL;

-- It goes with a name.
ALTER TABLE s.t RENAME TO t2;

ALTER TABLE s.t2 RENAME COLUMN "Odd name" TO plain;

ALTER VIEW v RENAME TO w;

ALTER SEQUENCE q RENAME TO r;

SELECT * FROM comments();
-- 'column' | 's.t2' | 'plain' | 'a column'
-- 'column' | 'u' | 'a' | 'found in any case'
-- 'column' | 'w' | 'b' | 'of a view'
-- 'index' | 'i' | NULL | 'an index'
-- 'schema' | 's' | NULL | 'a schema'
-- 'sequence' | 'r' | NULL | 'a sequence'
-- 'table' | 's.t2' | NULL | 'It''s a table'
-- 'table' | 'u' | NULL | 'second'
-- 'view' | 'w' | NULL | 'a view'

-- It ends with what it is on.
ALTER TABLE s.t2 DROP COLUMN plain, ADD COLUMN plain INTEGER;

DROP VIEW w;

DROP SEQUENCE r;

CREATE OR REPLACE TABLE u (a INTEGER);

SELECT * FROM comments();
-- 'schema' | 's' | NULL | 'a schema'
-- 'table' | 's.t2' | NULL | 'It''s a table'

DROP SCHEMA s CASCADE;

CREATE SCHEMA s;

SELECT * FROM comments();
-- (no rows)

-- What replaces another begins without comments.
CREATE OR REPLACE VIEW v AS SELECT a AS b FROM u;

CREATE OR REPLACE SEQUENCE q;

CREATE OR REPLACE MACRO f(x) AS x + 1;

CREATE OR REPLACE MACRO g(x) AS TABLE SELECT x AS y;

CREATE VIEW other_view AS SELECT a FROM u;

COMMENT ON VIEW v IS 'old';

COMMENT ON COLUMN v.b IS 'old';

COMMENT ON VIEW other_view IS 'stays';

COMMENT ON SEQUENCE q IS 'old';

COMMENT ON MACRO f IS 'old';

COMMENT ON MACRO TABLE g IS 'old';

CREATE OR REPLACE VIEW V AS SELECT a AS c FROM u;

CREATE OR REPLACE SEQUENCE q START 5;

CREATE OR REPLACE MACRO f(x) AS x + 2;

SELECT kind, name, comment FROM comments();
-- 'table macro' | 'g' | 'old'
-- 'view' | 'other_view' | 'stays'

CREATE OR REPLACE MACRO g(x) AS TABLE SELECT x AS z;

DROP VIEW other_view;

DROP VIEW v;

SELECT * FROM comments();
-- (no rows)

-- A rollback takes it back.
BEGIN;

COMMENT ON TABLE u IS 'for now';

SELECT comment FROM comments();
-- 'for now'

ROLLBACK;

SELECT comment FROM comments();
-- (no rows)

-- Temporary tables, and tables of other databases.
CREATE TEMP TABLE here (a INTEGER);

COMMENT ON TABLE here IS 'is gone soon';

ATTACH ':memory:' AS other;

CREATE TABLE other.t (a INTEGER);

COMMENT ON TABLE other.t IS 'elsewhere';

COMMENT ON COLUMN other.main.t.a IS 'a column elsewhere';

SELECT database_name, table_name, comment FROM duckdb_tables();
-- 'other' | 't' | 'elsewhere'
-- 'raydb' | 'u' | NULL
-- 'temp' | 'here' | 'is gone soon'

SELECT database_name, column_name, comment FROM duckdb_columns() WHERE lower(database_name) = 'other';
-- 'other' | 'a' | 'a column elsewhere'

SELECT * FROM comments();
-- 'column' | 'other.t' | 'a' | 'a column elsewhere'
-- 'table' | 'other.t' | NULL | 'elsewhere'
-- 'table' | 'temp.here' | NULL | 'is gone soon'

-- What cannot be.
COMMENT ON TABLE nothing IS 'x';
-- error: ProgrammingError: table 'nothing' does not exist (line 1, column 18)

COMMENT ON VIEW u IS 'x';
-- error: ProgrammingError: 'u' is a table, not a view (line 1, column 17)

COMMENT ON COLUMN u.b IS 'x';
-- error: ProgrammingError: column 'b' does not exist in 'u' (line 1, column 21)

COMMENT ON COLUMN a IS 'x';
-- error: ProgrammingError: syntax error at line 1, column 21: unexpected 'IS', expected '.' and the name of a column

COMMENT ON INDEX nothing IS 'x';
-- error: ProgrammingError: index 'nothing' does not exist (line 1, column 18)

COMMENT ON TABLE u IS 5;
-- error: ProgrammingError: syntax error at line 1, column 23: unexpected '5', expected a string or NULL

COMMENT ON TABLE u;
-- error: ProgrammingError: syntax error at line 1, column 19: the statement ends too early, expected 'IS'

COMMENT ON ROLE u IS 'x';
-- error: NotSupportedError: COMMENT ON ROLE is not supported

COMMENT ON SCHEMA nothing IS 'x';
-- error: ProgrammingError: schema 'nothing' does not exist (line 1, column 19)

-- Strings with escapes; those of temporary tables and of other databases have the names that queries use.
CREATE TEMP TABLE passing (a INTEGER);
CREATE TABLE other.far (a INTEGER);
COMMENT ON TABLE passing IS E'two\nlines';
COMMENT ON COLUMN other.far.a IS 'distant';
SELECT kind, lower(name), lower(column_name), comment FROM comments()
WHERE lower(name) IN ('temp.passing', 'other.far') ORDER BY 2;
-- 'column' | 'other.far' | 'a' | 'distant'
-- 'table' | 'temp.passing' | NULL | 'two\nlines'
COMMENT ON TABLE passing IS 5;
-- error: ProgrammingError: syntax error at line 1, column 29: unexpected '5', expected a string or NULL
