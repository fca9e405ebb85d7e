"""TPC-H beside DuckDB: the time of each of the 22 queries, and each engine's peak memory.

    python tests/bench/bench_tpch.py [--sf 1] [--queries 1,5] [--runs 5] [--threads 2] [--bvhs]
        [--json results.json]

Both engines hold the tables in memory, in the same process and on as many threads; RayDB with the
keys of the specification, DuckDB without any, which is its faster form, and with all its
optimizers. Every answer is compared before the clock starts. The engines take turns, and a time is
the median of several runs, the plan included: each run has a text of its own. They begin when
RayDB's loops are compiled, or else the first queries would be timed in NumPy. Peak memory is that
of two further processes, each of which loads the tables and runs the same queries once with one
engine.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numba
import pyarrow as pa
from in_turns import medians
from tpch_data import (
    QUERY_NUMBERS,
    build_bvhs,
    difference,
    load_duckdb,
    load_raydb,
    parquet_files,
    query_text,
)

import raydb
from raydb.kernels.backends.cpu import warm

if TYPE_CHECKING:
    from collections.abc import Callable

# A query is repeated no longer than this, so that a slow one cannot hold up the rest.
REPEAT_SECONDS = 30.0

# What issue 4 asks for, as multiples of DuckDB's time and memory.
TARGETS = {"geometric_mean": 4.0, "worst": 15.0, "memory": 3.0}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A query's median times, or why it has none."""

    query: int
    raydb_ms: float | None
    duckdb_ms: float
    problem: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.raydb_ms is None else self.raydb_ms / self.duckdb_ms


def open_raydb(options: argparse.Namespace) -> Any:
    pa.set_cpu_count(options.threads)
    numba.set_num_threads(min(options.threads, numba.config.NUMBA_NUM_THREADS))
    connection = raydb.connect()
    load_raydb(connection, options.sf)
    if options.bvhs:
        build_bvhs(connection)
    return connection


def open_duckdb(options: argparse.Namespace) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": options.threads})
    load_duckdb(connection, options.sf)
    return connection


OPENERS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "raydb": open_raydb,
    "duckdb": open_duckdb,
}


# Times


def measure(number: int, ours: Any, theirs: Any, runs: int) -> Measurement:
    """Check a query's answer, then time it in both engines, in turns."""
    sql = query_text(number)
    problem = ""
    try:
        rows = ours.execute(sql).fetchall()
    except raydb.Error as error:
        problem = f"{type(error).__name__}: {error}"
    else:
        problem = difference(number, rows, theirs.execute(sql).fetchall())
    engines = {"duckdb": theirs.execute} | ({} if problem else {"raydb": ours.execute})
    times = medians(sql, engines, runs, REPEAT_SECONDS)
    return Measurement(number, times.get("raydb"), times["duckdb"], problem)


# Memory


def peak_bytes(options: argparse.Namespace) -> int:
    """Load and run the queries with one engine; return the peak memory of this process."""
    connection = OPENERS[options.engine](options)
    for number in options.queries:
        try:
            connection.execute(query_text(number)).fetchall()
        except raydb.NotSupportedError as error:
            print(f"Q{number} of {options.engine}: {error}", file=sys.stderr)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def measure_peaks(options: argparse.Namespace) -> dict[str, int]:
    """Run this script once for each engine; before this process grows, whose size they inherit."""
    peaks = {}
    for engine in OPENERS:
        arguments = ["--sf", str(options.sf), "--threads", str(options.threads)]
        arguments += ["--queries", ",".join(map(str, options.queries)), "--engine", engine]
        arguments += ["--bvhs"] if options.bvhs else []
        done = subprocess.run(
            [sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True
        )
        peaks[engine] = int(done.stdout)
    return peaks


# The report


def summarize(measurements: list[Measurement], peaks: dict[str, int]) -> dict[str, Any]:
    """Return the numbers that the targets are about, and which of them are met."""
    ratios = [m.ratio for m in measurements if m.ratio is not None]
    found = {"memory": peaks["raydb"] / peaks["duckdb"]}
    if ratios:
        found["geometric_mean"] = math.exp(statistics.fmean(map(math.log, ratios)))
        found["worst"] = max(ratios)
    failed = [m.query for m in measurements if m.problem]
    met = {name: found[name] <= TARGETS[name] and not failed for name in found}
    return {"found": found, "targets": TARGETS, "met": met, "failed": failed}


def print_table(measurements: list[Measurement], peaks: dict[str, int]) -> None:
    print(f"{'query':<8}{'raydb ms':>12}{'duckdb ms':>12}{'ratio':>9}")
    for m in measurements:
        ours = "-" if m.raydb_ms is None else f"{m.raydb_ms:.1f}"
        ratio = "-" if m.ratio is None else f"{m.ratio:.2f}"
        print(f"Q{m.query:<7}{ours:>12}{m.duckdb_ms:>12.1f}{ratio:>9}  {m.problem}".rstrip())
    sizes = [peaks[engine] / 2**20 for engine in ("raydb", "duckdb")]
    print(f"{'peak MiB':<8}{sizes[0]:>12.0f}{sizes[1]:>12.0f}{sizes[0] / sizes[1]:>9.2f}")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure TPC-H beside DuckDB.")
    parser.add_argument("--sf", type=float, default=1.0, help="the scale factor")
    parser.add_argument(
        "--queries",
        type=lambda text: [int(number) for number in text.split(",")],
        default=list(QUERY_NUMBERS),
        help="numbers with commas between them",
    )
    parser.add_argument("--runs", type=int, default=5, help="how often a query is timed")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bvhs", action="store_true", help="build the BVHs of tpch/bvhs.sql")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--engine", choices=OPENERS, help="only print this engine's peak memory")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    if options.engine:
        print(peak_bytes(options))
        return
    parquet_files(options.sf)
    peaks = measure_peaks(options)
    ours, theirs = open_raydb(options), open_duckdb(options)
    warm.wait()
    measurements = [measure(number, ours, theirs, options.runs) for number in options.queries]
    print_table(measurements, peaks)
    summary = summarize(measurements, peaks)
    for name, found in summary["found"].items():
        print(f"{name}: {found:.2f} of at most {TARGETS[name]:g}")
    if options.json:
        report = {
            "scale_factor": options.sf,
            "threads": options.threads,
            "bvhs": options.bvhs,
            "versions": {"raydb": raydb.__version__, "duckdb": duckdb.__version__},
            "queries": [{**asdict(m), "ratio": m.ratio} for m in measurements],
            "peak_bytes": peaks,
            **summary,
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
