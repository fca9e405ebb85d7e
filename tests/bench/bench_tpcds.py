"""TPC-DS beside DuckDB: times, fused jobs, planning and each engine's peak memory.

    python tests/bench/bench_tpcds.py --kit ~/tpcds-kit [--sf 1] [--queries 1,5] [--runs 3]
        [--threads 2] [--bvhs 10] [--plan-cache off] [--no-memory] [--json results.json]

The kit is gregrahn/tpcds-kit, which the user has built (`make OS=LINUX` in its folder `tools`); its
dsdgen makes the rows and its dsqgen the queries. Both engines hold the tables in memory, in the
same process and on as many threads; RayDB with the keys of the kit and those from returns to
sales, DuckDB without any, which is its faster form. Every answer is compared before the clock
starts, as a multiset; where rows that are equal in the ORDER BY can fall on either side of a LIMIT,
without the LIMIT. The engines take turns, and a time is the median of several runs, the plan
included: each run has a text of its own. `--bvhs` builds at most so many BVHs, which advise_bvh()
names for all queries. Planning is the time of EXPLAIN. Peak memory is that of two further
processes, each of which loads the tables and runs the queries once with one engine.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numba
import pyarrow as pa
from in_turns import medians
from tpcds_data import (
    difference,
    load_duckdb,
    load_raydb,
    parquet_files,
    query_texts,
    without_limit,
)

import raydb
from raydb.kernels.backends.cpu import warm

if TYPE_CHECKING:
    from collections.abc import Callable

# A query is repeated no longer than this, so that a slow one cannot hold up the rest.
REPEAT_SECONDS = 10.0

# Defects, which are to be seen among the other queries.
RAW_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)

# Nodes of EXPLAIN that are fused jobs.
_JOBS = re.compile(r"^ *(FusedScanAggregate|FusedTableScan|DeferredScan)\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A query's median times in ms, or why it has none; jobs: the fused ones of its plan."""

    query: str
    raydb_ms: float | None
    duckdb_ms: float
    planning_ms: float | None = None
    jobs: tuple[str, ...] = ()
    problem: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.raydb_ms is None else self.raydb_ms / self.duckdb_ms


def open_raydb(options: argparse.Namespace) -> Any:
    pa.set_cpu_count(options.threads)
    numba.set_num_threads(min(options.threads, numba.config.NUMBA_NUM_THREADS))
    connection = raydb.connect()
    load_raydb(connection, options.kit, options.sf)
    connection.execute(f"SET plan_cache = '{options.plan_cache}'")
    warm.wait()
    return connection


def open_duckdb(options: argparse.Namespace) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": options.threads})
    # The queries are written for SQL's division, in which 4 / 6 is 0.
    connection.execute("SET integer_division = true")
    load_duckdb(connection, options.kit, options.sf)
    return connection


OPENERS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "raydb": open_raydb,
    "duckdb": open_duckdb,
}


def build_bvhs(connection: Any, texts: dict[str, str], most: int) -> list[str]:
    """Build the BVHs that the advisor names for the queries; return their statements."""
    start = time.perf_counter()
    workload = ";\n".join(texts.values())
    advised = connection.execute(
        "SELECT statement FROM advise_bvh(?, NULL, ?) WHERE statement IS NOT NULL",
        [workload, most],
    ).fetchall()
    print(f"advice for {len(texts)} queries: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    for (statement,) in advised:
        print(statement)
        connection.execute(statement)
    print(f"{len(advised)} BVHs built in {time.perf_counter() - start:.1f} s")
    return [statement for (statement,) in advised]


# Times


def measure(name: str, sql: str, ours: Any, theirs: Any, runs: int) -> Measurement:
    """Check a query's answer, then time it in both engines, in turns."""
    problem = wrong(sql, ours, theirs)
    engines = {"duckdb": theirs.execute}
    if not problem:
        engines["planning"] = lambda text: ours.execute(f"EXPLAIN {text} of EXPLAIN")
        engines["raydb"] = ours.execute
    times = medians(sql, engines, runs, REPEAT_SECONDS)
    if problem:
        return Measurement(name, None, times["duckdb"], problem=problem)
    plan = "\n".join(str(row[0]) for row in ours.execute(f"EXPLAIN {sql}").fetchall())
    jobs = tuple(_JOBS.findall(plan))
    return Measurement(name, times["raydb"], times["duckdb"], times["planning"], jobs)


def wrong(sql: str, ours: Any, theirs: Any) -> str:
    """Say what is wrong with RayDB's answer to a query, or return ''."""
    problem = ""
    for text in dict.fromkeys((sql, without_limit(sql))):
        try:
            rows = ours.execute(text).fetchall()
        except raydb.Error as error:
            return f"{type(error).__name__}: {error}"
        except RAW_ERRORS as error:
            return f"raw {type(error).__name__}: {error}"
        problem = difference(rows, theirs.execute(text).fetchall())
        if not problem:
            return ""
    return problem


# Memory


def peak_bytes(options: argparse.Namespace) -> int:
    """Load and run the queries with one engine; return the peak memory of this process."""
    connection = OPENERS[options.engine](options)
    texts = chosen_texts(options)
    if options.engine == "raydb" and options.bvhs:
        build_bvhs(connection, texts, options.bvhs)
    for name, sql in texts.items():
        try:
            connection.execute(sql).fetchall()
        except raydb.Error as error:
            print(f"{name} of {options.engine}: {error}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def measure_peaks(options: argparse.Namespace) -> dict[str, int]:
    """Run this script once for each engine; before this process grows, whose size they inherit."""
    peaks = {}
    for engine in OPENERS:
        arguments = ["--kit", str(options.kit), "--sf", str(options.sf), "--engine", engine]
        arguments += ["--threads", str(options.threads), "--bvhs", str(options.bvhs)]
        arguments += ["--queries", options.queries] if options.queries else []
        done = subprocess.run(
            [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True
        )
        peaks[engine] = int(done.stdout.splitlines()[-1])
    return peaks


# The report


def print_table(measurements: list[Measurement], peaks: dict[str, int]) -> None:
    print(f"{'query':<6}{'raydb ms':>10}{'planning':>10}{'duckdb ms':>11}{'ratio':>7}  jobs")
    for m in measurements:
        if m.ratio is None:
            print(f"{m.query:<6}{'-':>10}{'-':>10}{m.duckdb_ms:>11.1f}{'-':>7}  {m.problem[:150]}")
            continue
        figures = f"{m.raydb_ms:>10.1f}{m.planning_ms:>10.1f}{m.duckdb_ms:>11.1f}{m.ratio:>7.2f}"
        print(f"{m.query:<6}{figures}  {', '.join(m.jobs)}")
    for title, of_these in (
        ("all", measurements),
        ("with a fused job", [m for m in measurements if m.jobs]),
        ("without", [m for m in measurements if not m.jobs]),
    ):
        ratios = [m.ratio for m in of_these if m.ratio is not None]
        if ratios:
            mean = statistics.geometric_mean(ratios)
            print(f"{title}: {len(ratios)}, geometric mean {mean:.2f}, worst {max(ratios):.1f}")
    planning = [m.planning_ms for m in measurements if m.planning_ms is not None]
    if planning:
        print(f"planning: median {statistics.median(planning):.1f} ms, most {max(planning):.1f}")
    failed = [m.query for m in measurements if m.problem]
    print(f"without a right answer: {', '.join(failed) or 'none'}")
    if peaks:
        sizes = [peaks[engine] / 2**20 for engine in ("raydb", "duckdb")]
        print(f"peak MiB: {sizes[0]:.0f} against {sizes[1]:.0f}, {sizes[0] / sizes[1]:.2f}")


def chosen_texts(options: argparse.Namespace) -> dict[str, str]:
    """Return the statements of the queries that are asked for."""
    texts = query_texts(options.kit)
    if not options.queries:
        return texts
    numbers = set(options.queries.split(","))
    return {name: sql for name, sql in texts.items() if name.strip("Qab") in numbers}


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure TPC-DS beside DuckDB.")
    parser.add_argument("--kit", type=Path, required=True, help="the folder of tpcds-kit, built")
    parser.add_argument("--sf", type=int, default=1, help="the scale factor")
    parser.add_argument("--queries", help="numbers with commas between them")
    parser.add_argument("--runs", type=int, default=3, help="how often a query is timed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bvhs", type=int, default=0, help="build so many that the advisor names")
    parser.add_argument("--plan-cache", choices=("on", "off"), default="on")
    parser.add_argument("--no-memory", action="store_true", help="leave out peak memory")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--engine", choices=OPENERS, help="only print this engine's peak memory")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    parquet_files(options.kit, options.sf)
    if options.engine:
        print(peak_bytes(options))
        return
    peaks = {} if options.no_memory else measure_peaks(options)
    ours, theirs = open_raydb(options), open_duckdb(options)
    texts = chosen_texts(options)
    bvhs = build_bvhs(ours, texts, options.bvhs) if options.bvhs else []
    measured = []
    for name, sql in texts.items():
        measured.append(measure(name, sql, ours, theirs, options.runs))
        print(name, measured[-1].raydb_ms, measured[-1].problem, file=sys.stderr, flush=True)
    print_table(measured, peaks)
    if options.json:
        report = {
            "scale_factor": options.sf,
            "threads": options.threads,
            "bvhs": bvhs,
            "versions": {"raydb": raydb.__version__, "duckdb": duckdb.__version__},
            "queries": [{**asdict(m), "ratio": m.ratio} for m in measured],
            "peak_bytes": peaks,
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
