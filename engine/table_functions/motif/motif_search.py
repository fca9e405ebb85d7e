"""A question about a temporal graph, and the search for how many instances there are.

    graph   ->   exact, where it is expected to be quick   ->   timest

The time that a call may take begins with the graph, which is always built to its end.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

import numpy as np
import pyarrow as pa

from raydb.engine.context.progress import report, report_compiling
from raydb.engine.table_functions.motif.graph_cache import make_graph
from raydb.errors import NotSupportedError, OperationalError
from raydb.interrupts import beside
from raydb.kernels.motif.conditions import Comparison, Conditions
from raydb.kernels.motif.estimate import estimate, sample_instances
from raydb.kernels.motif.exact import (
    ExactCount,
    Split,
    count_exact,
    count_split,
    enumerate_instances,
    expected_steps,
)
from raydb.kernels.motif.shape import TIES, Motif
from raydb.kernels.motif.tree_choice import prepare, prepare_under, sampled_trees
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory
    from raydb.engine.table_functions.motif.motif_question import MotifQuestion
    from raydb.engine.table_functions.motif.motif_variants import Variant
    from raydb.kernels.motif.estimate import Estimate
    from raydb.kernels.motif.graph import TemporalGraph
    from raydb.kernels.motif.tree_choice import PreparedMotif

    Plains: TypeAlias = Sequence[tuple[Variant, Conditions]]
    Code: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.int64]]

# The parts of a search that have loops of their own.
LoopPart: TypeAlias = Literal["graph", "count", "list", "estimate", "complete", "draw"]

# Where it may choose, a search counts exactly if it expects to try so many candidates, or so many
# for each edge; 10**7 take 0.2 to 1 s. It samples if it tries twice as many after all. So the
# method is the same on every machine, unless time is short.
AUTO_STEPS = 5 * 10**7
AUTO_STEPS_PER_EDGE = 4

# The part of the time that exact counting may take where sampling can follow.
AUTO_SHARE = 1 / 3

# The part of what is left that the choice of a tree may take, with its weights.
CHOICE_SHARE = 1 / 2

# Sampling takes at most so many bytes for each edge and for each vertex of the motif and some more.
_WEIGHT_BYTES = 8
_MORE_WEIGHTS = 5


@dataclass(frozen=True, eq=False, slots=True)
class Search:
    """What a search is about; delta is in the unit of the graph's times.

    plains: the plain motifs that the written one stands for, and the conditions of each. method:
    the one that was asked for, or the only one there is for the motif.
    """

    graph: TemporalGraph
    plains: Plains
    asked: MotifQuestion
    method: str
    delta: int
    time_type: pa.DataType
    clock: Clock
    memory: Memory

    def on(self, graph: TemporalGraph, plains: Plains) -> Search:
        """Return the same search in another graph."""
        return replace(self, graph=graph, plains=plains)


class TimeIsUp(Exception):  # noqa: N818  (it is no error, it ends a loop)
    """The time of a search, or of its first part, has passed."""


@dataclass(slots=True)
class Clock:
    """The time of a search, which began and ends at these moments of `time.perf_counter`.

    Both move on by what is no part of that time, in all by `stood`. function: what progress calls
    the search.
    """

    function: str
    began: float
    ends: float
    stood: float = 0.0

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
        with self.standing():
            _make_ready(part)

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Let the clock stand still."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.stand(time.perf_counter() - began)

    def stand(self, seconds: float) -> None:
        """Leave so many seconds out that have passed."""
        self.began += seconds
        self.ends += seconds
        self.stood += seconds

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
            every = (np.ones(graph.edge_count, np.bool_),), (0,) * len(motif.edges)
            for ties in TIES:
                count_exact(graph, motif, 9, ties, conditions=Conditions(*every))
            for factor in (1, 2**32):  # Keys of 32 bits and of 64.
                numbers = np.arange(graph.edge_count) * factor
                asked = Conditions(keys=(numbers,), comparisons=(Comparison(2, 0, "<=", 3, 0),))
                count_exact(graph, motif, 9, "index", conditions=asked)
            count_split(graph, motif, 9, "index", Split(0))
        case "list":
            enumerate_instances(graph, motif, 9, "index", 1)
        case "estimate":
            estimate(prepare(graph, motif, 9, "index"), max_samples=1)
        case "complete":
            keys = tuple(np.arange(2 * graph.edge_count).reshape(2, -1))
            asked = Conditions(keys=keys, comparisons=(Comparison(0, 0, "<=", 1, 1),))
            estimate(prepare_under(asked, graph, motif, 9, "index", None), max_samples=1)
        case "draw":
            sample_instances(prepare(graph, motif, 9, "index"), 1)
        case _:
            assert_never(part)


def method_of(asked: MotifQuestion) -> str:
    """Return the method that was asked for; a motif that can't be sampled leaves auto no choice."""
    if asked.method == "auto" and not asked.written.motif.is_total:
        try:
            for variant in asked.variants:
                sampled_trees(variant.motif)
        except NotSupportedError:
            return "exact"
    return asked.method


# -- counting


def count_instances(search: Search) -> tuple[Mapping[str, Any], str]:
    """Return what motif_count() tells of a motif by column, and how it was found."""
    asked = search.asked
    counted = None if search.method == "timest" else count_exactly(search)
    if counted is not None:
        return _of_exact(counted.count), f"exact, {counted.steps} steps"
    is_plain = not any(conditions.are_any for _, conditions in search.plains)
    search.clock.make_ready("estimate" if is_plain else "complete")
    prepared = prepare_trees(search)
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


def expects_to_count(search: Search) -> bool:
    """Return whether all instances are expected to be counted in few steps."""
    asked, graph = search.asked, search.graph
    search.clock.make_ready("count")
    most, expected = _most_steps(search), 0.0
    for variant, conditions in search.plains:
        expected += expected_steps(graph, variant.motif, search.delta, asked.ties, most, conditions)
        if expected > most:
            return False
    return True


def _most_steps(search: Search) -> int:
    return max(AUTO_STEPS, AUTO_STEPS_PER_EDGE * search.graph.edge_count)


def count_exactly(search: Search) -> ExactCount | None:
    """Return the count of all instances; None where that takes more than may be tried."""
    asked, graph, clock = search.asked, search.graph, search.clock
    clock.make_ready("count")
    budget, seconds = None, clock.left
    if search.method == "auto":
        if not expects_to_count(search):
            return None
        budget, seconds = 2 * _most_steps(search), AUTO_SHARE * seconds
    tell = clock.teller("count", seconds)
    total = ExactCount(0, True, 0)
    try:
        for done, (variant, conditions) in enumerate(search.plains):
            counted = count_exact(
                *(graph, variant.motif, search.delta, asked.ties),
                None if budget is None else budget - total.steps,
                keep_going=part_of(tell, done, len(search.plains)),
                conditions=conditions,
            )
            steps = total.steps + counted.steps
            total = ExactCount(total.count + counted.count, counted.finished, steps)
            if not counted.finished:
                return None
    except TimeIsUp:
        if search.method == "auto":
            return None
        raise OperationalError(
            f"{asked.function}() has not counted all instances within {asked.max_seconds:g} "
            "seconds; raise max_seconds, or let method => 'timest' estimate"
        ) from None
    return total


def part_of(tell: Callable[[float], None], done: int, count: int) -> Callable[[float], None]:
    """Return what one of several equal parts tells, after some are done."""
    return lambda share: tell((done + share) / count)


def prepare_trees(
    search: Search, coder: Callable[[Variant], Code] | None = None
) -> list[PreparedMotif] | None:
    """Return the trees that instances are sampled by, with weights; None where time runs out.

    coder: gives for a plain motif what its matches are tallied by.
    """
    asked, graph, clock = search.asked, search.graph, search.clock
    need = _WEIGHT_BYTES * graph.edge_count * (asked.written.motif.vertex_count + _MORE_WEIGHTS)
    need *= len(search.plains)
    search.memory.check(need, f"sampling a motif from {graph.edge_count} edges")
    prepared = []
    for done, (variant, conditions) in enumerate(search.plains):
        code = None if coder is None else coder(variant)
        of_variant = (conditions, graph, variant.motif, search.delta, asked.ties, code)
        ready = partial(prepare_under, *of_variant)
        share = CHOICE_SHARE * clock.left / (len(search.plains) - done)
        try:
            prepared.append(ready(keep_going=clock.teller("weigh", share)))
            continue
        except TimeIsUp:
            # Comparing trees takes too long: the one that looks best is taken unseen.
            tree = sampled_trees(variant.motif)[0]
        try:
            prepared.append(ready(tree=tree, keep_going=clock.teller("weigh", clock.left)))
        except TimeIsUp:
            return None
    return prepared


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
    ends = [asked.written.motif.edges[number] for number in found.tree]
    names = asked.names
    return {
        **{name: getattr(found, name) for name in _OF_ESTIMATE},
        "exact": found.exact_zero,
        "method": "timest",
        "tree": ", ".join(f"{names[source]}->{names[target]}" for source, target in ends),
        "total_weight": float(found.total_weight),
        "count": 0 if found.exact_zero else None,
    }
