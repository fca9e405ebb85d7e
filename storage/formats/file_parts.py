"""Parts of files as a query sees them: in SQL types, with the columns of all its files."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError
from raydb.storage.formats.cast_columns import cast_column
from raydb.storage.tables.parts import Part
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.tables.parts import Comparison

_SQL_TYPES = frozenset(
    {
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
        *(pa.string(), pa.binary(), pa.date32(), pa.time64("us"), pa.timestamp("us")),
        pa.month_day_nano_interval(),
    }
)
# The narrowest SQL type with all the values of a type that SQL lacks.
_WIDENED = {
    pa.null(): pa.string(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
}


def sql_type(found: pa.DataType) -> pa.DataType:
    """Return the SQL type for the values of a type, which itself is returned where there is none.

    >>> sql_type(pa.dictionary(pa.int8(), pa.large_string()))
    DataType(string)
    """
    types = pa.types
    if types.is_dictionary(found):
        return sql_type(found.value_type)
    if types.is_timestamp(found) and found.tz is None:
        return pa.timestamp("us")
    if types.is_time(found):
        return pa.time64("us")
    if types.is_decimal32(found) or types.is_decimal64(found):
        return pa.decimal128(found.precision, found.scale)
    if types.is_fixed_size_binary(found):
        return pa.binary()
    if types.is_list(found) or types.is_large_list(found):
        return pa.list_(sql_type(found.value_type))
    if types.is_fixed_size_list(found):
        return pa.list_(sql_type(found.value_type), found.list_size)
    return _WIDENED.get(found, found)


def _is_sql_type(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _is_sql_type(kind.value_type)
    if pa.types.is_fixed_size_list(kind):
        return bool(pa.types.is_floating(kind.value_type))
    return kind in _SQL_TYPES or bool(pa.types.is_decimal128(kind))


def fit_part(origin: str, found: pa.Schema, wanted: pa.Schema, part: Part) -> Part:
    """Return a part with the columns `wanted`; those that it lacks are NULL.

    origin: what the part is of, for messages: "file 'a.csv'".
    """
    same = all(
        name in found.names and found.field(name).type == kind and _is_sql_type(kind)
        for name, kind in zip(wanted.names, wanted.types, strict=True)
    )
    return part if same else FittedPart(origin, found, wanted, part)


class _WrappedPart(Part):
    """The rows of another part, with other columns."""

    __slots__ = ()
    part: Part

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.part.row_count

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known without reading them."""
        return self.part.is_counted

    @property
    def expected_row_count(self) -> int:
        """The number of rows, or a guess where it takes reading them all."""
        return self.part.expected_row_count

    @property
    def is_decoded(self) -> bool:
        """Whether a column costs nothing to read."""
        return self.part.is_decoded

    @property
    def is_seekable(self) -> bool:
        """Whether single rows cost little wherever they are."""
        return self.part.is_seekable

    @property
    def is_borrowed(self) -> bool:
        """Whether columns may share their bytes with a mapped file or an object of Python."""
        return self.part.is_borrowed


@dataclass(frozen=True, eq=False, slots=True)
class FittedPart(_WrappedPart):
    """Rows whose columns are cast to SQL types, without loss; `found` has their own types."""

    origin: str
    found: pa.Schema
    wanted: pa.Schema
    part: Part

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns in their SQL types.

        Raises NotSupportedError for a type that SQL lacks, DataError for a value that does not fit.
        """
        fields = [self._field(name) for name in names]
        present = [name for name in names if name in self.found.names]
        columns = dict(zip(present, self.part.columns(present), strict=True))
        return [self._cast(field, columns.get(field.name)) for field in fields]

    def dictionary(self, name: str) -> pa.ChunkedArray | None:
        """Return a column as dictionary arrays, None where the file has another type or none."""
        kind = self._field(name).type
        same = name in self.found.names and self.found.field(name).type == kind
        return self.part.dictionary(name) if same else None

    def null_count(self, name: str) -> int:
        """Count a column's NULLs; all rows may be where it takes reading them all."""
        if name in self.found.names:
            return self.part.null_count(name)
        return self.part.expected_row_count

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        field = self._field(name)
        if name in self.found.names and field.type == self.found.field(name).type:
            return self.part.take(name, row_numbers)
        # The whole column, so that a value that does not fit is named by its row.
        return self.columns([name])[0].take(pa.array(row_numbers))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows that match, as far as the file's own types can tell."""
        return self.part.matching_rows(self._as_found(comparisons))

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows."""
        fields = [self._field(name) for name in names]
        present = [name for name in names if name in self.found.names]
        if not present:
            return [column.slice(0, count) for column in self.columns(names)]
        heads = self.part.head(present, count)
        columns = dict(zip(present, heads, strict=True))
        row_count = len(heads[0])
        return [
            self._cast(field, columns.get(field.name, pa.chunked_array([pa.nulls(row_count)])))
            for field in fields
        ]

    def without(self, comparisons: Sequence[Comparison]) -> FittedPart:
        """Return the part without chunks that the comparisons exclude."""
        part = self.part.without(self._as_found(comparisons))
        return self if part is self.part else replace(self, part=part)

    def _cast(self, field: pa.Field, column: pa.ChunkedArray | None) -> pa.ChunkedArray:
        if column is None:
            return pa.chunked_array([pa.nulls(self.row_count, field.type)])
        return cast_column(self.origin, field, column)

    def _as_found(self, comparisons: Sequence[Comparison]) -> list[Comparison]:
        """Return the comparisons in the file's types, without those that cannot be cast."""
        usable = []
        for each in comparisons:
            if each.column in self.found.names:
                with suppress(pa.ArrowException):
                    value = each.value.cast(self.found.field(each.column).type)
                    usable.append(replace(each, value=value))
        return usable

    def _field(self, name: str) -> pa.Field:
        field = self.wanted.field(name)
        if not _is_sql_type(field.type):
            raise NotSupportedError(
                f"{self.origin}, column '{name}': the type {sql_type_name(field.type)} "
                "is not supported"
            )
        return field


@dataclass(frozen=True, eq=False, slots=True)
class NamedPart(_WrappedPart):
    """Rows of a file with a further column `name`, which holds the file's path."""

    name: str
    path: str
    part: Part

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        others = self._others(names)
        return self._with_paths(names, others, self.part.columns(others), self.row_count)

    def dictionary(self, name: str) -> pa.ChunkedArray | None:
        """Return a column as dictionary arrays where the file has it so."""
        return None if name == self.name else self.part.dictionary(name)

    def null_count(self, name: str) -> int:
        """Count a column's NULLs; the path is none."""
        return 0 if name == self.name else self.part.null_count(name)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        if name == self.name:
            return self._paths(len(row_numbers))
        return self.part.take(name, row_numbers)

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows that match in the other columns."""
        return self.part.matching_rows(self._of_others(comparisons))

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows."""
        others = self._others(names)
        if not others:
            return [self._paths(min(count, self.row_count)) for _ in names]
        found = self.part.head(others, count)
        return self._with_paths(names, others, found, len(found[0]))

    def without(self, comparisons: Sequence[Comparison]) -> NamedPart:
        """Return the part without chunks that the comparisons of other columns exclude."""
        part = self.part.without(self._of_others(comparisons))
        return self if part is self.part else replace(self, part=part)

    def _others(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name != self.name]

    def _of_others(self, comparisons: Sequence[Comparison]) -> list[Comparison]:
        return [each for each in comparisons if each.column != self.name]

    def _with_paths(
        self,
        names: Sequence[str],
        others: Sequence[str],
        columns: Sequence[pa.ChunkedArray],
        row_count: int,
    ) -> list[pa.ChunkedArray]:
        """Return columns in the order of `names`, with the path where it is among them."""
        found = dict(zip(others, columns, strict=True))
        return [found[name] if name in found else self._paths(row_count) for name in names]

    def _paths(self, count: int) -> pa.ChunkedArray:
        return pa.chunked_array([pa.repeat(pa.scalar(self.path, pa.string()), count)])
