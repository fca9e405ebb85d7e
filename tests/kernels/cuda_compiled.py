"""What only compiled CUDA kernels can show: types, widths, alignment, and all of a block's threads.

Run by `test_compiled_kernels` on the PTX machine; `pytest tests/kernels/cuda_compiled.py` runs it
on a device.
"""

from itertools import product

import agreement
import numpy as np
import pytest
from agreement import CPU, check_launch, check_locate

from raydb.kernels.backends import self_check
from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cuda import compiled, cuda_backend
from raydb.kernels.backends.cuda.compiled import BLOCK_THREADS
from raydb.kernels.backends.cuda.cuda_backend import SHARED_BYTES, CudaBackend
from raydb.kernels.backends.cuda.memory import Clock, devices, upload
from raydb.kernels.bvh.build_input import source_of, unwatched

CUDA = CudaBackend()
FUNCTIONS = ("sum", "count", "min", "max")
LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@pytest.fixture(autouse=True)
def columns():
    yield
    devices()[0].columns.clear()


def grouped(rng, row_count, group_count, functions=FUNCTIONS, intervals=((0, 1),)):
    """A job that groups the rows of one cell by a map of as many codes, some left out."""
    codes = rng.integers(0, group_count, row_count)
    groups = rng.permutation(group_count)
    groups[rng.random(group_count) < 0.1] = -1
    by_code = CodeMap(0, by_cell=False, groups=groups, filters=True)
    accumulators = tuple(Accumulator(function, 0) for function in functions)
    return codes, FusedJob(np.array(intervals), (by_code,), group_count, accumulators)


def check_groups(rng, values, valid, group_count, functions=FUNCTIONS):
    codes, job = grouped(rng, len(values), group_count, functions)
    bvh = agreement.flat_bvh(values, valid, codes, group_count)
    check_launch(CUDA, bvh, job)
    check_locate(CUDA, bvh, job)


def check_ungrouped(values, valid=None, functions=FUNCTIONS):
    accumulators = tuple(Accumulator(function, 0) for function in functions)
    job = FusedJob(np.array([[0, 1]]), (), 1, accumulators)
    check_launch(CUDA, agreement.flat_bvh(values, valid), job)


def test_the_blocks_are_a_device_s():
    assert (BLOCK_THREADS, SHARED_BYTES) == (256, 48 * 1024)
    assert not compiled.SIMULATED


@pytest.mark.parametrize(
    ("width", "is_nullable"),
    [(7, True), (7, False), (15, False), (31, True), (31, False), (63, True)],
)
def test_values_of_each_width(width, is_nullable):
    rng = np.random.default_rng(width)
    values = rng.integers(-(2**width), 2**width - 1, 333, endpoint=True)
    valid = rng.random(333) < 0.7 if is_nullable else None
    if is_nullable:
        values[~valid] = 0
    check_ungrouped(values, valid)
    check_groups(rng, values, valid, 5)


@pytest.mark.parametrize("end", [LEAST, MOST])
@pytest.mark.parametrize("where", ["register", "shared", "global"])
def test_the_ends_of_64_bits(end, where, monkeypatch):
    if where == "global":
        monkeypatch.setattr(cuda_backend, "SHARED_BYTES", 0)
    rng = np.random.default_rng(1)
    for values in (
        np.full(700, end),
        rng.choice([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST], 700),
        np.where(np.arange(700) % 2, end, 0),
    ):
        if where == "register":
            check_ungrouped(values)
        else:
            check_groups(rng, values, None, 3)
    measure = agreement.narrow_measure(np.full(9, end), None)
    job = CUDA.prepare(agreement.flat_bvh(np.arange(9)), FusedJob(np.array([[0, 1]]), (), 1, ()))
    sums = job.accumulate(("sum",), [measure], np.zeros(9, np.int64), 1)
    assert sums.values[0].tolist() == [9 * int(end)]


@pytest.mark.parametrize("where", ["register", "shared", "global"])
def test_doubles_of_every_kind(where, monkeypatch):
    if where == "global":
        monkeypatch.setattr(cuda_backend, "SHARED_BYTES", 0)
    rng = np.random.default_rng(2)
    bits = np.array([0x7FF0000000000001, 0xFFF8000000000001, 0x7FFFFFFFFFFFFFFF], np.uint64)
    kinds = [*bits.view(np.float64), np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -5e-324, 1.5e308]
    least_and_most = ("count", "min", "max")
    for some in (kinds, kinds[4:], [-np.inf, -0.0], [np.nan], [0.0, -5e-324]):
        values = rng.choice(some, 500)
        valid = rng.random(500) < 0.8
        for each in (None, valid):
            if where == "register":
                check_ungrouped(values, each, least_and_most)
            else:
                check_groups(rng, values, each, 4, least_and_most)
    finite = rng.normal(size=700) * 10.0 ** rng.integers(-9, 9, 700)
    check_ungrouped(np.abs(finite), None, ("sum",))


# What the threads of a block load at once, and what a block works on.
BLOCK_ROWS = 4 * BLOCK_THREADS
TILE_ROWS = 4 * BLOCK_ROWS


@pytest.mark.parametrize(
    "row_count",
    [*range(1, 10), *(rows + more for rows, more in product((BLOCK_ROWS, TILE_ROWS), (-1, 0, 1)))],
)
def test_rows_around_units_and_blocks(row_count):
    rng = np.random.default_rng(row_count)
    values = rng.integers(-100, 100, row_count)
    check_ungrouped(values)
    check_groups(rng, values, None, 3)


@pytest.mark.parametrize("seed", range(3))
def test_runs_that_begin_and_end_anywhere(seed):
    rng = np.random.default_rng(seed)
    row_count = 3 * TILE_ROWS + int(rng.integers(0, 9))
    hierarchies = [agreement.hierarchy(700, 1), agreement.hierarchy(1, 5)]
    codes = [rng.integers(0, h.code_count, row_count).astype(np.int32) for h in hierarchies]
    values = rng.integers(-(2**40), 2**40, row_count)
    source = source_of(hierarchies, codes, [(values, None)], row_count)
    bvh = CPU.build(source, unwatched())
    ends = np.sort(rng.choice(700, 60, replace=False)).reshape(-1, 2)
    by_code = CodeMap(1, by_cell=False, groups=np.array([0, 1, -1, 2, 0]), filters=True)
    for maps, group_count in (((), 1), ((by_code,), 3)):
        accumulators = tuple(Accumulator(function, 0) for function in FUNCTIONS)
        job = FusedJob(ends, maps, group_count, accumulators)
        check_launch(CUDA, bvh, job)
        check_locate(CUDA, bvh, job)


@pytest.mark.parametrize(
    ("functions", "words"), [(("sum",), 1), (("min", "max"), 2), (FUNCTIONS, 3)]
)
def test_groups_as_many_as_shared_memory_holds_and_one_more(functions, words):
    rng = np.random.default_rng(words)
    most = SHARED_BYTES // (8 * words + 4)
    for group_count in (most - 1, most, most + 1):
        values = rng.integers(-(2**20), 2**20, 900)
        check_groups(rng, values, None, group_count, functions)


def test_a_column_is_read_to_a_multiple_of_four_and_no_further():
    for count in range(1, 9):
        assert upload(np.zeros(count, np.int64)).size == count
        check_ungrouped(np.arange(count))


def test_the_doctor_s_checks():
    found = self_check.check_backend("cuda", 3_000)
    assert [each.job for each in found if not each.agrees] == []
    assert len(found) == 6


def test_an_exact_clock(monkeypatch):
    monkeypatch.setattr(Clock, "is_exact", True)
    check_ungrouped(np.arange(9))
