"""The aggregates: their arguments and the types of their results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.nodes import AggregateCall, Expression, Literal
from raydb.sql.functions.signature import check_count, require_number, typed
from raydb.sql.types import can_cast, is_decimal, is_integer, is_moment, is_number
from raydb.sql.typing_rules import as_boolean, cast
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_HUGEINT = pa.decimal128(38, 0)

# Aggregates whose result depends on the order of the rows.
ORDERED_AGGREGATES = frozenset(
    {"any_value", "arg_max", "arg_min", "first", "last", "list", "string_agg"}
)
# Aggregates that give the same with and without DISTINCT.
_INDIFFERENT_TO_REPEATS = frozenset(
    {"any_value", "arg_max", "arg_min", "bit_and", "bit_or", "bool_and", "bool_or", "max", "min"}
)
# Aggregates of WITHIN GROUP (ORDER BY x), and what they are with x as an argument.
WITHIN_GROUP = {
    "mode": "mode",
    "percentile_cont": "quantile_cont",
    "percentile_disc": "quantile_disc",
}


@dataclass(frozen=True, slots=True)
class _Signature:
    """`bind(name, *arguments)` returns the call."""

    bind: Callable[..., AggregateCall]
    least: int
    most: int


def is_aggregate(name: str) -> bool:
    """Say whether a function is an aggregate."""
    return name in AGGREGATES or name in WITHIN_GROUP


def bind_aggregate(name: str, arguments: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Return a call of an aggregate with its result type.

    Sums of TINYINT to INTEGER are BIGINT, of BIGINT HUGEINT, of DECIMAL(p,s) DECIMAL(38,s), of
    DOUBLE and REAL DOUBLE.
    """
    if name not in AGGREGATES:
        raise ProgrammingError(f"{name}() needs WITHIN GROUP (ORDER BY ...)")
    signature = AGGREGATES[name]
    check_count(name, signature.least, signature.most, len(arguments))
    call = signature.bind(name, *arguments)
    if not distinct or call.function in _INDIFFERENT_TO_REPEATS:
        return call
    if call.filter is not None:
        raise NotSupportedError(f"{name}(DISTINCT ...) is not supported")
    if not call.arguments:  # count(DISTINCT 1)
        return AggregateCall("count", tuple(arguments), call.type, distinct=True)
    return AggregateCall(call.function, call.arguments, call.type, distinct=True)


def bind_within_group(
    name: str, arguments: Sequence[Expression], key: Expression, descending: bool
) -> AggregateCall:
    """Return a call such as percentile_cont(0.5) WITHIN GROUP (ORDER BY key)."""
    if name not in WITHIN_GROUP:
        raise ProgrammingError(f"{name}() does not take WITHIN GROUP")
    if name == "mode":
        check_count(name, 0, 0, len(arguments))
        if descending:
            raise NotSupportedError("mode() WITHIN GROUP (ORDER BY ... DESC) is not supported")
        return _any("mode", key)
    check_count(name, 1, 1, len(arguments))
    bind = _quantile_cont if name == "percentile_cont" else _quantile_disc
    call = bind(name, key, *arguments)
    if not descending:
        return call
    backward = Literal(True, pa.bool_())
    return AggregateCall(call.function, (*call.arguments, backward), call.type)


def _count(_: str, *arguments: Expression) -> AggregateCall:
    argument = typed(arguments[0], pa.int32())
    if isinstance(argument, Literal) and argument.value is not None:
        return AggregateCall("count_star", (), pa.int64())
    return AggregateCall("count", (argument,), pa.int64())


def _count_distinct(_: str, argument: Expression) -> AggregateCall:
    return AggregateCall("count", (typed(argument, pa.int32()),), pa.int64(), distinct=True)


def _count_if(name: str, argument: Expression) -> AggregateCall:
    return AggregateCall("count_star", (), pa.int64(), filter=as_boolean(argument, f"{name}()"))


def _sum(name: str, argument: Expression) -> AggregateCall:
    argument = _number(name, argument)
    return AggregateCall("sum", (argument,), _sum_type(argument.type))


def _sum_type(kind: pa.DataType) -> pa.DataType:
    if pt.is_int64(kind):
        return _HUGEINT
    if is_integer(kind):
        return pa.int64()
    return pa.decimal128(38, kind.scale) if is_decimal(kind) else pa.float64()


def _statistic(name: str, *arguments: Expression) -> AggregateCall:
    """Return an aggregate of numbers whose result is a DOUBLE."""
    function = {"stddev": "stddev_samp", "variance": "var_samp"}.get(name, name)
    numbers = tuple(_number(name, argument) for argument in arguments)
    return AggregateCall(function, numbers, pa.float64())


def _regr_count(name: str, *arguments: Expression) -> AggregateCall:
    numbers = tuple(_number(name, argument) for argument in arguments)
    return AggregateCall("regr_count", numbers, pa.int64())


def _entropy(_: str, argument: Expression) -> AggregateCall:
    return AggregateCall("entropy", (typed(argument, pa.int32()),), pa.float64())


def _extreme(name: str, argument: Expression) -> AggregateCall:
    argument = _ordered(name, argument)
    return AggregateCall(name, (argument,), argument.type)


def _any(name: str, argument: Expression) -> AggregateCall:
    """Return an aggregate that gives one of its values."""
    argument = _ordered(name, argument) if name == "mode" else typed(argument, pa.int32())
    return AggregateCall("any_value" if name == "arbitrary" else name, (argument,), argument.type)


def _arg_extreme(name: str, argument: Expression, key: Expression) -> AggregateCall:
    function = "arg_min" if name in ("arg_min", "argmin", "min_by") else "arg_max"
    argument = typed(argument, pa.int32())
    return AggregateCall(function, (argument, _ordered(name, key)), argument.type)


def _logical(name: str, argument: Expression) -> AggregateCall:
    argument = as_boolean(argument, f"{name}()")
    return AggregateCall("bool_and" if name == "every" else name, (argument,), pa.bool_())


def _bits(name: str, argument: Expression) -> AggregateCall:
    argument = typed(argument, pa.int32())
    if not is_integer(argument.type):
        raise ProgrammingError(f"{name}() needs an integer, not {describe(argument)}")
    return AggregateCall(name, (argument,), argument.type)


def _median(name: str, argument: Expression) -> AggregateCall:
    return _quantile_cont(name, argument, Literal(0.5, pa.float64()))


def _quantile_cont(name: str, argument: Expression, fraction: Expression) -> AggregateCall:
    argument = typed(argument, pa.float64())
    if is_moment(argument.type):
        argument, kind = cast(argument, pa.timestamp("us")), pa.timestamp("us")
    else:
        require_number(name, argument)
        kind = pa.float64()
    return AggregateCall("quantile_cont", (argument, _fraction(name, fraction)), kind)


def _quantile_disc(name: str, argument: Expression, fraction: Expression) -> AggregateCall:
    argument = _ordered(name, argument)
    return AggregateCall("quantile_disc", (argument, _fraction(name, fraction)), argument.type)


def _fraction(name: str, argument: Expression) -> Literal:
    """Return the fraction of a quantile, a constant from 0 to 1."""
    if isinstance(argument, Literal) and is_number(argument.type) and argument.value is not None:
        if 0 <= argument.value <= 1:
            return Literal(float(argument.value), pa.float64())
        raise ProgrammingError(f"{name}() needs a fraction from 0 to 1, not {argument.value}")
    if isinstance(argument, Literal):
        raise ProgrammingError(f"{name}() needs a fraction from 0 to 1, not {describe(argument)}")
    raise NotSupportedError(f"{name}() of a fraction that is not a constant is not supported")


def _string_agg(name: str, argument: Expression, *separators: Expression) -> AggregateCall:
    argument = typed(argument, pa.string())
    if argument.type != pa.string():
        if not can_cast(argument.type, pa.string()):
            raise ProgrammingError(f"{name}() needs a string, not {describe(argument)}")
        argument = cast(argument, pa.string())
    separator = separators[0] if separators else Literal(",", pa.string())
    separator = typed(separator, pa.string())
    if not isinstance(separator, Literal):
        raise NotSupportedError(
            f"{name}() with a separator that is not a constant is not supported"
        )
    if separator.type != pa.string():
        raise ProgrammingError(f"{name}() needs a string to separate, not {describe(separator)}")
    text = Literal(separator.value or "", pa.string())
    return AggregateCall("string_agg", (argument, text), pa.string())


def _list(_: str, argument: Expression) -> AggregateCall:
    argument = typed(argument, pa.int32())
    return AggregateCall("list", (argument,), pa.list_(argument.type))


def _number(name: str, argument: Expression) -> Expression:
    argument = typed(argument, pa.int32())
    require_number(name, argument)
    return argument


def _ordered(name: str, argument: Expression) -> Expression:
    """Return an argument whose values have an order."""
    argument = typed(argument, pa.int32())
    if pt.is_nested(argument.type):
        raise NotSupportedError(f"{name}() of {sql_type_name(argument.type)} is not supported")
    return argument


AGGREGATES: Mapping[str, _Signature] = {
    "approx_count_distinct": _Signature(_count_distinct, 1, 1),
    "array_agg": _Signature(_list, 1, 1),
    "avg": _Signature(_statistic, 1, 1),
    "bit_and": _Signature(_bits, 1, 1),
    "bit_or": _Signature(_bits, 1, 1),
    "bit_xor": _Signature(_bits, 1, 1),
    "bool_and": _Signature(_logical, 1, 1),
    "bool_or": _Signature(_logical, 1, 1),
    "count": _Signature(_count, 1, 1),
    "count_if": _Signature(_count_if, 1, 1),
    "countif": _Signature(_count_if, 1, 1),
    "entropy": _Signature(_entropy, 1, 1),
    "every": _Signature(_logical, 1, 1),
    "group_concat": _Signature(_string_agg, 1, 2),
    "list": _Signature(_list, 1, 1),
    "listagg": _Signature(_string_agg, 1, 2),
    "max": _Signature(_extreme, 1, 1),
    "median": _Signature(_median, 1, 1),
    "min": _Signature(_extreme, 1, 1),
    "mode": _Signature(_any, 1, 1),
    "quantile": _Signature(_quantile_disc, 2, 2),
    "quantile_cont": _Signature(_quantile_cont, 2, 2),
    "quantile_disc": _Signature(_quantile_disc, 2, 2),
    "regr_count": _Signature(_regr_count, 2, 2),
    "string_agg": _Signature(_string_agg, 1, 2),
    "sum": _Signature(_sum, 1, 1),
    **dict.fromkeys(("any_value", "arbitrary", "first", "last"), _Signature(_any, 1, 1)),
    **dict.fromkeys(
        ("arg_max", "arg_min", "argmax", "argmin", "max_by", "min_by"),
        _Signature(_arg_extreme, 2, 2),
    ),
    **dict.fromkeys(
        (
            *("kurtosis", "product", "skewness", "stddev", "stddev_pop", "stddev_samp"),
            *("var_pop", "var_samp", "variance"),
        ),
        _Signature(_statistic, 1, 1),
    ),
    **dict.fromkeys(
        (
            *("corr", "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_intercept"),
            *("regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy"),
        ),
        _Signature(_statistic, 2, 2),
    ),
}
