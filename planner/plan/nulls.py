"""Where NULL cannot be: columns that are never NULL, and predicates that no NULL passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.nodes import Call, Column, Expression, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
# Functions that are NULL where an argument is, and nowhere else.
_STRICT = (*COMPARISONS, "add", "subtract", "multiply", "divide", "modulo", "negate", "cast", "not")


def is_never_null(expression: Expression, known: Collection[Column]) -> bool:
    """Tell whether an expression cannot be NULL where the known columns are not."""
    match expression:
        case Literal():
            return not expression.is_null
        case Column():
            return expression in known
        case Call(function="is_null" | "not_distinct"):
            return True
        case Call(function="coalesce", arguments=arguments):
            return any(is_never_null(argument, known) for argument in arguments)
        case Call(function=function, arguments=arguments):
            can_tell = function in _STRICT or function in ("and", "or", "in")
            return can_tell and all(is_never_null(argument, known) for argument in arguments)
        case _:
            return False


def rejects_null(predicate: Expression, columns: Collection[Column]) -> bool:
    """Tell whether a predicate cannot be true where all of the columns are NULL."""
    match predicate:
        case Literal(type=kind):
            return kind != pa.bool_() or predicate.value is not True
        case Call(function="and", arguments=parts):
            return any(rejects_null(part, columns) for part in parts)
        case Call(function="or", arguments=parts):
            return all(rejects_null(part, columns) for part in parts)
        case Call(function="coalesce", arguments=parts):
            return all(rejects_null(part, columns) for part in parts)
        case Call(function="not", arguments=(Call(function="is_null", arguments=(inner,)),)):
            return _is_null_with(inner, columns)
        case _:
            return _is_null_with(predicate, columns)


def _is_null_with(expression: Expression, columns: Collection[Column]) -> bool:
    """Tell whether an expression is NULL where all of the columns are."""
    match expression:
        case Column():
            return expression in columns
        case Literal():
            return expression.is_null
        case Call(function="in", arguments=(operand, *_)):
            return _is_null_with(operand, columns)
        case Call(function=function, arguments=arguments) if function in _STRICT:
            return any(_is_null_with(argument, columns) for argument in arguments)
        case _:
            return False


def required_by(predicates: Iterable[Expression], columns: Iterable[Column]) -> frozenset[Column]:
    """Return those of some columns that cannot be NULL where the predicates are true."""
    parts = tuple(predicates)
    return frozenset(c for c in columns if any(rejects_null(part, (c,)) for part in parts))
