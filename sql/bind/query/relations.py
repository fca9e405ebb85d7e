"""Tables, views and common table expressions that FROM names."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.errors import ProgrammingError, did_you_mean
from raydb.names import fold, is_same
from raydb.planner.catalog import CATALOG, MAIN, TEMP
from raydb.planner.plan.nodes import Plan, Scan
from raydb.sql.ast import Select
from raydb.sql.bind.binding import OwnQuery, new_column, table_columns
from raydb.sql.bind.query.with_clause import name_query, refer
from raydb.sql.bind.scope import table_scope
from raydb.sql.macros import expand_tree
from raydb.sql.parse.nodes import may_name, require_only
from raydb.sql.parse.parser import parse
from raydb.sql.parse.query import qualifiers_of
from raydb.sql.parse.reader import ROW_ID, name_in
from raydb.sql.parse.schema_names import PG_CATALOG, unknown_place
from raydb.storage.fields import typed_schema
from raydb.storage.tables.table import ROW_NUMBER
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from sqlglot import exp

    from raydb.planner.catalog import Place
    from raydb.sql.bind.binding import Binding
    from raydb.sql.bind.scope import Scope


# The schema in which a recursive query has all of its rows so far, as its step may read them.
RECURRING = "recurring"


@dataclass(frozen=True, slots=True)
class Source:
    """A bound part of FROM."""

    plan: Plan
    scope: Scope


@dataclass(frozen=True, slots=True)
class _Relation:
    """A table, a view or a common table expression, by its name as it was made.

    place: the database and the schema that it is in; empty for a common table expression. table:
    None for what is none.
    """

    name: str
    place: Place
    plan: Plan
    table: BoundTable | None = None


def bind_named(node: exp.Table, binding: Binding) -> Source:
    """Return what a name in FROM stands for. Raises ProgrammingError for one that is not known."""
    found = _bind_relation(node, binding)
    name, names = alias_of(node, found.name)
    place = found.place if node.args.get("alias") is None else ("", "")
    plan, row_number = found.plan, None
    # What was made of a text, and not read from it, may name it.
    if isinstance(plan, Scan) and may_name(node, ROW_ID):
        row_number = new_column(binding, ROW_NUMBER, pa.int32())
        plan = replace(plan, columns=(*plan.columns, row_number))
    if found.table is not None and row_number is None and not names:
        return Source(plan, found.table.scope(name, found.name, place))
    scope = table_scope(name, found.plan.columns, names, found.name, place, row_number)
    return Source(plan, scope)


def bind_names(nodes: Sequence[exp.Table], binding: Binding, bind: Callable[[], Source]) -> Source:
    """Return what names with commas between them stand for, once for all texts that number alike.

    bind: binds them, where that is not known.
    """
    key = None if binding.inside or binding.queries else _names_key(nodes)
    if key is None:
        return bind()
    kept = binding.catalog.named
    key = next(binding.numbers), key
    known: tuple[Source, int] | None = kept.get(key)
    if known is not None:
        source, count = known
        next(itertools.islice(binding.numbers, count - 1, None))
        return source
    source = bind()
    if all(isinstance(each, Scan) for each in source.plan.sources):  # no views
        _make_room(kept)
        kept[key] = source, len(source.plan.columns)
    return source


def _names_key(nodes: Sequence[exp.Table]) -> Hashable | None:
    """Return what tells what names stand for; None where one has a qualifier, or names columns."""
    if may_name(nodes[0], ROW_ID):
        return None
    key: list[Hashable] = []
    for node in nodes:
        args, written = node.args, node.this
        alias = args.get("alias")
        if args.get("db") is not None or (alias is not None and alias.args.get("columns")):
            return None
        key.append((written.name, written.quoted, alias and alias.name))
    return tuple(key)


def alias_of(node: exp.Expr, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a source and the new names of its columns, `t(a, b)`."""
    alias = node.args.get("alias")
    if alias is None:
        return name, ()
    require_only(alias, "this", "columns")
    columns = tuple(column.name for column in alias.args.get("columns") or ())
    return (name if alias.this is None else alias.this.name), columns


def _bind_relation(node: exp.Table, binding: Binding) -> _Relation:
    written, qualifiers = name_in(node.this), qualifiers_of(node)
    if not qualifiers and (query := binding.queries.get(fold(written))) is not None:
        return _Relation(query.name, ("", ""), refer(query, binding))
    if len(qualifiers) == 1 and is_same(qualifiers[0], RECURRING):
        own = binding.queries.get(fold(written))
        if isinstance(own, OwnQuery) and own.columns is not None:
            return _Relation(own.name, ("", ""), refer(own, binding, whole=True))
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
    if found.key in catalog.tables:
        table = _bound_table(found.key, binding)
        return _Relation(found.bare, found.place, table.scan, table)
    inside = None if found.place[0] == TEMP else found.place
    plan = _bind_view(found.key, catalog.views[found.key], inside, binding)
    return _Relation(found.bare, found.place, plan)


def scan_table(table: str, binding: Binding) -> Scan:
    """Return the rows of a table of the catalog, by its key.

    Raises ProgrammingError for a file that the statement has not opened, as where a catalog lists
    the views over it.
    """
    return _bound_table(table, binding).scan


class BoundTable:
    """A table under the numbers that a statement gives its columns, and its scopes."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self._scopes: dict[tuple[str, str, Place], Scope] = {}

    def scope(self, alias: str, name: str, place: Place) -> Scope:
        """Return the scope of the table; see `table_scope`."""
        key = alias, name, place
        found = self._scopes.get(key)
        if found is None:
            _make_room(self._scopes)
            found = self._scopes[key] = table_scope(alias, self.scan.columns, (), name, place)
        return found


# Of so many names it is kept what they stand for, and of a table so many ways in which statements
# number its columns, which most do alike.
_MOST_KEPT = 32


def _bound_table(table: str, binding: Binding) -> BoundTable:
    known = binding.catalog.tables.get(table)
    if known is None:
        raise ProgrammingError(f"{table} is read where a query names it, not here")
    made: dict[tuple[str | int, ...], BoundTable] = known.kept.setdefault("bound", {})
    schema = known.definition.schema
    numbers = tuple(itertools.islice(binding.numbers, len(schema)))
    found = made.get((table, *numbers))
    if found is None:
        schema = typed_schema(schema)
        _make_room(made)
        columns = table_columns(numbers, schema)
        found = made[table, *numbers] = BoundTable(Scan(table, columns))
    return found


def _make_room(kept: dict[Any, Any]) -> None:
    if len(kept) == _MOST_KEPT:
        kept.clear()


def _bind_system_view(written: str, is_named: bool, binding: Binding) -> _Relation | None:
    """Return a table of pg_catalog, None for what is none unless that schema is named."""
    from raydb.sql.system_catalog import SYSTEM_VIEWS  # noqa: PLC0415  (few statements ask)

    name = fold(written)
    if name in SYSTEM_VIEWS:
        view = f"{PG_CATALOG}.{name}"
        plan = _bind_view(view, SYSTEM_VIEWS[name], (CATALOG, MAIN), binding)
        return _Relation(name, (CATALOG, PG_CATALOG), plan)
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
