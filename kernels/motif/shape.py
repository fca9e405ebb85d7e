"""The motif: a small directed pattern whose edges happen one after the other.

    'a->b, b->c, c->a'           Motif(3, ((0, 1), (1, 2), (2, 0)), (0, 1, 2))
    'a->b, {b->c, b->d}, c->a'   Motif(4, ((0, 1), (1, 2), (1, 3), (2, 0)), (0, 1, 1, 2))

A match maps the vertices to different vertices of a graph, and each edge to an edge of the graph
between them, no two to the same one. Edges of a later group happen after those of an earlier
one; edges of one group happen in any order. Two ways to match the same edges of the graph are two
matches: {b->c, b->d} has two for each pair of edges from one vertex to two others. Paranjape,
Benson and Leskovec, Motifs in Temporal Networks (WSDM 2017), has groups of one edge.
"""

from __future__ import annotations

from typing import Literal

from raydb.values import dataclass

MAX_VERTICES, MAX_EDGES = 8, 12

# How edges of equal times are ordered: not at all, so that no match has both, or by their place
# in the input.
Ties = Literal["strict", "index"]
TIES: tuple[Ties, ...] = ("strict", "index")


@dataclass(frozen=True, slots=True)
class Motif:
    """A connected pattern of at most MAX_VERTICES vertices and MAX_EDGES edges.

    vertex_count: the vertices are 0 .. vertex_count - 1, each with an edge.
    edges: (source, target) of each edge, which differ, in the order of time.
    groups: the group of each edge, ascending from 0 without gaps; 0 .. e - 1 for a total order.
    """

    vertex_count: int
    edges: tuple[tuple[int, int], ...]
    groups: tuple[int, ...]

    def __post_init__(self) -> None:
        assert 2 <= self.vertex_count <= MAX_VERTICES, self.vertex_count
        assert 1 <= len(self.edges) == len(self.groups) <= MAX_EDGES, (self.edges, self.groups)
        assert {vertex for edge in self.edges for vertex in edge} == set(range(self.vertex_count))
        assert all(source != target for source, target in self.edges), self.edges
        assert list(self.groups) == sorted(self.groups), self.groups
        assert set(self.groups) == set(range(self.groups[-1] + 1)), self.groups
        assert is_connected(self.edges), self.edges

    @property
    def is_total(self) -> bool:
        """Whether every two edges are ordered."""
        return len(set(self.groups)) == len(self.groups)


@dataclass(frozen=True, slots=True)
class AbsentEdge:
    """An edge that a match does not have: from a vertex to another, None for any.

    after: the group that it would come after, in the window of delta where that is -1. It would
    come before the next group, or after the last one in the window of delta.
    """

    source: int | None
    target: int | None
    after: int


def is_connected(edges: tuple[tuple[int, int], ...]) -> bool:
    """Return whether some edges, whichever way they point, hang together."""
    reached = set(edges[0])
    left = list(edges[1:])
    while touching := [edge for edge in left if reached & set(edge)]:
        reached.update(vertex for edge in touching for vertex in edge)
        left = [edge for edge in left if edge not in touching]
    return not left
