"""Comma-separated files, RFC 4180: what the options say of them, and their columns and rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO

from raydb.errors import ProgrammingError
from raydb.storage.formats.delimited.infer import open_inferred
from raydb.storage.formats.delimited.read import open_delimited, read_delimited
from raydb.storage.formats.delimited.records import Layout
from raydb.storage.formats.format import ANY, Format, Setting, Use
from raydb.storage.formats.options import columns_of, compression_of, switch, text_of, whole_number
from raydb.storage.formats.text_file import TextFile
from raydb.storage.formats.write_lines import compressed, write_delimited

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from raydb.storage.formats.format import Report
    from raydb.storage.formats.options import Options
    from raydb.storage.tables.parts import Part

_READING = (Use.READ, Use.QUERY)
_QUERY = (Use.QUERY,)


class Csv(Format):
    """Fields between commas; .tsv has tabs."""

    name, copy_place = "csv", 1
    extensions: tuple[str, ...] = ("csv", "tsv")
    options = {
        "header": Setting("whether the first line has the names", ANY),
        "delimiter": Setting("the character between fields", ANY),
        "quote": Setting("the character around fields", ANY),
        "escape": Setting("what stands before a quote within quotes", ANY),
        "null": Setting("the text of NULL, unquoted", ANY),
        "compression": Setting("gzip, zstd, none or auto", ANY),
        "skip": Setting("lines to leave out at the beginning", _READING),
        "date_format": Setting("how dates are written, as in strptime", _READING),
        "timestamp_format": Setting("how timestamps are written", _READING),
        "columns": Setting("names and types of all columns", _QUERY),
        "names": Setting("names of the first columns", _QUERY),
        "types": Setting("types of the first columns, or by name", _QUERY),
        "all_varchar": Setting("whether all columns are VARCHAR", _QUERY),
        "sample_size": Setting("rows that the types are found from; -1 is all", _QUERY),
    }

    def text_settings(self, path: str, settings: Options) -> TextSettings:
        """Return what the options say of a file. Raises ProgrammingError for a bad one."""
        compression = compression_of(path, settings)
        layout = _layout(path, settings)
        return TextSettings(
            layout,
            _escape(settings, layout),
            switch(settings, "header"),
            whole_number(settings, "skip") or 0,
            compression,
            "delimiter" in settings or layout.delimiter == "\t",
        )

    def open(self, path: str, settings: Options) -> tuple[pa.Schema, Part]:
        """Return the columns, as the options or a sample of the rows tell them, and the rows."""
        text = self.text_settings(path, settings)
        file, columns = _open_text(path, text), columns_of(settings)
        return open_inferred(file, text.layout, columns, text.delimiter_given, text.skipped_lines)

    def reader(
        self, path: str, schema: pa.Schema, exact: bool, settings: Options, report: Report
    ) -> Callable[[], pa.Table]:
        """Return the function that reads rows; their fields are `schema`, in its order."""
        text = self.text_settings(path, settings)

        def read() -> pa.Table:
            file = _open_text(path, text)
            found = open_delimited(file, schema, text.layout, text.header, text.skipped_lines)
            return read_delimited(found, report=report)

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
    first record is one, None where that is not said.
    """

    layout: Layout
    escape: str | None
    header: bool | None
    skipped_lines: int
    compression: str | None
    delimiter_given: bool


def _layout(path: str, settings: Options) -> Layout:
    default = "\t" if ".tsv" in PurePath(path.lower()).suffixes[-2:] else ","
    delimiter = text_of(settings, "delimiter", default)
    delimiter = "\t" if delimiter == "\\t" else delimiter
    quote = text_of(settings, "quote", '"')
    if not _is_mark(quote):
        raise ProgrammingError(f"option quote is one ASCII character, not '{quote}'")
    if not _is_mark(delimiter) or delimiter == quote:
        raise ProgrammingError(
            f"option delimiter is one ASCII character, no quote and no line end, not '{delimiter}'"
        )
    null = settings.get("null", "")
    if not isinstance(null, str) or any(mark in null for mark in (delimiter, quote, "\r", "\n")):
        raise ProgrammingError(
            f"option null is a text without delimiter, quote and line end, not '{null}'"
        )
    return Layout(
        delimiter,
        quotes=True,
        null=null,
        null_strings=True,
        quote=quote,
        date_format=text_of(settings, "date_format", "") or None,
        timestamp_format=text_of(settings, "timestamp_format", "") or None,
    )


def _is_mark(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in "\r\n\0"


def _escape(settings: Options, layout: Layout) -> str | None:
    escape = text_of(settings, "escape", layout.quote)
    if not _is_mark(escape) or escape == layout.delimiter:
        raise ProgrammingError(f"option escape is one ASCII character, not '{escape}'")
    return None if escape == layout.quote else escape


def _open_text(path: str, text: TextSettings) -> TextFile:
    """Open a delimited file, decompressed and with quotes that are doubled within quotes."""
    file = TextFile(path, text.compression)
    return file if text.escape is None else file.with_doubled_quotes(text.layout, text.escape)
