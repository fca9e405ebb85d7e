"""motif_count() and motif_sample(): a question about a graph, a search in it, its answer as rows.

    graph   ->   exact, under a budget   ->   timest   ->   rows

The time that a call may take begins with the graph, which is always built to its end.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, assert_never

import numpy as np
import pyarrow as pa

from raydb.engine.context.progress import report, report_compiling
from raydb.engine.operators.relation import Relation
from raydb.engine.table_functions.motif.graph_cache import make_graph
from raydb.errors import NotSupportedError, OperationalError
from raydb.interrupts import beside
from raydb.kernels.motif.estimate import estimate, sample_instances
from raydb.kernels.motif.exact import count_exact, enumerate_instances
from raydb.kernels.motif.shape import TIES, Motif
from raydb.kernels.motif.tree_choice import prepare, sampled_trees
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.table_functions.motif.graph_cache import EdgeGraph
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.kernels.motif.estimate import Estimate
    from raydb.kernels.motif.exact import ExactCount
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.tree_choice import PreparedMotif
    from raydb.planner.expressions.nodes import Column

# The parts of a search that have loops of their own.
LoopPart: TypeAlias = Literal["graph", "count", "list", "estimate", "draw"]

# Where it may choose, a search tries this many candidates before it samples, or this many for each
# edge; 10**7 take 0.2 to 1 s. So the method is the same on every machine, unless time is short.
AUTO_STEPS = 5 * 10**7
AUTO_STEPS_PER_EDGE = 4

# Where drawing finds nothing in this part of the time, or these seconds, instances are counted.
LOOK_SHARE, LOOK_SECONDS = 1 / 8, 2.0

# Of no more instances a sample is chosen from a list of all: 84 MB at 12 edges and 8 vertices.
LISTED_INSTANCES = 2**19

# The part of the time that exact counting may take where sampling can follow.
AUTO_SHARE = 1 / 3

# The part of what is left that the choice of a tree may take, with its weights.
CHOICE_SHARE = 1 / 2

# Sampling takes at most so many bytes for each edge and for each vertex of the motif and some more.
_WEIGHT_BYTES = 8
_MORE_WEIGHTS = 5

# What an instance of a sample holds for each of its edges and vertices, until it is a row.
_INSTANCE_BYTES = 32

_NONE = "there is no instance"


class FoundMotifs(NamedTuple):
    """The rows of a search, how it went, for EXPLAIN, and whether it gave what was asked for."""

    rows: Relation
    how: str
    is_complete: bool


@dataclass(frozen=True, eq=False, slots=True)
class Search:
    """What a search is about; delta is in the unit of the graph's times.

    method: the one that was asked for, or the only one there is for the motif.
    """

    graph: TemporalGraph
    asked: MotifQuestion
    method: str
    delta: int
    clock: Clock
    memory: Memory


class TimeIsUp(Exception):  # noqa: N818  (it is no error, it ends a loop)
    """The time of a search, or of its first part, has passed."""


@dataclass(slots=True)
class Clock:
    """The time of a search, which began and ends at these moments of `time.perf_counter`.

    Both move on by what is no part of that time. function: what progress calls the search.
    """

    function: str
    began: float
    ends: float

    @staticmethod
    def starting(function: str, seconds: float) -> Clock:
        """Return a clock that starts now and ends after the seconds."""
        now = time.perf_counter()
        return Clock(function, now, now + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(self.ends - time.perf_counter(), 0.0)

    @property
    def passed(self) -> float:
        """The seconds since the start."""
        return time.perf_counter() - self.began

    def make_ready(self, part: LoopPart) -> None:
        """Load the loops of a part of a search, or compile them, while the clock stands still."""
        began = time.perf_counter()
        _make_ready(part)
        passed = time.perf_counter() - began
        self.began += passed
        self.ends += passed

    def teller(self, step: str, seconds: float) -> Callable[[float], None]:
        """Return what a step tells the share that is done; it raises TimeIsUp after the seconds."""
        ends = time.perf_counter() + seconds
        most = 0.0

        def tell(share: float) -> None:
            nonlocal most
            # A step that finds out that it has more to do does not go back.
            most = max(most, share)
            report(f"{self.function}: {step}", most)
            if time.perf_counter() > ends:
                raise TimeIsUp

        return tell


def search_motif(
    asked: MotifQuestion, columns: Sequence[Column], edges: EdgeGraph, clock: Clock, memory: Memory
) -> FoundMotifs:
    """Return the row of motif_count() or the rows of motif_sample() for one question.

    Raises OperationalError where time or memory is too small, and DataError for times that 64 bits
    cannot hold.
    """
    search = Search(edges.graph, asked, _method(asked), edges.clamp(asked.delta), clock, memory)
    if asked.sample_count is None:
        values, how = _count(search)
        rows = Relation(_count_row(columns, values, edges, clock), 1)
        return FoundMotifs(rows, how, values["converged"])
    matches, how = _sample(search)
    rows = _sample_rows(columns, matches, edges, asked)
    return FoundMotifs(rows, how, rows.row_count == asked.sample_count or how == _NONE)


@cache
def _make_ready(part: LoopPart) -> None:
    """Load the compiled loops of a part of a search, or compile them.

    Loading them from disk takes 0.3 s, and compiling them, once on a machine, 1 s for the graph, 8
    to count and 5 to sample: so it is done when they are first used, and on a thread that an
    interrupt leaves alone.
    """
    report_compiling()
    beside(partial(_search_circle, part))


def _search_circle(part: LoopPart) -> None:
    """Take a part of a search for a path along a circle of five: it uses every loop of the part."""
    # Times that descend are sorted, and trees of a path have edges of every kind.
    sources, targets, times = list(range(5)) * 4, [4, 0, 1, 2, 3] * 4, list(range(20, 0, -1))
    graph = make_graph(pa.array(sources), pa.array(targets), pa.array(times), "motifs").graph
    motif = Motif(5, ((4, 3), (3, 2), (2, 1), (1, 0)), (0, 1, 2, 3))
    match part:
        case "graph":
            pass
        case "count":
            for ties in TIES:
                count_exact(graph, motif, 9, ties)
        case "list":
            enumerate_instances(graph, motif, 9, "index", 1)
        case "estimate":
            estimate(prepare(graph, motif, 9, "index"), max_samples=1)
        case "draw":
            sample_instances(prepare(graph, motif, 9, "index"), 1)
        case _:
            assert_never(part)


def _method(asked: MotifQuestion) -> str:
    """Return the method that was asked for; a motif that can't be sampled leaves auto no choice."""
    if asked.method == "auto" and not asked.motif.is_total:
        try:
            sampled_trees(asked.motif)
        except NotSupportedError:
            return "exact"
    return asked.method


# -- counting


def _count(search: Search) -> tuple[Mapping[str, Any], str]:
    """Return what motif_count() tells of a motif by column, and how it was found."""
    asked = search.asked
    counted = None if search.method == "timest" else _count_exactly(search)
    if counted is not None:
        return _of_exact(counted.count), f"exact, {counted.steps} steps"
    search.clock.make_ready("estimate")
    prepared = _prepare(search)
    if prepared is None:
        return _NOTHING, "timest, whose weights took all the time"
    tell = search.clock.teller("sample", math.inf)
    found = estimate(
        *(prepared, asked.rel_error, asked.confidence, asked.seed),
        max_seconds=search.clock.left,
        keep_going=tell,
    )
    how = f"timest, {found.samples} samples"
    return _of_estimate(found, asked), how


def _count_exactly(search: Search) -> ExactCount | None:
    """Return the count of all instances; None where that takes more than may be tried."""
    asked, graph, clock = search.asked, search.graph, search.clock
    clock.make_ready("count")
    budget, seconds = None, clock.left
    if search.method == "auto":
        budget = max(AUTO_STEPS, AUTO_STEPS_PER_EDGE * graph.edge_count)
        seconds *= AUTO_SHARE
    tell = clock.teller("count", seconds)
    try:
        counted = count_exact(graph, asked.motif, search.delta, asked.ties, budget, keep_going=tell)
    except TimeIsUp:
        if search.method == "auto":
            return None
        raise OperationalError(
            f"{asked.function}() has not counted all instances within {asked.max_seconds:g} "
            "seconds; raise max_seconds, or let method => 'timest' estimate"
        ) from None
    return counted if counted.finished else None


def _prepare(search: Search) -> PreparedMotif | None:
    """Return the tree that instances are sampled by, with its weights; None where time runs out."""
    asked, graph, clock = search.asked, search.graph, search.clock
    need = _WEIGHT_BYTES * graph.edge_count * (asked.motif.vertex_count + _MORE_WEIGHTS)
    search.memory.check(need, f"sampling a motif from {graph.edge_count} edges")
    ready = partial(prepare, graph, asked.motif, search.delta, asked.ties)
    try:
        return ready(keep_going=clock.teller("weigh", CHOICE_SHARE * clock.left))
    except TimeIsUp:
        # Comparing trees takes too long: the one that looks best is taken unseen.
        tree = sampled_trees(asked.motif)[0]
    try:
        return ready(tree=tree, keep_going=clock.teller("weigh", clock.left))
    except TimeIsUp:
        return None


# What is known before the first sample: that the count is at least 0. NULL is what is not there.
_NOTHING: Mapping[str, Any] = {
    "ci_low": 0.0,
    "exact": False,
    "converged": False,
    "samples": 0,
    "nonzero": 0,
    "method": "timest",
}
_OF_ESTIMATE = ("estimate", "std_error", "ci_low", "ci_high", "converged", "samples", "nonzero")


def _of_exact(count: int) -> dict[str, Any]:
    return {
        **_NOTHING,
        **dict.fromkeys(("estimate", "ci_low", "ci_high"), float(count)),
        "std_error": 0.0,
        "exact": True,
        "converged": True,
        "method": "exact",
        "count": count if count < 2**63 else None,
    }


def _of_estimate(found: Estimate, asked: MotifQuestion) -> dict[str, Any]:
    ends = [asked.motif.edges[number] for number in found.tree]
    names = asked.names
    return {
        **{name: getattr(found, name) for name in _OF_ESTIMATE},
        "exact": found.exact_zero,
        "method": "timest",
        "tree": ", ".join(f"{names[source]}->{names[target]}" for source, target in ends),
        "total_weight": float(found.total_weight),
        "count": 0 if found.exact_zero else None,
    }


def _count_row(
    columns: Sequence[Column], found: Mapping[str, Any], edges: EdgeGraph, clock: Clock
) -> dict[Column, pa.Array]:
    values = {
        **found,
        "seconds": round(clock.passed, 6),
        "edges": edges.graph.edge_count + edges.graph.loop_count,
        "vertices": len(edges.vertices),
        "skipped_rows": edges.skipped_count,
        "duplicates": edges.graph.duplicate_count,
        "self_loops": edges.graph.loop_count,
    }
    return {column: pa.array([values.get(column.name)], column.type) for column in columns}


# -- sampling


def _sample(search: Search) -> tuple[NDArray[np.int64], str]:
    """Return random instances, the graph's edges by edge of the motif, and how they were found."""
    asked, clock = search.asked, search.clock
    assert asked.sample_count is not None
    numbers = asked.sample_count * (len(asked.motif.edges) + asked.motif.vertex_count)
    search.memory.check(_INSTANCE_BYTES * numbers, f"a sample of {asked.sample_count} instances")
    counted = None if search.method == "timest" else _count_exactly(search)
    if counted is not None and counted.count <= LISTED_INSTANCES:
        return _choose(search, counted.count)
    if search.method == "exact":
        raise OperationalError(
            f"motif_sample() lists up to {LISTED_INSTANCES} instances, and there are more; "
            "let method => 'timest' draw them"
        )
    clock.make_ready("draw")
    prepared = _prepare(search)
    if prepared is None:
        raise OperationalError(
            f"{asked.function}() was not ready to sample within {asked.max_seconds:g} seconds; "
            "raise max_seconds"
        )
    if prepared.total_weight == 0:
        return _no_instances(asked), _NONE
    found = _draw(search, prepared, min(LOOK_SHARE * clock.left, LOOK_SECONDS))
    if not len(found) and search.method == "timest":
        # Trees without a match among them: perhaps there is none, which only counting can tell.
        counted = _count_exactly(replace(search, method="auto"))
        if counted is not None and counted.count <= LISTED_INSTANCES:
            return _choose(search, counted.count)
    if len(found) < asked.sample_count:
        found = _draw(search, prepared, clock.left)
    return found, "timest"


def _draw(search: Search, prepared: PreparedMotif, seconds: float) -> NDArray[np.int64]:
    """Return random instances as far as they are found by the tree within the seconds."""
    asked = search.asked
    assert asked.sample_count is not None
    found, _ = sample_instances(
        *(prepared, asked.sample_count, asked.seed),
        max_seconds=seconds,
        keep_going=search.clock.teller("sample", math.inf),
    )
    return found


def _no_instances(asked: MotifQuestion) -> NDArray[np.int64]:
    return np.empty((0, len(asked.motif.edges)), np.int64)


def _choose(search: Search, count: int) -> tuple[NDArray[np.int64], str]:
    """Return instances chosen from all of them, of which there are so many."""
    asked, clock = search.asked, search.clock
    if not count:
        return _no_instances(asked), _NONE
    clock.make_ready("list")
    tell = clock.teller("list", clock.left)
    try:
        every, _ = enumerate_instances(
            search.graph, asked.motif, search.delta, asked.ties, count, tell
        )
    except TimeIsUp:
        raise OperationalError(
            f"motif_sample() has not listed {count} instances within {asked.max_seconds:g} "
            "seconds; raise max_seconds, or let method => 'timest' draw them"
        ) from None
    generator = np.random.default_rng(asked.seed)
    chosen = generator.integers(0, count, asked.sample_count)
    return every[chosen], f"exact, {count} instances listed"


def _sample_rows(
    columns: Sequence[Column],
    matches: NDArray[np.int64],
    edges: EdgeGraph,
    asked: MotifQuestion,
) -> Relation:
    """Return instances as rows: vertices by their names, places of rows, first and last times."""
    graph, motif = edges.graph, asked.motif
    count = len(matches)
    made: dict[str, Any] = {"instance": np.arange(1, count + 1)}
    for vertex, name in enumerate(asked.names):
        place = next(place for place, edge in enumerate(motif.edges) if vertex in edge)
        ends = graph.source if motif.edges[place][0] == vertex else graph.target
        made[name] = edges.vertices.take(pa.array(ends[matches[:, place]]))
    for place in range(len(motif.edges)):
        made[f"e{place + 1}_row"] = graph.row[matches[:, place]].astype(np.int64) + 1
    times = graph.time[matches] if count else np.empty((0, 1), np.int64)
    for name, moments in (("first_time", times.min(axis=1)), ("last_time", times.max(axis=1))):
        made[name] = _as_times(
            moments + edges.first_time, next(c.type for c in columns if c.name == name)
        )
    return Relation({column: pa.array(made[column.name], column.type) for column in columns}, count)


def _as_times(moments: NDArray[np.int64], kind: pa.DataType) -> pa.Array:
    """Return times of a type from the numbers that a graph has of them."""
    numbers = pa.array(moments)
    return numbers.cast(pa.int32()).cast(kind) if kind == pa.date32() else numbers.cast(kind)
