"""ALTER TABLE: the next version of a table whose columns or constraints are others.

    add_column, set_column, drop_column   what the rows hold
    rename_column, rename_table           what it is called, also in the keys of other tables
    redefine                              constraints come and go; the rows must keep the new ones

Files are never changed: a column that is dropped, renamed or added as NULL leaves them as they are.
Only other values make the table's rows be written anew. Row numbers stay.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.interrupts import beside, check_interrupt
from raydb.room import keep_rows, read_limit
from raydb.storage.tables.constraints import check_new_constraints, resolve_definition
from raydb.storage.tables.parts import ArrowPart, FilePart, Part
from raydb.storage.tables.rows import Rows, part_of
from raydb.storage.tables.table import FileLayout
from raydb.storage.take_rows import take_rows
from raydb.values import replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from raydb.storage.tables.table import (
        Check,
        ForeignKey,
        Generated,
        Table,
        TableDefinition,
        UniqueKey,
    )

# Rows that are many are written in pieces of this share of what may be read at once.
_PIECE_SHARE = 8


def add_column(table: Table, field: pa.Field, values: pa.ChunkedArray | None) -> Table:
    """Return the table with one more column, the last; `values` has one a row, None is all NULL."""
    schema = table.rows.schema.append(field)
    if values is not None:
        return _with_rows(table, _written(table, schema, field.name, values))

    def extend(part: Part) -> Part:
        match part:
            case FilePart(absent=absent):
                return replace(part, absent={**absent, field.name: field.type})
            case _:
                nulls = pa.chunked_array([pa.nulls(part.row_count, field.type)])
                return _part_with(table, part, schema, {field.name: nulls})

    return _with_rows(table, Rows(schema, tuple(map(extend, table.rows.parts))))


def set_column(table: Table, field: pa.Field, values: pa.ChunkedArray) -> Table:
    """Return the table, its next version, with other values (one a row) in one of its columns."""
    position = table.rows.schema.get_field_index(field.name)
    rows = _written(table, table.rows.schema.set(position, field), field.name, values)
    return replace(_with_rows(table, rows), version=table.version + 1)


def drop_column(table: Table, name: str) -> Table:
    """Return the table without a column, on which no constraint of the table is left."""
    schema = table.rows.schema.remove(table.rows.schema.get_field_index(name))

    def shorten(part: Part) -> Part:
        match part:
            case FilePart(renamed=renamed, absent=absent):
                return replace(part, renamed=_without(renamed, name), absent=_without(absent, name))
            case _:
                return _part_with(table, part, schema, {})

    after = _with_rows(table, Rows(schema, tuple(map(shorten, table.rows.parts))))
    layout = after.definition.layout
    definition = replace(
        after.definition,
        defaults=_but_for(after.definition.defaults, name),
        generated=tuple(each for each in after.definition.generated if each.column != name),
        layout=FileLayout(
            _but_for(layout.chunk_rows, name),
            _but_for(layout.encodings, name),
            _but_for(layout.offset_index, name),
        ),
    )
    return replace(after, definition=definition)


def rename_column(
    table: Table, name: str, to: str, tables: Mapping[str, Table]
) -> Mapping[str, Table]:
    """Return the tables that are different once a column has another name.

    The texts of checks and generated columns stay as they are: they are for the caller to change.
    """

    def rename(columns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(to if column == name else column for column in columns)

    def rename_key(key: UniqueKey) -> UniqueKey:
        return replace(key, columns=rename(key.columns))

    def rename_check(check: Check) -> Check:
        return replace(check, columns=rename(check.columns))

    def rename_generated(each: Generated) -> Generated:
        (column,) = rename((each.column,))
        return replace(each, column=column, columns=rename(each.columns))

    def rename_first(pairs: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
        return tuple((to if column == name else column, value) for column, value in pairs)

    def rename_part(part: Part) -> Part:
        match part:
            case FilePart(renamed=renamed, absent=absent) if name in absent:
                return replace(part, absent={**_without(absent, name), to: absent[name]})
            case FilePart(renamed=renamed):
                stored = renamed.get(name, name)
                return replace(part, renamed={**_without(renamed, name), to: stored})
            case _:
                columns = part.columns(old_names)
                return part_of(pa.Table.from_arrays(columns, schema=schema), keys)

    old_names = table.rows.schema.names
    keys = rename(tuple(table.definition.key_columns))
    schema = pa.schema(
        [each.with_name(to) if each.name == name else each for each in table.rows.schema]
    )
    old = table.definition
    layout = old.layout
    definition = replace(
        old,
        primary_key=None if old.primary_key is None else rename_key(old.primary_key),
        unique_keys=tuple(map(rename_key, old.unique_keys)),
        checks=tuple(map(rename_check, old.checks)),
        indexes=tuple(replace(index, columns=rename(index.columns)) for index in old.indexes),
        defaults=rename_first(old.defaults),
        generated=tuple(map(rename_generated, old.generated)),
        identities=tuple(
            replace(each, column=rename((each.column,))[0]) for each in old.identities
        ),
        layout=replace(
            layout,
            chunk_rows=rename_first(layout.chunk_rows),
            encodings=rename_first(layout.encodings),
            offset_index=rename_first(layout.offset_index),
        ),
    )
    rows = Rows(schema, tuple(map(rename_part, table.rows.parts)))
    after = _with_rows(replace(table, definition=definition), rows)

    def rename_foreign(owner: Table, key: ForeignKey) -> ForeignKey:
        if owner.name == table.name:
            key = replace(key, columns=rename(key.columns))
        return replace(key, references=rename(key.references)) if key.table == table.name else key

    return _with_foreign_keys({**tables, table.name: after}, rename_foreign, table.name)


def rename_table(table: Table, to: str, tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return all tables once a table has another name, in the same order."""
    after = replace(table, definition=replace(table.definition, name=to))
    renamed = {to if name == table.name else name: each for name, each in tables.items()}

    def rename_foreign(_: Table, key: ForeignKey) -> ForeignKey:
        return replace(key, table=to) if key.table == table.name else key

    changed = _with_foreign_keys({**renamed, to: after}, rename_foreign, to)
    return {**renamed, **changed}


def redefine(table: Table, definition: TableDefinition, tables: Mapping[str, Table]) -> Table:
    """Return the table under a definition with other constraints or defaults.

    Raises as `define_table` does, and IntegrityError naming the first visible row that breaks a
    constraint which the table did not have.
    """
    definition = resolve_definition(definition, tables)
    found = beside(lambda: check_new_constraints(table, definition, tables), table.row_count)
    foreign_rows = {
        key: found[key] if key in found else table.foreign_rows[key]
        for key in definition.foreign_keys
    }
    held = table.rows
    for field in definition.schema:
        if not field.nullable and held.schema.field(field.name).nullable:
            held = _without_nulls(replace(table, rows=held), field)
    rows = Rows(definition.schema, held.parts, dict(table.rows.key_indexes))
    return replace(table, definition=definition, rows=rows, foreign_rows=foreign_rows)


def _without_nulls(table: Table, field: pa.Field) -> Rows:
    """Return rows without NULL in a column that is to have none, as no visible row has any.

    A masked row gets the value of another one: a file is not to have NULL where its table does not.
    """
    if not table.rows.null_count(field.name):
        return table.rows
    column = table.rows.column(field.name)
    valid = column.is_valid().to_numpy()
    if not valid.any():
        raise ProgrammingError(
            f"column '{field.name}' of table '{table.name}' has NULL in all of its rows, which are "
            "deleted; VACUUM first"
        )
    numbers = np.where(valid, np.arange(len(valid)), np.argmax(valid))
    position = table.rows.schema.get_field_index(field.name)
    values = take_rows(column, numbers)
    return _written(table, table.rows.schema.set(position, field), field.name, values)


def _with_rows(table: Table, rows: Rows) -> Table:
    return replace(table, definition=replace(table.definition, schema=rows.schema), rows=rows)


def _written(table: Table, schema: pa.Schema, name: str, values: pa.ChunkedArray) -> Rows:
    """Return all rows, with new values in the column `name`: piece by piece where they are many."""
    others = [each for each in schema.names if each != name]
    limit = read_limit()
    room = sys.maxsize if limit is None else limit // 2
    need = table.rows.decoded_bytes(others, room)
    if need <= room:
        columns = [values if each == name else table.rows.column(each) for each in schema.names]
        whole = pa.Table.from_arrays(columns, schema=schema)
        return Rows(schema, (part_of(whole, table.definition.key_columns),))
    step = max(int(room * table.row_count / (_PIECE_SHARE * need)), 1)
    pieces = []
    first = 0
    for part in table.rows.parts:
        for start, stop in part.pieces(0, part.row_count, step):
            check_interrupt()
            of_name = dict(zip(others, part.slice(others, start, stop), strict=True))
            of_name[name] = values.slice(first + start, stop - start)
            columns = [of_name[each] for each in schema.names]
            pieces.append(keep_rows(pa.Table.from_arrays(columns, schema=schema), are_many=True))
        first += part.row_count
    return Rows(schema, (ArrowPart(pa.concat_tables(pieces)),))


def _part_with(
    table: Table, part: Part, schema: pa.Schema, new: Mapping[str, pa.ChunkedArray]
) -> Part:
    columns = [new[name] if name in new else part.columns([name])[0] for name in schema.names]
    return part_of(pa.Table.from_arrays(columns, schema=schema), table.definition.key_columns)


def _with_foreign_keys(
    tables: Mapping[str, Table], change: Callable[[Table, ForeignKey], ForeignKey], name: str
) -> dict[str, Table]:
    """Return the table `name`, and the others in which `change` makes another foreign key."""
    changed = {}
    for table in tables.values():
        keys = {key: change(table, key) for key in table.definition.foreign_keys}
        if table.name == name or any(key != new for key, new in keys.items()):
            changed[table.name] = replace(
                table,
                definition=replace(table.definition, foreign_keys=tuple(keys.values())),
                foreign_rows={new: table.foreign_rows[key] for key, new in keys.items()},
            )
    return changed


def _but_for(pairs: Iterable[tuple[str, Any]], name: str) -> tuple[tuple[str, Any], ...]:
    return tuple(pair for pair in pairs if pair[0] != name)


def _without(items: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {other: value for other, value in items.items() if other != name}
