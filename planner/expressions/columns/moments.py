"""Dates, times, timestamps and intervals as integers in numpy, and back to Arrow.

    DATE       days since 1970-01-01                 TIME      microseconds since midnight
    TIMESTAMP  microseconds since 1970-01-01 00:00   INTERVAL  months, days and microseconds

Years are 1 to 9999, as in Python's `datetime`: a result beyond them is out of range.
The parts of an interval are kept apart: a month has 28 to 31 days, and only a date decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from raydb.planner.expressions.columns.arrays import as_array, common_length
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, MONTH_DAYS
from raydb.planner.expressions.types import INTERVAL
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.planner.expressions.columns.arrays import Values

Integers: TypeAlias = NDArray[np.int64]

FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31
_FIRST_MOMENT, _LAST_MOMENT = FIRST_DAY * DAY_MICROSECONDS, (LAST_DAY + 1) * DAY_MICROSECONDS - 1
_PARTS = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
_MAX_INT32 = 2**31 - 1
_MAX_MICROSECONDS = (2**63 - 1) // 1000


@dataclass(frozen=True, eq=False, slots=True)
class Intervals:
    """Intervals as three arrays of one length; no part is carried over into another."""

    months: Integers
    days: Integers
    microseconds: Integers


def compute(function: Callable[..., Any], target: pa.DataType, *values: Values) -> Values:
    """Apply a function of numpy arrays to values, NULL where one of them is NULL.

    The function gets for each value integers, doubles or Intervals: one
    for each row, or a single one for a scalar, and returns what `target` is made of. The result is
    a scalar where all values are. Raises pa.ArrowInvalid for a result that is out of range.
    """
    count = common_length(values)
    if any(isinstance(value, pa.Scalar) and not value.is_valid for value in values):
        nothing = pa.scalar(None, target)
        return nothing if count is None else pa.nulls(count, target)
    arrays = [as_array(value, 1) for value in values]
    valid = _valid_rows([array for array in arrays if array.null_count])
    if valid is None:
        result = array_of(function(*map(numbers_of, arrays)), target, 1 if count is None else count)
        return result[0] if count is None else result
    arrays = [array.filter(valid) if len(array) == count else array for array in arrays]
    found = array_of(function(*map(numbers_of, arrays)), target, pc.sum(valid, min_count=0).as_py())
    places = pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1)
    return found.take(pc.if_else(valid, places, pa.scalar(None, pa.int64())))


def _valid_rows(arrays: list[pa.Array]) -> pa.Array | None:
    valid = None
    for array in arrays:
        valid = array.is_valid() if valid is None else pc.and_(valid, array.is_valid())
    return valid


def numbers_of(array: pa.Array) -> Any:
    """Return the values of an array without NULLs as int64, float64 or Intervals."""
    kind = array.type
    if pt.is_interval(kind):
        parts = np.frombuffer(array.buffers()[1], _PARTS)[array.offset : array.offset + len(array)]
        months, days = parts["months"].astype(np.int64), parts["days"].astype(np.int64)
        return Intervals(months, days, parts["nanoseconds"] // 1000)
    if pt.is_date32(kind):
        array = array.view(pa.int32())
    elif pt.is_timestamp(kind) or pt.is_time64(kind):
        array = array.view(pa.int64())
    number = np.float64 if pt.is_floating(array.type) else np.int64
    return array.to_numpy(zero_copy_only=False).astype(number, copy=False)


def array_of(result: Any, target: pa.DataType, count: int) -> pa.Array:
    """Return integers, doubles or Intervals, or one for all, as an Arrow array of `count` values.

    Raises pa.ArrowInvalid for one that is out of the range of its type.
    """
    if isinstance(result, Intervals):
        return _interval_array(result, count)
    numbers = np.ascontiguousarray(np.broadcast_to(np.asarray(result), count))
    if pt.is_date32(target):
        check_range(numbers, FIRST_DAY, LAST_DAY)
        return pa.array(numbers.astype(np.int32)).view(target)
    if pt.is_timestamp(target):
        check_range(numbers, _FIRST_MOMENT, _LAST_MOMENT)
        return pa.array(numbers.astype(np.int64, copy=False)).view(target)
    if pt.is_time64(target):
        check_range(numbers, 0, DAY_MICROSECONDS - 1)
        return pa.array(numbers.astype(np.int64, copy=False)).view(target)
    return pa.array(numbers)


def _interval_array(intervals: Intervals, count: int) -> pa.Array:
    parts = np.empty(count, _PARTS)
    check_range(intervals.months, -_MAX_INT32, _MAX_INT32)
    check_range(intervals.days, -_MAX_INT32, _MAX_INT32)
    check_range(intervals.microseconds, -_MAX_MICROSECONDS, _MAX_MICROSECONDS)
    parts["months"] = intervals.months
    parts["days"] = intervals.days
    parts["nanoseconds"] = intervals.microseconds * 1000
    return pa.Array.from_buffers(INTERVAL, count, [None, pa.py_buffer(parts)])


def check_range(numbers: NDArray[Any], least: float, most: float) -> None:
    """Raise pa.ArrowInvalid unless all numbers are between two bounds."""
    if ((numbers < least) | (numbers > most)).any():
        raise pa.ArrowInvalid("out of range")


# -- the calendar


def day_number(years: Integers, months: Integers, days: Integers) -> Integers:
    """Return the days since 1970-01-01 of dates.

    Raises pa.ArrowInvalid for one that is not in the calendar, such as February 30.
    """
    months_since = (years - 1970) * 12 + months - 1
    wrong = (years < 1) | (years > 9999) | (months < 1) | (months > 12) | (days < 1)
    if (wrong | (days > days_in_month(months_since))).any():
        raise pa.ArrowInvalid("no date")
    return first_day(months_since) + days - 1


def month_number(days: Integers) -> Integers:
    """Return the months since January 1970 of dates."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def first_day(months: Integers) -> Integers:
    """Return the first day of months since January 1970."""
    days: Integers = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
    return days


def days_in_month(months: Integers) -> Integers:
    """Return the length of months since January 1970."""
    return first_day(months + 1) - first_day(months)


def split_moment(moments: Integers) -> tuple[Integers, Integers]:
    """Return the days and the microseconds within the day of timestamps."""
    days, clock = np.divmod(moments, DAY_MICROSECONDS)
    return days, clock


def add_months(days: Integers, months: Integers) -> Integers:
    """Add months to dates: the day stays, or becomes the last one of a shorter month."""
    before = month_number(days)
    after = before + months
    day: Integers = np.minimum(days - first_day(before), days_in_month(after) - 1)
    return first_day(after) + day


def add_interval(days: Integers, clock: Integers | int, intervals: Intervals) -> Integers:
    """Return the timestamps an interval after days with a clock: months first, then days and time.

    Raises pa.ArrowInvalid where one leaves the years 1 to 9999.
    """
    if intervals.months.any():
        days = add_months(days, intervals.months)
    more, clock = np.divmod(clock + intervals.microseconds, DAY_MICROSECONDS)
    days = days + intervals.days + more
    check_range(days, FIRST_DAY, LAST_DAY)
    return days * DAY_MICROSECONDS + clock


# -- intervals


def add_intervals(left: Intervals, right: Intervals) -> Intervals:
    """Return the sums, part by part."""
    check_range(np.abs(left.microseconds) // 2 + np.abs(right.microseconds) // 2, 0, 2**62 - 1)
    return Intervals(
        left.months + right.months,
        left.days + right.days,
        left.microseconds + right.microseconds,
    )


def negate_intervals(intervals: Intervals) -> Intervals:
    """Return the intervals backwards."""
    return Intervals(-intervals.months, -intervals.days, -intervals.microseconds)


def scale_intervals(intervals: Intervals, factors: NDArray[np.int64 | np.float64]) -> Intervals:
    """Return intervals times numbers; what is left of a month becomes days, of a day time.

    As PostgreSQL's interval_mul(): half a month is 15 days, half a day 12 hours.
    """
    if not np.isfinite(factors).all():
        raise pa.ArrowInvalid("out of range")
    if np.issubdtype(factors.dtype, np.integer):
        whole = factors.astype(np.int64)
        parts = (intervals.months, intervals.days, intervals.microseconds)
        for part in parts:
            check_range(part.astype(np.float64) * factors, -(2.0**62), 2.0**62)
        return Intervals(*(part * whole for part in parts))
    months = np.trunc(intervals.months * factors)
    # Rounded to a microsecond, so that 0.1 + 0.2 months is no 0.30000000000000004.
    left = np.round((intervals.months * factors - months) * MONTH_DAYS, 6)
    days = np.trunc(intervals.days * factors)
    left_days = np.round(intervals.days * factors - days + left - np.trunc(left), 6)
    days += np.trunc(left) + np.trunc(left_days)
    microseconds = intervals.microseconds * factors
    microseconds = np.rint(microseconds + (left_days - np.trunc(left_days)) * DAY_MICROSECONDS)
    for part in (months, days, microseconds):
        check_range(part, -(2.0**62), 2.0**62)
    return Intervals(*(part.astype(np.int64) for part in (months, days, microseconds)))


def moments_apart(left: Integers, right: Integers) -> Intervals:
    """Return left - right of timestamps as days and time, both of one sign."""
    difference = left - right
    days = np.sign(difference) * (np.abs(difference) // DAY_MICROSECONDS)
    return Intervals(np.zeros_like(days), days, difference - days * DAY_MICROSECONDS)
