"""The loops that make a scene: rows in the order of their buckets, and where each bucket lies.

A bucket is a run of rows of one entry and one lane of Y, and becomes one triangle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray


# So few numbers are sorted faster by hand than by NumPy's sort: 4.4 million cells of 1.4 rows take
# 0.1 s instead of 0.7.
FEW = 16


@jit.pasted
def _sort_few(numbers: NDArray[np.int64], count: int) -> None:
    """Sort the first numbers in place, by insertion."""
    for at in range(1, count):
        number = numbers[at]
        before = at
        while before > 0 and numbers[before - 1] > number:
            numbers[before] = numbers[before - 1]
            before -= 1
        numbers[before] = number


@jit.entry
def fill_buckets(
    offsets: NDArray[np.int64],
    tuples: NDArray[np.int32],
    dead: NDArray[np.int64],
    y_range: tuple[int, int],
    lane_of: NDArray[np.int32],
    most_rows: int,
    places: NDArray[np.uint32],
    tuples_in_order: NDArray[Any],
    firsts: NDArray[np.uint32],
    y: NDArray[np.int32],
    entry_of: NDArray[np.int64],
) -> int:
    """Order the rows of each entry by their tuples, and cut them into buckets.

    tuples (row_count), or none where all rows have tuple 0; dead (ascending) places and tuples
    outside of y_range (low, high) are left out. lane_of (tuple_count): the lane of Y of each tuple,
    which never falls among those of one entry. A bucket has one lane, and at most most_rows.
    Writes: places and tuples_in_order (row_count) of the rows, where they have a length; firsts
    (row_count + 1), the first row of each bucket; y, entry_of (row_count) of the buckets.
    Returns how many buckets there are.
    """
    low, high = y_range
    counts = np.zeros(len(lane_of), np.int64)
    starts = np.zeros(len(lane_of), np.int64)
    seen = np.empty(len(lane_of), np.int64)
    buckets = row = at_dead = 0
    for entry in range(len(offsets) - 1):
        first, last = offsets[entry], offsets[entry + 1]
        # Counted, then placed: a sort of few keys that reads the rows of an entry twice.
        distinct = 0
        after_dead = at_dead
        for place in range(first, last):
            if after_dead < len(dead) and dead[after_dead] == place:
                after_dead += 1
                continue
            number = tuples[place] if len(tuples) else 0
            if low <= number < high:
                if counts[number] == 0:
                    seen[distinct] = number
                    distinct += 1
                counts[number] += 1
        if distinct > FEW:
            seen[:distinct].sort()
        else:
            _sort_few(seen, distinct)
        lane_row = row
        for at in range(distinct):
            number = seen[at]
            starts[number] = row
            row += counts[number]
            counts[number] = 0
            if at + 1 < distinct and lane_of[seen[at + 1]] == lane_of[number]:
                continue
            count = row - lane_row
            pieces = -(-count // most_rows)
            for piece in range(pieces):
                # Of about as many rows each: a ray waits for the largest one.
                firsts[buckets] = lane_row + count * piece // pieces
                y[buckets] = lane_of[number]
                entry_of[buckets] = entry
                buckets += 1
            lane_row = row
        if len(places):
            for place in range(first, last):
                if at_dead < len(dead) and dead[at_dead] == place:
                    at_dead += 1
                    continue
                number = tuples[place] if len(tuples) else 0
                if low <= number < high:
                    places[starts[number]] = place
                    if len(tuples_in_order):
                        tuples_in_order[starts[number]] = number
                    starts[number] += 1
    firsts[buckets] = row
    return buckets


@jit.entry
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


@jit.entry
def count_lanes(
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    passing: NDArray[np.int64],
    lane_counts: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> None:
    """Write to counts (segment_count, passing) how many lanes of X the entries of segments have.

    lows, highs: the segments' entries. passing: lanes of Y.
    """
    for segment in range(len(lows)):
        for at in range(len(passing)):
            most = np.uint8(0)
            for entry in range(lows[segment], highs[segment]):
                most = max(most, lane_counts[entry, passing[at]])
            counts[segment, at] = most


@jit.entry
def list_rays(
    counts: NDArray[np.int64],
    passing: NDArray[np.int64],
    x_count: int,
    segments: NDArray[np.uint32],
    lanes: NDArray[np.uint32],
) -> None:
    """Write the segment and the lane, y * x_count + x, of each ray; counts as of `count_lanes`."""
    ray = 0
    for segment in range(len(counts)):
        for at in range(len(passing)):
            for x in range(counts[segment, at]):
                segments[ray] = segment
                lanes[ray] = passing[at] * x_count + x
                ray += 1
