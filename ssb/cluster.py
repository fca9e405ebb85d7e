"""A run of the benchmark on a cluster: the 13 queries by workers, beside one process.

Both scan the same database without BVHs. A query is timed after its rows were compared: those of
workers with those of one process, and both with the right ones.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import raydb
from raydb.ssb import check, rivals, workload
from raydb.ssb.flat import FlatTable
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.machine import limited_cores, time_runs
from raydb.ssb.progress import Progress
from raydb.ssb.rivals.cluster_rival import OnCluster
from raydb.ssb.rivals.run_rival import release_memory
from raydb.ssb.run import asking, expected_rows, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from raydb.ssb.check import Row
    from raydb.ssb.machine import Timing
    from raydb.ssb.run import Options
    from raydb.ssb.workload import Form

    Asks = Mapping[tuple[str, Form], Callable[[], list[Row]]]

# So long for each run of a query all of them are asked before: compiled loops and codes come late.
_WARM_UP_S = 0.5


@dataclass(frozen=True, slots=True)
class Result:
    """One query in one form. segments: None where the coordinator scans alone."""

    name: str
    form: Form
    row_count: int
    segments: int | None
    alone: Timing
    clustered: Timing
    faults: list[str]

    @property
    def more_ms(self) -> float:
        """What workers take beyond one process."""
        return self.clustered.median_ms - self.alone.median_ms


def run_on_cluster(options: Options, out: Console, messages: Console) -> int:
    """Run the benchmark and return the exit code: 1 where an answer is wrong, else 0.

    The table goes to `out`, progress to `messages`. Raises raydb.Error.
    """
    assert options.cluster is not None
    if options.beside is not None:
        raise raydb.ProgrammingError("--beside and --cluster: RayDB in one process is beside")
    progress = Progress(messages)
    data = DataSet(options.scale_factor, options.seed)
    folder = options.folder / data.folder_name
    prepare(folder, data, progress, replace_unmarked=True)
    expected = expected_rows(folder, options.oracle, progress)
    flat = FlatTable(folder)
    cluster = OnCluster(options.cluster, options.segments)
    with limited_cores(rivals.THREADS), contextlib.closing(cluster):
        with progress.step("load", flat.batch_count) as advance:
            cluster.load(flat, advance)
        rows, alone = ask_alone(cluster.path, options, progress)
        release_memory()
        start = time.perf_counter()
        cluster.connect()
        connect_s = time.perf_counter() - start
        results = ask_workers(cluster, options, rows, alone, expected, progress)
        count = cluster.worker_count()
    out.print(result_table(results, options, count))
    out.print(_summary(results, connect_s), markup=False, highlight=False, soft_wrap=True)
    faults = [f"{each.name} {each.form}: {fault}" for each in results for fault in each.faults[:3]]
    for fault in faults:
        out.print(f"WRONG: {fault}", markup=False, highlight=False, soft_wrap=True)
    return 1 if faults else 0


def ask_alone(
    path: Path, options: Options, progress: Progress
) -> tuple[dict[tuple[str, Form], list[Row]], dict[tuple[str, Form], Timing]]:
    """Return each query's rows of one process, and its times."""
    with raydb.connect(path, read_only=True) as connection:
        asks = {asked: asking(connection, workload.query(*asked)) for asked in _asked(options)}
        rows = {asked: ask() for asked, ask in asks.items()}
        return rows, _time("one process", asks, options.repeat, progress)


def ask_workers(
    cluster: OnCluster,
    options: Options,
    rows: Mapping[tuple[str, Form], list[Row]],
    alone: Mapping[tuple[str, Form], Timing],
    expected: Mapping[str, Sequence[Row]] | None,
    progress: Progress,
) -> list[Result]:
    """Compare each query's rows with those of one process, and time it."""
    asks = {asked: cluster.asking(workload.query(*asked)) for asked in _asked(options)}
    faults: dict[tuple[str, Form], list[str]] = {}
    for asked, ask in asks.items():
        found = ask()
        faults[asked] = check.ordered_differences(found, rows[asked])
        if expected is not None:
            faults[asked] += check.differences(asked[0], found, expected[asked[0]])
    times = _time("workers", asks, options.repeat, progress)
    return [
        Result(
            *asked,
            len(rows[asked]),
            cluster.segments_of(workload.query(*asked)),
            alone[asked],
            times[asked],
            faults[asked],
        )
        for asked in asks
    ]


def _asked(options: Options) -> list[tuple[str, Form]]:
    return [(name, form) for name in workload.QUERIES for form in options.forms]


def _time(name: str, asks: Asks, repeat: int, progress: Progress) -> dict[tuple[str, Form], Timing]:
    """Ask all for a while, and then time each."""
    end = time.monotonic() + _WARM_UP_S * repeat
    while time.monotonic() < end:
        for ask in asks.values():
            ask()
    times = {}
    with progress.step(name, len(asks)) as advance:
        for asked, ask in asks.items():
            times[asked] = time_runs(ask, repeat, rivals.QUERY_SECONDS)
            advance()
    return times


def result_table(results: Sequence[Result], options: Options, worker_count: int) -> Table:
    """Return the table of all results."""
    title = (
        f"Star Schema Benchmark, scale factor {options.scale_factor:g}, by scans, ms:"
        f" {worker_count} workers"
    )
    names = ("query", "rows", "segments", "one process", "spread", "workers", "spread", "more")
    table = open_table(title, (*names, "checked"))
    for each in results:
        table.add_row(
            each.name if each.form == "star" else f"{each.name} flat",
            f"{each.row_count:,}",
            "-" if each.segments is None else f"{each.segments}",
            f"{each.alone.median_ms:.2f}",
            f"{each.alone.spread:.0%}",
            f"{each.clustered.median_ms:.2f}",
            f"{each.clustered.spread:.0%}",
            f"{each.more_ms:+.2f}",
            "WRONG" if each.faults else "yes",
        )
    return table


def _summary(results: Sequence[Result], connect_s: float) -> str:
    more = [each.more_ms for each in results]
    ratio = statistics.geometric_mean(
        each.alone.median_ms / each.clustered.median_ms for each in results
    )
    return (
        f"workers take {statistics.median(more):+.2f} ms (median; at most {max(more):+.2f});"
        f" {ratio:.2f}x one process (geometric mean); they came in {connect_s:.1f} s"
    )
