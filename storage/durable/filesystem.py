"""The calls that a database directory makes of its file system.

They are few, so that a test can put another file system in their place: one that fails, or that
forgets at a crash what was not synced. All of them raise OSError with the path as its filename;
`reported` makes of it the error that a user sees.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Protocol

from raydb.errors import NotSupportedError, OperationalError

try:
    import fcntl
except ImportError:
    raise NotSupportedError(
        "database directories need the file locks of a POSIX system, which this one does not have"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Lock(Protocol):
    """A lock on a file, which the system releases when the process dies, however it dies."""

    def close(self) -> None:
        """Release the lock."""


class FileSystem:
    """The file system of this machine. Every call but `sync` may be undone by a crash."""

    @cached_property
    def boot(self) -> str:
        """What differs after the machine has lost its memory: Linux's boot id, "" elsewhere."""
        try:
            return _BOOT_ID.read_text(encoding="ascii").strip()
        except OSError:
            return ""

    def create(self, path: Path) -> File:
        """Open a new, empty file; FileExistsError if the name is taken."""
        return File(path, "xb")

    def open(self, path: Path) -> File:
        """Open a file that exists."""
        return File(path, "r+b")

    def read(self, path: Path, offset: int = 0, size: int = -1) -> bytes:
        """Return at most `size` bytes (-1: all) from an offset; fewer at the end of the file."""
        with _naming(path), path.open("rb", buffering=0) as file:
            file.seek(offset)
            parts = []
            while size and (part := file.read(size)):
                parts.append(part)
                size -= len(part) if size > 0 else 0
            return parts[0] if len(parts) == 1 else b"".join(parts)

    def size(self, path: Path) -> int:
        """Return the size of a regular file in bytes."""
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise OSError(None, "not a regular file", str(path))
        return status.st_size

    def names(self, directory: Path) -> list[str]:
        """Return the names in a directory, in no order; NotADirectoryError for a file."""
        return os.listdir(directory)  # noqa: PTH208  (a Path for each name takes 5 times as long)

    def make_directory(self, path: Path) -> None:
        """Make a directory; FileExistsError if the name is taken."""
        path.mkdir()

    def sync_directory(self, path: Path) -> None:
        """Return when the names in a directory survive a loss of power."""
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with _naming(path):
                os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, source: Path, target: Path) -> None:
        """Give a file another name in its directory, in one step."""
        source.replace(target)

    def link(self, source: Path, target: Path) -> None:
        """Give a file a second name, in one step; FileExistsError if the name is taken."""
        try:
            target.hardlink_to(source)
        except FileExistsError as error:
            error.filename = str(target)  # Python names the source
            raise

    def unlink(self, path: Path) -> None:
        """Remove a name."""
        path.unlink()

    def lock(self, path: Path, *, exclusive: bool, create: bool) -> Lock | None:
        """Lock a file, at once or not at all: None while another has a lock that excludes this.

        A new one is signed with the number of this process. FileNotFoundError if the name was
        removed before the lock was taken.
        """
        file = path.open("ab" if create else "rb", buffering=0)
        try:
            with _naming(path):
                kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
                fcntl.flock(file, kind | fcntl.LOCK_NB)
                # Whoever had the lock before may have removed the file, or put another there.
                if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    raise FileNotFoundError(None, "removed meanwhile", str(path))
        except BlockingIOError:
            file.close()
            return None
        except BaseException:
            file.close()
            raise
        if create:
            _sign(file)
        return file


LOCAL = FileSystem()


class File:
    """A file that is open for writing; one that is dropped is closed, as Python's own are."""

    def __init__(self, path: Path, mode: str) -> None:
        self._path = path
        self._file = path.open(mode, buffering=0)

    def write(self, data: bytes | memoryview, offset: int) -> None:
        """Write all the bytes at an offset; past the end, the file grows."""
        rest = memoryview(data).cast("B")
        with _naming(self._path):
            while rest:
                written = os.pwrite(self._file.fileno(), rest, offset)
                rest = rest[written:]
                offset += written

    def truncate(self, size: int) -> None:
        """Cut the file off."""
        with _naming(self._path):
            os.ftruncate(self._file.fileno(), size)

    def sync(self) -> None:
        """Return when the content and size survive a loss of power; the name may not."""
        handle = self._file.fileno()
        with _naming(self._path):
            if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync leaves the bytes in the drive's cache
                fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            else:
                os.fdatasync(handle)

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        self._file.close()


def _sign(file: FileIO) -> None:
    """Write the process number into a lock, for the message that another process shows."""
    # A full disk must not keep the database shut: opening it is how to remove what is in the way.
    with suppress(OSError):
        os.ftruncate(file.fileno(), 0)
        os.pwrite(file.fileno(), str(os.getpid()).encode(), 0)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the path to the errors of calls that know only the number of an open file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


@contextmanager
def reported(failure: str) -> Iterator[None]:
    """Make an OperationalError of an OSError: what failed, the path, and why.

    >>> with reported("database 'shop.raydb' cannot commit"):
    ...     raise OSError(28, "No space left on device", "shop.raydb/manifests/7.man")
    Traceback (most recent call last):
    raydb.errors.OperationalError: database 'shop.raydb' cannot commit: file \
'shop.raydb/manifests/7.man': no space left on device
    """
    try:
        yield
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        place = f"'{error.filename}': " if error.filename else ""
        raise OperationalError(f"{failure}: {place}{reason}") from error
