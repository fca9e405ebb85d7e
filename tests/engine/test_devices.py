"""SET backend, fallback and rt_encoding: who answers, what EXPLAIN says, each fault's sentence.

OptiX is a ray simulator here, and a device's faults are raised by hand.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from ray_simulator import RaySimulator, forget_backends, simulate_rays

import raydb
from raydb.engine.context.memory import parse_device_memory
from raydb.kernels.backends import device
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.registry import obstacle
from raydb.kernels.backends.rt.rt_backend import RtJob, Scenes

QUERY = "SELECT region, sum(price), count(*) FROM sale WHERE year = 2024 GROUP BY region ORDER BY 1"


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """A machine whose driver and libraries are what a test says; by default none."""
    monkeypatch.setattr(device, "load_library", no_library)
    monkeypatch.delenv("NUMBA_ENABLE_CUDASIM", raising=False)
    forget_backends()
    yield monkeypatch
    forget_backends()


def no_library(name):
    raise OSError(name)


@pytest.fixture
def con():
    connection = raydb.connect()
    connection.execute(
        "CREATE TABLE sale (region VARCHAR, year INTEGER, price INTEGER, note VARCHAR)"
    )
    connection.execute(
        "INSERT INTO sale SELECT CASE i % 3 WHEN 0 THEN 'n' WHEN 1 THEN 's' ELSE 'w' END, "
        "2020 + i % 7, i * i % 101 - 50, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END "
        "FROM range(500) AS r(i)"
    )
    connection.execute(
        "CREATE BVH sales ON sale (SCAN (year), GROUP BY (region), AGGREGATE (price))"
    )
    yield connection
    connection.close()


def explain(con, text, analyze=""):
    return "\n".join(row[0] for row in con.execute(f"EXPLAIN {analyze} {text}").fetchall())


def test_the_default_names_no_device(con):
    plan = explain(con, QUERY)
    assert "backend: cpu (auto: too short for a device)" in plan
    assert con.execute(QUERY).messages == []


def test_the_default_leaves_long_jobs_to_a_device(con, machine):
    for cost in ("DEVICE_COST", "DEVICE_SCAN_COST"):
        machine.setattr(f"raydb.planner.stars.choose.{cost}", 0.0)
    assert "backend: cpu (auto; cuda: " in explain(con, QUERY)
    machine.setattr("raydb.kernels.backends.choice.obstacle", lambda name: None)
    forget_backends()
    con.execute("SET plan_cache = 'off'")
    assert "backend: cuda, else cpu (auto: about " in explain(con, QUERY)
    con.execute("DROP BVH sales")
    machine.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    plan = explain(con, QUERY)
    assert "FusedTableScan" in plan
    assert "backend: cuda, else cpu (auto: about " in plan
    con.execute("SET backend = 'cpu'")
    assert "backend: cpu (SET backend = 'cpu')" in explain(con, QUERY)


@pytest.mark.long
def test_a_query_is_answered_by_rays(con, machine):
    expected = con.execute(QUERY).fetchall()
    tracer = RaySimulator()
    simulate_rays(machine, lambda: (tracer,))
    con.execute("SET backend = 'rt'")
    assert con.execute(QUERY).fetchall() == expected
    assert tracer.loads == 1
    plan = explain(con, QUERY, "ANALYZE")
    assert "backend: rt, else cpu (SET backend = 'rt'; cuda: " in plan
    assert "ran on: rt (0.000 ms on the device; " in plan
    assert " rays; 3 hits)" in plan
    assert "the scene" not in plan
    con.execute("SET rt_encoding = 'paper'")
    assert " ms to make the scene before; " in explain(con, QUERY, "ANALYZE")
    assert con.execute(QUERY).fetchall() == expected
    assert "rt-paper, else cpu (SET backend = 'rt'; rt_encoding = 'paper'; " in explain(con, QUERY)
    residual = (
        "SELECT region, max(price) FROM sale WHERE year < 2023 AND note = 'a' GROUP BY 1 ORDER BY 1"
    )
    with_rays = con.execute(residual).fetchall()
    con.execute("SET backend = 'cpu'")
    assert con.execute(residual).fetchall() == with_rays


@pytest.mark.long
def test_sql_on_cuda_in_the_simulator():
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"),
            str(Path(__file__).parent / "sql_on_cuda.py"),
        ],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        cwd=Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_machine_without_a_device_builds_on_the_cpu_and_says_so(con):
    con.execute("DROP BVH sales")
    create = "CREATE BVH sales ON sale (SCAN (year), GROUP BY (region), AGGREGATE (price))"
    for backend in ("cuda", "rt"):
        con.execute(f"SET backend = '{backend}'")
        cursor = con.execute(create)
        [(_, message)] = cursor.messages
        assert str(message).startswith("cuda: ")
        assert str(message).endswith("; cpu built it")
        (built_on,) = con.execute("SELECT built_on FROM bvhs()").fetchone()
        assert built_on.startswith("cpu (cuda: ")
        con.execute("DROP BVH sales")
    con.execute("SET fallback = 'error'")
    with pytest.raises(raydb.OperationalError, match="SET fallback = 'next' lets another"):
        con.execute(create)
    con.execute("SET backend = 'auto'")
    assert con.execute(create).messages == []
    assert con.execute("SELECT built_on FROM bvhs()").fetchone() == ("cpu",)


def test_device_memory_is_read_like_memory_limit(con):
    assert con.execute("SHOW device_memory").fetchone() == ("80%",)
    for text in ("4GB", "1.5 GiB", "50%", "none"):
        con.execute(f"SET device_memory = '{text}'")
        assert con.execute("SHOW device_memory").fetchone() == (text,)
    with pytest.raises(raydb.ProgrammingError) as error:
        con.execute("SET device_memory = 'much'")
    assert "device_memory is like '2GB', '500MB', '80%' or 'none', not 'much'" in str(error.value)
    con.execute("RESET device_memory")
    assert con.execute("SHOW device_memory").fetchone() == ("80%",)


def test_the_least_of_a_limit_and_of_what_is_free_is_the_budget():
    assert parse_device_memory("4GB").budget(10**9) == 10**9
    assert parse_device_memory("500MB").budget(10**9) == 500_000_000
    assert parse_device_memory("25%").budget(10**9) == 250_000_000
    assert parse_device_memory("none").budget(10**9) == 10**9


def full(*_):
    raise MemoryOnDeviceError("cudaErrorMemoryAllocation: OUT_OF_MEMORY")


def gone(*_):
    raise MemoryOnDeviceError("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access")


class MemoryOnDeviceError(Exception):
    pass


MemoryOnDeviceError.__module__ = "cupy.cuda.runtime"


@pytest.mark.parametrize(
    ("fault", "sentence", "is_lost"),
    [
        (full, "rt: the device's memory is full", False),
        (
            gone,
            "rt: the device was lost: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access",
            True,
        ),
    ],
)
def test_a_fault_is_told_and_the_next_backend_answers(con, machine, fault, sentence, is_lost):
    expected = con.execute(QUERY).fetchall()
    tracer = RaySimulator()
    simulate_rays(machine, lambda: (tracer,))
    tracer.accumulate = fault
    con.execute("SET backend = 'rt'")
    cursor = con.execute(QUERY)
    assert cursor.fetchall() == expected
    [(kind, message)] = cursor.messages
    assert kind is raydb.Warning
    assert str(message) == f"{sentence}; cpu answered"
    assert (f"ran on: cpu ({sentence})" in explain(con, QUERY, "ANALYZE")) != is_lost
    con.execute("SET fallback = 'error'")
    with pytest.raises(raydb.OperationalError) as error:
        con.execute(QUERY)
    assert str(error.value) == f"{sentence}; SET fallback = 'next' lets another backend answer"
    # A full memory may be empty the next time; a device that is lost stays so.
    del tracer.accumulate
    con.execute("SET fallback = 'next'")
    assert con.execute(QUERY).fetchall() == expected
    assert (f"cpu (SET backend = 'rt'; {sentence}; cuda: " in explain(con, QUERY)) == is_lost
    con.close()


def test_an_error_of_ours_is_no_fault_of_the_device(con, machine):
    tracer = RaySimulator()
    simulate_rays(machine, lambda: (tracer,))
    tracer.accumulate = lambda *_: 1 // 0
    con.execute("SET backend = 'rt'")
    with pytest.raises(ZeroDivisionError):
        con.execute(QUERY)


def test_an_encoding_that_cannot_hold_a_measure_is_told(con, machine):
    tracer = RaySimulator()
    simulate_rays(machine, lambda: (tracer,))
    con.execute("SET backend = 'rt'")
    con.execute("SET rt_encoding = 'paper'")
    con.execute("CREATE TABLE wide AS SELECT i * 100000000 AS v, i % 2 AS k FROM range(9) AS r(i)")
    con.execute("CREATE BVH w ON wide (SCAN (k), AGGREGATE (v))")
    cursor = con.execute("SELECT sum(v) FROM wide WHERE k = 1")
    assert cursor.fetchall() == [(1_600_000_000,)]
    assert "SET rt_encoding = 'lanes'; cpu answered" in str(cursor.messages[0][1])


class Driver(SimpleNamespace):
    def cuDriverGetVersion(self, found):  # noqa: N802
        found._obj.value = self.version
        return 0


def a_driver(init=0, version=13_000, abi=7_803):
    driver = Driver(cuInit=lambda _: init, version=version, optixQueryFunctionTable=lambda *_: abi)
    return lambda _: driver


CUDA_FAULTS = [
    (
        no_library,
        "there is no NVIDIA driver: libcuda.so.1 is missing (it comes with the driver of an NVIDIA "
        "device)",
    ),
    (a_driver(init=100), "the NVIDIA driver finds no device (see what nvidia-smi lists)"),
    (a_driver(init=999), "the NVIDIA driver does not start, with error 999 (see nvidia-smi)"),
    (
        a_driver(version=12_040),
        "the NVIDIA driver is for CUDA 12.4, and 13.0 is the least (install a newer "
        "driver, R580 or later)",
    ),
]


@pytest.mark.parametrize(("library", "sentence"), CUDA_FAULTS)
def test_what_the_driver_lacks_is_one_sentence(con, machine, library, sentence):
    expected = con.execute(QUERY).fetchall()
    machine.setattr(importlib.util, "find_spec", lambda name: object())
    machine.setattr(device, "load_library", library)
    forget_backends()
    con.execute("SET backend = 'cuda'")
    assert f"backend: cpu (SET backend = 'cuda'; cuda: {sentence})" in explain(con, QUERY)
    assert con.execute(QUERY).fetchall() == expected
    con.execute("SET backend = 'rt'")
    assert f"cpu (SET backend = 'rt'; rt: {sentence}; cuda: {sentence})" in explain(con, QUERY)
    con.execute("SET fallback = 'error'")
    with pytest.raises(raydb.OperationalError, match="SET fallback = 'next' lets another") as error:
        con.execute(QUERY)
    assert str(error.value).startswith(f"rt: {sentence}; ")


def test_missing_packages_are_named_with_how_to_get_them(machine):
    machine.setattr(importlib.util, "find_spec", lambda name: None)
    assert obstacle("cuda") == ("cuda: cupy is not installed (pip install 'raydb[cuda]')")
    assert obstacle("rt") == "rt: optix is not installed (pip install 'raydb[rt]')"


def test_a_driver_without_optix_or_with_an_older_abi(machine):
    from raydb.kernels.backends.rt import program

    machine.setattr(importlib.util, "find_spec", lambda name: object())
    machine.setattr(program, "find_headers", lambda: None)
    machine.setattr(program, "read_abi", lambda _: 118)
    cuda_only = a_driver()

    def library(name):
        if "optix" in name:
            raise OSError(name)
        return cuda_only(name)

    machine.setattr(device, "load_library", library)
    assert "rt: the NVIDIA driver has no OptiX: libnvoptix.so.1 is missing" in obstacle("rt")
    forget_backends()
    machine.setattr(device, "load_library", a_driver(abi=7_801))
    assert "does not know the OptiX ABI 118" in obstacle("rt")
    forget_backends()
    machine.setattr(device, "load_library", a_driver())
    assert obstacle("rt") is None


def test_a_library_that_does_not_load_is_told(con, machine):
    def broken():
        raise ImportError("libcudart.so.13: cannot open shared object file")

    simulate_rays(machine, broken)
    con.execute("SET backend = 'rt'")
    cursor = con.execute(QUERY)
    assert str(cursor.messages[0][1]) == (
        "rt: a library does not load: libcudart.so.13: cannot open shared object file; cpu answered"
    )


def test_settings_that_do_not_exist(con):
    for text, known in [
        ("SET backend = 'cudda'", "backend 'cudda' does not exist; did you mean 'cuda'"),
        ("SET fallback = 'nex'", "fallback 'nex' does not exist; did you mean 'next'"),
        ("SET rt_encoding = 'lane'", "rt_encoding 'lane' does not exist; did you mean 'lanes'"),
    ]:
        with pytest.raises(raydb.ProgrammingError) as error:
            con.execute(text)
        assert known in str(error.value)
    for name, value in [("fallback", "error"), ("rt_encoding", "paper")]:
        con.execute(f"SET {name} = '{value}'")
        assert con.execute(f"SHOW {name}").fetchall() == [(value,)]
        con.execute(f"RESET {name}")
        assert con.execute(f"SHOW {name}").fetchall() != [(value,)]


def test_rows_that_are_located_are_accumulated_by_the_next_backend(con, machine):
    tracer = RaySimulator()
    simulate_rays(machine, lambda: (tracer,))

    def fail(self, *arguments):
        raise DeviceError("rt: the device's memory is full")

    machine.setattr(RtJob, "accumulate", fail)
    con.execute("SET backend = 'rt'")
    text = "SELECT max(price) FROM sale WHERE year < 2023 AND note = 'a'"
    cursor = con.execute(text)
    assert cursor.messages
    con.execute("SET backend = 'cpu'")
    assert con.execute(text).fetchall() == cursor.fetchall()
    assert isinstance(Scenes(RaySimulator()).budget_bytes, int)
