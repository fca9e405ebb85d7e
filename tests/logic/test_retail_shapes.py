"""Shapes of queries that people ask of a retailer's stars, on data of our own, beside DuckDB.

Sales of two channels with returns, snowflaked buyers, keys that may be NULL: each shape is answered
without a BVH, with two of them, and on the general path.
"""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb

KEYS = {
    "place": "PRIMARY KEY (p_id)",
    "buyer": "PRIMARY KEY (b_id), FOREIGN KEY (b_place) REFERENCES place",
    "calendar": "PRIMARY KEY (c_id)",
    "product": "PRIMARY KEY (i_id)",
    "shop_sales": "PRIMARY KEY (s_ticket, s_item), FOREIGN KEY (s_item) REFERENCES product,"
    " FOREIGN KEY (s_day) REFERENCES calendar, FOREIGN KEY (s_buyer) REFERENCES buyer",
    "net_sales": "FOREIGN KEY (n_item) REFERENCES product, FOREIGN KEY (n_day) REFERENCES calendar,"
    " FOREIGN KEY (n_buyer) REFERENCES buyer",
    "returns": "FOREIGN KEY (r_ticket, r_item) REFERENCES shop_sales,"
    " FOREIGN KEY (r_day) REFERENCES calendar",
}

BVHS = (
    "CREATE BVH shop_days ON shop_sales (SCAN (c_year, i_class), GROUP BY (c_month),"
    " AGGREGATE (s_price, s_count))",
    "CREATE BVH net_days ON net_sales (SCAN (c_year), GROUP BY (i_class), AGGREGATE (n_price))",
)

SHAPES = (
    # A share of the class's total, by a window above the star.
    "SELECT i_class, i_name, sum(s_price), 1e2 * sum(s_price) / sum(sum(s_price))"
    " OVER (PARTITION BY i_class) FROM shop_sales, product, calendar WHERE s_item = i_id"
    " AND s_day = c_id AND c_year = 2021 GROUP BY i_class, i_name",
    # Buyers who spent more than average of their place, in a common table that is read twice.
    "WITH spent AS (SELECT s_buyer AS who, p_name AS town, sum(s_price) AS total FROM shop_sales,"
    " buyer, place WHERE s_buyer = b_id AND b_place = p_id GROUP BY s_buyer, p_name)"
    " SELECT who, total FROM spent AS one WHERE total > (SELECT avg(total) * 1.2 FROM spent AS x"
    " WHERE one.town = x.town)",
    # Both channels, by month, with totals of totals.
    "SELECT channel, c_month, sum(total) FROM (SELECT 'shop' AS channel, c_month, sum(s_price) AS"
    " total FROM shop_sales, calendar WHERE s_day = c_id GROUP BY c_month UNION ALL SELECT 'net',"
    " c_month, sum(n_price) FROM net_sales, calendar WHERE n_day = c_id GROUP BY c_month) AS x"
    " GROUP BY ROLLUP (channel, c_month)",
    # Sales less returns, of which a day is in a range.
    "SELECT i_class, sum(s_price), sum(coalesce(r_back, 0)) FROM shop_sales LEFT JOIN returns ON"
    " s_ticket = r_ticket AND s_item = r_item, calendar, product WHERE s_day = c_id AND s_item ="
    " i_id AND c_year = 2020 GROUP BY i_class",
    # How late goods come back, as counts of cases.
    "SELECT count(CASE WHEN r_day - s_day <= 30 THEN 1 END), count(CASE WHEN r_day - s_day > 30"
    " THEN 1 END) FROM shop_sales, returns WHERE s_ticket = r_ticket AND s_item = r_item",
    # Buyers of one channel who did, or did not, buy in the other.
    "SELECT count(*), count(DISTINCT p_name) FROM buyer, place WHERE b_place = p_id AND EXISTS"
    " (SELECT 1 FROM shop_sales WHERE s_buyer = b_id) AND NOT EXISTS (SELECT 1 FROM net_sales,"
    " calendar WHERE n_buyer = b_id AND n_day = c_id AND c_year = 2021)",
    # A year beside the year before, as a self join of sums.
    "WITH years AS (SELECT c_year AS y, i_class AS k, sum(s_count) AS n FROM shop_sales, calendar,"
    " product WHERE s_day = c_id AND s_item = i_id GROUP BY c_year, i_class) SELECT b.y, b.k, b.n -"
    " a.n FROM years AS a, years AS b WHERE a.k = b.k AND a.y = b.y - 1",
    # The months of one year, as a column each.
    "SELECT i_class, sum(CASE WHEN c_month = 1 THEN n_price END), sum(CASE WHEN c_month = 2 THEN"
    " n_price END) FROM net_sales, calendar, product WHERE n_day = c_id AND n_item = i_id AND"
    " c_year = 2021 GROUP BY i_class",
    # One row of several totals, each with its own predicates.
    "SELECT * FROM (SELECT avg(s_price) AS a FROM shop_sales WHERE s_count < 5) AS x, (SELECT"
    " count(*) AS b, count(DISTINCT s_price) FROM shop_sales WHERE s_count >= 5) AS y",
    # OR of boxes over several dimensions.
    "SELECT sum(s_count) FROM shop_sales, buyer, place, calendar WHERE s_buyer = b_id AND b_place ="
    " p_id AND s_day = c_id AND (b_age < 30 AND p_name = 'town 2' OR b_age > 60 AND c_year = 2020)",
)


@pytest.fixture(scope="module")
def engines() -> tuple[Any, Any]:
    rng = np.random.default_rng(99)

    def keys(most: int, count: int) -> pa.Array:
        """Return keys, of which some are NULL."""
        return pa.array(rng.integers(0, most, count), mask=rng.random(count) < 0.04)

    days, items, sold = np.arange(731), np.arange(60), np.arange(6000)
    tables = {
        "place": {"p_id": np.arange(20), "p_name": [f"town {n % 9}" for n in range(20)]},
        "buyer": {
            "b_id": np.arange(300),
            "b_place": keys(20, 300),
            "b_age": rng.integers(18, 80, 300),
        },
        "calendar": {"c_id": days, "c_year": 2020 + days // 366, "c_month": days // 31 % 12 + 1},
        "product": {
            "i_id": items,
            "i_name": [f"item {n}" for n in items],
            "i_class": [f"class {n % 7}" for n in items],
        },
        "shop_sales": {
            "s_ticket": sold // 3,
            "s_item": (sold // 3 + sold % 3 * 11) % 60,
            "s_day": keys(731, 6000),
            "s_buyer": keys(300, 6000),
            "s_count": rng.integers(1, 9, 6000),
            "s_price": rng.integers(1, 900, 6000),
        },
        "net_sales": {
            "n_item": keys(60, 4000),
            "n_day": keys(731, 4000),
            "n_buyer": keys(300, 4000),
            "n_price": rng.integers(1, 900, 4000),
        },
    }
    back = rng.choice(6000, 700, replace=False)
    tables["returns"] = {
        "r_ticket": back // 3,
        "r_item": (back // 3 + back % 3 * 11) % 60,
        "r_day": keys(731, 700),
        "r_back": rng.integers(1, 200, 700),
    }
    ours, theirs = raydb.connect(), duckdb.connect()
    for name, columns in tables.items():
        rows = pa.table(columns)
        theirs.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        listed = ", ".join(
            f"{field.name} {'VARCHAR' if pa.types.is_string(field.type) else 'BIGINT'}"
            for field in rows.schema
        )
        ours.execute(f"CREATE TABLE {name} ({listed}, {KEYS[name]})")
        ours.execute(f"INSERT INTO {name} SELECT * FROM rows")
        assert rows.num_rows
    return ours, theirs


def answer(connection: Any, query: str) -> list[str]:
    """Return the rows of a query in the order of their texts, doubles to nine digits."""
    rows = connection.execute(query).fetchall()
    return sorted(
        repr([f"{value:.9g}" if isinstance(value, float) else value for value in row])
        for row in rows
    )


def test_every_shape_has_one_answer(engines: tuple[Any, Any]) -> None:
    ours, theirs = engines
    expected = {query: answer(theirs, query) for query in SHAPES}
    assert all(expected.values())
    for statement in ("SET fused_path = 'off'", "SET fused_path = 'on'", *BVHS):
        ours.execute(statement)
        for query in SHAPES:
            assert answer(ours, query) == expected[query], (statement, query)
