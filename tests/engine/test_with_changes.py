"""Statements whose WITH changes rows: parameters, prepared statements, and what is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

MOVE = (
    "WITH gone AS (DELETE FROM t WHERE i = {} RETURNING i) INSERT INTO log SELECT i, {} FROM gone"
)


@pytest.fixture
def con() -> raydb.Connection:
    con = raydb.connect()
    con.execute("CREATE TABLE t (i INTEGER)")
    con.execute("CREATE TABLE log (i INTEGER, why VARCHAR)")
    con.execute("INSERT INTO t VALUES (1), (2), (3), (4)")
    return con


def test_parameters_go_to_the_part_that_has_them(con: raydb.Connection) -> None:
    con.execute(MOVE.format("?", "?"), [1, "old"])
    con.execute(MOVE.format("$i", "$Why"), {"i": 2, "why": "gone"})
    con.executemany(MOVE.format("$2", "$1"), [("many", 3), ("many", 4)])
    rows = [(1, "old"), (2, "gone"), (3, "many"), (4, "many")]
    assert con.execute("FROM log ORDER BY i").fetchall() == rows
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([1], "2 parameters, but 1 value"),
        ([1, "a", 2], "2 parameters, but 3 values"),
        ({"i": 1}, "needs a sequence"),
    ],
)
def test_wrong_parameters_are_told_before_a_part_runs(
    con: raydb.Connection, values: list[object] | dict[str, object], told: str
) -> None:
    with pytest.raises(raydb.ProgrammingError, match=told):
        con.execute(MOVE.format("?", "?"), values)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (4,)


def test_a_prepared_statement_runs_again(con: raydb.Connection) -> None:
    con.execute(f"PREPARE move AS {MOVE.format('$1', '$2')} RETURNING *")
    assert con.execute("EXECUTE move(3, 'x')").fetchall() == [(3, "x")]
    assert con.execute("EXECUTE move(4, 'y')").fetchall() == [(4, "y")]
    assert con.execute("EXECUTE move(4, 'z')").fetchall() == []


def test_what_a_part_has_changed_is_undone(tmp_path: Path) -> None:
    with raydb.connect(tmp_path / "shop.raydb") as con:
        con.execute("CREATE TABLE t (i INTEGER PRIMARY KEY)")
        con.execute("INSERT INTO t VALUES (1)")
        text = (
            "WITH new AS (INSERT INTO t VALUES (2) RETURNING i) INSERT INTO t SELECT i - 1 FROM new"
        )
        with pytest.raises(raydb.IntegrityError):
            con.execute(text)
        con.execute("BEGIN")
        con.execute("INSERT INTO t VALUES (5)")
        with pytest.raises(raydb.IntegrityError):
            con.execute(text)
        con.execute("COMMIT")
    with raydb.connect(tmp_path / "shop.raydb") as con:
        assert con.execute("FROM t ORDER BY i").fetchall() == [(1,), (5,)]


def test_a_database_that_is_read_only_refuses(tmp_path: Path) -> None:
    with raydb.connect(tmp_path / "shop.raydb") as con:
        con.execute("CREATE TABLE t (i INTEGER)")
    with (
        raydb.connect(tmp_path / "shop.raydb", read_only=True) as con,
        pytest.raises(raydb.Error, match="read"),
    ):
        con.execute("WITH new AS (INSERT INTO t VALUES (2) RETURNING i) SELECT i FROM new")


def test_parts_write_to_another_database(con: raydb.Connection, tmp_path: Path) -> None:
    con.execute(f"ATTACH '{tmp_path / 'other.raydb'}' AS other")
    con.execute("CREATE TABLE other.kept (i INTEGER)")
    con.execute(
        "WITH new AS (INSERT INTO other.kept SELECT i FROM t WHERE i > 2 RETURNING i)"
        " SELECT count(*) FROM new"
    )
    assert con.execute("FROM other.kept ORDER BY i").fetchall() == [(3,), (4,)]
