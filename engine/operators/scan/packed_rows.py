"""Rows of a scan whose decimals are still integers: a filter reads those that it needs as decimals.

store_sales: int32, int16 (DECIMAL), int32 (DECIMAL)
    filter      of a morsel the columns that the predicate reads are widened
    plain       of what is left all others
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from raydb.engine.operators.relation import Relation
from raydb.kernels.codecs.packed_decimals import widened_column
from raydb.storage.tables.decoded import value_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from raydb.planner.expressions.nodes import Column


class PackedRows(Relation):
    """A relation of which some columns are integers that stand for decimals.

    `columns` has decimals, made when they are asked for.
    """

    __slots__ = ()

    @classmethod
    def of(
        cls,
        stored: Mapping[Column, pa.ChunkedArray | pa.Array],
        packed: frozenset[Column],
        row_count: int,
    ) -> PackedRows:
        """Return rows; stored: the values of columns, integers of those in `packed`."""
        return cls(_Widening(stored, packed), row_count)

    @property
    def size_bytes(self) -> int:
        """The bytes of all values once they are widened."""
        wide = sum(value_bytes(column.type) for column in self._widening.packed)
        kept = [c for c in self.columns if c not in self._widening.packed]
        return self.row_count * wide + self.stored.select(kept).size_bytes

    @property
    def stored(self) -> Relation:
        """The rows with integers where these are."""
        return Relation(self._widening.stored, self.row_count)

    @property
    def _widening(self) -> _Widening:
        assert isinstance(self.columns, _Widening)
        return self.columns

    def plain(self) -> Relation:
        """Return the rows with decimals in the place of integers."""
        return Relation(dict(self.columns), self.row_count)

    def select(self, columns: Iterable[Column]) -> Relation:
        """Return the rows with those columns only, in that order."""
        stored = self.stored.select(columns)
        return PackedRows.of(
            stored.columns, self._widening.packed & stored.columns.keys(), self.row_count
        )

    def slice(self, offset: int, count: int) -> Relation:
        """Return at most `count` rows from row `offset` on, without a copy."""
        return self._like(self.stored.slice(offset, count))

    def filter(self, mask: pa.Array | pa.ChunkedArray, row_count: int) -> Relation:
        """Return the rows where the mask is true, of which there are `row_count`."""
        return self._like(self.stored.filter(mask, row_count))

    def combined(self) -> Relation:
        """Return the rows with every column as one array, where an array can hold it."""
        return self._like(self.stored.combined())

    def take(self, row_numbers: pa.Array) -> Relation:
        """Return the rows of those numbers, in their order."""
        return self._like(self.stored.take(row_numbers))

    def _like(self, stored: Relation) -> PackedRows:
        return PackedRows.of(stored.columns, self._widening.packed, stored.row_count)


class _Widening(Mapping["Column", "pa.ChunkedArray | pa.Array"]):
    """Columns of which some are widened when they are first asked for."""

    __slots__ = ("_wide", "packed", "stored")

    def __init__(
        self, stored: Mapping[Column, pa.ChunkedArray | pa.Array], packed: frozenset[Column]
    ) -> None:
        self.stored = stored
        self.packed = packed
        self._wide: dict[Column, pa.ChunkedArray | pa.Array] = {}

    def __getitem__(self, column: Column) -> pa.ChunkedArray | pa.Array:
        if column not in self.packed:
            return self.stored[column]
        if column not in self._wide:
            self._wide[column] = widened_column(self.stored[column], column.type)
        return self._wide[column]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)
