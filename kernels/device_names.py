"""What a backend's device is called."""

from __future__ import annotations

from raydb.kernels.choice import open_tracers
from raydb.kernels.device import faults
from raydb.kernels.probe import is_simulated


def describe_device(backend: str) -> str:
    """Return a line on the device that a backend runs on. Raises DeviceError where it is lost."""
    if backend == "cpu":
        return "compiled loops"
    if backend == "cuda" and is_simulated():
        return "numba's simulator: right, but no device"
    with faults.translated(backend):
        import cupy  # noqa: PLC0415  (an extra, there if the backend is)

        properties = cupy.cuda.runtime.getDeviceProperties(0)
        name = properties["name"].decode()
        memory = properties["totalGlobalMem"] / 2**30
        driver = cupy.cuda.runtime.driverGetVersion()
        described = (
            f"{name}, {memory:.1f} GiB, compute capability {properties['major']}."
            f"{properties['minor']}, driver for CUDA {driver // 1000}.{driver % 1000 // 10}"
        )
        return described if backend == "cuda" else f"{described}; {_describe_cores()}"


def _describe_cores() -> str:
    """Return whether rays have hardware of their own."""
    version = open_tracers()[0].core_version
    if not version:
        return "no RT cores, so OptiX traverses in software: for correctness, not for speed"
    return f"RT cores {version / 10:.1f}"
