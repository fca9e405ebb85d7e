"""The CUDA kernels against the CPU backend; run by `test_cuda_backend` in numba's simulator.

On a machine with a device, `pytest tests/kernels/cuda_in_simulator.py` runs them there.
"""

import agreement
import numpy as np
import pytest
from random_jobs import random_case, random_job

from raydb.kernels.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.cuda import backend as cuda_backend
from raydb.kernels.cuda.backend import CudaBackend
from raydb.kernels.cuda.memory import columns
from raydb.kernels.device import DeviceError

CUDA = CudaBackend()


@pytest.fixture(autouse=True)
def whole_device():
    yield
    columns.limit_bytes = None
    columns.clear()


@pytest.mark.parametrize("seed", range(6))
def test_random_jobs(seed):
    agreement.check_random(CUDA, seed, 500)


@pytest.mark.parametrize("seed", range(3))
def test_global_accumulators(seed, monkeypatch):
    monkeypatch.setattr(cuda_backend, "SHARED_BYTES", 0)
    agreement.check_random(CUDA, seed, 300, 2)


@pytest.mark.parametrize("seed", range(6))
def test_build(seed):
    agreement.check_build(CUDA, seed, 2_000)


def test_edges():
    agreement.check_edges(CUDA)


def test_signed_codes():
    agreement.check_signed_codes(CUDA)


def test_gathered_rows():
    agreement.check_gathered(CUDA, 5)


def test_several_blocks_share_groups(monkeypatch):
    monkeypatch.setattr(cuda_backend, "MOST_BLOCKS", 1_000)
    monkeypatch.setattr(cuda_backend, "THREAD_UNITS", 1)
    agreement.check_random(CUDA, 11, 700, 2)


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_do_not_fit_are_sent_in_turns(seed):
    rng, hierarchies, codes, measures = random_case(seed, 400)
    bvh = agreement.CPU.build(hierarchies, codes, measures, 400)
    for _ in range(2):
        job, _ = random_job(rng, bvh)
        work = CUDA.prepare(bvh, job)
        maps = sum(parts.nbytes for _, parts in work.maps)
        # Room for the runs, the maps and about a hundred rows.
        columns.limit_bytes = sum(array.nbytes for array in work.runs) + maps + 3_000
        agreement.check_launch(CUDA, bvh, job)
    columns.limit_bytes = 100
    with pytest.raises(DeviceError, match="do not fit the device's memory"):
        CUDA.launch(bvh, job, CUDA.prepare(bvh, job))


def test_the_least_recently_used_columns_leave_first():
    first, second, third = (np.zeros(100, np.int64) for _ in range(3))
    columns.limit_bytes = 1_700
    columns.get(first)
    columns.get(second)
    kept = columns.get(first)
    columns.get(third)
    assert columns.size_bytes == 1_600
    assert columns.get(first)[0] is kept[0]
    del third
    assert columns.size_bytes == 800


def test_a_long_run_and_many_short_ones():
    codes = np.arange(1_000) % 7
    bvh = agreement.flat_bvh(np.arange(1_000), None, codes, 7)
    by_code = CodeMap(0, by_cell=False, groups=np.arange(7), filters=False)
    job = FusedJob(np.array([[0, 1]]), (by_code,), 7, (Accumulator("sum", 0),))
    agreement.check_launch(CUDA, bvh, job)
