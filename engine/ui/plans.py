"""How a query runs: its plan with what texts say of each step, its pictures, and a comparison."""

from __future__ import annotations

import json
import re
import time
from statistics import median
from typing import TYPE_CHECKING, Any

from raydb.engine.shell.script import is_query, read_script
from raydb.errors import ProgrammingError
from raydb.planner.explain import FUSED, details_of

if TYPE_CHECKING:
    from raydb.engine.api.connection import Connection

# Where the page of EXPLAIN (FORMAT HTML) has what it draws.
_PICTURES = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)

# A query is repeated so often for its time, unless it takes longer than that together.
REPEATS = 5
_ENOUGH_S = 2.0
# What a query without BVHs may take before nobody waits for it any more.
LONGEST_MS = 60_000


def plan_of(connection: Connection, sql: str, *, measures: bool) -> dict[str, Any]:
    """Return the plan of a query and its pictures; it runs if it is measured.

    Raises ProgrammingError for what is no query.
    """
    _check(sql)
    analyze = "ANALYZE, " if measures else ""
    described = _explained(connection, f"EXPLAIN ({analyze}FORMAT JSON) {sql}")
    found: dict[str, Any] = json.loads(described)
    drawn = _PICTURES.search(_explained(connection, f"EXPLAIN (FORMAT HTML) {sql}"))
    return {
        "path": found["path"],
        "reasons": found["reasons"],
        "time_ms": found.get("time_ms"),
        "plan": _node(found["plan"]),
        "pictures": json.loads(drawn[1]) if drawn else [],
    }


def compare(connection: Connection, sql: str) -> dict[str, Any]:
    """Return the times of a query on BVHs and without them, in milliseconds.

    new_ms: of the first run; repeated_ms: the median of those after it, None where one is enough.
    """
    _check(sql)
    try:
        connection.execute(f"SET max_execution_time = {LONGEST_MS}")
        return {
            name: _times(connection, sql, fused_path=switch)
            for name, switch in (("with", "on"), ("without", "off"))
        }
    finally:
        for name in ("fused_path", "max_execution_time"):
            connection.execute(f"RESET {name}")


def _times(connection: Connection, sql: str, *, fused_path: str) -> dict[str, Any]:
    connection.execute(f"SET fused_path = '{fused_path}'")
    path = json.loads(_explained(connection, f"EXPLAIN (FORMAT JSON) {sql}"))["path"]
    times: list[float] = []
    while len(times) <= REPEATS and sum(times) < 1000 * _ENOUGH_S:
        start = time.perf_counter()
        connection.execute(sql)
        times.append((time.perf_counter() - start) * 1000)
    first, *others = times
    return {"path": path, "new_ms": first, "repeated_ms": median(others) if others else None}


def _check(sql: str) -> None:
    if len(read_script(sql)) != 1 or not is_query(sql):
        raise ProgrammingError(
            "a plan is shown of a query alone; EXPLAIN describes other statements"
        )


def _explained(connection: Connection, sql: str) -> str:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return str(row[0])


def _node(node: dict[str, Any]) -> dict[str, Any]:
    """Return a step with what texts say of it, and the steps that it reads from."""
    return {
        "name": node["node"],
        "summary": node["summary"],
        "is_fused": node["node"] in FUSED,
        "time_ms": node.get("time_ms"),
        "lines": [[name, str(value)] for name, value in details_of(node).items()],
        "children": [_node(child) for child in node["children"]],
    }
