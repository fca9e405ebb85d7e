"""Table functions: a call in FROM whose rows the catalog or its arguments give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from raydb.errors import NotSupportedError, ProgrammingError, did_you_mean
from raydb.planner.expressions.nodes import Literal
from raydb.planner.plan.logical import Values
from raydb.sql.bind.binding import Binding, new_column
from raydb.sql.bind.expression.window_call import window_functions
from raydb.sql.bind.table_functions.file_functions import FILE_FUNCTIONS
from raydb.sql.bind.table_functions.information_schema import bind_information_table
from raydb.sql.bind.table_functions.series import bind_series
from raydb.sql.functions.aggregates import AGGREGATES, WITHIN_GROUP
from raydb.sql.functions.scalar import SCALARS
from raydb.sql.parse.schema_names import INFORMATION
from raydb.sql.parse.searched_tables import MOTIF_FUNCTIONS, VECTOR_SEARCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.planner.plan.logical import Plan
    from raydb.storage.tables.table import Index

# The engine makes their rows before the statement is bound; see `reports.py`.
REPORTS = ("advise_bvh", "bvhs", "index_calibrations", "vector_indexes")

TABLE_FUNCTIONS = (
    *("functions", "generate_series", "indexes", "range", "unnest"),
    *(VECTOR_SEARCH, *MOTIF_FUNCTIONS),
    *(*REPORTS, *FILE_FUNCTIONS),
)
_INDEX_COLUMNS = ("name", "table_name", "columns", "is_unique")
_FUNCTION_COLUMNS = ("name", "kind")


def is_report(table: exp.Table) -> bool:
    """Say whether a source in FROM is a call whose rows the engine makes."""
    return isinstance(table.this, exp.Anonymous) and table.this.name.lower() in REPORTS


def bind_table_function(name: str, arguments: Sequence[exp.Expr], binding: Binding) -> Plan:
    """Return the rows of a table function. Raises NotSupportedError for an unknown name."""
    schema, _, table = name.rpartition(".")
    if schema == INFORMATION:
        return bind_information_table(table, binding)
    match name:
        case "functions":
            return _functions(arguments, binding)
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
    _refuse_arguments("indexes", arguments)
    rows = [
        (index.name, table.definition.name, _index_columns(index), index.unique)
        for table in binding.catalog.tables.values()
        for index in table.definition.indexes
    ]
    types = (pa.string(), pa.string(), pa.string(), pa.bool_())
    return _listed(_INDEX_COLUMNS, types, rows, binding)


def _functions(arguments: Sequence[exp.Expr], binding: Binding) -> Values:
    """Return one row a function: name and kind (VARCHAR), sorted by both.

    The kinds are scalar, aggregate, window and table. One name may have several, as range() has.
    """
    _refuse_arguments("functions", arguments)
    names = {
        "scalar": SCALARS,
        "aggregate": {*AGGREGATES, *WITHIN_GROUP},
        "window": window_functions(),
        "table": TABLE_FUNCTIONS,
    }
    rows = sorted((name, kind) for kind, listed in names.items() for name in listed)
    return _listed(_FUNCTION_COLUMNS, (pa.string(), pa.string()), rows, binding)


def _refuse_arguments(name: str, arguments: Sequence[exp.Expr]) -> None:
    if arguments:
        raise ProgrammingError(f"{name}() takes no arguments, not {len(arguments)}")


def _listed(
    names: Sequence[str],
    types: Sequence[pa.DataType],
    rows: Sequence[Sequence[object]],
    binding: Binding,
) -> Values:
    columns = tuple(
        new_column(binding, name, kind) for name, kind in zip(names, types, strict=True)
    )
    return Values(columns, tuple(tuple(map(Literal, row, types)) for row in rows))


def _index_columns(index: Index) -> str:
    pairs = zip(index.columns, index.descending, strict=True)
    return ", ".join(f"{column} DESC" if descends else column for column, descends in pairs)
