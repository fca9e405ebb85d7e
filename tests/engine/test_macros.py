"""Macros in a database: who sees them, what keeps them, and what kept plans make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path


def test_a_database_keeps_its_macros(tmp_path: Path) -> None:
    with raydb.connect(tmp_path / "shop.raydb") as con:
        con.execute("CREATE MACRO total(a, b := 5) AS a + b, (a, b, c) AS a + b + c")
        con.execute("CREATE MACRO lines(n) AS TABLE SELECT range AS i FROM range(n)")
        con.execute("CREATE TEMP MACRO own(x) AS x")
    with raydb.connect(tmp_path / "shop.raydb") as con:
        assert con.execute("SELECT total(1), total(1, 2, 3)").fetchall() == [(6, 6)]
        assert con.execute("SELECT count(*) FROM lines(4)").fetchone() == (4,)
        with pytest.raises(raydb.ProgrammingError, match="'own' does not exist"):
            con.execute("SELECT own(1)")
        con.execute("DROP MACRO total")
    with (
        raydb.connect(tmp_path / "shop.raydb", read_only=True) as con,
        pytest.raises(raydb.ProgrammingError, match="'total' does not exist"),
    ):
        con.execute("SELECT total(1)")


def test_a_rollback_takes_a_macro_back() -> None:
    con = raydb.connect()
    con.execute("CREATE MACRO f() AS 1")
    con.execute("BEGIN")
    con.execute("CREATE OR REPLACE MACRO f() AS 2")
    assert con.execute("SELECT f()").fetchone() == (2,)
    con.execute("ROLLBACK")
    assert con.execute("SELECT f()").fetchone() == (1,)


def test_other_connections_see_what_is_committed() -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE t AS SELECT range AS i FROM range(10)")
    con.execute("CREATE MACRO small(x) AS x < 3")
    other = con.duplicate()
    query = "SELECT count(*) FROM t WHERE small(i)"
    for _ in range(3):
        assert other.execute(query).fetchone() == (3,)
    con.execute("CREATE OR REPLACE MACRO small(x) AS x < 5")
    assert other.execute(query).fetchone() == (5,)
    con.execute("DROP MACRO small")
    with pytest.raises(raydb.ProgrammingError, match="'small' does not exist"):
        other.execute(query)


@pytest.mark.parametrize("body", ["i < n AND n < 8", "i < n", "i + n < 2 * n"])
def test_kept_plans_know_constants_of_arguments(body: str) -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE t AS SELECT range AS i FROM range(10)")
    con.execute(
        f"CREATE MACRO below(n, more := 0) AS TABLE SELECT i, n + more AS n FROM t WHERE {body}"
    )
    con.execute(f"CREATE MACRO is_below(i, n) AS {body}")
    for n in (2, 5, 2, 7, 1):
        rows = con.execute(f"SELECT i, n FROM below({n}, more := {n + 1}) ORDER BY i").fetchall()
        assert rows == [(i, 2 * n + 1) for i in range(n)]
        assert con.execute(f"SELECT count(*) FROM t WHERE is_below(i, {n})").fetchone() == (n,)
        assert con.execute("SELECT max(i) FROM t WHERE is_below(i, ?)", [n]).fetchone() == (n - 1,)


def test_macros_of_attached_databases_have_their_name_before_them(tmp_path: Path) -> None:
    with raydb.connect(tmp_path / "lib.raydb") as con:
        con.execute("CREATE SCHEMA maths")
        con.execute("CREATE MACRO twice(x) AS 2 * x")
        con.execute("CREATE MACRO maths.half(x) AS x / 2")
        con.execute("CREATE TABLE t AS SELECT 7 AS i")
        con.execute("CREATE VIEW v AS SELECT twice(i) AS j FROM t")
    con = raydb.connect()
    con.execute(f"ATTACH '{tmp_path / 'lib.raydb'}' AS lib")
    rows = con.execute("SELECT lib.twice(4), lib.maths.half(8), j FROM lib.v").fetchall()
    assert rows == [(8, 4, 14)]
    with pytest.raises(raydb.ProgrammingError, match="'twice' does not exist"):
        con.execute("SELECT twice(4)")
    con.execute("CREATE MACRO lib.thrice(x) AS 3 * x")
    con.execute("USE lib")
    assert con.execute("SELECT twice(1), thrice(1)").fetchone() == (2, 3)


def test_an_export_has_the_macros(tmp_path: Path) -> None:
    con = raydb.connect()
    con.execute("CREATE SCHEMA k")
    con.execute("CREATE MACRO k.f(x) AS x || ';'")
    con.execute("CREATE MACRO lines(n) AS TABLE SELECT k.f(range::VARCHAR) AS i FROM range(n)")
    con.execute("CREATE VIEW v AS FROM lines(2)")
    con.execute(f"EXPORT DATABASE '{tmp_path / 'all'}'")
    again = raydb.connect()
    again.execute(f"IMPORT DATABASE '{tmp_path / 'all'}'")
    assert again.execute("FROM v").fetchall() == [("0;",), ("1;",)]


def test_macros_are_for_all_statements(tmp_path: Path) -> None:
    con = raydb.connect()
    con.execute("CREATE MACRO lines(n) AS TABLE SELECT range AS i FROM range(n)")
    con.execute("CREATE TABLE t AS FROM lines(3)")
    con.execute(f"COPY (FROM lines(2)) TO '{tmp_path / 'a.csv'}'")
    con.execute("CREATE MACRO read(path) AS TABLE FROM read_csv(path)")
    assert con.execute(f"FROM read('{tmp_path / 'a.csv'}')").fetchall() == [(0,), (1,)]
    con.execute(f"CREATE VIEW v AS FROM read('{tmp_path / 'a.csv'}')")
    assert con.execute("FROM v").fetchall() == [(0,), (1,)]
    con.execute("CREATE TEMP MACRO own(x) AS x")
    with pytest.raises(raydb.ProgrammingError, match="'own' does not exist"):
        con.execute("CREATE VIEW w AS SELECT own(1)")
    con.execute("WITH gone AS (DELETE FROM t WHERE i IN (FROM lines(1)) RETURNING i) FROM gone")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)
    assert con.execute("DESCRIBE FROM lines(1)").fetchall()[0][0] == "i"
    assert "SeriesRows" in str(con.execute("EXPLAIN FROM lines(1)").fetchall())
    assert list(con.sql("FROM lines(2)").fetchall()) == [(0,), (1,)]
