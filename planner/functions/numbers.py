"""Functions of numbers."""

from __future__ import annotations

import decimal
import functools
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError, NotSupportedError
from raydb.planner.casts import Values, cast_values, decimal_type, each, relabel
from raydb.planner.functions.function import Function, row_by_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.planner.expression import Call


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
        return row_by_row(_float_remainder, call.type, left, right)
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
        return row_by_row(apply, pa.decimal256(76, call.type.scale), left, right)


def _negate(call: Call, value: Values) -> Values:
    return pc.negate_checked(cast_values(value, call.type))


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


NUMBERS: Mapping[str, Function] = {
    "add": Function(functools.partial(_arithmetic, "add"), True, "addition"),
    "subtract": Function(functools.partial(_arithmetic, "subtract"), True, "subtraction"),
    "multiply": Function(functools.partial(_arithmetic, "multiply"), True, "multiplication"),
    "divide": Function(_divide, True, "division"),
    "modulo": Function(_modulo, True),
    "negate": Function(_negate, True, "negation"),
    "abs": Function(lambda _, value: pc.abs_checked(value), True, "absolute value"),
    "round": Function(_round, True, "rounding"),
    "floor": Function(functools.partial(_floor_or_ceil, "floor"), True, "rounding"),
    "ceil": Function(functools.partial(_floor_or_ceil, "ceil"), True, "rounding"),
}
