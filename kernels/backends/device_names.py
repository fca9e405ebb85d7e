"""What a backend's device is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.kernels.backends.choice import open_tracers
from raydb.kernels.backends.device import faults
from raydb.kernels.backends.probe import is_simulated

if TYPE_CHECKING:
    from collections.abc import Mapping


def describe_device(backend: str) -> str:
    """Return a line on the devices that a backend runs on. Raises DeviceError where it is lost."""
    if backend == "cpu":
        return "compiled loops"
    if backend == "cuda" and is_simulated():
        return "numba's simulator: right, but no device"
    with faults.translated(backend):
        import cupy  # noqa: PLC0415  (an extra, there if the backend is)

        runtime = cupy.cuda.runtime
        driver = runtime.driverGetVersion()
        names = [
            _describe_properties(runtime.getDeviceProperties(number))
            for number in range(runtime.getDeviceCount())
        ]
        described = f"{' and '.join(names)}, driver for CUDA {driver // 1000}.{driver % 1000 // 10}"
        return described if backend == "cuda" else f"{described}; {_describe_cores()}"


def _describe_properties(properties: Mapping[str, Any]) -> str:
    memory = properties["totalGlobalMem"] / 2**30
    return (
        f"{properties['name'].decode()}, {memory:.1f} GiB, compute capability "
        f"{properties['major']}.{properties['minor']}"
    )


def _describe_cores() -> str:
    """Return whether rays have hardware of their own."""
    version = open_tracers()[0].core_version
    if not version:
        return "no RT cores, so OptiX traverses in software: for correctness, not for speed"
    return f"RT cores {version / 10:.1f}"
