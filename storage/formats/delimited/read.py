"""The reader of .tbl and .csv files: Arrow's parallel reader without its leniencies.

Arrow accepts what would surprise a user of SQL: hexadecimal integers (0x1F), infinities and NaN,
the year 0, NUL bytes, empty lines (as a row of NULLs), and a quote that is never closed, which
swallows the rest of the file. Each costs next to nothing to suspect while reading at full speed.
A file that fails or is suspect is searched for its first fault, record by record; a suspect
file without a fault is accepted.
"""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.interrupts import check_interrupt
from raydb.storage.formats.delimited.faults import locate_fault, miscount
from raydb.storage.formats.delimited.records import (
    MAX_RECORD_BYTES,
    Layout,
    Record,
    records,
    split_fields,
    unquote,
)
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    import mmap
    from collections.abc import Callable, Sequence

    from raydb.storage.formats.text_file import TextFile

_EMPTY_LINE = re.compile(rb"\n\r?\n|\r\n\r|\r\r|\n\r")
_FEW_BYTES = 1 << 18
_TRUE = ["true", "True", "TRUE", "t", "T", "1"]
_FALSE = ["false", "False", "FALSE", "f", "F", "0"]
BOOLEANS = (*_TRUE, *_FALSE)


@dataclass(frozen=True, eq=False, slots=True)
class DelimitedText:
    """A delimited file with what its records mean: `body` is the first one that is no header."""

    file: TextFile
    layout: Layout
    schema: pa.Schema
    body: Record


def open_delimited(
    file: TextFile, schema: pa.Schema, layout: Layout, header: bool | None, skipped_lines: int
) -> DelimitedText:
    """Find where the rows of a file begin whose fields are the columns of `schema`, in order.

    `header`: whether the first record is a header; None finds out. Raises DataError for an empty
    file, ProgrammingError for a header in another order, NotSupportedError for a type of column
    that text cannot hold.
    """
    check_types(schema)
    start = file.skip(skipped_lines)
    with file.view() as data:
        leading = records(data, layout, start, skipped_lines + 1)
        first = next(leading, None)
        if first is None:
            raise DataError(f"file '{file.path}' is empty")
        layout = _find_trailing(data, first, layout, schema)
        has_header = _has_header(file.path, data, first, layout, schema, header)
        body = next(leading, replace(first, start=first.next)) if has_header else first
    return DelimitedText(file, layout, schema, body)


def read_delimited(
    text: DelimitedText,
    names: Sequence[str] | None = None,
    report: Callable[[int], None] | None = None,
) -> pa.Table:
    """Return the rows of a delimited file, of the columns of those names (None: all).

    `report` is called from a thread of Arrow with the number of bytes read so far. Raises DataError
    naming file, line and field; fields of other columns are not looked at.
    """
    path, layout, schema, body = text.file.path, text.layout, text.schema, text.body
    # What is wrong with the form of a .tbl file shows in its last column.
    every = names is None or not layout.quotes
    chosen = list(range(len(schema))) if every else _places(schema, names or ())
    with text.file.view() as data:
        source = _Source(text, report)
        table, failure = _read_all(source, text, chosen)
        if failure is not None or source.is_suspect or _is_suspect(table, text, data):
            fault = locate_fault(
                data, body, layout, schema, partial(_fails_in, schema, layout, chosen)
            )
            if fault is None and failure is not None:
                fault = f"reading failed: {failure}"
            if fault is not None:
                raise DataError(f"file '{path}', {fault}")
    if _lacks_column(table, layout):
        fault = miscount(len(schema) - 1, len(schema))
        raise DataError(f"file '{path}', line {body.line}: {fault}")
    table = table if layout.null_strings else _nullify_empty_strings(table)
    return table if names is None else table.select(list(names))


def read_head(text: DelimitedText, names: Sequence[str], count: int) -> pa.Table:
    """Return the first rows of a file as `read_delimited` does, without a look at the others."""
    with text.file.view() as data:
        leading = records(data, text.layout, text.body.start, text.body.line)
        stop = max((each.next for each in itertools.islice(leading, count)), default=0)
    return read_delimited(replace(text, file=text.file.prefix(stop)), names)


def _fails_in(
    schema: pa.Schema, layout: Layout, chosen: list[int], part: bytes, field: int | None
) -> bool:
    """Tell whether whole records cannot be converted in some columns, or in one of them."""
    return fails(part, schema, layout, [place for place in chosen if field in (None, place)])


def _places(schema: pa.Schema, names: Sequence[str]) -> list[int]:
    """Return the places of some columns; where there are none, of one to count the rows by."""
    return [schema.get_field_index(name) for name in names] or [0]


def check_types(schema: pa.Schema) -> None:
    """Raise NotSupportedError for a column that cannot be read from text."""
    types = pa.types
    for field in schema:
        readable = (
            types.is_integer(field.type)
            or types.is_boolean(field.type)
            or pa.float32() == field.type
            or pa.float64() == field.type
            or types.is_decimal(field.type)
            or types.is_string(field.type)
            or types.is_date32(field.type)
            or types.is_time(field.type)
            or (types.is_timestamp(field.type) and field.type.tz is None)
        )
        if not readable:
            raise NotSupportedError(
                f"column '{field.name}' is {sql_type_name(field.type)}, which cannot be read from "
                "a .tbl or .csv file"
            )


def _has_integers(schema: pa.Schema) -> bool:
    return any(pa.types.is_integer(data_type) for data_type in schema.types)


def _find_trailing(
    data: mmap.mmap | bytes, first: Record, layout: Layout, schema: pa.Schema
) -> Layout:
    """Return the layout with `trailing` as the first line of a .tbl file has it."""
    if layout.quotes:
        return layout
    fields = split_fields(data[first.start : first.stop], layout)
    trailing = len(fields) != len(schema) and len(fields) > 1 and not fields[-1]
    return replace(layout, trailing=trailing)


def _has_header(
    path: str,
    data: mmap.mmap | bytes,
    first: Record,
    layout: Layout,
    schema: pa.Schema,
    header: bool | None,
) -> bool:
    """Tell whether the first record is a header, and check the order of the names in it."""
    if header is False or first.fault is not None:
        return False
    fields = split_fields(data[first.start : first.stop], layout)
    texts = [unquote(field, layout).decode(errors="replace").strip() for field in fields]
    given = [text.lower() for text in texts]
    names = [name.lower() for name in schema.names]
    if header is None and sorted(given) != sorted(names):
        return False
    if len(given) != len(names):
        fault = miscount(len(given), len(names))
        raise DataError(f"file '{path}', line {first.line}: the header has {fault}")
    for place, text in enumerate(given):
        if text != names[place] and text in names:
            raise ProgrammingError(
                f"file '{path}', line {first.line}: field {place + 1} of the header is "
                f"'{texts[place]}' where column '{schema.names[place]}' is expected; "
                "name the columns in the order of the file"
            )
    return True


def _end_mark(layout: Layout, schema: pa.Schema) -> bytes:
    """Return a record of NULLs, which follows the file; an open quote would swallow it."""
    if not layout.quotes:
        return b""
    return layout.delimiter.join([layout.null] * len(schema)).encode() + b"\n"


class _Source(io.RawIOBase):
    """A file's records, with an end mark after them; suspects NUL bytes and 0x as they pass."""

    def __init__(self, text: DelimitedText, report: Callable[[int], None] | None) -> None:
        super().__init__()
        self._file = text.file
        self._place = text.body.start
        self._end_mark = _end_mark(text.layout, text.schema)
        self._suspect_hexadecimal = _has_integers(text.schema)
        self._report = report
        self._last = b"\n"
        self._rest: bytes | None = None
        self.is_suspect = False

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next `size` bytes; fewer only at the end.

        Arrow takes a lone line feed for the end if it was sent a carriage return before.
        """
        if self._rest is None:
            part = self._read_file(size)
            if len(part) == size:
                return part
            line_end = b"" if self._last == b"\n" or not self._end_mark else b"\n"
            self._rest = part + line_end + self._end_mark
        part, self._rest = self._rest[:size], self._rest[size:]
        return part

    def _read_file(self, size: int) -> bytes:
        self._file.room.check()
        part = self._file.read(self._place, size)
        if part:
            self.is_suspect = self.is_suspect or self._looks_odd(part)
            self._last = part[-1:]
            self._place += len(part)
            if self._report is not None:
                self._report(self._place)
        return part

    def _looks_odd(self, part: bytes) -> bool:
        if b"\0" in part:
            return True
        if not self._suspect_hexadecimal:
            return False
        if self._last == b"0" and part[0] in b"xX":
            return True
        # One byte is found 20 times faster than two, and numbers hold no x.
        return any(x in part and b"0" + x in part for x in (b"x", b"X"))


def _read_all(
    source: _Source, text: DelimitedText, chosen: list[int]
) -> tuple[pa.Table, str | None]:
    """Return some columns of the file's rows and None, or no rows and the reason for failing."""
    layout = text.layout
    schema = pa.schema([text.schema.field(place) for place in chosen])
    every = chosen == list(range(len(text.schema)))
    nothing = schema.empty_table()
    try:
        options = _arrow_options(
            text.schema, layout, block_bytes=MAX_RECORD_BYTES, only=None if every else chosen
        )
        table = _with_schema(csv.read_csv(source, **options), schema)
        text.file.room.check()
    except pa.ArrowInvalid as error:
        # Who reads for Arrow may have been interrupted; what Arrow makes of that is no fault.
        check_interrupt()
        return nothing, str(error)
    if layout.quotes:
        end = table.slice(table.num_rows - 1)
        if any(column.null_count < 1 for column in end.columns):
            return nothing, "a quoted field is not closed"
        table = table.slice(0, table.num_rows - 1)
    return table, None


def _lacks_column(table: pa.Table, layout: Layout) -> bool:
    """Tell whether every line of a .tbl file ends with the delimiter, but none has one too many.

    Read to the letter the last column is empty throughout; what it means is that the table has a
    column which the file lacks.
    """
    if layout.quotes or layout.trailing or table.num_columns < 2:
        return False
    return bool(pc.all(_is_empty(table.column(table.num_columns - 1))).as_py())


def _with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the table without a trailing field, and with the dates that were read by a format.

    Raises ArrowInvalid for a date with a time of the day.
    """
    columns = []
    for column, kind in zip(table.columns, schema.types, strict=False):
        cast = column if column.type == kind else column.cast(kind)
        if cast is not column and not cast.cast(column.type).equals(column):
            raise pa.ArrowInvalid("a date has a time of the day")
        columns.append(cast)
    return pa.Table.from_arrays(columns, schema=schema)


def _arrow_options(
    schema: pa.Schema,
    layout: Layout,
    *,
    block_bytes: int,
    only: list[int] | None = None,
) -> dict[str, Any]:
    """Return Arrow's options; columns are named by number, and a trailing field must be empty."""
    # Arrow's formats are those of timestamps only.
    dates = pa.date32() if layout.date_format is None else pa.timestamp("s")
    types = [dates if kind == pa.date32() else kind for kind in schema.types]
    if layout.trailing:
        types.append(pa.null())
    formats = [given for given in (layout.date_format, layout.timestamp_format) if given]
    if layout.timestamp_format is None:
        formats.append(csv.ISO8601)
    names = [str(place) for place in range(len(types))]
    return {
        "read_options": csv.ReadOptions(
            # For a small part threads would take longer than their work.
            use_threads=block_bytes > _FEW_BYTES,
            column_names=names,
            block_size=block_bytes,
        ),
        "parse_options": csv.ParseOptions(
            delimiter=layout.delimiter,
            quote_char=layout.quote if layout.quotes else False,
            double_quote=layout.quotes,
            escape_char=False,
            newlines_in_values=layout.quotes,
            ignore_empty_lines=False,
        ),
        "convert_options": csv.ConvertOptions(
            check_utf8=True,
            column_types=dict(zip(names, types, strict=True)),
            include_columns=names if only is None else [names[place] for place in only],
            null_values=[layout.null],
            strings_can_be_null=layout.null_strings,
            quoted_strings_can_be_null=False,
            true_values=_TRUE,
            false_values=_FALSE,
            timestamp_parsers=formats,
        ),
    }


def _is_suspect(table: pa.Table, text: DelimitedText, data: mmap.mmap | bytes) -> bool:
    if any(_has_misfit(column) for column in table.columns):
        return True
    # An empty line has become a row without any text. In a lone column it is a value.
    lines_have_text = len(text.schema) > 1 or text.layout.trailing
    return lines_have_text and _has_empty_row(table) and _has_empty_line(data, text.body.start)


def _has_empty_line(data: mmap.mmap | bytes, start: int) -> bool:
    """Tell whether two line ends meet, perhaps within quotes."""
    first = True
    for place in range(start, len(data), MAX_RECORD_BYTES):
        check_interrupt()
        # One byte more on the left, two more on the right for a line end of two.
        part = data[max(place - 1, start) : place + MAX_RECORD_BYTES + 2]
        if (first and part[:1] in (b"\n", b"\r")) or _EMPTY_LINE.search(part):
            return True
        first = False
    return False


def _has_empty_row(table: pa.Table) -> bool:
    empty = None
    for column in table.columns:
        part = _is_empty(column)
        empty = part if empty is None else pc.and_(empty, part)
        if not pc.any(empty).as_py():
            return False
    return True


def _is_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type):
        return pc.equal(column, "").fill_null(True)
    return column.is_null()


def _has_misfit(column: pa.ChunkedArray) -> bool:
    """Tell whether Arrow has read a value that its type in SQL lacks.

    Such are infinities, NaN, the year 0, and 100 as DECIMAL(3,1): Arrow counts the digits before
    it appends those of the scale.
    """
    data_type = column.type
    if pa.types.is_floating(data_type):
        return pc.all(pc.is_finite(column)).as_py() is False
    if pa.types.is_decimal(data_type):
        ends = pc.min_max(column).as_py().values()
        limit = 10 ** (data_type.precision - data_type.scale)
        return any(end is not None and abs(end) >= limit for end in ends)
    if pa.types.is_date32(data_type) or pa.types.is_timestamp(data_type):
        year = pc.year(pc.min(column)).as_py()
        return year is not None and year < 1
    return False


def fails(part: bytes, schema: pa.Schema, layout: Layout, chosen: list[int]) -> bool:
    """Tell whether some fields of whole records cannot be converted."""
    check_interrupt()
    if not chosen:
        return False
    if part[-1:] not in (b"\n", b"\r"):
        part += b"\n"  # At the end of its input Arrow takes the empty field of '"",' for quoted.
    options = _arrow_options(schema, layout, block_bytes=len(part) + 1, only=chosen)
    try:
        table = csv.read_csv(pa.BufferReader(part), **options)
        table = _with_schema(table, pa.schema([schema.field(place) for place in chosen]))
    except pa.ArrowInvalid:
        return True
    if any(_has_misfit(column) for column in table.columns):
        return True
    whole = [place for place in chosen if pa.types.is_integer(schema.types[place])]
    if not whole or re.search(rb"0[xX]", part) is None:
        return False
    as_text = pa.schema([(name, pa.string()) for name in schema.names])
    options = _arrow_options(as_text, layout, block_bytes=len(part) + 1, only=whole)
    texts = csv.read_csv(pa.BufferReader(part), **options)
    return any(
        bool(pc.any(pc.match_substring_regex(column, r"^\s*0[xX]")).as_py())
        for column in texts.columns
    )


def read_texts(part: bytes, width: int, layout: Layout, chosen: list[int]) -> pa.Table | None:
    """Return some fields of whole records as bytes, None where a record is broken."""
    schema = pa.schema([(str(place), pa.binary()) for place in range(width)])
    with_nulls = replace(layout, null_strings=True)
    options = _arrow_options(schema, with_nulls, block_bytes=len(part) + 1, only=chosen)
    try:
        return csv.read_csv(pa.BufferReader(part), **options)
    except pa.ArrowInvalid:
        return None


def _nullify_empty_strings(table: pa.Table) -> pa.Table:
    """Return the rows of a .tbl file with NULL for '' where a VARCHAR column may be NULL."""
    for place, field in enumerate(table.schema):
        if field.nullable and pa.types.is_string(field.type):
            column = table.column(place)
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            table = table.set_column(place, field, column)
    return table
