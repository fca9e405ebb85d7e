"""Exceptions: a few rows whose values do not fit the others' packed bits, beside these.

    u32 count, u32 what the encoding says, u32 rows[count] to a multiple of 8, u64 words[count]

The packed bits of such a row are arbitrary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.storage.flat.encodings.bits import bits_for, load_words, packed_bytes
from raydb.storage.flat.encodings.encoding import bad_chunk
from raydb.storage.flat.encodings.gather import payload_places, validity_gather
from raydb.storage.flat.kinds import array_of
from raydb.storage.flat.layout import align

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Gather
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

_HEAD_BYTES = 8
_ROW_BYTES, _WORD_BYTES = 4, 8
# More bits are a word of their own.
_LONGEST_LOADED = 57
_SAMPLE_ROWS = 256
# So many of the sample are left outside at most.
_LEFT_OUT = (1, 2, 4, 8, 16)


class Patches(NamedTuple):
    """The rows that are exceptions, ascending, and their values as words of 64 bits."""

    rows: NDArray[np.uint32]
    words: NDArray[np.uint64]

    def put(self, start: int, out: NDArray[Any]) -> None:
        """Write the exceptions among the rows from `start` on, whose values `out` has."""
        first, last = np.searchsorted(self.rows, (start, start + len(out))).tolist()
        if first < last:
            word = np.dtype(f"<u{out.itemsize}")
            places = self.rows[first:last].astype(np.int64) - start
            out.view(word)[places] = self.words[first:last].astype(word)

    def put_rows(self, rows: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the exceptions among some rows, whose values `out` has."""
        if len(self.rows):
            places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
            hits = self.rows[places] == rows
            word = np.dtype(f"<u{out.itemsize}")
            out.view(word)[hits] = self.words[places[hits]].astype(word)

    def pack(self, word: int) -> bytes:
        """Return the bytes of the exceptions; word: what the encoding says, a u32."""
        head = np.array([len(self.rows), word, *self.rows.tolist()], "<u4").tobytes()
        return head.ljust(align(len(head)), b"\0") + self.words.astype("<u8").tobytes()

    @property
    def size(self) -> int:
        """The bytes that `pack` returns."""
        count = len(self.rows)
        return align(_HEAD_BYTES + _ROW_BYTES * count) + _WORD_BYTES * count


def read_patches(
    column: Column, entry: ChunkEntry, payload: memoryview
) -> tuple[int, Patches, memoryview]:
    """Return what the encoding says, the exceptions of a payload, checked, and what is behind them.

    Raises OperationalError, naming file, offset, expected and found.
    """
    place = entry.starts()[1]
    if len(payload) < _HEAD_BYTES:
        raise bad_chunk(column, entry, place, "exceptions of 8 bytes or more", len(payload))
    count, word = np.frombuffer(payload, "<u4", 2).tolist()
    start = align(_HEAD_BYTES + _ROW_BYTES * count)
    end = start + _WORD_BYTES * count
    if count > entry.row_count or end > len(payload):
        expected = f"exceptions of at most {entry.row_count} rows in {len(payload)} bytes"
        raise bad_chunk(column, entry, place, expected, count)
    rows = np.frombuffer(payload, "<u4", count, _HEAD_BYTES)
    if count and (rows[-1] >= entry.row_count or bool((rows[1:] <= rows[:-1]).any())):
        expected = f"rows of exceptions that rise to less than {entry.row_count}"
        raise bad_chunk(column, entry, place + _HEAD_BYTES, expected, int(rows[-1]))
    return word, Patches(rows, np.frombuffer(payload, "<u8", count, start)), payload[end:]


def patched_gather(
    column: Column, width: int, decoded: Callable[[NDArray[np.int64], NDArray[np.uint32]], Any]
) -> Gather:
    """Return the function that reads rows of all chunks of a width with exceptions.

    decoded: from integers, and what the encoding says in their chunks, to values of the column.
    """
    data, entries = column.file.bytes_, column.entries
    payloads, firsts = payload_places(column), entries["first_row"].astype(np.int64)
    references, read_validity = entries["reference"], validity_gather(column)
    heads = data[: len(data) // 4 * 4].view("<u4")
    words = data[: len(data) // 8 * 8].view("<u8")

    def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
        places, local = payloads[numbers], rows - firsts[numbers]
        counts = heads[places >> 2].astype(np.int64)
        starts = places + (_HEAD_BYTES + _ROW_BYTES * counts + 7 & -8)
        begins = starts + _WORD_BYTES * counts
        integers = references[numbers].astype(np.uint64)
        if width > _LONGEST_LOADED:
            integers += words[(begins >> 3) + local]
        elif width:
            integers += load_words(data, begins * 8 + local * width, width)
        values = decoded(integers.view(np.int64), heads[(places >> 2) + 1])
        found = _find_rows(heads, (places + _HEAD_BYTES) >> 2, counts, local)
        hits = np.flatnonzero(found >= 0)
        if len(hits):
            word = np.dtype(f"<u{values.itemsize}")
            values.view(word)[hits] = words[(starts[hits] >> 3) + found[hits]].astype(word)
        validity = read_validity and read_validity(rows, numbers)
        return array_of(column.field.type, column.kind, values, validity)

    return gather


def _find_rows(
    heads: NDArray[np.uint32],
    places: NDArray[np.int64],
    counts: NDArray[np.int64],
    rows: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the number of each row among the exceptions of its chunk, -1 where it is none.

    places: where these begin in `heads`. All rows are looked for at once, by halves.
    """
    low, high = np.zeros(len(rows), np.int64), counts.copy()
    while bool((is_open := low < high).any()):
        middle = (low + high) >> 1
        is_below = heads[places + middle] < rows
        low = np.where(is_open & is_below, middle + 1, low)
        high = np.where(is_open & ~is_below, middle, high)
    is_it = (low < counts) & (heads[places + np.minimum(low, counts)] == rows)
    return np.where(is_it, low, -1)


class Frame(NamedTuple):
    """The least of the integers that are packed, in how many bits; all, or most of them."""

    least: int
    bits: int


def choose_frame(words: NDArray[np.int64], least: int, span: int) -> Frame:
    """Return the frame of most integers that takes the fewest bytes, by a sample of them.

    least, span: of all of them, which are less than 2**63 apart; theirs where nothing is saved.
    """
    best = Frame(least, bits_for(span) if span else 0)
    count = len(words)
    best_bytes = packed_bytes(count, best.bits)
    sample = np.sort(words[np.arange(_SAMPLE_ROWS) * (count - 1) // (_SAMPLE_ROWS - 1)])
    for left_out in _LEFT_OUT:
        spans = sample[_SAMPLE_ROWS - 1 - left_out :] - sample[: left_out + 1]
        place = int(spans.argmin())
        bits = bits_for(int(spans[place])) if spans[place] else 0
        if bits >= best.bits:
            continue
        size = (
            packed_bytes(count, bits)
            + (_ROW_BYTES + _WORD_BYTES) * count * (left_out + 1) // _SAMPLE_ROWS
        )
        if size < best_bytes:
            # The room above the sample's greatest is divided between both sides.
            room = 2**bits - 1 - int(spans[place])
            low = max(int(sample[place]) - room // 2, least)
            best, best_bytes = Frame(low, bits), size
    return best


def outside(words: NDArray[np.int64], frame: Frame) -> NDArray[np.bool_]:
    """Return which integers a frame does not hold."""
    above = (words - np.int64(frame.least)).view(np.uint64)
    found: NDArray[np.bool_] = above > np.uint64(2**frame.bits - 1)
    return found
