"""Tables, views and common table expressions that FROM names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import fold, is_same
from raydb.planner.catalog import TEMP
from raydb.planner.plan.nodes import Plan, Scan
from raydb.sql.ast import Select
from raydb.sql.bind.binding import new_column
from raydb.sql.bind.query.with_clause import name_query, refer
from raydb.sql.macros import expand_tree
from raydb.sql.parse.parser import parse
from raydb.sql.parse.query import qualifiers_of
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.schema_names import unknown_place
from raydb.storage.enums import typed_schema
from raydb.values import dataclass

if TYPE_CHECKING:
    from sqlglot import exp

    from raydb.planner.catalog import Found, Place
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
    places = relations.places(qualifiers, binding.inside)
    if not places:
        raise unknown_place(qualifiers, relations)
    found = relations.find(written, places)
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
    plan = scan_table(found.key, binding) if is_table else _bind_view(found, binding)
    return Relation(found.bare, found.place, plan)


def scan_table(table: str, binding: Binding) -> Scan:
    """Return the rows of a table of the catalog, by its key."""
    schema = typed_schema(binding.catalog.tables[table].definition.schema)
    return Scan(table, tuple(new_column(binding, field.name, field.type) for field in schema))


def _bind_view(found: Found, binding: Binding) -> Plan:
    """Return a reference to a view's query, which is bound once, and to the catalog alone.

    Names in it are those of its own database; a temporary view may name any.
    """
    view = found.key
    if view in binding.bound_views:
        return refer(binding.bound_views[view], binding)
    if view in binding.views:
        raise ProgrammingError(f"the view '{view}' refers to itself")
    (statement,) = parse(binding.catalog.views[view])
    assert isinstance(statement, Select), "a view holds a query"
    views = (*binding.views, view)
    inside = None if found.place[0] == TEMP else found.place
    inner = replace(binding, parameters={}, queries={}, views=views, outer=None, inside=inside)
    try:
        tree = expand_tree(statement.tree, binding.catalog.relations, inside)
        plan = binding.bind_query(tree, inner)
    except ProgrammingError as error:
        raise ProgrammingError(f"in the view '{view}': {error.sentence}") from error
    binding.bound_views[view] = name_query(view, plan, (), inner)
    return refer(binding.bound_views[view], binding)
