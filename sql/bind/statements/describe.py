"""DESCRIBE and SHOW TABLES: the catalog as rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from raydb.planner.plan.table_function import constant_rows
from raydb.sql.bind.binding import Binding, new_column
from raydb.sql.bind.query.description import describe_rows
from raydb.sql.bind.query.query import bind_query, statement_binding
from raydb.sql.parse.schema_names import unknown_place

if TYPE_CHECKING:
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Values
    from raydb.sql.ast import Describe, ShowTables
    from raydb.sql.template.parameters import Parameters

    Row: TypeAlias = tuple[str | None, ...]


def bind_describe(describe: Describe, catalog: CatalogInfo, parameters: Parameters = ()) -> Values:
    """Return a row for each column of a table, a view or a query; see `describe_rows`."""
    tree = describe.select.tree
    with statement_binding(tree, catalog, parameters) as binding:
        relations = catalog.relations
        found = describe.table and relations.find(describe.table, relations.places(describe.place))
        return describe_rows(found or None, tree, binding)


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
