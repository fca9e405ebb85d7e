"""Values of expressions over rows in memory, and the CHECKs of a table on rows to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb import sql
from raydb.errors import IntegrityError
from raydb.late import pc
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.enum_codes import coded
from raydb.planner.plan.nodes import Project, Scan
from raydb.storage.tables.constraints import key_text
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.expressions.nodes import Expression
    from raydb.storage.tables.table import Check

_ROWS = "rows"


def table_of(name: str, rows: pa.Table) -> Table:
    """Return rows in memory as a table that a query may scan."""
    return Table(TableDefinition(name, rows.schema), Rows(rows.schema, (ArrowPart(rows),)), 0)


def compute(
    expressions: Sequence[Expression], rows: pa.Table, context: StatementContext
) -> list[pa.ChunkedArray]:
    """Return the values of expressions over rows; column number n is the n-th of the rows."""
    return compute_visible(expressions, table_of(_ROWS, rows), context)


def compute_visible(
    expressions: Sequence[Expression], table: Table, context: StatementContext
) -> list[pa.ChunkedArray]:
    """Return the values of expressions over a table's visible rows, as `compute` does."""
    schema = table.definition.schema
    width = len(schema)
    # The rows have the numbers of ENUMs.
    items = tuple(
        (Column(width + number, f"value {number}", expression.type), expression)
        for number, expression in enumerate(coded(tuple(expressions)))
    )
    plan = Project(Scan(_ROWS, sql.row_columns(schema)), items)
    found: list[pa.ChunkedArray] = context.run(plan, {_ROWS: table}).columns
    return found


def check_rows(
    definition: TableDefinition,
    rows: pa.Table,
    kind: str,
    checks: Sequence[Check],
    context: StatementContext,
    first: int = 0,
) -> None:
    """Raise IntegrityError for the first row (of the `kind`) for which a CHECK is false.

    first: how many rows were before these.
    """
    if not checks or not rows.num_rows:
        return
    conditions = [sql.bind_check(check, definition) for check in checks]
    for check, holds in zip(checks, compute(conditions, rows, context), strict=True):
        broken = pc.invert(holds).fill_null(False).to_numpy()
        if broken.any():
            row = int(np.argmax(broken))
            name = f" '{check.name}'" if check.name else ""
            values = f": {key_text(rows, row, check.columns)}" if check.columns else ""
            raise IntegrityError(
                f"table '{definition.name}', {kind} {first + row + 1}: "
                f"the check{name} ({check.text}) does not hold{values}"
            )
