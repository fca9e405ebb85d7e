"""How the graph over the vectors of an index is made, and follows its rows.

vectors, by list  ->  the nearest ones of each, from a few lists  ->  neighbours  ->  starts
rows that are gone  ->  their neighbours are joined in their place
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.interrupts import check_interrupt
from raydb.kernels.vector import ivf
from raydb.kernels.vector.exact_search import METRICS, frozen, norms_of
from raydb.kernels.vector.graph import Graph
from raydb.kernels.vector.ivf import build_from, search_ivf
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl
    from raydb.kernels.vector.ivf import Ivf

    Vectors = NDArray[np.float32]
    Places = NDArray[np.int64]

# Lists in which those near a vector are looked for.
_PROBES = 8

# Places of each list, evenly spread, at which a walk may begin.
_STARTS = 32

# Vectors that are looked at one after the other between two looks at an interrupt: some 30 ms.
_STEPS = 2**17

# Vectors whose candidates are looked for together, and those that are worth a thread.
_BLOCK = 8192
_MIN_ROWS = 256


def with_graph(
    index: Ivf, control: BuildControl, degree: int, near_count: int, before: Ivf | None = None
) -> Ivf:
    """Return an index with a graph over its vectors, the same one whatever the threads.

    degree: to how many others a vector is joined at most. near_count: of how many near it. before:
    an index with a graph, the lists of which are those of this one; what it knows of rows that both
    have is kept. Raises what `control` does where its room is too small, or to end the
    build.
    """
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.graph_loops import (  # noqa: PLC0415
        choose_neighbours,
        join_both_ways,
        note_choosers,
    )

    count, space = len(index.row_ids), _space(index)
    # The graph, and who chose whom; the candidates of a block; places and sides.
    held = 2 * count * (4 * degree + 4) + _BLOCK * near_count * 40 + 8 * index.row_count + 4 * count
    control.room.take(held)
    graph, counts = np.empty((count, degree), np.uint32), np.full(count, -1, np.int32)
    if before is not None and before.graph is not None:
        _keep(index, before, graph, counts)
    own = np.flatnonzero(counts < 0)
    for start, near in _candidates(index, own, near_count, control):

        def choose(part: slice, start: int = start, near: Places = near) -> None:
            some = own[start + part.start : start + part.stop]
            choose_neighbours(space, near[part], some, graph, counts)

        run_slices(choose, len(near), _MIN_ROWS, _BLOCK)
    choosers, chosen = np.empty((count, degree), np.uint32), np.zeros(count, np.int32)
    control.report("join", 1.0)
    for start in range(0, len(own), _STEPS):
        check_interrupt()
        note_choosers(own[start : start + _STEPS], graph, counts, choosers, chosen)

    def join(part: slice) -> None:
        join_both_ways(space, graph, counts, choosers, chosen, (part.start, part.stop))

    run_slices(join, count, _MIN_ROWS, _BLOCK)
    control.room.give(held)
    return replace(index, graph=_with_starts(index, graph, _usual_starts(index)))


def renumber(index: Ivf, live: NDArray[np.bool_]) -> Ivf:
    """Return an index once only the rows with `live` (bool, by row number) are left, in order."""
    made = ivf.renumber(index, live)
    if index.graph is None:
        return made
    kept = live[index.row_ids]
    moved = np.where(kept, np.cumsum(kept, dtype=np.int64) - 1, -1)
    graph = np.empty((len(made.row_ids), index.graph.neighbours.shape[1]), np.uint32)
    counts = np.empty(len(graph), np.int32)
    _bridge(made, index.graph, moved, graph, counts)
    is_start = np.zeros(len(graph), np.bool_)
    is_start[moved[index.graph.starts[kept[index.graph.starts]]]] = True
    is_rest = np.arange(graph.shape[1]) >= counts[:, None]
    np.copyto(graph, np.arange(len(graph), dtype=np.uint32)[:, None], where=is_rest)
    return replace(made, graph=_with_starts(made, graph, is_start))


def _space(index: Ivf) -> tuple[Any, ...]:
    """Return `Space` of the loops as a plain tuple."""
    sides = index.scales
    if index.metric == "ip":
        sides = _heights(index).astype(np.float32)
    square = np.float32(index.longest * index.longest)
    return METRICS.index(index.metric), index.vectors, frozen(sides), square


def _heights(index: Ivf) -> NDArray[np.float64]:
    """Return what is added to vectors to make them as long as the longest: see `Prepared`."""
    norms = norms_of(index.vectors).astype(np.float64)
    heights: NDArray[np.float64] = np.sqrt(np.maximum(index.longest**2 - norms**2, 0.0))
    return heights


def _candidates(
    index: Ivf, own: Places, near_count: int, control: BuildControl
) -> Iterator[tuple[int, Places]]:
    """Yield the places near the vectors at some places, block by block, and where a block begins.

    Under ip they are near by the distance of vectors that are all as long, which lists of their own
    find.
    """
    count, searched, places = len(index.row_ids), index, np.zeros(index.row_count, np.int64)
    places[index.row_ids] = np.arange(count)
    if index.metric == "ip" and len(own):
        lifted = np.column_stack((index.vectors, _heights(index).astype(np.float32)))
        control.room.take(lifted.nbytes)
        blocks = [(lifted, np.arange(count, dtype=np.uint32))]
        searched = build_from(blocks, count, index.list_count, "l2", 0, control)
        places = np.arange(count)
    wanted = min(near_count, count)
    for start in range(0, len(own), _BLOCK):
        control.report("join", start / len(own))
        some = own[start : start + _BLOCK]
        asked = index.vectors[some] if searched is index else lifted[some]
        found = search_ivf(searched, asked, wanted, _PROBES).rows
        yield start, np.where(found < 0, -1, places[found])
    if searched is not index:
        control.room.give(lifted.nbytes)


def _keep(index: Ivf, before: Ivf, graph: NDArray[np.uint32], counts: NDArray[np.int32]) -> None:
    """Write the neighbours that vectors had in another index, as far as they are in this one."""
    places = np.full(max(before.row_count, index.row_count), -1, np.int64)
    places[index.row_ids] = np.arange(len(index.row_ids))
    assert before.graph is not None
    _bridge(index, before.graph, places[before.row_ids], graph, counts)


def _bridge(
    index: Ivf,
    before: Graph,
    moved: Places,
    graph: NDArray[np.uint32],
    counts: NDArray[np.int32],
) -> None:
    """Write the neighbours of vectors that are now at other places, without those that are gone."""
    from raydb.kernels.backends.cpu.threads import run_slices  # noqa: PLC0415
    from raydb.kernels.vector.loops.graph_loops import bridge  # noqa: PLC0415

    space, old = _space(index), before.loop_arrays[0]

    def run(part: slice) -> None:
        bridge(space, old, moved, graph, counts, (part.start, part.stop))

    run_slices(run, len(moved), _MIN_ROWS, _BLOCK)


def _usual_starts(index: Ivf) -> NDArray[np.bool_]:
    """Return whether a walk may begin at each place: some places of each list, evenly spread."""
    first, sizes = index.offsets[:-1, None], np.diff(index.offsets)[:, None]
    spread = first + (2 * np.arange(_STARTS) + 1) * sizes // (2 * _STARTS)
    is_start = np.zeros(len(index.row_ids), np.bool_)
    is_start[spread[(sizes > 0)[:, 0]]] = True
    return is_start


def _with_starts(index: Ivf, neighbours: NDArray[np.uint32], is_start: NDArray[np.bool_]) -> Graph:
    """Return a graph with some starts, and as many more as it takes to reach all vectors."""
    from raydb.kernels.vector.loops.graph_loops import reach_more  # noqa: PLC0415

    known, queue = np.flatnonzero(is_start), np.empty(len(neighbours), np.uint32)
    queue[: len(known)] = known
    state = np.array((0, len(known), 0))
    given = index.vectors, neighbours, is_start, is_start.copy(), queue, state
    while reach_more(*given, _STEPS):
        check_interrupt()
    starts = np.flatnonzero(is_start).astype(np.uint32)
    return Graph(neighbours, starts, index.offsets)
