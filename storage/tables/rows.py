"""A table's rows: parts in order, whose columns are decoded when they are first asked for.

    Rows(schema, (FlatStor file, FlatStor file, Arrow table of what was added since))

A part is anything with a row count, columns by name and their NULL counts. It can also give single
rows, say which rows a comparison holds for, and leave rows out for which it cannot hold, without
decoding a column from end to end.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import pyarrow as pa

from raydb.interrupts import beside, check_interrupt
from raydb.storage.flat.select import select_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat import FlatTable
    from raydb.storage.tables.finder import Finder

# Single-row inserts would leave one chunk a row. Chunks up to this size are merged with their
# neighbour as it grows to their size, so that a row is copied at most about 20 times.
MERGED_BYTES = 2**24

# So many rows of a column are taken one by one.
_MAX_SLICES = 1024

# And so many become one chunk again.
_MAX_JOINED = 2**16


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
    def is_counted(self) -> bool:
        """Whether the number of rows is known without reading them."""

    @property
    def expected_row_count(self) -> int:
        """The number of rows, or a guess where it takes reading them all."""

    @property
    def is_decoded(self) -> bool:
        """Whether a column costs nothing to read."""

    @property
    def is_seekable(self) -> bool:
        """Whether single rows cost little wherever they are, and not only at the start."""

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns, which are read together."""

    def dictionary(self, name: str) -> pa.ChunkedArray | None:
        """Return a column as Arrow's dictionary arrays, None where it is not stored as such."""

    def null_count(self, name: str) -> int:
        """Count a column's NULLs, without decoding it where the part knows."""

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows, given by their ascending numbers."""

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the ascending numbers of rows for which all comparisons hold, None for all rows.

        Others may be among them where the part cannot tell.
        """

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first `count` rows, fewer where there are no more."""

    def without(self, comparisons: Sequence[Comparison]) -> Part:
        """Return the part without chunks of rows for none of which all comparisons hold.

        The rows that are left have other numbers then.
        """


class PlainPart:
    """What parts have in common whose columns are read whole and then sliced."""

    __slots__ = ()

    @property
    def row_count(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        raise NotImplementedError

    @property
    def is_counted(self) -> bool:
        """True."""
        return True

    @property
    def expected_row_count(self) -> int:
        """The number of rows."""
        return self.row_count

    @property
    def is_seekable(self) -> bool:
        """True: a column can be read at any row."""
        return True

    def dictionary(self, name: str) -> None:
        """Return None: columns are read as their values."""
        del name

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return int(self.columns([name])[0].null_count)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        return take_rows(self.columns([name])[0], row_numbers)

    def matching_rows(self, comparisons: Sequence[Comparison]) -> None:
        """Return None: the rows are compared by whoever asks."""
        del comparisons

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows."""
        return [column.slice(0, count) for column in self.columns(names)]

    def without(self, comparisons: Sequence[Comparison]) -> Self:
        """Return the part as it is."""
        del comparisons
        return self


@dataclass(frozen=True, eq=False, slots=True)
class ArrowPart(PlainPart):
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

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        return [self.table.column(name) for name in names]


@dataclass(frozen=True, eq=False, slots=True)
class FilePart:
    """Rows in a FlatStor file; `name` is the file's name in the database directory.

    A file is never changed, so after ALTER TABLE `renamed` has what the file calls a column, where
    that is not its name, and `absent` the types of columns that it lacks, which are NULL.
    """

    name: str
    flat: FlatTable
    renamed: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.flat.row_count

    @property
    def is_counted(self) -> bool:
        """True."""
        return True

    @property
    def expected_row_count(self) -> int:
        """The number of rows."""
        return self.row_count

    @property
    def is_decoded(self) -> bool:
        """False: the rows are in chunks."""
        return False

    @property
    def is_seekable(self) -> bool:
        """True: each row can be read alone."""
        return True

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        return [
            self._nulls(name, self.row_count)
            if name in self.absent
            else self.flat.column(self._stored(name))
            for name in names
        ]

    def dictionary(self, name: str) -> None:
        """Return None: chunks are decoded to values."""
        del name

    def null_count(self, name: str) -> int:
        """Count a column's NULLs, from the metadata."""
        if name in self.absent:
            return self.row_count
        return int(self.flat.reader(self._stored(name)).column.header.null_count)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows; only their chunks are read."""
        if name in self.absent:
            return self._nulls(name, len(row_numbers))
        return self.flat.take(row_numbers, [self._stored(name)]).column(0)

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows that match; chunks are skipped by zone maps and bloom filters."""
        if not comparisons:
            return None
        if any(each.column in self.absent for each in comparisons):
            return np.empty(0, np.int64)
        wanted = [(self._stored(each.column), each.operator, each.value) for each in comparisons]
        return select_rows(self.flat, wanted)[0]

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows; only their chunks are read."""
        row_numbers = np.arange(min(count, self.row_count))
        return [self.take(name, row_numbers) for name in names]

    def without(self, comparisons: Sequence[Comparison]) -> FilePart:
        """Return the part as it is; `matching_rows` tells more."""
        del comparisons
        return self

    def _stored(self, name: str) -> str:
        """Return what the file calls a column."""
        return self.renamed.get(name, name)

    def _nulls(self, name: str, count: int) -> pa.ChunkedArray:
        return pa.chunked_array([pa.nulls(count, self.absent[name])])


@dataclass(frozen=True, eq=False, slots=True)
class RestPart(PlainPart):
    """The rows of another part from number `first` on, of which nothing else is read."""

    part: Part
    first: int

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.part.row_count - self.first

    @property
    def is_decoded(self) -> bool:
        """Whether a column costs nothing to read."""
        return self.part.is_decoded

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        if self.part.is_decoded:
            return [column.slice(self.first) for column in self.part.columns(names)]
        row_numbers = np.arange(self.first, self.part.row_count)
        return [self.part.take(name, row_numbers) for name in names]

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        return self.part.take(name, row_numbers + self.first)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Rows:
    """The rows of one version of a table.

    finders: those of some columns; what they know of these rows is right for rows that begin with
    them, too.
    """

    schema: pa.Schema
    parts: tuple[Part, ...] = ()
    finders: dict[tuple[str, ...], Finder] = field(default_factory=dict)
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return sum(part.row_count for part in self.parts)

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known without reading them."""
        return all(part.is_counted for part in self.parts)

    @property
    def expected_row_count(self) -> int:
        """The number of rows, or a guess where it takes reading them all."""
        return sum(part.expected_row_count for part in self.parts)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values as one chunked array of the schema's type; it is kept."""
        return self.columns([name])[0]

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns, which are read together; they are kept."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._columns]
        if wanted:
            pieces = self._read(wanted)
            for place, name in enumerate(wanted):
                chunks = [chunk for columns in pieces for chunk in columns[place].chunks]
                self._columns[name] = pa.chunked_array(
                    [chunk for chunk in chunks if len(chunk)], self.schema.field(name).type
                )
        return [self._columns[name] for name in names]

    def coded(self, name: str) -> pa.ChunkedArray:
        """Return a column's values, as Arrow's dictionary arrays where all parts store them so."""
        if name in self._columns:
            return self._columns[name]
        found = self.dictionary(name)
        return self.column(name) if found is None else found

    def dictionary(self, name: str) -> pa.ChunkedArray | None:
        """Return a column as Arrow's dictionary arrays, None where a part does not store it so.

        It is not kept.
        """

        def read() -> list[pa.ChunkedArray | None]:
            found: list[pa.ChunkedArray | None] = []
            for part in self.parts:
                check_interrupt()
                found.append(part.dictionary(name))
                if found[-1] is None:
                    break
            return found

        pieces = beside(read, self.expected_row_count)
        chunks = [chunk for piece in pieces if piece is not None for chunk in piece.chunks]
        return None if not chunks or pieces[-1] is None else pa.chunked_array(chunks)

    def _read(self, names: Sequence[str]) -> list[list[pa.ChunkedArray]]:
        """Return the columns of each part; several files are read side by side."""
        encoded = [part.expected_row_count for part in self.parts if not part.is_decoded]

        def read() -> list[list[pa.ChunkedArray]]:
            if len(encoded) < 2:
                return [part.columns(names) for part in self.parts]
            with ThreadPoolExecutor(pa.cpu_count()) as threads:
                return list(threads.map(lambda part: part.columns(names), self.parts))

        return beside(read, sum(encoded))

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return sum(part.null_count(name) for part in self.parts)

    @property
    def is_seekable(self) -> bool:
        """Whether single rows cost little wherever they are, and not only at the start."""
        return all(part.is_seekable for part in self.parts)

    def is_decoded(self, name: str) -> bool:
        """Say whether a column costs nothing to read."""
        return name in self._columns or all(part.is_decoded for part in self.parts)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows, given by their ascending numbers."""
        if name in self._columns:
            return take_rows(self._columns[name], row_numbers)
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

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first `count` rows, fewer where there are no more."""
        chunks: list[list[pa.Array]] = [[] for _ in names]
        left = count
        for part in self.parts:
            if left <= 0:
                break
            columns = part.head(names, left)
            for place, column in enumerate(columns):
                chunks[place] += column.chunks
            left -= len(columns[0])
        return [
            pa.chunked_array(chunks[place], self.schema.field(name).type)
            for place, name in enumerate(names)
        ]

    def without(self, comparisons: Sequence[Comparison]) -> Rows:
        """Return the rows without chunks of them for none of which all comparisons hold.

        The rows that are left have other numbers then.
        """
        parts = tuple(part.without(comparisons) for part in self.parts)
        same = all(new is old for new, old in zip(parts, self.parts, strict=True))
        return self if same else Rows(self.schema, parts)

    def table(self) -> pa.Table:
        """Return all columns."""
        return pa.Table.from_arrays(self.columns(self.schema.names), schema=self.schema)

    def rest(self, first: int) -> Rows:
        """Return the rows from number `first` on; no other one is read for them."""
        parts: list[Part] = []
        start = 0
        for part in self.parts:
            skipped = first - start
            start += part.row_count
            if start > first:
                parts.append(RestPart(part, skipped) if skipped > 0 else part)
        return Rows(self.schema, tuple(parts))

    def append(self, rows: pa.Table) -> Rows:
        """Return these rows and then others of the same schema.

        Rows in memory at the end are joined with the new ones, copying only small chunks.
        """
        *before, last = self.parts or (ArrowPart(self.schema.empty_table()),)
        if isinstance(last, ArrowPart):
            parts = (*before, ArrowPart(_concatenate(last.table, rows)))
        else:
            parts = (*before, last, ArrowPart(rows))
        return Rows(self.schema, parts, dict(self.finders))


def take_rows(column: pa.ChunkedArray, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
    """Return a column's values in some rows, given by their ascending numbers.

    Arrow looks at every chunk first: one row of 46 chunks takes it 110 us or more, as a slice 1,
    and 120 rows of text 6 ms.
    """
    if column.num_chunks < 2:
        return column.take(pa.array(row_numbers))
    if len(row_numbers) <= _MAX_SLICES:
        chunks = [column.slice(number, 1).chunk(0) for number in row_numbers.tolist()]
    else:
        ends = np.cumsum([len(chunk) for chunk in column.chunks])
        numbers, starts = np.unique(np.searchsorted(ends, row_numbers, "right"), return_index=True)
        parts = np.split(row_numbers, starts[1:])
        chunks = []
        for number, part in zip(numbers.tolist(), parts, strict=True):
            chunk = column.chunk(number)
            chunks.append(chunk.take(pa.array(part - (ends[number] - len(chunk)))))
    if len(row_numbers) <= _MAX_JOINED:
        chunks = [pa.concat_arrays(chunks)] if chunks else []
    return pa.chunked_array(chunks, column.type)


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
