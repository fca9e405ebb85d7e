"""SSB on a device: CUDA with BVHs beside the tile scan, cupy, Polars on the GPU and the CPU.

    python tests/bench/bench_gpu.py [--sf 1 10 20] [--data FOLDER] [--json results.json]

First the agreement suite and the doctor's checks run on the device; then every answer is checked
against the CPU's before the clock starts. Times are medians: `device_ms` between two events of the
device's stream around the kernels, without copies to the device, which the first run makes, and
without what the host takes to launch; `query_ms` of the whole query.

    bvh     RayDB on CUDA cores with the benchmark's BVHs
    scan    the same kernels over whole tables, in Crystal's manner: the baseline
    rt      RayDB by rays, where OptiX runs
    cupy    the scan's job as cupy's array operations
    polars  the flat query on Polars' GPU engine (cudf), where cudf-polars is installed
    cpu     RayDB on the processor with the same BVHs

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
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console

import raydb
from raydb.engine import doctor
from raydb.kernels.backends.cuda.entry import is_simulated
from raydb.kernels.backends.registry import BACKENDS, open_backend
from raydb.kernels.backends.registry import obstacle as obstacle_of
from raydb.planner.stars import table_scan
from raydb.ssb import check, rules, run, workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROUNDS = 1 if is_simulated() else 9
COPY_BYTES = 2**30
DOCTOR_ROWS = 2**12 if is_simulated() else 2**22

# The goals of the CUDA backend: times as fast as the scan at SF 20 (RayDB, section 6.2, with RT
# cores over Crystal), and the part of the copy bandwidth that the scan reaches.
TARGETS = {"bvh_to_scan_sf20": 8.5, "scan_to_copy": 0.85}

# What is read from memory at the least.
SECTOR_BYTES = 32

KERNELS = Path(__file__).parent.parent / "kernels"
AGREEMENT = ("cuda_in_simulator.py", "nearest_on_cuda.py", "cuda_compiled.py")

QUIET = Progress(Console(file=io.StringIO()))


def main() -> int:
    parser = argparse.ArgumentParser(description="SSB on a device, beside its rivals.")
    parser.add_argument("--sf", type=float, nargs="+", default=[1.0, 10.0, 20.0])
    parser.add_argument("--data", type=Path, help="where the data are kept, made once")
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
        "agreement": is_simulated() or run_agreement(),
        "doctor": run_doctor(),
        "copy_gb_s": measure_copy(),
        "targets": TARGETS,
        "scale_factors": {},
    }
    for line in results["missing"]:
        print(f"Not measured: {line}")
    if not (results["agreement"] and all(each["agrees"] for each in results["doctor"])):
        print("Nothing was measured: this device gives other answers than the CPU")
        write(options.json, results)
        return 1
    if is_simulated():
        # Tables this small are not scanned by kernels otherwise.
        table_scan.MIN_ROWS = 0
    watches = {name: Watch(name) for name in ("cuda", "rt") if obstacle_of(name) is None}
    with tempfile.TemporaryDirectory() as temporary:
        for scale in options.sf:
            folder = (options.data or Path(temporary)) / f"sf{scale:g}"
            prepare(folder, DataSet(scale), QUIET)
            found = measure_scale(folder, options.queries, watches, results["copy_gb_s"])
            results["scale_factors"][f"{scale:g}"] = found
            show(f"{scale:g}", found)
    write(options.json, results)
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


def run_agreement() -> bool:
    """Run on the device what the simulator and the PTX machine run in the test suite."""
    files = [str(KERNELS / name) for name in AGREEMENT]
    arguments = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *files]
    return subprocess.run(arguments, check=False).returncode == 0


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
                result = launch()
                self.job = bvh, job
                self.figures.append(dict(prepared.figures))
                return result

            # A job is frozen, and is not asked whether it may be watched.
            object.__setattr__(prepared, "launch", noted)
            return prepared

        opened.prepare = prepare_noted

    def medians(self) -> dict[str, float]:
        """Return the medians of the last rounds."""
        last = self.figures[-ROUNDS:]
        return {name: statistics.median(each[name] for each in last) for name in last[0]}


def measure_scale(
    folder: Path, queries: Sequence[str], watches: dict[str, Watch], copy_gb_s: float | None
) -> dict[str, Any]:
    """Load a scale factor twice, with BVHs and without, and measure every query."""
    indexed, plain = raydb.connect(), raydb.connect()
    for connection in (indexed, plain):
        run.load(connection, folder, QUIET)
    found: dict[str, Any] = {"bvh_build_s": build_twice(indexed), "queries": {}}
    polars = open_polars(folder)
    for name in queries:
        each = measure_query(name, indexed, plain, watches, copy_gb_s)
        if polars is not None:
            flat = workload.query(name, "flat")
            each["polars"] = {
                "query_ms": median_ms(lambda flat=flat: polars.execute(flat).collect(engine="gpu"))
            }
        found["queries"][name] = each
    ratios = [
        each["scan"]["device_ms"] / each["bvh"]["device_ms"]
        for each in found["queries"].values()
        if each["bvh"]["device_ms"]
    ]
    found["bvh_to_scan"] = math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None
    found["slowest_to_scan"] = min(ratios, default=None)
    indexed.close()
    plain.close()
    return found


def build_twice(connection: Any) -> dict[str, float]:
    """Build the benchmark's BVHs on the CPU and then on the device, where they stay."""
    seconds = {}
    for backend in ("cpu", "cuda"):
        for (name,) in connection.execute("SELECT name FROM bvhs()").fetchall():
            connection.execute(f"DROP BVH {name}")
        connection.execute(f"SET backend = '{backend}'")
        # A device that gives up must not be timed as if it had built them.
        connection.execute("SET fallback = 'error'")
        start = time.perf_counter()
        run.build_bvhs(connection, QUIET)
        seconds[backend] = time.perf_counter() - start
        connection.execute("SET fallback = 'next'")
    return seconds


def measure_query(
    name: str, indexed: Any, plain: Any, watches: dict[str, Watch], copy_gb_s: float | None
) -> dict[str, Any]:
    """Return the figures of one query by contender."""
    text = workload.query(name, "star")
    indexed.execute("SET backend = 'cpu'")
    expected = indexed.execute(text).fetchall()
    figures: dict[str, Any] = {"cpu": {"query_ms": median_ms(lambda: indexed.execute(text))}}
    from raydb.kernels.backends.cuda.memory import Clock

    contenders = {"bvh": (indexed, "cuda"), "scan": (plain, "cuda"), "rt": (indexed, "rt")}
    for contender, (connection, backend) in contenders.items():
        if backend in watches:
            connection.execute(f"SET backend = '{backend}'")
            # A device that gives up must not be timed as if it had answered.
            connection.execute("SET fallback = 'error'")
            differences = check.differences(name, connection.execute(text).fetchall(), expected)
            assert differences == [], (name, contender, differences)
            query_ms = median_ms(lambda connection=connection: connection.execute(text))
            Clock.is_exact = True
            median_ms(lambda connection=connection: connection.execute(text))
            Clock.is_exact = False
            connection.execute("SET fallback = 'next'")
            figures[contender] = {"query_ms": query_ms, **watches[backend].medians()}
        if contender == "scan":
            job = watches["cuda"].job
            assert job is not None
            figures["scan"] |= describe_scan(*job, figures["scan"]["device_ms"], copy_gb_s)
            if not is_simulated():
                figures["cupy"] = {"device_ms": measure_cupy(*job)}
    return figures


def median_ms(ask: Callable[[], Any]) -> float:
    """Return the median milliseconds of a call; the first one is not counted."""
    ask()
    times = []
    for _ in range(ROUNDS):
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


def open_polars(folder: Path) -> Any:
    """Return the flat table in Polars, or None where its GPU engine is not installed."""
    if importlib.util.find_spec("cudf_polars") is None:
        return None
    import polars as pl

    context = pl.SQLContext()
    for name in rules.TABLES:
        context.register(name, pl.read_parquet(folder / f"{name}.parquet").lazy())
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
