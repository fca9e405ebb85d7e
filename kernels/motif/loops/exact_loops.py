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
from raydb.kernels.motif.loops.condition_loops import list_ranges, most_compared, open_edges
from raydb.kernels.motif.loops.exact_bind import bind, bind_root, choose
from raydb.kernels.motif.loops.exact_last import count_last
from raydb.kernels.motif.loops.exact_lists import Lists, Pattern, State, window_end
from raydb.kernels.motif.loops.exact_rest import DEEPER, MOST, count_one, count_rest, count_tail

if TYPE_CHECKING:
    from raydb.kernels.motif.loops.exact_lists import Int, Integers

# A thread looks whether it is to stop after so many steps, some 50 us.
_POLL_STEPS = 2**10


@inlined
def _count_chosen(
    lists: Lists,
    pattern: Pattern,
    state: State,
    depth: int,
    left: int,
    others: int,
    credited: int,
) -> Int:
    """Count the matches at a depth if only candidates of the chosen edge need be tried for that.

    left: how many vertices are not bound, 3 at most. others: the edges that are left beside the
    chosen one; credited: the one to a vertex that is credited and not bound; both as bits.
    """
    chosen, vertices = state.chosen[depth], state.vertices[depth]
    new = pattern.target[chosen]
    if left == 3:
        is_rest = depth + 4 == len(pattern.source) and not (vertices >> new) & 1
        if is_rest and pattern.tail[chosen] and pattern.watched & others == 0:
            return count_tail(lists, pattern, state, depth)
        return DEEPER
    if (vertices >> new) & 1:
        new = pattern.source[chosen]
    if (vertices >> new) & 1:
        new = np.int64(-1)
    is_one = depth + 3 == len(pattern.source)
    if left == 2:
        for vertex in range(len(state.mapped)):
            if (vertices >> vertex) & 1 or vertex == new:
                continue
            if pattern.degrees[vertex] > 1 or (vertex == pattern.credited and not is_one):
                return DEEPER
    if not is_one and (open_edges(pattern, others) or credited & others):
        return DEEPER
    return count_last(lists, pattern, state, depth, new)


@inlined
def _settle(lists: Lists, pattern: Pattern, state: State, depth: int) -> Int:
    """Count the matches at a depth where that can be done, else choose the next edge to bind.

    Of edges that are compared with each other all but one are bound, and so is one to a vertex that
    is credited, unless it is the only one left.
    """
    vertices = state.vertices[depth]
    left, far = 0, np.int64(0)
    for vertex in range(len(state.mapped)):
        if not (vertices >> vertex) & 1:
            left, far = left + 1, np.int64(vertex)
    joined = left == 0 or (left == 1 and pattern.degrees[far] == 1)
    unbound = ((np.int64(1) << len(pattern.source)) - 1) & ~state.edges[depth]
    pending = open_edges(pattern, unbound)
    credited = np.int64(0)
    if joined:
        if left == 1 and far == pattern.credited:
            credited = np.int64(1) << pattern.touching[far, 0]
            pending |= credited
        if unbound and unbound & (unbound - 1) == 0:
            choose(pattern, state, depth, True, unbound)
            last, start, end = state.chosen[depth], state.cursor[depth], state.finish[depth]
            if pattern.test_starts[last] < pattern.test_starts[last + 1]:
                list_ranges(lists, pattern, state, last, state.edges[depth])
            return count_one(lists, pattern, state, depth, last, start, end)
        if pending == 0:
            count = count_rest(lists, pattern, state, depth)
            if count != DEEPER:
                return count
    among = unbound
    if joined and pending:
        among = most_compared(pattern, pending, unbound)
    choose(pattern, state, depth, joined, among)
    chosen = state.chosen[depth]
    if pattern.test_starts[chosen] < pattern.test_starts[chosen + 1]:
        list_ranges(lists, pattern, state, chosen, state.edges[depth])
    if left > 3 or not pattern.is_total:
        return DEEPER
    others = unbound & ~(np.int64(1) << chosen)
    return _count_chosen(lists, pattern, state, depth, left, others, credited)


@compiled
def _is_over(state: State, steps: Int, budget: int, done: Integers, thread: int) -> bool:
    """Add a thread's steps to those of all, and say whether these are enough or it is to stop."""
    done[8 * thread] += steps + state.steps[0]
    state.steps[0] = 0
    taken = np.int64(0)
    for place in range(0, len(done) - 1, 8):
        taken += done[place]
    return bool(taken >= budget or done[len(done) - 1] != 0)


@inlined
def _credit(pattern: Pattern, state: State, depth: int, count: int) -> None:
    """Credit matches to the vertex that they are counted by, where that is bound."""
    if pattern.credited >= 0 and (state.vertices[depth] >> pattern.credited) & 1:
        state.credit[state.mapped[pattern.credited]] += count


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
        if not bind_root(lists, pattern, state, root, edge, window):
            continue
        depth = np.int64(0)
        while True:
            count = _settle(lists, pattern, state, depth)
            if count >= MOST:
                return -1, 0, False
            if count >= 0:
                _credit(pattern, state, depth, count)
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
                if bind(lists, pattern, state, depth, np.int64(lists.listed[cursor])):
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
    resumed: Integers,
    into: tuple[Integers, Integers],
    stop: Integers,
) -> Int:
    """List the matches of a part, as of `count_roots`, from where the last call stopped.

    resumed: the edge of the root, the depth, and the end of the window where a call is to go on;
    at first the part's first edge, -1, and that edge again. into: the edge numbers, shape (most,
    e), and the vertices, (most, v). Returns how many are listed; they are all where resumed[0] has
    come to the part's end. Ends early, too, once stop[0] is set.
    """
    (root, _, high), (edges, vertices) = part, into
    edge, depth, window = resumed[0], resumed[1], resumed[2]
    edge_count = len(pattern.source)
    everything = (np.int64(1) << edge_count) - 1
    found, steps = np.int64(0), np.int64(0)
    while edge < high:
        if depth < 0:
            window = window_end(lists.time, delta, edge, max(window, edge))
            if bind_root(lists, pattern, state, root, edge, window):
                depth = np.int64(0)
        while depth >= 0:
            steps += 1
            if found == len(edges) or (steps & (_POLL_STEPS - 1) == 0 and stop[0]):
                resumed[0], resumed[1], resumed[2] = edge, depth, window
                return found
            if state.edges[depth] == everything:
                for each in range(edge_count):
                    edges[found, each] = state.match[each]
                for each in range(len(state.mapped)):
                    vertices[found, each] = state.mapped[each]
                found += 1
                depth -= 1
            else:
                choose(pattern, state, depth, True, everything)
                list_ranges(lists, pattern, state, state.chosen[depth], state.edges[depth])
            while depth >= 0:
                cursor = state.cursor[depth]
                if cursor == state.finish[depth]:
                    depth -= 1
                    continue
                state.cursor[depth] = cursor + 1
                if bind(lists, pattern, state, depth, np.int64(lists.listed[cursor])):
                    depth += 1
                    break
        edge += 1
        if stop[0]:
            break
    resumed[0], resumed[1], resumed[2] = edge, -1, window
    return found
