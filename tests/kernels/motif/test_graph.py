"""The temporal graph: its order, its lists and its table of pairs, beside plain Python."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydb.errors import NotSupportedError
from raydb.kernels.motif import graph as graph_module
from raydb.kernels.motif.graph import TemporalGraph, build_graph, pair_table
from raydb.kernels.motif.loops import graph_loops
from raydb.kernels.motif.shape import Motif

Edge = tuple[int, int, int]

MOST, LEAST = 2**63 - 1, -(2**63)


def build(edges: list[Edge], **options: Any) -> TemporalGraph:
    columns = np.array(edges, np.int64).reshape(-1, 3).T
    return build_graph(*columns, **options)


@numba.njit
def find_pair(table, source, target):  # type: ignore[no-untyped-def]
    return graph_loops.find_pair(table, source, target)


def pair_list(graph: TemporalGraph, source: int, target: int) -> list[int]:
    pair = find_pair(pair_table(graph), source, target)
    if pair < 0:
        return []
    return graph.pair_edges[graph.pair_offsets[pair] : graph.pair_offsets[pair + 1]].tolist()


def check(graph: TemporalGraph, edges: list[Edge]) -> None:
    kept = [(time, row) for row, (source, target, time) in enumerate(edges) if source != target]
    rows = [row for _, row in sorted(kept)]
    assert graph.row.tolist() == rows
    found = list(
        zip(graph.source.tolist(), graph.target.tolist(), graph.time.tolist(), strict=True)
    )
    assert found == [edges[row] for row in rows]
    assert graph.vertex_count == max((max(edge[:2]) for edge in found), default=-1) + 1
    for vertex in range(graph.vertex_count):
        for end, offsets, listed in (
            (0, graph.out_offsets, graph.out_edges),
            (1, graph.in_offsets, graph.in_edges),
        ):
            part = listed[offsets[vertex] : offsets[vertex + 1]].tolist()
            assert part == [number for number, edge in enumerate(found) if edge[end] == vertex]
    pairs = {edge[:2] for edge in found}
    assert graph.pair_count == len(pairs)
    for source in range(graph.vertex_count + 1):
        for target in range(graph.vertex_count + 1):
            expected = [n for n, edge in enumerate(found) if edge[:2] == (source, target)]
            assert pair_list(graph, source, target) == expected
    assert graph.loop_count == len(edges) - len(kept)
    assert graph.duplicate_count == len(found) - len(set(found))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 6),
            st.integers(0, 6),
            st.one_of(st.integers(0, 5), st.sampled_from([LEAST, MOST, -1])),
        ),
        max_size=40,
    ),
    st.sampled_from([1, 2]),
)
def test_lists_are_those_of_plain_python(edges: list[Edge], threads: int) -> None:
    check(build(edges, threads=threads), edges)


def test_many_blocks() -> None:
    rng = np.random.default_rng(3)
    edges = [tuple(edge) for edge in rng.integers(0, [40, 30, 5000], (3000, 3)).tolist()]
    with mock.patch.object(graph_module, "_BLOCK_EDGES", 100):
        check(build(edges), edges)


def test_rows_are_the_callers() -> None:
    columns = np.array([[0, 1, 5], [1, 1, 4], [1, 2, 3]], np.int64).T
    graph = build_graph(*columns, row=np.array([7, 8, 2**40]))
    assert graph.row.tolist() == [2**40, 7]
    assert graph.row.dtype == np.int64
    assert build_graph(*columns, row=np.array([7, 8, 9])).row.dtype == np.uint32


def test_size() -> None:
    rng = np.random.default_rng(4)
    graph = build_graph(*rng.integers(0, 1000, (3, 100_000)))
    assert graph.size_bytes <= 32 * graph.edge_count + 10.7 * graph.pair_count + 8 * 1000 + 64
    with pytest.raises(ValueError, match="read-only"):
        graph.time[0] = 1


def test_too_many_edges() -> None:
    edge = np.zeros(1, np.int64)
    with (
        mock.patch.object(graph_module, "MAX_GRAPH_EDGES", 2),
        pytest.raises(NotSupportedError, match="holds up to 2 edges, not 3"),
    ):
        build_graph(np.repeat(edge, 3), np.repeat(edge, 3), np.repeat(edge, 3))


def test_keep_going_stops_a_build() -> None:
    def stop(done: float) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build([(0, 1, 2), (1, 0, 1)], keep_going=stop)


@pytest.mark.parametrize(
    ("vertex_count", "edges", "groups"),
    [
        (4, ((0, 1), (2, 3)), (0, 1)),
        (2, ((0, 1), (1, 1)), (0, 1)),
        (3, ((0, 1), (1, 0)), (0, 1)),
        (2, ((0, 1), (1, 0)), (1, 0)),
        (2, ((0, 1), (1, 0)), (0, 2)),
        (2, ((0, 1),) * 13, tuple(range(13))),
    ],
)
def test_a_motif_is_connected_and_small(
    vertex_count: int, edges: tuple[tuple[int, int], ...], groups: tuple[int, ...]
) -> None:
    with pytest.raises(AssertionError):
        Motif(vertex_count, edges, groups)


def test_is_total() -> None:
    assert Motif(2, ((0, 1), (1, 0)), (0, 1)).is_total
    assert not Motif(2, ((0, 1), (1, 0)), (0, 0)).is_total
