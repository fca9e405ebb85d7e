"""Sorts the rows of a BVH by radix, where there are too many cells to count them one by one.

Rows go to partitions by the first digit of their cell, as many partitions at a time as there is
room for, and each partition is sorted digit by digit from the last one up. All steps are stable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.backends.cpu import sort
from raydb.kernels.backends.cpu.blocks import begin_places, new_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backends.cpu.blocks import Build, Placed
    from raydb.kernels.bvh.build_input import Room

# A digit: so many places to write to stay in the first level of the cache.
DIGIT_BITS = 11

# A partition fits the cache with its copy, 24 bytes a row. A larger one is sorted in blocks,
# between which an interrupt is heard.
PARTITION_ROWS = 2**13
SORTED_ROW_BYTES = 24
SORTED_BLOCK_ROWS = 2**20


def sort_rows(build: Build, *, is_dense: bool) -> Placed:
    """Sort (cell, row) by cell, in as many passes over the rows as there is room for."""
    row_count, room = build.source.row_count, build.control.room
    first_bits = min(max((row_count // PARTITION_ROWS).bit_length(), 1), DIGIT_BITS)
    shift = max((build.cell_count - 1).bit_length() - first_bits, 0)
    counts = np.zeros((build.threads, 2**first_bits), np.uint32)
    build.count(shift, counts)
    bounds = np.empty(2**first_bits + 1, np.int64)
    begin_places(counts, bounds)

    room.take(4 * row_count)
    places = np.empty(row_count, np.uint32)
    offsets = new_array(build.cell_count + 1, np.dtype(np.int64)) if is_dense else None
    next_cell = 0
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    first, last = 0, len(bounds) - 1
    while first < last:
        end = _group_end(bounds, first, room.left())
        start, size = int(bounds[first]), int(bounds[end] - bounds[first])
        room.take(SORTED_ROW_BYTES * size)
        keys, rows = np.empty(size, np.int64), np.empty(size, np.uint32)
        _collect(build, shift, (first, end), counts, start, keys, rows)
        _sort_partitions(build, shift, bounds[first : end + 1] - start, keys, rows)
        _place_sorted(build, rows, start, places)
        if offsets is None:
            found += _list_cells(keys, start, room)
        else:
            next_cell = _begin_cells(keys, start, next_cell, offsets)
        room.give(SORTED_ROW_BYTES * size)
        first = end

    cells = None
    if offsets is not None:
        offsets[next_cell:] = row_count
    else:
        cell_total = sum(len(some) for some, _ in found)
        room.take(16 * cell_total)
        cells = new_array(cell_total, np.dtype(np.int64))
        offsets = new_array(cell_total + 1, np.dtype(np.int64))
        np.concatenate([some for some, _ in found] or [cells], out=cells)
        np.concatenate([*(firsts for _, firsts in found), [row_count]], out=offsets)
    return cells, offsets, lambda _, low, high: places[low:high]


def _group_end(bounds: NDArray[np.int64], first: int, room: int | None) -> int:
    """Return where the partitions end that are sorted together with the first one."""
    if room is None:
        return len(bounds) - 1
    # The other half is for the cells that are found.
    fits = bounds[first] + room // 2 // SORTED_ROW_BYTES
    return max(int(np.searchsorted(bounds, fits, side="right")) - 1, first + 1)


def _collect(
    build: Build,
    shift: int,
    partitions: tuple[int, int],
    counts: NDArray[np.uint32],
    start: int,
    keys: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Write cell and row of some partitions, partition by partition, in the order of the rows."""

    def collect(thread: int, low: int, high: int) -> None:
        cells = build.cells_of(low, high)
        sort.collect_rows(cells, shift, partitions, counts[thread], start, low, keys, rows)

    build.run("collect", collect, build.source.row_count)


def _sort_partitions(
    build: Build,
    shift: int,
    bounds: NDArray[np.int64],
    keys: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Sort each partition by the cells' bits below `shift`; partition p begins at bounds[p]."""

    def sort_some(_: int, low: int, high: int) -> None:
        for partition in range(low, high):
            part = slice(int(bounds[partition]), int(bounds[partition + 1]))
            if part.stop - part.start > 1:
                _sort_digits(build, shift, keys[part], rows[part])

    build.run("sort", sort_some, len(bounds) - 1, 1)


def _sort_digits(
    build: Build, bits: int, keys: NDArray[np.int64], rows: NDArray[np.uint32]
) -> None:
    """Sort by the lowest bits, digit by digit from the last one up."""
    here, there = (keys, rows), (np.empty_like(keys), np.empty_like(rows))
    blocks = [slice(low, low + SORTED_BLOCK_ROWS) for low in range(0, len(keys), SORTED_BLOCK_ROWS)]
    for shift in range(0, bits, DIGIT_BITS):
        counts = np.zeros(2**DIGIT_BITS, np.int64)
        for block in blocks:
            build.check()
            sort.count_digits(here[0][block], shift, counts)
        if counts.max() == len(keys):
            continue
        next_places = np.cumsum(counts) - counts
        for block in blocks:
            build.check()
            sort.move_rows(here[0][block], here[1][block], shift, next_places, *there)
        here, there = there, here
    if here[0] is not keys:
        keys[:], rows[:] = here


def _place_sorted(
    build: Build, rows: NDArray[np.uint32], start: int, places: NDArray[np.uint32]
) -> None:
    """Write to each sorted row its place; the first one's is `start`."""

    def invert(_: int, low: int, high: int) -> None:
        numbers = np.arange(start + low, start + high, dtype=np.uint32)
        sort.scatter(rows[low:high], numbers, places)

    build.run("sort", invert, len(rows))


def _list_cells(
    keys: NDArray[np.int64], start: int, room: Room
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the distinct keys of sorted ones with the place of the first of each, in blocks."""
    found = []
    for low in range(0, len(keys), SORTED_BLOCK_ROWS):
        block = keys[low : low + SORTED_BLOCK_ROWS]
        is_new = np.ones(len(block), np.bool_)
        is_new[1:] = block[1:] != block[:-1]
        is_new[0] = low == 0 or block[0] != keys[low - 1]
        firsts = np.flatnonzero(is_new)
        room.take(2 * firsts.nbytes)
        found.append((block[firsts], firsts + (start + low)))
    return found


def _begin_cells(
    keys: NDArray[np.int64], start: int, next_cell: int, offsets: NDArray[np.int64]
) -> int:
    """Write the offsets of all cells up to that of the last key; returns the cell after it."""
    for low in range(0, len(keys), SORTED_BLOCK_ROWS):
        block = keys[low : low + SORTED_BLOCK_ROWS]
        next_cell = sort.begin_cells(block, start + low, next_cell, offsets)
    return next_cell
