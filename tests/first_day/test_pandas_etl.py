"""A nightly job with pandas: read a messy file, clean it, load it by day, report from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import raydb

if TYPE_CHECKING:
    from pathlib import Path

ORDERS = """\
OrderID,CustomerName,Order Date,Amount,Note
00501,Åse Berg,2026-05-01,"1,234.50",first
00502,bob,2026-05-01,7,
00503, Carla ,2026-05-02,,"two
lines"
00501,Åse Berg,2026-05-01,"1,234.50",first
"""


@pytest.fixture
def orders(tmp_path: Path) -> pd.DataFrame:
    """Return what a job has after it cleaned the file."""
    path = tmp_path / "orders.csv"
    path.write_text(ORDERS, encoding="utf-8")
    frame = pd.read_csv(
        path, dtype={"OrderID": "string"}, thousands=",", parse_dates=["Order Date"]
    )
    frame["CustomerName"] = frame["CustomerName"].str.strip().str.title()
    return frame.drop_duplicates()


def test_a_frame_is_queried_by_its_name(orders: pd.DataFrame) -> None:
    con = raydb.connect()
    rows = con.execute(
        "SELECT CustomerName, sum(Amount) AS total FROM orders "
        "WHERE \"Order Date\" < DATE '2026-05-02' "
        "GROUP BY CustomerName ORDER BY total DESC"
    ).fetchall()
    assert rows == [("Åse Berg", 1234.5), ("Bob", 7.0)]


def test_each_night_is_loaded_once(orders: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "shop.raydb"
    frame = orders  # noqa: F841  (SQL names it)
    for _ in range(2):  # the job is run again
        with raydb.connect(path) as con:
            con.execute(
                "CREATE TABLE IF NOT EXISTS orders "
                "(id VARCHAR PRIMARY KEY, customer VARCHAR, day DATE, amount DECIMAL(9, 2), "
                "note VARCHAR)"
            )
            con.execute(
                'INSERT INTO orders SELECT OrderID, CustomerName, "Order Date"::DATE, Amount, Note '
                "FROM frame ON CONFLICT (id) DO UPDATE SET amount = excluded.amount"
            )
    with raydb.connect(path, read_only=True) as con:
        found = con.execute("SELECT * FROM orders ORDER BY id").to_pandas()
    assert found["id"].tolist() == ["00501", "00502", "00503"]
    assert found["note"].tolist()[2] == "two\nlines"
    assert pd.isna(found["note"][1])
    assert pd.isna(found["amount"][2])


def test_to_sql_and_read_sql_give_the_frame_back(tmp_path: Path) -> None:
    engine = sa.create_engine(f"raydb:///{tmp_path}/shop.raydb")
    random = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "ShopID": random.integers(0, 9, 5000),
            "Price": random.random(5000).round(6),
            "City": random.choice(["Oslo", "Lyon", None], 5000),
            "When": pd.Timestamp("2026-05-01")
            + pd.to_timedelta(random.integers(0, 9**6, 5000), "s"),
            "Paid": random.random(5000) < 0.5,
        }
    )
    frame.to_sql("Sales", engine, index=False)
    frame.head(10).to_sql("Sales", engine, index=False, if_exists="append")
    back = pd.read_sql("SELECT * FROM Sales", engine)
    expected = pd.concat([frame, frame.head(10)], ignore_index=True)
    pd.testing.assert_frame_equal(back, expected, check_dtype=False)
    table = pd.read_sql_table("Sales", engine)
    assert list(table.columns) == list(frame.columns)
    totals = pd.read_sql(
        "SELECT City, count(*) AS n, avg(Price) AS p FROM Sales GROUP BY City", engine
    )
    grouped = expected.groupby("City", dropna=False)["Price"].agg(["size", "mean"])
    for city, n, p in totals.itertuples(index=False):
        row = grouped.loc[city if city is not None else np.nan]
        assert n == row["size"]
        assert p == pytest.approx(row["mean"])
