"""Checks a backend against the CPU's answers on seeded data, and times both."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.kernels.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.choice import open_backend
from raydb.kernels.cpu import warm
from raydb.kernels.encode import Hierarchy

if TYPE_CHECKING:
    from raydb.kernels.backend import Backend, FusedResult
    from raydb.kernels.bvh import Bvh

SEED = 20_260_101
ROUNDS = 5

# How many values the years and the products of the seeded rows have.
YEARS = 7
PRODUCTS = 1_000


@dataclass(frozen=True, slots=True)
class Checked:
    """One job on one backend: whether it gave the CPU's answer, and the median times in ms."""

    job: str
    agrees: bool
    time_ms_median: float
    cpu_ms_median: float


def check_backend(name: str, row_count: int) -> list[Checked]:
    """Run each kind of job on a backend and on the CPU.

    Raises DeviceError where the backend cannot run one.
    """
    warm.wait()  # so that the times are those of the compiled loops
    cpu, backend = open_backend("cpu"), open_backend(name)
    bvh = _seeded_bvh(cpu, row_count)
    return [_check(kind, job, backend, cpu, bvh) for kind, job in _jobs(bvh).items()]


def _seeded_bvh(cpu: Backend, row_count: int) -> Bvh:
    """Return rows of a year (in Z), a product (stored), a price and a discount with NULLs."""
    rng = np.random.default_rng(SEED)
    hierarchies = [_hierarchy(YEARS, YEARS), _hierarchy(PRODUCTS, 1)]
    codes = [rng.integers(0, h.code_count, row_count).astype(np.int32) for h in hierarchies]
    valid = rng.random(row_count) < 0.9
    price = rng.integers(-1_000_000, 1_000_000, row_count)
    discount = np.where(valid, rng.random(row_count), 0.0)
    return cpu.build(hierarchies, codes, [(price, None), (discount, valid)], row_count)


def _hierarchy(code_count: int, scan_count: int) -> Hierarchy:
    coordinates = np.arange(code_count, dtype=np.int32) % scan_count
    return Hierarchy((0,), (pa.array(range(code_count)),), coordinates, scan_count)


def _jobs(bvh: Bvh) -> dict[str, FusedJob]:
    """Return a job that stays in registers, one in shared memory and one in global memory."""
    years = np.array([[1, 5]])
    everything = tuple(Accumulator(f, m) for m in (0, 1) for f in ("sum", "count", "min", "max"))
    total = (Accumulator("sum", 0),)
    products = np.arange(PRODUCTS)
    by_product = CodeMap(1, by_cell=False, groups=products, filters=False)
    every_third = CodeMap(
        1, by_cell=False, groups=np.where(products % 3, -1, products), filters=True
    )
    by_year = CodeMap(0, by_cell=True, groups=np.arange(YEARS) * PRODUCTS, filters=False)
    assert bvh.stored == (1,)
    return {
        "no groups": FusedJob(years, (), 1, total),
        f"{PRODUCTS} groups": FusedJob(years, (every_third,), PRODUCTS, total),
        f"{YEARS * PRODUCTS} groups": FusedJob(
            years, (by_year, by_product), YEARS * PRODUCTS, everything
        ),
    }


def _check(job_name: str, job: FusedJob, backend: Backend, cpu: Backend, bvh: Bvh) -> Checked:
    result, time_ms = _run(backend, bvh, job)
    expected, cpu_ms = _run(cpu, bvh, job)
    return Checked(job_name, _agree(result, expected, bvh, job), time_ms, cpu_ms)


def _run(backend: Backend, bvh: Bvh, job: FusedJob) -> tuple[FusedResult, float]:
    """Return the result of a job and the median time of a launch; the first one is not counted."""
    prepared = backend.prepare(bvh, job)
    result = backend.launch(bvh, job, prepared)
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        backend.launch(bvh, job, prepared)
        times.append((time.perf_counter() - start) * 1000)
    return result, statistics.median(times)


def _agree(result: FusedResult, expected: FusedResult, bvh: Bvh, job: FusedJob) -> bool:
    """Whether two results are the same; sums of floats to 1e-9 of their size, as documented."""
    if not np.array_equal(result.rows, expected.rows):
        return False
    counts = {
        a.measure: values
        for a, values in zip(job.accumulators, expected.values, strict=True)
        if a.function == "count"
    }
    for accumulator, mine, theirs in zip(
        job.accumulators, result.values, expected.values, strict=True
    ):
        known = counts.get(accumulator.measure, expected.rows) > 0
        if accumulator.function == "sum" and bvh.measures[accumulator.measure].is_float:
            same = np.allclose(mine[known], theirs[known], rtol=1e-9, atol=0)
        else:
            same = np.array_equal(mine[known], theirs[known])
        if not same:
            return False
    return True
