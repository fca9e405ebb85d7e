"""A file that appears complete and synced to disk, or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, BinaryIO

from raydb.errors import OperationalError
from raydb.interrupts import hold_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable


def replace_file(path: str, write: Callable[[BinaryIO], None], buffer_bytes: int = -1) -> None:
    """Call `write` with a new file, which takes the place of `path` once it is synced.

    buffer_bytes: what is written at a time, -1 for Python's own choice.
    A link is followed. Raises OperationalError where the disk fails and for a path that is no
    regular file, and whatever `write` raises; the file is as it was before then.
    """
    target = Path(path).resolve()
    try:
        _check_target(path, target)
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb", buffer_bytes) as sink:
                write(sink)
                sink.flush()
                os.fchmod(sink.fileno(), 0o666 & ~_umask())
                os.fsync(sink.fileno())
            hold_interrupt()
            Path(name).replace(target)
        finally:
            with suppress(FileNotFoundError):
                Path(name).unlink()
        _sync_directory(target.parent)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OperationalError(f"file '{path}' cannot be written: {reason}") from None


def _check_target(path: str, target: Path) -> None:
    with suppress(FileNotFoundError):
        mode = target.stat().st_mode
        if S_ISDIR(mode):
            raise OperationalError(f"'{path}' is a directory, not a file")
        if not S_ISREG(mode):
            raise OperationalError(f"'{path}' is not a regular file")


def _umask() -> int:
    """Return the process's umask, which mkstemp does not heed."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_directory(directory: Path) -> None:
    """Make the rename itself durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
