"""Random set operations, WITH, grouping sets and DISTINCT ON against DuckDB's answers."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pytest

import raydb

CASES = 150
ROWS = 12


def tables(rng: random.Random) -> list[str]:
    """Return the statements that make two small tables with NULLs and duplicates."""
    statements = []
    for name in ("p", "q"):
        rows = ", ".join(
            f"({rng.choice(['NULL', '0', '1', '2'])}, {rng.choice(['NULL', '1', '2', '3'])},"
            f" {rng.choice(['NULL', repr('x'), repr('y')])})"
            for _ in range(rng.randrange(1, ROWS))
        )
        statements += [
            f"CREATE TABLE {name} (a INTEGER, b INTEGER, c VARCHAR)",
            f"INSERT INTO {name} VALUES {rows}",
        ]
    return statements


def simple(rng: random.Random, names: list[str]) -> str:
    where = rng.choice(["", "", " WHERE a > 0", " WHERE b IS NULL", " WHERE false"])
    distinct = rng.choice(["", "", "DISTINCT "])
    return f"SELECT {distinct}a, b, c FROM {rng.choice(names)}{where}"


def set_query(rng: random.Random, names: list[str], depth: int) -> str:
    if depth == 0:
        return simple(rng, names)
    word = rng.choice(["UNION", "INTERSECT", "EXCEPT"]) + rng.choice(["", " ALL"])
    sides = [set_query(rng, names, rng.randrange(depth)) for _ in range(2)]
    sides = [f"({side})" if rng.random() < 0.5 else side for side in sides]
    return f" {word} ".join(sides)


def grouped_query(rng: random.Random, names: list[str]) -> str:
    sets = rng.choice(
        [
            "ROLLUP (a, b)",
            "CUBE (a, c)",
            "GROUPING SETS ((a, b), (c), ())",
            "a, ROLLUP (b, c)",
            "ROLLUP (a), CUBE (b)",
            "ALL",
        ]
    )
    if sets == "ALL":
        return f"SELECT a, c, count(*), sum(b) FROM {rng.choice(names)} GROUP BY ALL"
    keys = [name for name in "abc" if name in sets.replace("CUBE", "").replace("ALL", "")]
    listed = ", ".join(keys)
    having = rng.choice(["", " HAVING count(*) > 1"])
    return (
        f"SELECT {listed}, count(*), sum(b), max(c), GROUPING({listed})"
        f" FROM {rng.choice(names)} GROUP BY {sets}{having}"
    )


def query(rng: random.Random) -> str:
    names = ["p", "q"]
    prefix = ""
    if rng.random() < 0.5:
        hint = rng.choice(["", "MATERIALIZED ", "NOT MATERIALIZED "])
        prefix = f"WITH r AS {hint}({set_query(rng, names, 1)}) "
        names = [*names, "r", "r"]
    match rng.randrange(4):
        case 0:
            return prefix + grouped_query(rng, names)
        case 1:
            return (
                f"{prefix}SELECT DISTINCT ON (a) a, b FROM {rng.choice(names)}"
                " ORDER BY a NULLS LAST, b NULLS LAST"
            )
        case 2:
            left, right = rng.choice(names), rng.choice(names)
            return (
                f"{prefix}SELECT x.a, y.b, count(*) FROM {left} x, {right} y"
                " WHERE x.a = y.b GROUP BY ALL"
            )
        case _:
            return prefix + set_query(rng, names, 3)


def answer(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row) for row in rows)


@pytest.mark.parametrize("seed", range(CASES))
def test_shape(seed: int) -> None:
    rng = random.Random(seed)
    ours, theirs = raydb.connect(), duckdb.connect()
    for statement in tables(rng):
        ours.execute(statement)
        theirs.execute(statement)
    for _ in range(3):
        sql = query(rng)
        expected = answer(theirs.execute(sql).fetchall())
        assert answer(ours.execute(sql).fetchall()) == expected, sql
