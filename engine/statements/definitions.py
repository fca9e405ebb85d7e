"""CREATE, DROP and TRUNCATE: each is a function from a snapshot to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb import sql
from raydb.engine.catalog.indexes import text_index, vector_index
from raydb.engine.catalog.indexes.table_indexes import renumber_rows
from raydb.engine.catalog.stored_bvh import rebuilt
from raydb.engine.session.statement_sources import open_sources
from raydb.engine.statements.alter import alter_table, drop_references
from raydb.engine.statements.calibrate import calibrate_index, recalibrated
from raydb.engine.statements.dependents import (
    bind_view,
    comment_on,
    kept_comments,
    renamed_comments,
    settle,
    without_comments,
)
from raydb.engine.statements.load import append_batches, are_read, rows_of_query
from raydb.engine.statements.macros import create_macro, drop_macros
from raydb.engine.statements.names import (
    check_free,
    create_schema,
    names_inside,
    names_to_drop,
    schemas_to_drop,
    table_called,
    view_called,
    without_schema_named,
)
from raydb.engine.statements.sequences import (
    alter_sequence,
    check_all_defaults,
    check_defaults,
    create_sequence,
    drop_sequences,
    restarted,
    with_identities,
    without_tables,
)
from raydb.engine.statements.types import create_type, drop_types
from raydb.errors import IntegrityError, ProgrammingError
from raydb.names import find_object, known_object
from raydb.planner.catalog import MAIN, schema_of
from raydb.planner.expressions.casts.cast import cast_values
from raydb.planner.expressions.show import show
from raydb.planner.expressions.types import closed
from raydb.planner.stars.star import canonical_definition
from raydb.running import without_variables
from raydb.sql import ast
from raydb.sql.placed import check_bare
from raydb.storage.fields import stored_field
from raydb.storage.formats.format import copied
from raydb.storage.tables.alter import redefine
from raydb.storage.tables.changes import apply_change
from raydb.storage.tables.constraints import append_rows, check_drop, define_table, frozen
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import Table, TableDefinition
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.storage.tables.table import Index


def apply_definition(statement: ast.Definition, context: StatementContext) -> tuple[Snapshot, int]:
    """Return the snapshot that a statement leaves, and how many rows it wrote (-1: it writes none).

    Raises ProgrammingError for names that are taken or do not exist and for what a view or a BVH
    needs, IntegrityError for a DROP or TRUNCATE of a table that another one refers to.
    """
    snapshot, row_count = _applied(statement, context)
    return kept_comments(snapshot), row_count


def _applied(statement: ast.Definition, context: StatementContext) -> tuple[Snapshot, int]:
    snapshot = context.snapshot
    match statement:
        case ast.CreateTableAs():
            return _create_table_as(statement, context)
        case ast.CreateTable():
            return _create_table(statement, context), -1
        case ast.CreateSchema():
            return create_schema(statement, snapshot), -1
        case ast.CreateView() | ast.RenameView() | ast.CreateMacro() | ast.Comment():
            return _change_text(statement, context), -1
        case ast.CreateBvh():
            return _create_bvh(statement, context), -1
        case ast.AlterTable():
            return alter_table(statement, context), -1
        case ast.Truncate():
            return _truncate(statement, context), -1
        case ast.Drop():
            return _drop(statement, context), -1
        case ast.CreateIndex():
            return _written(_create_index(statement, context), context), -1
        case ast.CreateSequence():
            return create_sequence(statement, snapshot), -1
        case ast.CreateType():
            return create_type(statement, context), -1
        case ast.AlterSequence() | ast.RenameSequence():
            return alter_sequence(statement, snapshot), -1
        case ast.Reindex():
            return _written(_reindex(statement, context), context), -1
        case ast.Calibrate():
            return calibrate_index(statement, _indexes(snapshot), context), -1


def _drop(statement: ast.Drop, context: StatementContext) -> Snapshot:
    snapshot = context.snapshot
    match statement.kind:
        case "table":
            return _drop_tables(statement, context)
        case "view":
            return _drop_views(statement, context)
        case "index":
            return _drop_indexes(statement, snapshot)
        case "sequence":
            return drop_sequences(statement, snapshot)
        case "type":
            return drop_types(statement, snapshot)
        case "macro" | "table macro":
            return drop_macros(statement, snapshot)
        case "schema":
            return _drop_schemas(statement, context)
        case "bvh":
            names = names_to_drop("BVH", statement.names, snapshot.bvhs, statement.if_exists)
            return replace(snapshot, bvhs=_without(snapshot.bvhs, names))


def _without(known: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in known.items() if name not in names}


# -- tables


def _create_table(statement: ast.CreateTable, context: StatementContext) -> Snapshot:
    name = statement.definition.name
    if statement.if_not_exists and find_object(name, context.snapshot.tables, "table") is not None:
        return context.snapshot
    snapshot = _with_room(name, statement.or_replace, context.snapshot)
    definition = sql.typed_generated(sql.resolved_definition(statement.definition))
    sql.check_texts(definition)
    check_defaults(definition, snapshot)
    definition, snapshot = with_identities(definition, snapshot, context)
    table = define_table(definition, snapshot.tables)
    return _settle_new(table, snapshot, context)


def _with_room(name: str, or_replace: bool, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot in which a table may be created."""
    old = find_object(name, snapshot.tables, "table") if or_replace else None
    if old is not None:
        check_drop(old, snapshot.tables)
        return kept_comments(snapshot.without_table(old))
    check_free(name, snapshot)
    return snapshot


def _settle_new(table: Table, snapshot: Snapshot, context: StatementContext) -> Snapshot:
    after = snapshot.with_table(table)
    if find_object(table.name, context.snapshot.tables, "table") is None:
        return after
    what = f"table '{table.name}' cannot be replaced"
    check_all_defaults(after, what)
    return settle(context, after, what)


def _create_table_as(
    statement: ast.CreateTableAs, context: StatementContext
) -> tuple[Snapshot, int]:
    name, named = statement.name, statement.columns
    if statement.if_not_exists and find_object(name, context.snapshot.tables, "table") is not None:
        return context.snapshot, 0
    snapshot = _with_room(name, statement.or_replace, context.snapshot)
    files = open_sources(statement.select, context)
    catalog = context.all_databases.with_changes(files).describe()
    logical = sql.bind_select(statement.select, catalog, context.parameters)
    output = logical.columns
    if len(named) > len(output):
        raise ProgrammingError(
            f"CREATE TABLE '{name}' names {len(named)} columns, but the query has {len(output)}"
        )
    names = [*named, *(column.name for column in output[len(named) :])]
    schema = pa.schema(
        [
            stored_field(each, closed(column.type), collation=column.collation)
            for each, column in zip(names, output, strict=True)
        ]
    )
    table = define_table(TableDefinition(name, schema), snapshot.tables)
    if statement.with_data and are_read(files):
        batches = rows_of_query(logical, files, table.definition, context)
        for change in append_batches(batches, table.definition, context).changes:
            table = apply_change(change, {**snapshot.tables, name: table})[name]
    elif statement.with_data:
        found = context.run(logical, files)
        is_borrowed = any(each.rows.is_borrowed for each in files.values())
        rows = copied(found) if is_borrowed else found
        columns = map(cast_values, rows.columns, schema.types)
        rows = pa.Table.from_arrays(list(columns), schema=schema)
        table = append_rows(table, rows, snapshot.tables)
    return _settle_new(table, snapshot, context), table.row_count


def _drop_tables(statement: ast.Drop, context: StatementContext) -> Snapshot:
    snapshot = context.snapshot
    for name in statement.names:
        if find_object(name, snapshot.views, "view") is not None:
            table_called(name, snapshot)
    names = names_to_drop("table", statement.names, snapshot.tables, statement.if_exists)
    if not names:
        return snapshot
    if statement.cascade:
        for name in names:
            snapshot = drop_references(snapshot, name, lambda _: True)
    for name in names:
        gone = [other for other in names if other != name]
        check_drop(name, _without(snapshot.tables, gone))
    snapshot = without_tables(names, snapshot, cascade=statement.cascade)
    listed = ", ".join(f"'{name}'" for name in names)
    what = f"table{'s' if len(names) > 1 else ''} {listed} cannot be dropped"
    return settle(context, snapshot, what, cascade=statement.cascade)


def _truncate(statement: ast.Truncate, context: StatementContext) -> Snapshot:
    """Empty tables at once: no row numbers are kept, unlike by DELETE."""
    snapshot = context.snapshot
    emptied = list(dict.fromkeys(table_called(name, snapshot) for name in statement.names))
    for name in emptied:  # grows with CASCADE
        for referrer, columns in _referrers(name, snapshot):
            if referrer in emptied:
                continue
            if not statement.cascade:
                raise IntegrityError(
                    f"table '{name}' cannot be truncated: the foreign key ({columns}) of table "
                    f"'{referrer}' refers to it; TRUNCATE both, or use CASCADE"
                )
            emptied.append(referrer)
    for name in emptied:
        nothing = np.zeros(snapshot.tables[name].row_count, np.bool_)
        snapshot = renumber_rows(snapshot, name, nothing)
    after = snapshot.with_changes({name: _emptied(snapshot.tables[name]) for name in emptied})
    if statement.restarts:
        for name in emptied:
            after = restarted(after.tables[name], after)
    for bvh in snapshot.bvhs.values():
        if bvh.definition.table in emptied:
            after = after.with_stored(rebuilt(bvh, after.tables, context))
    return after


def _referrers(name: str, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    for table in snapshot.tables.values():
        for key in table.definition.foreign_keys:
            if key.table == name:
                yield table.name, ", ".join(key.columns)


def _emptied(table: Table) -> Table:
    definition = table.definition
    pointers = {key: frozen(np.empty(0, np.int32)) for key in definition.foreign_keys}
    return Table(definition, Rows(definition.schema), table.version + 1, pointers)


# -- schemas


def _drop_schemas(statement: ast.Drop, context: StatementContext) -> Snapshot:
    """Drop schemas, and with CASCADE all that is in them."""
    snapshot = context.snapshot
    for name in schemas_to_drop(statement, snapshot):
        for kind in ("view", "table", "sequence"):
            inside = names_inside(name, kind, snapshot)
            if inside and not statement.cascade:
                raise ProgrammingError(
                    f"schema '{name}' cannot be dropped: the {kind} '{inside[0]}' is in it;"
                    " CASCADE drops it too"
                )
            drop = ast.Drop(kind, inside, if_exists=True, cascade=True)
            snapshot = _drop(drop, replace(context, snapshot=snapshot)) if inside else snapshot
        snapshot = without_schema_named(name, snapshot)
    return snapshot


# -- views


def _change_text(
    statement: ast.CreateView | ast.RenameView | ast.CreateMacro | ast.Comment,
    context: StatementContext,
) -> Snapshot:
    match statement:
        case ast.Comment():
            return comment_on(statement, context)
        case ast.RenameView():
            return _rename_view(statement, context)
        case ast.CreateMacro():
            return create_macro(statement, context.snapshot)
        case _:
            return _create_view(statement, context)


def _create_view(statement: ast.CreateView, context: StatementContext) -> Snapshot:
    """Store a view's text once it binds."""
    name, snapshot = statement.name, context.snapshot
    old = find_object(name, snapshot.views, "view")
    if statement.if_not_exists and old is not None:
        return snapshot
    if old is None or not statement.or_replace:
        check_free(name, snapshot)
    others = {other: text for other, text in snapshot.views.items() if other != old}
    after = replace(snapshot, views={**others, name: statement.text})
    bind_view(name, after, context)
    if old is None:
        return after
    after = without_comments(after, "view", old)
    return settle(context, after, f"view '{name}' cannot be replaced")


def _rename_view(statement: ast.RenameView, context: StatementContext) -> Snapshot:
    snapshot = context.snapshot
    if statement.if_exists and find_object(statement.name, snapshot.views, "view") is None:
        return snapshot
    name = view_called(statement.name, snapshot)
    check_free(statement.to, snapshot, but=name)
    views = {
        statement.to if other == name else other: text for other, text in snapshot.views.items()
    }
    after = renamed_comments(replace(snapshot, views=views), "view", name, statement.to)
    return settle(context, after, f"view '{name}' cannot be renamed")


def _drop_views(statement: ast.Drop, context: StatementContext) -> Snapshot:
    snapshot = context.snapshot
    for name in statement.names:
        if find_object(name, snapshot.tables, "table") is not None:
            view_called(name, snapshot)
    names = names_to_drop("view", statement.names, snapshot.views, statement.if_exists)
    after = replace(snapshot, views=_without(snapshot.views, names))
    listed = ", ".join(f"'{name}'" for name in names)
    what = f"view{'s' if len(names) > 1 else ''} {listed} cannot be dropped"
    return settle(context, after, what, cascade=statement.cascade)


# -- BVHs


def _create_bvh(statement: ast.CreateBvh, context: StatementContext) -> Snapshot:
    snapshot = context.snapshot
    if (taken := find_object(statement.name, snapshot.bvhs, "BVH")) is not None:
        raise ProgrammingError(f"BVH '{taken}' exists already")
    with without_variables(f"BVH '{statement.name}'"):
        definition = canonical_definition(sql.bind_bvh(statement, snapshot.describe()))
    for measure in definition.aggregate:
        if not sql.is_lasting(measure):
            raise ProgrammingError(
                "AGGREGATE of a BVH needs expressions whose value is that of the row alone, at all"
                f" times: {show(measure)}"
            )
    return snapshot.with_bvh(definition, context)


# -- indexes


def _indexes(snapshot: Snapshot) -> dict[str, Table]:
    """Return the table of each index."""
    return {
        index.name: table
        for table in snapshot.tables.values()
        for index in table.definition.indexes
    }


def _create_index(statement: ast.CreateIndex, context: StatementContext) -> Snapshot:
    name, snapshot = statement.index.name, context.snapshot
    if (taken := find_object(name, _indexes(snapshot), "index")) is not None:
        if statement.if_not_exists:
            return snapshot
        raise ProgrammingError(f"index '{taken}' exists already")
    check_free(name, snapshot)
    table = snapshot.tables[table_called(statement.table, snapshot)]
    if schema_of(table.name, snapshot.schemas) == MAIN:
        check_bare(name, snapshot.schemas)
    after = _with_indexes(table, (*table.definition.indexes, statement.index), snapshot)
    index = after.tables[table.name].definition.indexes[-1]
    if index.text is not None:
        text_index.check_alone(index, table.definition)
        return text_index.with_text_index(after, table.name, index, context)
    if index.ivf is not None:
        vector_index.check_alone(index, table.definition)
        return vector_index.with_vector_index(after, table.name, index, context)
    return after


def _reindex(statement: ast.Reindex, context: StatementContext) -> Snapshot:
    """Build indexes beside rows anew, and calibrate them; of others there is nothing to build."""
    name, snapshot = statement.name, context.snapshot
    if name is not None:
        if statement.kind == "table":
            name = table_called(name, snapshot)
        else:
            name = known_object(name, _indexes(snapshot), "index")
    for table in snapshot.tables.values():
        for index in table.definition.indexes:
            if name not in (None, table.name if statement.kind == "table" else index.name):
                continue
            if index.text is not None:
                snapshot = text_index.with_text_index(snapshot, table.name, index, context)
            if index.ivf is not None:
                before = snapshot.vector_indexes[index.name].get()
                of_table = (snapshot, table.name, index, context, before)
                snapshot = vector_index.with_vector_index(*of_table)
                snapshot = recalibrated(snapshot, index.name, table, context)
    return snapshot


def _written(snapshot: Snapshot, context: StatementContext) -> Snapshot:
    """Write indexes that are new to their files; who commits meanwhile need not wait for that."""
    before = context.snapshot
    if context.files is not None:
        for kind, known, made in (
            ("ivf", before.vector_indexes, snapshot.vector_indexes),
            ("fts", before.text_indexes, snapshot.text_indexes),
        ):
            for name, index in made.items():
                if index is not known.get(name):
                    context.files.write_index(kind, index)
    return snapshot


def _drop_indexes(statement: ast.Drop, snapshot: Snapshot) -> Snapshot:
    names = names_to_drop("index", statement.names, _indexes(snapshot), statement.if_exists)
    for name in names:
        table = _indexes(snapshot)[name]
        rest = tuple(index for index in table.definition.indexes if index.name != name)
        snapshot = _with_indexes(table, rest, snapshot)
    return snapshot


def _with_indexes(table: Table, indexes: tuple[Index, ...], snapshot: Snapshot) -> Snapshot:
    definition = replace(table.definition, indexes=indexes)
    return snapshot.with_table(redefine(table, definition, snapshot.tables))
