"""Functions that tell about the database."""

from __future__ import annotations

from importlib.metadata import version

import pyarrow as pa

from raydb.planner.expressions.nodes import Expression, Literal
from raydb.sql.functions.signature import Signature
from raydb.sql.parse.schema_names import CATALOG, MAIN
from raydb.storage.type_names import sql_type_name

_TEXT = pa.string()
# PostgreSQL's names of types that have another name in RayDB.
_POSTGRES_NAMES = {
    "BLOB": "bytea",
    "DOUBLE": "double precision",
    "HUGEINT": "numeric",
    "TIME": "time without time zone",
    "TIMESTAMP": "timestamp without time zone",
    "VARCHAR": "text",
}


def _constant(text: str) -> Signature:
    return Signature(lambda _: Literal(text, _TEXT), 0, 0)


def _typeof(_: str, operand: Expression) -> Expression:
    return Literal(sql_type_name(operand.type), _TEXT)


def _pg_typeof(_: str, operand: Expression) -> Expression:
    """Return PostgreSQL's name of a type."""
    name, list_mark, _ = sql_type_name(operand.type).partition("[]")
    name = "numeric" if name.startswith("DECIMAL") else _POSTGRES_NAMES.get(name, name.lower())
    return Literal(name + list_mark, _TEXT)


DATABASE = {
    "current_catalog": _constant(CATALOG),
    "current_database": _constant(CATALOG),
    "current_schema": _constant(MAIN),
    "pg_typeof": Signature(_pg_typeof, 1, 1),
    "typeof": Signature(_typeof, 1, 1),
    "version": _constant(f"RayDB {version('raydb')}"),
}
