"""Changes of rows by a statement, and the rows of its RETURNING, out of what its plan gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.values import dataclass

if TYPE_CHECKING:
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import Plan
    from raydb.storage.tables.changes import Change
    from raydb.storage.tables.table import TableDefinition


@dataclass(frozen=True, eq=False, slots=True)
class RowChanges:
    """Changes to apply in order, how many rows they write, and RETURNING's rows with their columns.

    `returned` is None for a statement without RETURNING. last_identity: that of a single new row.
    """

    changes: tuple[Change, ...]
    row_count: int
    returned: pa.Table | None = None
    columns: tuple[Column, ...] = ()
    last_identity: int | None = None

    @staticmethod
    def of(
        change: Change,
        row_count: int,
        returned: pa.Table | None = None,
        columns: tuple[Column, ...] = (),
    ) -> RowChanges:
        """Return the change of so many rows, which is none of no rows."""
        return RowChanges((change,) if row_count else (), row_count, returned, columns)


def split_rows(
    found: pa.Table, first: int, definition: TableDefinition
) -> tuple[pa.Table, pa.Table | None]:
    """Return rows of a table and RETURNING's rows (or None), which a plan gives side by side.

    The table's columns begin at position `first`.
    """
    width = first + len(definition.schema)
    # Arrow would refuse NULLs for a field that is not nullable with a message of its own; the
    # constraint check names the row.
    loose = pa.schema([field.with_nullable(True) for field in definition.schema])
    rows = pa.Table.from_arrays(found.columns[first:width], schema=loose)
    return rows, returned_rows(found, width)


def returned_rows(found: pa.Table, first: int) -> pa.Table | None:
    """Return the columns of RETURNING, which begin at position `first`; None if there are none."""
    positions = range(first, found.num_columns)
    return found.select(list(positions)) if positions else None


def returned_columns(plan: Plan, first: int) -> tuple[Column, ...]:
    """Return RETURNING's columns."""
    return plan.columns[first:]
