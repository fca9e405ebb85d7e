"""Checks a backend against the CPU's answers on seeded data, and times both."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cpu import warm
from raydb.kernels.backends.registry import BACKENDS, open_backend, open_search
from raydb.kernels.bvh.arrays import to_arrays
from raydb.kernels.bvh.build_input import source_of, unwatched
from raydb.kernels.bvh.encode import Hierarchy
from raydb.kernels.vector.ivf import build_ivf, search_ivf
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.kernels.backends.backend import Backend, FusedResult
    from raydb.kernels.bvh.build_input import Source
    from raydb.kernels.bvh.bvh import Bvh

T = TypeVar("T")

SEED = 20_260_101
ROUNDS = 5

# How many values the years and the products of the seeded rows have.
YEARS = 7
PRODUCTS = 1_000

# A vector for so many rows, and how they are searched.
VECTOR_ROWS = 16
VECTOR_WIDTH = 32
LIST_ROWS = 256
QUERIES = 64
PROBES = 8
MAX_NEAREST = 10


@dataclass(frozen=True, slots=True)
class Checked:
    """One job on one backend: whether it gave the CPU's answer, and the median times in ms."""

    job: str
    agrees: bool
    time_ms_median: float
    cpu_ms_median: float


def check_backend(name: str, row_count: int) -> list[Checked]:
    """Build a BVH and run each kind of job, on a backend and on the CPU.

    Raises DeviceError where the backend cannot do one of them.
    """
    warm.wait()  # so that the times are those of the compiled loops
    cpu, backend = open_backend("cpu"), open_backend(name)
    source = _seeded_rows(row_count)
    bvh = cpu.build(source, unwatched())
    checks = [_check_build(backend, cpu, source)]
    checks += [_check(kind, job, backend, cpu, bvh) for kind, job in _jobs(bvh).items()]
    checks.append(_check_located(backend, cpu, bvh))
    is_device = name != "cpu" and BACKENDS[name].open_search is not None
    return [*checks, _check_search(name, row_count)] if is_device else checks


def _seeded_rows(row_count: int) -> Source:
    """Return rows of a year (in Z), a product (stored), a price and a discount with NULLs."""
    rng = np.random.default_rng(SEED)
    hierarchies = [_hierarchy(YEARS, YEARS), _hierarchy(PRODUCTS, 1)]
    codes = [rng.integers(0, h.code_count, row_count).astype(np.int32) for h in hierarchies]
    valid = rng.random(row_count) < 0.9
    price = rng.integers(-1_000_000, 1_000_000, row_count)
    discount = np.where(valid, rng.random(row_count), 0.0)
    return source_of(hierarchies, codes, [(price, None), (discount, valid)], row_count)


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


def _check_build(backend: Backend, cpu: Backend, source: Source) -> Checked:
    """Compare every array of a BVH, byte by byte."""
    built, time_ms = _timed(lambda: to_arrays(backend.build(source, unwatched())))
    expected, cpu_ms = _timed(lambda: to_arrays(cpu.build(source, unwatched())))
    (arrays, properties), (expected_arrays, expected_properties) = built, expected
    agrees = properties == expected_properties and arrays.keys() == expected_arrays.keys()
    agrees = agrees and all(
        array.dtype == expected_arrays[name].dtype
        and array.tobytes() == expected_arrays[name].tobytes()
        for name, array in arrays.items()
    )
    return Checked("build", agrees, time_ms, cpu_ms)


def _check(job_name: str, job: FusedJob, backend: Backend, cpu: Backend, bvh: Bvh) -> Checked:
    mine, theirs = backend.prepare(bvh, job), cpu.prepare(bvh, job)
    result, time_ms = _timed(mine.launch)
    expected, cpu_ms = _timed(theirs.launch)
    return Checked(job_name, _agree(result, expected, bvh, job), time_ms, cpu_ms)


def _check_located(backend: Backend, cpu: Backend, bvh: Bvh) -> Checked:
    """List the rows that pass, some of which were deleted."""
    job = _jobs(bvh)[f"{PRODUCTS} groups"]
    left = replace(bvh, dead=np.arange(0, bvh.row_count, 5))
    mine, theirs = backend.prepare(left, job), cpu.prepare(left, job)
    (places, groups), time_ms = _timed(mine.locate)
    (expected, expected_groups), cpu_ms = _timed(theirs.locate)
    agrees = np.array_equal(places, expected) and np.array_equal(groups, expected_groups)
    return Checked("located rows", agrees, time_ms, cpu_ms)


def _check_search(name: str, row_count: int) -> Checked:
    """Search the lists of an index of vectors; answers are the same to the last bit."""
    rng = np.random.default_rng(SEED)
    count = max(row_count // VECTOR_ROWS, MAX_NEAREST)
    vectors = rng.standard_normal((count, VECTOR_WIDTH), np.float32)
    lists = max(count // LIST_ROWS, 1)
    index = build_ivf(vectors, np.arange(count, dtype=np.uint32), count, lists, "l2", SEED)
    # In the simulator a query takes a tenth of a second.
    asked = index, vectors[: min(row_count // 1000, QUERIES)], MAX_NEAREST, PROBES
    search = open_search(name)
    found, time_ms = _timed(lambda: search(*asked))
    expected, cpu_ms = _timed(lambda: search_ivf(*asked))
    agrees = (
        np.array_equal(found.rows, expected.rows)
        and found.distances.tobytes() == expected.distances.tobytes()
        and np.array_equal(found.probes, expected.probes)
    )
    return Checked("nearest vectors", agrees, time_ms, cpu_ms)


def _timed(run: Callable[[], T]) -> tuple[T, float]:
    """Return what a call gives, and the median time of others; the first one is not counted."""
    result = run()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        run()
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
