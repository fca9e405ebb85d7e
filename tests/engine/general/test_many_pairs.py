"""Joins of very many pairs: these are made some at a time, whatever memory there is."""

from __future__ import annotations

import random
import tracemalloc

import duckdb
import pytest

import raydb
from raydb.engine.operators.join import join

TABLES = """
    CREATE TABLE a AS SELECT range AS i, range % 7 AS k, 'a' || range % 5 AS s FROM range(2000);
    CREATE TABLE b AS SELECT range AS j, range % 3 AS m,
        CASE WHEN range % 4 > 0 THEN range * 0.5::DOUBLE END AS x FROM range(2000)
"""
PAIRS = 2000 * 2000


@pytest.fixture(scope="module")
def con():
    connection = raydb.connect()
    connection.execute(TABLES)
    return connection


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT count(*), max(i + j) FROM a, b", (PAIRS, 3998)),
        ("SELECT sum(1), count(s) FROM a CROSS JOIN b", (PAIRS, PAIRS)),
        ("SELECT count(*), sum(i) FROM a LEFT JOIN b ON i + j > 5", (PAIRS - 21, 3997999965)),
        ("SELECT count(*) FROM a, b WHERE i + j < 2", (3,)),
        ("SELECT max(n) FROM (SELECT k, m, count(*) AS n FROM a, b GROUP BY k, m) q", (190762,)),
    ],
)
def test_what_is_made_of_pairs_needs_not_all_of_them(con, pool, monkeypatch, sql, expected):
    """Two columns of the pairs would be 64 MB for Arrow, their numbers of rows as much beside."""
    monkeypatch.setattr(join, "_MANY_PAIRS", 2**16)
    tracemalloc.start()
    try:
        assert con.execute(sql).fetchall() == [expected]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pool.max_memory() < 30e6
    assert peak < 30e6


def test_a_stream_of_pairs_holds_some_of_them(con, pool, monkeypatch):
    monkeypatch.setattr(join, "_MANY_PAIRS", 2**16)
    counts = [batch.num_rows for batch in con.stream("SELECT i, j FROM a, b")]
    assert sum(counts) == PAIRS
    assert pool.max_memory() < 30e6


@pytest.mark.parametrize("kind", ["", "LEFT", "RIGHT", "FULL"])
@pytest.mark.parametrize("condition", ["true", "i < 5", "i < j", "k = m", "k = m AND i > j"])
def test_pairs_that_nobody_reads_are_counted(kind, condition):
    """So many of them could be made by nobody."""
    con = raydb.connect()
    con.execute(TABLES.replace("2000", "40"))
    duck = duckdb.connect()
    duck.execute(TABLES.replace("2000", "40"))
    sql = f"SELECT count(*) FROM a {kind} JOIN b ON {condition}"
    assert con.execute(sql).fetchall() == duck.execute(sql).fetchall()
    if condition in ("true", "i < j"):
        con.execute("DELETE FROM a; DELETE FROM b")
        con.execute("INSERT INTO a SELECT range, 0, '' FROM range(300000)")
        con.execute("INSERT INTO b SELECT range, 0, 0 FROM range(300000)")
        pairs = 300_000**2 if condition == "true" else 300_000 * 299_999 // 2
        alone = {"": 0, "FULL": 2}.get(kind, 1) if condition == "i < j" else 0
        assert con.execute(sql).fetchall() == [(pairs + alone,)]


CONDITIONS = ["true", "i < j", "k = m", "k = m AND i > j", "i + j > 30", "k = m AND x > i"]
VALUES = ["i", "s", "j", "x", "i + m", "coalesce(j, -1)"]
AGGREGATES = ["count(*)", "count({})", "sum(i + j)", "max({})", "min({})", "avg(j)"]


def test_rows_are_the_same_in_many_pieces(monkeypatch):
    """Each kind of join and of reader, against DuckDB, some pairs at a time."""
    monkeypatch.setattr(join, "_MANY_PAIRS", 100)
    draw = random.Random(11)
    con, duck = raydb.connect(), duckdb.connect()
    for each in (con, duck):
        each.execute(TABLES.replace("2000", "40"))
    for _ in range(60):
        kind = draw.choice(["", "LEFT", "RIGHT", "FULL"])
        rows = f"FROM a {kind} JOIN b ON {draw.choice(CONDITIONS)}"
        if draw.random() < 0.4:
            rows += f" WHERE {draw.choice(['i + coalesce(j, 0) > 40', 'k <> 3', 's IS NULL'])}"
        if draw.random() < 0.5:
            chosen = [draw.choice(AGGREGATES).format(draw.choice(VALUES)) for _ in range(2)]
            keys = draw.sample(["k", "m", "s", "i % 4"], draw.randrange(3))
            sql = f"SELECT {', '.join([*keys, *chosen])} {rows}"
            sql += f" GROUP BY {', '.join(keys)}" if keys else ""
        else:
            sql = f"SELECT {', '.join(draw.sample(VALUES, 3))} {rows}"
        found = sorted(con.execute(sql).fetchall(), key=repr)
        assert found == sorted(duck.execute(sql).fetchall(), key=repr), sql
