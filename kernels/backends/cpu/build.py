"""Builds a BVH block by block: counts the rows of each cell, then puts each row into its place.

    count   cells of a block -> counts of this thread          measures -> their bounds
    place   cells of a block -> places -> row number, codes and measures, written to their places

Cells and measures are computed twice, which takes less time than to write and read them, and no
memory. Every thread has one range of the rows and its own counts: in each cell the rows of the
first range come first, so the result is the same for any number of threads.

Where there are more cells than can be counted one by one, rows are sorted by radix before they are
placed (`raydb.kernels.backends.cpu.radix`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.backends.cpu import sort
from raydb.kernels.backends.cpu.blocks import Build, begin_places, new_array
from raydb.kernels.backends.cpu.radix import sort_rows
from raydb.kernels.backends.cpu.warm import frozen
from raydb.kernels.bvh.bvh import DENSE_CELLS, Bvh, Measure, count_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backends.cpu.blocks import Place, Placed
    from raydb.kernels.bvh.build_input import BuildControl, Source

# Counts of more cells (32 MiB a thread) leave the cache at every row, and radix sort is faster.
COUNTED_CELLS = 2**23


def build_from(source: Source, control: BuildControl) -> Bvh:
    """Sort rows by cell, each cell's in their order, and put the payload into that order.

    Raises DataError where the cells can't be numbered, and what the control's room raises where
    the arrays do not fit.
    """
    cell_count = count_cells(source.hierarchies)
    is_dense = cell_count <= max(DENSE_CELLS, 2 * source.row_count)
    build = Build(source, control, cell_count)
    fixed_bytes = build.row_bytes * source.row_count + (8 * (cell_count + 1) if is_dense else 0)
    control.room.take(fixed_bytes)
    if is_dense and cell_count <= COUNTED_CELLS:
        cells, offsets, place = _count(build)
    else:
        cells, offsets, place = sort_rows(build, is_dense=is_dense)
    return _fill(build, cells, offsets, place)


def _count(build: Build) -> Placed:
    """Count the rows of every cell; a row's place is the next one of its cell."""
    room = build.control.room.left()
    if room is not None and build.threads * build.cell_count * 4 > room:
        build.threads = 1
    build.control.room.take(build.threads * build.cell_count * 4)
    counts = np.zeros((build.threads, build.cell_count), np.uint32)
    build.count(0, counts)
    offsets = new_array(build.cell_count + 1, np.dtype(np.int64))
    begin_places(counts, offsets)

    def place(thread: int, low: int, high: int) -> NDArray[np.uint32]:
        places = np.empty(high - low, np.uint32)
        sort.take_places(build.cells_of(low, high), counts[thread], places)
        return places

    return None, offsets, place


def _fill(
    build: Build,
    cells: NDArray[np.int64] | None,
    offsets: NDArray[np.int64],
    place: Place,
) -> Bvh:
    """Write every row's number, codes and measures to its place."""
    source, row_count = build.source, build.source.row_count
    bounds = build.bounds
    row_ids = new_array(row_count, np.dtype(np.uint32))
    tables = []
    for number, kind in zip(build.stored, build.stored_types, strict=True):
        row_codes = source.codes[number]
        all_codes = np.arange(source.hierarchies[number].code_count).astype(kind)
        tables.append((row_codes, row_codes.table(all_codes), new_array(row_count, kind)))
    values = [new_array(row_count, each.type) for each in bounds]
    valid = [new_array(row_count, np.dtype(np.bool_)) if b.has_null else None for b in bounds]

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
