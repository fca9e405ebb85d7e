"""An object mapper's models with `id` as primary key, as everyone writes them."""

from __future__ import annotations

import pytest

sa = pytest.importorskip("sqlalchemy")
orm = pytest.importorskip("sqlalchemy.orm")


class Base(orm.DeclarativeBase):
    """The models of a small shop."""


class Customer(Base):
    __tablename__ = "customer"

    id = sa.Column(sa.Integer, primary_key=True)
    name = sa.Column(sa.String(30), nullable=False)
    orders = orm.relationship("Order", back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "order"

    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    customer_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("customer.id"))
    item: orm.Mapped[str]
    customer = orm.relationship("Customer", back_populates="orders")


@pytest.fixture(params=["memory", "disk"])
def engine(request, tmp_path):
    place = "raydb://" if request.param == "memory" else f"raydb:///{tmp_path / 'shop.raydb'}"
    made = sa.create_engine(place)
    Base.metadata.create_all(made)
    yield made
    made.dispose()


def test_objects_and_what_belongs_to_them(engine):
    with orm.Session(engine) as session:
        ada = Customer(name="Ada", orders=[Order(item="pen"), Order(item="ink")])
        session.add(ada)
        session.commit()
        assert (ada.id, [order.id for order in ada.orders]) == (1, [1, 2])
        ada.orders.append(Order(item="paper"))
        ada.name = "Ada L."
        session.commit()
        session.expire_all()
        found = session.scalars(sa.select(Customer).where(Customer.id == 1)).one()
        assert (found.name, [order.item for order in found.orders]) == (
            "Ada L.",
            ["pen", "ink", "paper"],
        )
        session.delete(found)
        session.commit()
        assert session.scalar(sa.select(sa.func.count()).select_from(Order)) == 0


@pytest.mark.long
def test_a_thousand_objects(engine):
    with orm.Session(engine) as session:
        many = [Customer(name=f"c{n}", orders=[Order(item=f"i{n}")]) for n in range(1000)]
        session.add_all(many)
        session.commit()
        assert [customer.id for customer in many] == list(range(1, 1001))
        assert many[250].orders[0].item == "i250"
        joined = sa.select(Customer.name, Order.item).join(Order).order_by(Customer.id)
        rows = session.execute(joined).all()
        assert rows == [(f"c{n}", f"i{n}") for n in range(1000)]
        many[3].name = "other"
        session.delete(many[4])
        session.commit()
        assert session.get(Customer, 4).name == "other"
        assert session.get(Customer, 5) is None


def test_bulk_inserts(engine):
    with orm.Session(engine) as session:
        session.execute(sa.insert(Customer), [{"name": f"c{n}"} for n in range(300)])
        names = [{"name": "x"}, {"name": "y"}]
        made = session.scalars(sa.insert(Customer).returning(Customer.id), names)
        assert made.all() == [301, 302]
        session.add(Customer(id=500, name="chosen"))
        session.add(Customer(name="next"))
        session.commit()
        ids = sa.select(Customer.id).where(Customer.id > 302).order_by(Customer.id)
        assert len(session.scalars(ids).all()) == 2
        session.add(Customer(name="after"))
        session.commit()
        last = session.scalars(sa.select(Customer).where(Customer.name == "after")).one()
        assert last.id == 502


def test_keys_of_a_table_and_its_reflection(engine):
    metadata = sa.MetaData()
    tables = [
        sa.Table(
            "with_identity",
            metadata,
            sa.Column("id", sa.BigInteger, sa.Identity(start=5, increment=5), primary_key=True),
            sa.Column("x", sa.Integer),
        ),
        sa.Table(
            "with_sequence",
            metadata,
            sa.Column("id", sa.Integer, sa.Sequence("ids", start=7), primary_key=True),
            sa.Column("x", sa.Integer),
        ),
        sa.Table(
            "without",
            metadata,
            sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("x", sa.Integer),
        ),
    ]
    metadata.create_all(engine)
    with engine.begin() as connection:
        keys = [connection.execute(t.insert(), {"x": 1}).inserted_primary_key for t in tables[:2]]
        assert keys == [(5,), (7,)]
        assert connection.execute(tables[0].insert()).inserted_primary_key == (10,)
        with pytest.raises(sa.exc.IntegrityError):
            connection.execute(sa.text("INSERT INTO without (x) VALUES (1)"))
    inspector = sa.inspect(engine)
    assert inspector.get_sequence_names() == ["ids"]
    assert inspector.has_sequence("ids")
    first = {name: inspector.get_columns(name)[0] for name in ("with_identity", "without")}
    identity = first["with_identity"]["identity"]
    assert (identity["always"], identity["start"], identity["increment"]) == (False, 5, 5)
    assert not first["without"]["autoincrement"]
    metadata.drop_all(engine)
    assert sa.inspect(engine).get_sequence_names() == []
