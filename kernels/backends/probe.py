"""What this machine has of each device backend, found out without importing any of it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from functools import cache
from typing import TYPE_CHECKING

from raydb.kernels.backends.device import DeviceError, faults

if TYPE_CHECKING:
    from collections.abc import Iterator

# numba-cuda, cupy and what they are compiled with ask for a driver of CUDA 13.
MIN_DRIVER = (13, 0)

CUDA_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OPTIX_LIBRARY = "nvoptix.dll" if sys.platform == "win32" else "libnvoptix.so.1"

# What the driver's functions return: CUDA_ERROR_NO_DEVICE, OPTIX_ERROR_UNSUPPORTED_ABI_VERSION.
NO_DEVICE = 100
UNSUPPORTED_ABI = 7801


def is_simulated() -> bool:
    """Whether numba runs CUDA kernels in its simulator."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


def obstacle(backend: str) -> str | None:
    """Return why a backend cannot run here, in one sentence that begins with its name, or None."""
    lost = faults.lost.get(backend)
    return lost if lost is not None else _obstacle(backend)


@cache
def _obstacle(backend: str) -> str | None:
    return next(lacks(backend), None)


def forget() -> None:
    """Look again the next time: something may have been installed."""
    _obstacle.cache_clear()


def lacks(backend: str) -> Iterator[str]:
    """Yield each thing that a backend lacks here, in one sentence that says how to get it."""
    match backend:
        case "cuda":
            yield from () if is_simulated() else cuda_lacks("cuda")
        case "rt" | "rt-paper":
            yield from rt_lacks()


def cuda_lacks(backend: str) -> Iterator[str]:
    """Yield what CUDA lacks: its packages, a driver, a device, a new enough driver."""
    for name in ("cupy", "numba_cuda"):
        if importlib.util.find_spec(name) is None:
            yield f"{backend}: {name} is not installed (pip install 'raydb[{backend}]')"
    try:
        driver = load_library(CUDA_LIBRARY)
    except OSError:
        yield (
            f"{backend}: there is no NVIDIA driver: {CUDA_LIBRARY} is missing (it comes with the "
            "driver of an NVIDIA device)"
        )
        return
    status = driver.cuInit(0)
    if status == NO_DEVICE:
        yield f"{backend}: the NVIDIA driver finds no device (see what nvidia-smi lists)"
    elif status:
        yield f"{backend}: the NVIDIA driver does not start, with error {status} (see nvidia-smi)"
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    found = version.value // 1000, version.value % 1000 // 10
    if not status and found < MIN_DRIVER:
        least = ".".join(map(str, MIN_DRIVER))
        yield (
            f"{backend}: the NVIDIA driver is for CUDA {found[0]}.{found[1]}, and {least} is the "
            "least (install a newer driver, R580 or later)"
        )


def rt_lacks() -> Iterator[str]:
    """Yield what OptiX lacks: its module, what CUDA lacks, the driver's library, the ABI."""
    if importlib.util.find_spec("optix") is None:
        yield "rt: optix is not installed (pip install 'raydb[rt]')"
    yield from cuda_lacks("rt")
    try:
        library = load_library(OPTIX_LIBRARY)
    except OSError:
        yield (
            f"rt: the NVIDIA driver has no OptiX: {OPTIX_LIBRARY} is missing (a driver without "
            "graphics leaves it out; install the full one)"
        )
        return
    from raydb.kernels.backends.rt.program import find_headers, read_abi  # noqa: PLC0415

    try:
        abi = read_abi(find_headers())
    except DeviceError as error:
        yield str(error)
        return
    # With a table of no size a driver says that the size is wrong, or that it lacks the ABI.
    if library.optixQueryFunctionTable(abi, 0, None, None, None, 0) == UNSUPPORTED_ABI:
        yield (
            f"rt: the NVIDIA driver does not know the OptiX ABI {abi} of the module 'optix' "
            "(install a newer driver, or an older pyoptix)"
        )


def load_library(name: str) -> ctypes.CDLL:
    """Load a library of the driver. Raises OSError where there is none."""
    return ctypes.CDLL(name)
