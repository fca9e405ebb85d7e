"""SUMMARIZE: a row of statistics for each column of a table or a query.

SUMMARIZE sales
SELECT column_name, max FROM (SUMMARIZE SELECT * FROM sales WHERE year = 2024)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.plan.nodes import Search
from raydb.planner.plan.table_function import ONE_ROW, SearchFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.engine.operators.relation import Relation
    from raydb.engine.operators.run import Sources
    from raydb.planner.expressions.nodes import Column
    from raydb.planner.plan.nodes import SearchRows
    from raydb.planner.plan.table_function import FunctionCall

_TEXT = pa.string()

# With DuckDB's names.
SUMMARY = pa.schema(
    [
        *(pa.field(name, _TEXT) for name in ("column_name", "column_type", "min", "max")),
        pa.field("approx_unique", pa.int64()),
        *(pa.field(name, _TEXT) for name in ("avg", "std", "q25", "q50", "q75")),
        pa.field("count", pa.int64()),
        pa.field("null_percentage", pa.decimal128(9, 2)),
    ]
)


class SummarizeFunction(SearchFunction):
    """What SUMMARIZE stands for."""

    name = "summarize"
    is_called = False

    def bind(self, call: FunctionCall) -> Search:
        assert call.rows is not None
        found = tuple(call.new_column(field.name, field.type) for field in SUMMARY)
        # Values of ENUM are codes while a plan runs, but not in what it only tells.
        described = pa.schema([(column.name, column.type) for column in call.rows.columns])
        return Search(self, ONE_ROW, call.rows, (), call.rows.columns, described, found)

    def rows_per_row(self, plan: Search) -> float:
        return float(len(plan.read))

    def run(self, plan: SearchRows, columns: Sequence[Column], sources: Sources) -> Relation:
        from raydb.engine.table_functions.summarize import (  # noqa: PLC0415  (few plans)
            summarized_rows,
        )

        return summarized_rows(plan, columns, sources)
