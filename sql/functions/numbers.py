"""Functions of numbers, and the operators of bits and powers."""

from __future__ import annotations

import math

import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.sql.bind.expression.operators import arithmetic
from raydb.sql.functions.signature import (
    Signature,
    as_double,
    require_integer,
    require_number,
    takes,
    typed,
)
from raydb.sql.types import MAX_PRECISION, is_decimal, is_integer, wider_integer
from raydb.sql.typing_rules import cast, unify

_DOUBLE, _BOOLEAN = pa.float64(), pa.bool_()


def power(base: Expression, exponent: Expression) -> Expression:
    """Return `base ^ exponent`, a DOUBLE."""
    return Call("power", (as_double("power", base), as_double("power", exponent)), _DOUBLE)


def bitwise(operator: str, *operands: Expression) -> Expression:
    """Return the bits of one or two integers combined by `&`, `|`, `#` (exclusive or) or `~`."""
    function = {"&": "bit_and", "|": "bit_or", "#": "bit_xor", "~": "bit_not"}[operator]
    integers = unify([_bits(operator, operand) for operand in operands], "combine")
    return Call(function, integers, integers[0].type)


def shift(operator: str, value: Expression, count: Expression) -> Expression:
    """Return an integer with its bits moved to the left, `<<`, or to the right, `>>`."""
    function = {"<<": "shift_left", ">>": "shift_right"}[operator]
    value, count = _bits(operator, value), _bits(operator, count)
    return Call(function, (value, cast(count, pa.int64())), value.type)


def _bits(operator: str, operand: Expression) -> Expression:
    operand = typed(operand, pa.int32())
    if not is_integer(operand.type):
        raise ProgrammingError(f"{operator} needs integers, not {describe(operand)}")
    return operand


def _number(name: str, operand: Expression) -> Expression:
    operand = typed(operand, pa.int32())
    require_number(name, operand)
    return operand


def _abs(name: str, operand: Expression) -> Expression:
    operand = _number(name, operand)
    return Call(name, (operand,), operand.type)


def _sign(name: str, operand: Expression) -> Expression:
    operand = _number(name, operand)
    kind = pa.decimal128(1, 0) if is_decimal(operand.type) else operand.type
    return Call(name, (operand,), kind)


def _round(name: str, operand: Expression, *digits: Expression) -> Expression:
    operand = _number(name, operand)
    places = typed(digits[0], pa.int32()) if digits else Literal(0, pa.int32())
    if not is_integer(places.type):
        raise ProgrammingError(f"{name}() needs a number of digits, not {describe(places)}")
    function = "round" if name == "round" else "trunc"
    if isinstance(places, Literal):
        kind = _rounded_type(operand.type, places.value or 0)
    else:  # as many digits as there may be, and one more in front: 9.99 rounds to 10.00
        kind = _rounded_type(operand.type, MAX_PRECISION, carry=1)
    return Call(function, (operand, places), kind)


def _rounded_type(kind: pa.DataType, digits: int, carry: int | None = None) -> pa.DataType:
    """Return the type of a rounded number: a decimal keeps only the digits that can be there."""
    if not is_decimal(kind):
        return kind
    scale = max(min(digits, kind.scale), 0)
    if carry is None:
        carry = 1 if scale < kind.scale else 0  # 9.99 rounds to 10.0
    return pa.decimal128(min(kind.precision - kind.scale + scale + carry, MAX_PRECISION), scale)


def _floor_or_ceil(name: str, operand: Expression) -> Expression:
    operand = _number(name, operand)
    if is_integer(operand.type):
        return operand
    return Call("floor" if name == "floor" else "ceil", (operand,), _rounded_type(operand.type, 0))


def _modulo(_: str, left: Expression, right: Expression) -> Expression:
    return arithmetic("modulo", left, right)


def _power(_: str, base: Expression, exponent: Expression) -> Expression:
    return power(base, exponent)


def _log(name: str, *arguments: Expression) -> Expression:
    """Return the logarithm of the last argument, to the base 10 or the first."""
    doubles = tuple(as_double(name, argument) for argument in arguments)
    return Call("log" if len(doubles) == 2 else "log10", doubles, _DOUBLE)


def _pi(_: str) -> Expression:
    return Literal(math.pi, _DOUBLE)


def _divisor_or_multiple(name: str, left: Expression, right: Expression) -> Expression:
    left, right = require_integer(name, left), require_integer(name, right)
    kind = wider_integer((left.type, right.type))
    return Call(name, (cast(left, kind), cast(right, kind)), kind)


def _width_bucket(
    name: str, value: Expression, low: Expression, high: Expression, count: Expression
) -> Expression:
    """Return PostgreSQL's width_bucket(): the number of the bucket, from 1, that a value is in."""
    numbers = unify([_number(name, each) for each in (value, low, high)], "compare")
    return Call(name, (*numbers, cast(require_integer(name, count), pa.int64())), pa.int64())


def _xor(_: str, left: Expression, right: Expression) -> Expression:
    return bitwise("#", left, right)


def _random(name: str) -> Expression:
    return Call(name, (), _DOUBLE)


_DOUBLE_FUNCTIONS = (
    "acos acosh asin asinh atan atanh cbrt cos cosh cot degrees exp ln log2 log10 radians sin sinh"
    " sqrt tan tanh"
)
_POWER = Signature(_power, 2, 2)
_CEIL = Signature(_floor_or_ceil, 1, 1)
_TRUNC = Signature(_round, 1, 2)

NUMBERS = {
    **{
        name: Signature(takes(name, _DOUBLE, as_double), 1, 1) for name in _DOUBLE_FUNCTIONS.split()
    },
    **{
        name: Signature(takes(name, _BOOLEAN, as_double), 1, 1)
        for name in ("isfinite", "isinf", "isnan")
    },
    "abs": Signature(_abs, 1, 1),
    "atan2": Signature(takes("atan2", _DOUBLE, as_double, as_double), 2, 2),
    "bit_count": Signature(takes("bit_count", pa.int32(), require_integer), 1, 1),
    "ceil": _CEIL,
    "ceiling": _CEIL,
    "factorial": Signature(takes("factorial", pa.decimal128(38, 0), require_integer), 1, 1),
    "floor": Signature(_floor_or_ceil, 1, 1),
    "gcd": Signature(_divisor_or_multiple, 2, 2),
    "lcm": Signature(_divisor_or_multiple, 2, 2),
    "log": Signature(_log, 1, 2),
    "mod": Signature(_modulo, 2, 2),
    "pi": Signature(_pi, 0, 0),
    "pow": _POWER,
    "power": _POWER,
    "random": Signature(_random, 0, 0),
    "round": Signature(_round, 1, 2),
    "setseed": Signature(takes("setseed", pa.int32(), as_double), 1, 1),
    "sign": Signature(_sign, 1, 1),
    "trunc": _TRUNC,
    "truncate": _TRUNC,
    "width_bucket": Signature(_width_bucket, 4, 4),
    "xor": Signature(_xor, 2, 2),
}
