"""Rows in flight between the nodes of the general path, and the loop that computes over them.

    collector.add(part) ...   ->   collector.relation()

Rows come in parts, a morsel each. They wait in memory while they fit, beyond that in a temporary
file that is mapped at the end: its columns are Arrow arrays like any others.
"""

from __future__ import annotations

import itertools
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.interrupts import check_interrupt
from raydb.late import pc
from raydb.storage.in_order import in_order
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.engine.context.memory import Memory, SpillFile
    from raydb.planner.expressions.nodes import Column

# Rows that one thread computes at a time: 1 MiB a column of 64-bit numbers, so that what one
# function writes is still in the cache when the next one reads it.
MORSEL_ROWS = 131_072

# Arrow addresses the text of one array by int32; arrays are joined only far below that.
_JOINED_BYTES = 2**30

# Fewer rows at a time are never computed, and more only if they take a small share of the room,
# which what a function makes of them may exceed several times.
MIN_ROWS = 64
_MORSEL_SHARE = 16

# Where at most one row in so many is kept, rows are taken by their numbers: of 4 % in any order a
# filter takes eight times as long.
_SPARSE = 2

# Morsels end where the chunks of columns do, so that none is copied, unless these are shorter than
# this share of a morsel.
_CHUNK_SHARE = 4

# The bytes of an offset into texts.
_OFFSET_BYTES = {
    pa.string().id: 4,
    pa.binary().id: 4,
    pa.large_string().id: 8,
    pa.large_binary().id: 8,
}

# So many parts of few rows become one.
_MAX_SMALL_PARTS = 1024


@dataclass(frozen=True, eq=False, slots=True)
class Relation:
    """Rows as Arrow arrays by column, in output order; the count stands with no column at all."""

    columns: Mapping[Column, pa.ChunkedArray | pa.Array]
    row_count: int

    @property
    def size_bytes(self) -> int:
        """The bytes of all values, wherever they are."""
        return sum(values.nbytes for values in self.columns.values())

    @property
    def is_joined(self) -> bool:
        """Whether `combined` copies nothing."""
        return all(
            isinstance(values, pa.Array) or values.num_chunks == 1
            for values in self.stored.columns.values()
        )

    @property
    def stored(self) -> Relation:
        """The rows as they lie in memory, see `LateRows`."""
        return self

    def plain(self) -> Relation:
        """Return the rows with all columns of their types, see `LateRows`."""
        return self

    def rows_within(self, size_bytes: int, beside: int = 0) -> int:
        """Return how many rows of average size take at most so many bytes; some at least.

        beside: the bytes that work on a row takes beside its values.
        """
        width = max(self.size_bytes // max(self.row_count, 1) + beside, 1)
        return max(size_bytes // width, MIN_ROWS)

    def table(self) -> pa.Table:
        """Return the rows as a table whose columns are named `c<number>`."""
        names = [f"c{column.number}" for column in self.columns]
        return pa.Table.from_arrays(list(self.columns.values()), names)

    def select(self, columns: Iterable[Column]) -> Relation:
        """Return the rows with those columns only, in that order."""
        chosen = list(columns)
        if chosen == list(self.columns):
            return self
        return Relation({column: self.columns[column] for column in chosen}, self.row_count)

    def replaced(self, columns: Mapping[Column, pa.ChunkedArray | pa.Array]) -> Relation:
        """Return the rows with other values of some columns."""
        return Relation({**self.columns, **columns}, self.row_count)

    def slice(self, offset: int, count: int) -> Relation:
        """Return at most `count` rows from row `offset` on, without a copy."""
        start = min(offset, self.row_count)
        count = min(count, self.row_count - start)
        return Relation(
            {column: values.slice(start, count) for column, values in self.columns.items()}, count
        )

    def filter(self, mask: pa.Array | pa.ChunkedArray, row_count: int) -> Relation:
        """Return the rows where the mask is true, of which there are `row_count`."""
        if row_count * _SPARSE > self.row_count or not isinstance(mask, pa.Array):
            kept = {column: _filtered(values, mask) for column, values in self.columns.items()}
            return Relation(kept, row_count)
        # Of few rows Arrow finds the numbers once, and not for each column.
        numbers = _function("indices_nonzero")([mask])
        found = {
            column: _taken(values, numbers) if isinstance(values, pa.Array) else values.filter(mask)
            for column, values in self.columns.items()
        }
        return Relation(found, row_count)

    def combined(self) -> Relation:
        """Return the rows with every column as one array, where an array can hold it."""
        for values in self.columns.values():
            if not isinstance(values, pa.Array):
                break
        else:
            return self
        columns = {column: joined(values) for column, values in self.columns.items()}
        return Relation(columns, self.row_count)

    def take(self, row_numbers: pa.Array) -> Relation:
        """Return the rows of those numbers, in their order."""
        return Relation(
            {column: _take(values, row_numbers) for column, values in self.columns.items()},
            len(row_numbers),
        )


def column_name(column: Column) -> str:
    """Return the name of a column in a table, unique in a plan.

    >>> column_name(Column(7, "d_year", pa.int32()))
    'c7'
    """
    return f"c{column.number}"


def concatenate(relations: Sequence[Relation], columns: Iterable[Column]) -> Relation:
    """Return the rows of all relations, one after the other, without a copy."""
    return Relation(
        {
            column: pa.chunked_array(
                [chunk for part in relations for chunk in _chunks(part.columns[column])],
                type=column.type,
            )
            for column in columns
        },
        sum(part.row_count for part in relations),
    )


def for_each_morsel(
    relation: Relation,
    compute: Callable[[Relation], Relation],
    columns: Sequence[Column],
    memory: Memory,
    numbers: NDArray[np.integer] | None = None,
    *,
    one_by_one: bool = False,
) -> Relation:
    """Apply a function of rows to morsels of a relation, in threads, and join the results in order.

    The columns of a morsel are plain arrays, unless one has more text than an array can hold.
    numbers: which rows, None for all. one_by_one: whether one morsel begins when the one before it
    has ended.
    """
    count = relation.row_count if numbers is None else len(numbers)
    step = morsel_rows(relation, memory)

    def compute_piece(bounds: tuple[int, int]) -> Relation:
        start, stop = bounds
        if numbers is None:
            rows = relation.slice(start, stop - start)
        else:
            rows = relation.take(pa.array(numbers[start:stop]))
        return compute_rows(compute, rows.combined(), columns)

    if count <= step:
        return compute_piece((0, count)).select(columns)
    collector = Collector(memory, columns, relation)
    if numbers is None:
        pieces = morsels(relation, step)
    else:
        pieces = [(start, min(start + step, count)) for start in range(0, count, step)]
    for part in in_order(compute_piece, pieces, one_by_one=one_by_one):
        collector.add(part)
    return collector.relation()


def morsel_rows(relation: Relation, memory: Memory) -> int:
    """Return how many rows a morsel of a relation has at most."""
    if relation.row_count <= MIN_ROWS:
        return MORSEL_ROWS  # no fewer rows are computed at a time, however wide they are
    room = memory.room() // (_MORSEL_SHARE * pa.cpu_count())
    return min(MORSEL_ROWS, relation.rows_within(room))


def morsels(relation: Relation, step: int) -> list[tuple[int, int]]:
    """Return the bounds of morsels of at most `step` rows, in order."""
    edges = {0, relation.row_count}
    for values in relation.stored.columns.values():
        if isinstance(values, pa.ChunkedArray):
            edges.update(itertools.accumulate(map(len, values.chunks)))
    if len(edges) * step > _CHUNK_SHARE * relation.row_count + 2 * step:
        edges = {0, relation.row_count}
    return [
        (low, min(low + step, stop))
        for start, stop in itertools.pairwise(sorted(edges))
        for low in range(start, stop, step)
    ]


def compute_rows(
    compute: Callable[[Relation], Relation], rows: Relation, columns: Sequence[Column]
) -> Relation:
    """Apply a function to rows, in halves where the results are more text than an array holds."""
    try:
        return compute(rows)
    except pa.ArrowCapacityError:
        if rows.row_count < 2:
            raise
        middle = rows.row_count // 2
        halves = rows.slice(0, middle), rows.slice(middle, rows.row_count)
        return concatenate([compute_rows(compute, half, columns) for half in halves], columns)


class Collector:
    """Collects some columns of parts of rows.

    `source` are rows whose columns may be among those of the parts as they are: these need no
    memory of their own.
    """

    def __init__(
        self, memory: Memory, columns: Sequence[Column], source: Relation | None = None
    ) -> None:
        self._memory = memory
        self._columns = columns
        self._parts: list[Relation] = []
        self._held = 0
        self._row_count = 0
        shared = () if source is None or memory.limit is None else source.stored.columns.values()
        self._shared = frozenset(_addresses(shared))
        self._file: SpillFile | None = None

    def add(self, part: Relation) -> None:
        """Add rows behind those that are there."""
        check_interrupt()
        chosen = part.select(self._columns)
        self._parts.append(chosen)
        if len(self._parts) % _MAX_SMALL_PARTS == 0:
            self._join_small_parts()
        self._row_count += part.row_count
        if self._memory.limit is None or not self._columns or self._row_count <= MIN_ROWS:
            return
        self._held += sum(
            values.nbytes
            for values in chosen.columns.values()
            if not self._shared.issuperset(_addresses([values]))
        )
        if self._memory.is_crowded(self._held):
            self._spill()

    def relation(self) -> Relation:
        """Return all rows."""
        if self._file is None:
            if len(self._parts) == 1:
                rows = self._parts[0].plain()
            else:
                rows = concatenate(self._parts, self._columns)
            return rows.combined() if rows.row_count <= MORSEL_ROWS else rows
        self._spill()
        return mapped(self._file.batches(), self._columns)

    def _join_small_parts(self) -> None:
        """Copy the last parts into one if that is small: short arrays are mostly overhead."""
        last = self._parts[1 - _MAX_SMALL_PARTS :]
        if sum(part.row_count for part in last) <= MORSEL_ROWS:
            self._parts[1 - _MAX_SMALL_PARTS :] = [concatenate(last, self._columns).combined()]

    def _spill(self) -> None:
        """Move the rows in memory to the file."""
        if self._file is None:
            self._file = self._memory.new_file(schema_of(self._columns))
        for part in self._parts:
            for batch in part.table().to_batches():
                self._file.write(batch)
        self._parts.clear()
        self._held = 0


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """Return the schema that rows have in a file."""
    return pa.schema([(column_name(column), column.type) for column in columns])


def mapped(batches: Sequence[pa.RecordBatch], columns: Sequence[Column]) -> Relation:
    """Return rows that were read from a file."""
    values = {
        column: pa.chunked_array([batch.column(place) for batch in batches], column.type)
        for place, column in enumerate(columns)
    }
    return Relation(values, sum(batch.num_rows for batch in batches))


def _addresses(columns: Iterable[pa.ChunkedArray | pa.Array]) -> Iterator[int]:
    """Yield where the buffers of some columns begin."""
    for values in columns:
        for chunk in _chunks(values):
            yield from (buffer.address for buffer in chunk.buffers() if buffer is not None)


def joined(values: pa.ChunkedArray | pa.Array) -> pa.Array | pa.ChunkedArray:
    """Return the values as one array, unless they are more text than an array can hold."""
    if isinstance(values, pa.Array):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    is_long = _is_text(values.type) and values.nbytes >= _JOINED_BYTES
    return values if is_long else values.combine_chunks()


def _is_text(kind: pa.DataType) -> bool:
    return kind.id in _OFFSET_BYTES


def _chunks(values: Any) -> list[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


@cache
def _function(name: str, options: str | None = None) -> Callable[[list[Any]], Any]:
    """Return a function of Arrow's. For few rows it takes two thirds of the time of a method."""
    return partial(pc.get_function(name).call, options=options and getattr(pc, options)())


def _taken(values: pa.Array, row_numbers: pa.Array) -> pa.Array:
    """Return the values at some places."""
    return _function("array_take", "TakeOptions")([values, row_numbers])


def _filtered(
    values: pa.ChunkedArray | pa.Array, mask: pa.ChunkedArray | pa.Array
) -> pa.ChunkedArray | pa.Array:
    if isinstance(values, pa.Array) and isinstance(mask, pa.Array):
        return _function("array_filter", "FilterOptions")([values, mask])
    return values.filter(mask)


def _take(values: pa.ChunkedArray | pa.Array, row_numbers: pa.Array) -> pa.ChunkedArray | pa.Array:
    check_interrupt()
    whole = joined(values)
    if isinstance(whole, pa.Array):
        pieces = [_taken(whole, some) for some in _short_enough(whole, row_numbers)]
        return pieces[0] if len(pieces) == 1 else pa.chunked_array(pieces)
    # Too much text for the 32-bit addresses of one array: take from 64-bit ones, in pieces.
    large = pa.large_string() if pa.types.is_string(values.type) else pa.large_binary()
    wide = values.cast(large).combine_chunks()
    pieces = [wide.take(some).cast(values.type) for some in _short_enough(wide, row_numbers)]
    return pa.chunked_array(pieces, type=values.type)


def _short_enough(values: pa.Array, row_numbers: pa.Array) -> list[pa.Array]:
    """Return row numbers in pieces, the text of each of which an array can hold."""
    if not _is_text(values.type) or values.nbytes * len(row_numbers) < _JOINED_BYTES:
        return [row_numbers]
    places = row_numbers.fill_null(0).to_numpy() + values.offset
    offsets = np.frombuffer(values.buffers()[1], f"i{_OFFSET_BYTES[values.type.id]}")
    ends = np.cumsum(offsets[places + 1] - offsets[places], dtype=np.int64)
    if ends[-1] < _JOINED_BYTES:
        return [row_numbers]
    edges = np.arange(_JOINED_BYTES, ends[-1], _JOINED_BYTES)
    cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, edges), [len(ends)]])).tolist()
    return [row_numbers.slice(low, high - low) for low, high in itertools.pairwise(cuts)]
