"""What is known of a table by column, as mappings: only columns that are asked for are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.storage.tables.table import Table


class Sample(Mapping[str, "pa.Array"]):
    """The values of a table's columns in some of its rows, by name."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __getitem__(self, name: str) -> pa.Array:
        return self._table.sample(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.definition.schema.names)

    def __len__(self) -> int:
        return len(self._table.definition.schema.names)


class NullCounts(Mapping[str, int]):
    """The numbers of NULLs in a table's columns, by name."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __getitem__(self, name: str) -> int:
        return self._table.null_count(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.definition.schema.names)

    def __len__(self) -> int:
        return len(self._table.definition.schema.names)
