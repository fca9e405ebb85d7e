"""The RT backend's places in the table of backends, one for each encoding of rows as triangles."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache, partial
from typing import TYPE_CHECKING

from raydb.kernels.backends import device
from raydb.kernels.backends.backend import Entry
from raydb.kernels.backends.cuda.entry import cuda_lacks, describe_devices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.kernels.backends.backend import Backend
    from raydb.kernels.backends.rt.scene import Encoding
    from raydb.kernels.backends.rt.tracer import Tracer

OPTIX_LIBRARY = "nvoptix.dll" if sys.platform == "win32" else "libnvoptix.so.1"

# What the driver's functions return: OPTIX_ERROR_UNSUPPORTED_ABI_VERSION.
UNSUPPORTED_ABI = 7801


def rt_lacks() -> Iterator[str]:
    """Yield what OptiX lacks: its module, what CUDA lacks, the driver's library, the ABI."""
    if importlib.util.find_spec("optix") is None:
        yield "rt: optix is not installed (pip install 'raydb[rt]')"
    yield from cuda_lacks("rt")
    try:
        library = device.load_library(OPTIX_LIBRARY)
    except OSError:
        yield (
            f"rt: the NVIDIA driver has no OptiX: {OPTIX_LIBRARY} is missing (a driver without "
            "graphics leaves it out; install the full one)"
        )
        return
    from raydb.kernels.backends.rt.program import find_headers, read_abi  # noqa: PLC0415

    try:
        abi = read_abi(find_headers())
    except device.DeviceError as error:
        yield str(error)
        return
    # With a table of no size a driver says that the size is wrong, or that it lacks the ABI.
    if library.optixQueryFunctionTable(abi, 0, None, None, None, 0) == UNSUPPORTED_ABI:
        yield (
            f"rt: the NVIDIA driver does not know the OptiX ABI {abi} of the module 'optix' "
            "(install a newer driver, or an older pyoptix)"
        )


@cache
def open_tracers() -> tuple[Tracer, ...]:
    """Return what traces rays on each device of this machine."""
    from raydb.kernels.backends.rt import optix_tracer  # noqa: PLC0415  (an extra)

    return optix_tracer.open_tracers()


def _open(encoding: Encoding) -> Backend:
    with device.faults.loading("rt"):
        from raydb.kernels.backends.rt.rt_backend import RtBackend, Scenes  # noqa: PLC0415  (an extra)

        return RtBackend(encoding, [Scenes(tracer) for tracer in open_tracers()])


def _describe() -> str:
    return f"{describe_devices('rt')}; {describe_cores()}"


def describe_cores() -> str:
    """Return whether rays have hardware of their own."""
    with device.faults.translated("rt"):
        version = open_tracers()[0].core_version
    if not version:
        return "no RT cores, so OptiX traverses in software: for correctness, not for speed"
    return f"RT cores {version / 10:.1f}"


# CUDA cores, then the CPU.
_THEN = ("cuda", "cpu")

ENTRY = Entry("rt", "rt", partial(_open, "lanes"), _describe, _THEN, rt_lacks)
PAPER = Entry("rt-paper", "rt", partial(_open, "paper"), _describe, _THEN, rt_lacks)
