"""pg_catalog: what tools for PostgreSQL ask of a database, as views over DuckDB's functions.

    SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r'
    SELECT obj_description('sale'::regclass, 'pg_class')

Its tables are found behind all others, and its functions behind those that there are, so that who
asks for neither pays nothing. Of several databases there is the current one, and temporary tables.
"""

from __future__ import annotations

from raydb.planner.postgres_types import postgres_types

_HERE = "database_name IN (current_database(), 'temp')"
_SCHEMA = "CASE database_name WHEN 'temp' THEN 'pg_temp' ELSE schema_name END"
_USER = "'raydb'"
# What a key makes in PostgreSQL: an index of its columns, by the number of the constraint plus one.
_KEYS = f"duckdb_constraints() WHERE {_HERE} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')"
_ACTIONS = (
    "CASE {} WHEN 'NO ACTION' THEN 'a' WHEN 'CASCADE' THEN 'c' WHEN 'SET NULL' THEN 'n'"
    " WHEN 'SET DEFAULT' THEN 'd' ELSE ' ' END"
)


def _text(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


_TYPE_ROWS = ", ".join(f"({', '.join(map(_text, row))})" for row in postgres_types())
_NOTHING = {"b": "BOOLEAN", "i": "BIGINT", "t": "VARCHAR", "l": "BIGINT[]"}


def _empty(columns: str) -> str:
    """Return the query of a table without rows, of columns such as `oid:i`."""
    parts = (column.partition(":") for column in columns.split())
    items = (f"CAST(NULL AS {_NOTHING[kind]}) AS {name}" for name, _, kind in parts)
    return f"SELECT {', '.join(items)} WHERE false"


SYSTEM_VIEWS = {
    "pg_namespace": f"""
        SELECT oid, {_SCHEMA} AS nspname, 10 AS nspowner, NULL AS nspacl
        FROM duckdb_schemas() WHERE {_HERE} OR schema_name = 'information_schema'
        UNION ALL SELECT 11, 'pg_catalog', 10, NULL""",
    "pg_class": f"""
        SELECT oid, relname, relnamespace, 0 AS reltype, 0 AS reloftype, 10 AS relowner,
            CASE relkind WHEN 'r' THEN 2 WHEN 'i' THEN 403 ELSE 0 END AS relam, 0 AS relfilenode,
            0 AS reltablespace, 0 AS relpages, reltuples, 0 AS relallvisible, 0 AS reltoastrelid,
            relhasindex, false AS relisshared, relpersistence, relkind, relnatts, relchecks,
            false AS relhasoids, relhaspkey, false AS relhasrules, false AS relhastriggers,
            false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity,
            true AS relispopulated, 'd' AS relreplident, false AS relispartition, 0 AS relrewrite,
            0 AS relfrozenxid, 0 AS relminmxid, NULL AS relacl, NULL AS reloptions,
            NULL AS relpartbound
        FROM (
            SELECT table_oid AS oid, table_name AS relname, schema_oid AS relnamespace,
                CAST(estimated_size AS DOUBLE) AS reltuples,
                index_count > 0 OR has_primary_key AS relhasindex,
                CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, 'r' AS relkind,
                column_count AS relnatts, check_constraint_count AS relchecks,
                has_primary_key AS relhaspkey
            FROM duckdb_tables() WHERE {_HERE}
            UNION ALL
            SELECT view_oid, view_name, schema_oid, -1, false,
                CASE WHEN temporary THEN 't' ELSE 'p' END, 'v', column_count, 0, false
            FROM duckdb_views() WHERE {_HERE}
            UNION ALL
            SELECT sequence_oid, sequence_name, schema_oid, 1, false, 'p', 'S', 3, 0, false
            FROM duckdb_sequences() WHERE {_HERE}
            UNION ALL
            SELECT index_oid, index_name, schema_oid, -1, false, 'p', 'i', len(column_names), 0,
                false
            FROM duckdb_indexes() WHERE {_HERE}
            UNION ALL
            SELECT constraint_oid + 1, constraint_name, schema_oid, -1, false, 'p', 'i',
                len(constraint_column_names), 0, false
            FROM {_KEYS})""",
    "pg_attribute": f"""
        SELECT table_oid AS attrelid, column_name AS attname, data_type_id AS atttypid,
            -1 AS attstattarget, -1 AS attlen, column_index AS attnum,
            CASE WHEN data_type LIKE '%]' THEN 1 ELSE 0 END AS attndims, -1 AS attcacheoff,
            type_modifier AS atttypmod, false AS attbyval, 'p' AS attstorage, 'i' AS attalign,
            NOT is_nullable AS attnotnull, column_default IS NOT NULL OR is_generated AS atthasdef,
            false AS atthasmissing, CASE identity_generation WHEN 'ALWAYS' THEN 'a'
                WHEN 'BY DEFAULT' THEN 'd' ELSE '' END AS attidentity,
            CASE WHEN is_generated THEN 's' ELSE '' END AS attgenerated, false AS attisdropped,
            true AS attislocal, 0 AS attinhcount, 0 AS attcollation, '' AS attcompression,
            NULL AS attacl, NULL AS attoptions, NULL AS attfdwoptions, NULL AS attmissingval
        FROM duckdb_columns() WHERE {_HERE}""",
    "pg_attrdef": f"""
        SELECT table_oid + column_index AS oid, table_oid AS adrelid, column_index AS adnum,
            coalesce(column_default, generation_expression) AS adbin,
            coalesce(column_default, generation_expression) AS adsrc
        FROM duckdb_columns()
        WHERE {_HERE} AND (column_default IS NOT NULL OR is_generated)""",
    "pg_type": f"""
        SELECT oid, typname, typnamespace, 10 AS typowner, typlen, typlen > 0 AS typbyval, typtype,
            typcategory, false AS typispreferred, true AS typisdefined, ',' AS typdelim,
            0 AS typrelid, typelem, typarray, 'i' AS typalign, 'p' AS typstorage,
            false AS typnotnull, 0 AS typbasetype, -1 AS typtypmod, 0 AS typndims,
            0 AS typcollation, CASE WHEN typelem > 0 THEN 'array_in' ELSE typname || 'in' END
                AS typinput, NULL AS typdefault, NULL AS typacl, typtitle
        FROM (
            SELECT oid, typname, 11 AS typnamespace, typlen, 'b' AS typtype, typcategory, typelem,
                typarray, typtitle
            FROM (VALUES {_TYPE_ROWS})
                AS t (oid, typname, typlen, typcategory, typelem, typarray, typtitle)
            UNION ALL
            SELECT type_oid, type_name, schema_oid, 4, 'e', 'E', 0, 0, type_name
            FROM duckdb_types() WHERE {_HERE} AND logical_type = 'ENUM')""",
    "pg_enum": f"""
        SELECT type_oid + place AS oid, type_oid AS enumtypid, CAST(place AS REAL) AS enumsortorder,
            label AS enumlabel
        FROM duckdb_types(), UNNEST(labels) WITH ORDINALITY AS each (label, place)
        WHERE {_HERE}""",
    "pg_constraint": f"""
        SELECT constraint_oid AS oid, constraint_name AS conname, schema_oid AS connamespace,
            CASE constraint_type WHEN 'PRIMARY KEY' THEN 'p' WHEN 'UNIQUE' THEN 'u'
                WHEN 'FOREIGN KEY' THEN 'f' ELSE 'c' END AS contype, false AS condeferrable,
            false AS condeferred, true AS convalidated, table_oid AS conrelid, 0 AS contypid,
            CASE WHEN constraint_type IN ('PRIMARY KEY', 'UNIQUE') THEN constraint_oid + 1 ELSE 0
                END AS conindid, 0 AS conparentid, coalesce(referenced_table_oid, 0) AS confrelid,
            {_ACTIONS.format("update_rule")} AS confupdtype,
            {_ACTIONS.format("delete_rule")} AS confdeltype,
            CASE constraint_type WHEN 'FOREIGN KEY' THEN 's' ELSE ' ' END AS confmatchtype,
            true AS conislocal, 0 AS coninhcount, false AS connoinherit,
            list_transform(constraint_column_indexes, lambda place: place + 1) AS conkey,
            list_transform(referenced_column_indexes, lambda place: place + 1) AS confkey,
            expression AS conbin, expression AS consrc, constraint_text AS condef
        FROM duckdb_constraints() WHERE {_HERE} AND constraint_type <> 'NOT NULL'""",
    "pg_index": f"""
        SELECT indexrelid, indrelid, len(indkey) AS indnatts, len(indkey) AS indnkeyatts,
            indisunique, indisprimary, false AS indisexclusion, true AS indimmediate,
            false AS indisclustered, true AS indisvalid, false AS indcheckxmin, true AS indisready,
            true AS indislive, false AS indisreplident, false AS indnullsnotdistinct, indkey,
            list_transform(indkey, lambda place: 0) AS indcollation,
            list_transform(indkey, lambda place: 0) AS indclass, indoption, CAST(NULL AS VARCHAR)
                AS indexprs, CAST(NULL AS VARCHAR) AS indpred, indexdef
        FROM (
            SELECT index_oid AS indexrelid, table_oid AS indrelid, is_unique AS indisunique,
                is_primary AS indisprimary,
                list_transform(column_indexes, lambda place: place + 1) AS indkey,
                list_transform(descending, lambda down: CASE WHEN down THEN 3 ELSE 0 END)
                    AS indoption,
                sql AS indexdef
            FROM duckdb_indexes() WHERE {_HERE}
            UNION ALL
            SELECT constraint_oid + 1, table_oid, true, constraint_type = 'PRIMARY KEY',
                list_transform(constraint_column_indexes, lambda place: place + 1),
                list_transform(constraint_column_indexes, lambda place: 0),
                'CREATE UNIQUE INDEX ' || quote_ident(constraint_name) || ' ON '
                    || quote_ident(schema_name) || '.' || quote_ident(table_name) || ' ('
                    || array_to_string(list_transform(constraint_column_names,
                        name -> quote_ident(name)), ', ') || ')'
            FROM {_KEYS})""",
    "pg_indexes": """
        SELECT n.nspname AS schemaname, t.relname AS tablename, c.relname AS indexname,
            CAST(NULL AS VARCHAR) AS tablespace, i.indexdef
        FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
            JOIN pg_catalog.pg_class AS t ON t.oid = i.indrelid
            JOIN pg_catalog.pg_namespace AS n ON n.oid = t.relnamespace""",
    "pg_tables": f"""
        SELECT {_SCHEMA} AS schemaname, table_name AS tablename, {_USER} AS tableowner,
            CAST(NULL AS VARCHAR) AS tablespace, index_count > 0 OR has_primary_key AS hasindexes,
            false AS hasrules, false AS hastriggers, false AS rowsecurity
        FROM duckdb_tables() WHERE {_HERE}""",
    "pg_views": f"""
        SELECT {_SCHEMA} AS schemaname, view_name AS viewname, {_USER} AS viewowner,
            sql AS definition
        FROM duckdb_views() WHERE {_HERE}""",
    "pg_sequences": f"""
        SELECT {_SCHEMA} AS schemaname, sequence_name AS sequencename, {_USER} AS sequenceowner,
            'bigint' AS data_type, start_value, min_value, max_value, increment_by, cycle,
            1 AS cache_size, CAST(NULL AS BIGINT) AS last_value
        FROM duckdb_sequences() WHERE {_HERE}""",
    "pg_sequence": f"""
        SELECT sequence_oid AS seqrelid, 20 AS seqtypid, start_value AS seqstart,
            increment_by AS seqincrement, max_value AS seqmax, min_value AS seqmin, 1 AS seqcache,
            cycle AS seqcycle
        FROM duckdb_sequences() WHERE {_HERE}""",
    "pg_description": f"""
        SELECT table_oid AS objoid, 1259 AS classoid, 0 AS objsubid, comment AS description
        FROM duckdb_tables() WHERE {_HERE} AND comment IS NOT NULL
        UNION ALL SELECT view_oid, 1259, 0, comment
        FROM duckdb_views() WHERE {_HERE} AND comment IS NOT NULL
        UNION ALL SELECT table_oid, 1259, column_index, comment
        FROM duckdb_columns() WHERE {_HERE} AND comment IS NOT NULL
        UNION ALL SELECT index_oid, 1259, 0, comment
        FROM duckdb_indexes() WHERE {_HERE} AND comment IS NOT NULL
        UNION ALL SELECT sequence_oid, 1259, 0, comment
        FROM duckdb_sequences() WHERE {_HERE} AND comment IS NOT NULL
        UNION ALL SELECT oid, 2615, 0, comment
        FROM duckdb_schemas() WHERE {_HERE} AND comment IS NOT NULL
        UNION ALL SELECT type_oid, 1247, 0, comment
        FROM duckdb_types() WHERE {_HERE} AND comment IS NOT NULL
        UNION ALL SELECT function_oid, 1255, 0, comment
        FROM duckdb_functions() WHERE {_HERE} AND comment IS NOT NULL""",
    "pg_proc": f"""
        SELECT function_oid AS oid, function_name AS proname,
            CASE WHEN function_type LIKE '%macro' THEN schema_oid ELSE 11 END AS pronamespace,
            10 AS proowner, 12 AS prolang, CASE function_type WHEN 'aggregate' THEN 'a'
                WHEN 'window' THEN 'w' ELSE 'f' END AS prokind,
            function_type LIKE '%table%' AS proretset, len(parameters) AS pronargs,
            0 AS prorettype, parameters AS proargnames, macro_definition AS prosrc,
            function_type = 'aggregate' AS proisagg
        FROM duckdb_functions() WHERE {_HERE}""",
    "pg_database": """
        SELECT database_oid AS oid, database_name AS datname, 10 AS datdba, 6 AS encoding,
            'C' AS datcollate, 'C' AS datctype, false AS datistemplate, true AS datallowconn,
            -1 AS datconnlimit, 1663 AS dattablespace, CAST(NULL AS VARCHAR) AS datacl
        FROM duckdb_databases() WHERE database_name <> 'temp'""",
    "pg_settings": """
        SELECT name, value AS setting, CAST(NULL AS VARCHAR) AS unit, 'RayDB' AS category,
            description AS short_desc, 'user' AS context, 'string' AS vartype
        FROM duckdb_settings()""",
    "pg_stat_user_tables": f"""
        SELECT table_oid AS relid, schema_name AS schemaname, table_name AS relname, 0 AS seq_scan,
            0 AS idx_scan, estimated_size AS n_live_tup, 0 AS n_dead_tup
        FROM duckdb_tables() WHERE {_HERE}""",
    "pg_am": """
        SELECT * FROM (VALUES (2, 'heap', 't'), (403, 'btree', 'i')) AS t (oid, amname, amtype)""",
    "pg_tablespace": "SELECT 1663 AS oid, 'pg_default' AS spcname, 10 AS spcowner",
    "pg_roles": f"""
        SELECT 10 AS oid, {_USER} AS rolname, true AS rolsuper, true AS rolinherit,
            true AS rolcreaterole, true AS rolcreatedb, true AS rolcanlogin, -1 AS rolconnlimit""",
    "pg_user": f"SELECT {_USER} AS usename, 10 AS usesysid, true AS usecreatedb, true AS usesuper",
    "pg_matviews": _empty("schemaname:t matviewname:t matviewowner:t definition:t"),
    "pg_inherits": _empty("inhrelid:i inhparent:i inhseqno:i inhdetachpending:b"),
    "pg_depend": _empty(
        "classid:i objid:i objsubid:i refclassid:i refobjid:i refobjsubid:i deptype:t"
    ),
    "pg_collation": _empty("oid:i collname:t collnamespace:i collowner:i collprovider:t"),
    "pg_extension": _empty("oid:i extname:t extowner:i extnamespace:i extversion:t"),
    "pg_opclass": _empty("oid:i opcname:t opcmethod:i opcnamespace:i opcintype:i opcdefault:b"),
    "pg_trigger": _empty("oid:i tgrelid:i tgname:t tgfoid:i tgenabled:t tgisinternal:b"),
    "pg_rules": _empty("schemaname:t tablename:t rulename:t definition:t"),
    "pg_foreign_table": _empty("ftrelid:i ftserver:i ftoptions:t"),
    "pg_foreign_server": _empty("oid:i srvname:t srvowner:i srvfdw:i"),
    "pg_partitioned_table": _empty("partrelid:i partstrat:t partnatts:i partattrs:l"),
    "pg_range": _empty("rngtypid:i rngsubtype:i"),
    "pg_stat_activity": _empty("pid:i datname:t usename:t application_name:t state:t query:t"),
}
"""The text of each table of pg_catalog, by its name."""

_MAY = ", ".join(f"({', '.join('abc'[:count])}) AS true" for count in (2, 3))
_MAY_COLUMN = ", ".join(f"({', '.join('abcd'[:count])}) AS true" for count in (3, 4))
_NAMED = (
    "SELECT c.{} FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n"
    " ON n.oid = c.relnamespace WHERE "
)
_SEEN = "n.nspname IN (current_schema(), 'main', 'pg_temp')"
_PART = '("(?:[^"]|"")+"|[^".]+)'
_SCHEMA_PART, _OWN_PART = (
    f"replace(regexp_replace(regexp_extract(name, '^(?:{_PART}[.])?{_PART}$', {group}),"
    """ '^"(.*)"$', '\\1'), '""', '"')"""
    for group in (1, 2)
)
_FOUND = (
    f"({_NAMED.format('oid')} c.relname = {_OWN_PART} AND"
    f" CASE {_SCHEMA_PART} WHEN '' THEN {_SEEN} ELSE n.nspname = {_SCHEMA_PART} END"
    " ORDER BY CASE n.nspname WHEN 'pg_temp' THEN 0 WHEN current_schema() THEN 1 ELSE 2 END,"
    " CASE c.relkind WHEN 'i' THEN 1 ELSE 0 END LIMIT 1)"
)
_DESCRIBED = (
    "(SELECT max(d.description) FROM pg_catalog.pg_description AS d WHERE d.objoid = object"
)
_DEFINITION = "(SELECT max(p.condef) FROM pg_catalog.pg_constraint AS p WHERE p.oid = object)"
_INDEX = "(SELECT max(i.indexdef) FROM pg_catalog.pg_index AS i WHERE i.indexrelid = object)"
_VIEW = "(SELECT max(v.sql) FROM duckdb_views() AS v WHERE v.view_oid = object)"
_TITLE = (
    "(SELECT max(t.typtitle) FROM pg_catalog.pg_type AS t WHERE t.oid = kind)"
    " || CASE WHEN kind = 1700 AND coalesce(modifier, -1) >= 4 THEN '('"
    " || ((modifier - 4) >> 16) || ',' || ((modifier - 4) & 65535) || ')' ELSE '' END"
)
_OWN_CLASSES = " ".join(
    f"WHEN '{name}' THEN {oid}"
    for name, oid in (
        *(("pg_class", 1259), ("pg_namespace", 2615), ("pg_type", 1247), ("pg_proc", 1255)),
        *(("pg_constraint", 2606), ("pg_attribute", 1249), ("pg_database", 1262)),
    )
)

SYSTEM_MACROS = {
    "format_type": f"(kind, modifier) AS {_TITLE}",
    "pg_get_expr": "(tree, relation) AS tree, (tree, relation, pretty) AS tree",
    "pg_get_constraintdef": f"(object) AS {_DEFINITION}, (object, pretty) AS {_DEFINITION}",
    "pg_get_indexdef": (
        f"(object) AS {_INDEX}, (object, place, pretty) AS CASE place WHEN 0 THEN {_INDEX} ELSE"
        " (SELECT max(quote_ident(a.attname)) FROM pg_catalog.pg_index AS i"
        " JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid"
        " WHERE i.indexrelid = object AND a.attnum = i.indkey[place]) END"
    ),
    "pg_get_viewdef": f"(object) AS {_VIEW}, (object, pretty) AS {_VIEW}",
    "pg_get_userbyid": f"(object) AS {_USER}",
    "pg_get_serial_sequence": "(relation, name) AS CAST(NULL AS VARCHAR)",
    "obj_description": (
        f"(object) AS {_DESCRIBED} AND d.objsubid = 0), (object, class) AS {_DESCRIBED}"
        f" AND d.objsubid = 0 AND d.classoid = CASE class {_OWN_CLASSES} END)"
    ),
    "col_description": f"(object, place) AS {_DESCRIBED} AND d.objsubid = place)",
    "shobj_description": "(object, class) AS CAST(NULL AS VARCHAR)",
    "to_regclass": (
        f"(name) AS CASE replace(name, 'pg_catalog.', '') {_OWN_CLASSES} ELSE {_FOUND} END"
    ),
    "regclass_name": (
        "(object) AS (SELECT max(CASE WHEN " + _SEEN + " THEN quote_ident(c.relname) ELSE"
        " quote_ident(n.nspname) || '.' || quote_ident(c.relname) END)"
        " FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n"
        " ON n.oid = c.relnamespace WHERE c.oid = object)"
    ),
    "pg_table_is_visible": f"(object) AS object IN ({_NAMED.format('oid')} {_SEEN})",
    **dict.fromkeys(
        (
            *("pg_type_is_visible", "pg_function_is_visible", "pg_collation_is_visible"),
            *("pg_opclass_is_visible", "pg_operator_is_visible"),
        ),
        "(object) AS true",
    ),
    **dict.fromkeys(
        (
            *("has_table_privilege", "has_schema_privilege", "has_database_privilege"),
            *("has_sequence_privilege", "has_function_privilege", "has_any_column_privilege"),
            *("has_type_privilege", "pg_has_role"),
        ),
        _MAY,
    ),
    "has_column_privilege": _MAY_COLUMN,
    "pg_encoding_to_char": "(encoding) AS 'UTF8'",
    "pg_is_in_recovery": "() AS false",
    "pg_my_temp_schema": "() AS 0",
    "pg_is_other_temp_schema": "(object) AS false",
    "inet_server_addr": "() AS CAST(NULL AS VARCHAR)",
    "inet_server_port": "() AS CAST(NULL AS INTEGER)",
    "inet_client_addr": "() AS CAST(NULL AS VARCHAR)",
    "inet_client_port": "() AS CAST(NULL AS INTEGER)",
    "current_query": "() AS ''",
    "regexp_split_to_table": "(text, pattern) AS unnest(regexp_split_to_array(text, pattern))",
    "set_config": "(name, value, is_local) AS value",
    "generate_subscripts": (
        "(list, dimension) AS unnest(CASE dimension WHEN 1 THEN range(1, len(list) + 1)"
        " ELSE error('generate_subscripts() knows dimension 1 alone') END)"
    ),
    "_pg_expandarray": (
        "(list) AS unnest(list_transform(list, lambda value, place: {'x': value, 'n': place}))"
    ),
}
"""The parameters and the body of each function of pg_catalog that is none of RayDB's own."""
