"""Every aggregate of a star: on a BVH, as one pass, beside newer rows and on the general path."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 4_000

TABLES = (
    "CREATE TABLE shop (s_id INTEGER PRIMARY KEY, city VARCHAR, area INTEGER)",
    "CREATE TABLE sale (id INTEGER, shop INTEGER {}, size INTEGER, price DECIMAL(9, 2),"
    " far BIGINT, weight DOUBLE, note VARCHAR, nothing INTEGER)",
    "INSERT INTO shop VALUES (1, 'Oslo', 3), (2, 'Lyon', 4), (3, NULL, 3), (4, 'Bari', NULL)",
)
BVHS = (
    "CREATE BVH by_city ON sale (SCAN (city), GROUP BY (size, note), AGGREGATE (price, far))",
    "CREATE BVH by_size ON sale (SCAN (size, area), AGGREGATE (weight))",
)
NEWER = (
    "INSERT INTO sale VALUES (9001, 1, 5, 12.50, 4000000000, 1.5, 'new', NULL),"
    " (9002, 4, NULL, NULL, NULL, NULL, NULL, NULL)",
    "DELETE FROM sale WHERE id % 7 = 3",
    "UPDATE sale SET size = 8, price = price + 1 WHERE id % 11 = 5",
)

AGGREGATES = (
    "var_pop(price), var_samp(price), stddev_pop(price), stddev_samp(price)",
    "var_samp(size), count(far), sum(far), min(far)",
    "stddev(weight), var_pop(weight) FILTER (WHERE size > 2)",
    "stddev(area), var_pop(shop), median(area)",
    "median(size), quantile_disc(size, 0.25), quantile_cont(size, 0.9), quantile_disc(note, 0.5)",
    "median(weight), sum(price), quantile_disc(price, 0.1)",
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY size DESC)",
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY size DESC)",
    "count(DISTINCT shop), count(DISTINCT size), count(DISTINCT note)",
    "count(DISTINCT weight), avg(DISTINCT size), sum(DISTINCT size) FILTER (WHERE size < 5)",
    "arg_max(note, id), arg_min(price, id), arg_max(id, id) FILTER (WHERE size = 4)",
    "arg_max(city, weight), arg_min(note, -id), arg_max(price, weight) FILTER (WHERE size > 5)",
    "sum(price) FILTER (WHERE size > 3), avg(far) FILTER (WHERE note = 'b'), count(*)",
    "sum(CASE WHEN city = 'Oslo' THEN price ELSE 0 END), min(far) FILTER (WHERE size IS NULL)",
    "stddev(price) FILTER (WHERE area = 3), count(far) FILTER (WHERE size = 2 OR note = 'a')",
    "bool_and(size > 0), bool_or(price > 499), bool_or(note IS NULL)",
    "first(id ORDER BY id DESC), any_value(city), string_agg(note, '+' ORDER BY id)",
    "corr(weight, id), covar_samp(weight, id), regr_slope(weight, id), skewness(weight)",
    "bit_or(size), bit_xor(id), product(size) FILTER (WHERE id < 8)",
    "median(nothing), stddev(nothing), arg_max(nothing, id), max(nothing), mode(nothing)",
)
SHAPES = (
    "SELECT city, {} FROM sale, shop WHERE shop = s_id GROUP BY city",
    "SELECT {} FROM sale, shop WHERE shop = s_id AND size BETWEEN 2 AND 5",
    "SELECT size, area, {} FROM sale LEFT JOIN shop ON shop = s_id GROUP BY size, area",
    "SELECT {} FROM sale, shop WHERE shop = s_id AND city = 'Nowhere'",
    "SELECT city, {} FROM sale, shop WHERE shop = s_id AND size = 77 GROUP BY city",
)


def rows() -> pa.Table:
    rng = np.random.default_rng(12)

    def thinned(values: Any) -> pa.Array:
        return pa.array(values, mask=rng.random(ROWS) < 0.1)

    return pa.table(
        {
            "id": np.arange(ROWS, dtype=np.int32),
            "shop": thinned(rng.integers(1, 5, ROWS)),
            "size": thinned(rng.integers(-2, 9, ROWS)),
            "price": thinned(rng.integers(-500, 500, ROWS)),
            "far": thinned(3 * 10**9 + rng.integers(0, 9, ROWS)),
            "weight": thinned(10 + rng.normal(size=ROWS)),
            "note": thinned(rng.choice(["a", "b", "c", "ç"], ROWS)),
            "nothing": pa.nulls(ROWS, pa.int32()),
        }
    )


@pytest.fixture(scope="module")
def answers() -> Iterator[Any]:
    """Return what DuckDB answers, before and after the changes: (is changed, query) -> rows."""
    given = rows()
    connection = duckdb.connect()
    found: dict[tuple[bool, str], list[Any]] = {}
    for statement in TABLES:
        connection.execute(statement.format(""))
    connection.execute("INSERT INTO sale SELECT * FROM given")
    assert given.num_rows

    def answer(is_changed: bool, query: str) -> list[Any]:
        if (is_changed, query) not in found:
            connection.execute("BEGIN")
            for statement in NEWER if is_changed else ():
                connection.execute(statement)
            found[is_changed, query] = connection.execute(query).fetchall()
            connection.execute("ROLLBACK")
        return found[is_changed, query]

    yield answer
    connection.close()


@pytest.fixture(scope="module", params=["rows", "BVHs", "newer rows", "newer scan"])
def con(request: pytest.FixtureRequest) -> Iterator[tuple[Any, bool]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
        if request.param != "rows":
            patch.setattr("raydb.planner.stars.costs.SCAN_COST", 1e9)
            patch.setattr("raydb.planner.stars.choose.MIN_COMPARED", 1e18)
            patch.setattr("raydb.planner.stars.delta.MIN_SCANNED", request.param == "newer rows")
        connection = raydb.connect()
        for statement in TABLES:
            connection.execute(statement.format("REFERENCES shop"))
        connection.register("given", rows())
        connection.execute("INSERT INTO sale SELECT * FROM given")
        for statement in BVHS if request.param != "rows" else ():
            connection.execute(statement)
        is_changed = request.param.startswith("newer")
        for statement in NEWER if is_changed else ():
            connection.execute(statement)
        yield connection, is_changed


def same(one: Any, other: Any) -> bool:
    if one is None or other is None or isinstance(one, str):
        return one == other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("aggregates", AGGREGATES)
def test_every_aggregate_is_that_of_duckdb(con, answers, aggregates):
    connection, is_changed = con
    for shape in SHAPES:
        query = shape.format(aggregates)
        wanted = sorted(answers(is_changed, query), key=lambda row: repr(row[:2]))
        for path in ("on", "off"):
            connection.execute(f"SET fused_path = '{path}'")
            found = sorted(connection.execute(query).fetchall(), key=lambda row: repr(row[:2]))
            assert len(found) == len(wanted), query
            for row, other in zip(found, wanted, strict=True):
                assert all(map(same, row, other)), (query, path, row, other)


def path_of(connection: Any, query: str) -> str:
    text = connection.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone()[0]
    return json.loads(text)["path"]


@pytest.mark.parametrize("aggregates", AGGREGATES)
def test_every_aggregate_over_a_bvh_is_fused(con, aggregates):
    connection, is_changed = con
    connection.execute("SET fused_path = 'on'")
    has_bvh = connection.execute("SELECT count(*) FROM bvhs()").fetchone() != (0,)
    if has_bvh and not is_changed:
        assert path_of(connection, SHAPES[0].format(aggregates)) == "fused"


def test_the_first_and_the_last_row_are_those_of_the_table(con):
    connection, _ = con
    query = (
        "SELECT city, first(note), last(note), any_value(price), first(id), last(id), last(city)"
        " FROM sale, shop WHERE shop = s_id AND size > 1 GROUP BY city ORDER BY city"
    )
    answers = []
    for path in ("on", "off"):
        connection.execute(f"SET fused_path = '{path}'")
        answers.append(connection.execute(query).fetchall())
    assert answers[0] == answers[1]
    assert all(first < last for *_, first, last, _ in answers[0])


def test_squares_are_exact_where_doubles_are_not(con):
    connection, _ = con
    connection.execute("SET fused_path = 'on'")
    query = "SELECT city, var_pop({}) FROM sale, shop WHERE shop = s_id GROUP BY city"
    moved, near = (query.format(each) for each in ("far", "far - 3000000000"))
    answers = [dict(connection.execute(each).fetchall()) for each in (moved, near)]
    # Squares of doubles would be off by a thousand.
    assert answers[0] == pytest.approx(answers[1], rel=1e-8)


def test_a_condition_keeps_its_aggregate_from_failing(con):
    connection, _ = con
    connection.execute("SET fused_path = 'on'")
    query = "SELECT sum(CAST(note AS INTEGER)) FILTER (WHERE note < 'A') FROM sale"
    assert connection.execute(query).fetchall() == [(None,)]


def test_values_of_several_expressions_are_a_pass_each(con, monkeypatch):
    connection, _ = con
    # Sizes and notes have 12 and 5 values, and all of their pairs occur.
    monkeypatch.setattr("raydb.planner.stars.table_scan.DENSE_GROUPS", 100)
    monkeypatch.setattr("raydb.planner.stars.costs.SCAN_COST", 0)
    query = (
        "SELECT city, count(DISTINCT size), count(DISTINCT note), sum(price), max(note), count(*)"
        " FROM sale, shop WHERE shop = s_id GROUP BY city ORDER BY city"
    )
    connection.execute("SET fused_path = 'on'")
    plan = str(connection.execute(f"EXPLAIN {query}").fetchall())
    fused = connection.execute(query).fetchall()
    connection.execute("SET fused_path = 'off'")
    assert fused == connection.execute(query).fetchall()
    if connection.execute("SELECT count(*) FROM bvhs()").fetchone() == (0,):
        assert plan.count("FusedTableScan") == 3
