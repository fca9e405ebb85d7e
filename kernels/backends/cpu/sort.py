"""The loops of a build: rows into the places of their cells, stable.

Every loop runs over a block of rows, so that an interrupt is heard between two calls, and several
threads run it at once, each on its own rows and with its own counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.jit import entry

if TYPE_CHECKING:
    from numpy.typing import NDArray


@entry
def add_cells(
    cells: NDArray[np.int64],
    places: NDArray[Any],
    coordinates: NDArray[np.int32],
    stride: int,
) -> None:
    """Add stride * coordinates[place] to the cell of each row; place -1 is the last one."""
    for row in range(len(places)):
        cells[row] += np.int64(coordinates[places[row]]) * stride


@entry
def count_cells(cells: NDArray[np.int64], shift: int, counts: NDArray[np.uint32]) -> None:
    """Count the rows of each cell, or of each 2**shift cells."""
    for cell in cells:
        counts[np.uint64(cell >> shift)] += np.uint32(1)


@entry
def begin_places(
    counts: NDArray[np.uint32], offsets: NDArray[np.int64], low: int, high: int
) -> None:
    """Turn each thread's counts of the cells low .. high - 1 into the first places of its rows.

    counts: shape (thread_count, cell_count). offsets[low] is given, and those up to offsets[high]
    are written.
    """
    place = offsets[low]
    for cell in range(low, high):
        for thread in range(len(counts)):
            count = counts[thread, cell]
            counts[thread, cell] = place
            place += count
        offsets[cell + 1] = place


@entry
def take_places(
    cells: NDArray[np.int64], next_places: NDArray[np.uint32], places: NDArray[np.uint32]
) -> None:
    """Write the next place of each row's cell."""
    for row in range(len(cells)):
        cell = np.uint64(cells[row])
        place = next_places[cell]
        places[row] = place
        next_places[cell] = place + np.uint32(1)


@entry
def scatter(places: NDArray[np.uint32], values: NDArray[Any], target: NDArray[Any]) -> None:
    """Write each value to its place."""
    for row in range(len(places)):
        target[np.uint64(places[row])] = values[row]


# -- a radix sort: partitions by the first digit, then digit by digit from the last one up


@entry
def collect_rows(
    cells: NDArray[np.int64],
    shift: int,
    partitions: tuple[int, int],
    next_places: NDArray[np.uint32],
    origin: int,
    first_row: int,
    keys: NDArray[np.int64],
    rows: NDArray[np.uint32],
) -> None:
    """Write cell and number of each row of some partitions to its partition's next place.

    partitions: (first, end). origin: the place that is keys[0] and rows[0].
    """
    first, end = partitions
    for row in range(len(cells)):
        partition = cells[row] >> shift
        if first <= partition < end:
            place = next_places[partition]
            next_places[partition] = place + np.uint32(1)
            keys[np.uint64(place - origin)] = cells[row]
            rows[np.uint64(place - origin)] = first_row + row


@entry
def count_digits(keys: NDArray[np.int64], shift: int, counts: NDArray[np.int64]) -> None:
    """Count the digits of keys that begin at a bit; `counts` has a place for each digit."""
    mask = len(counts) - 1
    for key in keys:
        counts[np.uint64((key >> shift) & mask)] += 1


@entry
def move_rows(
    keys: NDArray[np.int64],
    rows: NDArray[np.uint32],
    shift: int,
    next_places: NDArray[np.int64],
    moved_keys: NDArray[np.int64],
    moved_rows: NDArray[np.uint32],
) -> None:
    """Move keys and rows to the next place of their digit."""
    mask = len(next_places) - 1
    for row in range(len(keys)):
        digit = np.uint64((keys[row] >> shift) & mask)
        place = next_places[digit]
        next_places[digit] = place + 1
        moved_keys[np.uint64(place)] = keys[row]
        moved_rows[np.uint64(place)] = rows[row]


@entry
def begin_cells(
    keys: NDArray[np.int64], first_place: int, next_cell: int, offsets: NDArray[np.int64]
) -> int:
    """Write the offset of each cell from `next_cell` up to the last of some sorted keys.

    Returns the cell after that one.
    """
    for row in range(len(keys)):
        while next_cell <= keys[row]:
            offsets[next_cell] = first_place + row
            next_cell += 1
    return next_cell
