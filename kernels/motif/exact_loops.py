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

from typing import TYPE_CHECKING, NamedTuple

import numba
import numpy as np

from raydb.kernels.motif.graph_loops import find_marked_pair, first_at_least

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Numbers = NDArray[np.uint32]

# No count of one partial match and no sum within a part may reach this: one more fits int64 still.
_MOST = np.int64(2**62)

_LATEST = np.int64(2**63 - 1)

# A thread looks whether it is to stop after so many steps, some 50 us.
_POLL_STEPS = 2**10

# Fewer candidates are tested one by one where a count leaves out those to bound vertices.
_FEW = 24

# `settle` has found nothing to count yet: the search goes on below.
_DEEPER = np.int64(-1)


class Lists(NamedTuple):
    """What a search reads of a graph; see `TemporalGraph`.

    same, later: by edge number, the first edge of its time and the first of a later one; empty
    where equal times are in the order of the input.
    """

    source: Numbers
    target: Numbers
    time: Integers
    listed: Numbers
    pair_edges: Numbers
    out_offsets: Numbers
    in_offsets: Numbers
    pair_offsets: Numbers
    slots: Numbers
    number_bits: np.uint64
    same: Numbers
    later: Numbers


class Pattern(NamedTuple):
    """A motif as arrays: the ends and the group of each edge, and the edges of each vertex.

    touching: shape (vertices, e), the edges at a vertex. degrees: their number.
    """

    source: Integers
    target: Integers
    group: Integers
    touching: Integers
    degrees: Integers


class State(NamedTuple):
    """A search under way: rows are depths, columns edges of the motif.

    low, high: the edge numbers that a candidate may have. start, end: its run in `listed`.
    vertices, edges: what is bound, as bits. chosen: the edge whose candidates are tried, those from
    cursor to finish. match: the candidate of each bound edge. mapped: that of each bound vertex.
    """

    low: Integers
    high: Integers
    start: Integers
    end: Integers
    vertices: Integers
    edges: Integers
    chosen: Integers
    cursor: Integers
    finish: Integers
    match: Integers
    mapped: Integers


@numba.njit(cache=True, nogil=True)
def find_ties(time: Integers, same: Numbers, later: Numbers) -> None:
    """Write the first edge of the same time and the first of a later time of each edge."""
    count = len(time)
    for edge in range(count):
        is_new = edge == 0 or time[edge] != time[edge - 1]
        same[edge] = edge if is_new else same[edge - 1]
    for edge in range(count - 1, -1, -1):
        is_last = edge == count - 1 or time[edge] != time[edge + 1]
        later[edge] = edge + 1 if is_last else later[edge + 1]


@numba.njit(cache=True, nogil=True)
def _after(lists: Lists, edge: int) -> int:
    return np.int64(lists.later[edge]) if len(lists.later) else edge + 1


@numba.njit(cache=True, nogil=True)
def _before(lists: Lists, edge: int) -> int:
    return np.int64(lists.same[edge]) if len(lists.same) else edge


@numba.njit(cache=True, nogil=True)
def _pair_run(lists: Lists, source: int, target: int, low: int, high: int) -> tuple[int, int]:
    """Return the run of the edges between two vertices that have numbers in low .. high - 1."""
    pair = find_marked_pair(
        lists.source,
        lists.target,
        lists.pair_offsets,
        lists.pair_edges,
        lists.slots,
        lists.number_bits,
        source,
        target,
    )
    if pair < 0:
        return 0, 0
    base = 2 * len(lists.source)
    start = base + np.int64(lists.pair_offsets[pair])
    end = base + np.int64(lists.pair_offsets[pair + 1])
    start = first_at_least(lists.listed, start, end, low)
    return start, first_at_least(lists.listed, start, end, high)


@numba.njit(cache=True, nogil=True)
def _vertex_run(
    lists: Lists, vertex: int, is_source: bool, low: int, high: int
) -> tuple[int, int]:
    """Return the run of a vertex's edges that have numbers in low .. high - 1."""
    if is_source:
        start = np.int64(lists.out_offsets[vertex])
        end = np.int64(lists.out_offsets[vertex + 1])
    else:
        base = len(lists.source)
        start = base + np.int64(lists.in_offsets[vertex])
        end = base + np.int64(lists.in_offsets[vertex + 1])
    start = first_at_least(lists.listed, start, end, low)
    return start, first_at_least(lists.listed, start, end, high)


@numba.njit(cache=True, nogil=True)
def _new_state(vertex_count: int, edge_count: int) -> State:
    depths = edge_count + 1
    return State(
        np.zeros((depths, edge_count), np.int64),
        np.zeros((depths, edge_count), np.int64),
        np.zeros((depths, edge_count), np.int64),
        np.zeros((depths, edge_count), np.int64),
        np.zeros(depths, np.int64),
        np.zeros(depths, np.int64),
        np.zeros(depths, np.int64),
        np.zeros(depths, np.int64),
        np.zeros(depths, np.int64),
        np.zeros(edge_count, np.int64),
        np.zeros(vertex_count, np.int64),
    )


@numba.njit(cache=True, nogil=True)
def _bind_root(
    lists: Lists, pattern: Pattern, state: State, root: int, edge: int, window: int
) -> bool:
    """Bind the root to an edge, before whose window's end all edges are; False: no match has it."""
    after = _after(lists, edge)
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
            start, end = _pair_run(
                lists,
                state.mapped[pattern.source[other]],
                state.mapped[pattern.target[other]],
                low,
                window,
            )
        elif has_source:
            start, end = _vertex_run(
                lists, state.mapped[pattern.source[other]], True, low, window
            )
        elif has_target:
            start, end = _vertex_run(
                lists, state.mapped[pattern.target[other]], False, low, window
            )
        else:
            continue
        if start >= end:
            return False
        state.start[0, other] = start
        state.end[0, other] = end
    return True


@numba.njit(cache=True, nogil=True)
def _bind(lists: Lists, pattern: Pattern, state: State, depth: int, edge: int) -> bool:
    """Bind the edge chosen at a depth to a candidate; False where no match has it.

    The row of the next depth is written.
    """
    chosen = state.chosen[depth]
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
    after, before = _after(lists, edge), _before(lists, edge)
    below = depth + 1
    if new >= 0:
        for other in range(len(state.mapped)):
            if (vertices >> other) & 1 and state.mapped[other] == vertex:
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
            start, end = _pair_run(
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
    return _narrow(lists, pattern, state, depth, new, after, before)


@numba.njit(cache=True, nogil=True)
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
        joins = source == new or target == new
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
            start, end = _vertex_run(lists, state.mapped[new], source == new, low, high)
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


# -- the rest of a match, counted from the runs of the edges that are left


@numba.njit(cache=True, nogil=True)
def _is_twin(pattern: Pattern, state: State, depth: int, edge: int, other: int) -> bool:
    """Return whether another edge is bound that may have the same candidates as an edge."""
    return bool(
        (state.edges[depth] >> other) & 1
        and pattern.group[other] == pattern.group[edge]
        and pattern.source[other] == pattern.source[edge]
        and pattern.target[other] == pattern.target[edge]
    )


@numba.njit(cache=True, nogil=True)
def _count_within(
    lists: Lists, pattern: Pattern, state: State, depth: int, edge: int, start: int, end: int
) -> int:
    """Return how many of a run's candidates an edge that is left has, all others being bound.

    The run of an edge to a vertex that is not bound has candidates to bound vertices, too; that of
    an edge between bound ones may have candidates bound to edges of its group.
    """
    count = end - start
    source, target = pattern.source[edge], pattern.target[edge]
    vertices = state.vertices[depth]
    has_source, has_target = (vertices >> source) & 1, (vertices >> target) & 1
    if not (has_source and has_target):
        near = source if has_source else target
        if count <= _FEW:
            for place in range(start, end):
                number = lists.listed[place]
                far = lists.target[number] if has_source else lists.source[number]
                for other in range(len(state.mapped)):
                    if (vertices >> other) & 1 and state.mapped[other] == far:
                        count -= 1
            return count
        low, high = np.int64(lists.listed[start]), np.int64(lists.listed[end - 1]) + 1
        for other in range(len(state.mapped)):
            if not (vertices >> other) & 1 or other == near:
                continue
            if has_source:
                first, last = _pair_run(
                    lists, state.mapped[near], state.mapped[other], low, high
                )
            else:
                first, last = _pair_run(
                    lists, state.mapped[other], state.mapped[near], low, high
                )
            count -= last - first
        return count
    for other in range(len(pattern.source)):
        if _is_twin(pattern, state, depth, edge, other):
            number = state.match[other]
            if lists.listed[start] <= number <= lists.listed[end - 1]:
                count -= 1
    return count


@numba.njit(cache=True, nogil=True)
def _count_chain(
    lists: Lists,
    pattern: Pattern,
    state: State,
    depth: int,
    members: Integers,
    starts: Integers,
    ends: Integers,
) -> int:
    """Return in how many ways candidates of some edges follow each other; _MOST where too many.

    The runs of all are merged: after each edge of the graph, totals[i] is the number of ways to
    choose candidates of the first i members up to here. Edges of one time do not follow each
    other, so they are added together. A run with candidates that are taken, see `_count_within`,
    is followed by runs of those, which count as -1.
    """
    size = len(members)
    most = size * (1 + len(state.mapped) + len(pattern.source))
    cursor, finish = np.empty(most, np.int64), np.empty(most, np.int64)
    level, sign = np.empty(most, np.int64), np.empty(most, np.int64)
    runs = 0
    for each in range(size):
        cursor[runs], finish[runs], level[runs], sign[runs] = starts[each], ends[each], each, 1
        runs += 1
        source, target = pattern.source[members[each]], pattern.target[members[each]]
        vertices = state.vertices[depth]
        has_source, has_target = (vertices >> source) & 1, (vertices >> target) & 1
        if has_source and has_target:
            for other in range(len(pattern.source)):
                if _is_twin(pattern, state, depth, members[each], other):
                    number = state.match[other]
                    first = first_at_least(lists.listed, starts[each], ends[each], number)
                    last = first_at_least(lists.listed, first, ends[each], number + 1)
                    cursor[runs], finish[runs], level[runs], sign[runs] = first, last, each, -1
                    runs += last - first
            continue
        near = source if has_source else target
        low = np.int64(lists.listed[starts[each]])
        high = np.int64(lists.listed[ends[each] - 1]) + 1
        for other in range(len(state.mapped)):
            if not (vertices >> other) & 1 or other == near:
                continue
            one = state.mapped[near if has_source else other]
            two = state.mapped[other if has_source else near]
            first, last = _pair_run(lists, one, two, low, high)
            if first < last:
                cursor[runs], finish[runs], level[runs], sign[runs] = first, last, each, -1
                runs += 1
    if size == runs == 2:
        return _count_two(lists, starts[0], ends[0], starts[1], ends[1])
    totals, added = np.zeros(size + 1, np.int64), np.zeros(size, np.int64)
    totals[0] = 1
    while True:
        least = _LATEST
        for run in range(runs):
            if cursor[run] < finish[run]:
                least = min(least, np.int64(lists.listed[cursor[run]]))
        if least == _LATEST:
            return totals[size]
        bound = _after(lists, least)
        for run in range(runs):
            while cursor[run] < finish[run] and lists.listed[cursor[run]] < bound:
                added[level[run]] += sign[run] * totals[level[run]]
                cursor[run] += 1
        for each in range(size):
            totals[each + 1] += added[each]
            added[each] = 0
            if totals[each + 1] >= _MOST:
                return _MOST


@numba.njit(cache=True, nogil=True)
def _count_two(lists: Lists, one: int, one_end: int, two: int, two_end: int) -> int:
    """Return the pairs of an edge of one run and a later one of the other; _MOST: too many."""
    total = np.int64(0)
    if one_end - one <= two_end - two:
        for place in range(one, one_end):
            two = first_at_least(
                lists.listed, two, two_end, _after(lists, np.int64(lists.listed[place]))
            )
            total += two_end - two
    else:
        first = one
        for place in range(two, two_end):
            one = first_at_least(
                lists.listed, one, one_end, _before(lists, np.int64(lists.listed[place]))
            )
            total += one - first
    # Two runs have fewer than 2**32 edges each.
    return total if 0 <= total < _MOST else _MOST


@numba.njit(cache=True, nogil=True)
def _tighten(
    lists: Lists, pattern: Pattern, rest: Integers, starts: Integers, ends: Integers
) -> bool:
    """Take from runs what comes before each candidate of an earlier edge, or after of a later one.

    False where an edge has no candidate left.
    """
    size = len(rest)
    floor, next_floor = np.int64(0), np.int64(0)
    for each in range(size):
        if each and pattern.group[rest[each]] != pattern.group[rest[each - 1]]:
            floor = next_floor
        starts[each] = first_at_least(lists.listed, starts[each], ends[each], floor)
        if starts[each] == ends[each]:
            return False
        next_floor = max(next_floor, _after(lists, np.int64(lists.listed[starts[each]])))
    ceiling, next_ceiling = _LATEST, _LATEST
    for each in range(size - 1, -1, -1):
        if each < size - 1 and pattern.group[rest[each]] != pattern.group[rest[each + 1]]:
            ceiling = next_ceiling
        if np.int64(lists.listed[ends[each] - 1]) >= ceiling:
            ends[each] = first_at_least(lists.listed, starts[each], ends[each], ceiling)
            if starts[each] == ends[each]:
                return False
        next_ceiling = min(next_ceiling, _before(lists, np.int64(lists.listed[ends[each] - 1])))
    return True


@numba.njit(cache=True, nogil=True)
def _split(
    lists: Lists,
    pattern: Pattern,
    rest: Integers,
    starts: Integers,
    ends: Integers,
    parts: Integers,
) -> int:
    """Number the parts of the rest that are chosen apart from each other; return how many.

    Edges are of one part where the choice of one bears on the other: some candidates are in the
    wrong order, or both may have the same. Where edges of one part are of one group, returns -1:
    their order is not known.
    """
    size = len(rest)
    for each in range(size):
        parts[each] = each
        for other in range(each):
            if parts[other] == parts[each]:
                continue
            one, two = rest[other], rest[each]
            if pattern.group[one] == pattern.group[two]:
                binds = (
                    pattern.source[one] == pattern.source[two]
                    and pattern.target[one] == pattern.target[two]
                )
            else:
                last = np.int64(lists.listed[ends[other] - 1])
                binds = np.int64(lists.listed[starts[each]]) < _after(lists, last)
            if binds:
                joined = parts[other]
                left = parts[each]
                for place in range(each + 1):
                    if parts[place] == left:
                        parts[place] = joined
    for each in range(1, size):
        for other in range(each):
            if (
                parts[each] == parts[other]
                and pattern.group[rest[each]] == pattern.group[rest[other]]
            ):
                return -1
    return size


@numba.njit(cache=True, nogil=True)
def _count_rest(lists: Lists, pattern: Pattern, state: State, depth: int) -> int:
    """Return in how many ways the edges that are left are chosen; _MOST where too many.

    At most one of them leads to a vertex that is not bound. Returns _DEEPER where one more edge
    must be bound before.
    """
    edge_count = len(pattern.source)
    bound = state.edges[depth]
    size, last = 0, 0
    for edge in range(edge_count):
        if not (bound >> edge) & 1:
            size += 1
            last = edge
    if size == 0:
        return 1
    if size == 1:
        start, end = state.start[depth, last], state.end[depth, last]
        return _count_within(lists, pattern, state, depth, last, start, end)
    rest = np.empty(size, np.int64)
    starts, ends = np.empty(size, np.int64), np.empty(size, np.int64)
    parts = np.empty(size, np.int64)
    size = 0
    for edge in range(edge_count):
        if not (bound >> edge) & 1:
            rest[size] = edge
            starts[size], ends[size] = state.start[depth, edge], state.end[depth, edge]
            size += 1
    if not _tighten(lists, pattern, rest, starts, ends):
        return 0
    if _split(lists, pattern, rest, starts, ends, parts) < 0:
        return _DEEPER
    product = np.int64(1)
    for part in range(size):
        members = np.flatnonzero(parts == part)
        if len(members) == 0:
            continue
        first = members[0]
        if len(members) == 1:
            count = _count_within(
                lists, pattern, state, depth, rest[first], starts[first], ends[first]
            )
        else:
            count = _count_chain(
                lists, pattern, state, depth, rest[members], starts[members], ends[members]
            )
        if count == 0:
            return 0
        if np.float64(product) * np.float64(count) >= np.float64(_MOST):
            return _MOST
        product *= count
    return product


# -- the search


@numba.njit(cache=True, nogil=True)
def _choose(pattern: Pattern, state: State, depth: int, joined: bool) -> None:
    """Choose the edge with the fewest candidates: one to a new vertex, or `joined` any."""
    vertices, bound = state.vertices[depth], state.edges[depth]
    best, fewest = -1, _LATEST
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


@numba.njit(cache=True, nogil=True)
def _settle(lists: Lists, pattern: Pattern, state: State, depth: int) -> int:
    """Count the matches at a depth where that can be done, else choose the next edge to bind."""
    vertices = state.vertices[depth]
    left, far = 0, 0
    for vertex in range(len(state.mapped)):
        if not (vertices >> vertex) & 1:
            left += 1
            far = vertex
    if left == 0 or (left == 1 and pattern.degrees[far] == 1):
        count = _count_rest(lists, pattern, state, depth)
        if count != _DEEPER:
            return count
        _choose(pattern, state, depth, True)
    else:
        _choose(pattern, state, depth, False)
    return _DEEPER


@numba.njit(cache=True, nogil=True)
def window_end(time: Integers, delta: int, edge: int, low: int) -> int:
    """Return the first edge from `low` on that is later than an edge by more than delta."""
    limit = time[edge] + delta
    if limit < time[edge]:
        limit = _LATEST
    while low < len(time) and time[low] <= limit:
        low += 1
    return low


@numba.njit(cache=True, nogil=True)
def count_roots(
    lists: Lists,
    pattern: Pattern,
    root: int,
    delta: int,
    low: int,
    high: int,
    budget: int,
    done: Integers,
    thread: int,
) -> tuple[int, int, bool]:
    """Count the matches whose root is one of the edges low .. high - 1.

    done: the steps of each thread, at every eighth place, and last whether to stop; this thread's
    are added up here. Stops as soon as all have taken `budget` steps. A step is a candidate tried.
    Returns the count as high * 2**62 + low, and whether it is all; one match has `_MOST` ways, high
    is -1.
    """
    state = _new_state(len(pattern.degrees), len(pattern.source))
    total, carried = np.int64(0), np.int64(0)
    steps = np.int64(0)
    window = np.int64(low)
    edge_count = len(pattern.source)
    for edge in range(low, high):
        steps += 1
        window = window_end(lists.time, delta, edge, max(window, edge))
        if not _bind_root(lists, pattern, state, root, edge, window):
            continue
        depth = 0
        count = _settle(lists, pattern, state, 0)
        while True:
            if count >= _MOST:
                return -1, 0, False
            if count >= 0:
                total += count
                if total >= _MOST:
                    total -= _MOST
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
                if steps >= _POLL_STEPS:
                    done[8 * thread] += steps
                    steps = 0
                    taken = np.int64(0)
                    for place in range(0, len(done) - 1, 8):
                        taken += done[place]
                    if taken >= budget or done[len(done) - 1]:
                        return carried, total, False
                if _bind(lists, pattern, state, depth, np.int64(lists.listed[cursor])):
                    break
            if depth < 0:
                break
            depth += 1
            count = _settle(lists, pattern, state, depth)
    done[8 * thread] += steps
    return carried, total, True
