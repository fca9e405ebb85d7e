"""The hot loop of sampling: an instance of a tree, drawn by its weight, and what it stands for.

Samples come in strata of two: a stratum is one of equal parts of all weight, in the order of the
root's edges, that is of time. So samples that follow one another read the same part of a graph, and
the two of a stratum tell its variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.motif.completion_loops import (
    MEMBER_EDGE,
    Lists,
    Plan,
    count_ways,
    find_lists,
    pick_way,
)
from raydb.kernels.motif.graph_loops import find_marked_pair, first_at_least
from raydb.kernels.motif.random_loops import begin, draw_below, draw_word, high_product, scale
from raydb.kernels.motif.weight_loops import (
    AFTER,
    BEFORE,
    END_AFTER,
    FIRST_BEFORE,
    NEAR,
    NO_WINDOWS,
    compiled,
    end_of_reached,
    first_reached,
    inlined,
    inner,
    slot_end,
    slot_first,
    ties_end,
    ties_first,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]
    Table = NDArray[np.int64]
    State = NDArray[np.uint64]

# The columns of places: of a tree edge's parent, whether it hangs from the parent's source, whether
# it leads away, its order beside the parent, its row of weights or -1, and its far vertex of the
# motif. The root's far vertex is its target, and its parent is its source.
PARENT, FROM_SOURCE, GOES_OUT, RELATION, ROW, VERTEX, MOTIF_EDGE = range(7)

# What became of a sample.
COUNTED, NO_WAY, VERTEX_TWICE, TOO_LONG, OUT_OF_ORDER, NO_CHILD = range(6)

# The columns of sums over a block of strata.
(
    SUM,
    SUM_OF_DIFFERENCES,
    NONZERO,
    SUM_OF_SQUARES,
    SUM_OF_FOURTHS,
    LARGEST_ONE,
) = range(6)


class Chances(NamedTuple):
    """The weights of one parity, rows one after the other, and the constraints of samples."""

    root: Any
    by_vertex: Any
    by_pair: Any
    parity: Any
    excludes: Any
    narrow: Any


class Scratch(NamedTuple):
    """What a thread writes on while it samples.

    state: uint64, shape (1,). starts, ends: float64, a row for each member of a run, a column for
    each edge that it may be; joint the same with two rows. The others are int64.
    """

    state: Any
    outcome: Any
    edges: Any
    vertices: Any
    lows: Any
    highs: Any
    picked: Any
    starts: Any
    ends: Any
    joint: Any


# Draws that lead back to the parent's other vertex are repeated so often before all are looked at.
_MOST_DRAWS = 32


@inlined
def _lower_bound(edges: Numbers, low: Any, high: Any, edge: Any) -> Any:
    """Return the first place of low .. high - 1 with an edge number >= `edge`, else `high`."""
    count = high - low
    while count > 0:
        half = count >> 1
        is_less = np.int64(edges[low + half]) < edge
        low = low + half + 1 if is_less else low
        count = count - half - 1 if is_less else half
    return low


@inlined
def _weight_up_to(prefix: NDArray[Any], first: Any, place: Any) -> Any:
    """Return the weights of a list, which begins at a place, before another place."""
    return prefix[place - 1] if place > first else prefix[0] - prefix[0]


@inlined
def find_root(root: NDArray[Any], low: Any, target: Any) -> Any:
    """Return the first edge from `low` on up to which the weights exceed a number; looks near."""
    count, step = len(root), 1
    high = low + 1
    while high < count and root[high - 1] <= target:
        low = high
        high = min(low + step, count)
        step *= 2
    high -= 1
    while low < high:
        middle = (low + high) >> 1
        if root[middle] <= target:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def _choose_among_all(
    lists: Lists,
    chances: Chances,
    row: Any,
    goes_out: bool,
    start: Any,
    low: Any,
    high: Any,
    other: Any,
    state: State,
) -> Any:
    """Return a place of low .. high - 1, by weight, that does not lead to a vertex; -1 for none.

    Each place replaces the one before it with the likelihood of its part of all up to there.
    """
    chosen, seen = -1, 0.0
    base = row * len(lists.source) - (0 if goes_out else len(lists.source))
    for place in range(low, high):
        edge = lists.listed[place]
        if np.int64(lists.target[edge] if goes_out else lists.source[edge]) == other:
            continue
        weight = 1.0
        if row >= 0:
            before = _weight_up_to(chances.by_vertex, base + start, base + place)
            weight = float(chances.by_vertex[base + place] - before)
        seen += weight
        if draw_below(state, seen) < weight:
            chosen = place
    return chosen


@inlined
def _narrowed(
    bounds: Numbers, relations: Table, edges: Table, place: Any, first: Any, end: Any
) -> tuple[Any, Any]:
    """Return which edges may come at a place beside those drawn before, out of first .. end - 1."""
    for drawn in range(place):
        if relations[place, drawn] == AFTER:
            first = max(first, ties_end(bounds, edges[drawn]))
        elif relations[place, drawn] == BEFORE:
            end = min(end, ties_first(bounds, edges[drawn]))
    return first, end


@inlined
def _find_back(
    lists: Lists, source: Any, target: Any, first: Any, end: Any
) -> tuple[Any, Any, Any]:
    """Return where a pair's list begins, and its places with the edges first .. end - 1."""
    pair = find_marked_pair(
        lists.source,
        lists.target,
        lists.pair_offsets,
        lists.pair_edges,
        lists.pair_slots,
        lists.number_bits,
        source,
        target,
    )
    start, low, high = np.int64(0), np.int64(0), np.int64(0)
    if pair >= 0:
        start, high = np.int64(lists.pair_offsets[pair]), np.int64(lists.pair_offsets[pair + 1])
        low = first_at_least(lists.pair_edges, start, high, first)
        high = first_at_least(lists.pair_edges, low, high, end)
    return start, low, high


@inlined
def _draw_place(
    lists: Lists,
    chances: Chances,
    row: Any,
    goes_out: bool,
    start: Any,
    low: Any,
    high: Any,
    other: Any,
    state: State,
) -> Any:
    """Return a place of low .. high - 1, by its weight, that does not lead to the other vertex.

    Any will do where chances do not exclude that. -1 for none, which rounding can bring about.
    """
    # The weights of a row are by the places of one kind of list.
    base = row * len(lists.source) - (0 if goes_out else len(lists.source))
    found, tries = low, 0
    while tries < _MOST_DRAWS:
        if row >= 0:
            before = _weight_up_to(chances.by_vertex, base + start, base + low)
            total = chances.by_vertex[base + high - 1] - before
            bound = draw_below(state, total) + before
            found, last = low, high - 1
            while found < last:
                middle = (found + last) >> 1
                if chances.by_vertex[base + middle] <= bound:
                    found = middle + 1
                else:
                    last = middle
        else:
            found = low + draw_below(state, high - low)
        edge = lists.listed[found]
        vertex = np.int64(lists.target[edge] if goes_out else lists.source[edge])
        if not chances.excludes or vertex != other:
            break
        tries += 1
    if tries == _MOST_DRAWS:
        found = _choose_among_all(lists, chances, row, goes_out, start, low, high, other, state)
    return found


@inlined
def _draw_child(
    lists: Lists, plan: Plan, chances: Chances, scratch: Scratch, place: Any, first: Any, end: Any
) -> float:
    """Draw the edge at a place of the tree among first .. end - 1, and write it and its vertex.

    Returns the sum of the weights among which it was drawn over its own, 0 where there is none.
    """
    places = plan.places
    parent_edge = scratch.edges[places[place, PARENT]]
    goes_out = places[place, GOES_OUT] != 0
    joint, other = np.int64(lists.target[parent_edge]), np.int64(lists.source[parent_edge])
    if places[place, FROM_SOURCE]:
        joint, other = other, joint
    # The lists by target come after those by source.
    shift = 0 if goes_out else len(lists.source)
    offsets = lists.out_offsets if goes_out else lists.in_offsets
    start, stop = shift + np.int64(offsets[joint]), shift + np.int64(offsets[joint + 1])
    low = _lower_bound(lists.listed, start, stop, first)
    high = first_at_least(lists.listed, low, stop, end)
    row, factor = places[place, ROW], 0.0
    if high > low:
        pair_start, pair_low, pair_high = np.int64(0), np.int64(0), np.int64(0)
        if chances.excludes:
            one, two = (joint, other) if goes_out else (other, joint)
            pair_start, pair_low, pair_high = _find_back(lists, one, two, first, end)
        if row >= 0:
            base, by_vertex = row * len(lists.source), chances.by_vertex
            left = by_vertex[base - shift + high - 1] - _weight_up_to(
                by_vertex, base - shift + start, base - shift + low
            )
            if pair_high > pair_low:
                left -= chances.by_pair[base + pair_high - 1] - _weight_up_to(
                    chances.by_pair, base + pair_start, base + pair_low
                )
            factor = float(left)
        else:
            factor = float(high - low - (pair_high - pair_low))
    if factor > 0.0:
        found = _draw_place(lists, chances, row, goes_out, start, low, high, other, scratch.state)
        if found < 0:
            factor = 0.0
        else:
            edge = np.int64(lists.listed[found])
            scratch.edges[place] = edge
            vertex = lists.target[edge] if goes_out else lists.source[edge]
            scratch.vertices[places[place, VERTEX]] = vertex
            if row >= 0:
                base = row * len(lists.source) - shift
                before = _weight_up_to(chances.by_vertex, base + start, base + found)
                factor /= float(chances.by_vertex[base + found] - before)
    return factor


@inlined
def _is_known(plan: Plan, vertices: Table, place: Any) -> Any:
    """Return whether the vertex that a place has added is that of a place before."""
    vertex = vertices[plan.places[place, VERTEX]]
    found = vertices[plan.places[0, PARENT]] == vertex
    for known in range(place):
        found |= vertices[plan.places[known, VERTEX]] == vertex
    return found


@inlined
def draw_tree(
    lists: Lists, plan: Plan, chances: Chances, scratch: Scratch, root_edge: Any
) -> float:
    """Draw the edges (by place) and the vertices (by motif vertex) of an instance of a tree.

    Returns one over the likelihood of the instance with this root: the sum of the weights among
    which each edge was drawn, over the weight of each edge that has one of its own but the root.
    Returns 0, and why in scratch.outcome, where no instance was found.
    """
    bounds, places, parity = lists.bounds, plan.places, chances.parity
    edges, vertices, outcome = scratch.edges, scratch.vertices, scratch.outcome
    edges[0] = root_edge
    vertices[places[0, PARENT]] = lists.source[root_edge]
    vertices[places[0, VERTEX]] = lists.target[root_edge]
    # Whatever obeys delta beside the root's edge and its window.
    least = first_reached(bounds, root_edge, NEAR, parity)
    most = end_of_reached(bounds, root_edge, NEAR, parity)
    factor = 1.0
    outcome[0] = COUNTED
    for place in range(1, len(places)):
        if chances.narrow:
            first, end = _narrowed(bounds, plan.relations, edges, place, least, most)
        else:
            parent_edge, relation = edges[places[place, PARENT]], places[place, RELATION]
            first = first_reached(bounds, parent_edge, relation, parity)
            end = end_of_reached(bounds, parent_edge, relation, parity)
        factor *= _draw_child(lists, plan, chances, scratch, place, first, end)
        if factor == 0.0:
            outcome[0] = NO_CHILD
            break
        if _is_known(plan, vertices, place):
            outcome[0] = VERTEX_TWICE
            if chances.narrow:
                break
        least = max(least, np.int64(bounds[edges[place], FIRST_BEFORE]))
        most = min(most, np.int64(bounds[edges[place], END_AFTER]))
    if not chances.narrow and outcome[0] == COUNTED:
        outcome[0] = judge(bounds, plan.relations, edges)
    return factor if outcome[0] == COUNTED else 0.0


@inner
def judge(bounds: Numbers, relations: Table, edges: Table) -> Any:
    """Return whether edges are too far apart in time, or out of order, or neither."""
    outcome = COUNTED
    for place in range(len(edges)):
        for drawn in range(place):
            one, other = edges[place], edges[drawn]
            if max(one, other) >= np.int64(bounds[min(one, other), END_AFTER]):
                return TOO_LONG
            order = relations[place, drawn]
            if (order == AFTER and one < ties_end(bounds, other)) or (
                order == BEFORE and other < ties_end(bounds, one)
            ):
                outcome = OUT_OF_ORDER
    return outcome


@inlined
def window_count(bounds: Numbers, edges: Table) -> Any:
    """Return how many windows an instance that is at most delta long lies in.

    It is TIMEST's N_phi, section 4.2, with windows that are open at their end: an instance that
    begins in the first slot lies in the first window only; others lie in that which begins with
    their slot, and if they end in this slot, in the one before.
    """
    earliest, latest = edges[0], edges[0]
    for edge in edges:
        earliest, latest = min(earliest, edge), max(latest, edge)
    if slot_first(bounds, earliest) == 0 or latest >= slot_end(bounds, earliest):
        return 1
    return 2


@inlined
def _count_rest(lists: Lists, plan: Plan, scratch: Scratch) -> Any:
    """Return in how many ways the tree instance of a scratch becomes a match."""
    if len(plan.members) == 0:
        return 1.0
    has_all = find_lists(
        lists.source,
        lists.target,
        lists.pair_offsets,
        lists.pair_edges,
        lists.pair_slots,
        lists.number_bits,
        lists.bounds,
        plan.runs,
        plan.members,
        plan.limits,
        scratch.edges,
        scratch.vertices,
        scratch.lows,
        scratch.highs,
    )
    if not has_all:
        return 0.0
    return count_ways(
        lists.pair_edges,
        lists.bounds,
        plan.runs,
        plan.members,
        plan.open_runs,
        scratch.lows,
        scratch.highs,
        scratch.starts,
        scratch.ends,
    )


@inlined
def _value(lists: Lists, plan: Plan, chances: Chances, scratch: Scratch, root_edge: Any) -> Any:
    """Draw an instance with a root; return how many matches it stands for per unit of weight."""
    value = draw_tree(lists, plan, chances, scratch, root_edge)
    if value > 0.0:
        value *= _count_rest(lists, plan, scratch)
        if value == 0.0:
            scratch.outcome[0] = NO_WAY
    if value > 0.0:
        before = _weight_up_to(chances.root, 0, root_edge)
        value /= float(chances.root[root_edge] - before)
        if chances.parity != NO_WINDOWS:
            value /= window_count(lists.bounds, scratch.edges)
    return value


@compiled
def sample_strata(
    lists: Lists,
    plan: Plan,
    chances: Chances,
    key: np.uint64,
    first_block: Any,
    end_block: Any,
    block_strata: Any,
    stratum_count: Any,
    sums: NDArray[np.float64],
    outcomes: Table,
    scratch: Scratch,
) -> None:
    """Draw two samples in each stratum of some blocks; write the sums of each block.

    A sample stands for a number of matches per unit of weight. sums: float64, shape (blocks, 6), of
    all blocks. outcomes: int64, shape (blocks, 6), how many samples came to what.
    Strata are 2**64 // stratum_count wide, in units of 2**-64 of the weight.
    """
    state = scratch.state
    width = np.uint64(0xFFFFFFFFFFFFFFFF) // np.uint64(stratum_count)
    total = chances.root[-1]
    start, one = np.int64(0), 0.0
    first_sample = 2 * block_strata * first_block
    end_sample = 2 * min(block_strata * end_block, stratum_count)
    for sample in range(first_sample, end_sample):
        block = sample // (2 * block_strata)
        begin(key, sample, state)
        least = np.uint64(sample >> 1) * width
        if sample & 1 == 0:
            start = find_root(chances.root, start, scale(least, total))
        position = least + high_product(draw_word(state), width)
        root_edge = find_root(chances.root, start, scale(position, total))
        value = _value(lists, plan, chances, scratch, root_edge)
        outcomes[block, scratch.outcome[0]] += 1
        if value > 0.0:
            square = value * value
            sums[block, SUM] += value
            sums[block, NONZERO] += 1.0
            sums[block, SUM_OF_SQUARES] += square
            sums[block, SUM_OF_FOURTHS] += square * square
            sums[block, LARGEST_ONE] = max(sums[block, LARGEST_ONE], value)
        if sample & 1:
            sums[block, SUM_OF_DIFFERENCES] += (value - one) * (value - one)
        one = value


@compiled
def sample_matches(
    lists: Lists,
    plan: Plan,
    chances: Chances,
    key: np.uint64,
    sample_count: Any,
    largest: float,
    found_edges: Table,
    found_vertices: Table,
    scratch: Scratch,
) -> Any:
    """Draw samples, and write random matches of those that are taken; return how many there are.

    A sample is taken as often as the matches that it stands for per unit of weight, over `largest`:
    so many whole times, and once more with the likelihood of the rest. found_edges: int64, shape
    (most, motif edges); found_vertices: int64, shape (most, motif vertices). Where they are too
    short the draw ends, and returns `most`.
    """
    state, edges, vertices = scratch.state, scratch.edges, scratch.vertices
    places, members, picked = plan.places, plan.members, scratch.picked
    found = 0
    for sample in range(sample_count):
        begin(key, sample, state)
        root_edge = find_root(chances.root, 0, draw_below(state, chances.root[-1]))
        times = _value(lists, plan, chances, scratch, root_edge) / largest
        copies = int(times)
        if draw_below(state, 1.0) < times - copies:
            copies += 1
        if found + copies >= len(found_edges):
            return len(found_edges)
        for _ in range(copies):
            if len(members) > 0:
                pick_way(
                    lists.pair_edges,
                    lists.bounds,
                    plan.runs,
                    members,
                    plan.open_runs,
                    edges,
                    scratch.lows,
                    scratch.highs,
                    scratch.starts,
                    scratch.ends,
                    scratch.joint,
                    state,
                    picked,
                )
            for place in range(len(edges)):
                found_edges[found, places[place, MOTIF_EDGE]] = edges[place]
            for member in range(len(members)):
                found_edges[found, members[member, MEMBER_EDGE]] = picked[member]
            for vertex in range(len(vertices)):
                found_vertices[found, vertex] = vertices[vertex]
            found += 1
    return found


@compiled
def matches_of(lists: Lists, plan: Plan, scratch: Scratch) -> Any:
    """Return how many matches have the tree instance of a scratch: its edges and its vertices."""
    vertices = scratch.vertices
    for vertex in range(len(vertices)):
        for known in range(vertex):
            if vertices[vertex] == vertices[known]:
                return 0.0
    if judge(lists.bounds, plan.relations, scratch.edges) != COUNTED:
        return 0.0
    return _count_rest(lists, plan, scratch)
