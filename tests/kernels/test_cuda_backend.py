"""The CUDA backend without a device: in numba's simulator, and as PTX where that is had."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from raydb.kernels.cuda.source import Shape, kernel_source
from raydb.kernels.device_totals import Total

SHAPES = [
    Shape((), 1, (Total("sum", 0),), "register"),
    Shape((False,), 1, (Total("least", 0), Total("most", 0), Total("high", 0)), "register"),
    Shape((False, True), 1, (Total("sum", 0), Total("high", 0), Total("low", 0)), "shared"),
    Shape((True,), 1, (Total("sum", 0), Total("most", 0, 0)), "global"),
    Shape((True,), 0, (), "list"),
]


def run_simulated(file):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("file", ["cuda_in_simulator.py", "nearest_on_cuda.py"])
def test_in_the_simulator(file):
    done = run_simulated(Path(__file__).parent / file)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_kernel_is_python_text(shape):
    text = kernel_source(shape)
    compile(text, "kernel", "exec")
    assert ("atomic" in text) == (shape.where != "list")
    assert "shared.array" not in text or shape.where in ("register", "shared")


PTX = """
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
# What a call in a kernel is compiled for; without a device there is none to ask.
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))
from raydb.kernels.cuda.compiled import kernel_function
from raydb.kernels.cuda.source import Shape
from raydb.kernels.device_totals import Total
def array(kind):
    return types.Array(kind, 1, "C")
words = array(types.int64)
shape, value = {shape!r}, types.{value}
arguments = [words] * 4 + [types.int64] * 2
for signed in shape.maps:
    arguments += [array(types.int32 if signed else types.uint16), words]
arguments += [array(value)] * shape.input_count
arguments += [words] * 2 if shape.where == "list" else [words] + [
    array(types.float64) if total.kind == "float" else words for total in shape.totals
]
print(cuda.compile_ptx(kernel_function(shape), types.void(*arguments), cc=(8, 0))[0])
"""

OTHERS = """
from types import SimpleNamespace
from numba import cuda, types
from numba.cuda import dispatcher
dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(8, 0))
from raydb.kernels.cuda import memory, nearest
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

FLOATS = Shape((False,), 1, (Total("float", 0), Total("least", 0, ordered=True)), "shared")


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
@pytest.mark.parametrize(
    ("shape", "value"),
    [
        *((shape, "int32") for shape in SHAPES),
        (FLOATS, "float64"),
        (Shape((), 1, FLOATS.totals, "register"), "float64"),
    ],
)
def test_a_kernel_compiles_to_ptx(shape, value, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PTX.format(shape=shape, value=value)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    if value == "int32" and shape.input_count:
        assert re.search(r"ld\.global\.v4\.u32", done.stdout), "no 16-byte load"
    assemble(tmp_path, done.stdout)


@pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)
def test_the_kernels_of_vector_search_compile_to_ptx(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", OTHERS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "ld.global.v4.f32" in done.stdout
    assert "nanosleep.u32" in done.stdout
    # A score is added up in float32, as the slack of its bound has it.
    assert ".f64" not in done.stdout.partition("find_kth")[0]
    assemble(tmp_path, done.stdout)
