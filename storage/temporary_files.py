"""Temporary files: where they are, and how much of the disk they may take.

They have no names: they are gone with the last reference, and the system gives their space back
even if the process is killed.
"""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

from raydb.errors import OperationalError
from raydb.late import shutil, tempfile
from raydb.running import current

if TYPE_CHECKING:
    from typing import IO

# Of a disk that is full nobody can do anything, so temporary files leave a tenth of what is free.
_PERCENT_OF_DISK = 90
# What is smaller stays in memory.
_HELD_BYTES = 16 << 20


class TemporaryFolder:
    """Where the temporary files of one statement go, None for the system's folder for them."""

    def __init__(self, folder: str | None = None) -> None:
        self._folder = folder
        self._disk_left: int | None = None

    @property
    def path(self) -> str:
        """The folder. Raises OperationalError where the system has no place."""
        try:
            return self._folder or tempfile.gettempdir()
        except OSError as error:
            raise OperationalError(
                "temporary files have no folder: none of the system's can be written to;"
                " SET temp_directory or the variable TMPDIR names one"
            ) from error

    def new_file(self) -> IO[bytes]:
        """Return a new file. Raises OperationalError if that fails."""
        try:
            return tempfile.TemporaryFile(prefix="raydb-", dir=self.path)
        except OSError as error:
            raise self.failed(error) from error

    def take(self, size_bytes: int) -> None:
        """Count bytes that go to a file. Raises OperationalError where the disk has too few."""
        if self._disk_left is None:
            self._disk_left = shutil.disk_usage(self.path).free * _PERCENT_OF_DISK // 100
        if size_bytes > self._disk_left:
            raise OperationalError(
                f"temporary files in '{self.path}' would fill the disk; raise memory_limit,"
                " choose another temp_directory or ask for less"
            )
        self._disk_left -= size_bytes

    def failed(self, error: OSError) -> OperationalError:
        """Return the error about a file that cannot be written."""
        reason = (error.strerror or str(error)).lower()
        return OperationalError(f"a temporary file in '{self.path}' cannot be written: {reason}")


class Spool:
    """Bytes that come piece by piece: in memory where they are few, else in a temporary file."""

    def __init__(self) -> None:
        running = current.get()
        self._folder = TemporaryFolder(None if running is None else running.temp_folder)
        self._file: IO[bytes] | None = None
        self._waiting: list[bytes] = []
        self._held = 0

    def write(self, piece: bytes) -> None:
        """Append some bytes. Raises OperationalError where the disk fails or is too small."""
        self._waiting.append(piece)
        self._held += len(piece)
        if self._held > _HELD_BYTES:
            self._flush()

    def finish(self) -> bytes | mmap.mmap:
        """Return all bytes; those of a file are mapped."""
        if self._file is None:
            return b"".join(self._waiting)
        self._flush()
        with self._file as file:
            try:
                file.flush()
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except OSError as error:
                raise self._folder.failed(error) from error

    def _flush(self) -> None:
        self._folder.take(self._held)
        if self._file is None:
            self._file = self._folder.new_file()
        try:
            self._file.writelines(self._waiting)
        except OSError as error:
            raise self._folder.failed(error) from error
        self._waiting.clear()
        self._held = 0
