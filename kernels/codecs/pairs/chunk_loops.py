"""The loop that writes chunks of texts in codes of pairs: what follows each other in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.codecs.onpair_loops import parse_item
from raydb.kernels.codecs.survey_loops import text_bounds
from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import put

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.onpair import Tree

# What is found of a chunk.
FOUND_WORDS = 7
# Of a narrow index.
_HEAD_BYTES = 16
_HALF = np.uint64(32)


class Room(NamedTuple):
    """Where the codes of a chunk are written, room for one a byte, and where texts end in them.

    ends: 0, then where each ends. above: as many, what they are above a line. out: payloads and
    indexes, room for the bytes of all texts, and of each chunk those of plain offsets and 32 more.
    """

    codes: NDArray[np.uint16]
    ends: NDArray[np.int64]
    above: NDArray[np.int64]
    out: NDArray[np.uint8]

    @staticmethod
    def make(longest: int, chunk_rows: int, text_bytes: int, chunk_count: int) -> Room:
        """Make room for chunks of texts: the longest one has so many bytes, none more rows."""
        ends, above = np.zeros((2, chunk_rows + 1), np.int64)
        size = text_bytes + chunk_count * (4 * chunk_rows + 40)
        return Room(np.empty(longest, np.uint16), ends, above, np.empty(size, np.uint8))


@inlined
def _after(place: np.int64, size: np.int64) -> np.int64:
    """Return where the section behind one of some bytes begins."""
    return (place + size + 7) & np.int64(-8)


@inlined
def _packed_bytes(count: np.int64, width: np.int64) -> np.int64:
    return (count * width + 7) >> 3


@inlined
def _pack(values: NDArray[Any], count: np.int64, width: np.int64, to: np.int64) -> None:
    """Write values of 1 to 57 bits to an address, where up to 8 bytes more are overwritten."""
    held, bits = np.uint64(0), np.uint64(0)
    for place in range(np.uint64(count)):
        value = np.uint64(values[place])
        held |= value << bits
        bits += np.uint64(width)
        if bits >= 64:
            put(to, held)
            to += 8
            bits -= np.uint64(64)
            held = value >> (np.uint64(width) - bits)
    put(to, held)


@inlined
def _write_index(
    ends: NDArray[np.int64], above: NDArray[np.int64], rows: np.int64, to: np.int64
) -> tuple[np.int64, bool]:
    """Write the offset index of some rows to an address; return its bytes, and if it is narrow."""
    slope = (np.uint64(ends[rows]) << _HALF) // np.uint64(rows)
    low = high = np.int64(0)
    for row in range(np.uint64(rows + 1)):
        distance = np.int64(ends[row]) - np.int64(slope * row >> _HALF)
        above[row] = distance
        low, high = min(low, distance), max(high, distance)
    width = np.int64(0)
    while high - low >> width:
        width += 1
    size = _HEAD_BYTES + _packed_bytes(rows + 1, width)
    if size >= 4 * (rows + 1):
        for row in range(rows + 1):
            put(to + 4 * row, np.uint32(ends[np.uint64(row)]))
        return 4 * (rows + 1), False
    put(to, low << 8 | width)
    put(to + 8, slope)
    if width:
        for row in range(np.uint64(rows + 1)):
            above[row] -= low
        _pack(above, rows + 1, width, to + _HEAD_BYTES)
    return size, True


@compiled
def encode_chunks(
    tree: Tree,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    valid: NDArray[np.bool_],
    chunk_rows: int,
    bits: int,
    room: Room,
    found: NDArray[np.int64],
) -> None:
    """Write payload and index of chunks, from multiples of 8 on, and what is found of each.

    valid: which rows are no NULLs, or none where none is one. bits: of a code. found: a row for
    each chunk: where its payload begins and its bytes, -1 for what is no shorter than the texts and
    not written; where its index begins, its bytes, whether it is narrow; its least and greatest
    text, -1 where none is valid.
    """
    codes, ends, above, out = room
    to, start = np.int64(0), np.int64(out.ctypes.data)
    last, width = np.int64(0), np.int64(bits)
    for chunk in range(np.uint64(len(found))):
        first, last = last, min(last + np.int64(chunk_rows), np.int64(len(offsets) - 1))
        size = np.uint64(0)
        for row in range(np.uint64(first), np.uint64(last)):
            begin, end = np.uint64(offsets[row]), np.uint64(offsets[row + np.uint64(1)])
            size = parse_item(tree, data, begin, end, codes, size)
            ends[row - np.uint64(first) + np.uint64(1)] = np.int64(size)
        payload_bytes = _packed_bytes(np.int64(size), width)
        found[chunk, 0], found[chunk, 1] = to, payload_bytes
        found[chunk, 5], found[chunk, 6] = text_bounds(data, offsets, valid, first, last)
        if payload_bytes >= offsets[np.uint64(last)] - offsets[np.uint64(first)]:
            found[chunk, 1] = -1
            continue
        _pack(codes, np.int64(size), width, start + to)
        to = _after(to, payload_bytes)
        index_bytes, is_narrow = _write_index(ends, above, last - first, start + to)
        found[chunk, 2], found[chunk, 3], found[chunk, 4] = to, index_bytes, np.int64(is_narrow)
        to = _after(to, index_bytes)
