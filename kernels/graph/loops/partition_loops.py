"""The hot loops of partitions: streaming clusters, their merging, and nodes moved between parts.

Edges are int32 numbers of nodes, an array for either end. A node is of no use to its own cluster or
part by an edge to itself, so such edges are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Nodes = NDArray[np.int32]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_MIX_MORE = np.uint64(0xBF58476D1CE4E5B9)
_TO_SHARE = 2.0**-53

# Edges come in no order of their nodes, so that what the next ones need is asked for early: their
# nodes so many edges ahead, and when these are there, the volumes of their clusters.
_FAR, _NEAR = 32, 8


@compiled
def add_degrees(source: Nodes, target: Nodes, degree: Nodes, directed: bool) -> int:
    """Count the edges at each node, directed ones at their source; return how many are no loops.

    -1 where a node has more than an int32 counts.
    """
    count = 0
    for edge in range(len(source)):
        one, other = source[edge], target[edge]
        if one != other:
            count += 1
            degree[one] += 1
            if not directed:
                degree[other] += 1
            if degree[one] < 0 or degree[other] < 0:
                return -1
    return count


@compiled
def add_to_clusters(
    source: Nodes,
    target: Nodes,
    own: Nodes,
    richest: Nodes,
    volume: NDArray[np.int64],
    most: int,
) -> None:
    """Let each edge draw an end into the cluster of the other one, that with the greater volume.

    Clusters with a volume above `most` stay as they are. own (n, 2): the cluster and the degree of
    each node. richest (n, 2): the neighbour with most edges, and how many, -1 for none.
    """
    behind = len(source) - 1
    owns, riches, volumes = own.ctypes.data, richest.ctypes.data, volume.ctypes.data
    for edge in range(len(source)):
        ahead = min(edge + _FAR, behind)
        for node in (source[ahead], target[ahead]):
            prefetch(owns + 8 * np.int64(node))
            prefetch(riches + 8 * np.int64(node))
        ahead = min(edge + _NEAR, behind)
        for node in (source[ahead], target[ahead]):
            prefetch(volumes + 8 * np.int64(own[node, 0]))
        one, other = source[edge], target[edge]
        if one == other:
            continue
        here, there = own[one, 0], own[other, 0]
        edges, other_edges = own[one, 1], own[other, 1]
        if here != there and volume[here] <= most and volume[there] <= most:
            if volume[here] <= volume[there]:
                volume[here] -= edges
                volume[there] += edges
                own[one, 0] = there
            else:
                volume[there] -= other_edges
                volume[here] += other_edges
                own[other, 0] = here
        if richest[one, 1] < other_edges:
            richest[one, 0], richest[one, 1] = other, other_edges
        if richest[other, 1] < edges:
            richest[other, 0], richest[other, 1] = one, edges


@compiled
def count_clusters(own: Nodes, richest: Nodes, size: Nodes, leader: Nodes) -> None:
    """Count the nodes of each cluster, and find the richest neighbour of any of them."""
    for node in range(len(own)):
        cluster, rich = own[node, 0], richest[node, 0]
        size[cluster] += 1
        if rich >= 0 and (leader[cluster] < 0 or own[leader[cluster], 1] < richest[node, 1]):
            leader[cluster] = rich


@compiled
def order_clusters(size: Nodes, starts: Nodes, is_descending: bool, order: Nodes) -> None:
    """Sort the clusters with nodes by how many they have. starts (most nodes + 2): zeros."""
    most = len(starts) - 2
    for cluster in range(len(size)):
        if size[cluster] > 0:
            starts[(most - size[cluster] if is_descending else size[cluster]) + 1] += 1
    for place in range(1, len(starts)):
        starts[place] += starts[place - 1]
    for cluster in range(len(size)):
        if size[cluster] > 0:
            place = most - size[cluster] if is_descending else size[cluster]
            order[starts[place]] = cluster
            starts[place] += 1


@inlined
def _root(parent: Nodes, cluster: int) -> int:
    while parent[cluster] != cluster:
        parent[cluster] = parent[parent[cluster]]
        cluster = parent[cluster]
    return cluster


@compiled
def merge_clusters(
    order: Nodes,
    cluster: Nodes,
    degree: Nodes,
    size: Nodes,
    leader: Nodes,
    parent: Nodes,
    most: int,
) -> None:
    """Merge each cluster, in an order, into that of its richest neighbour, to `most` nodes."""
    for number in range(len(order)):
        own = order[number]
        if parent[own] != own or leader[own] < 0:
            continue
        other = _root(parent, cluster[leader[own]])
        if other == own or size[own] + size[other] > most:
            continue
        parent[own] = other
        size[other] += size[own]
        size[own] = 0
        if leader[other] < 0 or degree[leader[other]] < degree[leader[own]]:
            leader[other] = leader[own]


@compiled
def join_clusters(cluster: Nodes, parent: Nodes) -> None:
    """Give each node the cluster that its own was merged into."""
    for node in range(len(cluster)):
        cluster[node] = _root(parent, cluster[node])


@inlined
def _sink(heap: Nodes, load: NDArray[np.int64]) -> None:
    """Put the first part of a heap, the least loaded but for this one, in its place."""
    place, count = 0, len(heap)
    while True:
        low = 2 * place + 1
        if low >= count:
            break
        if low + 1 < count:
            left, right = heap[low], heap[low + 1]
            if load[right] < load[left] or (load[right] == load[left] and right < left):
                low += 1
        above, below = heap[place], heap[low]
        if load[below] > load[above] or (load[below] == load[above] and below > above):
            break
        heap[place], heap[low] = below, above
        place = low


@compiled
def assign_clusters(
    order: Nodes, size: Nodes, heap: Nodes, load: NDArray[np.int64], capacity: int, chosen: Nodes
) -> None:
    """Choose the least loaded part for each cluster, in an order; -1 where it does not fit."""
    for number in range(len(order)):
        own, part = order[number], heap[0]
        if load[part] + size[own] <= capacity:
            chosen[own] = part
            load[part] += size[own]
            _sink(heap, load)


@compiled
def assign_nodes(
    cluster: Nodes, chosen: Nodes, load: NDArray[np.int64], capacity: int, part: Nodes
) -> None:
    """Give each node the part of its cluster, and pour clusters that do not fit into several.

    load: the nodes of clusters that fit, and then of all.
    """
    for node in range(len(cluster)):
        own = chosen[cluster[node]]
        if own >= 0:
            part[node] = own
            continue
        into = -2 - own
        if own == -1 or load[into] >= capacity:
            into = np.int64(np.argmin(load))
            chosen[cluster[node]] = -2 - into
        load[into] += 1
        part[node] = into


@compiled
def number_clusters(cluster: Nodes, number: Nodes) -> int:
    """Number clusters in the order of their first nodes; return how many there are."""
    count = 0
    for node in range(len(cluster)):
        own = cluster[node]
        if number[own] < 0:
            number[own] = count
            count += 1
        cluster[node] = number[own]
    return count


@compiled
def add_neighbours(
    source: Nodes,
    target: Nodes,
    first: int,
    last: int,
    place: NDArray[np.int64],
    neighbours: Nodes,
    directed: bool,
) -> None:
    """Write the neighbours of nodes from `first` to before `last`, each at its node's next place.

    Those of directed edges are their targets.
    """
    for edge in range(len(source)):
        one, other = source[edge], target[edge]
        if one == other:
            continue
        if first <= one < last:
            neighbours[place[one - first]] = other
            place[one - first] += 1
        if not directed and first <= other < last:
            neighbours[place[other - first]] = one
            place[other - first] += 1


@inlined
def _noise(seed: int, node: int, part: int) -> float:
    """Return Gumbel noise, the same for the same numbers: the greatest sum is a fair draw."""
    mixed = (np.uint64(seed) * _MIX + np.uint64(node)) * _MIX + np.uint64(part)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_MORE
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX
    share = (np.float64(mixed >> np.uint64(11)) + 0.5) * _TO_SHARE
    found: float = -np.log(-np.log(share))
    return found


class Moves(NamedTuple):
    """What nodes are moved between, and how.

    part: that of each node. load: the nodes of each part (k). price: what a node more in a part
    costs, in edges. heat: how much noise a choice has. counts, near (k + 1): zeros, and room for
    parts.
    """

    part: Any
    load: Any
    capacity: int
    price: float
    heat: float
    seed: int
    counts: Any
    near: Any


@compiled
def move_nodes(
    first: int,
    last: int,
    degree: Nodes,
    neighbours: Nodes,
    at: int,
    moves: Moves,
    emptiest: int,
) -> tuple[int, int, int]:
    """Move nodes to the parts of most of their neighbours, or to an empty one, where there is room.

    emptiest: the part that was found last. Returns that, the place behind the neighbours of the
    last node, and how many nodes were moved.
    """
    part, load, counts, near = moves.part, moves.load, moves.counts, moves.near
    moved = 0
    # The emptiest part is looked for so seldom that this takes a few steps a node.
    period = max(64, len(load) // 4)
    for node in range(first, last):
        if node % period == 0:
            emptiest = int(np.argmin(load))
        end = at + degree[node]
        own = part[node]
        near[0] = own
        count = 1
        for place in range(at, end):
            other = part[neighbours[place]]
            if counts[other] == 0 and other != own:
                near[count] = other
                count += 1
            counts[other] += 1
        if counts[emptiest] == 0 and own != emptiest and at < end:
            near[count] = emptiest
            count += 1
        at = end
        if count > 1:
            best, most = own, -np.inf
            for number in range(count):
                other = near[number]
                # Its own part holds the node already.
                nodes = load[other] - (other == own)
                if nodes >= moves.capacity:
                    continue
                worth = counts[other] - moves.price * nodes
                if moves.heat > 0:
                    worth += moves.heat * _noise(moves.seed, node, other)
                if worth > most:
                    best, most = other, worth
            if best != own:
                part[node] = best
                load[own] -= 1
                load[best] += 1
                moved += 1
        for number in range(count):
            counts[near[number]] = 0
    return emptiest, at, moved


@compiled
def count_edges(
    source: Nodes,
    target: Nodes,
    part: Nodes,
    edges: NDArray[np.int64],
    cut: NDArray[np.int64],
    directed: bool,
) -> int:
    """Count the edges that each part keeps, and those of them that are cut; return how many are.

    A directed edge is kept where its target is.
    """
    count = 0
    for edge in range(len(source)):
        here, there = part[source[edge]], part[target[edge]]
        edges[there] += 1
        if here != there:
            count += 1
            edges[here] += not directed
            cut[here] += not directed
            cut[there] += 1
    return count


@compiled
def count_copies(
    first: int,
    last: int,
    degree: Nodes,
    neighbours: Nodes,
    at: int,
    part: Nodes,
    seen: Nodes,
    copies: NDArray[np.int64],
) -> int:
    """Count for each part the nodes of others that it has a copy of, as it has their neighbours.

    seen (k): the last node that each part was seen at. Returns the place behind the neighbours of
    the last node.
    """
    for node in range(first, last):
        seen[part[node]] = node
        for place in range(at, at + degree[node]):
            other = part[neighbours[place]]
            if seen[other] != node:
                seen[other] = node
                copies[other] += 1
        at += degree[node]
    return at
