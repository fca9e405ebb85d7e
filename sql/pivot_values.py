"""PIVOT without IN: the values that become columns are asked for before the statement is bound.

PIVOT t ON y USING sum(x)   ->  PIVOT t ON y IN ('2024', '2025') USING sum(x)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from sqlglot import TokenType, exp

from raydb.names import fold
from raydb.sql.ast import Select
from raydb.sql.parse.nodes import may_have, nodes_of
from raydb.sql.statement_trees import map_trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


def asks_values(tree: exp.Expr) -> bool:
    """Tell whether a PIVOT in a tree lists no values."""
    if not may_have(tree, TokenType.PIVOT, TokenType.UNPIVOT):
        return False
    return any(any(_open_fields(pivot)) for pivot in nodes_of(tree, exp.Pivot))


def with_values(statement: T, ask: Callable[[Select], pa.Table]) -> T:
    """Return a statement in which each PIVOT lists the values that there are, NULL left out.

    ask: returns the rows of a query.
    """

    def listed(tree: exp.Expr) -> exp.Expr:
        if not asks_values(tree):
            return tree
        tree = tree.copy()
        # A PIVOT of a PIVOT stands before it.
        for pivot in reversed(nodes_of(tree, exp.Pivot)):
            for field in list(_open_fields(pivot)):
                field.replace(_in(field, ask(_values_of(field, pivot))))
        return tree

    return map_trees(statement, listed)


def _open_fields(pivot: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what a PIVOT is ON without a list of values, or with a query in its place."""
    if not pivot.args.get("unpivot") and not pivot.args.get("fields"):
        for each in pivot.expressions:
            if not isinstance(each, exp.In) or each.args.get("query") is not None:
                yield each


def _values_of(field: exp.Expr, pivot: exp.Expr) -> Select:
    """Return the query of the distinct values of an expression and of their texts, in order."""
    source, value = pivot.this.copy(), field.unalias()
    if isinstance(field, exp.In):
        name = exp.to_identifier("value")
        alias = exp.TableAlias(this=exp.to_identifier("listed"), columns=[name])
        source = exp.Subquery(this=field.args["query"].unnest().copy(), alias=alias)
        value = exp.Column(this=name.copy())
    query = exp.Select(
        expressions=[
            exp.Alias(this=value.copy(), alias=exp.to_identifier("value")),
            exp.Alias(this=_text(value), alias=exp.to_identifier("text")),
        ],
        distinct=exp.Distinct(),
        from_=exp.From(this=source),
        where=exp.Where(this=exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))),
        order=exp.Order(expressions=[exp.Ordered(this=exp.Literal.number(1))]),
    )
    if named := _named_before(pivot):
        query.set("with_", exp.With(expressions=named))
    return Select(query)


def _named_before(node: exp.Expr) -> list[exp.Expr]:
    """Return the queries of WITH that are in sight of a node."""
    found: list[exp.Expr] = []
    while (around := node.parent) is not None:
        clause = around.args.get("with_")
        if isinstance(around, exp.With):
            found = around.expressions[: node.index] + found
        elif clause is not None and clause is not node:
            found = clause.expressions + found
        node = around
    nearest = {fold(each.args["alias"].this.name): each for each in found}
    return [each.copy() for each in nearest.values()]


def _in(field: exp.Expr, found: pa.Table) -> exp.In:
    """Return an expression with its values listed: numbers and texts, and others as their texts."""
    value = field.this if isinstance(field, exp.In) else field.unalias()
    texts = found.column(1).to_pylist()
    if pa.types.is_integer(found.schema.types[0]):
        numbers = [exp.Literal.number(text.removeprefix("-")) for text in texts]
        listed = [
            exp.Neg(this=number) if text[0] == "-" else number
            for text, number in zip(texts, numbers, strict=True)
        ]
        return exp.In(this=value.copy(), expressions=listed)
    is_text = pa.types.is_string(found.schema.types[0])
    compared = value.copy() if is_text else _text(value)
    return exp.In(this=compared, expressions=[exp.Literal.string(text) for text in texts])


def _text(value: exp.Expr) -> exp.Cast:
    return exp.Cast(this=value.copy(), to=exp.DataType.build("TEXT", dialect="postgres"))
