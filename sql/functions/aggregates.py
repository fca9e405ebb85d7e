"""The aggregates: their arguments and the types of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError
from raydb.planner.expression import AggregateCall, Expression, Literal
from raydb.sql.functions.signature import require_number, typed
from raydb.sql.types import is_decimal, is_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

AGGREGATES = ("avg", "count", "max", "min", "sum")
# Aggregates that other databases have, so that they are told from a misspelt name.
_OTHER_AGGREGATES = (
    "any_value arg_max arg_min array_agg bit_and bit_or bit_xor bool_and bool_or corr covar_pop"
    " covar_samp every first group_concat last list median mode percentile_cont percentile_disc"
    " quantile stddev stddev_pop stddev_samp string_agg var_pop var_samp variance"
)


def is_aggregate(name: str) -> bool:
    """Say whether a function is an aggregate; raises NotSupportedError for one we don't have."""
    if name in _OTHER_AGGREGATES.split():
        raise NotSupportedError(f"the aggregate {name}() is not supported")
    return name in AGGREGATES


def bind_aggregate(name: str, arguments: Sequence[Expression], distinct: bool) -> AggregateCall:
    """Return a call of sum, avg, min, max or count with its result type.

    Sums of integers are BIGINT, of DECIMAL(p,s) DECIMAL(38,s), of DOUBLE and REAL DOUBLE.
    """
    if len(arguments) != 1:
        raise ProgrammingError(f"{name}() takes one argument, not {len(arguments)}")
    argument = typed(arguments[0], pa.int32())
    kind = argument.type
    match name:
        case "count":
            if isinstance(argument, Literal) and argument.value is not None and not distinct:
                return AggregateCall("count_star", (), pa.int64())
            return AggregateCall("count", (argument,), pa.int64(), distinct)
        case "min" | "max":
            return AggregateCall(name, (argument,), kind)  # the same with and without DISTINCT
        case "avg":
            require_number(name, argument)
            return AggregateCall("avg", (argument,), pa.float64(), distinct)
        case _:
            require_number(name, argument)
            return AggregateCall("sum", (argument,), _sum_type(kind), distinct)


def _sum_type(kind: pa.DataType) -> pa.DataType:
    if is_integer(kind):
        return pa.int64()
    return pa.decimal128(38, kind.scale) if is_decimal(kind) else pa.float64()
