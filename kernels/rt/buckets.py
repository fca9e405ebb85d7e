"""The loops that make a scene: rows in the order of their buckets, and where each bucket lies.

A bucket is a run of rows of one entry and one group tuple, and becomes one triangle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def fill_buckets(
    offsets: NDArray[np.int64],
    tuples: NDArray[np.int32],
    dead: NDArray[np.int64],
    y_range: tuple[int, int],
    tuple_count: int,
    most_rows: int,
    places: NDArray[np.uint32],
    firsts: NDArray[np.uint32],
    tuple_of: NDArray[np.int32],
    entry_of: NDArray[np.int64],
) -> tuple[int, int, int]:
    """Order the rows of each entry by their tuples, and cut them into buckets.

    tuples (row_count), or none where all rows have tuple 0; dead (ascending) places and tuples
    outside of y_range (low, high) are left out; a bucket has at most most_rows.
    Writes: places (row_count) of the rows, or none if it has no length; firsts (row_count + 1), the
    first row of each bucket; tuple_of, entry_of (row_count) of the buckets.
    Returns how many buckets there are, and of how many entries and pairs of entry and tuple.
    """
    low, high = y_range
    counts = np.zeros(tuple_count, np.int64)
    starts = np.zeros(tuple_count, np.int64)
    seen = np.empty(tuple_count, np.int64)
    buckets = entries = pairs = row = 0
    at_dead = 0
    for entry in range(len(offsets) - 1):
        first, last = offsets[entry], offsets[entry + 1]
        while at_dead < len(dead) and dead[at_dead] < first:
            at_dead += 1
        # Counted, then placed: a sort of few keys that reads the rows of an entry twice.
        distinct = 0
        skipped = at_dead
        for place in range(first, last):
            if skipped < len(dead) and dead[skipped] == place:
                skipped += 1
                continue
            number = tuples[place] if len(tuples) else 0
            if not low <= number < high:
                continue
            if counts[number] == 0:
                seen[distinct] = number
                distinct += 1
            counts[number] += 1
        if distinct == 0:
            at_dead = skipped
            continue
        if distinct > 1:
            seen[:distinct].sort()
        entries += 1
        pairs += distinct
        for number in seen[:distinct]:
            count = counts[number]
            pieces = -(-count // most_rows)
            for piece in range(pieces):
                # Of about as many rows each: a ray waits for the largest one.
                firsts[buckets] = row + count * piece // pieces
                tuple_of[buckets] = number
                entry_of[buckets] = entry
                buckets += 1
            starts[number] = row
            row += count
        if len(places):
            skipped = at_dead
            for place in range(first, last):
                if skipped < len(dead) and dead[skipped] == place:
                    skipped += 1
                    continue
                number = tuples[place] if len(tuples) else 0
                if low <= number < high:
                    places[starts[number]] = place
                    starts[number] += 1
        for number in seen[:distinct]:
            counts[number] = 0
        at_dead = skipped
    firsts[buckets] = row
    return buckets, entries, pairs


@numba.njit(cache=True, nogil=True)
def number_beside(
    entry_of: NDArray[np.int64],
    y: NDArray[np.int32],
    most: int,
    x: NDArray[np.int32],
    lane_counts: NDArray[np.uint8],
) -> int:
    """Number the buckets that lie beside each other: of one entry and lane of Y.

    entry_of, y (bucket_count): neither falls, y within an entry. At `most` the numbers begin again.
    Writes x (bucket_count), and how many numbers each entry has in each lane of Y: lane_counts
    (entry_count, y_count), all 0 before. Returns the greatest of these.
    """
    widest = 0
    beside = 0
    for bucket in range(len(entry_of)):
        if bucket and entry_of[bucket] == entry_of[bucket - 1] and y[bucket] == y[bucket - 1]:
            beside += 1
        else:
            beside = 0
        x[bucket] = beside % most
        count = min(beside + 1, most)
        lane_counts[entry_of[bucket], y[bucket]] = count
        widest = max(widest, count)
    return widest
