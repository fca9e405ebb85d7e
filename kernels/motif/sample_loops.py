"""The hot loop of sampling: an instance of a tree, drawn by its weight, and what it stands for.

Samples come in strata of two: a stratum is one of equal parts of all weight, in the order of the
root's edges, that is of time. So samples that follow one another read the same part of a graph, and
the two of a stratum tell its variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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


@numba.njit(cache=True, nogil=True, inline="always")
def _lower_bound(edges: Numbers, low: int, high: int, edge: int) -> int:
    """Return the first place of low .. high - 1 with an edge number >= `edge`, else `high`."""
    count = high - low
    while count > 0:
        half = count >> 1
        is_less = np.int64(edges[low + half]) < edge
        low = low + half + 1 if is_less else low
        count = count - half - 1 if is_less else half
    return low


@numba.njit(cache=True, nogil=True, inline="always")
def _weight_up_to(prefix: NDArray[Any], first: int, place: int) -> Any:
    """Return the weights of a list, which begins at a place, before another place."""
    return prefix[place - 1] if place > first else prefix[0] - prefix[0]


@numba.njit(cache=True, nogil=True, inline="always")
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


@numba.njit(cache=True, nogil=True, _nrt=False)
def _choose_among_all(
    listed: Numbers,
    by_vertex: NDArray[Any],
    is_weighted: bool,
    base: int,
    start: int,
    low: int,
    high: int,
    neighbors: Numbers,
    other: int,
    state: State,
) -> int:
    """Return a place of low .. high - 1, by weight, that does not lead to a vertex; -1 for none.

    base: what a place is away from its weight. start: where the list begins. Each place replaces
    the one before it with the likelihood of its part of the weights up to there.
    """
    chosen, seen = -1, 0.0
    for place in range(low, high):
        if np.int64(neighbors[listed[place]]) == other:
            continue
        weight = 1.0
        if is_weighted:
            before = _weight_up_to(by_vertex, base + start, base + place)
            weight = float(by_vertex[base + place] - before)
        seen += weight
        if draw_below(state, seen) < weight:
            chosen = place
    return chosen


@numba.njit(cache=True, nogil=True, inline="always")
def draw_tree(
    source: Numbers,
    target: Numbers,
    out_offsets: Numbers,
    in_offsets: Numbers,
    listed: Numbers,
    pair_offsets: Numbers,
    pair_edges: Numbers,
    pair_slots: Numbers,
    number_bits: np.uint64,
    bounds: Numbers,
    places: Table,
    relations: Table,
    by_vertex: NDArray[Any],
    by_pair: NDArray[Any],
    parity: int,
    root_edge: int,
    excludes: bool,
    narrow: bool,
    state: State,
    edges: Table,
    vertices: Table,
    outcome: Table,
) -> float:
    """Draw the edges (by place) and the vertices (by motif vertex) of an instance of a tree.

    by_vertex, by_pair: those of Weights, row after row. Returns one over the likelihood of the
    instance with this root: the sum of the weights among which each edge was drawn, over the
    weight of each edge that has one of its own but the root. Returns 0, and why in outcome[0],
    where no instance was found.
    """
    edge_count = len(source)
    edges[0] = root_edge
    vertices[places[0, PARENT]] = source[root_edge]
    vertices[places[0, VERTEX]] = target[root_edge]
    # Whatever obeys delta beside the root's edge and its window.
    least = first_reached(bounds, root_edge, NEAR, parity)
    most = end_of_reached(bounds, root_edge, NEAR, parity)
    factor = 1.0
    outcome[0] = COUNTED
    for place in range(1, len(places)):
        parent_edge = edges[places[place, PARENT]]
        goes_out = places[place, GOES_OUT] != 0
        joint, other = np.int64(target[parent_edge]), np.int64(source[parent_edge])
        if places[place, FROM_SOURCE]:
            joint, other = other, joint
        first, end = least, most
        if narrow:
            for drawn in range(place):
                if relations[place, drawn] == AFTER:
                    first = max(first, ties_end(bounds, edges[drawn]))
                elif relations[place, drawn] == BEFORE:
                    end = min(end, ties_first(bounds, edges[drawn]))
        else:
            first = first_reached(bounds, parent_edge, places[place, RELATION], parity)
            end = end_of_reached(bounds, parent_edge, places[place, RELATION], parity)
        if goes_out:
            start, stop = np.int64(out_offsets[joint]), np.int64(out_offsets[joint + 1])
        else:
            start, stop = np.int64(in_offsets[joint]), np.int64(in_offsets[joint + 1])
        # The lists by target come after those by source.
        shift = 0 if goes_out else edge_count
        low = _lower_bound(listed, start + shift, stop + shift, first)
        high = first_at_least(listed, low, stop + shift, end)
        if high <= low:
            outcome[0] = NO_CHILD
            break
        start += shift
        pair_start, pair_low, pair_high = np.int64(0), np.int64(0), np.int64(0)
        if excludes:
            one, two = (joint, other) if goes_out else (other, joint)
            pair = find_marked_pair(
                source, target, pair_offsets, pair_edges, pair_slots, number_bits, one, two
            )
            if pair >= 0:
                pair_start = np.int64(pair_offsets[pair])
                pair_end = np.int64(pair_offsets[pair + 1])
                pair_low = first_at_least(pair_edges, pair_start, pair_end, first)
                pair_high = first_at_least(pair_edges, pair_low, pair_end, end)
        # Places of `listed` to those of the row's weights, which are by place of one kind of list.
        row = places[place, ROW]
        base = row * edge_count - shift
        if row >= 0:
            before = _weight_up_to(by_vertex, base + start, base + low)
            total = by_vertex[base + high - 1] - before
            left = total
            if pair_high > pair_low:
                shifted = row * edge_count
                left -= by_pair[shifted + pair_high - 1] - _weight_up_to(
                    by_pair, shifted + pair_start, shifted + pair_low
                )
            reached = float(left)
        else:
            reached = float(high - low - (pair_high - pair_low))
        if reached <= 0.0:
            outcome[0] = NO_CHILD
            break
        found, tries, vertex = np.int64(-1), 0, np.int64(-1)
        edge = np.int64(0)
        while tries < _MOST_DRAWS:
            if row >= 0:
                bound = draw_below(state, total) + before
                found, last = low, high - 1
                while found < last:
                    middle = (found + last) >> 1
                    if by_vertex[base + middle] <= bound:
                        found = middle + 1
                    else:
                        last = middle
            else:
                found = low + draw_below(state, high - low)
            edge = np.int64(listed[found])
            vertex = np.int64(target[edge]) if goes_out else np.int64(source[edge])
            if not excludes or vertex != other:
                break
            tries += 1
        if tries == _MOST_DRAWS:
            neighbors = target if goes_out else source
            found = _choose_among_all(
                listed, by_vertex, row >= 0, base, start, low, high, neighbors, other, state
            )
            if found < 0:
                # Rounding has left a trace of weights that are none.
                outcome[0] = NO_CHILD
                break
            edge = np.int64(listed[found])
            vertex = np.int64(neighbors[edge])
        factor *= reached
        if row >= 0:
            before = _weight_up_to(by_vertex, base + start, base + found)
            factor /= float(by_vertex[base + found] - before)
        if vertices[places[0, PARENT]] == vertex:
            outcome[0] = VERTEX_TWICE
        for known in range(place):
            if vertices[places[known, VERTEX]] == vertex:
                outcome[0] = VERTEX_TWICE
        if narrow and outcome[0] == VERTEX_TWICE:
            break
        edges[place] = edge
        vertices[places[place, VERTEX]] = vertex
        least = max(least, np.int64(bounds[edge, FIRST_BEFORE]))
        most = min(most, np.int64(bounds[edge, END_AFTER]))
    if not narrow and outcome[0] == COUNTED:
        outcome[0] = judge(bounds, relations, edges)
    return factor if outcome[0] == COUNTED else 0.0


@numba.njit(cache=True, nogil=True, _nrt=False)
def judge(bounds: Numbers, relations: Table, edges: Table) -> int:
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


@numba.njit(cache=True, nogil=True, inline="always")
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


@numba.njit(cache=True, nogil=True, _nrt=False)
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
    largest: float,
    found_edges: Table,
    found_vertices: Table,
    scratch: Scratch,
) -> int:
    """Draw two samples in each stratum of some blocks; write the sums of each block.

    A sample stands for a number of matches per unit of weight. sums: float64, shape (blocks, 6), of
    all blocks. outcomes: int64, shape (blocks, 6), how many samples came to what.
    Strata are 2**64 // stratum_count wide, in units of 2**-64 of the weight.

    found_edges: int64, shape (most, motif edges), with no row where no matches are looked for;
    found_vertices: int64, shape (most, motif vertices). Else each sample is drawn from all weight,
    not from a stratum, and taken as often as its number of matches over `largest`: so many whole
    times, and once more with the likelihood of the rest. Each time a random match of it is written.
    Returns how many there are, at most as many as fit.
    """
    source, target, listed, bounds = lists.source, lists.target, lists.listed, lists.bounds
    out_offsets, in_offsets = lists.out_offsets, lists.in_offsets
    pair_offsets, pair_edges, pair_slots = lists.pair_offsets, lists.pair_edges, lists.pair_slots
    number_bits = lists.number_bits
    places, relations, runs, members = plan.places, plan.relations, plan.runs, plan.members
    limits, open_runs = plan.limits, plan.open_runs
    state, outcome = scratch.state, scratch.outcome
    edges, vertices = scratch.edges, scratch.vertices
    lows, highs, picked = scratch.lows, scratch.highs, scratch.picked
    width = np.uint64(0xFFFFFFFFFFFFFFFF) // np.uint64(stratum_count)
    total = root[-1]
    found_count, start, one = 0, np.int64(0), 0.0
    is_picking = len(found_edges) > 0
    first_sample = 2 * block_strata * first_block
    end_sample = 2 * min(block_strata * end_block, stratum_count)
    for sample in range(first_sample, end_sample):
        block = sample // (2 * block_strata)
        begin(key, sample, state)
        if is_picking:
            root_edge = find_root(root, 0, draw_below(state, total))
        else:
            least = np.uint64(sample >> 1) * width
            if sample & 1 == 0:
                start = find_root(root, start, scale(least, total))
            place = least + high_product(draw_word(state), width)
            root_edge = find_root(root, start, scale(place, total))
        value = draw_tree(
            source,
            target,
            out_offsets,
            in_offsets,
            listed,
            pair_offsets,
            pair_edges,
            pair_slots,
            number_bits,
            bounds,
            places,
            relations,
            by_vertex,
            by_pair,
            parity,
            root_edge,
            excludes,
            narrow,
            state,
            edges,
            vertices,
            outcome,
        )
        if value > 0.0 and len(members) > 0:
            has_all = find_lists(
                source,
                target,
                pair_offsets,
                pair_edges,
                pair_slots,
                number_bits,
                bounds,
                runs,
                members,
                limits,
                edges,
                vertices,
                lows,
                highs,
            )
            ways = 0.0
            if has_all:
                ways = count_ways(
                    pair_edges,
                    bounds,
                    runs,
                    members,
                    open_runs,
                    lows,
                    highs,
                    scratch.starts,
                    scratch.ends,
                )
            value *= ways
            if value == 0.0:
                outcome[0] = NO_WAY
        outcomes[block, outcome[0]] += 1
        if value > 0.0:
            value /= float(root[root_edge] - _weight_up_to(root, 0, root_edge))
            if parity != NO_WINDOWS:
                value /= window_count(bounds, edges)
            square = value * value
            sums[block, SUM] += value
            sums[block, NONZERO] += 1.0
            sums[block, SUM_OF_SQUARES] += square
            sums[block, SUM_OF_FOURTHS] += square * square
            sums[block, LARGEST_ONE] = max(sums[block, LARGEST_ONE], value)
        if sample & 1:
            sums[block, SUM_OF_DIFFERENCES] += (value - one) * (value - one)
        one = value
        if is_picking and value > 0.0:
            times = value / largest
            copies = int(times)
            if draw_below(state, 1.0) < times - copies:
                copies += 1
            if found_count + copies > len(found_edges):
                return len(found_edges)
            for _ in range(copies):
                if len(picked) > 0:
                    pick_way(
                        pair_edges,
                        bounds,
                        runs,
                        members,
                        open_runs,
                        edges,
                        lows,
                        highs,
                        scratch.starts,
                        scratch.ends,
                        scratch.joint,
                        state,
                        picked,
                    )
                for place in range(len(edges)):
                    found_edges[found_count, places[place, MOTIF_EDGE]] = edges[place]
                for member in range(len(picked)):
                    found_edges[found_count, members[member, MEMBER_EDGE]] = picked[member]
                for vertex in range(found_vertices.shape[1]):
                    found_vertices[found_count, vertex] = vertices[vertex]
                found_count += 1
    return found_count


@numba.njit(cache=True, nogil=True, _nrt=False)
def matches_of(lists: Lists, plan: Plan, scratch: Scratch) -> float:
    """Return how many matches have the tree instance of a scratch: its edges and its vertices."""
    edges, vertices = scratch.edges, scratch.vertices
    for place in range(len(vertices)):
        for known in range(place):
            if vertices[place] == vertices[known]:
                return 0.0
    if judge(lists.bounds, plan.relations, edges) != COUNTED:
        return 0.0
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
        edges,
        vertices,
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
