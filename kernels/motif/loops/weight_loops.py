"""The hot loops of sampling weights: what an edge may reach in time, and the sums over lists.

Both ends of what an edge may reach grow with its number. So one pass over the list of a vertex,
with two places in another of its lists, gives the sums of all its edges; no search is needed.
Numbers that index are cast to int64 first: numba adds uint64 and int64 to float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint32]

# The columns of bounds; the last one is there for windows only. A run of edges, those of one time
# or of one slot of delta, is kept in one number an edge: its first edge has the run's end, each
# other edge has the run's first edge.
TIES, END_AFTER, FIRST_BEFORE, SLOT = 0, 1, 2, 3

# Whether a slot's number is odd is kept in the highest bit of its runs.
_ODD_SHIFT = 31
_RUN_MASK = np.int64(2**31 - 1)

# Weights are uint32, and sums of them are kept modulo 2**32; what is read is the difference of two
# sums, and that is less.
WEIGHT_BITS = 32
_MASK = np.int64(2**WEIGHT_BITS - 1)

# The weights of so many root edges are added up to one number: 0.5 bytes an edge.
ROOT_BLOCK = 16

# A root of a number of candidates has so many bits behind the point, so that few differ from many.
DAMPED_BITS = 4

BEFORE, NEAR, AFTER = -1, 0, 1
NO_WINDOWS = -1


@compiled
def fill_bounds(time: NDArray[np.int64], delta: Any, is_strict: bool, bounds: Numbers) -> None:
    """Write the bounds of all edges; the slots are counted from the time of the first."""
    count = len(time)
    # Differences beyond int64 come out right as uint64.
    width, base = np.uint64(delta), np.uint64(time[0])
    after, before = 0, 0
    ties, end_of_ties = 0, 0
    has_slots = bounds.shape[1] > SLOT
    slot, end_of_slot, odd = 0, 0, np.int64(0)
    for edge in range(count):
        now = np.uint64(time[edge])
        while after < count and np.uint64(time[after]) - now <= width:
            after += 1
        while now - np.uint64(time[before]) > width:
            before += 1
        if edge >= end_of_ties:
            ties, end_of_ties = edge, edge + 1
            while is_strict and end_of_ties < count and time[end_of_ties] == time[edge]:
                end_of_ties += 1
        if has_slots:
            if edge >= end_of_slot:
                number = (now - base) // width
                odd = np.int64(number & np.uint64(1))
                slot, end_of_slot = edge, edge + 1
                while (
                    end_of_slot < count and (np.uint64(time[end_of_slot]) - base) // width == number
                ):
                    end_of_slot += 1
            bounds[edge, SLOT] = (end_of_slot if edge == slot else slot) | (odd << _ODD_SHIFT)
        bounds[edge, TIES] = end_of_ties if edge == ties else ties
        bounds[edge, END_AFTER] = after
        bounds[edge, FIRST_BEFORE] = before


@compiled
def longest_run(pair_offsets: Numbers, pair_edges: Numbers, bounds: Numbers) -> Any:
    """Return the most edges of one pair that lie within delta."""
    longest = np.int64(0)
    for pair in range(len(pair_offsets) - 1):
        end = np.int64(pair_offsets[pair + 1])
        first = np.int64(pair_offsets[pair])
        if end - first <= longest:
            continue
        high = first
        for place in range(first, end):
            end_edge = np.int64(bounds[pair_edges[place], END_AFTER])
            while high < end and np.int64(pair_edges[high]) < end_edge:
                high += 1
            longest = max(longest, high - place)
    return longest


@inlined
def ties_first(bounds: Numbers, edge: Any) -> Any:
    """Return the first edge that is not before this one."""
    run = np.int64(bounds[edge, TIES])
    return min(edge, run)


@inlined
def ties_end(bounds: Numbers, edge: Any) -> Any:
    """Return the first edge that is after this one."""
    run = np.int64(bounds[edge, TIES])
    return run if run > edge else np.int64(bounds[run, TIES])


@inlined
def slot_first(bounds: Numbers, edge: Any) -> Any:
    """Return the first edge of an edge's slot."""
    run = np.int64(bounds[edge, SLOT]) & _RUN_MASK
    return min(edge, run)


@inlined
def slot_end(bounds: Numbers, edge: Any) -> Any:
    """Return the edge after the last one of an edge's slot."""
    run = np.int64(bounds[edge, SLOT]) & _RUN_MASK
    return run if run > edge else np.int64(bounds[run, SLOT]) & _RUN_MASK


@inlined
def is_in_second_slot(bounds: Numbers, edge: Any, parity: Any) -> bool:
    """Return whether an edge lies in the second slot of its window; windows begin at a parity."""
    return bool((np.int64(bounds[edge, SLOT]) >> _ODD_SHIFT) != parity)


@inlined
def first_reached(bounds: Numbers, edge: Any, relation: Any, parity: Any) -> Any:
    """Return the first edge that a child of this tree edge may be.

    A window is two slots, so what is at most delta before an edge of the second slot is in it.
    """
    if relation == AFTER:
        return ties_end(bounds, edge)
    if parity != NO_WINDOWS and not is_in_second_slot(bounds, edge, parity):
        return slot_first(bounds, edge)
    return np.int64(bounds[edge, FIRST_BEFORE])


@inlined
def end_of_reached(bounds: Numbers, edge: Any, relation: Any, parity: Any) -> Any:
    """Return the edge after the last one that a child of this tree edge may be."""
    if relation == BEFORE:
        return ties_first(bounds, edge)
    if parity != NO_WINDOWS and is_in_second_slot(bounds, edge, parity):
        return slot_end(bounds, edge)
    return np.int64(bounds[edge, END_AFTER])


@inlined
def weight_between(prefix: Numbers, begin: Any, low: Any, high: Any) -> Any:
    """Return the weights of the places low .. high - 1 of the list that begins at a place.

    prefix: for each place the weights of its list up to and with it, modulo 2**32.
    """
    if high <= low:
        return np.int64(0)
    before = np.int64(prefix[low - 1]) if low > begin else np.int64(0)
    return (np.int64(prefix[high - 1]) - before) & _MASK


@inlined
def _next_from(edges: Numbers, place: Any, end: Any, edge: Any) -> Any:
    """Return the first place from `place` to `end` of an edge that is not before `edge`."""
    while place < end and np.int64(edges[place]) < edge:
        place += 1
    return place


@compiled
def sum_of_pairs(
    part: tuple[int, int],
    reversed_pairs: Numbers,
    pairs: tuple[Numbers, Numbers],
    prefix: Numbers,
    reach: tuple[int, int, Numbers],
    sums: Numbers,
) -> None:
    """Write for each edge of some pairs the weights of the children that would lead back.

    That is to its other vertex. pairs: their offsets and edges. reach: a relation, a parity and the
    bounds, see `first_reached`. reversed_pairs: for each pair the pair in which its children are,
    the number of pairs for none; empty where that is the pair itself. prefix: as in
    `weight_between`, by place of the pairs' lists; empty for leaves, each of which counts 1.
    """
    (pair_offsets, pair_edges), (relation, parity, bounds) = pairs, reach
    for pair in range(part[0], part[1]):
        child_pair = pair if len(reversed_pairs) == 0 else np.int64(reversed_pairs[pair])
        begin, end = np.int64(0), np.int64(0)
        if child_pair < len(pair_offsets) - 1:
            begin, end = np.int64(pair_offsets[child_pair]), np.int64(pair_offsets[child_pair + 1])
        low, high = begin, begin
        for place in range(pair_offsets[pair], pair_offsets[pair + 1]):
            edge = np.int64(pair_edges[place])
            if end == begin:
                sums[edge] = 0
                continue
            first_edge = first_reached(bounds, edge, relation, parity)
            end_edge = end_of_reached(bounds, edge, relation, parity)
            low = _next_from(pair_edges, low, end, first_edge)
            high = _next_from(pair_edges, max(high, low), end, end_edge)
            sums[edge] = weight_between(prefix, begin, low, high) if len(prefix) else high - low


@compiled
def subtract_from_reached(
    part: tuple[int, int],
    parents: tuple[Numbers, Numbers],
    children: tuple[Numbers, Numbers],
    prefix: Numbers,
    reach: tuple[int, int, Numbers],
    sums: Numbers,
) -> Any:
    """Subtract each edge's sum from the weights of all children that it reaches at its vertex.

    parents, children: the offsets and the edges of their lists, by vertex. reach: as above.
    prefix: as in `weight_between`, by place of the children's lists; empty for leaves. Returns the
    most that an edge reaches; where that is 2**32 or more, the sums are wrong.
    """
    (parent_offsets, parent_edges), (child_offsets, child_edges) = parents, children
    relation, parity, bounds = reach
    largest = np.int64(0)
    for vertex in range(part[0], part[1]):
        begin, end = np.int64(child_offsets[vertex]), np.int64(child_offsets[vertex + 1])
        low, high = begin, begin
        reached: Any = np.int64(0)
        for place in range(parent_offsets[vertex], parent_offsets[vertex + 1]):
            edge = np.int64(parent_edges[place])
            if end == begin:
                sums[edge] = 0
                continue
            end_edge = end_of_reached(bounds, edge, relation, parity)
            while high < end and np.int64(child_edges[high]) < end_edge:
                reached += weight_between(prefix, begin, high, high + 1) if len(prefix) else 1
                high += 1
            first_edge = first_reached(bounds, edge, relation, parity)
            while low < end and np.int64(child_edges[low]) < first_edge:
                # What is taken away before it is added belongs to a run of less than no edges.
                reached -= weight_between(prefix, begin, low, low + 1) if len(prefix) else 1
                low += 1
            sums[edge] = max(reached - np.int64(sums[edge]), 0)
            largest = max(largest, reached)
    return largest


@compiled
def largest_product(low: Any, high: Any, factors: Numbers, weights: Numbers) -> Any:
    """Return the largest product of the weights of edges low .. high - 1 and their factors."""
    largest = np.uint64(0)
    for edge in range(low, high):
        largest = max(largest, np.uint64(weights[edge]) * np.uint64(factors[edge]))
    return largest


@compiled
def multiply(low: Any, high: Any, factors: Numbers, shift: Any, weights: Numbers) -> None:
    """Multiply the weights of edges low .. high - 1 and divide by 2**shift, rounded up."""
    bits = np.uint64(shift)
    up = (np.uint64(1) << bits) - np.uint64(1)
    for edge in range(low, high):
        weights[edge] = (np.uint64(weights[edge]) * np.uint64(factors[edge]) + up) >> bits


@compiled
def damp(low: Any, high: Any, weights: Numbers) -> None:
    """Replace the weights of edges low .. high - 1 by their roots in units of 2**-DAMPED_BITS."""
    for edge in range(low, high):
        weights[edge] = np.int64(np.ceil(np.sqrt(float(weights[edge])) * 2.0**DAMPED_BITS))


@compiled
def add_up_lists(
    first_vertex: Any,
    end_vertex: Any,
    offsets: Numbers,
    edges: Numbers,
    weights: Numbers,
    prefix: Numbers,
) -> None:
    """Write each list's weights up to each of its places."""
    for vertex in range(first_vertex, end_vertex):
        running = np.int64(0)
        for place in range(offsets[vertex], offsets[vertex + 1]):
            running += np.int64(weights[edges[place]])
            prefix[place] = running & _MASK


@compiled
def divide_lists(
    first_vertex: Any, end_vertex: Any, offsets: Numbers, shift: Any, prefix: Numbers
) -> None:
    """Divide the weights that a prefix is made of by 2**shift, rounded up."""
    up = (np.int64(1) << shift) - 1
    for vertex in range(first_vertex, end_vertex):
        running, before = np.int64(0), np.int64(0)
        for place in range(offsets[vertex], offsets[vertex + 1]):
            weight = (np.int64(prefix[place]) - before) & _MASK
            before = np.int64(prefix[place])
            running += (weight + up) >> shift
            prefix[place] = running & _MASK
