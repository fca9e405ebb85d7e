"""RayDB beside DuckDB: runs the same SQL in both, compares the rows, and shrinks a difference."""

from __future__ import annotations

import json
import math
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
from stars import Insert

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from star_queries import Query

    from raydb.engine.api.connection import Connection

Row = tuple[Any, ...]
# DDL as text, rows as values; what has run before a query, in order.
Step = str | Insert


@dataclass(slots=True)
class Pair:
    """The same database in both engines, and the steps that made it."""

    steps: list[Step]
    ours: Connection
    theirs: duckdb.DuckDBPyConnection

    def run(self, step: Step) -> None:
        """Run a step in both engines; only RayDB knows BVHs."""
        self.steps.append(step)
        sql = step if isinstance(step, str) else step.sql
        self.ours.execute(sql)
        if not sql.startswith(("CREATE BVH", "DROP BVH")):
            self.theirs.execute(sql)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


# DuckDB's optimizers that make a join of `FROM a, b WHERE a.x = b.x`. The others only save time
# here, and DuckDB 2.0.0 has wrong answers with them: `a IN (1, NULL)` behind a join finds other
# values of `a`, and so does `(a IN (84) AND a = 74) OR a = 100000` on a SMALLINT.
KEPT_OPTIMIZERS = ("filter_pushdown", "join_order")


def open_pair() -> Pair:
    """Return a pair of empty databases."""
    theirs = duckdb.connect(config={"threads": 1, "memory_limit": "2GB", "temp_directory": ""})
    _keep_few_optimizers(theirs)
    return Pair([], raydb.connect(), theirs)


def _keep_few_optimizers(theirs: duckdb.DuckDBPyConnection) -> None:
    names = [name for (name,) in theirs.execute("SELECT name FROM duckdb_optimizers()").fetchall()]
    disabled = ",".join(name for name in names if name not in KEPT_OPTIMIZERS)
    theirs.execute(f"SET disabled_optimizers = '{disabled}'")


def path_of(pair: Pair, query: Query) -> str:
    """Return the path that EXPLAIN names: fused or general."""
    (text,) = pair.ours.execute(f"EXPLAIN (FORMAT JSON) {query.sql}").fetchone()
    return str(json.loads(text)["path"])


@dataclass(frozen=True, slots=True)
class Answers:
    """What was answered: rows, or the text of an error."""

    fused: list[Row] | str
    general: list[Row] | str
    duckdb: list[Row] | str


def answers(pair: Pair, query: Query) -> Answers:
    """Run a query as it is, without BVHs, and in DuckDB."""
    fused = answer(pair.ours, query.sql)
    pair.ours.execute("SET fused_path = 'off'")
    general = answer(pair.ours, query.sql)
    pair.ours.execute("SET fused_path = 'on'")
    return Answers(fused, general, duckdb_answer(pair.theirs, query.sql))


def duckdb_answer(theirs: duckdb.DuckDBPyConnection, sql: str) -> list[Row] | str:
    """Return DuckDB's answer, with all optimizers where its product of tables is too large."""
    found = answer(theirs, sql)
    if isinstance(found, str) and found.startswith("OutOfMemoryException"):
        with every_optimizer(theirs):
            found = answer(theirs, sql)
    return found


@contextmanager
def every_optimizer(theirs: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let DuckDB plan as it does by default: what does not fit its memory ends its transaction."""
    theirs.execute("SET disabled_optimizers = ''")
    yield
    _keep_few_optimizers(theirs)


def difference(found: Answers, query: Query) -> bool:
    """Say whether one of RayDB's answers is not DuckDB's."""
    return not all(same(ours, found.duckdb, query.ordered) for ours in (found.fused, found.general))


def answer(connection: Any, sql: str) -> list[Row] | str:
    try:
        return list(connection.execute(sql).fetchall())
    except (raydb.Error, duckdb.Error) as error:
        return f"{type(error).__name__}: {error}"


def same(left: list[Row] | str, right: list[Row] | str, ordered: bool) -> bool:
    """Compare rows, sorted unless `ordered`; a query that only one engine refuses is different."""
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str)
    if len(left) != len(right):
        return False
    if not ordered:
        # Doubles come last: they may differ in the last digits, the other values may not.
        inexact = {i for row in left + right for i, value in enumerate(row) if type(value) is float}
        left = sorted(left, key=lambda row: sort_key(row, inexact))
        right = sorted(right, key=lambda row: sort_key(row, inexact))
    return all(
        len(ours) == len(theirs) and all(map(same_value, ours, theirs))
        for ours, theirs in zip(left, right, strict=True)
    )


def sort_key(row: Row, inexact: set[int]) -> tuple[Any, ...]:
    order = sorted(range(len(row)), key=lambda i: i in inexact)
    return tuple((row[i] is None, 0 if row[i] is None else row[i]) for i in order)


def same_value(left: Any, right: Any) -> bool:
    """Compare values: doubles within 1e-9 of each other, all else exactly.

    An average of decimals is a DOUBLE in DuckDB, so a decimal may meet a double.
    """
    if left is None or right is None:
        return left is right
    if isinstance(left, float) or isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    number = int | Decimal
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, number) != isinstance(right, number):
        return False
    return bool(left == right)


# Shrinking

# A trial opens two databases (about 50 ms), so a difference is shrunk for about 15 seconds at most.
MAX_TRIALS = 300


def shrunk(steps: list[Step], query: Query) -> tuple[list[Step], Answers]:
    """Return fewer steps, with fewer rows, on which the answers still differ in the same way.

    Leaves out ever smaller parts, the last first: rows before the rows that they refer to.
    """
    found = differing(steps, query)
    assert found is not None, "the difference is gone on a fresh database"
    refusals = refused(found)
    trials = 0
    part = end = part_count(steps)
    while part > 0:
        while end > 0 and trials < MAX_TRIALS:
            trials += 1
            start = max(end - part, 0)
            fewer = without(steps, start, end)
            less = differing(fewer, query)
            if less is not None and refused(less) == refusals:
                steps, found = fewer, less
            end = start
        part, end = part // 2, part_count(steps)
    return steps, found


def part_count(steps: list[Step]) -> int:
    """Return the number of parts that can be left out: statements, and rows of an INSERT."""
    return sum(1 if isinstance(step, str) else len(step.rows) for step in steps)


def without(steps: list[Step], start: int, end: int) -> list[Step]:
    """Return the steps without the parts from `start` to `end`."""
    kept: list[Step] = []
    number = 0
    for step in steps:
        parts = (step,) if isinstance(step, str) else step.rows
        left = [part for i, part in enumerate(parts, number) if not start <= i < end]
        number += len(parts)
        if left:
            kept.append(step if isinstance(step, str) else replace(step, rows=tuple(left)))
    return kept


def refused(found: Answers) -> tuple[bool, ...]:
    return tuple(isinstance(one, str) for one in (found.fused, found.general, found.duckdb))


def differing(steps: list[Step], query: Query) -> Answers | None:
    """Return the answers on a fresh database, or None where they agree or a step fails."""
    pair = open_pair()
    try:
        for step in steps:
            pair.run(step)
        found = answers(pair, query)
    except (raydb.Error, duckdb.Error):
        return None
    finally:
        pair.close()
    return found if difference(found, query) else None


def script(steps: list[Step]) -> str:
    """Return the steps as a SQL script."""
    texts = [step if isinstance(step, str) else step.sql for step in steps]
    return "".join(f"{text};\n" for text in texts)
