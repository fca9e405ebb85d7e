"""K-means: centroids from a sample of vectors, and the nearest centroid of each (Lloyd), seeded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.vector.exact_search import METRICS, frozen, unit, words_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Metric

    Vectors = NDArray[np.float32]

# How many rounds k-means is trained on which share of the sample, of which each list has some
# vectors at least: where centroids still move far, a few vectors tell as much as all.
_ROUNDS = ((0.25, 8), (1.0, 8))
_LEAST_PER_LIST = 32

# Rows that are worth a thread, and at most so many until an interrupt is heard: some 20 ms.
_MIN_ROWS = 1024
_MAX_ROWS = 16_384


def train(
    sample: Vectors,
    lists: int,
    metric: Metric,
    rng: np.random.Generator,
    report: Callable[[float], None],
) -> Vectors:
    """Return centroids (lists, d) of a sample (n, d): k-means from some of its vectors.

    sample: unit vectors under cosine, and so are the centroids. report: is told the share done.
    """
    count = len(sample)
    centroids = sample[np.sort(rng.choice(count, lists, replace=False))]
    if count <= lists:
        return centroids
    done, whole = 0.0, sum(share * rounds for share, rounds in _ROUNDS)
    for share, rounds in _ROUNDS:
        part, size = sample, max(int(share * count), _LEAST_PER_LIST * lists)
        if size < count:
            part = sample[np.sort(rng.choice(count, size, replace=False))]
        for _ in range(rounds):
            centroids = _moved(part, centroids, metric, rng)
            done += share
            report(done / whole)
    return centroids


def train_bits(
    sample: Vectors, lists: int, rng: np.random.Generator, report: Callable[[float], None]
) -> Vectors:
    """Return centroids of words of bits, in which each bit is as most of a list have it.

    They are numbers until the end.
    """
    bits = np.unpackbits(sample.view(np.uint8), axis=1, bitorder="little").astype(np.float32)
    return words_of(train(bits, lists, "l2", rng, report) > 0.5)


def _moved(
    sample: Vectors, centroids: Vectors, metric: Metric, rng: np.random.Generator
) -> Vectors:
    """Return each centroid as the mean of the vectors that it is the nearest one to."""
    # numba takes 0.3 s to import, and few processes build indexes.
    from raydb.kernels.vector.loops.kmeans_loops import add_members  # noqa: PLC0415

    members = assign(sample, centroids, metric)
    sums, sizes = np.zeros(centroids.shape), np.zeros(len(centroids), np.int64)
    add_members(frozen(sample), members, sums, sizes)
    filled = sizes > 0
    moved = centroids.copy()
    moved[filled] = sums[filled] / sizes[filled, None]
    # A list without a vector takes over a part of one of the largest.
    empty = np.flatnonzero(~filled)
    for each, largest in zip(empty, np.argsort(-sizes, kind="stable"), strict=False):
        if sizes[largest] > 1:
            moved[each] = sample[rng.choice(np.flatnonzero(members == largest))]
    return unit(moved) if metric == "cosine" else moved


def squares_of(centroids: Vectors, metric: Metric) -> Vectors:
    """Return |c|^2 of each centroid (lists); 0 for bits, which have none."""
    if metric == "hamming":
        return np.zeros(len(centroids), np.float32)
    squares: Vectors = np.einsum("ij,ij->i", centroids, centroids)
    return squares


def assign(
    vectors: Vectors, centroids: Vectors, metric: Metric, threads: int | None = None
) -> NDArray[np.int32]:
    """Return the nearest centroid of each vector (n), under cosine that of the least angle."""
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.kmeans_loops import nearest_centroids  # noqa: PLC0415

    squares = squares_of(centroids, metric)
    if metric == "cosine":
        # Unit vectors all; what rounding leaves would count for more than a short vector.
        squares[:] = 0
    code = METRICS.index(metric)
    members = np.empty(len(vectors), np.int32)
    compared, to = frozen(np.ascontiguousarray(vectors)), frozen(np.ascontiguousarray(centroids))

    def run(part: slice) -> None:
        nearest_centroids(code, compared[part], to, squares, members[part])

    run_slices(run, len(vectors), _MIN_ROWS, _MAX_ROWS, threads)
    return members
