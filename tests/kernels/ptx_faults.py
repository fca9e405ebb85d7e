"""Kernels with a mistake in them: on the PTX machine each is found.

Run by `test_compiled_kernels`; a device would run most of these without a word. The mistakes are
made in the PTX, so that they are the same whatever the kernels' text is.
"""

import re

import agreement
import numpy as np
import ptx_machine
import pytest
from ptx_memory import Fault
from ptx_text import read_kernel

from raydb.kernels.backends.backend import Accumulator, CodeMap, FusedJob
from raydb.kernels.backends.cuda.cuda_backend import CudaBackend

ROWS = 9_999
GROUPS = 1_000
JOB = FusedJob(
    np.array([[0, 1]]),
    (CodeMap(0, by_cell=False, groups=np.arange(GROUPS), filters=False),),
    GROUPS,
    (Accumulator("sum", 0), Accumulator("min", 0)),
)


@pytest.fixture
def launch(monkeypatch):
    """Launch a job whose kernel's text is changed, with so many bytes of shared memory less."""
    values = np.random.default_rng(1).integers(-(2**40), 2**40, ROWS)
    bvh = agreement.flat_bvh(values, None, np.arange(ROWS) % GROUPS, GROUPS)
    real = ptx_machine.launch

    def changed(pattern, new, less_bytes=0):
        def read(text):
            found, count = re.subn(pattern, new, text)
            assert count, text
            return read_kernel(found)

        def launched(memory, text, words, grid, block, shared_bytes, seed):
            real(memory, text, words, grid, block, shared_bytes - less_bytes, seed)

        monkeypatch.setattr(ptx_machine, "read", read)
        monkeypatch.setattr(ptx_machine, "launch", launched)
        agreement.check_launch(CudaBackend(), bvh, JOB)

    return changed


def test_none(launch):
    launch(r"\bret;", "ret;")


def test_a_byte_of_shared_memory_too_few(launch):
    with pytest.raises(Fault, match="of shared memory"):
        launch(r"\bret;", "ret;", 1)


@pytest.mark.parametrize(
    ("pattern", "new", "told"),
    [
        (r"bar\.sync\s+0;", "", "a race: another thread's write"),
        (r"bar\.sync\s+0;", "setp.lt.u32 %p1, %r1, 9; @%p1 bar.sync 0;", "not all threads|a race"),
        (r"(ld\.global\S*\.v[24]\S+\s+\{[^}]*\}, \[%rd\d+)\]", r"\1+2]", "are not aligned"),
        (r"((?:atom|red)\.global\S*\s+[^\[]*\[%rd\d+)\]", r"\1+4294967296]", "outside of an"),
        (r"((?:atom|red)\.shared\S*\s+[^\[]*\[%r\w+)\]", r"\1+49152]", "of shared memory"),
        (r"(ld\.param\.u64\s+[^;]*)_param_\d+\]", r"\1_param_0]", "outside of an"),
    ],
)
def test_a_fault(launch, pattern, new, told):
    with pytest.raises(Fault, match=told):
        launch(pattern, new)


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r"(atom|red)\.global\.add\.u64", r"\1.global.max.u64"),
        (r"(atom|red)\.shared\.min\.s64", r"\1.shared.min.u64"),
        (r"9223372036854775807", "0"),
        (r"%ntid\.x|\b256;", "255;"),
    ],
)
def test_a_wrong_answer(launch, pattern, new):
    """Or a fault: a mistake in one place may be one in another."""
    with pytest.raises((AssertionError, Fault)):
        launch(pattern, new)
