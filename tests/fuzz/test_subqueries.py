"""Subqueries, LATERAL and joins of every kind have DuckDB's answers over small random tables.

The queries are those of subqueries.sql. The tables have NULLs and duplicates, and one is empty.
Queries for which an answer depends on what only one of the engines has are in the golden files.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from differential import answer, open_pair, same
from stars import SEED

if TYPE_CHECKING:
    from differential import Pair

TABLES = 6
TEXT = Path(__file__).with_name("subqueries.sql").read_text(encoding="utf-8")
QUERIES = [
    query.strip()
    for query in "\n".join(line for line in TEXT.splitlines() if not line.startswith("--")).split(
        ";"
    )
    if query.strip()
]


def fill(pair: Pair, draw: random.Random) -> None:
    """Create the tables; n has rows and no NULL, e has no rows."""
    for table, second, most in (("a", "y", 8), ("b", "z", 8), ("e", "z", 0), ("n", "z", 6)):
        pair.run(f"CREATE TABLE {table} (x INTEGER, {second} INTEGER, s VARCHAR)")
        nulls = 0.0 if table == "n" else 0.2
        for _ in range(draw.randint(1 if table == "n" else 0, most)):
            cells = [str(draw.randint(0, 4)), str(draw.randint(0, 4)), repr(draw.choice("pqr"))]
            row = ", ".join("NULL" if draw.random() < nulls else cell for cell in cells)
            pair.run(f"INSERT INTO {table} VALUES ({row})")


@pytest.mark.parametrize(
    "number", [0, 1, *(pytest.param(number, marks=pytest.mark.long) for number in range(2, TABLES))]
)
def test_answers_are_those_of_duckdb(number: int) -> None:
    pair = open_pair()
    fill(pair, random.Random(f"{SEED} {number}"))
    wrong = []
    for query in QUERIES:
        ours, theirs = answer(pair.ours, query), answer(pair.theirs, query)
        assert not isinstance(ours, str), f"{query}: {ours}"
        if not same(ours, theirs, ordered=False):
            wrong.append(f"{query}\n  RayDB:  {ours}\n  DuckDB: {theirs}")
    pair.close()
    if wrong:
        pytest.fail("\n".join([*map(str, pair.steps), *wrong]), pytrace=False)
