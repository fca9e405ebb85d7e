"""INSERT, COPY, UPDATE, DELETE and MERGE: what a statement does to the rows of its table.

Everything is computed and checked on the database as it is; the changes are for the caller to
apply, all or none.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import numpy as np

from raydb import sql
from raydb.engine.context.progress import report
from raydb.engine.session.rejects import keep_rejects
from raydb.engine.session.settings import TIME_ZONE, check_file
from raydb.engine.session.statement_sources import open_sources
from raydb.engine.statements.load import append_batches, are_read, rows_of_query, waited_for
from raydb.engine.statements.row_changes import (
    RowChanges,
    returned_columns,
    returned_rows,
    split_rows,
)
from raydb.engine.statements.row_checks import check_rows, compute, table_of
from raydb.engine.statements.sequences import identity_of_one, pass_over_chosen
from raydb.engine.statements.upsert import (
    filtered,
    has_repeat,
    skip_conflicts,
    update_conflicts,
)
from raydb.errors import ProgrammingError
from raydb.interrupts import beside
from raydb.late import pc
from raydb.names import fold
from raydb.planner.expressions.casts.cast import cast_values
from raydb.sql import ast
from raydb.storage.formats.copy import read_batches
from raydb.storage.formats.format import copied
from raydb.storage.formats.paths import expand
from raydb.storage.objects.urls import is_url
from raydb.storage.tables.changes import Append, Remove, Replace
from raydb.storage.tables.constraints import check_required
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import Plan
    from raydb.storage.tables.table import Table, TableDefinition


def write(statement: ast.Write, context: StatementContext) -> RowChanges:
    """Return what a statement changes, and the rows of its RETURNING."""
    definition = context.snapshot.tables[statement.table].definition
    match statement:
        case ast.Insert():
            return _insert(statement, definition, context)
        case ast.Copy():
            return _copy(statement, definition, context)
        case ast.Update():
            return _update(statement, definition, context)
        case ast.Delete():
            return _delete(statement, context)
        case ast.Merge():
            return _merge(statement, definition, context)
        case _:
            assert_never(statement)


def bind_write(
    statement: ast.Dml, context: StatementContext
) -> tuple[Plan, Mapping[str, Table], CatalogInfo]:
    """Return the plan of the rows to write, the files that it reads, and the catalog with them."""
    files = open_sources(statement, context)
    catalog = context.all_databases.with_changes(files).describe()
    match statement:
        case ast.Insert():
            logical = sql.bind_insert(statement, catalog, context.parameters)
        case ast.Update():
            logical = sql.bind_update(statement, catalog, context.parameters)
        case ast.Delete():
            logical = sql.bind_delete(statement, catalog, context.parameters)
        case ast.Merge():
            logical = sql.bind_merge(statement, catalog, context.parameters)
        case _:
            assert_never(statement)
    if isinstance(context.parameters, sql.ParameterRows):
        given = table_of(sql.PARAMETER_ROWS, context.parameters.table())
        files = {**files, sql.PARAMETER_ROWS: given}
    return logical, files, catalog


def _insert(
    statement: ast.Insert, definition: TableDefinition, context: StatementContext
) -> RowChanges:
    logical, files, catalog = bind_write(statement, context)
    conflict = sql.bind_conflict(statement, catalog)
    columns = returned_columns(logical, len(definition.schema))
    if are_read(files) and conflict is None and not columns:
        batches = rows_of_query(logical, files, definition, context)
        return append_batches(_checked(batches, definition, context), definition, context)
    found = _run(logical, files, context)
    rows, returned = split_rows(found, 0, definition)
    pass_over_chosen(rows, definition, context.snapshot)
    check_rows(definition, rows, "row", definition.checks, context)
    if conflict is not None:
        check_required(definition, rows)
        if conflict.updates:
            return update_conflicts(statement, conflict, rows, returned, files, context)
        table = context.snapshot.tables[definition.name]
        kept = skip_conflicts(rows, conflict, table, context)
        rows = filtered(rows, kept, context)
        returned = None if returned is None else filtered(returned, kept, context)
    changed = RowChanges.of(Append(definition.name, rows), rows.num_rows, returned, columns)
    return replace(changed, last_identity=identity_of_one(rows, definition))


def _copy(
    statement: ast.Copy, definition: TableDefinition, context: StatementContext
) -> RowChanges:
    check_file(statement.path, context.settings, may_be_object=True)
    counted = _count_bytes(statement, context)
    columns, options = statement.columns, statement.options
    cast = partial(cast_values, zone=context.settings[TIME_ZONE])
    batches = read_batches(statement.path, definition, columns, options, counted, cast)
    complete = _completed(waited_for(batches), columns, definition, context)
    changed = append_batches(_checked(complete, definition, context), definition, context)
    keep_rejects(context)
    report(f"COPY {definition.name}: check rows", 0.0)
    return changed


def _completed(
    batches: Iterator[pa.Table],
    columns: tuple[str, ...] | None,
    definition: TableDefinition,
    context: StatementContext,
) -> Iterator[pa.Table]:
    """Yield rows with what a file does not hold: the defaults of columns, and generated ones."""
    names = definition.given_schema.names if columns is None else columns
    given = {fold(name) for name in names}
    missing = [name for name, _ in definition.defaults if fold(name) not in given]
    defaults = [sql.bind_default(definition, name) for name in missing]
    computed = [(tuple(missing), defaults)] if defaults else []
    for step in definition.in_order():
        values = [sql.generated_value(each, definition) for each in step]
        computed.append((tuple(each.column for each in step), values))
    for some in batches:
        rows = some
        for written, expressions in computed:
            for name, column in zip(written, compute(expressions, rows, context), strict=True):
                position = rows.schema.get_field_index(name)
                rows = rows.set_column(position, rows.schema.field(position), column)
        yield rows


def _checked(
    batches: Iterator[pa.Table], definition: TableDefinition, context: StatementContext
) -> Iterator[pa.Table]:
    """Yield new rows for which all CHECKs hold; identities go on behind them."""
    first = 0
    for rows in batches:
        pass_over_chosen(rows, definition, context.snapshot)
        check_rows(definition, rows, "row", definition.checks, context, first)
        first += rows.num_rows
        yield rows


def _count_bytes(statement: ast.Copy, context: StatementContext) -> Callable[[int], None] | None:
    """Return what tells the listener which share of the files is read, given the bytes of one.

    A new file has begun where the bytes are no more than before. None where nobody listens.
    """
    listener = context.running.listener
    if listener is None or is_url(statement.path):
        return None
    sizes = [Path(path).stat().st_size for path in expand(statement.path) if Path(path).is_file()]
    place, before = 0, -1

    def count(size_bytes: int) -> None:
        nonlocal place, before
        place += size_bytes <= before
        before = size_bytes
        # Bytes may be those of a text that was compressed.
        share = (sum(sizes[:place]) + size_bytes) / max(sum(sizes), 1)
        listener(f"COPY {statement.table}: read", min(share, 1.0))

    return count


def _update(
    statement: ast.Update, definition: TableDefinition, context: StatementContext
) -> RowChanges:
    logical, files, _ = bind_write(statement, context)
    found = _each_row_once(_run(logical, files, context))
    rows, returned = split_rows(found, 1, definition)
    check_rows(definition, rows, "updated row", definition.checks, context)
    change = Replace(definition.name, found.column(0).to_numpy(), rows)
    columns = returned_columns(logical, 1 + len(definition.schema))
    return RowChanges.of(change, rows.num_rows, returned, columns)


def _delete(statement: ast.Delete, context: StatementContext) -> RowChanges:
    logical, files, _ = bind_write(statement, context)
    found = _each_row_once(_run(logical, files, context))
    change = Remove(statement.table, found.column(0).to_numpy())
    returned = returned_rows(found, 1)
    return RowChanges.of(change, found.num_rows, returned, returned_columns(logical, 1))


def _merge(
    statement: ast.Merge, definition: TableDefinition, context: StatementContext
) -> RowChanges:
    logical, files, _ = bind_write(statement, context)
    found = _run(logical, files, context)
    table = context.snapshot.tables[definition.name]
    actions = found.column(0)
    numbers = found.column(1).drop_null().to_numpy()
    if has_repeat(numbers, table.row_count):
        raise ProgrammingError(
            f"MERGE cannot affect a row of table '{definition.name}' a second time: two rows of"
            " the source match it"
        )
    rows, returned = split_rows(found, 2, definition)

    def part(action: str) -> tuple[pa.Table, NDArray[np.int32]]:
        mask = pc.equal(actions, action)
        chosen = filtered(rows, mask.to_numpy(), context)
        return chosen, found.column(1).filter(mask).to_numpy()

    inserted, _ = part("INSERT")
    pass_over_chosen(inserted, definition, context.snapshot)
    check_rows(definition, inserted, "row", definition.checks, context)
    updated, replaced = part("UPDATE")
    check_rows(definition, updated, "updated row", definition.checks, context)
    _, removed = part("DELETE")
    # A key that goes may come again.
    changes = (
        Remove(table.name, removed),
        Replace(table.name, replaced, updated),
        Append(table.name, inserted),
    )
    columns = returned_columns(logical, 2 + len(definition.schema))
    some = tuple(change for change in changes if change.row_count)
    return RowChanges(some, found.num_rows, returned, columns)


def _run(logical: Plan, files: Mapping[str, Table], context: StatementContext) -> pa.Table:
    found = context.run(logical, files)
    return copied(found) if any(table.rows.is_borrowed for table in files.values()) else found


def _each_row_once(found: pa.Table) -> pa.Table:
    """Keep the first of the rows with the same row number, which is their first column."""
    numbers = found.column(0).to_numpy()
    if bool((numbers[1:] > numbers[:-1]).all()):  # All but the rows of joins are in order.
        return found
    _, first = beside(lambda: np.unique(numbers, return_index=True), len(numbers))
    return found if len(first) == len(numbers) else found.take(np.sort(first))
