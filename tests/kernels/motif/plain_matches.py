"""Matches of a motif found by trying everything: slow, short, and written from the definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.motif.graph import TemporalGraph, build_graph
from raydb.kernels.motif.shape import Motif

if TYPE_CHECKING:
    from raydb.kernels.motif.shape import Ties

# (source, target, time), in the order of the input.
Edge = tuple[int, int, int]
# The edge numbers of a match in the order of time, and its vertices, in the motif's order.
Match = tuple[tuple[int, ...], tuple[int, ...]]


def graph_of(edges: list[Edge]) -> TemporalGraph:
    return build_graph(*np.array(edges, np.int64).reshape(-1, 3).T)


def motif_of(text: str) -> Motif:
    """Return the motif of 'ab bc {ca cb}': each edge two letters, groups in braces."""
    names: dict[str, int] = {}
    edges, groups = [], []
    group, is_open = -1, False
    for word in text.split():
        group += not is_open
        is_open = (is_open or word.startswith("{")) and not word.endswith("}")
        source, target = word.strip("{}")
        edges.append((names.setdefault(source, len(names)), names.setdefault(target, len(names))))
        groups.append(group)
    return Motif(len(names), tuple(edges), tuple(groups))


def find_matches(edges: list[Edge], motif: Motif, delta: int, ties: Ties) -> list[Match]:
    """Return all matches: every choice of edges that keeps every rule."""
    kept = [edge for edge in sorted(edges, key=lambda edge: edge[2]) if edge[0] != edge[1]]
    found: list[Match] = []

    def precedes(one: int, other: int) -> bool:
        return one < other if ties == "index" else kept[one][2] < kept[other][2]

    def extend(chosen: tuple[int, ...], mapped: dict[int, int]) -> None:
        count = len(chosen)
        times = [kept[edge][2] for edge in chosen]
        if count and max(times) - min(times) > delta:
            return
        if count == len(motif.edges):
            found.append((chosen, tuple(mapped[v] for v in range(motif.vertex_count))))
            return
        source, target = motif.edges[count]
        for edge, (one, other, _) in enumerate(kept):
            extended = {**mapped, source: one, target: other}
            if (
                edge not in chosen
                and mapped.get(source, one) == one
                and mapped.get(target, other) == other
                and len(set(extended.values())) == len(extended)
                and all(
                    precedes(earlier, edge)
                    for place, earlier in enumerate(chosen)
                    if motif.groups[place] < motif.groups[count]
                )
            ):
                extend((*chosen, edge), extended)

    extend((), {})
    return found


def random_motif(rng: np.random.Generator, *, most_vertices: int = 5, most_edges: int = 6) -> Motif:
    """Return a connected motif; every other one is in a total order."""
    while True:
        vertex_count = int(rng.integers(2, most_vertices + 1))
        groups = [0]
        step = rng.random() if rng.random() < 0.5 else 1.0
        for _ in range(int(rng.integers(0, most_edges))):
            groups.append(groups[-1] + int(rng.random() < step))
        pairs = [rng.choice(vertex_count, 2, replace=False) for _ in groups]
        names: dict[int, int] = {}
        edges = tuple(
            (names.setdefault(int(one), len(names)), names.setdefault(int(other), len(names)))
            for one, other in pairs
        )
        try:
            return Motif(len(names), edges, tuple(groups))
        except AssertionError:
            continue


def random_edges(rng: np.random.Generator, count: int) -> list[Edge]:
    """Return edges among few vertices at few times: ties, duplicates and self-loops among them."""
    vertices = int(rng.integers(2, 7))
    times = int(rng.choice([2, 10, 100]))
    return [
        tuple(edge) for edge in rng.integers(0, [vertices, vertices, times], (count, 3)).tolist()
    ]
