"""json_transform and json_structure give what DuckDB gives, for JSON that fits and other JSON."""

from __future__ import annotations

import json
import random
from typing import Any

import duckdb
import pytest
from stars import SEED

import raydb

LEAVES = ("INTEGER", "BIGINT", "UTINYINT", "VARCHAR", "DOUBLE", "BOOLEAN", "DATE")


def some_structure(rng: random.Random, depth: int = 0) -> Any:
    choice = rng.random()
    if depth > 2 or choice < 0.5:
        return rng.choice(LEAVES)
    if choice < 0.7:
        return [some_structure(rng, depth + 1)]
    return {name: some_structure(rng, depth + 1) for name in rng.sample("abcd", rng.randint(1, 3))}


def some_json(rng: random.Random, structure: Any) -> Any:
    """Return JSON that mostly has a structure."""
    if rng.random() < 0.15:
        return rng.choice([None, 7, "x", [1, "2"], {"a": None}, True, -2.5, {}, []])
    if isinstance(structure, list):
        return [some_json(rng, structure[0]) for _ in range(rng.randrange(4))]
    if isinstance(structure, dict):
        kept = [name for name in structure if rng.random() < 0.9]
        return {name: some_json(rng, structure[name]) for name in kept}
    match structure:
        case "DATE":
            return rng.choice(["2024-02-29", "2024-02-30", "x"])
        case "BOOLEAN":
            return rng.choice([True, False, "true", 1, 0])
        case "VARCHAR":
            return rng.choice(["x", "it's", "é", "", 7, True])
        case "DOUBLE":
            return rng.choice([1.5, -2, "3.25", 0])
        case _:
            return rng.choice([0, 7, 255, 256, "42", 12.25, -1, "x"])


@pytest.mark.parametrize("number", range(5))
def test_json_has_the_values_that_duckdb_reads(number: int) -> None:
    rng = random.Random(f"{SEED} {number}")
    con, rival = raydb.connect(), duckdb.connect()
    for _ in range(20):
        structure = some_structure(rng)
        texts = [json.dumps(some_json(rng, structure)) for _ in range(8)]
        rows = ", ".join("('" + text.replace("'", "''") + "')" for text in texts)
        shape = json.dumps(structure)
        for function in (f"json_transform(j, '{shape}')", "json_structure(j)"):
            query = f"SELECT j, {function} FROM (VALUES {rows}) v (j) ORDER BY j"
            theirs = rival.execute(query).fetchall()
            assert con.execute(query).fetchall() == theirs, (shape, texts)
