"""Functions of TIME WITH TIME ZONE: sums with intervals, the parts of its offset, other zones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raydb.planner.expressions.columns.moments import (
    check_range,
    compute,
    join_moment,
)
from raydb.planner.expressions.functions.moments.time import date_part
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.types import BIGINT
from raydb.storage.clocks import MOST_OFFSET, clock_of, offset_of, packed

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.columns.moments import Integers, Intervals
    from raydb.planner.expressions.nodes import Call


def _moved(sign: int, call: Call, clocks: Values, intervals: Values) -> Values:
    def move(numbers: Integers, added: Intervals) -> Integers:
        shown = (clock_of(numbers) + sign * added.microseconds) % DAY_MICROSECONDS
        return packed(shown, offset_of(numbers))

    return compute(move, call.type, clocks, intervals)


scalar(name="add_to_clock")(partial(_moved, 1))
scalar(name="subtract_from_clock")(partial(_moved, -1))


@scalar(name="at_clock", can_fail=True, operation="addition")
def _at_clock(call: Call, days: Values, clocks: Values) -> Values:
    """Return the instant of a day at a time with an offset."""

    def join(numbers: Integers, times: Integers) -> Integers:
        return join_moment(numbers, clock_of(times)) - offset_of(times) * 1_000_000

    return compute(join, call.type, days, clocks)


@scalar(name="clock_at_offset", can_fail=True)
def _clock_at_offset(call: Call, clocks: Values, intervals: Values) -> Values:
    """Return what clocks show that are so far ahead of UTC."""

    def move(numbers: Integers, ahead: Intervals) -> Integers:
        offset = ahead.microseconds // 1_000_000
        check_range(np.abs(offset), 0, MOST_OFFSET)
        moved = clock_of(numbers) + (offset - offset_of(numbers)) * 1_000_000
        return packed(moved % DAY_MICROSECONDS, offset)

    return compute(move, call.type, clocks, intervals)


def _part(name: str, divisor: int, modulus: int) -> None:
    def part(numbers: Integers) -> Integers:
        offset = offset_of(numbers)
        found: Integers = np.sign(offset) * (np.abs(offset) // divisor % modulus)
        return found

    scalar(name=f"clock_{name}")(lambda _, clocks: compute(part, BIGINT, clocks))


_part("timezone", 1, 1 << 20)
_part("timezone_hour", 3600, 24)
_part("timezone_minute", 60, 60)

for _name, _answer in (("timezone_hour", "2"), ("timezone_minute", "30")):
    composed(
        f"{_name}(moment)",
        f"of how far its clock is ahead of UTC: {_name}('10:37:00+02:30'::TIMETZ) -> {_answer}",
    )(date_part)
