"""Arithmetic with dates, times and intervals, and how they are made of numbers."""

from __future__ import annotations

import datetime as dt
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import ProgrammingError
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.columns.moments import (
    Integers,
    Intervals,
    add_intervals,
    check_range,
    compute,
    compute_finite,
    day_number,
    days_in_month,
    first_day,
    join_moment,
    keep_infinite,
    moments_apart,
    moments_later,
    month_number,
    negate_intervals,
    scale_intervals,
    split_moment,
    subtract,
)
from raydb.planner.expressions.columns.zones import add_in_zone
from raydb.planner.expressions.describe import describe
from raydb.planner.expressions.functions.moments.time import constant_unit
from raydb.planner.expressions.functions.moments.zones import at_time_zone
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, UNITS
from raydb.planner.expressions.literals import is_bare_string, read_string
from raydb.planner.expressions.nodes import Call, Expression, Literal
from raydb.planner.expressions.operators import arithmetic
from raydb.planner.expressions.registry import SCALARS, composed, scalar
from raydb.planner.expressions.signature import (
    as_bigint,
    as_double,
    as_instant,
    as_timestamp,
    require_moment,
    require_number,
)
from raydb.planner.expressions.types import (
    BIGINT,
    DATE,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    is_interval,
)
from raydb.planner.expressions.typing_rules import cast, typed
from raydb.storage.moments import INFINITE_DAY, INFINITE_MOMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.arrays import Values

_MAX_SECONDS = 9_223_372_036_854


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Values]:
    """Make a function of numpy arrays a kernel; see `moments.compute`."""
    return lambda call, *values: compute(function, call.type, *values)


# -- operators


def _add_interval(sign: int, call: Call, moments: Values, intervals: Values) -> Values:
    """Return a date, timestamp or time plus or minus an interval; a time stays within the day."""

    def add(numbers: Integers, added: Intervals) -> Integers:
        signed = added if sign > 0 else negate_intervals(added)
        if pt.is_time64(moments.type):
            return (numbers + signed.microseconds) % DAY_MICROSECONDS
        return moments_later(numbers, signed)

    if pt.is_date32(moments.type):
        moments = cast_values(moments, TIMESTAMP)
    return compute(add, call.type, moments, intervals)


scalar(name="add_interval", can_fail=True, operation="addition")(
    functools.partial(_add_interval, 1)
)
scalar(name="subtract_interval", can_fail=True, operation="subtraction")(
    functools.partial(_add_interval, -1)
)


def _add_in_zone(
    sign: int, call: Call, instants: Values, intervals: Values, zone: Values
) -> Values:
    """Return instants plus or minus intervals: months and days in a zone, then time that passes."""

    def add(numbers: Integers, added: Intervals) -> Integers:
        signed = added if sign > 0 else negate_intervals(added)
        return add_in_zone(numbers, signed, zone.as_py())

    return compute(add, call.type, instants, intervals)


scalar(name="add_in_zone", can_fail=True, operation="addition")(functools.partial(_add_in_zone, 1))
scalar(name="subtract_in_zone", can_fail=True, operation="subtraction")(
    functools.partial(_add_in_zone, -1)
)


def _clocks_apart(left: Integers, right: Integers) -> Intervals:
    difference = left - right
    nothing = np.zeros_like(difference)
    return Intervals(nothing, nothing, difference)


def _divide_interval(intervals: Intervals, divisors: NDArray[np.float64]) -> Intervals:
    if (divisors == 0).any():
        raise pa.ArrowInvalid("divide by zero")
    return scale_intervals(intervals, 1.0 / divisors)


def _shift_days(days: Integers, number: Integers) -> Integers:
    is_infinite = np.abs(days) == INFINITE_DAY
    check_range(number, -2 * INFINITE_DAY, 2 * INFINITE_DAY)
    shifted = days + np.where(is_infinite, 0, number)
    check_range(np.where(is_infinite, 0, shifted), 1 - INFINITE_DAY, INFINITE_DAY - 1)
    return shifted


def _at_time(days: Integers, clock: Integers) -> Integers:
    is_infinite = np.abs(days) == INFINITE_DAY
    moments = join_moment(np.where(is_infinite, 0, days), clock)
    return np.where(is_infinite, np.sign(days) * INFINITE_MOMENT, moments)


for _name, _operation, _function in (
    ("add_days", "addition", _shift_days),
    ("subtract_days", "subtraction", lambda days, number: _shift_days(days, -number)),
    ("add_time", "addition", _at_time),
    ("days_apart", None, lambda left, right: left - right),
    ("moments_apart", None, moments_apart),
    ("times_apart", None, _clocks_apart),
    ("add_intervals", "addition", add_intervals),
    (
        "subtract_intervals",
        "subtraction",
        lambda left, right: add_intervals(left, negate_intervals(right)),
    ),
    ("negate_interval", "negation", negate_intervals),
    ("scale_interval", "multiplication", scale_intervals),
    ("divide_interval", "division", _divide_interval),
):
    scalar(name=_name, can_fail=True, operation=_operation)(_of_numbers(_function))


composed(
    "date_add(moment, interval)",
    "`moment + interval`: date_add(DATE '2026-01-31', INTERVAL '1 month') -> 2026-02-28 00:00:00",
)(lambda _, moment, interval: arithmetic("add", moment, interval))


# -- differences


def _bind_difference(
    function: str, name: str, unit: Expression, start: Expression, end: Expression
) -> Expression:
    cut = constant_unit(name, unit)
    bounds = tuple(require_moment(name, each) for each in (start, end))
    _, _, microseconds = UNITS[cut.value]
    if not (microseconds and any(each.type == TIMESTAMPTZ for each in bounds)):
        return Call(function, (cut, *(cast(each, TIMESTAMP) for each in bounds)), BIGINT)
    # Hours that pass, where clocks may be set meanwhile; they begin where clocks show so.
    bounds = tuple(cast(each, TIMESTAMPTZ) for each in bounds)
    if function == "date_diff":
        bounds = tuple(SCALARS["date_trunc"].call("date_trunc", (cut, each)) for each in bounds)
    return Call(function, (cut, *bounds), BIGINT)


def _counts_microseconds(call: Call) -> bool:
    """Tell whether a date_diff may be out of range for BIGINT, which one of other units is not."""
    unit = call.arguments[0]
    assert isinstance(unit, Literal), "the unit is constant"
    return UNITS[unit.value] == (0, 0, 1)


@scalar(
    "date_diff(unit, start, end), datediff(unit, start, end)",
    "how many beginnings of a unit lie between, whole weeks from any day on:"
    " date_diff('year', DATE '2025-12-31', DATE '2026-01-01') -> 1",
    bind=functools.partial(_bind_difference, "date_diff"),
    can_fail=_counts_microseconds,
)
def _date_diff(_: Call, unit: Values, start: Values, end: Values) -> Values:
    assert isinstance(unit, pa.Scalar), "the unit is constant"
    name = unit.as_py()

    def count(one: Integers, other: Integers) -> Integers:
        if name == "week":  # whole weeks, from any day on
            days = split_moment(other)[0] - split_moment(one)[0]
            weeks: Integers = np.abs(days) // 7
            return np.where(days < 0, -weeks, weeks)
        return subtract(_unit_number(name, other), _unit_number(name, one))

    return compute_finite(count, pa.int64(), start, end)


def _unit_number(unit: str, moments: Integers) -> Integers:
    """Return the number of the unit that each timestamp is in, counted from any origin."""
    months, _, microseconds = UNITS[unit]
    if microseconds:
        return moments // microseconds
    days, _ = split_moment(moments)
    if months >= 12:
        return (month_number(days) // 12 + 1970) // (months // 12)
    return month_number(days) // months if months else days


@scalar(
    "date_sub(unit, start, end), datesub(unit, start, end)",
    "how many whole units lie between: date_sub('year', DATE '2025-12-31', DATE '2026-01-01') -> 0",
    bind=functools.partial(_bind_difference, "date_sub"),
    can_fail=True,
)
def _date_sub(_: Call, unit: Values, start: Values, end: Values) -> Values:
    assert isinstance(unit, pa.Scalar), "the unit is constant"
    months, days, microseconds = UNITS[unit.as_py()]

    def count(one: Integers, other: Integers) -> Integers:
        low, high = np.minimum(one, other), np.maximum(one, other)
        length = days * DAY_MICROSECONDS + microseconds
        whole = _age(high, low).months // months if months else subtract(high, low) // length
        return np.where(other < one, -whole, whole)

    return compute_finite(count, pa.int64(), start, end)


def _bind_age(name: str, left: Expression, *right: Expression) -> Expression:
    sides = (left, *right) if right else (cast(Call("now", (), TIMESTAMPTZ), DATE), left)
    return Call("age", tuple(as_timestamp(name, side) for side in sides), INTERVAL)


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


scalar(
    "age(end, start), age(start)",
    "the INTERVAL between them in years, months and days; until today:"
    " age(DATE '2026-05-17', DATE '2024-03-31') -> 2 years 1 mon 17 days",
    bind=_bind_age,
    can_fail=True,
)(lambda call, *values: compute_finite(_age, call.type, *values))


# -- buckets


@composed(
    "time_bucket(width, moment [, origin])",
    "the beginning of a bucket that is `width` wide; `origin` is a moment or an INTERVAL that"
    " shifts the buckets; those of moments with a time zone are of UTC, or of a zone that is named"
    " in place of the origin: time_bucket(INTERVAL '15 minutes', TIMESTAMP '2026-05-17 10:37:21.5')"
    " -> 2026-05-17 10:30:00",
)
def _time_bucket(
    name: str, width: Expression, moment: Expression, *origin: Expression
) -> Expression:
    """Count buckets from an origin, by default Monday 2000-01-03, or January 2000 for months."""
    months, days, microseconds = _bucket_width(name, width)
    moment = require_moment(name, moment)
    if moment.type == TIMESTAMPTZ:
        return _bucket_in_zone(name, width, moment, *origin)
    start: Expression = Literal(dt.datetime(2000, 1, 1 if months else 3), TIMESTAMP)
    offset: Expression | None = None
    if origin and is_interval(origin[0].type):
        (offset,) = origin
    elif origin:
        start = as_timestamp(name, origin[0])
    size = months or days * DAY_MICROSECONDS + microseconds
    inner = cast(moment, TIMESTAMP) if offset is None else arithmetic("subtract", moment, offset)
    function = "bucket_of_months" if months else "bucket_of_span"
    bucket: Expression = Call(function, (inner, start, Literal(size, BIGINT)), TIMESTAMP)
    bucket = bucket if offset is None else arithmetic("add", bucket, offset)
    is_day = moment.type == DATE and not microseconds and not origin and name != "date_bin"
    return cast(bucket, DATE) if is_day else bucket


def _bucket_in_zone(
    name: str, width: Expression, moment: Expression, *rest: Expression
) -> Expression:
    """Count buckets as clocks show in UTC, or in a zone that stands in place of the origin."""
    zone: Expression = Literal("UTC", TEXT)
    if rest and is_bare_string(rest[0]) and name == "time_bucket":
        (zone,), rest = rest, ()
    shown = [at_time_zone(moment, zone)]
    for origin in rest:
        is_shift = is_interval(origin.type)
        shown.append(origin if is_shift else at_time_zone(as_instant(name, origin), zone))
    return at_time_zone(_time_bucket(name, width, *shown), zone)


def _bucket_width(name: str, width: Expression) -> tuple[int, int, int]:
    """Return the width of a bucket: some months, or days and microseconds."""
    if isinstance(width, Literal) and is_bare_string(width):
        width = read_string(width, INTERVAL)
    if not isinstance(width, Literal) or width.value is None or not is_interval(width.type):
        raise ProgrammingError(f"{name}() needs a constant INTERVAL, not {describe(width)}")
    months, days, nanoseconds = width.value
    span = days * DAY_MICROSECONDS + nanoseconds // 1000
    if min(months, span) < 0 or bool(months) == bool(span) or (months and name == "date_bin"):
        units = "days and time" if name == "date_bin" else "months, or of days and time"
        raise ProgrammingError(f"{name}() needs an interval of {units}, not {describe(width)}")
    return months, days, nanoseconds // 1000


composed(
    "date_bin(width, moment, origin)",
    "PostgreSQL's way to say that; the width has no months: date_bin(INTERVAL '1 hour',"
    " TIMESTAMP '2026-05-17 10:37:21.5', TIMESTAMP '2026-01-01 00:30') -> 2026-05-17 10:30:00",
)(_time_bucket)


def _bucket_of_span(moments: Integers, origins: Integers, span: Integers) -> Integers:
    """Return the beginning of the bucket of `span` microseconds that each timestamp is in."""
    return subtract(moments, (moments % span - origins % span) % span)


def _bucket_of_months(moments: Integers, origins: Integers, count: Integers) -> Integers:
    """Return the beginning of the bucket of so many months that each timestamp is in."""
    month, origin = (month_number(split_moment(each)[0]) for each in (moments, origins))
    return join_moment(first_day(month - (month - origin) % count))


scalar(name="bucket_of_span", can_fail=True)(_of_numbers(keep_infinite(_bucket_of_span)))
scalar(name="bucket_of_months", can_fail=True)(_of_numbers(keep_infinite(_bucket_of_months)))


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
    return join_moment(day_number(years, months, days), _make_clock(hours, minutes, seconds))


def _from_seconds(seconds: NDArray[np.float64]) -> Integers:
    if not np.isfinite(seconds).all():
        raise pa.ArrowInvalid("out of range")
    check_range(seconds, -_MAX_SECONDS, _MAX_SECONDS)
    return np.rint(seconds * 1_000_000).astype(np.int64)


def _from_milliseconds(milliseconds: Integers) -> Integers:
    check_range(milliseconds, -_MAX_SECONDS * 1000, _MAX_SECONDS * 1000)
    return milliseconds * 1000


for _calls, _says, _maker in (
    (
        "make_date(year: whole, month: whole, day: whole) -> DATE",
        "a DATE: make_date(2026, 5, 17) -> 2026-05-17",
        day_number,
    ),
    (
        "make_time(hour: whole, minute: whole, second: double) -> TIME",
        "a TIME: make_time(10, 37, 21.5) -> 10:37:21.500000",
        _make_clock,
    ),
    (
        "to_timestamp(x: double) -> TIMESTAMPTZ",
        "the TIMESTAMP WITH TIME ZONE of seconds since 1970-01-01 00:00 in UTC:"
        " to_timestamp(1.5) AT TIME ZONE 'UTC' -> 1970-01-01 00:00:01.500000",
        _from_seconds,
    ),
):
    scalar(_calls, _says, can_fail=True)(_of_numbers(_maker))


def _bind_make_timestamp(name: str, *numbers: Expression) -> Expression:
    """Return the timestamp of six parts, or of microseconds since 1970."""
    if len(numbers) == 1:
        return Call("from_microseconds", (as_bigint(name, numbers[0]),), TIMESTAMP)
    if len(numbers) != 6:
        raise ProgrammingError(f"{name}() takes 1 or 6 arguments, not {len(numbers)}")
    parts = [as_bigint(name, each) for each in numbers[:5]]
    return Call("make_timestamp", (*parts, as_double(name, numbers[5])), TIMESTAMP)


scalar(
    "make_timestamp(year, month, day, hour, minute, second), make_timestamp(n)",
    "a TIMESTAMP, also of microseconds since 1970:"
    " make_timestamp(2026, 5, 17, 10, 37, 0) -> 2026-05-17 10:37:00",
    bind=_bind_make_timestamp,
    can_fail=True,
)(_of_numbers(_make_timestamp))
scalar(name="from_milliseconds", can_fail=True)(_of_numbers(_from_milliseconds))


# -- intervals


def interval_of_units(number: Expression, unit: str) -> Expression:
    """Return the interval of a number of units, such as `INTERVAL (x) DAY`."""
    months, days, microseconds = UNITS[unit]
    one = Literal(pa.MonthDayNano([months, days, microseconds * 1000]), INTERVAL)
    number = require_number("INTERVAL", typed(number, BIGINT))
    return arithmetic("multiply", one, number)


def _bind_units(unit: str, _: str, number: Expression) -> Expression:
    return interval_of_units(number, unit)


for _unit, (_calls, _shown) in {
    "year": ("to_years(n)", "to_years(2) -> 2 years"),
    "quarter": ("to_quarters(n)", "to_quarters(2) -> 6 mons"),
    "month": ("to_months(n)", "to_months(14) -> 1 year 2 mons"),
    "week": ("to_weeks(n)", "to_weeks(2) -> 14 days"),
    "day": ("to_days(n)", "to_days(2) -> 2 days"),
    "hour": ("to_hours(n)", "to_hours(2) -> 02:00:00"),
    "minute": ("to_minutes(n)", "to_minutes(90) -> 01:30:00"),
    "second": ("to_seconds(x)", "to_seconds(1.5) -> 00:00:01.5"),
    "millisecond": ("to_milliseconds(n)", "to_milliseconds(1500) -> 00:00:01.5"),
    "microsecond": ("to_microseconds(n)", "to_microseconds(1500) -> 00:00:00.0015"),
    "decade": ("to_decades(n)", "to_decades(1) -> 10 years"),
    "century": ("to_centuries(n)", "to_centuries(1) -> 100 years"),
    "millennium": ("to_millennia(n)", "to_millennia(1) -> 1000 years"),
}.items():
    _plural = _calls.removeprefix("to_").partition("(")[0]
    composed(_calls, f"an INTERVAL of {_plural}: {_shown}")(functools.partial(_bind_units, _unit))


@composed(
    "make_interval(years [, months, weeks, days, hours, minutes, seconds])",
    "an INTERVAL: make_interval(0, 1, 0, 2) -> 1 mon 2 days",
)
def _make_interval(_: str, *numbers: Expression) -> Expression:
    units = ("year", "month", "week", "day", "hour", "minute", "second")
    parts = [interval_of_units(number, unit) for number, unit in zip(numbers, units, strict=False)]
    return functools.reduce(functools.partial(arithmetic, "add"), parts)
