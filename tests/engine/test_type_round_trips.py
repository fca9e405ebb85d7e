"""UHUGEINT, BIT and TIME WITH TIME ZONE on disk, in files, in other libraries and as parameters."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

MOST = 2**128 - 1
TWO_AHEAD = dt.timezone(dt.timedelta(hours=2))
HALF_BEHIND = dt.timezone(-dt.timedelta(hours=3, minutes=30))
VALUES = {
    "BIT": ["0101", "1", None, "0" * 100, "10" * 300],
    "UHUGEINT": [MOST, 0, None, 2**127, 7],
    "TIMETZ": [
        *(dt.time(10, 0, tzinfo=TWO_AHEAD), dt.time(8, 0, tzinfo=dt.UTC), None),
        *(dt.time(23, 59, 59, 999999, HALF_BEHIND), dt.time(0, 0, tzinfo=dt.UTC)),
    ],
}


@pytest.fixture(params=VALUES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def con(tmp_path: Path, kind: str) -> raydb.Connection:
    """A database with a table of the values."""
    con = raydb.connect(tmp_path / "d.raydb")
    con.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, x {kind}, l {kind}[])")
    rows = [(place, value, [value]) for place, value in enumerate(VALUES[kind])]
    for place, value, values in rows:
        con.execute(f"INSERT INTO t VALUES (?, ?, CAST(? AS {kind}[]))", [place, value, values])
    return con


def values(con: raydb.Connection, table: str = "t") -> list[tuple[Any, ...]]:
    return con.execute(f"SELECT x, l FROM {table} ORDER BY id").fetchall()


def test_a_database_keeps_them(con: raydb.Connection, tmp_path: Path, kind: str) -> None:
    assert values(con) == [(value, [value]) for value in VALUES[kind]]
    con.execute("CHECKPOINT")
    con.close()
    con = raydb.connect(tmp_path / "d.raydb")
    assert values(con) == [(value, [value]) for value in VALUES[kind]]
    assert con.execute("SELECT x FROM t WHERE id = 3").fetchall() == [(VALUES[kind][3],)]
    found = con.execute("SELECT count(*) FROM t a JOIN t b ON a.x = b.x").fetchall()
    assert found == [(4,)]
    ordered = con.execute("SELECT x FROM t ORDER BY x").fetchall()
    con.execute("CREATE INDEX i ON t (x)")
    for number, (value,) in enumerate(ordered[:-1]):
        below = con.execute("SELECT count(*) FROM t WHERE x < ?", [value]).fetchall()
        same = con.execute("SELECT count(*) FROM t WHERE x = ?", [value]).fetchall()
        assert (below, same) == ([(number,)], [(1,)])


@pytest.mark.parametrize("ending", ["parquet", "arrow", "flat", "csv", "json"])
def test_files_keep_them(con: raydb.Connection, tmp_path: Path, ending: str, kind: str) -> None:
    file = tmp_path / f"f.{ending}"
    con.execute(f"COPY (SELECT id, x FROM t) TO '{file}'")
    con.execute(f"CREATE TABLE again (id INTEGER, x {kind}); COPY again FROM '{file}'")
    found = con.execute("SELECT x FROM again ORDER BY id").fetchall()
    assert found == [(value,) for value in VALUES[kind]]
    con.execute(f"EXPORT DATABASE '{tmp_path / 'export'}'; DROP TABLE t; DROP TABLE again")
    con.execute(f"IMPORT DATABASE '{tmp_path / 'export'}'")
    assert values(con) == [(value, [value]) for value in VALUES[kind]]


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_what_is_none_is_named(
    con: raydb.Connection, tmp_path: Path, ending: str, kind: str
) -> None:
    wrong = {"BIT": "'012'", "UHUGEINT": "-1", "TIMETZ": "'25:00+00'"}[kind]
    file = tmp_path / f"f.{ending}"
    con.execute(f"COPY (SELECT 5 AS id, {wrong} AS x) TO '{file}'")
    con.execute(f"CREATE TABLE again (id INTEGER, x {kind})")
    with pytest.raises(raydb.DataError, match=r"f\.\w+', .*\bx\b"):
        con.execute(f"COPY again FROM '{file}'")


def test_arrow(con: raydb.Connection, kind: str) -> None:
    table = con.execute("SELECT x, l FROM t ORDER BY id").to_arrow_table()
    expected = pa.decimal256(39, 0) if kind == "UHUGEINT" else pa.string()
    assert table.schema.types == [expected, pa.list_(expected)]
    found = con.execute(f'SELECT x::{kind}, l::{kind}[] FROM "table"').fetchall()
    assert found == [(value, [value]) for value in VALUES[kind]]


def test_times_that_are_no_parameters() -> None:
    con = raydb.connect()
    far = dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=20)))
    with pytest.raises(raydb.ProgrammingError, match="an offset is less than 16 hours"):
        con.execute("SELECT ?", [far])
