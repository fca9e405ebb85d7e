"""The files and calls whose rows a statement has as tables of its catalog, before it is bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.names import fold
from raydb.planner.catalog import TEMP, CatalogInfo
from raydb.planner.plan.table_function import OpenedFunction
from raydb.sql import ast
from raydb.sql.bind.binding import Binding
from raydb.sql.bind.query.query import bind_query
from raydb.sql.bind.table_functions import arguments, file_functions
from raydb.sql.macros import expand_tree
from raydb.sql.parse.nodes import nodes_read
from raydb.sql.parse.parser import parse
from raydb.sql.parse.query import qualifiers_of
from raydb.sql.parse.reader import name_in
from raydb.sql.parse.searched_tables import function_called
from raydb.sql.template.parameters import Parameters, bind_parameters

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from raydb.planner.catalog import Place, Relations
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.formats.sources import FileSource


def files_of(
    statement: ast.Select | ast.Dml,
    tables: Iterable[exp.Table],
    parameters: Parameters = (),
) -> Mapping[str, FileSource]:
    """Return the files that a statement reads; tables: those of `tables_in`.

    Whoever binds the statement puts each of them into the catalog, under its name here.

    >>> (select,) = parse("SELECT * FROM 'a.csv' JOIN t USING (id)")
    >>> files_of(select, tables_in(sources_in(select.tree), CatalogInfo({}).relations))
    {"'a.csv'": FileSource(patterns=('a.csv',), kind=None, options=())}
    """
    files = [table for table in tables if file_functions.is_file(table)]
    if not files:
        return {}
    binding = _binding(statement.tree, files, parameters)
    return {
        file_functions.file_table(table): file_functions.file_source(table, binding)
        for table in files
    }


def opened_calls(
    statement: ast.Select | ast.Dml,
    tables: Iterable[exp.Table],
    parameters: Parameters = (),
) -> Mapping[str, FunctionCall]:
    """Return the calls whose rows the engine makes, by their tables' names; see `files_of`.

    Raises as `read_call` does.
    """
    found = [(table, function_called(table)) for table in tables]
    calls = {table: each for table, each in found if isinstance(each, OpenedFunction)}
    if not calls:
        return {}
    binding = _binding(statement.tree, calls, parameters)
    return {
        file_functions.file_table(table): arguments.read_call(
            function, table.this.expressions, binding
        )
        for table, function in calls.items()
    }


def _binding(tree: exp.Expr, tables: Iterable[exp.Table], parameters: Parameters) -> Binding:
    """Return what constants are bound by: no tables, and parameters where one of them has any."""
    is_open = any(table.find(exp.Parameter, exp.Placeholder) for table in tables)
    values = bind_parameters(tree, parameters) if is_open else {}
    return Binding(CatalogInfo({}), values, bind_query)


def sources_in(tree: exp.Expr) -> list[exp.CTE | exp.Table]:
    """Return the tables and the common table expressions in a tree."""
    nodes = nodes_read(tree)
    return [node for node in nodes if type(node) is exp.Table or type(node) is exp.CTE]


def names_in(nodes: Sequence[exp.CTE | exp.Table]) -> Hashable | None:
    """Return what tells which relations some sources name; None where others are among them."""
    names: list[tuple[str, bool]] = []
    for node in nodes:
        name = node.this
        if type(node) is not exp.Table or type(name) is not exp.Identifier or node.args.get("db"):
            return None
        names.append((name.this, name.quoted))
    return tuple(names)


def tables_named(
    statement: ast.Select | ast.Dml, nodes: Sequence[exp.CTE | exp.Table]
) -> Sequence[str]:
    """Return the names of tables in a statement, each as it is written; nodes: its sources.

    Common table expressions are left out, and so is what views name.

    >>> (select,) = parse("WITH c AS (SELECT 1) SELECT * FROM C, Orders, 'a.csv'")
    >>> tables_named(select, sources_in(select.tree))
    ['Orders']
    """
    tables = [node for node in nodes if type(node) is exp.Table]
    common = set()
    if len(tables) < len(nodes):
        common = {fold(node.args["alias"].this.name) for node in nodes if type(node) is exp.CTE}
    written = None if isinstance(statement, ast.Select) else statement.tree.this
    if isinstance(written, exp.Schema):
        written = written.this
    names = [
        name_in(node.this)
        for node in tables
        if type(node.this) is exp.Identifier and node is not written and not node.args.get("db")
    ]
    if common:
        names = [name for name in names if fold(name) not in common]
    return list(dict.fromkeys(names))


def tables_in(nodes: Sequence[exp.CTE | exp.Table], relations: Relations) -> Iterable[exp.Table]:
    """Return the tables that are no names in a statement with these sources, and in its views."""
    if not relations.views:
        return [t for t in nodes if type(t) is exp.Table and type(t.this) is not exp.Identifier]
    return _tables(nodes, relations, None, set())


def _tables(
    nodes: Sequence[exp.CTE | exp.Table],
    relations: Relations,
    inside: Place | None,
    seen: set[str],
) -> Iterator[exp.Table]:
    """Yield those of some sources; inside: the place of the view that they are of, if any."""
    usual = relations.places((), inside)
    for table in nodes:
        if type(table) is not exp.Table:
            continue
        if type(table.this) is not exp.Identifier:
            yield table
            continue
        qualifiers = qualifiers_of(table)
        places = relations.places(qualifiers, inside) if qualifiers else usual
        found = relations.find(name_in(table.this), places)
        if found is not None and found.key in relations.views and found.key not in seen:
            seen.add(found.key)
            (view,) = parse(relations.views[found.key])
            assert isinstance(view, ast.Select), "a view holds a query"
            within = None if found.place[0] == TEMP else found.place
            tree = expand_tree(view.tree, relations, within)
            yield from _tables(sources_in(tree), relations, within, seen)
