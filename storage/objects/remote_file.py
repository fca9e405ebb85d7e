"""An object as the bytes of a file, of which blocks are fetched when they are needed.

A view of the whole object lies over a sparse file (or over memory), and a bit for each block tells
whether its bytes have been written there. What reads the view asks for ranges before, `need`, so
that one trip brings all of them.
"""

from __future__ import annotations

import mmap
import os
import posixpath
from typing import TYPE_CHECKING, Protocol

import numpy as np

from raydb.errors import OperationalError
from raydb.running import current
from raydb.storage.mapped import Source
from raydb.storage.objects.ranges import joined, runs
from raydb.storage.objects.store import Wanted, open_store
from raydb.storage.temporary_files import TemporaryFolder

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from raydb.storage.objects.ranges import Range
    from raydb.storage.objects.store import Content, ObjectStore

# A page, so that whole pages are written.
BLOCK_BYTES = 4096
# What an open brings of an object whose size nobody knows: the metadata of most files.
_TAIL_BYTES = 1 << 16
# Smaller objects are kept in memory.
HELD_BYTES = 16 << 20


class Backing(Protocol):
    """Where the bytes of an object are kept here."""

    view: memoryview
    # A flag for each block that is there already.
    present: NDArray[np.bool_]

    def write(self, start: int, data: memoryview) -> None:
        """Keep bytes from an offset on, whole blocks but for the end of the object."""


class Memory:
    """Bytes that are kept in memory."""

    def __init__(self, size: int) -> None:
        # Pages that nobody writes take no memory.
        self._bytes = mmap.mmap(-1, max(size, 1))
        self.view = memoryview(self._bytes).toreadonly()[:size]
        self.present = np.zeros(block_count(size), np.bool_)

    def write(self, start: int, data: memoryview) -> None:
        """Keep bytes."""
        self._bytes[start : start + len(data)] = data


class TemporaryBacking:
    """Bytes that are kept in a temporary file, until nothing refers to them."""

    def __init__(self, size: int, folder: TemporaryFolder) -> None:
        self._folder = folder
        self._file = folder.new_file()
        os.ftruncate(self._file.fileno(), max(size, 1))
        whole = mmap.mmap(self._file.fileno(), max(size, 1), prot=mmap.PROT_READ)
        self.view = memoryview(whole)[:size]
        self.present = np.zeros(block_count(size), np.bool_)

    def write(self, start: int, data: memoryview) -> None:
        """Keep bytes. Raises OperationalError where the disk is full."""
        self._folder.take(len(data))
        try:
            write_at(self._file.fileno(), start, data)
        except OSError as error:
            raise self._folder.failed(error) from error


class RemoteFile(Source):
    """The bytes of an object, fetched when they are needed; threads may share it.

    e_tag: of the object that is meant, None where it never changes. last_modified: of it, as far
    as the store has said it.
    """

    is_remote = True
    last_modified: dt.datetime | None = None

    def __init__(
        self, store: ObjectStore, key: str, backing: Backing, e_tag: str | None = None
    ) -> None:
        super().__init__(store.url_of(key), backing.view)
        self.store, self._key, self._backing, self._e_tag = store, key, backing, e_tag
        self._size = len(backing.view)

    def need(self, ranges: Iterable[Range]) -> None:
        """Return when the bytes of some ranges are there, fetched in one trip.

        Raises OperationalError, with the URL, where they cannot be.
        """
        bring_together([(self, ranges)])

    def need_with(self, wanted: Sequence[tuple[Source, Iterable[Range]]]) -> None:
        """Return when ranges of several files are there, fetched in one trip."""
        bring_together([(file, each) for file, each in wanted if isinstance(file, RemoteFile)])

    def beside(self, name: str, size: int) -> RemoteFile:
        """Return an object of the same folder, of whose first bytes ranges may be asked for.

        Raises OperationalError for more bytes than can be addressed.
        """
        key = posixpath.join(posixpath.dirname(self._key), name)
        try:
            return RemoteFile(self.store, key, Memory(size))
        except (OSError, OverflowError, ValueError, MemoryError):
            what = f"file '{self.store.url_of(key)}' cannot be read"
            raise OperationalError(f"{what}: {size} bytes cannot be mapped") from None

    def has(self, start: int, stop: int) -> bool:
        """Tell whether the bytes of a range are there."""
        return not self.missing([(start, stop)])

    def bring_again(self, range_: Range) -> bool:
        """Fetch bytes anew."""
        start, stop = max(range_[0], 0), min(range_[1], self._size)
        first, last = start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)
        self._backing.present[first:last] = False
        self.need([range_])
        return True

    def keep(self, start: int, data: bytes | memoryview) -> None:
        """Take bytes that are known from elsewhere; of blocks that are not whole, nothing."""
        first = -(-start // BLOCK_BYTES)
        stop = start + len(data)
        last = block_count(self._size) if stop == self._size else stop // BLOCK_BYTES
        low, high = first * BLOCK_BYTES, min(last * BLOCK_BYTES, self._size)
        if low < high:
            self.take(low, memoryview(data)[low - start : high - start])

    def missing(self, ranges: Iterable[Range]) -> list[Wanted]:
        """Return what is to be fetched so that ranges are there."""
        present = self._backing.present
        blocks: list[Range] = []
        for start, stop in ranges:
            first, last = max(start, 0) // BLOCK_BYTES, -(-min(stop, self._size) // BLOCK_BYTES)
            absent = runs(~present[first:last]) if first < last else []
            blocks += [
                ((first + low) * BLOCK_BYTES, min((first + high) * BLOCK_BYTES, self._size))
                for low, high in absent
            ]
        return [Wanted(self._key, range_, self._e_tag) for range_ in joined(blocks)]

    def take(self, start: int, data: memoryview) -> None:
        """Keep whole blocks that were fetched."""
        self._backing.write(start, data)
        first = start // BLOCK_BYTES
        self._backing.present[first : first + block_count(len(data))] = True


def bring_together(wanted: Sequence[tuple[RemoteFile, Iterable[Range]]]) -> None:
    """Return when ranges of objects in one store are there, fetched in one trip.

    Raises OperationalError, with the URL, where they cannot be.
    """
    missing = [(file, each) for file, ranges in wanted for each in file.missing(ranges)]
    if not missing:
        return
    try:
        parts = missing[0][0].store.get_ranges([each for _, each in missing])
    except FileNotFoundError as error:
        raise OperationalError(f"file '{error.filename}' is missing") from None
    except OSError as error:
        raise OperationalError(
            f"file '{error.filename}' cannot be read: {error.strerror}"
        ) from None
    for (file, each), data in zip(missing, parts, strict=True):
        file.take(each.range_[0], data)


def block_count(size: int) -> int:
    """Return how many blocks so many bytes have."""
    return -(-size // BLOCK_BYTES)


def write_at(descriptor: int, start: int, data: memoryview) -> None:
    """Write all bytes at an offset."""
    while data:
        written = os.pwrite(descriptor, data, start)
        data, start = data[written:], start + written


def open_object(url: str, tail_bytes: int = _TAIL_BYTES) -> RemoteFile:
    """Return the object at a URL as it is now, by one request, which brings its last bytes.

    Its bytes are kept in memory or a temporary file until nothing refers to them. Raises OSError.
    """
    (file,) = open_objects([url], tail_bytes)
    return file


def open_objects(
    urls: Sequence[str], end_bytes: int = _TAIL_BYTES, *, first: bool = False
) -> list[RemoteFile]:
    """Return objects as `open_object` does, those of a store in one trip.

    first: their first bytes come, not their last ones.
    """
    keys: dict[ObjectStore, list[str]] = {}
    places = [open_store(url) for url in urls]
    for store, key in places:
        keys.setdefault(store, []).append(key)
    files = {
        (store, key): _opened(store, key, content)
        for store, wanted in keys.items()
        for key, content in zip(wanted, store.get_ends(wanted, end_bytes, first=first), strict=True)
    }
    return [files[place] for place in places]


def _opened(store: ObjectStore, key: str, content: Content) -> RemoteFile:
    size, running = content.entry.size, current.get()
    backing: Backing = Memory(size)
    if size > HELD_BYTES:
        folder = None if running is None else running.temp_folder
        backing = TemporaryBacking(size, TemporaryFolder(folder))
    file = RemoteFile(store, key, backing, content.entry.tag.e_tag)
    file.last_modified = content.entry.last_modified
    file.keep(content.start, content.data)
    return file
