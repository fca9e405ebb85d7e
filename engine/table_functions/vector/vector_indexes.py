"""vector_indexes(): the ivf and hnsw indexes, their lists and their size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.planner.plan.table_function import OpenedFunction

if TYPE_CHECKING:
    from raydb.engine.context.statement_context import StatementContext
    from raydb.planner.plan.table_function import FunctionCall
    from raydb.storage.tables.table import Index

_SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "table_name": pa.string(),
        "column_name": pa.string(),
        "method": pa.string(),
        "metric": pa.string(),
        "lists": pa.int64(),
        "vectors": pa.int64(),
        "rows_beside": pa.int64(),
        "null_vectors": pa.int64(),
        "size_bytes": pa.int64(),
        "options": pa.string(),
    }
)


class VectorIndexes(OpenedFunction):
    """vector_indexes(): one row an index."""

    name = "vector_indexes"

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        snapshot = context.snapshot
        rows = [
            {
                "name": index.name,
                "table_name": table.name,
                "column_name": index.columns[0],
                "method": index.ivf.method,
                "metric": arrays.metric,
                "lists": arrays.list_count,
                "vectors": len(arrays.row_ids),
                "rows_beside": table.row_count - arrays.row_count,
                "null_vectors": table.null_count(index.columns[0]),
                "size_bytes": arrays.size_bytes,
                "options": _ivf_options(index),
            }
            for table in snapshot.tables.values()
            for index in table.definition.ivf_indexes
            if index.ivf is not None
            for arrays in (snapshot.vector_indexes[index.name].get(),)
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)


def _ivf_options(index: Index) -> str:
    """Return the options of an index as CREATE INDEX ... WITH can read them back."""
    assert index.ivf is not None
    options = [f"metric = '{index.ivf.metric}'", f"seed = {index.ivf.seed}"]
    if index.ivf.lists:
        options.insert(0, f"lists = {index.ivf.lists}")
    if index.ivf.quantization != "none":
        options.append(f"quantization = '{index.ivf.quantization}'")
    if index.ivf.m:
        options += [f"m = {index.ivf.m}", f"ef_construction = {index.ivf.ef_construction}"]
    return ", ".join(options)
