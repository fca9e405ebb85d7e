"""text_indexes(): the fts indexes, their words and their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.plan.table_function import OpenedFunction

if TYPE_CHECKING:
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.plan.table_function import FunctionCall

_SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "table_name": pa.string(),
        "column_name": pa.string(),
        "stemmer": pa.string(),
        "texts": pa.int64(),
        "words": pa.int64(),
        "terms": pa.int64(),
        "rows_beside": pa.int64(),
        "size_bytes": pa.int64(),
    }
)


class TextIndexes(OpenedFunction):
    """text_indexes(): one row an index."""

    name = "text_indexes"

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        snapshot = context.snapshot
        rows = [
            {
                "name": index.name,
                "table_name": table.name,
                "column_name": index.columns[0],
                "stemmer": index.text.stemmer or "none",
                "texts": found.text_count,
                "words": found.word_count,
                "terms": found.term_count,
                "rows_beside": table.row_count - found.row_count,
                "size_bytes": found.size_bytes,
            }
            for table in snapshot.tables.values()
            for index in table.definition.text_indexes
            if index.text is not None
            for found in (snapshot.text_indexes[index.name].get(),)
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)
