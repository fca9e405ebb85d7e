"""The hot loops over what a tree instance leaves of a motif: the number of ways to complete it.

Ways are counted in float64, which is exact to 2**53, and beyond that right to 16 digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import inlined, leaf
from raydb.kernels.motif.loops.graph_loops import find_pair, first_at_least
from raydb.kernels.motif.loops.weight_loops import END_AFTER, FIRST_BEFORE, ties_end, ties_first

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


class Scratch(NamedTuple):
    """What a thread writes on while it samples.

    state: uint64, shape (1,). edges: by place of the tree. vertices: by vertex of the motif; known:
    those that were drawn so far. run_starts, run_stops: by motif edge; lows, highs, picked: by
    member of a run; see `narrow_members`. chosen: which pivot closes a sample, and its edges' first
    place, end and stride. starts, ends: float64, a row for each member of a run, a column for each
    edge that it may be; joint the same with two rows. The others are int64.
    """

    state: Any
    outcome: Any
    edges: Any
    vertices: Any
    known: Any
    run_starts: Any
    run_stops: Any
    lows: Any
    highs: Any
    picked: Any
    chosen: Any
    starts: Any
    ends: Any
    joint: Any


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
    pair = find_pair(lists, source, target)
    start, end = np.int64(0), np.int64(0)
    if pair >= 0:
        start, end = np.int64(lists.pair_offsets[pair]), np.int64(lists.pair_offsets[pair + 1])
    return start, end


@inlined
def narrow_members(lists: Lists, plan: Plan, scratch: Scratch, pivot: Any) -> bool:
    """Write the places in pair_edges of the edges that each member of a pivot's runs can be.

    run_starts, run_stops of the scratch: by motif edge, the places of all edges of its pair, or of
    those of them that can be. Returns whether each member has enough of them.
    """
    bounds, edges, runs, limits = lists.bounds, scratch.edges, plan.runs, plan.limits
    earliest, latest = edges[0], edges[0]
    for edge in edges:
        earliest, latest = min(earliest, edge), max(latest, edge)
    edge_count = np.int64(len(bounds))
    for run in range(plan.pivots[pivot, FIRST_RUN], plan.pivots[pivot, END_RUN]):
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
            edge = plan.members[member, MEMBER_EDGE]
            start, stop = scratch.run_starts[edge], scratch.run_stops[edge]
            low = first_at_least(lists.pair_edges, start, stop, first)
            high = first_at_least(lists.pair_edges, low, stop, end)
            if high - low <= plan.members[member, MEMBER_TWINS]:
                return False
            scratch.lows[member], scratch.highs[member] = low, high
    return True


@leaf
def count_ways(lists: Lists, plan: Plan, scratch: Scratch, pivot: Any) -> float:
    """Return in how many ways a pivot's members, whose pairs are found, can be taken."""
    if not narrow_members(lists, plan, scratch, pivot):
        return 0.0
    runs, lows, highs = plan.runs, scratch.lows, scratch.highs
    ways = 1.0
    first_open, last_open = plan.pivots[pivot, FIRST_OPEN], plan.pivots[pivot, LAST_OPEN]
    if first_open >= 0:
        ways *= _count_open(lists, plan, scratch, first_open, last_open)
    for run in range(plan.pivots[pivot, FIRST_RUN], plan.pivots[pivot, END_RUN]):
        if ways == 0.0:
            return 0.0
        if run in (first_open, last_open):
            continue
        first, end = runs[run, RUN_FIRST], runs[run, RUN_END]
        if not runs[run, RUN_IS_CHAIN]:
            for member in range(first, end):
                ways *= highs[member] - lows[member] - plan.members[member, MEMBER_TWINS]
        elif end - first == 1:
            ways *= highs[first] - lows[first]
        elif end - first == 2:
            ways *= _count_two(lists.pair_edges, lists.bounds, lows, highs, first)
        else:
            fill_chain(lists, scratch, first, end - 1)
            total = 0.0
            for own in range(highs[end - 1] - lows[end - 1]):
                total += scratch.ends[end - 1 - first, own]
            ways *= total
    return ways


@leaf
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


@leaf
def _fill_ways(
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


@inlined
def fill_chain(lists: Lists, scratch: Scratch, first: Any, last: Any) -> None:
    """Write in how many ways chains lead from the first member of a run to each edge of others."""
    low, high = scratch.lows, scratch.highs
    _fill_ways(lists.pair_edges, lists.bounds, low, high, first, last, np.int64(1), scratch.ends)


@leaf
def fill_open(lists: Lists, plan: Plan, scratch: Scratch, first_open: Any, last_open: Any) -> float:
    """Write the ways of the first and the last run, which delta binds; return those of both.

    Beside `starts` and `ends`, the ways of both by the edge of the first run's first member, and
    how many edges of the last run's last member are within delta of that: the rows of `joint`.
    """
    runs, lows, highs = plan.runs, scratch.lows, scratch.highs
    first, first_last = runs[first_open, RUN_FIRST], runs[first_open, RUN_END] - 1
    last, last_last = runs[last_open, RUN_FIRST], runs[last_open, RUN_END] - 1
    pair_edges, bounds = lists.pair_edges, lists.bounds
    _fill_ways(pair_edges, bounds, lows, highs, first_last, first, np.int64(-1), scratch.starts)
    fill_chain(lists, scratch, last, last_last)
    place, low, total, ways = lows[last_last], lows[last_last], 0.0, 0.0
    for own in range(highs[first] - lows[first]):
        end = np.int64(bounds[pair_edges[lows[first] + own], END_AFTER])
        while place < highs[last_last] and np.int64(pair_edges[place]) < end:
            total += scratch.ends[last_last - last, place - low]
            place += 1
        scratch.joint[0, own] = scratch.starts[0, own] * total
        scratch.joint[1, own] = place - low
        ways += scratch.joint[0, own]
    return ways


@inlined
def _count_open(
    lists: Lists, plan: Plan, scratch: Scratch, first_open: Any, last_open: Any
) -> float:
    """Return the ways of the first and the last run together, which delta binds."""
    runs, lows, highs = plan.runs, scratch.lows, scratch.highs
    first, last = runs[first_open, RUN_FIRST], runs[last_open, RUN_FIRST]
    if runs[first_open, RUN_END] - first > 1 or runs[last_open, RUN_END] - last > 1:
        return float(fill_open(lists, plan, scratch, first_open, last_open))
    place, ways = lows[last], 0.0
    for own in range(lows[first], highs[first]):
        end = np.int64(lists.bounds[lists.pair_edges[own], END_AFTER])
        while place < highs[last] and np.int64(lists.pair_edges[place]) < end:
            place += 1
        ways += place - lows[last]
    return ways
