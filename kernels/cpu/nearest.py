"""The hot loops of vector search: distances to the rows of probed lists, and the nearest of them.

A scan finds candidates in float32, whose sums may be in any order, and with them every row that
rounding may have put behind. Candidates are ranked by `distance`, which adds up in float64 in one
order: what a query finds does not depend on who scanned the rows.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from raydb.kernels.cpu.stop import margin, stop_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

L2, COSINE, IP = 0, 1, 2

# Sums may be reordered, for vector instructions; NaN and infinity stay what they are.
_FAST = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True)
def distance(metric: int, vector: NDArray[np.float32], query: NDArray[np.float32]) -> float:
    """Return the distance of two vectors in float64, added up from the first element on."""
    total = 0.0
    if metric == L2:
        for place in range(len(query)):
            difference = np.float64(vector[place]) - np.float64(query[place])
            total += difference * difference
        return sqrt(total)
    if metric == IP:
        for place in range(len(query)):
            total += np.float64(vector[place]) * np.float64(query[place])
        return -total
    one, other = 0.0, 0.0
    for place in range(len(query)):
        total += np.float64(vector[place]) * np.float64(query[place])
        one += np.float64(vector[place]) * np.float64(vector[place])
        other += np.float64(query[place]) * np.float64(query[place])
    # Rounding may leave the domain of a cosine by its last bit.
    return 1.0 - min(max(total / (sqrt(one) * sqrt(other)), -1.0), 1.0)


@numba.njit(cache=True, nogil=True)
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


@numba.njit(cache=True, nogil=True)
def insert_hits(
    metric: int,
    vectors: NDArray[np.float32],
    row_ids: NDArray[Any],
    queries: NDArray[np.float32],
    hit_queries: NDArray[np.int64],
    hit_rows: NDArray[np.int64],
    distances: NDArray[np.float64],
    rows: NDArray[np.int64],
) -> None:
    """Rank candidates, pairs of a query and a place in `vectors`, among each query's nearest."""
    for hit in range(len(hit_rows)):
        query, place = hit_queries[hit], hit_rows[hit]
        found = distance(metric, vectors[place], queries[query])
        insert(found, np.int64(row_ids[place]), distances[query], rows[query])


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _squared_distances(
    vectors: NDArray[np.float32], query: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    for row in range(len(vectors)):
        vector = vectors[row]
        total = np.float32(0)
        for place in range(np.uint64(len(query))):
            difference = vector[place] - query[place]
            total += difference * difference
        scores[row] = total


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _negative_products(
    vectors: NDArray[np.float32], query: NDArray[np.float32], scores: NDArray[np.float32]
) -> None:
    for row in range(len(vectors)):
        vector = vectors[row]
        total = np.float32(0)
        for place in range(np.uint64(len(query))):
            total += vector[place] * query[place]
        scores[row] = -total


@numba.njit(cache=True, nogil=True)
def _sink(heap: NDArray[np.float32], place: int) -> None:
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


@numba.njit(cache=True, nogil=True)
def _is_nearer(scores: NDArray[np.float32], one: int, other: int) -> bool:
    return bool(scores[one] < scores[other] or (scores[one] == scores[other] and one < other))


@numba.njit(cache=True, nogil=True)
def _sink_list(
    lists: NDArray[np.int32], count: int, place: int, scores: NDArray[np.float32]
) -> None:
    """Restore a heap of lists with the nearest first."""
    moved = lists[place]
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _is_nearer(scores, lists[child + 1], lists[child]):
            child += 1
        if not _is_nearer(scores, lists[child], moved):
            break
        lists[place] = lists[child]
        place = child
    lists[place] = moved


@numba.njit(cache=True, nogil=True)
def search_lists(
    metric: int,
    vectors: NDArray[np.float32],
    scales: NDArray[np.float32],
    offsets: NDArray[np.int64],
    row_ids: NDArray[Any],
    allowed: NDArray[np.bool_],
    queries: NDArray[np.float32],
    scaled: NDArray[np.float32],
    list_scores: NDArray[np.float32],
    least_probes: int,
    stop: int,
    gamma: float,
    kreg: int,
    scale: float,
    threshold: float,
    stop_terms: NDArray[np.float64],
    slack: NDArray[np.float32],
    distances: NDArray[np.float64],
    rows: NDArray[np.int64],
    probes: NDArray[np.int64],
    margins: NDArray[np.float64],
) -> None:
    """Find the nearest rows of the nearest lists: at least `least_probes`, more for k rows.

    Further lists are scanned until the rule of the score `stop`, gamma, kreg, scale and threshold
    ends the search (see `raydb.kernels.stop`); a threshold of -inf ends it at once.

    vectors (n, d), row_ids (n): by list, whose rows are offsets[list] .. offsets[list + 1].
    scales: 1 / norm of each vector under cosine, else empty. allowed: by row number, empty for all.
    scaled (q, d): the queries that scores are computed with, unit vectors under cosine.
    list_scores (q, lists): less is nearer. slack (q, 2): how much rounding may add to a score, in
    parts of it and beside. stop_terms (q, 4): what makes squared distances of scores.
    distances, rows (q, k), probes (q) and margins (q) receive what was found.
    """
    k = rows.shape[1]
    scores = np.empty(len(vectors), np.float32)
    order = np.empty(len(offsets) - 1, np.int32)
    nearest = np.empty(k, np.float32)
    for query in range(len(queries)):
        for each in range(len(order)):
            order[each] = each
        for place in range(len(order) // 2 - 1, -1, -1):
            _sink_list(order, len(order), place, list_scores[query])
        nearest[:] = np.inf
        terms = stop_terms[query]
        left, kept, probed, is_done = len(order), 0, 0, False
        # The lists that are done lie at the end of `order`, the last one first.
        while left and not is_done:
            chosen = order[0]
            left -= 1
            order[0] = order[left]
            order[left] = chosen
            _sink_list(order, left, 0, list_scores[query])
            probed += 1
            start, end = offsets[chosen], offsets[chosen + 1]
            part = scores[start:end]
            if metric == L2:
                _squared_distances(vectors[start:end], scaled[query], part)
            else:
                _negative_products(vectors[start:end], scaled[query], part)
            if len(scales):
                for place in range(len(part)):
                    part[place] *= scales[start + place]
            if len(allowed):
                for place in range(len(part)):
                    if not allowed[row_ids[start + place]]:
                        part[place] = np.nan
            for place in range(len(part)):
                if part[place] < nearest[0]:
                    nearest[0] = part[place]
                    _sink(nearest, 0)
            if len(allowed):
                for place in range(len(part)):
                    kept += not np.isnan(part[place])
            else:
                kept += len(part)
            following = list_scores[query, order[0]]
            if probed == 1:
                margins[query] = margin(list_scores[query, chosen], following, terms)
            if probed >= least_probes and kept >= k:
                is_done = threshold == -np.inf or threshold <= gamma * max(
                    0, probed - kreg
                ) + stop_score(stop, scale, following, nearest[0], terms)
        probes[query] = probed
        bound = nearest[0]
        if bound < np.inf:
            bound += abs(bound) * slack[query, 0] + slack[query, 1]
        for done in range(probed):
            chosen = order[len(order) - 1 - done]
            for place in range(offsets[chosen], offsets[chosen + 1]):
                if scores[place] <= bound:
                    found = distance(metric, vectors[place], queries[query])
                    insert(found, np.int64(row_ids[place]), distances[query], rows[query])
