"""The hot loops of neighbours: edges by the node that they lead into, and samples of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, inlined
from raydb.kernels.random_loops import draw_word, scale

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Edges(NamedTuple):
    """Edges by target: those of node n are starts[n] to starts[n + 1] of sources (int64, int32)."""

    starts: Any
    sources: Any


class Chance(NamedTuple):
    """How edges are drawn: `most` a node, negative for all of them, with or without `replace`.

    state: uint64, shape (1,). drawn: a table of what was drawn already, 2**m slots of -1 (int64),
    at least twice as many as `most`; it is left as it was.
    """

    state: Any
    drawn: Any
    most: int
    replace: bool


class Found(NamedTuple):
    """Nodes, int64, and by the number of a node its place among them, int32, -1 for none."""

    nodes: Any
    local: Any


class Drawn(NamedTuple):
    """Room for edges, int64 each: the places of their sources and targets, and their own."""

    row: Any
    col: Any
    edge: Any


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


@inlined
def _new_place(chance: Chance, last: int) -> np.int64:
    """Return a random number up to `last` that was not drawn, or `last` for one that was.

    So each subset of numbers has the same chance where `last` grows by one each time (Floyd, in
    Bentley's "Programming Pearls: A Sample of Brilliance", 1987).
    """
    drawn = chance.drawn
    mask = len(drawn) - 1
    place: np.int64 = scale(draw_word(chance.state), last + 1)
    slot = place & mask
    while drawn[slot] >= 0 and drawn[slot] != place:
        slot = (slot + 1) & mask
    if drawn[slot] == place:
        place = np.int64(last)
        slot = place & mask
        while drawn[slot] >= 0:
            slot = (slot + 1) & mask
    drawn[slot] = place
    return place


@compiled
def sample_sources(
    edges: Edges,
    frontier: NDArray[np.int64],
    first: int,
    chance: Chance,
    sources: Found,
    count: int,
    out: Drawn,
) -> tuple[int, int]:
    """Draw edges that lead into nodes; return how many nodes there are then, and edges.

    frontier: the nodes; `first` is the place of the first one among all of its type. sources: of
    which there are `count` already.
    """
    found = 0
    nodes, local = sources
    most, replace = chance.most, chance.replace
    for number in range(len(frontier)):
        begin = edges.starts[frontier[number]]
        degree = edges.starts[frontier[number] + 1] - begin
        if degree == 0:
            continue
        takes_all = most < 0 or (not replace and degree <= most)
        chosen = degree if takes_all else most
        for turn in range(chosen):
            place = np.int64(turn)
            if not takes_all and replace:
                place = scale(draw_word(chance.state), degree)
            elif not takes_all:
                place = _new_place(chance, degree - chosen + turn)
            at = begin + place
            node = edges.sources[at]
            if local[node] < 0:
                local[node] = count
                nodes[count] = node
                count += 1
            out.row[found] = local[node]
            out.col[found] = first + number
            out.edge[found] = at
            found += 1
        if not (takes_all or replace):
            chance.drawn[:] = -1
    return count, found
