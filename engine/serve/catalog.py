"""What clients ask of databases, schemas, tables and keys: rows of information_schema.

Patterns are those of LIKE, with a backslash before a % or _ that stands for itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import Error
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.engine.api.connection import Connection
    from raydb.engine.serve.messages import Message


@dataclass(frozen=True, slots=True)
class Asked:
    """What may be asked: the schema of the rows, and the rows, by the message that asks."""

    schema: Callable[[Message], pa.Schema]
    rows: Callable[[Connection, Message], pa.Table]


def of_schema(schema: pa.Schema, rows: Callable[[Connection, Message], pa.Table]) -> Asked:
    """Return what is asked where the schema is always the same."""
    return Asked(lambda _: schema, rows)


def schema_of(fields: Mapping[str, pa.DataType], nullable: Sequence[str] = ()) -> pa.Schema:
    """Return a schema in which only some fields may be NULL."""
    return pa.schema([pa.field(name, kind, name in nullable) for name, kind in fields.items()])


def quoted(name: str) -> str:
    """Return a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


_TEXT, _INT = pa.string(), pa.int32()
_CATALOGS = schema_of({"catalog_name": _TEXT})
_SCHEMAS = schema_of({"catalog_name": _TEXT, "db_schema_name": _TEXT}, ["catalog_name"])
_TABLE_TYPES = schema_of({"table_type": _TEXT})
_TABLES = schema_of(
    {
        "catalog_name": _TEXT,
        "db_schema_name": _TEXT,
        "table_name": _TEXT,
        "table_type": _TEXT,
    },
    ["catalog_name", "db_schema_name"],
)
_TABLES_WITH_SCHEMA = _TABLES.append(pa.field("table_schema", pa.binary(), nullable=False))
_PRIMARY_KEYS = schema_of(
    {
        "catalog_name": _TEXT,
        "db_schema_name": _TEXT,
        "table_name": _TEXT,
        "column_name": _TEXT,
        "key_name": _TEXT,
        "key_sequence": _INT,
    },
    ["catalog_name", "db_schema_name", "key_name"],
)
_FOREIGN_KEYS = schema_of(
    {
        "pk_catalog_name": _TEXT,
        "pk_db_schema_name": _TEXT,
        "pk_table_name": _TEXT,
        "pk_column_name": _TEXT,
        "fk_catalog_name": _TEXT,
        "fk_db_schema_name": _TEXT,
        "fk_table_name": _TEXT,
        "fk_column_name": _TEXT,
        "key_sequence": _INT,
        "fk_key_name": _TEXT,
        "pk_key_name": _TEXT,
        "update_rule": pa.uint8(),
        "delete_rule": pa.uint8(),
    },
    [
        *("pk_catalog_name", "pk_db_schema_name", "fk_catalog_name", "fk_db_schema_name"),
        *("fk_key_name", "pk_key_name"),
    ],
)

# JDBC's names of what information_schema.tables tells apart.
_TYPES = {"BASE TABLE": "TABLE", "VIEW": "VIEW", "LOCAL TEMPORARY": "LOCAL TEMPORARY"}
_TYPE = "CASE table_type WHEN 'BASE TABLE' THEN 'TABLE' ELSE table_type END"
# The numbers of what a change of the referenced row brings about.
_RULE = (
    "CASE {} WHEN 'CASCADE' THEN 0 WHEN 'RESTRICT' THEN 1 WHEN 'SET NULL' THEN 2"
    " WHEN 'SET DEFAULT' THEN 4 ELSE 3 END"
)

_SELECT_TABLES = f"""
    SELECT table_catalog, table_schema, table_name, {_TYPE}
    FROM information_schema.tables
    WHERE {{}}
    ORDER BY 1, 2, 3, 4
"""  # noqa: S608  (what is filled in are conditions with parameters)
_SELECT_PRIMARY_KEYS = """
    SELECT k.table_catalog, k.table_schema, k.table_name, k.column_name, k.constraint_name,
           k.ordinal_position
    FROM information_schema.key_column_usage k
    JOIN information_schema.table_constraints c
      USING (constraint_catalog, constraint_schema, constraint_name, table_name)
    WHERE c.constraint_type = 'PRIMARY KEY' AND {}
    ORDER BY 1, 2, 3, 5, 6
"""
_SELECT_FOREIGN_KEYS = f"""
    SELECT pk.table_catalog, pk.table_schema, pk.table_name, pk.column_name,
           fk.table_catalog, fk.table_schema, fk.table_name, fk.column_name,
           fk.ordinal_position, fk.constraint_name, pk.constraint_name,
           {_RULE.format("r.update_rule")}, {_RULE.format("r.delete_rule")}
    FROM information_schema.referential_constraints r
    JOIN information_schema.key_column_usage fk
      USING (constraint_catalog, constraint_schema, constraint_name)
    JOIN information_schema.key_column_usage pk
      ON pk.constraint_catalog = r.unique_constraint_catalog
     AND pk.constraint_schema = r.unique_constraint_schema
     AND pk.constraint_name = r.unique_constraint_name
     AND pk.ordinal_position = fk.position_in_unique_constraint
    WHERE {{}}
    ORDER BY {{}}
"""  # noqa: S608


def select(
    connection: Connection, text: str, values: Sequence[object], schema: pa.Schema
) -> pa.Table:
    """Return the rows of a query in the columns of a schema."""
    rows = connection.execute(text, values).to_arrow_table()
    return rows.rename_columns(schema.names).cast(schema)


def _conditions(*wanted: tuple[str, str | None]) -> tuple[str, list[object]]:
    """Return conditions and their values; a text that is None narrows nothing."""
    used = [(condition, value) for condition, value in wanted if value is not None]
    text = " AND ".join(condition for condition, _ in used)
    return text or "true", [value for _, value in used]


def _like(column: str) -> str:
    return f"{column} LIKE ? ESCAPE '\\'"


def _catalogs(connection: Connection, _: Message) -> pa.Table:
    text = "SELECT DISTINCT catalog_name FROM information_schema.schemata ORDER BY 1"
    return select(connection, text, (), _CATALOGS)


def _schemas(connection: Connection, message: Message) -> pa.Table:
    where, values = _conditions(
        ("catalog_name = ?", message.optional_text(1)),
        (_like("schema_name"), message.optional_text(2)),
    )
    text = (
        "SELECT DISTINCT catalog_name, schema_name FROM information_schema.schemata"  # noqa: S608
        f" WHERE {where} ORDER BY 1, 2"
    )
    return select(connection, text, values, _SCHEMAS)


def _table_types(_: Connection, __: Message) -> pa.Table:
    return pa.table([sorted(_TYPES.values())], schema=_TABLE_TYPES)


def _tables(connection: Connection, message: Message) -> pa.Table:
    where, values = _conditions(
        ("table_catalog = ?", message.optional_text(1)),
        (_like("table_schema"), message.optional_text(2)),
        (_like("table_name"), message.optional_text(3)),
    )
    kinds = message.texts(4)
    if kinds:
        where += f" AND {_TYPE} IN ({', '.join('?' * len(kinds))})"
        values += kinds
    found = select(connection, _SELECT_TABLES.format(where), values, _TABLES)
    if not message.number(5):
        return found
    names = [list(row.values())[:3] for row in found.to_pylist()]
    schemas = [_table_schema(connection, *name).serialize().to_pybytes() for name in names]
    return found.append_column(_TABLES_WITH_SCHEMA.field(4), pa.array(schemas, pa.binary()))


def _table_schema(connection: Connection, catalog: str, schema: str, table: str) -> pa.Schema:
    """Return the columns of a table, each with its type in SQL."""
    path = ".".join(map(quoted, (catalog, schema, table)))
    try:
        found = connection._stream(f"SELECT * FROM {path}", (), runs=False).schema  # noqa: S608, SLF001
    except Error:  # Such as a view of a file that is gone: its table is listed all the same.
        return pa.schema([])
    rows = connection.execute(
        "SELECT column_name, data_type, is_nullable, is_identity, numeric_precision, numeric_scale"
        " FROM information_schema.columns"
        " WHERE table_catalog = ? AND table_schema = ? AND table_name = ?",
        (catalog, schema, table),
    )
    place = {"CATALOG_NAME": catalog, "DB_SCHEMA_NAME": schema, "TABLE_NAME": table}
    fields = []
    for name, kind, is_nullable, is_identity, precision, scale in rows:
        told = {
            **place,
            "TYPE_NAME": kind,
            "IS_AUTO_INCREMENT": "1" if is_identity == "YES" else "0",
            "IS_CASE_SENSITIVE": "1",
            "IS_READ_ONLY": "0",
            "IS_SEARCHABLE": "1",
        }
        if kind.startswith("DECIMAL"):
            told |= {"PRECISION": str(precision), "SCALE": str(scale)}
        field = found.field(name).with_nullable(is_nullable == "YES")
        fields.append(
            field.with_metadata({f"ARROW:FLIGHT:SQL:{key}": each for key, each in told.items()})
        )
    return pa.schema(fields)


def _primary_keys(connection: Connection, message: Message) -> pa.Table:
    where, values = _of_table("k", message, 1)
    return select(connection, _SELECT_PRIMARY_KEYS.format(where), values, _PRIMARY_KEYS)


def _of_table(alias: str, message: Message, first: int) -> tuple[str, list[object]]:
    """Return the conditions for a table, whose catalog, schema and name are three fields."""
    return _conditions(
        (f"{alias}.table_catalog = ?", message.optional_text(first)),
        (f"{alias}.table_schema = ?", message.optional_text(first + 1)),
        (f"{alias}.table_name = ?", message.text(first + 2)),
    )


def _foreign_keys(
    connection: Connection, message: Message, *, of: Sequence[str], order: str
) -> pa.Table:
    """Return the foreign keys of a table, those that reference it, or those between two.

    of: which of the two the message names, "pk" or "fk", in its order.
    """
    found = [_of_table(alias, message, 1 + 3 * place) for place, alias in enumerate(of)]
    where = " AND ".join(condition for condition, _ in found)
    values = [value for _, some in found for value in some]
    return select(connection, _SELECT_FOREIGN_KEYS.format(where, order), values, _FOREIGN_KEYS)


# Their tables and keys are the columns 1, 2, 3 and 11 of what is referenced, 5, 6, 7 and 10 of what
# references; 9 is the place in the key.
_BY_REFERENCED, _BY_REFERENCING = "1, 2, 3, 11, 10, 9", "5, 6, 7, 10, 9"

CATALOG = {
    "CommandGetCatalogs": of_schema(_CATALOGS, _catalogs),
    "CommandGetDbSchemas": of_schema(_SCHEMAS, _schemas),
    "CommandGetTableTypes": of_schema(_TABLE_TYPES, _table_types),
    "CommandGetTables": Asked(
        lambda message: _TABLES_WITH_SCHEMA if message.number(5) else _TABLES, _tables
    ),
    "CommandGetPrimaryKeys": of_schema(_PRIMARY_KEYS, _primary_keys),
    "CommandGetExportedKeys": of_schema(
        _FOREIGN_KEYS, partial(_foreign_keys, of=["pk"], order=_BY_REFERENCING)
    ),
    "CommandGetImportedKeys": of_schema(
        _FOREIGN_KEYS, partial(_foreign_keys, of=["fk"], order=_BY_REFERENCED)
    ),
    "CommandGetCrossReference": of_schema(
        _FOREIGN_KEYS, partial(_foreign_keys, of=["pk", "fk"], order=_BY_REFERENCED)
    ),
}
