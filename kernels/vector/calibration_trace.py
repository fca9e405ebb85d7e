"""The trace of calibration queries: in which list each of the nearest rows turns up.

query   ->   exact k-th distance   ->   lists, the nearest first, until all k rows are found
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.vector.exact_search import METRICS, nearest, no_neighbours, prepared
from raydb.kernels.vector.ivf import loop_arrays
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Block
    from raydb.kernels.vector.ivf import Ivf
    from raydb.kernels.vector.loops.stop_loops import Prepared

    Vectors = NDArray[np.float32]

# Rows that are compared with all queries between two chances to end.
_ROWS = 2**16

# Queries that are traced between two chances to end, and those of one thread's turn.
_QUERIES = 256
_QUERIES_AT_ONCE = 8


@dataclass(frozen=True, eq=False, slots=True)
class Searched:
    """An index that is searched. allowed: whether a row counts, by its number; None for all.

    keep_going: is called now and then, and may raise.
    """

    index: Ivf
    allowed: NDArray[np.bool_] | None = None
    threads: int | None = None
    keep_going: Callable[[], None] = lambda: None


@dataclass(frozen=True, eq=False, slots=True)
class Trace:
    """What searches for k rows would show, list by list.

    ranks (q, k) int32, ascending: how many lists it takes to find each of the k nearest rows; one
    as far as the k-th is as good. following, reached (q, k): what `stop_scores` needs to tell E_p
    one list earlier. all_following, all_reached (q, lists): the same after each list, the last one
    as its own follower; no columns where nobody asked for them. nearest, margins (q): the squared
    distance of the nearest list's centroid, and that of `Neighbours`. All but ranks are float64.
    """

    ranks: NDArray[np.int32]
    following: NDArray[np.float64]
    reached: NDArray[np.float64]
    all_following: NDArray[np.float64]
    all_reached: NDArray[np.float64]
    nearest: NDArray[np.float64]
    margins: NDArray[np.float64]

    def take(self, queries: NDArray[np.int64]) -> Trace:
        """Return the part of some queries."""
        return Trace(*(getattr(self, each.name)[queries] for each in fields(self)))


def some_rows(searched: Searched, count: int, seed: int) -> tuple[Vectors, NDArray[np.int64]]:
    """Return the vectors (n, d) and the numbers (n) of so many rows that count, or of all."""
    index = searched.index
    places = np.arange(len(index.row_ids))
    if searched.allowed is not None:
        places = np.flatnonzero(searched.allowed[index.row_ids])
    count = min(count, len(places))
    chosen = np.random.default_rng(seed).choice(places, count, replace=False)
    return np.ascontiguousarray(index.vectors[chosen]), index.row_ids[chosen].astype(np.int64)


def trace(
    searched: Searched,
    queries: Vectors,
    farthest: NDArray[np.float64],
    k: int,
    own_rows: NDArray[np.int64] | None = None,
    *,
    with_all: bool = False,
) -> Trace:
    """Follow queries (q, d) whose k-th nearest rows are at the distances `farthest` (q).

    own_rows (q): a row that does not count for a query, -1 for none. with_all: see `Trace`.
    """
    from raydb.kernels.vector.loops.trace_loops import trace_lists  # noqa: PLC0415

    index, count = searched.index, len(queries)
    all_ = (count, index.list_count if with_all else 0)
    found = Trace(
        np.zeros((count, k), np.int32),
        np.empty((count, k)),
        np.empty((count, k)),
        np.empty(all_),
        np.empty(all_),
        np.empty(count),
        np.empty(count),
    )
    asked, wanted = looked_for(index, queries, farthest, own_rows)
    metric, (rows, lists, _) = METRICS.index(index.metric), loop_arrays(index, searched.allowed)
    results = tuple(getattr(found, each.name) for each in fields(found))

    def follow(part: slice) -> None:
        parts = (tuple(each[part] for each in arrays) for arrays in (asked, wanted, results))
        trace_lists(metric, rows, lists, *parts)

    follow_all(follow, count, searched)
    assert (found.ranks > 0).all(), "each query has k rows"
    return found


def looked_for(
    index: Ivf,
    queries: Vectors,
    farthest: NDArray[np.float64],
    own: NDArray[np.int64] | None,
) -> tuple[Prepared, tuple[NDArray[Any], ...]]:
    """Return queries as loops take them, and `Wanted` as a plain tuple.

    farthest: as `trace` has it. own (q): what does not count for a query, None for nothing.
    """
    asked = prepared(queries, index.metric, index.longest)
    bounds = _bounds(index, farthest)
    bounds += np.abs(bounds) * asked.slack[:, 0] + asked.slack[:, 1]
    without = np.full(len(queries), -1, np.int64) if own is None else own.astype(np.int64)
    return asked, (np.array(farthest), bounds, without)


def follow_all(follow: Callable[[slice], None], count: int, searched: Searched) -> None:
    """Run a loop for some of `count` queries after the other, in threads."""
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415

    for first in range(0, count, _QUERIES):
        searched.keep_going()
        some = min(_QUERIES, count - first)

        def follow_some(part: slice, first: int = first) -> None:
            follow(slice(first + part.start, first + part.stop))

        run_slices(follow_some, some, 1, _QUERIES_AT_ONCE, searched.threads)


def _bounds(index: Ivf, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scores of rows at some distances."""
    bounds = distances.copy()
    match index.metric:
        case "l2":
            bounds *= distances
        case "cosine":
            bounds -= 1
        case _:
            pass
    return bounds


def exact_distances(
    searched: Searched, queries: Vectors, k: int, own_rows: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Return the distances of the k nearest rows of an index to each query (q, k), ascending."""
    room = k if own_rows is None else k + 1
    found = no_neighbours(len(queries), room)
    metric = searched.index.metric
    nearest(_blocks(searched), queries, room, metric, found, searched.threads)
    if own_rows is None:
        return found.distances
    others = found.rows != own_rows[:, None]
    others[others.all(axis=1), k] = False
    distances: NDArray[np.float64] = found.distances[others].reshape(len(queries), k)
    return distances


def _blocks(searched: Searched) -> Iterator[Block]:
    index, allowed = searched.index, searched.allowed
    for start in range(0, len(index.row_ids), _ROWS):
        searched.keep_going()
        vectors = index.vectors[start : start + _ROWS]
        row_ids = index.row_ids[start : start + _ROWS]
        if allowed is None:
            yield vectors, row_ids
        else:
            counts = allowed[row_ids]
            yield vectors[counts], row_ids[counts]
