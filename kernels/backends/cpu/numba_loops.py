"""The hot loops: plain functions of arrays, compiled by numba at first use and kept on disk.

runs     int64, shape (3, run_count): starts, ends and groups of ranges of places; a place is the
         position of a row in the BVH
maps     one or two pairs (codes, parts): the stored code of each place, and by code what it adds to
         the group. Entry c + 1 of the parts is that of code c, entry 0 that of code -1, so that no
         code is negative as an index, and needs no test
state    the words of a kind of state (`aggregates.STATES`), shape (word_count, group_count): int64,
         or float64 where the values are floats

A `wide` sum keeps the high and the low 32 bits of every value apart, which can't overflow below
2**31 rows a group, and is taken where the bounds of a measure do not rule an overflow out. NaN is
greater than every number, and in a minimum stands for none yet.

Loops index whole arrays by unsigned numbers. For a signed index numba tests whether it counts from
the end; for a slice it does not know that values lie side by side, and LLVM gathers them one by
one. Either takes 0.27 ns a row to add up int32 where this takes 0.03 from the cache.

`raydb.kernels.backends.cpu.numpy_loops` has a twin in NumPy for every loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np
from numba.extending import overload

from raydb.kernels.backends.aggregates import LOW_BITS
from raydb.kernels.jit import entry
from raydb.kernels.memory_loops import prefetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    # One or two: numba compiles a loop for each number of maps.
    Maps = tuple[tuple[NDArray[Any], NDArray[Any]], ...]

# Runs of fewer rows are read in whole tiles, so that all of it is done by vector instructions: a
# run of 55 rows takes 6.7 ns instead of 14.6.
SHORT_ROWS = np.uint64(512)
TILE_ROWS = np.uint64(16)

ONE = np.uint64(1)

# With each block of a run a block of the next run is asked for. Of values that no cache holds
# memory gives runs of 1,500 rows at 28 GB/s instead of 24, and those of 6,000 that lie far from
# each other at 30 instead of 20; a long run it reads ahead by itself.
BLOCK_ROWS = np.uint64(256)
ASKED_ROWS = np.uint64(2**14)
LINE_BYTES = 64


def _ask_for(values: NDArray[Any], place: np.uint64) -> None:
    """Let memory bring the values of a block of places."""
    raise NotImplementedError


@overload(_ask_for, inline="always")
def _compile_ask_for(values: Any, place: Any) -> Callable[..., Any]:  # noqa: ARG001  (numba's types)
    width = values.dtype.bitwidth // 8
    block_bytes = int(BLOCK_ROWS) * width

    def ask(values: Any, place: Any) -> None:
        address = values.ctypes.data + np.int64(place) * width
        for byte in range(0, block_bytes, LINE_BYTES):
            prefetch(address + byte)

    return ask


# -- runs: the group is constant, and stays in a register


@entry
def count_runs(runs: Integers, counts: Integers) -> None:
    """Add the length of each run to its group's count."""
    starts, ends, groups = runs[0], runs[1], runs[2]
    for run in range(len(starts)):
        counts[groups[run]] += ends[run] - starts[run]


@entry
def sum_runs(runs: Integers, values: NDArray[Any], state: NDArray[Any]) -> None:
    """Add the values of each run to its group's sum."""
    starts, ends, groups = runs[0], runs[1], runs[2]
    sums = state[0]
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
            ahead = np.uint64(starts[min(run + 1, len(starts) - 1)])
            whole = min(row_count, ASKED_ROWS) & ~(BLOCK_ROWS - ONE)
            for block in range(np.uint64(0), whole, BLOCK_ROWS):
                _ask_for(values, ahead + block)
                for row in range(BLOCK_ROWS):
                    total += values[start + block + row]
            for place in range(start + whole, end):
                total += values[place]
        sums[groups[run]] = total


@entry
def wide_runs(runs: Integers, values: NDArray[Any], state: Integers) -> None:
    """Add the high and the low 32 bits of the values of each run apart."""
    starts, ends, groups = runs[0], runs[1], runs[2]
    for run in range(len(starts)):
        group = groups[run]
        high, low = state[0, group], state[1, group]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            value = np.int64(values[place])
            high += value >> 32
            low += value & LOW_BITS
        state[0, group], state[1, group] = high, low


@entry
def fold_runs(runs: Integers, values: NDArray[Any], state: NDArray[Any]) -> None:
    """Keep each group's sum, least and greatest value in one pass; a sum of integers wraps."""
    starts, ends, groups = runs[0], runs[1], runs[2]
    for run in range(len(starts)):
        group = groups[run]
        total, low, high = state[0, group], state[1, group], state[2, group]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            value = values[place]
            total += value
            # A NaN is left out: NaN alone differs from itself.
            if value < low or (low != low and value == value):  # noqa: PLR0124
                low = value
            if value > high or value != value:  # noqa: PLR0124
                high = value
        state[0, group], state[1, group], state[2, group] = total, low, high


@entry
def squares_runs(runs: Integers, values: NDArray[Any], state: Integers) -> None:
    """Add the squares of the values of each run to its group's sum of squares."""
    starts, ends, groups = runs[0], runs[1], runs[2]
    for run in range(len(starts)):
        total = state[0, groups[run]]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            value = np.int64(values[place])
            total += value * value
        state[0, groups[run]] = total


@entry
def wide_squares_runs(runs: Integers, values: NDArray[Any], state: Integers) -> None:
    """Add the high and the low 32 bits of the squares of the values of each run apart."""
    starts, ends, groups = runs[0], runs[1], runs[2]
    for run in range(len(starts)):
        group = groups[run]
        high, low = state[0, group], state[1, group]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            square = np.int64(values[place]) * np.int64(values[place])
            high += square >> 32
            low += square & LOW_BITS
        state[0, group], state[1, group] = high, low


# -- one sum over rows whose stored codes decide the group: codes and values are read once
#
# A row that a part drops is added up in a group behind the others where it can't be foreseen,
# because a branch that goes either way costs up to 3 ns a row. Rows that follow each other go to
# different copies (lanes) of the accumulators, because an addition to a word waits until the one
# before it is stored.


def _parts_at(maps: Any, place: Any) -> Any:
    """Return what the maps add to a row's group, and a number below zero where one drops it."""
    raise NotImplementedError


@overload(_parts_at)
def _compile_parts_at(maps: Any, place: Any) -> Callable[..., Any]:  # noqa: ARG001  (numba's types)
    if len(maps) == 1:

        def of_one(maps: Any, place: Any) -> Any:
            codes, parts = maps[0]
            part = parts[np.uint64(np.int64(codes[place]) + 1)]
            return part, part

        return of_one

    def of_two(maps: Any, place: Any) -> Any:
        codes, parts = maps[0]
        other_codes, other_parts = maps[1]
        part = parts[np.uint64(np.int64(codes[place]) + 1)]
        other_part = other_parts[np.uint64(np.int64(other_codes[place]) + 1)]
        return part + other_part, part | other_part

    return of_two


@entry
def sum_by_code(
    runs: Integers,
    maps: Maps,
    values: NDArray[Any],
    lanes: tuple[int, int, int],
    counts: Integers,
    sums: NDArray[Any],
) -> None:
    """Add each row's value to the sum of its run's group + what the maps add.

    maps: their parts are int32, and large where a row is dropped.
    lanes: (count, width, limit). The count is a power of two, 1 where the order of additions
        matters. Row after row goes to the next lane of `width` groups; the groups behind those of
        the job take the rows that are dropped. Rows of groups from the limit on are skipped; it is
        the width where few would be, or about half.
    counts, sums: shape (count * width,).
    """
    starts, ends, groups = runs[0], runs[1], runs[2]
    mask, step, beyond = np.uint64(lanes[0] - 1), np.uint64(lanes[1]), np.uint64(lanes[2])
    for run in range(len(starts)):
        base = np.uint64(groups[run])
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            group = base + np.uint64(_parts_at(maps, place)[0])
            if group < beyond:
                slot = group + (place & mask) * step
                counts[slot] += 1
                sums[slot] += values[place]


@entry
def count_by_code(
    runs: Integers, maps: Maps, lanes: tuple[int, int, int], counts: Integers
) -> None:
    """Do as `sum_by_code` with no sum."""
    starts, ends, groups = runs[0], runs[1], runs[2]
    mask, step, beyond = np.uint64(lanes[0] - 1), np.uint64(lanes[1]), np.uint64(lanes[2])
    for run in range(len(starts)):
        base = np.uint64(groups[run])
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            group = base + np.uint64(_parts_at(maps, place)[0])
            if group < beyond:
                counts[group + (place & mask) * step] += 1


# -- places: the rows of a block, with the group of each


@entry
def list_rows(runs: Integers, places: Integers, groups: Integers) -> None:
    """Write the place and the group of every row of the runs."""
    starts, ends, run_groups = runs[0], runs[1], runs[2]
    found = np.uint64(0)
    for run in range(len(starts)):
        start, group = starts[run], run_groups[run]
        for row in range(np.uint64(ends[run] - start)):
            places[found + row] = start + np.int64(row)
            groups[found + row] = group
        found += np.uint64(ends[run] - start)


@entry
def list_by_code(runs: Integers, maps: Maps, places: Integers, groups: Integers) -> int:
    """Write the place of every row that all maps let pass, and its group with their parts added.

    maps: their parts are int64, and below zero where a row is dropped. Returns how many there are.
    """
    starts, ends, run_groups = runs[0], runs[1], runs[2]
    found = np.uint64(0)
    for run in range(len(starts)):
        group = run_groups[run]
        for place in range(np.uint64(starts[run]), np.uint64(ends[run])):
            part, passes = _parts_at(maps, place)
            # Written even where the row does not pass: a branch that goes either way costs 5 ns.
            places[found] = place
            groups[found] = group + part
            found += np.uint64(passes >= 0)
    return int(found)


@entry
def refine_rows(places: Integers, groups: Integers, codes: NDArray[Any], parts: Integers) -> int:
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


@entry
def count_groups(groups: Integers, counts: Integers) -> None:
    """Count the rows of each group."""
    for group in groups:
        counts[np.uint64(group)] += 1


@entry
def sum_places(
    places: Integers, groups: Integers, values: NDArray[Any], state: NDArray[Any]
) -> None:
    """Add the value at each place to its group's sum."""
    sums = state[0]
    for row in range(np.uint64(len(groups))):
        sums[np.uint64(groups[row])] += values[np.uint64(places[row])]


@entry
def wide_places(
    places: Integers, groups: Integers, values: NDArray[Any], state: NDArray[Any]
) -> None:
    """Add the high and the low 32 bits of each value apart."""
    highs, lows = state[0], state[1]
    for row in range(np.uint64(len(groups))):
        value = np.int64(values[np.uint64(places[row])])
        highs[np.uint64(groups[row])] += value >> 32
        lows[np.uint64(groups[row])] += value & LOW_BITS


@entry
def min_places(
    places: Integers, groups: Integers, values: NDArray[Any], state: NDArray[Any]
) -> None:
    """Keep each group's least value."""
    least = state[0]
    for row in range(np.uint64(len(groups))):
        value = values[np.uint64(places[row])]
        best = least[np.uint64(groups[row])]
        # A NaN is left out: NaN alone differs from itself.
        if value < best or (best != best and value == value):  # noqa: PLR0124
            least[np.uint64(groups[row])] = value


@entry
def max_places(
    places: Integers, groups: Integers, values: NDArray[Any], state: NDArray[Any]
) -> None:
    """Keep each group's greatest value."""
    most = state[0]
    for row in range(np.uint64(len(groups))):
        value = values[np.uint64(places[row])]
        if value > most[np.uint64(groups[row])] or value != value:  # noqa: PLR0124
            most[np.uint64(groups[row])] = value


@entry
def squares_places(
    places: Integers, groups: Integers, values: NDArray[Any], state: NDArray[Any]
) -> None:
    """Add the square of each value."""
    sums = state[0]
    for row in range(np.uint64(len(groups))):
        value = np.int64(values[np.uint64(places[row])])
        sums[np.uint64(groups[row])] += value * value


@entry
def wide_squares_places(
    places: Integers, groups: Integers, values: NDArray[Any], state: NDArray[Any]
) -> None:
    """Add the high and the low 32 bits of the square of each value apart."""
    highs, lows = state[0], state[1]
    for row in range(np.uint64(len(groups))):
        value = np.int64(values[np.uint64(places[row])])
        square = value * value
        highs[np.uint64(groups[row])] += square >> 32
        lows[np.uint64(groups[row])] += square & LOW_BITS
