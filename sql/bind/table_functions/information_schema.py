"""The information schema: what the catalog holds, as tables that queries can read.

    SELECT column_name FROM information_schema.columns WHERE table_name = 'sale'

The tables and columns are those of the SQL standard, without columns that would always be NULL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from raydb.errors import Error, ProgrammingError, did_you_mean
from raydb.planner.expressions.nodes import Literal
from raydb.planner.plan.logical import Values, output_columns
from raydb.sql.ast import Select
from raydb.sql.bind.binding import new_column
from raydb.sql.parse.parser import parse
from raydb.sql.parse.schema_names import CATALOG, INFORMATION, MAIN
from raydb.storage.tables.table import Check, ForeignKey, UniqueKey, constraint_names
from raydb.storage.type_names import sql_type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from raydb.planner.expressions.nodes import Column
    from raydb.sql.bind.binding import Binding
    from raydb.storage.tables.table import Constraint, TableDefinition

Row: TypeAlias = "tuple[Any, ...]"

_NUMBERS = (
    *("ordinal_position", "position_in_unique_constraint"),
    *("numeric_precision", "numeric_scale"),
)


def bind_information_table(table: str, binding: Binding) -> Values:
    """Return the rows of `information_schema.<table>`; raises ProgrammingError for other names."""
    if table not in _TABLES:
        near = did_you_mean(table, _TABLES)
        raise ProgrammingError(f"table '{INFORMATION}.{table}' does not exist{near}")
    names, rows_of = _TABLES[table]
    return literal_rows(names.split(), rows_of(binding), binding)


def literal_rows(names: list[str], rows: Iterator[Row], binding: Binding) -> Values:
    """Return constant rows as a plan; the columns are VARCHAR but for those that hold numbers."""
    columns = tuple(
        new_column(binding, name, pa.int32() if name in _NUMBERS else pa.string()) for name in names
    )
    return Values(columns, tuple(_literals(row, columns) for row in rows))


def _literals(row: Row, columns: tuple[Column, ...]) -> tuple[Literal, ...]:
    return tuple(Literal(cell, column.type) for cell, column in zip(row, columns, strict=True))


def relation_columns(binding: Binding) -> Iterator[tuple[str, pa.Schema]]:
    """Yield the tables, then the views, with their columns: none for a view that is broken."""
    for name, table in binding.catalog.tables.items():
        yield name, table.definition.schema
    for name, text in binding.catalog.views.items():
        (select,) = parse(text)
        assert isinstance(select, Select), "a view holds a query"
        alone = replace(binding, parameters={}, queries={}, views=(name,), outer=None)
        try:
            columns = output_columns(alone.bind_query(select.tree, alone))
        except Error:
            columns = ()
        yield name, pa.schema([pa.field(column.name, column.type) for column in columns])


def _schemata(_: Binding) -> Iterator[Row]:
    for schema in (MAIN, INFORMATION):
        yield CATALOG, schema


def _tables(binding: Binding) -> Iterator[Row]:
    for kind, names in (("BASE TABLE", binding.catalog.tables), ("VIEW", binding.catalog.views)):
        for name in names:
            yield CATALOG, MAIN, name, kind


def _columns(binding: Binding) -> Iterator[Row]:
    for table, schema in relation_columns(binding):
        known = binding.catalog.tables.get(table)
        defaults = {} if known is None else dict(known.definition.defaults)
        for number, field in enumerate(schema, 1):
            yield (
                *(CATALOG, MAIN, table, field.name, number, defaults.get(field.name)),
                "YES" if field.nullable else "NO",
                sql_type_name(field.type),
                *_digits(field.type),
            )


def _digits(data_type: pa.DataType) -> tuple[int | None, int | None]:
    """Return the precision and the scale of an exact number; an integer's precision is in bits."""
    if pa.types.is_decimal(data_type):
        return data_type.precision, data_type.scale
    if pa.types.is_integer(data_type):
        return data_type.bit_width, 0
    return None, None


def _views(binding: Binding) -> Iterator[Row]:
    for name, text in binding.catalog.views.items():
        yield CATALOG, MAIN, name, text


def _constraints(binding: Binding) -> Iterator[tuple[TableDefinition, Constraint, str]]:
    for table in binding.catalog.tables.values():
        for constraint, name in constraint_names(table.definition):
            yield table.definition, constraint, name


def _table_constraints(binding: Binding) -> Iterator[Row]:
    for definition, constraint, name in _constraints(binding):
        match constraint:
            case UniqueKey():
                is_primary = constraint is definition.primary_key
                kind = "PRIMARY KEY" if is_primary else "UNIQUE"
            case ForeignKey():
                kind = "FOREIGN KEY"
            case Check():
                kind = "CHECK"
        yield CATALOG, MAIN, name, CATALOG, MAIN, definition.name, kind, "NO", "NO"


def _key_column_usage(binding: Binding) -> Iterator[Row]:
    for definition, constraint, name in _constraints(binding):
        if isinstance(constraint, Check):
            continue
        for number, column in enumerate(constraint.columns, 1):
            position = None
            if isinstance(constraint, ForeignKey):
                target, _ = _referenced(constraint, binding)
                position = target.columns.index(constraint.references[number - 1]) + 1
            yield (
                *(CATALOG, MAIN, name, CATALOG, MAIN, definition.name),
                *(column, number, position),
            )


def _referenced(key: ForeignKey, binding: Binding) -> tuple[UniqueKey, str]:
    """Return the key that a foreign key refers to, and its name."""
    for constraint, name in constraint_names(binding.catalog.tables[key.table].definition):
        if isinstance(constraint, UniqueKey) and set(constraint.columns) == set(key.references):
            return constraint, name
    raise AssertionError(f"{key} refers to no key")


def _referential_constraints(binding: Binding) -> Iterator[Row]:
    for _, constraint, name in _constraints(binding):
        if isinstance(constraint, ForeignKey):
            _, target = _referenced(constraint, binding)
            delete_rule = "CASCADE" if constraint.cascades else "NO ACTION"
            yield CATALOG, MAIN, name, CATALOG, MAIN, target, "NONE", "NO ACTION", delete_rule


def _check_constraints(binding: Binding) -> Iterator[Row]:
    for _, constraint, name in _constraints(binding):
        if isinstance(constraint, Check):
            yield CATALOG, MAIN, name, constraint.text


def _column_options(binding: Binding) -> Iterator[Row]:
    for name, table in binding.catalog.tables.items():
        layout = table.definition.layout
        switches = [(column, "on" if is_on else "off") for column, is_on in layout.offset_index]
        for option, chosen in (
            ("chunk_rows", layout.chunk_rows),
            ("encoding", layout.encodings),
            ("offset_index", switches),
        ):
            for column, value in chosen:
                yield CATALOG, MAIN, name, column, option, str(value)


_CONSTRAINT = "constraint_catalog constraint_schema constraint_name"
_TABLE = "table_catalog table_schema table_name"
# For each table its columns and the function that gives its rows.
_TABLES: dict[str, tuple[str, Callable[[Binding], Iterator[Row]]]] = {
    "schemata": ("catalog_name schema_name", _schemata),
    "tables": (f"{_TABLE} table_type", _tables),
    "columns": (
        f"{_TABLE} column_name ordinal_position column_default is_nullable data_type"
        " numeric_precision numeric_scale",
        _columns,
    ),
    "views": (f"{_TABLE} view_definition", _views),
    "table_constraints": (
        f"{_CONSTRAINT} {_TABLE} constraint_type is_deferrable initially_deferred",
        _table_constraints,
    ),
    "key_column_usage": (
        f"{_CONSTRAINT} {_TABLE} column_name ordinal_position position_in_unique_constraint",
        _key_column_usage,
    ),
    "referential_constraints": (
        f"{_CONSTRAINT} unique_constraint_catalog unique_constraint_schema unique_constraint_name"
        " match_option update_rule delete_rule",
        _referential_constraints,
    ),
    "check_constraints": (f"{_CONSTRAINT} check_clause", _check_constraints),
    "column_options": (f"{_TABLE} column_name option_name option_value", _column_options),
}
