"""Parts of files as a query sees them: in SQL types, with the columns of all its files."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError, NotSupportedError
from raydb.storage.enums import stored_column
from raydb.storage.fields import field_type
from raydb.storage.formats.arrow.sql_types import is_sql_type
from raydb.storage.formats.cast_columns import cast_column
from raydb.storage.tables.decoded import value_bytes
from raydb.storage.tables.parts import ArrowPart, Part
from raydb.storage.type_names import sql_type_name
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.flat import FlatTable
    from raydb.storage.tables.parts import Comparison


def cast_part(
    origin: str,
    found: pa.Schema,
    wanted: pa.Schema,
    part: Part,
    constants: Mapping[str, pa.Scalar] = MappingProxyType({}),
    own: Mapping[str, str] = MappingProxyType({}),
) -> Part:
    """Return a part with the columns `wanted`; those that it lacks are constants or NULL.

    origin: what the part is of, for messages: "file 'a.csv'". own: the names in the part itself of
    columns in `found` that have others there.
    """
    types = dict(zip(found.names, found.types, strict=True))
    same = all(
        types.get(name) == kind and is_sql_type(kind)
        for name, kind in zip(wanted.names, wanted.types, strict=True)
    )
    return part if same and not own else CastPart(origin, found, wanted, part, constants, own)


@dataclass(frozen=True, eq=False, slots=True)
class CastPart(Part):
    """Rows whose columns are cast to SQL types, without loss; `found` has their own types."""

    origin: str
    found: pa.Schema
    wanted: pa.Schema
    part: Part
    constants: Mapping[str, pa.Scalar]
    own: Mapping[str, str]

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

    @property
    def is_sliceable(self) -> bool:
        """Whether some rows in a row cost little beside all of them."""
        return self.part.is_sliceable

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file that a sliceable part is in."""
        return self.part.stored_bytes

    def slice(self, names: Sequence[str], start: int, stop: int) -> list[pa.ChunkedArray]:
        """Return some columns of the rows start to stop in their SQL types, as `columns` does."""
        present = self.part.slice(self._own(names), start, stop)
        return self._cast(names, present, stop - start, start)

    def ranges(self, comparisons: Sequence[Comparison]) -> list[tuple[int, int]]:
        """Return the ranges of rows that the file's own types do not rule out."""
        return self.part.ranges(self._as_found(comparisons))

    def remote(self, names: Sequence[str]) -> tuple[FlatTable, Sequence[str]] | None:
        """Return the file and its names of columns, if it is elsewhere."""
        return self.part.remote(self._own(names))

    @property
    def is_remote(self) -> bool:
        """Whether the two methods that follow bring anything."""
        return self.part.is_remote

    def bring_rows(self, names: Sequence[str], row_numbers: NDArray[np.int64]) -> None:
        """Bring together what `take` of some columns is about to read."""
        self.part.bring_rows(self._own(names), row_numbers)

    def bring_matching(
        self, names: Sequence[str], comparisons: Sequence[Comparison], most_bytes: int
    ) -> None:
        """Bring columns of the rows that comparisons do not rule out, if these are few bytes."""
        found = self._as_found(comparisons)
        self.part.bring_matching(self._own(names), found, most_bytes)

    @property
    def is_streamed(self) -> bool:
        """Whether rows come in blocks, see `Part`."""
        return self.part.is_streamed

    def blocks(self, names: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
        """Yield functions that return some columns of some rows; see `Part`."""
        for read in self.part.blocks(self._own(names)):
            yield partial(self._cast_block, list(names), read)

    def _cast_block(self, names: list[str], read: Callable[[], pa.Table]) -> pa.Table:
        rows = read()
        if not names:
            return rows
        return pa.table(self._cast(names, rows.columns, rows.num_rows), names=names)

    def pieces(self, start: int, stop: int, step: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of rows that are read on their own."""
        return self.part.pieces(start, stop, step)

    def batches(self, names: Sequence[str], most: int) -> Iterator[pa.Table] | None:
        """Yield some columns in their SQL types, at most so many rows at a time; see `Part`."""
        own = self._own(names)
        found = self.part.batches(own, most) if own else None
        return None if found is None else self._cast_batches(names, found)

    def _cast_batches(self, names: Sequence[str], found: Iterator[pa.Table]) -> Iterator[pa.Table]:
        first = 0
        for rows in found:
            columns = self._cast(names, rows.columns, rows.num_rows, first)
            first += rows.num_rows
            yield pa.table(columns, names=list(names))

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns in their SQL types.

        Raises NotSupportedError for a type that SQL lacks, DataError for a value that does not fit.
        """
        return self._cast(names, self.part.columns(self._own(names)), None)

    def decoded_bytes(self, name: str, kind: pa.DataType, enough: float) -> float:
        """Return how many bytes a column takes: what the file has, and what it is cast to."""
        cast = self.expected_row_count * value_bytes(kind)
        if name not in self.found.names:
            return cast
        found = self.found.field(name).type
        held = self.part.decoded_bytes(self._own_name(name), found, enough)
        return held if found == kind else held + cast

    def dictionary(self, name: str) -> pa.ChunkedArray | None:
        """Return a column as dictionary arrays, None where the file has another type or none."""
        kind = self._field(name).type
        same = name in self.found.names and self.found.field(name).type == kind
        return self.part.dictionary(self._own_name(name)) if same else None

    def null_count(self, name: str) -> int:
        """Count a column's NULLs; all rows may be where it takes reading them all."""
        if name in self.found.names:
            return self.part.null_count(self._own_name(name))
        return 0 if name in self.constants else self.part.expected_row_count

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        field = self._field(name)
        if name not in self.found.names:
            return self._absent(field, len(row_numbers))
        try:
            taken = self.part.take(self._own_name(name), row_numbers)
            if field.type == self.found.field(name).type:
                return taken
            return self._cast_column(field, taken)
        except (DataError, pa.ArrowNotImplementedError):
            # Of the whole column a value that does not fit is named by its row, and Arrow takes no
            # rows of views and of runs.
            return self.columns([name])[0].take(pa.array(row_numbers))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows that match, as far as the file's own types can tell."""
        return self.part.matching_rows(self._as_found(comparisons))

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows."""
        present = self._own(names)
        heads = self.part.head(present, count) if present else []
        return self._cast(names, heads, len(heads[0]) if heads else min(count, self.row_count))

    def without(self, comparisons: Sequence[Comparison]) -> Part:
        """Return the part without chunks that the comparisons exclude, or without any row."""
        for each in comparisons:
            value = self.constants.get(each.column)
            if value is not None and not each.holds(value):
                return ArrowPart(self.wanted.empty_table())
        part = self.part.without(self._as_found(comparisons))
        return self if part is self.part else replace(self, part=part)

    def _cast(
        self,
        names: Sequence[str],
        present: Sequence[pa.ChunkedArray],
        count: int | None,
        first: int = 0,
    ) -> list[pa.ChunkedArray]:
        """Return columns in SQL types, some of which the file has; count: their rows, None: all.

        first: the number of the first row.
        """
        found = dict(zip(self._present(names), present, strict=True))
        return [
            self._cast_column(field, found[field.name], first)
            if field.name in found
            else self._absent(field, self.row_count if count is None else count)
            for field in map(self._field, names)
        ]

    def _cast_column(
        self, field: pa.Field, column: pa.ChunkedArray, first: int = 0
    ) -> pa.ChunkedArray:
        typed = field.with_type(field_type(field))
        return stored_column(cast_column(self.origin, typed, column, first))

    def _present(self, names: Sequence[str]) -> list[str]:
        known = frozenset(self.found.names)
        return [name for name in names if name in known]

    def _own(self, names: Sequence[str]) -> list[str]:
        return [self._own_name(name) for name in self._present(names)]

    def _own_name(self, name: str) -> str:
        return self.own.get(name, name)

    def _absent(self, field: pa.Field, count: int) -> pa.ChunkedArray:
        value = self.constants.get(field.name, pa.scalar(None, field.type))
        return pa.chunked_array([pa.repeat(value, count)])

    def _as_found(self, comparisons: Sequence[Comparison]) -> list[Comparison]:
        """Return the comparisons in the file's types, without those that cannot be cast.

        Numbers of labels mean nothing to it.
        """
        usable = []
        for each in comparisons:
            field = self.wanted.field(each.column)
            if each.column in self.found.names and field_type(field) is field.type:
                with suppress(pa.ArrowException):
                    value = each.value.cast(self.found.field(each.column).type)
                    column = self._own_name(each.column)
                    usable.append(replace(each, column=column, value=value))
        return usable

    def _field(self, name: str) -> pa.Field:
        field = self.wanted.field(name)
        if not is_sql_type(field.type):
            raise NotSupportedError(
                f"{self.origin}, column '{name}': the type {sql_type_name(field.type)} "
                "is not supported"
            )
        return field
