"""DESCRIBE and SHOW TABLES: the catalog as rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from raydb.planner.plan.table_function import constant_rows
from raydb.sql.bind.binding import Binding, new_column
from raydb.sql.bind.query.query import bind_query, statement_binding
from raydb.sql.parse.schema_names import unknown_place
from raydb.storage.enums import typed_schema
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Values
    from raydb.sql.ast import Describe, ShowTables
    from raydb.sql.template.parameters import Parameters
    from raydb.storage.tables.table import TableDefinition

    Row: TypeAlias = tuple[str | None, ...]

_COLUMNS = ("column_name", "column_type", "null", "key", "default", "extra")
_SCHEMA = pa.schema([(name, pa.string()) for name in _COLUMNS])


def bind_describe(describe: Describe, catalog: CatalogInfo, parameters: Parameters = ()) -> Values:
    """Return a row for each column of a table, a view or a query.

    The columns are DuckDB's: column_name, column_type, null ('YES' or 'NO'), key ('PRI', 'UNI' or
    NULL), default (its text) and extra (what an identity is; else NULL).
    """
    tree = describe.select.tree
    with statement_binding(tree, catalog, parameters) as binding:
        relations = catalog.relations
        places = relations.places(describe.place)
        found = describe.table and relations.find(describe.table, places)
        if found and found.key in catalog.tables:
            rows = _described(catalog.tables[found.key].definition)
        else:
            columns = bind_query(tree, binding).columns
            rows = (
                (column.name, sql_type_name(column.type), "YES", None, None, None)
                for column in columns
            )
        return constant_rows(_SCHEMA, rows, partial(new_column, binding))


def _described(definition: TableDefinition) -> Iterator[Row]:
    primary_key = definition.primary_key
    defaults = dict(definition.defaults)
    identities = {each.column: each.words for each in definition.identities}
    unique = {key.columns for key in definition.keys}
    for field in typed_schema(definition.schema):
        key = None
        if primary_key is not None and field.name in primary_key.columns:
            key = "PRI"
        elif (field.name,) in unique:
            key = "UNI"
        null = "YES" if field.nullable else "NO"
        extra = identities.get(field.name)
        default = None if extra else defaults.get(field.name)
        yield field.name, sql_type_name(field.type), null, key, default, extra


def bind_show_tables(statement: ShowTables, catalog: CatalogInfo) -> Values:
    """Return the names of all tables and views of a database, in order.

    Where none is named the temporary ones are among them, and those that no schema is needed for.
    """
    relations = catalog.relations
    places = relations.places(statement.place)
    if not places:
        raise unknown_place(statement.place, relations)
    names = {name for place in places for name in relations.names_at(place)}
    new = partial(new_column, Binding(catalog, {}, bind_query))
    return constant_rows(pa.schema({"name": pa.string()}), ((name,) for name in sorted(names)), new)
