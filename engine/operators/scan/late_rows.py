"""Rows of which some columns are made of stored ones when they are first asked for.

    a scan's      int16 that stands for DECIMAL(7,2)
    a job's       number of a group -> its keys

What a filter, a sort or LIMIT leaves out is never made: only stored columns are filtered and taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from raydb.engine.operators.relation import Relation
from raydb.storage.tables.decoded import value_bytes
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from raydb.planner.expressions.nodes import Column

    Values: TypeAlias = pa.ChunkedArray | pa.Array


@dataclass(frozen=True, eq=False, slots=True)
class Late:
    """A column that `make` makes of a stored one, value by value."""

    source: Column
    make: Callable[[Values], Values]


class LateRows(Relation):
    """A relation of which some columns are late; `columns` makes them when they are asked for."""

    __slots__ = ()

    @classmethod
    def of(
        cls,
        columns: Iterable[Column],
        stored: Mapping[Column, Values],
        late: Mapping[Column, Late],
        row_count: int,
    ) -> LateRows:
        """Return rows with some columns, each of which is stored or late."""
        return cls(_Columns(tuple(columns), stored, late), row_count)

    @property
    def size_bytes(self) -> int:
        """The bytes of all values once they are made."""
        held = self._held
        made = sum(value_bytes(column.type) for column in held.late)
        kept = [column for column in held.order if column not in held.late]
        return self.row_count * made + self.stored.select(kept).size_bytes

    @property
    def stored(self) -> Relation:
        """The stored columns, those among them that late ones are made of."""
        return Relation(self._held.stored, self.row_count)

    @property
    def _held(self) -> _Columns:
        assert isinstance(self.columns, _Columns)
        return self.columns

    def plain(self) -> Relation:
        """Return the rows with all columns made."""
        return Relation(dict(self.columns), self.row_count)

    def select(self, columns: Iterable[Column]) -> Relation:
        """Return the rows with those columns only, in that order."""
        return self.renamed({column: column for column in columns})

    def replaced(self, columns: Mapping[Column, Values]) -> Relation:
        """Return the rows with other values of some stored columns."""
        held = self._held
        return LateRows.of(held.order, {**held.stored, **columns}, held.late, self.row_count)

    def renamed(self, columns: Mapping[Column, Column]) -> Relation:
        """Return the rows with new columns in the place of old ones."""
        held = self._held
        late = {new: held.late[old] for new, old in columns.items() if old in held.late}
        stored = {each.source: held.stored[each.source] for each in late.values()}
        stored |= {new: held.stored[old] for new, old in columns.items() if new not in late}
        return LateRows.of(columns, stored, late, self.row_count)

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

    def _like(self, stored: Relation) -> LateRows:
        held = self._held
        return LateRows.of(held.order, stored.columns, held.late, stored.row_count)


class _Columns(Mapping["Column", "Values"]):
    """Columns of which some are made when they are first asked for."""

    __slots__ = ("_made", "late", "order", "stored")

    def __init__(
        self,
        order: Sequence[Column],
        stored: Mapping[Column, Values],
        late: Mapping[Column, Late],
    ) -> None:
        self.order = order
        self.stored = stored
        self.late = late
        self._made: dict[Column, Values] = {}

    def __getitem__(self, column: Column) -> Values:
        late = self.late.get(column)
        if late is None:
            return self.stored[column]
        if column not in self._made:
            self._made[column] = late.make(self.stored[late.source])
        return self._made[column]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.order)
