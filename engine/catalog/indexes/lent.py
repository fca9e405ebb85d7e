"""Columns of vectors that a file of rows borrows from the file of an index, which has them anyway.

    rows       0      1      2      3            in the file of rows, true where there is a vector
    places     7      -      0      3            of the index, whose vectors lie list by list

A row that has a place in no list was deleted before the index was made: what is given for it is
zeros. Row numbers of an index are looked for and never followed, so that forged ones give other
vectors, and no more.
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.kernels.stored.deferred import Deferred
from raydb.late import pc
from raydb.storage.flat.encodings.vectors import item_bytes, vectors_of
from raydb.storage.tables.parts import FilePart
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.stored.stored_arrays import StoredArrays
    from raydb.storage.tables.parts import Comparison

    # The vectors (n, d) of an index, and the row (n) of each.
    Vectors = tuple[NDArray[np.float32], NDArray[np.uint32]]

# In a class with a method of that name it would mean the method.
_Range = slice


class LentColumn:
    """The vectors of some rows, `count` from number `first` of an index on.

    file: the name of the index's file. kind: FLOAT[n].
    """

    def __init__(
        self, file: str, kind: pa.DataType, first: int, count: int, lent: Deferred[Vectors]
    ) -> None:
        self.file, self.first, self.size_bytes = file, first, count * item_bytes(kind)
        self._kind, self._lent = kind, lent
        # No method of its own: an index whose rows borrow from another one by now would be kept
        # until the collector of garbage came by.
        self._places = Deferred(partial(_places, lent, first, count))

    def take(self, rows: NDArray[np.int64] | _Range, valid: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the vectors of some rows; valid: whether each of these has one."""
        vectors, places = self._lent.get()[0], self._places.get()[rows]
        lacking = np.flatnonzero(places < 0)
        if len(vectors):
            found = np.take(vectors, places, axis=0, mode="clip")
            found[lacking] = 0
        else:
            found = np.zeros((len(places), vectors.shape[1]), np.float32)
        made = vectors_of(self._kind, len(places), pa.py_buffer(found))
        if not pc.all(valid).as_py() and len(places):
            made = pc.if_else(valid.combine_chunks(), made, pa.scalar(None, self._kind))
        return pa.chunked_array([made], self._kind)


def _places(lent: Deferred[Vectors], first: int, count: int) -> NDArray[np.int64]:
    """Return the place in an index of each of some rows, -1 where it has none."""
    _, row_ids = lent.get()
    places = np.full(count, -1, np.int64)
    own = np.flatnonzero((row_ids >= first) & (row_ids < first + count))
    places[row_ids[own].astype(np.int64) - first] = own
    return places


def lent_arrays(arrays: StoredArrays, width: int) -> Vectors:
    """Return what the file of an index lends, as far as its bytes are those that were written.

    width: the elements of a vector. Raises OperationalError.
    """
    vectors = arrays.take("vectors", np.float32, (-1, width))
    return vectors, arrays.take("row_ids", np.uint32, (len(vectors),))


@dataclass(frozen=True, eq=False, slots=True)
class BorrowingPart(FilePart):
    """Rows in a file that has of some columns only which rows are not NULL.

    lent: these columns by what the file calls them.
    """

    lent: Mapping[str, LentColumn] = field(default_factory=dict)

    def lender(self, name: str) -> LentColumn | None:
        """Return where a column comes from, None where it is in the file."""
        return None if name in self.absent else self.lent.get(self._stored(name))

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file and of what it borrows."""
        return self.flat.stored_bytes + self._lent_bytes

    @property
    def size_bytes(self) -> int:
        """About how many bytes the rows take in memory."""
        return self.flat.expected_bytes + self._lent_bytes

    @property
    def _lent_bytes(self) -> int:
        return sum(column.size_bytes for column in self.lent.values())

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns."""
        rows = slice(0, self.row_count)
        return self._joined(names, rows, lambda own: FilePart.columns(self, own))

    def slice(self, names: Sequence[str], start: int, stop: int) -> list[pa.ChunkedArray]:
        """Return some columns of the rows start to stop."""
        read = lambda own: FilePart.slice(self, own, start, stop)  # noqa: E731
        return self._joined(names, slice(start, stop), read)

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows."""
        found, lent = FilePart.take(self, name, row_numbers), self.lender(name)
        return found if lent is None else lent.take(row_numbers, found)

    def _joined(
        self,
        names: Sequence[str],
        rows: _Range,
        read: Callable[[Sequence[str]], list[pa.ChunkedArray]],
    ) -> list[pa.ChunkedArray]:
        """Return columns; of those that are lent the file says which rows have a vector."""
        lenders = [self.lender(name) for name in names]
        return [
            column if lent is None else lent.take(rows, column)
            for column, lent in zip(read(names), lenders, strict=True)
        ]

    def decoded_bytes(self, name: str, kind: pa.DataType, enough: float) -> float:
        """Return how many bytes a column takes."""
        lent = self.lender(name)
        return FilePart.decoded_bytes(self, name, kind, enough) if lent is None else lent.size_bytes

    def null_count(self, name: str) -> int:
        """Count a column's NULLs."""
        if self.lender(name) is None:
            return FilePart.null_count(self, name)
        return self.row_count - int(pc.sum(FilePart.columns(self, [name])[0]).as_py() or 0)

    def ranges(self, comparisons: Sequence[Comparison]) -> list[tuple[int, int]]:
        """Return ranges of rows; nothing is known of vectors that are lent."""
        return FilePart.ranges(self, self._of_file(comparisons))

    def matching_rows(self, comparisons: Sequence[Comparison]) -> NDArray[np.int64] | None:
        """Return rows that may match; nothing is known of vectors that are lent."""
        return FilePart.matching_rows(self, self._of_file(comparisons))

    def _of_file(self, comparisons: Sequence[Comparison]) -> list[Comparison]:
        return [each for each in comparisons if self.lender(each.column) is None]
