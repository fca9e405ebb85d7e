"""The spanning trees of a motif, each rooted at one of its edges, tightest first.

A sampler of tree instances keeps the time order of a tree edge and its parent only. The fewer
orders of all tree edges these pairs leave open, the fewer instances the tree has, and the fewer
samples are needed (TIMEST, sections 2.1 and 4.5).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.kernels.motif.shape import Motif


@dataclass(frozen=True)
class RootedTree:
    """A spanning tree of a motif, every edge after its parent and the root first.

    `edges` are numbers of motif edges. The tree edge at place i hangs from the one at place
    `parents[i]`, -1 for the root, which it meets at the motif vertex `joints[i]`, -1 for the root.
    """

    edges: tuple[int, ...]
    parents: tuple[int, ...]
    joints: tuple[int, ...]

    def children(self, place: int) -> list[int]:
        """Return the places of the edges that hang from one."""
        return [child for child, parent in enumerate(self.parents) if parent == place]

    def is_leaf(self, place: int) -> bool:
        """Return whether no edge hangs from this one."""
        return place not in self.parents


def spanning_trees(motif: Motif) -> list[tuple[int, ...]]:
    """Return all spanning trees as ascending edge numbers, in ascending order.

    Edges between the same vertices are different ones, so trees may differ in nothing else. A motif
    of 8 vertices and 12 edges has at most 792.
    """
    return list(_grow(motif, 0, (), tuple(range(motif.vertex_count))))


def _grow(
    motif: Motif, edge: int, chosen: tuple[int, ...], parts: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Take or leave each edge from one on; `parts` numbers the connected part of each vertex."""
    missing = motif.vertex_count - 1 - len(chosen)
    if missing == 0:
        yield chosen
        return
    if len(motif.edges) - edge < missing:
        return
    source, target = motif.edges[edge]
    one, other = parts[source], parts[target]
    if one != other:
        joined = tuple(one if part == other else part for part in parts)
        yield from _grow(motif, edge + 1, (*chosen, edge), joined)
    yield from _grow(motif, edge + 1, chosen, parts)


def root_tree(motif: Motif, tree: tuple[int, ...], root: int) -> RootedTree:
    """Return a spanning tree hung from one of its edges, level by level, but for the last edge.

    That is the leaf to whose vertex most of the motif's edges lead, as all of them can be looked at
    together. Example: of the path a->b, b->c, c->d hung from edge 1, the edges are (1, 0, 2).
    """
    edges, parents, joints = [root], [-1], [-1]
    reached = set(motif.edges[root])
    place = 0
    while place < len(edges):
        for vertex in motif.edges[edges[place]]:
            if vertex == joints[place]:
                continue
            for edge in tree:
                if edge not in edges and vertex in motif.edges[edge]:
                    edges.append(edge)
                    parents.append(place)
                    joints.append(vertex)
                    reached.update(motif.edges[edge])
        place += 1
    assert len(edges) == len(tree)
    assert len(reached) == motif.vertex_count

    def degree(place: int) -> int:
        far = sum(motif.edges[edges[place]]) - joints[place]
        return sum(far in ends for ends in motif.edges)

    leaves = [place for place in range(1, len(edges)) if place not in parents]
    last = max(leaves, key=lambda place: (degree(place), place), default=0)
    order = [*(place for place in range(len(edges)) if place != last), last]
    return RootedTree(
        tuple(edges[place] for place in order),
        tuple(order.index(parents[place]) if place else -1 for place in order),
        tuple(joints[place] for place in order),
    )


def open_orders(motif: Motif, tree: RootedTree) -> int:
    """Return in how many orders the tree's edges may come when only parents bind their children.

    1 is a tree whose instances all have the motif's order. Edges of one group bind each other to
    nothing, as in the motif itself.
    """
    count = len(tree.edges)
    groups = [motif.groups[edge] for edge in tree.edges]
    earlier = [0] * count  # per place the set of places that come before it
    for place, parent in enumerate(tree.parents):
        if parent >= 0 and groups[place] > groups[parent]:
            earlier[place] |= 1 << parent
        elif parent >= 0 and groups[place] < groups[parent]:
            earlier[parent] |= 1 << place
    orders = [0] * (1 << count)
    orders[0] = 1
    for done in range(1 << count):
        for place in range(count):
            if not done >> place & 1 and earlier[place] & ~done == 0:
                orders[done | 1 << place] += orders[done]
    return orders[-1]


def looseness(motif: Motif, tree: RootedTree) -> int:
    """Return how far apart in time order the tree's adjacent edges are, summed over the pairs.

    TIMEST, algorithm 8: two edges that meet at a vertex add the number of groups between them.
    """
    meeting = (
        (one, other)
        for one, other in combinations(tree.edges, 2)
        if set(motif.edges[one]) & set(motif.edges[other])
    )
    return sum(max(abs(motif.groups[one] - motif.groups[other]) - 1, 0) for one, other in meeting)


def ranked_trees(motif: Motif) -> list[RootedTree]:
    """Return every spanning tree hung from each of its edges, tightest first.

    Trees rank by the orders that they leave open, then by looseness, then by how many of their
    edges have children, each of which costs an array of weights, then by edge numbers.
    """
    trees = [
        root_tree(motif, tree, root) for tree in spanning_trees(motif) for root in sorted(tree)
    ]

    def rank(tree: RootedTree) -> tuple[int, int, int, tuple[int, ...]]:
        inner = len(set(tree.parents))
        return open_orders(motif, tree), looseness(motif, tree), inner, tree.edges

    return sorted(trees, key=rank)
