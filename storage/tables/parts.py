"""The parts of a table's rows: in memory, in files, made on request, or some of another part's.

A part is anything with a row count and columns by name. It can also give single rows, say which
rows a comparison holds for, and leave rows out for which it cannot hold, without decoding a column
from end to end; what it does not say of itself, `Part` answers by reading columns whole.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.packed_numbers import is_packed, widened_column
from raydb.late import pc
from raydb.storage.flat import select
from raydb.storage.tables.decoded import value_bytes
from raydb.storage.take_rows import take_rows
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat import FlatTable
    from raydb.storage.flat.bring import WantedRows

_FUNCTIONS = {
    "==": "equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column beside a constant, which is of the column's type and not NULL.

    operator: one of ==, <, <=, > and >=.
    """

    column: str
    operator: str
    value: pa.Scalar

    def holds(self, value: pa.Scalar) -> bool:
        """Tell whether it holds for a value of the column."""
        return getattr(pc, _FUNCTIONS[self.operator])(value, self.value).as_py() is True


class Part:
    """Some of a table's rows."""

    __slots__ = ()

    @property
    def row_count(self) -> int:
        """The number of rows."""
        raise NotImplementedError

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known without reading them."""
        return True

    @property
    def expected_row_count(self) -> int:
        """The number of rows, or a guess where it takes reading them all."""
        return self.row_count

    @property
    def size_bytes(self) -> int:
        """About how many bytes the rows take in memory."""
        raise NotImplementedError

    @property
    def is_decoded(self) -> bool:
        """Whether a column costs nothing to read."""
        return False

    def is_widened(self, name: str) -> bool:  # noqa: ARG002
        """Tell whether a column is made anew each time it is read, for little: it is not kept."""
        return False

    def integers(self, name: str) -> pa.ChunkedArray | None:  # noqa: ARG002
        """Return a column as the integers that it is kept as, 0 where NULL; None for others."""
        return None

    @property
    def is_seekable(self) -> bool:
        """Whether single rows cost little wherever they are, and not only at the start."""
        return True

    @property
    def is_borrowed(self) -> bool:
        """Whether columns may share their bytes with a mapped file or an object of Python."""
        return True

    @property
    def is_sliceable(self) -> bool:
        """Whether some rows in a row cost little beside all of them."""
        return self.is_decoded

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file that a sliceable part is in, or of what is packed; 0 elsewhere."""
        return 0

    @property
    def is_streamed(self) -> bool:
        """Whether `blocks` gives the rows some at a time, which is all that should be held."""
        return False

    def blocks(self, names: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
        """Yield functions that return some columns of some rows, in order, for any thread to call.

        Of a part that is streamed.
        """
        raise NotImplementedError

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns, which are read together."""
        raise NotImplementedError

    def decoded_bytes(self, name: str, kind: pa.DataType, enough: float) -> float:  # noqa: ARG002
        """Return about how many bytes a column of a type takes once it is read; of texts, at least.

        A part that knows better counts once more where it may be more than `enough`.
        """
        return 0 if self.is_decoded else self.expected_row_count * value_bytes(kind)

    def slice(self, names: Sequence[str], start: int, stop: int) -> list[pa.ChunkedArray]:
        """Return some columns of the rows start to stop, reading little else if that can be."""
        return [column.slice(start, stop - start) for column in self.columns(names)]

    def ranges(self, comparisons: Sequence[Comparison]) -> list[tuple[int, int]]:  # noqa: ARG002
        """Return ascending ranges of rows; all comparisons hold for none outside of them."""
        return [(0, self.row_count)] if self.row_count else []

    def pieces(self, start: int, stop: int, step: int) -> Iterator[tuple[int, int]]:
        """Yield the rows start to stop in ranges that are read on their own: of `step` rows.

        A part that cannot be sliced yields larger ones.
        """
        step = step if self.is_sliceable else max(stop - start, 1)
        for low in range(start, stop, step):
            yield low, min(low + step, stop)

    def batches(self, names: Sequence[str], most: int) -> Iterator[pa.Table] | None:  # noqa: ARG002
        """Yield some columns of at most so many rows at a time, in order, holding little else.

        None where rows come in pieces alone.
        """
        return None

    def dictionary(self, name: str) -> pa.ChunkedArray | None:  # noqa: ARG002
        """Return a column as Arrow's dictionary arrays, None where it is not stored as such."""
        return None

    def null_count(self, name: str) -> int:
        """Count a column's NULLs, without decoding it where the part knows."""
        return int(self.columns([name])[0].null_count)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows, given by their numbers in any order."""
        return take_rows(self.columns([name])[0], row_numbers)

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:  # noqa: ARG002
        """Return the ascending numbers of rows for which all comparisons hold, None for all rows.

        Others may be among them where the part cannot tell.
        """
        return None

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first `count` rows, fewer where there are no more."""
        return [column.slice(0, count) for column in self.columns(names)]

    def remote(self, names: Sequence[str]) -> tuple[FlatTable, Sequence[str]] | None:  # noqa: ARG002
        """Return the file that the rows are in, and its names of some columns, if it is elsewhere.

        None where reading brings nothing; see `bring_tables`.
        """
        return None

    @property
    def is_remote(self) -> bool:
        """Whether the two methods that follow bring anything."""
        return False

    def bring_rows(self, names: Sequence[str], row_numbers: NDArray[np.int64]) -> None:
        """Bring together what `take` of some columns is about to read."""

    def bring_matching(
        self, names: Sequence[str], comparisons: Sequence[Comparison], most_bytes: int
    ) -> None:
        """Bring columns of the rows that comparisons do not rule out, if these are few bytes."""

    def without(self, comparisons: Sequence[Comparison]) -> Part:  # noqa: ARG002
        """Return the part without chunks of rows for none of which all comparisons hold.

        The rows that are left have other numbers then.
        """
        return self


@dataclass(frozen=True, eq=False, slots=True)
class ArrowPart(Part):
    """Rows in memory."""

    table: pa.Table

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return int(self.table.num_rows)

    @property
    def size_bytes(self) -> int:
        """How many bytes the rows take."""
        return int(self.table.nbytes)

    is_decoded = True

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        return [self.table.column(name) for name in names]


@dataclass(frozen=True, eq=False, slots=True)
class PackedPart(Part):
    """Rows in memory as `part_of` packs them; schema: what they are in SQL."""

    schema: pa.Schema
    packed: pa.Table

    is_decoded = True

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return int(self.packed.num_rows)

    @property
    def size_bytes(self) -> int:
        """About how many bytes the rows take where they are widened."""
        more = sum(
            int(wide.type.bit_width - stored.type.bit_width) // 8
            for wide, stored in zip(self.schema, self.packed.schema, strict=True)
            if is_packed(wide.type)
        )
        return int(self.packed.nbytes) + self.row_count * more

    @property
    def stored_bytes(self) -> int:
        """How many bytes the rows take as they are."""
        return int(self.packed.nbytes)

    def decoded_bytes(self, name: str, kind: pa.DataType, enough: float) -> float:  # noqa: ARG002
        """Return how many bytes more a column takes once it is widened."""
        return self.row_count * value_bytes(kind) if self.is_widened(name) else 0

    def is_widened(self, name: str) -> bool:
        """Tell whether a column is made anew each time it is read."""
        kind = self.schema.field(name).type
        return is_packed(kind) and self.packed.schema.field(name).type != kind

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        return [self._widened(name, self.packed.column(name)) for name in names]

    def slice(self, names: Sequence[str], start: int, stop: int) -> list[pa.ChunkedArray]:
        """Return some columns of the rows start to stop."""
        return [
            self._widened(name, self.packed.column(name).slice(start, stop - start))
            for name in names
        ]

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows."""
        return self.slice(names, 0, min(count, self.row_count))

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        return self._widened(name, take_rows(self.packed.column(name), row_numbers))

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        return int(self.packed.column(name).null_count)

    def integers(self, name: str) -> pa.ChunkedArray | None:
        """Return a column as the integers that it is kept as, 0 where NULL; None for others."""
        return self.packed.column(name) if self.is_widened(name) else None

    def _widened(self, name: str, found: pa.ChunkedArray) -> pa.ChunkedArray:
        return (
            widened_column(found, self.schema.field(name).type) if self.is_widened(name) else found
        )


@dataclass(frozen=True, eq=False, slots=True)
class MadePart(Part):
    """Columns by name that `make` converts to Arrow once each, such as those of a data frame."""

    count: int
    make: Callable[[str], pa.ChunkedArray]
    _made: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.count

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        for name in names:
            if name not in self._made:
                self._made[name] = self.make(name)
        return [self._made[name] for name in names]


@dataclass(frozen=True, eq=False, slots=True)
class FilePart(Part):
    """Rows in a FlatStor file; `name` is the file's name in the database directory.

    A file is never changed, so after ALTER TABLE `renamed` has what the file calls a column, where
    that is not its name, and `absent` the types of columns that it lacks, which are NULL.
    """

    name: str
    flat: FlatTable
    renamed: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, pa.DataType] = field(default_factory=dict)

    is_sliceable = True

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file."""
        return self.flat.stored_bytes

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.flat.row_count

    @property
    def size_bytes(self) -> int:
        """About how many bytes the rows take in memory."""
        return self.flat.expected_bytes

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        self._bring(names, None)
        return [
            self._nulls(name, self.row_count)
            if name in self.absent
            else self.flat.column(self._stored(name))
            for name in names
        ]

    def decoded_bytes(self, name: str, kind: pa.DataType, enough: float) -> float:
        """Return how many bytes a column takes, from the metadata; of texts, at most."""
        if name in self.absent:
            return self.row_count * value_bytes(kind)
        return self.flat.reader(self._stored(name)).decoded_bytes(enough)

    def slice(self, names: Sequence[str], start: int, stop: int) -> list[pa.ChunkedArray]:
        """Return some columns of the rows start to stop; only their chunks are read."""
        self._bring(names, [(start, stop)] if start < stop else [])
        return [
            self._nulls(name, stop - start)
            if name in self.absent
            else self.flat.slice(self._stored(name), start, stop)
            for name in names
        ]

    def ranges(self, comparisons: Sequence[Comparison]) -> list[tuple[int, int]]:
        """Return the ranges of rows that zone maps and bloom filters do not rule out."""
        if any(each.column in self.absent for each in comparisons):
            return []
        return select.possible_ranges(self.flat, self._as_stored(comparisons))

    def dictionary(self, name: str) -> pa.ChunkedArray | None:
        """Return a text column as dictionary arrays, None where it is not stored as such."""
        return None if name in self.absent else self.flat.coded_column(self._stored(name))

    def null_count(self, name: str) -> int:
        """Count a column's NULLs, from the metadata."""
        if name in self.absent:
            return self.row_count
        return int(self.flat.reader(self._stored(name)).column.header.null_count)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows; only their chunks are read."""
        if name in self.absent:
            return self._nulls(name, len(row_numbers))
        return self.flat.take(row_numbers, [self._stored(name)]).column(0)

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return the rows that match; chunks are skipped by zone maps and bloom filters."""
        if not comparisons:
            return None
        if any(each.column in self.absent for each in comparisons):
            return np.empty(0, np.int64)
        return select.select_rows(self.flat, self._as_stored(comparisons))[0]

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows; only their chunks are read."""
        row_numbers = np.arange(min(count, self.row_count))
        self._bring(names, row_numbers)
        return [self.take(name, row_numbers) for name in names]

    def remote(self, names: Sequence[str]) -> tuple[FlatTable, Sequence[str]] | None:
        """Return the file and its names of columns, if it is elsewhere."""
        if not self.flat.is_remote:
            return None
        return self.flat, [self._stored(name) for name in names if name not in self.absent]

    def _bring(self, names: Sequence[str], rows: WantedRows) -> None:
        if self.flat.is_remote:
            self.flat.bring([self._stored(name) for name in names if name not in self.absent], rows)

    def _as_stored(self, comparisons: Sequence[Comparison]) -> list[tuple[str, str, pa.Scalar]]:
        return [(self._stored(each.column), each.operator, each.value) for each in comparisons]

    def _stored(self, name: str) -> str:
        """Return what the file calls a column."""
        return self.renamed.get(name, name)

    def _nulls(self, name: str, count: int) -> pa.ChunkedArray:
        return pa.chunked_array([pa.nulls(count, self.absent[name])])


@dataclass(frozen=True, eq=False, slots=True)
class RestPart(Part):
    """The rows of another part from number `first` on, of which nothing else is read.

    stop: the number behind the last one, None for all that follow.
    """

    part: Part
    first: int
    stop: int | None = None

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return (self.part.row_count if self.stop is None else self.stop) - self.first

    @property
    def is_decoded(self) -> bool:
        """Whether a column costs nothing to read."""
        return self.part.is_decoded

    def is_widened(self, name: str) -> bool:
        """Tell whether a column is made anew each time it is read."""
        return self.part.is_widened(name)

    @property
    def is_sliceable(self) -> bool:
        """Whether some rows in a row cost little beside all of them."""
        return self.part.is_sliceable

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file that the whole part is in."""
        return self.part.stored_bytes

    @property
    def size_bytes(self) -> int:
        """About how many bytes the rows take in memory."""
        return self.part.size_bytes * self.row_count // max(self.part.row_count, 1)

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        return self.part.slice(names, self.first, self.first + self.row_count)

    def decoded_bytes(self, name: str, kind: pa.DataType, enough: float) -> float:
        """Return how many bytes a column of the whole part takes."""
        return self.part.decoded_bytes(name, kind, enough)

    def slice(self, names: Sequence[str], start: int, stop: int) -> list[pa.ChunkedArray]:
        """Return some columns of the rows start to stop."""
        return self.part.slice(names, self.first + start, self.first + stop)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        return self.part.take(name, row_numbers + self.first)
