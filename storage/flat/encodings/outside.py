"""Files beside a FlatStor file, of which a column has ranges in place of values.

A name is a path below the folder of the FlatStor file, written with `/`. No name and no symbolic
link leads out of that folder: who sends a file cannot have others of the reader opened.

The files are read and never mapped: they may be cut short while they are, which ends a process that
reads a map.
"""

from __future__ import annotations

import os
import stat
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.metadata.column import File
    from raydb.storage.mapped import Source

RECORD = np.dtype([("checksum", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("file", "<u4")])
MAX_OFFSET = 2**62
_PIECE_BYTES = 2**20
_FLAGS = os.O_RDONLY
# No link that has come since, no wait for the other end of a pipe, no lines of Windows.
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)
_FOLDER_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


class OutsideFiles:
    """The files that the values of a column lie in, by their numbers.

    file: the FlatStor file. names: an Arrow array of bytes.
    """

    def __init__(self, file: File, names: Any) -> None:
        self._source, self._names = file.source, names
        self._folder = "" if file.source.is_remote else folder_of(file.place)

    def name(self, number: int) -> str:
        """Return the name of a file, for errors too."""
        return str(self._names[number].as_py().decode("utf-8", "backslashreplace"))

    def open(self, number: int) -> tuple[FileIO, int]:
        """Open a file, see `open_inner`."""
        return open_inner(self._folder, self.name(number))

    def reading(self, records: NDArray[Any]) -> Reading:
        """Return what reads some ranges; of objects they are brought, in one trip."""
        if not self._source.is_remote:
            return Reading(self.open)
        return Reading(self.open, self._bring(records))

    def _bring(self, records: NDArray[Any]) -> dict[int, Source]:
        """Return the objects that ranges lie in, of which these are there."""
        found, wanted = {}, []
        records = records[records["length"] > 0]
        for number in np.unique(records["file"]).tolist():
            some = records[records["file"] == number]
            starts = some["offset"].astype(np.int64)
            stops = starts + some["length"].astype(np.int64)
            object_ = self._source.beside(_plain_name(self.name(number)), int(stops.max()))
            found[number] = object_
            wanted.append((object_, list(zip(starts.tolist(), stops.tolist(), strict=True))))
        self._source.need_with(wanted)
        return found


class _Opened(NamedTuple):
    """The file that was read last."""

    number: int
    file: FileIO
    size: int


class Reading:
    """Reads ranges of files by their numbers; the last file stays open for the next range.

    open_: opens a file and tells its size. objects: those that have been brought in place of files.
    Raises OSError, and ValueError for what must not be read; `reason_of` says why.
    """

    def __init__(
        self,
        open_: Callable[[int], tuple[FileIO, int]],
        objects: dict[int, Source] | None = None,
    ) -> None:
        self._open_file, self._objects = open_, objects
        self._opened: _Opened | None = None

    def size(self, number: int) -> int:
        """Return how many bytes a file has."""
        return self._open(number).size

    def read(self, number: int, offset: int, target: memoryview) -> None:
        """Fill a buffer with the bytes of a file from an offset on."""
        if self._objects is not None:
            target[:] = self._objects[number].view[offset : offset + len(target)]
            return
        _, file, size = self._open(number)
        if offset + len(target) > size:
            raise ValueError(f"has only {size} bytes")
        file.seek(offset)
        while len(target):
            count = file.readinto(target)
            if not count:
                raise ValueError("was cut short while it was read")
            target = target[count:]

    def digest(self, number: int, offset: int, length: int, head_bytes: int) -> tuple[int, bytes]:
        """Return the XXH3-64 of a range, and its first bytes."""
        digest, head = xxh3_64(), b""
        buffer = memoryview(bytearray(min(length, _PIECE_BYTES)))
        for start in range(offset, offset + length, _PIECE_BYTES):
            piece = buffer[: offset + length - start]
            self.read(number, start, piece)
            head = head or bytes(piece[:head_bytes])
            digest.update(piece)
        return digest.intdigest(), head

    def _open(self, number: int) -> _Opened:
        if self._opened is None or self._opened.number != number:
            self._close()
            self._opened = _Opened(number, *self._open_file(number))
        return self._opened

    def _close(self) -> None:
        if self._opened is not None:
            self._opened.file.close()
            self._opened = None

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def folder_of(path: str) -> str:
    """Return the folder of a FlatStor file, without symbolic links."""
    return str(Path(os.path.realpath(path)).parent)


def reason_of(error: OSError | ValueError) -> str:
    """Return why a file is not read, to follow its name."""
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, OSError):
        return f"cannot be read: {(error.strerror or str(error)).lower()}"
    return str(error)


def inner_path(folder: str, name: str) -> str:
    """Return the path of a name below a folder, both without symbolic links.

    Raises ValueError for a name that leads elsewhere.

    >>> inner_path("/data", "../etc/passwd")
    Traceback (most recent call last):
    ValueError: leads out of its folder
    """
    root = Path(folder)
    path = Path(os.path.realpath(root / _plain_name(name)))
    if not path.is_relative_to(root):
        raise ValueError("leads out of its folder")
    if path == root:
        raise ValueError("is not a file")
    return str(path)


def _plain_name(name: str) -> str:
    """Return a name that leads to no other folder by itself. Raises ValueError."""
    is_strange = "\\" in name or "\0" in name or os.path.splitdrive(name)[0]
    if is_strange or not {"", ".", ".."}.isdisjoint(name.split("/")):
        raise ValueError("leads out of its folder")
    return name


def open_inner(folder: str, name: str) -> tuple[FileIO, int]:
    """Open a regular file of a name below a folder for reading; return its size too.

    Raises ValueError for anything else, and for a name that leads elsewhere; OSError where a link
    has come into its path since it was looked at.
    """
    path = inner_path(folder, name)
    file = FileIO(_descriptor(folder, path), "rb")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        file.close()
        raise ValueError("is not a file")
    return file, status.st_size


def _descriptor(folder: str, path: str) -> int:
    """Open a path below a folder, both without symbolic links, part by part: none is followed."""
    if os.open not in os.supports_dir_fd:
        return os.open(path, _FLAGS)
    *folders, last = Path(path).relative_to(folder).parts
    within = os.open(folder, _FOLDER_FLAGS)
    try:
        for each in folders:
            above, within = within, os.open(each, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=within)
            os.close(above)
        return os.open(last, _FLAGS, dir_fd=within)
    finally:
        os.close(within)
