"""Counts and the ends of whole tables are known without a scan, and are what the rows tell."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import raydb

ROWS = 3_000
CREATE = (
    "CREATE TABLE sale (id INTEGER NOT NULL, size SMALLINT, far BIGINT, big UBIGINT, sold DATE,"
    " at TIMESTAMP, amount DECIMAL(9, 2), wide DECIMAL(38, 2), weight DOUBLE, mode VARCHAR,"
    " nothing INTEGER)"
)
NAMES = (
    "id", "size", "far", "big", "sold", "at", "amount", "wide", "weight", "mode", "nothing",
)  # fmt: skip
KNOWN = ("id", "size", "far", "sold", "at", "amount", "nothing")


def rows_of(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    mask = rng.random(ROWS) < 0.2
    numbers = rng.integers(-900, 900, ROWS)
    return pa.table(
        {
            "id": pa.array(rng.integers(0, 2**31 - 1, ROWS), pa.int32()),
            "size": pa.array(numbers, pa.int16(), mask=mask),
            "far": pa.array(rng.integers(-(2**62), 2**62, ROWS), mask=mask),
            "big": pa.array(rng.integers(0, 2**64 - 1, ROWS, np.uint64), mask=mask),
            "sold": pa.array(numbers, pa.int32(), mask=mask).view(pa.date32()),
            "at": pa.array(numbers * 10**9, pa.int64(), mask=mask).view(pa.timestamp("us")),
            "amount": pa.array([Decimal(int(n)) / 100 for n in numbers], pa.decimal128(9, 2)),
            "wide": pa.array([Decimal(int(n)) * 10**20 for n in numbers], pa.decimal128(38, 2)),
            "weight": pa.array(np.where(mask, np.nan, numbers / 7)),
            "mode": pa.array([f"mode {n % 7}" for n in numbers], mask=mask),
            "nothing": pa.nulls(ROWS, pa.int32()),
        }
    )


def insert(con: raydb.Connection, seed: int) -> None:
    con.register("given", rows_of(seed))
    con.execute("INSERT INTO sale SELECT * FROM given")
    con.unregister("given")


@pytest.fixture(params=["in memory", "on disk", "both"])
def con(request, tmp_path, monkeypatch):
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    path = ":memory:" if request.param == "in memory" else str(tmp_path / "shop.raydb")
    with raydb.connect(path) as connection:
        connection.execute(CREATE)
        for seed in (1, 2):
            insert(connection, seed)
            if request.param != "in memory":
                connection.execute("CHECKPOINT")
        if request.param == "both":
            insert(connection, 3)
        yield connection


def asked(con: raydb.Connection, name: str) -> tuple[str, list[tuple[object, ...]]]:
    """Return how a query for the ends of a column ran, and its answer."""
    query = f"SELECT count(*), count({name}), min({name}), max({name}) FROM sale"
    ran = "\n".join(line for (line,) in con.execute(f"EXPLAIN ANALYZE {query}").fetchall())
    return ran, con.execute(query).fetchall()


def general(con: raydb.Connection, name: str) -> list[tuple[object, ...]]:
    """Return the same from all rows, by a condition that nobody can tell to be true."""
    return con.execute(
        f"SELECT count(*), count({name}), min({name}), max({name}) FROM sale "
        "WHERE id + random() > -1"
    ).fetchall()


@pytest.mark.parametrize("name", NAMES)
def test_ends_are_those_of_the_rows(con, name):
    ran, found = asked(con, name)
    assert str(found) == str(general(con, name))
    assert ("what is known of the table" in ran) == (name in KNOWN), ran


@pytest.mark.parametrize("name", ["id", "size", "amount"])
def test_of_masked_rows_only_the_counts_are_known(con, name):
    con.execute("DELETE FROM sale WHERE id % 3 = 0 OR id > 2000000000")
    ran, found = asked(con, name)
    assert str(found) == str(general(con, name))
    assert "what is known of the table" not in ran
    for place, call in enumerate(("count(*)", f"count({name})")):
        query = f"SELECT {call} FROM sale"
        lines = con.execute(f"EXPLAIN ANALYZE {query}").fetchall()
        assert any("what is known of the table" in line for (line,) in lines)
        assert con.execute(query).fetchone()[0] == found[0][place]


def test_a_repeated_query_sees_new_rows_and_changed_ones(con):
    query = "SELECT count(*), min(size), max(sold) FROM sale"
    (count, *_) = con.execute(query).fetchone()
    con.execute("INSERT INTO sale (id, size, sold) VALUES (7, -5000, DATE '2999-01-01')")
    assert con.execute(query).fetchone() == (count + 1, -5000, dt.date(2999, 1, 1))
    con.execute("UPDATE sale SET size = -6000 WHERE size = -5000")
    assert con.execute(query).fetchone() == (count + 1, -6000, dt.date(2999, 1, 1))
    con.execute("BEGIN; INSERT INTO sale (id) VALUES (8)")
    assert con.execute(query).fetchone()[0] == count + 2
    con.execute("ROLLBACK")
    assert con.execute(query).fetchone()[0] == count + 1
    con.execute("TRUNCATE sale")
    assert con.execute(query).fetchone() == (0, None, None)


def test_columns_that_a_file_lacks_are_null(con):
    con.execute("ALTER TABLE sale ADD COLUMN later INTEGER")
    con.execute("ALTER TABLE sale RENAME COLUMN size TO length")
    ran, found = asked(con, "later")
    assert found[0][1:] == (0, None, None)
    assert "what is known of the table" in ran
    assert asked(con, "length")[1] == general(con, "length")
    con.execute("INSERT INTO sale (id, later) VALUES (1, 4)")
    assert asked(con, "later")[1][0][1:] == (1, 4, 4)


def test_what_rows_must_tell_is_asked_of_them(con):
    for query in (
        "SELECT count(DISTINCT size) FROM sale",
        "SELECT count(*) FILTER (WHERE size > 3) FROM sale",
        "SELECT max(size + 1) FROM sale",
        "SELECT min(size) FROM sale WHERE size > 3",
        "SELECT mode, max(size) FROM sale GROUP BY mode",
    ):
        lines = con.execute(f"EXPLAIN ANALYZE {query}").fetchall()
        assert not any("what is known of the table" in line for (line,) in lines), query
