"""Functions that tell about the database."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.names import fold
from raydb.planner.catalog import CATALOG, MAIN
from raydb.planner.expressions.casts.cast import literal_value
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import constant_text
from raydb.planner.expressions.types import TEXT
from raydb.running import current_place, setting, variable
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values

# PostgreSQL's names of types that have another name in RayDB.
_POSTGRES_NAMES = {
    "BLOB": "bytea",
    "DOUBLE": "double precision",
    "HUGEINT": "numeric",
    "UHUGEINT": "numeric",
    "TIME": "time without time zone",
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp without time zone"
    ),
    "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
    "TIME WITH TIME ZONE": "time with time zone",
    "VARCHAR": "text",
}


composed("typeof(a)", "the type's name in RayDB: typeof(1.50) -> 'DECIMAL(3,2)'")(
    lambda _, operand: Literal(sql_type_name(operand.type), TEXT)
)


@composed("pg_typeof(a)", "the type's name in PostgreSQL: pg_typeof(1.50) -> 'numeric'")
def _pg_typeof(_: str, operand: Expression) -> Expression:
    name, list_mark, _ = sql_type_name(operand.type).partition("[]")
    name = "numeric" if name.startswith("DECIMAL") else _POSTGRES_NAMES.get(name, name.lower())
    return Literal(name + list_mark, TEXT)


composed("version()", "the version of RayDB: version() LIKE 'RayDB %' -> true")(
    lambda _: Literal(f"RayDB {version('raydb')}", TEXT)
)


@composed(
    "current_schema(), current_schema",
    "the schema that USE has named, 'main' at first: current_schema() -> 'main'",
)
def _current_schema(_: str) -> Expression:
    return Literal((current_place() or (CATALOG, MAIN))[1], TEXT)


@composed(
    "current_database(), current_catalog(), current_catalog",
    "the database that USE has named, 'raydb' at first: current_database() -> 'raydb'",
)
def _current_database(_: str) -> Expression:
    return Literal((current_place() or (CATALOG, MAIN))[0], TEXT)


@composed(
    "current_schemas(implicit)",
    "the schemas in which names are looked for, with true that of the system too:"
    " current_schemas(false) -> ['main']",
)
def _current_schemas(_: str, implicit: Expression) -> Expression:
    found = list(dict.fromkeys(((current_place() or (CATALOG, MAIN))[1], MAIN)))
    if isinstance(implicit, Literal) and implicit.value:
        found.insert(0, "pg_catalog")
    return Literal(found, pa.list_(TEXT))


@composed(
    "current_user, current_user(), session_user, user()",
    "the user of the database, always the same: current_user -> 'raydb'",
)
def _current_user(_: str) -> Expression:
    return Literal(CATALOG, TEXT)


@composed(
    "getvariable(name)",
    "what SET VARIABLE has set, NULL where nothing is set: getvariable('price') -> NULL",
)
def _variable(name: str, operand: Expression) -> Expression:
    found = variable(fold(constant_text(name, operand)))
    if found is None:
        return Literal(None, pa.null())
    return Literal(literal_value(found), found.type)


def _bind_setting(name: str, operand: Expression) -> Expression:
    return Call(name, (Literal(constant_text(name, operand).lower(), TEXT),), TEXT)


@scalar(
    "current_setting(name)",
    "the value of a setting, as SHOW tells it: current_setting('bvh_merge') -> 'background'",
    bind=_bind_setting,
    can_fail=True,
    is_volatile=True,
)
def _setting(_: Call, name: Values) -> Values:
    if isinstance(name, pa.Scalar):
        return pa.scalar(setting(name.as_py()))
    return pa.array(map(setting, name.to_pylist()), TEXT)
