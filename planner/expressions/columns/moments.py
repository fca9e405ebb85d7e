"""Dates, times, timestamps and intervals as integers in numpy, and back to Arrow.

    DATE       days since 1970-01-01                 TIME      microseconds since midnight
    TIMESTAMP  microseconds since 1970-01-01 00:00   INTERVAL  months, days and microseconds

The years, and the infinite moments, are those of `storage/moments.py`; what is beyond is an error.
The parts of an interval are kept apart: a month has 28 to 31 days, and only a date decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.errors import DataError
from raydb.late import pc
from raydb.planner.expressions.columns.arrays import as_array, common_length, count_true, each
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, MONTH_DAYS
from raydb.planner.expressions.types import INTERVAL
from raydb.storage.clocks import TIMETZ
from raydb.storage.moments import INFINITE_DAY, INFINITE_MOMENT, infinities, is_moment
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.planner.expressions.columns.arrays import Values

Integers: TypeAlias = "NDArray[np.int64]"

_LAST_DAY = INFINITE_DAY - 1
# The last day that timestamps have, of which the first 4 hours, and the first, which is whole.
_LAST_WHOLE_DAY = 106_751_990
_FIRST_WHOLE_DAY = -_LAST_WHOLE_DAY - 1
_LAST_YEAR = 5_900_000
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
    found = array_of(function(*map(numbers_of, arrays)), target, count_true(valid))
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
        check_range(numbers, -INFINITE_DAY, INFINITE_DAY)
        return pa.array(numbers.astype(np.int32)).view(target)
    if pt.is_timestamp(target):
        check_range(numbers, -INFINITE_MOMENT, INFINITE_MOMENT)
        return pa.array(numbers.astype(np.int64, copy=False)).view(target)
    if target == TIMETZ:
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
    wrong = (years < -_LAST_YEAR) | (years > _LAST_YEAR) | (months < 1) | (months > 12)
    if (wrong | (days < 1)).any():
        raise pa.ArrowInvalid("no date")
    months_since = (years - 1970) * 12 + months - 1
    if (days > days_in_month(months_since)).any():
        raise pa.ArrowInvalid("no date")
    numbers = first_day(months_since) + days - 1
    check_range(numbers, -_LAST_DAY, _LAST_DAY)
    return numbers


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


def join_moment(days: Integers, clock: Integers | int = 0) -> Integers:
    """Return the timestamps of days with a clock; pa.ArrowInvalid for one that is out of range."""
    check_range(days, _FIRST_WHOLE_DAY, _LAST_WHOLE_DAY + 1)
    moments = days * DAY_MICROSECONDS + clock
    # The last day wraps around; a day has its clock, so no other one does.
    is_last = days > _LAST_WHOLE_DAY
    if (is_last & ((moments < 0) | (moments == INFINITE_MOMENT))).any():
        raise pa.ArrowInvalid("out of range")
    return moments


def subtract(left: Integers, right: Integers) -> Integers:
    """Return left - right; raises pa.ArrowInvalid for what 64 bits do not hold."""
    difference = left - right
    if (((left ^ right) & (left ^ difference)) < 0).any():
        raise pa.ArrowInvalid("out of range")
    return difference


def shift_finite(moments: Integers, by: Integers) -> Integers:
    """Return timestamps some microseconds later, infinite ones unchanged.

    Raises pa.ArrowInvalid for one that is out of range.
    """
    is_infinite = np.abs(moments) == INFINITE_MOMENT
    shifted = subtract(moments, np.where(is_infinite, 0, -by))
    check_range(np.where(is_infinite, 0, shifted), 1 - INFINITE_MOMENT, INFINITE_MOMENT - 1)
    return shifted


def keep_infinite(function: Callable[..., Integers]) -> Callable[..., Integers]:
    """Let a function of timestamps, the first argument, leave infinite ones as they are."""

    def apply(moments: Integers, *others: Any) -> Integers:
        is_infinite = np.abs(moments) == INFINITE_MOMENT
        if not is_infinite.any():
            return function(moments, *others)
        found = function(np.where(is_infinite, 0, moments), *others)
        return np.where(is_infinite, moments, found)

    return apply


def finite(values: Values) -> Values:
    """Return dates and timestamps with NULL in place of the infinite ones; others unchanged."""
    if not is_moment(values.type):
        return values
    last = INFINITE_DAY if pt.is_date32(values.type) else INFINITE_MOMENT
    ends = (values, values) if isinstance(values, pa.Scalar) else pc.min_max(values).values()
    if not any(end.is_valid and abs(end.value) == last for end in ends):
        return values

    def known(array: pa.Array) -> pa.Array:
        nothing = pa.scalar(None, array.type)
        return pc.if_else(pa.array(infinities(array) == 0), array, nothing)

    return each(values, known, values.type)


def compute_finite(function: Callable[..., Any], target: pa.DataType, *values: Values) -> Values:
    """Apply a function as `compute` does, NULL also where a date or timestamp is infinite."""
    return compute(function, target, *map(finite, values))


def add_months(days: Integers, months: Integers) -> Integers:
    """Add months to dates: the day stays, or becomes the last one of a shorter month."""
    before = month_number(days)
    after = before + months
    day: Integers = np.minimum(days - first_day(before), days_in_month(after) - 1)
    return first_day(after) + day


def add_interval(days: Integers, clock: Integers | int, intervals: Intervals) -> Integers:
    """Return the timestamps an interval after days with a clock: months first, then days and time.

    Raises pa.ArrowInvalid for one that is out of range.
    """
    if intervals.months.any():
        days = add_months(days, intervals.months)
    more, clock = np.divmod(clock + intervals.microseconds, DAY_MICROSECONDS)
    return join_moment(days + intervals.days + more, clock)


def moments_later(moments: Integers, intervals: Intervals) -> Integers:
    """Return timestamps plus intervals, infinite ones unchanged; errors as `add_interval`."""
    return keep_infinite(_moments_later)(moments, intervals)


def _moments_later(moments: Integers, intervals: Intervals) -> Integers:
    return add_interval(*split_moment(moments), intervals)


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
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is out of range
        scaled = _scaled_parts(intervals, factors)
    for number in scaled:
        check_range(number, -(2.0**62), 2.0**62)
    return Intervals(*(number.astype(np.int64) for number in scaled))


def _scaled_parts(
    intervals: Intervals, factors: NDArray[np.int64 | np.float64]
) -> list[NDArray[np.float64]]:
    months = np.trunc(intervals.months * factors)
    # Rounded to a microsecond, so that 0.1 + 0.2 months is no 0.30000000000000004.
    left = np.round((intervals.months * factors - months) * MONTH_DAYS, 6)
    days = np.trunc(intervals.days * factors)
    left_days = np.round(intervals.days * factors - days + left - np.trunc(left), 6)
    days += np.trunc(left) + np.trunc(left_days)
    microseconds = intervals.microseconds * factors
    microseconds = np.rint(microseconds + (left_days - np.trunc(left_days)) * DAY_MICROSECONDS)
    return [months, days, microseconds]


def moments_apart(left: Integers, right: Integers) -> Intervals:
    """Return left - right of timestamps as days and time, both of one sign."""
    if any((np.abs(side) == INFINITE_MOMENT).any() for side in (left, right)):
        raise DataError("an infinite TIMESTAMP cannot be subtracted, nor subtracted from")
    (left_day, left_clock), (right_day, right_clock) = map(split_moment, (left, right))
    days, clock = left_day - right_day, left_clock - right_clock
    borrowed = np.where((days > 0) & (clock < 0), 1, np.where((days < 0) & (clock > 0), -1, 0))
    return Intervals(np.zeros_like(days), days - borrowed, clock + borrowed * DAY_MICROSECONDS)
