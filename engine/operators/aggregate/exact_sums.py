"""Exact sums of integers and decimals: 64-bit additions that cannot overflow.

A number is split into limbs, the limbs are added up each on its own, by whoever calls, and the
sums of limbs become one number again:

    128 bits  =  limb 0 + limb 1 * 2**32 + limb 2 * 2**64 + limb 3 * 2**96

All limbs but the last are 0 to 2**32 - 1, so 2**31 rows fit an int64. Where the bounds of the
values show that the sum of all rows fits an int64, one limb holds the whole number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from raydb.engine.operators.relation import joined
from raydb.errors import DataError
from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.late import pc
from raydb.planner.expressions.casts.cast import cast_values
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LIMB = np.int64(2**32 - 1)
# float64 holds every integer up to here.
EXACT_DOUBLE = 2**53
_MAX_DIGITS = 10**38

# Averages of fewer groups are divided one by one: that takes less than to find those that are easy.
_FEW_GROUPS = 8


def is_exact(kind: pa.DataType) -> bool:
    """Tell whether values of a type are added up exactly: integers and decimals."""
    return bool(pt.is_integer(kind) or pt.is_decimal128(kind))


def split_limbs(values: pa.Array) -> list[NDArray[np.int64]]:
    """Return the limbs of integers or decimals (the unscaled ones), lowest first; 0 for NULL."""
    words = _words(values)
    return _split(words, _limb_count([words]))


def limb_sums(
    values: pa.ChunkedArray | pa.Array, numbers: NDArray[np.int64], group_count: int
) -> list[NDArray[np.int64]]:
    """Return the sum of each limb over the rows of each group, chunk by chunk without a copy."""
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    words = [_words(chunk) for chunk in chunks]
    limb_count = _limb_count(words)
    sums = [np.zeros(group_count, np.int64) for _ in range(limb_count)]
    start = 0
    for part in words:
        end = start + len(part)
        for total, limb in zip(sums, _split(part, limb_count), strict=True):
            if group_count == 1:
                total += limb.sum()  # noqa: PLW2901  (in place)
            else:
                np.add.at(total, numbers[start:end], limb)
        start = end
    return sums


def _words(array: pa.Array) -> NDArray[Any]:
    """Return numbers as int64 of shape (n,), or as 128-bit words of shape (n, 2); 0 for NULL."""
    words = words_of(array)
    if array.null_count:
        valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
        words = np.where(valid[:, None] if words.ndim == 2 else valid, words, 0)
    if words.dtype == np.uint64:
        words = np.stack([words.view(np.int64), np.zeros(len(words), np.int64)], axis=1)
    if words.ndim == 2 and _is_narrow(words):
        return words[:, 0]
    return words


def _is_narrow(words: NDArray[np.int64]) -> bool:
    """Tell whether the high words only repeat the sign of the low ones."""
    low, high = words[:, 0], words[:, 1]
    if not high.any() and (len(low) == 0 or low.min() >= 0):
        return True  # the most frequent case needs no array of its own
    return bool((high == low >> 63).all())


def _limb_count(parts: Sequence[NDArray[Any]]) -> int:
    """Return in how many limbs numbers have to be added up: 1, 2 or 4."""
    if any(words.ndim == 2 for words in parts):
        return 4
    filled = [words for words in parts if len(words)]
    if all(words.itemsize <= 4 for words in filled):
        return 1  # so many rows as 2**31 have room, as those of limbs
    most = max((max(-int(words.min()), int(words.max())) for words in filled), default=0)
    return 1 if most * sum(map(len, filled)) < 2**63 else 2


def _split(words: NDArray[Any], limb_count: int) -> list[NDArray[np.int64]]:
    if limb_count == 1:
        return [words.astype(np.int64, copy=False)]
    if limb_count == 2:
        whole = words.astype(np.int64, copy=False)
        return [whole & _LIMB, whole >> 32]
    low, high = (words[:, 0], words[:, 1]) if words.ndim == 2 else (words, words >> 63)
    low, high = low.astype(np.int64, copy=False), high.astype(np.int64, copy=False)
    return [low & _LIMB, (low >> 32) & _LIMB, high & _LIMB, high >> 32]


def join_limbs(
    sums: Sequence[NDArray[np.int64]], valid: NDArray[np.bool_], target: pa.DataType
) -> pa.Array:
    """Return the sums of limbs as BIGINT or as a decimal of the same scale, NULL where not valid.

    Raises DataError where a sum does not fit.
    """
    if len(sums) == 1 and pt.is_int64(target):
        return pa.array(sums[0], mask=~valid)
    low, high, fits = _carry(sums)
    if pt.is_int64(target):
        fits &= high == low >> 63
    if not (fits | ~valid).all():
        raise _out_of_range(target)
    if pt.is_int64(target):
        return pa.array(low, mask=~valid)
    words = np.stack([low, high], axis=1)
    mask = None if valid.all() else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(target, len(low), [mask, pa.py_buffer(words)])


def _carry(
    sums: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the low and high words of 128-bit sums, and which of them have at most 38 digits."""
    if len(sums) == 1:
        low = sums[0]
        return low, low >> 63, np.ones(len(low), np.bool_)
    limbs, carried = [], np.zeros(len(sums[0]), np.int64)
    for limb in sums[:-1]:
        total = limb + carried
        limbs.append(total & _LIMB)
        carried = total >> 32
    top = sums[-1] + carried
    if len(sums) == 2:  # at most 2**95
        return limbs[0] | (top << 32), top >> 32, np.ones(len(top), np.bool_)
    low, high = limbs[0] | (limbs[1] << 32), limbs[2] | (top << 32)
    most_high = _MAX_DIGITS >> 64
    fits = (top == (top << 32) >> 32) & (high <= most_high) & (high >= -most_high - 1)
    for edge in np.flatnonzero((high == most_high) | (high == -most_high - 1)):
        number = (int(high[edge]) << 64) + (int(low[edge]) % 2**64)
        fits[edge] &= abs(number) < _MAX_DIGITS
    return low, high, fits


def sum_of_few(values: Sequence[int], target: pa.DataType) -> pa.Array:
    """Return the sum of some integers as `join_limbs` does, NULL for that of none."""
    total = sum(values) if values else None
    if total is not None and pt.is_int64(target) and not -(2**63) <= total < 2**63:
        raise _out_of_range(target)
    return pa.array([total], target)


def _out_of_range(target: pa.DataType) -> DataError:
    return DataError(f"the sum is out of range for {sql_type_name(target)}")


def average(
    sums: Sequence[NDArray[np.int64]], counts: NDArray[np.int64], kind: pa.DataType
) -> pa.Array:
    """Return the nearest double to each sum over its count; NULL where the count is 0."""
    scale = 10**kind.scale if pt.is_decimal(kind) else 1
    if len(counts) <= _FEW_GROUPS:
        limbs = zip(*[limb.tolist() for limb in sums], strict=True)
        pairs = zip(limbs, counts.tolist(), strict=True)
        return pa.array([_quotient(each, count * scale) for each, count in pairs], pa.float64())
    some = counts > 0
    most_count = int(counts.max())
    whole = sums[0]
    is_small = len(sums) == 1 and most_count * scale <= EXACT_DOUBLE
    easy = (np.abs(whole) <= EXACT_DOUBLE) & some if is_small else np.zeros(len(whole), np.bool_)
    # One division of two exact doubles rounds once.
    divisors = np.where(easy, counts, 1).astype(np.float64) * float(scale)
    averages = np.where(easy, whole, 0).astype(np.float64) / divisors
    for place in np.flatnonzero(some & ~easy):
        averages[place] = _quotient([int(limb[place]) for limb in sums], int(counts[place]) * scale)
    return pa.array(averages, mask=~some)


def _quotient(limbs: Sequence[int], divisor: int) -> float | None:
    """Return the sum of limbs by a divisor, None where that is 0."""
    # Python divides two integers of any size to the nearest double.
    total = sum([limb << (32 * number) for number, limb in enumerate(limbs)])
    return total / divisor if divisor else None


def as_doubles(values: pa.ChunkedArray | pa.Array) -> NDArray[np.float64]:
    """Return numbers as doubles, 0 where NULL."""
    doubles = joined(cast_values(values, pa.float64()))
    filled: NDArray[np.float64] = doubles.fill_null(0.0).to_numpy()
    return filled
