"""What this machine has of each device backend, found out without importing any of it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from functools import cache

from raydb.kernels.device import faults

# numba-cuda, cupy and what they are compiled with ask for a driver of CUDA 13.
LEAST_DRIVER = (13, 0)

CUDA_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OPTIX_LIBRARY = "nvoptix.dll" if sys.platform == "win32" else "libnvoptix.so.1"

# What the driver's functions return: CUDA_ERROR_NO_DEVICE, OPTIX_ERROR_UNSUPPORTED_ABI_VERSION.
NO_DEVICE = 100
UNSUPPORTED_ABI = 7801

GET_CUDA = "pip install 'raydb[cuda]'"
GET_RT = "pip install 'raydb[rt]'"


def is_simulated() -> bool:
    """Whether numba runs CUDA kernels in its simulator."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


def obstacle(backend: str) -> str | None:
    """Return why a backend cannot run here, in one sentence that begins with its name, or None."""
    lost = faults.lost.get(backend)
    return lost if lost is not None else _obstacle(backend)


@cache
def _obstacle(backend: str) -> str | None:
    match backend:
        case "cuda":
            return None if is_simulated() else cuda_obstacle("cuda")
        case "rt" | "rt-paper":
            return rt_obstacle()
        case _:
            return None


def forget() -> None:
    """Look again the next time: something may have been installed."""
    _obstacle.cache_clear()


def cuda_obstacle(backend: str) -> str | None:
    """Return why CUDA cannot be used."""
    missing = [name for name in ("cupy", "numba_cuda") if importlib.util.find_spec(name) is None]
    if missing:
        return f"{backend}: {' and '.join(missing)} is not installed ({GET_CUDA})"
    try:
        driver = load_library(CUDA_LIBRARY)
    except OSError:
        return f"{backend}: there is no NVIDIA driver ({CUDA_LIBRARY} is missing)"
    status = driver.cuInit(0)
    if status == NO_DEVICE:
        return f"{backend}: the NVIDIA driver finds no device"
    if status:
        return f"{backend}: the NVIDIA driver does not start (error {status})"
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    found = version.value // 1000, version.value % 1000 // 10
    if found < LEAST_DRIVER:
        return (
            f"{backend}: the NVIDIA driver is for CUDA {found[0]}.{found[1]}, and "
            f"{LEAST_DRIVER[0]}.{LEAST_DRIVER[1]} is the least; install a newer driver"
        )
    return None


def rt_obstacle() -> str | None:
    """Return why OptiX cannot be used: what CUDA needs first, then its module, library and ABI."""
    if importlib.util.find_spec("optix") is None:
        return f"rt: optix is not installed ({GET_RT})"
    reason = cuda_obstacle("rt")
    if reason is not None:
        return reason
    try:
        library = load_library(OPTIX_LIBRARY)
    except OSError:
        return f"rt: the NVIDIA driver has no OptiX ({OPTIX_LIBRARY} is missing)"
    from raydb.kernels.rt.program import find_headers, read_abi  # noqa: PLC0415

    abi = read_abi(find_headers())
    # With a table of no size a driver says that the size is wrong, or that it lacks the ABI.
    if library.optixQueryFunctionTable(abi, 0, None, None, None, 0) == UNSUPPORTED_ABI:
        return (
            f"rt: the NVIDIA driver does not know the OptiX ABI {abi} of the module 'optix'; "
            "install a newer driver or an older module"
        )
    return None


def load_library(name: str) -> ctypes.CDLL:
    """Load a library of the driver. Raises OSError where there is none."""
    return ctypes.CDLL(name)
