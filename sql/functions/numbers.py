"""Functions of numbers."""

from __future__ import annotations

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expression import Call, Expression, Literal
from raydb.sql.functions.signature import Signature, require_number, typed
from raydb.sql.types import MAX_PRECISION, is_decimal, is_integer
from raydb.sql.typing_rules import arithmetic, describe


def _abs(name: str, operand: Expression) -> Expression:
    operand = typed(operand, pa.int32())
    require_number(name, operand)
    return Call(name, (operand,), operand.type)


def _round(name: str, operand: Expression, *digits: Expression) -> Expression:
    operand = typed(operand, pa.int32())
    require_number(name, operand)
    places = typed(digits[0], pa.int32()) if digits else Literal(0, pa.int32())
    if not isinstance(places, Literal):
        raise NotSupportedError("round() to a varying number of digits is not supported")
    if not is_integer(places.type):
        raise ProgrammingError(f"round() needs a number of digits, not {describe(places)}")
    return Call(name, (operand, places), _rounded_type(operand.type, places.value or 0))


def _rounded_type(kind: pa.DataType, digits: int) -> pa.DataType:
    """Return the type of a rounded number: a decimal keeps only the digits that can be there."""
    if not is_decimal(kind):
        return kind
    scale = max(min(digits, kind.scale), 0)
    carry = 1 if scale < kind.scale else 0  # 9.99 rounds to 10.0
    return pa.decimal128(min(kind.precision - kind.scale + scale + carry, MAX_PRECISION), scale)


def _floor_or_ceil(name: str, operand: Expression) -> Expression:
    operand = typed(operand, pa.int32())
    require_number(name, operand)
    if is_integer(operand.type):
        return operand
    return Call("floor" if name == "floor" else "ceil", (operand,), _rounded_type(operand.type, 0))


def _modulo(_: str, left: Expression, right: Expression) -> Expression:
    return arithmetic("modulo", left, right)


NUMBERS = {
    "abs": Signature(_abs, 1, 1),
    "ceil": Signature(_floor_or_ceil, 1, 1),
    "ceiling": Signature(_floor_or_ceil, 1, 1),
    "floor": Signature(_floor_or_ceil, 1, 1),
    "mod": Signature(_modulo, 2, 2),
    "round": Signature(_round, 1, 2),
}
