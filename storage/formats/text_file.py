"""Text files: opened once, decompressed where they are compressed, read in pieces or mapped."""

from __future__ import annotations

import codecs
import copy
import mmap
import re
import select
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError
from raydb.interrupts import interrupt_check
from raydb.running import Reject, Remarks, current
from raydb.storage.formats.delimited.records import MAX_RECORD_BYTES
from raydb.storage.formats.files.input_file import InputFile, ObjectFile
from raydb.storage.formats.paths import is_open_pipe
from raydb.storage.formats.room import Room
from raydb.storage.temporary_files import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.storage.formats.delimited.faults import Fault
    from raydb.storage.formats.delimited.records import Layout

# Decompressed in about 0.1 s, after which an interrupt is heard.
_PIECE_BYTES = 4 << 20
# Where the end of a text is looked for at a time.
_END_BYTES = 1 << 16
# How much of an object is looked at first; the first so much came when it was opened.
_OPENINGS = (1 << 20, 8 << 20, 64 << 20)
# Fields whose quotes are doubled between two questions for an interrupt.
_FIELDS_A_CHECK = 4096
# How long a pipe is waited for between two questions for an interrupt.
_WAIT_SECONDS = 0.1
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LINE_ENDS = b"\r\n"
# So many records that are left out are kept for the table of them.
MAX_REJECTS = 100_000


class TextFile:
    """The bytes of a text file as it was when it was opened.

    What takes its place under its name later is another file. What is decompressed or put into
    UTF-8 is a temporary file where it is large. record: how messages call what a line is.
    """

    record = "line"

    def __init__(
        self, source: InputFile, compression: str | None, encoding: str | None = None
    ) -> None:
        """Open a file. Raises OSError, and DataError for what cannot be decompressed or decoded.

        encoding: Python's name for that of the text, None for UTF-8, or UTF-16 with its mark.
        """
        path = self.path = source.path
        self._source = source
        # Of a part: the file that it is a part of, and where it begins there.
        self._origin: tuple[TextFile, int] | None = None
        self._content: bytes | mmap.mmap | None = None
        # Arrow reads on threads of its own.
        self._check_interrupt = interrupt_check()
        running = current.get()
        self._remarks = Remarks() if running is None else running.remarks
        self.room = Room(path)
        if is_open_pipe(path):
            self._content = self._received()
            self._file = pa.BufferReader(self._content)
        else:
            self._file = source.open()
        if compression is not None:
            source.bring()
            try:
                self._content = self._decompressed(compression)
            except (OSError, pa.ArrowException) as error:
                raise DataError(f"file '{path}' is not a {compression} file: {error}") from None
        if encoding is None and self.read(0, 2) in _UTF_16_MARKS:
            encoding = "utf-16"
        if encoding is not None:
            self._content = self._recoded(encoding)

    def _received(self) -> bytes | mmap.mmap:
        """Return what comes through a pipe until its other end is closed."""
        text = Spool()
        with open(self.path, "rb", buffering=0) as pipe:  # noqa: PTH123
            while True:
                self._check_interrupt()
                if select.select([pipe], [], [], _WAIT_SECONDS)[0]:
                    part = pipe.read(_PIECE_BYTES)
                    if not part:
                        break
                    text.write(part)
        content = text.finish()
        if not content:
            raise DataError(f"file '{self.path}' is empty")
        return content

    def _decompressed(self, compression: str) -> bytes | mmap.mmap:
        stream = pa.CompressedInputStream(self._file, compression)
        text = Spool()
        while part := stream.read(_PIECE_BYTES):
            self.room.check(len(part))
            text.write(part)
        return text.finish()

    def _recoded(self, encoding: str) -> bytes | mmap.mmap:
        """Return the text in UTF-8."""
        decoder = codecs.getincrementaldecoder(encoding)()
        place = 0
        text = Spool()
        while True:
            part = self.read(place, _PIECE_BYTES)
            try:
                text.write(decoder.decode(part, final=not part).encode())
            except UnicodeError as error:
                name = encoding.upper()
                raise DataError(
                    f"file '{self.path}' is not {name} behind byte {place}: {error}"
                ) from None
            if not part:
                return text.finish()
            place += len(part)

    @property
    def size_bytes(self) -> int:
        """The number of bytes, decompressed."""
        return self._file.size() if self._content is None else len(self._content)

    def read(self, start: int, count: int) -> bytes:
        """Return `count` bytes from `start` on, fewer at the end; any thread may read."""
        self._check_interrupt()
        if self._content is not None:
            return self._content[start : start + count]
        self._source.bring_ahead(start, start + count)
        part: bytes = self._file.read_at(count, start)
        return part

    @contextmanager
    def view(self) -> Iterator[mmap.mmap | bytes]:
        """Give all bytes, to be searched. The file must not be empty."""
        if self._content is not None:
            yield self._content
            return
        if isinstance(self._source, ObjectFile):
            self._source.bring()
            yield self._source.mapped
            return
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data

    def openings(self, *, is_enough: bool = True) -> Iterator[mmap.mmap | bytes]:
        """Yield all bytes; of a large object its beginning, then more while more is asked for.

        is_enough: whether a beginning may do. The file must not be empty.
        """
        if is_enough and self._content is None and isinstance(self._source, ObjectFile):
            for size in _OPENINGS:
                if size < self.size_bytes:
                    yield self.read(0, size)
        with self.view() as data:
            yield data

    def skip(self, lines: int) -> int:
        """Return where the text begins: after a byte order mark and some lines."""
        has_mark = self._origin is None and self.read(0, 3) == _BYTE_ORDER_MARK
        start = len(_BYTE_ORDER_MARK) if has_mark else 0
        if not lines:
            return start
        for data in self.openings():
            place = start
            for _ in range(lines):
                line_end = data.find(b"\n", place)
                if line_end < 0:
                    break
                place = line_end + 1
            else:
                return place
        return self.size_bytes

    def prefix(self, stop: int) -> TextFile:
        """Return the file's bytes up to `stop`, in memory."""
        return self.holding(self.read(0, stop))

    def text_end(self, start: int) -> int:
        """Return where the last line ends that is not blank, `start` if there is none."""
        stop = self.size_bytes
        while stop > start:
            first = max(start, stop - _END_BYTES)
            kept = len(self.read(first, stop - first).rstrip(_LINE_ENDS))
            if kept:
                line_end = self.read(first + kept, 2)
                pair = line_end == _LINE_ENDS
                return first + kept + (2 if pair else len(line_end[:1]))
            stop = first
        return start

    def count_lines(self, start: int, stop: int) -> int:
        """Count the ends of lines between two places."""
        count, last = 0, b""
        while start < stop:
            part = self.read(start, min(_PIECE_BYTES, stop - start))
            if not part:
                break
            count += part.count(b"\n") + part.count(b"\r") - part.count(_LINE_ENDS)
            count -= last == b"\r" and part[:1] == b"\n"
            start, last = start + len(part), part[-1:]
        return count

    def warn(self, text: str) -> None:
        """Say something beside the answer of the statement that has opened the file."""
        if text not in self._remarks.warnings:
            self._remarks.warnings.append(text)

    def expect_rejects(self) -> None:
        """Say that records may be left out, of which the statement then has a table."""
        if self._remarks.rejects is None:
            self._remarks.rejects = {}

    def leave_out(self, fault: Fault, schema: pa.Schema) -> None:
        """Note a record that is left out; any thread may."""
        rejects = self._remarks.rejects
        if rejects is None or len(rejects) >= MAX_REJECTS:
            return
        name = None if fault.field is None else schema[fault.field].name
        place = None if fault.field is None else fault.field + 1
        written = fault.written.decode(errors="backslashreplace")
        rejects[self.path, fault.line] = Reject(
            self.path, fault.line, place, name, fault.kind, written, fault.what
        )

    def holding(self, content: bytes | mmap.mmap) -> TextFile:
        """Return a file of the same name with other bytes."""
        file = copy.copy(self)
        file._content = content  # noqa: SLF001  (its own class)
        return file

    def part(self, start: int, content: bytes) -> TextFile:
        """Return some bytes of the file, from a place on, as a file whose lines keep their number.

        The place is behind a byte order mark.
        """
        file = self.holding(content)
        file._origin = (self, start)  # noqa: SLF001  (its own class)
        return file

    @property
    def origin(self) -> tuple[TextFile, int] | None:
        """The file that this one is a part of, and the place where it begins there."""
        return self._origin

    def line_number(self, place: int) -> int:
        """Return the number of the line at a place, from 1 on; a line feed ends each."""
        number = 1 if self._origin is None else self._origin[0].line_number(self._origin[1])
        for start in range(0, place, _PIECE_BYTES):
            number += self.read(start, min(_PIECE_BYTES, place - start)).count(b"\n")
        return number

    def with_doubled_quotes(self, layout: Layout, escape: str) -> TextFile:
        r"""Return the file with quotes in quoted fields doubled instead of escaped.

        With a backslash for the escape, `"a\"b",1` becomes `"a""b",1`.
        """
        quote, mark = layout.quote.encode(), escape.encode()
        one, two, other = re.escape(quote), re.escape(mark), re.escape(layout.delimiter.encode())
        escaped = re.compile(two + rb"([" + one + two + rb"])")
        quoted = one + rb"(?:[^" + one + two + rb"]|" + two + rb"(?s:.))*+" + one
        pattern = re.compile(quoted + rb"|[^" + other + rb"\r\n]++")
        text = Spool()
        pieces: list[bytes] = []
        copied = 0
        with self.view() as data:
            for number, field in enumerate(pattern.finditer(data)):
                start, stop = field.span()
                if number % _FIELDS_A_CHECK == 0 or stop - copied > _PIECE_BYTES:
                    self._check_interrupt()
                    text.write(b"".join(pieces))
                    pieces.clear()
                # What is longer than a record may be is refused when it is read.
                if data[start : start + 1] == quote and stop - start <= MAX_RECORD_BYTES:
                    inside = escaped.sub(rb"\1", data[start + 1 : stop - 1])
                    pieces += data[copied:start], quote, inside.replace(quote, quote * 2), quote
                    copied = stop
                elif stop - copied > _PIECE_BYTES:
                    for place in range(copied, stop, _PIECE_BYTES):
                        text.write(data[place : min(place + _PIECE_BYTES, stop)])
                    copied = stop
            text.write(b"".join([*pieces, data[copied:]]))
        return self.holding(text.finish())
