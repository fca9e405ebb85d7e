"""The hot loops of conditions on several edges of a match: comparisons, and edges that are absent.

What is compared are keys, int64 numbers by edge that are in the order of the values which they
stand for. A comparison with a bound edge is a range that a key of the other edge lies in: ranges
are listed once, before the candidates of an edge are tried, or counted where it is the last one.
An absent edge is looked for as soon as the edges are bound that it is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.jit import compiled, inlined, leaf
from raydb.kernels.motif.common_keys import AT_LEAST, AT_MOST, EQUAL, LESS, MORE
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
from raydb.kernels.motif.loops.run_counts import count_apart, count_between

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.motif.loops.exact_lists import Int, Integers

# The key of NULL, with which no comparison holds.
NULL_KEY = -(2**63)
_NO_KEY, _LEAST_KEY = np.int64(NULL_KEY), np.int64(NULL_KEY + 1)

# The columns of tests: a key of an edge, the edge that it is compared with, -1 where the key is to
# be 1, that one's key, and how.
KEY, OTHER, OTHER_KEY, ASKED = range(4)

# The columns of ranges, beside KEY: the least and the greatest key, and 1 where a key that holds is
# between them, 0 where it is not.
LOW, HIGH, IS_INSIDE = range(1, 4)

# The columns of absent edges: the edges that must be bound, as bits; the vertices (-1 for any); the
# edges that it would come after, and those that it would come before, as bits (0: delta from the
# last or the first edge bounds it); and delta.
NEEDS, SOURCE, AFTER, TARGET, BEFORE, DELTA = range(6)

# Candidates of runs no longer than this are looked at one by one.
_BRIEF = 8

# Counting so many candidates of a run takes about as long as trying one.
_COUNTED_A_STEP_BITS = 5


@inlined
def open_edges(pattern: Pattern, unbound: int) -> Int:
    """Return which of some edges are to be bound before the others are counted, as bits.

    They are compared with another of them, or an edge that is absent is about them.
    """
    found = pattern.watched & unbound
    if pattern.compared & unbound:
        for edge in range(len(pattern.source)):
            if (unbound >> edge) & 1 and pattern.partners[edge] & unbound:
                found |= np.int64(1) << edge
    return found


@inlined
def most_compared(pattern: Pattern, open_edges: int, unbound: int) -> Int:
    """Return those of some edges that most others which are not bound are compared with, as bits.

    Of them those in the middle of the motif: what is left then lies apart in time.
    """
    found, most = np.int64(0), -LATEST
    count = len(pattern.source)
    for edge in range(count):
        if not (open_edges >> edge) & 1:
            continue
        partners, size = pattern.partners[edge] & unbound, np.int64(0)
        while partners:
            partners &= partners - 1
            size += 1
        rank = 2 * count * size - abs(2 * edge - count + 1)
        if rank > most:
            most, found = rank, np.int64(0)
        if rank == most:
            found |= np.int64(1) << edge
    return found


@inlined
def list_ranges(lists: Lists, pattern: Pattern, state: State, edge: int, bound: int) -> None:
    """List the ranges in which keys of an edge lie, by the edges that are bound."""
    count, of = np.int64(0), np.int64(-1)
    low, high = _LEAST_KEY, LATEST
    for place in range(pattern.test_starts[edge], pattern.test_starts[edge + 1]):
        test = np.uint64(place)
        key, other = pattern.tests[test, KEY], pattern.tests[test, OTHER]
        asked, value = pattern.tests[test, ASKED], np.int64(1)
        if other >= 0:
            if not (bound >> other) & 1:
                continue
            number = np.uint64(state.match[np.uint64(other)])
            value = lists.keys[np.uint64(pattern.tests[test, OTHER_KEY]), number]
        if key != of:
            if of >= 0:
                _write_range(state, edge, count, (of, low, high, 1))
                count += 1
            of, low, high = key, _LEAST_KEY, LATEST
        if value == NULL_KEY or (asked == MORE and value == LATEST):
            high = _NO_KEY
        elif asked == AT_MOST:
            high = min(high, value)
        elif asked == AT_LEAST:
            low = max(low, value)
        elif asked == LESS:
            high = min(high, value - 1)
        elif asked == MORE:
            low = max(low, value + 1)
        elif asked == EQUAL:
            low, high = max(low, value), min(high, value)
        else:
            _write_range(state, edge, count, (key, value, value, 0))
            count += 1
    if of >= 0:
        _write_range(state, edge, count, (of, low, high, 1))
        count += 1
    state.range_counts[np.uint64(edge)] = count


@inlined
def _write_range(state: State, edge: int, number: int, row: tuple[Int, Int, Int, int]) -> None:
    ranges, own, place = state.ranges, np.uint64(edge), np.uint64(number)
    ranges[own, place, KEY], ranges[own, place, LOW] = row[0], row[1]
    ranges[own, place, HIGH], ranges[own, place, IS_INSIDE] = row[2], row[3]


@inlined
def passes(lists: Lists, state: State, edge: int, number: int) -> bool:
    """Return whether the keys of a candidate lie in the ranges that are listed."""
    ranges = state.ranges
    for each in range(state.range_counts[edge]):
        key = lists.keys[ranges[edge, each, KEY], number]
        is_inside = ranges[edge, each, LOW] <= key <= ranges[edge, each, HIGH]
        if is_inside != (ranges[edge, each, IS_INSIDE] != 0):
            return False
    return True


@inlined
def _narrowed(key: Any) -> Any:
    """Return the number of 32 bits that is nearest to a key, but not that of NULL."""
    return np.int32(max(np.int64(-(2**31) + 1), min(np.int64(2**31 - 1), key)))


@inlined
def passing(lists: Lists, state: State, edge: int, start: int, end: int) -> Int:
    """Return how many candidates of a run pass."""
    ranges, count = state.ranges, state.range_counts[edge]
    if count == 0:
        return end - start
    state.steps[0] += (end - start) >> _COUNTED_A_STEP_BITS
    if count == 1:
        key, low, high = ranges[edge, 0, KEY], ranges[edge, 0, LOW], ranges[edge, 0, HIGH]
        if len(lists.narrow):
            return count_between(lists.narrow, key, (start, end), _narrowed(low), _narrowed(high))
        return count_between(lists.placed, key, (start, end), low, high)
    return tried(lists, state, edge, start, end)


@inlined
def _apart(
    lists: Lists, state: State, edge: int, start: int, end: int, taken: tuple[Int, Int, Int]
) -> Int:
    """Return how many candidates of a run pass and lead to none of three vertices."""
    ranges, count = state.ranges, state.range_counts[edge]
    one, two, three = taken
    found = np.int64(0)
    if count == 0:
        for place in range(start, end):
            far = lists.far[np.uint64(place)]
            found += (far != one) & (far != two) & (far != three)
        return found
    state.steps[0] += (end - start) >> _COUNTED_A_STEP_BITS
    if count == 1:
        key, low, high = ranges[edge, 0, KEY], ranges[edge, 0, LOW], ranges[edge, 0, HIGH]
        run = start, end
        if len(lists.narrow):
            ends = _narrowed(low), _narrowed(high)
            return count_apart(lists.narrow, lists.far, key, run, ends[0], ends[1], taken)
        return count_apart(lists.placed, lists.far, key, run, low, high, taken)
    for place in range(start, end):
        far = lists.far[np.uint64(place)]
        if far not in (one, two, three):
            found += passes(lists, state, edge, np.int64(lists.listed[np.uint64(place)]))
    return found


@inlined
def passing_free(
    lists: Lists, state: State, edge: int, vertices: int, near: int, start: int, end: int
) -> Int:
    """Return how many candidates of a run pass and lead to no vertex that is bound already.

    vertices: those that are bound, as bits; near: the one whose list the run is of.
    """
    if end - start <= _BRIEF and state.range_counts[edge] != 1:
        found = passing(lists, state, edge, start, end)
        if found:
            for place in range(start, end):
                if is_mapped(state, vertices, np.int64(lists.far[np.uint64(place)])):
                    number = np.int64(lists.listed[np.uint64(place)])
                    found -= passes(lists, state, edge, number)
        return found
    # No edge leads from a vertex to itself.
    none = np.uint32(state.mapped[near])
    count, other = np.int64(-1), np.int64(0)
    while True:
        one, two, three, size = none, none, none, 0
        while other < len(state.mapped) and size < 3:
            if (vertices >> other) & 1 and other != near:
                one, two, three, size = np.uint32(state.mapped[other]), one, two, size + 1
            other += 1
        here = _apart(lists, state, edge, start, end, (one, two, three))
        count = here if count < 0 else count + here - passing(lists, state, edge, start, end)
        if other == len(state.mapped):
            return count


@inlined
def passing_to(
    lists: Lists, state: State, edge: int, near: int, other: int, start: int, end: int
) -> Int:
    """Return how many candidates of a run pass and lead to the vertex that `other` is mapped to."""
    none, one = np.uint32(state.mapped[near]), np.uint32(state.mapped[other])
    free = _apart(lists, state, edge, start, end, (one, none, none))
    return passing(lists, state, edge, start, end) - free


@inlined
def tried(lists: Lists, state: State, edge: int, start: int, end: int) -> Int:
    """Return what `passing` does, trying candidates one by one."""
    if state.range_counts[edge] == 0:
        return end - start
    found = np.int64(0)
    for place in range(start, end):
        found += passes(lists, state, edge, np.int64(lists.listed[np.uint64(place)]))
    return found


@inlined
def _first_from(time: Integers, limit: int) -> Int:
    """Return the first edge whose time is no earlier than a limit."""
    low, high = np.int64(0), np.int64(len(time))
    while low < high:
        middle = (low + high) >> 1
        if time[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


@leaf
def _is_there(lists: Lists, pattern: Pattern, state: State, row: int) -> bool:
    """Return whether there is an edge that a match must not have."""
    after, before = pattern.absent[row, AFTER], pattern.absent[row, BEFORE]
    low, high = np.int64(0), np.int64(len(lists.time))
    first, last = LATEST, np.int64(0)
    for edge in range(len(pattern.source)):
        number = state.match[edge]
        if (pattern.absent[row, NEEDS] >> edge) & 1:
            first, last = min(first, number), max(last, number)
        if (after >> edge) & 1:
            low = max(low, after_edge(lists, number))
        if (before >> edge) & 1:
            high = min(high, before_edge(lists, number))
    delta = pattern.absent[row, DELTA]
    if after == 0:
        low = _first_from(lists.time, lists.time[last] - delta)
    if before == 0:
        high = _first_from(lists.time, lists.time[first] + delta + 1)
    source, target = pattern.absent[row, SOURCE], pattern.absent[row, TARGET]
    if target < 0:
        start, end = vertex_run(lists, 0, state.mapped[source], True, low, high)
    elif source < 0:
        start, end = vertex_run(lists, 0, state.mapped[target], False, low, high)
    else:
        start, end = pair_run(lists, 0, state.mapped[source], state.mapped[target], low, high)
    return bool(start < end)


@leaf
def lacks(lists: Lists, pattern: Pattern, state: State, edge: int, bound: int) -> bool:
    """Return whether all edges are absent that can be looked for now that an edge is bound."""
    for row in range(len(pattern.absent)):
        needs = pattern.absent[row, NEEDS]
        if (needs >> edge) & 1 and not needs & ~bound and _is_there(lists, pattern, state, row):
            return False
    return True


@inlined
def keeps(lists: Lists, pattern: Pattern, state: State, depth: int, edge: int) -> bool:
    """Return whether an edge that is bound now keeps its conditions; its ranges are listed."""
    if not passes(lists, state, edge, state.match[edge]):
        return False
    if not (pattern.watched >> edge) & 1:
        return True
    return bool(lacks(lists, pattern, state, edge, state.edges[depth] | (np.int64(1) << edge)))


@compiled
def judge_matches(
    lists: Lists, pattern: Pattern, state: State, edges: Integers, held: NDArray[np.uint8]
) -> None:
    """Write 1 for each match that keeps every condition, else 0; edges: of each, shape (n, e)."""
    everything = (np.int64(1) << len(pattern.source)) - 1
    state.edges[0] = everything
    for match in range(len(edges)):
        held[match] = 1
        for edge in range(len(pattern.source)):
            number = edges[match, edge]
            state.match[edge] = number
            state.mapped[pattern.source[edge]] = lists.source[number]
            state.mapped[pattern.target[edge]] = lists.target[number]
            if len(lists.masks) and not lists.masks[pattern.kind[edge], number]:
                held[match] = 0
        for edge in range(len(pattern.source)):
            if held[match]:
                list_ranges(lists, pattern, state, edge, everything)
                held[match] = keeps(lists, pattern, state, 0, edge)


@leaf
def count_watched(
    lists: Lists, pattern: Pattern, state: State, depth: int, edge: int, start: int, end: int
) -> Int:
    """Return how many candidates of a run the last edge has, about which an absent edge is.

    Its ranges are listed.
    """
    source, target = pattern.source[edge], pattern.target[edge]
    vertices, bound = state.vertices[depth], state.edges[depth]
    has_source, has_target = (vertices >> source) & 1, (vertices >> target) & 1
    new = np.int64(-1)
    if not has_target:
        new = target
    elif not has_source:
        new = source
    count = np.int64(0)
    for place in range(start, end):
        number = np.int64(lists.listed[place])
        vertex, is_free = np.int64(-1), True
        if new >= 0:
            vertex = np.int64(lists.source[number] if has_target else lists.target[number])
            is_free = not is_mapped(state, vertices, vertex)
        elif not pattern.is_total:
            for other in range(len(pattern.source)):
                if (bound >> other) & 1 and state.match[other] == number:
                    is_free = False
        if not is_free:
            continue
        state.match[edge] = number
        if new >= 0:
            state.mapped[new] = vertex
        if keeps(lists, pattern, state, depth, edge):
            count += 1
            if new >= 0 and new == pattern.credited:
                state.credit[vertex] += 1
    return count
