"""Loops over keys of a join, and the bitmap of them: bit `code - least` is set for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ONE = np.uint64(1)
_LOW = np.uint64(63)
_SIX = np.uint64(6)


@compiled
def set_keys(codes: NDArray[np.int64], least: int, words: NDArray[np.uint64]) -> int:
    """Set the bits of keys, each at or above the least one; return how many are new."""
    count = 0
    for row in range(len(codes)):
        place = np.uint64(codes[row] - least)
        bit = _ONE << (place & _LOW)
        word = words[place >> _SIX]
        count += (word & bit) == 0
        words[place >> _SIX] = word | bit
    return count


@compiled
def rows_with_keys(
    codes: NDArray[np.signedinteger],
    least: int,
    words: NDArray[np.uint64],
    rows: NDArray[np.int32],
) -> int:
    """Write the numbers of the rows whose bit is set, and return their count.

    The last bit of `words` is 0, and codes outside of the bitmap are looked up there.
    """
    last = np.uint64(64 * len(words) - 1)
    count = 0
    for row in range(len(codes)):
        # As an unsigned number, what lies below the least key is far above the greatest.
        place = min(np.uint64(codes[row] - least), last)
        rows[count] = row
        count += int(words[place >> _SIX] >> (place & _LOW) & _ONE)
    return count


@compiled
def some_with_keys(
    codes: NDArray[np.signedinteger],
    least: int,
    words: NDArray[np.uint64],
    among: NDArray[np.int32],
    rows: NDArray[np.int32],
) -> int:
    """Do what `rows_with_keys` does, of some rows."""
    last = np.uint64(64 * len(words) - 1)
    count = 0
    for row in among:
        place = min(np.uint64(codes[row] - least), last)
        rows[count] = row
        count += int(words[place >> _SIX] >> (place & _LOW) & _ONE)
    return count


@compiled
def pack_codes(
    first: NDArray[np.int64], second: NDArray[np.int64], size: int, packed: NDArray[np.int64]
) -> None:
    """Write first * size + second for each row, -1 where one of them is -1; size: of the second."""
    for row in range(len(packed)):
        whole = first[row] * size + second[row]
        packed[row] = -1 if (first[row] | second[row]) < 0 else whole


@inlined
def _count_bits(word: np.uint64) -> np.uint64:
    word -= (word >> _ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def count_before(words: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Write how many keys lie before each word."""
    count = 0
    for place in range(len(words)):
        counts[place] = count
        count += int(_count_bits(words[place]))


@compiled
def number_keys(
    codes: NDArray[np.int64],
    least: int,
    words: NDArray[np.uint64],
    counts: NDArray[np.int64],
    numbers: NDArray[np.int64],
) -> None:
    """Write for each code which of the keys it is, in their order, or -1; see `rows_with_keys`."""
    last = np.uint64(64 * len(words) - 1)
    for row in range(len(codes)):
        place = min(np.uint64(codes[row] - least), last)
        word = words[place >> _SIX]
        bit = _ONE << (place & _LOW)
        number = counts[place >> _SIX] + np.int64(_count_bits(word & (bit - _ONE)))
        numbers[row] = number if word & bit else -1
