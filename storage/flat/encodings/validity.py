"""Validity: a bit a row, or marks of the few rows that tell as much.

rows   0 1 2 3 4 5 6 7 8      bits     1 1 1 0 1 1 1 1 1
       a b c . d e f g h      rare     3               the rows of NULL, or else those of values
                              changes  3 4             where NULLs begin, where they end

A mark is a number of 8 bits in a block of 256 rows. Marks are turned into bits when a chunk is
opened, so that all reading is of bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.codecs.rows.entries import are_loops_loaded, mark_loops
from raydb.storage.flat.encodings.encoding import bad_chunk
from raydb.storage.flat.layout import Flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

BLOCK_ROWS = 256
_MARKED = Flags.RARE | Flags.CHANGES
# What bits are in the writer's eyes where marks take this part of them or more: opening a chunk
# takes 15 us longer with marks.
_WORTHWHILE_PART = 7 / 8
_MOST_MARKS = 2**16 - 1


class StoredValidity(NamedTuple):
    """The validity of a chunk as it is written, and the chunk's flags of that."""

    data: Any
    flags: int


def store_validity(mask: NDArray[np.bool_], null_count: int) -> StoredValidity:
    """Return the smallest form of the validity of rows some of which are NULL, others not."""
    row_count = len(mask)
    blocks = -(-row_count // BLOCK_ROWS)
    room = int(bitmap_bytes(row_count) * _WORTHWHILE_PART) - _head_bytes(blocks)
    if room > 0:
        changed = np.empty(row_count, np.bool_)
        changed[0] = not mask[0]
        np.not_equal(mask[1:], mask[:-1], out=changed[1:])
        rare, changes = min(null_count, row_count - null_count), int(np.count_nonzero(changed))
        if min(rare, changes) <= min(room, _MOST_MARKS):
            if changes < rare:
                return StoredValidity(_marks(changed, blocks), Flags.CHANGES)
            marked = ~mask if _nulls_are_rare(row_count, null_count) else mask
            return StoredValidity(_marks(marked, blocks), Flags.RARE)
    return StoredValidity(np.packbits(mask, bitorder="little"), 0)


def _marks(marked: NDArray[np.bool_], blocks: int) -> bytes:
    rows = np.flatnonzero(marked)
    starts = np.zeros(blocks + 1, "<u2")
    np.cumsum(np.bincount(rows // BLOCK_ROWS, minlength=blocks), out=starts[1:])
    return starts.tobytes() + rows.astype(np.uint8).tobytes()


def is_right_length(
    lengths: NDArray[np.int64], rows: NDArray[np.int64], flags: NDArray[Any]
) -> NDArray[np.bool_]:
    """Tell for chunks of which some rows are NULL whether the validity may take these bytes."""
    marks = flags & _MARKED
    bits, heads = (rows + 7) // 8, _head_bytes(-(-rows // BLOCK_ROWS))
    is_marked = (marks > 0) & (marks < _MARKED) & (lengths > heads) & (lengths < bits)
    return np.asarray(is_marked | (marks == 0) & (lengths == bits))


class Bitmaps(NamedTuple):
    """The validity of all chunks of a column as bits, filled in when a chunk is opened.

    starts: the first byte of each chunk.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]

    @staticmethod
    def of(entries: NDArray[Any]) -> Bitmaps | None:
        """Make room for the chunks of a column; None where the file has the bits of all."""
        if not (entries["flags"] & _MARKED).any():
            return None
        sizes = bitmap_bytes(entries["row_count"].astype(np.int64))
        sizes[entries["validity_length"] == 0] = 0
        # Memory is taken by what is written; a byte more, since chunks without bits are looked at.
        return Bitmaps(np.zeros(int(sizes.sum()) + 1, np.uint8), np.cumsum(sizes) - sizes)


def open_validity(
    column: Column, number: int, entry: ChunkEntry, section: memoryview
) -> memoryview | None:
    """Return a bit for each row of a chunk, None where there is no section.

    Raises OperationalError, naming file, offset, expected and found, for marks that are none.
    """
    if not len(section):
        return None
    if column.bitmaps is None:
        return section
    start = int(column.bitmaps.starts[number])
    bits = column.bitmaps.data[start : start + bitmap_bytes(entry.row_count)]
    if not entry.flags & _MARKED:
        bits[:] = np.frombuffer(section, np.uint8)
    else:
        bits[:] = _read_marks(column, entry, section)
    return bits.data.toreadonly()


def _read_marks(column: Column, entry: ChunkEntry, section: memoryview) -> NDArray[np.uint8]:
    """Return a bit for each row of a chunk."""
    count, null_count = entry.row_count, entry.null_count
    blocks = -(-count // BLOCK_ROWS)
    starts = np.frombuffer(section, "<u2", blocks + 1)
    places = np.frombuffer(section, np.uint8, offset=_head_bytes(blocks))
    are_changes = entry.flags & Flags.CHANGES > 0
    # Changes begin behind a value.
    is_valid = are_changes or _nulls_are_rare(count, null_count)
    bits = np.zeros(bitmap_bytes(count), np.uint8)
    set_bits = mark_loops().set_by_marks if are_loops_loaded() else _set_by_marks
    found = set_bits(starts, places, count, are_changes, is_valid, bits)
    if found < 0:
        expected = f"{len(places)} marks that rise to below {count}"
        raise bad_chunk(column, entry, 0, expected, places[:8].tolist())
    if found != count - null_count:
        raise bad_chunk(column, entry, 0, f"marks of {null_count} NULLs", count - found)
    return bits


def _set_by_marks(
    starts: NDArray[np.uint16],
    places: NDArray[np.uint8],
    row_count: int,
    are_changes: bool,
    is_set: bool,
    out: NDArray[np.uint8],
) -> int:
    """Do as the loop does, which is not loaded for a few rows."""
    bounds = starts.astype(np.int64)
    sizes = bounds[1:] - bounds[:-1]
    if bounds[0] or bounds[-1] != len(places) or int(sizes.min()) < 0:
        return -1
    rows = np.repeat(np.arange(len(sizes)) * BLOCK_ROWS, sizes)
    rows += places
    if not (rows[1:] > rows[:-1]).all() or rows[-1] >= row_count:
        return -1
    mask = np.full(row_count, is_set)
    if are_changes:
        bounds = np.concatenate(([0], rows, [row_count]))
        mask = np.repeat(np.arange(len(rows) + 1) & 1 != is_set, bounds[1:] - bounds[:-1])
    else:
        mask[rows] = not is_set
    out[:] = np.packbits(mask, bitorder="little")
    return int(np.count_nonzero(mask))


def _nulls_are_rare(row_count: int, null_count: int) -> bool:
    return 2 * null_count <= row_count


def bitmap_bytes(row_count: Any) -> Any:
    """Return the bytes of a bit a row."""
    return (row_count + 7) // 8


def _head_bytes(blocks: Any) -> Any:
    """Return the bytes before the marks: a u16 for each block, and one."""
    return 2 * (blocks + 1)
