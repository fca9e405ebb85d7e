"""Estimates: within a small factor where the data is plain, and never an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


def test_an_empty_table_has_estimates(connection: Connection) -> None:
    connection.execute("CREATE TABLE nothing (a INTEGER)")
    plan, statistics = planned(connection, "SELECT a, count(*) FROM nothing WHERE a > 3 GROUP BY a")
    assert statistics.row_count(plan) < 1
