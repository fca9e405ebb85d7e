"""RayDB beside DuckDB: runs the same SQL in both, compares the rows, and shrinks a difference."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
from stars import Insert

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from star_queries import Query

    from raydb.engine.connection import Connection

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
        if not sql.startswith("CREATE BVH"):
            self.theirs.execute(sql)

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


def open_pair() -> Pair:
    """Return a pair of empty databases."""
    return Pair([], raydb.connect(), duckdb.connect(config={"threads": 1}))


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
    return Answers(fused, general, answer(pair.theirs, query.sql))


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

# A trial opens two databases (about 50 ms), so a difference is shrunk for 20 seconds at most.
MOST_TRIALS = 400


def shrunk(steps: list[Step], query: Query) -> tuple[list[Step], Answers]:
    """Return fewer steps, with fewer rows, on which the answers still differ in the same way."""
    found = differing(steps, query)
    assert found is not None, "the difference is gone on a fresh database"
    refusals = refused(found)
    trials = 0
    progress = True
    while progress:
        progress = False
        for fewer in smaller(steps):
            trials += 1
            less = differing(fewer, query)
            if less is not None and refused(less) == refusals:
                steps, found, progress = fewer, less, trials < MOST_TRIALS
                break
            if trials >= MOST_TRIALS:
                break
    return steps, found


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


def smaller(steps: list[Step]) -> Iterator[list[Step]]:
    """Yield the steps without one, and without parts of an insert's rows: large parts first."""
    for i in reversed(range(len(steps))):
        yield [*steps[:i], *steps[i + 1 :]]
    for i, step in enumerate(steps):
        if not isinstance(step, Insert) or len(step.rows) == 1:
            continue
        part = (len(step.rows) + 1) // 2
        while True:
            for start in range(0, len(step.rows), part):
                rows = step.rows[:start] + step.rows[start + part :]
                if rows:
                    yield [*steps[:i], replace(step, rows=rows), *steps[i + 1 :]]
            if part == 1:
                break
            part = (part + 1) // 2


def script(steps: list[Step]) -> str:
    """Return the steps as a SQL script."""
    texts = [step if isinstance(step, str) else step.sql for step in steps]
    return "".join(f"{text};\n" for text in texts)
