"""The hot loops over what a tree instance leaves of a motif: the number of ways, and one of them.

Ways are counted in float64, which is exact to 2**53, and beyond that right to 16 digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.motif.graph_loops import find_marked_pair, first_at_least
from raydb.kernels.motif.random_loops import draw_below
from raydb.kernels.motif.weight_loops import (
    END_AFTER,
    FIRST_BEFORE,
    inlined,
    inner,
    ties_end,
    ties_first,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]
    Table = NDArray[np.int64]
    Ways = NDArray[np.float64]
    State = NDArray[np.uint64]


class Lists(NamedTuple):
    """A temporal graph's arrays, the bits of a pair's number, and the bounds of its edges."""

    source: Any
    target: Any
    out_offsets: Any
    in_offsets: Any
    listed: Any
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


@inlined
def find_lists(
    source: Numbers,
    target: Numbers,
    pair_offsets: Numbers,
    pair_edges: Numbers,
    pair_slots: Numbers,
    number_bits: np.uint64,
    bounds: Numbers,
    runs: Table,
    members: Table,
    limits: Table,
    edges: Table,
    vertices: Table,
    lows: Table,
    highs: Table,
) -> bool:
    """Write the range of pair_edges in which each edge outside the tree can be.

    edges: by place of the tree. vertices: by vertex of the motif. Returns whether none is empty.
    """
    earliest, latest = edges[0], edges[0]
    for edge in edges:
        earliest, latest = min(earliest, edge), max(latest, edge)
    edge_count = np.int64(len(source))
    for run in range(len(runs)):
        before, after = np.int64(-1), edge_count
        for limit in range(runs[run, BEFORE_FIRST], runs[run, BEFORE_END]):
            before = max(before, edges[limits[limit]])
        for limit in range(runs[run, AFTER_FIRST], runs[run, AFTER_END]):
            after = min(after, edges[limits[limit]])
        first = ties_end(bounds, before) if before >= 0 else np.int64(bounds[latest, FIRST_BEFORE])
        if after < edge_count:
            end = ties_first(bounds, after)
        else:
            end = np.int64(bounds[earliest, END_AFTER])
        if first >= end:
            return False
        for member in range(runs[run, RUN_FIRST], runs[run, RUN_END]):
            one = vertices[members[member, MEMBER_SOURCE]]
            other = vertices[members[member, MEMBER_TARGET]]
            pair = find_marked_pair(
                source, target, pair_offsets, pair_edges, pair_slots, number_bits, one, other
            )
            if pair < 0:
                return False
            low, high = np.int64(pair_offsets[pair]), np.int64(pair_offsets[pair + 1])
            low = first_at_least(pair_edges, low, high, first)
            high = first_at_least(pair_edges, low, high, end)
            if high - low <= members[member, MEMBER_TWINS]:
                return False
            lows[member], highs[member] = low, high
    return True


@inner
def count_ways(
    pair_edges: Numbers,
    bounds: Numbers,
    runs: Table,
    members: Table,
    open_runs: Table,
    lows: Table,
    highs: Table,
    starts: Ways,
    ends: Ways,
) -> float:
    """Return in how many ways the edges outside the tree can be taken from their ranges."""
    ways = 1.0
    if open_runs[0] >= 0:
        ways *= _count_open(pair_edges, bounds, runs, open_runs, lows, highs, starts, ends)
    for run in range(len(runs)):
        if ways == 0.0:
            return 0.0
        if run in (open_runs[0], open_runs[1]):
            continue
        first, end = runs[run, RUN_FIRST], runs[run, RUN_END]
        if not runs[run, RUN_IS_CHAIN]:
            for member in range(first, end):
                ways *= highs[member] - lows[member] - members[member, MEMBER_TWINS]
        elif end - first == 1:
            ways *= highs[first] - lows[first]
        elif end - first == 2:
            ways *= _count_two(pair_edges, bounds, lows, highs, first)
        else:
            ways *= _count_chain(pair_edges, bounds, lows, highs, first, end, ends)
    return ways


@inner
def _count_chain(
    pair_edges: Numbers,
    bounds: Numbers,
    lows: Table,
    highs: Table,
    first: Any,
    end: Any,
    ways: Ways,
) -> float:
    """Return how many ways there are to take the members of a chain."""
    fill_ends(pair_edges, bounds, lows, highs, first, end, ways)
    total = 0.0
    for own in range(highs[end - 1] - lows[end - 1]):
        total += ways[end - 1 - first, own]
    return total


@inner
def _count_two(
    pair_edges: Numbers, bounds: Numbers, lows: Table, highs: Table, first: Any
) -> float:
    """Return how many pairs there are of an edge of a member and a later one of the next."""
    ways = 0.0
    place = lows[first]
    for later in range(lows[first + 1], highs[first + 1]):
        edge = np.int64(pair_edges[later])
        while place < highs[first] and ties_end(bounds, np.int64(pair_edges[place])) <= edge:
            place += 1
        ways += place - lows[first]
    return ways


@inner
def fill_ends(
    pair_edges: Numbers,
    bounds: Numbers,
    lows: Table,
    highs: Table,
    first: Any,
    end: Any,
    ways: Ways,
) -> None:
    """Write for each member of a chain, and each of its edges, how many chains end there."""
    for own in range(highs[first] - lows[first]):
        ways[0, own] = 1.0
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


@inner
def fill_starts(
    pair_edges: Numbers,
    bounds: Numbers,
    lows: Table,
    highs: Table,
    first: Any,
    end: Any,
    ways: Ways,
) -> None:
    """Write for each member of a chain, and each of its edges, how many chains start there."""
    for own in range(highs[end - 1] - lows[end - 1]):
        ways[end - 1 - first, own] = 1.0
    for member in range(end - 2, first - 1, -1):
        row, place, total = member - first, highs[member + 1] - 1, 0.0
        for own in range(highs[member] - 1, lows[member] - 1, -1):
            later = ties_end(bounds, np.int64(pair_edges[own]))
            while place >= lows[member + 1] and np.int64(pair_edges[place]) >= later:
                total += ways[row + 1, place - lows[member + 1]]
                place -= 1
            ways[row, own - lows[member]] = total


@inner
def _count_open(
    pair_edges: Numbers,
    bounds: Numbers,
    runs: Table,
    open_runs: Table,
    lows: Table,
    highs: Table,
    starts: Ways,
    ends: Ways,
) -> float:
    """Return the ways of the first and the last run together, which delta binds."""
    first, first_end = runs[open_runs[0], RUN_FIRST], runs[open_runs[0], RUN_END]
    last, last_end = runs[open_runs[1], RUN_FIRST], runs[open_runs[1], RUN_END]
    place, ways = lows[last_end - 1], 0.0
    if first_end - first == 1 and last_end - last == 1:
        for own in range(lows[first], highs[first]):
            end = np.int64(bounds[pair_edges[own], END_AFTER])
            while place < highs[last] and np.int64(pair_edges[place]) < end:
                place += 1
            ways += place - lows[last]
        return ways
    fill_starts(pair_edges, bounds, lows, highs, first, first_end, starts)
    fill_ends(pair_edges, bounds, lows, highs, last, last_end, ends)
    last_row = last_end - 1 - last
    total = 0.0
    for own in range(lows[first], highs[first]):
        end = np.int64(bounds[pair_edges[own], END_AFTER])
        while place < highs[last_end - 1] and np.int64(pair_edges[place]) < end:
            total += ends[last_row, place - lows[last_end - 1]]
            place += 1
        ways += starts[0, own - lows[first]] * total
    return ways


@inner
def pick_way(
    pair_edges: Numbers,
    bounds: Numbers,
    runs: Table,
    members: Table,
    open_runs: Table,
    edges: Table,
    lows: Table,
    highs: Table,
    starts: Ways,
    ends: Ways,
    joint: Ways,
    state: State,
    picked: Table,
) -> None:
    """Write one of the ways, all of them equally likely: an edge for each member."""
    if open_runs[0] >= 0:
        _pick_open(
            pair_edges, bounds, runs, open_runs, lows, highs, starts, ends, joint, state, picked
        )
    for run in range(len(runs)):
        if run in (open_runs[0], open_runs[1]):
            continue
        first, end = runs[run, RUN_FIRST], runs[run, RUN_END]
        if runs[run, RUN_IS_CHAIN]:
            fill_ends(pair_edges, bounds, lows, highs, first, end, ends)
            _pick_to_start(
                pair_edges, bounds, ends, lows, highs, first, end, end - 1, state, picked
            )
            continue
        for member in range(first, end):
            picked[member] = -1
        for member in range(first, end):
            _pick_from_bag(pair_edges, members, edges, lows, highs, first, member, state, picked)


@inner
def _pick_from_bag(
    pair_edges: Numbers,
    members: Table,
    edges: Table,
    lows: Table,
    highs: Table,
    first: Any,
    member: Any,
    state: State,
    picked: Table,
) -> None:
    """Write an edge for a member of a bag that no twin of it has."""
    twin = members[member, MEMBER_TREE_TWIN]
    while True:
        place = lows[member] + draw_below(state, highs[member] - lows[member])
        edge = np.int64(pair_edges[place])
        is_taken = twin >= 0 and edges[twin] == edge
        for other in range(first, member):
            is_taken |= picked[other] == edge
        if not is_taken:
            picked[member] = edge
            return


@inner
def _pick_place(ways: Ways, row: Any, first: Any, end: Any, state: State) -> Any:
    """Return one of the places first .. end - 1 of a row, with the likelihoods of their ways."""
    total = 0.0
    for place in range(first, end):
        total += ways[row, place]
    left = draw_below(state, total)
    for place in range(first, end):
        left -= ways[row, place]
        if left < 0.0:
            return place
    # Rounding may leave a trace of the total behind the last place that has a way.
    place = end - 1
    while ways[row, place] == 0.0:
        place -= 1
    return place


@inner
def _pick_to_start(
    pair_edges: Numbers,
    bounds: Numbers,
    ways: Ways,
    lows: Table,
    highs: Table,
    first: Any,
    end: Any,
    last_member: Any,
    state: State,
    picked: Table,
) -> None:
    """Write edges for the members first .. last_member of a chain; those after it are picked."""
    later = np.int64(len(bounds))
    if last_member < end - 1:
        later = picked[last_member + 1]
    for member in range(last_member, first - 1, -1):
        count = 0
        while (
            lows[member] + count < highs[member]
            and ties_end(bounds, np.int64(pair_edges[lows[member] + count])) <= later
        ):
            count += 1
        place = lows[member] + _pick_place(ways, member - first, 0, count, state)
        later = np.int64(pair_edges[place])
        picked[member] = later


@inner
def _pick_open(
    pair_edges: Numbers,
    bounds: Numbers,
    runs: Table,
    open_runs: Table,
    lows: Table,
    highs: Table,
    starts: Ways,
    ends: Ways,
    joint: Ways,
    state: State,
    picked: Table,
) -> None:
    """Write edges for the first and the last run, which delta binds."""
    first, first_end = runs[open_runs[0], RUN_FIRST], runs[open_runs[0], RUN_END]
    last, last_end = runs[open_runs[1], RUN_FIRST], runs[open_runs[1], RUN_END]
    fill_starts(pair_edges, bounds, lows, highs, first, first_end, starts)
    fill_ends(pair_edges, bounds, lows, highs, last, last_end, ends)
    last_row = last_end - 1 - last
    count, low = highs[first] - lows[first], lows[last_end - 1]
    place, total = low, 0.0
    for own in range(count):
        end = np.int64(bounds[pair_edges[lows[first] + own], END_AFTER])
        while place < highs[last_end - 1] and np.int64(pair_edges[place]) < end:
            total += ends[last_row, place - low]
            place += 1
        joint[0, own] = starts[0, own] * total
        joint[1, own] = place - low
    chosen = _pick_place(joint, 0, 0, count, state)
    picked[first] = np.int64(pair_edges[lows[first] + chosen])
    for member in range(first + 1, first_end):
        begin = ties_end(bounds, picked[member - 1])
        skipped = 0
        while np.int64(pair_edges[lows[member] + skipped]) < begin:
            skipped += 1
        count = highs[member] - lows[member]
        place = lows[member] + _pick_place(starts, member - first, skipped, count, state)
        picked[member] = np.int64(pair_edges[place])
    place = low + _pick_place(ends, last_row, 0, int(joint[1, chosen]), state)
    picked[last_end - 1] = np.int64(pair_edges[place])
    _pick_to_start(
        pair_edges, bounds, ends, lows, highs, last, last_end, last_end - 2, state, picked
    )
