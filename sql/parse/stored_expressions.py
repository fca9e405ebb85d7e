"""Stored expressions: DEFAULT, CHECK and generated columns as text, bound where it is used."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import TokenType, exp

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.names import find_name, fold, is_same
from raydb.sql.parse.nodes import nodes_of, refuse_deep_nesting
from raydb.sql.parse.query import refuse_parameters, refuse_queries
from raydb.sql.parse.reader import name_in, parse_scalar, tokenize
from raydb.sql.parse.written import text_of
from raydb.storage.tables.table import Check, Generated

if TYPE_CHECKING:
    from collections.abc import Mapping


def stored_text(node: exp.Expr, owner: str) -> str:
    """Return an expression as text that reads back as the same expression.

    Raises ProgrammingError for a query, a parameter, a window function or #1 in it.
    """
    refuse_queries(node, owner)
    refuse_parameters(node, owner)
    if node.find(exp.Window):
        raise ProgrammingError(f"{owner} can't have a window function in it")
    if place := node.find(exp.PositionalColumn):
        raise ProgrammingError(f"{owner} can't have #{place.name} in it; name the column")
    text = text_of(node)
    if stored_tree(text) != node:
        raise NotSupportedError(f"{owner}: the expression {text} is not supported here")
    return text


def stored_check(table: str, node: exp.Expr, name: str) -> Check:
    """Return a CHECK of a table; its columns may be written as `table.column`."""
    text, columns = _stored_of_row(table, node, f"a CHECK of table '{table}'")
    return Check(text, columns, name)


def stored_generated(table: str, column: str, node: exp.Expr) -> Generated:
    """Return a generated column of a table; columns may be written as in a CHECK."""
    return Generated(column, *_stored_of_row(table, node, f"the generated column '{column}'"))


def _stored_of_row(table: str, node: exp.Expr, owner: str) -> tuple[str, tuple[str, ...]]:
    """Return an expression of a table's row as text, and the columns that it reads."""
    node = node.copy()
    for column in node.find_all(exp.Column):
        first, *others = column.parts
        if others and is_same(first.name, table):
            column.set(str(first.arg_key), None)
    # Behind the name of a column may be those of fields.
    columns = [column for column in _columns_of(node) if not column.is_star]
    names = {fold(first.name): name_in(first) for first in (each.parts[0] for each in columns)}
    known = tuple(names[each] for each in sorted(names))
    return stored_text(node, owner), known


def renamed_columns(text: str, names: Mapping[str, str]) -> str:
    """Return the text of an expression of a row with new names for columns.

    >>> renamed_columns("a > 0", {"a": "A b"})
    '"A b" > 0'
    """
    tree = stored_tree(text)
    for column in _columns_of(tree):
        first = column.parts[0]
        name = find_name(name_in(first), names, "column")
        if name is not None:
            column.set(str(first.arg_key), exp.to_identifier(names[name], quoted=True))
    return text_of(tree)


def _columns_of(tree: exp.Expr) -> list[exp.Column]:
    """Return the columns in a tree; parameters of lambdas are none."""
    return [column for column in tree.find_all(exp.Column) if not _is_parameter(column)]


def _is_parameter(column: exp.Column) -> bool:
    scope = column.find_ancestor(exp.Lambda, exp.Comprehension)
    while scope is not None:
        if isinstance(scope, exp.Lambda):
            parameters = scope.expressions
        else:
            parameters = [scope.expression, scope.args.get("position")]
        if any(each and is_same(each.name, column.parts[0].name) for each in parameters):
            return True
        scope = scope.find_ancestor(exp.Lambda, exp.Comprehension)
    return False


def nextval_text(name: str) -> str:
    """Return the default of a column that takes the values of a sequence."""
    return text_of(exp.Anonymous(this="nextval", expressions=[exp.Literal.string(name)]))


def renamed_sequence(text: str, name: str, to: str) -> str:
    """Return a stored expression that takes the values of a sequence under another name.

    >>> renamed_sequence("NEXTVAL('s') + 1", "s", "t")
    "NEXTVAL('t') + 1"
    """
    tree = stored_tree(text)
    for call in nodes_of(tree, exp.Anonymous):
        if call.name.lower() == "nextval" and is_same(call.expressions[0].name, name):
            call.set("expressions", [exp.Literal.string(to)])
    return text_of(tree)


def sequences_of(text: str) -> frozenset[str]:
    """Return the names of the sequences that a stored expression takes values of."""
    calls = nodes_of(stored_tree(text), exp.Anonymous) if "nextval" in text.lower() else []
    return frozenset(
        call.expressions[0].name
        for call in calls
        if call.name.lower() == "nextval" and isinstance(call.expressions[0], exp.Literal)
    )


def stored_tree(text: str) -> exp.Expr:
    """Return the tree of a stored expression, without places: they are none of the statement's."""
    tree = scalar_tree(text)
    for node in tree.walk():
        node.meta.clear()
    return tree


def scalar_tree(text: str) -> exp.Expr:
    """Return the tree of an expression, with places in the text."""
    (tokens,) = tokenize(text)
    with refuse_deep_nesting():
        return parse_scalar(text, tokens)


def types_named(text: str) -> frozenset[str]:
    """Return the names of the types that an expression, a query or another statement casts to."""
    found = set()
    inside_cast = [False]
    for before, token in pairwise(token for part in tokenize(text) for token in part):
        match token.token_type:
            case TokenType.L_PAREN:
                inside_cast.append(before.text.upper() in ("CAST", "TRY_CAST"))
            case TokenType.R_PAREN:
                inside_cast.pop()
            case _ if before.token_type is TokenType.DCOLON or (
                before.token_type is TokenType.ALIAS and inside_cast[-1]
            ):
                found.add(token.text)
    return frozenset(found)
