"""A file that is one JSON array, as JSON lines: an element a line.

    [{"a": 1},            {"a": 1}
     {"a": 2}]            {"a": 2}

Commas between the elements become ends of lines, and ends of lines elsewhere become spaces, so that
nothing else is copied or parsed twice.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import DataError
from raydb.storage.formats.text_file import ELEMENT, TextFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 20
_SPACES = b" \t\r\n"
_SPACE, _LINE_END, _RETURN = 32, 10, 13
_QUOTE, _BACKSLASH, _COMMA = 34, 92, 44
_STEPS = np.zeros(256, np.int32)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1
_IS_SPACE = np.isin(np.arange(256), list(_SPACES))


def open_json(path: str, compression: str | None) -> TextFile:
    """Open a file of JSON lines, or of one array, which is read as the lines of its elements.

    Raises OSError, and DataError for an array that does not end, or that something follows.
    """
    file = TextFile(path, compression)
    start = file.skip(0) if file.size_bytes else 0
    if not file.read(start, _BLOCK_BYTES).lstrip(_SPACES).startswith(b"["):
        return file
    scan = _Scan(path)
    with io.BytesIO() as lines:
        while block := file.read(start, _BLOCK_BYTES):
            lines.write(scan.follow(block))
            start += len(block)
            file.room.check(lines.tell())
        scan.finish()
        content = lines.getvalue()
    return file.of_elements(content if content.strip(_SPACES) else b"")


def is_empty_array(file: TextFile) -> bool:
    """Tell whether a file is an array without elements, which has no lines, and no columns."""
    return file.record == ELEMENT and not file.size_bytes


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
