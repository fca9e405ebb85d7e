"""The workload of a database as its history has it, and which BVHs it asks for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from raydb.engine.shell.script import is_query, read_script
from raydb.engine.ui.runs import gives_rows_late
from raydb.errors import Error
from raydb.planner.explain import FUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from raydb.engine.api.connection import Connection

# The newest queries of the history are the workload.
MAX_QUERIES = 100


def advise(connection: Connection, texts: Iterable[str]) -> dict[str, Any]:
    """Return the queries of some texts that aggregate in this database, and the BVHs for them.

    texts: as somebody ran them, the newest first; other databases may be meant.
    """
    queries = _workload(connection, texts)
    if not queries:
        return {"queries": [], "proposals": [], "refused": []}
    cursor = connection.execute("SELECT * FROM advise_bvh(?)", [";\n".join(queries)])
    rows = cursor.to_arrow_table().to_pylist()
    return {
        "queries": queries,
        "proposals": [row for row in rows if row["statement"] is not None],
        "refused": [
            {"query": number, "reason": row["reason"]}
            for row in rows
            if row["statement"] is None
            for number in row["queries"]
        ],
    }


def _workload(connection: Connection, texts: Iterable[str]) -> list[str]:
    """Return the aggregating queries of texts that this database understands, each once."""
    found: dict[str, None] = {}
    for text in texts:
        for piece in read_script(text):
            sql = piece.text.rstrip("; \n")
            if piece.is_command or sql in found or not is_query(sql) or not gives_rows_late(sql):
                continue
            if _aggregates(connection, sql):
                found[sql] = None
            if len(found) == MAX_QUERIES:
                return list(found)
    return list(found)


def _aggregates(connection: Connection, sql: str) -> bool:
    """Tell whether a query runs here, and aggregates."""
    try:
        row = connection.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchone()
    except Error:
        return False
    assert row is not None
    return any(name in FUSED or "Aggregate" in name for name in _nodes(json.loads(row[0])["plan"]))


def _nodes(node: Mapping[str, Any]) -> Iterator[str]:
    yield node["node"]
    for child in node["children"]:
        yield from _nodes(child)
