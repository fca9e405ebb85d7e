CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL UNIQUE, size DECIMAL(10, 2) DEFAULT 0);

CREATE TABLE shop (
  id BIGINT, nation INTEGER REFERENCES nation ON DELETE CASCADE, name VARCHAR, opened TIMESTAMP,
  CONSTRAINT shop_key PRIMARY KEY (id, nation), FOREIGN KEY (name) REFERENCES nation (name),
  CHECK (id > 0), CONSTRAINT named CHECK (length(name) > id), CHECK (id < 1000));

CREATE VIEW sizes AS SELECT name, size * 2 AS twice FROM nation;

SELECT table_catalog, table_schema, table_name, table_type, is_insertable_into FROM information_schema.tables;
-- 'raydb' | 'main' | 'nation' | 'BASE TABLE' | 'YES'
-- 'raydb' | 'main' | 'shop' | 'BASE TABLE' | 'YES'
-- 'raydb' | 'main' | 'sizes' | 'VIEW' | 'NO'

SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, numeric_precision, numeric_scale
FROM information_schema.columns ORDER BY table_name, ordinal_position;
-- 'nation' | 'id' | 1 | NULL | 'NO' | 'INTEGER' | 32 | 0
-- 'nation' | 'name' | 2 | NULL | 'NO' | 'VARCHAR' | NULL | NULL
-- 'nation' | 'size' | 3 | '0' | 'YES' | 'DECIMAL(10,2)' | 10 | 2
-- 'shop' | 'id' | 1 | NULL | 'NO' | 'BIGINT' | 64 | 0
-- 'shop' | 'nation' | 2 | NULL | 'NO' | 'INTEGER' | 32 | 0
-- 'shop' | 'name' | 3 | NULL | 'YES' | 'VARCHAR' | NULL | NULL
-- 'shop' | 'opened' | 4 | NULL | 'YES' | 'TIMESTAMP' | NULL | NULL
-- 'sizes' | 'name' | 1 | NULL | 'YES' | 'VARCHAR' | NULL | NULL
-- 'sizes' | 'twice' | 2 | NULL | 'YES' | 'DECIMAL(12,2)' | 12 | 2

SELECT schema_name FROM information_schema.schemata;
-- 'information_schema'
-- 'main'

SELECT table_name, view_definition FROM information_schema.views;
-- 'sizes' | 'SELECT name, size * 2 AS twice FROM nation'

SELECT table_name, constraint_name, constraint_type FROM information_schema.table_constraints ORDER BY table_name, constraint_name;
-- 'nation' | 'nation_id_not_null' | 'CHECK'
-- 'nation' | 'nation_name_key' | 'UNIQUE'
-- 'nation' | 'nation_name_not_null' | 'CHECK'
-- 'nation' | 'nation_pkey' | 'PRIMARY KEY'
-- 'shop' | 'named' | 'CHECK'
-- 'shop' | 'shop_id_check' | 'CHECK'
-- 'shop' | 'shop_id_check1' | 'CHECK'
-- 'shop' | 'shop_id_not_null' | 'CHECK'
-- 'shop' | 'shop_key' | 'PRIMARY KEY'
-- 'shop' | 'shop_name_fkey' | 'FOREIGN KEY'
-- 'shop' | 'shop_nation_fkey' | 'FOREIGN KEY'
-- 'shop' | 'shop_nation_not_null' | 'CHECK'

SELECT constraint_name, column_name, ordinal_position, position_in_unique_constraint FROM information_schema.key_column_usage ORDER BY table_name, constraint_name, ordinal_position;
-- 'nation_name_key' | 'name' | 1 | NULL
-- 'nation_pkey' | 'id' | 1 | NULL
-- 'shop_key' | 'id' | 1 | NULL
-- 'shop_key' | 'nation' | 2 | NULL
-- 'shop_name_fkey' | 'name' | 1 | 1
-- 'shop_nation_fkey' | 'nation' | 1 | 1

SELECT constraint_name, unique_constraint_name, update_rule, delete_rule FROM information_schema.referential_constraints;
-- 'shop_name_fkey' | 'nation_name_key' | 'NO ACTION' | 'NO ACTION'
-- 'shop_nation_fkey' | 'nation_pkey' | 'NO ACTION' | 'CASCADE'

SELECT constraint_name, check_clause FROM information_schema.check_constraints;
-- 'named' | 'length(name) > id'
-- 'nation_id_not_null' | 'id IS NOT NULL'
-- 'nation_name_not_null' | 'name IS NOT NULL'
-- 'shop_id_check' | 'id > 0'
-- 'shop_id_check1' | 'id < 1000'
-- 'shop_id_not_null' | 'id IS NOT NULL'
-- 'shop_nation_not_null' | 'nation IS NOT NULL'

-- They join like any table.
SELECT t.table_name, count(*) FROM information_schema.tables AS t JOIN information_schema.columns c ON t.table_name = c.table_name
WHERE t.table_type = 'BASE TABLE' GROUP BY t.table_name HAVING count(*) > 3;
-- 'shop' | 4

SELECT information_schema.tables.table_name, tables.table_type FROM information_schema.tables WHERE table_name LIKE 's%';
-- 'shop' | 'BASE TABLE'
-- 'sizes' | 'VIEW'

SELECT count(*) FROM information_schema.triggers;
-- error: ProgrammingError: table 'information_schema.triggers' does not exist

SELECT count(*) FROM information_schema.table;
-- error: ProgrammingError: table 'information_schema.table' does not exist; did you mean 'tables'?

INSERT INTO information_schema.tables VALUES (1);
-- error: ProgrammingError: INSERT needs the name of a table

DELETE FROM information_schema.tables;
-- error: ProgrammingError: DELETE needs the name of a table

DROP TABLE information_schema.tables;
-- error: ProgrammingError: the schema 'information_schema' can only be read (line 1, column 12)

-- The schema of tables is main.
CREATE TABLE main.extra (a INTEGER REFERENCES main.nation (id));

INSERT INTO main.nation VALUES (1, 'Italy', 5);

INSERT INTO main.extra (a) VALUES (1);

SELECT main.extra.a, e.a FROM main.extra, main.extra AS e WHERE main.extra.a = e.a;
-- 1 | 1

UPDATE main.extra SET a = 1 WHERE extra.a = 1;

CREATE VIEW main.ones AS SELECT a FROM main.extra;

ALTER TABLE main.extra ADD COLUMN b INTEGER;

COPY main.extra (a) TO '$TMP/extra.csv';

COPY main.extra (a) FROM '$TMP/extra.csv';

SELECT * FROM main.ones;
-- 1
-- 1

DELETE FROM main.extra;

DROP TABLE main.extra CASCADE;

SELECT * FROM other.nation;
-- error: ProgrammingError: schema 'other' does not exist, and no database is attached as 'other' (line 1, column 15)

SELECT * FROM db.main.nation;
-- error: ProgrammingError: database 'db' is not attached (line 1, column 15)

CREATE TABLE mian.x (a INTEGER);
-- error: ProgrammingError: schema 'mian' does not exist, and no database is attached as 'mian'; did you mean 'main'? (line 1, column 14)

DROP TABLE other.nation;
-- error: ProgrammingError: schema 'other' does not exist, and no database is attached as 'other' (line 1, column 12)

SELECT other.nation.id FROM nation;
-- error: ProgrammingError: table 'other.nation' is not in FROM (line 1, column 8)

CREATE SCHEMA s;

CREATE TABLE pet (id INTEGER, caption VARCHAR) WITH (chunk_rows = 1000, caption.encoding = fsst, caption.offset_index = on);

SELECT table_name, column_name, option_name, option_value FROM information_schema.column_options;
-- 'pet' | 'id' | 'chunk_rows' | '1000'
-- 'pet' | 'caption' | 'chunk_rows' | '1000'
-- 'pet' | 'caption' | 'encoding' | 'fsst'
-- 'pet' | 'caption' | 'offset_index' | 'on'

-- What PostgreSQL calls the types, and which columns constraints name.
SELECT column_name, udt_schema, udt_name, datetime_precision, is_updatable FROM information_schema.columns
WHERE table_name IN ('shop', 'sizes') ORDER BY table_name, ordinal_position;
-- 'id' | 'pg_catalog' | 'int8' | NULL | 'YES'
-- 'nation' | 'pg_catalog' | 'int4' | NULL | 'YES'
-- 'name' | 'pg_catalog' | 'text' | NULL | 'YES'
-- 'opened' | 'pg_catalog' | 'timestamp' | 6 | 'YES'
-- 'name' | 'pg_catalog' | 'text' | NULL | 'NO'
-- 'twice' | 'pg_catalog' | 'numeric' | NULL | 'NO'

SELECT table_name, column_name, constraint_name FROM information_schema.constraint_column_usage WHERE constraint_name LIKE 'shop%' ORDER BY 3, 2;
-- 'shop' | 'id' | 'shop_id_check'
-- 'shop' | 'id' | 'shop_id_check1'
-- 'shop' | 'id' | 'shop_key'
-- 'shop' | 'nation' | 'shop_key'
-- 'nation' | 'name' | 'shop_name_fkey'
-- 'nation' | 'id' | 'shop_nation_fkey'

CREATE TABLE constrained (a INTEGER PRIMARY KEY, b INTEGER UNIQUE, CHECK (b > 0));

SELECT constraint_type, enforced, nulls_distinct FROM information_schema.table_constraints
  WHERE table_name = 'constrained' ORDER BY constraint_type, constraint_name;
-- 'CHECK' | 'YES' | NULL
-- 'CHECK' | 'YES' | NULL
-- 'PRIMARY KEY' | 'YES' | NULL
-- 'UNIQUE' | 'YES' | 'YES'
