-- What tools for PostgreSQL ask of a database: its tables, columns, keys, indexes, comments.

CREATE SCHEMA shop;

CREATE TYPE mood AS ENUM ('sad', 'ok');

CREATE TABLE nation (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL UNIQUE, size DECIMAL(10, 2) DEFAULT 0);

CREATE TABLE shop.sale (
  nr BIGINT GENERATED ALWAYS AS IDENTITY, nation INTEGER REFERENCES main.nation ON DELETE CASCADE, day DATE, feeling mood,
  tags VARCHAR[], amount DOUBLE CHECK (amount > 0), twice AS (amount * 2), PRIMARY KEY (nr, day));

INSERT INTO nation VALUES (1, 'Italy', 5), (2, 'Norway', 3);

CREATE INDEX by_day ON shop.sale (day DESC, amount);

CREATE VIEW large AS SELECT name, size FROM nation WHERE size > 4;

CREATE SEQUENCE numbers START 5;

COMMENT ON TABLE nation IS 'Countries';

COMMENT ON COLUMN nation.size IS 'In square miles';

COMMENT ON TABLE shop.sale IS 'One row a sale';

COMMENT ON VIEW large IS 'Large ones';

COMMENT ON SCHEMA shop IS 'All that is sold';

-- Tables with their kinds, comments and about how many rows they have, as a tool lists them.
SELECT n.nspname AS schema, c.relname AS name,
  CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' END AS type,
  d.description, stat.n_live_tup AS row_count
FROM pg_catalog.pg_class AS c INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
LEFT JOIN pg_catalog.pg_description AS d ON c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
LEFT JOIN pg_stat_user_tables AS stat ON n.nspname = stat.schemaname AND c.relname = stat.relname
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p', 'v', 'f', 'm')
ORDER BY type, schema, name;
-- 'main' | 'nation' | 'TABLE' | 'Countries' | 2
-- 'shop' | 'sale' | 'TABLE' | 'One row a sale' | 0
-- 'main' | 'large' | 'VIEW' | 'Large ones' | NULL

-- Columns, with types that JDBC and PostgreSQL have, comments, and what is in the primary key.
SELECT c.table_name, c.column_name,
  CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN format('%s', c.udt_name)
  ELSE format('"%s"."%s"', c.udt_schema, c.udt_name) END AS kind,
  c.ordinal_position - 1 AS place, pk.column_name IS NOT NULL AS is_key,
  col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID),
    c.ordinal_position) AS comment,
  c.column_default IS NOT NULL AND c.column_default LIKE '%nextval(%' OR c.is_identity <> 'NO' AS is_counted
FROM information_schema.columns AS c LEFT JOIN (
  SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc
  INNER JOIN information_schema.key_column_usage AS kc ON tc.constraint_name = kc.constraint_name
    AND tc.table_schema = kc.table_schema AND tc.table_name = kc.table_name
  WHERE tc.constraint_type = 'PRIMARY KEY') AS pk
ON c.table_schema = pk.table_schema AND c.table_name = pk.table_name AND c.column_name = pk.column_name
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_'
ORDER BY c.table_name, place;
-- 'large' | 'name' | 'text' | 0 | false | NULL | false
-- 'large' | 'size' | 'numeric' | 1 | false | NULL | false
-- 'nation' | 'id' | 'int4' | 0 | true | NULL | false
-- 'nation' | 'name' | 'text' | 1 | false | NULL | false
-- 'nation' | 'size' | 'numeric' | 2 | false | 'In square miles' | false
-- 'sale' | 'nr' | 'int8' | 0 | true | NULL | true
-- 'sale' | 'nation' | 'int4' | 1 | false | NULL | false
-- 'sale' | 'day' | 'date' | 2 | true | NULL | false
-- 'sale' | 'feeling' | '"main"."mood"' | 3 | false | NULL | false
-- 'sale' | 'tags' | '_text' | 4 | false | NULL | false
-- 'sale' | 'amount' | 'float8' | 5 | false | NULL | false
-- 'sale' | 'twice' | 'float8' | 6 | false | NULL | false

SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
  pg_get_expr(d.adbin, d.adrelid) AS value, t.typtype
FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = 'shop.sale'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum;
-- 'nr' | 'bigint' | true | 'a' | '' | NULL | 'b'
-- 'nation' | 'integer' | false | '' | '' | NULL | 'b'
-- 'day' | 'date' | true | '' | '' | NULL | 'b'
-- 'feeling' | 'mood' | false | '' | '' | NULL | 'e'
-- 'tags' | 'text[]' | false | '' | '' | NULL | 'b'
-- 'amount' | 'double precision' | false | '' | '' | NULL | 'b'
-- 'twice' | 'double precision' | false | '' | 's' | 'amount * 2' | 'b'

SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'nation'::regclass ORDER BY attnum;
-- 'id' | 'integer'
-- 'name' | 'text'
-- 'size' | 'numeric(10,2)'

-- Foreign keys by the columns of both sides.
SELECT fk_ns.nspname, fk_table.relname, fk_column.attname, pk_ns.nspname, pk_table.relname, pk_column.attname
FROM pg_constraint AS c JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid
JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid
JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid
JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid
WHERE c.contype = 'f' AND fk_column.attnum = ANY (c.conkey) AND pk_column.attnum = ANY (c.confkey);
-- 'shop' | 'sale' | 'nation' | 'main' | 'nation' | 'id'

SELECT conname, contype, pg_get_constraintdef(oid) FROM pg_catalog.pg_constraint ORDER BY conname;
-- 'nation_name_key' | 'u' | 'UNIQUE (name)'
-- 'nation_pkey' | 'p' | 'PRIMARY KEY (id)'
-- 'sale_amount_check' | 'c' | 'CHECK (amount > 0)'
-- 'sale_nation_fkey' | 'f' | 'FOREIGN KEY (nation) REFERENCES main.nation(id) ON DELETE CASCADE'
-- 'sale_pkey' | 'p' | 'PRIMARY KEY (nr, day)'

-- The columns that indexes begin with, and those of keys one by one.
SELECT tmp.schema_name, tmp.table_name, trim(BOTH '"' FROM pg_catalog.pg_get_indexdef(tmp.index_oid, tmp.pos, false)) AS field
FROM (
  SELECT n.nspname AS schema_name, ct.relname AS table_name, ci.oid AS index_oid,
    (information_schema._pg_expandarray(i.indkey)).n AS pos
  FROM pg_catalog.pg_class AS ct JOIN pg_catalog.pg_namespace AS n ON ct.relnamespace = n.oid
  JOIN pg_catalog.pg_index AS i ON ct.oid = i.indrelid JOIN pg_catalog.pg_class AS ci ON ci.oid = i.indexrelid
  WHERE i.indpred IS NULL) AS tmp
WHERE tmp.pos = 1 ORDER BY 1, 2, 3;
-- 'main' | 'nation' | 'id'
-- 'main' | 'nation' | 'name'
-- 'shop' | 'sale' | 'day'
-- 'shop' | 'sale' | 'nr'

SELECT result.table_name, a.attname, result.key_seq, result.pk_name FROM (
  SELECT ct.oid AS table_oid, ct.relname AS table_name, ci.relname AS pk_name,
    (information_schema._pg_expandarray(i.indkey)).x AS place, (information_schema._pg_expandarray(i.indkey)).n AS key_seq
  FROM pg_catalog.pg_class AS ct JOIN pg_catalog.pg_index AS i ON ct.oid = i.indrelid
  JOIN pg_catalog.pg_class AS ci ON ci.oid = i.indexrelid WHERE i.indisprimary) AS result
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = result.table_oid AND a.attnum = result.place
ORDER BY 1, 3;
-- 'nation' | 'id' | 1 | 'nation_pkey'
-- 'sale' | 'nr' | 1 | 'sale_pkey'
-- 'sale' | 'day' | 2 | 'sale_pkey'

SELECT tablename, indexname, indexdef FROM pg_indexes ORDER BY 2;
-- 'sale' | 'by_day' | 'CREATE INDEX by_day ON shop.sale (day DESC, amount)'
-- 'nation' | 'nation_name_key' | 'CREATE UNIQUE INDEX nation_name_key ON main.nation (name)'
-- 'nation' | 'nation_pkey' | 'CREATE UNIQUE INDEX nation_pkey ON main.nation (id)'
-- 'sale' | 'sale_pkey' | 'CREATE UNIQUE INDEX sale_pkey ON shop.sale (nr, day)'

-- Who may do what: everybody everything.
WITH known AS (
  SELECT schemaname, tablename AS name FROM pg_catalog.pg_tables UNION SELECT schemaname, viewname FROM pg_catalog.pg_views
  UNION SELECT schemaname, matviewname FROM pg_catalog.pg_matviews)
SELECT schemaname, name, pg_catalog.has_any_column_privilege(current_user, '"' || schemaname || '"."' || name || '"', 'update') AS may_update
FROM known WHERE schemaname !~ '^pg_' AND pg_catalog.has_schema_privilege(current_user, schemaname, 'usage') ORDER BY 1, 2;
-- 'main' | 'large' | true
-- 'main' | 'nation' | true
-- 'shop' | 'sale' | true

-- The types that are made, and their labels.
SELECT nspname, typname FROM pg_type AS t JOIN pg_namespace AS n ON n.oid = t.typnamespace
WHERE t.oid IN (SELECT DISTINCT enumtypid FROM pg_enum);
-- 'main' | 'mood'

SELECT t.typname, array_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum AS e JOIN pg_type AS t ON t.oid = e.enumtypid GROUP BY t.typname;
-- 'mood' | ['sad', 'ok']

-- Comments, texts of views, names of tables by their numbers.
SELECT obj_description('nation'::regclass), obj_description('nation'::regclass, 'pg_class'), col_description('nation'::regclass::oid, 3);
-- 'Countries' | 'Countries' | 'In square miles'

SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'shop';
-- 'All that is sold'

SELECT c.oid::regclass::text, pg_get_viewdef(c.oid, true), pg_table_is_visible(c.oid) FROM pg_class AS c WHERE c.relkind IN ('r', 'v') ORDER BY 1;
-- 'large' | 'SELECT name, size FROM nation WHERE size > 4' | true
-- 'nation' | NULL | true
-- 'shop.sale' | NULL | false

SELECT to_regclass('nothing') IS NULL, 'shop.sale'::regclass = (SELECT oid FROM pg_class WHERE relname = 'sale');
-- true | true

SELECT sequencename, start_value FROM pg_sequences;
-- 'numbers' | 5

SELECT datname FROM pg_database WHERE NOT datistemplate;
-- 'raydb'

SELECT current_user, session_user, current_schemas(false), current_schemas(true), current_setting('server_version_num');
-- 'raydb' | 'raydb' | ['main'] | ['pg_catalog', 'main'] | '140000'

SELECT quote_ident('Odd name'), quote_literal('it''s'), quote_nullable(NULL), format('%I of %L', 'a b', 'c');
-- '"Odd name"' | '''it''''s''' | 'NULL' | '"a b" of ''c'''

SELECT 'sale' OPERATOR(pg_catalog.~) '^(sale)$' COLLATE pg_catalog."default", 5::oid, 'x'::name, 'y'::"char";
-- true | 5 | 'x' | 'y'

SELECT relname FROM pg_class WHERE relkind = 'x';
-- (no rows)

SELECT * FROM pg_catalog.pg_clas;
-- error: ProgrammingError: table 'pg_catalog.pg_clas' does not exist; did you mean 'pg_class'? (line 1, column 15)

SELECT * FROM (SELECT generate_subscripts([7, 8], 1));
-- 1
-- 2

SELECT generate_subscripts([[7, 8], [9, 0]], 2);
-- error: DataError: generate_subscripts() knows dimension 1 alone

-- The tables of pg_catalog are behind all others.
CREATE TABLE pg_class (a INTEGER);

SELECT * FROM pg_class;
-- (no rows)

SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'pg_class';
-- 1

-- Temporary tables are in a schema of their own, and attached databases are not there.
CREATE TEMP TABLE now_and_here (a INTEGER);

ATTACH ':memory:' AS other;

CREATE TABLE other.elsewhere (a INTEGER);

SELECT schemaname, tablename FROM pg_tables ORDER BY 1, 2;
-- 'main' | 'nation'
-- 'main' | 'pg_class'
-- 'pg_temp' | 'now_and_here'
-- 'shop' | 'sale'

SELECT n.nspname ~ '^pg_temp', c.relpersistence FROM pg_catalog.pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE relname LIKE 'now%';
-- true | 't'

-- The name of a regclass is that of SQL: quotes make a dot or a doubled quote a part of it.
CREATE TABLE "T.1" (a INTEGER);

CREATE TABLE shop."d""q" (a INTEGER);

SELECT '"T.1"'::regclass = (SELECT oid FROM pg_catalog.pg_class WHERE relname = 'T.1'), 'shop."d""q"'::regclass = (SELECT oid FROM pg_catalog.pg_class WHERE relname = 'd"q');
-- true | true

SELECT to_regclass('"shop"."sale"') = 'shop.sale'::regclass, to_regclass('"nation"') = 'nation'::regclass;
-- true | true

SELECT to_regclass('T.1'), to_regclass('"nation'), to_regclass('nation"'), to_regclass('na"tion"'), to_regclass('"shop.sale"'), to_regclass('');
-- NULL | NULL | NULL | NULL | NULL | NULL
