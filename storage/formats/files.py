"""COPY: read the rows of files as a table's columns, and write rows to a file.

    .tbl      fields end with '|', as the Star Schema Benchmark's dbgen writes them: no header, no
              quotes, no escapes. An empty field is NULL, but '' in a VARCHAR column that is NOT
              NULL. The first line decides whether a '|' follows the last field.
    .csv      RFC 4180. An empty field is NULL, and "" is the empty string. .tsv has tabs.
    .jsonl    one JSON object a line, its keys the columns; also .ndjson and .json.
    .parquet  columns by name, regardless of case, and of types that can be cast without loss.
    .flat     likewise.

All but .tbl can be written. The options are in options.py. In delimited text, integers are decimal
digits after an optional minus, DOUBLE and REAL are finite, BOOLEAN is true, false, t, f, 1 or 0,
dates are YYYY-MM-DD, and spaces around numbers do not matter. Text may be compressed: .csv.gz.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from raydb.errors import OperationalError, ProgrammingError, did_you_mean
from raydb.storage.durable.replace import replace_file
from raydb.storage.flat import open_table, write_stream
from raydb.storage.formats.cast_columns import fit_columns
from raydb.storage.formats.delimited import open_delimited, read_delimited
from raydb.storage.formats.file_parts import FittedPart, NamedPart
from raydb.storage.formats.json_lines import read_json
from raydb.storage.formats.options import (
    READ_OPTIONS,
    WRITE_OPTIONS,
    check_options,
    compression_of,
    text_settings,
    whole_number,
    with_plain_names,
)
from raydb.storage.formats.parquet import ParquetPart, read_parquet, write_parquet
from raydb.storage.formats.paths import check_file, describe_failure, expand, find_format
from raydb.storage.formats.text_file import TextFile
from raydb.storage.formats.text_lines import write_delimited, write_json_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from raydb.storage.formats.options import Options, TextSettings
    from raydb.storage.tables.rows import Part, Rows
    from raydb.storage.tables.table import TableDefinition


def read_rows(
    pattern: str,
    definition: TableDefinition,
    columns: tuple[str, ...] | None,
    options: Options,
    report: Callable[[int], None] | None = None,
) -> pa.Table:
    """Return the rows of a file in the table's schema; its constraints are not checked.

    The pattern may stand for several files, which are read one after the other. `columns` are those
    that the files hold, in their order (None: all); the others are NULL. The extension tells the
    format, unless options["format"] does. `report` is called now and then with the number of bytes
    read of a file, perhaps from another thread.

    Raises ProgrammingError for unknown columns, options, extensions and types that do not match;
    OperationalError for a file that cannot be read; DataError for what is wrong inside of it,
    naming the line and the field:

        file 'part.tbl', line 17, field 3 (p_size): 'big' is not an INTEGER
    """
    settings = with_plain_names(options)
    schema = _choose_columns(definition, columns)
    found = []
    for path in expand(pattern):
        kind = _format_of(path, settings, READ_OPTIONS)
        check_options(kind, settings, READ_OPTIONS)
        read = _reader(path, kind, schema, columns is None, settings, report)
        try:
            check_file(path, kind)
            found.append(read())
        except OSError as error:
            raise OperationalError(describe_failure(path, error)) from None
    return _fill(pa.concat_tables(found), definition.schema)


def _format_of(path: str, settings: Options, formats: Iterable[str]) -> str:
    given = settings.get("format")
    return find_format(path, None if given is None else str(given), formats, by_option=True)


def _reader(
    path: str,
    kind: str,
    schema: pa.Schema,
    exact: bool,
    settings: Options,
    report: Callable[[int], None] | None,
) -> Callable[[], pa.Table]:
    """Return a function that reads a file; its options are checked already."""
    match kind:
        case "parquet":
            return lambda: read_parquet(path, schema, exact, report)
        case "flat":
            return lambda: _read_flat(path, schema, exact)
        case "json":
            compression = compression_of(path, settings)
            return lambda: read_json(TextFile(path, compression), schema, exact, report)
        case _:
            text = text_settings(path, kind, settings)
            return lambda: _read_text(path, schema, text, report)


def _read_flat(path: str, schema: pa.Schema, exact: bool) -> pa.Table:
    with open_table(path) as flat:
        return copied(fit_columns(path, flat.schema, schema, exact, flat.scan))


def _read_text(
    path: str, schema: pa.Schema, text: TextSettings, report: Callable[[int], None] | None
) -> pa.Table:
    file = open_text(path, text)
    found = open_delimited(file, schema, text.layout, text.header, text.skipped_lines)
    return read_delimited(found, report=report)


def open_text(path: str, settings: TextSettings) -> TextFile:
    """Open a delimited file, decompressed and with quotes that are doubled within quotes."""
    file = TextFile(path, settings.compression)
    if settings.escape is None:
        return file
    return file.with_doubled_quotes(settings.layout, settings.escape)


def borrows(rows: Rows) -> bool:
    """Whether columns of a file or an object may share their bytes with it.

    What Parquet files decode to belongs to nobody else; any other part may be mapped or of Python.
    """
    return any(not isinstance(_innermost(part), ParquetPart) for part in rows.parts)


def _innermost(part: Part) -> Part:
    while isinstance(part, FittedPart | NamedPart):
        part = part.part
    return part


def copied(rows: pa.Table) -> pa.Table:
    """Return rows that share no bytes with a mapped file, which may change once it is closed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def write_rows(path: str, rows: pa.Table, options: Options) -> None:
    """Write rows to a file, which appears complete and synced to disk, or not at all.

    The extension tells the format, unless options["format"] does. Raises ProgrammingError for
    unknown options and extensions and for columns of the same name, NotSupportedError for types
    that the format lacks, DataError for values that it lacks, OperationalError where the disk
    fails.
    """
    settings = with_plain_names(options)
    kind = _format_of(path, settings, WRITE_OPTIONS)
    check_options(kind, settings, WRITE_OPTIONS)
    for name, times in Counter(rows.column_names).items():
        if times > 1:
            raise ProgrammingError(f"file '{path}' would have {times} columns named '{name}'")
    write = _writer(path, kind, rows, settings)
    if kind in ("csv", "json"):
        write = _compressed(write, compression_of(path, settings))
    replace_file(path, write)


def _writer(path: str, kind: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
    """Return a function that writes rows in a format."""
    match kind:
        case "csv":
            text = text_settings(path, kind, settings)
            header = text.header is not False
            return lambda sink: write_delimited(sink, rows, text.layout, header, text.escape)
        case "json":
            return lambda sink: write_json_lines(sink, rows)
        case "parquet":
            return lambda sink: write_parquet(sink, rows, settings)
        case _:
            chunk_rows = whole_number(settings, "chunk_rows")
            return lambda sink: _write_flat(sink, rows, chunk_rows)


def _write_flat(sink: BinaryIO, rows: pa.Table, chunk_rows: int | None) -> None:
    write_stream(sink, rows, chunk_rows=chunk_rows)


def _compressed(
    write: Callable[[BinaryIO], None], compression: str | None
) -> Callable[[BinaryIO], None]:
    if compression is None:
        return write

    def write_compressed(sink: BinaryIO) -> None:
        # Arrow closes what it has written to; the sink stays open, to be synced.
        with (
            os.fdopen(os.dup(sink.fileno()), "wb") as copy,
            pa.CompressedOutputStream(copy, compression) as stream,
        ):
            write(stream)

    return write_compressed


def _choose_columns(definition: TableDefinition, columns: tuple[str, ...] | None) -> pa.Schema:
    if columns is None:
        return definition.schema
    names = definition.schema.names
    for place, column in enumerate(columns):
        if column not in names:
            raise ProgrammingError(
                f"column '{column}' does not exist in '{definition.name}'"
                f"{did_you_mean(column, names)}"
            )
        if column in columns[:place]:
            raise ProgrammingError(f"column '{column}' is named twice")
    return pa.schema([definition.schema.field(column) for column in columns])


def _fill(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the rows with a column of NULLs for each column that the file does not hold."""
    present = rows.schema.names
    columns = [
        rows.column(field.name)
        if field.name in present
        else pa.chunked_array([pa.nulls(rows.num_rows, field.type)])
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
