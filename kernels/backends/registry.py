"""The table of backends: what there are, what this machine lacks for each, how one is opened."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from raydb.kernels.backends.cpu import entry as cpu
from raydb.kernels.backends.cuda import entry as cuda
from raydb.kernels.backends.device import faults
from raydb.kernels.backends.rt import entry as rt

if TYPE_CHECKING:
    from raydb.kernels.backends.backend import Backend, Search

BACKENDS = {entry.name: entry for entry in (cpu.ENTRY, cuda.ENTRY, rt.ENTRY, rt.PAPER)}


@cache
def open_backend(name: str) -> Backend:
    """Import and make a backend. Raises DeviceError for one whose libraries do not load."""
    return BACKENDS[name].open()


def open_search(name: str) -> Search:
    """Import and return a backend's search of vectors. Raises DeviceError as `open_backend`."""
    opener = BACKENDS[name].open_search
    assert opener is not None, name
    return opener()


def obstacle(name: str) -> str | None:
    """Return why a backend cannot run here, in one sentence that begins with its name, or None."""
    return faults.lost.get(BACKENDS[name].setting) or _lack(name)


@cache
def _lack(name: str) -> str | None:
    return next(BACKENDS[name].lacks(), None)


def look_again() -> None:
    """Look for what backends lack the next time: something may have been installed."""
    _lack.cache_clear()
