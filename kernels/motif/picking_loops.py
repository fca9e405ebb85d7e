"""The hot loops that complete a tree instance by one of all ways, each of them equally likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.motif.completion_loops import (
    END_RUN,
    FIRST_OPEN,
    FIRST_RUN,
    LAST_OPEN,
    MEMBER_TREE_TWIN,
    RUN_END,
    RUN_FIRST,
    RUN_IS_CHAIN,
    fill_ways,
)
from raydb.kernels.motif.random_loops import draw_below
from raydb.kernels.motif.weight_loops import END_AFTER, inner, ties_end

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]
    Table = NDArray[np.int64]
    Ways = NDArray[np.float64]
    State = NDArray[np.uint64]


@inner
def pick_way(
    pair_edges: Numbers,
    bounds: Numbers,
    pivots: Table,
    runs: Table,
    members: Table,
    pivot: Any,
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
    first_open, last_open = pivots[pivot, FIRST_OPEN], pivots[pivot, LAST_OPEN]
    if first_open >= 0:
        _pick_open(
            pair_edges,
            bounds,
            runs,
            first_open,
            last_open,
            lows,
            highs,
            starts,
            ends,
            joint,
            state,
            picked,
        )
    for run in range(pivots[pivot, FIRST_RUN], pivots[pivot, END_RUN]):
        if run in (first_open, last_open):
            continue
        first, end = runs[run, RUN_FIRST], runs[run, RUN_END]
        if runs[run, RUN_IS_CHAIN]:
            fill_ways(pair_edges, bounds, lows, highs, first, end - 1, np.int64(1), ends)
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
    first_open: Any,
    last_open: Any,
    lows: Table,
    highs: Table,
    starts: Ways,
    ends: Ways,
    joint: Ways,
    state: State,
    picked: Table,
) -> None:
    """Write edges for the first and the last run, which delta binds."""
    first, first_end = runs[first_open, RUN_FIRST], runs[first_open, RUN_END]
    last, last_end = runs[last_open, RUN_FIRST], runs[last_open, RUN_END]
    fill_ways(pair_edges, bounds, lows, highs, first_end - 1, first, np.int64(-1), starts)
    fill_ways(pair_edges, bounds, lows, highs, last, last_end - 1, np.int64(1), ends)
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
