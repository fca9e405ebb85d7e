"""The loop over calibration queries: in which of its lists does each of the nearest rows lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from raydb.kernels.cpu.nearest import (
    L2,
    distance,
    negative_products,
    sink,
    sink_list,
    squared_distances,
)
from raydb.kernels.cpu.stop import margin, squared

if TYPE_CHECKING:
    from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def trace_lists(
    metric: int,
    vectors: NDArray[np.float32],
    scales: NDArray[np.float32],
    offsets: NDArray[np.int64],
    row_ids: NDArray[Any],
    allowed: NDArray[np.bool_],
    own_rows: NDArray[np.int64],
    queries: NDArray[np.float32],
    scaled: NDArray[np.float32],
    list_scores: NDArray[np.float32],
    stop_terms: NDArray[np.float64],
    farthest: NDArray[np.float64],
    bounds: NDArray[np.float64],
    ranks: NDArray[np.int32],
    following: NDArray[np.float64],
    reached: NDArray[np.float64],
    all_following: NDArray[np.float64],
    all_reached: NDArray[np.float64],
    nearest: NDArray[np.float64],
    margins: NDArray[np.float64],
) -> None:
    """Scan lists, the nearest first, until each query's k nearest rows are found.

    Arguments as of `search_lists`. own_rows (q): a row that does not count, -1 for none.
    farthest (q): the distance of the k-th nearest row; bounds (q): the greatest score it may have.
    The rest receives what is found, see `raydb.kernels.trace.Trace`; all lists are looked at where
    all_following and all_reached have columns for them.
    """
    k = ranks.shape[1]
    list_count = len(offsets) - 1
    row_scores = np.empty(np.max(offsets[1:] - offsets[:-1]), np.float32)
    order = np.empty(list_count, np.int32)
    heap = np.empty(k, np.float32)
    for query in range(len(queries)):
        for each in range(list_count):
            order[each] = each
        for place in range(list_count // 2 - 1, -1, -1):
            sink_list(order, list_count, place, list_scores[query])
        heap[:] = np.inf
        terms, kept, found = stop_terms[query], 0, 0
        # Nothing ends a search before its first list.
        away_before, reached_before = np.inf, np.inf
        for probed in range(1, list_count + 1):
            if found == k and not all_reached.shape[1]:
                break
            chosen = order[0]
            left = list_count - probed
            order[0] = order[left]
            sink_list(order, left, 0, list_scores[query])
            away = squared(list_scores[query, order[0] if left else chosen], terms[0], terms[1])
            if probed == 1:
                nearest[query] = squared(list_scores[query, chosen], terms[0], terms[1])
                margins[query] = margin(nearest[query], away)
            # Once the k rows are found, further ones change nothing.
            if found < k:
                start, end = offsets[chosen], offsets[chosen + 1]
                part = row_scores[: end - start]
                if metric == L2:
                    squared_distances(vectors[start:end], scaled[query], part)
                else:
                    negative_products(vectors[start:end], scaled[query], part)
                if len(scales):
                    for place in range(len(part)):
                        part[place] *= scales[start + place]
                for place in range(len(part)):
                    row = np.int64(row_ids[start + place])
                    if row == own_rows[query] or (len(allowed) and not allowed[row]):
                        continue
                    kept += 1
                    if part[place] < heap[0]:
                        heap[0] = part[place]
                        sink(heap, 0)
                    if (
                        part[place] <= bounds[query]
                        and found < k
                        and distance(metric, vectors[start + place], queries[query])
                        <= farthest[query]
                    ):
                        ranks[query, found] = probed
                        following[query, found] = away_before
                        reached[query, found] = reached_before
                        found += 1
            away_before = away
            if kept >= k:
                reached_before = squared(heap[0], terms[2], terms[3])
            if all_reached.shape[1]:
                all_following[query, probed - 1] = away_before
                all_reached[query, probed - 1] = reached_before
