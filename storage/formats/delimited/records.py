r"""Records and fields of a delimited file, told apart byte by byte as Arrow's reader does.

    7|"x|      .tbl: no quotes, no escapes; every line is a record
    7,"x, y"   .csv: RFC 4180; a quoted field may hold delimiters, line ends and doubled quotes;
               another character may stand for the quote
    7,x # y    a comment ends with its line; a line that is nothing else is no record

A line ends with \n, \r\n or \r. A quote is special only where a field begins.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING

from raydb.interrupts import check_interrupt
from raydb.values import dataclass

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator

# Arrow reads blocks of this size, and a record must fit into one.
MAX_RECORD_BYTES = 4 << 20
# Records take about a microsecond each.
_RECORDS_A_CHECK = 4096
_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a delimited file spells its records.

    `delimiter`, `quote` and `decimal` are one ASCII character each; `nulls` are the texts of
    NULL, the first of which is written; `null_strings` tells whether they are NULL in a VARCHAR
    column too. `trailing`: a delimiter follows the last field. `date_format` and `timestamp_format`
    are those of strptime, None for ISO 8601. `comment` begins one, '' for none. `padded`: fields
    that a record lacks are NULL. `lenient`: a record that cannot be read is left out.
    """

    delimiter: str
    quotes: bool
    nulls: tuple[str, ...]
    null_strings: bool
    trailing: bool = False
    quote: str = '"'
    date_format: str | None = None
    timestamp_format: str | None = None
    decimal: str = "."
    comment: str = ""
    padded: bool = False
    lenient: bool = False

    @property
    def is_mended(self) -> bool:
        """Whether records may be changed or left out before they are read."""
        return self.padded or self.lenient or bool(self.comment)


@dataclass(frozen=True, slots=True)
class Record:
    """Bytes [start, stop) of a file, without the line end; the next record begins at `next`.

    `line` counts from 1. fault: why its end was not found; no record follows it.
    """

    start: int
    stop: int
    next: int
    line: int
    fault: str | None = None


def records(
    data: mmap.mmap | bytes, layout: Layout, start: int = 0, line: int = 1
) -> Iterator[Record]:
    """Yield the records of a file from the byte `start`, which lies in the given line."""
    pattern = _record_pattern(layout)
    for number in itertools.count():
        if start >= len(data):
            return
        if number % _RECORDS_A_CHECK == 0:
            check_interrupt()
        limit = min(start + MAX_RECORD_BYTES + 1, len(data))
        found = pattern.match(data, start, limit)
        if limit < len(data) and (found is None or found.end() == limit):
            within = "a quoted field is not closed within" if found is None else "more than"
            fault = f"{within} {MAX_RECORD_BYTES} bytes, which a record may have"
            yield Record(start, limit, len(data), line, fault)
            return
        if found is None:
            fault = "a quoted field is not closed before the end of the file"
            yield Record(start, limit, len(data), line, fault)
            return
        stop, following = found.end(1), found.end()
        if not (layout.comment and _is_comment(data[start:following], stop - start)):
            yield Record(start, stop, following, line)
        line += 1 + (len(_LINE_END.findall(data[start:stop])) if layout.quotes else 0)
        start = following


def _is_comment(written: bytes, size_bytes: int) -> bool:
    """Tell whether a line, of whose record there are so many bytes, is nothing but a comment."""
    return written[size_bytes:].rstrip(b"\r\n") != b"" and not written[:size_bytes].strip(b" \t")


def split_fields(content: bytes, layout: Layout) -> list[bytes]:
    """Return the fields of a record as they are written, quotes included.

    >>> split_fields(b'1,"a,b"', Layout(",", quotes=True, nulls=("",), null_strings=True))
    [b'1', b'"a,b"']
    """
    if not layout.quotes or layout.quote.encode() not in content:
        return content.split(layout.delimiter.encode())
    return _field_pattern(layout).findall(content)


def unquote(field: bytes, layout: Layout) -> bytes:
    """Return the value that a field spells.

    >>> unquote(b'"5"" pipe"', Layout(",", quotes=True, nulls=("",), null_strings=True))
    b'5" pipe'
    """
    quote = layout.quote.encode()
    if not (layout.quotes and field.startswith(quote)):
        return field
    quoted = re.match(_quoted(quote), field)
    assert quoted is not None, field
    return quoted[0][1:-1].replace(quote * 2, quote) + field[quoted.end() :]


def _field(layout: Layout) -> bytes:
    quote = layout.quote.encode()
    plain = rb"[^" + re.escape((layout.delimiter + layout.comment).encode()) + rb"\r\n]*+"
    return rb"(?:" + _quoted(quote) + plain + rb"|(?!" + re.escape(quote) + rb")" + plain + rb")"


def _quoted(quote: bytes) -> bytes:
    mark = re.escape(quote)
    # Possessive repeats: a file of one endless quoted field is given up after one pass.
    return mark + rb"[^" + mark + rb"]*+(?:" + mark * 2 + rb"[^" + mark + rb"]*+)*+" + mark


@functools.cache
def _record_pattern(layout: Layout) -> re.Pattern[bytes]:
    mark = re.escape(layout.comment.encode())
    line_end = (rb"(?:" + mark + rb"[^\r\n]*+)?" if mark else b"") + rb"(?:\r\n|\r|\n|\Z)"
    if not layout.quotes:
        return re.compile(rb"([^\r\n" + mark + rb"]*+)" + line_end)
    field, delimiter = _field(layout), re.escape(layout.delimiter.encode())
    record = field + rb"(?:" + delimiter + field + rb")*+"
    return re.compile(rb"(" + record + rb")" + line_end)


@functools.cache
def _field_pattern(layout: Layout) -> re.Pattern[bytes]:
    delimiter = re.escape(layout.delimiter.encode())
    return re.compile(rb"(?:\A|" + delimiter + rb")(" + _field(layout) + rb")")
