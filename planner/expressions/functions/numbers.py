"""Functions of numbers."""

from __future__ import annotations

import decimal
import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.errors import DataError
from raydb.planner.expressions.casts.casts import Values, cast_values, decimal_type, each, relabel
from raydb.planner.expressions.function import (
    Function,
    arrow,
    of_doubles,
    of_numpy,
    row_by_row,
    with_constants,
)
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.planner.expressions.nodes import Call


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


def _has_room(call: Call) -> bool:
    """Tell whether every sum, difference or product fits the type of the call."""
    kinds = [argument.type for argument in call.arguments]
    if not all(pt.is_decimal(kind) for kind in (call.type, *kinds)):
        return bool(pt.is_floating(call.type))
    digits = max(kind.precision - kind.scale for kind in kinds) + 1
    scale = max(kind.scale for kind in kinds)
    if call.function == "multiply":
        digits = sum(kind.precision - kind.scale for kind in kinds)
        scale = sum(kind.scale for kind in kinds)
    return bool(scale <= call.type.scale and digits <= call.type.precision - call.type.scale)


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
        return _float_remainder(left, right)
    # The quotient of the least integer and -1 has no room; the remainder is 0 as it is for 1.
    one = pa.scalar(1, call.type)
    right = pc.if_else(pc.equal(right, pa.scalar(-1, call.type)), one, right)
    return pc.subtract(left, pc.multiply(pc.divide_checked(left, right), right))


def _float_remainder(left: Values, right: Values) -> Values:
    if pc.any(pc.and_(pc.equal(right, 0), pc.is_valid(left))).as_py():
        raise DataError("division by zero")
    return of_doubles(np.fmod, left, right)


def _in_python(
    call: Call, function: Callable[[Any, Any], Any], left: Values, right: Values
) -> Values:
    """Apply a function of two decimals value by value, rounding to the scale of `call.type`."""
    quantum = decimal.Decimal(1).scaleb(-call.type.scale)

    def apply(one: Any, other: Any) -> decimal.Decimal:
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


def _round(mode: str, _: Call, value: Values, digits: int = 0) -> Values:
    """Round to a number of digits behind the point."""
    if pt.is_floating(value.type):
        return _round_doubles(value, digits, mode)
    value = _as_decimal(value)
    precision, scale = value.type.precision, value.type.scale
    if digits >= scale:
        return value
    if -digits > precision - scale:  # 5.5 rounded to hundreds: less than half of one
        zero = pa.scalar(decimal.Decimal(0), value.type)
        return pc.if_else(pc.is_valid(value), zero, pa.scalar(None, value.type))
    room = decimal_type(precision + 1, scale)  # 9.99 rounds to 10.0
    return pc.round(cast_values(value, room), digits, mode)


def _round_doubles(value: Values, digits: int, mode: str) -> Values:
    # Arrow multiplies by 10**digits, rounds and divides, so both ends of the range need care.
    if abs(digits) > _DOUBLE_DIGITS:
        rounded = value if digits > 0 else pa.scalar(0.0)
        return pc.if_else(pc.is_valid(value), rounded, pa.scalar(None, value.type))
    size = pc.abs(value)
    if digits > 0:
        as_it_is = pc.greater_equal(size, _ALL_WHOLE)
    else:
        as_it_is = pc.is_nan(value)
        value = pc.if_else(pc.less(size, _SMALLEST), 0.0, value)
    return pc.if_else(as_it_is, value, pc.round(pc.if_else(as_it_is, 0.0, value), digits, mode))


def _floor_or_ceil(name: str, _: Call, value: Values) -> Values:
    if pt.is_integer(value.type):
        return value
    if pt.is_decimal(value.type):
        value = cast_values(value, decimal_type(value.type.precision + 1, value.type.scale))
    return getattr(pc, name)(value)


def _sign(_: Call, value: Values) -> Values:
    return pc.sign(value)


def _greatest(_: Call, *values: Values) -> Values:
    """Return the greatest value of each row, NULLs aside; NaN is greater than all other doubles."""
    greatest = pc.max_element_wise(*values, skip_nulls=True)
    if pt.is_floating(greatest.type):
        for value in values:
            is_nan = pc.fill_null(pc.is_nan(value), False)
            greatest = pc.if_else(is_nan, pa.scalar(math.nan, greatest.type), greatest)
    return greatest


def _least(_: Call, *values: Values) -> Values:
    return pc.min_element_wise(*values, skip_nulls=True)


def _gcd(call: Call, left: Values, right: Values) -> Values:
    """Return the greatest common divisor, which is never negative."""
    left, right = pc.abs_checked(left), pc.abs_checked(right)
    return of_numpy(np.gcd, call.type, left, right)


def _lcm(call: Call, left: Values, right: Values) -> Values:
    """Return the least common multiple, 0 where a number is 0."""
    divisor = _gcd(call, left, right)
    one = pa.scalar(1, call.type)
    factor = pc.divide(pc.abs_checked(left), pc.if_else(pc.equal(divisor, 0), one, divisor))
    return pc.multiply_checked(factor, pc.abs_checked(right))


def _factorial(_: Call, number: Values) -> Values:
    if pc.any(pc.less(number, 0)).as_py():
        raise DataError("the factorial of a negative number is not defined")
    if pc.any(pc.greater_equal(number, len(_FACTORIALS))).as_py():
        raise DataError("the result of factorial() has more than 38 digits")
    return each(number, _FACTORIALS.take, _FACTORIALS.type)


def _width_bucket(call: Call, *values: Values) -> Values:
    with decimal.localcontext(decimal.Context(prec=80)):
        return row_by_row(_bucket_number, call.type, *values)


def _bucket_number(value: Any, low: Any, high: Any, count: int) -> int:
    """Return which of `count` buckets between two bounds a value is in: 0 and count + 1 outside."""
    if count <= 0:
        raise DataError(f"width_bucket() needs a bucket at least, not {count}")
    if not all(map(math.isfinite, (low, high))) or math.isnan(value) or low == high:
        raise DataError(f"width_bucket() cannot place {value} between {low} and {high}")
    if low > high:
        value, low, high = -value, -low, -high
    if value < low:
        return 0
    if value >= high:
        return count + 1
    return min(int((value - low) * count // (high - low)), count - 1) + 1


def _shift(name: str, call: Call, value: Values, count: Values) -> Values:
    """Shift bits; those that leave the number are lost."""
    width = call.type.bit_width
    if pc.any(pc.or_(pc.less(count, 0), pc.greater_equal(count, width))).as_py():
        raise DataError(f"{sql_type_name(call.type)} is shifted by 0 to {width - 1} bits")
    return getattr(pc, name)(value, cast_values(count, call.type))


def _bit_count(call: Call, value: Values) -> Values:
    unsigned = np.dtype(f"u{value.type.bit_width // 8}")
    return of_numpy(lambda bits: np.bitwise_count(bits.view(unsigned)), call.type, value)


# Doubles from 2**52 on are whole; times 10**290 they are still in the range of doubles.
_ALL_WHOLE = 2.0**52
_DOUBLE_DIGITS = 290
_SMALLEST = 1e-300
_FACTORIALS = pa.array(
    [decimal.Decimal(math.factorial(n)) for n in range(34)], pa.decimal128(38, 0)
)

NUMBERS: Mapping[str, Function] = {
    **{
        name: Function(functools.partial(_arithmetic, name), True, operation, is_safe=_has_room)
        for name, operation in (
            ("add", "addition"),
            ("subtract", "subtraction"),
            ("multiply", "multiplication"),
        )
    },
    "divide": Function(_divide, True, "division"),
    "modulo": Function(_modulo, True),
    "negate": Function(_negate, True, "negation"),
    "abs": Function(lambda _, value: pc.abs_checked(value), True, "absolute value"),
    "round": Function(
        with_constants(functools.partial(_round, "half_towards_infinity")), True, "rounding"
    ),
    "trunc": Function(with_constants(functools.partial(_round, "towards_zero")), True, "rounding"),
    "floor": Function(functools.partial(_floor_or_ceil, "floor"), True, "rounding"),
    "ceil": Function(functools.partial(_floor_or_ceil, "ceil"), True, "rounding"),
    "sign": Function(_sign),
    "greatest": Function(_greatest, strict=False),
    "least": Function(_least, strict=False),
    "gcd": Function(_gcd, can_fail=True),
    "lcm": Function(_lcm, can_fail=True),
    "factorial": Function(_factorial, can_fail=True),
    "width_bucket": Function(_width_bucket, can_fail=True),
    "bit_and": arrow(pc.bit_wise_and),
    "bit_or": arrow(pc.bit_wise_or),
    "bit_xor": arrow(pc.bit_wise_xor),
    "bit_not": arrow(pc.bit_wise_not),
    "shift_left": Function(functools.partial(_shift, "shift_left"), can_fail=True),
    "shift_right": Function(functools.partial(_shift, "shift_right"), can_fail=True),
    "bit_count": Function(_bit_count),
}
