"""Queries over a star whose constants change: they are prepared once, and filled."""

from __future__ import annotations

import threading
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import raydb
from raydb.engine.fused.prepared_query import PreparedQuery, PreparedWithNewer
from raydb.kernels.backends.cpu import warm

if TYPE_CHECKING:
    from collections.abc import Iterator

QUERY = (
    "SELECT city, sum(amount) FROM sale JOIN store ON store = id WHERE region = {} AND day < {}"
    " GROUP BY city ORDER BY city"
)


@pytest.fixture
def con() -> Iterator[raydb.Connection]:
    warm.wait()
    with raydb.connect() as connection:
        connection.execute(
            "CREATE TABLE store (id INTEGER PRIMARY KEY, region VARCHAR, city VARCHAR)"
        )
        connection.execute(
            "INSERT INTO store SELECT range, 'r' || range % 4, 'c' || range FROM range(12)"
        )
        connection.execute(
            "CREATE TABLE sale (store INTEGER REFERENCES store, day SMALLINT, amount INTEGER)"
        )
        connection.execute(
            "INSERT INTO sale SELECT range % 12, range % 31, range % 97 FROM range(5000)"
        )
        connection.execute(
            "CREATE BVH b ON sale (SCAN (region, day), GROUP BY (city), AGGREGATE (amount))"
        )
        yield connection


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return whether each query that was prepared gave the plan."""
    found: list[bool] = []
    plan = PreparedQuery.plan

    def noted(query: PreparedQuery, filling: Any) -> Any:
        prepared = plan(query, filling)
        found.append(prepared is not None)
        return prepared

    monkeypatch.setattr(PreparedQuery, "plan", noted)
    return found


def expected(region: str, day: int) -> list[tuple[str, int]]:
    totals: dict[str, int] = {}
    for row in range(5000):
        if f"r{row % 12 % 4}" == region and row % 31 < day:
            name = f"c{row % 12}"
            totals[name] = totals.get(name, 0) + row % 97
    return sorted(totals.items())


def test_texts_parameters_and_execute_take_one_way(
    con: raydb.Connection, filled: list[bool]
) -> None:
    for region in range(5):
        assert con.execute(QUERY.format(f"'r{region}'", 9)).fetchall() == expected(f"r{region}", 9)
    assert filled == [True] * 3, "the second text makes the template"
    for day in range(5):
        asked = con.execute(QUERY.format("?", "?"), ["r1", day])
        assert asked.fetchall() == expected("r1", day)
    assert filled == [True] * 7
    con.execute(f"PREPARE ask AS {QUERY.format('$1', '$2')}")
    for day in range(5):
        assert con.execute(f"EXECUTE ask ('r2', {day})").fetchall() == expected("r2", day)
    assert filled[-4:] == [True] * 4


def test_a_star_over_a_table_with_an_enum_is_filled(
    con: raydb.Connection, filled: list[bool]
) -> None:
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok'); ALTER TABLE store ADD COLUMN m mood")
    for region in range(4):
        assert con.execute(QUERY.format(f"'r{region}'", 9)).fetchall() == expected(f"r{region}", 9)
    assert filled == [True] * 2


def test_constants_that_ask_for_another_plan_are_planned(
    con: raydb.Connection, filled: list[bool]
) -> None:
    for day in (3, 4, 5, 70_000, -1, 2**40, 6):
        assert con.execute(QUERY.format("'r0'", day)).fetchall() == expected("r0", day)
    for day in (None, 3.5, "7"):
        asked = con.execute(QUERY.format("'r0'", "?"), [day])
        assert asked.fetchall() == ([] if day is None else expected("r0", -(-float(day) // 1)))
    assert any(filled)


def test_changes_are_seen(con: raydb.Connection, filled: list[bool]) -> None:
    def total(day: int) -> int:
        rows = con.execute(f"SELECT sum(amount) FROM sale WHERE day < {day}").fetchall()
        return int(rows[0][0])

    known = [sum(row % 97 for row in range(5000) if row % 31 < day) for day in range(32)]
    assert [total(day) for day in range(1, 6)] == known[1:6]
    count = len(filled)
    assert count
    with con.duplicate() as other:
        other.execute("INSERT INTO sale VALUES (1, 0, 1000)")
        other.execute("DELETE FROM sale WHERE day = 1")
    gone = sum(row % 97 for row in range(5000) if row % 31 == 1)
    assert [total(day) for day in range(6, 12)] == [each + 1000 - gone for each in known[6:12]]


def test_rows_that_the_bvh_lacks_are_asked_beside_it(
    con: raydb.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[bool] = []
    plan = PreparedWithNewer.plan

    def noted(query: PreparedWithNewer, filling: Any) -> Any:
        prepared = plan(query, filling)
        filled.append(prepared is not None)
        return prepared

    monkeypatch.setattr(PreparedWithNewer, "plan", noted)
    text = (
        "SELECT city, sum(amount), avg(amount), count(DISTINCT day), max(amount) FROM sale"
        " JOIN store ON store = id WHERE region = 'r{}' AND day < {} GROUP BY city ORDER BY city"
    )
    with con.duplicate() as plain, con.duplicate() as other:
        plain.execute("SET fused_path = 'off'; SET plan_cache = 'off'")

        def check(connection: raydb.Connection) -> None:
            for region, day in ((0, 3), (1, 9), (2, 40), (3, 0), (1, 9), (0, 32), (5, 5), (2, 33)):
                asked = text.format(region, day)
                for _ in range(2):
                    assert connection.execute(asked).fetchall() == plain.execute(asked).fetchall()

        con.execute("INSERT INTO sale SELECT range % 12, range % 37, 1000 FROM range(40)")
        check(con)
        assert len(filled) >= 4
        assert all(filled)
        other.execute("DELETE FROM sale WHERE day = 32 OR amount = 3")
        check(con)
        other.execute("INSERT INTO sale SELECT range % 12, 32, -7 FROM range(100)")
        check(con)
        count = len(filled)
        con.execute("BEGIN; INSERT INTO sale VALUES (1, 2, 100000)")
        inserted = text.format(1, 3)
        assert con.execute(inserted).fetchall() != plain.execute(inserted).fetchall()
        con.execute("ROLLBACK")
        check(con)
        con.execute("SET fused_path = 'off'")
        check(con)
        con.execute("SET fused_path = 'on'")
        check(con)
        assert len(filled) > count
        other.execute("UPDATE store SET region = 'r2' WHERE id = 1")
        check(con)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT city, count(*) FROM {} WHERE len(list_filter([day], x -> x > {})) > 0 GROUP BY 1",
        "SELECT len(list_filter([day, 2], x -> x > {1})), sum(amount) FROM {0} GROUP BY 1",
        "SELECT city, list_filter([sum(amount), 9000], x -> x > {1} * 4000) FROM {0} GROUP BY 1",
        "SELECT city, sum(amount) FROM {} GROUP BY 1 HAVING count(*) > {} AND sum(amount) > 19000",
        "SELECT city, sum(amount) + {1} FROM {0} WHERE day > {1} GROUP BY 1",
        "SELECT city, sum(CASE WHEN day > {1} THEN amount END) FROM {0} WHERE day < 9 GROUP BY 1",
        "SELECT day + {1}, count(DISTINCT city) FROM {0} WHERE day < {1} OR city = 'c3' GROUP BY 1",
        "SELECT region, count(DISTINCT day) FROM {} WHERE day > {} OR region = 'r1' GROUP BY 1",
    ],
)
def test_constants_are_those_of_the_text(con: raydb.Connection, text: str) -> None:
    with con.duplicate() as plain:
        plain.execute("SET plan_cache = 'off'")
        for number in (1, 2, 0, 3, 3, 5, 4, 418, 416):
            asked = text.format("sale JOIN store ON store = id", number) + " ORDER BY 1"
            assert con.execute(asked).fetchall() == plain.execute(asked).fetchall()


def test_prepared_queries_take_no_more_than_a_cache_may(
    con: raydb.Connection, filled: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("raydb.engine.plans.template_cache.MAX_BYTES", 20_000)
    for number in range(40):
        text = f"SELECT sum(amount) AS a{number} FROM sale WHERE day < {{}}"
        for day in (2, 3, 4, 5):
            wanted = sum(row % 97 for row in range(5000) if row % 31 < day)
            assert con.execute(text.format(day)).fetchall() == [(wanted,)]
    assert filled == [True] * 80
    assert con._session is not None
    cache = con._session.queries.cache.templates
    assert cache._query_bytes <= 20_000
    kept = [each.query for known in cache._queries.values() for each in known.values()]
    assert len(kept) == 40
    assert 0 < sum(query is not None for query in kept) < 40


def test_many_threads_ask_with_constants_of_their_own(con: raydb.Connection) -> None:
    """Each thread has a connection, and two share one; they share what is prepared of the shape."""
    wrong: list[Any] = []

    def ask(connection: raydb.Connection, seed: int) -> None:
        rng = Random(seed)
        for _ in range(30):
            region, day = f"r{rng.randrange(5)}", rng.randrange(33)
            rows = connection.cursor().execute(QUERY.format(f"'{region}'", day)).fetchall()
            if rows != expected_rows[region, day]:
                wrong.append((region, day, rows))

    expected_rows = {
        (f"r{region}", day): expected(f"r{region}", day) for region in range(5) for day in range(33)
    }
    connections = [con, *(con.duplicate() for _ in range(7))]
    threads = [
        threading.Thread(target=ask, args=(connections[number % 8], number)) for number in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connection in connections[1:]:
        connection.close()
    assert not wrong


def test_a_bvh_without_hierarchies_has_one_cell():
    warm.wait()
    con = raydb.connect()
    con.execute("CREATE TABLE log (who INTEGER, step INTEGER)")
    con.execute("INSERT INTO log SELECT range % 7, range FROM range(1000)")
    con.execute("CREATE BVH whole ON log (AGGREGATE (step))")
    for text in ("SELECT sum(step), count(*) FROM log", "SELECT max(step) + {} FROM log"):
        for number in range(5):
            asked = text.format(number)
            plan = "\n".join(line for (line,) in con.execute(f"EXPLAIN {asked}").fetchall())
            assert "whole" in plan
            found = con.execute(asked).fetchall()
            assert found == ([(499500, 1000)] if "sum" in text else [(999 + number,)])
    con.execute("INSERT INTO log VALUES (1, 5000)")
    assert con.execute("SELECT sum(step), count(*) FROM log").fetchall() == [(504500, 1001)]


@pytest.mark.parametrize("has_bvh", [True, False])
def test_a_zero_below_zero_is_another_constant(has_bvh: bool) -> None:
    query = "SELECT count(*) FROM f JOIN s ON k = id WHERE CAST(x * ? AS VARCHAR) LIKE '-%'"
    with raydb.connect() as con:
        con.execute("CREATE TABLE s (id INTEGER PRIMARY KEY, x DOUBLE)")
        con.execute("INSERT INTO s SELECT range, 1.0 + range FROM range(10)")
        con.execute("CREATE TABLE f (k INTEGER REFERENCES s, m INTEGER)")
        con.execute("INSERT INTO f SELECT range % 10, range FROM range(150_000)")
        if has_bvh:
            con.execute("CREATE BVH xs ON f (SCAN (x), AGGREGATE (m))")
        counts = [
            con.execute(query, [factor]).fetchall() for factor in (1.0, 2.0, 3.0, 0.0, -0.0, 0.0)
        ]
        assert counts == [[(0,)]] * 4 + [[(150_000,)], [(0,)]]
