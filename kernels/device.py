"""What the device backends share: their faults, and the columns that they keep on the device."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from raydb.errors import OperationalError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# The rest of a device's memory is for results, for what a build sorts and for other programs.
BUDGET_SHARE = 0.8


class DeviceError(OperationalError):
    """A device cannot run a job, in one sentence; another backend still can."""


class Faults:
    """Which backends are lost to this process, and why: a device does not come back by itself."""

    def __init__(self) -> None:
        self.lost: dict[str, str] = {}

    @contextmanager
    def translated(self, backend: str) -> Iterator[None]:
        """Turn what the device's libraries raise into a DeviceError.

        The libraries' own classes are told by module and name: none of them is imported here.
        """
        if backend in self.lost:
            raise DeviceError(self.lost[backend])
        try:
            yield
        except DeviceError:
            raise
        except Exception as error:
            kind = type(error)
            if kind.__name__ == "OutOfMemoryError" or "OUT_OF_MEMORY" in str(error):
                raise DeviceError(f"{backend}: the device's memory is full") from error
            library = kind.__module__.split(".")[0]
            if library not in {"cupy", "cupy_backends", "numba", "numba_cuda", "cuda", "optix"}:
                raise
            reason = " ".join(str(error).split()) or kind.__name__
            self.lost[backend] = f"{backend}: the device was lost: {reason}"
            raise DeviceError(self.lost[backend]) from error


faults = Faults()


class Columns:
    """Copies of host arrays on the device, the least recently used ones dropped over a budget.

    A copy goes too when its host array does: what a BVH that was dropped had is given back.
    """

    def __init__(
        self, upload: Callable[[NDArray[Any]], Any], free_bytes: Callable[[], int]
    ) -> None:
        self._upload = upload
        self._free_bytes = free_bytes
        self._copies: OrderedDict[int, tuple[weakref.ref[Any], Any, int]] = OrderedDict()
        self.limit_bytes: int | None = None

    @property
    def budget_bytes(self) -> int:
        """What all copies may take together."""
        if self.limit_bytes is not None:
            return self.limit_bytes
        return int(BUDGET_SHARE * (self._free_bytes() + self.size_bytes))

    @property
    def size_bytes(self) -> int:
        """What the copies take."""
        return sum(size for _, _, size in self._copies.values())

    def get(self, *hosts: NDArray[Any]) -> list[Any]:
        """Return the copies of some arrays, which must fit together: see `fits`."""
        self._make_room(hosts)
        found = []
        for host in hosts:
            key = id(host)
            copy = self._copies.pop(key, None)
            if copy is None:
                gone = weakref.ref(host, lambda _, key=key: self._copies.pop(key, None))  # type: ignore[misc]
                copy = gone, self._upload(host), host.nbytes
            self._copies[key] = copy
            found.append(copy[1])
        return found

    def fits(self, *hosts: NDArray[Any]) -> bool:
        """Whether some arrays fit the budget if all others are dropped."""
        return sum({id(host): host.nbytes for host in hosts}.values()) <= self.budget_bytes

    def clear(self) -> None:
        """Drop all copies."""
        self._copies.clear()

    def _make_room(self, hosts: tuple[NDArray[Any], ...]) -> None:
        wanted = {id(host): host.nbytes for host in hosts}
        missing = sum(size for key, size in wanted.items() if key not in self._copies)
        budget = self.budget_bytes
        for key in [key for key in self._copies if key not in wanted]:
            if self.size_bytes + missing <= budget:
                return
            del self._copies[key]
