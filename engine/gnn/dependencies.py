"""Which embeddings of other parts a part computes itself, and which it receives.

Resource-aware search over prefixes: Cao et al., "NeutronCloud", PVLDB 19(1), 2025, section 4.2.
Nodes of one other part are sorted by what computing them takes, and a binary search finds how many
take less than receiving them does. Two things are ours: an exchange has a price of its own, however
few rows it brings; and plans of several prefixes are made and compared, not only estimated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.graph.halo import plan_layers, reach_of_neighbours

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.kernels.graph.halo import Part

# So many shares of all neighbours are tried.
_STEPS = 8


class Costs(NamedTuple):
    """What things take, in seconds an epoch.

    node, edge: computing embeddings of a further node through all layers, and along an edge.
    received: by owner, receiving the embeddings of a node, and sending its gradients. exchange:
    what the exchanges of an epoch take, however few nodes they are about.
    """

    node: float
    edge: float
    received: Mapping[int, float]
    exchange: float


class Neighbours(NamedTuple):
    """The neighbours of a part that belong to one other part, those that take least first.

    order: places in the arrays that they were made of. nodes, edges: what computing each takes.
    bytes_to: of the first 0, 1, .. of them, what they hold.
    """

    order: NDArray[np.int64]
    nodes: NDArray[np.float64]
    edges: NDArray[np.float64]
    bytes_to: NDArray[np.float64]


def sort_neighbours(
    owner: NDArray[np.int64],
    nodes: NDArray[np.float64],
    edges: NDArray[np.float64],
    costs: Costs,
    node_bytes: float,
) -> dict[int, Neighbours]:
    """Return the neighbours of a part by owner: Algorithm 2 of the paper, done once.

    owner, nodes, edges: of each neighbour. node_bytes: what a further node holds.
    """
    found = {}
    takes = nodes * costs.node + edges * costs.edge
    for each in np.unique(owner).tolist():
        places = np.flatnonzero(owner == each)
        order = places[np.argsort(takes[places], kind="stable")]
        held = np.concatenate([[0.0], np.cumsum(nodes[order] * node_bytes + 4 * edges[order])])
        found[each] = Neighbours(order, nodes[order], edges[order], held)
    return found


def cached_prefixes(
    neighbours: Mapping[int, Neighbours], costs: Costs, room: float | None
) -> dict[int, int]:
    """Return how many of the first neighbours of each owner are computed: Algorithm 3.

    room: bytes that they may hold, None for any number.
    """
    counts = {
        owner: _prefix(each, costs, costs.received[owner]) for owner, each in neighbours.items()
    }
    held = {owner: float(each.bytes_to[counts[owner]]) for owner, each in neighbours.items()}
    total = sum(held.values())
    if room is not None and total > room:
        for owner, each in neighbours.items():
            share = held[owner] / total * room
            fitting = int(np.searchsorted(each.bytes_to, share, "right")) - 1
            counts[owner] = min(counts[owner], fitting)
    return counts


def _prefix(each: Neighbours, costs: Costs, received: float) -> int:
    """Return how many take less to compute than to receive, by binary search."""
    low, high = 0, len(each.order)
    while low < high:
        middle = (low + high) // 2
        if each.nodes[middle] * costs.node + each.edges[middle] * costs.edge < received:
            low = middle + 1
        else:
            high = middle
    return low


class Choice(NamedTuple):
    """is_received: by place in the part. seconds: what an epoch takes, as it was estimated.

    all_cached, all_received: what it would take if all neighbours were computed, or received.
    """

    is_received: NDArray[np.bool_]
    seconds: float
    all_cached: float
    all_received: float


def choose(
    part: Part, owner: NDArray[np.int64], costs: Costs, node_bytes: float, room: float | None
) -> Choice:
    """Return which neighbours of a part are received.

    owner: the part of each neighbour. node_bytes: what a node holds. room: bytes that computed
    neighbours may hold, None for any number. The paper's prefixes are one candidate; shares of all
    neighbours are others, since what several need is computed once, and the sum of what each takes
    is much more.
    """
    near = slice(part.own, part.own + len(owner))
    reach = reach_of_neighbours(part)
    neighbours = sort_neighbours(owner, reach.nodes, reach.edges, costs, node_bytes)
    prefixes = [cached_prefixes(neighbours, costs, room)]
    prefixes += [
        {each: round(step / _STEPS * len(some.order)) for each, some in neighbours.items()}
        for step in range(_STEPS + 1)
    ]
    found = []
    for counts in prefixes:
        is_received = np.zeros(len(part.nodes), bool)
        is_received[near] = True
        for each, some in neighbours.items():
            is_received[part.own + some.order[: counts[each]]] = False
        found.append((is_received, *_seconds(part, is_received, owner, costs, node_bytes)))
    _, all_received, fewest = found[1]
    fitting = [each for each in found if room is None or each[2] - fewest <= room]
    is_received, seconds, _ = min(fitting, key=lambda each: each[1])
    return Choice(is_received, seconds, found[-1][1], all_received)


def _seconds(
    part: Part,
    is_received: NDArray[np.bool_],
    owner: NDArray[np.int64],
    costs: Costs,
    node_bytes: float,
) -> tuple[float, float]:
    """Return the seconds of an epoch, and the bytes that its rows and edges hold."""
    plan = plan_layers(part, is_received)
    edge_count = sum(edges.shape[1] for edges in plan.edges)
    seconds = len(plan.rows) * costs.node + edge_count * costs.edge
    received = np.bincount(owner[is_received[part.own : part.own + len(owner)]]).tolist()
    if sum(received):
        seconds += costs.exchange
        seconds += sum(many * costs.received[each] for each, many in enumerate(received) if many)
    return seconds, len(plan.rows) * node_bytes + 4.0 * edge_count
