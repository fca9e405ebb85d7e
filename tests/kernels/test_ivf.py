"""The IVF index: how it is built, rounds of lists, and vectors as bytes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydb.kernels.bvh.build_input import BuildControl, Room, unwatched
from raydb.kernels.stored.described import Described
from raydb.kernels.stored.stored_arrays import StoredArrays
from raydb.kernels.vector.exact_search import METRICS, nearest, no_neighbours
from raydb.kernels.vector.ivf import (
    build_from,
    build_ivf,
    from_arrays,
    renumber,
    search_ivf,
    to_arrays,
)
from raydb.kernels.vector.ivf_merge import with_rows
from raydb.kernels.vector.kmeans import assign
from raydb.kernels.vector.loops.simd import (
    BITS,
    DIFFERENCES,
    PRODUCTS,
    SQUARES,
    add_up,
    exact_sum,
    sum_of,
)
from raydb.kernels.vector.stop_rule import ANYWHERE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Metric, Neighbours
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.stop_rule import StopRule

SEED = 40

# Those that bytes are scanned for.
CODED = ("l2", "cosine", "ip")


def make(seed: int, count: int, width: int, shift: float = 0.0) -> NDArray[np.float32]:
    """Return clustered vectors around the same 20 centers, each fourth of which is there twice."""
    print(f"seed {seed}")
    centers = np.random.default_rng(SEED).normal(size=(20, width))
    rng = np.random.default_rng(seed)
    made = centers[rng.integers(0, 20, count)] + rng.normal(size=(count, width)) / 2 + shift
    made[::4] = made[: len(made[::4])]
    return made.astype(np.float32)


def build(vectors: NDArray[np.float32], lists: int, metric: Metric, **options: bool) -> Ivf:
    rows = np.arange(len(vectors), dtype=np.uint32)
    return build_ivf(vectors, rows, len(vectors), lists, metric, SEED, **options)


def reloaded(
    arrays: dict[str, NDArray[Any]], properties: dict[str, Any], *, has_codes: bool
) -> Ivf:
    """Return an index once it was in a file."""
    stored, described = StoredArrays(arrays, "x.ivf"), Described(properties, "x.ivf")
    return from_arrays(stored, described, arrays["vectors"].shape[1], 1_000, has_codes=has_codes)


def check_same(one: Neighbours, other: Neighbours) -> None:
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.distances, other.distances)
    np.testing.assert_array_equal(one.probes, other.probes)


def rule(threshold: float) -> StopRule:
    return replace(ANYWHERE, score="ratio", threshold=threshold)


@numba.njit
def of_one_pair(kind, one, other):  # type: ignore[no-untyped-def]
    return exact_sum(kind, one, other), sum_of(kind, one, other)


@given(st.integers(1, 70), st.integers(0, 70), st.integers(0, 9), st.integers(0, 2**32 - 1))
def test_sums_are_those_of_numpy_and_of_each_pair_alone(
    width: int, row_count: int, query_count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(row_count, width)).astype(np.float32)
    codes = rng.integers(-127, 128, (row_count, width), dtype=np.int8)
    queries = rng.normal(size=(query_count, width)).astype(np.float32)
    wide, wide_codes = rows.astype(np.float64), codes.astype(np.float64)
    away = queries[:, None].astype(np.float64) - wide[None]
    words = rows.view(np.uint32)[None] ^ queries.view(np.uint32)[:, None]
    bits = np.unpackbits(words.view(np.uint8), axis=2).sum(axis=2)
    cases = (
        (rows, PRODUCTS, queries @ wide.T),
        (rows, SQUARES, (away**2).sum(axis=2)),
        (rows, DIFFERENCES, np.abs(away).sum(axis=2)),
        (rows, BITS, bits),
        (codes, PRODUCTS, queries @ wide_codes.T),
    )
    for given_rows, kind, sums in cases:
        found = np.zeros((query_count, row_count + 3), np.float32)
        add_up(kind, given_rows, queries, found)
        scale = 127 if given_rows is codes else 1
        np.testing.assert_allclose(found[:, :row_count], sums, rtol=1e-4, atol=1e-4 * scale)
        assert (found[:, row_count:] == 0).all()
        for query in range(query_count):
            alone = np.zeros((1, row_count), np.float32)
            add_up(kind, given_rows, queries[query : query + 1], alone)
            np.testing.assert_array_equal(alone[0], found[query, :row_count])
        if given_rows is rows and row_count and query_count:
            exact, one = of_one_pair(kind, rows[0], queries[0])
            np.testing.assert_allclose(exact, sums[0, 0], rtol=1e-6, atol=1e-6)
            assert one == found[0, 0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("threshold", [-np.inf, 1.2, 1.6, np.inf])
def test_a_query_finds_the_same_alone_and_in_a_batch(metric: Metric, threshold: float) -> None:
    index = build(make(SEED, 3_000, 20), 40, metric)
    queries = make(SEED + 1, 150, 20)
    every = search_ivf(index, queries, 10, 1, rule=rule(threshold))
    for count in (1, 2):
        check_same(every, search_ivf(index, queries, 10, 1, threads=count, rule=rule(threshold)))
    for query in range(0, 150, 10):
        alone = search_ivf(index, queries[query : query + 1], 10, 1, rule=rule(threshold))
        np.testing.assert_array_equal(alone.rows[0], every.rows[query])
        np.testing.assert_array_equal(alone.distances[0], every.distances[query])
        assert alone.probes[0] == every.probes[query]
    if threshold == np.inf:
        assert (every.probes == 40).all()
    if 0 < threshold < np.inf and metric == "l2":
        assert len(np.unique(every.probes)) > 2


@pytest.mark.long
@pytest.mark.parametrize("metric", CODED)
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_bytes_find_what_vectors_find(metric: Metric, shift: float) -> None:
    vectors, queries = make(SEED + 2, 4_000, 30, shift), make(SEED + 3, 60, 30, shift)
    plain = build(vectors, 50, metric)
    quantised = build(vectors, 50, metric, has_codes=True)
    assert quantised.is_quantised
    assert not plain.is_quantised
    rng = np.random.default_rng(SEED)
    filters = (None, rng.random(4_000) < 0.9, rng.random(4_000) < 0.06)
    exact = no_neighbours(60, 100)
    nearest([(vectors, np.arange(4_000))], queries, 100, metric, exact)
    for k, nprobe in ((1, 1), (10, 4), (100, 50)):
        for allowed in filters:
            one, other = (
                search_ivf(index, queries, k, nprobe, allowed) for index in (plain, quantised)
            )
            check_same(one, other)
        check_same(*(search_ivf(i, queries, k, nprobe, rule=rule(0.9)) for i in (plain, quantised)))
    found = search_ivf(quantised, queries, 100, 50)
    # All lists scanned as bytes: the recall is 1, and the distances are exact.
    np.testing.assert_array_equal(found.rows, exact.rows)
    np.testing.assert_array_equal(found.distances, exact.distances)


@given(st.integers(0, 2**32 - 1), st.sampled_from(CODED), st.floats(-12, 12))
def test_bytes_find_what_vectors_find_whatever_the_numbers_are(
    seed: int, metric: Metric, exponent: float
) -> None:
    rng = np.random.default_rng(seed)
    scales = 10.0 ** (exponent + rng.normal(size=(1, 6)))
    vectors = ((rng.normal(size=(300, 6)) + rng.normal() * 10) * scales).astype(np.float32)
    queries = vectors[:20] + (rng.normal(size=(20, 6)) * scales).astype(np.float32)
    plain, quantised = build(vectors, 6, metric), build(vectors, 6, metric, has_codes=True)
    check_same(search_ivf(plain, queries, 9, 3), search_ivf(quantised, queries, 9, 3))


def test_arrays_give_the_index_back() -> None:
    index = build(make(SEED, 300, 4), 5, "cosine")
    again = reloaded(*to_arrays(index), has_codes=False)
    for name in ("centroids", "offsets", "row_ids", "vectors", "scales"):
        np.testing.assert_array_equal(getattr(again, name), getattr(index, name))
    assert (again.metric, again.row_count, again.longest) == ("cosine", 300, index.longest)


def test_codes_are_kept_and_renumbered() -> None:
    vectors = make(SEED + 4, 1_000, 12)
    index = build(vectors, 10, "cosine", has_codes=True)
    again = reloaded(*to_arrays(index), has_codes=True)
    live = np.random.default_rng(SEED).random(1_000) < 0.5
    for one, other in ((index, again), (renumber(index, live), renumber(again, live))):
        check_same(search_ivf(one, vectors[:9], 5, 4), search_ivf(other, vectors[:9], 5, 4))
        assert len(one.codes) == len(one.row_ids)
    # An index that was written before there were codes has none.
    arrays, properties = to_arrays(build(vectors, 10, "cosine"))
    earlier = {name: array for name, array in arrays.items() if not name.startswith("code")}
    plain = reloaded(earlier, properties, has_codes=False)
    assert not plain.is_quantised
    check_same(search_ivf(plain, vectors[:9], 5, 4), search_ivf(index, vectors[:9], 5, 4))


def test_codes_take_about_a_quarter() -> None:
    vectors = make(SEED + 5, 5_000, 128)
    plain, quantised = (build(vectors, 20, "l2", has_codes=has) for has in (False, True))
    assert plain.size_bytes <= 1.1 * vectors.nbytes
    assert quantised.size_bytes - plain.size_bytes <= 0.3 * vectors.nbytes


@pytest.mark.parametrize("metric", METRICS)
def test_an_index_does_not_depend_on_blocks(metric: Metric) -> None:
    vectors, rows = make(SEED + 6, 2_000, 10), np.arange(2_000, dtype=np.uint32)
    steps: list[tuple[str, float]] = []
    control = BuildControl(Room(), lambda step, share: steps.append((step, share)))
    whole = build(vectors, 20, metric)
    cuts = [0, 0, 1, 700, 2_000]
    blocks = [(vectors[a:b], rows[a:b]) for a, b in pairwise(cuts)]
    parts = build_from(blocks, 2_000, 20, metric, SEED, control)
    for name in ("centroids", "offsets", "row_ids", "vectors", "scales"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert [step for step, _ in steps][:1] == ["train"]
    assert {step for step, _ in steps} == {"train", "assign", "order"}
    assert all(0 <= share <= 1 for _, share in steps)
    members = [assign(vectors, whole.centroids, metric, threads=count) for count in (1, 2)]
    np.testing.assert_array_equal(*members)


def test_a_build_takes_no_more_room_than_there_is_and_ends_when_told() -> None:
    vectors, rows = make(SEED + 7, 2_000, 10), np.arange(2_000, dtype=np.uint32)

    def build_within(size: int) -> Ivf:
        control = BuildControl(Room(size), lambda step, share: None)
        return build_from([(vectors, rows)], 2_000, 20, "l2", SEED, control)

    with pytest.raises(MemoryError):
        build_within(vectors.nbytes)
    assert build_within(4 * vectors.nbytes).list_count == 20

    def stop(step: str, share: float) -> None:
        if step == "assign":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_from([(vectors, rows)], 2_000, 20, "l2", SEED, BuildControl(Room(), stop))


def test_no_list_is_empty_where_vectors_differ() -> None:
    rng = np.random.default_rng(SEED)
    # Nine tenths are one vector: most of the first centroids are that one, and get nothing.
    vectors = rng.normal(size=(3_000, 8)).astype(np.float32)
    vectors[:2_700] = vectors[0]
    sizes = np.diff(build(vectors, 30, "l2").offsets)
    print(f"seed {SEED}, sizes {sizes.tolist()}")
    assert np.count_nonzero(sizes == 0) <= 3


OTHER_PROCESSOR = """
import numpy as np
from raydb.kernels.vector.loops.simd import DIFFERENCES, LANES, PRODUCTS, SQUARES, add_up

rng = np.random.default_rng(3)
for width in (1, 8, 21):
    rows = rng.integers(-5, 6, (19, width))
    queries = rng.integers(-5, 6, (7, width)).astype(np.float32)
    squares = ((queries[:, None] - rows) ** 2).sum(axis=2)
    products = queries @ rows.T
    for kind, dtype, expected in (
        (PRODUCTS, np.float32, products),
        (SQUARES, np.float32, squares),
        (DIFFERENCES, np.float32, np.abs(queries[:, None] - rows).sum(axis=2)),
        (PRODUCTS, np.int8, products),
    ):
        sums = np.zeros((7, 19), np.float32)
        add_up(kind, rows.astype(dtype), queries, sums)
        assert (sums == expected).all(), (kind, dtype, width)
print(LANES)
"""


@pytest.mark.long
def test_processors_without_wide_vectors_add_up_the_same_sums(tmp_path):
    # What numba compiles for decides how many numbers go together, as it does what is cached.
    chosen = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    run = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESSOR],
        env={**os.environ, **chosen, "RAYDB_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.stdout, run.stderr) == ("8\n", "")


@pytest.mark.parametrize(
    ("metric", "has_codes"),
    [*((metric, True) for metric in CODED), *((metric, False) for metric in METRICS)],
)
@pytest.mark.parametrize("reach", [1.0, 30.0])
def test_an_index_goes_on_with_other_rows(metric, has_codes, reach):
    """Added rows may be far from what codes of their list can say."""
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(900, 12)).astype(np.float32)
    added = (rng.normal(size=(70, 12)) * reach).astype(np.float32)
    rows = np.arange(900, dtype=np.uint32)
    index = build_ivf(vectors, rows, 900, 15, metric, 0, has_codes=has_codes)
    live = rng.random(900) < 0.8
    numbers = np.arange(905, 975)
    merged = with_rows(index, live[index.row_ids], [(added, numbers)], 980, unwatched()).get()
    every = np.concatenate((vectors[live], added))
    known = np.concatenate((np.flatnonzero(live), numbers))
    assert merged.row_count == 980
    assert sorted(merged.row_ids) == sorted(known)
    for start, end in pairwise(merged.offsets):
        assert (np.diff(merged.row_ids[start:end].astype(int)) > 0).all()
    queries = np.concatenate((rng.normal(size=(20, 12)), added[:5])).astype(np.float32)
    found = search_ivf(merged, queries, 9, 15)
    expected = no_neighbours(25, 9)
    nearest([(every, known)], queries, 9, metric, expected)
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.distances, expected.distances)
