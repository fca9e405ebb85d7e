"""Functions of dates and times: their parts, and what they are cut to.

`year`, `month`, ... are the parts that EXTRACT takes; of an interval, the parts of its own fields.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.late import pc
from raydb.planner.expressions.columns.adapters import of_values
from raydb.planner.expressions.columns.arrays import Values, each
from raydb.planner.expressions.columns.calendar_parts import era_of, of_calendar, year_of
from raydb.planner.expressions.columns.moments import (
    Integers,
    Intervals,
    check_range,
    compute,
    compute_finite,
    finite,
    first_day,
    join_moment,
    keep_infinite,
    month_number,
    split_moment,
    subtract,
)
from raydb.planner.expressions.columns.rounding import relabel
from raydb.planner.expressions.columns.zones import instants_of, local_moments, utc_offsets
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.nested.structs import struct_of
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, MONTH_DAYS, UNITS, unit_name
from raydb.planner.expressions.literals import is_bare_string, read_string
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.registry import composed, scalar
from raydb.planner.expressions.signature import as_timestamp, constant_text
from raydb.planner.expressions.types import (
    BIGINT,
    DATE,
    INTERVAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    is_integer,
    is_interval,
    is_list,
    is_moment,
)
from raydb.planner.expressions.typing_rules import cast, in_microseconds, typed, zone_literal
from raydb.storage.clocks import TIMETZ

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOCK_PARTS = ("hour", "minute", "second", "millisecond", "microsecond")
_DAY_PARTS = ("week", "isoyear", "yearweek", "dow", "isodow", "doy", "era", "julian")
_PART_SYNONYMS = {
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofyear": "doy",
    "weekofyear": "week",
    "dayofmonth": "day",
}
_PARTS = ("epoch", *UNITS, *_DAY_PARTS)
# Seconds that the session's zone is ahead of UTC, its hours, and the minutes of the last one.
_ZONE_PARTS = ("timezone", "timezone_hour", "timezone_minute")
# The parts with digits behind the point, as in PostgreSQL.
_PART_TYPES = {
    "second": pa.decimal128(8, 6),
    "millisecond": pa.decimal128(8, 3),
    "epoch": pa.decimal128(18, 6),
    "julian": pa.float64(),
}
_JULIAN_EPOCH = 2_440_588  # the number of 1970-01-01
_MINUTE, _HOUR = UNITS["minute"][2], UNITS["hour"][2]
# A year of an interval is 365.25 days where it becomes seconds, as in PostgreSQL.
_YEAR_MICROSECONDS = 31_557_600_000_000
_YEAR_SPANS = {"decade": 10, "century": 100, "millennium": 1000}


# -- parts


def _part(
    of_moment: Callable[[Values], Values],
    of_interval: Callable[[Intervals], Integers],
    scale: int = 0,
) -> Callable[..., Values]:
    """Make a kernel of dates, times and intervals.

    `of_moment` gets Arrow values. The integers that it returns are units of 10**-scale.
    """

    def find(_: Call, values: Values) -> Values:
        if pt.is_interval(values.type):
            found = compute(of_interval, pa.int64(), values)
        else:
            found = of_moment(finite(values))
        return _shifted(found, scale) if scale else found

    return find


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


def _span_of_years(name: str) -> Callable[..., Values]:
    years = _YEAR_SPANS[name]

    def of_moment(values: Values) -> Values:
        year = year_of(values)
        if name == "decade":  # the first one is the years 1 to 9
            return pc.divide(year, years)
        # The first century is the years 1 to 100, and there is none of the number 0.
        before = pc.subtract(pc.divide(year, years), 1)
        return pc.if_else(pc.greater(year, 0), pc.divide(pc.add(year, years - 1), years), before)

    return _part(of_moment, lambda intervals: _truncated(_years(intervals), years))


def _within_minute(values: Values) -> Values:
    return compute(lambda clock: clock % _MINUTE, pa.int64(), values)


def _interval_second(intervals: Intervals) -> Integers:
    return _remainder(intervals.microseconds, _MINUTE)


def _interval_minute(intervals: Intervals) -> Integers:
    return _truncated(_remainder(intervals.microseconds, _HOUR), _MINUTE)


def _interval_hour(intervals: Intervals) -> Integers:
    return _truncated(intervals.microseconds, _HOUR)


def _interval_quarter(intervals: Intervals) -> Integers:
    return _truncated(_remainder(intervals.months, 12), 3) + 1


def _year_and_week(values: Values) -> Values:
    years, weeks = of_calendar(pc.iso_year, is_year=True)(values), of_calendar(pc.iso_week)(values)
    sign = pc.if_else(pc.less(years, 0), -1, 1)
    return pc.add(pc.multiply(years, 100), pc.multiply(sign, weeks))


def _julian(_: Call, values: Values) -> Values:
    """Return the days since noon of 4714-11-24 (BC), as if days began at midnight."""
    if pt.is_date32(values.type):
        return compute_finite(lambda days: days + _JULIAN_EPOCH, pa.float64(), values)

    def days(moments: Integers) -> np.ndarray:
        return moments / DAY_MICROSECONDS + _JULIAN_EPOCH

    return compute_finite(days, pa.float64(), values)


_weekday = of_calendar(functools.partial(pc.day_of_week, count_from_zero=True, week_start=7))
_iso_weekday = of_calendar(functools.partial(pc.day_of_week, count_from_zero=False, week_start=1))


def _epoch(_: Call, values: Values) -> Values:
    """Return the seconds since 1970: whole ones of a date, microseconds of the others."""
    if pt.is_date32(values.type):
        return compute_finite(
            lambda days: days * (DAY_MICROSECONDS // 1_000_000), pa.int64(), values
        )
    if pt.is_interval(values.type):
        return _shifted(compute(_interval_microseconds, pa.int64(), values), 6)
    return _shifted(compute_finite(lambda moments: moments, pa.int64(), values), 6)


def _epoch_in(scale: Callable[[Integers], Integers]) -> Callable[..., Values]:
    """Make a kernel of what EPOCH takes; `scale` gets microseconds since 1970."""

    def kernel(_: Call, values: Values) -> Values:
        if pt.is_interval(values.type):
            return compute(lambda spans: scale(_interval_microseconds(spans)), BIGINT, values)
        return compute_finite(scale, BIGINT, values)

    return kernel


def _milliseconds(call: Call, values: Values) -> Values:
    """Round moments to the nearest millisecond, as casts do, and cut times and intervals."""
    half = 500 if pt.is_timestamp(call.arguments[0].type) else 0
    return _epoch_in(lambda span: np.sign(span) * ((np.abs(span) + half) // 1000))(call, values)


def _nanoseconds(microseconds: Integers) -> Integers:
    check_range(microseconds, -(2**63) // 1000, 2**63 // 1000)
    return microseconds * 1000


def _interval_microseconds(intervals: Intervals) -> Integers:
    years, months = _years(intervals), _remainder(intervals.months, 12)
    days = months * MONTH_DAYS + intervals.days
    check_range(np.abs(years) * 366 + np.abs(days), 0, 100_000_000)
    return years * _YEAR_MICROSECONDS + days * DAY_MICROSECONDS + intervals.microseconds


def date_part(part: str, operand: Expression) -> Expression:
    """Return EXTRACT(part FROM operand): a BIGINT, or a DECIMAL with the fraction of a second."""
    name = _part_name(part)
    operand = in_microseconds(_as_moment(part, operand))
    if operand.type == TIMETZ:
        if name in _ZONE_PARTS:
            return Call(f"clock_{name}", (operand,), BIGINT)
        operand = cast(operand, TIME)
    if operand.type == TIMESTAMPTZ:
        if name in _ZONE_PARTS:
            return Call(name, (operand, zone_literal()), BIGINT)
        operand = operand if name == "epoch" else cast(operand, TIMESTAMP)
    if name in _ZONE_PARTS:
        known = False
    elif operand.type == TIME:
        known = name in (*_CLOCK_PARTS, "epoch")
    else:
        known = not is_interval(operand.type) or name not in ("week", *_DAY_PARTS)
    if not known:
        raise ProgrammingError(f"{describe(operand)} has no part '{part}'")
    if operand.type == DATE and name in _CLOCK_PARTS:
        operand = cast(operand, TIMESTAMP)
    is_whole = operand.type == DATE and name == "epoch"
    return Call(name, (operand,), BIGINT if is_whole else _PART_TYPES.get(name, BIGINT))


def _part_name(part: str) -> str:
    word = part.lower()
    known = (*_PARTS, *_ZONE_PARTS)
    name = _PART_SYNONYMS.get(word, word if word in known else unit_name(word))
    if name is None:
        raise ProgrammingError(
            f"there is no part '{part}' of a date or time{did_you_mean(word, known)}"
        )
    return name


def _as_moment(name: str, operand: Expression) -> Expression:
    operand = typed(operand, DATE)
    if not (is_moment(operand.type) or is_interval(operand.type) or operand.type in (TIME, TIMETZ)):
        raise ProgrammingError(f"{name}() needs a date, not {describe(operand)}")
    return operand


@composed(
    "extract(part FROM moment), date_part(part, moment), datepart(part, moment)",
    "a part, as below; also of a TIME or an INTERVAL: extract(quarter FROM DATE '2026-05-17') -> 2",
)
def _date_part(name: str, part: Expression, operand: Expression) -> Expression:
    if isinstance(part, Literal) and part.is_null:
        return Literal(None, BIGINT)
    if isinstance(part, Literal) and is_list(part.type):
        texts = part.value or ()
        if not texts or not all(isinstance(each, str) for each in texts):
            raise ProgrammingError(f"{name}() needs parts, not {describe(part)}")
        return struct_of({each.lower(): date_part(each, operand) for each in texts})
    return date_part(constant_text("date_part", part), operand)


# What the examples show a part of, by default a day.
_SHOWN = {
    "isoyear": "DATE '2027-01-01'",
    **dict.fromkeys(_CLOCK_PARTS, "TIMESTAMP '2026-05-17 10:37:21.5'"),
}
for _names, _meaning, _answer, _kernel in (
    ("year", "the year", "2026", _part(year_of, _years)),
    ("quarter", "1 to 4", "2", _part(of_calendar(pc.quarter), _interval_quarter)),
    ("month", "1 to 12", "5", _part(of_calendar(pc.month), lambda i: _remainder(i.months, 12))),
    ("week weekofyear", "the week of ISO 8601", "20", of_values(of_calendar(pc.iso_week))),
    ("isoyear", "the year of that week", "2026", of_values(of_calendar(pc.iso_year, is_year=True))),
    ("yearweek", "both in one number", "202620", of_values(_year_and_week)),
    ("day dayofmonth", "the day of the month", "17", _part(of_calendar(pc.day), lambda i: i.days)),
    ("dow dayofweek weekday", "the day of the week, Sunday is 0", "0", of_values(_weekday)),
    ("isodow", "the day of the week, Monday is 1, Sunday 7", "7", of_values(_iso_weekday)),
    ("doy dayofyear", "the day of the year", "137", of_values(of_calendar(pc.day_of_year))),
    ("era", "1, or 0 before the year 1", "1", of_values(era_of)),
    ("julian", "the number of the day, with its part", "2461178.0", _julian),
    ("decade", "the year divided by ten", "202", _span_of_years("decade")),
    ("century", "the century", "21", _span_of_years("century")),
    ("millennium", "the millennium", "3", _span_of_years("millennium")),
    ("hour", "the hour", "10", _part(of_calendar(pc.hour), _interval_hour)),
    ("minute", "the minute", "37", _part(of_calendar(pc.minute), _interval_minute)),
    (
        "second",
        "the second with its fraction",
        "21.500000",
        _part(_within_minute, _interval_second, scale=6),
    ),
    (
        "millisecond",
        "the second in milliseconds",
        "21500.000",
        _part(_within_minute, _interval_second, scale=3),
    ),
    (
        "microsecond",
        "the second in microseconds",
        "21500000",
        _part(_within_minute, _interval_second),
    ),
    ("epoch", "seconds since 1970-01-01 00:00", "1778976000", _epoch),
):
    _name, *_ = _names.split()
    _shown = _SHOWN.get(_name, "DATE '2026-05-17'")
    scalar(
        ", ".join(f"{each}(moment)" for each in _names.split()),
        f"{_meaning}: {_name}({_shown}) -> {_answer}",
        bind=date_part,
        can_fail=_name not in _DAY_PARTS,
    )(_kernel)


def _bind_epoch(name: str, operand: Expression) -> Expression:
    """Return EPOCH_US, EPOCH_NS, or EPOCH_MS, which makes a TIMESTAMP of an integer."""
    if name == "epoch_ms" and is_integer(typed(operand, DATE).type):
        return Call("from_milliseconds", (cast(operand, BIGINT),), TIMESTAMP)
    if isinstance(operand, Literal) and is_bare_string(operand):
        operand = read_string(operand, TIMESTAMP)
    operand = _as_moment(name, operand)
    if name == "epoch_ns" and operand.type == TIMESTAMP_NS:
        return Call("nanoseconds_since", (operand,), BIGINT)
    nearest = {DATE: TIMESTAMP, TIMETZ: TIME}.get(operand.type)
    operand = in_microseconds(operand) if nearest is None else cast(operand, nearest)
    return Call(name, (operand,), BIGINT)


for _calls, _says, _kernel in (
    (
        "epoch_ms(moment)",
        "milliseconds since then, or of an integer the TIMESTAMP: epoch_ms(TIMESTAMP"
        " '1970-01-01 00:00:01'), epoch_ms(1000) -> 1000 | 1970-01-01 00:00:01",
        _milliseconds,
    ),
    (
        "epoch_us(moment)",
        "microseconds since then: epoch_us(TIMESTAMP '1970-01-01 00:00:01') -> 1000000",
        _epoch_in(lambda microseconds: microseconds),
    ),
    (
        "epoch_ns(moment)",
        "nanoseconds since then: epoch_ns(TIMESTAMP '1970-01-01 00:00:01') -> 1000000000",
        _epoch_in(_nanoseconds),
    ),
):
    scalar(_calls, _says, bind=_bind_epoch, can_fail=True)(_kernel)


def _zone_part(seconds_of: Callable[[Integers], Integers]) -> Callable[..., Values]:
    """Make a kernel of instants and a zone; `seconds_of` gets how far the zone is ahead of UTC."""

    def kernel(call: Call, values: Values, zone: Values) -> Values:
        name = zone.as_py()

        def find(instants: Integers) -> Integers:
            return seconds_of(utc_offsets(instants, name) // 1_000_000)

        return compute_finite(find, call.type, values)

    return kernel


scalar(name="timezone")(_zone_part(lambda seconds: seconds))
scalar(name="timezone_hour")(_zone_part(lambda seconds: _truncated(seconds, 3600)))
scalar(name="timezone_minute")(
    _zone_part(lambda seconds: _truncated(_remainder(seconds, 3600), 60))
)


# -- cutting off


# What parts of a date begin with, where a unit is asked for.
_CUT_AT = {
    **dict.fromkeys(("dow", "dayofweek", "weekday", "isodow"), "day"),
    **dict.fromkeys(("doy", "dayofyear", "julian"), "day"),
    **dict.fromkeys(("weekofyear", "yearweek"), "week"),
}


def constant_unit(name: str, operand: Expression) -> Literal:
    """Return the name of a unit of time, which a constant string says."""
    text = constant_text(name, operand)
    unit = _CUT_AT.get(text.lower()) or unit_name(text)
    if unit is None:
        raise ProgrammingError(f"there is no unit '{text}' of time{did_you_mean(text, UNITS)}")
    return Literal(unit, TEXT)


def _bind_date_trunc(name: str, unit: Expression, operand: Expression) -> Expression:
    operand = in_microseconds(_as_moment(name, operand))
    if isinstance(unit, Literal) and unit.is_null:
        return Literal(None, operand.type if is_interval(operand.type) else TIMESTAMP)
    cut = constant_unit(name, unit)
    if is_interval(operand.type):
        if cut.value == "week":
            raise NotSupportedError("an interval cannot be cut to weeks")
        return Call("date_trunc", (cut, operand), INTERVAL)
    if operand.type == TIMESTAMPTZ:
        return Call("date_trunc", (cut, operand, zone_literal()), TIMESTAMPTZ)
    return Call("date_trunc", (cut, as_timestamp(name, operand)), TIMESTAMP)


@scalar(
    "date_trunc(unit, moment), datetrunc(unit, moment)",
    "the beginning of the unit, a TIMESTAMP, with a time zone if it has one:"
    " date_trunc('hour', TIMESTAMP '2026-05-17 10:37:21.5') -> 2026-05-17 10:00:00",
    bind=_bind_date_trunc,
    can_fail=True,
)
def _truncate(_: Call, unit: Values, values: Values, *zone: Values) -> Values:
    """Return the beginning of the unit that a timestamp is in; of an interval its larger parts."""
    assert isinstance(unit, pa.Scalar), "the unit is constant"
    name = unit.as_py()
    if zone:
        (where,) = zone
        cut = functools.partial(_cut_instants, name, where.as_py())
        return compute(keep_infinite(cut), values.type, values)
    if pt.is_interval(values.type):
        return compute(functools.partial(_cut_interval, name), values.type, values)
    return compute(keep_infinite(functools.partial(_cut_moments, name)), values.type, values)


def _cut_moments(unit: str, moments: Integers) -> Integers:
    """Return the beginning of the unit that each timestamp is in."""
    months, _, microseconds = UNITS[unit]
    if microseconds:
        return subtract(moments, moments % microseconds)
    day, _ = split_moment(moments)
    if unit == "week":
        day = day - (day + 3) % 7  # 1970-01-01 was a Thursday
    elif months:
        month = month_number(day)
        # Months count from January 1970; a century begins with its year 1, a decade with year 0.
        origin = 1 - 1970 if unit in ("century", "millennium") else -1970
        offset = origin * 12 if months > 12 else 0
        day = first_day(month - (month - offset) % months)
    return join_moment(day)


def _cut_instants(unit: str, zone: str, instants: Integers) -> Integers:
    """Return the beginning of the unit that clocks show in a zone.

    In an hour that comes twice, its own beginning is meant, as in PostgreSQL.
    """
    shown = local_moments(instants, zone)
    cut = _cut_moments(unit, shown)
    _, _, microseconds = UNITS[unit]
    return instants - (shown - cut) if microseconds else instants_of(cut, zone)


def _cut_interval(unit: str, intervals: Intervals) -> Intervals:
    months, days, microseconds = UNITS[unit]
    nothing = np.zeros_like(intervals.months)
    if months:
        return Intervals(_truncated(intervals.months, months) * months, nothing, nothing)
    if days:
        return Intervals(intervals.months, intervals.days, nothing)
    clock = _truncated(intervals.microseconds, microseconds) * microseconds
    return Intervals(intervals.months, intervals.days, clock)
