"""Table functions: a call in FROM whose rows the catalog or its arguments give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.expression import Literal
from raydb.planner.logical import Values
from raydb.sql.binding import Binding, new_column
from raydb.sql.files import FILE_FUNCTIONS
from raydb.sql.information_schema import bind_information_table
from raydb.sql.schema_names import INFORMATION
from raydb.sql.series import bind_series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.logical import Plan
    from raydb.storage.table import Index

# The engine makes their rows before the statement is bound; see `sql/reports.py`.
REPORTS = ("advise_bvh", "bvhs")

TABLE_FUNCTIONS = ("generate_series", "indexes", "range", "unnest", *REPORTS, *FILE_FUNCTIONS)
_INDEX_COLUMNS = ("name", "table_name", "columns", "is_unique")


def is_report(table: exp.Table) -> bool:
    """Say whether a source in FROM is a call whose rows the engine makes."""
    return isinstance(table.this, exp.Anonymous) and table.this.name.lower() in REPORTS


def bind_table_function(name: str, arguments: Sequence[exp.Expr], binding: Binding) -> Plan:
    """Return the rows of a table function. Raises NotSupportedError for an unknown name."""
    schema, _, table = name.rpartition(".")
    if schema == INFORMATION:
        return bind_information_table(table, binding)
    match name:
        case "indexes":
            return _indexes(arguments, binding)
        case "generate_series" | "range":
            return bind_series(name, arguments, binding)
        case _:
            raise NotSupportedError(
                f"the table function {name}() is not supported{did_you_mean(name, TABLE_FUNCTIONS)}"
            )


def _indexes(arguments: Sequence[exp.Expr], binding: Binding) -> Values:
    """Return one row an index: name, table_name, columns (VARCHAR) and is_unique (BOOLEAN)."""
    if arguments:
        raise ProgrammingError(f"indexes() takes no arguments, not {len(arguments)}")
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
