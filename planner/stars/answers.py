"""Which way a fused job answers each aggregate of a star.

by values: COUNT(DISTINCT x), MIN(x), median(x). x is one more group key; which values occur, and
    how often, says it all (engine/fused/fold_values.py).
accumulated: sums, sums of squares, extremes and counts, by the kernels (kernels/backends).
by a row: ARG_MAX(x, y), FIRST(x), of a scan. The least of numbers that put the rows in order is
    accumulated; it says which row it is, of which x is read (engine/fused/gather.py).
gathered: any other. What it reads is fetched for each row that passes, and folded as the general
    path folds it (engine/fused/gather.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.kernels.backends.aggregates import AGGREGATES, has_squares
from raydb.kernels.codecs.arrow_numbers import is_number
from raydb.planner.expressions.nodes import AggregateCall, Call, Literal
from raydb.planner.expressions.registry import may_raise

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from raydb.kernels.bvh.bvh import Measure
    from raydb.planner.expressions.nodes import Expression

# Every decimal of so many digits fits an int64.
INT64_DIGITS = 18

_COUNTS = frozenset({"count_star", "count"})

# What the values of a group in order answer, with how often each occurs.
BY_ORDER = frozenset({"mode", "quantile_cont", "quantile_disc"})


def needs_values(call: AggregateCall, held: Collection[Expression]) -> bool:
    """Whether an aggregate asks which values occur; `held` are the measures in X."""
    if call.function == "count_star" or call.order_by:
        return False
    if call.distinct:
        return call.function == "count" and len(call.arguments) == 1
    argument = call.arguments[0]
    if call.function not in BY_ORDER and (argument in held or call.function not in AGGREGATES):
        return False
    # Of floats NaN is the greatest, which the order of codes does not know; and their sums depend
    # on the order.
    if pa.types.is_floating(argument.type):
        return False
    is_chosen = call.function in BY_ORDER or call.function in ("count", "min", "max")
    return is_chosen or not is_wide(argument.type)


def asks_values(call: AggregateCall) -> bool:
    """Whether an aggregate of a scan asks which values occur, where these are few."""
    if call.function == "count_star" or call.order_by:
        return False
    if call.distinct:
        return call.function == "count" and len(call.arguments) == 1
    kind = call.arguments[0].type
    if call.function in BY_ORDER:
        return not pa.types.is_floating(kind)
    return call.function in ("min", "max") and not is_number(kind)


def may_be_accumulated(call: AggregateCall) -> bool:
    """Whether a kernel has loops for an aggregate; the bounds of a measure may still forbid it."""
    if call.distinct or call.function not in AGGREGATES:
        return False
    if call.function in _COUNTS:
        return True
    kind = call.arguments[0].type
    has_loop = "squares" not in AGGREGATES[call.function] or not pa.types.is_floating(kind)
    return has_loop and is_number(kind)


def chosen_row(call: AggregateCall) -> AggregateCall | None:
    """Return the aggregate that says of which row an aggregate is a value; None for others.

    Its argument is 'row_order', a number for each row that no other has: of the first row that the
    aggregate may be of it is the least, and of those that are left out it is NULL.
    """
    if call.distinct or call.order_by:
        return None
    match call:
        case AggregateCall("first" | "last", (value,)) if not may_raise(value):
            asked: tuple[Expression, ...] = ()
        case AggregateCall("any_value", (value,)):
            asked = (value,)
        case AggregateCall("arg_min" | "arg_max", (_, compared)) if not _is_unordered(compared):
            asked = call.arguments
        case _:
            return None
    order = Call("row_order", (Literal(call.function, pa.string()), *asked), pa.int64())
    return AggregateCall("min", (order,), pa.int64())


def _is_unordered(expression: Expression) -> bool:
    """Whether Arrow does not put the values of an expression in order."""
    return bool(pa.types.is_nested(expression.type) or pa.types.is_interval(expression.type))


def is_accumulated(call: AggregateCall, held: Mapping[Expression, Measure]) -> bool:
    """Whether a kernel accumulates an aggregate; `held` are the measures in X."""
    if call.distinct or call.function not in AGGREGATES:
        return False
    if call.function in _COUNTS:
        return True
    (argument,) = call.arguments
    if argument in held and is_number(argument.type):  # A text is held to be counted.
        measure = held[argument]
        return "squares" not in AGGREGATES[call.function] or has_squares(measure)
    is_known = is_number(argument.type) and not is_wide(argument.type)
    return is_known and "squares" not in AGGREGATES[call.function]


def is_wide(kind: pa.DataType) -> bool:
    """Whether a number of a type may not fit 64 bits."""
    return bool(
        (pa.types.is_decimal(kind) and kind.precision > INT64_DIGITS) or pa.types.is_uint64(kind)
    )
