"""The files that a statement names: patterns, compressions, and what cannot be read at all."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path, PurePath
from stat import S_ISDIR, S_ISFIFO, S_ISREG

from raydb.errors import DataError, NotSupportedError, OperationalError
from raydb.storage.objects.urls import is_listed, is_url, shown

# The extensions that may follow the one of a format.
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def expand(pattern: str) -> tuple[str, ...]:
    """Return the files that a pattern stands for, in order of their names.

    `*`, `?` and `[ab]` match within a name, `**` any number of folders. A file of exactly that name
    comes first. Raises OperationalError if no file matches; a path without a pattern is returned
    as it is. Objects are found by listing those that begin alike.
    """
    if is_url(pattern):
        if not _has_magic(pattern):
            return (pattern,)
        found = matching_files(pattern)
        if pattern in found:
            return (pattern,)
        if not found:
            raise OperationalError(f"no file matches '{pattern}'")
        return found
    if not glob.has_magic(pattern) or Path(pattern).is_file():
        return (pattern,)
    found = matching_files(pattern)
    if not found:
        raise OperationalError(f"no file matches '{pattern}'")
    return found


def matching_files(pattern: str) -> tuple[str, ...]:
    """Return the files that match a pattern, in order of their names."""
    if is_url(pattern):
        return _matching_objects(pattern) if _has_magic(pattern) else (pattern,)
    # Path.glob has no absolute patterns.
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207
    return tuple(sorted(path for path in found if Path(path).is_file()))


def _has_magic(url: str) -> bool:
    """Tell whether the URL of objects is a pattern."""
    return glob.has_magic(
        url if is_listed(url) else shown(url).partition("://")[2].partition("/")[2]
    )


def _matching_objects(pattern: str) -> tuple[str, ...]:
    from raydb.storage.objects.store import open_store  # noqa: PLC0415  (few need it)

    if not is_listed(pattern):
        raise NotSupportedError(
            f"'{shown(pattern)}' is a pattern, and a web server does not list its files; name each"
        )
    store, key = open_store(pattern)
    prefix = key[: re.search(r"[*?[]", key).start()]  # type: ignore[union-attr]
    is_deep = "/" in key[len(prefix) :] or "**" in key
    matches = re.compile(_expression(key), re.DOTALL).fullmatch
    root = pattern[: len(pattern) - len(key)]
    try:
        found = [each.key for each in store.entries(prefix, is_deep=is_deep)]
    except OSError as error:
        raise OperationalError(describe_failure(pattern, error)) from None
    return tuple(f"{root}{each}" for each in found if each == key or matches(each))


def _expression(pattern: str) -> str:
    r"""Return the regular expression of a pattern.

    >>> print(_expression("a/**/*.csv"))
    a/(?:[^/]+/)*[^/]*\.csv
    """
    pieces = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    found = re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]/]+\]|.", pattern, re.DOTALL)
    return "".join(pieces.get(each) or _set(each) for each in found)


def _set(piece: str) -> str:
    if len(piece) == 1:
        return re.escape(piece)
    inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    return f"[{'^' + inside[1:] if inside.startswith('!') else inside.replace('^', chr(92) + '^')}]"


def find_compression(path: str) -> str | None:
    """Return how a text file is compressed, by its extension: 'gzip', 'zstd' or None.

    >>> find_compression("a.csv.gz")
    'gzip'
    """
    return COMPRESSIONS.get(PurePath(shown(path)).suffix)


def table_name(path: str) -> str:
    """Return what a file is called where it stands for a table: its name without extensions.

    >>> table_name("data/sales.csv.gz")
    'sales'
    """
    name = PurePath(shown(path))
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
    if is_url(path):
        reason = error.strerror or str(error)
        if isinstance(error, FileNotFoundError):
            bucket = ": no such bucket" if reason == "no such bucket" else ""
            return f"file '{shown(path)}' does not exist{bucket}"
        return f"file '{shown(path)}' cannot be read: {reason}"
    if isinstance(error, FileNotFoundError):
        return f"file '{path}' does not exist"
    # What Arrow says itself names the file again.
    reason = os.strerror(error.errno) if error.errno else str(error)
    return f"file '{path}' cannot be read: {reason.lower()}"
