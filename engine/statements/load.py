"""Rows that come some at a time, on their way into a table: many go to files as they come.

rows of 40 MB    a FlatStor file, which the change names     storage/tables/changes.py: Load
fewer            a table in memory                           Append
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.engine.catalog.stored_rows import write_part
from raydb.engine.statements.row_changes import RowChanges
from raydb.interrupts import beside
from raydb.planner.expressions.casts.cast import cast_values
from raydb.room import keep_rows
from raydb.storage.formats.format import copied
from raydb.storage.tables.changes import Append, Load
from raydb.storage.tables.parts import ArrowPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.plan.nodes import Plan
    from raydb.storage.tables.parts import FilePart
    from raydb.storage.tables.table import Table, TableDefinition

# A file of so many bytes in memory is final: no checkpoint merges it with others.
FILE_BYTES = 40 << 20
# Encoding rows takes up to four times as many.
_ENCODED = 4


def append_batches(
    batches: Iterator[pa.Table], definition: TableDefinition, context: StatementContext
) -> RowChanges:
    """Return the change that appends rows of a table's columns.

    A database in memory keeps them all there, and so does a table with a vector index, which is to
    be checked with them.
    """
    files = None if definition.ivf_indexes else context.files
    limit = context.memory_limit()
    most = FILE_BYTES if limit is None else min(FILE_BYTES, limit // (2 * _ENCODED))
    parts: list[FilePart] = []
    waiting: list[pa.Table] = []
    held = 0

    def write() -> None:
        nonlocal held
        assert files is not None
        part = ArrowPart(pa.concat_tables(waiting))
        waiting.clear()
        held = 0
        parts.append(write_part(part, definition, files))

    with context.keeping_rows():  # those of files that are read as a whole, too
        for rows in batches:
            if files is None:
                waiting.append(keep_rows(rows))
                continue
            for piece in _pieces(rows, most):
                waiting.append(piece)
                held += piece.nbytes
                if held >= most:
                    write()
        if parts and waiting:
            write()
    if parts:
        change = Load(definition.name, tuple(parts))
        return RowChanges.of(change, change.row_count)
    appended = pa.concat_tables(waiting) if waiting else definition.schema.empty_table()
    return RowChanges.of(Append(definition.name, appended), appended.num_rows)


def _pieces(rows: pa.Table, most: int) -> Iterator[pa.Table]:
    """Yield rows that come in pieces of so many bytes."""
    step = max(rows.num_rows * most // max(rows.nbytes, 1), 1)
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def are_read(files: Mapping[str, Table]) -> bool:
    """Tell whether a query's rows are to be appended as they come: it reads files."""
    return any(not part.is_decoded for table in files.values() for part in table.rows.parts)


def rows_of_query(
    logical: Plan,
    files: Mapping[str, Table],
    definition: TableDefinition,
    context: StatementContext,
) -> Iterator[pa.Table]:
    """Yield the rows of a query, some at a time, as rows of a table."""
    schema = pa.schema([field.with_nullable(True) for field in definition.schema])
    for found in context.run_in_blocks(logical, files):
        rows = copied(found) if any(each.rows.is_borrowed for each in files.values()) else found
        columns = map(cast_values, rows.columns, schema.types)
        yield pa.Table.from_arrays(list(columns), schema=schema)


def waited_for(batches: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield what an iterator does, which works on a thread beside this one, so that this hears."""
    while (rows := beside(partial(next, batches, None))) is not None:
        yield rows
