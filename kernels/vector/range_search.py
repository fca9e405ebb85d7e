"""All rows within a distance of query vectors: of some rows, or of the nearest lists of an index.

queries, distances  ->  bounds of scores  ->  pairs of a query and a row, in any order
pairs               ->  by query, distance and row number
"""

from __future__ import annotations

from copy import copy
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.vector.exact_search import (
    EVERY,
    METRICS,
    PRODUCT_METRICS,
    Metric,
    frozen,
    norms_of,
    prepared,
    unprepared,
)
from raydb.kernels.vector.ivf import loop_arrays
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Block
    from raydb.kernels.vector.ivf import Ivf

    Vectors = NDArray[np.float32]

# Rows and queries that are compared in one slice: all their pairs may be found, at 12 bytes each,
# and a statement hears an interrupt and asks for memory between two slices.
_MAX_PAIRS = 2**22
_MAX_QUERIES = 256
_MIN_COMPARED = 2**14

# A score beyond all of vectors, and still a number.
_LARGEST_SCORE = 3e38


@dataclass(frozen=True, eq=False, slots=True)
class Within:
    """Pairs of a query and a row that is near enough: their numbers and the distances, each (n)."""

    queries: NDArray[np.int64]
    rows: NDArray[np.int64]
    distances: NDArray[np.float64]


class Found:
    """The pairs that are found slice by slice, in several threads.

    take: is told how many they are so far. names: the numbers of the queries; None: as they come.
    """

    def __init__(self, take: Callable[[int], None], names: NDArray[np.int64] | None = None) -> None:
        self._take, self._names = take, names
        self._parts, self._count, self._adding = [_NO_PAIRS], [0], Lock()

    def of_queries(self, names: NDArray[np.int64]) -> Found:
        """Return what adds pairs of some queries, counted from 0, under their own numbers."""
        some = copy(self)
        some._names = names  # noqa: SLF001  (its own kind)
        return some

    def add(self, part: Sequence[NDArray[Any]], first_query: int) -> None:
        """Add pairs whose queries are counted from `first_query` on."""
        queries, rows, distances = part
        if not len(rows):
            return
        numbers = queries + first_query
        if self._names is not None:
            numbers = self._names[numbers]
        with self._adding:
            self._parts.append(Within(numbers, rows, distances))
            self._count[0] += len(rows)
            count = self._count[0]
        self._take(count)

    def in_order(self) -> Within:
        """Return all pairs, by query, then the nearest first, of equal ones the first row."""
        names = ("queries", "rows", "distances")
        queries, rows, distances = (
            np.concatenate([getattr(part, name) for part in self._parts]) for name in names
        )
        order = np.lexsort((rows, distances, queries))
        return Within(queries[order], rows[order], distances[order])


_NO_PAIRS = Within(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def compare_rows(
    blocks: Iterable[Block],
    queries: Vectors,
    most: NDArray[np.float64],
    metric: Metric,
    found: Found,
) -> None:
    """Add to `found` the rows of some blocks within the distances `most` (q) of queries (q, d).

    The vectors are such that `first_unusable` finds none.
    """
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.range_loops import rows_within  # noqa: PLC0415

    bounds, code = _bounds(most, metric), METRICS.index(metric)
    for vectors, row_ids in blocks:
        norms = norms_of(vectors) if metric in PRODUCT_METRICS else np.empty(0)
        scales = (1 / norms if metric == "cosine" else norms[:0]).astype(np.float32)
        longest = float(norms.max(initial=0.0))
        numbers = row_ids.astype(np.uint32, copy=False)
        arrays = [frozen(np.ascontiguousarray(each)) for each in (vectors, numbers, scales)]
        for first in range(0, len(queries), _MAX_QUERIES):
            some = slice(first, first + _MAX_QUERIES)
            asked: tuple[Any, ...] = tuple(prepared(queries[some], metric, longest))

            def search(
                part: slice, some: slice = some, asked: Any = asked, arrays: Any = arrays
            ) -> None:
                chosen = arrays[2][part] if len(arrays[2]) else arrays[2]
                rows = (arrays[0][part], arrays[1][part], chosen, EVERY)
                given = (bounds[some], most[some])
                found.add(rows_within(code, rows, asked, given), some.start)

            asking = len(asked[0])
            run_slices(search, len(vectors), _MIN_COMPARED, max(_MAX_PAIRS // asking, 1))


def compare_lists(
    index: Ivf,
    queries: Vectors,
    most: NDArray[np.float64],
    nprobe: int,
    allowed: NDArray[np.bool_] | None,
    found: Found,
) -> None:
    """Add to `found` the rows of the `nprobe` nearest lists within the distances of queries (q, d).

    nprobe: at most as many as there are. allowed: whether a row counts, by its number.
    """
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.range_loops import lists_within  # noqa: PLC0415

    if not len(index.row_ids):
        return
    bounds, code = _bounds(most, index.metric), METRICS.index(index.metric)
    rows, lists, codes = loop_arrays(index, allowed)
    longest, count = float(index.longest), int(nprobe)

    def search(part: slice) -> None:
        asked = unprepared(queries[part], index.metric)
        given = (rows, lists, codes, asked, count, (bounds[part], most[part]))
        found.add(lists_within(code, longest, *given), part.start)

    scanned = max(len(index.row_ids) * nprobe // max(index.list_count, 1), 1)
    run_slices(search, len(queries), 1, min(max(_MAX_PAIRS // scanned, 1), _MAX_QUERIES))


def _bounds(most: NDArray[np.float64], metric: Metric) -> NDArray[np.float32]:
    """Return the scores (q, 1) that distances (q) have, or a little more."""
    match metric:
        case "l2":
            scores = np.minimum(np.maximum(most, 0.0), 1e19) ** 2
        case "cosine":
            scores = most - 1
        case _:
            scores = most
    finite = np.clip(scores, -_LARGEST_SCORE, _LARGEST_SCORE).astype(np.float32)
    # What was rounded down.
    bounds: NDArray[np.float32] = np.nextafter(finite, np.float32(_LARGEST_SCORE))
    return bounds[:, None]
