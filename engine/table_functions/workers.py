"""workers(): the workers of the connection's cluster, as they are at this moment."""

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
        "address": pa.string(),
        "state": pa.string(),
        "version": pa.string(),
        "process": pa.int64(),
        "memory_bytes": pa.int64(),
        "cached_bytes": pa.int64(),
        "cached_segments": pa.int64(),
        "calls": pa.int64(),
    }
)


class Workers(OpenedFunction):
    """workers(): one row a worker, none without a cluster; one that does not answer is 'lost'."""

    name = "workers"

    def open(self, call: FunctionCall, context: StatementContext) -> pa.Table:
        cluster = context.queries.cluster
        return pa.Table.from_pylist([] if cluster is None else cluster.about(), _SCHEMA)
