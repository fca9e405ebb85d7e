"""The calls that a database directory makes of its file system.

They are few, so that a test can put another file system in their place: one that fails, or that
forgets at a crash what was not synced. All of them raise OSError with the path as its filename;
`reported` makes of it the error that a user sees.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from functools import cached_property
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from raydb.errors import NotSupportedError, OperationalError

try:
    import fcntl
except ImportError:
    raise NotSupportedError(
        "database directories need the file locks of a POSIX system, which this one does not have"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterator

# What may lie where a regular file should.
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Lock(Protocol):
    """A lock on a file, which the system releases when the process dies, however it dies."""

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is locked still has its name; OSError where that is not known."""

    def close(self) -> None:
        """Release the lock."""


class FileSystem:
    """The file system of this machine. Every call but `sync` may be undone by a crash.

    Links are not followed, and nothing but regular files is opened: a database may be a stranger's,
    and must not lead to files outside of it.
    """

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
        with _naming(path), _open(path, "rb") as file:
            file.seek(offset)
            parts = []
            while size and (part := file.read(size)):
                parts.append(part)
                size -= len(part) if size > 0 else 0
            return parts[0] if len(parts) == 1 else b"".join(parts)

    def size(self, path: Path) -> int:
        """Return the size of a regular file in bytes."""
        status = path.lstat()
        _check_regular(status, path)
        return status.st_size

    def check_directory(self, path: Path) -> None:
        """Raise OSError for what is no directory, a link to one among others."""
        mode = path.lstat().st_mode
        if not stat.S_ISDIR(mode):
            raise OSError(None, f"not a directory, but {_kind(mode)}", str(path))

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
        lock = _FileLock(path, _open(path, "ab" if create else "rb"))
        try:
            with _naming(path):
                lock.acquire(fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
                # Whoever had the lock before may have removed the file, or put another there.
                if not lock.is_in_place:
                    raise FileNotFoundError(None, "removed meanwhile", str(path))
        except BlockingIOError:
            lock.close()
            return None
        except BaseException:
            lock.close()
            raise
        if create:
            lock.sign()
        return lock


LOCAL = FileSystem()


class File:
    """A file that is open for writing; one that is dropped is closed, as Python's own are."""

    def __init__(self, path: Path, mode: str) -> None:
        self._path = path
        self._file = _open(path, mode)

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


class _FileLock:
    """A lock on an open file, of this process alone.

    A process that is forked has the same open file. It closes it at once, which leaves the lock to
    its parent: else the lock of a parent that died would last as long as its children.
    """

    def __init__(self, path: Path, file: FileIO) -> None:
        self._path, self._file = path, file
        self._status = os.fstat(file.fileno())  # a child that closed the file still asks
        _LOCKS.add(self)

    def acquire(self, kind: int) -> None:
        """Take the lock; BlockingIOError while another has one that excludes it."""
        fcntl.flock(self._file, kind | fcntl.LOCK_NB)

    @property
    def is_in_place(self) -> bool:
        """Whether the file that is locked still has its name."""
        try:
            return os.path.samestat(self._status, self._path.lstat())
        except FileNotFoundError:
            return False

    def sign(self) -> None:
        """Write the process number into the file, for the message that another process shows."""
        # A full disk must not keep the database shut: opening it is how to remove what is in the
        # way.
        with suppress(OSError):
            os.ftruncate(self._file.fileno(), 0)
            os.pwrite(self._file.fileno(), str(os.getpid()).encode(), 0)

    def close(self) -> None:
        """Release the lock."""
        self._file.close()
        # A weak reference that ends by itself would swallow an interrupt which comes just then.
        _LOCKS.discard(self)


_LOCKS: WeakSet[_FileLock] = WeakSet()


def _close_inherited_locks() -> None:
    for lock in list(_LOCKS):
        lock.close()


os.register_at_fork(after_in_child=_close_inherited_locks)


def _open(path: Path, mode: str) -> FileIO:
    """Open a regular file; see `FileSystem`."""
    return FileIO(path, mode, opener=_opened)


def _opened(path: str, flags: int) -> int:
    # Without waiting, as a pipe would for its other end.
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError:
        # Says what it is where that is the reason: a link, a socket.
        with suppress(FileNotFoundError):
            _check_regular(os.lstat(path), path)
        raise
    try:
        status = os.fstat(descriptor)
        _check_regular(status, path)
        # With a second name it is somebody else's file as well, which must not change.
        if flags & os.O_ACCMODE != os.O_RDONLY and status.st_nlink > 1:
            raise OSError(None, "not a file of its own: it has another name", path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_regular(status: os.stat_result, path: str | Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(None, f"not a regular file, but {_kind(status.st_mode)}", str(path))


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "a file" if stat.S_ISREG(mode) else "a device")


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
