"""Decimals with fewer digits behind the point, and halves of doubles.

Arrow (26.0) divides wrongly where a divisor has more than 32 bits: (2**63 - 1) * 10**19 by 10**17
ends in other digits. So digits are dropped nine at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from raydb.late import pc
from raydb.planner.expressions.types import decimal_type

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEP = 9  # 10**9 is the last power of ten below 2**32

_EXACT_POWER = 22  # 10.0**22 is the last power of ten that is exact
_WIDE = 60  # digits of a sum of two decimals, and more
_HALF_OF_BITS = 2.0**27 + 1

Mode: TypeAlias = Literal["half_towards_infinity", "half_to_even", "towards_zero", "down", "up"]


def relabel(decimals: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the same unscaled integers under another precision and scale, without a copy."""
    validity, digits = decimals.buffers()
    return pa.Array.from_buffers(target, len(decimals), [validity, digits], offset=decimals.offset)


def round_decimals(decimals: pa.Array, scale: int, mode: Mode) -> pa.Array:
    """Return decimals of a smaller scale, or the same.

    >>> round_decimals(pa.array([Decimal("2.345")]), 2, "half_towards_infinity")
    [2.35]
    """
    if mode == "half_to_even":
        return _round_to_even(decimals, scale)
    # What is cut off before the digit that decides changes nothing of what that says.
    before = "towards_zero" if mode == "half_towards_infinity" else mode
    while decimals.type.scale > scale + _STEP:
        decimals = _round_once(decimals, decimals.type.scale - _STEP, before)
    return _round_once(decimals, scale, mode) if decimals.type.scale > scale else decimals


def _round_to_even(decimals: pa.Array, scale: int) -> pa.Array:
    """Return rounded decimals, halves to an even digit.

    Digits are dropped in steps, and after the first one what looks like a half may be more.
    """
    away = round_decimals(decimals, scale, "half_towards_infinity")
    cut = pc.cast(round_decimals(decimals, scale, "towards_zero"), away.type)
    value, low, high = (
        pc.cast(each, pa.decimal256(_WIDE, each.type.scale)) for each in (decimals, cut, away)
    )
    is_half = pc.equal(pc.add(value, value), pc.add(low, high))
    words = away.type.bit_width // 64
    units = np.frombuffer(cut.buffers()[1], "<u8")[cut.offset * words :: words][: len(cut)]
    is_even = pa.array(units % 2 == 0)
    return pc.if_else(pc.and_(is_half, is_even), cut, away)


def _round_once(decimals: pa.Array, scale: int, mode: Mode) -> pa.Array:
    kind = decimals.type
    # 9.99 rounds to 10.0, which needs one digit more in front.
    room = decimal_type(kind.precision + 1, kind.scale)
    rounded = pc.round(pc.cast(decimals, room), scale, mode)
    digits = room.precision - (kind.scale - scale)
    return pc.cast(rounded, decimal_type(digits, scale))


def without_false_halves(values: NDArray[np.float64], digits: int) -> NDArray[np.float64]:
    """Return finite doubles that round to digits as what they are, not as their rounded product is.

    2.675 is a little less than it says, and 2.675 * 100 is 267.5: the next smaller double takes its
    place. What a product has lost is found as in Dekker, "A floating-point technique for extending
    the available precision" (1971), section 5.
    """
    if abs(digits) > _EXACT_POWER or digits == 0:
        return values
    power = 10.0 ** abs(digits)
    scaled = values * power if digits > 0 else values / power
    halves = np.flatnonzero(np.abs(scaled - np.trunc(scaled)) == 0.5)
    if not len(halves):
        return values
    some, half = values[halves], scaled[halves]
    # The number less the half that it seems to be, times a positive number.
    excess = _product_less(some, power, half) if digits > 0 else -_product_less(half, power, some)
    smaller = halves[excess * np.sign(half) < 0]
    if len(smaller):
        values = values.copy()
        values[smaller] = np.nextafter(values[smaller], 0.0)
    return values


def _product_less(
    values: NDArray[np.float64], factor: float, subtracted: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values * factor - subtracted, where the product is about what is subtracted."""
    high, low = _halves_of_bits(values)
    (factor_high,), (factor_low,) = _halves_of_bits(np.array([factor]))
    product = values * factor
    lost: NDArray[np.float64] = high * factor_high - product
    lost = lost + high * factor_low + low * factor_high + low * factor_low
    lost += product - subtracted
    return lost


def _halves_of_bits(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return doubles as sums of two that have half of their bits each."""
    shifted = values * _HALF_OF_BITS
    high = shifted - (shifted - values)
    return high, values - high
