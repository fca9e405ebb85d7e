"""What a table is: its definition, its rows, and where its foreign keys point."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.storage.rows import Rows


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`FOREIGN KEY (columns) REFERENCES table (references)`; the references are a unique key."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


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


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A version of a table: a frozen value, replaced by each statement that writes to it.

    `foreign_rows[i]` holds, for each row, the row number that foreign key i points to in the
    referenced table (int32, shape (row_count,)), or -1 where the key is NULL. They are found when
    the constraint is checked, and denormalisation gathers through them.
    """

    definition: TableDefinition
    rows: Rows
    version: int
    foreign_rows: Mapping[ForeignKey, NDArray[np.int32]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The table's name."""
        return self.definition.name

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return self.rows.row_count
