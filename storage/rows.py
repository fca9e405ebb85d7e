"""A table's rows: parts in order, whose columns are decoded when they are first asked for.

    Rows(schema, (FlatStor file, FlatStor file, Arrow table of what was added since))

A part is anything with a row count, columns by name and their NULL counts. It can also give single
rows, and say which rows a comparison holds for, without decoding a column from end to end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from raydb.storage.flat.select import select_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat import FlatTable

# Single-row inserts would leave one chunk a row. Chunks up to this size are merged with their
# neighbour as it grows to their size, so that a row is copied at most about 20 times.
MERGED_BYTES = 2**24


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column beside a constant, which is of the column's type and not NULL.

    operator: one of ==, <, <=, > and >=.
    """

    column: str
    operator: str
    value: pa.Scalar


class Part(Protocol):
    """Some of a table's rows."""

    @property
    def row_count(self) -> int:
        """The number of rows."""

    @property
    def is_decoded(self) -> bool:
        """Whether a column costs nothing to read."""

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values."""

    def null_count(self, name: str) -> int:
        """Count a column's NULLs, without decoding it where the part knows."""

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows, given by their ascending numbers."""

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the ascending numbers of rows for which all comparisons hold, None for all rows.

        Others may be among them where the part cannot tell.
        """


@dataclass(frozen=True, eq=False, slots=True)
class ArrowPart:
    """Rows in memory."""

    table: pa.Table

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    @property
    def is_decoded(self) -> bool:
        """True: the rows are Arrow arrays."""
        return True

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values."""
        return self.table.column(name)

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return int(self.table.column(name).null_count)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        return self.table.column(name).take(pa.array(row_numbers))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> None:
        """Return None: the rows are compared by whoever asks."""
        del comparisons


@dataclass(frozen=True, eq=False, slots=True)
class FilePart:
    """Rows in a FlatStor file; `name` is the file's name in the database directory."""

    name: str
    flat: FlatTable

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.flat.row_count

    @property
    def is_decoded(self) -> bool:
        """False: the rows are in chunks."""
        return False

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values."""
        return self.flat.column(name)

    def null_count(self, name: str) -> int:
        """Count a column's NULLs, from the metadata."""
        return int(self.flat.reader(name).column.header.null_count)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows; only their chunks are read."""
        return self.flat.take(row_numbers, [name]).column(0)

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows that match; chunks are skipped by zone maps and bloom filters."""
        if not comparisons:
            return None
        wanted = [(each.column, each.operator, each.value) for each in comparisons]
        return select_rows(self.flat, wanted)[0]


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

    def is_decoded(self, name: str) -> bool:
        """Say whether a column costs nothing to read."""
        return name in self._columns or all(part.is_decoded for part in self.parts)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows, given by their ascending numbers."""
        if name in self._columns:
            return self._columns[name].take(pa.array(row_numbers))
        chunks = []
        first = 0
        for part in self.parts:
            start, stop = np.searchsorted(row_numbers, (first, first + part.row_count))
            if start < stop:
                chunks += part.take(name, row_numbers[start:stop] - first).chunks
            first += part.row_count
        return pa.chunked_array(chunks, self.schema.field(name).type)

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the numbers of rows as `Part.matching_rows` does, None for all rows."""
        found = [part.matching_rows(comparisons) for part in self.parts]
        if all(numbers is None for numbers in found):
            return None
        first = 0
        shifted = []
        for part, numbers in zip(self.parts, found, strict=True):
            shifted.append(first + (np.arange(part.row_count) if numbers is None else numbers))
            first += part.row_count
        return np.concatenate(shifted)

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
