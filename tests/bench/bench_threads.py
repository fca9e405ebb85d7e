"""Where a second thread pays off: launches of one size after the other on one thread and on two.

    python tests/bench/bench_threads.py [--rows 16777216] [--seconds 0.4]

    runs        SUM of int32 by groups that are constant in runs of 4096 rows
    short runs  the same in runs of 55 rows
    codes       SUM of int32 by an 8-bit code of 250 values
    blocks      SUM and MAX of int32 by that code: rows are listed first
    listed      the places and groups of all rows

Between two launches the process sleeps for 1 ms, as between two queries: the threads must be woken.
Answers are compared before the clock starts. "chosen" is the number of threads that a launch takes
of its own accord.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cpu import cpu_backend as cpu
from raydb.kernels.backends.cpu import warm
from raydb.kernels.bvh.bvh import Bvh, Measure
from raydb.kernels.bvh.encode import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Callable

CODE_COUNT = 250
PAUSE_SECONDS = 0.001
SMALLEST = 2**14


def make_bvh(row_count: int, run_rows: int) -> Bvh:
    """Return a BVH of cells of as many rows each, and codes beside them."""
    rng = np.random.default_rng(1)
    cell_count = -(-row_count // run_rows)
    offsets = np.minimum(np.arange(cell_count + 1) * run_rows, row_count)
    coordinates = np.arange(cell_count, dtype=np.int32)
    scan = Hierarchy((0,), (pa.array(coordinates),), coordinates, cell_count)
    group = Hierarchy((1,), (pa.array(range(CODE_COUNT)),), np.zeros(CODE_COUNT, dtype=np.int32), 1)
    codes = rng.integers(0, CODE_COUNT, row_count).astype(np.uint8)
    values = rng.integers(0, 10_000_000, row_count).astype(np.int32)
    return Bvh(
        hierarchies=(scan, group),
        cell_count=cell_count,
        cells=None,
        offsets=offsets,
        row_ids=np.arange(row_count, dtype=np.uint32),
        stored=(1,),
        codes=(codes,),
        measures=(Measure(values, None, 0, 10_000_000),),
    )


def make_job(bvh: Bvh, *functions: str, by_code: bool) -> FusedJob:
    """Return a job over all rows, grouped by the code, or by the cell's number modulo 32."""
    if by_code:
        code_map = CodeMap(1, by_cell=False, groups=np.arange(CODE_COUNT), filters=False)
    else:
        code_map = CodeMap(0, by_cell=True, groups=np.arange(bvh.cell_count) % 32, filters=False)
    accumulators = tuple(Accumulator(function, 0) for function in functions)  # type: ignore[arg-type]
    everything = np.array([[0, bvh.cell_count]])
    return FusedJob(everything, (code_map,), CODE_COUNT if by_code else 32, accumulators)


def median_us(run: Callable[[], object], seconds: float) -> float:
    """Return the median time of a launch in microseconds."""
    times: list[float] = []
    while sum(times) < seconds and len(times) < 200:
        time.sleep(PAUSE_SECONDS)
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def measure(
    bvh: Bvh, job: FusedJob, threads: int, seconds: float, *, is_listed: bool
) -> tuple[list[list[int]], float]:
    """Return what a job answers on as many threads, however few its rows, and its median time."""
    with (
        mock.patch.object(cpu, "processor_count", return_value=threads),
        mock.patch.object(cpu, "THREAD_RUN_ROWS", 1),
        mock.patch.object(cpu, "THREAD_CODE_ROWS", 1),
        mock.patch.object(cpu, "THREAD_BLOCK_ROWS", 1),
    ):
        prepared = cpu.CpuBackend().prepare(bvh, job)
        launch = prepared.locate if is_listed else prepared.launch
        return numbers(launch()), median_us(launch, seconds)


def numbers(found: Any) -> list[list[int]]:
    """Return the arrays of a launch, or of a listing, as lists."""
    arrays = found if isinstance(found, tuple) else (found.rows, *found.values)
    return [array.tolist() for array in arrays]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2**24)
    parser.add_argument("--seconds", type=float, default=0.4)
    options = parser.parse_args()
    warm.wait()
    table = Table("loop", "rows", "one thread us", "two threads us", "ratio", "chosen")
    cases: dict[str, tuple[int, tuple[str, ...], bool]] = {
        "runs": (4096, ("sum",), False),
        "short runs": (55, ("sum",), False),
        "codes": (4096, ("sum",), True),
        "blocks": (4096, ("sum", "max"), True),
        "listed": (4096, (), False),
    }
    for name, (run_rows, functions, by_code) in cases.items():
        row_count = SMALLEST
        while row_count <= options.rows:
            bvh = make_bvh(row_count, run_rows)
            job = make_job(bvh, *functions, by_code=by_code)
            (one, one_us), (two, two_us) = (
                measure(bvh, job, threads, options.seconds, is_listed=name == "listed")
                for threads in (1, 2)
            )
            assert one == two, name
            chosen = len(cpu.CpuBackend().prepare(bvh, job).parts)
            table.add_row(
                name, f"{row_count:,}", f"{one_us:,.1f}", f"{two_us:,.1f}",
                f"{one_us / two_us:.2f}", str(chosen),
            )  # fmt: skip
            row_count *= 4
    Console().print(table)


if __name__ == "__main__":
    main()
