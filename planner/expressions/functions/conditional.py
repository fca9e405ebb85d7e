"""AND, OR and NOT, CASE, and functions that choose one of their arguments.

Their arguments that may fail are evaluated on the rows that need them, and on no others.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError, ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.adapters import of_arrow
from raydb.planner.expressions.columns.arrays import as_array, each, filled
from raydb.planner.expressions.columns.nested_order import order_nested
from raydb.planner.expressions.columns.order import order_intervals
from raydb.planner.expressions.nodes import Call, Expression, Literal, has_subquery
from raydb.planner.expressions.registry import composed, is_volatile, may_raise, scalar
from raydb.planner.expressions.types import BOOLEAN, closed
from raydb.planner.expressions.typing_rules import as_boolean, as_text, choose, compare, unify
from raydb.storage.nested import rebuild
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.evaluator import Rows


def _of_lists_of_nulls(compute: Callable[[Call, Rows], Values]) -> Callable[[Call, Rows], Values]:
    """Let a function choose among lists of nothing but NULLs, which Arrow does not."""

    @functools.wraps(compute)
    def convert(call: Call, rows: Rows) -> Values:
        kind = closed(call.type)
        if kind == call.type:
            return compute(call, rows)
        return each(compute(replace(call, type=kind), rows), _with_nulls(call.type), call.type)

    return convert


def _with_nulls(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def convert(values: pa.Array, kind: pa.DataType) -> pa.Array:
        if pt.is_null(kind):
            return pa.nulls(len(values))
        return values if values.type == kind else rebuild(values, kind, convert)

    return lambda values: convert(values, kind)


def _one_of(verb: str, function: str, _: str, *arguments: Expression) -> Expression:
    """Return a call whose arguments, and result, have one type."""
    unified = unify(arguments, verb)
    alone = function == "coalesce" and len(unified) == 1
    return unified[0] if alone else Call(function, unified, unified[0].type)


_first_value = functools.partial(_one_of, "combine", "coalesce")


@scalar(
    "coalesce(a, ...)",
    "the first value that is not NULL: coalesce(NULL, 2, 3) -> 2",
    bind=_first_value,
    takes="rows",
)
@_of_lists_of_nulls
def _coalesce(call: Call, rows: Rows) -> Values:
    result = cast_values(rows.value(call.arguments[0]), call.type)
    for argument in call.arguments[1:]:
        if may_raise(argument):
            result = as_array(result, rows.count)
            value: Values = rows.value_where(argument, pc.is_null(result))
        else:
            value = rows.value(argument)
        result = pc.coalesce(result, cast_values(value, call.type))
    return result


composed("ifnull(a, b), nvl(a, b)", "`a`, or `b` where it is NULL: ifnull(NULL, 2) -> 2")(
    _first_value
)


@composed("nullif(a, b)", "NULL where both are equal, else the first: nullif(5, 5) -> NULL")
def _nullif(_: str, left: Expression, right: Expression) -> Expression:
    return choose((compare("equal", left, right),), (Literal(None, pa.null()), left))


@composed(
    "if(condition, a, b), iif(condition, a, b)",
    "`a` where the condition is true, else `b`: if(2 > 1, 'yes', 'no') -> 'yes'",
)
def _if(name: str, condition: Expression, yes: Expression, no: Expression) -> Expression:
    return choose((as_boolean(condition, f"{name}()"),), (yes, no))


def _bind_error(name: str, message: Expression) -> Expression:
    """Return a call that may stand where a value of any type does."""
    return Call(name, (as_text(message),), pa.null())


@scalar(
    "error(message: text)",
    "raises an error where it is reached: CASE WHEN 1 > 2 THEN error('no') ELSE 'yes' END -> 'yes'",
    bind=_bind_error,
    takes="rows",
    can_fail=True,
    is_volatile=True,
)
def _error(call: Call, rows: Rows) -> Values:
    message = as_array(rows.value(call.arguments[0]), rows.count)
    if rows.count:
        raise DataError(str(message[0].as_py()))
    return pa.nulls(0)


def _bind_try(name: str, operand: Expression) -> Expression:
    if is_volatile(operand) or has_subquery(operand):
        raise ProgrammingError(f"{name}() takes no subquery, and nothing that differs each time")
    return Call("try", (operand,), operand.type) if may_raise(operand) else operand


@scalar(
    "try(a)",
    "the value, NULL where there is an error: try(1 % 0) -> NULL",
    bind=_bind_try,
    takes="rows",
)
def _try(call: Call, rows: Rows) -> Values:
    (operand,) = call.arguments
    return _computed(operand, rows)


def _computed(operand: Expression, rows: Rows) -> pa.Array:
    """Return the values of an expression, halving rows some of which have none."""
    try:
        return as_array(rows.value_on(operand, rows.inputs, rows.count), rows.count)
    except DataError:
        if rows.count == 1:
            return pa.nulls(1, operand.type)
    middle = rows.count // 2
    parts = [
        _computed(
            operand,
            type(rows)(
                {leaf: values.slice(start, count) for leaf, values in rows.inputs.items()}, count
            ),
        )
        for start, count in ((0, middle), (middle, rows.count - middle))
    ]
    return pa.concat_arrays(parts)


@scalar(
    "greatest(a, ...)",
    "the greatest value, NULLs aside: greatest(1, 2.5, NULL) -> 2.5",
    bind=functools.partial(_one_of, "compare", "greatest"),
    takes="nulls",
)
def _greatest(_: Call, *values: Values) -> Values:
    """NaN is greater than all other doubles."""
    if not _has_kernel(values[0].type):
        return functools.reduce(functools.partial(_better, pc.greater), values)
    greatest = pc.max_element_wise(*values, skip_nulls=True)
    if pt.is_floating(greatest.type):
        for value in values:
            is_nan = pc.fill_null(pc.is_nan(value), False)
            greatest = pc.if_else(is_nan, pa.scalar(math.nan, greatest.type), greatest)
    return greatest


@scalar(
    "least(a, ...)",
    "the least value, NULLs aside: least(DATE '2026-01-02', DATE '2026-01-01') -> 2026-01-01",
    bind=functools.partial(_one_of, "compare", "least"),
    takes="nulls",
)
def _least(_: Call, *values: Values) -> Values:
    if not _has_kernel(values[0].type):
        return functools.reduce(functools.partial(_better, pc.less), values)
    return pc.min_element_wise(*values, skip_nulls=True)


def _has_kernel(kind: pa.DataType) -> bool:
    """Tell whether Arrow takes the greatest of values of a type by itself."""
    is_zoned = pt.is_timestamp(kind) and kind.tz is not None
    return not (is_zoned or pt.is_boolean(kind) or pt.is_interval(kind) or pt.is_nested(kind))


def _better(precedes: Callable[..., Values], best: Values, other: Values) -> Values:
    """Return which of two values precedes the other one, NULLs aside."""
    is_other = precedes(*(order_nested(order_intervals(each)) for each in (other, best)))
    return pc.if_else(pc.or_(pc.is_null(best), pc.fill_null(is_other, False)), other, best)


def _connective(name: str, call: Call, rows: Rows) -> Values:
    """Three-valued AND or OR; an argument that may raise sees the undecided rows only."""
    combine = pc.and_kleene if name == "and" else pc.or_kleene
    result = cast_values(rows.value(call.arguments[0]), BOOLEAN)
    for argument in call.arguments[1:]:
        if may_raise(argument):
            result = as_array(result, rows.count)
            undecided = filled(result if name == "and" else pc.invert(result), True)
            value: Values = rows.value_where(argument, undecided)
        else:
            value = rows.value(argument)
        if value.type != BOOLEAN:
            value = cast_values(value, BOOLEAN)
        result = combine(result, value)
    return result


scalar(name="and", takes="rows")(functools.partial(_connective, "and"))
scalar(name="or", takes="rows")(functools.partial(_connective, "or"))
scalar(name="not")(of_arrow("invert"))


@scalar(name="case", takes="rows")
@_of_lists_of_nulls
def _case(call: Call, rows: Rows) -> Values:
    """CASE: condition, value, condition, value, ..., else."""
    *pairs, otherwise = call.arguments
    branches = list(zip(pairs[::2], pairs[1::2], strict=True))
    if not any(map(may_raise, call.arguments)):
        result = cast_values(rows.value(otherwise), call.type)
        for condition, value in reversed(branches):
            taken = _is_true(rows.value(condition))
            result = pc.if_else(taken, cast_values(rows.value(value), call.type), result)
        return result
    result = pa.nulls(rows.count, call.type)
    pending = pa.repeat(pa.scalar(True), rows.count)
    for condition, value in branches:
        taken = _is_true(rows.value_where(condition, pending))
        result = pc.if_else(taken, cast_values(rows.value_where(value, taken), call.type), result)
        pending = pc.and_not(pending, taken)
    last = cast_values(rows.value_where(otherwise, pending), call.type)
    return pc.if_else(pending, last, result)


def _is_true(condition: Values) -> Values:
    """Return a condition with NULL as false."""
    return filled(cast_values(condition, BOOLEAN), False)


@scalar(name="is_null", takes="rows")
def _is_null(call: Call, rows: Rows) -> Values:
    return pc.is_null(rows.value(call.arguments[0]))
