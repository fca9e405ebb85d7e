"""Decimals with fewer digits behind the point.

Arrow (26.0) divides wrongly where a divisor has more than 32 bits: (2**63 - 1) * 10**19 by 10**17
ends in other digits. So digits are dropped nine at a time.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from raydb.planner.expressions.types import decimal_type

_STEP = 9  # 10**9 is the last power of ten below 2**32

Mode: TypeAlias = Literal["half_towards_infinity", "towards_zero", "down", "up"]


def relabel(decimals: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same unscaled integers under another precision and scale, without a copy."""
    validity, digits = decimals.buffers()
    return pa.Array.from_buffers(target, len(decimals), [validity, digits], offset=decimals.offset)


def round_decimals(decimals: pa.Array, scale: int, mode: Mode) -> pa.Array:
    """Return decimals of a smaller scale, or the same.

    >>> round_decimals(pa.array([Decimal("2.345")]), 2, "half_towards_infinity")
    [2.35]
    """
    # What is cut off before the digit that decides changes nothing of what that says.
    before = "towards_zero" if mode == "half_towards_infinity" else mode
    while decimals.type.scale > scale + _STEP:
        decimals = _round_once(decimals, decimals.type.scale - _STEP, before)
    return _round_once(decimals, scale, mode) if decimals.type.scale > scale else decimals


def _round_once(decimals: pa.Array, scale: int, mode: Mode) -> pa.Array:
    kind = decimals.type
    # 9.99 rounds to 10.0, which needs one digit more in front.
    room = decimal_type(kind.precision + 1, kind.scale)
    rounded = pc.round(pc.cast(decimals, room), scale, mode)
    digits = room.precision - (kind.scale - scale)
    return pc.cast(rounded, decimal_type(digits, scale))
