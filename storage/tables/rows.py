"""A table's rows: parts in order, whose columns are decoded when they are first asked for.

Rows(schema, (FlatStor file, FlatStor file, Arrow table of what was added since))
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.interrupts import beside, check_interrupt
from raydb.kernels.codecs.packed_numbers import is_packed, packed_numbers
from raydb.late import futures
from raydb.room import read_limit
from raydb.storage.flat import bring
from raydb.storage.tables import zones as row_zones
from raydb.storage.tables.decoded import decoded_columns
from raydb.storage.tables.parts import ArrowPart, PackedPart, RestPart
from raydb.storage.take_rows import in_any_order, take_rows
from raydb.storage.textual import check_texts
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.bring import WantedRows
    from raydb.storage.flat.flat_table import FlatTable
    from raydb.storage.tables.key_index import KeyIndex
    from raydb.storage.tables.parts import Comparison, Part

# Single-row inserts would leave one chunk a row. Chunks up to this size are merged with their
# neighbour as it grows to their size, so that a row is copied at most about 20 times.
MERGED_BYTES = 2**24

# So many rows are packed: of fewer, a query spends more on widening than memory is worth.
PACK_ROWS = 2**16

# Text of more bytes stays in pieces: an array addresses 2 GB.
_JOINED_BYTES = 2**30

# A column of so few rows is kept as one piece: whoever computes on it would join it each time.
_WHOLE_ROWS = 2**11

# While rows are packed they are there twice, so those of more than this share of memory_limit keep
# their pieces, and of more than that share they stay as they are: they may lie in files, too.
_JOINED_SHARE = 8
_PACKED_SHARE = 2

# So much is brought of all columns before it is known which rows a predicate leaves.
_BROUGHT_BYTES = 2**22


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Rows:
    """The rows of one version of a table.

    key_indexes: those of some columns; what they know of these rows is right for rows that begin
    with them, too.
    """

    schema: pa.Schema
    parts: tuple[Part, ...] = ()
    key_indexes: dict[tuple[str, ...], KeyIndex] = field(default_factory=dict)
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    # Of how many rows, which may be those that others were added to. None for a column that was
    # asked about once: rows may be there for one statement only.
    _zones: dict[str, tuple[int, row_zones.Zones] | None] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return sum([part.row_count for part in self.parts])

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known without reading them."""
        return all(part.is_counted for part in self.parts)

    @property
    def expected_row_count(self) -> int:
        """The number of rows, or a guess where it takes reading them all."""
        return sum(part.expected_row_count for part in self.parts)

    @property
    def is_streamed(self) -> bool:
        """Whether a part gives its rows in blocks, see `Part.blocks`."""
        return any(part.is_streamed for part in self.parts)

    @property
    def is_borrowed(self) -> bool:
        """Whether columns may share their bytes with a mapped file or an object of Python."""
        return any(part.is_borrowed for part in self.parts)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values as one chunked array of the schema's type; it is kept."""
        return self.columns([name])[0]

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns, which are read together; they are kept.

        So long as `decoded_columns` has room for them. Those that are widened are made each time.
        """
        found = {name: self._columns.get(name) for name in names}
        wanted = [name for name, column in found.items() if column is None]
        if self._columns:
            decoded_columns.use(self)
        if wanted:
            are_encoded = any(not part.is_decoded for part in self.parts)
            pieces = self._read(wanted)
            for place, name in enumerate(wanted):
                chunks = [chunk for columns in pieces for chunk in columns[place].chunks]
                column = pa.chunked_array(
                    [chunk for chunk in chunks if len(chunk)], self.schema.field(name).type
                )
                if column.num_chunks > 1 and len(column) <= _WHOLE_ROWS:
                    column = pa.chunked_array([column.combine_chunks()])
                found[name] = column
                if any(part.is_widened(name) for part in self.parts):
                    continue
                self._columns[name] = column
                if are_encoded:
                    decoded_columns.add(self, name, column.nbytes)
        return [found[name] for name in names]

    def forget(self, name: str) -> None:
        """Keep a column no longer; it is decoded again when it is asked for."""
        self._columns.pop(name, None)

    def integers(self, name: str) -> pa.ChunkedArray | None:
        """Return a column as the integers that it is kept as, 0 where NULL; None for others."""
        return self.parts[0].integers(name) if len(self.parts) == 1 else None

    def slice(self, name: str, start: int, stop: int) -> pa.ChunkedArray:
        """Return a column's values in the rows start to stop; what is decoded is not kept."""
        kept = self._columns.get(name)
        if kept is not None:
            return kept.slice(start, stop - start)
        chunks = []
        first = 0
        for part in self.parts:
            low, high = max(start - first, 0), min(stop - first, part.row_count)
            if low < high:
                chunks += part.slice([name], low, high)[0].chunks
            first += part.row_count
        return pa.chunked_array(chunks, self.schema.field(name).type)

    def coded(self, name: str) -> pa.ChunkedArray:
        """Return a column's values, as Arrow's dictionary arrays where all parts store them so."""
        kept = self._columns.get(name)
        if kept is not None:
            return kept
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

        self.bring(names)

        def read() -> list[list[pa.ChunkedArray]]:
            if len(encoded) < 2:
                return [part.columns(names) for part in self.parts]
            with futures.ThreadPoolExecutor(pa.cpu_count()) as threads:
                return list(threads.map(lambda part: part.columns(names), self.parts))

        return beside(read, sum(encoded))

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        self.bring_metadata([name])
        return sum(part.null_count(name) for part in self.parts)

    def bounds(self, name: str) -> pa.Array | None:
        """Return a column's least and greatest value where they are known; see `bounds_of`."""
        self.bring_metadata([name])
        return row_zones.bounds_of(self.parts, name, self.schema.field(name).type)

    @property
    def is_seekable(self) -> bool:
        """Whether single rows cost little wherever they are, and not only at the start."""
        return all(part.is_seekable for part in self.parts)

    def decoded_bytes(self, names: Sequence[str], enough: float) -> float:
        """Return how many bytes some columns take that are not decoded yet; see `Part`."""
        wanted = [name for name in names if name not in self._columns]
        return sum(
            part.decoded_bytes(name, self.schema.field(name).type, enough)
            for name in wanted
            for part in self.parts
        )

    def is_decoded(self, name: str) -> bool:
        """Say whether a column costs nothing to read."""
        return name in self._columns or all(part.is_decoded for part in self.parts)

    @property
    def kept_bytes(self) -> int:
        """The bytes of the columns that are kept decoded."""
        encoded = any(not part.is_decoded for part in self.parts)
        # A BVH that is merged beside this thread may decode another column meanwhile.
        return sum(column.nbytes for column in list(self._columns.values())) if encoded else 0

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows, given by their numbers in any order."""
        kept = self._columns.get(name)
        if kept is not None:
            return take_rows(kept, row_numbers)
        if len(self.parts) == 1 and len(row_numbers):
            return self.parts[0].take(name, row_numbers)
        return in_any_order(lambda ascending: self._take_ascending(name, ascending), row_numbers)

    def _take_ascending(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        chunks = []
        first = 0
        for part in self.parts:
            start, stop = np.searchsorted(row_numbers, (first, first + part.row_count))
            if start < stop:
                chunks += part.take(name, row_numbers[start:stop] - first).chunks
            first += part.row_count
        return pa.chunked_array(chunks, self.schema.field(name).type)

    def bring(self, names: Sequence[str], row_numbers: NDArray[np.int64] | None = None) -> None:
        """Bring columns of ascending rows (None: all) of files that are elsewhere, together."""
        wanted: list[tuple[FlatTable, Sequence[str], WantedRows]] = []
        first = 0
        for part in self.parts:
            found = part.remote([name for name in names if name not in self._columns])
            if found is not None and row_numbers is None:
                wanted.append((*found, None))
            elif found is not None and row_numbers is not None:
                start, stop = np.searchsorted(row_numbers, (first, first + part.row_count))
                if start < stop:
                    wanted.append((*found, row_numbers[start:stop] - first))
            elif row_numbers is not None and part.is_remote:
                start, stop = np.searchsorted(row_numbers, (first, first + part.row_count))
                part.bring_rows(names, row_numbers[start:stop] - first)
            first += part.row_count
        bring.bring_tables(wanted)

    def bring_metadata(self, names: Sequence[str]) -> None:
        """Bring what tells of columns, but no rows, of files that are elsewhere, together."""
        remote = [found for part in self.parts if (found := part.remote(names)) is not None]
        bring.bring_tables([(*found, []) for found in remote])

    def bring_matching(self, names: Sequence[str], comparisons: Sequence[Comparison]) -> None:
        """Bring columns of the rows that comparisons do not rule out, if these are few bytes."""
        for part in self.parts:
            if part.is_remote:
                part.bring_matching(names, comparisons, _BROUGHT_BYTES)
        self.bring_metadata(names)
        remote = [(part, found) for part in self.parts if (found := part.remote(names)) is not None]
        bring.bring_tables(
            [(*found, part.ranges(comparisons)) for part, found in remote], _BROUGHT_BYTES
        )

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

    def ranges(self, comparisons: Sequence[Comparison]) -> list[tuple[int, int]]:
        """Return ascending ranges of rows; all comparisons hold for none outside of them.

        Columns that are not in memory are not asked.
        """
        masks = []
        for each in comparisons:
            zones = self._zones_of(each.column)
            if zones is not None:
                masks.append(zones.may_hold(each))
        return row_zones.ranges_of(masks, self.row_count) if masks else [(0, self.row_count)]

    def _zones_of(self, name: str) -> row_zones.Zones | None:
        """Return the zones of a column in memory that is asked about again, None for others."""
        if self.row_count <= row_zones.ZONE_ROWS or not self.is_decoded(name):
            return None
        if name not in self._zones:
            self._zones[name] = None
            return None
        known_rows, zones = self._zones[name] or (0, None)
        if zones is None or known_rows < self.row_count:
            whole = known_rows // row_zones.ZONE_ROWS
            newer = self.slice(name, whole * row_zones.ZONE_ROWS, self.row_count)
            zones = row_zones.zones_of(newer, zones and zones.first(whole))
            self._zones[name] = self.row_count, zones
        return zones

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

    def only(self, ranges: Sequence[tuple[int, int]]) -> Rows:
        """Return the rows in some ranges, first and behind the last; no other one is read."""
        parts: list[Part] = []
        for first, stop in ranges:
            start = 0
            for part in self.parts:
                low, high = max(first - start, 0), min(stop - start, part.row_count)
                start += part.row_count
                if low < high:
                    is_whole = high - low == part.row_count
                    parts.append(part if is_whole else RestPart(part, low, high))
        return Rows(self.schema, tuple(parts))

    def append(self, rows: pa.Table, keys: Collection[str] = ()) -> Rows:
        """Return these rows and then others of the same schema.

        Rows in memory at the end are joined with the new ones, copying only small chunks, and
        packed where they are many; keys: see `part_of`. Raises DataError for texts that are none.
        """
        check_texts(rows)
        before = list(self.parts)
        last = before.pop() if before else None
        if isinstance(last, ArrowPart):
            rows = _concatenate(last.table, rows)
            last = before.pop() if before else None
        added = part_of(rows, keys)
        if isinstance(last, PackedPart) and isinstance(added, PackedPart):
            added = PackedPart(self.schema, _concatenate(*_alike(last, added)))
        elif last is not None:
            before.append(last)
        return self._of([*before, added])

    def _of(self, parts: Sequence[Part]) -> Rows:
        """Return rows of parts that begin with these."""
        zones = dict(self._zones)
        return Rows(self.schema, tuple(parts), dict(self.key_indexes), _zones=zones)

    def extended(self, parts: tuple[Part, ...]) -> Rows:
        """Return these rows and then those of other parts."""
        return self._of([*self.parts, *parts])


def part_of(rows: pa.Table, keys: Collection[str] = ()) -> Part:
    """Return rows in memory as a part, packed where they are many.

    keys: columns of which joins read many rows: their integers are narrowed to a byte or not.
    """
    limit = read_limit()
    if rows.num_rows < PACK_ROWS or (limit is not None and rows.nbytes * _PACKED_SHARE > limit):
        return ArrowPart(rows)
    is_joined = limit is None or rows.nbytes * _JOINED_SHARE <= limit
    columns = [
        _packed(rows.column(name), is_joined, is_key=name in keys) for name in rows.schema.names
    ]
    return PackedPart(rows.schema, pa.Table.from_arrays(columns, rows.schema.names))


def _packed(column: pa.ChunkedArray, is_joined: bool, *, is_key: bool) -> pa.ChunkedArray:
    """Return a column packed, and in one piece where it is to be joined and can be."""
    if is_packed(column.type):
        return packed_numbers(column, is_joined, is_key)
    if not is_joined or pa.types.is_nested(column.type) or column.nbytes > _JOINED_BYTES:
        return column
    return pa.chunked_array([column.combine_chunks()], column.type)


def _alike(*parts: PackedPart) -> list[pa.Table]:
    """Return what parts hold, the integers of each column of one type."""
    kinds = [
        max((column.type for column in columns), key=_width)
        for columns in zip(*(part.packed.columns for part in parts), strict=True)
    ]
    schema = pa.schema(zip(parts[0].schema.names, kinds, strict=True))
    return [part.packed.cast(schema) for part in parts]


def _width(kind: pa.DataType) -> int:
    return int(kind.bit_width) if pa.types.is_integer(kind) else 0


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
