"""Functions by name: scalar functions, parts of dates and aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.expression import AggregateCall, Call, Expression, Literal
from raydb.sql.types import MAX_PRECISION, is_decimal, is_integer, is_moment, is_number
from raydb.sql.typing_rules import arithmetic, choose, compare, describe, unify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_AGGREGATES = ("avg", "count", "max", "min", "sum")
# Aggregates that other databases have, so that they are told from a misspelt name.
_OTHER_AGGREGATES = (
    "any_value arg_max arg_min array_agg bit_and bit_or bit_xor bool_and bool_or corr covar_pop"
    " covar_samp every first group_concat last list median mode percentile_cont percentile_disc"
    " quantile stddev stddev_pop stddev_samp string_agg var_pop var_samp variance"
)
_DATE_PARTS = ("year", "month", "day")


def is_aggregate(name: str) -> bool:
    """Say whether a function is an aggregate; raises NotSupportedError for one we don't have."""
    if name in _OTHER_AGGREGATES.split():
        raise NotSupportedError(f"the aggregate {name}() is not supported")
    return name in _AGGREGATES


def bind_aggregate(name: str, arguments: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Return a call of sum, avg, min, max or count with its result type.

    Sums of integers are BIGINT, of DECIMAL(p,s) DECIMAL(38,s), of DOUBLE and REAL DOUBLE.
    """
    if len(arguments) != 1:
        raise ProgrammingError(f"{name}() takes one argument, not {len(arguments)}")
    argument = _typed(arguments[0], pa.int32())
    kind = argument.type
    match name:
        case "count":
            if isinstance(argument, Literal) and argument.value is not None and not distinct:
                return AggregateCall("count_star", None, pa.int64())
            return AggregateCall("count", argument, pa.int64(), distinct)
        case "min" | "max":
            return AggregateCall(name, argument, kind)  # the same with and without DISTINCT
        case "avg":
            _require_number(name, argument)
            return AggregateCall("avg", argument, pa.float64(), distinct)
        case _:
            _require_number(name, argument)
            return AggregateCall("sum", argument, _sum_type(kind), distinct)


def _sum_type(kind: pa.DataType) -> pa.DataType:
    if is_integer(kind):
        return pa.int64()
    return pa.decimal128(38, kind.scale) if is_decimal(kind) else pa.float64()


def _typed(argument: Expression, fallback: pa.DataType) -> Expression:
    """Give a bare NULL a type."""
    if isinstance(argument, Literal) and argument.value is None and pa.types.is_null(argument.type):
        return Literal(None, fallback)
    return argument


def _require_number(name: str, argument: Expression) -> None:
    if not is_number(argument.type):
        raise ProgrammingError(f"{name}() needs a number, not {describe(argument)}")


def bind_scalar(name: str, arguments: Sequence[Expression]) -> Expression:
    """Return a call of a scalar function by its SQL name (in lower case)."""
    if name not in _SCALARS:
        known = (*_SCALARS, *_AGGREGATES, "cast", "extract")
        raise ProgrammingError(f"function '{name}' does not exist{did_you_mean(name, known)}")
    binder, least, most = _SCALARS[name]
    if not least <= len(arguments) <= (most or len(arguments)):
        wanted = f"{least}" if least == most else f"{least} or {most}" if most else "at least one"
        raise ProgrammingError(
            f"{name}() takes {wanted} argument{'' if wanted in ('1', 'at least one') else 's'},"
            f" not {len(arguments)}"
        )
    return binder(name, *arguments)


def date_part(part: str, operand: Expression) -> Expression:
    """Return EXTRACT(part FROM operand), a BIGINT."""
    if part not in _DATE_PARTS:
        raise NotSupportedError(f"EXTRACT({part.upper()} FROM ...) is not supported")
    operand = _typed(operand, pa.date32())
    if not is_moment(operand.type):
        raise ProgrammingError(f"{part}() needs a date, not {describe(operand)}")
    return Call(part, (operand,), pa.int64())


def substring(text: Expression, *bounds: Expression) -> Expression:
    """Return a part of a string; `start`, the first of the bounds, counts from 1."""
    text = _require_text("substring", text)
    integers = tuple(_typed(bound, pa.int32()) for bound in bounds)
    for bound in integers:
        if not is_integer(bound.type):
            raise ProgrammingError(f"substring() needs integers, not {describe(bound)}")
    return Call("substring", (text, *integers), pa.string())


def trim(text: Expression) -> Expression:
    """Return a string without the spaces on both sides."""
    return _text_function("trim", text)


def _require_text(name: str, operand: Expression) -> Expression:
    operand = _typed(operand, pa.string())
    if operand.type != pa.string():
        raise ProgrammingError(f"{name}() needs a string, not {describe(operand)}")
    return operand


def _text_function(name: str, operand: Expression) -> Expression:
    return Call(name, (_require_text(name, operand),), pa.string())


def _length(_: str, operand: Expression) -> Expression:
    return Call("length", (_require_text("length", operand),), pa.int64())


def _substring(_: str, *arguments: Expression) -> Expression:
    return substring(*arguments)


def _abs(name: str, operand: Expression) -> Expression:
    operand = _typed(operand, pa.int32())
    _require_number(name, operand)
    return Call(name, (operand,), operand.type)


def _round(name: str, operand: Expression, *digits: Expression) -> Expression:
    operand = _typed(operand, pa.int32())
    _require_number(name, operand)
    places = _typed(digits[0], pa.int32()) if digits else Literal(0, pa.int32())
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
    operand = _typed(operand, pa.int32())
    _require_number(name, operand)
    if is_integer(operand.type):
        return operand
    return Call("floor" if name == "floor" else "ceil", (operand,), _rounded_type(operand.type, 0))


def _coalesce(_: str, *arguments: Expression) -> Expression:
    unified = unify(arguments, "combine")
    return unified[0] if len(unified) == 1 else Call("coalesce", unified, unified[0].type)


def _nullif(_: str, left: Expression, right: Expression) -> Expression:
    return choose((compare("equal", left, right),), (Literal(None, pa.null()), left))


def _modulo(_: str, left: Expression, right: Expression) -> Expression:
    return arithmetic("modulo", left, right)


# For each function its binder and the least and most arguments (None: any number).
_SCALARS: dict[str, tuple[Callable[..., Expression], int, int | None]] = {
    "abs": (_abs, 1, 1),
    "ceil": (_floor_or_ceil, 1, 1),
    "ceiling": (_floor_or_ceil, 1, 1),
    "coalesce": (_coalesce, 1, None),
    "day": (date_part, 1, 1),
    "floor": (_floor_or_ceil, 1, 1),
    "length": (_length, 1, 1),
    "lower": (_text_function, 1, 1),
    "mod": (_modulo, 2, 2),
    "month": (date_part, 1, 1),
    "nullif": (_nullif, 2, 2),
    "round": (_round, 1, 2),
    "substr": (_substring, 2, 3),
    "substring": (_substring, 2, 3),
    "trim": (_text_function, 1, 1),
    "upper": (_text_function, 1, 1),
    "year": (date_part, 1, 1),
}
