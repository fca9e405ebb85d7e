"""The hot loop over the candidates of the last vertex but one that a single edge leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import inlined
from raydb.kernels.motif.loops.condition_loops import keeps, list_ranges
from raydb.kernels.motif.loops.exact_bind import follower_end
from raydb.kernels.motif.loops.exact_lists import (
    Lists,
    Pattern,
    State,
    after_edge,
    before_edge,
    is_mapped,
    pair_run,
    vertex_run,
)
from raydb.kernels.motif.loops.exact_rest import MOST, count_one, count_ordered
from raydb.kernels.motif.loops.graph_loops import first_at_least

if TYPE_CHECKING:
    from raydb.kernels.motif.loops.exact_lists import Int

# Where the run of an edge is found once a new vertex is bound: it leads to or comes from a bound
# vertex; it is one of the new vertex's own list; or it has one already.
_TO_BOUND, _FROM_BOUND, _OUT, _IN, _OLD = 0, 1, 2, 3, 4


@inlined
def _list_joins(pattern: Pattern, state: State, depth: int, new: int) -> Int:
    """List the edges that are left beside the chosen one; see `_count_last`. Returns their number.

    Those from the new vertex to bound ones come first, the shortest run before all: so most
    candidates fail at the first.
    """
    joins, chosen, vertices = state.joins, state.chosen[depth], state.vertices[depth]
    count, size = 0, 0
    for edge in range(len(pattern.source)):
        if (state.edges[depth] >> edge) & 1 or edge == chosen:
            continue
        source, target = pattern.source[edge], pattern.target[edge]
        near = target if source == new else source
        length = state.end[depth, edge] - state.start[depth, edge]
        if new not in (source, target):
            kind = _OLD
        elif (vertices >> near) & 1:
            kind = _TO_BOUND if source == new else _FROM_BOUND
        else:
            kind = _OUT if source == new else _IN
        place = size
        if kind in (_TO_BOUND, _FROM_BOUND):
            while place > 0 and (place > count or joins[place - 1, 1] > length):
                for column in range(6):
                    joins[place, column] = joins[place - 1, column]
                place -= 1
            count += 1
        size += 1
        joins[place, 0], joins[place, 1] = edge, length
        joins[place, 2], joins[place, 3] = state.low[depth, edge], state.high[depth, edge]
        joins[place, 4], joins[place, 5] = kind, state.mapped[near]
    for place in range(size):
        joins[place, 1] = 0
        for other in range(size):
            joins[place, 1] += joins[other, 0] < joins[place, 0]
    return size


@inlined
def _fit(
    lists: Lists, pattern: Pattern, state: State, depth: int, size: int, edge: int, vertex: int
) -> bool:
    """List the runs of the rest if the chosen edge is bound to a candidate; False if one is empty.

    vertex: that of the candidate which is new.
    """
    chosen, joins = state.chosen[depth], state.joins
    after, before = after_edge(lists, edge), before_edge(lists, edge)
    for each in range(size):
        join, low, high = joins[each, 0], joins[each, 2], joins[each, 3]
        if join > chosen:
            low = max(low, after)
        else:
            high = min(high, before)
        kind = joins[each, 4]
        if kind == _TO_BOUND:
            start, end = pair_run(lists, pattern.kind[join], vertex, joins[each, 5], low, high)
        elif kind == _FROM_BOUND:
            start, end = pair_run(lists, pattern.kind[join], joins[each, 5], vertex, low, high)
        elif kind == _OLD:
            start, end = state.start[depth, join], state.end[depth, join]
            start = first_at_least(lists.listed, start, end, low)
            end = first_at_least(lists.listed, start, end, high)
        else:
            start, end = vertex_run(lists, pattern.kind[join], vertex, kind == _OUT, low, high)
        if start >= end:
            return False
        where = joins[each, 1]
        state.rest[where] = join
        state.starts[where], state.ends[where] = start, end
    return True


@inlined
def _list_joined(lists: Lists, pattern: Pattern, state: State, depth: int, size: int) -> bool:
    """List the ranges of the edges in `joins`; True where some are compared with the chosen one."""
    chosen, compared = state.chosen[depth], np.int64(0)
    for each in range(size):
        join = state.joins[each, 0]
        compared |= (pattern.partners[join] >> chosen) & 1
        if pattern.test_starts[join] < pattern.test_starts[join + 1]:
            list_ranges(lists, pattern, state, join, state.edges[depth])
    return bool(compared != 0)


@inlined
def count_last(lists: Lists, pattern: Pattern, state: State, depth: int, new: int) -> Int:
    """Return the matches at a depth after whose chosen edge all can be counted.

    It leads to a new vertex, or to none (-1). The motif has a total order. Each candidate is tried
    as by `bind` and `count_rest`. `joins` has a row for each edge that is left beside the chosen
    one: its number, its place among them by time, its bounds, where its run is found, and the bound
    vertex at its end.
    """
    chosen = state.chosen[depth]
    is_target = pattern.target[chosen] == new
    size = _list_joins(pattern, state, depth, new)
    below = depth + 1
    state.vertices[below] = state.vertices[depth]
    if new >= 0:
        state.vertices[below] |= np.int64(1) << new
    state.edges[below] = state.edges[depth] | (np.int64(1) << chosen)
    is_compared = _list_joined(lists, pattern, state, depth, size)
    state.steps[0] += state.finish[depth] - state.cursor[depth]
    limit = follower_end(pattern, state, depth, chosen)
    total = np.int64(0)
    for place in range(state.cursor[depth], state.finish[depth]):
        edge = np.int64(lists.listed[place])
        if limit >= 0 and np.int64(lists.following[np.uint64(edge)]) >= limit:
            continue
        vertex = np.int64(lists.target[edge] if is_target else lists.source[edge])
        if new >= 0:
            if is_mapped(state, state.vertices[depth], vertex):
                continue
            state.mapped[new] = vertex
        state.match[chosen] = edge
        if not keeps(lists, pattern, state, depth, chosen):
            continue
        if not _fit(lists, pattern, state, depth, size, edge, vertex):
            continue
        if is_compared:
            for each in range(size):
                if (pattern.partners[state.rest[each]] >> chosen) & 1:
                    list_ranges(lists, pattern, state, state.rest[each], state.edges[below])
        if size == 1:
            ways = count_one(
                lists, pattern, state, below, state.rest[0], state.starts[0], state.ends[0]
            )
        else:
            ways = count_ordered(lists, pattern, state, below, size)
        if ways + total >= MOST:
            return MOST
        total += ways
        if new >= 0 and new == pattern.credited:
            state.credit[vertex] += ways
    return total
