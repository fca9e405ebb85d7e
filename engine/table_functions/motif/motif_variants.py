"""The plain motifs that a written one stands for: directed edges between different vertices.

    'a--b, b->c'                 a->b, b->c and b->a, b->c: an instance is of one of them
    'a->b, b->c', vertices any   a->b, b->c and a->b, b->a, where c is a

So the count of a written motif is the sum of theirs, and an estimate is drawn from all of them.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from raydb.errors import NotSupportedError
from raydb.kernels.motif.shape import AbsentEdge, Motif
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.table_functions.motif.motif_text import WrittenMotif

# Each takes a search of its own.
MAX_VARIANTS = 64


@dataclass(frozen=True, slots=True)
class Variant:
    """A plain motif; its edges are those of the written one, in their order.

    vertices: the plain motif's vertex for each written one. flipped: the edges that lead from the
    vertex that is written last.
    """

    motif: Motif
    vertices: tuple[int, ...]
    flipped: frozenset[int] = frozenset()
    absent: tuple[AbsentEdge, ...] = ()

    def place_of(self, vertex: int) -> tuple[int, bool]:
        """Return an edge that has a written vertex, and whether it leads from it."""
        return self.places_of(vertex)[0]

    def places_of(self, vertex: int) -> list[tuple[int, bool]]:
        """Return every edge that has a written vertex, and whether it leads from it."""
        own = self.vertices[vertex]
        return [(edge, ends[0] == own) for edge, ends in enumerate(self.motif.edges) if own in ends]


def variants_of(written: WrittenMotif, function: str, *, may_repeat: bool) -> tuple[Variant, ...]:
    """Return the plain motifs that a written one stands for.

    may_repeat: vertices that no edge joins may be the same one.
    Raises NotSupportedError for more than MAX_VARIANTS.
    """
    found: list[Variant] = []
    motif = written.motif
    apart = {frozenset(edge) for edge in motif.edges}
    undirected = sorted(written.undirected)
    own = tuple(range(motif.vertex_count))
    for vertices in _merged(motif.vertex_count, apart) if may_repeat else [own]:
        for ways in product((False, True), repeat=len(undirected)):
            if len(found) == MAX_VARIANTS:
                raise NotSupportedError(
                    f"motif of {function}(): edges either way and vertices that may be the same "
                    f"make it more than {MAX_VARIANTS} motifs, which are counted one by one"
                )
            flipped = frozenset(
                edge for edge, turned in zip(undirected, ways, strict=True) if turned
            )
            edges = tuple(
                (vertices[target], vertices[source])
                if edge in flipped
                else (vertices[source], vertices[target])
                for edge, (source, target) in enumerate(motif.edges)
            )
            plain = Motif(max(vertices) + 1, edges, motif.groups)
            found.append(Variant(plain, vertices, flipped, _absent(written, vertices)))
    return tuple(found)


def _absent(written: WrittenMotif, vertices: tuple[int, ...]) -> tuple[AbsentEdge, ...]:
    """Return the absent edges; one from a vertex to itself is never there."""
    ends: dict[int | None, int | None] = {None: None, **dict(enumerate(vertices))}
    found = [AbsentEdge(ends[e.source], ends[e.target], e.after) for e in written.absent]
    return tuple(edge for edge in found if edge.source != edge.target)


def _merged(count: int, apart: set[frozenset[int]]) -> Iterator[tuple[int, ...]]:
    """Yield each way to make vertices the same that are not apart: a number for each, from 0 on."""

    def extend(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        vertex = len(numbers)
        if vertex == count:
            yield numbers
            return
        for number in range(max(numbers, default=-1), -1, -1):
            same = [other for other, own in enumerate(numbers) if own == number]
            if not any(frozenset((vertex, other)) in apart for other in same):
                yield from extend((*numbers, number))
        yield from extend((*numbers, max(numbers, default=-1) + 1))

    yield from sorted(extend(()), key=lambda numbers: -max(numbers))
