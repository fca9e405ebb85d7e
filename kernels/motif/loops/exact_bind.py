"""The hot loops that bind one edge of a motif more, and narrow the candidates of the others.

Bounds of an edge's candidates are edge numbers, `low` <= number < `high`: time is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import inlined
from raydb.kernels.motif.loops.condition_loops import keeps, list_ranges
from raydb.kernels.motif.loops.exact_lists import (
    LATEST,
    Lists,
    Pattern,
    State,
    after_edge,
    before_edge,
    is_mapped,
    pair_run,
    vertex_run,
)
from raydb.kernels.motif.loops.graph_loops import first_at_least

if TYPE_CHECKING:
    from raydb.kernels.motif.loops.exact_lists import Int


@inlined
def bind_root(
    lists: Lists, pattern: Pattern, state: State, root: int, edge: int, window: int
) -> bool:
    """Bind the root to an edge, before whose window's end all edges are; False: no match has it."""
    if len(lists.masks) and not lists.masks[pattern.kind[root], edge]:
        return False
    after = after_edge(lists, edge)
    state.match[root] = edge
    state.mapped[pattern.source[root]] = lists.source[edge]
    state.mapped[pattern.target[root]] = lists.target[edge]
    ends = (np.int64(1) << pattern.source[root]) | (np.int64(1) << pattern.target[root])
    state.vertices[0] = ends
    state.edges[0] = np.int64(1) << root
    if pattern.test_starts[root] < pattern.test_starts[root + 1]:
        list_ranges(lists, pattern, state, root, np.int64(0))
    if not keeps(lists, pattern, state, np.int64(0), root):
        return False
    for other in range(len(pattern.source)):
        if other == root:
            continue
        low = edge + 1 if pattern.group[other] == pattern.group[root] else after
        state.low[0, other] = low
        state.high[0, other] = window
        has_source = (ends >> pattern.source[other]) & 1
        has_target = (ends >> pattern.target[other]) & 1
        if has_source and has_target:
            start, end = pair_run(
                *(lists, pattern.kind[other], state.mapped[pattern.source[other]]),
                *(state.mapped[pattern.target[other]], low, window),
            )
        elif has_source or has_target:
            near = pattern.source[other] if has_source else pattern.target[other]
            start, end = vertex_run(
                lists, pattern.kind[other], state.mapped[near], has_source != 0, low, window
            )
        else:
            continue
        if start >= end:
            return False
        state.start[0, other] = start
        state.end[0, other] = end
    return True


@inlined
def follower_end(pattern: Pattern, state: State, depth: int, chosen: int) -> Int:
    """Return the edge before which an edge must leave the chosen one's target, -1 for none.

    Most candidates of a path are followed by no edge in time, which one look at them tells.
    """
    follower = pattern.follower[chosen]
    if follower < 0 or (state.edges[depth] >> follower) & 1:
        return np.int64(-1)
    return state.high[depth, follower]


@inlined
def bind(lists: Lists, pattern: Pattern, state: State, depth: int, edge: int) -> bool:
    """Bind the edge chosen at a depth to a candidate; False where no match has it.

    The row of the next depth is written.
    """
    chosen = state.chosen[depth]
    limit = follower_end(pattern, state, depth, chosen)
    if limit >= 0 and np.int64(lists.following[np.uint64(edge)]) >= limit:
        return False
    vertices = state.vertices[depth]
    bound = state.edges[depth]
    group = pattern.group[chosen]
    new = np.int64(-1)
    vertex = np.int64(-1)
    if not (vertices >> pattern.target[chosen]) & 1:
        new = pattern.target[chosen]
        vertex = np.int64(lists.target[edge])
    elif not (vertices >> pattern.source[chosen]) & 1:
        new = pattern.source[chosen]
        vertex = np.int64(lists.source[edge])
    else:
        for other in range(len(pattern.source)):
            if (bound >> other) & 1 and state.match[other] == edge:
                return False
    after, before = after_edge(lists, edge), before_edge(lists, edge)
    below = depth + 1
    if new >= 0:
        if is_mapped(state, vertices, vertex):
            return False
        state.mapped[new] = vertex
    state.match[chosen] = edge
    if not keeps(lists, pattern, state, depth, chosen):
        return False
    if new >= 0:
        # Edges to bound vertices come first: most candidates fail here.
        for each in range(pattern.degrees[new]):
            other = pattern.touching[new, each]
            far = pattern.source[other] + pattern.target[other] - new
            if other == chosen or not (vertices >> far) & 1:
                continue
            low, high = state.low[depth, other], state.high[depth, other]
            if pattern.group[other] > group:
                low = max(low, after)
            elif pattern.group[other] < group:
                high = min(high, before)
            start, end = pair_run(
                *(lists, pattern.kind[other], state.mapped[pattern.source[other]]),
                *(state.mapped[pattern.target[other]], low, high),
            )
            if start >= end:
                return False
            state.start[below, other] = start
            state.end[below, other] = end
            state.low[below, other] = low
            state.high[below, other] = high
    state.edges[below] = bound | (np.int64(1) << chosen)
    state.vertices[below] = vertices | (np.int64(1) << new) if new >= 0 else vertices
    return bool(_narrow(lists, pattern, state, depth, new, after, before))


@inlined
def _narrow(
    lists: Lists, pattern: Pattern, state: State, depth: int, new: int, after: int, before: int
) -> bool:
    """Write the runs at the next depth of the edges that do not join the new vertex to bound ones.

    False where one has no candidate left.
    """
    chosen = state.chosen[depth]
    vertices = state.vertices[depth]
    below = depth + 1
    bound = state.edges[below]
    group = pattern.group[chosen]
    for other in range(len(pattern.source)):
        if (bound >> other) & 1:
            continue
        source, target = pattern.source[other], pattern.target[other]
        has_source, has_target = (vertices >> source) & 1, (vertices >> target) & 1
        joins = new in (source, target)
        if joins and (has_source or has_target):
            continue
        low, high = state.low[depth, other], state.high[depth, other]
        if pattern.group[other] > group:
            low = max(low, after)
        elif pattern.group[other] < group:
            high = min(high, before)
        state.low[below, other] = low
        state.high[below, other] = high
        if joins:
            start, end = vertex_run(
                lists, pattern.kind[other], state.mapped[new], source == new, low, high
            )
        elif has_source or has_target:
            start, end = state.start[depth, other], state.end[depth, other]
            if low != state.low[depth, other]:
                start = first_at_least(lists.listed, start, end, low)
            if high != state.high[depth, other]:
                end = first_at_least(lists.listed, start, end, high)
        else:
            continue
        if start >= end:
            return False
        state.start[below, other] = start
        state.end[below, other] = end
    return True


@inlined
def choose(pattern: Pattern, state: State, depth: int, joined: bool, among: int) -> None:
    """Choose the edge with the fewest candidates: one to a new vertex, or `joined` any of some.

    among: the edges that there are to choose from, as bits.
    """
    vertices, bound = state.vertices[depth], state.edges[depth]
    best, fewest = -1, LATEST
    for edge in range(len(pattern.source)):
        if (bound >> edge) & 1 or not (among >> edge) & 1:
            continue
        has_source = (vertices >> pattern.source[edge]) & 1
        has_target = (vertices >> pattern.target[edge]) & 1
        if has_source + has_target == 0 or (has_source + has_target == 2 and not joined):
            continue
        count = state.end[depth, edge] - state.start[depth, edge]
        if count < fewest:
            best, fewest = edge, count
    state.chosen[depth] = best
    state.cursor[depth] = state.start[depth, best]
    state.finish[depth] = state.end[depth, best]
