"""Partitions of a graph that comes as a stream of edges: SPRING, and nodes moved after it.

    edges  ->  degrees  ->  clusters, each edge draws one end to the other (Hollocou et al.)
           ->  merged by their richest neighbours  ->  parts, largest clusters first
           ->  nodes moved to the parts of their neighbours, where there is room

Huang et al., "CATGNN: Cost-efficient and scalable distributed training for graph neural networks",
2024, section 4. The paper does not say how large clusters may become in the stream, and stops at
parts; the moves are ours. Beside the edges it holds 24 bytes a node and 32 a part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.graph.loops.partition_loops import (
    Moves,
    add_degrees,
    add_neighbours,
    add_to_clusters,
    assign_clusters,
    assign_nodes,
    count_clusters,
    count_copies,
    count_edges,
    join_clusters,
    merge_clusters,
    move_nodes,
    number_clusters,
    order_clusters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    Nodes = NDArray[np.int32]
    Batches = Sequence[tuple[Nodes, Nodes]]

# A cluster takes no more nodes once its volume is so much of the edges of a part. Without a bound
# all nodes come to few clusters.
_VOLUME_SHARE = 0.1

# A part at its capacity costs a node so many edges more than one of the mean size. At 1.5 facebook
# is cut as well, but git, whose degrees differ more, 4 % worse.
_PRICE = 3.0

# How much of an edge the noise of the first pass is; it falls to none in the last.
_HEAT = 0.6

# An interrupt is heard after so many nodes.
_STEP = 2**16

MOST_DEGREE = 2**31 - 1


class Question(NamedTuple):
    """What is asked: k parts whose load is `balance` at most, after so many passes of moves."""

    k: int
    balance: float
    refine: int
    seed: int


class Partition(NamedTuple):
    """The part and the cluster of each node, from 0 on, and how many clusters and moves there are.

    load: the nodes of each part.
    """

    part: Nodes
    cluster: Nodes
    cluster_count: int
    load: NDArray[np.int64]
    moved: int


class Stats(NamedTuple):
    """What parts have, each by part (k), and how many edges lie between two.

    copies: nodes of other parts that have a neighbour in the part. cut: those of its edges that
    have an end elsewhere.
    """

    nodes: NDArray[np.int64]
    copies: NDArray[np.int64]
    edges: NDArray[np.int64]
    cut: NDArray[np.int64]
    cut_count: int


class Edges:
    """Edges between nodes 0 to `node_count` - 1, read as often as wanted.

    batches: their ends. room: how many bytes of neighbours may be held at once. keep: puts such an
    array where it can stay, and returns it.
    """

    def __init__(
        self,
        batches: Batches,
        node_count: int,
        room: int = 2**62,
        keep: Callable[[Nodes], Nodes] = lambda neighbours: neighbours,
    ) -> None:
        self.batches, self.node_count = batches, node_count
        self._room, self._keep = room, keep

    def degrees(self, directed: bool = False) -> tuple[Nodes, int]:
        """Return the degree of each node without loops, and how many edges are none.

        Raises OverflowError where a node has more than MOST_DEGREE edges.
        """
        degree = np.zeros(self.node_count, np.int32)
        count = 0
        for source, target in self.batches:
            added = add_degrees(source, target, degree, directed)
            if added < 0:
                raise OverflowError
            count += added
        return degree, count

    def neighbours(
        self, degree: Nodes, tell: Callable[[float], None], directed: bool = False
    ) -> Iterator[tuple[int, int, Nodes]]:
        """Yield the neighbours of nodes: the first, the one behind the last, and theirs in turn.

        All edges are read for each array.
        """
        first = 0
        while first < self.node_count:
            last = self._end(degree, first)
            place = np.zeros(last - first, np.int64)
            np.cumsum(degree[first : last - 1], out=place[1:])
            count = int(place[-1]) + int(degree[last - 1])
            found = np.empty(count, np.int32)
            for number, (source, target) in enumerate(self.batches):
                add_neighbours(source, target, first, last, place, found, directed)
                done = first + (last - first) * (number + 1) / len(self.batches)
                tell(done / self.node_count)
            yield first, last, self._keep(found)
            first = last

    def _end(self, degree: Nodes, first: int) -> int:
        """Return the node to which neighbours, four bytes each, have room; one has in any case."""
        held, last = 0, first
        while last < self.node_count:
            some = np.cumsum(degree[last : last + _STEP], dtype=np.int64)
            fitting = int(np.searchsorted(some, self._room // 4 - held, "right"))
            last += fitting
            if fitting < len(some):
                break
            held += int(some[-1])
        return max(last, first + 1)


def capacity(node_count: int, k: int, balance: float) -> int:
    """Return how many nodes a part may have: `balance` times the share of an even division.

    >>> capacity(10, 4, 1.0), capacity(1000, 4, 1.05)
    (3, 262)
    """
    share = even_share(node_count, k)
    most = int(min(balance, k) * share)
    # A product that was rounded up would be beyond the balance.
    return most - (most > share and most / share > balance)


def even_share(node_count: int, k: int) -> int:
    """Return the nodes of the largest part where they are divided evenly."""
    return max(-(-node_count // k), 1)


def partition(
    edges: Edges, asked: Question, tell: Callable[[str, float], None] = lambda *_: None
) -> Partition:
    """Return a partition: no part has more than `capacity` nodes.

    `tell` is told steps, and which share of each is done. Raises OverflowError where a node has
    more than MOST_DEGREE edges.
    """
    most = min(capacity(edges.node_count, asked.k, asked.balance), max(edges.node_count, 1))
    cluster, size, degree = _clusters(edges, asked.k, most, tell)
    load = np.zeros(asked.k, np.int64)
    chosen = np.full(edges.node_count, -1, np.int32)
    heap = np.arange(asked.k, dtype=np.int32)
    assign_clusters(_by_size(size, is_descending=True), size, heap, load, most, chosen)
    del size
    part = np.empty(edges.node_count, np.int32)
    assign_nodes(cluster, chosen, load, most, part)
    chosen.fill(-1)
    cluster_count = number_clusters(cluster, chosen)
    del chosen
    moved = _refine(edges, degree, part, load, asked, most, tell) if asked.k > 1 else 0
    return Partition(part, cluster, cluster_count, load, moved)


def _clusters(
    edges: Edges, k: int, most: int, tell: Callable[[str, float], None]
) -> tuple[Nodes, Nodes, Nodes]:
    """Return each node's cluster, called by one of the nodes, how many are in each, and degrees."""
    degree, edge_count = edges.degrees()
    most_volume = int(_VOLUME_SHARE * edge_count / k)
    own = np.stack([np.arange(edges.node_count, dtype=np.int32), degree], axis=1)
    volume = degree.astype(np.int64)
    del degree
    richest = np.full((edges.node_count, 2), -1, np.int32)
    for number, (source, target) in enumerate(edges.batches):
        add_to_clusters(source, target, own, richest, volume, most_volume)
        tell("clusters", (number + 1) / len(edges.batches))
    del volume
    size = np.zeros(edges.node_count, np.int32)
    leader = np.full(edges.node_count, -1, np.int32)
    count_clusters(own, richest, size, leader)
    del richest
    cluster, degree = (np.ascontiguousarray(column) for column in own.T)
    del own
    parent = np.arange(edges.node_count, dtype=np.int32)
    merge_clusters(_by_size(size), cluster, degree, size, leader, parent, most)
    del leader
    join_clusters(cluster, parent)
    return cluster, size, degree


def _by_size(size: Nodes, is_descending: bool = False) -> Nodes:
    """Return the clusters with nodes by how many they have, and those of one size in order."""
    order = np.empty(np.count_nonzero(size), np.int32)
    order_clusters(size, np.zeros(int(size.max(initial=0)) + 2, np.int32), is_descending, order)
    return order


def _refine(
    edges: Edges,
    degree: Nodes,
    part: Nodes,
    load: NDArray[np.int64],
    asked: Question,
    most: int,
    tell: Callable[[str, float], None],
) -> int:
    """Move nodes between parts, pass after pass; return how often one was moved.

    A part costs more the fuller it is, so that some room is left in all; and the noise lets nodes
    out of where no single move is better. Both change what is chosen, not what is allowed.
    """
    spare = max(most - edges.node_count / asked.k, 1.0)
    counts, near = np.zeros(asked.k, np.int32), np.empty(asked.k + 1, np.int32)
    kept: list[tuple[int, int, Nodes]] = []
    moved = emptiest = 0
    for number in range(asked.refine):
        heat = _HEAT * (1 - (number + 1) / asked.refine)
        seed = asked.seed * asked.refine + number
        moves = Moves(part, load, most, _PRICE / spare, heat, seed, counts, near)
        if number == 0:
            blocks = edges.neighbours(degree, lambda share: tell("neighbours", share))
        else:
            blocks = iter(kept)
        for first, last, neighbours in blocks:
            if number == 0 and asked.refine > 1:
                kept.append((first, last, neighbours))
            at = 0
            for start in range(first, last, _STEP):
                end = min(start + _STEP, last)
                emptiest, at, some = move_nodes(start, end, degree, neighbours, at, moves, emptiest)
                moved += some
                tell("moves", (number + end / edges.node_count) / asked.refine)
    return moved


def partition_stats(
    edges: Edges,
    part: Nodes,
    k: int,
    directed: bool = False,
    tell: Callable[[str, float], None] = lambda *_: None,
) -> Stats:
    """Return what the parts of a partition have.

    directed: a part has copies of the sources of edges to its nodes alone, else of all neighbours.
    Raises OverflowError where a node has more than MOST_DEGREE edges.
    """
    kept, cut, copies = (np.zeros(k, np.int64) for _ in range(3))
    cut_count = 0
    for source, target in edges.batches:
        cut_count += count_edges(source, target, part, kept, cut, directed)
    degree, _ = edges.degrees(directed)
    seen = np.full(k, -1, np.int32)
    for first, last, neighbours in edges.neighbours(
        degree, lambda share: tell("copies", share), directed
    ):
        at = 0
        for start in range(first, last, _STEP):
            end = min(start + _STEP, last)
            at = count_copies(start, end, degree, neighbours, at, part, seen, copies)
            tell("copies", end / edges.node_count)
    nodes = np.bincount(part, minlength=k)
    return Stats(nodes, copies, kept, cut, cut_count)
