"""The vectorised evaluator: expressions over Arrow arrays.

Rules that hold throughout:

- NULL in, NULL out, but for `is_null`, `coalesce`, `case`, the three-valued `and` and `or`, and the
  functions that say so.
- Nothing wraps: a result that its type cannot hold is a DataError, as is a division by zero.
- A branch of `case`, a later argument of `coalesce`, or of `and` and `or`, cannot fail for a row
  that does not need it: `CASE WHEN b <> 0 THEN a / b END` divides only where b is not 0.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.planner.casts import Values, cast_values
from raydb.planner.expression import Attribute, Call, Column, Expression, Literal, leaves
from raydb.planner.functions.comparisons import COMPARISONS
from raydb.planner.functions.function import Function, arrow
from raydb.planner.functions.numbers import NUMBERS
from raydb.planner.functions.patterns import PATTERNS
from raydb.planner.functions.text import TEXT
from raydb.planner.functions.time import TIME
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_BOOLEAN = pa.bool_()

# Functions of their arguments' values, by the names that calls use.
FUNCTIONS: Mapping[str, Function] = {
    **COMPARISONS,
    **NUMBERS,
    **TEXT,
    **PATTERNS,
    **TIME,
    "not": arrow(pc.invert),
    "cast": Function(lambda _, value: value, can_fail=True),
}


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The rows that an expression is evaluated on: `inputs` has `count` values for each leaf."""

    inputs: Mapping[Any, pa.Array | pa.ChunkedArray]
    count: int


def evaluate(
    expression: Expression, inputs: Mapping[Any, pa.Array | pa.ChunkedArray], row_count: int
) -> pa.Array | pa.ChunkedArray:
    """Return the value of an expression for each row: `row_count` values of `expression.type`.

    `inputs` maps the expression's Column and Attribute leaves to arrays of `row_count` values; a
    constant expression needs none. No rows means no errors: `1 / 0` over zero rows is an empty
    array. Raises DataError for a value that cannot be computed, NotSupportedError for operand
    types that a function does not take.

    >>> evaluate(Call("add", (a, Literal(1, pa.int64())), pa.int64()), {a: pa.array([1, 2])}, 2)
    [2, 3]
    """
    if row_count == 0:
        return pa.array([], expression.type)
    values = cast_values(_value(expression, Rows(inputs, row_count)), expression.type)
    if not isinstance(values, pa.Scalar):
        return values
    if not values.is_valid:
        return pa.nulls(row_count, expression.type)
    return pa.repeat(values, row_count)


def may_raise(expression: Expression) -> bool:
    """Tell whether some row could make the expression fail."""
    match expression:
        case Call(function=function, arguments=arguments):
            can_fail = function in FUNCTIONS and FUNCTIONS[function].can_fail
            return can_fail or any(may_raise(argument) for argument in arguments)
        case _:
            return False


def is_known(function: str) -> bool:
    """Tell whether there is a function of that name."""
    return function in FUNCTIONS or function in _FORMS


def _value(expression: Expression, rows: Rows) -> Values:
    """Return the expression's values: a scalar where it is constant, else `rows.count` of them."""
    match expression:
        case Literal(value=value, type=data_type):
            return pa.scalar(value, data_type)
        case Column() | Attribute():
            return rows.inputs[expression]
        case Call(function=function):
            if not is_known(function):
                raise NotSupportedError(f"the function '{function}' is not supported")
            try:
                values = _compute(expression, rows)
            except pa.ArrowInvalid as error:
                raise DataError(_sentence(expression, str(error))) from error
            except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                types = ", ".join(sql_type_name(argument.type) for argument in expression.arguments)
                raise NotSupportedError(f"{function}({types}) is not supported") from error
            return _fit(values, expression)
        case _:
            assert_never(expression)


def _compute(call: Call, rows: Rows) -> Values:
    """Return a call's values, not yet in the type of the call."""
    if call.function in _FORMS:
        return _FORMS[call.function](call, rows)
    function = FUNCTIONS[call.function]
    values = [_value(argument, rows) for argument in call.arguments]
    if function.strict and any(pt.is_null(value.type) for value in values):
        return pa.scalar(None, call.type)
    return function.compute(call, *values)


def _fit(values: Values, call: Call) -> Values:
    """Return a function's values in its type; the error of an operator names the operator."""
    if _operation(call) is None:
        return cast_values(values, call.type)
    try:
        return cast_values(values, call.type)
    except DataError:
        raise DataError(_sentence(call, "overflow")) from None


def _operation(call: Call) -> str | None:
    return FUNCTIONS[call.function].operation if call.function in FUNCTIONS else None


def _sentence(call: Call, reason: str) -> str:
    """Return what to tell the user of a function that failed."""
    if "divide by zero" in reason.lower():
        return "division by zero"
    name = _operation(call) or call.function
    return f"the result of the {name} is out of range for {sql_type_name(call.type)}"


# -- rows that need a value, and rows that do not


def _value_where(expression: Expression, rows: Rows, mask: pa.Array) -> pa.Array:
    """Return the expression's values on the rows where `mask` is true, and NULL elsewhere.

    Only those rows are evaluated. `mask` holds no NULLs.
    """
    count = pc.sum(mask, min_count=0).as_py()
    if count == 0:
        return pa.nulls(rows.count, expression.type)
    needed = {leaf for leaf in leaves(expression) if not isinstance(leaf, Literal)}
    chosen = {leaf: rows.inputs[leaf].filter(mask) for leaf in needed}
    values = evaluate(expression, chosen, count)
    positions = pc.subtract(pc.cumulative_sum(pc.cast(mask, pa.int64())), 1)
    return _one_array(values).take(pc.if_else(mask, positions, pa.scalar(None, pa.int64())))


def _one_array(values: Values) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _all_rows(values: Values, rows: Rows) -> pa.Array:
    """Return the values as one array of `rows.count`."""
    return pa.repeat(values, rows.count) if isinstance(values, pa.Scalar) else _one_array(values)


def _is_true(condition: pa.Array) -> pa.Array:
    """Return the condition with NULL as false."""
    return pc.fill_null(condition, False)


def _connective(name: str, call: Call, rows: Rows) -> Values:
    """Three-valued AND or OR; an argument that may raise sees the undecided rows only."""
    combine = pc.and_kleene if name == "and" else pc.or_kleene
    decided = pa.scalar(name == "or")
    result = _value(call.arguments[0], rows)
    for argument in call.arguments[1:]:
        if may_raise(argument):
            result = _all_rows(result, rows)
            undecided = pc.fill_null(pc.not_equal(result, decided), True)
            value: Values = _value_where(argument, rows, undecided)
        else:
            value = _value(argument, rows)
        result = combine(cast_values(result, _BOOLEAN), cast_values(value, _BOOLEAN))
    return result


def _case(call: Call, rows: Rows) -> Values:
    """CASE: condition, value, condition, value, ..., else."""
    *pairs, otherwise = call.arguments
    branches = list(zip(pairs[::2], pairs[1::2], strict=True))
    if not may_raise(Call("coalesce", call.arguments, call.type)):
        result = cast_values(_value(otherwise, rows), call.type)
        for condition, value in reversed(branches):
            taken = _is_true(cast_values(_value(condition, rows), _BOOLEAN))
            result = pc.if_else(taken, cast_values(_value(value, rows), call.type), result)
        return result
    result = pa.nulls(rows.count, call.type)
    pending = pa.repeat(pa.scalar(True), rows.count)
    for condition, value in branches:
        taken = _is_true(cast_values(_value_where(condition, rows, pending), _BOOLEAN))
        result = pc.if_else(taken, cast_values(_value_where(value, rows, taken), call.type), result)
        pending = pc.and_not(pending, taken)
    last = cast_values(_value_where(otherwise, rows, pending), call.type)
    return pc.if_else(pending, last, result)


def _coalesce(call: Call, rows: Rows) -> Values:
    result = cast_values(_value(call.arguments[0], rows), call.type)
    for argument in call.arguments[1:]:
        if may_raise(argument):
            result = _all_rows(result, rows)
            value: Values = _value_where(argument, rows, pc.is_null(result))
        else:
            value = _value(argument, rows)
        result = pc.coalesce(result, cast_values(value, call.type))
    return result


def _is_null(call: Call, rows: Rows) -> Values:
    return pc.is_null(_value(call.arguments[0], rows))


# Functions that evaluate their arguments themselves, on the rows that need them.
_FORMS: Mapping[str, Callable[[Call, Rows], Values]] = {
    "and": functools.partial(_connective, "and"),
    "or": functools.partial(_connective, "or"),
    "case": _case,
    "coalesce": _coalesce,
    "is_null": _is_null,
}
