"""COPY: read the rows of files as a table's columns, and write rows to a file."""

from __future__ import annotations

import os
import uuid
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, OperationalError, ProgrammingError
from raydb.names import known_name
from raydb.storage.enums import stored_table, with_labels
from raydb.storage.fields import typed_schema
from raydb.storage.formats.files.input_file import open_file
from raydb.storage.formats.files.output_file import write_file
from raydb.storage.formats.format import Use
from raydb.storage.formats.hive import write_folders
from raydb.storage.formats.known import check_options, find_format
from raydb.storage.formats.options import given_format, switch, text_of, with_plain_names
from raydb.storage.formats.paths import describe_failure, expand
from raydb.storage.objects.urls import shown
from raydb.storage.tables.table import check_given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.storage.formats.format import Format
    from raydb.storage.formats.hive import Found
    from raydb.storage.formats.options import Options
    from raydb.storage.tables.table import TableDefinition

    # Values as another type; raises DataError for one that is none of it.
    Cast = Callable[[pa.ChunkedArray, pa.DataType], pa.ChunkedArray]


def read_batches(
    pattern: str,
    definition: TableDefinition,
    columns: tuple[str, ...] | None,
    options: Options,
    report: Callable[[int], None] | None = None,
    cast: Cast | None = None,
) -> Iterator[pa.Table]:
    """Yield the rows of a file in the table's schema, some at a time; no constraint is checked.

    The pattern may stand for several files, which are read one after the other. `columns` are those
    that the files hold, in their order (None: all); the others are NULL. The extension tells the
    format, unless options["format"] does. `report` is called now and then with the number of bytes
    read of a file, perhaps from another thread. `cast` makes the values of types that a format has
    as text, such as lists in .csv; without it they are refused.

    Raises ProgrammingError for unknown columns, options, extensions and types that do not match;
    OperationalError for a file that cannot be read; DataError for what is wrong inside of it,
    naming the line and the field:

        file 'part.tbl', line 17, field 3 (p_size): 'big' is not an INTEGER
    """
    settings = with_plain_names(options)
    schema = typed_schema(_choose_columns(definition, columns))
    for path in expand(pattern):
        chosen = find_format(path, given_format(settings), Use.READ)
        check_options(chosen, settings, Use.READ)
        in_file = schema if cast is None else _as_in_file(schema, chosen, Use.READ)
        read = chosen.reader(shown(path), in_file, columns is None, settings, report)
        file = open_file(path, chosen)
        try:
            is_empty = file.check(None if chosen.is_text else chosen.empty)
            for rows in () if is_empty else read(file):
                typed = _converted(rows, schema, cast, f"file '{shown(path)}', ")
                yield _fill(stored_table(typed), definition.schema)
        except OSError as error:
            raise OperationalError(describe_failure(path, error)) from None


def read_rows(
    pattern: str,
    definition: TableDefinition,
    columns: tuple[str, ...] | None,
    options: Options,
    report: Callable[[int], None] | None = None,
) -> pa.Table:
    """Return the rows of `read_batches`."""
    found = read_batches(pattern, definition, columns, options, report)
    return pa.concat_tables([definition.schema.empty_table(), *found])


def write_rows(path: str, rows: pa.Table, options: Options, cast: Cast | None = None) -> None:
    """Write rows to a file, which appears complete and synced to disk, or not at all.

    With options["partition_by"] they are files in folders of the columns that it names. `cast`
    makes texts of types that the format has as text; without it they are refused.
    The extension tells the format, unless options["format"] does. Raises ProgrammingError for
    unknown options and extensions and for columns of the same name, NotSupportedError for types
    that the format lacks, DataError for values that it lacks, OperationalError where the disk
    fails.
    """
    settings = with_plain_names(options)
    chosen = find_format(path, given_format(settings), Use.WRITE)
    check_options(chosen, settings, Use.WRITE)
    _refuse_doubles(path, rows)
    if not chosen.has_dictionaries:
        rows = with_labels(rows)

    def in_file(part: pa.Table) -> pa.Table:
        return _converted(part, _as_in_file(part.schema, chosen, Use.WRITE), cast)

    keys = settings.get("partition_by")
    if keys is None:
        write_file(path, chosen.writer(shown(path), in_file(rows), settings))
        return
    compression = settings.get("compression") if chosen.is_text else None
    ending = {"gzip": ".gz", "zstd": ".zst"}.get(str(compression), "")

    def write(folder: str, part: pa.Table) -> str:
        file = f"{folder}/{_file_name(settings)}.{chosen.extensions[0]}{ending}"
        write_file(file, chosen.writer(file, in_file(part), settings))
        return file

    names = tuple(map(str, keys)) if isinstance(keys, tuple) else (str(keys),)
    found: Found = "kept" if switch(settings, "overwrite_or_ignore") else "refused"
    if switch(settings, "overwrite"):
        found = "removed"
    keeps_keys = switch(settings, "write_partition_columns") is True
    write_folders(path, rows, names, write, found=found, keeps_keys=keeps_keys)


def _as_in_file(schema: pa.Schema, chosen: Format, use: Use) -> pa.Schema:
    """Return the columns as a format has them: some types as text."""
    for place, field in enumerate(schema):
        if chosen.is_text_of(field.type, use):
            schema = schema.set(place, field.with_type(pa.string()))
    return schema


def _converted(rows: pa.Table, schema: pa.Schema, cast: Cast | None, whose: str = "") -> pa.Table:
    """Return rows with the columns of a schema, of which a format has some as text.

    whose: what errors say before the column.
    """
    for place, field in enumerate(schema):
        if cast is not None and field.type != rows.schema.field(place).type:
            try:
                column = cast(rows.column(place), field.type)
            except DataError as error:
                raise DataError(f"{whose}column '{field.name}': {error}") from None
            rows = rows.set_column(place, field, column)
    return rows


def _file_name(settings: Options) -> str:
    """Return the name of a file of PARTITION_BY, of which each folder gets one, number 0."""
    pattern = text_of(settings, "filename_pattern", "data_{i}")
    if not pattern or "/" in pattern or os.sep in pattern:
        raise ProgrammingError(f"option filename_pattern is the name of a file, not '{pattern}'")
    return pattern.replace("{i}", "0").replace("{uuid}", str(uuid.uuid4()))


def _refuse_doubles(path: str, rows: pa.Table) -> None:
    for name, times in Counter(rows.column_names).items():
        if times > 1:
            raise ProgrammingError(
                f"file '{shown(path)}' would have {times} columns named '{name}'"
            )


def _choose_columns(definition: TableDefinition, columns: tuple[str, ...] | None) -> pa.Schema:
    if columns is None:
        return definition.given_schema
    fields: dict[str, pa.Field] = {}
    for column in columns:
        where = f" in '{definition.name}'"
        name = known_name(column, definition.schema.names, "column", where)
        if name in fields:
            raise ProgrammingError(f"column '{name}' is named twice")
        check_given(definition, name)
        fields[name] = definition.schema.field(name)
    return pa.schema(list(fields.values()))


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
