"""The hot loops over what a tree instance leaves of a motif: the number of ways to complete it.

Ways are counted in float64, which is exact to 2**53, and beyond that right to 16 digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.motif.graph_loops import find_marked_pair, first_at_least
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

    places: a row for each tree edge. relations: where the motif edge of a row comes, -1, 0 or 1,
    relative to the tree edge of a column. pivots: a row for each motif edge that can take the last
    place of the tree, the tree's own first. runs, members: rows for each run that a pivot leaves,
    and for each edge of a run. limits: the places of tree edges between which runs come.
    """

    places: Any
    relations: Any
    pivots: Any
    runs: Any
    members: Any
    limits: Any


# The columns of pivots: the motif edge, the vertex that it hangs from, whether it leads away, the
# runs first .. end - 1 that it leaves, and the first and the last of them where both are open, else
# -1 twice.
PIVOT_EDGE, PIVOT_NEAR, PIVOT_GOES_OUT, FIRST_RUN, END_RUN, FIRST_OPEN, LAST_OPEN = range(7)

# The columns of runs: members first .. end - 1, and ranges of limits before and after.
RUN_FIRST, RUN_END, RUN_IS_CHAIN, BEFORE_FIRST, BEFORE_END, AFTER_FIRST, AFTER_END = range(7)

# The columns of members; late ones touch the vertex that a pivot leads to.
(
    MEMBER_EDGE,
    MEMBER_SOURCE,
    MEMBER_TARGET,
    MEMBER_TWINS,
    MEMBER_TREE_TWIN,
    MEMBER_IS_LATE,
) = range(6)


@inlined
def find_run(lists: Lists, source: Any, target: Any) -> tuple[Any, Any]:
    """Return the places of a pair's edges in pair_edges, none where there is no such pair."""
    pair = find_marked_pair(
        lists.source,
        lists.target,
        lists.pair_offsets,
        lists.pair_edges,
        lists.pair_slots,
        lists.number_bits,
        source,
        target,
    )
    start, end = np.int64(0), np.int64(0)
    if pair >= 0:
        start, end = np.int64(lists.pair_offsets[pair]), np.int64(lists.pair_offsets[pair + 1])
    return start, end


@inner
def narrow_members(
    pair_edges: Numbers,
    bounds: Numbers,
    pivots: Table,
    runs: Table,
    members: Table,
    limits: Table,
    pivot: Any,
    edges: Table,
    starts: Table,
    stops: Table,
    lows: Table,
    highs: Table,
) -> bool:
    """Write the places in pair_edges of the edges that each member of a pivot's runs can be.

    edges: by place of the tree. starts, stops: by motif edge, the places of all edges of its pair,
    or of those of them that can be. Returns whether each member has enough of them.
    """
    earliest, latest = edges[0], edges[0]
    for edge in edges:
        earliest, latest = min(earliest, edge), max(latest, edge)
    edge_count = np.int64(len(bounds))
    for run in range(pivots[pivot, FIRST_RUN], pivots[pivot, END_RUN]):
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
            edge = members[member, MEMBER_EDGE]
            low = first_at_least(pair_edges, starts[edge], stops[edge], first)
            high = first_at_least(pair_edges, low, stops[edge], end)
            if high - low <= members[member, MEMBER_TWINS]:
                return False
            lows[member], highs[member] = low, high
    return True


@inner
def count_ways(
    pair_edges: Numbers,
    bounds: Numbers,
    pivots: Table,
    runs: Table,
    members: Table,
    pivot: Any,
    lows: Table,
    highs: Table,
    starts: Ways,
    ends: Ways,
) -> float:
    """Return in how many ways the members of a pivot's runs can be taken from their places."""
    ways = 1.0
    first_open, last_open = pivots[pivot, FIRST_OPEN], pivots[pivot, LAST_OPEN]
    if first_open >= 0:
        ways *= _count_open(
            pair_edges, bounds, runs, first_open, last_open, lows, highs, starts, ends
        )
    for run in range(pivots[pivot, FIRST_RUN], pivots[pivot, END_RUN]):
        if ways == 0.0:
            return 0.0
        if run in (first_open, last_open):
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
            fill_ways(pair_edges, bounds, lows, highs, first, end - 1, np.int64(1), ends)
            total = 0.0
            for own in range(highs[end - 1] - lows[end - 1]):
                total += ends[end - 1 - first, own]
            ways *= total
    return ways


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
def fill_ways(
    pair_edges: Numbers,
    bounds: Numbers,
    lows: Table,
    highs: Table,
    first: Any,
    last: Any,
    step: Any,
    ways: Ways,
) -> None:
    """Write for each member of a chain, and each of its edges, how many chains lead to it.

    They come from the first member by steps of 1, or by steps of -1 from a first one that is later
    than the last. ways: a row for each member from the earliest on.
    """
    base = min(first, last)
    for own in range(highs[first] - lows[first]):
        ways[first - base, own] = 1.0
    member = first
    while member != last:
        near, member = member, member + step
        row, place, total = near - base, lows[near] if step > 0 else highs[near] - 1, 0.0
        own = lows[member] if step > 0 else highs[member] - 1
        for _ in range(highs[member] - lows[member]):
            edge = np.int64(pair_edges[own])
            while lows[near] <= place < highs[near]:
                other = np.int64(pair_edges[place])
                if ties_end(bounds, min(edge, other)) > max(edge, other):
                    break
                if (other < edge) != (step > 0):
                    break
                total += ways[row, place - lows[near]]
                place += step
            ways[row + step, own - lows[member]] = total
            own += step


@inner
def _count_open(
    pair_edges: Numbers,
    bounds: Numbers,
    runs: Table,
    first_open: Any,
    last_open: Any,
    lows: Table,
    highs: Table,
    starts: Ways,
    ends: Ways,
) -> float:
    """Return the ways of the first and the last run together, which delta binds."""
    first, first_end = runs[first_open, RUN_FIRST], runs[first_open, RUN_END]
    last, last_end = runs[last_open, RUN_FIRST], runs[last_open, RUN_END]
    place, ways = lows[last_end - 1], 0.0
    if first_end - first == 1 and last_end - last == 1:
        for own in range(lows[first], highs[first]):
            end = np.int64(bounds[pair_edges[own], END_AFTER])
            while place < highs[last] and np.int64(pair_edges[place]) < end:
                place += 1
            ways += place - lows[last]
        return ways
    fill_ways(pair_edges, bounds, lows, highs, first_end - 1, first, np.int64(-1), starts)
    fill_ways(pair_edges, bounds, lows, highs, last, last_end - 1, np.int64(1), ends)
    last_row = last_end - 1 - last
    total = 0.0
    for own in range(lows[first], highs[first]):
        end = np.int64(bounds[pair_edges[own], END_AFTER])
        while place < highs[last_end - 1] and np.int64(pair_edges[place]) < end:
            total += ends[last_row, place - lows[last_end - 1]]
            place += 1
        ways += starts[0, own - lows[first]] * total
    return ways
