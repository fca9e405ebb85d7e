"""Samples and NULL counts of columns, as a mapping: only columns that are asked for are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.tables.table import Table

_Known = TypeVar("_Known")

# So much is kept of a long value: characters, bytes or elements.
_KEPT = 256


def beginnings(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the first characters, bytes or elements of values."""
    kind = values.type
    if pa.types.is_string(kind):
        return pc.utf8_slice_codeunits(values, 0, _KEPT)
    if pa.types.is_binary(kind):
        return pc.binary_slice(values, 0, _KEPT)
    if pa.types.is_list(kind):
        return pc.list_slice(values, 0, _KEPT, return_fixed_size_list=False)
    return values


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
