"""Constraints, NOT NULL, keys and foreign keys: tables are created and extended so that all hold.

    define_table(definition) -> Table, version 0, no rows
    append_rows(table, rows) -> Table, the next version (changes.py has the other writes)
    check_drop(name)         -> nothing, or an IntegrityError

Tables are values. A write returns a new one or raises, so an error changes nothing.
"""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa

from raydb.errors import IntegrityError, NotSupportedError, ProgrammingError
from raydb.kernels.codecs.arrow_numbers import integer_type
from raydb.late import pc
from raydb.names import find_object, fold, is_same, known_name, known_object
from raydb.storage.bits import BIT
from raydb.storage.clocks import TIMETZ, timetz_texts
from raydb.storage.enums import EnumType
from raydb.storage.fields import field_type
from raydb.storage.flat import column_plan
from raydb.storage.moments import is_moment, moment_texts
from raydb.storage.tables import key_parts
from raydb.storage.tables.key_index import find_few
from raydb.storage.tables.keys import ABSENT, is_key_type
from raydb.storage.tables.rows import Rows
from raydb.storage.tables.table import (
    ROW_NUMBER,
    SEARCHABLE,
    FileLayout,
    ForeignKey,
    Table,
    TableDefinition,
    UniqueKey,
    check_generated,
    constraint_names,
    is_searchable,
    unsuited,
)
from raydb.storage.type_names import sql_type_name
from raydb.storage.uuids import UUID, uuid_texts
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from raydb.storage.tables.parts import Part

MAX_ROWS = 2**31 - 1
"""Foreign rows are int32."""

# Row numbers are looked up so many at a time: what numpy makes of them (8 bytes each) stays small.
_BLOCK_ROWS = 2**20


def define_table(definition: TableDefinition, tables: Mapping[str, Table]) -> Table:
    """Return an empty table, version 0, with its constraints checked and resolved.

    A foreign key without references gets the referenced table's primary key, and the columns of
    the primary key become NOT NULL. Raises ProgrammingError, naming the nearest right spelling,
    for a name that is taken or unknown, for references which are no key, and for types that
    differ (integers of any width are comparable with one another).
    """
    if (taken := find_object(definition.name, tables, "table")) is not None:
        raise ProgrammingError(f"table '{taken}' exists already")
    definition = resolve_definition(definition, tables)
    no_rows = {key: frozen(np.empty(0, np.int32)) for key in definition.foreign_keys}
    return Table(definition, Rows(definition.schema), 0, no_rows)


def resolve_definition(definition: TableDefinition, tables: Mapping[str, Table]) -> TableDefinition:
    """Return a definition with its constraints checked and resolved; see `define_table`."""
    definition = _with_made_names(definition, tables)
    check_columns(definition)
    _check_names(definition)
    if definition.primary_key is not None:
        schema = _require(definition.schema, definition.primary_key.columns)
        definition = replace(definition, schema=schema)
    definitions = {name: table.definition for name, table in tables.items()}
    definitions[definition.name] = definition
    foreign_keys = tuple(
        resolve_references(definition, key, definitions) for key in definition.foreign_keys
    )
    if (twice := _first_repeated(foreign_keys)) is not None:
        raise ProgrammingError(
            f"table '{definition.name}' has the foreign key ({', '.join(twice.columns)}) twice"
        )
    if definition.layout != FileLayout():
        # A first look at the settings: a bad one is an error now, not when rows are written.
        rows, encodings, indexed = (dict(part) for part in astuple(definition.layout))
        column_plan.plan_columns(definition.schema.empty_table(), rows, encodings, indexed, {})
    return replace(definition, foreign_keys=foreign_keys)


def _with_made_names(definition: TableDefinition, tables: Mapping[str, Table]) -> TableDefinition:
    """Return a definition whose constraints name columns and tables as these were made."""
    names, name = definition.schema.names, definition.name
    known = {**{name: table.definition.schema.names for name, table in tables.items()}, name: names}

    def made(columns: tuple[str, ...], table: str = name) -> tuple[str, ...]:
        where = f" in '{table}'"
        return tuple(known_name(each, known[table], "column", where) for each in columns)

    def made_key(key: UniqueKey) -> UniqueKey:
        return replace(key, columns=made(key.columns))

    def made_foreign_key(key: ForeignKey) -> ForeignKey:
        target = known_object(key.table, known, "table")
        references = made(key.references, target)
        return replace(key, columns=made(key.columns), table=target, references=references)

    primary_key = definition.primary_key
    return replace(
        definition,
        primary_key=None if primary_key is None else made_key(primary_key),
        unique_keys=tuple(map(made_key, definition.unique_keys)),
        foreign_keys=tuple(map(made_foreign_key, definition.foreign_keys)),
        checks=tuple(replace(each, columns=made(each.columns)) for each in definition.checks),
        indexes=tuple(replace(each, columns=made(each.columns)) for each in definition.indexes),
    )


def _first_repeated(keys: tuple[ForeignKey, ...]) -> ForeignKey | None:
    return next((key for index, key in enumerate(keys) if key in keys[:index]), None)


def append_rows(
    table: Table, rows: pa.Table, tables: Mapping[str, Table], kind: str = "row"
) -> Table:
    """Return the next version of the table, with the rows appended and their keys found.

    `rows` has the table's column names and types, in order. Checks NOT NULL, PRIMARY KEY, UNIQUE
    and FOREIGN KEY, in this order, and raises IntegrityError naming the first offending row
    (from 1 within `rows`, which are rows of the `kind`); masked rows do not count. A key with NULL
    in it equals no other one and points nowhere; one to the table itself may point to new rows.
    """
    definition = table.definition
    assert rows.schema.names == definition.schema.names, (rows.schema, definition.schema)
    assert rows.schema.types == definition.schema.types, (rows.schema, definition.schema)
    rows = pa.Table.from_arrays(rows.columns, schema=definition.schema)
    after = table.rows.append(rows, definition.key_columns)
    return _extended(table, after, Batch(definition, rows, kind), tables)


def append_parts(table: Table, parts: tuple[Part, ...], tables: Mapping[str, Table]) -> Table:
    """Return what `append_rows` does of the rows of some parts; columns of keys alone are read."""
    definition = table.definition
    rows = Rows(definition.schema, parts)
    read = {name for key in definition.keys for name in key.columns}
    read |= {name for foreign_key in definition.foreign_keys for name in foreign_key.columns}
    required = [field.name for field in definition.schema if not field.nullable]
    read |= {name for name in required if rows.null_count(name)}
    schema = pa.schema([field for field in definition.schema if field.name in read])
    columns = key_parts.key_columns(rows, schema.names)
    batch = Batch(definition, pa.Table.from_arrays(columns, schema=schema), "row")
    return _extended(table, table.rows.extended(parts), batch, tables)


def _extended(table: Table, rows: Rows, batch: Batch, tables: Mapping[str, Table]) -> Table:
    """Return the next version of a table, with more rows; the batch has all columns of keys."""
    extended = with_rows(table, rows, batch)
    return with_references(table, extended, batch, {**tables, table.name: extended})


def with_rows(table: Table, rows: Rows, batch: Batch) -> Table:
    """Return the next version of a table, with more rows, but not where these point to."""
    definition = table.definition
    if rows.row_count > MAX_ROWS:
        raise NotSupportedError(f"table '{table.name}' would have more than {MAX_ROWS} rows")
    _check_not_null(batch)
    for key in definition.keys:
        _check_unique(batch, table, key)
    live = table.live
    if live is not None:
        more = rows.row_count - table.row_count
        live = frozen(np.concatenate([live, np.ones(more, np.bool_)]))
    return Table(definition, rows, table.version + 1, live=live)


def with_references(
    table: Table, extended: Table, batch: Batch, tables: Mapping[str, Table]
) -> Table:
    """Return a table with more rows, and where they point to in other tables and itself."""
    foreign_rows = {}
    for foreign_key in table.definition.foreign_keys:
        target = tables[foreign_key.table]
        found = _find_references(batch, foreign_key, target)
        found = found.astype(integer_type(-1, target.row_count), copy=False)
        if table.row_count:
            found = np.concatenate([table.foreign_rows[foreign_key], found])
        foreign_rows[foreign_key] = frozen(found)
    return replace(extended, foreign_rows=foreign_rows)


def check_required(definition: TableDefinition, rows: pa.Table) -> None:
    """Raise IntegrityError for the first row with a NULL where the definition says NOT NULL."""
    rows = pa.Table.from_arrays(rows.columns, schema=definition.schema)
    _check_not_null(Batch(definition, rows, "row"))


def check_new_constraints(
    table: Table, definition: TableDefinition, tables: Mapping[str, Table]
) -> Mapping[ForeignKey, NDArray[np.int32]]:
    """Check a table's visible rows against the constraints that only the new definition has.

    Returns the rows that its new foreign keys point to. Raises IntegrityError as `append_rows`.
    """
    old = table.definition
    keys = [key for key in definition.keys if key not in old.keys]
    foreign_keys = [key for key in definition.foreign_keys if key not in table.foreign_rows]
    read = {column for key in keys for column in key.columns}
    read |= {column for key in foreign_keys for column in key.columns}
    read |= {
        field.name
        for field, was in zip(definition.schema, old.schema, strict=True)
        if was.nullable and not field.nullable
    }
    fields = [field for field in definition.schema if field.name in read]
    columns = key_parts.key_columns(table.rows, [field.name for field in fields], table.live)
    batch = Batch(definition, pa.Table.from_arrays(columns, schema=pa.schema(fields)), "row")
    _check_not_null(batch)
    for key in keys:
        _check_repeats(batch, key)
    found = {}
    for foreign_key in foreign_keys:
        target = table if foreign_key.table == table.name else tables[foreign_key.table]
        pointers = np.full(table.row_count, -1, np.int32)
        pointers[slice(None) if table.live is None else table.live] = _find_references(
            batch, foreign_key, target
        )
        found[foreign_key] = frozen(pointers)
    return found


def check_drop(name: str, tables: Mapping[str, Table]) -> None:
    """Raise IntegrityError if a foreign key of another table refers to the table `name`."""
    for table in tables.values():
        for key in table.definition.foreign_keys:
            if key.table == name and table.name != name:
                raise IntegrityError(
                    f"table '{name}' cannot be dropped: the foreign key "
                    f"({', '.join(key.columns)}) of table '{table.name}' refers to it"
                )


def check_columns(definition: TableDefinition) -> None:
    """Raise for columns that are no columns, and for keys and indexes of others."""
    name, schema = definition.name, definition.schema
    if not len(schema):
        raise ProgrammingError(f"table '{name}' has no columns")
    check_different(name, schema.names)
    if ROW_NUMBER in schema.names:
        raise ProgrammingError(f"a column cannot have the name '{ROW_NUMBER}', which is reserved")
    keys = [(f"a {_kind_of(key, definition)}", key.columns) for key in definition.keys]
    keys += [("a foreign key", key.columns) for key in definition.foreign_keys]
    keys += [("an index", index.columns) for index in definition.indexes if index.is_of_keys]
    check_generated(definition)
    for kind, columns in keys:
        _check_known(columns, definition)
        if (column := _first_double(columns)) is not None:
            raise ProgrammingError(f"{kind} of table '{name}' names column '{column}' twice")
        for column in columns:
            data_type = schema.field(column).type
            if not is_key_type(data_type):
                raise NotSupportedError(
                    f"column '{column}' of table '{name}' is {sql_type_name(data_type)}, "
                    f"which cannot be part of {kind}"
                )
    for index in definition.ivf_indexes:
        _check_known(index.columns, definition)
        assert index.ivf is not None
        (column,) = index.columns
        data_type = schema.field(column).type
        said = f"column '{column}' of table '{name}' is {sql_type_name(data_type)}"
        if not is_searchable(data_type):
            raise NotSupportedError(f"{said}, but an {index.ivf.method} index needs {SEARCHABLE}")
        if why := unsuited(index.ivf.metric, data_type):
            raise ProgrammingError(said + why)
    for index in definition.text_indexes:
        _check_known(index.columns, definition)
        (column,) = index.columns
        data_type = schema.field(column).type
        said = f"column '{column}' of table '{name}' is {sql_type_name(data_type)}"
        if not pa.types.is_string(data_type):
            raise NotSupportedError(f"{said}, but an fts index needs VARCHAR")


def check_different(table: str, columns: Sequence[str]) -> None:
    """Raise ProgrammingError for two columns of a table whose names differ by case at most."""
    if (column := _first_double(columns)) is not None:
        first = next(each for each in columns if is_same(each, column))
        both = f"named '{column}'"
        if first != column:
            both = f"that differ by case, '{first}' and '{column}'"
        raise ProgrammingError(f"table '{table}' has two columns {both}")


def is_vector(data_type: pa.DataType) -> bool:
    """Say whether a type is FLOAT[n] or DOUBLE[n]."""
    is_fixed = pa.types.is_fixed_size_list(data_type)
    return bool(is_fixed and data_type.value_type in (pa.float32(), pa.float64()))


def _check_names(definition: TableDefinition) -> None:
    names = [name for _, name in constraint_names(definition)]
    if (name := _first_double(names)) is not None:
        raise ProgrammingError(f"table '{definition.name}' has two constraints named '{name}'")


def _kind_of(key: UniqueKey, definition: TableDefinition) -> str:
    return "primary key" if key is definition.primary_key else "unique key"


def _first_double(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if fold(name) in seen:
            return name
        seen.add(fold(name))
    return None


def _check_known(columns: Iterable[str], definition: TableDefinition) -> None:
    names = definition.schema.names
    for column in columns:
        if column not in names:
            raise ProgrammingError(f"column '{column}' does not exist in '{definition.name}'")


def _require(schema: pa.Schema, columns: tuple[str, ...]) -> pa.Schema:
    return pa.schema(
        [field.with_nullable(False) if field.name in columns else field for field in schema]
    )


def resolve_references(
    definition: TableDefinition, key: ForeignKey, definitions: Mapping[str, TableDefinition]
) -> ForeignKey:
    """Return the foreign key with its references filled in, once they are known to be a key."""
    label = f"the foreign key ({', '.join(key.columns)}) of table '{definition.name}'"
    target = definitions.get(key.table)
    if target is None:
        raise ProgrammingError(f"table '{key.table}' does not exist")
    primary_key = () if target.primary_key is None else target.primary_key.columns
    references = key.references or primary_key
    if not references:
        raise ProgrammingError(
            f"{label} needs a primary key in table '{target.name}', which has none"
        )
    _check_known(references, target)
    if len(references) != len(key.columns):
        raise ProgrammingError(
            f"{label} has {len(key.columns)} columns, but refers to {len(references)} "
            f"of table '{target.name}'"
        )
    unique = {frozenset(each.columns) for each in target.declared_keys}
    if frozenset(references) not in unique or len(set(references)) < len(references):
        raise ProgrammingError(
            f"{label} refers to ({', '.join(references)}), which is neither the primary key "
            f"nor a unique key of table '{target.name}'"
        )
    for column, reference in zip(key.columns, references, strict=True):
        have = definition.schema.field(column).type
        want = target.schema.field(reference).type
        if have != want and not (pa.types.is_integer(have) and pa.types.is_integer(want)):
            raise ProgrammingError(
                f"column '{column}' of table '{definition.name}' is {sql_type_name(have)}, but "
                f"column '{reference}' of table '{target.name}', to which it refers, is "
                f"{sql_type_name(want)}"
            )
    return replace(key, references=references)


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Rows on their way into a table; `kind` is what messages call one of them."""

    definition: TableDefinition
    rows: pa.Table
    kind: str

    def place(self, row: int) -> str:
        """Return what messages call a row."""
        return f"table '{self.definition.name}', {self.kind} {row + 1}"


def _check_not_null(batch: Batch) -> None:
    for field, column in zip(batch.rows.schema, batch.rows.columns, strict=True):
        if not field.nullable and column.null_count:
            row = pc.index(column.is_null(), pa.scalar(True)).as_py()
            raise IntegrityError(
                f"{batch.place(row)}: column '{field.name}' is NOT NULL, but has no value"
            )


def _check_unique(batch: Batch, table: Table, key: UniqueKey) -> None:
    _check_repeats(batch, key)
    if table.row_count and (table.live is None or table.live.any()):
        known = find_key(batch.rows, table, key) >= 0
        if known.any():
            kind = _kind_of(key, batch.definition)
            _raise_row(batch, int(np.argmax(known)), kind, key, "is in the table already")


def _check_repeats(batch: Batch, key: UniqueKey) -> None:
    repeat = key_parts.first_repeat([batch.rows.column(column) for column in key.columns])
    if repeat is not None:
        row, earlier = repeat
        kind = _kind_of(key, batch.definition)
        _raise_row(batch, row, kind, key, f"is that of {batch.kind} {earlier + 1}")


def find_key(rows: pa.Table, table: Table, key: UniqueKey) -> NDArray[np.int32]:
    """Return for each row the number of the table's visible row that has its key, else below 0."""
    return _find([rows.column(column) for column in key.columns], table, key.columns)


def _find(
    probe: Sequence[pa.ChunkedArray], table: Table, columns: tuple[str, ...]
) -> NDArray[np.int32]:
    """Return for each key the number of the table's visible row that has it, else below 0."""
    few = find_few(table.rows, table.live, columns, probe)
    if few is not None:
        return few
    found = key_parts.find_rows(probe, key_parts.key_columns(table.rows, columns, table.live))
    if table.live is not None and len(found) and int(found.max()) >= 0:
        _number(found, table.live)
    return found


def _number(found: NDArray[np.int32], live: NDArray[np.bool_]) -> None:
    """Turn positions among the visible rows into row numbers; what is below 0 stays."""
    numbers = np.empty(np.count_nonzero(live), np.int32)
    end = 0
    for start in range(0, len(live), _BLOCK_ROWS):
        some = np.flatnonzero(live[start : start + _BLOCK_ROWS])
        numbers[end : end + len(some)] = some + start
        end += len(some)
    for start in range(0, len(found), _BLOCK_ROWS):
        block = found[start : start + _BLOCK_ROWS]
        hit = block >= 0
        block[hit] = numbers[block[hit]]


def _find_references(batch: Batch, key: ForeignKey, target: Table) -> NDArray[np.int32]:
    """Return the rows of `target` that the foreign key points to, -1 where it is NULL."""
    found = _find([batch.rows.column(column) for column in key.columns], target, key.references)
    absent = found == ABSENT
    if absent.any():
        to = f"has no row in '{key.table}' ({', '.join(key.references)})"
        _raise_row(batch, int(np.argmax(absent)), "foreign key", key, to)
    return found


def _raise_row(
    batch: Batch, row: int, kind: str, key: UniqueKey | ForeignKey, what: str
) -> NoReturn:
    name = f" '{key.name}'" if key.name else ""
    text = key_text(batch.rows, row, key.columns)
    raise IntegrityError(f"{batch.place(row)}: the {kind}{name} {text} {what}")


def key_text(rows: pa.Table, row: int, columns: tuple[str, ...]) -> str:
    """Return a row's key for a message: `(id, city) = (1, 'Rome')`."""
    fields = [rows.schema.field(column) for column in columns]
    values = ", ".join(_sql_text(rows.column(each.name)[row], field_type(each)) for each in fields)
    return f"({', '.join(columns)}) = ({values})"


def _sql_text(value: pa.Scalar, kind: pa.DataType) -> str:
    if isinstance(kind, EnumType) and value.is_valid:
        return f"'{kind.labels[value.as_py()]}'"
    if value.type == BIT:
        return f"'{value.as_py().decode()}'"
    if pa.types.is_binary(value.type):
        return f"x'{value.as_py().hex()}'"
    if value.type == TIMETZ:
        return f"'{timetz_texts(pa.array([value.value], pa.int64()).view(TIMETZ))[0]}'"
    if is_moment(value.type):
        return f"'{moment_texts(pa.array([value]))[0]}'"
    if pa.types.is_nested(value.type):
        return str(value.as_py())
    if value.type == UUID:
        return f"'{uuid_texts(pa.array([value]))[0]}'"
    text = value.cast(pa.string()).as_py()
    quoted = pa.types.is_string(value.type) or pa.types.is_temporal(value.type)
    return f"'{text}'" if quoted else str(text)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array, which can't be written to from now on."""
    array.flags.writeable = False
    return array
