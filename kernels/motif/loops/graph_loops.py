"""The hot loops of a temporal graph: its lists of edges, and the table of its vertex pairs.

Loops that build run over a block of edges, so that an interrupt is heard between two calls.
Numbers that index are cast to int64 first: numba adds uint32 and int64 to int64, but two uint32 to
uint64, and uint64 and int64 to float64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, inlined, leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


@compiled
def count_numbers(numbers: NDArray[np.uint32], counts: NDArray[np.uint32]) -> None:
    """Count how often each number occurs."""
    for number in numbers:
        counts[number] += np.uint32(1)


@compiled
def begin_lists(counts: NDArray[np.uint32], offsets: NDArray[np.uint32]) -> None:
    """Write where the list of each number begins; the counts become the next places."""
    place = np.uint32(0)
    for number in range(len(counts)):
        count = counts[number]
        offsets[number] = place
        counts[number] = place
        place += count
    offsets[len(counts)] = place


@compiled
def fill_lists(
    numbers: NDArray[np.uint32],
    first_edge: int,
    next_places: NDArray[np.uint32],
    lists: NDArray[np.uint32],
) -> None:
    """Append edges, which are numbered from the first one up, to the lists of their numbers."""
    for row in range(len(numbers)):
        number = numbers[row]
        place = next_places[number]
        next_places[number] = place + np.uint32(1)
        lists[place] = first_edge + row


@compiled
def refill_lists(
    edges: NDArray[np.uint32],
    numbers: NDArray[np.uint32],
    next_places: NDArray[np.uint32],
    lists: NDArray[np.uint32],
) -> None:
    """Append edges, as they are listed, to the lists of their numbers."""
    for edge in edges:
        number = numbers[edge]
        place = next_places[number]
        next_places[number] = place + np.uint32(1)
        lists[place] = edge


@compiled
def begin_pairs(
    pair_edges: NDArray[np.uint32],
    source: NDArray[np.uint32],
    target: NDArray[np.uint32],
    time: NDArray[np.int64],
    low: int,
    high: int,
    pair_count: int,
    offsets: NDArray[np.uint32],
) -> tuple[int, int]:
    """Write the place at which each pair of vertices begins, among the places low .. high - 1.

    pair_edges: the edges by source, target and number. Returns the pairs up to here, and how many
    edges have the vertices and the time of the edge before.
    """
    duplicates = 0
    for place in range(low, high):
        edge = pair_edges[place]
        if place > 0:
            previous = pair_edges[place - 1]
            if source[edge] == source[previous] and target[edge] == target[previous]:
                duplicates += time[edge] == time[previous]
                continue
        offsets[pair_count] = place
        pair_count += 1
    return pair_count, duplicates


@inlined
def _mix(source: Any, target: Any) -> np.uint64:
    key = (np.uint64(source) << _HALF) | np.uint64(target)
    key = (key ^ (key >> _HALF)) * _GOLDEN
    return (key ^ (key >> np.uint64(29))) * _MIXER


@compiled
def fill_slots(
    pair_edges: NDArray[np.uint32],
    source: NDArray[np.uint32],
    target: NDArray[np.uint32],
    pair_offsets: NDArray[np.uint32],
    low: int,
    high: int,
    number_bits: int,
    slots: NDArray[np.uint32],
) -> None:
    """Enter the pairs low .. high - 1 in the table; see `find_pair`."""
    slot_count = np.uint64(len(slots))
    for pair in range(low, high):
        edge = pair_edges[pair_offsets[pair]]
        mixed = _mix(source[edge], target[edge])
        slot = ((mixed >> _HALF) * slot_count) >> _HALF
        while slots[slot]:
            slot += np.uint64(1)
            if slot == slot_count:
                slot = np.uint64(0)
        mark = (mixed << np.uint64(number_bits)) & np.uint64(0xFFFFFFFF)
        slots[slot] = mark | np.uint64(pair + 1)


class PairTable(NamedTuple):
    """The hash table from vertex pair to the number of the pair; number_bits: those of a number."""

    source: Any
    target: Any
    pair_offsets: Any
    pair_edges: Any
    pair_slots: Any
    number_bits: Any


@inlined
def find_pair(table: Any, from_vertex: int, to_vertex: int) -> Any:
    """Return the number of the pair of two vertices, -1 for none.

    table: a `PairTable`, or what has its arrays beside others. A slot holds the number of a pair
    plus 1 in its low bits, 0 for none, and above them as many bits of the pair's hash as fit.
    """
    slots, number_bits = table.pair_slots, table.number_bits
    slot_count = np.uint64(len(slots))
    mixed = _mix(from_vertex, to_vertex)
    slot = ((mixed >> _HALF) * slot_count) >> _HALF
    mark = ((mixed << number_bits) & np.uint64(0xFFFFFFFF)) >> number_bits
    while True:
        entry = np.uint64(slots[slot])
        if entry == 0:
            return np.int64(-1)
        if entry >> number_bits == mark:
            pair = (entry & ((np.uint64(1) << number_bits) - np.uint64(1))) - np.uint64(1)
            edge = table.pair_edges[table.pair_offsets[pair]]
            if table.source[edge] == from_vertex and table.target[edge] == to_vertex:
                return np.int64(pair)
        slot += np.uint64(1)
        if slot == slot_count:
            slot = np.uint64(0)


@inlined
def lower_bound(edges: NDArray[np.uint32], low: Any, high: Any, edge: Any) -> Any:
    """Return the first place of low .. high - 1 with an edge number >= `edge`, else `high`."""
    count = high - low
    while count > 0:
        half = count >> 1
        is_less = np.int64(edges[np.uint64(low + half)]) < edge
        low = low + half + 1 if is_less else low
        count = count - half - 1 if is_less else half
    return low


@leaf
def first_at_least(edges: NDArray[np.uint32], low: int, high: int, edge: int) -> int:
    """Return what `lower_bound` does.

    Looks near `low` first: windows are short beside the lists of busy vertices.
    """
    step = 1
    while low < high:
        probe = min(low + step, high) - 1
        if np.int64(edges[np.uint64(probe)]) >= edge:
            high = probe
            break
        low = probe + 1
        step *= 2
    while low < high:
        middle = (low + high) >> 1
        if np.int64(edges[np.uint64(middle)]) < edge:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_reversed(table: PairTable, first: int, found: NDArray[np.uint32]) -> None:
    """Write the number of each pair's reverse for the pairs from the first one on.

    It is the number of pairs where there is none.
    """
    for place in range(len(found)):
        edge = table.pair_edges[table.pair_offsets[first + place]]
        pair = find_pair(table, table.target[edge], table.source[edge])
        found[place] = pair if pair >= 0 else len(table.pair_offsets) - 1
