"""CREATE and DROP TYPE: names for types, most of all for ENUMs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb import sql
from raydb.engine.session.statement_sources import open_sources
from raydb.engine.statements.names import names_to_drop
from raydb.errors import ProgrammingError
from raydb.names import find_object, is_same
from raydb.sql import ast
from raydb.storage.enums import EnumType, enum_of
from raydb.storage.fields import field_type
from raydb.storage.nested import leaf_types
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext


def create_type(statement: ast.CreateType, context: StatementContext) -> Snapshot:
    """Return the snapshot with a new type. One that it replaces may be used by nothing."""
    snapshot = context.snapshot
    known = find_object(statement.name, snapshot.types, "type")
    if known is not None:
        if statement.if_not_exists:
            return snapshot
        if not statement.or_replace:
            raise ProgrammingError(f"type '{known}' exists already")
        _refuse_used(known, snapshot, "replaced")
    name = known or statement.name
    if sql.is_type_name(name):
        raise ProgrammingError(f"'{name}' is a type of SQL")
    if isinstance(statement.type, ast.Select):
        kind = enum_of(_labels(statement.type, context), name)
    else:
        kind = sql.resolved(statement.type)
    # The last of all, for it may have parts of those before it.
    others = {other: each for other, each in snapshot.types.items() if other != name}
    return replace(snapshot, types={**others, name: kind})


def _labels(select: ast.Select, context: StatementContext) -> list[str | None]:
    """Return the rows of a query, whose one column is text."""
    files = open_sources(select, context)
    catalog = context.snapshot.with_changes(files).describe()
    logical = sql.bind_select(select, catalog)
    if len(logical.columns) != 1 or logical.columns[0].type != pa.string():
        raise ProgrammingError("the labels of an ENUM are the rows of one column of VARCHAR")
    labels: list[str | None] = context.run(logical, files).column(0).to_pylist()
    return labels


def drop_types(statement: ast.Drop, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without some types, which nothing uses."""
    names = names_to_drop("type", statement.names, snapshot.types, statement.if_exists)
    for name in names:
        _refuse_used(name, snapshot, "dropped")
    left = {name: kind for name, kind in snapshot.types.items() if name not in names}
    return replace(snapshot, types=left)


def _refuse_used(name: str, snapshot: Snapshot, verb: str) -> None:
    for user in _users(name, snapshot):
        raise ProgrammingError(f"type '{name}' cannot be {verb}: {user} needs it")


def _users(name: str, snapshot: Snapshot) -> Iterator[str]:
    """Yield what uses a type by its name; a column of another name for a type has that type."""
    for table in snapshot.tables.values():
        definition = table.definition
        for field in definition.schema:
            leaves = leaf_types(field_type(field))
            if any(isinstance(each, EnumType) and each.type_name == name for each in leaves):
                yield f"column '{field.name}' of table '{table.name}'"
        for column, text in definition.defaults:
            if _is_named(name, text):
                yield f"the default of column '{column}' of table '{table.name}'"
        for each in definition.generated:
            if _is_named(name, each.text):
                yield f"the generated column '{each.column}' of table '{table.name}'"
        for check in definition.checks:
            if _is_named(name, check.text):
                yield f"the check ({check.text}) of table '{table.name}'"
    for view, text in snapshot.views.items():
        if _is_named(name, text):
            yield f"view '{view}'"
    for bvh in snapshot.bvhs.values():
        if _is_named(name, bvh.definition.text):
            yield f"BVH '{bvh.definition.name}'"


def _is_named(name: str, text: str) -> bool:
    return any(is_same(name, each) for each in sql.types_named(text))
