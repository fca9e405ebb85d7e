"""The IVF index: vectors in lists, each around a centroid; a query scans the nearest lists.

    centroids   (lists, d)     k-means of a sample (Lloyd), seeded
    squares     (lists)        |c|^2 of each centroid
    offsets     (lists + 1)    list i holds the places offsets[i] .. offsets[i + 1]
    row_ids     (n)            the row of each place, ascending within a list
    vectors     (n, d)         its vector; a list is one run of memory
    scales      (n)            1 / norm under cosine, else empty

Centroids under cosine are those of unit vectors. After Sivic and Zisserman, Video Google (2003).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.nearest import (
    METRICS,
    Metric,
    Neighbours,
    frozen,
    no_neighbours,
    norms_of,
    slack_of,
    unit,
)
from raydb.kernels.stop import ANYWHERE, SCORES, StopRule, stop_terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

_PROPERTIES = ("metric", "row_count", "longest")
_ARRAYS = ("centroids", "squares", "offsets", "row_ids", "vectors", "scales")

# What k-means is trained with: so many vectors a list, and so many rounds.
SAMPLE_PER_LIST = 64
ROUNDS = 10

# Rows that are assigned to lists together: their scores stay in the cache.
_BLOCK_ROWS = 2048

# Fewer queries are not worth a thread; of more, the scores of all lists leave the cache.
_LEAST_QUERIES = 16
_MOST_QUERIES = 1024


@dataclass(frozen=True, eq=False, slots=True)
class Ivf:
    """Vectors in lists; see the module. `row_count` rows were there when it was built.

    longest: the greatest norm of a vector.
    """

    metric: Metric
    row_count: int
    longest: float
    centroids: Vectors
    squares: Vectors
    offsets: NDArray[np.int64]
    row_ids: NDArray[np.uint32]
    vectors: Vectors
    scales: Vectors

    @property
    def list_count(self) -> int:
        """The number of lists."""
        return len(self.centroids)

    @property
    def size_bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)


def build_ivf(
    vectors: Vectors,
    row_ids: NDArray[np.uint32],
    row_count: int,
    lists: int,
    metric: Metric,
    seed: int,
) -> Ivf:
    """Put vectors (n, d), with the ascending numbers of their rows, in lists.

    lists: at most n. row_count: the rows of the table, those without a vector too.
    The same seed gives the same lists on the same machine.
    """
    assert lists <= len(vectors) == len(row_ids), (lists, len(vectors), len(row_ids))
    directed = unit(vectors) if metric == "cosine" else vectors
    rng = np.random.default_rng(seed)
    centroids = _train(directed, lists, metric, rng)
    members = assign(directed, centroids)
    # Small integers are sorted by radix, in linear time.
    order = np.argsort(members.astype(np.uint16 if lists < 2**16 else np.int64), kind="stable")
    offsets = np.zeros(lists + 1, np.int64)
    np.cumsum(np.bincount(members, minlength=lists), out=offsets[1:])
    kept = vectors[order]
    longest = float(norms_of(kept).max(initial=0.0))
    scales = _scales(kept, metric)
    squares = np.einsum("ij,ij->i", centroids, centroids)
    return Ivf(
        metric, row_count, longest, centroids, squares, offsets, row_ids[order], kept, scales
    )


def _scales(vectors: Vectors, metric: Metric) -> Vectors:
    if metric != "cosine":
        return np.empty(0, np.float32)
    scales: Vectors = (1 / norms_of(vectors)).astype(np.float32)
    return scales


def _train(vectors: Vectors, lists: int, metric: Metric, rng: np.random.Generator) -> Vectors:
    """Return centroids (lists, d): k-means from a random sample of the vectors."""
    count = min(len(vectors), lists * SAMPLE_PER_LIST)
    sample = vectors[np.sort(rng.choice(len(vectors), count, replace=False))]
    centroids = sample[np.sort(rng.choice(count, lists, replace=False))]
    for _ in range(ROUNDS if count > lists else 0):
        members = assign(sample, centroids)
        sizes = np.bincount(members, minlength=lists)
        order = np.argsort(members, kind="stable")
        starts = np.cumsum(sizes) - sizes
        filled = sizes > 0
        sums = np.add.reduceat(sample[order], starts[filled], axis=0, dtype=np.float64)
        centroids = centroids.copy()
        centroids[filled] = sums / sizes[filled, None]
        # A list without a vector takes over a part of one of the largest.
        empty = np.flatnonzero(~filled)
        largest = np.argsort(-sizes, kind="stable")[: len(empty)]
        picks = starts[largest] + rng.integers(0, np.maximum(sizes[largest], 1))
        usable = sizes[largest] > 1
        centroids[empty[usable]] = sample[order[picks[usable]]]
        if metric == "cosine":
            centroids = unit(centroids)
    return centroids


def assign(vectors: Vectors, centroids: Vectors) -> NDArray[np.int64]:
    """Return the nearest centroid of each vector (n)."""
    doubled = np.ascontiguousarray(-2 * centroids.T)
    squares = np.einsum("ij,ij->i", centroids, centroids)
    members = np.empty(len(vectors), np.int64)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        scores = vectors[part] @ doubled
        scores += squares
        members[part] = scores.argmin(axis=1)
    return members


def search_ivf(
    index: Ivf,
    queries: Vectors,
    k: int,
    nprobe: int,
    allowed: NDArray[np.bool_] | None = None,
    threads: int | None = None,
    rule: StopRule = ANYWHERE,
) -> Neighbours:
    """Return the k nearest rows of the `nprobe` lists nearest to each query (q, d).

    Further lists are scanned until there are k rows and the rule ends the search. allowed: whether
    a row counts, by its number; None for all. `first_unusable` finds none of the queries.
    """
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.cpu import lists  # noqa: PLC0415
    from raydb.kernels.cpu.nearest import Rows, Targets  # noqa: PLC0415
    from raydb.kernels.cpu.threads import run_slices  # noqa: PLC0415

    found = no_neighbours(len(queries), k)
    scaled = unit(queries) if index.metric == "cosine" else queries
    slack = slack_of(scaled, index.metric, index.longest)
    terms = stop_terms(scaled, index.metric, index.longest)
    permitted = np.empty(0, np.bool_) if allowed is None else allowed
    # One machine code serves arrays that are mapped and others.
    asked = frozen(queries), frozen(scaled), frozen(slack)
    parts = lists.Lists(*map(frozen, (index.centroids, index.squares, index.offsets)))
    rows = Rows(*map(frozen, (index.vectors, index.row_ids, index.scales, permitted)))
    ends = lists.Rule(
        nprobe, SCORES.index(rule.score), rule.gamma, rule.kreg, rule.scale, rule.threshold
    )

    def search(part: slice) -> None:
        lists.search_lists(
            METRICS.index(index.metric),
            parts,
            rows,
            Targets(*(each[part] for each in asked)),
            ends,
            terms[part],
            lists.Found(
                found.distances[part], found.rows[part], found.probes[part], found.margins[part]
            ),
        )

    run_slices(search, len(queries), _LEAST_QUERIES, _MOST_QUERIES, threads)
    return found


def _list_scores(index: Ivf, queries: Vectors) -> Vectors:
    """Return for each query and list (q, lists) how far the list is; less is nearer."""
    scores: Vectors = queries @ index.centroids.T
    if index.metric == "ip":
        # The mean of the list's own products.
        scores *= -1
        return scores
    scores *= -2
    scores += index.squares
    return scores


def renumber(index: Ivf, live: NDArray[np.bool_]) -> Ivf:
    """Return the index once only the rows with `live` (bool, by row number) are left, in order."""
    numbers = np.cumsum(live, dtype=np.int64) - 1
    kept = live[index.row_ids]
    before = np.concatenate(([0], np.cumsum(kept, dtype=np.int64)))
    return replace(
        index,
        row_count=int(np.count_nonzero(live[: index.row_count])),
        offsets=before[index.offsets],
        row_ids=numbers[index.row_ids[kept]].astype(np.uint32),
        vectors=index.vectors[kept],
        scales=index.scales[kept] if len(index.scales) else index.scales,
    )


def to_arrays(index: Ivf) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return an index's arrays by name, and its properties as JSON values."""
    arrays: dict[str, NDArray[Any]] = {name: getattr(index, name) for name in _ARRAYS}
    return arrays, {name: getattr(index, name) for name in _PROPERTIES}


def from_arrays(arrays: Mapping[str, NDArray[Any]], properties: Mapping[str, Any]) -> Ivf:
    """Return the index of `to_arrays`; the arrays are used as they are, mapped ones too."""
    parts: dict[str, Any] = {**arrays, **properties}
    return Ivf(**{name: parts[name] for name in (*_PROPERTIES, *_ARRAYS)})
