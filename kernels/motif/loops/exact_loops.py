"""The hot loops of exact counting: one search for every motif, which is given as arrays.

A search begins at an edge of the graph for the motif's root, which no other edge precedes. At each
depth one more edge of the motif is bound, mostly one that leads to a new vertex: of all edges that
touch a bound vertex, the one with the fewest candidates, which are a run of the vertex's list of
edges. The candidates of every edge are narrowed on the way, and a search turns back as soon as one
has none. Edges between bound vertices are not bound one by one: once all vertices are, or all but
one that a single edge leads to, the ways to choose the rest are counted from the runs alone.

Bounds of an edge's candidates are edge numbers, `low` <= number < `high`: time is not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined
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
    window_end,
)
from raydb.kernels.motif.loops.exact_rest import (
    DEEPER,
    MOST,
    count_ordered,
    count_rest,
    count_tail,
    count_within,
)
from raydb.kernels.motif.loops.graph_loops import first_at_least

if TYPE_CHECKING:
    from raydb.kernels.motif.loops.exact_lists import Int, Integers

# A thread looks whether it is to stop after so many steps, some 50 us.
_POLL_STEPS = 2**10

# Where the run of an edge is found once a new vertex is bound: it leads to or comes from a bound
# vertex; it is one of the new vertex's own list; or it has one already.
_TO_BOUND, _FROM_BOUND, _OUT, _IN, _OLD = 0, 1, 2, 3, 4


@inlined
def _bind_root(
    lists: Lists, pattern: Pattern, state: State, root: int, edge: int, window: int
) -> bool:
    """Bind the root to an edge, before whose window's end all edges are; False: no match has it."""
    after = after_edge(lists, edge)
    state.match[root] = edge
    state.mapped[pattern.source[root]] = lists.source[edge]
    state.mapped[pattern.target[root]] = lists.target[edge]
    ends = (np.int64(1) << pattern.source[root]) | (np.int64(1) << pattern.target[root])
    state.vertices[0] = ends
    state.edges[0] = np.int64(1) << root
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
                lists,
                state.mapped[pattern.source[other]],
                state.mapped[pattern.target[other]],
                low,
                window,
            )
        elif has_source:
            start, end = vertex_run(lists, state.mapped[pattern.source[other]], True, low, window)
        elif has_target:
            start, end = vertex_run(lists, state.mapped[pattern.target[other]], False, low, window)
        else:
            continue
        if start >= end:
            return False
        state.start[0, other] = start
        state.end[0, other] = end
    return True


@inlined
def _follower_end(pattern: Pattern, state: State, depth: int, chosen: int) -> Int:
    """Return the edge before which an edge must leave the chosen one's target, -1 for none.

    Most candidates of a path are followed by no edge in time, which one look at them tells.
    """
    follower = pattern.follower[chosen]
    if follower < 0 or (state.edges[depth] >> follower) & 1:
        return np.int64(-1)
    return state.high[depth, follower]


@inlined
def _bind(lists: Lists, pattern: Pattern, state: State, depth: int, edge: int) -> bool:
    """Bind the edge chosen at a depth to a candidate; False where no match has it.

    The row of the next depth is written.
    """
    chosen = state.chosen[depth]
    limit = _follower_end(pattern, state, depth, chosen)
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
                lists,
                state.mapped[pattern.source[other]],
                state.mapped[pattern.target[other]],
                low,
                high,
            )
            if start >= end:
                return False
            state.start[below, other] = start
            state.end[below, other] = end
            state.low[below, other] = low
            state.high[below, other] = high
    state.match[chosen] = edge
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
            start, end = vertex_run(lists, state.mapped[new], source == new, low, high)
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
def _choose(pattern: Pattern, state: State, depth: int, joined: bool) -> None:
    """Choose the edge with the fewest candidates: one to a new vertex, or `joined` any."""
    vertices, bound = state.vertices[depth], state.edges[depth]
    best, fewest = -1, LATEST
    for edge in range(len(pattern.source)):
        if (bound >> edge) & 1:
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
def _fit(lists: Lists, state: State, depth: int, size: int, edge: int, vertex: int) -> bool:
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
            start, end = pair_run(lists, vertex, joins[each, 5], low, high)
        elif kind == _FROM_BOUND:
            start, end = pair_run(lists, joins[each, 5], vertex, low, high)
        elif kind == _OLD:
            start, end = state.start[depth, join], state.end[depth, join]
            start = first_at_least(lists.listed, start, end, low)
            end = first_at_least(lists.listed, start, end, high)
        else:
            start, end = vertex_run(lists, vertex, kind == _OUT, low, high)
        if start >= end:
            return False
        where = joins[each, 1]
        state.rest[where] = join
        state.starts[where], state.ends[where] = start, end
    return True


@inlined
def _count_last(lists: Lists, pattern: Pattern, state: State, depth: int, new: int) -> Int:
    """Return the matches at a depth after whose chosen edge, to a new vertex, all can be counted.

    The motif has a total order. Each candidate is tried as by `_bind` and `count_rest`. `joins`
    has a row for each edge that is left beside the chosen one: its number, its place among them by
    time, its bounds, where its run is found, and the bound vertex at its end.
    """
    chosen = state.chosen[depth]
    is_target = pattern.target[chosen] == new
    size = _list_joins(pattern, state, depth, new)
    below = depth + 1
    state.vertices[below] = state.vertices[depth] | (np.int64(1) << new)
    state.edges[below] = state.edges[depth] | (np.int64(1) << chosen)
    state.steps[0] += state.finish[depth] - state.cursor[depth]
    limit = _follower_end(pattern, state, depth, chosen)
    total = np.int64(0)
    for place in range(state.cursor[depth], state.finish[depth]):
        edge = np.int64(lists.listed[place])
        if limit >= 0 and np.int64(lists.following[np.uint64(edge)]) >= limit:
            continue
        vertex = np.int64(lists.target[edge] if is_target else lists.source[edge])
        if is_mapped(state, state.vertices[depth], vertex):
            continue
        if not _fit(lists, state, depth, size, edge, vertex):
            continue
        state.mapped[new] = vertex
        if size == 1:
            start, end = state.starts[0], state.ends[0]
            ways = count_within(lists, pattern, state, below, state.rest[0], start, end)
        else:
            ways = count_ordered(lists, pattern, state, below, size)
        if ways + total >= MOST:
            return MOST
        total += ways
    return total


@inlined
def _settle(lists: Lists, pattern: Pattern, state: State, depth: int) -> Int:
    """Count the matches at a depth where that can be done, else choose the next edge to bind."""
    vertices = state.vertices[depth]
    left, near, far = 0, np.int64(0), np.int64(0)
    for vertex in range(len(state.mapped)):
        if not (vertices >> vertex) & 1:
            left += 1
            near, far = far, np.int64(vertex)
    joined = left == 0 or (left == 1 and pattern.degrees[far] == 1)
    if joined:
        count = count_rest(lists, pattern, state, depth)
        if count != DEEPER:
            return count
    _choose(pattern, state, depth, joined)
    if joined or left > 3 or not pattern.is_total:
        return DEEPER
    chosen = state.chosen[depth]
    new = pattern.target[chosen]
    if left == 3:
        is_rest = depth + 4 == len(pattern.source) and not (vertices >> new) & 1
        if is_rest and pattern.tail[chosen]:
            return count_tail(lists, pattern, state, depth)
        return DEEPER
    if (vertices >> new) & 1:
        new = pattern.source[chosen]
    if left == 2:
        far = far if far != new else near
        if pattern.degrees[far] > 1:
            return DEEPER
    return _count_last(lists, pattern, state, depth, new)


@compiled
def _is_over(state: State, steps: Int, budget: int, done: Integers, thread: int) -> bool:
    """Add a thread's steps to those of all, and say whether these are enough or it is to stop."""
    done[8 * thread] += steps + state.steps[0]
    state.steps[0] = 0
    taken = np.int64(0)
    for place in range(0, len(done) - 1, 8):
        taken += done[place]
    return bool(taken >= budget or done[len(done) - 1] != 0)


@compiled
def count_roots(
    lists: Lists,
    pattern: Pattern,
    state: State,
    part: tuple[int, int, int],
    delta: int,
    budget: int,
    done: Integers,
    thread: int,
) -> tuple[Int, Int, bool]:
    """Count the matches of a part: whose root, an edge of the motif, is one of low .. high - 1.

    done: the steps of each thread, at every eighth place, and last whether to stop; this thread's
    are added up here. Stops as soon as all have taken `budget` steps. A step is a candidate tried.
    Returns the count as high * 2**62 + low, and whether it is all; one match has `MOST` ways, high
    is -1.
    """
    root, low, high = part
    total: Int = np.int64(0)
    carried: Int = np.int64(0)
    steps: Int = np.int64(0)
    window = np.int64(low)
    for edge in range(low, high):
        steps += 1
        # A motif may be counted from its root alone, without trying a candidate below.
        if steps + state.steps[0] >= _POLL_STEPS:
            if _is_over(state, steps, budget, done, thread):
                return carried, total, False
            steps = 0
        window = window_end(lists.time, delta, edge, max(window, edge))
        if not _bind_root(lists, pattern, state, root, edge, window):
            continue
        depth = np.int64(0)
        while True:
            count = _settle(lists, pattern, state, depth)
            if count >= MOST:
                return -1, 0, False
            if count >= 0:
                total += count
                if total >= MOST:
                    total -= MOST
                    carried += 1
                depth -= 1
            # The next candidate that can be bound, here or above.
            while depth >= 0:
                cursor = state.cursor[depth]
                if cursor == state.finish[depth]:
                    depth -= 1
                    continue
                state.cursor[depth] = cursor + 1
                steps += 1
                if steps + state.steps[0] >= _POLL_STEPS:
                    if _is_over(state, steps, budget, done, thread):
                        return carried, total, False
                    steps = 0
                if _bind(lists, pattern, state, depth, np.int64(lists.listed[cursor])):
                    break
            if depth < 0:
                break
            depth += 1
    done[8 * thread] += steps + state.steps[0]
    state.steps[0] = 0
    return carried, total, True


@compiled
def list_roots(
    lists: Lists,
    pattern: Pattern,
    state: State,
    part: tuple[int, int, int],
    delta: int,
    found: int,
    into: tuple[Integers, Integers],
    stop: Integers,
) -> Int:
    """List the matches of a part, as of `count_roots`, after `found` others.

    into: the edge numbers, shape (limit, e), and the vertices, (limit, v). Returns how many are
    listed, after as many as there is room for; ends early once stop[0] is set.
    """
    (root, low, high), (edges, vertices) = part, into
    window = np.int64(low)
    edge_count = len(pattern.source)
    everything = (np.int64(1) << edge_count) - 1
    for edge in range(low, high):
        window = window_end(lists.time, delta, edge, max(window, edge))
        if found == len(edges) or stop[0]:
            return found
        if not _bind_root(lists, pattern, state, root, edge, window):
            continue
        depth = np.int64(0)
        while depth >= 0:
            if state.edges[depth] == everything:
                for each in range(edge_count):
                    edges[found, each] = state.match[each]
                for each in range(len(state.mapped)):
                    vertices[found, each] = state.mapped[each]
                found += 1
                if found == len(edges) or stop[0]:
                    return found
                depth -= 1
            else:
                _choose(pattern, state, depth, True)
            while depth >= 0:
                cursor = state.cursor[depth]
                if cursor == state.finish[depth]:
                    depth -= 1
                    continue
                state.cursor[depth] = cursor + 1
                if _bind(lists, pattern, state, depth, np.int64(lists.listed[cursor])):
                    depth += 1
                    break
    return found
