"""Random queries of nested values, enums, UUIDs, JSON, unsigned integers, moments and collations.

RayDB beside DuckDB, on tables in memory, in a directory that is opened anew and in Parquet files,
fused and general. RAYDB_FUZZ_SEED chooses others, RAYDB_FUZZ_TYPED how many.
"""

from __future__ import annotations

import math
import os
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from differential import answer, open_pair
from stars import SEED
from typed_queries import random_query
from typed_tables import KINDS, MOODS, NOT_IN_PARQUET, create, random_columns, random_insert

import raydb

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    from typed_tables import Column

CASES = int(os.environ.get("RAYDB_FUZZ_TYPED", "240"))
CASES_A_DATABASE = 40
PLACES = ("memory", "directory", "parquet")
ZONES = ("UTC", "America/New_York", "Europe/Berlin")


@pytest.mark.parametrize("number", range(-(-CASES // CASES_A_DATABASE)), ids="database-{}".format)
def test_answers_are_duckdbs(number: int, tmp_path: Path) -> None:
    rng = Random(f"typed {SEED} {number}")
    place = PLACES[number % len(PLACES)]
    names = [name for name in KINDS if place != "parquet" or name not in NOT_IN_PARQUET]
    columns = random_columns(rng, names)
    steps = [
        f"SET TimeZone = '{rng.choice(ZONES)}'",
        f"CREATE TYPE mood AS ENUM {MOODS!r}",
        *(create(table, columns) for table in ("a", "b")),
        *(random_insert(rng, table, columns) for table in ("a", "b")),
    ]
    theirs = open_theirs(steps)
    with open_ours(steps, columns, place, tmp_path) as ours:
        for _ in range(CASES_A_DATABASE):
            query = random_query(rng, columns)
            expected = answer(theirs, query.sql)
            for path in ("on", "off"):
                ours.execute(f"SET fused_path = '{path}'")
                found = answer(ours, query.sql)
                if not agree(found, expected, ordered=query.is_ordered):
                    script = ";\n".join((*steps, query.sql))
                    told = f"seed {SEED}, database {number} ({place}), fused_path {path}"
                    pytest.fail(f"{told}:\n{script};\n{found}\n{expected}", pytrace=False)
    theirs.close()


def open_theirs(steps: list[str]) -> duckdb.DuckDBPyConnection:
    """Return DuckDB with PostgreSQL's choices."""
    pair = open_pair()
    pair.ours.close()
    pair.theirs.execute("SET integer_division = true")
    pair.theirs.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'")
    for step in steps:
        pair.theirs.execute(step)
    return pair.theirs


def open_ours(
    steps: list[str], columns: list[Column], place: str, folder: Path
) -> raydb.Connection:
    """Return RayDB with the tables in memory, read from a directory, or as views of files."""
    con = raydb.connect(str(folder / "typed.raydb")) if place == "directory" else raydb.connect()
    for step in steps:
        con.execute(step)
    if place == "directory":
        con.execute("CHECKPOINT")
        con.close()
        con = raydb.connect(str(folder / "typed.raydb"))
        con.execute(steps[0])
    if place == "parquet":
        casts = ", ".join(f"{each.name}::{each.kind.type} AS {each.name}" for each in columns)
        for table in ("a", "b"):
            file = folder / f"{table}.parquet"
            con.execute(f"COPY {table} TO '{file}'")
            con.execute(f"DROP TABLE {table}")
            con.execute(f"CREATE VIEW {table} AS SELECT id, n, {casts} FROM '{file}'")
    return con


def agree(ours: Any, theirs: Any, *, ordered: bool) -> bool:
    """Compare two answers; what only one of both refuses is a difference.

    DuckDB has no semi join by a comparison of intervals, and says so.
    """
    if isinstance(theirs, str) and theirs.startswith("NotImplementedException"):
        return True
    if isinstance(ours, str) or isinstance(theirs, str):
        return isinstance(ours, str) and isinstance(theirs, str)
    found, expected = ([plain(row) for row in rows] for rows in (ours, theirs))
    if not ordered:
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    return found == expected


def plain(value: Any) -> Any:
    """Return a value whose `==` and `repr` are the same in both engines for the same value."""
    match value:
        case float() | Decimal():
            value = float(value)
            return "nan" if math.isnan(value) else float(f"{value:.12g}")
        case dict():
            return {key: plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _ if getattr(value, "tzinfo", None) is not None:
            return value.timestamp()
        case bool():
            return value
        case int():
            return float(value) if abs(value) < 2**53 else value
        case _:
            return value
