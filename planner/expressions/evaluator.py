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
from typing import TYPE_CHECKING, Any, TypeGuard, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.planner.expressions.casts.casts import Values, cast_values, try_cast_values
from raydb.planner.expressions.function import Function, arrow, as_array
from raydb.planner.expressions.functions.comparisons import COMPARISONS
from raydb.planner.expressions.functions.decimals import Scaled, calculate, narrow, widen
from raydb.planner.expressions.functions.lists import LISTS
from raydb.planner.expressions.functions.mathematics import MATHEMATICS
from raydb.planner.expressions.functions.numbers import NUMBERS
from raydb.planner.expressions.functions.patterns import PATTERNS
from raydb.planner.expressions.functions.randomness import VOLATILE, random_numbers, set_seed
from raydb.planner.expressions.functions.text import TEXT
from raydb.planner.expressions.functions.time import TIME
from raydb.planner.expressions.nodes import (
    Attribute,
    Call,
    Column,
    Expression,
    Literal,
    Subquery,
    leaves,
)
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_BOOLEAN = pa.bool_()


def _widens(cast: Call) -> bool:
    """Tell whether the type of a cast has room for all values of the type of its argument."""
    source, target = cast.arguments[0].type, cast.type
    if pt.is_integer(source):
        wider = pt.is_integer(target) and target.bit_width >= source.bit_width
        return bool(wider or pt.is_floating(target) or pt.is_string(target))
    if pt.is_decimal(source) and pt.is_decimal(target):
        whole = source.precision - source.scale <= target.precision - target.scale
        return bool(whole and source.scale <= target.scale)
    return bool(pt.is_decimal(source) and pt.is_float64(target))


# Functions of their arguments' values, by the names that calls use.
FUNCTIONS: Mapping[str, Function] = {
    **COMPARISONS,
    **MATHEMATICS,
    **NUMBERS,
    **TEXT,
    **PATTERNS,
    **TIME,
    **LISTS,
    "not": arrow(pc.invert),
    "setseed": Function(set_seed),
    "try_cast": Function(lambda call, value: try_cast_values(value, call.type)),
    "cast": Function(lambda _, value: value, can_fail=True, is_safe=_widens),
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
        case Call(function=name, arguments=arguments):
            function = FUNCTIONS.get(name)
            return any(may_raise(argument) for argument in arguments) or (
                function is not None
                and function.can_fail
                and not (function.is_safe and function.is_safe(expression))
            )
        case _:
            return False


def is_volatile(expression: Expression) -> bool:
    """Tell whether an expression may have another value each time it is computed."""
    return isinstance(expression, Call) and (
        expression.function in VOLATILE or any(map(is_volatile, expression.arguments))
    )


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
        case Call(function=function, arguments=arguments):
            if _is_exact(expression):
                result = _exact(expression, rows)
                return widen(result, expression.type) if isinstance(result, Scaled) else result
            if function in _FORMS:
                return _answer(expression, lambda: _FORMS[function](expression, rows))
            if function not in FUNCTIONS:
                raise NotSupportedError(f"the function '{function}' is not supported")
            return _apply(expression, [_value(argument, rows) for argument in arguments])
        case Subquery():
            raise AssertionError("a subquery has become a join before it is evaluated")
        case _:
            assert_never(expression)


def _is_exact(expression: Expression) -> TypeGuard[Call]:
    """Tell whether an expression is arithmetic that 64-bit integers may do for decimals."""
    return (
        isinstance(expression, Call)
        and expression.function in ("add", "subtract", "multiply")
        and pt.is_decimal128(expression.type)
    )


def _exact(expression: Expression, rows: Rows) -> Scaled | Values:
    """Return an operand of exact arithmetic, or its result, in 64 bits if it fits.

    So `price * (1 - discount) * (1 + tax)` reads each column and writes its result once.
    """
    if not _is_exact(expression):
        values = _value(expression, rows)
        return narrow(values) or values
    operands = [_exact(argument, rows) for argument in expression.arguments]
    left, right = operands
    if isinstance(left, Scaled) and isinstance(right, Scaled):
        result = calculate(expression.function, left, right, expression.type)
        if result is not None:
            return result
    return _apply(
        expression, [_full(*pair) for pair in zip(operands, expression.arguments, strict=True)]
    )


def _full(operand: Scaled | Values, argument: Expression) -> Values:
    """Return an operand of exact arithmetic as Arrow's numbers."""
    if not isinstance(operand, Scaled):
        return operand
    return widen(operand, argument.type) if pt.is_decimal(argument.type) else operand.values


def _apply(call: Call, values: Sequence[Values]) -> Values:
    """Return a function's values for those of its arguments."""
    function = FUNCTIONS[call.function]
    if function.strict and any(pt.is_null(value.type) for value in values):
        return pa.scalar(None, call.type)
    return _answer(call, lambda: function.compute(call, *values))


def _answer(call: Call, compute: Callable[[], Values]) -> Values:
    """Return what `compute` returns in the type of a call, and its errors as those of the call."""
    try:
        values = compute()
    except pa.ArrowCapacityError as error:
        raise DataError(f"the result of {call.function}() is too long") from error
    except pa.ArrowInvalid as error:
        raise DataError(_sentence(call, str(error))) from error
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        types = ", ".join(sql_type_name(argument.type) for argument in call.arguments)
        raise NotSupportedError(f"{call.function}({types}) is not supported") from error
    return _fit(values, call)


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
    if count == rows.count:
        return as_array(evaluate(expression, rows.inputs, count), count)
    needed = {leaf for leaf in leaves(expression) if not isinstance(leaf, Literal)}
    chosen = {leaf: rows.inputs[leaf].filter(mask) for leaf in needed}
    values = evaluate(expression, chosen, count)
    positions = pc.subtract(pc.cumulative_sum(pc.cast(mask, pa.int64())), 1)
    return as_array(values, count).take(pc.if_else(mask, positions, pa.scalar(None, pa.int64())))


def _is_true(condition: pa.Array) -> pa.Array:
    """Return the condition with NULL as false."""
    return pc.fill_null(condition, False)


def _connective(name: str, call: Call, rows: Rows) -> Values:
    """Three-valued AND or OR; an argument that may raise sees the undecided rows only."""
    combine = pc.and_kleene if name == "and" else pc.or_kleene
    decided = pa.scalar(name == "or", _BOOLEAN)
    result = _value(call.arguments[0], rows)
    for argument in call.arguments[1:]:
        if may_raise(argument):
            result = as_array(result, rows.count)
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
            result = as_array(result, rows.count)
            value: Values = _value_where(argument, rows, pc.is_null(result))
        else:
            value = _value(argument, rows)
        result = pc.coalesce(result, cast_values(value, call.type))
    return result


def _is_null(call: Call, rows: Rows) -> Values:
    return pc.is_null(_value(call.arguments[0], rows))


def _random(_: Call, rows: Rows) -> Values:
    return random_numbers(rows.count)


# Functions of the rows: most evaluate their arguments themselves, on the rows that need them.
_FORMS: Mapping[str, Callable[[Call, Rows], Values]] = {
    "and": functools.partial(_connective, "and"),
    "or": functools.partial(_connective, "or"),
    "case": _case,
    "coalesce": _coalesce,
    "is_null": _is_null,
    "random": _random,
}
