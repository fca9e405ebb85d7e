"""Exact counting of a motif: a search from every edge, on several threads, under a step budget.

After Mackey, Porterfield, Fitzhugh, Choudhury and Chin, A Chronological Edge-Driven Approach to
Temporal Subgraph Isomorphism (2018), but edges are not bound in the order of time; what differs is
told in `exact_loops`.
"""

from __future__ import annotations

import itertools
import math
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from raydb.errors import DataError
from raydb.kernels.backends.cpu.threads import processor_count
from raydb.kernels.motif.conditions import NONE
from raydb.kernels.motif.exact_search import new_state, prepare
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from raydb.kernels.motif.conditions import Conditions
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.loops.exact_lists import Lists, Pattern, State
    from raydb.kernels.motif.shape import Motif, Ties

    # A root, an edge of the motif, and the first and the last edge + 1 of the graph for it.
    Part = tuple[int, int, int]

T = TypeVar("T")

# A thread asks for so many root edges at a time: all of them in 64 parts a thread, but no fewer
# than are worth the 40 us of a call, and no more than are counted in 20 ms where none has a match.
_MIN_ROOTS, _MAX_ROOTS = 2**9, 2**16
_PARTS_PER_THREAD = 64

_TOLD_EVERY_SECONDS = 0.05
_NO_BUDGET = 2**63 - 1

# So many matches are listed at once, 10 to 50 ms, and fewer at first: who wants some waits for few.
LISTED_MATCHES, _FIRST_LISTED = 2**17, 2**10

# What a count will take is told from so many stretches of roots, of one in so many of all roots.
_LOOKS, _LOOK_SHARE, _MIN_LOOK_ROOTS = 64, 16, 2**12


@dataclass(frozen=True, slots=True)
class ExactCount:
    """The matches of a motif, all of them if `finished`; else those found within the budget.

    steps: the candidates that were tried.
    """

    count: int
    finished: bool
    steps: int


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """What matches are counted by: a vertex of the motif, windows of time, or both or neither.

    vertex: -1 for none. cuts: the first edge of the graph in each window, ascending; a match is of
    the window of its first edge. Empty for none.
    """

    vertex: int = -1
    cuts: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False, slots=True)
class SplitCount:
    """Numbers of matches, int64: by vertex of the graph, and by window, as far as asked for."""

    by_vertex: NDArray[np.int64] | None
    by_window: NDArray[np.int64] | None


def count_exact(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    step_budget: int | None = None,
    threads: int | None = None,
    keep_going: Callable[[float], None] | None = None,
    conditions: Conditions | None = None,
) -> ExactCount:
    """Count the matches of a motif whose edges all lie within delta, at least 0, of each other.

    step_budget: stop once so many candidates were tried, None for never. A step takes 20 to 100 ns.
    threads: None for one each processor. keep_going: is told every 50 ms which part of the roots is
    done, 0 to 1, on the calling thread, and may raise, which ends the count.
    A count that finishes does not depend on the threads, nor do its steps.
    Raises DataError where one partial match has 2**62 ways to be completed, or more.
    """
    if conditions is not None and conditions.judge is not None:
        count = 0
        for edges, _ in list_matches(graph, motif, delta, ties, conditions, keep_going):
            count += len(edges)
            if step_budget is not None and count > step_budget:
                return ExactCount(count, False, count)
        return ExactCount(count, True, count)
    job = _Job(graph, motif, delta, prepare(graph, motif, delta, ties, conditions))
    return _count(job, _parts(graph, motif, threads), step_budget, threads, keep_going)[0]


def expected_steps(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    most: int,
    conditions: Conditions | None = None,
) -> float:
    """Return about how many steps `count_exact` would take, infinity for more than `most`.

    It is told from a part of the roots. 0 where that would be most of them, and where matches are
    listed to be counted.
    """
    size = max(graph.edge_count // _LOOK_SHARE, _MIN_LOOK_ROOTS) // _LOOKS
    part = _LOOKS * size / max(graph.edge_count, 1)
    if part > 1 / 2 or (conditions is not None and conditions.judge is not None):
        return 0.0
    step = graph.edge_count // _LOOKS
    parts = [
        (root, look * step, look * step + size)
        for root, group in enumerate(motif.groups)
        if group == 0
        for look in range(_LOOKS)
    ]
    job = _Job(graph, motif, delta, prepare(graph, motif, delta, ties, conditions))
    counted, _, _ = _count(job, parts, max(int(most * part), 1), None, None)
    return counted.steps / part if counted.finished else math.inf


def count_split(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    split: Split,
    threads: int | None = None,
    keep_going: Callable[[float], None] | None = None,
    conditions: Conditions | None = None,
) -> SplitCount:
    """Count the matches of a motif by what they are split by; see `count_exact`.

    Takes 8 bytes for each vertex and, where a vertex is asked for, for each place of a list, for
    each thread.
    """
    from raydb.kernels.motif.loops.exact_credit import add_spread  # noqa: PLC0415  (numba takes 0.3 s)

    asked = conditions or NONE
    if asked.judge is not None:
        return _split_list(graph, motif, delta, ties, split, keep_going, asked)
    search = prepare(graph, motif, delta, ties, asked, split.vertex)
    parts = _parts(graph, motif, threads, split.cuts)
    job = _Job(graph, motif, delta, search)
    _, counts, states = _count(job, parts, None, threads, keep_going)
    by_window: NDArray[np.int64] | None = None
    by_vertex: NDArray[np.int64] | None = None
    if split.cuts is not None:
        by_window = np.zeros(len(split.cuts), np.int64)
        window = np.searchsorted(split.cuts, [low for _, low, _ in parts], "right") - 1
        np.add.at(by_window, window, counts)
    if split.vertex >= 0:
        by_vertex = np.sum([state.credit for state in states], axis=0)
        lists = search[0]
        for state in states:
            add_spread(
                *(state.spread, lists.listed, lists.bases, lists.source, lists.target, by_vertex)
            )
    return SplitCount(by_vertex, by_window)


def _split_list(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    split: Split,
    keep_going: Callable[[float], None] | None,
    conditions: Conditions,
) -> SplitCount:
    """Count matches, which are listed, by what they are split by."""
    by_vertex = np.zeros(graph.vertex_count, np.int64) if split.vertex >= 0 else None
    cuts = split.cuts
    by_window = None if cuts is None else np.zeros(len(cuts), np.int64)
    for edges, vertices in list_matches(graph, motif, delta, ties, conditions, keep_going):
        if by_vertex is not None:
            by_vertex += np.bincount(vertices[:, split.vertex], minlength=len(by_vertex))
        if cuts is not None and by_window is not None:
            window = np.searchsorted(cuts, edges.min(axis=1), "right") - 1
            by_window += np.bincount(window, minlength=len(by_window))
    return SplitCount(by_vertex, by_window)


@dataclass(frozen=True, eq=False, slots=True)
class _Job:
    """A motif that is counted in a graph, and both as the loops read them."""

    graph: TemporalGraph
    motif: Motif
    delta: int
    search: tuple[Lists, Pattern]


def _count(
    job: _Job,
    parts: list[Part],
    step_budget: int | None,
    threads: int | None,
    keep_going: Callable[[float], None] | None,
) -> tuple[ExactCount, NDArray[np.int64], list[State]]:
    """Return the count of parts, that of each part, and what the threads have written on."""
    thread_count = threads or processor_count()
    done = np.zeros(8 * thread_count + 1, np.int64)
    next_part = itertools.count()
    budget = _NO_BUDGET if step_budget is None else step_budget
    progress = [0] * thread_count
    counts = np.zeros(len(parts), np.int64)
    sizes = 0, 0
    if job.search[1].credited >= 0:
        sizes = job.graph.vertex_count, len(job.search[0].listed) + 1
    states = [new_state(job.search[1], *sizes) for _ in range(thread_count)]

    def work(thread: int) -> tuple[int, bool]:
        from raydb.kernels.motif.loops import exact_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

        total = 0
        # Counting on is one step of the interpreter, so each part goes to one thread.
        while (number := next(next_part)) < len(parts):
            # A part that counts without trying candidates does not look itself.
            if done[-1] or int(done[:-1].sum()) >= budget:
                return total, False
            high_part, low_part, finished = loops.count_roots(
                *job.search, states[thread], parts[number], job.delta, budget, done, thread
            )
            if high_part < 0:
                raise DataError("a single partial match of the motif has 2**62 matches or more")
            counts[number] = low_part
            total += (high_part << 62) + low_part
            progress[thread] += 1
            if not finished:
                return total, False
        return total, True

    def tell() -> None:
        if keep_going is not None:
            keep_going(sum(progress) / max(len(parts), 1))

    found = _run_threads(work, thread_count, tell, done)
    whole = all(whole for _, whole in found)
    count = ExactCount(sum(count for count, _ in found), whole, int(done[:-1].sum()))
    return count, counts, states


def list_matches(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    conditions: Conditions | None = None,
    keep_going: Callable[[float], None] | None = None,
    most: int = LISTED_MATCHES,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the matches of a motif in the order in which a search finds them, up to `most` at once.

    Each time the numbers of their edges, shape (n, e), and of their vertices, (n, v), in the order
    of the motif's. keep_going: as for `count_exact`.
    """
    asked = conditions or NONE
    search = prepare(graph, motif, delta, ties, asked)
    stop = np.zeros(1, np.int64)
    parts = _parts(graph, motif, 1)
    state = new_state(search[1])
    number = 0
    resumed = np.empty(3, np.int64)

    def begin() -> None:
        if number < len(parts):
            resumed[:] = parts[number][1], -1, parts[number][1]

    def work(_: int) -> int:
        from raydb.kernels.motif.loops import exact_loops as loops  # noqa: PLC0415  (numba takes 0.3 s)

        nonlocal number
        found = 0
        while number < len(parts) and not stop[0]:
            into = edges[found:], vertices[found:]
            found += loops.list_roots(*search, state, parts[number], delta, resumed, into, stop)
            if resumed[0] < parts[number][2]:
                break
            number += 1
            begin()
        return found

    def tell() -> None:
        if keep_going is not None:
            keep_going(number / max(len(parts), 1))

    begin()
    size = min(most, _FIRST_LISTED)
    while number < len(parts):
        edges = np.empty((size, len(motif.edges)), np.int64)
        vertices = np.empty((size, motif.vertex_count), np.int64)
        size = min(most, 4 * size)
        [found] = _run_threads(work, 1, tell, stop)
        listed = edges[:found], vertices[:found]
        if asked.judge is not None:
            held = asked.judge(listed[0])
            listed = listed[0][held], listed[1][held]
        if len(listed[0]):
            yield listed


def enumerate_instances(
    graph: TemporalGraph,
    motif: Motif,
    delta: int,
    ties: Ties,
    limit: int,
    keep_going: Callable[[float], None] | None = None,
    conditions: Conditions | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the first `limit` matches that the search finds, by their first edge; all if fewer.

    The rest is as for `list_matches`.
    """
    most = max(min(limit, LISTED_MATCHES), 1)
    edges = [np.empty((0, len(motif.edges)), np.int64)]
    vertices = [np.empty((0, motif.vertex_count), np.int64)]
    left = limit
    if limit:
        for found in list_matches(graph, motif, delta, ties, conditions, keep_going, most):
            edges.append(found[0][:left])
            vertices.append(found[1][:left])
            left -= len(found[0][:left])
            if not left:
                break
    return np.concatenate(edges), np.concatenate(vertices)


def _parts(
    graph: TemporalGraph,
    motif: Motif,
    threads: int | None,
    cuts: NDArray[np.int64] | None = None,
) -> list[Part]:
    """Return (root, first edge, last edge + 1) of each part of a search, none of it across a cut.

    A root is an edge of the first group: it is the first of the match, and the others follow.
    """
    size = graph.edge_count // ((threads or processor_count()) * _PARTS_PER_THREAD)
    size = min(max(size, _MIN_ROOTS), _MAX_ROOTS)
    starts = {*range(0, graph.edge_count, size), *([] if cuts is None else cuts.tolist())}
    ends = [*sorted(starts - {graph.edge_count}), graph.edge_count]
    return [
        (root, low, high)
        for root, group in enumerate(motif.groups)
        if group == 0
        for low, high in itertools.pairwise(ends)
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
