"""RESERVE: space in a database directory that is given back where the disk is full.

A statement that frees space, such as DROP TABLE, needs some first: for a manifest, a log, and the
rows that only the log had. Without a reserve a full disk could not be emptied by its own means.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from raydb.storage.durable.filesystem import FileSystem

# Some manifests of a thousand files; a database is hardly larger by it.
SIZE_BYTES = 2**18
# What it is filled by: on a disk that is nearly full, what is left is kept for the next statement.
_PIECE_BYTES = 2**14


class Reserve:
    """The file RESERVE. It is a hint: where it cannot be kept, nothing else fails."""

    def __init__(self, path: Path, system: FileSystem) -> None:
        self._path, self._system = path, system
        self._kept_bytes = 0

    def keep(self) -> None:
        """Take the space, or what there is of it, unless it is taken."""
        if self._kept_bytes == SIZE_BYTES:
            return
        with suppress(OSError):
            if self._size() == SIZE_BYTES:
                self._kept_bytes = SIZE_BYTES
            else:
                self._fill()

    def give_up(self) -> bool:
        """Give the space back; tell whether there was any."""
        was_kept, self._kept_bytes = self._kept_bytes > 0, 0
        with suppress(OSError):
            self._system.unlink(self._path)
        return was_kept

    def _size(self) -> int:
        try:
            return self._system.size(self._path)
        except FileNotFoundError:
            return 0

    def _fill(self) -> None:
        self.give_up()
        file = self._system.create(self._path)
        try:
            while self._kept_bytes < SIZE_BYTES:
                # Zeros would take no space where the file system compresses.
                file.write(os.urandom(_PIECE_BYTES), self._kept_bytes)
                self._kept_bytes += _PIECE_BYTES
        finally:
            file.close()


def is_full(error: BaseException | None) -> bool:
    """Tell whether an error comes from a disk without space."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False
