"""The databases that this process has open for writing: a second connection joins the first.

    share(path, begin)      a user of the database that is open already, or is opened now
    leave(user)             it is closed with the last of its users

A database is known by its directory itself, whatever path leads there. The table holds nothing
open: where all connections are dropped without being closed, the database is given back as well.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol, TypeVar
from weakref import WeakValueDictionary

from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.catalog.store import Store
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.durable.filesystem import reported
from raydb.storage.objects.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.objects.database_objects import DatabaseObjects


class User(Protocol):
    """A session, or what else works with a database."""

    def close(self) -> None:
        """Leave it."""


T = TypeVar("T", bound=User)

# A session that closes leaves the databases that are attached to it as well.
_opening = threading.RLock()
_open: WeakValueDictionary[tuple[int, int] | str, SharedDatabase] = WeakValueDictionary()


def share(path: str, begin: Callable[[SharedDatabase], T]) -> T:
    """Return a user of the database at a path, which is opened for writing unless it is already.

    Raises what `DatabaseDirectory.open` does.
    """
    with _opening:
        shared = _find(path)
        if shared is not None:
            return begin(shared)
        opened: list[SharedDatabase] = []

        def note(shared: SharedDatabase) -> T:
            opened.append(shared)
            return begin(shared)

        user = open_alone(path, note, read_only=False)
        try:
            with reported(f"database '{path}' cannot be opened"):
                _open[_identity(path)] = opened[0]
        except BaseException:
            user.close()
            raise
        return user


def open_alone(path: str, begin: Callable[[SharedDatabase], T], *, read_only: bool) -> T:
    """Return a user of a database that is opened now."""
    directory = _open_store(path, read_only=read_only)
    try:
        return begin(SharedDatabase(Store(directory)))
    except BaseException:
        directory.close()
        raise


def _open_store(path: str, *, read_only: bool) -> DatabaseDirectory | DatabaseObjects:
    if not is_url(path):
        return DatabaseDirectory.open(path, read_only=read_only)
    # Few databases are in an object store.
    from raydb.storage.objects.database_objects import DatabaseObjects  # noqa: PLC0415

    return DatabaseObjects.open(path, read_only=read_only)


def leave(user: User) -> None:
    """Let a user leave. Nobody else opens a database meanwhile, and finds it half closed."""
    with _opening:
        user.close()


def _find(path: str) -> SharedDatabase | None:
    """Return the database at a path, if it is open for writing and still what is there."""
    with suppress(OSError):
        shared = _open.get(_identity(path))
        if shared is not None and not shared.is_closed and shared.is_in_place:
            return shared
    return None


def _identity(path: str) -> tuple[int, int] | str:
    """Return what tells a directory from all others; a URL is that itself."""
    if is_url(path):
        return path.rstrip("/")
    status = os.stat(path)  # noqa: PTH116  (a Path costs 5 us)
    return status.st_dev, status.st_ino


def _forget() -> None:
    """Begin anew in a process that was forked: what is open belongs to its parent."""
    global _opening  # noqa: PLW0603  (another thread may have held it)
    _opening = threading.RLock()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
