"""Queries with BVHs beside the same without, and both beside DuckDB, in processor time.

    python tests/bench/bench_bvhs.py forms|ssb|tpch|tpcds [--sf 1] [--rows 5000000] [--advised 6]
        [--kit ~/tpcds-kit] [--queries Q1,Q5] [--runs 7] [--repeated] [--threads 2]
        [--json results.json]

A BVH must not make a query slower: two databases in one process have the same tables, one of them
BVHs, and take turns with DuckDB. Every answer of both is compared with DuckDB's before the clock
starts. A time is the median processor time of several runs, each with a text of its own, so that it
has the plan in it, or with `--repeated` of the same text; a query whose BVHs seem to cost it more
than a tenth is timed again with more runs. The BVHs are those that the workload has (forms, SSB,
TPC-H), or with `--advised` as many as advise_bvh() names for all of its queries.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bench_forms
import duckdb
import numba
import pyarrow as pa
import tpcds_data
import tpch_data
from rich.console import Console

import raydb
from raydb.kernels.backends.cpu import warm
from raydb.ssb import generate, workload
from raydb.ssb import run as ssb
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# So much more of a query with BVHs than without is told, and looked at again.
ALLOWED = 1.1
SECOND_LOOK = 3

# A query is repeated no longer than this.
REPEAT_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A workload: its queries, the BVHs that it has, and what loads its tables."""

    queries: Mapping[str, str]
    bvhs: tuple[str, ...]
    load_raydb: Callable[[Any], None]
    load_duckdb: Callable[[duckdb.DuckDBPyConnection], None]
    difference: Callable[[str, list[Any], list[Any]], str]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A query's median processor times in ms, or what is wrong with an answer."""

    query: str
    duckdb_ms: float = 0.0
    none_ms: float = 0.0
    bvhs_ms: float = 0.0
    job: str = ""
    problem: str = ""

    @property
    def beside_none(self) -> float:
        return self.bvhs_ms / self.none_ms


# Workloads


def forms(options: argparse.Namespace) -> Asked:
    tables = bench_forms.star(options.rows)
    queries = {f"{group}: {sql}": sql for group, sql in bench_forms.forms(None)}
    return Asked(
        queries,
        bench_forms.BVHS,
        lambda connection: bench_forms.load_raydb(connection, tables),
        lambda connection: bench_forms.load_duckdb(connection, tables),
        lambda _, ours, theirs: bench_forms.difference(ours, theirs),
    )


def tpch(options: argparse.Namespace) -> Asked:
    return Asked(
        {f"Q{number}": tpch_data.query_text(number) for number in tpch_data.QUERY_NUMBERS},
        ((tpch_data.FOLDER / "bvhs.sql").read_text(encoding="utf-8"),),
        lambda connection: tpch_data.load_raydb(connection, options.sf),
        lambda connection: tpch_data.load_duckdb(connection, options.sf),
        lambda name, ours, theirs: tpch_data.difference(int(name[1:]), ours, theirs),
    )


def tpcds(options: argparse.Namespace) -> Asked:
    scale_factor = int(options.sf)

    def load_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
        # The queries are written for SQL's division, in which 4 / 6 is 0.
        connection.execute("SET integer_division = true")
        tpcds_data.load_duckdb(connection, options.kit, scale_factor)

    return Asked(
        tpcds_data.query_texts(options.kit),
        (),
        lambda connection: tpcds_data.load_raydb(connection, options.kit, scale_factor),
        load_duckdb,
        lambda _, ours, theirs: tpcds_data.difference(ours, theirs),
    )


def star_schema(options: argparse.Namespace) -> Asked:
    """Return the Star Schema Benchmark's 13 queries and the 20 others."""
    progress = Progress(Console(stderr=True))
    data = generate.DataSet(options.sf)
    folder = Path("/tmp") / data.folder_name if options.folder is None else options.folder
    generate.prepare(folder, data, progress, replace_unmarked=True)

    def load_duckdb(connection: duckdb.DuckDBPyConnection) -> None:
        for file in folder.glob("*.parquet"):
            connection.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM read_parquet('{file}')")

    names = (*workload.QUERIES, *workload.OTHERS)
    return Asked(
        {name: workload.find(name).star for name in names},
        tuple(workload.statements("bvhs.sql")),
        lambda connection: ssb.load(connection, folder, progress),
        load_duckdb,
        lambda _, ours, theirs: tpcds_data.difference(ours, theirs),
    )


WORKLOADS = {"forms": forms, "ssb": star_schema, "tpch": tpch, "tpcds": tpcds}


def advised(connection: Any, queries: Mapping[str, str], most: int) -> tuple[str, ...]:
    """Return the statements of the BVHs that the advisor names for all queries."""
    start = time.process_time()
    text = ";\n".join(sql.rstrip().rstrip(";") for sql in queries.values())
    rows = connection.execute(
        "SELECT statement FROM advise_bvh(?, NULL, ?) WHERE statement IS NOT NULL", [text, most]
    ).fetchall()
    print(f"advice for {len(queries)} queries: {time.process_time() - start:.1f} s")
    return tuple(statement for (statement,) in rows)


# Times


def processor_ms(execute: Callable[[str], Any], sql: str) -> float:
    start = time.process_time()
    execute(sql).fetchall()
    return 1e3 * (time.process_time() - start)


def medians(
    sql: str, engines: Mapping[str, Callable[[str], Any]], runs: int, *, repeated: bool = False
) -> dict[str, float]:
    """Return the median processor time of a query in each engine, in ms; they take turns.

    repeated: whether the text is the same each time, one that has run before.
    """
    times: dict[str, list[float]] = {name: [] for name in engines}
    start = time.perf_counter()
    for run in range(runs):
        for name, execute in engines.items():
            text = sql if repeated else f"{sql}\n-- run {run} of {runs}"
            times[name].append(processor_ms(execute, text))
        if time.perf_counter() - start > REPEAT_SECONDS:
            break
    return {name: statistics.median(found) for name, found in times.items()}


def measure(
    name: str, asked: Asked, engines: Mapping[str, Any], runs: int, *, repeated: bool
) -> Measurement:
    """Check a query's answers, then time it in all engines."""
    sql = asked.queries[name].rstrip().rstrip(";")
    for text in dict.fromkeys((sql, tpcds_data.without_limit(sql))):
        theirs = engines["duckdb"].execute(text).fetchall()
        problems = []
        for engine in ("none", "bvhs"):
            try:
                rows = engines[engine].execute(text).fetchall()
            except raydb.Error as error:
                return Measurement(name, problem=f"{engine}: {type(error).__name__}: {error}")
            problem = asked.difference(name, rows, theirs)
            problems += [f"{engine}: {problem}"] if problem else []
        if not problems:
            break
    if problems:
        return Measurement(name, problem="; ".join(problems))
    executes = {engine: connection.execute for engine, connection in engines.items()}
    if repeated:
        medians(sql, executes, 2, repeated=True)
    times = medians(sql, executes, runs, repeated=repeated)
    if times["bvhs"] > ALLOWED * times["none"]:
        # By now both plans' codes are made, and one slow run weighs less.
        ours = {engine: executes[engine] for engine in ("none", "bvhs")}
        times |= medians(sql, ours, SECOND_LOOK * runs, repeated=repeated)
    plan = "\n".join(str(row[0]) for row in executes["bvhs"](f"EXPLAIN {sql}").fetchall())
    jobs = [job for job in ("FusedScanAggregate", "FusedTableScan", "DeferredScan") if job in plan]
    return Measurement(name, times["duckdb"], times["none"], times["bvhs"], "+".join(jobs))


# The report


def report(measured: list[Measurement]) -> None:
    print(f"{'DuckDB ms':>9} {'none ms':>9} {'BVHs ms':>9} {'none':>6} {'BVHs':>6} BVHs/none")
    for each in measured:
        if each.problem:
            print(f"{each.query[:90]}: {each.problem[:200]}")
            continue
        ratios = each.none_ms / each.duckdb_ms, each.bvhs_ms / each.duckdb_ms
        print(
            f"{each.duckdb_ms:9.1f} {each.none_ms:9.1f} {each.bvhs_ms:9.1f} {ratios[0]:6.2f}"
            f" {ratios[1]:6.2f} {each.beside_none:6.2f}{'!' if each.beside_none > ALLOWED else ' '}"
            f" {each.job:20} {each.query[:90]}"
        )
    right = [each for each in measured if not each.problem]
    for title, ratios in (
        ("none / DuckDB", [each.none_ms / each.duckdb_ms for each in right]),
        ("BVHs / DuckDB", [each.bvhs_ms / each.duckdb_ms for each in right]),
        ("BVHs / none", [each.beside_none for each in right]),
    ):
        print(
            f"{title}: geometric mean {statistics.geometric_mean(ratios):.3f}, worst"
            f" {max(ratios):.2f}, above 1: {sum(ratio > 1 for ratio in ratios)}, above {ALLOWED}:"
            f" {sum(ratio > ALLOWED for ratio in ratios)}, above 4: {sum(r > 4 for r in ratios)}"
        )
    print(
        f"{len(right)} right of {len(measured)}; with a fused job {sum(bool(e.job) for e in right)}"
    )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--sf", type=float, default=1.0, help="the scale factor")
    parser.add_argument("--rows", type=int, default=5_000_000, help="sales of the forms")
    parser.add_argument("--kit", type=Path, help="the folder of tpcds-kit, built")
    parser.add_argument("--folder", type=Path, help="for the files of SSB")
    parser.add_argument("--advised", type=int, help="so many BVHs that the advisor names at most")
    parser.add_argument("--queries", help="names with commas between them")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--repeated", action="store_true", help="time the same text again")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    return parser.parse_args()


def main() -> None:
    options = parse_options()
    asked = WORKLOADS[options.workload](options)
    pa.set_cpu_count(options.threads)
    numba.set_num_threads(min(options.threads, numba.config.NUMBA_NUM_THREADS))
    engines: dict[str, Any] = {
        "duckdb": duckdb.connect(config={"threads": options.threads}),
        "none": raydb.connect(),
        "bvhs": raydb.connect(),
    }
    asked.load_duckdb(engines["duckdb"])
    asked.load_raydb(engines["none"])
    asked.load_raydb(engines["bvhs"])
    bvhs = asked.bvhs
    if options.advised is not None:
        bvhs = advised(engines["bvhs"], asked.queries, options.advised)
    for statement in bvhs:
        print(statement)
        engines["bvhs"].execute(statement)
    warm.wait()
    names = options.queries.split(",") if options.queries else list(asked.queries)
    measured = []
    for name in names:
        measured.append(measure(name, asked, engines, options.runs, repeated=options.repeated))
        print(measured[-1], file=sys.stderr, flush=True)
    report(measured)
    if options.json:
        found = {"bvhs": bvhs, "queries": [asdict(each) for each in measured]}
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
