"""The lock of the one process that writes to a database directory."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from raydb.errors import OperationalError

if TYPE_CHECKING:
    from pathlib import Path

    from raydb.storage.durable.filesystem import FileSystem, Lock

# What helps whoever only wants to read.
_READ_ONLY = "to read it, open it with read_only=True (raydb --readonly)"


def take_writer_lock(system: FileSystem, path: Path, name: str) -> Lock:
    """Lock the file of a database for writing, which makes it where it is absent.

    Raises OperationalError where another process has it, or where nothing can be written.
    """
    try:
        lock = system.lock(path, exclusive=True, create=True)
    except OSError as error:
        if error.errno not in {errno.EROFS, errno.EACCES}:
            raise
        reason = os.strerror(error.errno).lower()
        raise OperationalError(
            f"database '{name}' cannot be opened for writing: '{path}': {reason}; {_READ_ONLY}"
        ) from error
    if lock is None:
        holder = system.read(path, 0, 20)
        who = f"process {holder.decode()}" if holder.isdigit() else "another process"
        raise OperationalError(f"database '{name}' is open for writing in {who}; {_READ_ONLY}")
    return lock
