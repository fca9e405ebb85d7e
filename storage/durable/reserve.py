"""RESERVE: space in a database directory that is given back where the disk is full.

A statement that frees space, such as DROP TABLE, needs some first: for a manifest, a log, and the
rows that only the log had. Without a reserve a full disk could not be emptied by its own means.
"""

from __future__ import annotations

import errno
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from raydb.storage.durable.filesystem import FileSystem

# Some manifests of a thousand files; a database is hardly larger by it.
SIZE_BYTES = 2**18


class Reserve:
    """The file RESERVE. It is a hint: where it cannot be kept, nothing else fails."""

    def __init__(self, path: Path, system: FileSystem) -> None:
        self._path, self._system = path, system
        self._is_kept = False

    def keep(self) -> None:
        """Take the space, unless it is taken or the disk has too little."""
        if self._is_kept:
            return
        with suppress(OSError):
            self._is_kept = self._has_size() or self._fill()

    def give_up(self) -> bool:
        """Give the space back; tell whether there was any."""
        is_kept, self._is_kept = self._is_kept, False
        with suppress(OSError):
            self._system.unlink(self._path)
        return is_kept

    def _has_size(self) -> bool:
        try:
            return self._system.size(self._path) == SIZE_BYTES
        except FileNotFoundError:
            return False

    def _fill(self) -> bool:
        with suppress(FileNotFoundError):
            self._system.unlink(self._path)
        file = self._system.create(self._path)
        try:
            # Zeros would take no space where the file system compresses.
            file.write(secrets.token_bytes(SIZE_BYTES), 0)
        except BaseException:
            self._system.unlink(self._path)
            raise
        finally:
            file.close()
        return True


def is_full(error: BaseException | None) -> bool:
    """Tell whether an error comes from a disk without space."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        error = error.__cause__
    return False
