"""Folders of Parquet files as pandas, Polars and Arrow partition them."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import raydb

DAYS = [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2), dt.datetime(2026, 2, 3)]
CITIES = ["Oslo", "São Paulo", None]
AMOUNTS = [1.5, None, 4.0]
MONTHS = [1, 1, 2]


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"day": DAYS, "city": CITIES, "amount": AMOUNTS, "month": MONTHS})


def by_pandas(frame: pd.DataFrame, folder: str) -> None:
    frame.to_parquet(folder, partition_cols=["month", "city"])


def by_polars(frame: pd.DataFrame, folder: str) -> None:
    key = pl.PartitionBy(folder, key=["month", "city"], include_key=False)
    pl.from_pandas(frame).lazy().sink_parquet(key, mkdir=True)


def by_arrow(frame: pd.DataFrame, folder: str) -> None:
    pa.dataset.write_dataset(
        pa.Table.from_pandas(frame),
        folder,
        format="parquet",
        partitioning=["month", "city"],
        partitioning_flavor="hive",
        existing_data_behavior="delete_matching",
    )


def by_copy(frame: pd.DataFrame, folder: str) -> None:
    columns = "FORMAT parquet, PARTITION_BY (month, city)"
    raydb.execute(f"COPY (SELECT * FROM frame) TO '{folder}' ({columns})")


@pytest.mark.parametrize("write", [by_copy, by_pandas, by_polars, by_arrow])
def test_partitions_are_columns(write, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(frame, "sales")
    files = "'sales/**/*.parquet'"
    with raydb.connect("shop.raydb") as con:
        found = con.execute(f"SELECT day, city, amount, month FROM {files} ORDER BY day")
        assert found.fetchall() == list(zip(DAYS, CITIES, AMOUNTS, MONTHS, strict=True))
        query = f"SELECT city, sum(amount) FROM {files} WHERE month = 1 GROUP BY city ORDER BY city"
        assert con.execute(query).fetchall() == [("Oslo", 1.5), ("São Paulo", None)]
        con.execute(f"CREATE TABLE sales AS FROM {files}")
        kept = con.execute("SELECT typeof(month), count(*), count(city) FROM sales GROUP BY 1")
        assert kept.fetchall() == [("BIGINT", 3, 2)]


def test_copy_writes_partitions(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as con:
        copy = "COPY (SELECT city, month, amount FROM frame)"
        assert con.execute(f"{copy} TO 's' (FORMAT csv, PARTITION_BY city)").rowcount == 3
        assert sorted(each.name for each in (tmp_path / "s").iterdir()) == [
            "city=Oslo",
            "city=S%C3%A3o Paulo",
            "city=__HIVE_DEFAULT_PARTITION__",
        ]
        assert (tmp_path / "s/city=Oslo/data_0.csv").read_text() == "month,amount\n1,1.5\n"
        with pytest.raises(raydb.OperationalError, match="'s' is not empty"):
            con.execute(f"{copy} TO 's' (FORMAT csv, PARTITION_BY city)")
        con.execute(f"{copy} TO 's' (FORMAT csv, PARTITION_BY ('City'), OVERWRITE_OR_IGNORE)")
        found = con.execute("SELECT city, month FROM read_csv('s/*/*.csv') ORDER BY ALL")
        assert found.fetchall() == [("Oslo", 1), ("São Paulo", 1), (None, 2)]
        for options, wrong in (
            ("PARTITION_BY town", "column 'town' does not exist in the rows of COPY"),
            ("PARTITION_BY (city, month, amount)", "PARTITION_BY has to leave a column"),
            ("PARTITION_BY 5", "unexpected '5', expected the name of a column"),
        ):
            with pytest.raises(raydb.ProgrammingError, match=wrong):
                con.execute(f"{copy} TO 'other' (FORMAT csv, {options})")
        with pytest.raises(raydb.NotSupportedError, match="PARTITION_BY of 'l', a INTEGER"):
            con.execute("COPY (SELECT [1] AS l, 2 AS x) TO 'other' (FORMAT csv, PARTITION_BY l)")
        assert not (tmp_path / "other").exists()


def test_what_a_failing_copy_wrote_is_removed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s").mkdir()
    (tmp_path / "s/k=2").write_text("no folder")
    with raydb.connect() as con, pytest.raises(raydb.OperationalError, match="cannot be written"):
        con.execute(
            "COPY (FROM (VALUES (1, 1), (2, 2)) t(k, x)) TO 's'"
            " (FORMAT csv, PARTITION_BY k, OVERWRITE_OR_IGNORE)"
        )
    assert [each.name for each in (tmp_path / "s").iterdir()] == ["k=2"]


def test_a_new_day_is_loaded_beside_the_old_ones(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect("shop.raydb") as con:
        con.execute(
            "CREATE TABLE sales (day TIMESTAMP, amount DOUBLE, month INTEGER, city VARCHAR)"
        )
        for month in (1, 2):
            by_arrow(frame[frame.month == month], "sales")
            con.execute(f"INSERT INTO sales BY NAME FROM 'sales/month={month}/*/*.parquet'")
        assert con.execute("SELECT count(*), sum(amount) FROM sales").fetchone() == (3, 5.5)


def test_a_word_among_numbers_is_text(frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    by_arrow(frame, "sales")
    (tmp_path / "sales/month=1").rename(tmp_path / "sales/month=January")
    with raydb.connect() as con:
        found = con.execute("SELECT DISTINCT month FROM 'sales/**/*.parquet' ORDER BY month")
        assert found.fetchall() == [("2",), ("January",)]
