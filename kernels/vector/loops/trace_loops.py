"""The loop over calibration queries: in which of its lists does each of the nearest rows lie."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import entry, leaf
from raydb.kernels.vector.loops.distance_loops import Rows
from raydb.kernels.vector.loops.list_search import Lists, nearest_lists, score_lists
from raydb.kernels.vector.loops.ranking import COSINE, distance, kind_of, sink
from raydb.kernels.vector.loops.simd import PADDED, PRODUCTS, add_up
from raydb.kernels.vector.loops.stop_loops import Prepared, margin, squared

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Wanted(NamedTuple):
    """The rows that queries look for.

    farthest (q): the distance of the k-th nearest; bounds (q): the greatest score it may have.
    own_rows (q): a row that does not count, -1 for none.
    """

    farthest: NDArray[np.float64]
    bounds: NDArray[np.float64]
    own_rows: NDArray[np.int64]


class Found(NamedTuple):
    """What is found: see `raydb.kernels.vector.calibration_trace.Trace`."""

    ranks: NDArray[np.int32]
    following: NDArray[np.float64]
    reached: NDArray[np.float64]
    all_following: NDArray[np.float64]
    all_reached: NDArray[np.float64]
    nearest: NDArray[np.float64]
    margins: NDArray[np.float64]


@leaf
def _score_rows(
    metric: int,
    rows: Rows,
    start: int,
    end: int,
    scaled: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> None:
    """Write the scores of a list's rows for one query, as a search computes them."""
    kind = kind_of(metric)
    add_up(kind, rows.vectors[start:end], scaled, scores)
    if kind == PRODUCTS:
        for place in range(end - start):
            scores[0, place] *= -rows.scales[start + place] if metric == COSINE else -1


@entry
def trace_lists(
    metric: int, compared: Any, listed: Any, asked: Any, looked_for: Any, results: Any
) -> None:
    """Scan lists, the nearest first, until each query's k nearest rows are found.

    Arguments as of `search_lists`, with `Wanted` and `Found` as plain tuples, too. All lists are
    looked at where `Found` has columns for them.
    """
    rows, lists, targets = Rows(*compared), Lists(*listed), Prepared(*asked)
    wanted, found = Wanted(*looked_for), Found(*results)
    list_count = len(lists.squares)
    scores = np.empty((1, list_count + -list_count % PADDED), np.float32)
    order, heap = np.empty(list_count, np.int32), np.empty(list_count, np.uint64)
    longest = np.int64(0)
    for each in range(list_count):
        longest = max(longest, lists.offsets[each + 1] - lists.offsets[each])
    row_scores = np.empty((1, longest + PADDED), np.float32)
    k = found.ranks.shape[1]
    best = np.empty(k, np.float32)
    has_all = found.all_reached.shape[1] > 0
    for query in range(len(targets.scaled)):
        scaled = targets.scaled[query : query + 1]
        score_lists(metric, lists, scaled, scores)
        nearest_lists(scores[0], heap, order)
        terms = targets.terms[query]
        best[:] = inf
        # Nothing ends a search before its first list.
        count, away, reached = 0, inf, inf
        for probed in range(1, list_count + 1):
            if count == k and not has_all:
                break
            # Once the k rows are found, further ones change nothing.
            if count < k:
                start, end = lists.offsets[order[probed - 1]], lists.offsets[order[probed - 1] + 1]
                part = row_scores[0, : end - start]
                _score_rows(metric, rows, start, end, scaled, row_scores)
                for place in range(len(part)):
                    row = np.int64(rows.row_ids[start + place])
                    if row == wanted.own_rows[query]:
                        continue
                    if len(rows.allowed) and not rows.allowed[row]:
                        continue
                    if part[place] < best[0]:
                        best[0] = part[place]
                        sink(best, 0)
                    if count < k and part[place] <= wanted.bounds[query]:
                        vector = rows.vectors[start + place]
                        far = distance(metric, vector, targets.queries[query])
                        if far <= wanted.farthest[query]:
                            found.ranks[query, count] = probed
                            found.following[query, count] = away
                            found.reached[query, count] = reached
                            count += 1
            following = scores[0, order[min(probed, list_count - 1)]]
            away = squared(following, terms[0], terms[1])
            if best[0] < inf:
                reached = squared(best[0], terms[2], terms[3])
            if probed == 1:
                found.nearest[query] = squared(scores[0, order[0]], terms[0], terms[1])
                found.margins[query] = margin(found.nearest[query], away)
            if has_all:
                found.all_following[query, probed - 1] = away
                found.all_reached[query, probed - 1] = reached
