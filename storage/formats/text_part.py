"""Rows in a text file, read block by block, whose types are those of its first rows."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import DataError
from raydb.room import check_room
from raydb.storage.in_order import in_order
from raydb.storage.tables.parts import Part
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    # From columns to functions that return their values in some rows, in order; from columns and a
    # number of rows to the values in the first ones.
    Blocks = Callable[[Sequence[str]], Iterator[Callable[[], pa.Table]]]
    Head = Callable[[Sequence[str], int], pa.Table]


class LateValueError(DataError):
    """A value of a text file does not fit the type that the sample before it has."""


@dataclass(frozen=True, eq=False, slots=True)
class TextPart(Part):
    """Rows of a text file; a column that is read as a whole is kept.

    is_streamed: whether the blocks are small beside the file.
    """

    schema: pa.Schema
    read_blocks: Blocks
    read_head: Head
    expected_rows: int
    is_streamed: bool = True
    _columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    _counted: list[int] = field(default_factory=list)

    @property
    def row_count(self) -> int:
        """The number of rows, counted by reading them once; none is kept."""
        if not self._counted:
            found = in_order(lambda read: read().num_rows, self.read_blocks([]))
            self._counted.append(sum(found))
        return self._counted[0]

    is_counted = False

    @property
    def expected_row_count(self) -> int:
        """The number of rows, guessed from the bytes of the first ones."""
        return self.expected_rows

    is_seekable = False

    def blocks(self, names: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
        """Yield functions that return some columns of some rows, in order; see `Part`."""
        return self.read_blocks(names)

    def columns(self, names: Sequence[str]) -> list[pa.ChunkedArray]:
        """Return the values of some columns. Raises DataError naming file and line."""
        wanted = [name for name in dict.fromkeys(names) if name not in self._columns]
        if wanted:
            no_rows = pa.Table.from_batches([], self.schema).select(wanted)
            found, held = [no_rows], 0
            for rows in in_order(lambda read: read(), self.read_blocks(wanted)):
                found.append(rows)
                held += rows.nbytes
                check_room(held, "a text file")
            rows = pa.concat_tables(found)
            self._columns.update(zip(wanted, rows.columns, strict=True))
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
        return list(self.read_head(names, count).columns)
