"""The hot loops: plain functions of arrays, compiled by numba at first use and kept on disk.

A run is a range of places whose rows belong to one group; a place is the position of a row in the
BVH. All integer sums are int64; `wide` variants keep the high and the low 32 bits of every value
apart, which can't overflow below 2**31 rows a group, and are taken where the bounds of a measure do
not rule an overflow out.

Stored codes become groups by way of `parts`: entry c + 1 is what code c adds to the group, entry 0
what code -1 adds. So no code is negative as an index, and needs no test.

Loops index whole arrays by unsigned numbers. For a signed index numba tests whether it counts from
the end; for a slice it does not know that values lie side by side, and LLVM gathers them one by
one. Either takes 0.27 ns a row to add up int32 where this takes 0.03 from the cache.

`raydb.kernels.backends.cpu.numpy_loops` has a twin in NumPy for every function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOW_BITS = 0xFFFFFFFF

# Runs of fewer rows are read in whole tiles, so that all of it is done by vector instructions: a
# run of 55 rows takes 6.7 ns instead of 14.6.
SHORT_ROWS = np.uint64(512)
TILE_ROWS = np.uint64(16)

ONE = np.uint64(1)


# -- runs: the group is constant, and stays in a register


@numba.njit(cache=True, nogil=True)
def count_runs(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add the length of each run to its group's count."""
    for run in range(len(starts)):
        counts[groups[run]] += ends[run] - starts[run]


@numba.njit(cache=True, nogil=True)
def sum_runs(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    values: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """Add the values of each run to its group's sum."""
    nothing = values.dtype.type(0)
    for run in range(len(starts)):
        start, end = np.uint64(starts[run]), np.uint64(ends[run])
        row_count = end - start
        tiled = (row_count + TILE_ROWS - ONE) & ~(TILE_ROWS - ONE)
        total = sums[groups[run]]
        if row_count < SHORT_ROWS and start + tiled <= np.uint64(len(values)):
            # The last tile reads on into the next run, whose values count as 0. They are read
            # before the test: LLVM makes no vectors of a load that may not take place.
            for row in range(tiled):
                value = values[start + row]
                total += value if row < row_count else nothing
        else:
            for place in range(start, end):
                total += values[place]
        sums[groups[run]] = total


@numba.njit(cache=True, nogil=True)
def sum_runs_wide(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    values: NDArray[Any],
    highs: NDArray[np.int64],
    lows: NDArray[np.int64],
) -> None:
    """Add the high and the low 32 bits of the values of each run apart."""
    for run in range(len(starts)):
        high, low = highs[groups[run]], lows[groups[run]]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            value = np.int64(values[place])
            high += value >> 32
            low += value & LOW_BITS
        highs[groups[run]] = high
        lows[groups[run]] = low


@numba.njit(cache=True, nogil=True)
def fold_runs(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    values: NDArray[Any],
    sums: NDArray[Any],
    least: NDArray[Any],
    most: NDArray[Any],
) -> None:
    """Keep each group's sum, least and greatest value in one pass.

    NaN is greater than every number, and among `least` it stands for none yet. A sum of integers
    wraps.
    """
    for run in range(len(starts)):
        group = groups[run]
        total, low, high = sums[group], least[group], most[group]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            value = values[place]
            total += value
            if value < low or low != low:  # noqa: PLR0124  (NaN alone differs from itself)
                low = value
            if value > high or value != value:  # noqa: PLR0124
                high = value
        sums[group], least[group], most[group] = total, low, high


# -- one sum over rows whose stored codes decide the group: codes and values are read once
#
# A row that a part drops is added up in a group behind the others where it can't be foreseen,
# because a branch that goes either way costs up to 3 ns a row. Rows that follow each other go to
# different copies (lanes) of the accumulators, because an addition to a word waits until the one
# before it is stored.


@numba.njit(cache=True, nogil=True)
def sum_by_code(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    values: NDArray[Any],
    lanes: int,
    width: int,
    limit: int,
    counts: NDArray[np.int64],
    sums: NDArray[Any],
) -> None:
    """Add each row's value to the sum of its run's group + its code's part.

    counts, sums: shape (lanes * width,). Row after row goes to the next lane of `width` groups; the
        groups behind those of the job take the rows that are dropped.
    limit: rows of groups from this on are skipped; `width` where few would be, or about half.
    lanes: a power of two; 1 where the order of additions matters.
    """
    mask, step, beyond = np.uint64(lanes - 1), np.uint64(width), np.uint64(limit)
    for run in range(len(starts)):
        base = np.uint64(groups[run])
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            group = base + np.uint64(parts[np.uint64(np.int64(codes[place]) + 1)])
            if group < beyond:
                slot = group + (place & mask) * step
                counts[slot] += 1
                sums[slot] += values[place]


@numba.njit(cache=True, nogil=True)
def sum_by_codes(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    other_codes: NDArray[Any],
    other_parts: NDArray[np.int32],
    values: NDArray[Any],
    lanes: int,
    width: int,
    limit: int,
    counts: NDArray[np.int64],
    sums: NDArray[Any],
) -> None:
    """Do as `sum_by_code` with two parts."""
    mask, step, beyond = np.uint64(lanes - 1), np.uint64(width), np.uint64(limit)
    for run in range(len(starts)):
        base = np.uint64(groups[run])
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            group = base + np.uint64(parts[np.uint64(np.int64(codes[place]) + 1)])
            group += np.uint64(other_parts[np.uint64(np.int64(other_codes[place]) + 1)])
            if group < beyond:
                slot = group + (place & mask) * step
                counts[slot] += 1
                sums[slot] += values[place]


@numba.njit(cache=True, nogil=True)
def count_by_code(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    lanes: int,
    width: int,
    limit: int,
    counts: NDArray[np.int64],
) -> None:
    """Do as `sum_by_code` with no sum."""
    mask, step, beyond = np.uint64(lanes - 1), np.uint64(width), np.uint64(limit)
    for run in range(len(starts)):
        base = np.uint64(groups[run])
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            group = base + np.uint64(parts[np.uint64(np.int64(codes[place]) + 1)])
            if group < beyond:
                counts[group + (place & mask) * step] += 1


@numba.njit(cache=True, nogil=True)
def count_by_codes(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    other_codes: NDArray[Any],
    other_parts: NDArray[np.int32],
    lanes: int,
    width: int,
    limit: int,
    counts: NDArray[np.int64],
) -> None:
    """Do as `sum_by_codes` with no sum."""
    mask, step, beyond = np.uint64(lanes - 1), np.uint64(width), np.uint64(limit)
    for run in range(len(starts)):
        base = np.uint64(groups[run])
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            group = base + np.uint64(parts[np.uint64(np.int64(codes[place]) + 1)])
            group += np.uint64(other_parts[np.uint64(np.int64(other_codes[place]) + 1)])
            if group < beyond:
                counts[group + (place & mask) * step] += 1


# -- places: the rows of a block, with the group of each


@numba.njit(cache=True, nogil=True)
def list_rows(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    run_groups: NDArray[np.int64],
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
) -> None:
    """Write the place and the group of every row of the runs."""
    found = np.uint64(0)
    for run in range(len(starts)):
        start, group = starts[run], run_groups[run]
        for row in range(np.uint64(ends[run] - start)):
            places[found + row] = start + np.int64(row)
            groups[found + row] = group
        found += np.uint64(ends[run] - start)


@numba.njit(cache=True, nogil=True)
def list_by_code(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    run_groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
) -> int:
    """Write the place of every row whose part is not negative, and its group with that part added.

    Returns how many there are.
    """
    found = np.uint64(0)
    for run in range(len(starts)):
        group = run_groups[run]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            part = parts[np.uint64(np.int64(codes[place]) + 1)]
            # Written even where the row does not pass: a branch that goes either way costs 5 ns.
            places[found] = place
            groups[found] = group + part
            found += np.uint64(part >= 0)
    return int(found)


@numba.njit(cache=True, nogil=True)
def list_by_codes(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    run_groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
    other_codes: NDArray[Any],
    other_parts: NDArray[np.int64],
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
) -> int:
    """Do as `list_by_code` with two parts, neither of which may be negative."""
    found = np.uint64(0)
    for run in range(len(starts)):
        group = run_groups[run]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            part = parts[np.uint64(np.int64(codes[place]) + 1)]
            other_part = other_parts[np.uint64(np.int64(other_codes[place]) + 1)]
            places[found] = place
            groups[found] = group + part + other_part
            found += np.uint64((part | other_part) >= 0)
    return int(found)


@numba.njit(cache=True, nogil=True)
def refine_rows(
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
) -> int:
    """Add the code's part to each row's group, and move up the rows whose part is not negative.

    Returns how many there are; they are the first ones of `places` and `groups`.
    """
    found = np.uint64(0)
    for row in range(np.uint64(len(places))):
        place = np.uint64(places[row])
        part = parts[np.uint64(np.int64(codes[place]) + 1)]
        places[found] = place
        groups[found] = groups[row] + part
        found += np.uint64(part >= 0)
    return int(found)


@numba.njit(cache=True, nogil=True)
def count_groups(groups: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Count the rows of each group."""
    for group in groups:
        counts[np.uint64(group)] += 1


@numba.njit(cache=True, nogil=True)
def sum_places(
    places: NDArray[np.int64], groups: NDArray[np.int64], values: NDArray[Any], sums: NDArray[Any]
) -> None:
    """Add the value at each place to its group's sum."""
    for row in range(np.uint64(len(places))):
        sums[np.uint64(groups[row])] += values[np.uint64(places[row])]


@numba.njit(cache=True, nogil=True)
def sum_places_wide(
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
    values: NDArray[Any],
    highs: NDArray[np.int64],
    lows: NDArray[np.int64],
) -> None:
    """Add the high and the low 32 bits of each value apart."""
    for row in range(np.uint64(len(places))):
        value = np.int64(values[np.uint64(places[row])])
        highs[np.uint64(groups[row])] += value >> 32
        lows[np.uint64(groups[row])] += value & LOW_BITS


@numba.njit(cache=True, nogil=True)
def least_places(
    places: NDArray[np.int64], groups: NDArray[np.int64], values: NDArray[Any], least: NDArray[Any]
) -> None:
    """Keep each group's least value; NaN is greater than every number, and stands for none yet."""
    for row in range(np.uint64(len(places))):
        value = values[np.uint64(places[row])]
        best = least[np.uint64(groups[row])]
        if value < best or best != best:  # noqa: PLR0124  (NaN alone differs from itself)
            least[np.uint64(groups[row])] = value


@numba.njit(cache=True, nogil=True)
def most_places(
    places: NDArray[np.int64], groups: NDArray[np.int64], values: NDArray[Any], most: NDArray[Any]
) -> None:
    """Keep each group's greatest value; NaN is greater than every number."""
    for row in range(np.uint64(len(places))):
        value = values[np.uint64(places[row])]
        if value > most[np.uint64(groups[row])] or value != value:  # noqa: PLR0124
            most[np.uint64(groups[row])] = value
