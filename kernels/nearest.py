"""The rows nearest to query vectors, exactly: every row is compared.

    block of rows x queries -> scores (float32) -> candidates -> distances (float64)

Distances are Euclidean (l2), 1 - cosine (cosine) and the negative inner product (ip): less is
nearer, and of rows at the same distance the one with the smaller number.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

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

# Rows that are looked at together.
BLOCK_ROWS = 4096

# Fewer pairs of a row and a query are not worth a thread.
_LEAST_COMPARED = 2**14

# Queries that rows are compared with at a time, and the numbers of all their pairs in one slice:
# 0.1 to 0.3 s, between two of which a statement hears an interrupt.
_MOST_QUERIES = 1024
_MOST_COMPARED = 2**32

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
    blocks: Iterable[Block],
    queries: Vectors,
    k: int,
    metric: Metric,
    found: Neighbours,
    threads: int | None = None,
) -> None:
    """Add the rows of some blocks to what queries (q, d) found, where they are among the k nearest.

    The vectors are such that `first_unusable` finds none.
    """
    scaled = unit(queries) if metric == "cosine" else queries
    longest = 0.0
    for vectors, row_ids in blocks:
        norms = np.empty(0) if metric == "l2" else norms_of(vectors)
        longest = max(longest, float(norms.max(initial=0.0)))
        scales = (1 / norms if metric == "cosine" else norms[:0]).astype(np.float32)
        rows = (np.ascontiguousarray(vectors), row_ids.astype(np.uint32, copy=False), scales)
        targets = frozen(queries), frozen(scaled), slack_of(scaled, metric, longest)
        for first in range(0, len(queries), _MOST_QUERIES):
            some = slice(first, first + _MOST_QUERIES)
            part = Neighbours(*(getattr(found, each.name)[some] for each in fields(found)))
            _nearest_of(rows, tuple(each[some] for each in targets), k, metric, part, threads)


def _nearest_of(
    arrays: tuple[Vectors, NDArray[np.uint32], Vectors],
    queries: tuple[Vectors, ...],
    k: int,
    metric: Metric,
    found: Neighbours,
    threads: int | None,
) -> None:
    """Compare rows, slice by slice, with queries; see `Rows` and `Targets` of the loops."""
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.cpu import nearest as loops  # noqa: PLC0415
    from raydb.kernels.cpu.codes import Codes  # noqa: PLC0415
    from raydb.kernels.cpu.ranking import merge  # noqa: PLC0415
    from raydb.kernels.cpu.threads import run_slices  # noqa: PLC0415

    code, adding = METRICS.index(metric), Lock()
    vectors, numbers, scales = map(frozen, arrays)
    rows = loops.Rows(vectors, numbers, scales, EVERYONE)
    targets = loops.Targets(*queries)
    codes = Codes(*(frozen(each) for each in no_codes(vectors.shape[1]).values()))
    heaps = _heaps(found, metric)
    (row_count, width), query_count = vectors.shape, len(queries[0])

    def search(part: slice) -> None:
        some, own = no_neighbours(query_count, k), heaps.copy()
        loops.search_rows(
            code, rows, codes, part.start, part.stop, targets, own, some.distances, some.rows
        )
        with adding:
            merge(some.distances, some.rows, found.distances, found.rows)

    least = max(_LEAST_COMPARED // max(query_count, 1), 1)
    most = max(_MOST_COMPARED // max(query_count * width, 1), least)
    run_slices(search, row_count, least, most, threads)


def frozen(array: Any) -> NDArray[Any]:
    """Return a view that cannot be written: for one machine code with arrays that are mapped."""
    view: NDArray[Any] = array.view()
    view.flags.writeable = False
    return view


def no_codes(width: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of `Codes` for rows without."""
    empty = np.empty((0, width), np.float32)
    return {
        "codes": empty.astype(np.int8),
        "code_squares": empty[:, 0].copy(),
        "code_centers": empty,
        "code_steps": empty,
        "code_errors": np.empty((0, 2), np.float32),
    }


EVERYONE = frozen(np.empty(0, np.bool_))
"""Of rows that are allowed: all."""


def _heaps(found: Neighbours, metric: Metric) -> Vectors:
    """Return the scores of what is found (q, k), the greatest first, infinity for none."""
    distances = found.distances[:, ::-1]
    match metric:
        case "l2":
            scores = distances * distances
        case "cosine":
            scores = distances - 1
        case "ip":
            scores = distances
    heaps: Vectors = scores.astype(np.float32)
    return heaps


def slack_of(queries: Vectors, metric: Metric, longest: float) -> Vectors:
    """Return how far float32 may be off a score (q, 2): in parts of it, and beside.

    queries: unit vectors under cosine. longest: the greatest norm of a row.
    """
    # A sum of n products is off by n roundings at most (Higham, Accuracy and Stability, 3.1).
    rounding = 2 * (queries.shape[1] + 8) * _ROUNDING
    slack = np.empty((len(queries), 2), np.float32)
    if metric == "l2":
        # Squares are added up: the error is a part of the sum.
        slack[:] = rounding, _VANISHING
        return slack
    slack[:, 0] = 0
    slack[:, 1] = rounding * (longest if metric == "ip" else 1.0) * norms_of(queries) + _VANISHING
    return slack


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


def unit(vectors: Vectors) -> Vectors:
    """Return the vectors at length 1; those of length 0 stay."""
    norms = norms_of(vectors)[:, None]
    return (vectors / np.where(norms == 0.0, 1.0, norms)).astype(np.float32)
