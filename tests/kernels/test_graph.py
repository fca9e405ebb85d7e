"""The graph over the vectors of an index: what walks find, and how it follows its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raydb.errors import OperationalError
from raydb.kernels.bvh.build_input import unwatched
from raydb.kernels.stored.described import Described
from raydb.kernels.stored.stored_arrays import StoredArrays
from raydb.kernels.vector.calibration_trace import Searched, exact_distances
from raydb.kernels.vector.exact_search import nearest, no_neighbours
from raydb.kernels.vector.graph_build import renumber, with_graph
from raydb.kernels.vector.graph_search import search_graph
from raydb.kernels.vector.graph_trace import trace_walks
from raydb.kernels.vector.ivf import build_ivf, from_arrays, to_arrays
from raydb.kernels.vector.ivf_merge import with_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Metric
    from raydb.kernels.vector.ivf import Ivf

    Vectors = NDArray[np.float32]

M, NEAR = 8, 24

# Those of numbers.
METRICS = ("l2", "cosine", "ip", "l1")


def clustered(seed: int, count: int, width: int, centers: int, spread: float) -> Vectors:
    """Return vectors around some centers, which are the same whatever the seed."""
    around = np.random.default_rng(7).normal(size=(centers, width))
    rng = np.random.default_rng(seed)
    made = around[rng.integers(0, centers, count)] + spread * rng.normal(size=(count, width))
    return made.astype(np.float32)


def build(vectors: Vectors, metric: Metric = "l2", lists: int | None = None) -> Ivf:
    count = len(vectors)
    lists = round(count**0.5) if lists is None else lists
    rows = np.arange(count, dtype=np.uint32)
    made = build_ivf(vectors, rows, count, lists, metric, 0)
    return with_graph(made, unwatched(), 2 * M, NEAR)


def farthest(vectors: Vectors, queries: Vectors, k: int, metric: Metric) -> NDArray[np.float64]:
    """Return the distance of the k-th nearest vector to each query (q, 1)."""
    found = no_neighbours(len(queries), k)
    nearest([(vectors, np.arange(len(vectors)))], queries, k, metric, found)
    return found.distances[:, -1:]


def recall(index: Ivf, vectors: Vectors, queries: Vectors, ef: int, k: int = 10) -> float:
    found = search_graph(index, queries, k, ef)
    assert all(len(set(rows)) == k for rows in found.rows.tolist())
    return float((found.distances <= farthest(vectors, queries, k, index.metric)).mean())


# Lists hold several clusters each, none of which leads on to another one.
@pytest.mark.long
@pytest.mark.parametrize(("centers", "spread"), [(1, 1.0), (100, 0.6), (100, 0.02), (400, 0.02)])
def test_a_walk_finds_what_is_near(centers: int, spread: float) -> None:
    vectors = clustered(1, 5000, 16, centers, spread)
    queries = clustered(2, 200, 16, centers, spread)
    assert recall(build(vectors), vectors, queries, 64) > 0.97


@pytest.mark.parametrize("metric", METRICS)
def test_each_metric_has_its_graph(metric: Metric) -> None:
    vectors, queries = clustered(1, 4000, 12, 30, 1.0), clustered(2, 200, 12, 30, 1.0)
    index = build(vectors, metric)
    assert recall(index, vectors, queries, 100) > 0.97
    fewer = recall(index, vectors, queries, 10)
    assert 0.5 < fewer < recall(index, vectors, queries, 30)


@given(st.integers(0, 40), st.integers(1, 3), st.sampled_from(METRICS), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_few_vectors_and_equal_ones_are_all_found(
    count: int, kinds: int, metric: Metric, seed: int
) -> None:
    """Vectors of few kinds: each is as often there as others, and what is found is as near."""
    rng = np.random.default_rng(seed)
    some = rng.normal(size=(kinds, 3)).astype(np.float32) + 3
    vectors = some[rng.integers(0, kinds, count)]
    index = build(vectors, metric, min(5, count))
    queries = rng.normal(size=(5, 3)).astype(np.float32) + 3
    found = search_graph(index, queries, 1, 20)
    if count:
        best = farthest(vectors, queries, 1, metric)
        np.testing.assert_array_equal(found.distances[:, :1], best)
    else:
        assert (found.rows == -1).all()


def test_many_equal_vectors_leave_room_for_others() -> None:
    vectors = np.zeros((3000, 4), np.float32)
    vectors[:100] = np.random.default_rng(1).normal(size=(100, 4))
    index = build(vectors)
    assert index.graph is not None
    assert len(index.graph.starts) < 2500
    found = search_graph(index, np.ones((1, 4), np.float32), 5, 50)
    expected = farthest(vectors, np.ones((1, 4), np.float32), 5, "l2")
    assert found.distances[0, -1] == expected[0, 0]


@pytest.mark.long
@pytest.mark.parametrize("metric", METRICS)
def test_a_wider_walk_goes_on_where_a_narrow_one_ends(metric: Metric) -> None:
    """The least `ef` of each row, as one walk tells it, is that with which a search finds it."""
    vectors, queries, k = clustered(1, 2000, 24, 20, 1.5), clustered(2, 60, 24, 20, 1.5), 5
    index = build(vectors, metric)
    searched = Searched(index)
    last = exact_distances(searched, queries, k)[:, -1]
    ranks = trace_walks(searched, queries, last, k).ranks
    for ef in (5, 6, 7, 9, 12, 20, 60):
        found = search_graph(index, queries, k, ef).distances <= last[:, None]
        np.testing.assert_array_equal(found.sum(axis=1), (ranks <= ef).sum(axis=1))
    assert ranks.min() == k
    assert np.unique(ranks).size > 3


def test_a_query_that_is_a_row_is_not_met_itself() -> None:
    vectors, k = clustered(1, 2000, 8, 50, 0.3), 5
    index, own = build(vectors), np.arange(0, 200)
    searched = Searched(index)
    last = exact_distances(searched, vectors[own], k, own)[:, -1]
    ranks = trace_walks(searched, vectors[own], last, k, own).ranks
    easier = trace_walks(searched, vectors[own], last, k).ranks
    assert (ranks >= k).all()
    assert ranks.mean() >= easier.mean()


@pytest.mark.parametrize("metric", METRICS)
def test_a_graph_follows_its_rows(metric: Metric) -> None:
    """Two thirds are deleted, and the rest is numbered anew; then others are added."""
    vectors, queries = clustered(1, 6000, 12, 60, 0.5), clustered(2, 200, 12, 60, 0.5)
    index = build(vectors, metric)
    live = np.random.default_rng(3).random(6000) < 0.34
    kept = vectors[live]
    fewer = renumber(index, live)
    assert recall(fewer, kept, queries, 64) > 0.97
    new = clustered(4, 300, 12, 60, 0.5)
    every = np.concatenate((kept, new))
    blocks = [(new, np.arange(len(kept), len(every)))]
    there = np.ones(len(kept), np.bool_)
    grown = with_rows(fewer, there, blocks, len(every), unwatched()).get()
    grown = with_graph(grown, unwatched(), 2 * M, NEAR, fewer)
    assert recall(grown, every, queries, 64) > 0.97
    assert recall(grown, every, new, 64) > 0.97


def test_rows_that_do_not_count_are_walked_over() -> None:
    vectors, queries = clustered(1, 3000, 8, 30, 0.5), clustered(2, 50, 8, 30, 0.5)
    index, allowed = build(vectors), np.arange(3000) % 2 == 0
    found = search_graph(index, queries, 5, 100, allowed)
    assert (found.rows % 2 == 0).all()
    expected = farthest(vectors[::2], queries, 5, "l2")
    assert (found.distances <= expected).mean() > 0.99


def test_threads_and_blocks_change_nothing() -> None:
    vectors, queries = clustered(1, 3000, 8, 30, 0.5), clustered(2, 70, 8, 30, 0.5)
    one, other = build(vectors), build(vectors)
    assert one.graph is not None
    assert other.graph is not None
    np.testing.assert_array_equal(one.graph.neighbours, other.graph.neighbours)
    together = search_graph(one, queries, 5, 30)
    for place, query in enumerate(queries):
        alone = search_graph(one, query[None], 5, 30, threads=1)
        np.testing.assert_array_equal(alone.rows[0], together.rows[place])
        assert alone.probes[0] == together.probes[place]


def reloaded(arrays: dict[str, NDArray[Any]], properties: dict[str, Any]) -> Ivf:
    stored, described = StoredArrays(arrays, "x.ivf"), Described(properties, "x.ivf")
    return from_arrays(stored, described, 8, 3000, has_codes=False, has_graph=True)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("neighbours", lambda array: np.where(array == 5, 3000, array).astype(np.uint32)),
        ("neighbours", lambda array: array[:-1]),
        ("neighbours", lambda array: array.astype(np.int64)),
        ("neighbours", lambda array: np.repeat(array, 20, axis=1)),
        ("starts", lambda array: array[::-1].copy()),
        ("starts", lambda array: array + np.uint32(3000)),
    ],
)
def test_a_graph_of_a_stranger_is_checked(name: str, broken: Any) -> None:
    index = build(clustered(1, 3000, 8, 30, 0.5))
    arrays, properties = to_arrays(index)
    query = np.zeros((1, 8), np.float32)
    again = search_graph(reloaded(arrays, properties), query, 5, 30)
    np.testing.assert_array_equal(again.rows, search_graph(index, query, 5, 30).rows)
    with pytest.raises(OperationalError, match=rf"'x\.ivf' is damaged: expected array '{name}'"):
        reloaded(arrays | {name: broken(arrays[name])}, properties)
