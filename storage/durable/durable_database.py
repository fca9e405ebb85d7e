"""What databases on disk and in object stores have in common, as the engine uses them."""

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING

from raydb.errors import InterfaceError, OperationalError
from raydb.storage.durable.manifest import Manifest
from raydb.storage.durable.refusals import forked
from raydb.storage.durable.version import Place
from raydb.storage.durable.wal import Tail, WalWriter

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.durable.version import Version
    from raydb.storage.durable.wal import Entry


class DurableDatabase:
    """A database that outlives its process: `DatabaseDirectory`, `DatabaseObjects`.

    local_folder: where temporary files may lie beside it.
    """

    # Larger changes go to files of their own instead of the log; a longer log is worth a new
    # manifest, as replaying it would delay the next open.
    most_logged_bytes = 1 << 22
    most_log_bytes = 1 << 26

    local_folder: str | None = None

    def __init__(self, name: str, *, read_only: bool) -> None:
        """Prepare a database that messages call `name`, and that shows nothing yet."""
        self.read_only = read_only
        self._name = name
        self._process = os.getpid()
        self._mutex = threading.RLock()  # one commit, collection or refresh at a time
        self._closed = False
        self._writer = WalWriter()
        self._place = Place.of(Manifest(0, 0, {}, b""), Tail((), 0, 0, 0))

    @property
    def shown(self) -> Version:
        """Version, state, records and files that belong together, whatever another thread does."""
        return self._place.shown

    @property
    def version(self) -> int:
        """The version of the manifest; a new database has version 1."""
        return self.shown.version

    @property
    def log_bytes(self) -> int:
        """The size of the log: how much the next open must replay."""
        return self._place.tail.end if self.read_only else self._writer.end

    @property
    def shown_commit(self) -> str:
        """Which commit is shown: the random number of its log, and where in it the commit ends."""
        return f"{self._place.manifest.log_id:016x}-{self.log_bytes}"

    @property
    def failures(self) -> int:
        """How many appends have failed so far."""
        return self._writer.failures

    @property
    def takes_records(self) -> bool:
        """Whether the log takes records, as it does not once nobody knows what it holds."""
        return self._writer.is_settled

    @property
    def is_overtaken(self) -> bool:
        """Whether another writer has made a version, which `refresh` reads."""
        return False

    def prepare(self) -> None:
        """Bring what opening the files of the version that is shown reads."""

    def refresh_later(self) -> Callable[[], bool] | None:
        """Ask whether there is a newer version, where that takes a while.

        Returns the function that waits for the answer, moves to that version and tells whether
        there was one; None where `refresh` is to be called before anything is read.
        """
        return None

    def sweep(self) -> list[str]:
        """Remove what is kept for readers that nobody knows; return the names."""
        return []

    def append(self, record: bytes) -> None:
        """Add a record to the log, durable when this returns; see `queue`."""
        wait = self.queue(record)
        assert wait is not None
        wait()

    def queue(
        self,
        record: bytes,
        published: Callable[[], None] | None = None,
        failures: int | None = None,
    ) -> Callable[[], None] | None:
        """Give a record its place in the log; what is returned waits until it is durable.

        published, failures: see `WalWriter.queue`. Raises DataError for more than 1 GiB. After
        OperationalError the record is not in the log, and the next append works; except where what
        was written could not be undone, which the error says: appends then raise until a commit
        succeeds (the record is gone) or the database is opened again (it is there or not). The same
        holds after an interrupt at a bad moment.
        """
        self._check_writer()
        entry = self._writer.queue(record, published, failures)
        return None if entry is None else partial(self._wait, entry)

    def _wait(self, entry: Entry) -> None:
        try:
            self._writer.wait(entry, self._acknowledge)
        except OperationalError as error:
            raise OperationalError(f"database '{self._name}' cannot append: {error}") from error

    def drain(self) -> None:
        """Return when no record waits to become durable."""
        self._writer.drain(self._acknowledge)

    def _acknowledge(self, size: int) -> None:
        """Say that so many bytes of the log are durable, where writing them has not said it."""

    def check_process(self) -> None:
        """Raise InterfaceError in a process that was forked from the one that opened it."""
        if os.getpid() != self._process:
            raise forked(self._name)

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError(f"database '{self._name}' is closed")

    def _check_writer(self) -> None:
        self._check_open()
        if self.read_only:
            raise InterfaceError(f"database '{self._name}' is open for reading only")
        self.check_process()
