"""A small web shop: Flask, an engine with a pool, sixteen clients, and orders that are not lost."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import flask
import pytest
import sqlalchemy as sa
import werkzeug.serving
from sqlalchemy import orm

import raydb

CLIENTS = 16
ORDERS = 3
STOCK = 40


class Base(orm.DeclarativeBase):
    pass


class Item(Base):
    __tablename__ = "item"
    name: orm.Mapped[str] = orm.mapped_column(primary_key=True)
    stock: orm.Mapped[int]


class Order(Base):
    __tablename__ = "orders"
    key: orm.Mapped[str] = orm.mapped_column(primary_key=True)
    item: orm.Mapped[str] = orm.mapped_column(sa.ForeignKey("item.name"))


def application(engine):
    """GET / tells the stock and the orders; POST /<key> orders one item while there are any."""
    app = flask.Flask("shop")

    @app.get("/")
    def show():
        with orm.Session(engine) as session, session.begin():
            stock = session.scalar(sa.select(Item.stock).where(Item.name == "tea"))
            return {"stock": stock, "orders": session.query(Order).count()}

    @app.post("/<key>")
    def order(key):
        while True:
            try:
                with orm.Session(engine) as session, session.begin():
                    item = session.get(Item, "tea")
                    if item.stock == 0:
                        return {"error": "sold out"}, 409
                    item.stock -= 1
                    session.add(Order(key=key, item="tea"))
                    return {"left": item.stock}, 201
            except sa.exc.OperationalError as error:
                if not isinstance(error.orig, raydb.ConflictError):
                    raise

    return app


@pytest.fixture
def shop(tmp_path):
    """The port of the shop, and its engine."""
    engine = sa.create_engine(f"raydb:///{tmp_path / 'shop.raydb'}", pool_size=CLIENTS)
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session, session.begin():
        session.add(Item(name="tea", stock=STOCK))
    server = werkzeug.serving.make_server("127.0.0.1", 0, application(engine), threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server.server_port, engine
    server.shutdown()
    thread.join()
    server.server_close()
    engine.dispose()


def ask(port, method, path):
    http = HTTPConnection("127.0.0.1", port, timeout=120)
    http.request(method, path)
    answer = http.getresponse()
    found = json.loads(answer.read())
    http.close()
    return answer.status, found


@pytest.mark.long
def test_sixteen_clients_buy_what_there_is(shop, tmp_path):
    port, engine = shop

    def client(number):
        statuses = []
        for place in range(ORDERS):
            statuses.append(ask(port, "POST", f"/{number}-{place}")[0])
            status, found = ask(port, "GET", "/")
            assert (status, found["stock"] + found["orders"]) == (200, STOCK)
        return statuses

    with ThreadPoolExecutor(CLIENTS) as clients:
        statuses = [each for some in clients.map(client, range(CLIENTS)) for each in some]
    assert sorted(statuses) == [201] * STOCK + [409] * (CLIENTS * ORDERS - STOCK)
    assert ask(port, "GET", "/") == (200, {"stock": 0, "orders": STOCK})
    engine.dispose()
    with raydb.connect(tmp_path / "shop.raydb") as con:
        assert con.execute("SELECT stock FROM item").fetchone() == (0,)
        assert con.execute("SELECT count(DISTINCT key) FROM orders").fetchone() == (STOCK,)
