"""Launches of jobs' kernels: machine code that is kept, and arguments that are laid out once.

numba-cuda compiles a kernel; it looks at every argument of every launch, for a hundred microseconds
together, so the driver is asked without it. An argument is a word of 64 bits, an array seven of
them, as numba-cuda lays them out for C-contiguous arrays of one dimension:

    no owner, no parent, number of values, bytes of a value, address, number of values, stride
"""

from __future__ import annotations

import hashlib
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.np import numpy_support

from raydb import running
from raydb.kernels import code_cache
from raydb.kernels.backends.cuda.compiled import BLOCK_THREADS, SIMULATED, kernel
from raydb.kernels.backends.device import LibraryError, NotReadyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.kernels.backends.cuda.source import Shape

    # Of each argument the type of an array's values, None for a number.
    Kinds = tuple[np.dtype[Any] | None, ...]

if not SIMULATED:
    import cupy
    from cuda.bindings import driver

WORD_BYTES = 8

# How long a query waits for a kernel that may have been kept, in seconds.
KEPT_S = 0.01


def bind(
    shape: Shape, device_number: int, grid: int, shared_bytes: int, arguments: Sequence[Any]
) -> Callable[[], None]:
    """Return what launches a shape's kernel with some arguments in the default stream.

    arguments: integers and device arrays, which must stay where they are. The kernel is compiled
    at its first use on this machine, for some seconds: in the background where nobody has named the
    device, and then NotReadyError is raised until it is there. Raises what numba-cuda and the
    driver do.
    """
    if SIMULATED:
        return partial(kernel(shape)[grid, BLOCK_THREADS, 0, shared_bytes], *arguments)
    kinds = tuple(None if isinstance(each, int) else each.dtype for each in arguments)
    if _is_auto():
        check_compiled(shape, kinds, device_number)
    return Launch(function_of(shape, kinds, device_number), grid, shared_bytes, arguments)


class Launch:
    """A kernel with its arguments, to be launched again and again."""

    __slots__ = ("_addresses", "_first_address", "_function", "_grid", "_shared_bytes", "_words")

    def __init__(
        self, function: Any, grid: int, shared_bytes: int, arguments: Sequence[Any]
    ) -> None:
        self._function, self._grid, self._shared_bytes = function, grid, shared_bytes
        words: list[int] = []
        for each in arguments:
            words += [each] if isinstance(each, int) else _words_of(each)
        self._words = np.array(words, np.int64)
        offsets = WORD_BYTES * np.arange(len(words), dtype=np.uint64)
        self._addresses = offsets + np.uint64(self._words.ctypes.data)
        self._first_address = self._addresses.ctypes.data

    def __call__(self) -> None:
        """Launch; returns before the device is done."""
        start(self._function, self._grid, self._shared_bytes, self._first_address, self._words)


def start(
    function: Any, grid: int, shared_bytes: int, addresses: int, words: np.ndarray[Any, Any]
) -> None:
    """Ask the driver to launch a function; `addresses` points to the addresses of the words."""
    del words
    (status,) = driver.cuLaunchKernel(
        function, grid, 1, 1, BLOCK_THREADS, 1, 1, shared_bytes, 0, addresses, 0
    )
    if status:
        raise LibraryError(f"{status.name} where a kernel is launched")


def _words_of(array: Any) -> list[int]:
    """Return an array of one dimension as numba-cuda passes it."""
    described = array.__cuda_array_interface__
    (count,) = described["shape"]
    address = described["data"][0] or 0
    item_bytes = array.dtype.itemsize
    return [0, 0, count, item_bytes, address, count, item_bytes]


def _is_auto() -> bool:
    """Whether the device was chosen by costs, and not by name."""
    statement = running.current.get()
    if statement is None or statement.setting is None:
        return False
    return statement.setting("backend") == "auto"


_compiling: dict[tuple[Shape, Kinds], Future[Any]] = {}


def check_compiled(shape: Shape, kinds: Kinds, device_number: int) -> None:
    """Raise NotReadyError while a kernel is compiled in the background, then what went wrong."""
    key = shape, kinds
    if key not in _compiling:
        capability = _capability(device_number)
        _compiling[key] = _compiler().submit(_machine_code, shape, kinds, capability)
        # What was kept is there at once.
        wait([_compiling[key]], KEPT_S)
    if not _compiling[key].done():
        raise NotReadyError("cuda: the kernel for such jobs is being compiled")
    # One that does not compile is not tried again by every query.
    _compiling[key].result()


@cache
def _compiler() -> ThreadPoolExecutor:
    """Return the thread that compiles in the background."""
    return ThreadPoolExecutor(1, thread_name_prefix="raydb kernels")


@cache
def _capability(device_number: int) -> str:
    found: str = cupy.cuda.Device(device_number).compute_capability
    return found


@cache
def function_of(shape: Shape, kinds: Kinds, device_number: int) -> Any:
    """Return a kernel as the driver has it on a device, which is the current one."""
    code, name = _machine_code(shape, kinds, _capability(device_number))
    module = _known(driver.cuModuleLoadData(code))
    return _known(driver.cuModuleGetFunction(module, name.encode()))


def _known(found: tuple[Any, Any]) -> Any:
    """Return what the driver gave beside its status."""
    status, value = found
    if status:
        raise LibraryError(f"{status.name} where a kernel is loaded")
    return value


@cache
def _machine_code(shape: Shape, kinds: Kinds, capability: str) -> tuple[bytes, str]:
    """Return a kernel's machine code and its name there, kept between processes."""
    toolchain = f"cuda-{version('numba-cuda')}-{capability}"
    text = repr((code_cache.sources_hash(), shape, kinds))
    loop = f"kernel-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    kept = code_cache.load(toolchain, loop)
    if kept is not None:
        name, _, code = kept.partition(b"\0")
        return code, name.decode()
    compiled = compile_for(shape, kinds)
    found = compiled._codelibrary.get_cubin()  # noqa: SLF001
    code = bytes(found.code)
    code_cache.save(toolchain, loop, compiled.entry_name.encode() + b"\0" + code)
    return code, compiled.entry_name


def compile_for(shape: Shape, kinds: Kinds) -> Any:
    """Return numba-cuda's kernel of a shape, for arguments of some kinds."""
    signature = tuple(
        types.int64 if kind is None else types.Array(numpy_support.from_dtype(kind), 1, "C")
        for kind in kinds
    )
    return kernel(shape).compile(signature)
