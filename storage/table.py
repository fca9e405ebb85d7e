"""What a table is: its definition, its rows, and where its foreign keys point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from raydb.storage.rows import Rows

ROW_NUMBER = "row number"
"""A scan's column of this name gives the rows' numbers (int32); no table has a column named so."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`FOREIGN KEY (columns) REFERENCES table (references)`; the references are a unique key."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileLayout:
    """CREATE TABLE ... WITH: how the table's FlatStor files are written, by column.

    What is not given is chosen from the data; see `raydb.flatstor.write_table`.
    """

    chunk_rows: tuple[tuple[str, int], ...] = ()
    encodings: tuple[tuple[str, str], ...] = ()
    offset_index: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A CREATE TABLE statement: columns as an Arrow schema, and the constraints on them.

    A column that is NOT NULL (or in the primary key) has `nullable=False` in the schema.
    """

    name: str
    schema: pa.Schema
    primary_key: tuple[str, ...] = ()
    unique_keys: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    layout: FileLayout = FileLayout()


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A version of a table: a frozen value, replaced by each statement that writes to it.

    Rows keep their numbers, 0 .. row_count - 1, until VACUUM. `live` (bool, shape (row_count,),
    read-only) tells which of them are visible, None that all are: DELETE masks rows, UPDATE masks
    them and appends their new versions.

    `foreign_rows[i]` holds, for each row, the row number that foreign key i points to in the
    referenced table (int32, shape (row_count,)), or -1 where the key is NULL. They are found when
    the constraint is checked, and denormalisation gathers through them. Visible rows point to
    visible ones; a masked row may point anywhere.
    """

    definition: TableDefinition
    rows: Rows
    version: int
    foreign_rows: Mapping[ForeignKey, NDArray[np.int32]] = field(default_factory=dict)
    live: NDArray[np.bool_] | None = None
    _null_counts: dict[str, int] = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        """The table's name."""
        return self.definition.name

    @property
    def row_count(self) -> int:
        """The number of rows, masked ones too."""
        return self.rows.row_count

    @property
    def live_count(self) -> int:
        """The number of visible rows."""
        return self.row_count if self.live is None else int(np.count_nonzero(self.live))

    def live_column(self, name: str) -> pa.ChunkedArray:
        """Return a column's values in the visible rows."""
        column = self.rows.column(name)
        return column if self.live is None else column.filter(pa.array(self.live))

    def null_count(self, name: str) -> int:
        """Count a column's NULLs in the visible rows; the number is kept."""
        if name not in self._null_counts:
            count = self.rows.null_count(name)
            if count and self.live is not None:
                count = int(self.live_column(name).null_count)
            self._null_counts[name] = count
        return self._null_counts[name]
