"""ASOF joins of random tables against DuckDB, and within little memory against themselves."""

from __future__ import annotations

import os
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from stars import SEED

import raydb

TABLES = int(os.environ.get("RAYDB_FUZZ_ASOF", "12"))


def random_rows(rng: Random, most: int) -> pa.Table:
    """Return distinct rows (k, t), NULLs among them, with their numbers."""
    cells = {
        (rng.choice([None, 1, 2, 3, 4]), rng.choice([None, *range(12)]))
        for _ in range(rng.randint(0, most))
    }
    rows = sorted(cells, key=repr)
    rng.shuffle(rows)
    ks = pa.array([k for k, _ in rows], pa.int32())
    ts = pa.array([t for _, t in rows], pa.int64())
    return pa.table({"n": pa.array(range(len(rows)), pa.int32()), "k": ks, "t": ts})


@pytest.mark.parametrize("number", range(TABLES))
@pytest.mark.parametrize("kind", ["INTEGER", "DOUBLE", "VARCHAR", "TIMESTAMP"])
def test_duckdb_answers_the_same(number: int, kind: str) -> None:
    rng = Random(f"{SEED} {number} {kind}")
    a, b = random_rows(rng, 40), random_rows(rng, 25)
    con, peer = raydb.connect(), duckdb.connect()
    value = {
        "TIMESTAMP": "TIMESTAMP '2024-01-01' + t * INTERVAL '1 day'",
        "VARCHAR": "chr((t + 65)::INTEGER)",
    }.get(kind, f"t::{kind}")
    for name, rows in (("a", a), ("b", b)):
        con.register("rows", rows)
        peer.register("rows", rows)
        for each in (con, peer):
            each.execute(f"CREATE TABLE {name} AS SELECT n, k, {value} AS t FROM rows")
    for comparison in (">=", ">", "<=", "<"):
        for join in ("ASOF JOIN", "ASOF LEFT JOIN"):
            for keys in ("a.k = b.k AND", "a.k + 1 = b.k AND a.n % 3 = b.n % 3 AND"):
                on = f"{keys} a.t {comparison} b.t"
                query = f"SELECT a.n, b.n FROM a {join} b ON {on} ORDER BY 1, 2"
                assert con.execute(query).fetchall() == peer.execute(query).fetchall(), query


@pytest.mark.parametrize("keys", ["a.k = b.k AND ", ""])
def test_little_memory_changes_no_answer(keys: str) -> None:
    rng = np.random.default_rng(SEED)
    count = 400_000
    con = raydb.connect()
    for name in ("a", "b"):
        times = rng.permutation(4 * count)[:count]
        con.register(name, pa.table({"k": rng.integers(0, 3, count), "t": times}))
    query = (
        "SELECT count(*), count(b.t), sum(a.t - b.t), sum(a.t * (b.t % 1000))"
        f" FROM a ASOF LEFT JOIN b ON {keys}a.t > b.t"
    )
    expected = con.execute(query).fetchall()
    con.execute("SET memory_limit = '12 MB'")
    assert con.execute(query).fetchall() == expected
