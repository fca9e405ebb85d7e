"""functions(), indexes(), sequences(): what there is to call, and what tables have.

And calls that the binder reads itself: unnest(), json_each() and json_tree().
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.expressions.aggregates import AGGREGATES, WINDOW_FUNCTIONS, WITHIN_GROUP
from raydb.planner.expressions.registry import SCALARS
from raydb.planner.plan.table_function import TABLE_FUNCTIONS, RowsFunction, TableFunction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.table import Index


class Functions(RowsFunction):
    """functions(): one row a function, sorted by its name and its kind.

    The kinds are scalar, aggregate, window and table. One name may have several, as range() has.
    """

    name = "functions"
    schema = pa.schema({"name": pa.string(), "kind": pa.string()})

    def rows(self, call: FunctionCall) -> Sequence[Sequence[object]]:
        names = {
            "scalar": SCALARS,
            "aggregate": {*AGGREGATES, *WITHIN_GROUP},
            "window": WINDOW_FUNCTIONS,
            # A table of the information schema is a function too, which nobody calls.
            "table": (
                name for name, each in TABLE_FUNCTIONS.items() if each.is_called and "." not in name
            ),
        }
        return sorted((name, kind) for kind, listed in names.items() for name in listed)


class Indexes(RowsFunction):
    """indexes(): one row an index."""

    name = "indexes"
    schema = pa.schema(
        {
            "name": pa.string(),
            "table_name": pa.string(),
            "columns": pa.string(),
            "is_unique": pa.bool_(),
        }
    )

    def rows(self, call: FunctionCall) -> Iterator[Sequence[object]]:
        for table in call.catalog.tables.values():
            for index in table.definition.indexes:
                yield index.name, table.definition.name, _columns(index), index.unique


def _columns(index: Index) -> str:
    pairs = zip(index.columns, index.descending, strict=True)
    return ", ".join(f"{column} DESC" if descends else column for column, descends in pairs)


class Sequences(RowsFunction):
    """sequences(): one row a sequence, those of identity columns too."""

    name = "sequences"
    schema = pa.schema(
        {
            "name": pa.string(),
            "table_name": pa.string(),
            "column_name": pa.string(),
            "start_value": pa.int64(),
            "next_value": pa.decimal128(38, 0),
        }
    )

    def rows(self, call: FunctionCall) -> Iterator[Sequence[object]]:
        columns = {
            identity.sequence: (table.definition.name, identity.column)
            for table in call.catalog.tables.values()
            for identity in table.definition.identities
        }
        for name, sequence in call.catalog.sequences.items():
            start, (following, _) = sequence.options.start, sequence.position.read()
            yield name, *columns.get(name, (None, None)), start, Decimal(following)


class BoundFunction(TableFunction):
    """A function whose calls the binder reads itself, for they see the sources before them."""

    def __init__(self, name: str) -> None:
        self.name = name
