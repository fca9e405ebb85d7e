"""Devices and their memory: cupy's on a device, NumPy's in numba's simulator.

The only place that tells the two apart: `xp` has the functions that both share, under the same
names.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.cuda.compiled import SIMULATED, cuda
from raydb.kernels.backends.device import Columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

if SIMULATED:
    xp: Any = np
else:
    import cupy

    xp = cupy

# A thread loads four values at once, so a column's last four are there even if they are not rows.
UNIT_ROWS = 4

# What the simulator says that it has: memory, multiprocessors, and shared memory of each.
SIMULATED_BYTES = 2**30
SIMULATED_MULTIPROCESSORS = 2
SIMULATED_SHARED_BYTES = 2**16

# All of us work in the device's default stream.
DEFAULT_STREAM = 0

# While a measured kernel's launch is being prepared, the device waits about so long: see `Clock`.
LEAD_STEPS = 16
LEAD_STEP_NS = 50_000


class Device:
    """A device by its number, and the columns that are kept on it.

    multiprocessors, shared_bytes: how many it has, and the shared memory of each.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.columns = Columns(upload, self.free_bytes)
        self.multiprocessors, self.shared_bytes = SIMULATED_MULTIPROCESSORS, SIMULATED_SHARED_BYTES
        if not SIMULATED:
            known = xp.cuda.Device(number).attributes
            self.multiprocessors = known["MultiProcessorCount"]
            self.shared_bytes = known["MaxSharedMemoryPerMultiprocessor"]

    def current(self) -> AbstractContextManager[None]:
        """Make it the current device of this thread, for cupy and for numba."""
        # One alone is current everywhere.
        return nullcontext() if SIMULATED or len(devices()) == 1 else _current(self.number)

    def free_bytes(self) -> int:
        """Return how many of its bytes are free, cupy's own reserve among them; it is current."""
        if SIMULATED:
            return SIMULATED_BYTES
        free: int = xp.cuda.runtime.memGetInfo()[0]
        return free + int(xp.get_default_memory_pool().free_bytes())


@contextmanager
def _current(number: int) -> Iterator[None]:
    with cuda.gpus[number], xp.cuda.Device(number):
        yield


@cache
def devices() -> tuple[Device, ...]:
    """Return all devices that the driver shows to this process; the simulator has one."""
    count = 1 if SIMULATED else xp.cuda.runtime.getDeviceCount()
    return tuple(map(Device, range(count)))


def upload(host: NDArray[Any]) -> Any:
    """Copy a host array to the current device, as kernels take it; bool becomes int8.

    Behind the values there is room to a multiple of four, which kernels load and do not use. Rows
    of two dimensions get zeros to a multiple of four each, and follow each other.
    """
    values = host.view(np.int8) if host.dtype == np.bool_ else host
    if values.ndim == 2:
        rows = xp.zeros((len(values), -(-values.shape[1] // UNIT_ROWS) * UNIT_ROWS), values.dtype)
        rows[:, : values.shape[1]] = send(values)
        return argument(rows.reshape(-1))
    padded = xp.empty(-(-len(values) // UNIT_ROWS) * UNIT_ROWS, values.dtype)
    padded[len(values) :] = 0
    if SIMULATED:
        padded[: len(values)] = values
    elif len(values):
        padded[: len(values)].set(np.ascontiguousarray(values))
    return argument(padded[: len(values)])


def send(host: NDArray[Any]) -> Any:
    """Copy a host array to the current device, for the functions of `xp`."""
    sent = xp.asarray(np.ascontiguousarray(host))
    return sent.copy() if SIMULATED else sent


def argument(array: Any) -> Any:
    """Return an array of `xp` as a kernel takes it: numba's own view, which launches faster.

    All of us work in one stream, so there is nothing to wait for.
    """
    return array if SIMULATED else cuda.as_cuda_array(array, sync=False)


def to_host(array: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Copy a device array to the host, into `out` where it is given."""
    if SIMULATED:
        host: NDArray[Any] = array
    else:
        host = array.get() if out is None else array.get(out=out)
    if out is None or host is out:
        return host
    out[...] = host
    return out


class Words:
    """Words on the device that a kernel changes (int64, of any shape), and what they begin with."""

    def __init__(self, first: NDArray[np.int64]) -> None:
        self._host = first
        self.device = send(first)
        self._begin: Callable[[], None] | None = None
        self._fetch: Callable[[], None] | None = None
        self._received = first

    def keep(self) -> None:
        """Get ready to begin again and again, without memory that is asked for each time."""
        self._received = pinned(self._host)
        self._begin = copier(self.device, send(self._host))
        self._fetch = copier(self._received, self.device)

    def begin(self) -> None:
        """Let them be what they begin with, in the order of the device's stream; they are kept."""
        assert self._begin is not None
        self._begin()

    def fetch(self) -> NDArray[np.int64]:
        """Wait for the device, and return a copy of the words."""
        if self._fetch is None:
            found = to_host(self.device)
            return found.copy() if SIMULATED else found
        self._fetch()
        wait()
        return self._received.copy()


def pinned(like: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the host that a device writes without a copy in between."""
    if SIMULATED:
        return np.empty_like(like)
    memory = xp.cuda.alloc_pinned_memory(like.nbytes)
    return np.frombuffer(memory, like.dtype, like.size).reshape(like.shape)


def copier(target: Any, source: Any) -> Callable[[], None]:
    """Return what copies between two arrays, of which the source is on the device.

    It does not wait; cupy's own functions look at both arrays at each call.
    """
    if SIMULATED:
        return partial(np.copyto, target, source)
    runtime = xp.cuda.runtime
    is_host = isinstance(target, np.ndarray)
    kind = runtime.memcpyDeviceToHost if is_host else runtime.memcpyDeviceToDevice
    address = target.ctypes.data if is_host else target.data.ptr

    def copy(_kept: tuple[Any, Any] = (target, source)) -> None:
        runtime.memcpyAsync(address, source.data.ptr, source.nbytes, kind, DEFAULT_STREAM)

    return copy


def wait() -> None:
    """Wait for all that the device was given."""
    if not SIMULATED:
        xp.cuda.runtime.streamSynchronize(DEFAULT_STREAM)


class Clock:
    """Measures the time between two points of the device's stream, with events.

    is_exact: the device is kept busy until the launch has been prepared, so that what the host
    takes for it is not counted. It makes every job longer, and is for benchmarks.
    """

    is_exact = False

    def __init__(self) -> None:
        self._events = () if SIMULATED else (xp.cuda.Event(), xp.cuda.Event())

    def start(self) -> None:
        """Note the first point."""
        if self._events:
            if Clock.is_exact:
                _idle_kernel()[1, 1](LEAD_STEPS, LEAD_STEP_NS)
            self._events[0].record()

    def stop(self) -> None:
        """Note the time when the device has done what it was given so far."""
        if self._events:
            self._events[1].record()

    def elapsed_ms(self) -> float:
        """Return the milliseconds between the two points, when the device has been waited for.

        The simulator's threads have no time of their own: 0.0.
        """
        if not self._events:
            return 0.0
        elapsed: float = xp.cuda.get_elapsed_time(*self._events)
        return elapsed


def idle(times: int, duration_ns: int) -> None:
    """Sleep some times for some nanoseconds: a kernel."""
    for _ in range(times):
        cuda.nanosleep(duration_ns)


@cache
def _idle_kernel() -> Any:
    return cuda.jit("void(int32, uint32)")(idle)
