"""RayDB's side of the comparison: load, build, ask, and what lies around the kernel."""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import raydb
from raydb.ssb import workload
from raydb.ssb.machine import median_ms, read_bandwidth, read_seconds, time_runs
from raydb.ssb.rivals import QUERY_SECONDS, THREADS
from raydb.ssb.run import asking, build_bvhs, explain, find_fused, load

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from raydb.ssb.machine import Timing
    from raydb.ssb.progress import Progress
    from raydb.ssb.rivals import Differences
    from raydb.ssb.run import Plan
    from raydb.ssb.workload import Query


# So long for each run of a query all of them are asked before.
_WARM_UP_S = 0.5


@dataclass(frozen=True, slots=True)
class Kernel:
    """The fused job's launch alone, in ms, and the bytes of the rows that it reads.

    read_ms: what plain sums of as many bytes take, which caches hold as far as they fit.
    """

    time_ms: float
    bytes_touched: int
    read_ms: float


@dataclass(frozen=True, slots=True)
class OwnFigures:
    """One query on RayDB, from text to rows.

    repeated: the same text again and again.
    new_constants: constants that never were asked for; None where the query has none to change.
    new_text: a text that never ran, the same but for a comment.
    sieved_ms: the median with BVHs that keep sums of cells; None where the answer is wrong then.
    kernel: None where no BVH serves the query.
    """

    name: str
    row_count: int
    plan: Plan
    repeated: Timing
    new_constants: Timing | None
    new_text: Timing
    sieved_ms: float | None
    kernel: Kernel | None
    faults: list[str]

    @property
    def fixed_us(self) -> float | None:
        """What the path around the kernel takes, in microseconds."""
        if self.kernel is None:
            return None
        return (self.repeated.median_ms - self.kernel.time_ms) * 1000

    @property
    def is_kept(self) -> bool:
        """Whether a repeated text reads no row: the counts of its groups are kept with its plan."""
        return self.kernel is not None and not self.kernel.bytes_touched


@dataclass(frozen=True, slots=True)
class OwnRun:
    """All figures of RayDB.

    bandwidth: the bytes per second that plain sums read of an array that no cache holds.
    notes: what could not be measured, and why.
    """

    load_s: float
    build_s: float
    bvh_bytes: dict[str, int]
    bandwidth: float
    queries: list[OwnFigures]
    notes: list[str]


def run_own(
    folder: Path,
    queries: Sequence[Query],
    runs: int,
    differences: Differences,
    progress: Progress,
) -> OwnRun:
    """Load, build and ask each query: its answer is checked first, then it is timed."""
    notes: list[str] = []
    with contextlib.closing(raydb.connect()) as connection:
        load(connection, folder, progress)
        build_bvhs(connection, progress)
        load_s, build_s = progress.seconds["load"], progress.seconds["build BVHs"]
        _warm_up(connection, queries, runs)
        sizes = dict(connection.execute("SELECT name, size_bytes FROM bvhs()").fetchall())
        figures = []
        with progress.step("RayDB", len(queries)) as advance:
            for query in queries:
                figures.append(_ask(connection, query, runs, differences))
                advance()
        # Beside the kernels, so that both share whatever else the machine does.
        bandwidth = read_bandwidth(THREADS)
        kernels = _kernels(connection, queries, runs)
        sieved = _sieved(connection, queries, runs, differences, notes, progress)
    figures = [
        replace(one, kernel=kernels.get(one.name), sieved_ms=sieved.get(one.name))
        for one in figures
    ]
    return OwnRun(load_s, build_s, sizes, bandwidth, figures, notes)


def _warm_up(connection: Any, queries: Sequence[Query], runs: int) -> None:
    """Ask all queries for a while: until compiled loops are loaded NumPy answers in their place.

    With other constants too, which have a loop of their own; those are not among the timed ones.
    """
    texts = [query.star for query in queries]
    for query in queries:
        texts += itertools.islice(workload.with_other_constants(query.star), runs, runs + 2)
    end = time.monotonic() + _WARM_UP_S * runs
    while time.monotonic() < end:
        for text in texts:
            connection.execute(text).fetchall()


def _ask(
    connection: Any,
    query: Query,
    runs: int,
    differences: Differences,
) -> OwnFigures:
    """Check a query's rows, then time it: the same text, other constants, new texts."""
    rows = connection.execute(query.star).fetchall()
    faults = differences(query.name, rows)
    repeated = time_runs(asking(connection, query.star), runs, QUERY_SECONDS)
    # Constants before comments, and each of them once: what was asked before may be kept.
    others = list(itertools.islice(workload.with_other_constants(query.star), runs))
    new_constants = _time_each(connection, others) if others else None
    commented = [f"{query.star}\n-- asked as number {number}" for number in range(runs)]
    return OwnFigures(
        query.name,
        len(rows),
        explain(connection, query.star),
        repeated,
        new_constants,
        _time_each(connection, commented),
        None,
        None,
        faults,
    )


def _time_each(connection: Any, texts: Sequence[str]) -> Timing:
    """Ask each text once, or as many as fit the time."""
    waiting = iter(texts)
    return time_runs(
        lambda: connection.execute(next(waiting)).fetchall(), len(texts), QUERY_SECONDS
    )


def _kernels(connection: Any, queries: Sequence[Query], runs: int) -> dict[str, Kernel]:
    """Return what EXPLAIN ANALYZE says of each query's fused job: the median of some runs."""
    kernels = {}
    for query in queries:
        ask = asking(connection, f"EXPLAIN (ANALYZE, FORMAT JSON) {query.star}")
        nodes = [find_fused(json.loads(ask()[0][0])) for _ in range(runs)]
        jobs = [node for node in nodes if node is not None]
        if jobs:
            time_ms = statistics.median(job["kernel_ms"] for job in jobs)
            touched = jobs[0]["bytes_touched"]
            kernels[query.name] = Kernel(time_ms, touched, read_seconds(touched, THREADS) * 1000)
    return kernels


def _sieved(
    connection: Any,
    queries: Sequence[Query],
    runs: int,
    differences: Differences,
    notes: list[str],
    progress: Progress,
) -> dict[str, float]:
    """Build the BVHs anew with sums of cells, and time each query whose answer is right."""
    statements = workload.statements("bvhs.sql")
    with progress.step("build sieved BVHs", len(statements)) as advance:
        for statement in statements:
            connection.execute(f"DROP BVH {statement.split()[2]}")
            connection.execute(f"{statement} WITH (sieve = true)")
            advance()
    times = {}
    for query in queries:
        faults = differences(query.name, connection.execute(query.star).fetchall())
        if faults:
            notes.append(f"with sieving, {query.name} is wrong: {faults[0]}")
        else:
            times[query.name] = median_ms(asking(connection, query.star), runs, QUERY_SECONDS)
    return times
