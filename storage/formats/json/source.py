"""The bytes of JSON lines on their way to Arrow's parser, which calls itself for each level.

A line that is nested too deeply would end the process. What is read is counted before the parser
sees it, and handed over in blocks of few enough rows that a block of columns fits into memory.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import DataError

if TYPE_CHECKING:
    from raydb.storage.formats.text_file import TextFile

# Arrow writes no batch of types that are nested more than 64 deep; a few levels more may pass here.
MAX_DEPTH = 50
# Arrow reads blocks of this size, on all processors; a line must fit into one.
BLOCK_BYTES = 16 << 20
# Values, or places of values that lack, in the columns of a block: 0.3 s and 32 MB.
_BLOCK_CELLS = 1 << 22

_QUOTE, _LINE_END = 2, 3
_MARKS = {ord(mark): 1 for mark in "[{"} | {ord(mark): 255 for mark in "]}"}
_MARKS |= {ord('"'): _QUOTE, ord("\n"): _LINE_END, ord("\r"): _LINE_END}
_TABLE = bytes(_MARKS.get(byte, 0) for byte in range(256))
_OTHERS = bytes(set(range(256)) - _MARKS.keys())
# What is counted at a time: a mark takes some 50 bytes.
_PIECE_BYTES = 1 << 20
# Most strings and the innermost values go before anything is counted, so that a few levels more
# than the most may pass.
_PAIRS = (b'""', b"[]", b"{}", b"[]", b"{}")
# Arrow crashes where a null is the first value of a block. An object without keys is the same row.
_NULL_FIRST = re.compile(rb"\A([ \t\r\n]*)null")


class Nesting:
    """How deeply the values of a text are nested that comes piece by piece."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False
        self._escape = b""

    def follow(self, piece: bytes) -> bool:
        """Go on with the next piece; tell whether a value in it is nested too deeply.

        A line begins outside of strings, as it does for the parser. Brackets that nothing has
        opened count for nothing, so what is wrong with one line hides nothing in another.
        """
        starts = range(0, len(piece), _PIECE_BYTES)
        return any(self._follow(piece[start : start + _PIECE_BYTES]) for start in starts)

    def _follow(self, piece: bytes) -> bool:
        text = self._escape + piece
        self._escape = text[len(text.rstrip(b"\\")) :]
        text = text[: len(text) - len(self._escape)]
        if b"\\" in text:
            text = text.replace(rb"\\", b"").replace(rb"\"", b"")
        written = text.translate(None, _OTHERS)
        for pair in _PAIRS:
            written = written.replace(pair, b"")
        if not self._in_string and b'"' not in written:
            written = written.translate(None, b"\r\n")
        if not written:
            return False
        marks = np.frombuffer(written.translate(_TABLE), np.int8)
        quotes = np.cumsum(marks == _QUOTE, dtype=np.int64) + self._in_string
        at_line = np.maximum.accumulate(np.where(marks == _LINE_END, quotes, 0))
        in_string = (quotes - at_line) % 2 == 1
        steps = np.where(in_string | (marks > 1), 0, marks)
        depths = self._depth + np.cumsum(steps, dtype=np.int64)
        depths -= np.minimum(np.minimum.accumulate(depths), 0)
        self._depth, self._in_string = int(depths[-1]), bool(in_string[-1])
        return bool(depths.max() > MAX_DEPTH)


class JsonSource(io.RawIOBase):
    """A file's bytes from a place on, in blocks that end with a line where they can."""

    def __init__(self, file: TextFile, start: int, column_count: int) -> None:
        super().__init__()
        self._file = file
        self._place = start
        self._nesting = Nesting()
        self._most_lines = max(_BLOCK_CELLS // max(column_count, 1), 1)

    def readable(self) -> bool:
        """Say that it can be read, as Arrow asks."""
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next block. Arrow passes on what it raises."""
        self._file.room.check()
        block = self._file.read(self._place, size)
        if block.count(b"\n") > self._most_lines:
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            block = block[: ends[self._most_lines - 1] + 1]
        elif self._place + len(block) < self._file.size_bytes:
            block = block[: max(block.rfind(b"\n"), block.rfind(b"\r")) + 1] or block
        if self._nesting.follow(block):
            raise too_deep(self._file, self._place, len(block))
        self._place += len(block)
        return _NULL_FIRST.sub(rb"\1{}  ", block, count=1)


def too_deep(file: TextFile, start: int, count: int) -> DataError:
    """Return the error about a value that is nested too deeply, in one of some lines."""
    lines = file.read(start, count).split(b"\n")
    number = file.line_number(start)
    nesting = Nesting()
    place = next((n for n, line in enumerate(lines) if nesting.follow(line + b"\n")), 0)
    return DataError(
        f"file '{file.path}', {file.record} {number + place}: values are nested more than"
        f" {MAX_DEPTH} deep"
    )
