"""A CUDA device for tests, without one: a pytest plugin, to be loaded before RayDB's kernels are.

    pytest -p ptx_device tests/kernels/cuda_in_simulator.py

Kernels are compiled to PTX by numba-cuda itself, for the types of the arguments that a launch has,
and its arguments are laid out as numba-cuda lays them out; the PTX machine runs them. In the place
of cupy is NumPy, over the machine's memory, with addresses of a device. It refuses arrays of the
host where cupy does, but what cupy's own functions compute is NumPy's.
"""

import ctypes
import os
import sys
import threading
from contextlib import nullcontext
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import ptx_machine
from ptx_memory import Memory

SEED = int(os.environ.get("RAYDB_PTX_SEED", "1"))
COMPUTE_CAPABILITY = (8, 0)
MEMORY_BYTES = 2**30

memory = Memory(SEED)
_one_at_a_time = threading.RLock()
_launches = count(1)


class DeviceArray(np.ndarray):
    """An array of the device, with the methods of cupy's that RayDB uses."""

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "strides": None if self.flags.c_contiguous else self.strides,
            "typestr": self.dtype.str,
            "data": (memory.address_of(self), False),
            "version": 3,
        }

    def __array_ufunc__(self, function, method, *inputs, out=(), **options):
        for array in (*inputs, *out):
            if isinstance(array, np.ndarray) and array.ndim and not isinstance(array, DeviceArray):
                raise TypeError(f"an array of the host for {function.__name__} on the device")

        def plain(arrays):
            return tuple(a.view(np.ndarray) if isinstance(a, DeviceArray) else a for a in arrays)

        if out:
            options["out"] = plain(out)
        found = getattr(function, method)(*plain(inputs), **options)
        return out[0] if out else on_device(found)

    def set(self, host):
        assert type(host) is np.ndarray
        self[...] = host

    def get(self, out=None):
        found = np.array(self)
        if out is None:
            return found
        out[...] = found
        return out


def empty(shape, dtype=np.float64):
    shape = (shape,) if np.isscalar(shape) else tuple(shape)
    size_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    with _one_at_a_time:
        buffer, _ = memory.allocate(size_bytes)
    return buffer[:size_bytes].view(dtype).reshape(shape).view(DeviceArray)


def full(shape, value, dtype):
    made = empty(shape, dtype)
    made[...] = value
    return made


def on_device(host):
    host = np.asarray(host)
    return full(host.shape, host.view(np.ndarray), host.dtype)


def _of_numpy(function):
    """A function of NumPy for arrays of the device."""

    def call(*arrays, out=None, **options):
        assert all(isinstance(array, DeviceArray) for array in arrays)
        found = on_device(function(*(array.view(np.ndarray) for array in arrays), **options))
        if out is None:
            return found
        out[...] = found
        return out

    return call


class Event:
    def record(self):
        pass

    def synchronize(self):
        pass


def copy(target, source):
    assert isinstance(source, DeviceArray)
    target[...] = source.view(np.ndarray)


CUPY = SimpleNamespace(
    empty=empty,
    full=full,
    zeros=lambda shape, dtype: full(shape, 0, dtype),
    ones=lambda shape, dtype: full(shape, 1, dtype),
    asarray=on_device,
    **{
        function.__name__: _of_numpy(function)
        for function in (np.argsort, np.cumsum, np.bincount, np.flatnonzero)
    },
    get_default_memory_pool=lambda: SimpleNamespace(free_bytes=lambda: 0),
    cuda=SimpleNamespace(
        Event=Event,
        Device=lambda number: SimpleNamespace(
            attributes={"MultiProcessorCount": 2, "MaxSharedMemoryPerMultiprocessor": 2**17}
        ),
        get_elapsed_time=lambda begin, end: 0.0,
        alloc_pinned_memory=bytearray,
        runtime=SimpleNamespace(
            getDeviceCount=lambda: 1, memGetInfo=lambda: (MEMORY_BYTES, MEMORY_BYTES)
        ),
    ),
)


def launch_compiled(kernel, arguments, grid, block, stream=0, shared_bytes=0):
    """Launch a kernel of numba-cuda, as its own method does."""
    laid_out = []
    for kind, argument in zip(kernel.argument_types, arguments, strict=True):
        kernel._prepare_args(kind, argument, stream, [], laid_out)
    words = [_bytes(each) for each in laid_out]
    _run(kernel._codelibrary.get_asm_str(), words, grid, block, shared_bytes)


def start(text, grid, shared_bytes, _addresses, words):
    """Launch what `launch.function_of` returns here: a kernel's PTX."""
    from raydb.kernels.backends.cuda.compiled import BLOCK_THREADS

    arguments = [int(word).to_bytes(8, "little", signed=True) for word in words]
    _run(text, arguments, (grid, 1, 1), (BLOCK_THREADS, 1, 1), shared_bytes)


def _run(text, words, grid, block, shared_bytes):
    with _one_at_a_time:
        seed = SEED, next(_launches)
        ptx_machine.launch(memory, text, words, grid, block, shared_bytes, seed)


def _bytes(argument):
    """Return an argument as a driver gets it: a Python integer is a pointer's."""
    match argument:
        case bool():
            return bytes(ctypes.c_bool(argument))
        case int():
            return bytes(ctypes.c_int64(argument))
        case ctypes._SimpleCData():
            return bytes(argument)
        case _:
            return int(argument).to_bytes(8, "little")


def install():
    """Make `import cupy` find the functions of this module, and numba-cuda launch here."""
    sys.modules["cupy"] = CUPY
    from numba.cuda import dispatcher
    from numba.cuda.cudadrv import devices

    device = SimpleNamespace(compute_capability=COMPUTE_CAPABILITY)
    context = SimpleNamespace(device=device)
    devices._runtime.get_or_create_context = lambda number=None: context
    devices._runtime.ensure_context = nullcontext
    # To bind a kernel is to give it to a driver.
    dispatcher._Kernel.bind = lambda kernel: None
    dispatcher._Kernel.launch = launch_compiled

    from raydb.kernels.backends.cuda import entry, launch

    def text_of(shape, kinds, _number):
        return launch.compile_for(shape, kinds)._codelibrary.get_asm_str()

    launch.function_of, launch.start = text_of, start

    from raydb.kernels.backends.cuda import memory as cuda_memory

    cuda_memory.copier = lambda target, source: partial(copy, target, source)
    cuda_memory.wait = lambda: None
    entry.cuda_lacks = lambda backend: iter(())


def pytest_report_header():
    return f"ptx machine: RAYDB_PTX_SEED={SEED}"


install()
