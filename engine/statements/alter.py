"""ALTER TABLE: a function from a snapshot to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

import numpy as np
import pyarrow as pa

from raydb import sql
from raydb.engine.statements.dependents import kept_comments, renamed_comments, settle
from raydb.engine.statements.names import check_free, table_called
from raydb.engine.statements.row_checks import check_rows, compute, compute_visible
from raydb.engine.statements.sequences import (
    check_defaults,
    restart_identity,
    with_identities,
    without_column,
)
from raydb.errors import (
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    did_you_mean,
)
from raydb.names import find_name, find_object, known_name
from raydb.sql import alter, ast
from raydb.storage.fields import field_collation, field_type, stored_field
from raydb.storage.tables.alter import (
    add_column,
    drop_column,
    redefine,
    rename_column,
    rename_table,
    set_column,
)
from raydb.storage.tables.table import Check, ForeignKey, Index, UniqueKey, constraint_names
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.engine.catalog.snapshot import Snapshot
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.expressions.nodes import Expression
    from raydb.storage.tables.table import Constraint, Table, TableDefinition


def alter_table(statement: ast.AlterTable, context: StatementContext) -> Snapshot:
    """Return the snapshot that ALTER TABLE leaves.

    Raises ProgrammingError for unknown names and for what a view or a BVH needs, IntegrityError for
    rows that break a new constraint.
    """
    snapshot = context.snapshot
    if statement.if_exists and find_object(statement.table, snapshot.tables, "table") is None:
        return snapshot
    name = table_called(statement.table, snapshot)
    cascade: bool | None = None
    for alteration in statement.alterations:
        here = replace(context, snapshot=snapshot)
        with here.keeping_rows():
            snapshot = _alter(alteration, snapshot.tables[name], here)
        if isinstance(alteration, alter.DropColumn | alter.DropConstraint):
            cascade = bool(cascade) or alteration.cascade
    what = f"table '{name}' cannot be changed so"
    return settle(context, snapshot, what, cascade=cascade)


def _alter(alteration: alter.Alteration, table: Table, context: StatementContext) -> Snapshot:
    snapshot, definition = context.snapshot, table.definition
    match alteration:
        case alter.AddColumn():
            return _add_column(alteration, table, context)
        case alter.DropColumn():
            return _drop_column(alteration, table, snapshot)
        case alter.RenameColumn():
            return _rename_column(alteration, table, snapshot)
        case alter.RenameTable(to=to):
            check_free(to, snapshot, but=table.name)
            after = replace(snapshot, tables=rename_table(table, to, snapshot.tables))
            return renamed_comments(after, "table", table.name, to)
        case alter.SetDefault(column=written, text=text):
            column = _column(written, definition)
            _refuse_identity(column, definition, "the default")
            _refuse_generated(column, definition, "the default")
            defaults = [each for each in definition.defaults if each[0] != column]
            if text is not None:
                defaults.append((column, text))
            changed = replace(definition, defaults=tuple(defaults))
            sql.check_texts(changed)
            check_defaults(changed, snapshot)
            return _redefined(table, changed, snapshot)
        case alter.SetNotNull():
            return _set_not_null(alteration, table, snapshot)
        case alter.SetType():
            return _set_type(alteration, table, context)
        case alter.RestartIdentity(column=written, value=value):
            return restart_identity(_column(written, definition), value, table, snapshot)
        case alter.AddConstraint(definition=added):
            return _with_constraints(table, added, context)
        case alter.DropConstraint():
            return _drop_constraint(alteration, table, snapshot)
        case _:
            assert_never(alteration)


def _redefined(table: Table, definition: TableDefinition, snapshot: Snapshot) -> Snapshot:
    return snapshot.with_table(redefine(table, definition, snapshot.tables))


def _column(name: str, definition: TableDefinition) -> str:
    """Return the name of a column as it was made."""
    return known_name(name, definition.schema.names, "column", f" in '{definition.name}'")


def _refuse_identity(column: str, definition: TableDefinition, part: str) -> None:
    if any(each.column == column for each in definition.identities):
        raise ProgrammingError(
            f"{part} of column '{column}' of table '{definition.name}' cannot be changed:"
            " it is an identity"
        )


def _refuse_generated(column: str, definition: TableDefinition, part: str) -> None:
    if any(each.column == column for each in definition.generated):
        raise ProgrammingError(
            f"{part} of column '{column}' of table '{definition.name}' cannot be changed:"
            " it is generated"
        )


def _reader_of(column: str, definition: TableDefinition) -> str | None:
    """Return a generated column that reads a column, None where there is none."""
    readers = (each.column for each in definition.generated if column in each.columns)
    return next(readers, None)


# -- columns


def _add_column(alteration: alter.AddColumn, table: Table, context: StatementContext) -> Snapshot:
    added = sql.resolved_definition(alteration.definition)
    (field,) = added.schema
    taken = find_name(field.name, table.definition.schema.names, "column")
    if taken is not None:
        if alteration.if_not_exists:
            return context.snapshot
        raise ProgrammingError(f"column '{taken}' exists already in '{table.name}'")
    sql.check_texts(replace(added, checks=()))
    check_defaults(added, context.snapshot)
    added, snapshot = with_identities(replace(added, name=table.name), context.snapshot, context)
    context = replace(context, snapshot=snapshot)
    if added.generated:
        return _add_generated(added, table, context)
    values = None
    if added.defaults:
        default = sql.bind_default(added, field.name)
        numbers = pa.table({"number": np.arange(table.row_count, dtype=np.int32)})
        (values,) = compute([default], numbers, context)
    after = add_column(table, field.with_nullable(True), values)
    return _with_constraints(after, added, context)


def _add_generated(added: TableDefinition, table: Table, context: StatementContext) -> Snapshot:
    old = table.definition
    (field,) = added.schema
    whole = replace(old, schema=old.schema.append(field), generated=old.generated + added.generated)
    whole = sql.typed_generated(whole)
    each = whole.generated[-1]
    values = _of_all_rows(sql.generated_value(each, whole), table, context)
    after = add_column(table, whole.schema.field(each.column).with_nullable(True), values)
    return _with_constraints(after, replace(added, generated=(each,)), context)


def _of_all_rows(
    expression: Expression, table: Table, context: StatementContext
) -> pa.ChunkedArray:
    """Return the values of an expression over a table's rows, NULL in those that are gone.

    These might have none.
    """
    (values,) = compute_visible([expression], table, context)
    if table.live is None:
        return values
    places = np.cumsum(table.live) - 1
    return values.take(pa.array(places, mask=~table.live))


def _with_constraints(table: Table, added: TableDefinition, context: StatementContext) -> Snapshot:
    """Return the snapshot in which a table has the constraints of another definition too.

    The columns that are NOT NULL in the other definition are so then.
    """
    old = table.definition
    if added.primary_key is not None and old.primary_key is not None:
        raise ProgrammingError(f"table '{table.name}' has a primary key already")
    required = {field.name for field in added.schema if not field.nullable}
    fields = [
        field.with_nullable(False) if field.name in required else field for field in old.schema
    ]
    definition = replace(
        old,
        schema=pa.schema(fields),
        primary_key=added.primary_key or old.primary_key,
        unique_keys=old.unique_keys + added.unique_keys,
        foreign_keys=old.foreign_keys + added.foreign_keys,
        checks=old.checks + added.checks,
        defaults=old.defaults + added.defaults,
        identities=old.identities + added.identities,
        generated=old.generated + added.generated,
    )
    sql.check_texts(definition)
    after = redefine(table, definition, context.snapshot.tables)
    _check_visible_rows(after, after.definition.checks[len(old.checks) :], context)
    return context.snapshot.with_table(after)


def _check_visible_rows(table: Table, checks: tuple[Check, ...], context: StatementContext) -> None:
    if checks:
        names = table.definition.schema.names
        rows = pa.table([table.live_column(name) for name in names], names=names)
        check_rows(table.definition, rows, "row", checks, context)


def _drop_column(alteration: alter.DropColumn, table: Table, snapshot: Snapshot) -> Snapshot:
    """Drop a column with the constraints on it alone; CASCADE drops those with others too."""
    definition = table.definition
    names = definition.schema.names
    if alteration.if_exists and find_name(alteration.column, names, "column") is None:
        return snapshot
    name = _column(alteration.column, definition)
    if (reader := _reader_of(name, definition)) is not None:
        if not alteration.cascade:
            raise ProgrammingError(
                f"column '{name}' of table '{table.name}' cannot be dropped: column '{reader}' is"
                " generated of it; CASCADE drops it too"
            )
        snapshot = _drop_column(replace(alteration, column=reader), table, snapshot)
        return _drop_column(alteration, snapshot.tables[table.name], snapshot)
    if definition.given_schema.names == [name]:
        rest = " that is not generated" if definition.generated else ""
        raise ProgrammingError(f"column '{name}' is the only one of table '{table.name}'{rest}")
    for constraint, label in constraint_names(definition):
        others = set(constraint.columns) - {name}
        if name in constraint.columns and others and not alteration.cascade:
            raise ProgrammingError(
                f"column '{name}' of table '{table.name}' cannot be dropped: the constraint "
                f"'{label}' needs it; CASCADE drops it too"
            )

    own = _without_constraints(
        definition, lambda each: isinstance(each, ForeignKey) and name in each.columns
    )
    snapshot = _redefined(table, own, snapshot)

    def refers(key: ForeignKey) -> bool:
        return name in key.references

    if alteration.cascade:
        snapshot = drop_references(snapshot, table.name, refers)
    _check_unreferenced(snapshot, table.name, refers, f"column '{name}'")
    table = snapshot.tables[table.name]
    kept = _without_constraints(table.definition, lambda each: name in each.columns)
    table = redefine(table, kept, snapshot.tables)
    snapshot = kept_comments(snapshot.with_table(drop_column(table, name)))
    return without_column(table.name, name, snapshot, cascade=alteration.cascade)


def _rename_column(alteration: alter.RenameColumn, table: Table, snapshot: Snapshot) -> Snapshot:
    name, to = _column(alteration.column, table.definition), alteration.to
    taken = find_name(to, table.definition.schema.names, "column")
    if taken is not None and (taken != name or to == name):
        raise ProgrammingError(f"column '{taken}' exists already in '{table.name}'")
    changed = dict(rename_column(table, name, to, snapshot.tables))
    after = changed[table.name]
    checks = tuple(
        replace(check, text=sql.renamed_columns(check.text, {name: to}))
        for check in after.definition.checks
    )
    generated = tuple(
        replace(each, text=sql.renamed_columns(each.text, {name: to}))
        for each in after.definition.generated
    )
    definition = replace(after.definition, checks=checks, generated=generated)
    sql.check_texts(definition)
    changed[table.name] = redefine(after, definition, {**snapshot.tables, **changed})
    return renamed_comments(snapshot.with_changes(changed), "column", table.name, to, name)


def _set_not_null(alteration: alter.SetNotNull, table: Table, snapshot: Snapshot) -> Snapshot:
    definition = table.definition
    column = _column(alteration.column, definition)
    if not alteration.required:
        _refuse_identity(column, definition, "NOT NULL")
    key = definition.primary_key
    if not alteration.required and key is not None and column in key.columns:
        raise ProgrammingError(
            f"column '{column}' of table '{table.name}' is in the primary key, so it is NOT NULL"
        )
    position = definition.schema.get_field_index(column)
    field = definition.schema.field(position).with_nullable(not alteration.required)
    schema = definition.schema.set(position, field)
    return _redefined(table, replace(definition, schema=schema), snapshot)


def _set_type(alteration: alter.SetType, table: Table, context: StatementContext) -> Snapshot:
    """Convert a column; its keys and all checks are verified on the new values."""
    definition, snapshot = table.definition, context.snapshot
    name = _column(alteration.field.name, definition)
    for index in (*definition.ivf_indexes, *definition.text_indexes):
        if name in index.columns:
            raise NotSupportedError(
                f"the type of column '{name}' cannot be changed: "
                f"the index '{index.name}' needs it; DROP INDEX first"
            )
    _refuse_generated(name, definition, "the type")
    if (reader := _reader_of(name, definition)) is not None:
        raise NotSupportedError(
            f"the type of column '{name}' cannot be changed: column '{reader}' is generated of it"
        )
    old, wanted = definition.schema.field(name), sql.resolved_field(alteration.field)
    kind = wanted.type
    if not pa.types.is_integer(kind):
        _refuse_identity(name, definition, "the type")
    widens = pa.types.is_integer(field_type(old)) and pa.types.is_integer(kind)
    if not (widens and alteration.using is None):
        _refuse_foreign_keys(table, name, snapshot)
    conversion = sql.bind_conversion(definition, pa.field(name, kind), alteration.using)
    values = _of_all_rows(conversion, table, context)
    bare = _without_constraints(
        definition, lambda each: isinstance(each, UniqueKey | Index) and name in each.columns
    )
    field = stored_field(name, kind, nullable=old.nullable, collation=field_collation(wanted))
    after = set_column(redefine(table, bare, snapshot.tables), field, values)
    schema = after.definition.schema
    converted = replace(definition, schema=schema)
    sql.check_texts(converted)
    after = redefine(after, converted, {**snapshot.tables, table.name: after})
    _check_visible_rows(after, converted.checks, context)
    return snapshot.with_table(after)


def _refuse_foreign_keys(table: Table, column: str, snapshot: Snapshot) -> None:
    for other in snapshot.tables.values():
        for key in other.definition.foreign_keys:
            is_own = other.name == table.name and column in key.columns
            if is_own or (key.table == table.name and column in key.references):
                raise NotSupportedError(
                    f"the type of column '{column}' cannot be changed: the foreign key "
                    f"({', '.join(key.columns)}) of table '{other.name}' needs it"
                )


# -- constraints


def _drop_constraint(
    alteration: alter.DropConstraint, table: Table, snapshot: Snapshot
) -> Snapshot:
    named = {name: constraint for constraint, name in constraint_names(table.definition)}
    name = find_name(alteration.name, named, "constraint")
    if name is None:
        if alteration.if_exists:
            return snapshot
        raise ProgrammingError(
            f"table '{table.name}' has no constraint '{alteration.name}'"
            f"{did_you_mean(alteration.name, named)}"
        )
    constraint = named[name]
    if isinstance(constraint, UniqueKey):
        columns = frozenset(constraint.columns)
        rest = [key for key in table.definition.declared_keys if key is not constraint]

        def refers(key: ForeignKey) -> bool:
            return frozenset(key.references) == columns

        if not any(frozenset(key.columns) == columns for key in rest):
            if alteration.cascade:
                snapshot = drop_references(snapshot, table.name, refers)
            _check_unreferenced(snapshot, table.name, refers, f"constraint '{name}'")
            table = snapshot.tables[table.name]
    definition = _without_constraints(table.definition, lambda each: each is constraint)
    return _redefined(table, definition, snapshot)


def drop_references(
    snapshot: Snapshot, name: str, refers: Callable[[ForeignKey], bool]
) -> Snapshot:
    """Return the snapshot without the foreign keys to a table for which `refers` is true."""

    def is_gone(constraint: Constraint | Index) -> bool:
        return (
            isinstance(constraint, ForeignKey) and constraint.table == name and refers(constraint)
        )

    for table in snapshot.tables.values():
        definition = _without_constraints(table.definition, is_gone)
        if definition.foreign_keys != table.definition.foreign_keys:
            snapshot = _redefined(table, definition, snapshot)
    return snapshot


def _check_unreferenced(
    snapshot: Snapshot, name: str, refers: Callable[[ForeignKey], bool], what: str
) -> None:
    """Raise IntegrityError if a foreign key needs a part of a table."""
    for table in snapshot.tables.values():
        for key in table.definition.foreign_keys:
            if key.table == name and refers(key):
                raise IntegrityError(
                    f"{what} of table '{name}' cannot be dropped: the foreign key "
                    f"({', '.join(key.columns)}) of table '{table.name}' refers to it; "
                    "CASCADE drops it too"
                )


def _without_constraints(
    definition: TableDefinition, is_gone: Callable[[Constraint | Index], bool]
) -> TableDefinition:
    primary_key = definition.primary_key
    return replace(
        definition,
        primary_key=None if primary_key is None or is_gone(primary_key) else primary_key,
        unique_keys=tuple(key for key in definition.unique_keys if not is_gone(key)),
        foreign_keys=tuple(key for key in definition.foreign_keys if not is_gone(key)),
        checks=tuple(check for check in definition.checks if not is_gone(check)),
        indexes=tuple(index for index in definition.indexes if not is_gone(index)),
    )
