"""Loops over packed integers of any width: each is one unaligned load of 8 bytes and a shift.

Every index is unsigned, as in `fsst_loops`: LLVM makes one load of eight bytes then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray


@inlined
def load(data: NDArray[np.uint8], place: np.uint64) -> np.uint64:
    """Return the 8 bytes at `place`, all of which are there, as a little-endian word.

    Written out, because LLVM makes one load of this but not of a loop.
    """
    return (
        np.uint64(data[place])
        | np.uint64(data[place + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[place + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[place + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[place + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[place + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[place + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[place + np.uint64(7)]) << np.uint64(56)
    )


@inlined
def _load_last(data: NDArray[np.uint8], place: np.uint64) -> np.uint64:
    """Return what is there of the 8 bytes at `place`; the rest is 0."""
    word = np.uint64(0)
    for byte in range(min(len(data) - int(place), 8)):
        word |= np.uint64(data[place + np.uint64(byte)]) << np.uint64(8 * byte)
    return word


@inlined
def _loads(data: NDArray[np.uint8], width: np.uint64, first: np.uint64, count: int) -> np.uint64:
    """Return of how many values from `first` on all 8 bytes are there."""
    if len(data) < 8 or width == 0:
        return np.uint64(0 if width else count)
    whole = (np.uint64(len(data) - 8) << np.uint64(3) | np.uint64(7)) // width + np.uint64(1)
    return np.uint64(min(max(int(whole) - int(first), 0), count))


class Stream(NamedTuple):
    """Packed integers of 0 to 57, or 64, bits, from a byte on, and the line that they are above."""

    place: np.uint64
    width: np.uint64
    reference: np.uint64
    step: np.uint64
    fraction: np.uint64


@inlined
def packed_at(data: NDArray[np.uint8], stream: Stream, number: np.uint64) -> np.uint64:
    """Return a packed integer; 8 bytes from its first byte on are there."""
    at = number * stream.width
    word: np.uint64 = load(data, stream.place + (at >> np.uint64(3))) >> (at & np.uint64(7))
    if stream.width < 64:
        word &= (np.uint64(1) << stream.width) - np.uint64(1)
    return word


@inlined
def line_at(stream: Stream, number: np.uint64) -> np.uint64:
    """Return what a packed integer is added to."""
    rise = number * stream.fraction >> np.uint64(32)
    return stream.reference + number * stream.step + rise


@compiled
def unpack_line(
    data: NDArray[np.uint8],
    bits: int,
    start: int,
    reference: int,
    step: int,
    fraction: int,
    out: NDArray[np.uint64],
) -> None:
    """Write the values from `start` on: a line and the packed integer above it.

    bits: 0 to 57, or 64, of each. out: unsigned integers of any size; sums wrap around in it.
    """
    width, first = np.uint64(bits), np.uint64(start)
    begin, slope, part = np.uint64(reference), np.uint64(step), np.uint64(fraction)
    mask = ~np.uint64(0) if width == 64 else (np.uint64(1) << width) - np.uint64(1)
    whole = _loads(data, width, first, len(out)) if width else np.uint64(0)
    straight, rise = slope == 0 and part == 0, np.uint64(32)
    if straight:
        for row in range(whole):
            at = (first + np.uint64(row)) * width
            word = load(data, at >> np.uint64(3)) >> (at & np.uint64(7))
            out[np.uint64(row)] = (word & mask) + begin
    else:
        for row in range(whole):
            number = first + np.uint64(row)
            at = number * width
            word = load(data, at >> np.uint64(3)) >> (at & np.uint64(7))
            above = begin + number * slope + (number * part >> rise)
            out[np.uint64(row)] = (word & mask) + above
    for row in range(whole, np.uint64(len(out))):
        number = first + np.uint64(row)
        at = number * width
        word = np.uint64(0)
        if width:
            word = _load_last(data, at >> np.uint64(3)) >> (at & np.uint64(7))
        above = begin + number * slope + (number * part >> rise)
        out[np.uint64(row)] = (word & mask) + above


@compiled
def scale_words(
    words: NDArray[np.int64], ten: float, tenth: float, out: NDArray[np.float64]
) -> None:
    """Write integers, as doubles, times one and then times another; `out` may lie where they do."""
    for row in range(np.uint64(len(words))):
        out[row] = np.float64(words[row]) * ten * tenth


@compiled
def pack_line(
    words: NDArray[np.uint64],
    width: int,
    reference: int,
    step: int,
    fraction: int,
    out: NDArray[np.uint8],
) -> None:
    """Write what is above a line, 0 to 2**width - 1, in `width` bits each, 1 to 57.

    out: as many bytes as they take.
    """
    begin, slope, part = np.uint64(reference), np.uint64(step), np.uint64(fraction)
    size, held, bits, place = np.uint64(width), np.uint64(0), np.uint64(0), np.uint64(0)
    rise = np.uint64(32)
    for row in range(np.uint64(len(words))):
        value = words[row] - begin - row * slope - (row * part >> rise)
        held |= value << bits
        bits += size
        if bits >= 64:
            for byte in range(8):
                out[place + np.uint64(byte)] = np.uint8(held >> np.uint64(8 * byte))
            place += np.uint64(8)
            bits -= np.uint64(64)
            taken = size - bits
            held = value >> taken if taken < 64 else np.uint64(0)
    while place < np.uint64(len(out)):
        out[place] = np.uint8(held & np.uint64(0xFF))
        held >>= np.uint64(8)
        place += np.uint64(1)


@compiled
def expand_runs(
    starts: NDArray[np.uint8], values: NDArray[np.uint64], first: np.uint64, out: NDArray[np.uint64]
) -> None:
    """Write the value of each row from `first` on, given a bit for each row that begins a run.

    values: of the runs from that of row `first` on; both are unsigned integers of one size.
    """
    run = np.uint64(0)
    out[np.uint64(0)] = values[run]
    for row in range(np.uint64(1), np.uint64(len(out))):
        at = first + row
        run += np.uint64(starts[at >> np.uint64(3)] >> np.uint8(at & np.uint64(7)) & np.uint8(1))
        out[row] = values[run]


@inlined
def narrow_bound(index: np.int64, number: np.uint64) -> np.int64:
    """Return an offset, given the address of its narrow index; docs/flatstor.md has the layout."""
    head, slope = np.int64(word_at(index)), word_at(index + 8)
    width = np.uint64(head & 0xFF)
    at = number * width
    packed = word_at(index + 16 + np.int64(at >> np.uint64(3))) >> (at & np.uint64(7))
    packed &= (np.uint64(1) << width) - np.uint64(1)
    return np.int64((slope * number) >> np.uint64(32)) + (head >> 8) + np.int64(packed)


@compiled
def read_bounds(
    data: NDArray[np.uint8],
    indexes: NDArray[np.int64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None:
    """Write where rows begin and end, given where the narrow index of each begins in `data`.

    rows: counted in their chunks.
    """
    for item in range(np.uint64(len(rows))):
        index, row = data.ctypes.data + indexes[item], np.uint64(rows[item])
        starts[item] = narrow_bound(index, row)
        ends[item] = narrow_bound(index, row + np.uint64(1))
