"""What encodings ask of a chunk, in one pass, as `storage.flat.encodings.survey` says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows at which a stride and a line are first tried: what they leave of these, they leave of all.
_TRIED_ROWS = 33
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _width_for(span: np.uint64) -> np.uint64:
    """Return what `bits_for` of `storage.flat.encodings.bits` does."""
    bits = np.uint64(1)
    while bits < 64 and span >> bits:
        bits += np.uint64(1)
    word = np.uint64(8)
    while word < bits:
        word += word
    return word if bits * np.uint64(8) > word * np.uint64(7) else bits


@inlined
def _divisor(one: np.uint64, other: np.uint64) -> np.uint64:
    """Return the greatest common divisor."""
    while other:
        one, other = other, one % other
    return one


@inlined
def _above(words: NDArray[np.int64], row: int, step: np.int64, fraction: np.int64) -> np.int64:
    """Return how far a row is above the line that begins at the first one."""
    rise = np.int64(row) * step + (np.int64(row) * fraction >> np.int64(32))
    return np.int64(words[np.uint64(row)] - words[np.uint64(0)] - rise)


@inlined
def _find_stride(words: NDArray[np.int64], least: np.int64) -> np.uint64:
    """Return what divides the distance of every row to the least one."""
    count, stride = len(words), np.uint64(0)
    for tried in range(_TRIED_ROWS):
        row = np.uint64(tried * (count - 1) // (_TRIED_ROWS - 1))
        stride = _divisor(np.uint64(words[row] - least), stride)
    for place in range(np.uint64(count)):
        if stride == 1:
            break
        stride = _divisor(np.uint64(words[place] - least), stride)
    return stride


@compiled
def survey_integers(
    words: NDArray[np.int64], flip: np.int64, worth: int, found: NDArray[np.int64]
) -> None:
    """Write least, greatest, runs, stride; step, fraction and reference of a line, what is above.

    flip: -2**63 for unsigned words, else 0. worth: the eighths of a frame's width that a line is
    to stay below; its fraction is -1 where it does not. The stride is 0 where all are equal or more
    than 2**63 apart.
    """
    count = len(words)
    before = words[np.uint64(0)]
    least = greatest = before ^ flip
    runs = 1
    for row in range(np.uint64(1), np.uint64(count)):
        word = words[row]
        least, greatest = min(least, word ^ flip), max(greatest, word ^ flip)
        runs += word != before
        before = word
    span = np.uint64(greatest) - np.uint64(least)
    found[0], found[1], found[2] = least ^ flip, greatest ^ flip, runs
    found[3], found[5] = 0, -1
    if span == 0 or span >> np.uint64(63):
        return
    found[3] = np.int64(_find_stride(words, least ^ flip))
    if count < 2 or span >> np.uint64(62):
        return
    rise = words[np.uint64(count - 1)] - words[np.uint64(0)]
    step = rise // np.int64(count - 1)
    fraction = ((rise - step * np.int64(count - 1)) << np.int64(32)) // np.int64(count - 1)
    bits = _width_for(span) * np.uint64(worth) >> np.uint64(3)
    low = high = np.int64(0)
    for tried in range(_TRIED_ROWS):
        above = _above(words, tried * (count - 1) // (_TRIED_ROWS - 1), step, fraction)
        low, high = min(low, above), max(high, above)
    if low < high and _width_for(np.uint64(high - low)) >= bits:
        return
    for row in range(count):
        above = _above(words, row, step, fraction)
        low, high = min(low, above), max(high, above)
    if low < high and _width_for(np.uint64(high - low)) >= bits:
        return
    found[4], found[5], found[6], found[7] = step, fraction, words[np.uint64(0)] + low, high - low


@compiled
def survey_line(
    words: NDArray[np.int64], step: np.int64, fraction: np.int64, found: NDArray[np.int64]
) -> None:
    """Write how far below and above a line from the first integer on the others are at most."""
    low = high = np.int64(0)
    for row in range(len(words)):
        above = _above(words, row, step, fraction)
        low, high = min(low, above), max(high, above)
    found[0], found[1] = low, high


@inlined
def _head(data: NDArray[np.uint8], start: np.int64, end: np.int64) -> np.uint64:
    """Return the first 8 bytes of a text, the first one highest, with zeros behind its end."""
    word = np.uint64(0)
    if end - start >= 8:
        begin = np.uint64(start)
        for place in range(np.uint64(8)):
            word = word << np.uint64(8) | np.uint64(data[begin + place])
        return word
    for place in range(start, end):
        word |= np.uint64(data[np.uint64(place)]) << np.uint64(8 * (7 - (place - start)))
    return word


@inlined
def _is_below(
    data: NDArray[np.uint8], start: np.int64, end: np.int64, other: np.int64, other_end: np.int64
) -> bool:
    """Tell whether one text comes before another one, byte by byte."""
    for place in range(min(end - start, other_end - other)):
        one, two = data[np.uint64(start + place)], data[np.uint64(other + place)]
        if one != two:
            return bool(one < two)
    return bool(end - start < other_end - other)


@compiled
def count_distinct(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    rows: NDArray[np.int64],
    slots: NDArray[np.uint64],
) -> int:
    """Return how many of some rows differ, by a hash of 64 bits.

    slots: zeros, a power of two, more than there are rows.
    """
    count, last = 0, np.uint64(len(slots) - 1)
    for place in range(np.uint64(len(rows))):
        row = np.uint64(rows[place])
        start, end = np.int64(offsets[row]), np.int64(offsets[row + np.uint64(1)])
        key = np.uint64(end - start)
        while start < end:
            key = (key ^ _head(data, start, end)) * _FACTOR
            key ^= key >> np.uint64(32)
            start += 8
        key |= np.uint64(1)
        slot = key >> np.uint64(1) & last
        while slots[slot] != 0 and slots[slot] != key:
            slot = (slot + np.uint64(1)) & last
        count += slots[slot] == 0
        slots[slot] = key
    return count


@inlined
def text_bounds(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    valid: NDArray[np.bool_],
    first: np.int64,
    last: np.int64,
) -> tuple[np.int64, np.int64]:
    """Return as `survey_texts` does, of the rows from one to before another."""
    least = greatest = np.int64(-1)
    low = high = np.uint64(0)
    for row in range(first, last):
        if len(valid) and not valid[row]:
            continue
        start, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
        head = _head(data, start, end)
        if least < 0:
            least = greatest = np.int64(row)
            low = high = head
            continue
        if head < low or (
            head == low
            and _is_below(data, start, end, np.int64(offsets[least]), np.int64(offsets[least + 1]))
        ):
            least, low = np.int64(row), head
        if head > high or (
            head == high
            and _is_below(
                data, np.int64(offsets[greatest]), np.int64(offsets[greatest + 1]), start, end
            )
        ):
            greatest, high = np.int64(row), head
    return least, greatest


@compiled
def survey_texts(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], valid: NDArray[np.bool_]
) -> tuple[np.int64, np.int64]:
    """Return the rows of the least and of the greatest of some texts; -1 where none is valid.

    valid: of which rows, or none where all are.
    """
    found: tuple[np.int64, np.int64] = text_bounds(
        data, offsets, valid, np.int64(0), np.int64(len(offsets) - 1)
    )
    return found
