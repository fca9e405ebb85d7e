"""Builds a BVH block by block: counts the rows of each cell, then puts each row into its place.

    count   cells of a block -> counts of this thread          measures -> their bounds
    place   cells of a block -> places -> row number, codes and measures, written to their places

Cells and measures are computed twice, which takes less time than to write and read them, and no
memory. Every thread has one range of the rows and its own counts: in each cell the rows of the
first range come first, so the result is the same for any number of threads.

Where there are more cells than can be counted one by one, rows are sorted by radix before they are
placed: in partitions by the first digit of their cell, as many at a time as there is room for.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.bvh import (
    DENSE_CELLS,
    Bvh,
    Measure,
    code_type,
    count_cells,
    integer_type,
)
from raydb.kernels.cpu.warm import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh_rows import BuildControl, ReadValues, RowCodes
    from raydb.kernels.encode import Hierarchy

    # What a thread, by its number, does on the rows or partitions from `low` to before `high`.
    Work = Callable[[int, int, int], None]
    # The places of the rows of a block, each block asked for once and in order by one thread.
    Place = Callable[[int, int, int], NDArray[np.uint32]]
    # Cells and offsets of a BVH, and the places of its rows.
    Placed = tuple[NDArray[np.int64] | None, NDArray[np.int64], Place]

# 1 MiB of cells; a block takes 3 to 6 ms, after which an interrupt is heard.
BLOCK_ROWS = 2**17

# Fewer rows are not worth a thread of their own.
THREAD_ROWS = 2**18

# Counts of more cells (32 MiB a thread) leave the cache at every row, and radix sort is faster.
COUNTED_CELLS = 2**23

# A radix sort's digit: so many places to write to stay in the first level of the cache.
DIGIT_BITS = 11

# A partition fits the cache with its copy, 24 bytes a row. A larger one is sorted in blocks,
# between which an interrupt is heard.
PARTITION_ROWS = 2**13
SORTED_ROW_BYTES = 24
SORTED_BLOCK_ROWS = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class Source:
    """The rows of a BVH to be: their codes of each hierarchy, and how to read each measure.

    row_numbers: uint32, shape (row_count,), the row of the table behind each, None for the same.
    """

    hierarchies: tuple[Hierarchy, ...]
    codes: tuple[RowCodes, ...]
    measures: tuple[ReadValues, ...]
    row_count: int
    row_numbers: NDArray[np.uint32] | None = None


def build_from(source: Source, control: BuildControl) -> Bvh:
    """Sort rows by cell, each cell's in their order, and put the payload into that order.

    Raises DataError where the cells can't be numbered, and what the control's room raises where
    the arrays do not fit.
    """
    cell_count = count_cells(source.hierarchies)
    is_dense = cell_count <= max(DENSE_CELLS, 2 * source.row_count)
    build = _Build(source, control, cell_count)
    fixed_bytes = build.row_bytes * source.row_count + (8 * (cell_count + 1) if is_dense else 0)
    control.room.take(fixed_bytes)
    if is_dense and cell_count <= COUNTED_CELLS:
        cells, offsets, place = _count(build)
    else:
        cells, offsets, place = _sort(build, is_dense)
    return _fill(build, cells, offsets, place)


class _Build:
    """A build under way: what is read of a block, the threads, and the bounds of the measures."""

    def __init__(self, source: Source, control: BuildControl, cell_count: int) -> None:
        self.source = source
        self.control = control
        self.cell_count = cell_count
        self.threads = thread_count(source.row_count)
        self._stop = Event()
        self.stored = tuple(
            position for position, h in enumerate(source.hierarchies) if not h.is_scan_only
        )
        self._axes = []
        stride = 1
        for hierarchy, codes in zip(
            reversed(source.hierarchies), reversed(source.codes), strict=True
        ):
            if hierarchy.scan_count > 1:
                coordinates = frozen(codes.table(hierarchy.scan_codes))
                self._axes.append((codes, coordinates, stride))
            stride *= hierarchy.scan_count
        self.stored_types = [code_type(source.hierarchies[n].code_count) for n in self.stored]
        self.bounds: list[_Bounds] = []

    @property
    def row_bytes(self) -> int:
        """The bytes of a row number and of the stored codes."""
        return 4 + sum(kind.itemsize for kind in self.stored_types)

    def cells_of(self, low: int, high: int) -> NDArray[np.int64]:
        """Return the cells of a block of rows."""
        from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

        cells = np.zeros(high - low, np.int64)
        for codes, coordinates, stride in self._axes:
            sort.add_cells(cells, frozen(codes.places(low, high)), coordinates, stride)
        return cells

    def count(self, shift: int, counts: NDArray[np.uint32]) -> None:
        """Count the rows of each 2**shift cells, a row of `counts` a thread; bound the measures.

        Then all sizes are known, and room is taken for the measures.
        """
        from raydb.kernels.cpu import sort  # noqa: PLC0415  (as above)

        measures = self.source.measures
        # Of no rows at least the types are known.
        found = [[_Bounds(*read(0, 0)) for read in measures] for _ in counts]

        def count(thread: int, low: int, high: int) -> None:
            sort.count_cells(self.cells_of(low, high), shift, counts[thread])
            for read, bounds in zip(measures, found[thread], strict=True):
                bounds.add(*read(low, high))

        self.run("count", count, self.source.row_count)
        self.bounds, *others = found
        for other in others:
            for bounds, more in zip(self.bounds, other, strict=True):
                bounds.merge(more)
        widths = (bounds.type.itemsize + bounds.has_null for bounds in self.bounds)
        self.control.room.take(sum(widths) * self.source.row_count)

    def check(self) -> None:
        """End this thread's work where another thread has failed or was interrupted."""
        if self._stop.is_set():
            raise _StoppedError

    def run(self, step: str, work: Work, count: int, size: int = BLOCK_ROWS) -> None:
        """Do some work on blocks, each thread on a range of its own, the first on this one.

        All threads have ended when it returns or raises.
        """
        stop = self._stop = Event()
        threads = min(self.threads, max(count, 1))
        ends = [count * (thread + 1) // threads for thread in range(threads)]

        def run_range(thread: int) -> None:
            start, end = (ends[thread - 1] if thread else 0), ends[thread]
            try:
                for low in range(start, end, size):
                    self.check()
                    high = min(low + size, end)
                    work(thread, low, high)
                    if thread == 0:
                        self.control.report(step, (high - start) / (end - start))
            except _StoppedError:
                pass
            except BaseException:
                stop.set()
                raise

        with ThreadPoolExecutor(max(threads - 1, 1), thread_name_prefix="raydb build") as pool:
            try:
                others = [pool.submit(run_range, thread) for thread in range(1, threads)]
                run_range(0)
                for other in others:
                    other.result()
            finally:
                stop.set()


class _StoppedError(Exception):
    """Ends a thread; the reason is raised by another one."""


class _Bounds:
    """What the values of a measure have been so far, of one thread's rows."""

    def __init__(self, values: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        self.low = 0
        self.high = 0
        self.is_empty = True
        self.is_float = values.dtype.kind == "f"
        self.has_null = valid is not None

    def add(self, values: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        """Look at the values of a block."""
        self.has_null |= valid is not None
        if not self.is_float and len(values):
            self._widen(int(values.min()), int(values.max()))

    def merge(self, other: _Bounds) -> None:
        """Add what another thread has seen."""
        self.has_null |= other.has_null
        if not other.is_empty:
            self._widen(other.low, other.high)

    def _widen(self, low: int, high: int) -> None:
        self.low = low if self.is_empty else min(self.low, low)
        self.high = high if self.is_empty else max(self.high, high)
        self.is_empty = False

    @property
    def type(self) -> np.dtype[Any]:
        """The narrowest type that holds the values."""
        return np.dtype(np.float64) if self.is_float else integer_type(self.low, self.high)


def thread_count(row_count: int) -> int:
    """Return how many threads a build of so many rows pays off for."""
    has_affinity = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(min(processors, row_count // THREAD_ROWS), 1)



# -- cells that are counted one by one


def _count(build: _Build) -> Placed:
    """Count the rows of every cell; a row's place is the next one of its cell."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

    room = build.control.room.left()
    if room is not None and build.threads * build.cell_count * 4 > room:
        build.threads = 1
    build.control.room.take(build.threads * build.cell_count * 4)
    counts = np.zeros((build.threads, build.cell_count), np.uint32)
    build.count(0, counts)
    offsets = _new_array(build.cell_count + 1, np.dtype(np.int64))
    _begin(counts, offsets)

    def place(thread: int, low: int, high: int) -> NDArray[np.uint32]:
        places = np.empty(high - low, np.uint32)
        sort.take_places(build.cells_of(low, high), counts[thread], places)
        return places

    return None, offsets, place


def _begin(counts: NDArray[np.uint32], offsets: NDArray[np.int64]) -> None:
    """Turn counts into the threads' first places and the offsets of all."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (as above)

    offsets[0] = 0
    for low in range(0, len(offsets) - 1, COUNTED_CELLS):
        sort.begin_places(counts, offsets, low, min(low + COUNTED_CELLS, len(offsets) - 1))


# -- more cells than that: a radix sort


def _sort(build: _Build, is_dense: bool) -> Placed:
    """Sort (cell, row) by cell, in as many passes over the rows as there is room for."""
    row_count, room = build.source.row_count, build.control.room
    first_bits = min(max((row_count // PARTITION_ROWS).bit_length(), 1), DIGIT_BITS)
    shift = max((build.cell_count - 1).bit_length() - first_bits, 0)
    counts = np.zeros((build.threads, 2**first_bits), np.uint32)
    build.count(shift, counts)
    bounds = np.empty(2**first_bits + 1, np.int64)
    _begin(counts, bounds)

    room.take(4 * row_count)
    places = np.empty(row_count, np.uint32)
    offsets = _new_array(build.cell_count + 1, np.dtype(np.int64)) if is_dense else None
    next_cell = 0
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for first, end in _groups(bounds, room.left()):
        start, size = int(bounds[first]), int(bounds[end] - bounds[first])
        room.take(SORTED_ROW_BYTES * size)
        keys, rows = np.empty(size, np.int64), np.empty(size, np.uint32)
        _collect(build, shift, (first, end), counts, start, keys, rows)
        _sort_partitions(build, shift, bounds[first : end + 1] - start, keys, rows)
        _place_sorted(build, rows, start, places)
        if offsets is None:
            found += _list_cells(keys, start)
        else:
            next_cell = _begin_cells(keys, start, next_cell, offsets)
        room.give(SORTED_ROW_BYTES * size)

    cells = None
    if offsets is not None:
        offsets[next_cell:] = row_count
    else:
        cell_total = sum(len(some) for some, _ in found)
        room.take(16 * cell_total)
        cells = _new_array(cell_total, np.dtype(np.int64))
        offsets = _new_array(cell_total + 1, np.dtype(np.int64))
        np.concatenate([some for some, _ in found] or [cells], out=cells)
        np.concatenate([*(firsts for _, firsts in found), [row_count]], out=offsets)
    return cells, offsets, lambda _, low, high: places[low:high]


def _groups(bounds: NDArray[np.int64], room: int | None) -> list[tuple[int, int]]:
    """Cut partitions into groups that fit the room, each of one partition at least."""
    last = len(bounds) - 1
    groups, first = [], 0
    while first < last:
        end = last
        if room is not None:
            fits = bounds[first] + room // SORTED_ROW_BYTES
            end = max(int(np.searchsorted(bounds, fits, side="right")) - 1, first + 1)
        if bounds[end] > bounds[first]:
            groups.append((first, end))
        first = end
    return groups


def _collect(
    build: _Build,
    shift: int,
    partitions: tuple[int, int],
    counts: NDArray[np.uint32],
    start: int,
    keys: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Write cell and row of some partitions, partition by partition, in the order of the rows."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

    def collect(thread: int, low: int, high: int) -> None:
        cells = build.cells_of(low, high)
        sort.collect_rows(cells, shift, partitions, counts[thread], start, low, keys, rows)

    build.run("collect", collect, build.source.row_count)


def _sort_partitions(
    build: _Build,
    shift: int,
    bounds: NDArray[np.int64],
    keys: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Sort each partition by the bits of its cells below `shift`; partition p begins at bounds[p]."""

    def sort_some(_: int, low: int, high: int) -> None:
        for partition in range(low, high):
            part = slice(int(bounds[partition]), int(bounds[partition + 1]))
            if part.stop - part.start > 1:
                _sort_digits(build, shift, keys[part], rows[part])

    build.run("sort", sort_some, len(bounds) - 1, 1)


def _sort_digits(
    build: _Build, bits: int, keys: NDArray[np.int64], rows: NDArray[np.uint32]
) -> None:
    """Sort by the lowest bits, digit by digit from the last one up."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

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
    build: _Build, rows: NDArray[np.uint32], start: int, places: NDArray[np.uint32]
) -> None:
    """Write to each sorted row its place; the first one's is `start`."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

    def invert(_: int, low: int, high: int) -> None:
        numbers = np.arange(start + low, start + high, dtype=np.uint32)
        sort.scatter(rows[low:high], numbers, places)

    build.run("sort", invert, len(rows))


def _list_cells(
    keys: NDArray[np.int64], start: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the distinct keys of sorted ones with the place of the first of each, in blocks."""
    found = []
    for low in range(0, len(keys), SORTED_BLOCK_ROWS):
        block = keys[low : low + SORTED_BLOCK_ROWS]
        is_new = np.ones(len(block), np.bool_)
        is_new[1:] = block[1:] != block[:-1]
        is_new[0] = low == 0 or block[0] != keys[low - 1]
        firsts = np.flatnonzero(is_new)
        found.append((block[firsts], firsts + (start + low)))
    return found


def _begin_cells(
    keys: NDArray[np.int64], start: int, next_cell: int, offsets: NDArray[np.int64]
) -> int:
    """Write the offsets of all cells up to that of the last key; returns the cell after it."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

    for low in range(0, len(keys), SORTED_BLOCK_ROWS):
        block = keys[low : low + SORTED_BLOCK_ROWS]
        next_cell = sort.begin_cells(block, start + low, next_cell, offsets)
    return next_cell


# -- the payload


def _fill(
    build: _Build,
    cells: NDArray[np.int64] | None,
    offsets: NDArray[np.int64],
    place: Place,
) -> Bvh:
    """Write every row's number, codes and measures to its place."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

    source, row_count = build.source, build.source.row_count
    bounds = build.bounds
    row_ids = _new_array(row_count, np.dtype(np.uint32))
    tables = []
    for number, kind in zip(build.stored, build.stored_types, strict=True):
        row_codes = source.codes[number]
        all_codes = np.arange(source.hierarchies[number].code_count).astype(kind)
        tables.append((row_codes, row_codes.table(all_codes), _new_array(row_count, kind)))
    values = [_new_array(row_count, each.type) for each in bounds]
    valid = [_new_array(row_count, np.dtype(np.bool_)) if b.has_null else None for b in bounds]

    def fill(thread: int, low: int, high: int) -> None:
        places = place(thread, low, high)
        numbers = source.row_numbers
        block = np.arange(low, high, dtype=np.uint32) if numbers is None else numbers[low:high]
        sort.scatter(places, frozen(block), row_ids)
        for row_codes, table, target in tables:
            sort.scatter(places, frozen(table[row_codes.places(low, high)]), target)
        for read, target, valid_target in zip(source.measures, values, valid, strict=True):
            found, are_valid = read(low, high)
            sort.scatter(places, frozen(found.astype(target.dtype)), target)
            if valid_target is not None:
                if are_valid is None:
                    are_valid = np.ones(high - low, np.bool_)
                sort.scatter(places, frozen(are_valid), valid_target)

    build.run("place", fill, row_count)
    measures = zip(values, valid, bounds, strict=True)
    return Bvh(
        source.hierarchies,
        build.cell_count,
        cells,
        offsets,
        row_ids,
        build.stored,
        tuple(target for _, _, target in tables),
        tuple(Measure(v, is_valid, b.low, b.high) for v, is_valid, b in measures),
    )


def _new_array(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Allocate an array where Arrow allocates columns, so that a memory limit counts it with them."""
    return np.frombuffer(pa.allocate_buffer(count * dtype.itemsize), dtype)


def thread_count(row_count: int) -> int:
    """Return how many threads a build of so many rows pays off for."""
    has_affinity = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(min(processors, row_count // THREAD_ROWS), 1)
