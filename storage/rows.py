"""A table's rows: parts in order, whose columns are decoded when they are first asked for.

    Rows(schema, (FlatStor file, FlatStor file, Arrow table of what was added since))

A part is anything with a row count, columns by name and their NULL counts; Arrow tables in memory
are wrapped here, files on disk bring their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

# Single-row inserts would leave one chunk a row. Chunks up to this size are merged with their
# neighbour as it grows to their size, so that a row is copied at most about 20 times.
MERGED_BYTES = 2**24


class Part(Protocol):
    """Some of a table's rows."""

    @property
    def row_count(self) -> int:
        """The number of rows."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values."""

    def null_count(self, name: str) -> int:
        """Count a column's NULLs, without decoding it where the part knows."""


@dataclass(frozen=True, eq=False, slots=True)
class ArrowPart:
    """Rows in memory."""

    table: pa.Table

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values."""
        return self.table.column(name)

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return int(self.table.column(name).null_count)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The rows of one version of a table."""

    schema: pa.Schema
    parts: tuple[Part, ...] = ()
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return sum(part.row_count for part in self.parts)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values as one chunked array of the schema's type; it is kept."""
        if name not in self._columns:
            chunks = [chunk for part in self.parts for chunk in part.column(name).chunks]
            self._columns[name] = pa.chunked_array(
                [chunk for chunk in chunks if len(chunk)], self.schema.field(name).type
            )
        return self._columns[name]

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return sum(part.null_count(name) for part in self.parts)

    def table(self) -> pa.Table:
        """Return all columns."""
        return pa.Table.from_arrays(
            [self.column(name) for name in self.schema.names], schema=self.schema
        )

    def append(self, rows: pa.Table) -> Rows:
        """Return these rows and then others of the same schema.

        Rows in memory at the end are joined with the new ones, copying only small chunks.
        """
        *before, last = self.parts or (ArrowPart(self.schema.empty_table()),)
        if isinstance(last, ArrowPart):
            return Rows(self.schema, (*before, ArrowPart(_concatenate(last.table, rows))))
        return Rows(self.schema, (*before, last, ArrowPart(rows)))


def _concatenate(table: pa.Table, rows: pa.Table) -> pa.Table:
    """Return both tables' rows in order, copying only small chunks at the end."""
    columns = []
    for old, new in zip(table.columns, rows.columns, strict=True):
        chunks = [chunk for chunk in (*old.chunks, *new.chunks) if len(chunk)]
        start = _first_to_merge(chunks)
        if start < len(chunks) - 1:
            chunks[start:] = [pa.concat_arrays(chunks[start:])]
        columns.append(pa.chunked_array(chunks, old.type))
    return pa.Table.from_arrays(columns, schema=table.schema)


def _first_to_merge(chunks: Sequence[pa.Array]) -> int:
    """Return where the chunks begin that, from the last one back, are to become one chunk."""
    start, row_count, size_bytes = len(chunks), 0, 0
    for chunk in reversed(chunks):
        size_bytes += chunk.nbytes
        if row_count and (len(chunk) > row_count or size_bytes > MERGED_BYTES):
            break
        row_count += len(chunk)
        start -= 1
    return start
