"""Table functions: a call in FROM whose rows the catalog or its arguments give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.explain import show
from raydb.planner.expression import Attribute, Literal
from raydb.planner.logical import Values
from raydb.sql.binding import Binding, new_column
from raydb.sql.files import FILE_FUNCTIONS
from raydb.sql.information_schema import bind_information_table
from raydb.sql.schema_names import INFORMATION
from raydb.sql.series import bind_series

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot import exp

    from raydb.planner.expression import Expression
    from raydb.planner.logical import Plan
    from raydb.storage.table import Index

TABLE_FUNCTIONS = ("bvhs", "generate_series", "indexes", "range", "unnest", *FILE_FUNCTIONS)
_INDEX_COLUMNS = ("name", "table_name", "columns", "is_unique")
_BVH_COLUMNS = ("name", "table_name", "scan", "group_by", "aggregate")


def bind_table_function(name: str, arguments: Sequence[exp.Expr], binding: Binding) -> Plan:
    """Return the rows of a table function. Raises NotSupportedError for an unknown name."""
    schema, _, table = name.rpartition(".")
    if schema == INFORMATION:
        return bind_information_table(table, binding)
    match name:
        case "bvhs":
            return _bvhs(arguments, binding)
        case "indexes":
            return _indexes(arguments, binding)
        case "generate_series" | "range":
            return bind_series(name, arguments, binding)
        case _:
            raise NotSupportedError(
                f"the table function {name}() is not supported{did_you_mean(name, TABLE_FUNCTIONS)}"
            )


def _bvhs(arguments: Sequence[exp.Expr], binding: Binding) -> Values:
    """Return one row a BVH: name, table_name, scan, group_by and aggregate, all VARCHAR."""
    _check_none("bvhs", arguments)
    text = pa.string()
    rows: list[tuple[Expression, ...]] = []
    for bvh in binding.catalog.bvhs.values():
        definition = bvh.definition
        parts = (definition.scan, definition.group_by, definition.aggregate)
        cells = (definition.name, definition.table, *(_listed(part) for part in parts))
        rows.append(tuple(Literal(cell, text) for cell in cells))
    return Values(tuple(new_column(binding, name, text) for name in _BVH_COLUMNS), tuple(rows))


def _indexes(arguments: Sequence[exp.Expr], binding: Binding) -> Values:
    """Return one row an index: name, table_name, columns (VARCHAR) and is_unique (BOOLEAN)."""
    _check_none("indexes", arguments)
    rows = [
        (index.name, table.definition.name, _index_columns(index), index.unique)
        for table in binding.catalog.tables.values()
        for index in table.definition.indexes
    ]
    types = (pa.string(), pa.string(), pa.string(), pa.bool_())
    columns = tuple(
        new_column(binding, name, kind) for name, kind in zip(_INDEX_COLUMNS, types, strict=True)
    )
    return Values(
        columns,
        tuple(tuple(map(Literal, row, types)) for row in rows),
    )


def _index_columns(index: Index) -> str:
    pairs = zip(index.columns, index.descending, strict=True)
    return ", ".join(f"{column} DESC" if descends else column for column, descends in pairs)


def _check_none(name: str, arguments: Sequence[exp.Expr]) -> None:
    if arguments:
        raise ProgrammingError(f"{name}() takes no arguments, not {len(arguments)}")


def _listed(part: Iterable[Expression]) -> str:
    return ", ".join(_shown(expression) for expression in part)


def _shown(expression: Expression) -> str:
    """Show an attribute as CREATE BVH can read it back: by the foreign key that leads to it."""
    match expression:
        case Attribute(path=(first, *_), name=name) if len(first.columns) == 1:
            return f"{first.columns[0]}.{name}"
        case _:
            return show(expression)
