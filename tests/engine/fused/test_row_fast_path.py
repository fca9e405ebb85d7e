"""Rows of repeated texts, which come straight from the accumulators of the fused job.

Each query is asked some times: at first its rows take the way over Arrow, later the other one.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

import raydb
from raydb.engine.session.result import LazyRows
from raydb.kernels.backends.cpu import numpy_loops

SCHEMA = """
    CREATE TABLE d (id INTEGER PRIMARY KEY, year INTEGER, name VARCHAR, day DATE, rate DOUBLE,
        price DECIMAL(9, 2), flag BOOLEAN);
    CREATE TABLE f (id INTEGER REFERENCES d (id), kind VARCHAR, a INTEGER, b BIGINT, c DOUBLE,
        e DECIMAL(9, 2));
"""
BVH = """
    CREATE BVH all_of_it ON f (SCAN (year, kind), GROUP BY (name, day, rate, price, flag, kind),
        AGGREGATE (a, b, c, e, a * f.id))
"""
KEYS = ("year", "name", "day", "rate", "price", "flag", "kind", "year + 1", "upper(name)")
TOTALS = (
    *("count(*)", "count(a)", "sum(a)", "min(a)", "max(b)", "sum(b)", "sum(a * f.id)", "avg(a)"),
    *("sum(c)", "max(c)", "sum(e)", "min(e)", "sum(a) + 1", "count(DISTINCT year)"),
)


@pytest.fixture(scope="module")
def con() -> Any:
    rng = random.Random(7)
    with raydb.connect() as connection:
        connection.execute(SCHEMA)
        for number in range(40):
            connection.execute(
                "INSERT INTO d VALUES (?, ?, ?, ?::DATE, ?, ?, ?)",
                [
                    number,
                    1990 + number % 5,
                    rng.choice(["x", "y", "ß", "", "z'", None]),
                    f"2024-0{number % 3 + 1}-01",
                    rng.choice([0.5, -0.0, 1e300, float("nan"), None]),
                    number % 4 + 0.25,
                    rng.choice([True, False]),
                ],
            )
        rows = [
            f"({rng.randrange(40)}, '{rng.choice('pqr')}', "
            f"{rng.choice(['NULL', -5, 7, 2**20])}, "
            f"{rng.choice([-(2**63) + 1, 2**62, 3])}, {rng.randrange(9)}, {rng.randrange(99)}.5)"
            for _ in range(400)
        ]
        connection.execute(f"INSERT INTO f VALUES {', '.join(rows)}")
        connection.execute(BVH)
        yield connection


def question(rng: random.Random) -> str:
    keys = rng.sample(KEYS, rng.randrange(4))
    totals = rng.sample(TOTALS, rng.randrange(1, 4))
    items = [f"{item} AS c{place}" for place, item in enumerate((*keys, *totals))]
    rng.shuffle(items)
    text = f"SELECT {', '.join(items)} FROM f, d WHERE f.id = d.id"
    if rng.random() < 0.7:
        text += f" AND year {rng.choice(['<', '=', '>'])} {rng.randrange(1989, 1996)}"
    text += f" GROUP BY {', '.join(keys)}" if keys else ""
    # All columns are sorted by, so that there is one right order.
    order = [f"c{place}" for place in rng.sample(range(len(items)), len(items))]
    directions = [f"{column} {rng.choice(['ASC', 'DESC'])}" for column in order]
    text += f" ORDER BY {', '.join(directions)}"
    if rng.random() < 0.3:
        text += f" LIMIT {rng.randrange(9)} OFFSET {rng.randrange(4)}"
    return text


def asked(con: raydb.Connection, text: str) -> list[tuple[Any, ...]] | str:
    try:
        return con.execute(text).fetchall()
    except raydb.DataError as error:
        return str(error)


@pytest.mark.parametrize("seed", range(150))
def test_repeated_rows_are_those_of_the_general_path(con: raydb.Connection, seed: int) -> None:
    text = question(random.Random(seed))
    con.execute("SET fused_path = 'off'")
    expected = repr(asked(con, text))
    con.execute("SET fused_path = 'on'")
    for _ in range(3):
        assert repr(asked(con, text)) == expected, text


def test_repeated_result_has_everything(con: raydb.Connection) -> None:
    text = "SELECT year, kind, sum(a) AS s, count(*) AS n FROM f, d WHERE f.id = d.id GROUP BY 1, 2"
    text += " ORDER BY year DESC, s"
    first = con.execute(text)
    table, description, rows = first.to_arrow_table(), first.description, first.fetchall()
    for _ in range(2):
        again = con.execute(text)
        assert again.rowcount == len(rows) > 4
        assert again.description == description
        assert again.fetchone() == rows[0]
        assert again.fetchmany(2) == rows[1:3]
        assert again.to_arrow_table().equals(table)
        assert again.fetchall() == rows[3:]
        assert again.to_arrow_table().equals(table)
    (kept,) = (
        prepared.row_fast_path
        for prepared, _ in con._session.queries.cache._plans.values()
        if prepared.has_repeated and prepared.names == ("year", "kind", "s", "n")
    )
    assert kept is not None
    assert kept.size_bytes > 0


@pytest.mark.parametrize("keys", ["year, kind", "year", ""])
@pytest.mark.parametrize("year", [1900, 1992, 2000])
def test_means_come_straight(con: raydb.Connection, keys: str, year: int) -> None:
    text = f"SELECT {keys}{', ' if keys else ''}avg(a), sum(a), count(*) AS m{year} FROM f, d"
    text += f" WHERE f.id = d.id AND year < {year}"
    text += f" GROUP BY {keys} ORDER BY {keys}" if keys else ""
    con.execute("SET fused_path = 'off'")
    expected = repr(asked(con, text))
    con.execute("SET fused_path = 'on'")
    for _ in range(3):
        assert repr(asked(con, text)) == expected
    kept = [prepared for prepared, _ in con._session.queries.cache._plans.values()]  # type: ignore[union-attr]
    assert kept[-1].row_fast_path is not None or year == 1900


@pytest.mark.parametrize("order", ["avg(a)", "avg(a) DESC, year", "year, avg(a) DESC, kind"])
def test_means_put_rows_in_order(con: raydb.Connection, order: str) -> None:
    text = "SELECT year, kind, avg(a) FROM f, d WHERE f.id = d.id AND year > 1900"
    text += f" GROUP BY year, kind HAVING count(a) > 0 ORDER BY {order} LIMIT 11"
    plain = text.replace("HAVING count(a) > 0 ", "")
    for asking in (text, plain):
        con.execute("SET fused_path = 'off'")
        expected = con.execute(asking).fetchall()
        con.execute("SET fused_path = 'on'")
        for _ in range(3):
            assert con.execute(asking).fetchall() == expected
    assert isinstance(con.execute(plain)._result._rows, LazyRows)


def test_changes_are_seen() -> None:
    with raydb.connect() as con:
        con.execute("CREATE TABLE t (g INTEGER, x INTEGER); INSERT INTO t VALUES (1, 2), (2, 3)")
        con.execute("CREATE BVH b ON t (SCAN (g), GROUP BY (g), AGGREGATE (x))")
        text = "SELECT g, sum(x) FROM t GROUP BY g ORDER BY g"
        for _ in range(3):
            assert con.execute(text).fetchall() == [(1, 2), (2, 3)]
        con.execute("INSERT INTO t VALUES (1, NULL), (3, NULL)")
        for _ in range(3):
            assert con.execute(text).fetchall() == [(1, 2), (2, 3), (3, None)]
        con.execute("DELETE FROM t")
        for _ in range(3):
            assert con.execute(text).fetchall() == []
            assert con.execute("SELECT sum(x), count(*) FROM t").fetchall() == [(None, 0)]


def test_total_that_is_null_has_its_place_among_rows_that_a_limit_leaves_out() -> None:
    with raydb.connect() as con:
        con.execute("CREATE TABLE f (k INTEGER, x INTEGER)")
        con.execute("INSERT INTO f VALUES (1, NULL), (2, -5), (3, 5), (4, 7)")
        con.execute("CREATE BVH b ON f (SCAN (k), AGGREGATE (x))")
        text = "SELECT k, max(x) FROM f GROUP BY k ORDER BY max(x), k LIMIT 2 OFFSET 1"
        for _ in range(3):
            assert con.execute(text).fetchall() == [(3, 5), (4, 7)]


def test_most_questions_are_answered_straight(con: raydb.Connection) -> None:
    texts = [question(random.Random(seed)) for seed in range(150)]
    for text in (*texts, *texts):
        asked(con, text)
    plans = [prepared for prepared, _ in con._session.queries.cache._plans.values()]
    straight = [plan for plan in plans if plan.has_repeated and plan.row_fast_path is not None]
    assert len(straight) > 20, len(plans)


@pytest.mark.parametrize("sieve", ["false", "true"])
@pytest.mark.filterwarnings("error")
def test_values_that_are_no_numbers_warn_nobody(
    monkeypatch: pytest.MonkeyPatch, sieve: str
) -> None:
    for name in ("THREAD_BLOCK_ROWS", "THREAD_CODE_ROWS", "THREAD_RUN_ROWS"):
        monkeypatch.setattr(f"raydb.kernels.backends.cpu.cpu_backend.{name}", 2)
    # Whether the compiled loops are ready must not matter.
    monkeypatch.setattr("raydb.kernels.backends.cpu.warm.loops", lambda: numpy_loops)
    monkeypatch.setattr("raydb.kernels.backends.cpu.cpu_backend.loops", lambda: numpy_loops)
    monkeypatch.setattr("raydb.kernels.backends.cpu.states.loops", lambda: numpy_loops)
    with raydb.connect() as connection:
        connection.execute("CREATE TABLE f (q INTEGER, k VARCHAR, x DOUBLE)")
        connection.execute(
            "INSERT INTO f VALUES (1, 'a', 'nan'), (1, 'b', 'inf'), (1, 'b', '-inf'),"
            " (1, 'c', 1e308), (1, 'd', 1e308), (2, 'a', 1.5), (2, 'b', NULL), (2, 'c', '-inf')"
        )
        connection.execute(
            f"CREATE BVH b ON f (SCAN (q, k), GROUP BY (k), AGGREGATE (x)) WITH (sieve = {sieve})"
        )
        connection.execute("DELETE FROM f WHERE q = 2 AND k = 'c'")
        for totals in ("max(x), min(x)", "sum(x)", "avg(x), max(k)", "sum(x), count(DISTINCT k)"):
            for keys in ("", "q, "):
                text = f"SELECT {keys}{totals} FROM f WHERE k <> 'z'"
                text += " GROUP BY q ORDER BY q" if keys else ""
                rows = [repr(connection.execute(text).fetchall()) for _ in range(3)]
                connection.execute("SET fused_path = 'off'")
                assert set(rows) == {repr(connection.execute(text).fetchall())}
                connection.execute("SET fused_path = 'on'")
