"""The count of the edges that are left, from their runs, once all vertices of a motif are bound.

Or all but one, to which a single edge leads. Edges whose candidates lie apart in time are chosen
one by one, and their numbers multiplied; others are counted in one pass over their runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import inlined, leaf
from raydb.kernels.motif.loops.condition_loops import (
    count_watched,
    list_ranges,
    passes,
    passing,
    passing_free,
    tried,
)
from raydb.kernels.motif.loops.exact_credit import credit_within
from raydb.kernels.motif.loops.exact_lists import (
    LATEST,
    SHORT,
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

# No count of one partial match and no sum within a part may reach this: one more fits int64 still.
MOST = np.int64(2**62)

# Nothing is counted yet: one more edge must be bound before.
DEEPER = np.int64(-1)


@inlined
def _is_twin(pattern: Pattern, state: State, depth: int, edge: int, other: int) -> bool:
    """Return whether another edge is bound that may have the same candidates as an edge."""
    return bool(
        (state.edges[depth] >> other) & 1
        and pattern.group[other] == pattern.group[edge]
        and pattern.source[other] == pattern.source[edge]
        and pattern.target[other] == pattern.target[edge]
    )


@inlined
def count_within(
    lists: Lists, pattern: Pattern, state: State, depth: int, edge: int, start: int, end: int
) -> Int:
    """Return how many of a run's candidates an edge that is left has, all others being bound.

    Its ranges are listed. The run of an edge to a vertex that is not bound has candidates to bound
    vertices, too; that of an edge between bound ones may have candidates bound to edges of its
    group.
    """
    source, target = pattern.source[edge], pattern.target[edge]
    vertices = state.vertices[depth]
    has_source, has_target = (vertices >> source) & 1, (vertices >> target) & 1
    near, kind = source if has_source else target, pattern.kind[edge]
    if not (has_source and has_target) and end - start <= SHORT:
        return passing_free(lists, state, edge, vertices, near, start, end)
    count = passing(lists, state, edge, start, end)
    if count == 0:
        return count
    if not (has_source and has_target):
        low, high = np.int64(lists.listed[start]), np.int64(lists.listed[end - 1]) + 1
        for other in range(len(state.mapped)):
            if not (vertices >> other) & 1 or other == near:
                continue
            if has_source:
                first, last = pair_run(
                    lists, kind, state.mapped[near], state.mapped[other], low, high
                )
            else:
                first, last = pair_run(
                    lists, kind, state.mapped[other], state.mapped[near], low, high
                )
            count -= tried(lists, state, edge, first, last)
        return count
    if pattern.is_total:
        return count
    for other in range(len(pattern.source)):
        if _is_twin(pattern, state, depth, edge, other):
            number = state.match[other]
            if lists.listed[start] <= number <= lists.listed[end - 1]:
                count -= passes(lists, state, edge, number)
    return count


@inlined
def count_one(
    lists: Lists, pattern: Pattern, state: State, depth: int, edge: int, start: int, end: int
) -> Int:
    """Return how many of a run's candidates the last edge has, and credit them to their vertices.

    Its ranges are listed. The vertex that is credited may be bound already: then it is not credited
    here.
    """
    if start >= end:
        return np.int64(0)
    if (pattern.watched >> edge) & 1:
        return count_watched(lists, pattern, state, depth, edge, start, end)
    if pattern.credited >= 0 and not (state.vertices[depth] >> pattern.credited) & 1:
        return credit_within(lists, pattern, state, depth, edge, start, end)
    return count_within(lists, pattern, state, depth, edge, start, end)


@leaf
def _begin_runs(
    lists: Lists, pattern: Pattern, state: State, depth: int, each: int, level: int, count: int
) -> Int:
    """Append the run of one of the rest, and those of its candidates that are taken.

    Returns the number of runs. The candidates that are taken are those that `count_within` leaves
    out.
    """
    runs = state.runs
    edge, start, end = state.rest[each], state.starts[each], state.ends[each]
    runs[count, 0], runs[count, 1], runs[count, 2], runs[count, 3] = start, end, level, 1
    runs[count, 4] = edge
    count += 1
    source, target = pattern.source[edge], pattern.target[edge]
    vertices = state.vertices[depth]
    has_source, has_target = (vertices >> source) & 1, (vertices >> target) & 1
    if has_source and has_target:
        for other in range(len(pattern.source)):
            if _is_twin(pattern, state, depth, edge, other):
                number = state.match[other]
                first = first_at_least(lists.listed, start, end, number)
                last = first_at_least(lists.listed, first, end, number + 1)
                runs[count, 0], runs[count, 1], runs[count, 2], runs[count, 3] = (
                    *(first, last),
                    *(level, -1),
                )
                runs[count, 4] = edge
                count += last - first
        return count
    near = source if has_source else target
    low, high = np.int64(lists.listed[start]), np.int64(lists.listed[end - 1]) + 1
    for other in range(len(state.mapped)):
        if not (vertices >> other) & 1 or other == near:
            continue
        one = state.mapped[near if has_source else other]
        two = state.mapped[other if has_source else near]
        first, last = pair_run(lists, pattern.kind[edge], one, two, low, high)
        if first < last:
            runs[count, 0], runs[count, 1], runs[count, 2], runs[count, 3] = first, last, level, -1
            runs[count, 4] = edge
            count += 1
    return count


@leaf
def _count_chain(
    lists: Lists, pattern: Pattern, state: State, depth: int, size: int, part: int
) -> Int:
    """Return in how many ways candidates of a part of the rest follow each other, or `MOST`.

    The runs of all are merged: after each edge of the graph, totals[i] is the number of ways to
    choose candidates of the first i members up to here. Edges of one time do not follow each
    other, so they are added together. Candidates that are taken are runs of their own, which count
    as -1.
    """
    runs, totals = state.runs, state.totals
    count, level, ranges = np.int64(0), np.int64(0), np.int64(0)
    for each in range(size):
        if state.parts[each] == part:
            count = _begin_runs(lists, pattern, state, depth, each, level, count)
            level += 1
            ranges += state.range_counts[state.rest[each]]
    if level == count == 2 and ranges == 0:
        return _count_two(lists, runs[0, 0], runs[0, 1], runs[1, 0], runs[1, 1])
    totals[0, 0] = 1
    for each in range(level):
        totals[0, each + 1] = 0
        totals[1, each] = 0
    while True:
        least = LATEST
        for run in range(count):
            if runs[run, 0] < runs[run, 1]:
                least = min(least, np.int64(lists.listed[runs[run, 0]]))
        if least == LATEST:
            return totals[0, level]
        bound = after_edge(lists, least)
        for run in range(count):
            while runs[run, 0] < runs[run, 1] and lists.listed[runs[run, 0]] < bound:
                number = np.int64(lists.listed[runs[run, 0]])
                if passes(lists, state, runs[run, 4], number):
                    totals[1, runs[run, 2]] += runs[run, 3] * totals[0, runs[run, 2]]
                runs[run, 0] += 1
        for each in range(level):
            totals[0, each + 1] += totals[1, each]
            totals[1, each] = 0
            if totals[0, each + 1] >= MOST:
                return MOST


@leaf
def _count_two(lists: Lists, one: int, one_end: int, two: int, two_end: int) -> Int:
    """Return the pairs of an edge of one run and a later one of the other; MOST: too many."""
    total = np.int64(0)
    if one_end - one <= two_end - two:
        for place in range(one, one_end):
            two = first_at_least(
                lists.listed, two, two_end, after_edge(lists, np.int64(lists.listed[place]))
            )
            total += two_end - two
    else:
        first = one
        for place in range(two, two_end):
            one = first_at_least(
                lists.listed, one, one_end, before_edge(lists, np.int64(lists.listed[place]))
            )
            total += one - first
    # Two runs have fewer than 2**32 edges each.
    return total if 0 <= total < MOST else MOST


@leaf
def _trim(lists: Lists, pattern: Pattern, state: State, depth: int, size: int) -> bool:
    """List the ranges of the rest, and take from both ends of their runs what does not pass.

    False where an edge has no candidate left.
    """
    for each in range(size):
        edge = state.rest[each]
        if pattern.test_starts[edge] == pattern.test_starts[edge + 1]:
            continue
        list_ranges(lists, pattern, state, edge, state.edges[depth])
        start, end = state.starts[each], state.ends[each]
        while start < end and not passes(lists, state, edge, np.int64(lists.listed[start])):
            start += 1
        while start < end and not passes(lists, state, edge, np.int64(lists.listed[end - 1])):
            end -= 1
        state.starts[each], state.ends[each] = start, end
        if start == end:
            return False
    return True


@inlined
def _tighten(lists: Lists, pattern: Pattern, state: State, size: int) -> bool:
    """Take from runs what comes before each candidate of an earlier edge, or after of a later one.

    False where an edge has no candidate left.
    """
    rest, starts, ends = state.rest, state.starts, state.ends
    floor, next_floor = np.int64(0), np.int64(0)
    for each in range(size):
        if each and pattern.group[rest[each]] != pattern.group[rest[each - 1]]:
            floor = next_floor
        starts[each] = first_at_least(lists.listed, starts[each], ends[each], floor)
        if starts[each] == ends[each]:
            return False
        next_floor = max(next_floor, after_edge(lists, np.int64(lists.listed[starts[each]])))
    ceiling, next_ceiling = LATEST, LATEST
    for each in range(size - 1, -1, -1):
        if each < size - 1 and pattern.group[rest[each]] != pattern.group[rest[each + 1]]:
            ceiling = next_ceiling
        if np.int64(lists.listed[ends[each] - 1]) >= ceiling:
            ends[each] = first_at_least(lists.listed, starts[each], ends[each], ceiling)
            if starts[each] == ends[each]:
                return False
        next_ceiling = min(next_ceiling, before_edge(lists, np.int64(lists.listed[ends[each] - 1])))
    return True


@leaf
def _split(lists: Lists, pattern: Pattern, state: State, size: int) -> bool:
    """Number the parts of the rest that are chosen apart from each other, from 0 up.

    Edges are of one part where the choice of one bears on the other: some candidates are in the
    wrong order, or both may have the same. False where two edges of a part are of one group: their
    order is not known.
    """
    rest, starts, ends, parts = state.rest, state.starts, state.ends, state.parts
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
                binds = np.int64(lists.listed[starts[each]]) < after_edge(lists, last)
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
                return False
    return True


@leaf
def count_rest(lists: Lists, pattern: Pattern, state: State, depth: int) -> Int:
    """Return in how many ways the edges that are left are chosen; MOST where too many.

    There are none or several, of which at most one leads to a vertex that is not bound. Returns
    DEEPER where one more edge must be bound before.
    """
    edge_count = len(pattern.source)
    bound = state.edges[depth]
    size = np.int64(0)
    for edge in range(edge_count):
        if not (bound >> edge) & 1:
            state.rest[size] = edge
            state.starts[size], state.ends[size] = state.start[depth, edge], state.end[depth, edge]
            size += 1
    if size == 0:
        return 1
    if len(pattern.tests) and not _trim(lists, pattern, state, depth, size):
        return 0
    if not _tighten(lists, pattern, state, size):
        return 0
    if not _split(lists, pattern, state, size):
        return DEEPER
    return _count_parts(lists, pattern, state, depth, size)


@leaf
def _count_parts(lists: Lists, pattern: Pattern, state: State, depth: int, size: int) -> Int:
    """Return the product of the ways to choose each part of the rest, or `MOST`."""
    product = np.int64(1)
    for part in range(size):
        members, first = np.int64(0), np.int64(0)
        for each in range(size - 1, -1, -1):
            if state.parts[each] == part:
                members += 1
                first = np.int64(each)
        if members == 0:
            continue
        if members == 1:
            start, end = state.starts[first], state.ends[first]
            count = count_within(lists, pattern, state, depth, state.rest[first], start, end)
        else:
            count = _count_chain(lists, pattern, state, depth, size, part)
        if count == 0:
            return 0
        if np.float64(product) * np.float64(count) >= np.float64(MOST):
            return MOST
        product *= count
    return product


@inlined
def _number_in_order(lists: Lists, state: State, size: int) -> bool:
    """Number the parts of the rest, as `_split` does of runs that ascend; True where all are apart.

    Runs that are apart ascend.
    """
    parts, is_apart = state.parts, True
    for each in range(size):
        parts[each] = each
        if each:
            last = np.int64(lists.listed[state.ends[each - 1] - 1])
            if np.int64(lists.listed[state.starts[each]]) < after_edge(lists, last):
                parts[each] = parts[each - 1]
                is_apart = False
    return is_apart


@inlined
def count_ordered(lists: Lists, pattern: Pattern, state: State, depth: int, size: int) -> Int:
    """Return in how many ways the rest is chosen where the motif has a total order, or `MOST`.

    The ranges of its edges are listed.
    """
    # Mostly no two edges share a stretch of time.
    if not _number_in_order(lists, state, size):
        if not _tighten(lists, pattern, state, size):
            return 0
        if not _number_in_order(lists, state, size):
            return _count_parts(lists, pattern, state, depth, size)
    product = np.int64(1)
    for each in range(size):
        start, end = state.starts[each], state.ends[each]
        count = count_within(lists, pattern, state, depth, state.rest[each], start, end)
        if np.float64(product) * np.float64(count) >= np.float64(MOST):
            return MOST
        product *= count
    return product


@inlined
def count_tail(lists: Lists, pattern: Pattern, state: State, depth: int) -> Int:
    """Return the matches at a depth where the rest is the end of a path: three edges in a row.

    Of a path most partial matches have a candidate or two, so that choosing the next edge and
    writing its row would take longer than trying them.
    """
    chosen, vertices = state.chosen[depth], state.vertices[depth]
    second = pattern.follower[chosen]
    third = pattern.follower[second]
    low, high = state.low[depth, second], state.high[depth, second]
    last_low, last_high = state.low[depth, third], state.high[depth, third]
    below = depth + 1
    state.vertices[below] = (
        vertices | (np.int64(1) << pattern.target[chosen]) | (np.int64(1) << pattern.target[second])
    )
    bound = state.edges[depth] | (np.int64(1) << chosen)
    state.edges[below] = bound | (np.int64(1) << second)
    is_tested = pattern.test_starts[second] < pattern.test_starts[second + 1]
    is_third_tested = pattern.test_starts[third] < pattern.test_starts[third + 1]
    state.steps[0] += state.finish[depth] - state.cursor[depth]
    total = np.int64(0)
    for place in range(state.cursor[depth], state.finish[depth]):
        edge = np.uint64(lists.listed[place])
        following = np.int64(lists.following[edge])
        vertex = np.int64(lists.target[edge])
        if following >= high or is_mapped(state, vertices, vertex):
            continue
        if not passes(lists, state, chosen, np.int64(edge)):
            continue
        state.match[chosen] = edge
        state.mapped[pattern.target[chosen]] = vertex
        if is_tested:
            list_ranges(lists, pattern, state, second, bound)
        if is_third_tested:
            list_ranges(lists, pattern, state, third, bound)
        start, end = vertex_run(
            lists, pattern.kind[second], vertex, True, max(low, following), high
        )
        state.steps[0] += end - start
        for next_place in range(start, end):
            edge = np.uint64(lists.listed[next_place])
            following = np.int64(lists.following[edge])
            if following >= last_high:
                continue
            vertex = np.int64(lists.target[edge])
            if is_mapped(state, vertices, vertex):
                continue
            if not passes(lists, state, second, np.int64(edge)):
                continue
            state.match[second] = edge
            state.mapped[pattern.target[second]] = vertex
            if (pattern.partners[third] >> second) & 1:
                list_ranges(lists, pattern, state, third, state.edges[below])
            first, last = vertex_run(
                lists, pattern.kind[third], vertex, True, max(last_low, following), last_high
            )
            ways = count_one(lists, pattern, state, below, third, first, last)
            total += ways
            if pattern.credited in (pattern.target[chosen], pattern.target[second]):
                state.credit[state.mapped[pattern.credited]] += ways
    return total
