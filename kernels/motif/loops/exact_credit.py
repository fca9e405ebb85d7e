"""The hot loop that credits the matches of a last edge to the vertices that it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined
from raydb.kernels.motif.loops.condition_loops import passes, passing_to, tried
from raydb.kernels.motif.loops.exact_lists import (
    BY_PAIR,
    BY_SOURCE,
    BY_TARGET,
    SHORT,
    Lists,
    Pattern,
    State,
    pair_run,
)

if TYPE_CHECKING:
    from raydb.kernels.motif.loops.exact_lists import Int, Integers, Numbers


@inlined
def credit_within(
    lists: Lists, pattern: Pattern, state: State, depth: int, edge: int, start: int, end: int
) -> Int:
    """Return how many of a run's candidates the last edge has, and credit each to its new vertex.

    As `exact_rest.count_within` counts them. Adding to the first place and taking from the place
    after the last one takes as long for any number of candidates; those to bound vertices are taken
    back.
    """
    count = np.int64(end - start)
    if state.range_counts[edge]:
        count = np.int64(0)
        for place in range(start, end):
            if passes(lists, state, edge, np.int64(lists.listed[place])):
                state.spread[place] += 1
                state.spread[place + 1] -= 1
                count += 1
    else:
        state.spread[start] += 1
        state.spread[end] -= 1
    if count == 0:
        return count
    source, target = pattern.source[edge], pattern.target[edge]
    vertices = state.vertices[depth]
    has_source = (vertices >> source) & 1
    near = source if has_source else target
    low, high = np.int64(lists.listed[start]), np.int64(lists.listed[end - 1]) + 1
    for other in range(len(state.mapped)):
        if not (vertices >> other) & 1 or other == near:
            continue
        if end - start <= SHORT:
            taken = passing_to(lists, state, edge, near, other, start, end)
        else:
            one = state.mapped[near if has_source else other]
            two = state.mapped[other if has_source else near]
            first, last = pair_run(lists, pattern.kind[edge], one, two, low, high)
            taken = tried(lists, state, edge, first, last)
        state.credit[state.mapped[other]] -= taken
        count -= taken
    return count


@compiled
def add_spread(
    spread: Integers,
    listed: Numbers,
    bases: Integers,
    source: Numbers,
    target: Numbers,
    by_vertex: Integers,
) -> None:
    """Add what a thread has spread over the places of lists to the vertices at the other ends.

    bases: as in `Lists`; no list by pair has any.
    """
    count = np.int64(0)
    for kind in range(len(bases)):
        size = bases[kind, BY_TARGET] - bases[kind, BY_SOURCE]
        for side in (BY_SOURCE, BY_TARGET, BY_PAIR):
            start = bases[kind, side]
            for place in range(start, start + size):
                count += spread[place]
                if count:
                    edge = np.uint64(listed[place])
                    end = target[edge] if side == BY_SOURCE else source[edge]
                    by_vertex[np.uint64(end)] += count
