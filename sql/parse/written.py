"""Trees of expressions as SQL, for names of columns and messages."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.errors import ErrorLevel
from sqlglot.generators.postgres import PostgresGenerator

from raydb.sql.parse.dialect import DIALECT
from raydb.sql.parse.nodes import unlink, walk

if TYPE_CHECKING:
    from collections.abc import Callable

# How many levels of a tree are written as text; each takes up to 1 KB of the stack.
_MOST_LEVELS = 500


def text_of(tree: exp.Expr) -> str:
    """Return a tree as SQL, for names of columns and messages."""
    # PostgreSQL lacks some of what we write, such as IGNORE NULLS: no reason for a warning.
    generator = PostgresGenerator(
        dialect=DIALECT, normalize_functions="lower", unsupported_level=ErrorLevel.IGNORE
    )
    generator._dispatch = _writers()
    # A copy takes as long as all of the rest: positions are copied, too.
    if _kinds_in(tree) <= _LEFT_ALONE:
        return generator.generate(tree, copy=False)
    copied = tree.copy()
    text = generator.generate(copied, copy=False)
    unlink(copied)
    return text


# Nodes that sqlglot writes as they are; before it writes others it may change them.
_LEFT_ALONE = frozenset(
    {
        *(exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Null, exp.Boolean),
        *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren, exp.Anonymous),
        *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not),
        *(exp.Between, exp.In, exp.Is, exp.Case, exp.If, exp.Cast, exp.DataType, exp.Distinct),
        *(exp.Select, exp.From, exp.Table, exp.TableAlias, exp.Where, exp.Subquery),
    }
)


def _kinds_in(tree: exp.Expr) -> set[type[exp.Expr]]:
    """Return the kinds of nodes in a tree, but those that `walk` leaves out.

    Raises RecursionError for one that sqlglot, which calls itself at each level, but not for AND
    and OR, cannot write.
    """
    nodes = walk(tree)
    waiting = [(tree, 0)] if len(nodes) > _MOST_LEVELS else []
    for node, level in waiting:
        if level > _MOST_LEVELS:
            raise RecursionError
        for part in node.iter_expressions():
            is_same = type(part) is type(node) and isinstance(part, exp.Connector)
            waiting.append((part, level if is_same else level + 1))
    return set(map(type, nodes))


@cache
def _writers() -> dict[type[exp.Expr], Callable[..., str]]:
    """Return what writes each kind of node."""
    return {
        **PostgresGenerator()._dispatch,
        # As they are read, where PostgreSQL or its drivers write POWER(a, b) and %(name)s.
        exp.Pow: lambda generator, node: generator.binary(node, "^"),
        exp.Adjacent: lambda generator, node: generator.binary(node, "<=>"),
        exp.DistanceNd: lambda generator, node: generator.binary(node, "<#>"),
        exp.Match: lambda generator, node: generator.binary(node, "<+>"),
        exp.NestedJSONSelect: lambda generator, node: generator.binary(node, "<~>"),
        exp.Placeholder: lambda _, node: f":{node.name}",
        exp.DataType: _type_text,
        exp.Interval: _interval_text,
        # What PostgreSQL does not have.
        exp.IntDiv: lambda generator, node: generator.binary(node, "//"),
        exp.JSONExtract: lambda generator, node: generator.binary(node, "->"),
        exp.JSONExtractScalar: lambda generator, node: generator.binary(node, "->>"),
        exp.Lambda: lambda generator, node: (
            f"lambda {generator.expressions(node, flat=True)}: {generator.sql(node, 'this')}"
        ),
        exp.TryCast: lambda generator, node: (
            f"TRY_CAST({generator.sql(node, 'this')} AS {generator.sql(node, 'to')})"
        ),
        exp.Struct: _struct_text,
        exp.Map: _map_text,
    }


def _type_text(generator: PostgresGenerator, node: exp.DataType) -> str:
    """Return a type; PostgreSQL's smallest integer is SMALLINT."""
    is_smallest = node.this is exp.DType.TINYINT
    return "TINYINT" if is_smallest else generator.datatype_sql(node)


def _interval_text(generator: PostgresGenerator, node: exp.Expr) -> str:
    unit = generator.sql(node, "unit")
    return f"INTERVAL {generator.sql(node, 'this')}{unit and ' '}{unit}"


def _struct_text(generator: PostgresGenerator, node: exp.Expr) -> str:
    fields = (
        f"'{each.this.name}': {generator.sql(each, 'expression')}" for each in node.expressions
    )
    return f"{{{', '.join(fields)}}}"


def _map_text(generator: PostgresGenerator, node: exp.Expr) -> str:
    keys, values = (node.args[name].expressions for name in ("keys", "values"))
    pairs = zip(map(generator.sql, keys), map(generator.sql, values), strict=True)
    return f"MAP {{{', '.join(f'{key}: {value}' for key, value in pairs)}}}"
