"""The hot loops in NumPy: they answer while those of `numba_loops` are not ready.

Each function does what its namesake there does, at 10 to 30 ns a row. Even the sums of floats are
added up in the same order, so that nobody can tell by an answer which of the two has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

LOW_BITS = 0xFFFFFFFF


def _rows_of(starts: Integers, ends: Integers, groups: Integers) -> tuple[Integers, Integers]:
    """Return the place and the group of every row of some runs."""
    lengths = ends - starts
    row_count = int(lengths.sum())
    jumps = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return jumps + np.arange(row_count), np.repeat(groups, lengths)


def _slots_of(
    starts: Integers,
    ends: Integers,
    groups: Integers,
    maps: list[tuple[NDArray[Any], NDArray[np.int32]]],
    lanes: int,
    width: int,
    limit: int,
) -> tuple[Integers, Integers]:
    """Return the place of every row below the limit, and where its lane and group are."""
    places, slots = _rows_of(starts, ends, groups)
    for codes, parts in maps:
        slots = slots + parts[codes[places].astype(np.int64) + 1]
    kept = slots < limit
    places, slots = places[kept], slots[kept]
    return places, slots + (places & (lanes - 1)) * width


def count_runs(starts: Integers, ends: Integers, groups: Integers, counts: Integers) -> None:
    """Add the length of each run to its group's count."""
    np.add.at(counts, groups, ends - starts)


def sum_runs(
    starts: Integers, ends: Integers, groups: Integers, values: NDArray[Any], sums: NDArray[Any]
) -> None:
    """Add the values of each run to its group's sum."""
    sum_places(*_rows_of(starts, ends, groups), values, sums)


def sum_runs_wide(
    starts: Integers,
    ends: Integers,
    groups: Integers,
    values: NDArray[Any],
    highs: Integers,
    lows: Integers,
) -> None:
    """Add the high and the low 32 bits of the values of each run apart."""
    sum_places_wide(*_rows_of(starts, ends, groups), values, highs, lows)


def fold_runs(
    starts: Integers,
    ends: Integers,
    groups: Integers,
    values: NDArray[Any],
    sums: NDArray[Any],
    least: NDArray[Any],
    most: NDArray[Any],
) -> None:
    """Keep each group's sum, least and greatest value in one pass.

    NaN is greater than every number, and among `least` it stands for none yet. A sum of integers
    wraps.
    """
    places, row_groups = _rows_of(starts, ends, groups)
    sum_places(places, row_groups, values, sums)
    least_places(places, row_groups, values, least)
    most_places(places, row_groups, values, most)


def sum_by_code(
    starts: Integers,
    ends: Integers,
    groups: Integers,
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    values: NDArray[Any],
    lanes: int,
    width: int,
    limit: int,
    counts: Integers,
    sums: NDArray[Any],
) -> None:
    """Add each row's value to the sum of its run's group + its code's part.

    counts, sums: shape (lanes * width,). Row after row goes to the next lane of `width` groups; the
        groups behind those of the job take the rows that are dropped.
    limit: rows of groups from this on are skipped; `width` where few would be, or about half.
    lanes: a power of two; 1 where the order of additions matters.
    """
    places, slots = _slots_of(starts, ends, groups, [(codes, parts)], lanes, width, limit)
    count_groups(slots, counts)
    sum_places(places, slots, values, sums)


def sum_by_codes(
    starts: Integers,
    ends: Integers,
    groups: Integers,
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    other_codes: NDArray[Any],
    other_parts: NDArray[np.int32],
    values: NDArray[Any],
    lanes: int,
    width: int,
    limit: int,
    counts: Integers,
    sums: NDArray[Any],
) -> None:
    """Do as `sum_by_code` with two parts."""
    maps = [(codes, parts), (other_codes, other_parts)]
    places, slots = _slots_of(starts, ends, groups, maps, lanes, width, limit)
    count_groups(slots, counts)
    sum_places(places, slots, values, sums)


def count_by_code(
    starts: Integers,
    ends: Integers,
    groups: Integers,
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    lanes: int,
    width: int,
    limit: int,
    counts: Integers,
) -> None:
    """Do as `sum_by_code` with no sum."""
    _, slots = _slots_of(starts, ends, groups, [(codes, parts)], lanes, width, limit)
    count_groups(slots, counts)


def count_by_codes(
    starts: Integers,
    ends: Integers,
    groups: Integers,
    codes: NDArray[Any],
    parts: NDArray[np.int32],
    other_codes: NDArray[Any],
    other_parts: NDArray[np.int32],
    lanes: int,
    width: int,
    limit: int,
    counts: Integers,
) -> None:
    """Do as `sum_by_codes` with no sum."""
    maps = [(codes, parts), (other_codes, other_parts)]
    _, slots = _slots_of(starts, ends, groups, maps, lanes, width, limit)
    count_groups(slots, counts)


def list_rows(
    starts: Integers, ends: Integers, run_groups: Integers, places: Integers, groups: Integers
) -> None:
    """Write the place and the group of every row of the runs."""
    places[:], groups[:] = _rows_of(starts, ends, run_groups)


def list_by_code(
    starts: Integers,
    ends: Integers,
    run_groups: Integers,
    codes: NDArray[Any],
    parts: Integers,
    places: Integers,
    groups: Integers,
) -> int:
    """Write the place of every row whose part is not negative, and its group with that part added.

    Returns how many there are.
    """
    list_rows(starts, ends, run_groups, places, groups)
    return refine_rows(places, groups, codes, parts)


def list_by_codes(
    starts: Integers,
    ends: Integers,
    run_groups: Integers,
    codes: NDArray[Any],
    parts: Integers,
    other_codes: NDArray[Any],
    other_parts: Integers,
    places: Integers,
    groups: Integers,
) -> int:
    """Do as `list_by_code` with two parts, neither of which may be negative."""
    found = list_by_code(starts, ends, run_groups, codes, parts, places, groups)
    return refine_rows(places[:found], groups[:found], other_codes, other_parts)


def refine_rows(places: Integers, groups: Integers, codes: NDArray[Any], parts: Integers) -> int:
    """Add the code's part to each row's group, and move up the rows whose part is not negative.

    Returns how many there are; they are the first ones of `places` and `groups`.
    """
    row_parts = parts[codes[places].astype(np.int64) + 1]
    kept = row_parts >= 0
    found = int(np.count_nonzero(kept))
    places[:found], groups[:found] = places[kept], (groups + row_parts)[kept]
    return found


def count_groups(groups: Integers, counts: Integers) -> None:
    """Count the rows of each group."""
    counts += np.bincount(groups, minlength=len(counts))


def sum_places(
    places: Integers, groups: Integers, values: NDArray[Any], sums: NDArray[Any]
) -> None:
    """Add the value at each place to its group's sum."""
    with np.errstate(all="ignore"):  # NaN and infinities are values
        np.add.at(sums, groups, values[places].astype(sums.dtype))


def sum_places_wide(
    places: Integers, groups: Integers, values: NDArray[Any], highs: Integers, lows: Integers
) -> None:
    """Add the high and the low 32 bits of each value apart."""
    wide = values[places].astype(np.int64)
    np.add.at(highs, groups, wide >> 32)
    np.add.at(lows, groups, wide & LOW_BITS)


def least_places(
    places: Integers, groups: Integers, values: NDArray[Any], least: NDArray[Any]
) -> None:
    """Keep each group's least value; NaN is greater than every number, and stands for none yet."""
    np.fmin.at(least, groups, values[places].astype(least.dtype))


def most_places(
    places: Integers, groups: Integers, values: NDArray[Any], most: NDArray[Any]
) -> None:
    """Keep each group's greatest value; NaN is greater than every number."""
    with np.errstate(all="ignore"):  # NaN is a value
        np.maximum.at(most, groups, values[places].astype(most.dtype))
