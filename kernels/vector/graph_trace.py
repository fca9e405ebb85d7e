"""The trace of calibration queries along a graph: which `ef` it takes to meet the nearest rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.vector.calibration_trace import Trace, follow_all, looked_for
from raydb.kernels.vector.exact_search import METRICS
from raydb.kernels.vector.graph import MOST_EF
from raydb.kernels.vector.ivf import loop_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.vector.calibration_trace import Searched

# What a row counts for that no walk meets.
_NEVER = 2**30


def trace_walks(
    searched: Searched,
    queries: NDArray[np.float32],
    farthest: NDArray[np.float64],
    k: int,
    own_rows: NDArray[np.int64] | None = None,
) -> Trace:
    """Walk for queries (q, d) whose k-th nearest rows are at the distances `farthest` (q).

    ranks: the least `ef` with which each row is met, in any order. own_rows (q): a row that is not
    met by a query, -1 for none. All but ranks and margins are of no use here.
    """
    from raydb.kernels.vector.loops.walk_loops import trace_graph  # noqa: PLC0415

    index, count = searched.index, len(queries)
    assert index.graph is not None
    own = own_rows
    if own_rows is not None:
        places = np.empty(index.row_count, np.int64)
        places[index.row_ids] = np.arange(len(index.row_ids))
        own = np.where(own_rows < 0, -1, places[own_rows])
    asked, wanted = looked_for(index, queries, farthest, own)
    metric, (rows, lists, _) = METRICS.index(index.metric), loop_arrays(index, searched.allowed)
    linked, ef = index.graph.loop_arrays, max(MOST_EF, k)
    ranks, margins = np.full((count, k), _NEVER, np.int32), np.empty(count)

    def follow(part: slice) -> None:
        some = tuple(tuple(each[part] for each in arrays) for arrays in (asked, wanted))
        trace_graph(metric, rows, lists, linked, *some, ef, (ranks[part], margins[part]))

    follow_all(follow, count, searched)
    none, zeros = np.empty((count, 0)), np.zeros((count, k))
    return Trace(ranks, zeros, zeros, none, none, np.zeros(count), margins)
