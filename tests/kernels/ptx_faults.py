"""Kernels with a mistake in them: on the PTX machine each is found.

Run by `test_compiled_kernels`; a device would run most of these without a word.
"""

import agreement
import numpy as np
import pytest
from ptx_memory import Fault

from raydb.kernels.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.cuda import backend, compiled
from raydb.kernels.cuda.backend import CudaBackend
from raydb.kernels.cuda.source import kernel_source

JOB = FusedJob(
    np.array([[0, 1]]),
    (CodeMap(0, by_cell=False, groups=np.arange(3), filters=False),),
    3,
    (Accumulator("sum", 0), Accumulator("min", 0)),
)


@pytest.fixture
def launch(monkeypatch):
    """Launch a job whose kernel has a line changed."""
    compiled.kernel.cache_clear()
    bvh = agreement.flat_bvh(np.arange(4_999), None, np.arange(4_999) % 3, 3)

    def changed(old, new):
        def text(shape):
            right = kernel_source(shape)
            assert old in right
            return right.replace(old, new)

        monkeypatch.setattr(compiled, "kernel_source", text)
        cuda = CudaBackend()
        agreement.check_launch(cuda, bvh, JOB)

    yield changed
    compiled.kernel.cache_clear()


def test_none(launch):
    launch("cuda.syncthreads()", "cuda.syncthreads()")


HALF = "if cuda.threadIdx.x < 128"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("cuda.syncthreads()", "pass", "a race: another thread's write"),
        ("    unit = first", f"    {HALF}:\n        cuda.syncthreads()\n    unit = first", "not all"),
        ("bounds[run]) << 2", "bounds[run]) * 4 + 2", "are not aligned"),
        ("bounds[run + 1] <= unit", "bounds[run + 1] <= unit + 2**40", "outside of an"),
        ("+ part if part", "+ part + 12_000 if part", "of shared memory"),
    ],
)
def test_a_fault(launch, old, new, told):
    with pytest.raises(Fault, match=told):
        launch(old, new)


def test_too_little_shared_memory(launch, monkeypatch):
    monkeypatch.setattr(backend, "_signed", lambda work: (False,))
    real = backend.kernel

    class Less:
        def __init__(self, shape):
            self.kernel = real(shape)

        def __getitem__(self, sizes):
            return self.kernel[(*sizes[:3], sizes[3] - 8)]

    monkeypatch.setattr(backend, "kernel", Less)
    with pytest.raises(Fault, match="of shared memory"):
        launch("cuda.syncthreads()", "cuda.syncthreads()")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cuda.atomic.add(words, 0", "cuda.atomic.max(words, 0"),
        ("= 9223372036854775807", "= 0"),
        ("unit += cuda.blockDim.x", "unit += cuda.blockDim.x + 1"),
    ],
)
def test_a_wrong_answer(launch, old, new):
    with pytest.raises(AssertionError):
        launch(old, new)
