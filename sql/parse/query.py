"""Queries, wherever a statement may hold one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import Unquoted
from raydb.sql.ast import Describe, Select
from raydb.sql.parse.reader import TokenReader, name_in, parse_tree

if TYPE_CHECKING:
    from sqlglot import Token

_PIVOTS = ("PIVOT", "PIVOT_WIDER", "UNPIVOT", "PIVOT_LONGER")
QUERY_WORDS = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", *_PIVOTS, "(")
"""What a query begins with."""


def read_query(reader: TokenReader) -> Select:
    """Read a query up to the end of the statement."""
    if not reader.at_any(*QUERY_WORDS):
        raise reader.error("SELECT")
    return as_query(parse_tree(reader.text, reader.rest()))


def as_query(tree: exp.Expr) -> Select:
    """Return the query that a tree is."""
    if not isinstance(tree, exp.Query | exp.Values):
        raise NotSupportedError(f"{tree.key.upper()} in place of a query is not supported")
    return Select(tree)


def query_of(text: str, tokens: tuple[Token, ...]) -> Select:
    """Return the query that some tokens of a text are."""
    return read_query(TokenReader(text, tokens))


def select_columns(
    table: str, columns: tuple[str, ...] | None = None, place: tuple[str, ...] = ()
) -> Select:
    """Return `SELECT columns FROM place.table`, of names as the reader gives them."""
    items = [exp.column(_identifier(name)) for name in columns or ()]
    catalog, schema = (None, None, *map(_identifier, place))[-2:]
    source = exp.From(this=exp.Table(this=_identifier(table), db=schema, catalog=catalog))
    return Select(exp.Select(expressions=items or [exp.Star()], from_=source))


def describe_table(table: str, place: tuple[str, ...] = ()) -> Describe:
    """Return `DESCRIBE place.table`."""
    return Describe(table, select_columns(table, None, place), place)


def summary_of(select: Select) -> Select:
    """Return `SUMMARIZE query`."""
    return Select(exp.Summarize(this=select.tree))


def _identifier(name: str) -> exp.Identifier:
    return exp.to_identifier(str(name), quoted=not isinstance(name, Unquoted))


def refuse_queries(tree: exp.Expr, owner: str) -> None:
    """Raise ProgrammingError for a query in an expression over one row."""
    if tree.find(exp.Query, exp.Subquery) is not None:
        raise ProgrammingError(f"{owner} can't have a query in it")


def refuse_parameters(tree: exp.Expr, owner: str) -> None:
    """Raise ProgrammingError for a parameter in what is kept."""
    if tree.find(exp.Parameter, exp.Placeholder) is not None:
        raise ProgrammingError(f"{owner} can't have parameters")


def qualifiers_of(table: exp.Table) -> tuple[str, ...]:
    """Return the database and the schema, or one of them, that are written before a table."""
    if (schema := table.args.get("db")) is None:
        return ()
    database = table.args.get("catalog")
    return (name_in(schema),) if database is None else (name_in(database), name_in(schema))
