"""The choice between a BVH, a scan and the general path, on statistics that are made up."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb import sql
from raydb.planner import PlannerOptions
from raydb.planner.lower import lower
from raydb.planner.optimizer import optimize
from raydb.planner.stars import choose
from raydb.planner.stars.fused_scan import FusedScanAggregate
from raydb.planner.stars.table_scan import FusedTableScan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.planner.catalog import CatalogInfo
    from raydb.planner.plan.nodes import PhysicalPlan

# Each row of the tables stands for so many.
TIMES = 5000

BY_DAY = "CREATE BVH by_day ON sale (SCAN (d_year, d_month), AGGREGATE (price))"


@pytest.fixture(scope="module")
def star() -> Any:
    rng = np.random.default_rng(19)
    con = raydb.connect()
    numbers = np.arange(1000)
    days = pa.table({"id": numbers, "year": 2000 + numbers // 365, "month": numbers // 30 % 12})
    con.execute("CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_year INTEGER, d_month INTEGER)")
    con.execute("INSERT INTO day SELECT * FROM days")
    con.execute(
        "CREATE TABLE shop (s_id INTEGER PRIMARY KEY, s_name VARCHAR, s_city VARCHAR,"
        " s_street VARCHAR, s_size INTEGER)"
    )
    con.execute(
        "INSERT INTO shop SELECT i, 'shop ' || i, 'city ' || i % 7, 'street ' || i % 90, i % 11"
        " FROM range(400) AS r(i)"
    )
    con.execute(
        "CREATE TABLE sale (day INTEGER REFERENCES day, shop INTEGER REFERENCES shop,"
        " ticket INTEGER NOT NULL, at TIMESTAMP, price INTEGER)"
    )
    sales = pa.table(
        {
            "day": rng.integers(0, 1000, 1000),
            "shop": rng.integers(0, 400, 1000),
            "ticket": numbers * 1_000_000,
            "at": np.datetime64("2020-01-01", "us") + numbers * np.timedelta64(1020, "s"),
            "price": numbers % 83,
        }
    )
    con.execute("INSERT INTO sale SELECT * FROM sales")
    assert days.num_rows == sales.num_rows
    return con


@pytest.fixture
def con(star: Any) -> Iterator[Any]:
    yield star
    for (name,) in star.execute("SELECT name FROM bvhs()").fetchall():
        star.execute(f"DROP BVH {name}")


def magnified(catalog: CatalogInfo) -> CatalogInfo:
    """Return a catalog whose fact table and BVHs have TIMES as many rows."""
    sale = catalog.tables["sale"]
    tables = {**catalog.tables, "sale": replace(sale, row_count=sale.row_count * TIMES)}
    bvhs = {
        name: replace(bvh, index=replace(bvh.index, offsets=bvh.index.offsets * TIMES))
        for name, bvh in catalog.bvhs.items()
    }
    return replace(catalog, tables=tables, bvhs=bvhs)


def planned(con: Any, text: str, options: PlannerOptions | None = None) -> PhysicalPlan:
    """Return the node that answers the aggregate of a query over many rows."""
    options = options or PlannerOptions()
    catalog = magnified(con._session.database.snapshot.describe())
    statement = next(iter(sql.each_statement(text)))
    plan = lower(optimize(sql.bind_select(statement, catalog), catalog), catalog, options)
    (found,) = (node for node in _walk(plan) if hasattr(node, "aggregates"))
    return found


def _walk(plan: PhysicalPlan) -> Iterator[PhysicalPlan]:
    yield plan
    for child in plan.children:
        yield from _walk(child)


def test_a_bvh_that_answers_alone_is_chosen(con: Any) -> None:
    con.execute(BY_DAY)
    plan = planned(
        con,
        "SELECT d_month, sum(price) FROM sale, day WHERE day = d_id AND d_year = 2001 GROUP BY 1",
    )
    assert isinstance(plan, FusedScanAggregate)
    assert plan.is_direct


def test_a_scan_is_chosen_over_fetching_for_all_rows(con: Any) -> None:
    con.execute(BY_DAY)
    plan = planned(con, "SELECT s_city, sum(price) FROM sale, shop WHERE shop = s_id GROUP BY 1")
    assert isinstance(plan, FusedTableScan)
    assert "BVH" in plan.reason or "encodes an attribute" in plan.reason


def test_fetching_for_a_few_rows_is_chosen_over_a_scan(con: Any) -> None:
    con.execute("CREATE BVH fine ON sale (SCAN (d_year, d_month, s_street), AGGREGATE (price))")
    query = (
        "SELECT s_size, sum(price) FROM sale, day, shop WHERE day = d_id AND shop = s_id"
        " AND d_year = 2001 AND d_month = 3 AND s_street = 'street 5' GROUP BY 1"
    )
    plan = planned(con, query)
    assert isinstance(plan, FusedScanAggregate)
    assert [str(column.name) for column, _ in plan.residual_keys] == ["s_size"]


# As many groups as a pass has no room for: a BVH fetches, or the general path groups.
WIDE = "SELECT ticket, s_name, sum(price) FROM sale, shop, day WHERE shop = s_id AND day = d_id"


def test_the_general_path_is_chosen_over_fetching_wide_keys_for_all_rows(con: Any) -> None:
    con.execute(BY_DAY)
    plan = planned(con, f"{WIDE} AND d_year >= 2000 GROUP BY ticket, s_name")
    reason = plan.star.reason  # type: ignore[attr-defined]
    assert "BVH 'by_day' would fetch ticket, s_name for" in reason
    assert "the general path" in reason
    assert "ticket may have a group for each row" in reason


def test_fetching_wide_keys_for_few_rows_is_chosen_over_the_general_path(con: Any) -> None:
    con.execute(BY_DAY)
    plan = planned(con, f"{WIDE} AND d_year = 2001 AND d_month = 3 GROUP BY ticket, s_name")
    assert isinstance(plan, FusedScanAggregate)


def test_a_function_of_each_instant_is_left_to_the_cheapest(con: Any) -> None:
    """To compute a key for all rows in a scan costs more than on the general path."""
    con.execute(BY_DAY)
    plan = planned(con, "SELECT date_trunc('hour', at), sum(price) FROM sale GROUP BY 1")
    assert not isinstance(plan, FusedScanAggregate)


def test_a_bvh_of_less_coverage_that_fetches_less_is_chosen(con: Any) -> None:
    """By coverage alone the first of the two would win: it fetches for every row."""
    con.execute(
        "CREATE BVH covers ON sale (SCAN (d_year), GROUP BY (d_month, s_city), AGGREGATE (price))"
    )
    con.execute("CREATE BVH narrow ON sale (SCAN (ticket))")
    query = (
        "SELECT d_month, s_city, sum(price) FROM sale, day, shop WHERE day = d_id AND shop = s_id"
        " AND d_year > 1999 AND ticket = 17 GROUP BY 1, 2"
    )
    plan = planned(con, query)
    assert isinstance(plan, FusedScanAggregate)
    assert plan.bvh == "narrow"
    assert "the cheapest of 2 BVHs" in plan.choice_reason


def test_a_bvh_that_is_not_fused_would_not_be_chosen(
    con: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a BVH fetches is told without its job, and gives the choice that its job gives."""
    con.execute(BY_DAY)
    con.execute("CREATE BVH by_shop ON sale (SCAN (s_city), GROUP BY (s_name), AGGREGATE (price))")
    queries = [
        f"SELECT {key}, sum(price) FROM sale, day, shop WHERE day = d_id AND shop = s_id"
        f" AND {condition} GROUP BY 1"
        for key in ("s_city", "s_name", "s_size", "d_year", "d_month", "ticket % 10")
        for condition in ("d_year = 2001", "d_month = 3", "s_city = 'city 1'", "price > 80")
    ]
    fused: list[str] = []
    fuse = choose.fuse

    def counted(*arguments: Any) -> Any:
        fused.append(arguments[1].definition.name)
        return fuse(*arguments)

    monkeypatch.setattr(choose, "fuse", counted)
    found = [planned(con, query) for query in queries]
    few = len(fused)
    monkeypatch.setattr(choose, "_too_dear", lambda *_: None)
    every = [planned(con, query) for query in queries]
    assert list(map(type, found)) == list(map(type, every))
    assert [getattr(each, "bvh", None) for each in found] == [
        getattr(each, "bvh", None) for each in every
    ]
    assert 0 < few < len(fused) - few


@pytest.mark.parametrize(
    ("day", "chosen"),
    [("i * 1000 // 300000", "FusedTableScan"), ("i * 7919 % 1000", "FusedScanAggregate")],
    ids=["by day", "mixed"],
)
def test_a_scan_that_zone_maps_shorten_is_chosen_over_fetching(day: str, chosen: str) -> None:
    """Rows of a month lie side by side, or everywhere: then a scan reads the whole table."""
    con = raydb.connect()
    con.execute("CREATE TABLE day (d_id INTEGER PRIMARY KEY, d_month INTEGER)")
    con.execute("INSERT INTO day SELECT i, i // 10 FROM range(1000) AS r(i)")
    con.execute("CREATE TABLE sale (day INTEGER NOT NULL REFERENCES day, size INTEGER)")
    con.execute(f"INSERT INTO sale SELECT {day}, i * 31 % 97 FROM range(300000) AS r(i)")
    con.execute("CREATE BVH by_month ON sale (SCAN (d_month))")
    query = "SELECT size, count(*) FROM sale, day WHERE day = d_id AND d_month = 3 GROUP BY size"
    told = str(con.execute(f"EXPLAIN {query}").fetchall())
    assert chosen in told
    found = con.execute(query).fetchall()
    assert sum(count for _, count in found) == 3000
    con.execute("DROP BVH by_month")
    assert sorted(con.execute(query).fetchall()) == sorted(found)


def test_a_bvh_that_fetches_is_chosen_where_a_scan_has_no_memory(con: Any) -> None:
    con.execute(BY_DAY)
    query = "SELECT s_size, sum(price) FROM sale, day, shop WHERE day = d_id AND shop = s_id AND"
    query += " d_year = 2001 AND d_month <= 3 GROUP BY 1"
    assert isinstance(planned(con, query), FusedTableScan)
    assert isinstance(planned(con, query, PlannerOptions(memory_limit=2**20)), FusedScanAggregate)
