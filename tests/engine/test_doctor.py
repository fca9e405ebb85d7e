"""`raydb doctor` names what is missing, finds a backend that is wrong, and fails only then."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray_simulator import RaySimulator, forget_backends, simulate_rays

from raydb.engine import doctor
from raydb.engine.shell import cli
from raydb.kernels.backends import device
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.registry import BACKENDS
from raydb.kernels.backends.rt import entry as rt_entry


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    def no_library(name):
        raise OSError(name)

    monkeypatch.setattr(device, "load_library", no_library)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    forget_backends()
    yield monkeypatch
    forget_backends()


def test_a_machine_without_a_device():
    cpu, cuda, rt = doctor.examine(2_000)
    assert [check.agrees for check in cpu.checks] == [True] * 5
    assert cpu.device == "compiled loops"
    assert cuda.lacks == (
        "cuda: cupy is not installed (pip install 'raydb[cuda]')",
        "cuda: numba_cuda is not installed (pip install 'raydb[cuda]')",
        "cuda: there is no NVIDIA driver: libcuda.so.1 is missing (it comes with the driver of an "
        "NVIDIA device)",
    )
    assert rt.lacks[0] == "rt: optix is not installed (pip install 'raydb[rt]')"
    assert len(rt.lacks) == 5
    assert all(report.is_right for report in (cpu, cuda, rt))
    text = doctor.render([cpu, cuda, rt])
    assert "\ncuda  cannot run\n      cupy is not installed (pip install" in text


def test_a_right_backend_and_a_wrong_one(machine):
    tracer = RaySimulator()
    simulate_rays(machine, lambda: (tracer,))
    rt = doctor.examine(2_000)[2]
    assert len(rt.checks) == 5
    assert rt.is_right
    assert "rt    a ray simulator\n      build: " in doctor.render([rt])

    right = tracer.accumulate

    def off_by_one(*arguments):
        traced = right(*arguments)
        traced.words[0][0] += 1
        return traced

    tracer.accumulate = off_by_one
    rt = doctor.examine(2_000)[2]
    assert not rt.is_right
    assert "DIFFERS from the CPU's answer" in doctor.render([rt])


def test_a_device_that_fails(machine):
    def fail(*_):
        raise DeviceError("rt: the device's memory is full")

    tracer = RaySimulator()
    tracer.load = fail
    simulate_rays(machine, lambda: (tracer,))
    rt = doctor.examine(2_000)[2]
    assert not rt.is_right
    assert doctor.render([rt]).endswith("rt    cannot run\n      the device's memory is full")


def test_the_command(machine, capsys):
    machine.setattr(doctor, "ROWS", 2_000)
    assert cli.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("raydb ")
    assert "\ncpu   compiled loops\n" in shown
    assert "pip install 'raydb[rt]'" in shown


def test_a_chip_without_rt_cores_is_for_correctness(machine):
    machine.setattr(rt_entry, "open_tracers", lambda: (RaySimulator(),))
    assert rt_entry.describe_cores() == (
        "no RT cores, so OptiX traverses in software: for correctness, not for speed"
    )


def test_every_device_is_described(machine):
    properties = {"name": b"Chip", "totalGlobalMem": 3 * 2**30, "major": 9, "minor": 0}
    runtime = SimpleNamespace(
        driverGetVersion=lambda: 13_010,
        getDeviceCount=lambda: 2,
        getDeviceProperties=lambda number: properties,
    )
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime))
    machine.setitem(sys.modules, "cupy", cupy)
    one = "Chip, 3.0 GiB, compute capability 9.0"
    assert BACKENDS["cuda"].describe() == f"{one} and {one}, driver for CUDA 13.1"


IMPORTS = """
import sys
import raydb
con = raydb.connect()
con.execute("CREATE TABLE t AS SELECT i AS k, i AS v FROM range(9) AS r(i)")
con.execute("CREATE BVH b ON t (SCAN (k), AGGREGATE (v))")
for fallback in ("next", "error"):
    con.execute(f"SET fallback = '{fallback}'")
    for backend in ("auto", "cpu", "cuda", "rt"):
        con.execute(f"SET backend = '{backend}'")
        try:
            assert con.execute("SELECT sum(v) FROM t WHERE k < 4").fetchall() == [(6,)]
        except raydb.OperationalError as error:
            assert (fallback, "SET fallback" in str(error)) == ("error", True)
loaded = {name.split(".")[0] for name in sys.modules} & {"cupy", "optix", "numba_cuda", "cuda"}
assert not loaded, loaded
backends = "raydb.kernels.backends."
assert not {backends + "cuda.cuda_backend", backends + "rt.rt_backend"} & set(sys.modules)
"""


@pytest.mark.long
@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a device")
def test_nothing_of_a_device_is_imported_without_one():
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
