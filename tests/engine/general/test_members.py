"""Membership in the values of a subquery that runs first: many values are joined instead."""

from __future__ import annotations

import pytest

import raydb

QUERY = "SELECT sum(n) FROM sale WHERE kind IN (SELECT label FROM other WHERE label < 'k5')"


@pytest.fixture
def con() -> raydb.Connection:
    con = raydb.connect()
    con.execute("CREATE TABLE sale AS SELECT 'k' || i % 9 AS kind, i AS n FROM range(90) AS r (i)")
    con.execute("CREATE TABLE other AS SELECT 'k' || i % 7 AS label FROM range(30) AS r (i)")
    con.execute("CREATE BVH kinds ON sale (SCAN (kind), AGGREGATE (n))")
    return con


def plan_of(con: raydb.Connection, analyze: str = "") -> str:
    return "\n".join(line for (line,) in con.execute(f"EXPLAIN {analyze} {QUERY}").fetchall())


def test_few_values_are_compared_with(con: raydb.Connection) -> None:
    assert "DeferredScan" in plan_of(con)
    assert "ran: FusedScanAggregate" in plan_of(con, "ANALYZE")
    assert con.execute(QUERY).fetchall() == [(sum(n for n in range(90) if n % 9 < 5),)]


def test_more_values_than_were_expected_are_joined(
    con: raydb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = con.execute(QUERY).fetchall()
    monkeypatch.setattr("raydb.engine.operators.run.MAX_MEMBERS", 4)
    analyzed = plan_of(con, "ANALYZE")
    assert "DeferredScan" in analyzed
    assert "ran: FusedScanAggregate" not in analyzed
    assert con.execute(f"{QUERY} -- again").fetchall() == expected


def test_where_many_are_expected_none_are_asked_for(
    con: raydb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = con.execute(QUERY).fetchall()
    monkeypatch.setattr("raydb.planner.lower._MANY", 1)
    assert "a subquery has too many values" in plan_of(con)
    assert con.execute(f"{QUERY} -- again").fetchall() == expected
