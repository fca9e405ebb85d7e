"""Samples and NULL counts of columns, as a mapping: only columns that are asked for are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.tables.table import Table

_Known = TypeVar("_Known")


class ByColumn(Mapping[str, _Known]):
    """What `read` tells of each of a table's columns, by name."""

    def __init__(self, table: Table, read: Callable[[str], _Known]) -> None:
        self._schema = table.definition.schema  # every statement makes some, few want names
        self._read = read

    def __getitem__(self, name: str) -> _Known:
        return self._read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._schema.names)

    def __len__(self) -> int:
        return len(self._schema)
