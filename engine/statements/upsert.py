"""INSERT ... ON CONFLICT: rows whose keys are there are skipped, or update the rows that are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pyarrow as pa

from raydb import sql
from raydb.engine.statements.row_changes import RowChanges, returned_columns, split_rows
from raydb.engine.statements.row_checks import check_rows, table_of
from raydb.errors import ProgrammingError
from raydb.room import keep_rows
from raydb.storage.tables.changes import Append, Replace
from raydb.storage.tables.constraints import find_key
from raydb.storage.tables.key_parts import first_repeat, keep_first

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.sql import ast
    from raydb.storage.tables.changes import Change
    from raydb.storage.tables.table import Table

# Rows are looked at in pieces that take such a share of the memory, with so much beside each row.
_PIECE_SHARE = 16
_BYTES_A_ROW = 64

# Row numbers are looked up so many at a time: what numpy makes of them (8 bytes each) stays small.
_BLOCK_ROWS = 2**20


def skip_conflicts(
    rows: pa.Table, conflict: sql.Conflict, table: Table, context: StatementContext
) -> NDArray[np.bool_]:
    """Return as a mask which rows DO NOTHING inserts.

    A key that conflicts may be in the table, or in a row that the statement inserts before.
    """
    fresh = np.ones(rows.num_rows, np.bool_)
    for key in conflict.keys:
        fresh &= find_key(rows, table, key) < 0
    names = list(dict.fromkeys(name for key in conflict.keys for name in key.columns))
    candidates = filtered(rows.select(names), fresh, context)
    kept = keep_first(
        [[candidates.column(name) for name in key.columns] for key in conflict.keys],
        candidates.num_rows,
    )
    fresh[np.flatnonzero(fresh)[~kept]] = False
    return fresh


def filtered(rows: pa.Table, mask: NDArray[np.bool_], context: StatementContext) -> pa.Table:
    """Return the rows where a mask is true, in files where they would fill the memory."""
    return _in_pieces(
        lambda start, stop: rows.slice(start, stop - start).filter(pa.array(mask[start:stop])),
        rows,
        context,
    )


def update_conflicts(
    statement: ast.Insert,
    conflict: sql.Conflict,
    rows: pa.Table,
    returned: pa.Table | None,
    files: Mapping[str, Table],
    context: StatementContext,
) -> RowChanges:
    """Return what ON CONFLICT DO UPDATE changes: new rows, and rows with their keys that are there.

    rows: those of the statement; returned: what RETURNING gives for them if they are inserted;
    files: the tables of the files that it reads.
    Raises ProgrammingError where two rows of the statement meet the same row.
    """
    table = context.snapshot.tables[statement.table]
    definition = table.definition
    (key,) = conflict.keys
    found = find_key(rows, table, key)
    fresh = found < 0
    inserted = filtered(rows, fresh, context)
    if first_repeat([inserted.column(name) for name in key.columns]) is not None:
        _raise_second_time(statement.table)
    name = _free_name(context)
    described = table_of(name, _conflicts(table, rows.slice(0, 0), found[:0]))
    catalog = context.all_databases.with_changes({**files, name: described}).describe()
    logical = sql.bind_upsert(statement, name, catalog, context.parameters)

    def update(start: int, stop: int) -> pa.Table:
        met = ~fresh[start:stop]
        some = rows.slice(start, stop - start).filter(pa.array(met))
        source = table_of(name, _conflicts(table, some, found[start:stop][met]))
        return context.run(logical, {**files, name: source})

    changed = _in_pieces(update, rows, context)
    numbers = changed.column(0).to_numpy()
    if has_repeat(numbers, table.row_count):
        _raise_second_time(statement.table)
    updated, returned_updated = split_rows(changed, 1, definition)
    check_rows(definition, updated, "updated row", definition.checks, context)
    changes: list[Change] = []
    if updated.num_rows:
        changes.append(Replace(table.name, numbers, updated))
    if inserted.num_rows:
        changes.append(Append(table.name, inserted))
    if returned is not None:
        assert returned_updated is not None
        # In the order of the statement's rows.
        place_of = np.empty(table.row_count, np.int32)
        place_of[found[~fresh]] = np.flatnonzero(~fresh)
        order = np.concatenate([np.flatnonzero(fresh), place_of[numbers]])
        parts = [
            returned.filter(pa.array(fresh)),
            returned_updated.rename_columns(returned.column_names),
        ]
        returned = pa.concat_tables(parts).take(np.argsort(order))
    columns = returned_columns(logical, 1 + len(definition.schema))
    return RowChanges(tuple(changes), updated.num_rows + inserted.num_rows, returned, columns)


def has_repeat(numbers: NDArray[np.int32], row_count: int) -> bool:
    """Tell whether two of some numbers of rows are the same."""
    seen = np.zeros(row_count, np.bool_)
    for start in range(0, len(numbers), _BLOCK_ROWS):
        seen[numbers[start : start + _BLOCK_ROWS]] = True
    return int(np.count_nonzero(seen)) < len(numbers)


def _in_pieces(
    of: Callable[[int, int], pa.Table], rows: pa.Table, context: StatementContext
) -> pa.Table:
    """Return what a function gives for the rows from start to stop, one after the other.

    What has been given waits in files where it would fill the memory.
    """
    limit = context.memory_limit()
    step = max(rows.num_rows, 1)
    if limit is not None:
        width = rows.nbytes // step + _BYTES_A_ROW
        step = min(step, max(limit // (_PIECE_SHARE * width), 1))
    return pa.concat_tables(
        [
            keep_rows(of(start, min(start + step, rows.num_rows)))
            for start in range(0, max(rows.num_rows, 1), step)
        ]
    )


def _conflicts(table: Table, rows: pa.Table, numbers: NDArray[np.int32]) -> pa.Table:
    """Return what `bind_upsert` scans: the number of the row that is there, its columns, the row's.

    numbers: of the rows that are there, one for each of `rows`.
    """
    distinct, places = np.unique(numbers.astype(np.int64), return_inverse=True)
    indices = pa.array(places)
    there = [table.rows.take(name, distinct).take(indices) for name in rows.column_names]
    columns = [pa.chunked_array([numbers]), *there, *rows.columns]
    return pa.table(columns, names=[str(position) for position in range(len(columns))])


def _free_name(context: StatementContext) -> str:
    """Return a name that no table of the database has."""
    name = "conflicts"
    while name in context.snapshot.tables or name in context.snapshot.views:
        name += "'"
    return name


def _raise_second_time(table: str) -> NoReturn:
    raise ProgrammingError(
        f"ON CONFLICT DO UPDATE cannot affect a row of table '{table}' a second time: "
        "two rows of the statement have its key"
    )
