"""Functions of dates and times: their parts, and what they are cut to.

`year`, `month`, ... are the parts that EXTRACT takes; of an interval, the parts of its own fields.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.planner.expressions.casts.casts import Values, each, relabel
from raydb.planner.expressions.function import Function, arrow
from raydb.planner.expressions.functions.time_arithmetic import TIME_ARITHMETIC
from raydb.planner.expressions.functions.time_format import TIME_FORMAT
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, MONTH_DAYS, UNITS
from raydb.planner.expressions.moments import (
    Integers,
    Intervals,
    check_range,
    compute,
    first_day,
    month_number,
    split_moment,
)
from raydb.running import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from raydb.planner.expressions.nodes import Call

_MINUTE, _HOUR = UNITS["minute"][2], UNITS["hour"][2]
# A year of an interval is 365.25 days where it becomes seconds, as in PostgreSQL.
_YEAR_MICROSECONDS = 31_557_600_000_000
_YEAR_SPANS = {"decade": 10, "century": 100, "millennium": 1000}


# -- parts


def _part(
    of_moment: Callable[[Values], Values],
    of_interval: Callable[[Intervals], Integers],
    scale: int = 0,
) -> Function:
    """Make a function of dates, times and intervals.

    `of_moment` gets Arrow values. The integers that it returns are units of 10**-scale.
    """

    def find(_: Call, values: Values) -> Values:
        if pt.is_interval(values.type):
            found = compute(of_interval, pa.int64(), values)
        else:
            found = of_moment(values)
        return _shifted(found, scale) if scale else found

    return Function(find, can_fail=True)


def _shifted(values: Values, scale: int) -> Values:
    """Return integers as decimals whose point stands before the last `scale` digits."""
    label = pa.decimal128(20, scale)
    whole = pa.decimal128(20, 0)
    return each(values, lambda array: relabel(pc.cast(array, whole), label), label)


def _years(intervals: Intervals) -> Integers:
    return _truncated(intervals.months, 12)


def _truncated(numbers: Integers, by: int) -> Integers:
    """Divide towards zero."""
    quotients: Integers = np.abs(numbers) // by
    return np.sign(numbers) * quotients


def _remainder(numbers: Integers, by: int) -> Integers:
    return numbers - _truncated(numbers, by) * by


def _span_of_years(name: str) -> Function:
    years = _YEAR_SPANS[name]
    # The first century is the years 1 to 100, the first decade the years 1 to 9.
    before = 0 if name == "decade" else years - 1

    def of_moment(values: Values) -> Values:
        return pc.divide(pc.add(pc.year(values), before), years)

    return _part(of_moment, lambda intervals: _truncated(_years(intervals), years))


def _within_minute(values: Values) -> Values:
    return compute(lambda clock: clock % _MINUTE, pa.int64(), values)


def _interval_minute(intervals: Intervals) -> Integers:
    return _remainder(intervals.microseconds, _MINUTE)


def _epoch(_: Call, values: Values) -> Values:
    """Return the seconds since 1970: whole ones of a date, microseconds of the others."""
    if pt.is_date32(values.type):
        return compute(lambda days: days * (DAY_MICROSECONDS // 1_000_000), pa.int64(), values)
    if pt.is_interval(values.type):
        return _shifted(compute(_interval_microseconds, pa.int64(), values), 6)
    return _shifted(compute(lambda moments: moments, pa.int64(), values), 6)


def _interval_microseconds(intervals: Intervals) -> Integers:
    years, months = _years(intervals), _remainder(intervals.months, 12)
    days = months * MONTH_DAYS + intervals.days
    check_range(np.abs(years) * 366 + np.abs(days), 0, 100_000_000)
    return years * _YEAR_MICROSECONDS + days * DAY_MICROSECONDS + intervals.microseconds


def _weekday(values: Values) -> Values:
    return pc.day_of_week(values, count_from_zero=True, week_start=7)


def _iso_weekday(values: Values) -> Values:
    return pc.day_of_week(values, count_from_zero=False, week_start=1)


_PARTS: Mapping[str, Function] = {
    "year": _part(pc.year, _years),
    "quarter": _part(pc.quarter, lambda i: _truncated(_remainder(i.months, 12), 3) + 1),
    "month": _part(pc.month, lambda i: _remainder(i.months, 12)),
    "day": _part(pc.day, lambda i: i.days),
    "hour": _part(pc.hour, lambda i: _truncated(i.microseconds, _HOUR)),
    "minute": _part(pc.minute, lambda i: _truncated(_remainder(i.microseconds, _HOUR), _MINUTE)),
    "second": _part(_within_minute, _interval_minute, scale=6),
    "millisecond": _part(_within_minute, _interval_minute, scale=3),
    "microsecond": _part(_within_minute, _interval_minute),
    "epoch": Function(_epoch, can_fail=True),
    "week": arrow(pc.iso_week),
    "isoyear": arrow(pc.iso_year),
    "dow": arrow(_weekday),
    "isodow": arrow(_iso_weekday),
    "doy": arrow(pc.day_of_year),
    **{name: _span_of_years(name) for name in _YEAR_SPANS},
}

# -- cutting off


def _truncate(_: Call, unit: Values, values: Values) -> Values:
    """Return the beginning of the unit that a timestamp is in; of an interval its larger parts."""
    assert isinstance(unit, pa.Scalar), "the unit is constant"
    name = unit.as_py()
    if pt.is_interval(values.type):
        return compute(functools.partial(_cut_interval, name), values.type, values)
    return compute(functools.partial(cut_moments, name), values.type, values)


def cut_moments(unit: str, moments: Integers) -> Integers:
    """Return the beginning of the unit that each timestamp is in."""
    months, _, microseconds = UNITS[unit]
    if microseconds:
        return moments - moments % microseconds
    day, _ = split_moment(moments)
    if unit == "week":
        day = day - (day + 3) % 7  # 1970-01-01 was a Thursday
    elif months:
        month = month_number(day)
        # Months count from January 1970; a century begins with its year 1, a decade with year 0.
        origin = 1 - 1970 if unit in ("century", "millennium") else -1970
        offset = origin * 12 if months > 12 else 0
        day = first_day(month - (month - offset) % months)
    return day * DAY_MICROSECONDS


def _cut_interval(unit: str, intervals: Intervals) -> Intervals:
    months, days, microseconds = UNITS[unit]
    nothing = np.zeros_like(intervals.months)
    if months:
        return Intervals(_truncated(intervals.months, months) * months, nothing, nothing)
    if days:
        return Intervals(intervals.months, intervals.days, nothing)
    clock = _truncated(intervals.microseconds, microseconds) * microseconds
    return Intervals(intervals.months, intervals.days, clock)


def _last_day(_: Call, values: Values) -> Values:
    return compute(lambda days: first_day(month_number(days) + 1) - 1, pa.date32(), values)


def _now(_: Call) -> Values:
    return pa.scalar(moment(), pa.timestamp("us"))


TIME: Mapping[str, Function] = {
    **_PARTS,
    **TIME_ARITHMETIC,
    **TIME_FORMAT,
    "date_trunc": Function(_truncate, can_fail=True),
    "last_day": Function(_last_day, can_fail=True),
    "now": Function(_now),
}
