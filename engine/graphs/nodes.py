"""Nodes, and their features: columns of a table, read by the numbers of nodes as NumPy arrays.

A column that fits is read once; of others the rows are read that are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.late import pc
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.engine.graphs.room import Room
    from raydb.storage.tables.table import Table


class Nodes:
    """The nodes of one kind.

    called: how errors name them. Raises NotSupportedError for lists that may differ in length.
    """

    def __init__(self, table: Table, called: str, room: Room) -> None:
        key, *others = table.definition.schema
        self.called, self.key = called, key
        self.count = table.live_count
        self.types = {each.name: each.type for each in others if self._is_feature(each)}
        self._table, self._room = table, room
        self._rows = None if table.live is None else np.flatnonzero(table.live)
        self._whole: dict[str, NDArray[Any]] = {}

    def _is_feature(self, column: pa.Field) -> bool:
        kind = column.type
        if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_number(kind.value_type):
            raise NotSupportedError(
                f"column '{column.name}' of {self.called} is {sql_type_name(kind)}, and features"
                f" have one length: cast it to {sql_type_name(kind.value_type)}[n]"
            )
        if pa.types.is_fixed_size_list(kind):
            kind = kind.value_type
        return _is_number(kind) or pa.types.is_boolean(kind)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a feature of all nodes. Raises ProgrammingError for what is none."""
        if name not in self.types:
            known = ", ".join(f"'{each}'" for each in self.types) or "none"
            raise ProgrammingError(f"{self.called} have no feature '{name}'; they have {known}")
        kind = self.types[name]
        width = (kind.list_size,) if pa.types.is_fixed_size_list(kind) else ()
        return (self.count, *width)

    def take(self, name: str, numbers: NDArray[np.int64] | None) -> NDArray[Any]:
        """Return a feature of some nodes, or of all: shape (n,) or (n, width).

        Its type is bool, int64, float32 or float64. Raises DataError for NULL and NaN,
        ProgrammingError for a feature that they do not have and numbers that none has.
        """
        self.shape(name)
        if numbers is not None:
            self.check(numbers)
        if name not in self._whole and (
            numbers is None or self._room.has(int(self._table.rows.decoded_bytes([name], 2**62)))
        ):
            found = self._read(name, np.arange(self.count))
            if not self._room.has(found.nbytes):
                return found if numbers is None else found[numbers]
            self._whole[name] = self._room.held(found)
        if name in self._whole:
            whole = self._whole[name]
            return whole.copy() if numbers is None else whole[numbers]
        assert numbers is not None
        return self._read(name, numbers)

    def keys(self, numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return the keys of some nodes."""
        self.check(numbers)
        return self._take(self.key.name, numbers)

    def check(self, numbers: NDArray[np.int64]) -> None:
        """Raise ProgrammingError for numbers that no node has."""
        if len(numbers) and not (0 <= int(numbers.min()) <= int(numbers.max()) < self.count):
            wrong = next(int(each) for each in numbers if not 0 <= each < self.count)
            raise ProgrammingError(
                f"{self.called} have no node number {wrong}: there are {self.count}, from 0 on"
            )

    def _take(self, name: str, numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        rows = numbers if self._rows is None else self._rows[numbers]
        return self._table.rows.take(name, rows)

    def _read(self, name: str, numbers: NDArray[np.int64]) -> NDArray[Any]:
        taken = self._take(name, numbers)
        values = taken.chunk(0) if taken.num_chunks == 1 else taken.combine_chunks()
        if pa.types.is_fixed_size_list(values.type):
            if values.null_count:
                raise self._none(name, numbers, np.asarray(values.is_null()), "NULL")
            values = values.flatten()
        if values.null_count:
            raise self._none(name, numbers, np.asarray(values.is_null()), "NULL")
        found = _as_numpy(values)
        if found.dtype.kind == "f" and _may_have_nan(found) and np.isnan(found).any():
            raise self._none(name, numbers, np.isnan(found), "NaN")
        return found.reshape(len(numbers), *self.shape(name)[1:])

    def _none(
        self, name: str, numbers: NDArray[np.int64], is_none: NDArray[np.bool_], what: str
    ) -> DataError:
        """Return the error about the first value that is none; there may be several a node."""
        at = int(np.argmax(is_none)) // (len(is_none) // len(numbers))
        (key,) = self.keys(numbers[at : at + 1]).to_pylist()
        return DataError(f"the feature '{name}' of the node {key!r} of {self.called} is {what}")


def _is_number(kind: pa.DataType) -> bool:
    kinds = pa.types
    return bool(kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_decimal(kind))


def _as_numpy(values: pa.Array) -> NDArray[Any]:
    kind = values.type
    if pa.types.is_integer(kind):
        values = pc.cast(values, pa.int64())
    elif pa.types.is_decimal(kind):
        values = pc.cast(values, pa.float64())
    elif pa.types.is_float16(kind):
        values = pc.cast(values, pa.float32())
    found: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    if found.flags.writeable:
        return found
    # It shows Arrow's memory, and a tensor may be written: nobody else has what was just taken.
    memory = values.buffers()[1]
    if not memory.is_mutable:
        return found.copy()
    start = values.offset * found.itemsize
    return np.frombuffer(memory, found.dtype, len(found), start)


def _may_have_nan(values: NDArray[Any]) -> bool:
    """Tell in one pass whether a float may be NaN; infinite ones may hide that none is."""
    with np.errstate(all="ignore"):
        return bool(np.isnan(np.add.reduce(values)))
