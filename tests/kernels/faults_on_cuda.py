"""The CUDA backend where its device fails; run by `test_cuda_backend` in numba's simulator."""

import agreement
import numpy as np
import pytest
from random_jobs import random_case, random_job

from raydb.kernels.backends.cuda import build as cuda_build
from raydb.kernels.backends.cuda import cuda_backend
from raydb.kernels.backends.cuda import list_scan as cuda_nearest
from raydb.kernels.backends.cuda import memory as cuda_memory
from raydb.kernels.backends.cuda.cuda_backend import CudaBackend
from raydb.kernels.backends.cuda.list_scan import search_on_device
from raydb.kernels.backends.cuda.memory import devices
from raydb.kernels.backends.device import faults
from raydb.kernels.bvh.build_input import source_of, unwatched
from raydb.kernels.vector.ivf import build_ivf, search_ivf
from raydb.running import DeviceMemory, Running, current

CUDA = CudaBackend()


@pytest.fixture(autouse=True)
def columns():
    """The columns on the first device, which has all of its memory again afterwards."""
    yield devices()[0].columns
    current.set(None)
    devices()[0].columns.clear()


# What asks the device for memory, as the backend calls it.
ALLOCATORS = [
    "empty",
    "zeros",
    "full",
    "ones",
    "asarray",
    "argsort",
    "cumsum",
    "bincount",
    "flatnonzero",
]


class Failing:
    """The functions of `xp`, of which the call with a number that asks for memory fails."""

    def __init__(self, real, error, left):
        self.real, self.error, self.left = real, error, left

    def __getattr__(self, name):
        function = getattr(self.real, name)
        if name not in ALLOCATORS:
            return function

        def call(*arguments, **options):
            self.left -= 1
            if self.left < 0:
                raise self.error
            return function(*arguments, **options)

        return call


def device_error(name, module, text):
    return type(name, (Exception,), {"__module__": module})(text)


FULL = device_error("OutOfMemoryError", "cupy.cuda.memory", "out of memory allocating 512 bytes")
LOST = device_error("CUDARuntimeError", "cupy_backends.cuda.api.runtime", "cudaErrorIllegalAddress")


def works():
    """What the backend does, each checked."""
    _, hierarchies, codes, measures = random_case(1, 300)
    bvh = agreement.CPU.build(source_of(hierarchies, codes, measures, 300), unwatched())
    job, _ = random_job(np.random.default_rng(1), bvh)
    vectors = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    index = build_ivf(vectors, np.arange(20, dtype=np.uint32), 20, 4, "l2", 1)

    def in_turns(check):
        control = CUDA.prepare(bvh, job).shares[0].work.control
        current.set(Running(device_memory=DeviceMemory(control.nbytes + 3_000)))
        check(CUDA, bvh, job)

    def search():
        found, expected = (way(index, vectors[:1], 3, 1) for way in (search_on_device, search_ivf))
        assert found.rows.tolist() == expected.rows.tolist()

    return {
        "launch": lambda: agreement.check_launch(CUDA, bvh, job),
        "locate": lambda: agreement.check_locate(CUDA, bvh, job),
        "launch in turns": lambda: in_turns(agreement.check_launch),
        "locate in turns": lambda: in_turns(agreement.check_locate),
        "gathered rows": lambda: agreement.check_gathered(CUDA, 1),
        "build": lambda: agreement.check_build(CUDA, 1, 300),
        "search": search,
    }


@pytest.mark.parametrize("name", works())
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (FULL, "cuda: the device's memory is full"),
        (LOST, "cuda: the device was lost: cudaErrorIllegalAddress"),
    ],
)
def test_a_fault_wherever_memory_is_asked_for(name, error, sentence, columns, monkeypatch):
    work, real = works()[name], cuda_memory.xp
    for number in range(200):
        columns.clear()
        with monkeypatch.context() as patch:
            for module in (cuda_memory, cuda_backend, cuda_build, cuda_nearest):
                patch.setattr(module, "xp", Failing(real, error, number))
            told = agreement.told_by(work)
        if told is None:
            break
        assert told == sentence
        assert faults.lost == ({} if error is FULL else {"cuda": sentence})
        faults.lost.clear()
    assert 2 <= number < 199
    # With what was sent before a fault.
    work()
