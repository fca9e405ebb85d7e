"""query('SELECT 1') and query_table('t') in FROM: the query that a text is, tables by their names.

    query('SELECT x FROM t')                the rows of the query
    query_table('t'), query_table(['s.t', 'u'])     those of a table, or of one after the other;
                                            a dot parts names, one within quotes has any signs
    query_table(['t', 'u'], true)           columns matched by name

The text is a constant, also what getvariable() gives, or the argument of a macro.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from sqlglot import exp

from raydb.errors import ProgrammingError
from raydb.names import fold
from raydb.sql.parse.nodes import refuse_deep_nesting
from raydb.sql.parse.query import query_of, refuse_parameters
from raydb.sql.parse.reader import tokenize
from raydb.sql.parse.schema_names import resolve_schema
from raydb.sql.parse.statements.macro import forget_places
from raydb.storage.formats import known as file_formats

# What is in the text of each statement that has one.
QUERY = "query"

_MOST_ARGUMENTS = {"query": 1, "query_table": 2}
_PART = re.compile(r'"(?:[^"]|"")+"|[^".]+')
_NAME = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern})){{0,2}}")
# An error shows so many characters of a text.
_MOST_SHOWN = 60


def is_queried(node: exp.Expr) -> bool:
    """Tell whether a call in FROM is one of these functions."""
    in_from = isinstance(node.parent, exp.Table | exp.Lateral) and node.arg_key == "this"
    return in_from and fold(node.name) in _MOST_ARGUMENTS


def queried(node: exp.Expr) -> exp.Expr:
    """Return the query of a call that `is_queried`.

    Raises ProgrammingError for other arguments, and for a text that is no query or no table.
    """
    name, arguments = fold(node.name), node.expressions
    if not 1 <= len(arguments) <= _MOST_ARGUMENTS[name]:
        most = _MOST_ARGUMENTS[name]
        raise ProgrammingError(f"{name}() takes {'1' if most == 1 else f'1 to {most}'} arguments")
    first, *others = (_constant(name, each) for each in arguments)
    if name == "query":
        if not isinstance(first, str):
            raise ProgrammingError("query() takes the text of a query")
        return _query(first)
    names = [first] if isinstance(first, str) else first
    by_name = others[0] if others else False
    is_of_names = isinstance(names, list | tuple) and all(isinstance(each, str) for each in names)
    if not is_of_names or not names or not isinstance(by_name, bool):
        raise ProgrammingError(
            "query_table() takes the name of a table or a list of names, and whether columns are"
            " matched by name"
        )
    return functools.reduce(
        lambda one, other: exp.Union(this=one, expression=other, distinct=False, by_name=by_name),
        [_table(str(each)) for each in names],
    )


def _constant(name: str, node: exp.Expr) -> Any:
    # Few statements ask, and what binds knows of macros.
    from raydb.planner.catalog import CatalogInfo  # noqa: PLC0415
    from raydb.sql.bind.binding import Binding  # noqa: PLC0415
    from raydb.sql.bind.query.query import bind_query  # noqa: PLC0415
    from raydb.sql.bind.table_functions.arguments import constant_argument  # noqa: PLC0415

    refuse_parameters(node, f"{name}()")
    return constant_argument(name, node, Binding(CatalogInfo({}), {}, bind_query)).value


def _query(text: str) -> exp.Expr:
    statements = tokenize(text)
    if len(statements) != 1:
        raise ProgrammingError(f"query() takes one query, and the text has {len(statements)}")
    with refuse_deep_nesting():
        tree = query_of(text, statements[0]).tree
    refuse_parameters(tree, "the text of query()")
    forget_places(tree)
    return tree


def _table(text: str) -> exp.Expr:
    """Return the query of all rows of a table by its name, which may have its place before it.

    A path with a slash, or whose last part is a format of files, is that of a file.
    """
    ending = text.rpartition(".")[2].lower()
    if "/" in text or any(ending in each.extensions for each in file_formats.FORMATS.values()):
        table = exp.Table(this=exp.Literal.string(text))
        return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))
    if not _NAME.fullmatch(text):
        shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
        raise ProgrammingError(f"'{shown}' in query_table() is no name of a table")
    *place, name = map(_identifier, _PART.findall(text))
    catalog, schema = (None, None, *place)[-2:]
    table = exp.Table(this=name, db=schema, catalog=catalog)
    resolve_schema(table)
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))


def _identifier(part: str) -> exp.Identifier:
    if part.startswith('"'):
        return exp.Identifier(this=part[1:-1].replace('""', '"'), quoted=True)
    return exp.Identifier(this=part, quoted=False)
