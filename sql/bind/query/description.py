"""DESCRIBE: the columns of a table, a view or a query as rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
from sqlglot import exp

from raydb.names import fold
from raydb.planner.plan.table_function import constant_rows
from raydb.sql.bind.binding import new_column
from raydb.sql.parse.query import qualifiers_of
from raydb.sql.parse.reader import name_in
from raydb.storage.fields import typed_schema
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.catalog import Found
    from raydb.planner.plan.nodes import Values
    from raydb.sql.bind.binding import Binding
    from raydb.storage.tables.table import TableDefinition

    Row: TypeAlias = tuple[str | None, ...]

_COLUMNS = ("column_name", "column_type", "null", "key", "default", "extra")
_SCHEMA = pa.schema([(name, pa.string()) for name in _COLUMNS])


def bind_description(described: exp.Expr, binding: Binding) -> Values:
    """Return what `(DESCRIBE t)` or `(DESCRIBE query)` in FROM gives."""
    if not isinstance(described, exp.Table):
        return describe_rows(None, described, binding)
    query = exp.Select(expressions=[exp.Star()], from_=exp.From(this=described.copy()))
    if not isinstance(described.this, exp.Identifier) or fold(described.name) in binding.queries:
        return describe_rows(None, query, binding)
    relations = binding.catalog.relations
    places = relations.places(qualifiers_of(described), binding.inside)
    return describe_rows(relations.find(name_in(described.this), places), query, binding)


def describe_rows(found: Found | None, query: exp.Expr, binding: Binding) -> Values:
    """Return a row for each column of what was found, where it is a table, or of a query.

    The columns are DuckDB's: column_name, column_type, null ('YES' or 'NO'), key ('PRI', 'UNI' or
    NULL), default (its text) and extra (what an identity or a generated column is; else NULL).
    """
    rows: Iterator[Row]
    if found is not None and found.key in binding.catalog.tables:
        rows = _described(binding.catalog.tables[found.key].definition)
    else:
        rows = (
            (column.name, sql_type_name(column.type), "YES", None, None, None)
            for column in binding.bind_query(query, binding).columns
        )
    return constant_rows(_SCHEMA, rows, partial(new_column, binding))


def _described(definition: TableDefinition) -> Iterator[Row]:
    primary_key = definition.primary_key
    defaults = dict(definition.defaults)
    extras = {each.column: each.words for each in definition.identities}
    extras |= {each.column: f"GENERATED ALWAYS AS ({each.text})" for each in definition.generated}
    unique = {key.columns for key in definition.keys}
    for field in typed_schema(definition.schema):
        key = None
        if primary_key is not None and field.name in primary_key.columns:
            key = "PRI"
        elif (field.name,) in unique:
            key = "UNI"
        null = "YES" if field.nullable else "NO"
        extra = extras.get(field.name)
        default = None if extra else defaults.get(field.name)
        yield field.name, sql_type_name(field.type), null, key, default, extra
