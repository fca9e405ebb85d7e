"""The files that a statement names: patterns, compressions, and what cannot be read at all."""

from __future__ import annotations

import glob
import os
from pathlib import Path, PurePath
from stat import S_ISDIR, S_ISFIFO, S_ISREG

from raydb.errors import DataError, OperationalError

# The extensions that may follow the one of a format.
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def expand(pattern: str) -> tuple[str, ...]:
    """Return the files that a pattern stands for, in order of their names.

    `*`, `?` and `[ab]` match within a name, `**` any number of folders. A file of exactly that name
    comes first. Raises OperationalError if no file matches; a path without a pattern is returned
    as it is.
    """
    if not glob.has_magic(pattern) or Path(pattern).is_file():
        return (pattern,)
    found = matching_files(pattern)
    if not found:
        raise OperationalError(f"no file matches '{pattern}'")
    return found


def matching_files(pattern: str) -> tuple[str, ...]:
    """Return the files that match a pattern, in order of their names."""
    # Path.glob has no absolute patterns.
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207
    return tuple(sorted(path for path in found if Path(path).is_file()))


def find_compression(path: str) -> str | None:
    """Return how a text file is compressed, by its extension: 'gzip', 'zstd' or None.

    >>> find_compression("a.csv.gz")
    'gzip'
    """
    return COMPRESSIONS.get(PurePath(path).suffix)


def table_name(path: str) -> str:
    """Return what a file is called where it stands for a table: its name without extensions.

    >>> table_name("data/sales.csv.gz")
    'sales'
    """
    name = PurePath(path)
    return PurePath(name.stem).stem if name.suffix in COMPRESSIONS else name.stem


def check_file(path: str, empty: str | None) -> bool:
    """Raise for what is no file; tell whether it is empty. OSError if there is nothing at all.

    A pipe that is open already, such as '/dev/stdin', is a file of a size that nobody knows.
    empty: what is said of an empty one, None where that is no error.
    """
    if is_open_pipe(path):
        return False
    status = Path(path).stat()
    if S_ISDIR(status.st_mode):
        raise OperationalError(f"'{path}' is a directory, not a file")
    if not S_ISREG(status.st_mode):
        raise OperationalError(f"'{path}' is not a regular file")
    if not status.st_size and empty is not None:
        raise DataError(f"file '{path}' {empty}")
    return not status.st_size


def is_open_pipe(path: str) -> bool:
    """Return whether a path is of a pipe that this process has open: /dev/stdin, /dev/fd/3.

    Others have names in the file system; to open one waits for whoever writes to it.
    """
    return path.startswith("/dev/") and S_ISFIFO(Path(path).stat().st_mode)


def describe_failure(path: str, error: OSError) -> str:
    """Return in one sentence why a file cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"file '{path}' does not exist"
    # What Arrow says itself names the file again.
    reason = os.strerror(error.errno) if error.errno else str(error)
    return f"file '{path}' cannot be read: {reason.lower()}"
