"""Files that are read: local ones, and objects, whose bytes are brought when they are needed.

A statement opens an object once. What reads it says which bytes it is about to look at, `bring`;
of local files nothing need be said.
"""

from __future__ import annotations

import datetime as dt
import mmap
import threading
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import pyarrow as pa

from raydb.errors import DataError, OperationalError
from raydb.running import current
from raydb.storage.formats.paths import check_file, describe_failure
from raydb.storage.objects.ranges import divided
from raydb.storage.objects.urls import is_url, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from raydb.storage.formats.format import Format
    from raydb.storage.mapped import Source
    from raydb.storage.objects.ranges import Range
    from raydb.storage.objects.remote_file import RemoteFile

# So many objects are opened side by side.
_OPENED = 64
# What is brought at a time of what is read from its start to its end, at first and at most. The
# requests of a trip hold their bytes in memory until all have come.
_FIRST_AHEAD, _MOST_AHEAD = 1 << 20, 64 << 20


class InputFile:
    """A local file. path: for messages; its extension tells the format and the compression."""

    is_remote = False

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def size_bytes(self) -> int:
        """How many bytes it has."""
        return Path(self.path).stat().st_size

    @property
    def last_modified(self) -> dt.datetime | None:
        """When it was written."""
        return dt.datetime.fromtimestamp(Path(self.path).stat().st_mtime, dt.UTC)

    def check(self, empty: str | None) -> bool:
        """Raise for what is no file; tell whether it is empty. See `check_file`."""
        return check_file(self.path, empty)

    def open(self) -> pa.NativeFile:
        """Return its bytes, to be read at any place. Raises OSError.

        Not mapped: the kernel ends a process that reads a mapped file which was cut short.
        """
        return pa.OSFile(self.path)

    def stream(self) -> BinaryIO:
        """Return all its bytes, to be read by Python."""
        return Path(self.path).open("rb")

    def source(self) -> str | Source:
        """Return what a FlatStor file is opened by."""
        return self.path

    def bring(self, ranges: Iterable[Range] | None = None) -> None:
        """Bring the bytes of some ranges, or all, so that they may be read. OperationalError."""

    def bring_ahead(self, start: int, stop: int) -> None:
        """Bring bytes of a file that is read from its start on, and more behind them."""


class ObjectFile(InputFile):
    """An object of a store; threads may share it, those of Arrow too."""

    is_remote = True

    def __init__(self, path: str, source: RemoteFile) -> None:
        super().__init__(path)
        self._source = source
        # Whose interrupts are heard, and whose requests are counted, on threads without any.
        self._running = current.get()
        self._lock = threading.Lock()
        self._reached, self._step = 0, _FIRST_AHEAD

    @property
    def size_bytes(self) -> int:
        """How many bytes it has."""
        return len(self._source.view)

    @property
    def last_modified(self) -> dt.datetime | None:
        """When it was written."""
        return self._source.last_modified

    def check(self, empty: str | None) -> bool:
        """Raise for an empty object, unless `empty` is None; tell whether it is."""
        if not self.size_bytes and empty is not None:
            raise DataError(f"file '{self.path}' {empty}")
        return not self.size_bytes

    def open(self) -> pa.NativeFile:
        """Return its bytes, of which those count that were brought."""
        return pa.BufferReader(pa.py_buffer(self._source.view))

    def stream(self) -> BinaryIO:
        """Return all its bytes, which are brought."""
        self.bring()
        return cast("BinaryIO", self.open())

    def source(self) -> Source:
        """Return the object, which brings what it is asked for."""
        return self._source

    @property
    def mapped(self) -> mmap.mmap | bytes:
        """All bytes, of which those count that were brought; the map may be longer."""
        whole = self._source.view.obj
        return whole if isinstance(whole, mmap.mmap) and self.size_bytes else b""

    def bring(self, ranges: Iterable[Range] | None = None) -> None:
        """Bring the bytes of some ranges, or all, in one trip where they are few."""
        waiting: list[Range] = []
        held = 0
        for start, stop in divided([(0, self.size_bytes)] if ranges is None else ranges):
            if held + stop - start > _MOST_AHEAD:
                self._bring(waiting)
                waiting, held = [], 0
            waiting.append((start, stop))
            held += stop - start
        self._bring(waiting)

    def bring_ahead(self, start: int, stop: int) -> None:
        """Bring bytes, and the more behind them the further the object has been read in order."""
        stop = min(stop, self.size_bytes)
        with self._lock:
            if stop <= self._reached:
                return
            if start > self._reached:
                self._bring([(start, stop)])
                return
            ahead = min(max(stop, self._reached + self._step), self.size_bytes)
            self._bring([(self._reached, ahead)])
            self._reached, self._step = ahead, min(2 * self._step, _MOST_AHEAD)

    def _bring(self, ranges: Iterable[Range]) -> None:
        with self._known():
            self._source.need(ranges)

    @contextmanager
    def _known(self) -> Iterator[None]:
        """Let a thread without a statement have the one that opened the object."""
        if current.get() is not None or self._running is None:
            yield
            return
        token = current.set(self._running)
        try:
            yield
        finally:
            current.reset(token)


def open_files(paths: Sequence[str], formats: Sequence[Format]) -> Iterator[InputFile]:
    """Yield the files of some paths and URLs, each of a format; objects are opened side by side.

    Raises OperationalError for an object that cannot be read. Of local files nothing is asked.
    """
    waiting: list[InputFile] = []
    for place, path in enumerate(paths):
        if not is_url(path):
            yield InputFile(path)
            continue
        if not waiting:
            rest = slice(place, place + _OPENED)
            kinds = groupby(zip(paths[rest], formats[rest], strict=True), _way_to_open)
            (_, first), alike = next(kinds)
            waiting = _open_objects([each for each, _ in alike], first=first)[::-1]
        yield waiting.pop()


def _way_to_open(file: tuple[str, Format]) -> tuple[bool, bool]:
    """Return whether a file is an object, and whether it is read from its start on."""
    path, chosen = file
    return is_url(path), chosen.is_text


def open_file(path: str, chosen: Format | None = None) -> InputFile:
    """Return the file of a path or URL. Raises OperationalError for an object as `open_files`."""
    if not is_url(path):
        return InputFile(path)
    return _open_objects([path], first=chosen is not None and chosen.is_text)[0]


def _open_objects(urls: Sequence[str], *, first: bool) -> list[InputFile]:
    from raydb.storage.objects.remote_file import open_objects  # noqa: PLC0415  (few need it)

    try:
        found = open_objects(urls, _FIRST_AHEAD, first=True) if first else open_objects(urls)
    except OSError as error:
        raise OperationalError(describe_failure(error.filename or urls[0], error)) from None
    return [ObjectFile(shown(url), each) for url, each in zip(urls, found, strict=True)]
