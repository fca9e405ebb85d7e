"""A workload's queries in RayDB, with BVHs and without, beside DuckDB in the same process.

Both engines hold the tables in memory and have as many threads; RayDB has the workload's keys. One
of its two databases has BVHs: those of the workload, or as many as advise_bvh() names for all of
the queries. Every answer of both is compared with DuckDB's before the clock starts. The engines
then take turns, and a time is the median of several runs from the text to the rows: of a new text,
which differs from all others in a comment, so that its plan is in it, and of a repeated one, whose
plan is known. DuckDB plans anew each time. A query that BVHs seem to slow down by more than a tenth
is timed again with more runs. Planning is the time of EXPLAIN with a new text. Peak memory is that
of further processes, each of which loads the tables and runs the queries once with one engine.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import math
import re
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numba
import pyarrow as pa

import raydb
from raydb.kernels.backends.cpu import warm

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

# How much more of a query with BVHs than without is looked at again, and with how many more runs.
ALLOWED = 1.1
SECOND_LOOK = 3

# A query is repeated no longer than this, so that a slow one cannot hold up the rest.
REPEAT_SECONDS = 20.0

# Defects, which are to be seen among the other queries.
RAW_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)

# Nodes of EXPLAIN that are fused jobs.
_JOBS = re.compile(r"^ *(FusedScanAggregate|FusedTableScan|DeferredScan)\b", re.MULTILINE)

# RayDB's databases and what is asked of them.
DATABASES = ("none", "BVHs")
NEW, REPEATED = "new text", "repeated"

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """Queries by their names, over tables that both engines load.

    bvhs: the statements of its own BVHs.
    difference: says how two answers of a query differ, or returns ''.
    """

    queries: Mapping[str, str]
    bvhs: Sequence[str]
    load_raydb: Callable[[raydb.Connection], None]
    load_duckdb: Callable[[duckdb.DuckDBPyConnection], None]
    difference: Callable[[str, list[Row], list[Row]], str]


@dataclass(frozen=True, slots=True)
class Times:
    """Median times of a statement in ms: by the clock, and of all processors."""

    clock: float
    processor: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """A query's times, or what is wrong with an answer.

    times: of "DuckDB", "planning", and "none, new text", "BVHs, repeated" and so on of RayDB.
    jobs: the fused ones of its plan, with BVHs where there are any.
    """

    query: str
    times: dict[str, Times]
    jobs: tuple[str, ...] = ()
    problem: str = ""

    def ratio(self, measured: str, beside: str = "DuckDB", clock: str = "clock") -> float:
        return float(getattr(self.times[measured], clock) / getattr(self.times[beside], clock))

    def slowed_down(self, clock: str) -> bool:
        """Return whether BVHs make the query slower, in one of the clocks."""
        return "BVHs, repeated" in self.times and any(
            self.ratio(f"BVHs, {text}", f"none, {text}", clock) > ALLOWED
            for text in (NEW, REPEATED)
        )


# Engines


def open_raydb(workload: Workload, threads: int) -> raydb.Connection:
    pa.set_cpu_count(threads)
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    connection = raydb.connect()
    workload.load_raydb(connection)
    return connection


def open_duckdb(workload: Workload, threads: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": threads})
    workload.load_duckdb(connection)
    return connection


def build_bvhs(connection: raydb.Connection, workload: Workload, most: int | None) -> list[str]:
    """Build the workload's BVHs, or those that the advisor names; return their statements.

    most: how many the advisor may name for all queries; None for the workload's own.
    """
    statements = list(workload.bvhs)
    if most is not None:
        start = time.perf_counter()
        texts = ";\n".join(sql.rstrip().rstrip(";") for sql in workload.queries.values())
        advised = connection.execute(
            "SELECT statement FROM advise_bvh(?, NULL, ?) WHERE statement IS NOT NULL",
            [texts, most],
        )
        statements = [statement for (statement,) in advised.fetchall()]
        seconds = time.perf_counter() - start
        print(f"advice for {len(workload.queries)} queries: {seconds:.1f} s", file=sys.stderr)
    start = time.perf_counter()
    for statement in statements:
        print(statement, file=sys.stderr)
        connection.execute(statement)
    seconds = time.perf_counter() - start
    print(f"{len(statements)} BVHs built in {seconds:.1f} s", file=sys.stderr)
    return statements


# Answers


def wrong(name: str, workload: Workload, connection: raydb.Connection, theirs: Any) -> str:
    """Say what is wrong with RayDB's answer to a query, or return ''.

    Where rows that are equal in the ORDER BY can fall on either side of a LIMIT, the answers
    without the LIMIT are compared.
    """
    sql = workload.queries[name]
    problem = ""
    for text in dict.fromkeys(
        (sql, re.sub(r"\s+limit\s+\d+[\s;]*$", "", sql, flags=re.IGNORECASE))
    ):
        try:
            rows = connection.execute(text).fetchall()
        except raydb.Error as error:
            return f"{type(error).__name__}: {error}"
        except RAW_ERRORS as error:
            return f"raw {type(error).__name__}: {error}"
        problem = workload.difference(name, rows, theirs.execute(text).fetchall())
        if not problem:
            return ""
    return problem


def difference(_: str, ours: list[Row], theirs: list[Row]) -> str:
    """Say how two answers differ as multisets, or return ''; doubles may by 1e-9."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows for {len(theirs)}"
    for left, right in zip(sorted(ours, key=_key), sorted(theirs, key=_key), strict=True):
        if len(left) != len(right) or not all(map(_same_value, left, right)):
            return f"{left} for {right}"
    return ""


def _key(row: Row) -> tuple[str, list[float]]:
    """Return what rows are ordered by, numbers last, with the digits that both engines have."""
    numbers = [value for value in row if isinstance(value, int | float | Decimal)]
    others = [value for value in row if not isinstance(value, int | float | Decimal)]
    return repr(list(map(_written, others))), [float(f"{number:.6g}") for number in numbers]


def _written(value: Any) -> Any:
    """Return a midnight as its date: sums of dates and intervals are either, so is date_trunc."""
    is_midnight = isinstance(value, dt.datetime) and value.time() == dt.time()
    return value.date() if is_midnight else value


def _same_value(left: Any, right: Any) -> bool:
    if isinstance(left, int | float | Decimal) and isinstance(right, int | float | Decimal):
        return left == right or math.isclose(left, right, rel_tol=1e-9)
    return bool(_written(left) == _written(right))


# Times


def measure(
    name: str, workload: Workload, ours: Mapping[str, raydb.Connection], theirs: Any, runs: int
) -> Measurement:
    """Check a query's answers, then time it in all engines, in turns."""
    for database, connection in ours.items():
        problem = wrong(name, workload, connection, theirs)
        if problem:
            return Measurement(name, {}, problem=f"{database}: {problem}")
    sql = workload.queries[name].rstrip().rstrip(";")
    same, new = itertools.repeat(sql), (f"{sql}\n-- run {run}" for run in itertools.count())
    asked = {}
    for database, connection in ours.items():
        asked[f"{database}, {NEW}"] = asking(connection, new)
        asked[f"{database}, {REPEATED}"] = asking(connection, same)
    last = list(ours.values())[-1]
    planning = asking(last, (f"EXPLAIN {text}" for text in new))
    times = medians({"DuckDB": asking(theirs, same), **asked, "planning": planning}, runs)
    plan = "\n".join(str(row[0]) for row in last.execute(f"EXPLAIN {sql}").fetchall())
    measured = Measurement(name, times, tuple(_JOBS.findall(plan)))
    if measured.slowed_down("processor"):
        # By now both plans' codes are made, and one slow run weighs less.
        measured.times.update(medians(asked, SECOND_LOOK * runs))
    return measured


def asking(connection: Any, texts: Iterator[str]) -> Callable[[], Any]:
    """Return what executes the next of the texts and fetches its rows."""
    return lambda: connection.execute(next(texts)).fetchall()


def medians(asked: Mapping[str, Callable[[], Any]], runs: int) -> dict[str, Times]:
    """Return the median times of what is asked; all take turns, so that they meet the same load."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    start = time.perf_counter()
    for _ in range(runs):
        for name, ask in asked.items():
            clock, processor = time.perf_counter(), time.process_time()
            ask()
            taken = time.perf_counter() - clock, time.process_time() - processor
            found[name].append((1e3 * taken[0], 1e3 * taken[1]))
        if time.perf_counter() - start > REPEAT_SECONDS:
            break
    return {
        name: Times(*map(statistics.median, zip(*times, strict=True)))
        for name, times in found.items()
    }


# Memory


def peak_bytes(workload: Workload, options: argparse.Namespace) -> int:
    """Load and run the queries with one engine; return the peak memory of this process."""
    connection: Any
    if options.engine == "DuckDB":
        connection = open_duckdb(workload, options.threads)
    else:
        connection = open_raydb(workload, options.threads)
        if options.engine == "BVHs":
            build_bvhs(connection, workload, options.advised)
    for name, sql in workload.queries.items():
        try:
            connection.execute(sql).fetchall()
        except raydb.Error as error:
            print(f"{name}: {error}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def measure_peaks(engines: Sequence[str]) -> dict[str, int]:
    """Run this script once for each engine; before this process grows, whose size they inherit."""
    peaks = {}
    for engine in engines:
        done = subprocess.run(
            [sys.executable, *sys.argv, "--engine", engine],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        peaks[engine] = int(done.stdout.splitlines()[-1])
    return peaks


# The report


def report(measured: Sequence[Measurement], peaks: Mapping[str, int]) -> None:
    right = [each for each in measured if not each.problem]
    titles = [title for title in right[0].times if title not in ("DuckDB", "planning")]
    print("ms by the clock, in brackets beside DuckDB")
    print(f"{'DuckDB':>7} {'planning':>8}", *(f"{title:>15}" for title in titles), "query, jobs")
    for each in right:
        print(
            f"{each.times['DuckDB'].clock:7.1f} {each.times['planning'].clock:8.1f}",
            *(f"{each.times[title].clock:8.2f} ({each.ratio(title):4.2f})" for title in titles),
            f"{each.query[:60]} {', '.join(each.jobs)}",
        )
    for clock in ("clock", "processor"):
        print(f"\nbeside DuckDB, {clock}: geometric mean, worst, slower, above {ALLOWED}")
        for title in titles:
            summary(title, [each.ratio(title, clock=clock) for each in right])
        for text in (NEW, REPEATED) if len(titles) > 2 else ():
            beside = f"BVHs, {text}", f"none, {text}"
            summary(f"BVHs / none, {text}", [each.ratio(*beside, clock) for each in right])
        slower = [each.query for each in right if each.slowed_down(clock)]
        print(f"slower with BVHs: {', '.join(slower) or 'none'}")
    planning = [each.times["planning"].clock for each in right]
    print(f"\nplanning: median {statistics.median(planning):.1f} ms, most {max(planning):.1f}")
    print(f"with a fused job: {sum(bool(each.jobs) for each in right)} of {len(measured)}")
    failed = [f"{each.query[:60]}: {each.problem[:150]}" for each in measured if each.problem]
    print("without a right answer:", "\n".join(failed) or "none")
    for engine, peak in peaks.items():
        print(f"peak of {engine}: {peak / 2**20:,.0f} MiB, {peak / peaks['DuckDB']:.2f}")


def summary(title: str, ratios: Sequence[float]) -> None:
    print(
        f"{title:>24}: {statistics.geometric_mean(ratios):.3f}, {max(ratios):.2f},"
        f" {sum(ratio > 1 for ratio in ratios)}, {sum(ratio > ALLOWED for ratio in ratios)}"
    )


# The program


def run(parser: argparse.ArgumentParser, workload_of: Callable[[Any], Workload]) -> None:
    """Measure a workload; workload_of: makes it from the options of the parser."""
    parser.add_argument("--queries", help="names with commas between them")
    parser.add_argument("--runs", type=int, default=5, help="how often a query is timed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--advised", type=int, help="so many BVHs at most, which the advisor names")
    parser.add_argument("--no-bvhs", action="store_true", help="only the database without BVHs")
    parser.add_argument("--no-memory", action="store_true", help="leave out peak memory")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--engine", help="only print this engine's peak memory")
    options = parser.parse_args()
    workload = workload_of(options)
    if options.queries:
        chosen = {name: workload.queries[name] for name in options.queries.split(",")}
        workload = replace(workload, queries=chosen)
    if options.engine:
        print(peak_bytes(workload, options))
        return
    databases = DATABASES[:1] if options.no_bvhs else DATABASES
    peaks = {} if options.no_memory else measure_peaks(("DuckDB", *databases))
    theirs = open_duckdb(workload, options.threads)
    ours = {database: open_raydb(workload, options.threads) for database in databases}
    bvhs = build_bvhs(ours["BVHs"], workload, options.advised) if "BVHs" in ours else []
    warm.wait()
    measured = []
    for name in workload.queries:
        measured.append(measure(name, workload, ours, theirs, options.runs))
        print(name[:60], measured[-1].problem, file=sys.stderr, flush=True)
    report(measured, peaks)
    if options.json:
        found = {
            "threads": options.threads,
            "bvhs": bvhs,
            "versions": {"raydb": raydb.__version__, "duckdb": duckdb.__version__},
            "queries": [asdict(each) for each in measured],
            "peak_bytes": peaks,
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
