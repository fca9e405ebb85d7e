"""Estimates: within a small factor where the data is plain, and never an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb import sql
from raydb.planner.optimizer import optimize
from raydb.planner.plan.nodes import Aggregate, Filter, InnerJoin, Plan
from raydb.planner.plan.statistics import Statistics
from raydb.sql import ast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.api.connection import Connection

TABLES = """
CREATE TABLE city (id INTEGER PRIMARY KEY, country VARCHAR);
CREATE TABLE sale (city_id INTEGER REFERENCES city (id), day INTEGER, item VARCHAR, price DOUBLE);
INSERT INTO city SELECT i, 'c' || (i % 20) FROM range(1000) r(i);
INSERT INTO sale SELECT i % 1000, i % 365, 'item' || (i % 50), i / 3.0 FROM range(100000) r(i);
"""


@pytest.fixture(scope="module")
def connection() -> Connection:
    connection = raydb.connect()
    connection.execute(TABLES)
    return connection


def planned(connection: Connection, text: str) -> tuple[Plan, Statistics]:
    catalog = connection._session.database.snapshot.describe()
    (select,) = sql.parse(text)
    assert isinstance(select, ast.Select)
    return optimize(sql.bind_select(select, catalog), catalog), Statistics(catalog)


def nodes(plan: Plan, kind: type) -> Iterator[Plan]:
    if isinstance(plan, kind):
        yield plan
    for source in plan.sources:
        yield from nodes(source, kind)


@pytest.mark.parametrize(
    ("predicate", "share"),
    [
        ("day = 7", 1 / 365),
        ("day < 73", 0.2),
        ("item LIKE 'item1%'", 11 / 50),
        ("item IN ('item1', 'item2') OR day >= 292", 0.24),
        ("day < 73 AND item = 'item3'", 0.004),
        ("price < 0", 0.0),
        ("1 / (day - 7) > 0", 0.3),  # fails on the sample: a guess, not an error
    ],
)
def test_filters_are_measured_on_a_sample(
    connection: Connection, predicate: str, share: float
) -> None:
    plan, statistics = planned(connection, f"SELECT price FROM sale WHERE {predicate}")
    (node,) = nodes(plan, Filter)
    assert statistics.row_count(node) / 100_000 == pytest.approx(share, rel=0.5, abs=0.003)


@pytest.mark.parametrize(
    ("keys", "groups"),
    [("city_id", 1000), ("item", 50), ("day", 365), ("price", 100_000), ("item, city_id", 50_000)],
)
def test_groups_are_estimated_from_distinct_values(
    connection: Connection, keys: str, groups: int
) -> None:
    plan, statistics = planned(connection, f"SELECT {keys}, count(*) FROM sale GROUP BY {keys}")
    (node,) = nodes(plan, Aggregate)
    assert groups / 4 <= statistics.row_count(node) <= groups * 4


def test_a_foreign_key_joins_each_row_once(connection: Connection) -> None:
    plan, statistics = planned(
        connection, "SELECT price FROM sale, city WHERE city_id = id AND country = 'c3'"
    )
    (node,) = nodes(plan, InnerJoin)
    assert statistics.row_count(node) == pytest.approx(5000, rel=0.5)


def test_keys_of_several_columns_tell_at_most_all_rows_apart(connection: Connection) -> None:
    tables = "sale a JOIN sale b USING (city_id, day, item) JOIN city ON a.city_id = id"
    plan, statistics = planned(connection, f"SELECT a.price FROM {tables}")
    counts = [statistics.row_count(node) for node in nodes(plan, InnerJoin)]
    assert counts == pytest.approx([100_000] * len(counts), rel=0.5)


def test_an_empty_table_has_estimates(connection: Connection) -> None:
    connection.execute("CREATE TABLE nothing (a INTEGER)")
    plan, statistics = planned(connection, "SELECT a, count(*) FROM nothing WHERE a > 3 GROUP BY a")
    assert statistics.row_count(plan) < 1


@pytest.mark.parametrize("rows", [1_000, 73_049, 2_000_000])
@pytest.mark.parametrize(
    ("values", "count"),
    [
        (lambda i: i, lambda rows: rows),
        (lambda i: i // 7, lambda rows: rows / 7),  # weeks of days
        (lambda i: i // 100, lambda rows: rows / 100),
        (lambda i: i * 10 // len(i), lambda _: 10),
        (lambda i: i // 5000 % 2, lambda rows: 2 if rows > 5000 else 1),
        (lambda i: i % 50, lambda _: 50),
        (lambda i: np.random.default_rng(7).integers(0, len(i) // 10, len(i)), lambda n: n / 10),
        (lambda i: i * 0, lambda _: 1),
    ],
)
def test_values_are_counted_wherever_they_lie(rows: int, values: Any, count: Any) -> None:
    """A value that is in a few rows side by side is one of many."""
    with raydb.connect() as connection:
        numbers = pa.table({"v": values(np.arange(rows))})
        connection.execute("CREATE TABLE t AS SELECT * FROM numbers")
        plan, statistics = planned(connection, "SELECT v FROM t")
        assert numbers.num_rows == rows
        estimate = statistics.distinct_count(plan, plan.columns[0])
        assert count(rows) / 3 < estimate < count(rows) * 3


def test_groups_of_rows_that_pass_are_few(connection: Connection) -> None:
    """Two of 200 years are asked for: all groups would be too many for one pass."""
    connection.execute("CREATE TABLE day (id INTEGER PRIMARY KEY, year INTEGER, month INTEGER)")
    connection.execute("INSERT INTO day SELECT i, i // 365, i // 30 % 12 FROM range(73000) r(i)")
    connection.execute("CREATE TABLE sold (day INTEGER REFERENCES day (id), a INTEGER, b INTEGER)")
    connection.execute("INSERT INTO sold SELECT i % 73000, i % 60, i % 61 FROM range(200000) r(i)")
    query = "SELECT year, month, a, b, count(*) FROM sold JOIN day ON day = id {} GROUP BY ALL"
    explained = [
        connection.execute("EXPLAIN " + query.format(where)).fetchone()[0]
        for where in ("", "WHERE year = 7 OR year = 8 AND month = 1")
    ]
    assert "more than the 4194304 of one pass" in explained[0]
    assert explained[1].startswith("path: fused")
