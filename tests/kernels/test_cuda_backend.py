"""The CUDA backend without a device: in numba's simulator, and as PTX where that is had."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from raydb.kernels.backends.cuda.source import Lookup, Shape, kernel_source
from raydb.kernels.backends.device_totals import Total

BY_WORD, BY_WORDS, BY_BITS = (Lookup(test, adds=False) for test in ("word", "words", "bits"))
ADDS, DROPS = Lookup("none", adds=True), Lookup("bits", adds=True)

SHAPES = [
    Shape((), 1, (Total("sum", 0),), "shared", 4),
    Shape((BY_WORD,), 1, (Total("least", 0), Total("most", 0), Total("high", 0)), "shared", 2),
    Shape((BY_WORDS, BY_WORD), 1, (Total("sum", 0),), "shared", 4, is_sparse=True),
    Shape((ADDS, BY_BITS), 1, (Total("sum", 0), Total("high", 0), Total("low", 0)), "shared", 2),
    Shape((DROPS, BY_WORD), 1, (Total("sum", 0),), "shared", 4, is_sparse=True),
    Shape((ADDS,), 1, (Total("sum", 0), Total("most", 0, 0)), "global", 1, has_run_groups=False),
    Shape((ADDS, BY_BITS), 0, (), "list", 4),
]


def run_simulated(file):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(file)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "file", ["cuda_in_simulator.py", "faults_on_cuda.py", "nearest_on_cuda.py"]
)
def test_in_the_simulator(file):
    done = run_simulated(Path(__file__).parent / file)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_kernel_is_python_text(shape):
    text = kernel_source(shape)
    compile(text, "kernel", "exec")
    assert ("atomic" in text) == (shape.where != "list")
    assert ("shared.array" in text) == (shape.where == "shared")


PTX = """
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
# What a call in a kernel is compiled for; without a device there is none to ask.
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))
from raydb.kernels.backends.cuda.compiled import kernel_function
from raydb.kernels.backends.cuda.source import Lookup, Shape
from raydb.kernels.backends.device_totals import Total
def array(kind):
    return types.Array(kind, 1, "C")
words = array(types.int64)
for shape, name in {kernels!r}:
    value = vars(types)[name]
    arguments = [array(types.int32)] + [types.int64] * 5
    for lookup in shape.lookups:
        kind = types.int32 if lookup.test == "bits" else types.uint8
        arguments += [array(kind)] + [types.int64] * ((lookup.test != "none") + lookup.adds)
    arguments += [array(value)] * shape.input_count + [words]
    arguments += [array(types.float64)] * bool(shape.float_count)
    print("KERNEL")
    print(cuda.compile_ptx(kernel_function(shape), types.void(*arguments), cc=(8, 0))[0])
"""

OTHERS = """
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))
from raydb.kernels.backends.cuda import memory
from raydb.kernels.backends.cuda import list_scan as nearest
floats, whole, narrow = (types.Array(t, 1, "C") for t in (types.float32, types.int64, types.int8))
numbers, bits = (types.Array(t, 1, "C") for t in (types.uint32, types.int32))
scoring = [floats, types.int64, floats, numbers, narrow, floats, *[whole] * 4, types.boolean]
for kernel, arguments in (
    (nearest.score_rows, [*scoring, floats]),
    (nearest.find_kth, [bits, whole, types.int64, whole]),
    (nearest.mark_rows, [floats, whole, floats, narrow]),
    (memory.idle, [types.int32, types.uint32]),
):
    function = getattr(kernel, "py_func", kernel)
    print(cuda.compile_ptx(function, types.void(*arguments), cc=(8, 0))[0])
"""

FLOATS = Shape((ADDS,), 1, (Total("float", 0), Total("least", 0, ordered=True)), "shared", 1)

KERNELS = [
    *((shape, "int32") for shape in SHAPES),
    (FLOATS, "float64"),
    (Shape((), 1, FLOATS.totals, "shared", 4), "float64"),
]


@pytest.fixture(scope="module")
def compiled():
    """The PTX of each kernel; one process compiles them all."""
    done = subprocess.run(
        [sys.executable, "-c", PTX.format(kernels=KERNELS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split("KERNEL\n")[1:]


def assemble(tmp_path, ptx):
    """Assemble kernels where there is an assembler: no register is spilled to memory."""
    nvcc = shutil.which("nvcc")
    ptxas = shutil.which("ptxas") or (nvcc and Path(nvcc).resolve().parent / "ptxas")
    if not ptxas or not Path(ptxas).exists():
        return
    for number, text in enumerate(re.split(r"(?=\.version )", ptx)[1:]):
        file = tmp_path / f"{number}.ptx"
        # The assembler may be older than what wrote the version.
        file.write_text(re.sub(r"\.version \S+", ".version 8.0", text))
        done = subprocess.run(
            [ptxas, "-v", "-arch=sm_80", file, "-o", tmp_path / "kernel.cubin"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert " 0 bytes spill stores" in done.stderr, done.stderr


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)
@pytest.mark.parametrize("number", range(len(KERNELS)))
def test_a_kernel_compiles_to_ptx(compiled, number, tmp_path):
    (shape, value), ptx = KERNELS[number], compiled[number]
    if value == "int32" and shape.input_count and not shape.is_sparse:
        assert re.search(r"ld\.global\.nc\.v4\.u32", ptx), "no 16-byte load"
    # The hardware adds 32 bits at a time in shared memory: 64 would be a loop.
    assert "atom.shared.add.u64" not in ptx
    assemble(tmp_path, ptx)


@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("numba_cuda", "cupy"))),
    reason="numba-cuda or cupy is not installed",
)
def test_the_kernels_of_vector_search_compile_to_ptx(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", OTHERS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "ld.global.nc.v4.f32" in done.stdout
    assert "nanosleep.u32" in done.stdout
    # A score is added up in float32, as the slack of its bound has it.
    assert ".f64" not in done.stdout.partition("find_kth")[0]
    assemble(tmp_path, done.stdout)
