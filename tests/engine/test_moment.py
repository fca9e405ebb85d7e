"""now() is one moment in a whole statement, however many plans the statement takes."""

from __future__ import annotations

import datetime as dt
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

import raydb
from raydb import running

START = dt.datetime(2024, 2, 29, 12)


@pytest.fixture
def con(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a connection whose clock goes on by a second whenever somebody looks at it."""
    seconds = count()

    class Clock(dt.datetime):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return START + dt.timedelta(seconds=next(seconds))

    monkeypatch.setattr(running, "dt", SimpleNamespace(**{**vars(dt), "datetime": Clock}))
    with raydb.connect() as connection:
        connection.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2)")
        yield connection


@pytest.mark.parametrize(
    "text",
    [
        "WITH c AS MATERIALIZED (SELECT now() AS m FROM t), d AS MATERIALIZED (SELECT now() AS m"
        " FROM t) SELECT count(*) FROM c, d WHERE c.m = d.m AND c.m = now()",
        "WITH RECURSIVE r AS (SELECT 1 AS n, now() AS m UNION ALL SELECT n + 1, now() FROM r"
        " WHERE n < 4) SELECT count(*) FROM r WHERE m = now()",
        "SELECT count(*) FROM moments AS x, moments AS y WHERE x.m = y.m AND x.m = now()",
        "SELECT 4 * (SELECT count(*) FROM generate_series(now(), now(), INTERVAL 1 SECOND))",
    ],
)
def test_parts_of_a_query_have_one_moment(con: raydb.Connection, text: str) -> None:
    con.execute("CREATE VIEW moments AS SELECT now() AS m FROM t")
    for _ in range(3):
        assert con.execute(text).fetchall() == [(4,)]
        assert con.stream(text).read_all().column(0).to_pylist() == [4]


def test_parts_of_a_change_have_one_moment(con: raydb.Connection) -> None:
    con.execute("CREATE TABLE u (a INTEGER PRIMARY KEY, m TIMESTAMP DEFAULT now(), n TIMESTAMP)")
    con.execute("INSERT INTO u (a, n) VALUES (1, now())")
    con.execute(
        "INSERT INTO u (a, n) VALUES (1, now()), (2, now())"
        " ON CONFLICT (a) DO UPDATE SET m = now(), n = excluded.n"
    )
    assert con.execute("SELECT count(DISTINCT m), count(*) FROM u WHERE m = n").fetchall() == [
        (1, 2)
    ]


def test_statements_of_one_text_have_moments_of_their_own(con: raydb.Connection) -> None:
    con.execute(
        "CREATE TABLE u (m TIMESTAMP); INSERT INTO u SELECT now(); INSERT INTO u SELECT now()"
    )
    first, second = con.execute("SELECT m FROM u ORDER BY m").fetchall()
    assert second[0] - first[0] == dt.timedelta(seconds=1)


def test_now_stands_still_in_a_transaction() -> None:
    con = raydb.connect()

    def now() -> object:
        return con.execute("SELECT now()").fetchone()

    con.execute("BEGIN")
    first = now()
    con.execute("CREATE TABLE t (a INTEGER)")
    assert now() == first
    con.execute("COMMIT")
    after = now()
    assert after > first
    assert now() > after
