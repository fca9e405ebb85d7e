"""The search of an index by a walk along its graph, and what calibration asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.interrupts import check_interrupt
from raydb.kernels.vector.exact_search import METRICS, no_neighbours, unprepared
from raydb.kernels.vector.ivf import loop_arrays

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from raydb.kernels.vector.exact_search import Neighbours
    from raydb.kernels.vector.ivf import Ivf

# Queries that are worth a thread; at most so many, which look at so many vectors together, until an
# interrupt is heard.
_MIN_QUERIES = 16
_MAX_QUERIES = 1024
_MAX_LOOKED_AT = 2**17


def search_graph(
    index: Ivf,
    queries: NDArray[np.float32],
    k: int,
    ef: int,
    allowed: NDArray[np.bool_] | None = None,
    threads: int | None = None,
) -> Neighbours:
    """Return the k nearest rows to each query (q, d) among `ef` vectors that a walk ends with.

    Where fewer of these count than k, there are fewer rows. allowed: whether a row counts, by its
    number; None for all. probes: how many vectors were looked at. `first_unusable` finds none of
    the queries.
    """
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.walk_loops import search_graph as walk  # noqa: PLC0415

    assert index.graph is not None
    found, asked = no_neighbours(len(queries), k), unprepared(queries, index.metric)
    metric, longest = METRICS.index(index.metric), float(index.longest)
    rows, lists, _ = loop_arrays(index, allowed)
    linked = index.graph.loop_arrays

    def search(part: slice) -> None:
        some, into = tuple(each[part] for each in asked), found.take(part)
        results = into.distances, into.rows, into.probes, into.margins
        walk(metric, longest, rows, lists, linked, some, ef, results)

    if len(queries) == 1:
        check_interrupt()
        search(slice(0, 1))
    else:
        most = min(max(_MAX_LOOKED_AT // ef, 1), _MAX_QUERIES)
        run_slices(search, len(queries), _MIN_QUERIES, most, threads)
    return found
