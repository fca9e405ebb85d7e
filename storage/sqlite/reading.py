"""Reads of an SQLite file: one connection, which sees one version of the file at a time."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from raydb.errors import DatabaseError, DataError, Error, OperationalError
from raydb.interrupts import check_interrupt
from raydb.running import Interrupt
from raydb.storage.sqlite.locked import LockedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    Row = tuple[object, ...]

# Others that write hold a file of SQLite for moments.
_WAIT_S = 5.0
_PAUSE_S = 0.02

# So many steps of SQLite's machine take about a millisecond.
_STEPS = 100_000

_BATCH_ROWS = 10_000


class Reading:
    """A connection for reading. version: of the file; None before the first transaction.

    path: as messages have it. file: where the file is, whatever the working directory.
    """

    def __init__(self, path: str, file: Path) -> None:
        self.path, self._file = path, file
        self.version: int | None = None
        self.open_cursors = 0
        self._process = os.getpid()
        self._identity = self._find()
        uri = f"{file.as_uri()}?mode=ro"
        with self._reported():
            self._connection = sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False, timeout=0
            )
            self._connection.set_progress_handler(_is_interrupted, _STEPS)

    @property
    def is_usable(self) -> bool:
        """Whether it can go to another version: no rows of this one are still to be read.

        A connection cannot be used in a process that was forked, and reads a file to the end that
        another one has taken the place of. Raises OperationalError where there is none.
        """
        is_same = self._find() == self._identity
        return is_same and not self.open_cursors and self._process == os.getpid()

    def _find(self) -> tuple[int, int]:
        """Return what tells the file from all others."""
        try:
            status = self._file.stat()
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OperationalError(f"{self._what} cannot be read: {reason}") from None
        return status.st_dev, status.st_ino

    def begin(self, *, waits: bool) -> int:
        """Begin a transaction, and return the version of the file that it reads.

        waits: whether it waits for others that write. Raises LockedError where they take too long.
        """
        end = time.monotonic() + (_WAIT_S if waits else 0)
        while True:
            try:
                with self._reported():
                    self._connection.execute("BEGIN")
                    self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                    (version,) = self._connection.execute("PRAGMA data_version").fetchone()
                return int(version)
            except LockedError:
                self.end()
                if time.monotonic() >= end:
                    raise
                check_interrupt()
                time.sleep(_PAUSE_S)
            except BaseException:
                self.end()
                raise

    def end(self) -> None:
        """End the transaction, if there is one."""
        if self._process == os.getpid() and self._connection.in_transaction:
            with self._reported():
                self._connection.execute("COMMIT")

    def rows(self, query: str) -> list[Row]:
        """Return the rows of a short query within the transaction."""
        with self._reported():
            return self._connection.execute(query).fetchall()

    def batches(self, query: str, table: str) -> Iterator[Sequence[Row]]:
        """Yield the rows of a query on the version that was read last, some at a time.

        table: what it reads. Raises DataError naming a column with a text that is not UTF-8, and
        OperationalError where others have changed the file since, and no transaction has kept that
        version.
        """
        if self._process != os.getpid():
            raise OperationalError(f"{self._what} was opened before this process was forked")
        begins = not self._connection.in_transaction
        if begins and self.begin(waits=True) != self.version:
            self.end()
            raise OperationalError(f"{self._what} was changed while it was read; try again")
        self.open_cursors += 1
        try:
            with self._reported(table):
                cursor = self._connection.execute(query)
                while batch := cursor.fetchmany(_BATCH_ROWS):
                    check_interrupt()
                    yield batch
        finally:
            self.open_cursors -= 1
            if begins:
                self.end()

    def close(self) -> None:
        """Close the file, unless this is a copy in a process that was forked."""
        if self._process == os.getpid():
            self._connection.close()

    @property
    def _what(self) -> str:
        return f"SQLite database '{self.path}'"

    @contextmanager
    def _reported(self, table: str = "") -> Iterator[None]:
        """Raise what SQLite raises as an error that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            check_interrupt()
            raise self._error(error, table) from None

    def _error(self, error: sqlite3.Error, table: str) -> Error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        reason = str(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LockedError(f"{self._what} is locked by another program; try again")
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            return DatabaseError(f"{self._what} cannot be read: {reason}")
        if "decode" in reason:
            column = re.search("column '(.*?)' with text", reason)
            place = f", table '{table}', column '{column[1]}'" if table and column else ""
            return DataError(f"{self._what}{place} has a text that is not UTF-8")
        return OperationalError(f"{self._what} cannot be read: {reason}")


def _is_interrupted() -> int:
    try:
        check_interrupt()
    except Interrupt:
        return 1
    return 0
