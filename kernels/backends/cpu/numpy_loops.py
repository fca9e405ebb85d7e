"""The hot loops in NumPy: they answer while those of `numba_loops` are not ready.

Each function does what its namesake there does, at 10 to 30 ns a row. Even the sums of floats are
added up in the same order, so that nobody can tell by an answer which of the two has run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.aggregates import STATES, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Maps = Sequence[tuple[NDArray[Any], NDArray[Any]]]


# So many rows are put into one list with others in the time that a sum of their own takes.
LONG_RUN = 256


def _rows_of(runs: Integers) -> tuple[Integers, Integers]:
    """Return the place and the group of every row of some runs."""
    starts, ends, groups = runs
    lengths = ends - starts
    row_count = int(lengths.sum())
    jumps = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return jumps + np.arange(row_count), np.repeat(groups, lengths)


def _over_rows(kind: str) -> Callable[[Integers, Integers, NDArray[Any], NDArray[Any]], None]:
    """Return the loop that accumulates the rows at some places into a kind of state."""
    words = [WORDS[name] for name in STATES[kind]]

    def accumulate(
        places: Integers, groups: Integers, values: NDArray[Any], state: NDArray[Any]
    ) -> None:
        wide = values[places].astype(state.dtype)
        with np.errstate(all="ignore"):  # NaN and infinities are values
            for word, row in zip(words, state, strict=True):
                word.merge.at(row, groups, word.part(wide))

    return accumulate


def _over_runs(kind: str) -> Callable[[Integers, NDArray[Any], NDArray[Any]], None]:
    """Return the loop that accumulates all rows of some runs into a kind of state."""
    add_rows = _over_rows(kind)

    def accumulate(runs: Integers, values: NDArray[Any], state: NDArray[Any]) -> None:
        add_rows(*_rows_of(runs), values, state)

    return accumulate


def sum_runs(runs: Integers, values: NDArray[Any], state: NDArray[Any]) -> None:
    """Add all rows of some runs to the sums of their groups."""
    starts, ends, groups = runs
    # A sum of floats depends on the order of all rows of a group.
    if values.dtype.kind == "f" or int((ends - starts).sum()) < LONG_RUN * len(starts):
        _sum_rows_of(runs, values, state)
        return
    sums = [
        np.add.reduce(values[start:end], dtype=np.int64)
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    np.add.at(state[0], groups, sums)


_sum_rows_of, wide_runs, fold_runs = (_over_runs(kind) for kind in ("sum", "wide", "fold"))
squares_runs, wide_squares_runs = _over_runs("squares"), _over_runs("wide_squares")
sum_places, wide_places = _over_rows("sum"), _over_rows("wide")
min_places, max_places = _over_rows("min"), _over_rows("max")
squares_places, wide_squares_places = _over_rows("squares"), _over_rows("wide_squares")


def count_runs(runs: Integers, counts: Integers) -> None:
    """Add the length of each run to its group's count."""
    starts, ends, groups = runs
    np.add.at(counts, groups, ends - starts)


def count_by_code(
    runs: Integers, maps: Maps, lanes: tuple[int, int, int], counts: Integers
) -> None:
    """Count the rows of each group, as `sum_by_code` does."""
    count_groups(_slots_of(runs, maps, lanes)[1], counts)


def sum_by_code(
    runs: Integers,
    maps: Maps,
    values: NDArray[Any],
    lanes: tuple[int, int, int],
    counts: Integers,
    sums: NDArray[Any],
) -> None:
    """Add each row's value to the sum of its run's group + what the maps add."""
    places, slots = _slots_of(runs, maps, lanes)
    count_groups(slots, counts)
    sum_places(places, slots, values, sums[None, :])


def _slots_of(runs: Integers, maps: Maps, lanes: tuple[int, int, int]) -> tuple[Integers, Integers]:
    """Return the place of every row below the limit, and where its lane and group are."""
    lane_count, width, limit = lanes
    places, slots = _rows_of(runs)
    for codes, parts in maps:
        slots = slots + parts[codes[places].astype(np.int64) + 1]
    kept = slots < limit
    places, slots = places[kept], slots[kept]
    return places, slots + (places & (lane_count - 1)) * width


def list_rows(runs: Integers, places: Integers, groups: Integers) -> None:
    """Write the place and the group of every row of the runs."""
    places[:], groups[:] = _rows_of(runs)


def list_by_code(runs: Integers, maps: Maps, places: Integers, groups: Integers) -> int:
    """Write the place of every row that all maps let pass, and its group with their parts added.

    Returns how many there are.
    """
    list_rows(runs, places, groups)
    found = len(places)
    for codes, parts in maps:
        found = refine_rows(places[:found], groups[:found], codes, parts)
    return found


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
    np.add.at(counts, groups, 1)
