"""SSB on a device: CUDA with BVHs beside the tile scan, cupy, Polars on the GPU and the CPU.

    python tests/bench/bench_gpu.py [--sf 1 10 20] [--json results.json]

First the doctor's checks run on the device; then every answer is checked against the CPU's, and at
the first scale factor the CPU's against DuckDB's, before the clock starts. Times are medians:
`device_ms` between two events of the device's stream around the kernels, without copies to the
device, which the first run makes, and without what the host takes to launch; `query_ms` of the
whole query.

    bvh     RayDB on CUDA cores with the benchmark's BVHs
    scan    the same kernels over whole tables, in Crystal's manner: the baseline
    rt      RayDB by rays, where OptiX runs
    cupy    the scan's job as cupy's array operations
    polars  the flat query on Polars' GPU engine (cudf), where cudf-polars is installed
    cpu     RayDB on the processor with two threads and the same BVHs; `cpu scan` without them

launch_ms is what the host waits for a job whose arguments are in place, the device's part included;
first_ms a query whose columns and kernel the device has not had. Texts are repeated.

Also: CREATE BVH on the device and on the processor, and, among the doctor's checks, vector search
over lists on both. What is missing is one line each, also in the results. Without a device the
reasons are told and nothing is measured. With NUMBA_ENABLE_CUDASIM=1 and a tiny --sf it all runs in
numba's simulator, to show that it runs; its times mean nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import math
import re
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from rich.console import Console

import raydb
from raydb.engine import doctor
from raydb.kernels.backends.cpu import warm
from raydb.kernels.backends.cuda.entry import is_simulated
from raydb.kernels.backends.registry import BACKENDS, open_backend
from raydb.kernels.backends.registry import obstacle as obstacle_of
from raydb.planner.stars import table_scan
from raydb.ssb import check, rivals, rules, run, workload
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROUNDS = 1 if is_simulated() else 9
CPU_ROUNDS = min(ROUNDS, 5)
AUTO_TRIES = 100
COPY_BYTES = 2**30
DOCTOR_ROWS = 2**12 if is_simulated() else 2**22

# The goals of the CUDA backend: times as fast as the scan at SF 20 (RayDB, section 6.2, with RT
# cores over Crystal), and the part of the copy bandwidth that the scan reaches.
TARGETS = {"bvh_to_scan_sf20": 8.5, "scan_to_copy": 0.85}

# What is read from memory at the least.
SECTOR_BYTES = 32

# The lines of the schema with the columns of lineorder that no query reads, and with its key.
UNREAD = re.compile(
    r"  (lo_(orderkey|linenumber|orderpriority|shippriority|ordtotalprice|tax|commitdate|shipmode) "
    r"|PRIMARY KEY \(lo_)|.* REFERENCES .*lo_commit"
)

QUIET = Progress(Console(file=io.StringIO()))


def main() -> int:
    parser = argparse.ArgumentParser(description="SSB on a device, beside its rivals.")
    parser.add_argument("--sf", type=float, nargs="+", default=[1.0, 10.0, 20.0])
    parser.add_argument("--no-doctor", action="store_true", help="leave the doctor's checks out")
    parser.add_argument("--json", type=Path, help="where the results are written")
    parser.add_argument("--queries", nargs="+", default=list(workload.QUERIES))
    options = parser.parse_args()
    obstacle = obstacle_of("cuda")
    if obstacle is not None:
        print(f"Nothing was measured: {obstacle}")
        write(options.json, {"device": None, "lacks": list(BACKENDS["cuda"].lacks())})
        return 2
    results: dict[str, Any] = {
        "device": BACKENDS["cuda"].describe(),
        "simulated": is_simulated(),
        "devices": count_devices(),
        "rt": obstacle_of("rt") or BACKENDS["rt"].describe(),
        "missing": list(missing()),
        "doctor": [] if options.no_doctor else run_doctor(),
        "copy_gb_s": measure_copy(),
        "targets": TARGETS,
        "scale_factors": {},
    }
    for line in results["missing"]:
        print(f"Not measured: {line}")
    if not all(each["agrees"] for each in results["doctor"]):
        print("Nothing was measured: this device gives other answers than the CPU")
        write(options.json, results)
        return 1
    if is_simulated():
        # Tables this small are not scanned by kernels otherwise.
        table_scan.MIN_ROWS = 0
    watches = {name: Watch(name) for name in ("cuda", "rt") if obstacle_of(name) is None}
    for number, scale in enumerate(options.sf):
        tables = make_tables(scale)
        found = results["scale_factors"][f"{scale:g}"] = {}
        steps = measure_scale(
            found, tables, options.queries, watches, results["copy_gb_s"], number == 0
        )
        for _ in steps:
            # What was measured is kept, whatever becomes of the rest.
            write(options.json, results)
        show(f"{scale:g}", found)
    return 0


def write(path: Path | None, results: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def missing() -> Iterator[str]:
    """Yield each contender that is not there, in one line that says how to get it."""
    yield from BACKENDS["rt"].lacks()
    if importlib.util.find_spec("cudf_polars") is None:
        yield "polars: cudf_polars is not installed (pip install cudf-polars-cu13)"


def count_devices() -> int:
    from raydb.kernels.backends.cuda.memory import devices

    return len(devices())


def run_doctor() -> list[dict[str, Any]]:
    """Return the doctor's checks of each backend that is there, with their times."""
    return [
        {"backend": report.name, "device": report.device, **asdict(each)}
        for report in doctor.examine(DOCTOR_ROWS)
        for each in report.checks
    ]


def measure_copy() -> float | None:
    """Return the device's copy bandwidth in GB/s, bytes read and written both counted."""
    if is_simulated():
        return None
    import cupy

    source = cupy.zeros(COPY_BYTES, cupy.uint8)
    target = cupy.empty_like(source)
    times = []
    for _ in range(ROUNDS + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        cupy.copyto(target, source)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return 2 * COPY_BYTES / statistics.median(times[1:]) / 1e6


class Watch:
    """Notes of each launch of a backend its job and the device's own figures."""

    def __init__(self, backend: str) -> None:
        opened: Any = open_backend(backend)
        self.job: tuple[Any, Any] | None = None
        self.figures: list[dict[str, float]] = []
        prepare = opened.prepare

        def prepare_noted(bvh: Any, job: Any) -> Any:
            prepared = prepare(bvh, job)
            launch = prepared.launch

            def noted() -> Any:
                start = time.perf_counter()
                result = launch()
                launch_ms = (time.perf_counter() - start) * 1000
                self.job = bvh, job
                self.figures.append({**prepared.figures, "launch_ms": launch_ms})
                return result

            # A job is frozen, and is not asked whether it may be watched.
            object.__setattr__(prepared, "launch", noted)
            return prepared

        opened.prepare = prepare_noted

    def medians(self) -> dict[str, float]:
        """Return the medians of the last rounds."""
        last = self.figures[-ROUNDS:]
        return {name: statistics.median(each[name] for each in last) for name in last[0]}


def make_tables(scale: float) -> dict[str, pa.Table]:
    """Return the benchmark's tables; blocks of lines are made at once."""
    warm.start()
    rows = rules.sizes(scale)
    tables = {
        name: pa.Table.from_batches(rules.table_blocks(name, scale, rules.DEFAULT_SEED))
        for name in rules.TABLES
        if name != "lineorder"
    }
    blocks = range(rules.block_count("lineorder", scale))
    with ThreadPoolExecutor() as pool:
        made = pool.map(partial(rules.lineorder_block, rows, rules.DEFAULT_SEED), blocks)
        tables["lineorder"] = pa.Table.from_batches(made)
    return tables


def load(connection: Any, tables: dict[str, pa.Table]) -> None:
    """Do as `ssb.run.load` does, from memory, of the lines without what no query reads."""
    for statement in workload.statements("schema.sql"):
        kept = (line for line in statement.splitlines() if not UNREAD.match(line))
        connection.execute("\n".join(kept))
    for name, table in tables.items():
        read = [column for column in table.column_names if not UNREAD.match(f"  {column} ")]
        connection.register("made", table.select(read))
        order = "ORDER BY lo_orderdate" if name == "lineorder" else ""
        connection.execute(f"INSERT INTO {name} SELECT * FROM made {order}")
        connection.unregister("made")


def measure_scale(
    found: dict[str, Any],
    tables: dict[str, pa.Table],
    queries: Sequence[str],
    watches: dict[str, Watch],
    copy_gb_s: float | None,
    is_first: bool,
) -> Iterator[None]:
    """Load a scale factor, and measure every query without BVHs and then with them.

    Yields after each step, whose figures are then in `found`.
    """
    start = time.perf_counter()
    connection = raydb.connect()
    load(connection, tables)
    found["load_s"] = time.perf_counter() - start
    figures: dict[str, dict[str, Any]] = {name: {} for name in queries}
    found["queries"] = figures
    texts = {name: workload.query(name, "star") for name in queries}
    warm.wait()
    expected = {name: connection.execute(text).fetchall() for name, text in texts.items()}
    if is_first:
        found["agrees_with_duckdb"] = agree_with_duckdb(tables, texts, expected)
    for name, text in texts.items():
        figures[name]["cpu scan"] = measure_cpu(connection, text)
        figures[name]["scan"] = measure_device(connection, "cuda", name, expected, watches)
        job = watches["cuda"].job
        assert job is not None
        figures[name]["scan"] |= describe_scan(*job, figures[name]["scan"]["device_ms"], copy_gb_s)
        if not is_simulated():
            figures[name]["cupy"] = {"device_ms": measure_cupy(*job)}
        yield
    found["bvh_build_s"] = build_twice(connection)
    yield
    for name, text in texts.items():
        figures[name]["cpu"] = measure_cpu(connection, text)
        for contender, backend in {"bvh": "cuda", "rt": "rt"}.items():
            if backend in watches:
                measured = measure_device(connection, backend, name, expected, watches)
                figures[name][contender] = measured
        figures[name]["auto"] = measure_auto(connection, name, expected)
        yield
    connection.close()
    polars = open_polars(tables)
    if polars is not None:
        for name in queries:
            flat = workload.query(name, "flat")
            ask = partial(lambda flat: polars.execute(flat).collect(engine="gpu"), flat)
            figures[name]["polars"] = {"query_ms": median_ms(ask)}
    ratios = [
        each["scan"]["device_ms"] / each["bvh"]["device_ms"]
        for each in figures.values()
        if each["bvh"]["device_ms"]
    ]
    found["bvh_to_scan"] = math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None
    found["slowest_to_scan"] = min(ratios, default=None)
    yield


def agree_with_duckdb(
    tables: dict[str, pa.Table], texts: dict[str, str], expected: dict[str, list[Any]]
) -> bool | None:
    """Whether DuckDB gives the CPU's answers; None where it is not installed."""
    if importlib.util.find_spec("duckdb") is None:
        return None
    duckdb = rivals.import_rival("duckdb")
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return not any(
            check.differences(name, expected[name], connection.execute(text).fetchall())
            for name, text in texts.items()
        )


def build_twice(connection: Any) -> dict[str, float]:
    """Build the benchmark's BVHs on the CPU with two threads, and then on the device to stay."""
    seconds = {}
    for backend in ("cpu", "cuda"):
        for (name,) in connection.execute("SELECT name FROM bvhs()").fetchall():
            connection.execute(f"DROP BVH {name}")
        connection.execute(f"SET backend = '{backend}'")
        connection.execute("SET threads = 2" if backend == "cpu" else "RESET threads")
        # A device that gives up must not be timed as if it had built them.
        connection.execute("SET fallback = 'error'")
        start = time.perf_counter()
        run.build_bvhs(connection, QUIET)
        seconds[backend] = time.perf_counter() - start
        connection.execute("RESET fallback")
    return seconds


def measure_cpu(connection: Any, text: str) -> dict[str, float]:
    """Return the milliseconds of a query on two threads, and on all."""
    connection.execute("SET backend = 'cpu'")
    connection.execute("SET threads = 2")
    two = median_ms(lambda: connection.execute(text).fetchall(), CPU_ROUNDS)
    connection.execute("RESET threads")
    every = median_ms(lambda: connection.execute(text).fetchall(), CPU_ROUNDS)
    return {"query_ms": two, "all_threads_ms": every}


def measure_auto(connection: Any, name: str, expected: dict[str, Any]) -> dict[str, Any]:
    """Return the milliseconds of a query where costs choose, and who answered."""
    text = workload.query(name, "star")
    connection.execute("RESET backend")
    for _ in range(AUTO_TRIES):
        rows = connection.execute(text).fetchall()
        assert check.differences(name, rows, expected[name]) == []
        analyzed = connection.execute(f"EXPLAIN ANALYZE {text}").fetchall()
        ran_on = next((line.strip() for (line,) in analyzed if "ran on: " in line), "ran on: cpu")
        if "is being compiled" not in ran_on:
            break
        time.sleep(0.1)
    query_ms = median_ms(lambda: connection.execute(text).fetchall())
    return {"query_ms": query_ms, "ran_on": ran_on}


def measure_device(
    connection: Any, backend: str, name: str, expected: dict[str, Any], watches: dict[str, Watch]
) -> dict[str, float]:
    """Check a query's answer on a device, and return its figures.

    first_ms: with the copies to the device, and the compiling of a kernel of a new shape.
    """
    from raydb.kernels.backends.cuda.memory import Clock

    text = workload.query(name, "star")
    connection.execute(f"SET backend = '{backend}'")
    # A device that gives up must not be timed as if it had answered.
    connection.execute("SET fallback = 'error'")
    start = time.perf_counter()
    rows = connection.execute(text).fetchall()
    first_ms = (time.perf_counter() - start) * 1000
    differences = check.differences(name, rows, expected[name])
    assert differences == [], (name, backend, differences)
    query_ms = median_ms(lambda: connection.execute(text).fetchall())
    launch_ms = watches[backend].medians()["launch_ms"]
    Clock.is_exact = True
    median_ms(lambda: connection.execute(text))
    Clock.is_exact = False
    connection.execute("RESET fallback")
    figures = {"first_ms": first_ms, "query_ms": query_ms}
    return {**figures, **watches[backend].medians(), "launch_ms": launch_ms}


def median_ms(ask: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Return the median milliseconds of a call; the first one is not counted."""
    ask()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        ask()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def describe_scan(bvh: Any, job: Any, device_ms: float, copy_gb_s: float | None) -> dict[str, Any]:
    """Return the bandwidth of a scan, by the bytes that it cannot but read."""
    if not device_ms:
        return {"least_gb": None, "least_gb_s": None, "scan_to_copy": None}
    least_gb = count_least_bytes(bvh, job) / 1e9
    least_gb_s = least_gb / device_ms * 1e3
    scan_to_copy = copy_gb_s and least_gb_s / copy_gb_s
    return {"least_gb": least_gb, "least_gb_s": least_gb_s, "scan_to_copy": scan_to_copy}


def count_least_bytes(bvh: Any, job: Any) -> int:
    """Count the codes that decide which rows pass, and of other columns the sectors of those."""
    from raydb.kernels.backends.cuda.work import find_work
    from raydb.kernels.backends.device_totals import plan_totals

    work = find_work(bvh, job)
    cpu = open_backend("cpu")
    places, _ = cpu.prepare(bvh, job).locate()
    functions = [(each.function, each.measure) for each in job.accumulators]
    inputs = plan_totals(functions, bvh.measures, work.row_count).inputs
    columns = [each.array(bvh.measures) for each in inputs]
    count = 0
    for row_map in work.maps:
        if row_map.lookup.test != "none" or not work.is_sparse:
            count += work.row_count * row_map.codes.itemsize
        else:
            columns.append(row_map.codes)
    sectors = (len(np.unique(places * each.itemsize // SECTOR_BYTES)) for each in columns)
    return count + SECTOR_BYTES * sum(sectors)


def measure_cupy(bvh: Any, job: Any) -> float:
    """Return the median milliseconds of a scan's job as cupy's array operations."""
    import cupy

    maps = [
        (cupy.asarray(bvh.codes[bvh.stored.index(m.hierarchy)]), cupy.asarray(m.groups))
        for m in job.maps
        if not m.by_cell
    ]
    summed = [a.measure for a in job.accumulators if a.function == "sum"]
    values = [cupy.asarray(bvh.measures[number].values) for number in summed]

    def add_up() -> None:
        groups = cupy.zeros(bvh.row_count, np.int64)
        passes = cupy.ones(bvh.row_count, np.bool_)
        for codes, parts in maps:
            part = parts[codes]
            passes &= part >= 0
            groups += part
        rows = cupy.flatnonzero(passes)
        for each in values:
            sums = cupy.zeros(job.group_count, np.int64)
            cupy.add.at(sums.view(np.uint64), groups[rows], each[rows].astype(np.uint64))

    times = []
    for _ in range(ROUNDS + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        add_up()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return statistics.median(times[1:])


def open_polars(tables: dict[str, pa.Table]) -> Any:
    """Return the flat table in Polars, or None where its GPU engine is not installed."""
    if importlib.util.find_spec("cudf_polars") is None:
        return None
    import polars as pl

    context = pl.SQLContext({name: pl.from_arrow(table).lazy() for name, table in tables.items()})
    (view,) = workload.statements("flat.sql")
    flat = context.execute(view.partition(" AS\n")[2]).collect()
    return pl.SQLContext({"lineorder_flat": flat.lazy()})


def show(scale: str, found: dict[str, Any]) -> None:
    """Print a line a query, and the mean."""
    for name, each in found["queries"].items():
        parts = (
            f"{contender} {figures.get('device_ms', figures.get('query_ms')):.3f} ms"
            for contender, figures in each.items()
        )
        print(f"SF {scale} {name}: {', '.join(parts)}")
    if found["bvh_to_scan"]:
        print(f"SF {scale}: BVHs are {found['bvh_to_scan']:.2f}x the scan (geometric mean)")


if __name__ == "__main__":
    sys.exit(main())
