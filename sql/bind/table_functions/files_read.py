"""The files that a statement reads, found before it is bound: they are tables of its catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.sql import ast
from raydb.sql.bind.table_functions.file_functions import file_source, file_table, is_file
from raydb.sql.parse.nodes import nodes_of
from raydb.sql.parse.parser import parse
from raydb.sql.parse.reader import fold
from raydb.sql.template.parameters import Parameters, bind_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raydb.storage.formats.sources import FileSource


def files_of(
    statement: ast.Select | ast.Insert | ast.Update | ast.Delete,
    views: Mapping[str, str],
    parameters: Parameters = (),
) -> Mapping[str, FileSource]:
    """Return the files that a statement reads, also by way of views.

    Whoever binds the statement puts each of them into the catalog, under its name here.

    >>> files_of(parse("SELECT * FROM 'a.csv' JOIN t USING (id)")[0], {})
    {"'a.csv'": FileSource(patterns=('a.csv',), kind=None, options=())}
    """
    tables = [table for table in tables_in(statement.tree, views) if is_file(table)]
    has_parameters = any(table.find(exp.Parameter, exp.Placeholder) for table in tables)
    values = bind_parameters(statement.tree, parameters) if has_parameters else {}
    return {file_table(table): file_source(table, values) for table in tables}


def tables_named(statement: ast.Select | ast.Insert | ast.Update | ast.Delete) -> Mapping[str, str]:
    """Return the names of tables in a statement, by the name that SQL makes of each one.

    Common table expressions are left out, and so is what views name.

    >>> tables_named(parse("WITH c AS (SELECT 1) SELECT * FROM c, Orders, 'a.csv'")[0])
    {'orders': 'Orders'}
    """
    nodes = nodes_of(statement.tree, exp.CTE, exp.Table)
    common = {fold(node.args["alias"].this) for node in nodes if isinstance(node, exp.CTE)}
    tables = [node for node in nodes if isinstance(node, exp.Table) and not node.db]
    names = [table.this for table in tables if isinstance(table.this, exp.Identifier)]
    return {fold(name): name.name for name in names if fold(name) not in common}


def tables_in(tree: exp.Expr, views: Mapping[str, str]) -> Iterator[exp.Table]:
    """Yield the tables in a statement, and those in the views that it names."""
    return _tables(tree, views, set())


def _tables(tree: exp.Expr, views: Mapping[str, str], seen: set[str]) -> Iterator[exp.Table]:
    for table in nodes_of(tree, exp.Table):
        yield table
        name = fold(table.this) if isinstance(table.this, exp.Identifier) else ""
        if name in views and name not in seen:
            seen.add(name)
            (view,) = parse(views[name])
            assert isinstance(view, ast.Select), "a view holds a query"
            yield from _tables(view.tree, views, seen)
