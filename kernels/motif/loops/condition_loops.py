"""The hot loops of conditions on several edges of a match: comparisons, and edges that are absent.

A condition is checked as soon as the edges that it is about are bound. What it compares are keys,
int64 numbers by edge that are in the order of the values which they stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined, leaf
from raydb.kernels.motif.loops.exact_lists import (
    LATEST,
    Lists,
    Pattern,
    State,
    after_edge,
    before_edge,
    pair_run,
    vertex_run,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.motif.loops.exact_lists import Int, Integers

# The key of NULL, with which no comparison holds.
NULL_KEY = -(2**63)

# The columns of checks: the edges that must be bound, as bits, and what is asked of them. A
# comparison has a motif edge and the row of its key on either side. An absent edge has its vertices
# (-1 for any), the edges that it would come after, and those that it would come before, as bits (0:
# delta from the last or the first edge bounds it), and delta.
NEEDS, ASKS, LEFT, LEFT_KEY, RIGHT, RIGHT_KEY, DELTA = range(7)

LESS, AT_MOST, EQUAL, DIFFERENT, ABSENT = range(5)


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
    after, before = pattern.checks[row, LEFT_KEY], pattern.checks[row, RIGHT_KEY]
    low, high = np.int64(0), np.int64(len(lists.time))
    first, last = LATEST, np.int64(0)
    for edge in range(len(pattern.source)):
        number = state.match[edge]
        if (pattern.checks[row, NEEDS] >> edge) & 1:
            first, last = min(first, number), max(last, number)
        if (after >> edge) & 1:
            low = max(low, after_edge(lists, number))
        if (before >> edge) & 1:
            high = min(high, before_edge(lists, number))
    delta = pattern.checks[row, DELTA]
    if after == 0:
        low = _first_from(lists.time, lists.time[last] - delta)
    if before == 0:
        high = _first_from(lists.time, lists.time[first] + delta + 1)
    source, target = pattern.checks[row, LEFT], pattern.checks[row, RIGHT]
    if target < 0:
        start, end = vertex_run(lists, 0, state.mapped[source], True, low, high)
    elif source < 0:
        start, end = vertex_run(lists, 0, state.mapped[target], False, low, high)
    else:
        start, end = pair_run(lists, 0, state.mapped[source], state.mapped[target], low, high)
    return bool(start < end)


@inlined
def _holds(asked: int, left: int, right: int) -> bool:
    """Return whether a comparison of two keys holds."""
    if NULL_KEY in (left, right):
        return False
    if asked == LESS:
        return bool(left < right)
    if asked == AT_MOST:
        return bool(left <= right)
    return bool((left == right) == (asked == EQUAL))


@leaf
def keeps(lists: Lists, pattern: Pattern, state: State, chosen: int, bound: int) -> bool:
    """Return whether every condition holds that can be checked now that an edge is bound."""
    checks = pattern.checks
    for place in range(pattern.check_starts[chosen], pattern.check_starts[chosen + 1]):
        row = pattern.check_rows[place]
        if checks[row, NEEDS] & ~bound:
            continue
        if checks[row, ASKS] == ABSENT:
            if _is_there(lists, pattern, state, row):
                return False
            continue
        left = lists.keys[checks[row, LEFT_KEY], state.match[checks[row, LEFT]]]
        right = lists.keys[checks[row, RIGHT_KEY], state.match[checks[row, RIGHT]]]
        if not _holds(checks[row, ASKS], left, right):
            return False
    return True


@compiled
def judge_matches(
    lists: Lists, pattern: Pattern, state: State, edges: Integers, held: NDArray[np.uint8]
) -> None:
    """Write 1 for each match that keeps every condition, else 0; edges: of each, shape (n, e)."""
    everything = (np.int64(1) << len(pattern.source)) - 1
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
            if held[match] and not keeps(lists, pattern, state, edge, everything):
                held[match] = 0


@inlined
def count_checked(
    lists: Lists, pattern: Pattern, state: State, depth: int, edge: int, start: int, end: int
) -> Int:
    """Return how many candidates of a run the last edge has, on which there are conditions."""
    source, target = pattern.source[edge], pattern.target[edge]
    vertices, bound = state.vertices[depth], state.edges[depth]
    has_source, has_target = (vertices >> source) & 1, (vertices >> target) & 1
    new = np.int64(-1)
    if not has_target:
        new = target
    elif not has_source:
        new = source
    everything = bound | (np.int64(1) << edge)
    count = np.int64(0)
    for place in range(start, end):
        number = np.int64(lists.listed[place])
        vertex, is_free = np.int64(-1), True
        if new >= 0:
            vertex = np.int64(lists.source[number] if has_target else lists.target[number])
            for other in range(len(state.mapped)):
                if (vertices >> other) & 1 and state.mapped[other] == vertex:
                    is_free = False
        elif not pattern.is_total:
            for other in range(len(pattern.source)):
                if (bound >> other) & 1 and state.match[other] == number:
                    is_free = False
        if not is_free:
            continue
        state.match[edge] = number
        if new >= 0:
            state.mapped[new] = vertex
        if keeps(lists, pattern, state, edge, everything):
            count += 1
            if new >= 0 and new == pattern.credited:
                state.credit[vertex] += 1
    return count
