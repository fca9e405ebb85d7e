"""Bound scalar and aggregate expressions: frozen values whose types are Arrow types.

    Expression = Column | Attribute | Literal | Call

A `Column` is an output of a plan node, known by its number. An `Attribute` is a column seen from a
fact table through its foreign keys; star matching turns the first into the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, assert_never

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa

    from raydb.storage.table import ForeignKey


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a plan node's output. The number is unique in a plan; the name is for people."""

    number: int
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column reached from a fact table: `path` is empty for the fact table's own columns."""

    path: tuple[ForeignKey, ...]
    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; `value` is a Python value (None for NULL) that Arrow converts to `type`."""

    value: Any
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function of `planner.functions.FUNCTIONS` applied to its arguments.

    The binder inserts casts, so that the arguments of an operator already have the types that it
    works on; `cast` is the function whose target is `type`.
    """

    function: str
    arguments: tuple[Expression, ...]
    type: pa.DataType


Expression = Column | Attribute | Literal | Call


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """sum, avg, min, max, count (of non-null arguments) or count_star (no argument)."""

    function: str
    argument: Expression | None
    type: pa.DataType
    distinct: bool = False


def leaves(expression: Expression) -> Iterator[Column | Attribute | Literal]:
    """Yield the leaves of an expression from left to right, repeats included."""
    match expression:
        case Call(arguments=arguments):
            for argument in arguments:
                yield from leaves(argument)
        case _:
            yield expression


def columns_of(expression: Expression) -> frozenset[Column]:
    """Return the columns that an expression reads."""
    return frozenset(leaf for leaf in leaves(expression) if isinstance(leaf, Column))


def attributes_of(expression: Expression) -> frozenset[Attribute]:
    """Return the attributes that an expression reads."""
    return frozenset(leaf for leaf in leaves(expression) if isinstance(leaf, Attribute))


def rewrite(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Return the expression with `change` applied to every node, children first."""
    match expression:
        case Call(arguments=arguments):
            rewritten = tuple(rewrite(argument, change) for argument in arguments)
            if rewritten != arguments:
                expression = replace(expression, arguments=rewritten)
            return change(expression)
        case Column() | Attribute() | Literal():
            return change(expression)
        case _:
            assert_never(expression)


def substitute(expression: Expression, definitions: Mapping[Column, Expression]) -> Expression:
    """Return the expression with each defined column replaced by its definition."""

    def define(part: Expression) -> Expression:
        return definitions.get(part, part) if isinstance(part, Column) else part

    return rewrite(expression, define)


def conjuncts(predicate: Expression) -> tuple[Expression, ...]:
    """Split `a AND b AND c` into its parts.

    >>> conjuncts(Call("and", (a, Call("and", (b, c), BOOL)), BOOL))
    (a, b, c)
    """
    match predicate:
        case Call(function="and", arguments=arguments):
            return tuple(part for argument in arguments for part in conjuncts(argument))
        case _:
            return (predicate,)
