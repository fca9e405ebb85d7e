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
def drop_nulls(bits: NDArray[np.uint8], offset: int, rows: NDArray[np.int32]) -> int:
    """Move the rows whose bit is set, counted from the offset, to the front; return their count."""
    count = 0
    for place in range(len(rows)):
        row = rows[place]
        rows[count] = row
        bit = row + offset
        count += (bits[bit >> 3] >> (bit & 7)) & 1
    return count


@compiled
def find_extremes(
    keys: NDArray[np.int64],
    values: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
) -> None:
    """Lower the least value of each key and raise the greatest one; keys of -1 have none."""
    for row in range(len(keys)):
        key = keys[row]
        if key >= 0:
            least[key] = min(least[key], values[row])
            most[key] = max(most[key], values[row])


@compiled
def beside_extremes(
    keys: NDArray[np.int64],
    values: NDArray[np.int64],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
    compared: int,
    found: NDArray[np.bool_],
) -> None:
    """Write whether a row's value is other than some value of its key.

    compared: 0 for that, 1 for less, 2 for at most, 3 for greater, 4 for at least.
    Keys of -1 have no values, nor have those whose least one is above the greatest.
    """
    for row in range(len(keys)):
        key, value = keys[row], values[row]
        if key < 0 or least[key] > most[key]:
            found[row] = False
        elif compared == 0:
            found[row] = least[key] != value or most[key] != value
        elif compared <= 2:
            found[row] = value < most[key] or (compared == 2 and value == most[key])
        else:
            found[row] = value > least[key] or (compared == 4 and value == least[key])


@compiled
def place_keys(keys: NDArray[np.signedinteger], least: int, table: NDArray[np.int32]) -> bool:
    """Write into a table of -1 in which row each key is; return whether all keys differ."""
    for row in range(len(keys)):
        place = keys[row] - least
        if table[place] >= 0:
            return False
        table[place] = row
    return True


@compiled
def look_up_keys(
    keys: NDArray[np.signedinteger],
    least: int,
    table: NDArray[np.int32],
    rows: NDArray[np.int32],
) -> None:
    """Write for each key what a table has; its last entry is for keys outside of it."""
    last = np.uint64(len(table) - 1)
    for row in range(len(keys)):
        rows[row] = table[min(np.uint64(keys[row] - least), last)]


@compiled
def clear_nulls(bits: NDArray[np.uint8], offset: int, rows: NDArray[np.int32]) -> None:
    """Write -1 where the bit, counted from the offset, is not set."""
    for place in range(len(rows)):
        bit = place + offset
        is_null = ((bits[bit >> 3] >> (bit & 7)) & 1) == 0
        rows[place] = -1 if is_null else rows[place]


@compiled
def chain_keys(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    heads: NDArray[np.int32],
    following: NDArray[np.int32],
    numbers: NDArray[np.int64],
    most: int,
) -> bool:
    """Number pairs of codes by the first row that has them, -1 where one of them is -1.

    heads: of each first code the first row of the chain of those that have it; following: the next
    one. Returns False where that takes more than `most` steps along chains.
    """
    count = 0
    for row in range(len(first)):
        if (first[row] | second[row]) < 0:
            numbers[row] = -1
            continue
        found = heads[first[row]]
        while found >= 0 and second[found] != second[row]:
            found = following[found]
            count += 1
        if count > most:
            return False
        if found < 0:
            found = row
            following[row] = heads[first[row]]
            heads[first[row]] = row
        numbers[row] = found
    return True


@compiled
def find_in_chains(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    known: NDArray[np.int64],
    heads: NDArray[np.int32],
    following: NDArray[np.int32],
    numbers: NDArray[np.int64],
    most: int,
) -> bool:
    """Write the number of each pair of codes, -1 where none is known; known: second codes.

    Returns False where that takes more than `most` steps along chains.
    """
    count = 0
    for row in range(len(first)):
        found = np.int32(-1)
        if (first[row] | second[row]) >= 0:
            found = heads[first[row]]
            while found >= 0 and known[found] != second[row]:
                found = following[found]
                count += 1
        if count > most:
            return False
        numbers[row] = found
    return True


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
