"""The rows nearest to query vectors, exactly: every row is compared.

    block of rows x queries -> scores (BLAS, float32) -> candidates -> distances (float64)

Distances are Euclidean (l2), 1 - cosine (cosine) and the negative inner product (ip): less is
nearer, and of rows at the same distance the one with the smaller number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]
    # Some rows' vectors (n, d) and their numbers (n).
    Block = tuple[Vectors, NDArray[np.integer]]

Metric = Literal["l2", "cosine", "ip"]
METRICS: tuple[Metric, ...] = ("l2", "cosine", "ip")

# Sums of squares of more than 8,000 such numbers are finite in float32.
LARGEST = 1e17

# Products with shorter vectors lose digits in float32.
SHORTEST = 1e-30

# A block of rows and its scores stay in the cache while they are compared.
BLOCK_ROWS = 4096
_BLOCK_QUERIES = 256

# Half a unit in the last place of float32, relative.
_ROUNDING = 2.0**-24
# Squares below the least float32 vanish.
_VANISHING = 1e-36


@dataclass(frozen=True, eq=False, slots=True)
class Neighbours:
    """What queries found, the nearest first: rows (q, k) int64, -1 for none; distances (q, k).

    probes (q) int64: how many lists were scanned; 0 for an exact search. margins (q): how far the
    nearest centroid is in parts of how far the second is, 1 at most; NaN for an exact search.
    """

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    probes: NDArray[np.int64]
    margins: NDArray[np.float64]


def no_neighbours(query_count: int, k: int) -> Neighbours:
    """Return room for k rows a query, with none found yet."""
    return Neighbours(
        np.full((query_count, k), -1, np.int64),
        np.full((query_count, k), np.inf),
        np.zeros(query_count, np.int64),
        np.full(query_count, np.nan),
    )


def first_unusable(vectors: Vectors, metric: Metric) -> tuple[int, str] | None:
    """Return the first vector that has no distance to others, and why; None where all have one."""
    for start in range(0, len(vectors), BLOCK_ROWS):
        block = vectors[start : start + BLOCK_ROWS]
        # Written so that NaN is no small number.
        bad = ~(np.abs(block).max(axis=1, initial=0.0) <= LARGEST)
        if bad.any():
            place = int(np.argmax(bad))
            is_finite = bool(np.isfinite(block[place]).all())
            return start + place, "a number beyond 1e17" if is_finite else "NaN or infinity"
        if metric == "cosine":
            short = norms_of(block) < SHORTEST
            if short.any():
                return start + int(np.argmax(short)), "a length of 0, which is no direction"
    return None


def nearest(
    blocks: Iterable[Block], queries: Vectors, k: int, metric: Metric, found: Neighbours
) -> None:
    """Add the rows of some blocks to what queries (q, d) found, where they are among the k nearest.

    The vectors are such that `first_unusable` finds none.
    """
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.cpu.nearest import insert_hits  # noqa: PLC0415

    code = METRICS.index(metric)
    targets = list(_targets(queries, metric))
    for vectors, row_ids in blocks:
        for start in range(0, len(vectors), BLOCK_ROWS):
            some = np.ascontiguousarray(vectors[start : start + BLOCK_ROWS])
            numbers = row_ids[start : start + BLOCK_ROWS]
            norms = norms_of(some)
            for first, target in targets:
                part = slice(first, first + len(target))
                distances, rows = found.distances[part], found.rows[part]
                scores, slack = _scores(some, norms, target, metric)
                bounds = _bounds(distances[:, -1], rows[:, -1], queries[part], metric)
                open_ = np.isinf(bounds)
                if k < len(some) and open_.any():
                    kth = np.partition(scores[open_], k - 1, axis=1)[:, k - 1]
                    bounds[open_] = kth + slack[open_]
                hit_queries, hit_rows = np.nonzero(scores <= (bounds + slack)[:, None])
                insert_hits(
                    code, some, numbers, queries[part], hit_queries, hit_rows, distances, rows
                )


def norms_of(vectors: Vectors) -> NDArray[np.float64]:
    """Return the length of each vector (n), about as exact as float32."""
    squares = np.einsum("ij,ij->i", vectors, vectors).astype(np.float64)
    # float32 loses the squares of numbers below 1e-22.
    tiny = squares < 1e-30
    if tiny.any():
        some = vectors[tiny].astype(np.float64)
        squares[tiny] = np.einsum("ij,ij->i", some, some)
    norms: NDArray[np.float64] = np.sqrt(squares)
    return norms


def _targets(queries: Vectors, metric: Metric) -> Iterator[tuple[int, Vectors]]:
    """Yield queries by blocks, for cosine as unit vectors."""
    for first in range(0, len(queries), _BLOCK_QUERIES):
        part = queries[first : first + _BLOCK_QUERIES]
        yield first, unit(part) if metric == "cosine" else part


def unit(vectors: Vectors) -> Vectors:
    """Return the vectors at length 1; those of length 0 stay."""
    norms = norms_of(vectors)[:, None]
    return (vectors / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)


def _scores(
    vectors: Vectors, norms: NDArray[np.float64], targets: Vectors, metric: Metric
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return scores (q, n), which order rows as distances do, and their greatest errors (q)."""
    factor = np.float32(-2 if metric == "l2" else -1)
    scores: Vectors = ((targets * factor) @ vectors.T).astype(np.float32, copy=False)
    width = vectors.shape[1]
    longest = float(norms.max(initial=0.0))
    lengths = norms_of(targets)
    match metric:
        case "l2":
            scores += (norms * norms).astype(np.float32)
            size = longest * longest + 2 * longest * lengths + lengths * lengths
        case "cosine":
            scores *= (1 / norms).astype(np.float32)
            size = lengths
        case "ip":
            size = longest * lengths
    # A sum of n products is off by n roundings at most (Higham, Accuracy and Stability, 3.1).
    return scores, 2 * (width + 8) * _ROUNDING * size + _VANISHING


def _bounds(
    distances: NDArray[np.float64], rows: NDArray[np.int64], queries: Vectors, metric: Metric
) -> NDArray[np.float64]:
    """Return the scores of the k-th distances that are known, infinity for a query without one."""
    match metric:
        case "l2":
            norms = norms_of(queries)
            bounds = distances * distances - norms * norms
        case "cosine":
            bounds = distances - 1
        case "ip":
            bounds = distances.copy()
    bounds[rows < 0] = np.inf
    return bounds
