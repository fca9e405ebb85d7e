"""Device memory: cupy's on a device, NumPy's in numba's simulator. The only place that tells them.

`xp` has the functions that both share, under the same names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.cuda.compiled import SIMULATED
from raydb.kernels.device import Columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

if SIMULATED:
    xp: Any = np
else:
    import cupy

    xp = cupy

# A thread loads four values at once, so a column's last four are there even if they are not rows.
UNIT_ROWS = 4

# What the simulator says that it has.
SIMULATED_BYTES = 2**30


def upload(host: NDArray[Any]) -> Any:
    """Copy a host array to the device, with room to a multiple of four values; bool as int8."""
    values = host.view(np.int8) if host.dtype == np.bool_ else host
    padded = xp.zeros(-(-len(values) // UNIT_ROWS) * UNIT_ROWS, values.dtype)
    if SIMULATED:
        padded[: len(values)] = values
    else:
        padded[: len(values)].set(np.ascontiguousarray(values))
    return padded


def to_host(array: Any) -> NDArray[Any]:
    """Copy a device array to the host."""
    host: NDArray[Any] = array if SIMULATED else array.get()
    return host


def free_bytes() -> int:
    """Return how many bytes of the device are free, cupy's own reserve among them."""
    if SIMULATED:
        return SIMULATED_BYTES
    free: int = xp.cuda.runtime.memGetInfo()[0]
    return free + int(xp.get_default_memory_pool().free_bytes())


class Clock:
    """Measures the time between two points of the device's stream, with events."""

    def __init__(self) -> None:
        self._events = () if SIMULATED else (xp.cuda.Event(), xp.cuda.Event())
        if self._events:
            self._events[0].record()

    def stop(self) -> float:
        """Wait for the device and return the milliseconds since the clock was made.

        The simulator's threads have no time of their own: 0.0.
        """
        if not self._events:
            return 0.0
        self._events[1].record()
        self._events[1].synchronize()
        elapsed: float = xp.cuda.get_elapsed_time(*self._events)
        return elapsed


columns = Columns(upload, free_bytes)
