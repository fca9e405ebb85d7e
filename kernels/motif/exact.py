"""Exact counting of a motif: a search from every edge, on several threads, under a step budget.

After Mackey, Porterfield, Fitzhugh, Choudhury and Chin, A Chronological Edge-Driven Approach to
Temporal Subgraph Isomorphism (2018), but edges are not bound in the order of time; what differs is
told in `exact_loops`.
"""

from __future__ import annotations

import itertools
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from raydb.errors import DataError
from raydb.kernels.backends.cpu.threads import processor_count
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.loops.exact_lists import Lists, Pattern, State
    from raydb.kernels.motif.shape import Motif, Ties

T = TypeVar("T")

# A thread asks for so many root edges at a time: all of them in 64 parts a thread, but no fewer
# than are worth the 40 us of a call, and no more than are counted in 20 ms where none has a match.
_MIN_ROOTS, _MAX_ROOTS = 2**9, 2**16
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
    thread_count = threads or processor_count()
    done = np.zeros(8 * thread_count + 1, np.int64)
    parts = _parts(graph, motif, thread_count)
    next_part = itertools.count()
    budget = _NO_BUDGET if step_budget is None else step_budget
    progress = [0] * thread_count

    def work(thread: int) -> tuple[int, bool]:
        from raydb.kernels.motif.loops import exact_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

        state = _new_state(motif)
        total = 0
        # Counting on is one step of the interpreter, so each part goes to one thread.
        while (number := next(next_part)) < len(parts):
            # A part that counts without trying candidates does not look itself.
            if done[-1] or int(done[:-1].sum()) >= budget:
                return total, False
            high_part, low_part, finished = loops.count_roots(
                *search, state, parts[number], delta, budget, done, thread
            )
            if high_part < 0:
                raise DataError("a single partial match of the motif has 2**62 matches or more")
            total += (high_part << 62) + low_part
            progress[thread] += 1
            if not finished:
                return total, False
        return total, True

    def tell() -> None:
        if keep_going is not None:
            keep_going(sum(progress) / max(len(parts), 1))

    found = _run_threads(work, thread_count, tell, done)
    return ExactCount(
        sum(count for count, _ in found), all(whole for _, whole in found), int(done[:-1].sum())
    )


def enumerate_instances(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    limit: int,
    keep_going: Callable[[float], None] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the first `limit` matches that the search finds, by their first edge; all if fewer.

    Returns the numbers of their edges, shape (n, e), and of their vertices, shape (n, v), in the
    order of the motif's. keep_going: as for `count_exact`.
    """
    assert delta >= 0, delta
    search = _prepare(graph, motif, ties)
    edges = np.empty((limit, len(motif.edges)), np.int64)
    vertices = np.empty((limit, motif.vertex_count), np.int64)
    stop = np.zeros(1, np.int64)
    parts = _parts(graph, motif, 1)
    progress = [0]

    def work(_: int) -> int:
        from raydb.kernels.motif.loops import exact_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

        state = _new_state(motif)
        found = 0
        for part in parts:
            if found == limit or stop[0]:
                break
            found = loops.list_roots(*search, state, part, delta, found, (edges, vertices), stop)
            progress[0] += 1
        return found

    def tell() -> None:
        if keep_going is not None:
            keep_going(progress[0] / max(len(parts), 1))

    [found] = _run_threads(work, 1, tell, stop)
    return edges[:found], vertices[:found]


def _parts(graph: TemporalGraph, motif: Motif, thread_count: int) -> list[tuple[int, int, int]]:
    """Return (root, first edge, last edge + 1) of each part of a search.

    A root is an edge of the first group: it is the first of the match, and the others follow.
    """
    size = graph.edge_count // (thread_count * _PARTS_PER_THREAD)
    size = min(max(size, _MIN_ROOTS), _MAX_ROOTS)
    return [
        (root, low, min(low + size, graph.edge_count))
        for root, group in enumerate(motif.groups)
        if group == 0
        for low in range(0, graph.edge_count, size)
    ]


def _run_threads(
    work: Callable[[int], T],
    thread_count: int,
    tell: Callable[[], None],
    stop: NDArray[np.int64],
) -> list[T]:
    """Return what each thread returns; the last of `stop` is set to end them.

    This thread waits, so that it hears an interrupt and tells how far they are.
    """
    with ThreadPoolExecutor(thread_count) as pool:
        try:
            # With the context of this thread, a loop that is compiled hears an interrupt too.
            futures: list[Future[T]] = [
                pool.submit(copy_context().run, work, thread) for thread in range(thread_count)
            ]
            waiting = set(futures)
            while waiting:
                _, waiting = wait(waiting, _TOLD_EVERY_SECONDS, FIRST_EXCEPTION)
                tell()
                for future in futures:
                    if future.done():
                        future.result()
        except BaseException:
            stop[-1] = 1
            raise
    return [future.result() for future in futures]


def _prepare(graph: TemporalGraph, motif: Motif, ties: Ties) -> tuple[Lists, Pattern]:
    """Return graph and motif as the loops read them."""
    from raydb.kernels.motif.loops import exact_lists  # noqa: PLC0415  (numba takes 0.3 s)

    same = later = np.empty(0, np.uint32)
    if ties == "strict" and bool((graph.time[1:] == graph.time[:-1]).any()):
        same, later = np.empty_like(graph.source), np.empty_like(graph.source)
        exact_lists.find_ties(graph.time, same, later)
    follower, following = _followers(motif), np.empty(0, np.uint32)
    if bool((follower >= 0).any()):
        following = np.empty_like(graph.source)
        exact_lists.find_following(
            *(graph.in_offsets, graph.in_edges, graph.out_offsets, graph.out_edges),
            *(later, following),
        )
    lists = exact_lists.Lists(
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
        _frozen(following),
    )
    ends = np.array(motif.edges, np.int64)
    touching = np.zeros((motif.vertex_count, len(motif.edges)), np.int64)
    degrees = np.zeros(motif.vertex_count, np.int64)
    for number, edge in enumerate(motif.edges):
        for vertex in edge:
            touching[vertex, degrees[vertex]] = number
            degrees[vertex] += 1
    pattern = exact_lists.Pattern(
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        np.array(motif.groups, np.int64),
        touching,
        degrees,
        motif.is_total,
        follower,
        _tails(motif, follower, degrees),
    )
    return lists, pattern


def _followers(motif: Motif) -> NDArray[np.int64]:
    """Return for each edge the first edge of a later group that leaves its target, -1 for none."""
    found = np.full(len(motif.edges), -1, np.int64)
    for number, (_, target) in enumerate(motif.edges):
        for other, (source, _) in enumerate(motif.edges):
            if (
                source == target
                and motif.groups[other] > motif.groups[number]
                and found[number] < 0
            ):
                found[number] = other
    return found


def _tails(
    motif: Motif, follower: NDArray[np.int64], degrees: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return 1 for each edge from which two more hang in the order of time, and nothing else."""
    found = np.zeros(len(motif.edges), np.int64)
    for number, (_, target) in enumerate(motif.edges):
        second = int(follower[number])
        third = int(follower[second]) if second >= 0 else -1
        if third >= 0:
            others = [degrees[motif.edges[edge][1]] for edge in (second, third)]
            found[number] = motif.is_total and [degrees[target], *others] == [2, 2, 1]
    return found


def _new_state(motif: Motif) -> State:
    from raydb.kernels.motif.loops.exact_lists import State  # noqa: PLC0415  (numba takes 0.3 s)

    edge_count, vertex_count = len(motif.edges), motif.vertex_count
    tables = [np.zeros((edge_count, edge_count), np.int64) for _ in range(4)]
    rows = [np.zeros(edge_count, np.int64) for _ in range(6)]
    mapped = np.zeros(vertex_count, np.int64)
    rest = [np.zeros(edge_count, np.int64) for _ in range(4)]
    runs = np.zeros((edge_count * (1 + edge_count + vertex_count), 4), np.int64)
    totals = np.zeros((2, edge_count + 1), np.int64)
    joins = np.zeros((edge_count, 6), np.int64)
    steps = np.zeros(1, np.int64)
    return State._make([*tables, *rows, mapped, *rest, runs, totals, joins, steps])


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, which can't be written any more: a loop is compiled once, not for both."""
    array.flags.writeable = False
    return array
