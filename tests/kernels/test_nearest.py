"""Nearest rows: exact search and the IVF index beside NumPy in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydb.kernels.vector.exact_search import METRICS, first_unusable, nearest, no_neighbours
from raydb.kernels.vector.ivf import Ivf, build_ivf, renumber, search_ivf

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Metric, Neighbours

SEED = 20


def make(seed: int, count: int, width: int, scale: float = 1.0) -> NDArray[np.float32]:
    """Return clustered vectors, each fourth of which is there twice."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(10, width))
    made = (centers[rng.integers(0, 10, count)] + rng.normal(size=(count, width)) / 2) * scale
    made[::4] = made[: len(made[::4])]
    return made.astype(np.float32)


def expect(
    vectors: NDArray[np.float32],
    rows: NDArray[np.integer],
    queries: NDArray[np.float32],
    k: int,
    metric: Metric,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows (q, k) and distances by comparing all, in float64."""
    one, other = vectors.astype(np.float64), queries.astype(np.float64)
    products = other @ one.T
    match metric:
        case "l2":
            differences = other[:, None, :] - one[None, :, :]
            distances = np.sqrt((differences**2).sum(axis=2))
        case "cosine":
            lengths = np.linalg.norm(other, axis=1)[:, None] * np.linalg.norm(one, axis=1)
            distances = 1 - products / lengths
        case "ip":
            distances = -products
        case "l1":
            distances = np.abs(other[:, None, :] - one[None, :, :]).sum(axis=2)
        case "hamming":
            words = queries.view(np.uint32)[:, None, :] ^ vectors.view(np.uint32)[None, :, :]
            distances = np.bitwise_count(words).sum(axis=2).astype(np.float64)
    # Vectors that are there twice are as far as each other, whatever the last bit says.
    rounded = (distances / np.abs(distances).max(initial=1e-300)).round(10)
    order = np.lexsort((np.broadcast_to(rows, distances.shape), rounded), axis=1)[:, :k]
    return rows[order], np.take_along_axis(distances, order, axis=1)


def check(found: Neighbours, rows: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.rows, rows)


def build(vectors: NDArray[np.float32], lists: int, metric: Metric) -> Ivf:
    return build_ivf(
        vectors, np.arange(len(vectors), dtype=np.uint32), len(vectors), lists, metric, SEED
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e12])
def test_exact_search_compares_every_row(metric: Metric, scale: float) -> None:
    vectors = make(SEED, 9_000, 24, scale)
    queries = make(SEED + 1, 300, 24)
    found = no_neighbours(300, 7)
    rows = np.arange(9_000)
    nearest(
        [(vectors[:5_000], rows[:5_000]), (vectors[5_000:], rows[5_000:])],
        queries,
        7,
        metric,
        found,
    )
    expected, distances = expect(vectors, rows, queries[:20], 7, metric)
    np.testing.assert_allclose(found.distances[:20], distances, rtol=1e-9, atol=1e-12)
    if scale == 1.0:
        np.testing.assert_array_equal(found.rows[:20], expected)
    # A query gives the same alone and among others.
    alone = no_neighbours(1, 7)
    nearest([(vectors, rows)], queries[299:], 7, metric, alone)
    np.testing.assert_array_equal(alone.rows[0], found.rows[299])
    np.testing.assert_array_equal(alone.distances[0], found.distances[299])


@pytest.mark.parametrize("metric", METRICS)
def test_all_lists_give_what_exact_search_gives(metric: Metric) -> None:
    vectors, queries = make(SEED + 2, 3_000, 16), make(SEED + 3, 40, 16)
    index = build(vectors, 30, metric)
    found = search_ivf(index, queries, 12, 30)
    check(found, *expect(vectors, np.arange(3_000), queries, 12, metric))
    assert (found.probes == 30).all()


@pytest.mark.parametrize("exponent", [-37, -34, -30])
def test_short_vectors_have_a_direction(exponent: int) -> None:
    vectors = make(SEED + 20, 2_000, 24)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = (vectors * 10.0**exponent * 1.5).astype(np.float32)
    queries, rows = vectors[:40] + vectors[40:80], np.arange(2_000)
    assert first_unusable(queries, "cosine") is None
    index, found = build(vectors, 20, "cosine"), no_neighbours(40, 5)
    nearest([(vectors, rows)], queries, 5, "cosine", found)
    check(found, *expect(vectors, rows, queries, 5, "cosine"))
    check(search_ivf(index, queries, 5, 20), *expect(vectors, rows, queries, 5, "cosine"))


# The bits of numbers lie in no clusters.
@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric != "hamming"])
def test_few_lists_find_most_neighbours(metric: Metric) -> None:
    vectors, queries = make(SEED + 4, 4_000, 16), make(SEED + 5, 100, 16)
    found = search_ivf(build(vectors, 40, metric), queries, 10, 8)
    rows, _ = expect(vectors, np.arange(4_000), queries, 10, metric)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.rows, rows, strict=True)])
    print(f"recall {recall}")
    assert recall > 0.8


def test_a_search_goes_on_until_there_are_k_rows() -> None:
    vectors, queries = make(SEED + 6, 2_000, 8), make(SEED + 7, 20, 8)
    allowed = np.zeros(2_000, np.bool_)
    allowed[np.random.default_rng(SEED).choice(2_000, 30, replace=False)] = True
    found = search_ivf(build(vectors, 50, "l2"), queries, 30, 1, allowed)
    rows = np.flatnonzero(allowed)
    check(found, *expect(vectors[rows], rows, queries, 30, "l2"))
    assert (found.probes > 1).all()
    short = search_ivf(build(vectors, 50, "l2"), queries, 31, 1, allowed)
    assert (short.rows[:, 30] == -1).all()
    assert (short.probes == 50).all()


def test_threads_change_nothing() -> None:
    vectors, queries = make(SEED + 8, 2_000, 8), make(SEED + 9, 100, 8)
    index = build(vectors, 20, "l2")
    one, two = (search_ivf(index, queries, 5, 3, threads=count) for count in (1, 2))
    check(one, two.rows, two.distances)


def test_rows_of_one_vector_are_found_in_their_order() -> None:
    vectors = np.ones((500, 4), np.float32)
    index = build(vectors, 7, "l2")
    found = search_ivf(index, vectors[:1], 5, 7)
    assert found.rows.tolist() == [[0, 1, 2, 3, 4]]
    exact = no_neighbours(1, 5)
    nearest([(vectors, np.arange(500))], vectors[:1], 5, "l2", exact)
    assert exact.rows.tolist() == [[0, 1, 2, 3, 4]]


def test_the_seed_decides() -> None:
    vectors = make(SEED, 1_000, 8)
    rows = np.arange(1_000, dtype=np.uint32)
    one, same, other = (build_ivf(vectors, rows, 1_000, 10, "l2", seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.centroids, same.centroids)
    assert (one.centroids != other.centroids).any()


def test_every_vector_is_in_the_list_of_its_nearest_centroid() -> None:
    vectors = make(SEED, 2_000, 8)
    index = build(vectors, 25, "l2")
    assert sorted(index.row_ids) == list(range(2_000))
    np.testing.assert_array_equal(index.vectors, vectors[index.row_ids])
    for each in range(25):
        part = slice(index.offsets[each], index.offsets[each + 1])
        rows, _ = expect(index.centroids, np.arange(25), index.vectors[part], 1, "l2")
        assert (rows == each).all()
        assert (np.diff(index.row_ids[part].astype(np.int64)) > 0).all()


def test_lists_are_as_many_as_vectors_at_most() -> None:
    vectors = make(SEED, 9, 4)
    found = search_ivf(build(vectors, 9, "l2"), vectors, 1, 9)
    assert (found.distances == 0).all()
    empty = build(vectors[:0], 0, "l2")
    assert (search_ivf(empty, vectors, 3, 1).rows == -1).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from(METRICS))
def test_renumbered_rows_are_those_of_a_smaller_table(seed: int, metric: Metric) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(200, 4)).astype(np.float32)
    live = rng.random(200) < rng.random()
    index = renumber(build(vectors, 8, metric), live)
    count = int(live.sum())
    assert index.row_count == count
    queries = rng.normal(size=(3, 4)).astype(np.float32)
    found = search_ivf(index, queries, 5, 8)
    rows, distances = expect(vectors[live], np.arange(count), queries, 5, metric)
    width = min(5, count)
    np.testing.assert_array_equal(found.rows[:, :width], rows)
    np.testing.assert_allclose(found.distances[:, :width], distances, rtol=1e-9, atol=1e-9)
    assert (found.rows[:, width:] == -1).all()


def test_vectors_without_a_distance_are_told() -> None:
    vectors = np.ones((6_000, 3), np.float32)
    assert first_unusable(vectors, "cosine") is None
    vectors[5_000] = 1e-37
    assert first_unusable(vectors, "cosine") is None
    vectors[5_000] = 0
    assert first_unusable(vectors, "l2") is None
    assert first_unusable(vectors, "cosine") == (5_000, "a length of 0, which is no direction")
    for value, why in (
        (np.nan, "NaN or infinity"),
        (-np.inf, "NaN or infinity"),
        (1e18, "a number beyond 1e17"),
    ):
        vectors[4_999, 2] = value
        assert first_unusable(vectors, "l2") == (4_999, why)
