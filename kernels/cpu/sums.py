"""The hot loops: plain functions of arrays, compiled by numba at first use and kept on disk.

A run is a range of places whose rows belong to one group. All integer sums are int64; `wide`
variants keep the high and the low 32 bits of every value apart, which can't overflow below 2**31
rows a group, and are taken where the bounds of a measure do not rule an overflow out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOW_BITS = 0xFFFFFFFF


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
    """Add the values of each run to its group's sum; the run's own sum stays in a register."""
    for run in range(len(starts)):
        total = sums[groups[run]]
        for place in range(starts[run], ends[run]):
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
        high = highs[groups[run]]
        low = lows[groups[run]]
        for place in range(starts[run], ends[run]):
            value = np.int64(values[place])
            high += value >> 32
            low += value & LOW_BITS
        highs[groups[run]] = high
        lows[groups[run]] = low


@numba.njit(cache=True, nogil=True)
def locate_rows(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    run_groups: NDArray[np.int64],
    codes: NDArray[Any],
    code_rows: NDArray[np.int64],
    maps: NDArray[np.int64],
    map_starts: NDArray[np.int64],
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
) -> int:
    """Write the place and the group of every row that no map filters out; return how many.

    Map m covers row code_rows[m] of `codes`; its entries begin at maps[map_starts[m]].
    """
    found = 0
    for run in range(len(starts)):
        for place in range(starts[run], ends[run]):
            group = run_groups[run]
            for m in range(len(code_rows)):
                part = maps[map_starts[m] + codes[code_rows[m], place]]
                if part < 0:
                    group = -1
                    break
                group += part
            if group >= 0:
                places[found] = place
                groups[found] = group
                found += 1
    return found


@numba.njit(cache=True, nogil=True)
def count_groups(groups: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
    """Count the rows of each group."""
    for row in range(len(groups)):
        counts[groups[row]] += 1


@numba.njit(cache=True, nogil=True)
def sum_groups(groups: NDArray[np.int64], values: NDArray[Any], sums: NDArray[Any]) -> None:
    """Add each value to its group's sum."""
    for row in range(len(groups)):
        sums[groups[row]] += values[row]


@numba.njit(cache=True, nogil=True)
def sum_groups_wide(
    groups: NDArray[np.int64],
    values: NDArray[Any],
    highs: NDArray[np.int64],
    lows: NDArray[np.int64],
) -> None:
    """Add the high and the low 32 bits of each value apart."""
    for row in range(len(groups)):
        value = np.int64(values[row])
        highs[groups[row]] += value >> 32
        lows[groups[row]] += value & LOW_BITS


@numba.njit(cache=True, nogil=True)
def min_groups(
    groups: NDArray[np.int64], values: NDArray[Any], valid: NDArray[np.bool_], least: NDArray[Any]
) -> None:
    """Keep the least valid value of each group; NaN is greater than every number."""
    for row in range(len(groups)):
        value = values[row]
        if valid[row] and (value < least[groups[row]] or np.isnan(least[groups[row]])):
            least[groups[row]] = value


@numba.njit(cache=True, nogil=True)
def max_groups(
    groups: NDArray[np.int64], values: NDArray[Any], valid: NDArray[np.bool_], most: NDArray[Any]
) -> None:
    """Keep the greatest valid value of each group; NaN is greater than every number."""
    for row in range(len(groups)):
        value = values[row]
        if valid[row] and (value > most[groups[row]] or np.isnan(value)):
            most[groups[row]] = value
