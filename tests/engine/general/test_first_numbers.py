"""Filters on row_number(), rank() and dense_rank(): what they leave out is not sorted."""

from __future__ import annotations

from random import Random

import duckdb
import pytest

import raydb
from raydb.engine.operators.window import run_window
from raydb.planner import first_numbers

ROWS = """
    SELECT i AS id, i * 7919 % 501 AS g,
      CASE WHEN i % 11 > 0 THEN i * 31 % 97 END AS v,
      'k' || (i * 13 % 40) AS w,
      CASE WHEN i % 13 > 0 THEN ((i * 17 % 1000) / 8.0)::DOUBLE ELSE 'nan'::DOUBLE END AS x
    FROM range(15000) r(i)
"""
KEYS = [
    "v",
    "v DESC NULLS FIRST",
    "v NULLS FIRST",
    "v DESC NULLS LAST",
    "w",
    "w DESC, v",
    "x",
    "x DESC, id",
]
PARTITIONS = ["g", "w", "g % 7, w", "v", "x > 50"]
FILTERS = ["= 1", "<= 2", "< 3", "<= 4", "= 3", "< 2 AND {} > 0", "<= 1 AND id % 2 = 0"]


@pytest.fixture(scope="module")
def engines():
    with raydb.connect() as con, duckdb.connect() as other:
        for each in (con, other):
            each.execute(f"CREATE TABLE t AS {ROWS}")
            each.execute("CREATE TABLE few AS SELECT * FROM t WHERE id < 50")
        yield con, other


def both(engines, query):
    found, expected = (sorted(map(repr, each.execute(query).fetchall())) for each in engines)
    assert found == expected, query
    return found


@pytest.mark.parametrize("seed", range(4))
def test_random_first_rows_are_duckdbs(engines, seed):
    rng = Random(seed)
    for _ in range(12):
        order, parts = rng.choice(KEYS), rng.choice(PARTITIONS)
        function = rng.choice(["row_number", "rank", "dense_rank"])
        # Equal rows are numbered by chance, but for their ids.
        order += ", id" if function == "row_number" and "id" not in order else ""
        over = f"OVER (PARTITION BY {parts} ORDER BY {order})"
        where = rng.choice(FILTERS).format("n")
        more = rng.choice(
            ["", f", rank() {over} AS m", f", sum(v) OVER (PARTITION BY {parts}) AS s"]
        )
        table = rng.choice(["t", "t", "t", "few"])
        rows = f"SELECT id, {function}() {over} AS n{more} FROM {table}"
        both(engines, f"SELECT * FROM ({rows}) WHERE n {where}")


def test_what_a_filter_leaves_out_is_not_numbered(engines, monkeypatch):
    con, _ = engines
    counts = []
    real = run_window.window_rows
    monkeypatch.setattr(
        run_window,
        "window_rows",
        lambda rows, *rest: counts.append(rows.row_count) or real(rows, *rest),
    )
    numbered = "SELECT g, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t QUALIFY n = 1"
    assert con.execute(f"SELECT count(*) FROM ({numbered})").fetchall() == [(501,)]
    assert counts == [501]
    plan = "\n".join(line for (line,) in con.execute(f"EXPLAIN {numbered}").fetchall())
    assert "of each partition: the first 1" in plan


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, row_number() OVER (ORDER BY id) AS n FROM t QUALIFY n = 1",
        "SELECT id, row_number() OVER (PARTITION BY g) AS n FROM t QUALIFY n < 1",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t QUALIFY n < 1",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t QUALIFY n <= 9",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t QUALIFY n > 3",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t"
        " QUALIFY n = 1 OR id = 7",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n,"
        " lead(id) OVER (PARTITION BY g ORDER BY id) AS l FROM t QUALIFY n = 1",
        "SELECT id, row_number() OVER (PARTITION BY g ORDER BY id) AS n,"
        " rank() OVER (PARTITION BY g ORDER BY v) AS m FROM t QUALIFY n = 1",
    ],
)
def test_windows_that_need_all_rows_have_them(engines, query, monkeypatch):
    plans = []
    real = first_numbers.with_most
    monkeypatch.setattr(
        first_numbers, "with_most", lambda *given: plans.append(real(*given)) or plans[-1]
    )
    both(engines, query)
    assert all(plan.most is None for plan in plans)


def test_constants_change(engines):
    con, other = engines
    for most in (1, 3, 2, 9, 1):
        query = f"""
            WITH r AS (SELECT id, row_number() OVER (PARTITION BY g ORDER BY w, id) AS n FROM t)
            SELECT id FROM r WHERE n <= {most}
        """
        both((con, other), query)
        found = con.execute(query.replace(str(most), "$1"), [most]).fetchall()
        assert sorted(found) == sorted(other.execute(query).fetchall())


def test_first_rows_with_little_memory():
    with raydb.connect(config={"memory_limit": "40MB"}) as con:
        con.execute("CREATE TABLE t AS SELECT range AS id, range % 5000 AS g FROM range(600000)")
        query = "SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY g ORDER BY id DESC) = 1"
        found = con.execute(query).fetchall()
    assert sorted(found) == [(595_000 + i,) for i in range(5000)]
