"""The SQLAlchemy dialect: types, queries, reflection, transactions, pandas and the ORM."""

from __future__ import annotations

import datetime as dt
import threading
from decimal import Decimal

import pandas as pd
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import orm
from sqlalchemy.dialects.postgresql import insert

import raydb

META = sa.MetaData()
SHOP = sa.Table(
    "shop",
    META,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("city", sa.String(20), nullable=False),
    sa.Column("rent", sa.Numeric(10, 2)),
    sa.CheckConstraint("rent > 0", name="rent_is_paid"),
)
SALE = sa.Table(
    "sale",
    META,
    sa.Column("n", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("shop_id", sa.ForeignKey("shop.id")),
    sa.Column("day", sa.Date),
    sa.Column("at", sa.DateTime),
    sa.Column("x", sa.Float),
    sa.Column("ok", sa.Boolean),
    sa.Column("note", sa.Text),
    sa.Column("photo", sa.LargeBinary),
    sa.Column("words", sa.ARRAY(sa.String)),
    sa.Column("lasted", sa.Interval),
    sa.UniqueConstraint("shop_id", "day"),
)
sa.Index("sale_day", SALE.c.day)
ROW = {
    "n": 1,
    "shop_id": 1,
    "day": dt.date(2026, 5, 1),
    "at": dt.datetime(2026, 5, 1, 12, 30),
    "x": 0.5,
    "ok": True,
    "note": "it's",
    "photo": b"\x00\xff",
    "words": ["a", "b"],
    "lasted": dt.timedelta(hours=36),
}


@pytest.fixture
def engine():
    engine = sa.create_engine("raydb://")
    META.create_all(engine)
    with engine.begin() as con:
        con.execute(
            sa.insert(SHOP),
            [
                {"id": 1, "city": "Oslo", "rent": Decimal("10.50")},
                {"id": 2, "city": "Lyon", "rent": None},
            ],
        )
        con.execute(sa.insert(SALE), ROW)
    yield engine
    engine.dispose()


def test_every_type_makes_the_round_trip(engine):
    with engine.connect() as con:
        assert dict(con.execute(sa.select(SALE)).one()._mapping) == ROW


def ask(engine, query):
    with engine.connect() as con:
        return [tuple(row) for row in con.execute(query)]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (sa.select(SHOP.c.city).order_by(SHOP.c.city).limit(1), [("Lyon",)]),
        (sa.select(SHOP.c.city).order_by(SHOP.c.city).offset(1), [("Oslo",)]),
        (sa.select(SHOP.c.city).order_by(SHOP.c.city).limit(5).offset(1), [("Oslo",)]),
        (sa.select(SHOP.c.id).where(SHOP.c.id.in_([])), []),
        (sa.select(SHOP.c.id).where(SHOP.c.id.not_in([2, 3])), [(1,)]),
        (sa.select(SHOP.c.id).where(SHOP.c.city.ilike("o%")), [(1,)]),
        (sa.select(SHOP.c.id).where(SHOP.c.city.not_ilike("%O", escape="/")), [(2,)]),
        (sa.select(SHOP.c.id).where(SHOP.c.city.icontains("SL")), [(1,)]),
        (sa.select(SHOP.c.id).where(SHOP.c.city.startswith("L")), [(2,)]),
        (sa.select(SHOP.c.id % 2).order_by(SHOP.c.id), [(1,), (0,)]),
        (sa.select(SHOP.c.rent.is_distinct_from(None)).where(SHOP.c.id == 2), [(False,)]),
        (sa.select(sa.cast("7", sa.Integer), sa.true(), sa.literal("a") + "b"), [(7, True, "ab")]),
        (sa.select(sa.func.coalesce(sa.func.sum(SALE.c.x), 0.0)), [(0.5,)]),
        (
            sa.select(SHOP.c.city, sa.func.count(SALE.c.n))
            .join(SALE, isouter=True)
            .group_by(SHOP.c.city)
            .order_by(SHOP.c.city),
            [("Lyon", 0), ("Oslo", 1)],
        ),
        (
            sa.select(sa.func.row_number().over(order_by=SHOP.c.city), SHOP.c.city).order_by(
                SHOP.c.city
            ),
            [(1, "Lyon"), (2, "Oslo")],
        ),
        (
            sa.union_all(sa.select(SHOP.c.id), sa.select(SALE.c.n)).order_by("id"),
            [(1,), (1,), (2,)],
        ),
        (sa.text("SELECT city FROM shop WHERE id = :id").bindparams(id=2), [("Lyon",)]),
    ],
)
def test_queries(engine, query, rows):
    assert ask(engine, query) == rows


def test_returning_and_rowcount(engine):
    with engine.begin() as con:
        shop = {"id": 3, "city": "Rome"}
        assert con.execute(sa.insert(SHOP).values(shop).returning(SHOP.c.id)).all() == [(3,)]
        assert con.execute(sa.update(SHOP).values(rent=5)).rowcount == 3
        assert con.execute(sa.delete(SHOP).where(SHOP.c.id > 1)).rowcount == 2


def test_reflection(engine):
    with engine.begin() as con:
        con.exec_driver_sql("CREATE VIEW dear AS SELECT * FROM shop WHERE rent > 8")
    found = sa.inspect(engine)
    assert found.get_schema_names() == ["main"]
    assert found.get_table_names() == ["sale", "shop"]
    assert found.get_view_names() == ["dear"]
    assert "rent > 8" in found.get_view_definition("dear")
    assert found.has_table("shop")
    assert not found.has_table("shops")
    assert found.get_pk_constraint("shop") == {
        "name": "shop_pkey",
        "constrained_columns": ["id"],
    }
    (key,) = found.get_foreign_keys("sale")
    assert key["constrained_columns"] == ["shop_id"]
    assert (key["referred_table"], key["referred_columns"]) == ("shop", ["id"])
    (unique,) = found.get_unique_constraints("sale")
    assert unique["column_names"] == ["shop_id", "day"]
    assert found.get_check_constraints("shop") == [{"name": "rent_is_paid", "sqltext": "rent > 0"}]
    assert found.get_indexes("sale") == [
        {"name": "sale_day", "column_names": ["day"], "unique": False}
    ]
    with pytest.raises(sa.exc.NoSuchTableError):
        found.get_columns("shops")


def test_a_reflected_table_is_made_anew(engine):
    known = sa.MetaData()
    known.reflect(engine)
    other = sa.create_engine("raydb://")
    known.create_all(other)
    types = sa.text("SELECT column_name, data_type FROM information_schema.columns ORDER BY 1, 2")
    assert ask(other, types) == ask(engine, types)
    assert ("words", "VARCHAR[]") in ask(other, types)
    assert sa.inspect(other).get_foreign_keys("sale")


def test_transactions(engine):
    with engine.connect() as con:
        con.execute(sa.delete(SALE))
        con.rollback()
    with engine.begin() as con:
        with con.begin_nested() as nested:
            con.execute(sa.insert(SHOP), {"id": 9, "city": "Bonn"})
            nested.rollback()
        con.execute(sa.insert(SHOP), {"id": 8, "city": "Bern"})
    assert ask(engine, sa.select(sa.func.count(SALE.c.n))) == [(1,)]
    assert ask(engine, sa.select(SHOP.c.id).where(SHOP.c.id > 2)) == [(8,)]


def test_errors_are_sqlalchemys(engine):
    with pytest.raises(sa.exc.IntegrityError, match="'shop'"), engine.begin() as con:
        con.execute(sa.insert(SHOP), {"id": 1, "city": "Bonn"})
    with pytest.raises(sa.exc.ProgrammingError, match="table 'shops' does not exist"):
        ask(engine, sa.text("SELECT * FROM shops"))


@pytest.mark.parametrize("is_on_disk", [False, pytest.param(True, marks=pytest.mark.long)])
def test_sixteen_threads_have_connections_of_their_own(tmp_path, is_on_disk):
    url = f"raydb:///{tmp_path / 'shop.raydb'}" if is_on_disk else "raydb://"
    engine = sa.create_engine(url, pool_size=4, max_overflow=4)
    META.create_all(engine)
    with orm.Session(engine) as session, session.begin():
        session.execute(sa.insert(SHOP), {"id": 0, "city": "x"})
    failures, retries = [], []

    def work(number):
        try:
            for each in range(3):
                with engine.begin() as con:
                    con.execute(sa.insert(SHOP), {"id": 100 + 10 * number + each, "city": "x"})
                while True:
                    try:
                        with orm.Session(engine) as session, session.begin():
                            rent = session.scalar(sa.select(SHOP.c.rent).where(SHOP.c.id == 0))
                            change = sa.update(SHOP).where(SHOP.c.id == 0)
                            session.execute(change.values(rent=(rent or 0) + 1))
                    except sa.exc.OperationalError as error:
                        retries.append(type(error.orig))
                    else:
                        break
                with engine.connect() as con:
                    assert con.scalar(sa.select(sa.func.count()).select_from(SHOP)) > each
        except Exception as error:  # noqa: BLE001  (told by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert set(retries) <= {raydb.ConflictError}
    query = sa.select(sa.func.count(), sa.func.max(SHOP.c.rent)).where(SHOP.c.city == "x")
    assert ask(engine, query) == [(49, 48)]
    engine.dispose()


def test_engines_in_memory_are_private(engine):
    other = sa.create_engine("raydb://?external_access=false")
    assert sa.inspect(other).get_table_names() == []
    with pytest.raises(sa.exc.OperationalError, match="external_access is off"):
        ask(other, sa.text("SELECT * FROM 'file.csv'"))
    with engine.connect() as one, engine.connect() as two:
        assert one.scalar(sa.select(SHOP.c.city)) == two.scalar(sa.select(SHOP.c.city)) == "Oslo"


def test_a_database_on_disk(tmp_path):
    url = f"raydb:///{tmp_path / 'shop.raydb'}"
    engine = sa.create_engine(url)
    META.create_all(engine)
    engine.dispose()
    reader = sa.create_engine(f"{url}?read_only=true")
    with reader.connect() as one, reader.connect() as other:
        assert one.execute(sa.select(SHOP)).all() == other.execute(sa.select(SHOP)).all() == []
    with pytest.raises(sa.exc.OperationalError, match="read-only"), reader.begin() as con:
        con.execute(sa.insert(SHOP), {"id": 1, "city": "Oslo"})
    with pytest.raises(sa.exc.ArgumentError, match="'readonly=true' is no option"):
        sa.create_engine(f"{url}?readonly=true")


# pandas and the ORM


def test_pandas(engine):
    frame = pd.DataFrame(
        {"a": [1, 2], "b": ["x", None], "d": pd.to_datetime(["2026-05-01", "2026-05-02"])}
    )
    with raydb.connect() as con, pytest.raises(Exception, match="needs an engine of SQLAlchemy"):
        frame.to_sql("frame", con, index=False)
    frame.to_sql("frame", engine, index=False)
    frame.to_sql("frame", engine, index=False, if_exists="append")
    assert pd.read_sql("SELECT count(*) AS n FROM frame", engine)["n"].tolist() == [4]
    frame.to_sql("frame", engine, index=False, if_exists="replace")
    found = pd.read_sql_table("frame", engine)
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)
    shops = pd.read_sql(sa.select(SHOP.c.city).where(SHOP.c.id == 1), engine)
    assert shops["city"].tolist() == ["Oslo"]


def test_names_of_mixed_case(engine):
    frame = pd.DataFrame({"CustomerName": ["Ann", "Bob"], "OrderId": [1, 2]})
    frame.to_sql("CustomerOrders", engine, index=False)
    frame.to_sql("CustomerOrders", engine, index=False, if_exists="append")
    found = sa.inspect(engine)
    assert "CustomerOrders" in found.get_table_names()
    assert found.has_table("customerorders")
    assert [column["name"] for column in found.get_columns("CUSTOMERORDERS")] == [*frame]
    read = pd.read_sql("SELECT customername, ORDERID FROM customerorders LIMIT 2", engine)
    pd.testing.assert_frame_equal(read, frame, check_dtype=False)
    reflected = sa.Table("CustomerOrders", sa.MetaData(), autoload_with=engine)
    query = sa.select(reflected.c.OrderId).where(reflected.c.CustomerName == "Bob").distinct()
    assert ask(engine, query) == [(2,)]
    in_lower_case = sa.Table("customerorders", sa.MetaData(), sa.Column("orderid", sa.Integer))
    assert ask(engine, sa.select(sa.func.sum(in_lower_case.c.orderid))) == [(6,)]
    with engine.connect() as con:
        (row,) = con.execute(sa.select(in_lower_case.c.orderid).distinct().limit(1)).mappings()
        assert row["orderid"] in (1, 2)
    frame.to_sql("CustomerOrders", engine, index=False, if_exists="replace")
    assert pd.read_sql_table("CustomerOrders", engine)["OrderId"].tolist() == [1, 2]


class Base(orm.DeclarativeBase):
    pass


class Shop(Base):
    __table__ = sa.Table(
        "orm_shop",
        Base.metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("city", sa.String),
    )
    sales = orm.relationship("Sale", back_populates="shop")


class Sale(Base):
    __table__ = sa.Table(
        "orm_sale",
        Base.metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("shop_id", sa.ForeignKey("orm_shop.id")),
    )
    shop = orm.relationship("Shop", back_populates="sales")


def test_the_orm(engine):
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Shop(id=1, city="Oslo", sales=[Sale(id=1), Sale(id=2)]))
        session.commit()
        shop = session.scalars(sa.select(Shop).where(Shop.sales.any(Sale.id == 2))).one()
        assert [sale.id for sale in shop.sales] == [1, 2]
        shop.city = "Bergen"
        session.commit()
        assert session.get(Shop, 1).city == "Bergen"


def test_the_dialect_names_the_module():
    assert sa.create_engine("raydb://").dialect.dbapi is raydb


def test_json_columns(engine):
    table = sa.Table(
        "event", sa.MetaData(), sa.Column("id", sa.Integer), sa.Column("body", sa.JSON)
    )
    body = table.c.body
    with engine.begin() as con:
        table.create(con)
        con.execute(
            table.insert(), [{"id": 1, "body": {"a": [1, "x"], "/b": None}}, {"id": 2, "body": [5]}]
        )
        asked = (
            body["a"],
            body["a"][0].as_integer(),
            body[("a", 1)].as_string(),
            body[0].as_float(),
        )
        found = con.execute(sa.select(body, *asked).order_by(table.c.id)).all()
        assert found == [
            ({"a": [1, "x"], "/b": None}, [1, "x"], 1, "x", None),
            ([5], None, None, None, 5.0),
        ]
        kept = sa.select(table.c.id).where(body["a"][1].as_string() == "x")
        assert con.execute(kept).scalars().all() == [1]


def test_rows_that_many_sets_wrote_are_counted(engine):
    table = sa.Table("counted", sa.MetaData(), sa.Column("id", sa.Integer))
    with engine.begin() as con:
        table.create(con)
        assert con.execute(table.insert(), [{"id": 1}, {"id": 2}]).rowcount == 2
        assert con.execute(table.insert().values([{"id": 3}, {"id": 4}])).rowcount == 2
    frame = pd.DataFrame({"id": [5, 6, 7]})
    assert frame.to_sql("counted", engine, if_exists="append", index=False) == 3


def test_rows_that_are_there_are_left_or_changed(engine):
    rows = [{"id": 1, "city": "Rome", "rent": 9}, {"id": 7, "city": "Bern", "rent": 8}]
    asked = insert(SHOP).values(rows)
    with engine.begin() as con:
        cities = dict(con.execute(sa.select(SHOP.c.id, SHOP.c.city)).all())
        con.execute(asked.on_conflict_do_nothing(index_elements=["id"]))
        found = con.execute(sa.select(SHOP.c.id, SHOP.c.city))
        assert dict(found.all()) == {7: "Bern", **cities}
        changes = {"city": asked.excluded.city, "rent": SHOP.c.rent + asked.excluded.rent}
        is_less = SHOP.c.rent < 100
        update = asked.on_conflict_do_update(index_elements=["id"], set_=changes, where=is_less)
        con.execute(update)
        assert con.scalar(sa.select(SHOP.c.rent).where(SHOP.c.id == 7)) == 16
        assert con.execute(asked.on_conflict_do_nothing()).rowcount == 0


def test_migrations_see_what_changed(engine):
    def model(action, identity):
        meta = sa.MetaData()
        sa.Table("boss", meta, sa.Column("id", sa.Integer, primary_key=True))
        key = sa.ForeignKey("boss.id", onupdate=action, ondelete=action)
        counted = sa.Column("n", sa.Integer, *identity)
        sa.Table("staff", meta, sa.Column("boss_id", key), counted)
        return meta

    def changes(meta):
        def is_known(name, kind, _):
            return kind != "table" or name in meta.tables

        options = {"include_name": is_known, "compare_server_default": True}
        context = MigrationContext.configure(con, opts=options)
        return [
            each[0] if isinstance(each, tuple) else each[0][0]
            for each in compare_metadata(context, meta)
        ]

    with engine.connect() as con:
        model("CASCADE", [sa.Identity()]).create_all(con)
        assert changes(model("CASCADE", [sa.Identity()])) == []
        assert changes(model("RESTRICT", [sa.Identity()])) == ["remove_fk", "add_fk"]
        assert changes(model("CASCADE", [])) == ["modify_default"]
        con.rollback()
        model("RESTRICT", []).create_all(con)
        assert changes(model("RESTRICT", [])) == []
        assert changes(model(None, [])) == []
