"""Timestamps that are finer, or coarser, than a TIMESTAMP: TIMESTAMP_NS, TIMESTAMP_MS.

Other functions take them as TIMESTAMP, see `typing_rules.in_microseconds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.errors import ProgrammingError
from raydb.planner.expressions.columns.moments import check_range, compute, compute_finite
from raydb.planner.expressions.columns.units import whole_microseconds, with_nanoseconds
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.literals import is_bare_string, read_string
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import as_bigint
from raydb.planner.expressions.types import BIGINT, TIMESTAMP, TIMESTAMP_NS, is_moment
from raydb.planner.expressions.typing_rules import cast
from raydb.storage.moments import INFINITE_MOMENT

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.columns.moments import Integers

_MINUTE = 60_000_000_000


@scalar(name="whole_microseconds")
def _whole_microseconds(_: Call, values: Values) -> Values:
    return whole_microseconds(values)


@scalar(name="with_nanoseconds", can_fail=True, operation="addition")
def _with_nanoseconds(call: Call, moments: Values, fine: Values) -> Values:
    return compute(with_nanoseconds, call.type, moments, fine)


@scalar(name="nanoseconds_since")
def _nanoseconds_since(_: Call, values: Values) -> Values:
    """Return the nanoseconds since 1970 of TIMESTAMP_NS."""
    return compute_finite(lambda nanoseconds: nanoseconds, BIGINT, values)


def _bind_nanosecond(name: str, operand: Expression) -> Expression:
    if isinstance(operand, Literal) and is_bare_string(operand):
        operand = read_string(operand, TIMESTAMP_NS)
    if not is_moment(operand.type):
        raise ProgrammingError(f"{name}() needs a timestamp, not {describe(operand)}")
    return Call(name, (cast(operand, TIMESTAMP_NS),), BIGINT)


@scalar(
    "nanosecond(moment)",
    "the second in nanoseconds:"
    " nanosecond('2026-05-17 10:37:21.500000001'::TIMESTAMP_NS) -> 21500000001",
    bind=_bind_nanosecond,
)
def _nanosecond(_: Call, values: Values) -> Values:
    return compute_finite(lambda nanoseconds: nanoseconds % _MINUTE, BIGINT, values)


def _finite(numbers: Integers) -> Integers:
    check_range(numbers, 1 - INFINITE_MOMENT, INFINITE_MOMENT - 1)
    return numbers


@scalar(
    "make_timestamp_ns(nanoseconds: whole) -> TIMESTAMP_NS",
    "the TIMESTAMP_NS of nanoseconds since 1970-01-01 00:00:"
    " make_timestamp_ns(1500000001)::VARCHAR -> '1970-01-01 00:00:01.500000001'",
    can_fail=True,
)
def _make_timestamp_ns(call: Call, numbers: Values) -> Values:
    return compute(_finite, call.type, numbers)


@composed(
    "make_timestamp_ms(milliseconds)",
    "the TIMESTAMP of milliseconds since then:"
    " make_timestamp_ms(1500) -> 1970-01-01 00:00:01.500000",
)
def _make_timestamp_ms(name: str, milliseconds: Expression) -> Expression:
    return Call("from_milliseconds", (as_bigint(name, milliseconds),), TIMESTAMP)
