"""Tables, views and common table expressions that FROM names."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import fold, is_same
from raydb.planner.catalog import CATALOG, MAIN, TEMP
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import Plan, Scan
from raydb.sql.ast import Select
from raydb.sql.bind.query.with_clause import name_query, refer
from raydb.sql.macros import expand_tree
from raydb.sql.parse.parser import parse
from raydb.sql.parse.query import qualifiers_of
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.schema_names import PG_CATALOG, unknown_place
from raydb.storage.enums import typed_schema
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    from raydb.planner.catalog import Place, TableInfo
    from raydb.sql.bind.binding import Binding


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a view or a common table expression, by its name as it was made.

    place: the database and the schema that it is in; empty for a common table expression.
    """

    name: str
    place: Place
    plan: Plan


def bind_relation(node: exp.Table, binding: Binding) -> Relation:
    """Return what a name in FROM stands for. Raises ProgrammingError for one that is not known."""
    written, qualifiers = name_in(node.this), qualifiers_of(node)
    if not qualifiers and (query := binding.queries.get(fold(written))) is not None:
        return Relation(query.name, ("", ""), refer(query, binding))
    catalog = binding.catalog
    relations = catalog.relations
    is_system = len(qualifiers) == 1 and is_same(qualifiers[0], PG_CATALOG)
    places = () if is_system else relations.places(qualifiers, binding.inside)
    if not (places or is_system):
        raise unknown_place(qualifiers, relations)
    found = relations.find(written, places)
    if found is None and (is_system or not qualifiers):
        system = _bind_system_view(written, is_system, binding)
        if system is not None:
            return system
    if found is None and is_same(written, "sqlite_master"):
        # pandas takes every connection for one of SQLite, whose REAL is our DOUBLE.
        raise ProgrammingError(
            "table 'sqlite_master' does not exist; to_sql() of pandas needs an engine of"
            " SQLAlchemy, and CREATE TABLE ... AS FROM frame needs none"
        )
    if found is None:
        known = [name for each in places for name in relations.names_at(each)]
        queries = () if qualifiers else (each.name for each in binding.queries.values())
        near = did_you_mean(written, (*queries, *known))
        place = "".join(f"{each}." for each in qualifiers)
        raise ProgrammingError(f"table '{place}{written}' does not exist{near}")
    is_table = found.key in catalog.tables
    if is_table:
        return Relation(found.bare, found.place, scan_table(found.key, binding))
    inside = None if found.place[0] == TEMP else found.place
    plan = _bind_view(found.key, catalog.views[found.key], inside, binding)
    return Relation(found.bare, found.place, plan)


def scan_table(table: str, binding: Binding) -> Scan:
    """Return the rows of a table of the catalog, by its key.

    Raises ProgrammingError for a file that the statement has not opened, as where a catalog lists
    the views over it.
    """
    known = binding.catalog.tables.get(table)
    if known is None:
        raise ProgrammingError(f"{table} is read where a query names it, not here")
    columns = _columns.get(known)
    if columns is None:
        schema = typed_schema(known.definition.schema)
        columns = _columns[known] = tuple(zip(schema.names, schema.types, strict=True))
    numbers = binding.numbers
    return Scan(table, tuple([Column(next(numbers), name, kind) for name, kind in columns]))


# The names and types of tables' columns, which each statement asks for.
_columns: WeakKeyDictionary[TableInfo, tuple[tuple[str, pa.DataType], ...]] = WeakKeyDictionary()


def _bind_system_view(written: str, is_named: bool, binding: Binding) -> Relation | None:
    """Return a table of pg_catalog, None for what is none unless that schema is named."""
    from raydb.sql.system_catalog import SYSTEM_VIEWS  # noqa: PLC0415  (few statements ask)

    name = fold(written)
    if name in SYSTEM_VIEWS:
        view = f"{PG_CATALOG}.{name}"
        plan = _bind_view(view, SYSTEM_VIEWS[name], (CATALOG, MAIN), binding)
        return Relation(name, (CATALOG, PG_CATALOG), plan)
    if is_named:
        near = did_you_mean(written, SYSTEM_VIEWS)
        raise ProgrammingError(f"table '{PG_CATALOG}.{written}' does not exist{near}")
    return None


def _bind_view(view: str, text: str, inside: Place | None, binding: Binding) -> Plan:
    """Return a reference to a view's query, which is bound once, and to the catalog alone.

    inside: its own place, whose names are in it; None for a temporary view, which may name any.
    """
    if view in binding.bound_views:
        return refer(binding.bound_views[view], binding)
    if view in binding.views:
        raise ProgrammingError(f"the view '{view}' refers to itself")
    (statement,) = parse(text)
    assert isinstance(statement, Select), "a view holds a query"
    views = (*binding.views, view)
    inner = replace(binding, parameters={}, queries={}, views=views, outer=None, inside=inside)
    try:
        tree = expand_tree(statement.tree, binding.catalog.relations, inside)
        plan = binding.bind_query(tree, inner)
    except ProgrammingError as error:
        raise ProgrammingError(f"in the view '{view}': {error.sentence}") from error
    binding.bound_views[view] = name_query(view, plan, (), inner)
    return refer(binding.bound_views[view], binding)
