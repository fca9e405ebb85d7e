"""The hot loops over what a tree instance leaves of a motif: how many ways there are, and one of them.

Ways are counted in float64, which is exact to 2**53, and beyond that right to 16 digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from raydb.kernels.motif.graph_loops import find_marked_pair, first_at_least
from raydb.kernels.motif.random_loops import draw_below
from raydb.kernels.motif.weight_loops import END_AFTER, FIRST_BEFORE, ties_end, ties_first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]
    Table = NDArray[np.int64]


class Lists(NamedTuple):
    """A temporal graph's arrays, the bits of a pair's number, and the bounds of its edges."""

    source: Any
    target: Any
    out_offsets: Any
    out_edges: Any
    in_offsets: Any
    in_edges: Any
    pair_offsets: Any
    pair_edges: Any
    pair_slots: Any
    number_bits: Any
    bounds: Any


class Plan(NamedTuple):
    """A motif and its tree as tables of int64.

    places: a row for each tree edge. relations: where the edge of a row comes, -1, 0 or 1, relative
    to that of a column. runs, members: a row for each run and each edge outside the tree. limits:
    the places of tree edges between which runs come. open_runs: the first and the last run where
    both are open, else -1 twice.
    """

    places: Any
    relations: Any
    runs: Any
    members: Any
    limits: Any
    open_runs: Any


# The columns of runs: members first .. end - 1, and ranges of limits before and after.
RUN_FIRST, RUN_END, RUN_IS_CHAIN, BEFORE_FIRST, BEFORE_END, AFTER_FIRST, AFTER_END = range(7)

# The columns of members.
MEMBER_EDGE, MEMBER_SOURCE, MEMBER_TARGET, MEMBER_TWINS, MEMBER_TREE_TWIN = range(5)


@numba.njit(cache=True, nogil=True)
def find_lists(
    lists: Lists, plan: Plan, edges: Table, vertices: Table, lows: Table, highs: Table
) -> bool:
    """Write the range of pair_edges in which each edge outside the tree can be.

    edges: by place of the tree. vertices: by vertex of the motif. Returns whether none is empty.
    """
    bounds, pair_edges = lists.bounds, lists.pair_edges
    earliest, latest = edges[0], edges[0]
    for edge in edges:
        earliest, latest = min(earliest, edge), max(latest, edge)
    for run in range(len(plan.runs)):
        before, after = np.int64(-1), np.int64(len(lists.source))
        for limit in range(plan.runs[run, BEFORE_FIRST], plan.runs[run, BEFORE_END]):
            before = max(before, edges[plan.limits[limit]])
        for limit in range(plan.runs[run, AFTER_FIRST], plan.runs[run, AFTER_END]):
            after = min(after, edges[plan.limits[limit]])
        first = ties_end(bounds, before) if before >= 0 else np.int64(bounds[latest, FIRST_BEFORE])
        if after < len(lists.source):
            end = np.int64(ties_first(bounds, after))
        else:
            end = np.int64(bounds[earliest, END_AFTER])
        for member in range(plan.runs[run, RUN_FIRST], plan.runs[run, RUN_END]):
            pair = find_marked_pair(
                lists.source,
                lists.target,
                lists.pair_offsets,
                pair_edges,
                lists.pair_slots,
                lists.number_bits,
                vertices[plan.members[member, MEMBER_SOURCE]],
                vertices[plan.members[member, MEMBER_TARGET]],
            )
            if pair < 0:
                return False
            low, high = np.int64(lists.pair_offsets[pair]), np.int64(lists.pair_offsets[pair + 1])
            low = first_at_least(pair_edges, low, high, first)
            high = first_at_least(pair_edges, low, high, end)
            if high - low <= plan.members[member, MEMBER_TWINS]:
                return False
            lows[member], highs[member] = low, high
    return True


@numba.njit(cache=True, nogil=True)
def count_ways(lists: Lists, plan: Plan, lows: Table, highs: Table) -> float:
    """Return in how many ways the edges outside the tree can be taken from their ranges."""
    ways = 1.0
    first_run, last_run = plan.open_runs[0], plan.open_runs[1]
    if first_run >= 0:
        ways *= _count_open(lists, plan, lows, highs)
    for run in range(len(plan.runs)):
        if ways == 0.0:
            return 0.0
        if run in (first_run, last_run):
            continue
        first, end = plan.runs[run, RUN_FIRST], plan.runs[run, RUN_END]
        if not plan.runs[run, RUN_IS_CHAIN]:
            for member in range(first, end):
                ways *= highs[member] - lows[member] - plan.members[member, MEMBER_TWINS]
        elif end - first == 1:
            ways *= highs[first] - lows[first]
        elif end - first == 2:
            ways *= _count_two(lists, lows[first], highs[first], lows[first + 1], highs[first + 1])
        else:
            ways *= fill_ends(lists, lows, highs, first, end)[-1].sum()
    return ways


@numba.njit(cache=True, nogil=True)
def _count_two(lists: Lists, low: int, high: int, next_low: int, next_high: int) -> float:
    """Return how many pairs there are of an edge and a later one of the next list."""
    ways = 0.0
    place = low
    for later in range(next_low, next_high):
        edge = np.int64(lists.pair_edges[later])
        while place < high and ties_end(lists.bounds, np.int64(lists.pair_edges[place])) <= edge:
            place += 1
        ways += place - low
    return ways


@numba.njit(cache=True, nogil=True)
def fill_ends(lists: Lists, lows: Table, highs: Table, first: int, end: int) -> NDArray[np.float64]:
    """Return for each member of a chain, and each of its edges, how many chains end there."""
    pair_edges, bounds = lists.pair_edges, lists.bounds
    ways = np.zeros((end - first, np.max(highs[first:end] - lows[first:end])), np.float64)
    ways[0, : highs[first] - lows[first]] = 1.0
    for member in range(first + 1, end):
        row, place, total = member - first, lows[member - 1], 0.0
        for own in range(lows[member], highs[member]):
            edge = np.int64(pair_edges[own])
            while (
                place < highs[member - 1] and ties_end(bounds, np.int64(pair_edges[place])) <= edge
            ):
                total += ways[row - 1, place - lows[member - 1]]
                place += 1
            ways[row, own - lows[member]] = total
    return ways


@numba.njit(cache=True, nogil=True)
def fill_starts(
    lists: Lists, lows: Table, highs: Table, first: int, end: int
) -> NDArray[np.float64]:
    """Return for each member of a chain, and each of its edges, how many chains start there."""
    pair_edges, bounds = lists.pair_edges, lists.bounds
    ways = np.zeros((end - first, np.max(highs[first:end] - lows[first:end])), np.float64)
    ways[-1, : highs[end - 1] - lows[end - 1]] = 1.0
    for member in range(end - 2, first - 1, -1):
        row, place, total = member - first, highs[member + 1] - 1, 0.0
        for own in range(highs[member] - 1, lows[member] - 1, -1):
            later = ties_end(bounds, np.int64(pair_edges[own]))
            while place >= lows[member + 1] and np.int64(pair_edges[place]) >= later:
                total += ways[row + 1, place - lows[member + 1]]
                place -= 1
            ways[row, own - lows[member]] = total
    return ways


@numba.njit(cache=True, nogil=True)
def _count_open(lists: Lists, plan: Plan, lows: Table, highs: Table) -> float:
    """Return the ways of the first and the last run together, which delta binds."""
    pair_edges, bounds = lists.pair_edges, lists.bounds
    first, first_end = (
        plan.runs[plan.open_runs[0], RUN_FIRST],
        plan.runs[plan.open_runs[0], RUN_END],
    )
    last, last_end = plan.runs[plan.open_runs[1], RUN_FIRST], plan.runs[plan.open_runs[1], RUN_END]
    place, ways = lows[last_end - 1], 0.0
    if first_end - first == 1 and last_end - last == 1:
        for own in range(lows[first], highs[first]):
            end = np.int64(bounds[pair_edges[own], END_AFTER])
            while place < highs[last] and np.int64(pair_edges[place]) < end:
                place += 1
            ways += place - lows[last]
        return ways
    starts = fill_starts(lists, lows, highs, first, first_end)
    ends = fill_ends(lists, lows, highs, last, last_end)
    total = 0.0
    for own in range(lows[first], highs[first]):
        end = np.int64(bounds[pair_edges[own], END_AFTER])
        while place < highs[last_end - 1] and np.int64(pair_edges[place]) < end:
            total += ends[-1, place - lows[last_end - 1]]
            place += 1
        ways += starts[0, own - lows[first]] * total
    return ways


@numba.njit(cache=True, nogil=True)
def pick_way(
    lists: Lists,
    plan: Plan,
    edges: Table,
    lows: Table,
    highs: Table,
    state: NDArray[np.uint64],
    picked: Table,
) -> None:
    """Write one of the ways, all of them equally likely: an edge for each member."""
    first_run, last_run = plan.open_runs[0], plan.open_runs[1]
    if first_run >= 0:
        _pick_open(lists, plan, lows, highs, state, picked)
    for run in range(len(plan.runs)):
        if run in (first_run, last_run):
            continue
        first, end = plan.runs[run, RUN_FIRST], plan.runs[run, RUN_END]
        if plan.runs[run, RUN_IS_CHAIN]:
            ways = fill_ends(lists, lows, highs, first, end)
            _pick_to_start(lists, ways, lows, highs, first, end, end - 1, state, picked)
            continue
        for member in range(first, end):
            picked[member] = -1
        for member in range(first, end):
            _pick_from_bag(lists, plan, edges, lows, highs, first, member, state, picked)


@numba.njit(cache=True, nogil=True)
def _pick_from_bag(
    lists: Lists,
    plan: Plan,
    edges: Table,
    lows: Table,
    highs: Table,
    first: int,
    member: int,
    state: NDArray[np.uint64],
    picked: Table,
) -> None:
    """Write an edge for a member of a bag that no twin of it has."""
    twin = plan.members[member, MEMBER_TREE_TWIN]
    while True:
        place = lows[member] + draw_below(state, highs[member] - lows[member])
        edge = np.int64(lists.pair_edges[place])
        is_taken = twin >= 0 and edges[twin] == edge
        for other in range(first, member):
            is_taken |= picked[other] == edge
        if not is_taken:
            picked[member] = edge
            return


@numba.njit(cache=True, nogil=True)
def _pick_place(ways: NDArray[np.float64], count: int, state: NDArray[np.uint64]) -> int:
    """Return one of the first places, with the likelihoods of their ways."""
    total = ways[:count].sum()
    left = draw_below(state, total)
    for place in range(count):
        left -= ways[place]
        if left < 0.0:
            return place
    # Rounding may leave a trace of the total behind the last place that has a way.
    place = count - 1
    while ways[place] == 0.0:
        place -= 1
    return place


@numba.njit(cache=True, nogil=True)
def _pick_to_start(
    lists: Lists,
    ways: NDArray[np.float64],
    lows: Table,
    highs: Table,
    first: int,
    end: int,
    last_member: int,
    state: NDArray[np.uint64],
    picked: Table,
) -> None:
    """Write edges for the members first .. last_member of a chain; those after it are picked."""
    later = np.int64(len(lists.source))
    if last_member < end - 1:
        later = picked[last_member + 1]
    for member in range(last_member, first - 1, -1):
        count = 0
        while (
            lows[member] + count < highs[member]
            and ties_end(lists.bounds, np.int64(lists.pair_edges[lows[member] + count])) <= later
        ):
            count += 1
        place = lows[member] + _pick_place(ways[member - first], count, state)
        later = np.int64(lists.pair_edges[place])
        picked[member] = later


@numba.njit(cache=True, nogil=True)
def _pick_open(
    lists: Lists,
    plan: Plan,
    lows: Table,
    highs: Table,
    state: NDArray[np.uint64],
    picked: Table,
) -> None:
    """Write edges for the first and the last run, which delta binds."""
    pair_edges, bounds = lists.pair_edges, lists.bounds
    first, first_end = (
        plan.runs[plan.open_runs[0], RUN_FIRST],
        plan.runs[plan.open_runs[0], RUN_END],
    )
    last, last_end = plan.runs[plan.open_runs[1], RUN_FIRST], plan.runs[plan.open_runs[1], RUN_END]
    starts = fill_starts(lists, lows, highs, first, first_end)
    ends = fill_ends(lists, lows, highs, last, last_end)
    count, low = highs[first] - lows[first], lows[last_end - 1]
    ways = np.zeros(count, np.float64)
    reached = np.zeros(count, np.int64)
    place, total = low, 0.0
    for own in range(count):
        end = np.int64(bounds[pair_edges[lows[first] + own], END_AFTER])
        while place < highs[last_end - 1] and np.int64(pair_edges[place]) < end:
            total += ends[-1, place - low]
            place += 1
        reached[own] = place - low
        ways[own] = starts[0, own] * total
    chosen = _pick_place(ways, count, state)
    picked[first] = np.int64(pair_edges[lows[first] + chosen])
    for member in range(first + 1, first_end):
        begin = ties_end(bounds, picked[member - 1])
        skipped = 0
        while np.int64(pair_edges[lows[member] + skipped]) < begin:
            skipped += 1
        row = starts[member - first, skipped : highs[member] - lows[member]]
        place = lows[member] + skipped + _pick_place(row, len(row), state)
        picked[member] = np.int64(pair_edges[place])
    place = low + _pick_place(ends[-1], reached[chosen], state)
    picked[last_end - 1] = np.int64(pair_edges[place])
    _pick_to_start(lists, ends, lows, highs, last, last_end, last_end - 2, state, picked)
