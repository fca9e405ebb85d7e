"""The rows nearest to query vectors, exactly: every row is compared.

    block of rows x queries -> scores (float32) -> candidates -> distances (float64)

Distances are Euclidean (l2), 1 - cosine (cosine), the negative inner product (ip), the sum of
absolute differences (l1) and the number of bits that differ (hamming): less is nearer, and of rows
at the same distance the one with the smaller number.

Bits come as words of 32, and arrays of words as float32 of the same bits, so that all metrics share
the machine code of their loops; nothing but `BITS` computes with them.
"""

from __future__ import annotations

from dataclasses import fields
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.vector.loops.stop_loops import Prepared

    Vectors = NDArray[np.float32]
    # Some rows' vectors (n, d) and their numbers (n).
    Block = tuple[Vectors, NDArray[np.integer]]

Metric = Literal["l2", "cosine", "ip", "l1", "hamming"]
METRICS: tuple[Metric, ...] = ("l2", "cosine", "ip", "l1", "hamming")
# Those whose scores are products, in which norms matter.
PRODUCT_METRICS = ("cosine", "ip")

# Sums of squares of more than 8,000 such numbers are finite in float32.
LARGEST = 1e17

# Products with shorter vectors lose more in float32, where numbers below 1.2e-38 have fewer digits,
# than `Prepared.slack` allows; their scale is still a number of float32.
SHORTEST = 1e-37

# Rows that are looked at together.
BLOCK_ROWS = 4096

# Fewer pairs of a row and a query are not worth a thread.
_MIN_COMPARED = 2**14

# Queries that rows are compared with at a time, and the numbers of all their pairs in one slice:
# 0.1 to 0.3 s, between two of which a statement hears an interrupt.
_MAX_QUERIES = 1024
_MAX_COMPARED = 2**32

_NO_SCALES = np.empty(0, np.float32)

# For loops, that all rows count.
EVERY = np.empty(0, np.bool_)
EVERY.flags.writeable = False


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

    def take(self, part: slice) -> Neighbours:
        """Return the part of some queries, which shares its arrays."""
        return Neighbours(*(getattr(self, each.name)[part] for each in fields(self)))


def no_neighbours(query_count: int, k: int) -> Neighbours:
    """Return room for k rows a query, with none found yet."""
    rows, distances = np.empty((query_count, k), np.int64), np.empty((query_count, k))
    probes, margins = np.zeros(query_count, np.int64), np.empty(query_count)
    # np.full takes 1 us more for each.
    rows.fill(-1)
    distances.fill(np.inf)
    margins.fill(np.nan)
    return Neighbours(rows, distances, probes, margins)


def first_unusable(vectors: Vectors, metric: Metric) -> tuple[int, str] | None:
    """Return the first vector that has no distance to others, and why; None where all have one."""
    if metric == "hamming":
        return None
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


def prepared(queries: Vectors, metric: Metric, longest: float) -> Prepared:
    """Return what scores of queries with rows are computed with; longest: a row's greatest norm."""
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.vector.loops.stop_loops import Prepared, prepare  # noqa: PLC0415

    arrays = unprepared(queries, metric)
    prepare(METRICS.index(metric), float(longest), *arrays)
    return Prepared(*arrays)


def unprepared(queries: Vectors, metric: Metric) -> tuple[Vectors, Vectors, Vectors, NDArray[Any]]:
    """Return the arrays of `Prepared`, into which `prepare` has written nothing yet."""
    own, count = writable(queries), len(queries)
    scaled = np.empty(own.shape, np.float32) if metric == "cosine" else own
    return own, scaled, np.empty((count, 2), np.float32), np.empty((count, 4))


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
    longest = 0.0
    asked: Prepared | None = None
    for vectors, row_ids in blocks:
        scales = _NO_SCALES
        if metric in PRODUCT_METRICS:
            norms = norms_of(vectors)
            if metric == "cosine":
                scales = (1 / norms).astype(np.float32)
            longest, asked = max(longest, float(norms.max(initial=0.0))), None
        asked = asked or prepared(queries, metric, longest)
        numbers = row_ids.astype(np.uint32, copy=False)
        arrays = [frozen(np.ascontiguousarray(each)) for each in (vectors, numbers, scales)]
        for first in range(0, len(queries), _MAX_QUERIES):
            some = slice(first, first + _MAX_QUERIES)
            one, part = asked, found
            if len(queries) > _MAX_QUERIES:
                one, part = _part(asked, some), found.take(some)
            _nearest_of(arrays, one, k, metric, part, threads)


def _part(asked: Any, some: slice) -> Any:
    """Return the part of some queries."""
    return asked._make(each[some] for each in asked)


def _nearest_of(
    arrays: Sequence[NDArray[Any]],
    asked: Prepared,
    k: int,
    metric: Metric,
    found: Neighbours,
    threads: int | None,
) -> None:
    """Compare rows, slice by slice, with queries. arrays: vectors, row_ids and scales of `Rows`."""
    # numba takes 0.3 s to import, and few processes search vectors.
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.distance_loops import search_rows  # noqa: PLC0415
    from raydb.kernels.vector.loops.ranking import merge  # noqa: PLC0415

    code, adding, (row_count, width) = METRICS.index(metric), Lock(), arrays[0].shape
    heaps, given, query_count = _heaps(found, metric), tuple(asked), len(asked.queries)

    def search(part: slice) -> None:
        scales = arrays[2][part] if len(arrays[2]) else arrays[2]
        rows = (arrays[0][part], arrays[1][part], scales, EVERY)
        if part.stop - part.start == row_count:
            search_rows(code, rows, given, heaps, found.distances, found.rows)
            return
        some = no_neighbours(query_count, k)
        search_rows(code, rows, given, heaps.copy(), some.distances, some.rows)
        with adding:
            merge(some.distances, some.rows, found.distances, found.rows)

    least = max(_MIN_COMPARED // max(query_count, 1), 1)
    most = max(_MAX_COMPARED // max(query_count * width, 1), least)
    run_slices(search, row_count, least, most, threads)


def writable(vectors: Vectors) -> Vectors:
    """Return vectors as compiled loops take them: that may be written, one after the other."""
    if vectors.flags.writeable and vectors.flags.c_contiguous:
        return vectors
    return vectors.copy()


def frozen(array: Any) -> NDArray[Any]:
    """Return a view that cannot be written: for one machine code with arrays that are mapped."""
    view: NDArray[Any] = array.view()
    view.flags.writeable = False
    return view


def _heaps(found: Neighbours, metric: Metric) -> Vectors:
    """Return the scores of what is found (q, k), the greatest first, infinity for none."""
    distances = found.distances[:, ::-1]
    match metric:
        case "l2":
            scores = distances * distances
        case "cosine":
            scores = distances - 1
        case _:
            scores = distances
    # In NumPy's order the copy would lie as what it is made of.
    heaps: Vectors = scores.astype(np.float32, order="C")
    return heaps


def words_of(bits: NDArray[np.bool_]) -> Vectors:
    """Return bits (n, d) as words of 32 (n, d / 32), of which the last has zeros where d ends."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    width = -(-packed.shape[1] // 4) * 4
    padded = np.zeros((len(packed), width), np.uint8)
    padded[:, : packed.shape[1]] = packed
    words: Vectors = padded.view(np.float32)
    return words


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
