"""Exact counts beside every match found by trying everything, and beside Raphtory's."""

from __future__ import annotations

import itertools
import math
import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_matches import (
    Edge,
    find_matches,
    graph_of,
    motif_of,
    random_edges,
    random_motif,
)

from raydb.errors import DataError
from raydb.kernels.motif.exact import ExactCount, count_exact, enumerate_instances
from raydb.kernels.motif.graph import build_graph
from raydb.kernels.motif.shape import TIES, Motif

if TYPE_CHECKING:
    from raydb.kernels.motif.shape import Ties

SEED = 9


def check(edges: list[Edge], motif: Motif, delta: int, ties: Ties, threads: int = 1) -> int:
    """Compare the count and the list of matches with those of plain Python."""
    expected = find_matches(edges, motif, delta, ties)
    graph = graph_of(edges)
    found = count_exact(graph, motif, delta, ties, threads=threads)
    assert (found.count, found.finished) == (len(expected), True), (edges, motif, delta, ties)
    numbers, vertices = enumerate_instances(graph, motif, delta, ties, len(expected) + 1)
    listed = zip(map(tuple, numbers.tolist()), map(tuple, vertices.tolist()), strict=True)
    assert sorted(listed) == sorted(expected)
    return len(expected)


@pytest.mark.parametrize("ties", TIES)
def test_random_motifs_in_random_graphs(ties: Ties) -> None:
    counts = []
    for seed in range(500):
        rng = np.random.default_rng([SEED, seed, ties == "strict"])
        motif = random_motif(rng)
        edges = random_edges(rng, int(rng.integers(1, 22)))
        print(f"seed {[SEED, seed, ties == 'strict']}: {motif} in {edges}")
        counts.append(check(edges, motif, int(rng.integers(0, 60)), ties, 1 + seed % 2))
    assert sum(count > 0 for count in counts) > 125


@settings(max_examples=150)
@given(st.data())
def test_any_motif_in_any_graph(data: st.DataObject) -> None:
    vertices = st.integers(0, data.draw(st.integers(1, 4)))
    edges = data.draw(st.lists(st.tuples(vertices, vertices, st.integers(0, 8)), max_size=14))
    motif = random_motif(np.random.default_rng(data.draw(st.integers(0, 2**32))))
    check(edges, motif, data.draw(st.integers(0, 9)), data.draw(st.sampled_from(TIES)))


@pytest.mark.parametrize(
    "text",
    [
        *("ab", "ab ba", "ab ba ab", "ab ab ab", "ab ba ab ba ab"),
        *("ab ac ad", "ba ca da", "ab ac ad ae", "ab bc ad ca"),
        *("ab bc ca", "ab bc cd da", "ab bc cd de ea", "ab ac bc ad bd cd"),
        *("ab bc ab", "ab ca bc ab ca", "ax ay bx by", "ab ac bd cd"),
        *("ab bc cd", "ab bc cd de", "ab bc cd de ef", "ab ac cd de ef", "ab bc bx cd de"),
        *("ba bc cd de", "bc ab cd de", "ab bc cd ax de", "ab cb cd de", "ab bc {cd de}"),
        *("{ab ac}", "{ab ab}", "{ab ba} ab", "ab {bc bd}", "ab {bc bd} {ca da}", "{ab ab ab} ba"),
        *("ab {bc bc} ca", "{ab bc ca}", "ab {bc ca} ab", "ab {ba ba} {ab ab}"),
    ],
)
@pytest.mark.parametrize("ties", TIES)
def test_shapes(text: str, ties: Ties) -> None:
    motif = motif_of(text)
    total = 0
    for seed, (vertices, times) in enumerate([(3, 12), (4, 30), (5, 40)]):
        print(f"seed {[SEED, seed]}")
        rng = np.random.default_rng([SEED, seed])
        count = 24 if len(motif.edges) < 6 else 18
        drawn = rng.integers(0, [vertices, vertices, times], (count, 3)).tolist()
        edges = [tuple(edge) for edge in drawn]
        # One match at least, whose vertices are the motif's.
        edges += [(*edge, group) for edge, group in zip(motif.edges, motif.groups, strict=True)]
        total += check(edges, motif, times, ties, 2)
    assert total >= 3


@pytest.mark.parametrize("text", ["ab bc cd de", "ab ac cd de ef"])
def test_ends_of_paths_at_busy_vertices(text: str) -> None:
    """Counts of the last edges beside the list, which binds every edge."""
    rng = np.random.default_rng([SEED, len(text)])
    # Two vertices have dozens of edges within delta, so that taken ones are looked up by pair.
    ends = rng.integers(0, 12, (2, 500))
    ends[0, ::4] = rng.integers(0, 2, 125)
    ends[1, 1::4] = rng.integers(0, 2, 125)
    graph = build_graph(*ends, rng.integers(0, 330, 500))
    for ties in TIES:
        found = count_exact(graph, motif_of(text), 100, ties, threads=2)
        numbers, _ = enumerate_instances(graph, motif_of(text), 100, ties, 10**6)
        assert found.count == len(numbers)
        assert found.count > 10**4


def test_equal_times() -> None:
    edges = [(0, 1, 5), (1, 2, 5), (2, 0, 5), (2, 0, 6)]
    motif = motif_of("ab bc ca")
    assert check(edges, motif, 10, "strict") == 0
    assert check(edges, motif, 10, "index") == 2
    # No order is asked of the edges of a group: equal times are as good as any.
    assert check(edges, motif_of("{ab bc} ca"), 10, "strict") == 1
    # A triangle is matched in three rotations.
    assert check(edges, motif_of("{ab bc ca}"), 0, "strict") == 3


def test_duplicates_are_edges_of_their_own() -> None:
    edges = [(0, 1, 1), (0, 1, 1), (1, 0, 2)]
    assert check(edges, motif_of("ab ba"), 1, "strict") == 2
    assert check(edges, motif_of("ab ab"), 1, "strict") == 0
    assert check(edges, motif_of("ab ab"), 1, "index") == 1
    assert check(edges, motif_of("{ab ab}"), 1, "strict") == 2


def test_delta_is_inclusive_and_does_not_overflow() -> None:
    edges = [(0, 1, 0), (1, 0, 7)]
    motif = motif_of("ab ba")
    assert [check(edges, motif, delta, "strict") for delta in (0, 6, 7, 8)] == [0, 0, 1, 1]
    most = 2**63 - 1
    assert check([(0, 1, most - 5), (1, 0, most)], motif, most, "strict") == 1
    assert check([(0, 1, -most - 1), (1, 0, -most)], motif, 1, "strict") == 1


def test_empty_graph() -> None:
    for edges in ([], [(1, 1, 5)]):
        graph = graph_of(edges)
        assert count_exact(graph, motif_of("ab"), 1, "strict") == ExactCount(0, True, 0)
        numbers, vertices = enumerate_instances(graph, motif_of("ab bc"), 1, "strict", 5)
        assert (numbers.shape, vertices.shape) == ((0, 2), (0, 3))


def busy_graph(count: int) -> list[Edge]:
    rng = np.random.default_rng(SEED)
    return [tuple(edge) for edge in rng.integers(0, [60, 60, 4 * count], (count, 3)).tolist()]


def test_threads_and_parts_do_not_matter() -> None:
    graph = graph_of(busy_graph(4000))
    for text in ("ab bc cd da", "ab ac {bd cd}", "ab ba ab"):
        found = {count_exact(graph, motif_of(text), 400, "index", threads=n) for n in (1, 2, 5)}
        assert len(found) == 1
        assert found.pop().finished


def test_a_budget_ends_a_count() -> None:
    graph = graph_of(busy_graph(4000))
    whole = count_exact(graph, motif_of("ab bc cd da"), 4000, "strict")
    assert whole.finished
    cut = count_exact(graph, motif_of("ab bc cd da"), 4000, "strict", whole.steps // 4)
    assert not cut.finished
    assert 0 < cut.count < whole.count
    assert whole.steps // 4 <= cut.steps < whole.steps // 2
    again = count_exact(graph, motif_of("ab bc cd da"), 4000, "strict", whole.steps + 1)
    assert again == whole


def test_a_limit_ends_a_list() -> None:
    graph = graph_of(busy_graph(2000))
    motif = motif_of("ab bc ca")
    count = count_exact(graph, motif, 500, "strict").count
    some, _ = enumerate_instances(graph, motif, 500, "strict", 7)
    everything, vertices = enumerate_instances(graph, motif, 500, "strict", count + 1)
    assert len(everything) == count
    assert some.tolist() == everything[:7].tolist()
    assert len(enumerate_instances(graph, motif, 500, "strict", 0)[0]) == 0
    for place, (source, target) in enumerate(motif.edges):
        assert graph.source[everything[:, place]].tolist() == vertices[:, source].tolist()
        assert graph.target[everything[:, place]].tolist() == vertices[:, target].tolist()


def test_keep_going_is_told_and_stops() -> None:
    graph = graph_of(busy_graph(30_000))
    motif = motif_of("ab bc cd de ef fa")
    told: list[float] = []
    threads = threading.active_count()

    def stop_later(done: float) -> None:
        told.append(done)
        if len(told) == 3:
            raise KeyboardInterrupt

    count_exact(graph_of(busy_graph(30)), motif, 10**9, "strict")  # What it runs is compiled.
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        count_exact(graph, motif, 10**9, "strict", keep_going=stop_later)
    assert time.monotonic() - begin < 20
    assert told == sorted(told)
    assert 0 <= told[0] <= told[-1] < 1
    assert threading.active_count() == threads
    told.clear()
    with pytest.raises(KeyboardInterrupt):
        enumerate_instances(graph, motif, 10**9, "strict", 10**7, keep_going=stop_later)


def test_counts_beyond_int64() -> None:
    """Between two vertices C(n, k) choices are one partial match, and their sum is exact."""
    edges = [(0, 1, moment) for moment in range(400)]
    motif = motif_of(" ".join(["ab"] * 9))
    assert count_exact(graph_of(edges), motif, 400, "strict").count == math.comb(400, 9)
    assert math.comb(800, 9) > 2**63
    wide = [(0, 1, moment) for moment in range(800)]
    assert count_exact(graph_of(wide), motif, 800, "strict").count == math.comb(800, 9)
    huge = [(0, 1, moment) for moment in range(3000)]
    with pytest.raises(DataError, match="2\\*\\*62"):
        count_exact(graph_of(huge), motif, 3000, "strict")


def three_edge_motifs() -> list[Motif]:
    """Return Raphtory's 40 motifs of three edges, in the order of its list."""
    texts = []
    # A star's edges lead into its centre 'i' or out of it; its leaves take turns.
    for leaves in ("jjk", "jkj", "jkk", "jjj"):
        for ways in itertools.product("IO", repeat=3):
            pairs = zip(ways, leaves, strict=True)
            texts.append(" ".join(leaf + "i" if way == "I" else "i" + leaf for way, leaf in pairs))
    texts += ["ij kj ik", "ij kj ki", "ij jk ik", "ij jk ki"]
    texts += ["ij ki jk", "ij ki kj", "ij ik jk", "ij ik kj"]
    return [motif_of(text) for text in texts]


@pytest.mark.parametrize("seed", range(3))
def test_raphtory_counts_the_same(seed: int) -> None:
    """Raphtory orders equal times by their place in the input, and counts two-vertex motifs twice.

    Once from either vertex: the motif that the other one sees is listed too.
    """
    pytest.importorskip("raphtory", reason="Raphtory is not installed")
    from raphtory import Graph, algorithms

    print(f"seed {[SEED, seed]}")
    rng = np.random.default_rng([SEED, seed])
    drawn = rng.integers(0, [12, 12, [300, 3000, 40][seed]], (600, 3)).tolist()
    edges = [(one, other, moment) for one, other, moment in drawn if one != other]
    peer = Graph()
    for one, other, moment in edges:
        peer.add_edge(moment, one, other)
    expected = algorithms.global_temporal_three_node_motif(peer, 30)
    graph = graph_of(edges)
    found = [count_exact(graph, motif, 30, "index").count for motif in three_edge_motifs()]
    assert found == list(expected)
    assert sum(found) > 0
