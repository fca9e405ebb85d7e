"""A table's rows on their way to disk: those in memory become files, and small files one.

write_rows(table, write, open_part)     at each manifest, see `storage/tables/file_merges.py`
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from raydb.errors import OperationalError
from raydb.interrupts import beside
from raydb.storage.tables.file_merges import JoinedPart, tiered
from raydb.storage.tables.parts import FilePart, Part
from raydb.storage.tables.rows import Rows
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.tables.table import Table, TableDefinition


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a database: `write` makes one and returns its name, `open` reads its rows.

    most: how many bytes of rows may be decoded at a time, to be merged.
    """

    write: Callable[[Callable[[BinaryIO], None]], str]
    open: Callable[[str], FilePart]
    most: int


def write_part(part: Part, definition: TableDefinition, files: Files) -> FilePart:
    """Return the rows of a part in a file of their own."""
    return files.open(files.write(partial(_write_part, part, definition)))


def write_rows(table: Table, files: Files) -> Table:
    """Return the table with all its rows in files, of which few are small."""
    before = tuple(part for part in table.rows.parts if part.row_count)
    after: list[Part] = []
    for group in tiered(before, files.most):
        after += _written(group, table.definition, files)
    if tuple(after) == before:
        return table
    rows = Rows(table.rows.schema, tuple(after), dict(table.rows.key_indexes))
    return replace(table, rows=rows)


def _written(group: tuple[Part, ...], definition: TableDefinition, files: Files) -> list[Part]:
    """Return parts of which each is a file: one, unless they cannot be merged."""
    known = [part for part in group if isinstance(part, FilePart)]
    if len(known) == len(group) == 1:
        return list(group)
    whole = group[0] if len(group) == 1 else JoinedPart(group)
    try:
        return [write_part(whole, definition, files)]
    except OperationalError:
        # Rows in files need no merge: a file that is damaged is an error of those who read it, and
        # a disk with little room may have enough for the new rows.
        if not known:
            raise
        return [
            part if isinstance(part, FilePart) else _written((part,), definition, files)[0]
            for part in group
        ]


def _write_part(part: Part, definition: TableDefinition, sink: BinaryIO) -> None:
    schema, layout = definition.schema, definition.layout
    from raydb.storage.flat.write import write_stream  # noqa: PLC0415  (queries write nothing)

    columns = beside(lambda: part.columns(schema.names), part.row_count)
    write_stream(
        sink,
        pa.Table.from_arrays(columns, schema=schema),
        chunk_rows=dict(layout.chunk_rows),
        encodings=dict(layout.encodings),
        offset_index=dict(layout.offset_index),
    )
