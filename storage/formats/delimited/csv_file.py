"""Comma-separated files, RFC 4180: what the options say of them, and their columns and rows."""

from __future__ import annotations

import codecs
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO

import pyarrow.types as pt

from raydb.errors import ProgrammingError
from raydb.storage.enums import has_enums
from raydb.storage.formats.delimited.infer import (
    Columns,
    Inferred,
    infer_columns,
    open_inferred,
)
from raydb.storage.formats.delimited.read import open_delimited, read_whole_tables
from raydb.storage.formats.delimited.records import Layout
from raydb.storage.formats.delimited.vectors import is_vector
from raydb.storage.formats.format import ANY, Format, Setting, Use
from raydb.storage.formats.options import (
    columns_of,
    compression_of,
    switch,
    text_of,
    texts_of,
    whole_number,
)
from raydb.storage.formats.text_file import TextFile
from raydb.storage.formats.write_lines import compressed, write_delimited
from raydb.storage.nested import leaf_types
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.format import Report
    from raydb.storage.formats.options import Options
    from raydb.storage.tables.parts import Part

_READING = (Use.READ, Use.QUERY)
_QUERY = (Use.QUERY,)
# In so many bytes the first line mostly ends.
_FIRST_BYTES = 2**16


class Csv(Format):
    """Fields between commas; .tsv has tabs.

    layout: how a file is spelled where the options say nothing. header: whether it has one.
    """

    name, copy_place, is_text = "csv", 1, True
    extensions: tuple[str, ...] = ("csv", "tsv")
    options = {
        "header": Setting("whether the first line has the names", ANY),
        "delimiter": Setting("the character between fields", ANY),
        "quote": Setting("the character around fields", ANY),
        "escape": Setting("what stands before a quote within quotes", ANY),
        "null": Setting("the text of NULL, or a list of such texts", ANY),
        "compression": Setting("gzip, zstd, none or auto", ANY),
        "skip": Setting("lines to leave out at the beginning", _READING),
        "date_format": Setting("how dates are written, as in strptime", _READING),
        "timestamp_format": Setting("how timestamps are written", _READING),
        "encoding": Setting("the encoding, such as latin-1, cp1252 or utf-16", _READING),
        "decimal_separator": Setting("the character before the fraction of a number", _READING),
        "comment": Setting("the character that begins a comment", _READING),
        "null_padding": Setting("whether fields that a line lacks are NULL", _READING),
        "ignore_errors": Setting("whether lines that cannot be read are left out", _READING),
        "store_rejects": Setting("the same: what is left out is in reject_errors", _READING),
        "auto_detect": Setting("whether header, delimiter and types are found out", _READING),
        "columns": Setting("names and types of all columns", _QUERY),
        "names": Setting("names of the first columns", _QUERY),
        "types": Setting("types of the first columns, or by name", _QUERY),
        "all_varchar": Setting("whether all columns are VARCHAR", _QUERY),
        "sample_size": Setting("rows that the types are found from; -1 is all", _QUERY),
        **dict.fromkeys(
            ("buffer_size", "max_line_size", "new_line", "parallel", "strict_mode"),
            Setting("DuckDB's, without effect", _READING),
        ),
    }
    layout = Layout(",", quotes=True, nulls=("",), null_strings=True)
    header: bool | None = None

    def is_text_of(self, kind: pa.DataType, use: Use) -> bool:
        """Tell whether a type is that of intervals or of values with parts, but for bytes."""
        is_read_as_it_is = use is Use.READ and is_vector(kind)
        if is_read_as_it_is or has_enums(kind) or any(map(pt.is_binary, leaf_types(kind))):
            return False
        return bool(pt.is_nested(kind) or pt.is_interval(kind))

    def text_settings(self, path: str, settings: Options) -> TextSettings:
        """Return what the options say of a file. Raises ProgrammingError for a bad one."""
        is_detected = switch(settings, "auto_detect") is not False
        header = self.header if is_detected else False
        given = switch(settings, "header")
        layout = _layout(path, settings, self.layout)
        return TextSettings(
            layout,
            _escape(settings, layout),
            header if given is None else given,
            whole_number(settings, "skip") or 0,
            compression_of(path, settings),
            _encoding(settings),
            "delimiter" in settings or layout.delimiter == "\t" or not is_detected,
        )

    def open(self, source: InputFile, settings: Options) -> tuple[pa.Schema, Part]:
        """Return the columns, as the options or a sample of the rows tell them, and the rows."""
        text = self.text_settings(source.path, settings)
        file, columns = _open_text(source, text), columns_of(settings, text.header)
        return open_inferred(file, text.layout, columns, text.delimiter_given, text.skipped_lines)

    def sniff(self, source: InputFile) -> tuple[Inferred, str]:
        """Return what is found out of a file, and what its lines end with."""
        text = self.text_settings(source.path, {})
        file = _open_text(source, text)
        found = infer_columns(file, text.layout, Columns(), text.delimiter_given, 0)
        return found, "\r\n" if b"\r\n" in file.read(0, _FIRST_BYTES) else "\n"

    def reader(
        self, path: str, schema: pa.Schema, exact: bool, settings: Options, report: Report
    ) -> Callable[[InputFile], Iterator[pa.Table]]:
        """Return the function that reads rows; their fields are `schema`, in its order."""
        text = self.text_settings(path, settings)

        def read(source: InputFile) -> Iterator[pa.Table]:
            file = _open_text(source, text)
            found = open_delimited(file, schema, text.layout, text.header, text.skipped_lines)
            yield from read_whole_tables(found, report=report)

        return read

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        """Return the function that writes rows."""
        text = self.text_settings(path, settings)
        header = text.header is not False

        def write(sink: BinaryIO) -> None:
            write_delimited(sink, rows, text.layout, header, text.escape)

        return compressed(write, text.compression)


CSV = Csv()


@dataclass(frozen=True, slots=True)
class TextSettings:
    """How a delimited file is read or written.

    escape: what stands before a quote within quotes, None for another quote. header: whether the
    first record is one, None where that is not said. encoding: None where the file tells it.
    """

    layout: Layout
    escape: str | None
    header: bool | None
    skipped_lines: int
    compression: str | None
    encoding: str | None
    delimiter_given: bool


def _layout(path: str, settings: Options, default: Layout) -> Layout:
    is_tabs = ".tsv" in PurePath(path.lower()).suffixes[-2:]
    delimiter = text_of(settings, "delimiter", "\t" if is_tabs else default.delimiter)
    delimiter = "\t" if delimiter == "\\t" else delimiter
    quote = text_of(settings, "quote", default.quote)
    quotes = bool(quote) and (default.quotes or "quote" in settings)
    if quote and not _is_mark(quote):
        raise ProgrammingError(f"option quote is one ASCII character, not '{quote}'")
    if not _is_mark(delimiter) or (quotes and delimiter == quote):
        raise ProgrammingError(
            f"option delimiter is one ASCII character, no quote and no line end, not '{delimiter}'"
        )
    marks = [delimiter, "\r", "\n", *([quote] if quotes else [])]
    comment = text_of(settings, "comment", "")
    if comment and (not _is_mark(comment) or comment in marks):
        raise ProgrammingError(
            f"option comment is one ASCII character, no quote and no delimiter, not '{comment}'"
        )
    decimal = text_of(settings, "decimal_separator", ".")
    if decimal not in (".", ","):
        raise ProgrammingError(f"option decimal_separator is '.' or ',', not '{decimal}'")
    return Layout(
        delimiter,
        quotes=quotes,
        nulls=_nulls(settings, marks),
        null_strings=default.null_strings or "null" in settings,
        quote=quote or default.quote,
        date_format=text_of(settings, "date_format", "") or None,
        timestamp_format=text_of(settings, "timestamp_format", "") or None,
        decimal=decimal,
        comment=comment,
        padded=switch(settings, "null_padding") is True,
        lenient=_is_lenient(settings),
    )


def _is_lenient(settings: Options) -> bool:
    ignores, stores = switch(settings, "ignore_errors"), switch(settings, "store_rejects")
    if stores and ignores is False:
        raise ProgrammingError("option store_rejects is for errors that ignore_errors leaves out")
    return bool(ignores or stores)


def _nulls(settings: Options, marks: list[str]) -> tuple[str, ...]:
    """Return the texts of NULL."""
    nulls = texts_of(settings, "null", ("",))
    for null in nulls:
        if any(mark in null for mark in marks):
            raise ProgrammingError(
                f"option null is a text without delimiter, quote and line end, not '{null}'"
            )
    return nulls


def _is_mark(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n\0"


def _escape(settings: Options, layout: Layout) -> str | None:
    escape = text_of(settings, "escape", layout.quote)
    if not escape:
        return None
    if not _is_mark(escape) or escape == layout.delimiter:
        raise ProgrammingError(f"option escape is one ASCII character, not '{escape}'")
    return None if escape == layout.quote or not layout.quotes else escape


def _encoding(settings: Options) -> str | None:
    """Return Python's name for an encoding, None for UTF-8 and where none is given."""
    written = text_of(settings, "encoding", "")
    if not written:
        return None
    try:
        found = codecs.lookup(written.strip())
        is_text = bool("a".encode(found.name))  # codecs of bytes refuse it
    except (LookupError, UnicodeError, ValueError):
        is_text = False
    if not is_text:
        raise ProgrammingError(
            f"option encoding is utf-8, utf-16, latin-1, cp1252 or another one, not '{written}'"
        )
    return None if found.name in ("utf-8", "ascii", "utf-8-sig") else found.name


def _open_text(source: InputFile, text: TextSettings) -> TextFile:
    """Open a delimited file, decompressed and with quotes that are doubled within quotes."""
    file = TextFile(source, text.compression, text.encoding)
    if text.layout.lenient:
        file.expect_rejects()
    return file if text.escape is None else file.with_doubled_quotes(text.layout, text.escape)
