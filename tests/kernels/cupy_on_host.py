"""What the OptiX tracer asks of cupy, over memory of the host: a stand-in for a test."""

import sys
from types import SimpleNamespace

import numpy as np

# The alignment of cupy's own allocations.
ALIGNMENT = 512


class Array:
    """A device array, with its memory aligned as cupy aligns it."""

    def __init__(self, values):
        values = np.ascontiguousarray(values)
        self.memory = np.empty(values.nbytes + ALIGNMENT, np.uint8)
        first = -self.memory.ctypes.data % ALIGNMENT
        self.host = self.memory[first : first + values.nbytes].view(values.dtype)
        self.host[...] = values.ravel()
        self.data = SimpleNamespace(ptr=self.host.ctypes.data if len(self.host) else 0)
        self.dtype, self.nbytes, self.shape = values.dtype, values.nbytes, values.shape

    def get(self):
        return self.host.reshape(self.shape).copy()

    def __getitem__(self, index):
        return Array(self.get()[index])

    def __add__(self, other):
        return Array(self.get() + other.get())


class Event:
    def record(self):
        pass

    def synchronize(self):
        pass


class Device:
    compute_capability = "80"

    def __init__(self, number=0):
        assert number == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def alloc(size_bytes):
    made = Array(np.zeros(size_bytes, np.uint8))
    return SimpleNamespace(ptr=made.data.ptr, kept=made)


def install():
    """Make `import cupy` find the functions of this module."""
    sys.modules["cupy"] = SimpleNamespace(
        asarray=Array,
        zeros=lambda count, dtype: Array(np.zeros(count, dtype)),
        full=lambda count, value, dtype: Array(np.full(count, value, dtype)),
        get_default_memory_pool=lambda: SimpleNamespace(free_bytes=lambda: 0),
        cuda=SimpleNamespace(
            alloc=alloc,
            Device=Device,
            Event=Event,
            Stream=SimpleNamespace(null=SimpleNamespace(ptr=0, synchronize=lambda: None)),
            get_elapsed_time=lambda begin, end: 0.0,
            runtime=SimpleNamespace(
                free=lambda place: None,
                driverGetVersion=lambda: 13_000,
                getDeviceCount=lambda: 1,
                memGetInfo=lambda: (2**30, 2**30),
            ),
        ),
    )
