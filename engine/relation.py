"""Rows in flight between the nodes of the general path, and the loop that computes over them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from raydb.planner.expression import Column

# Rows that one thread computes at a time: 1 MiB a column of 64-bit numbers, so that what one
# function writes is still in the cache when the next one reads it.
MORSEL_ROWS = 131_072

# Arrow addresses the text of one array by int32; arrays are joined only far below that.
_JOINED_BYTES = 2**30


@dataclass(frozen=True, eq=False, slots=True)
class Relation:
    """Rows as Arrow arrays by column, in output order; the count stands with no column at all."""

    columns: Mapping[Column, pa.ChunkedArray | pa.Array]
    row_count: int

    def table(self) -> pa.Table:
        """Return the rows as a table whose columns are named `c<number>`."""
        return pa.table({column_name(column): values for column, values in self.columns.items()})

    def select(self, columns: Iterable[Column]) -> Relation:
        """Return the rows with those columns only, in that order."""
        return Relation({column: self.columns[column] for column in columns}, self.row_count)

    def slice(self, offset: int, count: int) -> Relation:
        """Return at most `count` rows from row `offset` on, without a copy."""
        start = min(offset, self.row_count)
        count = min(count, self.row_count - start)
        return Relation(
            {column: values.slice(start, count) for column, values in self.columns.items()}, count
        )

    def filter(self, mask: pa.Array | pa.ChunkedArray, row_count: int) -> Relation:
        """Return the rows where the mask is true, of which there are `row_count`."""
        return Relation(
            {column: values.filter(mask) for column, values in self.columns.items()}, row_count
        )

    def combined(self) -> Relation:
        """Return the rows with every column as one array, where an array can hold it."""
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
    relation: Relation, compute: Callable[[Relation], Relation], columns: Sequence[Column]
) -> Relation:
    """Apply a function of rows to morsels of a relation, in threads, and join the results in order.

    The columns of a morsel are plain arrays, unless one has more text than an array can hold.
    """
    if relation.row_count <= MORSEL_ROWS:
        return concatenate([compute(relation.combined())], columns)
    starts = range(0, relation.row_count, MORSEL_ROWS)
    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        # On an error, Ctrl-C included, `map` cancels the morsels that have not begun.
        parts = threads.map(
            lambda start: compute(relation.slice(start, MORSEL_ROWS).combined()), starts
        )
        return concatenate(list(parts), columns)


def joined(values: pa.ChunkedArray | pa.Array) -> pa.Array | pa.ChunkedArray:
    """Return the values as one array, unless they are more text than an array can hold."""
    if isinstance(values, pa.Array):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    is_text = pa.types.is_string(values.type) or pa.types.is_binary(values.type)
    return values if is_text and values.nbytes >= _JOINED_BYTES else values.combine_chunks()


def _chunks(values: Any) -> list[pa.Array]:
    return values.chunks if isinstance(values, pa.ChunkedArray) else [values]


def _take(values: pa.ChunkedArray | pa.Array, row_numbers: pa.Array) -> pa.ChunkedArray:
    whole = joined(values)
    if isinstance(whole, pa.Array):
        return pa.chunked_array([whole.take(row_numbers)])
    # Too much text for the 32-bit addresses of one array: take from 64-bit ones, in pieces.
    large = pa.large_string() if pa.types.is_string(values.type) else pa.large_binary()
    wide = values.cast(large).combine_chunks()
    pieces = [
        wide.take(row_numbers.slice(start, MORSEL_ROWS)).cast(values.type)
        for start in range(0, len(row_numbers), MORSEL_ROWS)
    ]
    return pa.chunked_array(pieces, type=values.type)
