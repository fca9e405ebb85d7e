"""The hot loops that complete a tree instance by one of all ways, each of them equally likely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.jit import leaf
from raydb.kernels.motif.loops.completion_loops import (
    END_RUN,
    FIRST_OPEN,
    FIRST_RUN,
    LAST_OPEN,
    MEMBER_TREE_TWIN,
    RUN_END,
    RUN_FIRST,
    RUN_IS_CHAIN,
    Lists,
    Plan,
    Scratch,
    fill_chain,
    fill_open,
)
from raydb.kernels.motif.loops.weight_loops import ties_end
from raydb.kernels.random_loops import draw_below

if TYPE_CHECKING:
    from numpy.typing import NDArray


@leaf
def pick_way(lists: Lists, plan: Plan, scratch: Scratch, pivot: Any) -> None:
    """Write one of the ways, all of them equally likely: an edge for each member."""
    first_open, last_open = plan.pivots[pivot, FIRST_OPEN], plan.pivots[pivot, LAST_OPEN]
    if first_open >= 0:
        _pick_open(lists, plan, scratch, first_open, last_open)
    for run in range(plan.pivots[pivot, FIRST_RUN], plan.pivots[pivot, END_RUN]):
        if run in (first_open, last_open):
            continue
        first, end = plan.runs[run, RUN_FIRST], plan.runs[run, RUN_END]
        if plan.runs[run, RUN_IS_CHAIN]:
            fill_chain(lists, scratch, first, end - 1)
            _pick_to_start(lists, scratch, first, end - 1, np.int64(len(lists.bounds)))
            continue
        for member in range(first, end):
            scratch.picked[member] = -1
        for member in range(first, end):
            _pick_from_bag(lists, plan, scratch, first, member)


@leaf
def _pick_from_bag(lists: Lists, plan: Plan, scratch: Scratch, first: Any, member: Any) -> None:
    """Write an edge for a member of a bag that no twin of it has."""
    twin, low = plan.members[member, MEMBER_TREE_TWIN], scratch.lows[member]
    while True:
        place = low + draw_below(scratch.state, scratch.highs[member] - low)
        edge = np.int64(lists.pair_edges[place])
        is_taken = twin >= 0 and scratch.edges[twin] == edge
        for other in range(first, member):
            is_taken |= scratch.picked[other] == edge
        if not is_taken:
            scratch.picked[member] = edge
            return


@leaf
def _pick_place(
    ways: NDArray[np.float64], row: Any, first: Any, end: Any, state: NDArray[np.uint64]
) -> Any:
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


@leaf
def _pick_to_start(lists: Lists, scratch: Scratch, first: Any, last: Any, later: Any) -> None:
    """Write edges for the members first .. last of a chain, all of them before the edge `later`."""
    pair_edges, lows = lists.pair_edges, scratch.lows
    for member in range(last, first - 1, -1):
        count = 0
        while (
            lows[member] + count < scratch.highs[member]
            and ties_end(lists.bounds, np.int64(pair_edges[lows[member] + count])) <= later
        ):
            count += 1
        place = lows[member] + _pick_place(scratch.ends, member - first, 0, count, scratch.state)
        later = np.int64(pair_edges[place])
        scratch.picked[member] = later


@leaf
def _pick_open(lists: Lists, plan: Plan, scratch: Scratch, first_open: Any, last_open: Any) -> None:
    """Write edges for the first and the last run, which delta binds."""
    fill_open(lists, plan, scratch, first_open, last_open)
    pair_edges, bounds, state = lists.pair_edges, lists.bounds, scratch.state
    lows, highs, picked = scratch.lows, scratch.highs, scratch.picked
    first, first_end = plan.runs[first_open, RUN_FIRST], plan.runs[first_open, RUN_END]
    last, last_last = plan.runs[last_open, RUN_FIRST], plan.runs[last_open, RUN_END] - 1
    chosen = _pick_place(scratch.joint, 0, 0, highs[first] - lows[first], state)
    picked[first] = np.int64(pair_edges[lows[first] + chosen])
    for member in range(first + 1, first_end):
        begin = ties_end(bounds, picked[member - 1])
        skipped = 0
        while np.int64(pair_edges[lows[member] + skipped]) < begin:
            skipped += 1
        count = highs[member] - lows[member]
        place = lows[member] + _pick_place(scratch.starts, member - first, skipped, count, state)
        picked[member] = np.int64(pair_edges[place])
    near = int(scratch.joint[1, chosen])
    place = lows[last_last] + _pick_place(scratch.ends, last_last - last, 0, near, state)
    picked[last_last] = np.int64(pair_edges[place])
    _pick_to_start(lists, scratch, last, last_last - 1, picked[last_last])
