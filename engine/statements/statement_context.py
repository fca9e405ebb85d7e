"""What a statement works with: the database as it is, and how to run a bound query on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from raydb import sql
from raydb.engine.session.statement_sources import open_sources
from raydb.errors import IntegrityError
from raydb.planner.expressions.nodes import Column
from raydb.planner.plan.nodes import Project, Scan
from raydb.storage.tables.constraints import key_text
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.session.file_access import FileAccess
    from raydb.engine.session.python_tables import PythonTables
    from raydb.engine.session.statement_sources import Uses
    from raydb.planner.expressions.nodes import Expression
    from raydb.planner.plan.nodes import Plan
    from raydb.sql import ast
    from raydb.storage.tables.table import Check

    Parameters = Sequence[object] | Mapping[str, object]

_ROWS = "rows"


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """A snapshot with the files, the parameters and the means of one statement.

    `run` gives the rows of a bound query, which may scan some tables beside the snapshot's. `told`
    collects what the statement has to say beside its answer.
    """

    snapshot: Snapshot
    files: FileAccess
    python: PythonTables
    uses: Uses
    parameters: Parameters
    run: Callable[[Plan, Mapping[str, Table]], pa.Table]
    told: list[str]

    def open_files(
        self, statement: ast.Select | ast.Insert | ast.Update | ast.Delete
    ) -> Mapping[str, Table]:
        """Open the files, Python objects and reports that a statement names."""
        return open_sources(
            statement, self.snapshot, self.files, self.python, self.uses, self.parameters
        )


def table_of(name: str, rows: pa.Table) -> Table:
    """Return rows in memory as a table that a query may scan."""
    return Table(TableDefinition(name, rows.schema), Rows(rows.schema, (ArrowPart(rows),)), 0)


def compute(expressions: Sequence[Expression], rows: pa.Table, work: Work) -> list[pa.ChunkedArray]:
    """Return the values of expressions over rows; column number n is the n-th of the rows."""
    width = len(rows.schema)
    items = tuple(
        (Column(width + number, f"value {number}", expression.type), expression)
        for number, expression in enumerate(expressions)
    )
    plan = Project(Scan(_ROWS, sql.table_columns(rows.schema)), items)
    found: list[pa.ChunkedArray] = work.run(plan, {_ROWS: table_of(_ROWS, rows)}).columns
    return found


def check_rows(
    definition: TableDefinition, rows: pa.Table, kind: str, checks: Sequence[Check], work: Work
) -> None:
    """Raise IntegrityError for the first row (of the `kind`) for which a CHECK is false."""
    if not checks or not rows.num_rows:
        return
    conditions = [sql.bind_check(check, definition) for check in checks]
    for check, holds in zip(checks, compute(conditions, rows, work), strict=True):
        broken = pc.invert(holds).fill_null(False).to_numpy()
        if broken.any():
            row = int(np.argmax(broken))
            name = f" '{check.name}'" if check.name else ""
            values = f": {key_text(rows, row, check.columns)}" if check.columns else ""
            raise IntegrityError(
                f"table '{definition.name}', {kind} {row + 1}: "
                f"the check{name} ({check.text}) does not hold{values}"
            )
