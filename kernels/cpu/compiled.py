"""The hot loops: plain functions of arrays, compiled by numba at first use and kept on disk.

A run is a range of places whose rows belong to one group; a place is the position of a row in the
BVH. All integer sums are int64; `wide` variants keep the high and the low 32 bits of every value
apart, which can't overflow below 2**31 rows a group, and are taken where the bounds of a measure do
not rule an overflow out.

Loops run over slices, or index by unsigned numbers: for a signed index numba tests whether it
counts from the end, and LLVM then adds up one value at a time (0.86 ns a row instead of 0.23).

`raydb.kernels.cpu.plain` has a twin in NumPy for every function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOW_BITS = 0xFFFFFFFF


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
    for run in range(len(starts)):
        total = sums[groups[run]]
        for value in values[starts[run] : ends[run]]:
            total += value
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
        high = highs[groups[run]]
        low = lows[groups[run]]
        for value in values[starts[run] : ends[run]]:
            high += np.int64(value) >> 32
            low += np.int64(value) & LOW_BITS
        highs[groups[run]] = high
        lows[groups[run]] = low


@numba.njit(cache=True, nogil=True)
def least_runs(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    values: NDArray[Any],
    least: NDArray[Any],
) -> None:
    """Keep each group's least value; NaN is greater than every number, and stands for none yet."""
    for run in range(len(starts)):
        best = least[groups[run]]
        for value in values[starts[run] : ends[run]]:
            if value < best or best != best:  # noqa: PLR0124  (NaN alone differs from itself)
                best = value
        least[groups[run]] = best


@numba.njit(cache=True, nogil=True)
def most_runs(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    values: NDArray[Any],
    most: NDArray[Any],
) -> None:
    """Keep each group's greatest value; NaN is greater than every number."""
    for run in range(len(starts)):
        best = most[groups[run]]
        for value in values[starts[run] : ends[run]]:
            if value > best or value != value:  # noqa: PLR0124  (NaN alone differs from itself)
                best = value
        most[groups[run]] = best


# -- one sum over rows whose stored codes decide the group: codes and values are read once


@numba.njit(cache=True, nogil=True)
def sum_by_code(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
    values: NDArray[Any],
    counts: NDArray[np.int64],
    sums: NDArray[Any],
) -> None:
    """Add each row's value to the sum of group + parts[code], unless that part is negative."""
    for run in range(len(starts)):
        run_values = values[starts[run] : ends[run]]
        run_codes = codes[starts[run] : ends[run]]
        for row in range(len(run_values)):
            part = parts[run_codes[row]]
            if part >= 0:
                group = np.uint64(groups[run] + part)
                counts[group] += 1
                sums[group] += run_values[row]


@numba.njit(cache=True, nogil=True)
def sum_by_codes(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
    other_codes: NDArray[Any],
    other_parts: NDArray[np.int64],
    values: NDArray[Any],
    counts: NDArray[np.int64],
    sums: NDArray[Any],
) -> None:
    """Do as `sum_by_code` with two parts, neither of which may be negative."""
    for run in range(len(starts)):
        run_values = values[starts[run] : ends[run]]
        run_codes = codes[starts[run] : ends[run]]
        run_other_codes = other_codes[starts[run] : ends[run]]
        for row in range(len(run_values)):
            part = parts[run_codes[row]]
            other_part = other_parts[run_other_codes[row]]
            if (part | other_part) >= 0:
                group = np.uint64(groups[run] + part + other_part)
                counts[group] += 1
                sums[group] += run_values[row]


@numba.njit(cache=True, nogil=True)
def count_by_code(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Do as `sum_by_code` with no sum."""
    for run in range(len(starts)):
        for code in codes[starts[run] : ends[run]]:
            part = parts[code]
            if part >= 0:
                counts[np.uint64(groups[run] + part)] += 1


@numba.njit(cache=True, nogil=True)
def count_by_codes(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
    other_codes: NDArray[Any],
    other_parts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Do as `sum_by_codes` with no sum."""
    for run in range(len(starts)):
        run_codes = codes[starts[run] : ends[run]]
        run_other_codes = other_codes[starts[run] : ends[run]]
        for row in range(len(run_codes)):
            part = parts[run_codes[row]]
            other_part = other_parts[run_other_codes[row]]
            if (part | other_part) >= 0:
                counts[np.uint64(groups[run] + part + other_part)] += 1


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
    found = 0
    for run in range(len(starts)):
        group = run_groups[run]
        for place in range(starts[run], ends[run]):
            places[found] = place
            groups[found] = group
            found += 1


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
        start = starts[run]
        run_codes = codes[start : ends[run]]
        for row in range(len(run_codes)):
            part = parts[run_codes[row]]
            # Written even where the row does not pass: a branch that goes either way costs 5 ns.
            places[found] = start + row
            groups[found] = run_groups[run] + part
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
        start = starts[run]
        run_codes = codes[start : ends[run]]
        run_other_codes = other_codes[start : ends[run]]
        for row in range(len(run_codes)):
            part = parts[run_codes[row]]
            other_part = other_parts[run_other_codes[row]]
            places[found] = start + row
            groups[found] = run_groups[run] + part + other_part
            found += np.uint64((part | other_part) >= 0)
    return int(found)


@numba.njit(cache=True, nogil=True)
def refine_rows(
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
    codes: NDArray[Any],
    parts: NDArray[np.int64],
) -> int:
    """Add parts[code] to each row's group, and move up the rows whose part is not negative.

    Returns how many there are; they are the first ones of `places` and `groups`.
    """
    found = 0
    for row in range(len(places)):
        place = np.uint64(places[row])
        part = parts[codes[place]]
        places[found] = place
        groups[found] = groups[row] + part
        found += part >= 0
    return found


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
    for row in range(len(places)):
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
    for row in range(len(places)):
        value = np.int64(values[np.uint64(places[row])])
        highs[np.uint64(groups[row])] += value >> 32
        lows[np.uint64(groups[row])] += value & LOW_BITS


@numba.njit(cache=True, nogil=True)
def least_places(
    places: NDArray[np.int64], groups: NDArray[np.int64], values: NDArray[Any], least: NDArray[Any]
) -> None:
    """Keep each group's least value; NaN is greater than every number, and stands for none yet."""
    for row in range(len(places)):
        value = values[np.uint64(places[row])]
        best = least[np.uint64(groups[row])]
        if value < best or best != best:  # noqa: PLR0124  (NaN alone differs from itself)
            least[np.uint64(groups[row])] = value


@numba.njit(cache=True, nogil=True)
def most_places(
    places: NDArray[np.int64], groups: NDArray[np.int64], values: NDArray[Any], most: NDArray[Any]
) -> None:
    """Keep each group's greatest value; NaN is greater than every number."""
    for row in range(len(places)):
        value = values[np.uint64(places[row])]
        if value > most[np.uint64(groups[row])] or value != value:  # noqa: PLR0124
            most[np.uint64(groups[row])] = value
