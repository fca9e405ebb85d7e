"""UPDATE and DELETE with the parameters of many runs at once: the rows that each run finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb import sql
from raydb.engine.statements.row_changes import RowChanges
from raydb.engine.statements.row_checks import check_rows, table_of
from raydb.errors import ProgrammingError
from raydb.storage.tables.changes import Remove, Replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.sql import ParameterRows, ast
    from raydb.storage.tables.table import Table

# A run alone finds its row by an index in about a millisecond, and together they look at all rows.
_ROWS_A_RUN = 5000


def change_by_runs(
    statement: ast.Update | ast.Delete, parameters: ParameterRows, context: StatementContext
) -> RowChanges | None:
    """Return what many runs of a statement change; None where they are better run one by one.

    Raises ProgrammingError where a row has values of several runs that build on each other.
    """
    table = context.snapshot.tables[statement.table]
    if table.expected_count > _ROWS_A_RUN * parameters.count:
        return None
    bound = sql.bind_runs(statement, context.all_databases.describe(), parameters)
    if bound is None:
        return None
    given = parameters.table()
    found = context.run(bound.matches, {sql.PARAMETER_ROWS: table_of(sql.PARAMETER_ROWS, given)})
    numbers, runs = found.column(0).to_numpy(), found.column(1).to_numpy()
    last = _last_runs(numbers, runs)
    if len(last) < len(numbers) and not bound.repeats:
        raise ProgrammingError("two runs change the same row")
    numbers, runs = numbers[last], runs[last]
    if bound.rows is None:
        return RowChanges.of(Remove(table.name, numbers), len(numbers))
    source = _matched(table, numbers, given.take(pa.array(runs)))
    rows = context.run(bound.rows, {sql.MATCHED_ROWS: table_of(sql.MATCHED_ROWS, source)})
    loose = pa.schema([field.with_nullable(True) for field in table.definition.schema])
    rows = pa.Table.from_arrays(rows.columns, schema=loose)
    check_rows(table.definition, rows, "updated row", table.definition.checks, context)
    change = Replace(table.name, numbers, rows)
    # A row counts for each run that has changed it.
    return RowChanges((change,) if len(numbers) else (), found.num_rows)


def _last_runs(numbers: NDArray[np.int32], runs: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the places of the last run of each row, rows in order."""
    order = np.lexsort((runs, numbers))
    ordered = numbers[order]
    is_last = np.ones(len(ordered), np.bool_)
    is_last[:-1] = ordered[1:] != ordered[:-1]
    return order[is_last]


def _matched(table: Table, numbers: NDArray[np.int32], given: pa.Table) -> pa.Table:
    """Return rows of a table, beside each the parameters of its run."""
    names = table.definition.schema.names
    columns = [table.rows.take(name, numbers.astype(np.int64)) for name in names]
    return pa.table([*columns, *given.columns], names=[*names, *given.column_names])
