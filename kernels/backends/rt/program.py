"""Compiles the device program with NVRTC at its first use, and keeps what came out on disk.

The OptiX headers are not ours to pass on: they come with the module `optix`, whose version they
fit, or from the SDK that the environment variable OptiX_INSTALL_DIR names.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from pathlib import Path

from raydb.kernels import code_cache
from raydb.kernels.backends.device import DeviceError

SDK_VARIABLE = "OptiX_INSTALL_DIR"

SOURCE = Path(__file__).parent / "program.cu"

# Beside those of the loops: which NVRTC compiled the program, its name says.
_TOOLCHAIN = "nvrtc"


def program_ptx(architecture: int, driver: int) -> bytes:
    """Return the program as PTX for a compute capability such as 89, and a driver for CUDA.

    driver: 1000 * major + 10 * minor of the CUDA that the driver is for. The program is kept by its
    text, the architecture, the OptiX ABI and NVRTC's version. Raises DeviceError where the headers
    are missing, or with the first line of what NVRTC reports.
    """
    from cuda.bindings import nvrtc  # noqa: PLC0415  (an extra, needed to compile only)

    optix_include = find_headers()
    text = SOURCE.read_bytes()
    _, major, minor = nvrtc.nvrtcVersion()
    key = f"{architecture} {read_abi(optix_include)} {major}.{minor}".encode()
    name = f"program-{hashlib.sha256(key + text).hexdigest()[:24]}"
    ptx = code_cache.load(_TOOLCHAIN, name)
    if ptx is None:
        ptx = compile_program(text, architecture, optix_include)
        code_cache.save(_TOOLCHAIN, name, ptx)
    return lower_version(ptx, driver)


def lower_version(ptx: bytes, driver: int) -> bytes:
    """Return PTX in a version that a driver takes: that of its own CUDA, if it is the older one.

    NVRTC writes the version of its own CUDA, also where nothing of it is used, and a driver refuses
    those after its own. CUDA 13.n has PTX 9.n.
    """
    found = re.search(rb"\.version (\d+)\.(\d+)", ptx)
    major, minor = driver // 1000 - 4, driver % 1000 // 10
    if found is None or (int(found[1]), int(found[2])) <= (major, minor):
        return ptx
    return ptx[: found.start()] + b".version %d.%d" % (major, minor) + ptx[found.end() :]


def compile_program(text: bytes, architecture: int, optix_include: Path) -> bytes:
    """Compile a program's text to PTX; this needs no device and no driver."""
    from cuda.bindings import nvrtc  # noqa: PLC0415  (as above)

    options = [
        f"--gpu-architecture=compute_{architecture}".encode(),
        b"--std=c++17",
        f"--include-path={optix_include}".encode(),
        *(f"--include-path={folder}".encode() for folder in _cuda_includes()),
        # OptiX asks for relocatable programs whose functions may be inlined anywhere.
        b"--relocatable-device-code=true",
    ]
    status, program = nvrtc.nvrtcCreateProgram(text, b"program.cu", 0, [], [])
    _check(status)
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        found = re.search(r"[^\n]*error[^\n]*", log.decode(errors="replace"))
        reason = found[0].strip() if found else str(status)
        raise DeviceError(f"rt: the device program does not compile: {reason}")
    status, size = nvrtc.nvrtcGetPTXSize(program)
    _check(status)
    ptx: bytes = b" " * size
    _check(nvrtc.nvrtcGetPTX(program, ptx)[0])
    return ptx.rstrip(b"\0")


def find_headers() -> Path:
    """Return the folder of optix.h. Raises DeviceError where there is none."""
    folders = []
    if SDK_VARIABLE in os.environ:
        folders.append(Path(os.environ[SDK_VARIABLE]) / "include")
    found = importlib.util.find_spec("optix")
    if found is not None and found.origin is not None:
        folders.append(Path(found.origin).parent / "include")
    for folder in folders:
        if (folder / "optix.h").is_file():
            return folder
    raise DeviceError(
        f"rt: the OptiX headers are missing: pip install 'raydb[rt]', or set {SDK_VARIABLE} to an "
        "OptiX SDK"
    )


def read_abi(optix_include: Path) -> int:
    """Return the ABI that the headers are for, such as 118 of OptiX 9.1."""
    text = (optix_include / "optix_function_table.h").read_text(encoding="utf-8")
    found = re.search(r"#define OPTIX_ABI_VERSION (\d+)", text)
    if found is None:
        raise DeviceError(f"rt: the OptiX headers in '{optix_include}' name no ABI")
    return int(found[1])


def _cuda_includes() -> list[str]:
    """Return where the CUDA headers are that the OptiX headers include."""
    found = importlib.util.find_spec("nvidia")
    folders = [] if found is None else [Path(f) for f in found.submodule_search_locations or ()]
    includes = [path for folder in folders for path in folder.glob("*/include")]
    includes += [
        Path(os.environ[name]) / "include"
        for name in ("CUDA_PATH", "CUDA_HOME")
        if name in os.environ
    ]
    return [str(path) for path in includes if path.is_dir()]


def _check(status: object) -> None:
    if getattr(status, "value", status) != 0:
        raise DeviceError(f"rt: NVRTC fails: {getattr(status, 'name', status)}")
