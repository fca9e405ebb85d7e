"""The hot loops of neighbours: edges by the node that they lead into, and samples of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

# splitmix64 (Steele et al., "Fast Splittable Pseudorandom Number Generators", 2014).
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@inlined
def _below(state: NDArray[np.uint64], bound: int) -> np.int64:
    """Return a random number from 0 to below a bound, which is small beside 2**32."""
    state[0] += _GAMMA
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    return np.int64(((mixed >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@compiled
def place_sources(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    place: NDArray[np.int64],
    sources: NDArray[np.int32],
) -> None:
    """Write the source of each edge where the next one of its target goes.

    place: by target (int64), moved on.
    """
    for edge in range(len(source)):
        to = target[edge]
        sources[place[to]] = source[edge]
        place[to] += 1


@compiled
def sample_sources(
    starts: NDArray[np.int64],
    sources: NDArray[np.int32],
    frontier: NDArray[np.int64],
    first: int,
    most: int,
    replace: bool,
    state: NDArray[np.uint64],
    drawn: NDArray[np.int64],
    local: NDArray[np.int32],
    nodes: NDArray[np.int64],
    count: int,
    row: NDArray[np.int64],
    col: NDArray[np.int64],
    edge: NDArray[np.int64],
) -> tuple[int, int]:
    """Draw edges that lead into nodes; return how many nodes there are then, and edges.

    starts, sources: the edges by target, those of node n in starts[n] to starts[n + 1]. frontier:
    the nodes; `first` is the place of the first one among all of its type. most: how many edges a
    node has at most, negative for all. drawn: room for a table of them, 2**m slots of -1, at least
    twice as many; it is left as it was. local: by source its place in `nodes`, -1 where it has none
    yet; `count` have one. row, col, edge: get the places of source and target, and of the edge.
    """
    found = 0
    mask = len(drawn) - 1
    for number in range(len(frontier)):
        begin = starts[frontier[number]]
        degree = starts[frontier[number] + 1] - begin
        if degree == 0:
            continue
        takes_all = most < 0 or (not replace and degree <= most)
        chosen = degree if takes_all else most
        for turn in range(chosen):
            place = turn
            if not takes_all:
                if replace:
                    place = _below(state, degree)
                else:
                    # Floyd's way: the last one that may be drawn stands for one drawn already.
                    last = degree - chosen + turn
                    place = _below(state, last + 1)
                    slot = place & mask
                    while drawn[slot] >= 0 and drawn[slot] != place:
                        slot = (slot + 1) & mask
                    if drawn[slot] == place:
                        place = last
                        slot = place & mask
                        while drawn[slot] >= 0:
                            slot = (slot + 1) & mask
                    drawn[slot] = place
            at = begin + place
            node = sources[at]
            if local[node] < 0:
                local[node] = count
                nodes[count] = node
                count += 1
            row[found] = local[node]
            col[found] = first + number
            edge[found] = at
            found += 1
        if not (takes_all or replace):
            drawn[:] = -1
    return count, found
