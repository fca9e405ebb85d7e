"""Doubles and intervals as Arrow can compare, group and sort them.

Doubles are in total order, as in PostgreSQL: NaN equals NaN and is the greatest, -0.0 equals 0.0.
Intervals are compared with 30 days a month and 24 hours a day.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.late import pc
from raydb.planner.expressions.columns.arrays import Values, each
from raydb.planner.expressions.columns.moments import numbers_of
from raydb.planner.expressions.interval_text import DAY_MICROSECONDS, MONTH_DAYS


def canonical_floats(values: Values) -> Values:
    """Return doubles with one zero (-0.0 becomes 0.0) and one NaN; other types unchanged.

    Arrow hashes doubles by their bits, so group and join keys have to pass through here.
    """
    if not pt.is_floating(values.type):
        return values
    if pt.is_float16(values.type):  # Arrow only casts them
        return pc.cast(canonical_floats(pc.cast(values, pa.float32())), pa.float16())
    values = pc.add(values, pa.scalar(0.0, values.type))
    if not pc.any(pc.is_nan(values)).as_py():
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), values.type), values)


def order_codes(values: Values) -> Values:
    """Return int64 codes in the total order of the doubles, NaN last; other types unchanged.

    The bits of positive doubles are in order as integers; those of negative ones run backwards.
    """
    if not pt.is_floating(values.type):
        return values

    def encode(array: pa.Array) -> pa.Array:
        bits = array.fill_null(0.0).to_numpy().view(np.int64)
        codes = pa.array(bits ^ ((bits >> 63) & np.int64(2**63 - 1)))
        return pc.if_else(array.is_valid(), codes, pa.scalar(None, pa.int64()))

    doubles = canonical_floats(pc.cast(values, pa.float64()))
    return each(doubles, encode, pa.int64())


def doubles_of_codes(codes: pa.Array) -> pa.Array:
    """Return the doubles of `order_codes`."""
    bits = codes.fill_null(0).to_numpy()
    doubles = pa.array((bits ^ ((bits >> 63) & np.int64(2**63 - 1))).view(np.float64))
    return pc.if_else(codes.is_valid(), doubles, pa.scalar(None, pa.float64()))


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
