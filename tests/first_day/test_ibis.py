"""A first hour with Ibis: tables from frames and files, expressions, and what goes wrong."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest

import raydb

ibis = pytest.importorskip("ibis")


@pytest.fixture(params=["memory", "disk"])
def con(request, tmp_path):
    made = ibis.raydb.connect(*([] if request.param == "memory" else [tmp_path / "shop.raydb"]))
    yield made
    made.disconnect()


@pytest.fixture
def sale(con):
    frame = pd.DataFrame({"shop": ["Oslo", "Lyon", "Oslo"], "amount": [10.5, 7.0, None]})
    return con.create_table("sale", frame)


def test_an_expression(con, sale):
    total = sale.group_by("shop").agg(total=sale.amount.sum(), n=sale.count()).order_by("shop")
    assert con.to_pandas(total).to_dict("list") == {
        "shop": ["Lyon", "Oslo"],
        "total": [7.0, 10.5],
        "n": [1, 2],
    }
    assert sale.amount.max().execute() == 10.5
    assert sale.to_pyarrow().num_rows == 3
    assert [batch.num_rows for batch in sale.to_pyarrow_batches(chunk_size=2)] == [2, 1]
    # NULLs come last either way, as Ibis says.
    for key in (sale.amount, sale.amount.desc()):
        assert sale.order_by(key).amount.to_pyarrow().to_pylist()[-1] is None


def test_what_is_kept(tmp_path):
    path = tmp_path / "shop.raydb"
    con = ibis.raydb.connect(path)
    con.create_table("t", schema={"a": "!int64", "b": "decimal(10, 2)", "c": "array<string>"})
    con.disconnect()
    again = ibis.connect(f"raydb://{path}?read_only=true")
    assert again.table("t").schema() == ibis.schema(
        {"a": "!int64", "b": "decimal(10, 2)", "c": "array<string>"}
    )
    with pytest.raises(raydb.OperationalError, match="read-only"):
        again.drop_table("t")
    again.disconnect()


def test_rows_that_change(con, sale):
    con.insert("sale", {"shop": ["Bern"], "amount": [1.0]})
    con.upsert("sale", ibis.memtable({"shop": ["Lyon", "Rome"], "amount": [8.0, 2.0]}), on="shop")
    assert set(con.table("sale").shop.to_pyarrow().to_pylist()) == {"Oslo", "Lyon", "Bern", "Rome"}
    own = con.create_table("sale", sale.filter(sale.amount > 5), overwrite=True)
    assert own.count().execute() == 2
    con.truncate_table("sale")
    assert con.table("sale").count().execute() == 0
    con.drop_table("sale")
    assert con.list_tables() == []


def test_a_table_that_cannot_be_made_leaves_nothing(con, sale):
    bad = sale.mutate(n=sale.shop.cast("int64"))
    with pytest.raises(raydb.DataError, match="Oslo"):
        con.create_table("bad", bad)
    with pytest.raises(raydb.DataError, match="Oslo"):
        con.create_table("sale", bad, overwrite=True)
    assert con.list_tables() == ["sale"]
    assert sale.count().execute() == 3


def test_schemas_and_views(con, sale):
    con.create_database("old")
    con.create_table("sale", sale, database="old")
    assert con.list_tables(database="old") == ["sale"]
    assert "old" in con.list_databases()
    view = con.create_view("large", sale.filter(sale.amount > 8))
    assert view.shop.to_pyarrow().to_pylist() == ["Oslo"]
    assert con.create_view("large", sale, overwrite=True).count().execute() == 3
    con.drop_view("large")
    con.drop_table("sale", database="old")
    con.drop_database("old")
    con.drop_database("old", force=True)


def test_files(con, sale, tmp_path):
    con.to_parquet(sale, tmp_path / "parts", partition_by=["shop"])
    parts = con.read_parquet(tmp_path / "parts" / "**" / "*.parquet", hive_partitioning=True)
    assert parts.count().execute() == 3
    con.to_csv(sale, tmp_path / "it's.csv")
    read = con.read_csv(tmp_path / "it's.csv", types={"amount": "decimal(6, 2)"}, table_name="csv")
    assert read.schema()["amount"] == ibis.dtype("decimal(6, 2)")
    con.to_json(sale, tmp_path / "sale.json")
    assert con.read_json([tmp_path / "sale.json"]).shop.nunique().execute() == 2
    with pytest.raises(raydb.OperationalError, match=r"none\.csv"):
        con.read_csv(tmp_path / "none.csv")


def test_numbers_and_times_are_as_ibis_says(con):
    moment = dt.datetime(2024, 5, 6, 7, 8, 9, 876543)
    rows = ibis.memtable(pa.table({"a": [-7, 7], "b": [2, 2], "t": [moment, moment]}))
    found = con.to_pyarrow(
        rows.select(
            ratio=rows.a / rows.b,
            floor=rows.a // rows.b,
            second=rows.t.second(),
            millisecond=rows.t.millisecond(),
            later=rows.t + ibis.interval(days=1),
        )
    ).to_pydict()
    assert found["ratio"] == [-3.5, 3.5]
    assert found["floor"] == [-4, 3]
    assert found["second"] == [9, 9]
    assert found["millisecond"] == [876, 876]
    assert found["later"] == [moment + dt.timedelta(days=1)] * 2
    with pytest.raises(raydb.DataError, match="division by zero"):
        con.execute(rows.a / 0)


def test_what_is_not_there(con, sale):
    with pytest.raises(ibis.common.exceptions.TableNotFound):
        con.table("sales")
    with pytest.raises(raydb.ProgrammingError, match="syntax error"):
        con.sql("SELEC 1")
    assert con.sql("SELECT shop FROM sale LIMIT 1").columns == ("shop",)
    with pytest.raises(ibis.common.exceptions.IbisTypeError, match="NULL"):
        con.create_table("nothing", schema={"a": "null"})


def test_an_open_connection():
    own = raydb.connect()
    own.execute("CREATE TABLE t AS SELECT 1 AS a")
    con = ibis.raydb.from_connection(own)
    assert con.tables.t.a.sum().execute() == 1
    assert con.version == raydb.__version__
