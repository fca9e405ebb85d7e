"""Intervals: their order and their arithmetic, as in PostgreSQL.

An interval has months, days and microseconds, which are kept apart: a month has 28 to 31 days, and
only a date decides. They are compared with 30 days a month and 24 hours a day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from raydb.planner.expressions.casts.casts import Values, each
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, MONTH_DAYS
from raydb.planner.expressions.moments import Integers, Intervals, check_range, numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


# -- order


def order_intervals(values: Values) -> Values:
    """Return decimals in the order of intervals, equal where these are; other types unchanged."""
    if not pt.is_interval(values.type):
        return values
    codes = pa.decimal128(38, 0)

    def encode(array: pa.Array) -> pa.Array:
        intervals = numbers_of(array)
        days, clock = np.divmod(intervals.microseconds, DAY_MICROSECONDS)
        # The high word of 128 bits is the days, the low word the time of the day.
        words = np.stack([clock, days + intervals.days + intervals.months * MONTH_DAYS], axis=1)
        validity = array.is_valid()
        decimals = pa.Array.from_buffers(codes, len(array), [None, pa.py_buffer(words.tobytes())])
        return pc.if_else(validity, decimals, pa.scalar(None, codes))

    return each(values, encode, codes)


# -- arithmetic


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
