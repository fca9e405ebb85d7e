"""The exact distance of two vectors, and the order of what was found: compiled loops.

Distances are added up in float64 in one order, so that they depend on the two vectors alone; rows
at the same distance are in the order of their numbers.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

from raydb.kernels.jit import entry, leaf
from raydb.kernels.vector.loops.simd import BITS, DIFFERENCES, PRODUCTS, SQUARES, exact_sum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# As in `METRICS`.
L2, COSINE, IP, L1, HAMMING = range(5)


@leaf
def kind_of(metric: int) -> int:
    """Return what is added up for a metric: products under cosine and ip."""
    if metric == L2:
        return SQUARES
    if metric == L1:
        return DIFFERENCES
    return BITS if metric == HAMMING else PRODUCTS


@leaf
def centroid_kind_of(metric: int) -> int:
    """Return what is added up for centroids: for l2 products, of which squares come sooner."""
    kind = kind_of(metric)
    return PRODUCTS if kind == SQUARES else kind


@leaf
def distance(metric: int, vector: NDArray[np.float32], query: NDArray[np.float32]) -> float:
    """Return the distance of two vectors, added up in float64."""
    total: float = exact_sum(kind_of(metric), vector, query)
    if metric in (L1, HAMMING):
        return total
    if metric == L2:
        return sqrt(total)
    if metric == IP:
        return -total
    one, other = exact_sum(PRODUCTS, vector, vector), exact_sum(PRODUCTS, query, query)
    # Rounding may leave the domain of a cosine by its last bit.
    return 1.0 - min(max(total / (sqrt(one) * sqrt(other)), -1.0), 1.0)


@leaf
def insert(
    found: float, row: np.int64, distances: NDArray[np.float64], rows: NDArray[np.int64]
) -> None:
    """Put a row where it belongs among the nearest ones, by distance and then by row number."""
    last = len(rows) - 1
    if rows[last] >= 0 and (
        found > distances[last] or (found == distances[last] and row > rows[last])
    ):
        return
    place = last
    while place > 0 and (
        rows[place - 1] < 0
        or found < distances[place - 1]
        or (found == distances[place - 1] and row < rows[place - 1])
    ):
        distances[place] = distances[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
    distances[place] = found
    rows[place] = row


@entry
def merge(
    some_distances: NDArray[np.float64],
    some_rows: NDArray[np.int64],
    distances: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> None:
    """Put what queries found in some rows (q, k) among what they found in others."""
    for query in range(len(rows)):
        for rank in range(rows.shape[1]):
            if some_rows[query, rank] < 0:
                break
            found, row = some_distances[query, rank], some_rows[query, rank]
            insert(found, row, distances[query], rows[query])


@leaf
def sink(heap: NDArray[Any], place: int) -> None:
    """Restore a heap with the greatest number first, where the one at a place is too small."""
    count, value = len(heap), heap[place]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= value:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = value
