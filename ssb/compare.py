"""The comparison of RayDB with its rivals on the same data, in one run of one process.

For each engine in turn: load, then for every query check the answer and time it; then give the
memory back, so that no two engines hold their tables at the same time. All are kept to two threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import raydb
from raydb.ssb import check, rivals, rules, workload
from raydb.ssb.flat import FlatTable
from raydb.ssb.footprint import cold_start_ms, measure_memory
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.machine import describe_machine, limited_cores
from raydb.ssb.progress import Progress
from raydb.ssb.rivals.cluster_rival import OnCluster
from raydb.ssb.rivals.raydb_rival import OwnFigures, OwnRun, run_own
from raydb.ssb.rivals.run_rival import RivalRun, release_memory, run_rival
from raydb.ssb.run import ask_duckdb, expected_rows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import Console

    from raydb.ssb.machine import Timing
    from raydb.ssb.rivals import Differences, Rival
    from raydb.ssb.workload import Query, Workload

MEMORY_OF: Final = ("raydb", "duckdb-sorted")

# How a query may come: as the text that ran before, with other constants, as a text that never ran.
Kind = Literal["repeated", "new_constants", "new_text"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Options:
    """What to compare. `rivals` and `queries` are None where all are meant.

    cluster: whose workers are asked too, by scans in so many segments.
    """

    folder: Path
    scale_factor: float = 1.0
    seed: int = rules.DEFAULT_SEED
    workload: Workload = "star"
    rivals: tuple[str, ...] | None = None
    queries: tuple[str, ...] | None = None
    runs: int = 20
    memory: bool = True
    cold_start: bool = True
    cluster: str | None = None
    segments: int = 8


@dataclass(frozen=True, slots=True)
class Comparison:
    """All figures of a run. `left_out` has the reason for each rival that did not run."""

    options: Options
    machine: dict[str, Any]
    row_count: int
    flat_bytes: int
    own: OwnRun
    rivals: dict[str, RivalRun]
    left_out: dict[str, str]
    memory: dict[str, dict[str, int]] = field(default_factory=dict)
    cold_start_ms: float | None = None

    def ratios(self, rival: str, kind: Kind) -> dict[str, float]:
        """Return how many times faster than the rival RayDB was, by query.

        A repeated text whose counts are kept with its plan is no ratio: it reads nothing.
        """
        theirs = self.rivals[rival].times
        found = {}
        for one in self.own.queries:
            own: Timing | None = getattr(one, kind)
            if own is not None and one.name in theirs and not (kind == "repeated" and one.is_kept):
                found[one.name] = theirs[one.name].median_ms / own.median_ms
        return found

    def memory_ms(self, figures: OwnFigures) -> float | None:
        """Return the time to read a query's touched bytes if no cache held them."""
        if figures.kernel is None:
            return None
        return figures.kernel.bytes_touched / self.own.bandwidth * 1000

    def fault_lines(self) -> list[str]:
        """Return what is wrong with anybody's answers, the first difference of each."""
        lines = [f"RayDB, {one.name}: {one.faults[0]}" for one in self.own.queries if one.faults]
        for name, rival in self.rivals.items():
            lines += [f"{name}, {query}: {faults[0]}" for query, faults in rival.faults.items()]
        return lines


def compare(options: Options, messages: Console) -> Comparison:
    """Run the comparison. Raises raydb.Error."""
    queries = chosen_queries(options.workload, options.queries)
    names, left_out = rivals.choose(options.rivals, options.workload)
    if options.workload == "other":
        rivals.import_rival("duckdb")  # who checks the answers
    progress = Progress(messages)
    for name, reason in left_out.items():
        progress.say(f"without {name}: {reason}")
    data = DataSet(options.scale_factor, options.seed)
    folder = options.folder / data.folder_name
    prepare(folder, data, progress, replace_unmarked=True)
    flat = FlatTable(folder)
    with limited_cores(rivals.THREADS):
        differences = _checker(folder, options.workload, queries, progress)
        own = run_own(folder, queries, options.runs, differences, progress)
        release_memory()
        asked: dict[str, Rival | None] = dict.fromkeys(names)
        if options.cluster is not None:
            asked["raydb-cluster"] = OnCluster(options.cluster, options.segments)
        found = {
            name: run_rival(
                name, flat, options.workload, queries, options.runs, differences, progress, rival
            )
            for name, rival in asked.items()
        }
        memory, cold_ms = _measure_processes(folder, options, names, own.notes, progress)
    return Comparison(
        options,
        describe_machine(),
        flat.row_count,
        flat.row_count * flat.row_bytes,
        own,
        found,
        left_out,
        memory,
        cold_ms,
    )


def _measure_processes(
    folder: Path, options: Options, names: Sequence[str], notes: list[str], progress: Progress
) -> tuple[dict[str, dict[str, int]], float | None]:
    """Measure memory and the cold start; a failure is noted, for the other figures are there."""
    memory: dict[str, dict[str, int]] = {}
    cold_ms = None
    try:
        if options.memory:
            measured = [name for name in MEMORY_OF if name == "raydb" or name in names]
            with progress.step("memory", len(measured)) as advance:
                for name in measured:
                    memory[name] = measure_memory(folder, name)
                    advance()
        if options.cold_start:
            progress.say("cold start, from a database on disk:")
            cold_ms = cold_start_ms(folder, workload.query("q1.1", "star"), progress)
    except raydb.OperationalError as error:
        notes.append(str(error))
    return memory, cold_ms


def chosen_queries(kind: Workload, chosen: Sequence[str] | None) -> list[Query]:
    """Return the workload's queries, or those chosen; raises ProgrammingError for another name."""
    known = workload.names(kind)
    for name in chosen or ():
        if name not in known:
            raise raydb.ProgrammingError(
                f"the workload '{kind}' has no query '{name}'; its queries are {known[0]} to "
                f"{known[-1]}"
            )
    return [workload.find(name) for name in known if chosen is None or name in chosen]


def _checker(
    folder: Path, kind: Workload, queries: Sequence[Query], progress: Progress
) -> Differences:
    """Return what tells a query's right rows from wrong ones.

    The 13 queries are answered by brute force; the others by DuckDB from the Parquet files.
    """
    if kind == "star":
        right = expected_rows(folder, "brute", progress)
        assert right is not None
        return lambda name, rows: check.differences(name, rows, right[name])
    found = ask_duckdb(folder, {query.name: query.star for query in queries}, progress)
    return lambda name, rows: check.ordered_differences(rows, found[name])
