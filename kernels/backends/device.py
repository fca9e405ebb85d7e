"""Faults of devices, and caches of what lies on them, as all device backends have them."""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections import OrderedDict
from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from raydb.errors import OperationalError
from raydb.running import device_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

T = TypeVar("T")

# What a job writes is not weighed below this, so that a driver is not asked at every launch.
SMALL_BYTES = 2**24


# The packages whose errors are those of a device.
LIBRARIES = {"cupy", "cupy_backends", "numba", "numba_cuda", "cuda", "optix"}


class DeviceError(OperationalError):
    """A device cannot run a job, in one sentence; another backend still can."""


class NotReadyError(DeviceError):
    """A device will run such jobs, which nobody asked it for by name, but not yet."""


class LibraryError(Exception):
    """What a device's library reports that raises no error class of its own."""


class Faults:
    """Which backends are lost to this process, and why: a device does not come back by itself."""

    def __init__(self) -> None:
        self.lost: dict[str, str] = {}
        # One job at a time: what is kept on a device is shared by all connections of the process.
        self._lock = threading.RLock()

    @contextmanager
    def translated(self, backend: str) -> Iterator[None]:
        """Turn what the device's libraries raise into a DeviceError; other threads wait.

        The libraries' own classes are told by module and name: none of them is imported here.
        """
        with self._lock:
            if backend in self.lost:
                raise DeviceError(self.lost[backend])
            try:
                yield
            except DeviceError:
                raise
            except Exception as error:
                library, *modules = type(error).__module__.split(".")
                is_theirs = library in LIBRARIES or isinstance(error, LibraryError)
                raised_in = None if is_theirs else _library_that_raised(error)
                if not (is_theirs or raised_in):
                    raise
                reason = " ".join(str(error).split()) or type(error).__name__
                if _tells_of_memory(reason) or type(error).__name__ == "OutOfMemoryError":
                    raise DeviceError(f"{backend}: the device's memory is full") from error
                if "core" in modules and "errors" in modules:
                    # The kernel of one shape of job; those of others may compile.
                    raise DeviceError(f"{backend}: a kernel does not compile: {reason}") from error
                what = f"{raised_in} does not work here" if raised_in else "the device was lost"
                self.lost[backend] = f"{backend}: {what}: {reason}"
                raise DeviceError(self.lost[backend]) from error

    @contextmanager
    def loading(self, backend: str) -> Iterator[None]:
        """Do as `translated` while a backend is imported: a library may not load."""
        try:
            with self.translated(backend):
                yield
        except ImportError as error:
            raise DeviceError(f"{backend}: a library does not load: {error}") from error


def _tells_of_memory(reason: str) -> bool:
    """Whether an error's text is that of a memory that is full: as a name or in words."""
    return "out of memory" in reason.lower().replace("_", " ")


def _library_that_raised(error: BaseException) -> str | None:
    """Return which of the device's libraries an error of Python's own comes from, if one does.

    One of them that meets a NumPy that it does not know raises AttributeError, say.
    """
    owner, trace = None, error.__traceback__
    while trace is not None:
        package = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0]
        if package == "raydb" or package in LIBRARIES:
            owner = package
        trace = trace.tb_next
    return owner if owner != "raydb" else None


faults = Faults()


def load_library(name: str) -> ctypes.CDLL:
    """Load a library of the driver. Raises OSError where there is none."""
    return ctypes.CDLL(name)


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Make calls at once, each in a thread of its own where there are several, and wait for all.

    They see what the running statement has set. Raises what the first of them that failed raised.
    """
    if len(calls) == 1:
        return [calls[0]()]
    # Few processes have several devices.
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    with ThreadPoolExecutor(len(calls), thread_name_prefix="raydb device") as pool:
        started = [pool.submit(copy_context().run, call) for call in calls]
        return [each.result() for each in started]


class DeviceCache:
    """What was made of host arrays on a device, the least recently used dropped over a budget.

    It goes too when its host array does: what a BVH that was dropped had is given back.
    dropped: how many have left it.
    """

    def __init__(self, free_bytes: Callable[[], int]) -> None:
        self._free_bytes = free_bytes
        self._items: OrderedDict[object, tuple[weakref.ref[Any], Any, int]] = OrderedDict()
        self.dropped = 0

    @property
    def budget_bytes(self) -> int:
        """What all may take together, as the running statement has it."""
        return device_memory().budget(self._free_bytes() + self.size_bytes)

    @property
    def size_bytes(self) -> int:
        """What all take."""
        # A list, because a host array may go while they are added up.
        return sum(size for _, _, size in list(self._items.values()))

    def is_over_limit(self) -> bool:
        """Whether more is there than the running statement may hold; the driver is not asked."""
        limit = device_memory().size_bytes
        return limit is not None and self.size_bytes > limit

    def has(self, key: object) -> bool:
        """Whether something is there."""
        return key in self._items

    def find(self, key: object) -> Any:
        """Return something that is there, and is now the last that was used."""
        self._items.move_to_end(key)
        return self._items[key][1]

    def keep(self, key: object, host: NDArray[Any], made: Any, size_bytes: int) -> None:
        """Keep something as long as a host array is there."""
        gone = weakref.ref(host, lambda _: self._drop(key))
        self._items[key] = gone, made, size_bytes

    def has_room(self, size_bytes: int) -> bool:
        """Whether something that is not kept may take so many bytes, once others have left."""
        if size_bytes <= SMALL_BYTES and device_memory().size_bytes is None:
            return True
        return size_bytes <= self.budget_bytes

    def make_room(self, size_bytes: int, wanted: Collection[object] = ()) -> bool:
        """Drop what was not used for longest until so many bytes may be taken beside the rest.

        Nothing wanted is dropped, and nothing at all where it is no use: then False is returned.
        """
        budget = self.budget_bytes
        kept = sum(self._items[key][2] for key in wanted if key in self._items)
        if kept + size_bytes > budget:
            return False
        for key in [key for key in self._items if key not in wanted]:
            if self.size_bytes + size_bytes <= budget:
                break
            self._drop(key)
        return True

    def clear(self) -> None:
        """Drop all."""
        self.dropped += len(self._items)
        self._items.clear()

    def _drop(self, key: object) -> None:
        self.dropped += self._items.pop(key, None) is not None


class Columns(DeviceCache):
    """Copies of host arrays on a device."""

    def __init__(
        self, upload: Callable[[NDArray[Any]], Any], free_bytes: Callable[[], int]
    ) -> None:
        super().__init__(free_bytes)
        self._upload = upload

    def get(self, *hosts: NDArray[Any]) -> list[Any] | None:
        """Return the copies of some arrays, others being dropped for them; None if they don't fit.

        Where all are there already, the driver is not asked for anything.
        """
        owners = [owner_of(host) for host in hosts]
        wanted = {id(owner): owner for owner in owners}
        missing = {key: host for key, host in wanted.items() if not self.has(key)}
        if missing or self.is_over_limit():
            if not self.make_room(sum(host.nbytes for host in missing.values()), wanted):
                return None
            for key, host in missing.items():
                self.keep(key, host, self._upload(host), host.nbytes)
        return [self.find(id(owner)) for owner in owners]

    def use(self, owners: Iterable[NDArray[Any]]) -> None:
        """Note that some arrays, all of which are there, are used now."""
        for owner in owners:
            self._items.move_to_end(id(owner))


def owner_of(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array that a view of all of it was made of, which lives longer than the view."""
    base = array.base
    if (
        isinstance(base, np.ndarray)
        and base.dtype == array.dtype
        and base.shape == array.shape
        and base.strides == array.strides
    ):
        return base
    return array
