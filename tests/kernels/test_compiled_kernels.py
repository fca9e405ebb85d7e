"""The CUDA kernels as numba-cuda compiles them, run by the PTX machine; no device is needed.

Each file runs in a process of its own, with the plugin `ptx_device` in the place of a device. They
run two at a time, because most of their time is the compiler's.
"""

import importlib.util
import io
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rich.console import Console

from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress

TESTS = Path(__file__).parent.parent

# Left to the simulator: how the host cuts a job into windows, parts and runs. Each of these tests
# compiles kernels of its own, a second each, for jobs like those of the other tests.
OF_THE_HOST = "sent_in_turns or several_devices or dead_rows"

FILES = (
    pytest.param("kernels/cuda_compiled.py", marks=pytest.mark.long),
    "kernels/cuda_in_simulator.py",
    "kernels/nearest_on_cuda.py",
    "kernels/ptx_faults.py",
    "engine/sql_on_cuda.py",
    "ssb/ssb_on_cuda.py",
)

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """The run of each file that was asked for, by name, begun and perhaps not ended."""
    data = tmp_path_factory.mktemp("ssb") / "data"

    def run(file):
        if "ssb" in file:
            prepare(data, DataSet(0.01), Progress(Console(file=io.StringIO())))
        paths = [str(TESTS / "kernels"), *filter(None, [os.environ.get("PYTHONPATH")])]
        return subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"),
                *("-p", "ptx_device", "-k", f"not ({OF_THE_HOST})", str(TESTS / file)),
            ],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(paths),
                "RAYDB_SSB_FOLDER": str(data),
            },
            cwd=TESTS.parent,
            capture_output=True,
            text=True,
            check=False,
        )

    asked = [
        item.callspec.params["file"]
        for item in request.session.items
        if item.path == Path(__file__) and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(2) as pool:
        yield {file: pool.submit(run, file) for file in asked}


@pytest.mark.parametrize("file", FILES)
def test_on_the_ptx_machine(runs, file):
    done = runs[file].result()
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a device")
def test_the_doctor_misses_the_driver_alone():
    if not all(importlib.util.find_spec(name) for name in ("cupy", "optix")):
        pytest.skip("cupy or optix is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "raydb", "doctor"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    cuda, rt = done.stdout.partition("\ncuda")[2].split("\nrt")
    missing = "there is no NVIDIA driver: libcuda.so.1 is missing"
    assert cuda.splitlines()[1].strip().startswith(missing)
    assert rt.splitlines()[1].strip().startswith(missing)
    assert "not installed" not in done.stdout
