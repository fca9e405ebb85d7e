"""Arithmetic with dates, times and intervals, and how they are made of numbers."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.planner.expressions.function import Function
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, UNITS
from raydb.planner.expressions.intervals import (
    add_intervals,
    moments_apart,
    negate_intervals,
    scale_intervals,
)
from raydb.planner.expressions.moments import (
    Integers,
    Intervals,
    add_interval,
    check_range,
    compute,
    day_number,
    days_in_month,
    first_day,
    month_number,
    split_moment,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.planner.expressions.casts.casts import Values
    from raydb.planner.expressions.nodes import Call

_MAX_DAYS = 5_000_000  # more than from the year 1 to 9999
_MAX_SECONDS = 400_000_000_000


def _numeric(function: Callable[..., Any], operation: str | None = None) -> Function:
    """Make a function of numpy arrays a function of values; see `moments.compute`."""
    return Function(
        lambda call, *values: compute(function, call.type, *values),
        can_fail=True,
        operation=operation,
    )


# -- operators


def _add_interval(sign: int, call: Call, moments: Values, intervals: Values) -> Values:
    """Return a date, timestamp or time plus or minus an interval; a time stays within the day."""

    def add(numbers: Integers, added: Intervals) -> Integers:
        signed = added if sign > 0 else negate_intervals(added)
        if pt.is_time64(moments.type):
            return (numbers + signed.microseconds) % DAY_MICROSECONDS
        if pt.is_date32(moments.type):
            return add_interval(numbers, 0, signed)
        return add_interval(*split_moment(numbers), signed)

    return compute(add, call.type, moments, intervals)


def _subtract_intervals(left: Intervals, right: Intervals) -> Intervals:
    return add_intervals(left, negate_intervals(right))


def _clocks_apart(left: Integers, right: Integers) -> Intervals:
    difference = left - right
    nothing = np.zeros_like(difference)
    return Intervals(nothing, nothing, difference)


def _divide_interval(intervals: Intervals, divisors: NDArray[np.float64]) -> Intervals:
    if (divisors == 0).any():
        raise pa.ArrowInvalid("divide by zero")
    return scale_intervals(intervals, 1.0 / divisors)


def _shift_days(days: Integers, number: Integers) -> Integers:
    check_range(number, -_MAX_DAYS, _MAX_DAYS)
    return days + number


# -- differences


def _date_diff(_: Call, unit: Values, start: Values, end: Values) -> Values:
    """Return how many beginnings of a unit lie between two timestamps, as DuckDB counts."""
    assert isinstance(unit, pa.Scalar), "the unit is constant"
    name = unit.as_py()

    def count(one: Integers, other: Integers) -> Integers:
        if name == "week":  # whole weeks, from any day on
            days = split_moment(other)[0] - split_moment(one)[0]
            weeks: Integers = np.abs(days) // 7
            return np.where(days < 0, -weeks, weeks)
        return _unit_number(name, other) - _unit_number(name, one)

    return compute(count, pa.int64(), start, end)


def _unit_number(unit: str, moments: Integers) -> Integers:
    """Return the number of the unit that each timestamp is in, counted from any origin."""
    months, _, microseconds = UNITS[unit]
    if microseconds:
        return moments // microseconds
    days, _ = split_moment(moments)
    if months >= 12:
        return (month_number(days) // 12 + 1970) // (months // 12)
    return month_number(days) // months if months else days


def _date_sub(_: Call, unit: Values, start: Values, end: Values) -> Values:
    """Return how many whole units fit between two timestamps."""
    assert isinstance(unit, pa.Scalar), "the unit is constant"
    months, days, microseconds = UNITS[unit.as_py()]

    def count(one: Integers, other: Integers) -> Integers:
        low, high = np.minimum(one, other), np.maximum(one, other)
        length = days * DAY_MICROSECONDS + microseconds
        whole: Integers = _age(high, low).months // months if months else (high - low) // length
        return np.where(other < one, -whole, whole)

    return compute(count, pa.int64(), start, end)


def _age(left: Integers, right: Integers) -> Intervals:
    """Return left - right in years, months, days and time, as PostgreSQL's age().

    A day that has to be borrowed is one of the earlier timestamp's month.
    """
    sign = np.where(left < right, -1, 1)
    low_days, low_clock = split_moment(np.minimum(left, right))
    high_days, high_clock = split_moment(np.maximum(left, right))
    low_month, high_month = month_number(low_days), month_number(high_days)
    clock = high_clock - low_clock
    borrowed = clock < 0
    clock = np.where(borrowed, clock + DAY_MICROSECONDS, clock)
    days = (high_days - first_day(high_month)) - (low_days - first_day(low_month)) - borrowed
    months = high_month - low_month
    length = days_in_month(low_month)
    for _ in range(2):  # the difference is at least -31 days, and a month has at least 28
        months = months - (days < 0)
        days = np.where(days < 0, days + length, days)
    return Intervals(sign * months, sign * days, sign * clock)


# -- buckets


def _bucket_of_span(moments: Integers, origins: Integers, span: Integers) -> Integers:
    """Return the beginning of the bucket of `span` microseconds that each timestamp is in."""
    return moments - (moments - origins) % span


def _bucket_of_months(moments: Integers, origins: Integers, count: Integers) -> Integers:
    """Return the beginning of the bucket of so many months that each timestamp is in."""
    month, origin = (month_number(split_moment(each)[0]) for each in (moments, origins))
    return first_day(month - (month - origin) % count) * DAY_MICROSECONDS


# -- from numbers


def _make_clock(hours: Integers, minutes: Integers, seconds: NDArray[np.float64]) -> Integers:
    check_range(hours, 0, 23)
    check_range(minutes, 0, 59)
    check_range(seconds, 0, 59.9999995)
    microseconds = np.rint(seconds * 1_000_000).astype(np.int64)
    return hours * UNITS["hour"][2] + minutes * UNITS["minute"][2] + microseconds


def _make_timestamp(
    years: Integers,
    months: Integers,
    days: Integers,
    hours: Integers,
    minutes: Integers,
    seconds: NDArray[np.float64],
) -> Integers:
    day = day_number(years, months, days)
    return day * DAY_MICROSECONDS + _make_clock(hours, minutes, seconds)


def _from_seconds(seconds: NDArray[np.float64]) -> Integers:
    if not np.isfinite(seconds).all():
        raise pa.ArrowInvalid("out of range")
    check_range(seconds, -_MAX_SECONDS, _MAX_SECONDS)
    return np.rint(seconds * 1_000_000).astype(np.int64)


def _from_milliseconds(milliseconds: Integers) -> Integers:
    check_range(milliseconds, -_MAX_SECONDS * 1000, _MAX_SECONDS * 1000)
    return milliseconds * 1000


TIME_ARITHMETIC: Mapping[str, Function] = {
    "add_interval": Function(functools.partial(_add_interval, 1), True, "addition"),
    "subtract_interval": Function(functools.partial(_add_interval, -1), True, "subtraction"),
    "add_days": _numeric(_shift_days, "addition"),
    "subtract_days": _numeric(lambda days, number: _shift_days(days, -number), "subtraction"),
    "add_time": _numeric(lambda days, clock: days * DAY_MICROSECONDS + clock, "addition"),
    "days_apart": _numeric(lambda left, right: left - right),
    "moments_apart": _numeric(moments_apart),
    "times_apart": _numeric(_clocks_apart),
    "add_intervals": _numeric(add_intervals, "addition"),
    "subtract_intervals": _numeric(_subtract_intervals, "subtraction"),
    "negate_interval": _numeric(negate_intervals, "negation"),
    "scale_interval": _numeric(scale_intervals, "multiplication"),
    "divide_interval": _numeric(_divide_interval, "division"),
    "age": _numeric(_age),
    "date_diff": Function(_date_diff),
    "date_sub": Function(_date_sub),
    "bucket_of_span": _numeric(_bucket_of_span),
    "bucket_of_months": _numeric(_bucket_of_months),
    "make_date": _numeric(day_number),
    "make_time": _numeric(_make_clock),
    "make_timestamp": _numeric(_make_timestamp),
    "to_timestamp": _numeric(_from_seconds),
    "from_milliseconds": _numeric(_from_milliseconds),
    "to_milliseconds": _numeric(lambda moments: (moments + 500) // 1000),
}
