"""COPY: read the rows of a file as a table's columns, and write rows to a file.

    .tbl      fields end with '|', as the Star Schema Benchmark's dbgen writes them: no header, no
              quotes, no escapes. An empty field is NULL, but '' in a VARCHAR column that is NOT
              NULL. The first line decides whether a '|' follows the last field.
    .csv      RFC 4180. An empty field is NULL, and "" is the empty string. Options: delimiter (or
              sep), header (true or false; found out by default), null (the text of NULL).
    .parquet  columns by name, regardless of case, and of types that can be cast without loss.
    .flat     likewise.

All but .tbl can be written. In text, integers are decimal digits after an optional minus, DOUBLE
and REAL are finite, BOOLEAN is true, false, t, f, 1 or 0, dates are YYYY-MM-DD, and spaces around
numbers do not matter.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
from pyarrow import csv, parquet

from raydb.errors import (
    DataError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    did_you_mean,
)
from raydb.storage.delimited import read_delimited
from raydb.storage.fit import fit_columns
from raydb.storage.flat import open_table, write_stream
from raydb.storage.parquet import read_parquet
from raydb.storage.records import Layout
from raydb.storage.replace import replace_file
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raydb.storage.table import TableDefinition

_READ_OPTIONS = {
    "tbl": ("format",),
    "csv": ("format", "delimiter", "sep", "header", "null"),
    "parquet": ("format",),
    "flat": ("format",),
}
_WRITE_OPTIONS = {
    "csv": ("format", "delimiter", "sep", "header"),
    "parquet": ("format",),
    "flat": ("format", "chunk_rows"),
}
TBL = Layout("|", quotes=False, null="", null_strings=False)
_SWITCHES = {"true": True, "on": True, "1": True, "false": False, "off": False, "0": False}


def read_rows(
    path: str,
    definition: TableDefinition,
    columns: tuple[str, ...] | None,
    options: Mapping[str, str | bool],
    report: Callable[[int], None] | None = None,
) -> pa.Table:
    """Return the rows of a file in the table's schema; its constraints are not checked.

    `columns` are those that the file holds, in its order (None: all); the others are NULL. The
    extension tells the format, unless options["format"] does. `report` is called now and then
    with the number of bytes read, perhaps from another thread.

    Raises ProgrammingError for unknown columns, options, extensions and types that do not match;
    OperationalError for a file that cannot be read; DataError for what is wrong inside of it,
    naming the line and the field:

        file 'part.tbl', line 17, field 3 (p_size): 'big' is not an INTEGER
    """
    settings = {name.lower(): value for name, value in options.items()}
    kind = find_format(path, settings, _READ_OPTIONS)
    _check_options(kind, settings, _READ_OPTIONS)
    schema = _choose_columns(definition, columns)
    layout: Layout = TBL
    header: bool | None = False
    if kind == "csv":
        layout, header = _layout(settings), _header(settings)
    try:
        check_file(path, kind)
        match kind:
            case "parquet":
                rows = read_parquet(path, schema, columns is None, report)
            case "flat":
                rows = _read_flat(path, schema, columns is None)
            case _:
                rows = read_delimited(path, schema, layout, header, report)
    except OSError as error:
        raise OperationalError(describe_failure(path, error)) from None
    return _fill(rows, definition.schema)


def _read_flat(path: str, schema: pa.Schema, exact: bool) -> pa.Table:
    with open_table(path) as file:
        return copied(fit_columns(path, file.schema, schema, exact, file.scan))


def copied(rows: pa.Table) -> pa.Table:
    """Return rows that share no bytes with a mapped file, which may change once it is closed."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def write_rows(path: str, rows: pa.Table, options: Mapping[str, str | bool]) -> None:
    """Write rows to a file, which appears complete and synced to disk, or not at all.

    The extension tells the format, unless options["format"] does. Options: for .csv delimiter (or
    sep) and header; for .flat chunk_rows, the rows of a chunk in every column. Raises
    ProgrammingError for unknown options and extensions and for columns of the same name,
    NotSupportedError for types that the format lacks, OperationalError where the disk fails.
    """
    settings = {name.lower(): value for name, value in options.items()}
    kind = find_format(path, settings, _WRITE_OPTIONS)
    _check_options(kind, settings, _WRITE_OPTIONS)
    for name, count in Counter(rows.column_names).items():
        if count > 1:
            raise ProgrammingError(f"file '{path}' would have {count} columns named '{name}'")
    match kind:
        case "csv":
            _check_writable(rows.schema)
            separators = csv.WriteOptions(
                include_header=_header(settings) is not False,
                delimiter=_layout(settings).delimiter,
            )
            replace_file(path, lambda sink: csv.write_csv(rows, sink, separators))
        case "parquet":
            replace_file(path, lambda sink: parquet.write_table(rows, sink, compression="zstd"))
        case _:
            chunk_rows = _chunk_rows(settings)
            replace_file(path, lambda sink: _write_flat(sink, rows, chunk_rows))


def _write_flat(sink: BinaryIO, rows: pa.Table, chunk_rows: int | None) -> None:
    write_stream(sink, rows, chunk_rows=chunk_rows)


def _check_writable(schema: pa.Schema) -> None:
    for field in schema:
        if pa.types.is_binary(field.type):
            raise NotSupportedError(
                f"column '{field.name}' is {sql_type_name(field.type)}, which cannot be written to "
                "a .csv file"
            )


def _chunk_rows(settings: Mapping[str, str | bool]) -> int | None:
    if "chunk_rows" not in settings:
        return None
    written = str(settings["chunk_rows"])
    if not (written.isascii() and written.isdigit()):
        raise ProgrammingError(
            f"option chunk_rows is a whole number, not '{settings['chunk_rows']}'"
        )
    return int(written)


def find_format(
    path: str, settings: Mapping[str, str | bool] | None, formats: Iterable[str]
) -> str:
    """Return which of the formats a file has, by the option or by the extension.

    settings: None where there are no options. Raises ProgrammingError if it is none of them.
    """
    known = tuple(formats)
    if settings is not None and "format" in settings:
        kind = str(settings["format"]).lower()
        if kind not in known:
            near = did_you_mean(kind, known)
            raise ProgrammingError(f"format '{kind}' is not one of {', '.join(known)}{near}")
        return kind
    extension = Path(path).suffix
    kind = extension.lower().removeprefix(".")
    if kind not in known:
        found = f"the unknown extension '{extension}'" if extension else "no extension"
        raise ProgrammingError(
            f"file '{path}' has {found}; the format may be {', '.join(known[:-1])} or {known[-1]}, "
            f"by the extension{'' if settings is None else ' or by the option format'}"
        )
    return kind


def _check_options(
    kind: str, settings: Mapping[str, str | bool], options: Mapping[str, tuple[str, ...]]
) -> None:
    every = sorted({name for names in options.values() for name in names})
    for name in settings:
        if name not in every:
            raise ProgrammingError(f"option '{name}' does not exist{did_you_mean(name, every)}")
        if name not in options[kind]:
            raise ProgrammingError(f"option '{name}' does not apply to {kind} files")
    if "delimiter" in settings and "sep" in settings:
        raise ProgrammingError("options 'delimiter' and 'sep' mean the same; give one of them")


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


def check_file(path: str, kind: str) -> None:
    """Raise for what is no file, and for an empty one. OSError if there is nothing at all."""
    status = Path(path).stat()
    if S_ISDIR(status.st_mode):
        raise OperationalError(f"'{path}' is a directory, not a file")
    if not S_ISREG(status.st_mode):
        raise OperationalError(f"'{path}' is not a regular file")
    if not status.st_size:
        what = "is not a Parquet file: it is empty" if kind == "parquet" else "is empty"
        raise DataError(f"file '{path}' {what}")


def describe_failure(path: str, error: OSError) -> str:
    """Return in one sentence why a file cannot be read."""
    if isinstance(error, FileNotFoundError):
        return f"file '{path}' does not exist"
    reason = (error.strerror or str(error)).lower()
    return f"file '{path}' cannot be read: {reason}"


def _layout(settings: Mapping[str, str | bool]) -> Layout:
    delimiter = str(settings.get("delimiter", settings.get("sep", ",")))
    delimiter = "\t" if delimiter == "\\t" else delimiter
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise ProgrammingError(
            f"option delimiter is one ASCII character, no quote and no line end, not '{delimiter}'"
        )
    null = settings.get("null", "")
    if not isinstance(null, str) or any(mark in null for mark in (delimiter, '"', "\r", "\n")):
        raise ProgrammingError(
            f"option null is a text without delimiter, quote and line end, not '{null}'"
        )
    return Layout(delimiter, quotes=True, null=null, null_strings=True)


def _header(settings: Mapping[str, str | bool]) -> bool | None:
    if "header" not in settings:
        return None
    value = _SWITCHES.get(str(settings["header"]).lower())
    if value is None:
        raise ProgrammingError(f"option header is true or false, not '{settings['header']}'")
    return value


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
