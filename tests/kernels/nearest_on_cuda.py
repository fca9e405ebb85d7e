"""Vector search by the CUDA kernels against the CPU's; run by `test_cuda_backend`."""

from itertools import pairwise

import numpy as np
import pytest

from raydb.kernels.backends.cuda import list_scan as cuda_nearest
from raydb.kernels.backends.cuda.list_scan import _scores_of, find_kth, search_on_device
from raydb.kernels.backends.cuda.memory import argument, devices, send, to_host, xp
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.vector.ivf import build_ivf, search_ivf
from raydb.running import DeviceMemory, Running, current


@pytest.fixture(autouse=True)
def columns():
    yield devices()[0].columns
    current.set(None)
    devices()[0].columns.clear()


def make(seed, count, width, metric, lists=9):
    """Clustered vectors, each fourth of which is there twice, in lists."""
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(5, width))
    vectors = (centers[rng.integers(0, 5, count)] + rng.normal(size=(count, width)) / 2).astype(
        np.float32
    )
    vectors[::4] = vectors[: len(vectors[::4])]
    numbers = np.sort(rng.permutation(2 * count)[:count]).astype(np.uint32)
    return rng, build_ivf(vectors, numbers, 2 * count, lists, metric, seed)


def check(index, queries, k, nprobe, allowed=None):
    found = search_on_device(index, queries, k, nprobe, allowed)
    expected = search_ivf(index, queries, k, nprobe, allowed)
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.distances.tobytes() == expected.distances.tobytes()
    assert found.probes.tolist() == expected.probes.tolist()
    assert found.margins.tobytes() == expected.margins.tobytes()


@pytest.mark.parametrize(("metric", "width"), [("l2", 8), ("cosine", 5), ("ip", 4), ("l2", 5)])
def test_the_answers_are_the_cpu_s(metric, width):
    rng, index = make(width, 90, width, metric, lists=7)
    queries = rng.normal(size=(3, width)).astype(np.float32)
    queries[0] = index.vectors[7]
    for k, nprobe in ((1, 1), (5, 2), (90, 7)):
        check(index, queries, k, nprobe)
    for share in (0.5, 0.02):
        check(index, queries, 5, 2, rng.random(180) < share)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_numbers_far_from_one(scale):
    rng, index = make(3, 60, 4, "l2")
    rng, index = make(3, 60, 4, "ip")
    index = build_ivf(index.vectors * np.float32(scale), index.row_ids, 120, 5, "l2", 3)
    check(index, (rng.normal(size=(3, 4)) * scale).astype(np.float32), 7, 2)


def test_few_lists_and_few_vectors():
    rng, index = make(5, 3, 4, "l2", lists=1)
    queries = rng.normal(size=(2, 4)).astype(np.float32)
    check(index, queries, 2, 1)
    check(index, queries[:0], 2, 1)
    check(index, queries, 3, 1, np.zeros(6, np.bool_))


def test_queries_that_do_not_fit_together_are_compared_in_turns(columns):
    rng, index = make(8, 130, 8, "l2")
    queries = rng.normal(size=(5, 8)).astype(np.float32)
    kept = index.vectors.nbytes + index.row_ids.nbytes
    most = int(np.diff(index.offsets).max())
    current.set(Running(device_memory=DeviceMemory(kept + 3 * most * cuda_nearest.SCORED_BYTES)))
    check(index, queries, 5, 2)
    current.set(Running(device_memory=DeviceMemory(kept + 16)))
    with pytest.raises(DeviceError, match="the lists of a query do not fit"):
        search_on_device(index, queries, 5, 2)
    current.set(Running(device_memory=DeviceMemory(kept - 16)))
    with pytest.raises(DeviceError, match="the vectors of the index do not fit"):
        search_on_device(index, queries, 5, 2)


def test_the_kth_of_any_scores():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=200).astype(np.float32)
    scores[rng.permutation(200)[:20]] = np.nan
    scores[:4] = -0.0, 0.0, np.inf, 1e-40
    firsts = np.array([0, 90, 90, 95, 200])
    for k in (1, 7, 80):
        keys = xp.empty(4, np.int64)
        sent = argument(send(scores.view(np.int32))), argument(send(firsts))
        find_kth[4, 8](*sent, k, argument(keys))
        expected = []
        for low, high in pairwise(firsts):
            some = np.sort(scores[low:high][~np.isnan(scores[low:high])])
            expected.append(float(some[k - 1]) if k <= len(some) else np.inf)
        assert _scores_of(to_host(keys)).tolist() == expected, k
