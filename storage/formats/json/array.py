"""A file that is one JSON array, as JSON lines: an element a line.

    [{"a": 1},            {"a": 1}
     {"a": 2}]            {"a": 2}

Commas between the elements become ends of lines, and ends of lines elsewhere become spaces, so that
nothing is parsed twice and every byte keeps its place.
"""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import DataError
from raydb.storage.formats.text_file import TextFile

if TYPE_CHECKING:
    import mmap

    from numpy.typing import NDArray

    from raydb.storage.formats.files.input_file import InputFile

_BLOCK_BYTES = 1 << 20
# What messages call a line that is an element of an array.
_ELEMENT = "element"
_SPACES = b" \t\r\n"
_SPACE, _LINE_END, _RETURN = 32, 10, 13
_QUOTE, _BACKSLASH, _COMMA = 34, 92, 44
_STEPS = np.zeros(256, np.int32)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1
_IS_SPACE = np.isin(np.arange(256), list(_SPACES))


def open_json(source: InputFile, compression: str | None) -> TextFile:
    """Open a file of JSON lines, or of one array, which is read as the lines of its elements.

    Raises OSError. Reading raises DataError for an array that does not end, or that something
    follows.
    """
    return _JsonFile(source, compression)


def is_empty_array(file: TextFile) -> bool:
    """Tell whether a file is an array without elements, which has no lines, and no columns."""
    if file.record != _ELEMENT:
        return False
    places = range(file.skip(0), file.size_bytes, _BLOCK_BYTES)
    return not any(file.read(place, _BLOCK_BYTES).strip(_SPACES) for place in places)


class _JsonFile(TextFile):
    """A text file that is an array perhaps: then what is read are its elements, a line each."""

    def __init__(self, source: InputFile, compression: str | None) -> None:
        self._elements: _Elements | None = None
        super().__init__(source, compression)
        start = self.skip(0)
        if self.read(start, _BLOCK_BYTES).lstrip(_SPACES).startswith(b"["):
            self.record = _ELEMENT
            self._elements = _Elements(copy.copy(self), start)

    def read(self, start: int, count: int) -> bytes:
        """Return `count` bytes from `start` on, fewer at the end; any thread may read."""
        if self._elements is None:
            return super().read(start, count)
        return self._elements.read(start, count)

    def holding(self, content: bytes | mmap.mmap) -> TextFile:
        """Return a file of the same name with other bytes, which are lines."""
        file = super().holding(content)
        assert isinstance(file, _JsonFile)
        file._elements = None  # noqa: SLF001  (its own class)
        return file


class _Elements:
    """The bytes of an array as those of lines, which are made when they are read.

    file: the bytes as they are; start: where those behind a byte order mark begin. The state of
    the scan is kept for each block that has been reached.
    """

    def __init__(self, file: TextFile, start: int) -> None:
        self._file = file
        self._start = start
        self._scans = [_Scan(file.path)]
        self._latest = (-1, b"")
        self._lock = threading.Lock()

    def read(self, start: int, count: int) -> bytes:
        place, stop = max(start, self._start), start + count
        pieces = [self._file.read(start, min(count, place - start))]
        while place < stop:
            number, first = divmod(place - self._start, _BLOCK_BYTES)
            piece = self._block(number)[first : first + stop - place]
            if not piece:
                break
            pieces.append(piece)
            place += len(piece)
        return b"".join(pieces)

    def _block(self, number: int) -> bytes:
        with self._lock:
            while self._latest[0] != number:
                reached = min(number, len(self._scans) - 1)
                scan = copy.copy(self._scans[reached])
                start = self._start + reached * _BLOCK_BYTES
                block = scan.follow(self._file.read(start, _BLOCK_BYTES))
                if start + len(block) >= self._file.size_bytes:
                    scan.finish()
                if reached + 1 == len(self._scans):
                    self._scans.append(scan)
                self._latest = (reached, block)
            return self._latest[1]


class _Scan:
    """Where the scan of an array is: how deep, within a string or not, behind an odd backslash."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._depth = 0
        self._in_string = False
        self._backslashes = 0
        self._has_ended = False

    def follow(self, block: bytes) -> bytes:
        """Return the next bytes as they are in lines."""
        data = np.frombuffer(block, np.uint8).copy()
        quotes = np.flatnonzero(data == _QUOTE)
        quotes = quotes[~self._is_escaped(data, quotes)]
        marks = np.zeros(len(data), np.int32)
        marks[quotes] = 1
        inside = (np.cumsum(marks, dtype=np.int32) + self._in_string) % 2 == 1
        ends = (data == _LINE_END) | (data == _RETURN)
        if (ends & inside).any():
            raise DataError(f"file '{self._path}': a string has the end of a line in it")
        steps = np.where(inside, 0, _STEPS[data])
        depths = self._depth + np.cumsum(steps, dtype=np.int32)
        # What is at depth 0 is the bracket that ends the array, and what is around it.
        self._check_around(data, depths, steps, inside)
        data[ends] = _SPACE
        data[(data == _COMMA) & (depths == 1) & ~inside] = _LINE_END
        data[(depths == 0) | ((depths == 1) & (steps == 1))] = _SPACE
        if len(data):
            self._depth, self._in_string = int(depths[-1]), bool(inside[-1])
        return data.tobytes()

    def _is_escaped(self, data: NDArray[np.uint8], quotes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which quotes have an odd number of backslashes before them."""
        others = np.where(data == _BACKSLASH, np.int32(-1), np.arange(len(data), dtype=np.int32))
        last = np.concatenate([[-1], np.maximum.accumulate(others)])
        places = np.append(quotes, len(data))
        counts = places - 1 - last[places]
        counts = counts + np.where(last[places] < 0, self._backslashes, 0)
        self._backslashes = int(counts[-1])
        odd: NDArray[np.bool_] = counts[:-1] % 2 == 1
        return odd

    def _check_around(
        self,
        data: NDArray[np.uint8],
        depths: NDArray[np.int32],
        steps: NDArray[np.int32],
        inside: NDArray[np.bool_],
    ) -> None:
        """Raise DataError for anything but spaces before and behind the array."""
        around = (depths <= 0) & ~((depths == 0) & (steps == -1))
        opens = (depths == 1) & (steps == 1)
        before = np.concatenate([[self._depth], depths[:-1]])
        starts = opens & (before == 0)
        late = bool(starts.any()) and (self._has_ended or int(starts.sum()) > 1)
        if late or bool((around & (~_IS_SPACE[data] | inside)).any()):
            raise DataError(f"file '{self._path}' is no JSON: something is behind its array")
        self._has_ended |= bool(starts.any())

    def finish(self) -> None:
        """Raise DataError where the file ends before the array does."""
        if self._depth or self._in_string:
            raise DataError(f"file '{self._path}' is no JSON: its array does not end")
