"""The CUDA backend's place in the table of backends: what it needs, found without importing it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

from raydb.kernels.backends import device
from raydb.kernels.backends.backend import Entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raydb.kernels.backends.backend import Backend, Search

# numba-cuda, cupy and what they are compiled with ask for a driver of CUDA 13.
MIN_DRIVER = (13, 0)

CUDA_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"

# What the driver's functions return: CUDA_ERROR_NO_DEVICE.
NO_DEVICE = 100


def is_simulated() -> bool:
    """Whether numba runs CUDA kernels in its simulator."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"


def cuda_lacks(backend: str) -> Iterator[str]:
    """Yield what CUDA lacks: its packages, a driver, a device, a new enough driver."""
    for name in ("cupy", "numba_cuda"):
        if importlib.util.find_spec(name) is None:
            yield f"{backend}: {name} is not installed (pip install 'raydb[{backend}]')"
    try:
        driver = device.load_library(CUDA_LIBRARY)
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


def describe_devices(backend: str) -> str:
    """Return a line on the devices that CUDA has. Raises DeviceError where they are lost."""
    with device.faults.translated(backend):
        import cupy  # noqa: PLC0415  (an extra, there if the backend is)

        runtime = cupy.cuda.runtime
        driver = runtime.driverGetVersion()
        names = [
            _describe_properties(runtime.getDeviceProperties(number))
            for number in range(runtime.getDeviceCount())
        ]
        return f"{' and '.join(names)}, driver for CUDA {driver // 1000}.{driver % 1000 // 10}"


def _describe_properties(properties: Mapping[str, Any]) -> str:
    memory = properties["totalGlobalMem"] / 2**30
    return (
        f"{properties['name'].decode()}, {memory:.1f} GiB, compute capability "
        f"{properties['major']}.{properties['minor']}"
    )


def _lacks() -> Iterator[str]:
    yield from () if is_simulated() else cuda_lacks("cuda")


def _describe() -> str:
    return "numba's simulator: right, but no device" if is_simulated() else describe_devices("cuda")


def _open() -> Backend:
    with device.faults.loading("cuda"):
        from raydb.kernels.backends.cuda.cuda_backend import CudaBackend  # noqa: PLC0415  (an extra)

        return CudaBackend()


def _open_search() -> Search:
    with device.faults.loading("cuda"):
        from raydb.kernels.backends.cuda.list_scan import search_on_device  # noqa: PLC0415  (an extra)

        return search_on_device


ENTRY = Entry("cuda", "cuda", _open, _describe, ("cpu",), _lacks, is_simulated, _open_search)
