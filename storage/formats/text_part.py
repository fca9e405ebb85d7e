"""Rows in a text file, read column by column, whose types are those of its first rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError
from raydb.storage.tables.parts import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    # From columns and a number of rows (None: all) to the columns' values.
    Read = Callable[[Sequence[str], int | None], pa.Table]


class LateValueError(DataError):
    """A value of a text file does not fit the type that the sample before it has."""


@dataclass(frozen=True, eq=False, slots=True)
class TextPart(Part):
    """Rows of a text file; a column is read once."""

    schema: pa.Schema
    read: Read
    expected_rows: int
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        """The number of rows, counted by reading a column; 0 where there is none."""
        if not self.schema.names:
            return 0
        if not self._columns:
            self.columns(self.schema.names[:1])
        return len(next(iter(self._columns.values())))

    is_counted = False

    @property
    def expected_row_count(self) -> int:
        """The number of rows, guessed from the bytes of the first ones."""
        return self.expected_rows

    is_seekable = False

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns. Raises DataError naming file and line."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._columns]
        if wanted:
            self._columns.update(zip(wanted, self.read(wanted, None).columns, strict=True))
        return [self._columns[name] for name in names]

    def null_count(self, name: str) -> int:
        """Count a column's NULLs; all rows may be where it has not been read."""
        if name in self._columns:
            return int(self._columns[name].null_count)
        return self.expected_rows

    def take(self, name: str, row_numbers: NDArray[np.int64]) -> pa.ChunkedArray:
        """Return a column's values in some rows; the whole column is read."""
        return self.columns([name])[0].take(pa.array(row_numbers))

    def head(self, names: Sequence[str], count: int) -> list[pa.ChunkedArray]:
        """Return some columns of the first rows; the file is read no further."""
        return list(self.read(names, count).columns)
