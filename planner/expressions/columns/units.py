"""Timestamps of one unit as those of another: TIMESTAMP_S, _MS, _NS and TIMESTAMP.

    1969-12-31 23:59:59.9999996   as TIMESTAMP   1970-01-01 00:00:00    rounded by a cast
                                  its day        1969-12-31             cut off by functions

An infinite timestamp has the same number in all units, the greatest or the least.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from raydb.planner.expressions.columns.moments import check_range, compute, keep_infinite
from raydb.planner.expressions.types import TIMESTAMP
from raydb.storage.moments import INFINITE_MOMENT

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.columns.moments import Integers

_IN_A_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000, "ns": 1_000_000_000}


def in_unit(values: Values, target: pa.DataType) -> Values:
    """Return timestamps in another unit, rounded, halves away from 1970.

    Raises pa.ArrowInvalid for one that the unit has no number of.
    """
    have, want = _IN_A_SECOND[values.type.unit], _IN_A_SECOND[target.unit]
    if have == want:
        return values
    if have < want:
        return compute(partial(_finer, by=want // have), target, values)
    return compute(partial(_coarser, by=have // want), target, values)


def whole_microseconds(values: Values) -> Values:
    """Return timestamps as TIMESTAMP, without their nanoseconds."""
    if values.type.unit != "ns":
        return in_unit(values, TIMESTAMP)
    return compute(keep_infinite(lambda nanoseconds: nanoseconds // 1000), TIMESTAMP, values)


def with_nanoseconds(moments: Integers, fine: Integers) -> Integers:
    """Return timestamps of microseconds as nanoseconds, with those of others behind them.

    Raises pa.ArrowInvalid for one that has no number.
    """
    rest = np.where(np.abs(fine) == INFINITE_MOMENT, 0, fine % 1000)
    is_infinite = np.abs(moments) == INFINITE_MOMENT
    scaled = _finer(moments, by=1000)
    # Of the last microsecond not all nanoseconds have numbers.
    last = INFINITE_MOMENT - 1 - rest
    check_range(last - np.where(is_infinite | (scaled < 0), 0, scaled), 0, INFINITE_MOMENT)
    found: Integers = np.where(is_infinite, scaled, scaled + rest)
    return found


def _finer(moments: Integers, *, by: int) -> Integers:
    is_infinite = np.abs(moments) == INFINITE_MOMENT
    most = (INFINITE_MOMENT - 1) // by
    check_range(np.where(is_infinite, 0, moments), -most, most)
    scaled: Integers = np.where(is_infinite, moments, np.where(is_infinite, 0, moments) * by)
    return scaled


def _coarser(moments: Integers, *, by: int) -> Integers:
    is_infinite = np.abs(moments) == INFINITE_MOMENT
    size = np.abs(np.where(is_infinite, 0, moments))
    quotient, rest = np.divmod(size, by)
    rounded = np.sign(moments) * (quotient + (2 * rest >= by))
    found: Integers = np.where(is_infinite, moments, rounded)
    return found
