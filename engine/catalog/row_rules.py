"""What the texts of a table's definition say of rows that a foreign key changes.

They are evaluated on the rows alone, so that a change gives the same rows each time it is made:
when it is replayed from the log, or on top of what others have committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.errors import IntegrityError, NotSupportedError
from raydb.late import pc
from raydb.storage.tables.constraints import key_text

if TYPE_CHECKING:
    import pyarrow as pa

    from raydb.planner.expressions.nodes import Expression
    from raydb.storage.tables.following import RowRules
    from raydb.storage.tables.table import TableDefinition


class _Rules:
    """The rules of `storage/tables/following.py`, bound where a row needs them."""

    def default(self, definition: TableDefinition, column: str) -> pa.Scalar:
        """Return the value of a column's DEFAULT; raises NotSupportedError for one that changes."""
        from raydb import sql  # noqa: PLC0415  (few changes need it)

        value = sql.bind_default(definition, column)
        if not sql.is_lasting(value):
            raise NotSupportedError(
                f"SET DEFAULT of a foreign key needs a constant, but the default of column"
                f" '{column}' of table '{definition.name}' is none"
            )
        (values,) = _evaluated([value], definition, definition.schema.empty_table(), 1)
        return values[0]

    def finished(self, definition: TableDefinition, rows: pa.Table) -> pa.Table:
        """Return rows with their generated columns; raises IntegrityError for a broken CHECK."""
        from raydb import sql  # noqa: PLC0415  (few changes need it)

        for step in definition.in_order():
            values = [sql.generated_value(each, definition) for each in step]
            found = _evaluated(values, definition, rows, rows.num_rows)
            for each, column in zip(step, found, strict=True):
                position = rows.schema.get_field_index(each.column)
                rows = rows.set_column(position, rows.schema.field(position), column)
        conditions = [sql.bind_check(check, definition) for check in definition.checks]
        found = _evaluated(conditions, definition, rows, rows.num_rows)
        for check, holds in zip(definition.checks, found, strict=True):
            broken = pc.invert(holds).fill_null(False).to_numpy(zero_copy_only=False)
            if broken.any():
                row = key_text(rows, int(np.argmax(broken)), check.columns)
                raise IntegrityError(
                    f"table '{definition.name}': the check ({check.text}) does not hold for a row"
                    f" that a foreign key changes: {row}"
                )
        return rows


def _evaluated(
    expressions: list[Expression], definition: TableDefinition, rows: pa.Table, count: int
) -> list[pa.ChunkedArray]:
    """Return the values of expressions over rows; column number n is the n-th of the rows."""
    from raydb import sql  # noqa: PLC0415  (few changes need it)
    from raydb.planner.expressions.evaluator import evaluate  # noqa: PLC0415
    from raydb.planner.plan.enum_codes import coded  # noqa: PLC0415

    inputs = dict(zip(sql.row_columns(definition.schema), rows.columns, strict=True))
    return [evaluate(each, inputs, count) for each in coded(tuple(expressions))]


ROW_RULES: RowRules = _Rules()
