"""Functions of numbers, and the operators of numbers."""

from __future__ import annotations

import decimal
import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError, ProgrammingError
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values, try_cast_values
from raydb.planner.expressions.columns.adapters import (
    of_arrow,
    of_numpy,
    of_rows,
    row_by_row,
    with_constants,
)
from raydb.planner.expressions.columns.arrays import Values, each
from raydb.planner.expressions.columns.rounding import (
    Mode,
    relabel,
    round_decimals,
    without_false_halves,
)
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import arithmetic, bitwise, divide_whole
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import require_integer, require_number
from raydb.planner.expressions.types import (
    BIGINT,
    COMPARED_PRECISION,
    INTEGER,
    MAX_PRECISION,
    as_decimal_type,
    is_decimal,
    is_integer,
)
from raydb.planner.expressions.typing_rules import cast, typed, unify
from raydb.storage.bits import BIT
from raydb.storage.integers import holds, is_unsigned, wider_integer
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable

# Doubles from 2**52 on are whole; times 10**290 they are still in the range of doubles.
_ALL_WHOLE = 2.0**52
_DOUBLE_DIGITS = 290
_SMALLEST = 1e-300
_TOO_LARGE = 10**38
_FACTORIALS = pa.array(
    [decimal.Decimal(math.factorial(n)) for n in range(34)], pa.decimal128(38, 0)
)


# -- operators


def _arithmetic(call: Call, left: Values, right: Values) -> Values:
    """Checked add, subtract or multiply in the type of the result."""
    kind, compute = call.type, getattr(pc, f"{call.function}_checked")
    if left.type == kind and right.type == kind and not pt.is_decimal(kind):
        return compute(left, right)
    if not pt.is_decimal(kind):
        return compute(cast_values(left, kind), cast_values(right, kind))
    left, right = _as_decimal(left), _as_decimal(right)
    digits = left.type.precision + right.type.precision + 1
    if digits > 38:  # Arrow's own bound on what a result may need, not what it does need
        left, right = _in_256_bits(left), _in_256_bits(right)
    return compute(left, right)


def _may_overflow(call: Call) -> bool:
    """Tell whether some sum, difference or product does not fit the type of the call."""
    kinds = [argument.type for argument in call.arguments]
    if not all(pt.is_decimal(kind) for kind in (call.type, *kinds)):
        return not pt.is_floating(call.type)
    digits = max(kind.precision - kind.scale for kind in kinds) + 1
    scale = max(kind.scale for kind in kinds)
    if call.function == "multiply":
        digits = sum(kind.precision - kind.scale for kind in kinds)
        scale = sum(kind.scale for kind in kinds)
    return bool(scale > call.type.scale or digits > call.type.precision - call.type.scale)


for _name, _operation in (
    ("add", "addition"),
    ("subtract", "subtraction"),
    ("multiply", "multiplication"),
):
    scalar(name=_name, can_fail=_may_overflow, operation=_operation)(_arithmetic)


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


@scalar(name="divide", can_fail=True, operation="division")
def _divide(call: Call, left: Values, right: Values) -> Values:
    """Divide: integers towards zero, decimals rounding half away from zero."""
    if pt.is_decimal(call.type):
        return _in_python(call, decimal.Decimal.__truediv__, left, right)
    return pc.divide_checked(cast_values(left, call.type), cast_values(right, call.type))


@scalar(name="divide_whole", can_fail=True, operation="division")
def _divide_whole(call: Call, left: Values, right: Values) -> Values:
    """Divide HUGEINTs towards zero."""
    return _in_python(call, decimal.Decimal.__floordiv__, left, right)


@scalar(name="modulo", can_fail=True)
def _modulo(call: Call, left: Values, right: Values) -> Values:
    """Return the remainder of the division towards zero: it has the sign of the dividend."""
    if pt.is_decimal(call.type):
        return _in_python(call, decimal.Decimal.__mod__, left, right)
    left, right = cast_values(left, call.type), cast_values(right, call.type)
    if pt.is_floating(call.type):
        return _float_remainder(left, right)
    if not is_unsigned(call.type):
        # The quotient of the least integer and -1 has no room; the remainder is 0 as it is for 1.
        one = pa.scalar(1, call.type)
        right = pc.if_else(pc.equal(right, pa.scalar(-1, call.type)), one, right)
    return pc.subtract(left, pc.multiply(pc.divide_checked(left, right), right))


def _float_remainder(left: Values, right: Values) -> Values:
    if pc.any(pc.and_(pc.equal(right, 0), pc.is_valid(left))).as_py():
        raise DataError("division by zero")
    return of_numpy(np.fmod, pa.float64(), left, right)


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


@scalar(name="negate", can_fail=True, operation="negation")
def _negate(call: Call, value: Values) -> Values:
    if is_unsigned(call.type):
        return pc.subtract_checked(pa.scalar(0, call.type), cast_values(value, call.type))
    return pc.negate_checked(cast_values(value, call.type))


def _narrows(call: Call) -> bool:
    """Tell whether the type of a cast has no room for some value of the type of its argument."""
    source, target = call.arguments[0].type, call.type
    if pt.is_integer(source):
        wider = pt.is_integer(target) and holds(target, source)
        if not pt.is_decimal(target):
            return not (wider or pt.is_floating(target) or pt.is_string(target))
        source = as_decimal_type(source)
    if pt.is_floating(source) and pt.is_floating(target):
        return bool(target.bit_width < source.bit_width)
    if pt.is_decimal(source) and pt.is_decimal(target):
        whole = source.precision - source.scale <= target.precision - target.scale
        return not (whole and source.scale <= target.scale)
    return not (pt.is_decimal(source) and pt.is_float64(target))


scalar(name="cast", can_fail=_narrows)(lambda _, value: value)  # all calls end with a cast
scalar(name="try_cast")(lambda call, value: try_cast_values(value, call.type))

scalar(name="bit_and")(of_arrow("bit_wise_and"))
scalar(name="bit_or")(of_arrow("bit_wise_or"))
scalar(name="bit_xor")(of_arrow("bit_wise_xor"))
scalar(name="bit_not")(of_arrow("bit_wise_not"))


def _shift(name: str, call: Call, value: Values, count: Values) -> Values:
    """Shift bits; those that leave the number are lost."""
    width = call.type.bit_width
    if pc.any(pc.or_(pc.less(count, 0), pc.greater_equal(count, width))).as_py():
        raise DataError(f"{sql_type_name(call.type)} is shifted by 0 to {width - 1} bits")
    return getattr(pc, name)(value, cast_values(count, call.type))


for _name in ("shift_left", "shift_right"):
    scalar(name=_name, can_fail=True)(functools.partial(_shift, _name))


# -- rounding


scalar(
    "abs(x) -> x",
    "absolute value: abs(-2.5) -> 2.5",
    can_fail=True,
    operation="absolute value",
)(of_arrow("abs_checked"))


def _bind_sign(name: str, operand: Expression) -> Expression:
    operand = require_number(name, operand)
    kind = pa.decimal128(1, 0) if is_decimal(operand.type) else operand.type
    return Call(name, (operand,), kind)


scalar("sign(x)", "-1, 0 or 1, in the type of `x`: sign(-2.5) -> -1", bind=_bind_sign)(
    of_arrow("sign")
)


def _rounded_type(kind: pa.DataType, digits: int, carry: int | None = None) -> pa.DataType:
    """Return the type of a rounded number: a decimal keeps only the digits that can be there."""
    if not is_decimal(kind):
        return kind
    scale = max(min(digits, kind.scale), 0)
    if carry is None:
        carry = 1 if digits < kind.scale else 0  # 9.99 rounds to 10.0, and 99 to 100
    return pa.decimal128(min(kind.precision - kind.scale + scale + carry, MAX_PRECISION), scale)


_ROUNDED_BY = {"round": "round", "round_even": "round_even", "roundbankers": "round_even"}


def _bind_round(name: str, operand: Expression, *digits: Expression) -> Expression:
    operand = require_number(name, operand)
    places = typed(digits[0], INTEGER) if digits else Literal(0, INTEGER)
    if not is_integer(places.type):
        raise ProgrammingError(f"{name}() needs a number of digits, not {describe(places)}")
    function = _ROUNDED_BY.get(name, "trunc")
    if isinstance(places, Literal):
        kind = _rounded_type(operand.type, places.value or 0)
    else:  # as many digits as there may be, and one more in front: 9.99 rounds to 10.00
        kind = _rounded_type(operand.type, MAX_PRECISION, carry=1)
    return Call(function, (operand, places), kind)


def _round(mode: Mode, _: Call, value: Values, digits: int = 0) -> Values:
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
    kind = _rounded_type(value.type, digits, carry=1)
    return each(value, lambda array: pc.cast(_round_array(array, digits, mode), kind), kind)


def _round_array(array: pa.Array, digits: int, mode: Mode) -> pa.Array:
    if digits >= 0:
        return round_decimals(array, digits, mode)
    # Hundreds are rounded as if they were units: 1250 is 12.50, so 13, so 1300.
    scale = array.type.scale
    wide = pc.cast(array, pa.decimal256(COMPARED_PRECISION, scale))
    units = relabel(wide, pa.decimal256(COMPARED_PRECISION, scale - digits))
    rounded = pc.cast(round_decimals(units, 0, mode), pa.decimal256(COMPARED_PRECISION, -digits))
    return relabel(rounded, pa.decimal256(COMPARED_PRECISION, 0))


_ROUNDINGS: tuple[tuple[str, str, Mode], ...] = (
    (
        "round(x [, digits])",
        "rounded, halves away from zero: round(2.345, 2) -> 2.35",
        "half_towards_infinity",
    ),
    (
        "trunc(x [, digits]), truncate(x [, digits])",
        "cut off towards zero: trunc(-2.7) -> -2",
        "towards_zero",
    ),
    (
        "round_even(x [, digits]), roundbankers(x [, digits])",
        "rounded, halves to the even neighbour: round_even(2.5), round_even(3.5) -> 2 | 4",
        "half_to_even",
    ),
)
for _calls, _says, _mode in _ROUNDINGS:
    scalar(_calls, _says, bind=_bind_round, can_fail=True, operation="rounding")(
        with_constants(functools.partial(_round, _mode))
    )


def _round_doubles(value: Values, digits: int, mode: Mode) -> Values:
    kind, value = value.type, pc.cast(value, pa.float64())
    # Arrow multiplies by 10**digits, rounds and divides, so both ends of the range need care.
    if abs(digits) > _DOUBLE_DIGITS:
        rounded = value if digits > 0 else pa.scalar(0.0)
        return pc.cast(pc.if_else(pc.is_valid(value), rounded, pa.scalar(None, value.type)), kind)
    size = pc.abs(value)
    if digits > 0:
        as_it_is = pc.greater_equal(size, _ALL_WHOLE)
    else:
        as_it_is = pc.is_nan(value)
        value = pc.if_else(pc.less(size, _SMALLEST), 0.0, value)
    some = pc.if_else(as_it_is, 0.0, value)
    if mode == "half_towards_infinity":
        some = of_numpy(lambda array: without_false_halves(array, digits), some.type, some)
    return pc.cast(pc.if_else(as_it_is, value, pc.round(some, digits, mode)), kind)


def _bind_floor_or_ceil(function: str, name: str, operand: Expression) -> Expression:
    operand = require_number(name, operand)
    if is_integer(operand.type):
        return operand
    return Call(function, (operand,), _rounded_type(operand.type, 0))


def _floor_or_ceil(name: str, _: Call, value: Values) -> Values:
    if pt.is_integer(value.type):
        return value
    if not pt.is_decimal(value.type):
        return getattr(pc, name)(value)
    mode: Mode = "down" if name == "floor" else "up"
    kind = _rounded_type(value.type, 0, carry=1)
    return each(value, lambda array: pc.cast(round_decimals(array, 0, mode), kind), kind)


for _name, _calls, _says in (
    ("floor", "floor(x)", "the next whole number below: floor(-2.5) -> -3"),
    ("ceil", "ceil(x), ceiling(x)", "the next whole number above: ceil(2.1) -> 3"),
):
    scalar(
        _calls,
        _says,
        bind=functools.partial(_bind_floor_or_ceil, _name),
        can_fail=True,
        operation="rounding",
    )(functools.partial(_floor_or_ceil, _name))


# -- integers


composed("mod(x, y)", "the remainder, `x % y`: mod(-7, 3) -> -1")(
    lambda _, left, right: arithmetic("modulo", left, right)
)
for _name, _says in (
    ("add", "the sum, `a + b`: add(5, 3) -> 8"),
    ("subtract", "the difference, `a - b`: subtract(5, 3) -> 2"),
    ("multiply", "the product, `a * b`: multiply(5, 3) -> 15"),
):
    composed(f"{_name}(a, b)", _says)(arithmetic)
composed("divide(x, y)", "the whole quotient, `x // y`: divide(7, 2) -> 3")(
    lambda _, left, right: divide_whole(left, right)
)


def _bind_integers(function: str, name: str, left: Expression, right: Expression) -> Expression:
    left, right = require_integer(name, left), require_integer(name, right)
    kind = wider_integer((left.type, right.type))
    if not is_integer(kind):  # UBIGINT beside signed integers
        kind = BIGINT
    return Call(function, (cast(left, kind), cast(right, kind)), kind)


@scalar(
    "gcd(x, y), greatest_common_divisor(x, y)",
    "greatest common divisor: gcd(12, 18) -> 6",
    bind=functools.partial(_bind_integers, "gcd"),
    can_fail=True,
)
def _gcd(call: Call, left: Values, right: Values) -> Values:
    """Return the greatest common divisor, which is never negative."""
    left, right = pc.abs_checked(left), pc.abs_checked(right)
    return of_numpy(np.gcd, call.type, left, right)


@scalar(
    "lcm(x, y), least_common_multiple(x, y)",
    "least common multiple: lcm(4, 6) -> 12",
    bind=functools.partial(_bind_integers, "lcm"),
    can_fail=True,
)
def _lcm(call: Call, left: Values, right: Values) -> Values:
    """Return the least common multiple, 0 where a number is 0."""
    divisor = _gcd(call, left, right)
    one = pa.scalar(1, call.type)
    factor = pc.divide(pc.abs_checked(left), pc.if_else(pc.equal(divisor, 0), one, divisor))
    return pc.multiply_checked(factor, pc.abs_checked(right))


@scalar(
    "factorial(n) -> HUGEINT",
    "1 * 2 * ... * n, a HUGEINT: factorial(20) -> 2432902008176640000",
    can_fail=True,
)
def _factorial(_: Call, number: Values) -> Values:
    if pc.any(pc.less(number, 0)).as_py():
        raise DataError("the factorial of a negative number is not defined")
    if pc.any(pc.greater_equal(number, len(_FACTORIALS))).as_py():
        raise DataError("the result of factorial() has more than 38 digits")
    return each(number, _FACTORIALS.take, _FACTORIALS.type)


@scalar(
    "binom(n, chosen: n) -> HUGEINT",
    "in how many ways so many of n can be chosen, a HUGEINT: binom(5, 2) -> 10",
    can_fail=True,
)
@of_rows
def _binom(count: int, chosen: int) -> int:
    if count < 0 or chosen < 0:
        raise DataError(f"binom() needs numbers from 0 on, not {count} and {chosen}")
    # Beyond 38 digits at the latest: comb() of large numbers takes long.
    few = min(chosen, count - chosen)
    found = math.comb(count, chosen) if few < 128 else _TOO_LARGE
    if found >= _TOO_LARGE:
        raise DataError("the result of binom() has more than 38 digits")
    return found


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


def _bind_width_bucket(name: str, *arguments: Expression) -> Expression:
    *three, count = arguments
    numbers = unify([require_number(name, each) for each in three], "compare")
    return Call(name, (*numbers, cast(require_integer(name, count), BIGINT)), BIGINT)


@scalar(
    "width_bucket(x, low, high, n)",
    "which of `n` equal buckets `x` is in, from 1; 0 below, n + 1 above:"
    " width_bucket(5.35, 0.024, 10.06, 5) -> 3",
    bind=_bind_width_bucket,
    can_fail=True,
)
def _width_bucket(call: Call, *values: Values) -> Values:
    with decimal.localcontext(decimal.Context(prec=80)):
        return row_by_row(_bucket_number, call.type, *values)


composed("xor(n, m)", "exclusive or, `n # m`: xor(5, 3) -> 6")(
    lambda _, left, right: bitwise("#", left, right)
)


def _bind_bit_count(name: str, operand: Expression) -> Expression:
    if operand.type == BIT:
        return Call("bits_set", (operand,), BIGINT)
    return Call(name, (require_integer(name, operand),), INTEGER)


@scalar(
    "bit_count(n)",
    "how many bits are set, also of a BIT: bit_count(7) -> 3",
    bind=_bind_bit_count,
)
def _bit_count(call: Call, value: Values) -> Values:
    unsigned = np.dtype(f"u{value.type.bit_width // 8}")
    return of_numpy(lambda bits: np.bitwise_count(bits.view(unsigned)), call.type, value)
