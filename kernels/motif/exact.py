"""Exact counting of a motif: a search from every edge, on several threads, under a step budget.

After Mackey, Porterfield, Fitzhugh, Choudhury and Chin, A Chronological Edge-Driven Approach to
Temporal Subgraph Isomorphism (2018), but edges are not bound in the order of time; what differs is
told in `exact_loops`.
"""

from __future__ import annotations

import itertools
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.errors import DataError
from raydb.kernels.cpu.threads import processor_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from raydb.kernels.motif.exact_loops import Lists, Pattern
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.shape import Motif, Ties

# A thread asks for so many root edges at a time: all of them in 64 parts a thread, but no fewer
# than are worth the 40 us of a call, and no more than are counted in 20 ms where none has a match.
_LEAST_ROOTS, _MOST_ROOTS = 2**9, 2**16
_PARTS_PER_THREAD = 64

_TOLD_EVERY_SECONDS = 0.05
_NO_BUDGET = 2**63 - 1


@dataclass(frozen=True, slots=True)
class ExactCount:
    """The matches of a motif, all of them if `finished`; else those found within the budget.

    steps: the candidates that were tried.
    """

    count: int
    finished: bool
    steps: int


def count_exact(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    step_budget: int | None = None,
    threads: int | None = None,
    keep_going: Callable[[float], None] | None = None,
) -> ExactCount:
    """Count the matches of a motif whose edges all lie within delta, at least 0, of each other.

    step_budget: stop once so many candidates were tried, None for never. A step takes 20 to 100 ns.
    threads: None for one each processor. keep_going: is told every 50 ms which part of the roots is
    done, 0 to 1, on the calling thread, and may raise, which ends the count.
    A count that finishes does not depend on the threads, nor do its steps.
    Raises DataError where one partial match has 2**62 ways to be completed, or more.
    """
    assert delta >= 0, delta
    search = _prepare(graph, motif, ties)
    roots = _roots(motif)
    thread_count = threads or processor_count()
    done = np.zeros(8 * thread_count + 1, np.int64)
    edge_count = graph.edge_count
    size = edge_count // (thread_count * _PARTS_PER_THREAD)
    size = min(max(size, _LEAST_ROOTS), _MOST_ROOTS)
    parts = _shared(
        (root, low, min(low + size, edge_count))
        for root in roots
        for low in range(0, edge_count, size)
    )
    budget = _NO_BUDGET if step_budget is None else step_budget
    progress = [0] * thread_count

    def work(thread: int) -> tuple[int, bool]:
        from raydb.kernels.motif import exact_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

        total = 0
        for root, low, high in parts:
            high_part, low_part, finished = loops.count_roots(
                *search, root, delta, low, high, budget, done, thread
            )
            if high_part < 0:
                raise DataError("a single partial match of the motif has 2**62 matches or more")
            total += (high_part << 62) + low_part
            progress[thread] += high - low
            if not finished:
                return total, False
        return total, True

    def tell() -> None:
        if keep_going is not None:
            keep_going(min(sum(progress) / max(edge_count * len(roots), 1), 1.0))

    found = _run_threads(work, thread_count, tell, done)
    return ExactCount(
        sum(count for count, _ in found), all(whole for _, whole in found), int(done[:-1].sum())
    )


def _roots(motif: Motif) -> list[int]:
    """Return the edges that may be the first of a match: those of the first group."""
    return [edge for edge, group in enumerate(motif.groups) if group == 0]


def _shared(parts: Iterator[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Return an iterator that several threads may ask for the next part."""
    listed = list(parts)
    # Counting is one step of the interpreter, which no other thread can enter.
    numbers = itertools.count()
    return iter(lambda: next(((listed[n]) for n in [next(numbers)] if n < len(listed)), None), None)


def _run_threads(
    work: Callable[[int], tuple[int, bool]],
    thread_count: int,
    tell: Callable[[], None],
    done: NDArray[np.int64],
) -> list[tuple[int, bool]]:
    """Return what each thread returns; the last of `done` is set to stop them.

    This thread waits, so that it hears an interrupt and tells how far they are.
    """
    with ThreadPoolExecutor(thread_count) as pool:
        try:
            futures: list[Future[tuple[int, bool]]] = [
                pool.submit(work, thread) for thread in range(thread_count)
            ]
            waiting = set(futures)
            while waiting:
                _, waiting = wait(waiting, _TOLD_EVERY_SECONDS, FIRST_EXCEPTION)
                tell()
                for future in futures:
                    if future.done():
                        future.result()
        except BaseException:
            done[-1] = 1
            raise
    return [future.result() for future in futures]


def _prepare(graph: TemporalGraph, motif: Motif, ties: Ties) -> tuple[Lists, Pattern]:
    """Return graph and motif as the loops read them."""
    from raydb.kernels.motif import exact_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

    same = later = np.empty(0, np.uint32)
    if ties == "strict" and bool((graph.time[1:] == graph.time[:-1]).any()):
        same, later = np.empty_like(graph.source), np.empty_like(graph.source)
        loops.find_ties(graph.time, same, later)
    lists = loops.Lists(
        graph.source,
        graph.target,
        graph.time,
        graph.listed,
        graph.pair_edges,
        graph.out_offsets,
        graph.in_offsets,
        graph.pair_offsets,
        graph.pair_slots,
        np.uint64(graph.pair_count.bit_length()),
        _frozen(same),
        _frozen(later),
    )
    ends = np.array(motif.edges, np.int64)
    touching = np.zeros((motif.vertex_count, len(motif.edges)), np.int64)
    degrees = np.zeros(motif.vertex_count, np.int64)
    for number, edge in enumerate(motif.edges):
        for vertex in edge:
            touching[vertex, degrees[vertex]] = number
            degrees[vertex] += 1
    pattern = loops.Pattern(
        ends[:, 0].copy(), ends[:, 1].copy(), np.array(motif.groups, np.int64), touching, degrees
    )
    return lists, pattern


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, which can't be written any more: a loop is compiled once, not for both."""
    array.flags.writeable = False
    return array
