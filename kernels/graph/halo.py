"""The halo of a part: what its nodes need of the rest of the graph, layer by layer.

    part 0: 0 1 2        edges 5 -> 2, 7 -> 5        two layers need 5, and 7 for what 5 becomes

A layer turns the embeddings of nodes into new ones, each from those of the nodes whose edges lead
into it. Embeddings of nodes of other parts are computed here too, from features that came once, or
are received from the part whose nodes they are: DepCache and DepComm of Cao et al., "NeutronCloud",
PVLDB 19(1), 2025, section 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


class Part(NamedTuple):
    """A part with its halo; nodes have places, first its own ones, then ring by ring.

    nodes: their numbers in the graph (n,). ends: how many are at most 0, 1, .. hops away; the
    first ones are its own. starts (ends[-2] + 1,), sources: the edges into all but the last ring,
    by places.
    """

    nodes: Numbers
    ends: tuple[int, ...]
    starts: Numbers
    sources: NDArray[np.int32]

    @property
    def own(self) -> int:
        """How many nodes are its own."""
        return self.ends[0]


class Plan(NamedTuple):
    """What each layer does in a part; rows are places of nodes, ascending, and own ones come first.

    edges: of each layer, (2, edges) by rows. received: before each layer but the first, the rows
    whose embeddings come from other parts.
    """

    rows: Numbers
    edges: Sequence[Numbers]
    received: Sequence[Numbers]


class Reach(NamedTuple):
    """What computing the embedding of a node of another part takes: further nodes, and edges.

    Both count a node or an edge once for each way that leads to it.
    """

    nodes: NDArray[np.float64]
    edges: NDArray[np.float64]


def edges_into(
    starts: Numbers, sources: NDArray[np.int32], targets: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the sources of the edges into some nodes, and which of the targets each leads into.

    >>> edges_into(np.array([0, 2, 2, 3]), np.array([1, 2, 0]), np.array([2, 0]))
    (array([0, 1, 2]), array([0, 1, 1]))
    """
    begin = starts[targets]
    degree = starts[targets + 1] - begin
    ends = np.cumsum(degree)
    at = np.repeat(np.arange(len(targets)), degree)
    place = np.arange(len(at)) + np.repeat(begin - ends + degree, degree)
    return sources[place].astype(np.int64), at


def part_with_halo(starts: Numbers, sources: NDArray[np.int32], own: Numbers, hops: int) -> Part:
    """Return the part of some nodes (ascending) with all that so many layers need."""
    place = np.full(len(starts) - 1, -1, np.int32)
    place[own] = np.arange(len(own))
    nodes, last = [own], own
    ends, degrees, found = [len(own)], [], []
    for _ in range(hops):
        from_nodes, _ = edges_into(starts, sources, last)
        degrees.append(starts[last + 1] - starts[last])
        ring = np.unique(from_nodes[place[from_nodes] < 0])
        place[ring] = ends[-1] + np.arange(len(ring))
        found.append(place[from_nodes])
        nodes.append(ring)
        ends.append(ends[-1] + len(ring))
        last = ring
    own_starts = np.zeros(ends[-2] + 1 if hops else 1, np.int64)
    if hops:
        np.cumsum(np.concatenate(degrees), out=own_starts[1:])
    empty = np.empty(0, np.int32)
    return Part(np.concatenate(nodes), tuple(ends), own_starts, np.concatenate([empty, *found]))


def plan_layers(part: Part, is_received: NDArray[np.bool_]) -> Plan:
    """Return what layers do where the embeddings of some nodes are received.

    is_received: by place, of nodes one hop away.
    """
    hops = len(part.ends) - 1
    assert not is_received[: part.own].any(), "a part computes its own embeddings"
    assert not is_received[part.ends[min(1, hops)] :].any(), "only neighbours are received"
    computed = np.arange(part.own)
    layers: list[tuple[Numbers, Numbers]] = []
    received: list[Numbers] = []
    is_row = np.zeros(len(part.nodes), bool)
    is_row[computed] = True
    for layer in range(hops, 0, -1):
        from_nodes, at = edges_into(part.starts, part.sources, computed)
        layers.append((from_nodes, computed[at]))
        needed = np.zeros(len(part.nodes), bool)
        needed[from_nodes] = needed[computed] = True
        is_row |= needed
        if layer > 1:
            received.append(np.flatnonzero(needed & is_received))
            computed = np.flatnonzero(needed & ~is_received)
    rows = np.flatnonzero(is_row)
    row = np.full(len(part.nodes), -1, np.int64)
    row[rows] = np.arange(len(rows))
    return Plan(
        rows,
        [np.stack([row[source], row[target]]) for source, target in reversed(layers)],
        [row[each] for each in reversed(received)],
    )


def reach_of_neighbours(part: Part) -> Reach:
    """Return what it takes to compute the embeddings of each node that is one hop away.

    Nodes that are there in any case, its own ones and neighbours, count as no further ones.
    """
    hops = len(part.ends) - 1
    first, last = part.own, part.ends[min(1, hops)]
    within = len(part.starts) - 1
    is_far = (np.arange(len(part.nodes)) >= last).astype(np.float64)
    target = np.repeat(np.arange(within), np.diff(part.starts))
    nodes, edges = np.zeros(len(part.nodes)), np.zeros(len(part.nodes))
    # By how many layers a node is computed for: what its sources need, and the edges from them.
    for _ in range(hops - 1):
        more, ways = np.zeros((2, len(part.nodes)))
        more[:within] = np.bincount(target, (is_far + nodes)[part.sources], minlength=within)
        ways[:within] = np.bincount(target, 1 + edges[part.sources], minlength=within)
        # What is its own needs nothing of what computing a neighbour takes.
        more[:first] = ways[:first] = 0
        nodes, edges = more, ways
    return Reach(nodes[first:last], edges[first:last])
