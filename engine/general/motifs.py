"""motif_count() and motif_sample(): the graph of some rows, the search in it, and its answer as rows.

    rows   ->   graph, kept with the table   ->   exact, under a budget   ->   timest   ->   rows

The time that a call may take begins with the graph, which is always built to its end.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from raydb.engine.general.motif_graph import is_graph_kept, kept_graph, make_graph
from raydb.engine.general.relation import Relation
from raydb.engine.progress import report
from raydb.errors import OperationalError
from raydb.kernels.motif.exact import count_exact
from raydb.kernels.motif.shape import TIES, Motif
from raydb.planner.physical import MotifRows, PhysicalPlan, sources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.engine.fused.image import Kept
    from raydb.engine.general.motif_graph import EdgeGraph
    from raydb.engine.memory import Memory
    from raydb.kernels.motif.exact import ExactCount
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.planner.logical import MotifQuestion
    from raydb.storage.table import Table

    Values = pa.ChunkedArray | pa.Array

# Where it may choose, a search tries this many candidates before it samples, or this many for each
# edge; 10**7 take 0.2 to 1 s. So the method is the same on every machine, unless time is short.
AUTO_STEPS = 5 * 10**7
AUTO_STEPS_PER_EDGE = 4

# The part of the time that exact counting may take where sampling can follow.
AUTO_SHARE = 1 / 3


class FoundMotifs(NamedTuple):
    """The rows of a search, what it has to say beside them, and how it went, for EXPLAIN."""

    rows: Relation
    told: list[str]
    how: str


class TimeIsUp(Exception):  # noqa: N818  (it is no error, it ends a loop)
    """The time of a search, or of its first part, has passed."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Tells the listener how far a step has come, and ends it when its time is up."""

    function: str
    started: float
    ends: float

    def teller(self, step: str, share_of_time: float = 1.0) -> Callable[[float], None]:
        """Return what a step calls with the share that is done; it raises TimeIsUp."""
        ends = min(self.ends, time.perf_counter() + share_of_time * self.left)

        def tell(share: float) -> None:
            report(f"{self.function}: {step}", share)
            if time.perf_counter() > ends:
                raise TimeIsUp

        return tell

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(self.ends - time.perf_counter(), 0.0)

    @property
    def passed(self) -> float:
        """The seconds since the start."""
        return time.perf_counter() - self.started


def find_motifs(
    plan: MotifRows,
    read: Callable[[], Sequence[Values]],
    tables: Mapping[str, Table],
    kept: Kept | None,
    memory: Memory,
) -> FoundMotifs:
    """Return the row of motif_count() or the rows of motif_sample().

    read: gives the sources, the targets and the times of the rows. Raises OperationalError where
    exact counting takes too long, or memory is too small, and DataError for times that 64 bits
    cannot hold.
    """
    asked = plan.question
    _make_ready()
    started = time.perf_counter()
    clock = Clock(asked.function, started, started + asked.max_seconds)
    edges, was_kept = kept_graph(plan, tables, kept, memory, read)
    told = _warnings(edges)
    built = "" if was_kept else f", graph built in {clock.passed * 1000:.3f} ms"
    delta = edges.clamp(asked.delta)
    values, how = _count(edges, asked, delta, clock)
    rows = Relation({c: pa.array([values[c.name]], c.type) for c in plan.columns}, 1)
    return FoundMotifs(rows, told, how + built)


@cache
def _make_ready() -> None:
    """Load the compiled loops, or compile them: once on a machine, and no part of a call's time."""
    report("motifs: make ready", 0.0)
    ends, times = pa.array([1, 2]), pa.array([1, 1])
    graph = make_graph(ends, ends.take(pa.array([1, 0])), times, "motifs").graph
    motif = Motif(2, ((0, 1), (1, 0)), (0, 1))
    for ties in TIES:
        count_exact(graph, motif, 1, ties)


def _warnings(edges: EdgeGraph) -> list[str]:
    """Return what a user should know of the rows."""
    told = []
    duplicates, skipped = edges.graph.duplicate_count, edges.skipped_count
    if skipped:
        told.append(f"rows left out because a source, a target or a time is NULL: {skipped}")
    if duplicates:
        told.append(
            "rows with the source, the target and the time of an earlier row, which are edges of "
            f"their own: {duplicates}"
        )
    return told


def _count(
    edges: EdgeGraph, asked: MotifQuestion, delta: int, clock: Clock
) -> tuple[dict[str, Any], str]:
    """Return the values of motif_count()'s columns, and how they were found."""
    graph = edges.graph
    counted = None if asked.method == "timest" else _count_exactly(graph, asked, delta, clock)
    if counted is not None:
        found = _of_exact(counted.count)
        how = f"exact, {counted.steps} steps"
    else:
        raise NotImplementedError
    about_rows = {
        "seconds": clock.passed,
        "edges": graph.edge_count + graph.loop_count,
        "vertices": len(edges.vertices),
        "skipped_rows": edges.skipped_count,
        "duplicates": graph.duplicate_count,
        "self_loops": graph.loop_count,
    }
    return {**found, **about_rows}, how


def _of_exact(count: int) -> dict[str, Any]:
    return {
        "estimate": float(count),
        "std_error": 0.0,
        "ci_low": float(count),
        "ci_high": float(count),
        "exact": True,
        "converged": True,
        "samples": 0,
        "nonzero": 0,
        "method": "exact",
        "tree": None,
        "total_weight": None,
        "count": count if count < 2**63 else None,
    }


def _count_exactly(
    graph: TemporalGraph, asked: MotifQuestion, delta: int, clock: Clock
) -> ExactCount | None:
    """Return the count of all instances; None where that takes more than may be tried."""
    is_choice = asked.method == "auto"
    budget = max(AUTO_STEPS, AUTO_STEPS_PER_EDGE * graph.edge_count) if is_choice else None
    tell = clock.teller("exact", AUTO_SHARE if is_choice else 1.0)
    try:
        counted = count_exact(graph, asked.motif, delta, asked.ties, budget, keep_going=tell)
    except TimeIsUp:
        if is_choice:
            return None
        raise OperationalError(
            f"{asked.function}() has not counted everything within {asked.max_seconds:g} seconds; "
            "raise max_seconds, or let method => 'timest' estimate"
        ) from None
    return counted if counted.finished else None


def graph_states(plan: PhysicalPlan, tables: Mapping[str, Table], kept: Kept) -> dict[int, str]:
    """Return where the graphs of a plan's searches come from, by the identity of their nodes."""
    states = {}
    waiting = [plan]
    for node in waiting:
        waiting += sources_of(node)
        if isinstance(node, MotifRows):
            if not node.table:
                state = "built for this query, whose edges are not the rows of one table"
            elif node.table not in tables:
                state = f"built for this query, '{node.table}' is read anew each time"
            elif is_graph_kept(node, tables, kept):
                state = f"kept with '{node.table}'"
            else:
                state = f"built, then kept with '{node.table}' until that changes"
            states[id(node)] = state
    return states
