"""The device program: its parameters are those of NumPy, and it compiles where NVRTC is had."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from raydb.kernels.backends.aggregates import WORDS
from raydb.kernels.backends.device import DeviceError
from raydb.kernels.backends.rt import program
from raydb.kernels.backends.rt.params import (
    HIT_COUNTS,
    KINDS,
    MAX_IN_REGISTERS,
    MAX_TOTALS,
    PARAMS,
    PAYLOAD_COUNT,
    TOTAL,
)

TEXT = program.SOURCE.read_text(encoding="utf-8")


def fields_of(struct):
    body = re.search(rf"struct {struct} {{(.*?)}};", TEXT, re.DOTALL)[1]
    return re.findall(r"(\w+)(?:\[\w+\])?;", re.sub(r"//.*", "", body))


def test_the_fields_are_the_same_in_the_same_order():
    assert fields_of("Params") == list(PARAMS.names)
    assert fields_of("Total") == list(TOTAL.names)


def test_the_constants_are_the_same():
    assert f"#define MAX_TOTALS {MAX_TOTALS}\n" in TEXT
    assert f"#define MAX_IN_REGISTERS {MAX_IN_REGISTERS}\n" in TEXT
    assert f"#define HIT_COUNTS {HIT_COUNTS}\n" in TEXT
    kinds = re.search(r"enum Kind {([^}]*)}", TEXT)[1].replace(" ", "").lower().split(",")
    assert kinds == list(KINDS) == list(WORDS)
    assert f"optixSetPayload_{PAYLOAD_COUNT - 1}(" in TEXT
    assert f"optixSetPayload_{PAYLOAD_COUNT}(" not in TEXT


def has_nvrtc():
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("optix") is None:
        return False
    return importlib.util.find_spec("cuda.bindings") is not None


@pytest.mark.skipif(not has_nvrtc(), reason="the OptiX headers or NVRTC are not installed")
def test_it_compiles_to_ptx_and_its_structs_lie_as_numpy_s(tmp_path, monkeypatch):
    checks = [
        f'static_assert(offsetof({struct}, {name}) == {dtype.fields[name][1]}, "{name}");'
        for struct, dtype in (("Params", PARAMS), ("Total", TOTAL))
        for name in dtype.names
    ]
    checks.append(f'static_assert(sizeof(Params) == {PARAMS.itemsize}, "size");')
    headers = program.find_headers()
    text = "\n".join([TEXT, "#define offsetof(s, m) __builtin_offsetof(s, m)", *checks])
    ptx = program.compile_program(text.encode(), 80, headers)
    for name in ("__raygen__lanes", "__anyhit__bucket", "__miss__nothing"):
        assert f".entry {name}".encode() in ptx
    with pytest.raises(DeviceError, match=r"does not compile: .*error"):
        program.compile_program(b"#include <optix.h>\nint x = y;", 80, headers)
    monkeypatch.setenv("RAYDB_CACHE_DIR", str(tmp_path))
    assert program.read_abi(headers) >= 84
    first = program.program_ptx(80, 99_000)
    (kept,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert kept.read_bytes().endswith(first)
    monkeypatch.setattr(program, "compile_program", lambda *_: pytest.fail("it was kept"))
    assert program.program_ptx(80, 99_000) == first
    assert b".version 9.0" in program.program_ptx(80, 13_000)


def build_library(folder, name, *source):
    options = ("-std=c++17", "-O2", "-shared", "-fPIC", f"-Wl,-soname,{name}")
    return subprocess.run(
        ["g++", *options, *source, "-o", str(folder / name)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(
    not has_nvrtc() or shutil.which("g++") is None,
    reason="the OptiX headers, NVRTC or a C++ compiler are not installed",
)
def test_optix_s_module_and_the_program_itself_on_the_cpu(tmp_path):
    """Every call of the module with the driver's side of it ours, and `program.cu` as C++."""
    here = Path(__file__).parent
    empty = tmp_path / "empty.cpp"
    empty.write_text("")
    folders = [program.SOURCE.parent, program.find_headers(), *program._cuda_includes()]
    includes = [option for folder in folders for option in ("-I", str(folder))]
    for name, *source in (
        ("libcuda.so.1", str(empty)),
        ("libnvoptix.so.1", *includes, str(here / "optix_on_cpu.cpp")),
    ):
        built = build_library(tmp_path, name, *source)
        assert built.returncode == 0, built.stderr[-3000:]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            here / "rt_on_cpu.py",
        ],
        env={
            **os.environ,
            "LD_LIBRARY_PATH": str(tmp_path),
            "RAYDB_CACHE_DIR": str(tmp_path),
        },
        cwd=here.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_driver_is_not_given_a_later_version_of_ptx_than_its_own():
    ptx = b"//\n.version 9.4\n.target sm_80\n"
    assert program.lower_version(ptx, 13_000) == b"//\n.version 9.0\n.target sm_80\n"
    for driver in (13_040, 13_050, 14_000):
        assert program.lower_version(ptx, driver) == ptx


def test_missing_headers_are_named(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("OptiX_INSTALL_DIR", str(tmp_path))
    with pytest.raises(DeviceError, match="the OptiX headers are missing: pip install"):
        program.find_headers()
