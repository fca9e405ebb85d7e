"""The scalar functions of SQL, and the vectorised evaluator that runs them over Arrow arrays.

Rules that hold throughout:

- NULL in, NULL out, but for `is_null`, `coalesce`, `case` and the three-valued `and` and `or`.
- Nothing wraps: a result that its type cannot hold is a DataError, as is a division by zero.
- A branch of `case`, a later argument of `coalesce`, or of `and` and `or`, cannot fail for a row
  that does not need it: `CASE WHEN b <> 0 THEN a / b END` divides only where b is not 0.
- Doubles are in total order, as in PostgreSQL: NaN equals NaN and is greater than all other
  numbers, and -0.0 equals 0.0.
"""

from __future__ import annotations

import decimal
import functools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.planner.casts import Values, cast_values, decimal_type, each, relabel
from raydb.planner.expression import Attribute, Call, Column, Expression, Literal, leaves
from raydb.storage.type_names import sql_type_name

_BOOLEAN = pa.bool_()
_NULL_BOOLEAN = pa.scalar(None, _BOOLEAN)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The rows that an expression is evaluated on: `inputs` has `count` values for each leaf."""

    inputs: Mapping[Any, pa.Array | pa.ChunkedArray]
    count: int


Implementation: TypeAlias = Callable[[Call, Rows], Values]


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
            return function in _FALLIBLE or any(may_raise(argument) for argument in arguments)
        case _:
            return False


def canonical_floats(values: Values) -> Values:
    """Return doubles with one zero (-0.0 becomes 0.0) and one NaN; other types unchanged.

    Arrow hashes doubles by their bits, so group and join keys have to pass through here.
    """
    if not pt.is_floating(values.type):
        return values
    values = pc.add(values, pa.scalar(0.0, values.type))
    if not pc.any(pc.is_nan(values)).as_py():
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)


def order_codes(values: Values) -> Values:
    """Return int64 codes in the total order of the doubles, NaN last; other types unchanged.

    The bits of positive doubles are in order as integers; those of negative ones run backwards.
    """
    if not pt.is_floating(values.type):
        return values

    def encode(array: pa.Array) -> pa.Array:
        bits = array.fill_null(0.0).to_numpy().view(np.int64)
        codes = pa.array(bits ^ ((bits >> 63) & np.int64(2**63 - 1)))
        return pc.if_else(array.is_valid(), codes, pa.scalar(None, pa.int64()))

    doubles = canonical_floats(pc.cast(values, pa.float64()))
    return each(doubles, encode, pa.int64())


def doubles_of_codes(codes: pa.Array) -> pa.Array:
    """Return the doubles of `order_codes`."""
    bits = codes.fill_null(0).to_numpy()
    doubles = pa.array((bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.float64))
    return pc.if_else(codes.is_valid(), doubles, pa.scalar(None, pa.float64()))


def _value(expression: Expression, rows: Rows) -> Values:
    """Return the expression's values: a scalar where it is constant, else `rows.count` of them."""
    match expression:
        case Literal(value=value, type=data_type):
            return pa.scalar(value, data_type)
        case Column() | Attribute():
            return rows.inputs[expression]
        case Call(function=function):
            implementation = FUNCTIONS.get(function)
            if implementation is None:
                raise NotSupportedError(f"the function '{function}' is not supported")
            try:
                values = implementation(expression, rows)
            except pa.ArrowInvalid as error:
                raise DataError(_sentence(expression, str(error))) from error
            except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                types = ", ".join(sql_type_name(argument.type) for argument in expression.arguments)
                raise NotSupportedError(f"{function}({types}) is not supported") from error
            return _fit(values, expression)
        case _:
            assert_never(expression)


def _fit(values: Values, call: Call) -> Values:
    """Return a function's values in its type; the error of an operator names the operator."""
    if call.function not in _OPERATIONS:
        return cast_values(values, call.type)
    try:
        return cast_values(values, call.type)
    except DataError:
        raise DataError(_sentence(call, "overflow")) from None


def _sentence(call: Call, reason: str) -> str:
    """Return what to tell the user of a function that failed."""
    if "divide by zero" in reason.lower():
        return "division by zero"
    name = _OPERATIONS.get(call.function, call.function)
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


# -- functions of their arguments' values


def _strict(function: Callable[..., Values]) -> Implementation:
    """Make a function of (call, *values) an implementation that is NULL for the type NULL."""

    def implementation(call: Call, rows: Rows) -> Values:
        values = [_value(argument, rows) for argument in call.arguments]
        if any(pt.is_null(value.type) for value in values):
            return pa.scalar(None, call.type)
        return function(call, *values)

    return implementation


def _arrow(function: Callable[..., Values]) -> Implementation:
    """Make a function of pyarrow.compute an implementation."""
    return _strict(lambda _, *values: function(*values))


def _arithmetic(name: str, call: Call, left: Values, right: Values) -> Values:
    """Checked add, subtract or multiply in the type of the result."""
    compute = getattr(pc, f"{name}_checked")
    if not pt.is_decimal(call.type):
        return compute(cast_values(left, call.type), cast_values(right, call.type))
    left, right = _as_decimal(left), _as_decimal(right)
    digits = left.type.precision + right.type.precision + 1
    if digits > 38:  # Arrow's own bound on what a result may need, not what it does need
        left, right = _in_256_bits(left), _in_256_bits(right)
    return compute(left, right)


def _as_decimal(values: Values) -> Values:
    # 20 digits hold any 64-bit integer.
    return values if pt.is_decimal(values.type) else cast_values(values, pa.decimal128(20, 0))


def _in_256_bits(values: Values) -> Values:
    """Return decimals of at most 38 digits in 256 bits, labelled so that Arrow multiplies two.

    Arrow asks for 38 + 38 + 1 digits and has 76; the product of two numbers of 38 digits has 76.
    """
    wide = cast_values(values, pa.decimal256(76, values.type.scale))
    label = pa.decimal256(37, values.type.scale)
    return each(wide, lambda array: relabel(array, label), label)


def _divide(call: Call, left: Values, right: Values) -> Values:
    """Divide: integers towards zero, decimals rounding half away from zero."""
    if pt.is_decimal(call.type):
        return _in_python(call, decimal.Decimal.__truediv__, left, right)
    return pc.divide_checked(cast_values(left, call.type), cast_values(right, call.type))


def _modulo(call: Call, left: Values, right: Values) -> Values:
    """Return the remainder of the division towards zero: it has the sign of the dividend."""
    if pt.is_decimal(call.type):
        return _in_python(call, decimal.Decimal.__mod__, left, right)
    left, right = cast_values(left, call.type), cast_values(right, call.type)
    if pt.is_floating(call.type):
        return _row_by_row(_float_remainder, call.type, left, right)
    # The quotient of the least integer and -1 has no room; the remainder is 0 as it is for 1.
    one = pa.scalar(1, call.type)
    right = pc.if_else(pc.equal(right, pa.scalar(-1, call.type)), one, right)
    return pc.subtract(left, pc.multiply(pc.divide_checked(left, right), right))


def _float_remainder(dividend: float | None, divisor: float | None) -> float | None:
    if dividend is None or divisor is None:
        return None
    if divisor == 0:
        raise DataError("division by zero")
    return math.fmod(dividend, divisor) if math.isfinite(dividend) else math.nan


def _in_python(
    call: Call, function: Callable[[Any, Any], Any], left: Values, right: Values
) -> Values:
    """Apply a function of two decimals value by value, rounding to the scale of `call.type`."""
    quantum = decimal.Decimal(1).scaleb(-call.type.scale)

    def apply(one: Any, other: Any) -> decimal.Decimal | None:
        if one is None or other is None:
            return None
        if other == 0:
            raise DataError("division by zero")
        return decimal.Decimal(function(one, other)).quantize(quantum)

    left, right = _as_decimal(left), _as_decimal(right)
    # 80 digits: an integer part of 38 and a fraction of 38, and room to round once.
    context = decimal.Context(prec=80, rounding=decimal.ROUND_HALF_UP)
    with decimal.localcontext(context):
        return _row_by_row(apply, pa.decimal256(76, call.type.scale), left, right)


def _row_by_row(function: Callable[..., Any], target: pa.DataType, *values: Values) -> Values:
    """Apply a Python function to each row's values; a scalar where all of them are scalars."""
    count = next((len(value) for value in values if not isinstance(value, pa.Scalar)), None)
    columns = [
        [value.as_py()] * (count or 1) if isinstance(value, pa.Scalar) else value.to_pylist()
        for value in values
    ]
    result = pa.array([function(*row) for row in zip(*columns, strict=True)], target)
    return result[0] if count is None else result


def _negate(call: Call, value: Values) -> Values:
    return pc.negate_checked(cast_values(value, call.type))


def _compare(name: str, _: Call, left: Values, right: Values) -> Values:
    """Compare; doubles in total order."""
    compute = getattr(pc, name)
    if pt.is_floating(left.type) or pt.is_floating(right.type):
        left, right = cast_values(left, pa.float64()), cast_values(right, pa.float64())
        if any(pc.any(pc.is_nan(value)).as_py() for value in (left, right)):
            left, right = order_codes(left), order_codes(right)
    return compute(left, right)


def _in(call: Call, rows: Rows) -> Values:
    """Return whether the operand is in the list: NULL for a NULL operand."""
    operand = _value(call.arguments[0], rows)
    if pt.is_null(operand.type):
        return _NULL_BOOLEAN
    members = [_value(argument, rows) for argument in call.arguments[1:]]
    assert all(isinstance(member, pa.Scalar) for member in members), "the list is constant"
    items = [cast_values(member, operand.type).as_py() for member in members]
    value_set = canonical_floats(pa.array(items, operand.type))
    found = pc.is_in(canonical_floats(operand), value_set=value_set)
    return pc.if_else(pc.is_valid(operand), found, _NULL_BOOLEAN)


def _like(_: Call, text: Values, pattern: Values, *, ignore_case: bool = False) -> Values:
    r"""Match % and _; as in PostgreSQL, \ takes away the meaning of the character after it."""
    if not isinstance(pattern, pa.Scalar):
        raise NotSupportedError("LIKE needs a constant pattern")
    if not pattern.is_valid:
        return _NULL_BOOLEAN
    like = pattern.as_py()
    if (len(like) - len(like.rstrip("\\"))) % 2:
        raise DataError(f"the LIKE pattern '{like}' must not end with its escape character")
    if "\\\\" in like:
        # Arrow's match_like (26.0) misreads an escaped backslash at the end of a pattern.
        return pc.match_substring_regex(text, _like_regex(like), ignore_case=ignore_case)
    return pc.match_like(text, like, ignore_case=ignore_case)


def _like_regex(like: str) -> str:
    """Return the RE2 expression that matches the whole of what a LIKE pattern matches."""
    parts = []
    characters = iter(like)
    for character in characters:
        match character:
            case "%":
                parts.append(".*")
            case "_":
                parts.append(".")
            case "\\":
                parts.append(re.escape(next(characters)))
            case _:
                parts.append(re.escape(character))
    return "(?s)^" + "".join(parts) + "$"


def _concat(_: Call, *values: Values) -> Values:
    texts = [cast_values(value, pa.string()) for value in values]
    return pc.binary_join_element_wise(*texts, "", null_handling="emit_null")


def _substring(call: Call, text: Values, start: Values, length: Values | None = None) -> Values:
    """Return the characters at the positions start, ..., start + length - 1 that exist.

    Position 1 is the first character; as in the SQL standard the positions before it count:
    substring('hello', -1, 3) is 'h'.
    """
    positions = (start,) if length is None else (start, length)
    if not all(isinstance(position, pa.Scalar) for position in positions):
        return _row_by_row(_slice, call.type, text, *positions)
    first, stop = _span(*(position.as_py() for position in positions))
    if first is None:
        return pa.scalar(None, call.type)
    return pc.utf8_slice_codeunits(text, first, stop)


def _span(start: int | None, *length: int | None) -> tuple[int | None, int | None]:
    """Return the slice [first, stop) of SQL's start and length; (None, None) if one is NULL."""
    if start is None or None in length:
        return None, None
    if not length:
        return max(start, 1) - 1, None
    (count,) = length
    assert count is not None
    if count < 0:
        raise DataError(f"the length of a substring cannot be negative, as {count} is")
    first = max(start, 1) - 1
    return first, max(start + count - 1, first)


def _slice(text: str | None, *at: int | None) -> str | None:
    first, stop = _span(*at)
    return None if text is None or first is None else text[first:stop]


def _round(call: Call, value: Values, digits: Values | None = None) -> Values:
    """Round to a number of digits behind the point, half away from zero."""
    if digits is not None and not isinstance(digits, pa.Scalar):
        raise NotSupportedError("round() needs a constant number of digits")
    places = 0 if digits is None else digits.as_py()
    if places is None:
        return pa.scalar(None, call.type)
    if pt.is_floating(value.type):
        return pc.round(value, places, "half_towards_infinity")
    return _round_decimal(value, places)


def _round_decimal(value: Values, places: int) -> Values:
    value = _as_decimal(value)
    precision, scale = value.type.precision, value.type.scale
    if places >= scale:
        return value
    if -places > precision - scale:  # 5.5 rounded to hundreds: less than half of one
        zero = pa.scalar(decimal.Decimal(0), value.type)
        return pc.if_else(pc.is_valid(value), zero, value)
    room = decimal_type(precision + 1, scale)  # 9.99 rounds to 10.0
    return pc.round(cast_values(value, room), places, "half_towards_infinity")


def _floor_or_ceil(name: str, _: Call, value: Values) -> Values:
    if pt.is_integer(value.type):
        return value
    if pt.is_decimal(value.type):
        value = cast_values(value, decimal_type(value.type.precision + 1, value.type.scale))
    return getattr(pc, name)(value)


# Functions that can fail for some values of their arguments.
_FALLIBLE = frozenset(
    {
        "add",
        "subtract",
        "multiply",
        "divide",
        "modulo",
        "negate",
        "cast",
        "abs",
        "round",
        "floor",
        "ceil",
        "substring",
    }
)

_OPERATIONS = {
    "add": "addition",
    "subtract": "subtraction",
    "multiply": "multiplication",
    "divide": "division",
    "negate": "negation",
    "abs": "absolute value",
    "round": "rounding",
    "floor": "rounding",
    "ceil": "rounding",
}

FUNCTIONS: Mapping[str, Implementation] = {
    **{
        name: _strict(functools.partial(_arithmetic, name))
        for name in ("add", "subtract", "multiply")
    },
    "divide": _strict(_divide),
    "modulo": _strict(_modulo),
    "negate": _strict(_negate),
    **{
        name: _strict(functools.partial(_compare, name))
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    "and": functools.partial(_connective, "and"),
    "or": functools.partial(_connective, "or"),
    "not": _arrow(pc.invert),
    "is_null": lambda call, rows: pc.is_null(_value(call.arguments[0], rows)),
    "in": _in,
    "like": _strict(_like),
    "ilike": _strict(functools.partial(_like, ignore_case=True)),
    "cast": lambda call, rows: _value(call.arguments[0], rows),
    "case": _case,
    "coalesce": _coalesce,
    "concat": _strict(_concat),
    "lower": _arrow(pc.utf8_lower),
    "upper": _arrow(pc.utf8_upper),
    "trim": _arrow(lambda text: pc.utf8_trim(text, " ")),
    "length": _arrow(pc.utf8_length),
    "substring": _strict(_substring),
    "abs": _arrow(pc.abs_checked),
    "round": _strict(_round),
    "floor": _strict(functools.partial(_floor_or_ceil, "floor")),
    "ceil": _strict(functools.partial(_floor_or_ceil, "ceil")),
    "year": _arrow(pc.year),
    "month": _arrow(pc.month),
    "day": _arrow(pc.day),
}
