"""The hot loop of sampling: an instance of a tree, drawn by its weight, and what it stands for.

Samples come in strata of two: a stratum is one of equal parts of all weight, in the order of the
root's edges, that is of time. So samples that follow one another read the same part of a graph, and
the two of a stratum tell its variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
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
    end_of_reached,
    first_reached,
    range_sum,
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

# Draws that lead back to the parent's other vertex are repeated so often before all are looked at.
_MOST_DRAWS = 32


@numba.njit(cache=True, nogil=True)
def _first_above(prefix: NDArray[Any], first: int, low: int, high: int, target: Any) -> int:
    """Return the first place of low .. high - 1 up to which a list's weights from low on exceed.

    first: where the list begins, as in `range_sum`.
    """
    zero = prefix[0] - prefix[0]
    bound = target + (prefix[low - 1] if low > first else zero)
    end = high - 1
    while low < end:
        middle = (low + end) >> 1
        if prefix[middle] <= bound:
            low = middle + 1
        else:
            end = middle
    return low


@numba.njit(cache=True, nogil=True)
def find_root(root: NDArray[Any], low: int, target: Any) -> int:
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


@numba.njit(cache=True, nogil=True)
def _find_range(
    lists: Lists, source: int, target: int, first: int, end: int
) -> tuple[int, int, int]:
    """Return where a pair's list begins, and which of its places have the edges first .. end - 1."""
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
    if pair < 0:
        return 0, 0, 0
    start, stop = np.int64(lists.pair_offsets[pair]), np.int64(lists.pair_offsets[pair + 1])
    low = first_at_least(lists.pair_edges, start, stop, first)
    return start, low, first_at_least(lists.pair_edges, low, stop, end)


@numba.njit(cache=True, nogil=True)
def _draw_place(
    edges: Numbers,
    prefix: NDArray[Any],
    start: int,
    low: int,
    high: int,
    neighbors: Numbers,
    other: int,
    state: State,
) -> int:
    """Return a place of low .. high - 1, by its weight, that does not lead to a vertex.

    prefix: as in `range_sum`, empty for weights of 1. other: -1 where any vertex will do.
    Returns -1 where there is none, which rounding can bring about.
    """
    if len(prefix) > 0:
        total = range_sum(prefix, start, low, high)
    for _ in range(_MOST_DRAWS):
        if len(prefix) > 0:
            place = _first_above(prefix, start, low, high, draw_below(state, total))
        else:
            place = low + draw_below(state, high - low)
        if np.int64(neighbors[edges[place]]) != other:
            return place
    # Few of the weights are left: each place replaces the one before it by its part of them.
    chosen, seen = -1, 0.0
    for place in range(low, high):
        if np.int64(neighbors[edges[place]]) == other:
            continue
        weight = float(range_sum(prefix, start, place, place + 1)) if len(prefix) > 0 else 1.0
        seen += weight
        if draw_below(state, seen) < weight:
            chosen = place
    return chosen


@numba.njit(cache=True, nogil=True)
def draw_tree(
    lists: Lists,
    plan: Plan,
    by_vertex: NDArray[Any],
    by_pair: NDArray[Any],
    parity: int,
    root_edge: int,
    root_weight: float,
    excludes: bool,
    narrow: bool,
    state: State,
    edges: Table,
    vertices: Table,
    outcome: Table,
) -> float:
    """Draw the edges (by place) and the vertices (by motif vertex) of an instance of a tree.

    Returns by how much the instance is likelier than one of weight 1, turned over: the sum of the
    weights among which each edge was drawn, over the weight of each edge that has one. It is 1 where
    no sample is narrowed. Returns 0, and why in outcome[0], where no instance was found.
    """
    bounds, places = lists.bounds, plan.places
    nothing = np.empty(0, by_vertex.dtype)
    edges[0] = root_edge
    vertices[places[0, PARENT]] = lists.source[root_edge]
    vertices[places[0, VERTEX]] = lists.target[root_edge]
    # Whatever obeys delta beside the root's edge and its window.
    least = first_reached(bounds, root_edge, NEAR, parity)
    most = end_of_reached(bounds, root_edge, NEAR, parity)
    factor = 1.0 / root_weight
    outcome[0] = COUNTED
    for place in range(1, len(places)):
        parent, row = places[place, PARENT], places[place, ROW]
        parent_edge = edges[parent]
        joint, other = np.int64(lists.target[parent_edge]), np.int64(lists.source[parent_edge])
        if places[place, FROM_SOURCE]:
            joint, other = other, joint
        if narrow:
            first, end = least, most
            for drawn in range(place):
                if plan.relations[place, drawn] == AFTER:
                    first = max(first, ties_end(bounds, edges[drawn]))
                elif plan.relations[place, drawn] == BEFORE:
                    end = min(end, ties_first(bounds, edges[drawn]))
        else:
            first = first_reached(bounds, parent_edge, places[place, RELATION], parity)
            end = end_of_reached(bounds, parent_edge, places[place, RELATION], parity)
        if places[place, GOES_OUT]:
            offsets, children, neighbors = lists.out_offsets, lists.out_edges, lists.target
        else:
            offsets, children, neighbors = lists.in_offsets, lists.in_edges, lists.source
        start, stop = np.int64(offsets[joint]), np.int64(offsets[joint + 1])
        low = first_at_least(children, start, stop, first)
        high = first_at_least(children, low, stop, end)
        if high <= low:
            outcome[0] = NO_CHILD
            return 0.0
        prefix = by_vertex[row] if row >= 0 else nothing
        pair_start, pair_low, pair_high = np.int64(0), np.int64(0), np.int64(0)
        if excludes:
            one, two = (joint, other) if places[place, GOES_OUT] else (other, joint)
            pair_start, pair_low, pair_high = _find_range(lists, one, two, first, end)
        if row >= 0:
            weight = range_sum(prefix, start, low, high)
            if pair_high > pair_low:
                weight -= range_sum(by_pair[row], pair_start, pair_low, pair_high)
            reached = float(weight)
        else:
            reached = float(high - low - (pair_high - pair_low))
        if reached <= 0.0:
            outcome[0] = NO_CHILD
            return 0.0
        found = _draw_place(
            children, prefix, start, low, high, neighbors, other if excludes else -1, state
        )
        if found < 0:
            outcome[0] = NO_CHILD
            return 0.0
        factor *= reached
        if row >= 0:
            factor /= float(range_sum(prefix, start, found, found + 1))
        edge = np.int64(children[found])
        edges[place] = edge
        vertex = np.int64(neighbors[edge])
        for known in range(place):
            if vertices[places[known, VERTEX]] == vertex:
                outcome[0] = VERTEX_TWICE
        if vertices[places[0, PARENT]] == vertex:
            outcome[0] = VERTEX_TWICE
        if narrow and outcome[0] == VERTEX_TWICE:
            return 0.0
        vertices[places[place, VERTEX]] = vertex
        least = max(least, np.int64(bounds[edge, FIRST_BEFORE]))
        most = min(most, np.int64(bounds[edge, END_AFTER]))
    if not narrow and outcome[0] == COUNTED:
        outcome[0] = _judge(lists, plan, edges)
    return factor if outcome[0] == COUNTED else 0.0


@numba.njit(cache=True, nogil=True)
def _judge(lists: Lists, plan: Plan, edges: Table) -> int:
    """Return whether edges are too far apart in time, or out of order, or neither."""
    bounds = lists.bounds
    outcome = COUNTED
    for place in range(len(edges)):
        for drawn in range(place):
            one, other = edges[place], edges[drawn]
            if max(one, other) >= np.int64(bounds[min(one, other), END_AFTER]):
                return TOO_LONG
            if plan.relations[place, drawn] == AFTER and one < ties_end(bounds, other):
                outcome = OUT_OF_ORDER
            elif plan.relations[place, drawn] == BEFORE and other < ties_end(bounds, one):
                outcome = OUT_OF_ORDER
    return outcome


@numba.njit(cache=True, nogil=True)
def window_count(bounds: Numbers, edges: Table) -> int:
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


@numba.njit(cache=True, nogil=True)
def _value(
    lists: Lists,
    plan: Plan,
    by_vertex: NDArray[Any],
    by_pair: NDArray[Any],
    parity: int,
    root: NDArray[Any],
    root_edge: int,
    excludes: bool,
    narrow: bool,
    state: State,
    edges: Table,
    vertices: Table,
    lows: Table,
    highs: Table,
    outcome: Table,
) -> float:
    """Draw an instance with this root; return how many matches it stands for per unit of weight."""
    weight = float(root[root_edge] - (root[root_edge - 1] if root_edge > 0 else 0))
    factor = draw_tree(
        lists,
        plan,
        by_vertex,
        by_pair,
        parity,
        root_edge,
        weight,
        excludes,
        narrow,
        state,
        edges,
        vertices,
        outcome,
    )
    if factor == 0.0:
        return 0.0
    if len(plan.members) > 0:
        if not find_lists(lists, plan, edges, vertices, lows, highs):
            outcome[0] = NO_WAY
            return 0.0
        factor *= count_ways(lists, plan, lows, highs)
        if factor == 0.0:
            outcome[0] = NO_WAY
            return 0.0
    return factor if parity == NO_WINDOWS else factor / window_count(lists.bounds, edges)


@numba.njit(cache=True, nogil=True)
def sample_strata(
    lists: Lists,
    plan: Plan,
    root: NDArray[Any],
    by_vertex: NDArray[Any],
    by_pair: NDArray[Any],
    parity: int,
    excludes: bool,
    narrow: bool,
    key: np.uint64,
    first_block: int,
    end_block: int,
    block_strata: int,
    stratum_count: int,
    sums: NDArray[np.float64],
    outcomes: Table,
) -> None:
    """Draw two samples in each stratum of some blocks; write the sums of each block.

    sums: float64, shape (blocks, 6), of all blocks. outcomes: int64, shape (blocks, 6), how many
    samples came to what. Strata are 2**64 // stratum_count wide, in units of 2**-64 of the weight.
    """
    state = np.zeros(1, np.uint64)
    outcome = np.zeros(1, np.int64)
    edges = np.zeros(len(plan.places), np.int64)
    vertices = np.zeros(8, np.int64)
    lows, highs = np.zeros(len(plan.members), np.int64), np.zeros(len(plan.members), np.int64)
    width = np.uint64(0xFFFFFFFFFFFFFFFF) // np.uint64(stratum_count)
    total = root[-1]
    for block in range(first_block, end_block):
        stratum = block * block_strata
        start = find_root(root, 0, scale(np.uint64(stratum) * width, total))
        for stratum in range(stratum, min(stratum + block_strata, stratum_count)):  # noqa: B020
            least = np.uint64(stratum) * width
            start = find_root(root, start, scale(least, total))
            one = 0.0
            for second in range(2):
                begin(key, 2 * stratum + second, state)
                place = least + high_product(draw_word(state), width)
                root_edge = find_root(root, start, scale(place, total))
                value = _value(
                    lists,
                    plan,
                    by_vertex,
                    by_pair,
                    parity,
                    root,
                    root_edge,
                    excludes,
                    narrow,
                    state,
                    edges,
                    vertices,
                    lows,
                    highs,
                    outcome,
                )
                outcomes[block, outcome[0]] += 1
                if value > 0.0:
                    square = value * value
                    sums[block, SUM] += value
                    sums[block, NONZERO] += 1.0
                    sums[block, SUM_OF_SQUARES] += square
                    sums[block, SUM_OF_FOURTHS] += square * square
                    sums[block, LARGEST_ONE] = max(sums[block, LARGEST_ONE], value)
                if second:
                    sums[block, SUM_OF_DIFFERENCES] += (value - one) * (value - one)
                one = value


@numba.njit(cache=True, nogil=True)
def sample_matches(
    lists: Lists,
    plan: Plan,
    root: NDArray[Any],
    by_vertex: NDArray[Any],
    by_pair: NDArray[Any],
    parity: int,
    excludes: bool,
    narrow: bool,
    key: np.uint64,
    first_sample: int,
    end_sample: int,
    largest: float,
    found_edges: Table,
    found_vertices: Table,
) -> int:
    """Draw samples, and write a random match of each that is taken; return how many there are.

    A sample that stands for `value` matches per unit of weight is taken value / largest times: the
    integer part of it, and once more with the likelihood of the rest. found_edges: int64, shape
    (most, motif edges); found_vertices: int64, shape (most, motif vertices); a sample that does not
    fit ends the draw.
    """
    state = np.zeros(1, np.uint64)
    outcome = np.zeros(1, np.int64)
    edges = np.zeros(len(plan.places), np.int64)
    vertices = np.zeros(8, np.int64)
    lows, highs = np.zeros(len(plan.members), np.int64), np.zeros(len(plan.members), np.int64)
    picked = np.zeros(len(plan.members), np.int64)
    found = 0
    for sample in range(first_sample, end_sample):
        begin(key, sample, state)
        root_edge = find_root(root, 0, draw_below(state, root[-1]))
        value = _value(
            lists,
            plan,
            by_vertex,
            by_pair,
            parity,
            root,
            root_edge,
            excludes,
            narrow,
            state,
            edges,
            vertices,
            lows,
            highs,
            outcome,
        )
        times = value / largest
        copies = int(times)
        if draw_below(state, 1.0) < times - copies:
            copies += 1
        for _ in range(copies):
            if found == len(found_edges):
                return found
            if len(picked) > 0:
                pick_way(lists, plan, edges, lows, highs, state, picked)
            for place in range(len(edges)):
                found_edges[found, plan.places[place, MOTIF_EDGE]] = edges[place]
            for member in range(len(picked)):
                found_edges[found, plan.members[member, MEMBER_EDGE]] = picked[member]
            for vertex in range(found_vertices.shape[1]):
                found_vertices[found, vertex] = vertices[vertex]
            found += 1
    return found


@numba.njit(cache=True, nogil=True)
def value_of(
    lists: Lists, plan: Plan, parity: int, edges: Table, vertices: Table, lows: Table, highs: Table
) -> float:
    """Return how many matches a given instance stands for, which the motif's order must allow."""
    for place in range(len(vertices)):
        for known in range(place):
            if vertices[place] == vertices[known]:
                return 0.0
    if _judge(lists, plan, edges) != COUNTED:
        return 0.0
    if len(plan.members) == 0:
        return 1.0
    if not find_lists(lists, plan, edges, vertices, lows, highs):
        return 0.0
    return float(count_ways(lists, plan, lows, highs))
