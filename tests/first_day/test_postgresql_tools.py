"""A tool for PostgreSQL looks at a database: SQLAlchemy's own PostgreSQL dialect asks pg_catalog.

Superset and others ask through it. What it finds is what the database has.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

import raydb

sa = pytest.importorskip("sqlalchemy", minversion="2.1")

from sqlalchemy.dialects import registry  # noqa: E402
from sqlalchemy.dialects.postgresql.base import PGDialect  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

MADE = """
CREATE SCHEMA shop;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE shop.item (
    id INTEGER PRIMARY KEY, price DECIMAL(10, 2) DEFAULT 5, feeling mood, CHECK (id > 0),
    UNIQUE (price));
CREATE TABLE place (p INTEGER, q INTEGER, PRIMARY KEY (p, q));
CREATE TABLE sale (
    item INTEGER REFERENCES shop.item (id) ON DELETE CASCADE, tags VARCHAR[],
    amount DOUBLE NOT NULL, twice DOUBLE AS (amount * 2), p INTEGER, q INTEGER,
    FOREIGN KEY (p, q) REFERENCES place (p, q));
CREATE INDEX dear ON shop.item (price DESC);
CREATE UNIQUE INDEX pairs ON sale (amount, item);
CREATE VIEW items AS SELECT id, price AS cost FROM shop.item;
CREATE SEQUENCE numbers;
COMMENT ON TABLE shop.item IS 'What is sold';
COMMENT ON COLUMN shop.item.price IS 'In euros';
"""


class PostgreSQL(PGDialect):
    """SQLAlchemy's dialect of PostgreSQL over connections of RayDB."""

    driver = "raydb"
    default_paramstyle = "qmark"
    supports_statement_cache = True

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return raydb

    def create_connect_args(self, url: Any) -> tuple[list[str], dict[str, Any]]:
        return [url.database], {}

    def initialize(self, connection: Any) -> None:
        self.server_version_info = (14, 0)
        self.default_schema_name = self._get_default_schema_name(connection)


@pytest.fixture
def inspector() -> Iterator[Any]:
    registry.register("postgresql_over_raydb", __name__, "PostgreSQL")
    engine = sa.create_engine("postgresql_over_raydb:///:memory:", poolclass=sa.pool.StaticPool)
    with warnings.catch_warnings(), engine.connect() as connection:
        warnings.simplefilter("error", sa.exc.SAWarning)
        connection.exec_driver_sql(MADE)
        yield sa.inspect(connection)
    engine.dispose()


def test_what_there_is(inspector: Any) -> None:
    assert inspector.get_schema_names() == ["information_schema", "main", "shop"]
    assert sorted(inspector.get_table_names()) == ["place", "sale"]
    assert inspector.get_table_names("shop") == ["item"]
    assert inspector.get_view_names() == ["items"]
    assert inspector.get_materialized_view_names() == inspector.get_temp_table_names() == []
    assert inspector.get_sequence_names() == ["numbers"]
    assert inspector.get_view_definition("items") == "SELECT id, price AS cost FROM shop.item"
    assert inspector.has_table("sale")
    assert inspector.has_table("item", "shop")
    assert not inspector.has_table("item")
    (enum,) = inspector.get_enums()
    assert (enum["name"], enum["labels"]) == ("mood", ["sad", "ok"])


@pytest.mark.long
def test_columns_and_comments(inspector: Any) -> None:
    columns = {each["name"]: each for each in inspector.get_columns("item", "shop")}
    assert str(columns["price"]["type"]) == "NUMERIC(10, 2)"
    assert columns["feeling"]["type"].enums == ["sad", "ok"]
    assert (columns["price"]["default"], columns["price"]["comment"]) == ("5", "In euros")
    assert [each["nullable"] for each in columns.values()] == [False, True, True]
    assert inspector.get_table_comment("item", "shop") == {"text": "What is sold"}
    assert inspector.get_table_comment("sale") == {"text": None}
    kinds = {each["name"]: str(each["type"]) for each in inspector.get_columns("sale")}
    assert (kinds["amount"], kinds["tags"]) == ("DOUBLE PRECISION", "ARRAY")
    computed = [each.get("computed", {}).get("sqltext") for each in inspector.get_columns("sale")]
    assert computed == [None, None, None, "amount * 2", None, None]
    assert [each["name"] for each in inspector.get_columns("items")] == ["id", "cost"]


@pytest.mark.long
def test_keys_and_indexes(inspector: Any) -> None:
    key = inspector.get_pk_constraint("place")
    assert (key["name"], key["constrained_columns"]) == ("place_pkey", ["p", "q"])
    assert inspector.get_pk_constraint("sale")["constrained_columns"] == []
    item, place = sorted(inspector.get_foreign_keys("sale"), key=lambda key: key["name"])
    assert (item["referred_schema"], item["referred_table"]) == ("shop", "item")
    assert item["options"] == {"ondelete": "CASCADE"}
    assert (place["constrained_columns"], place["referred_columns"]) == (["p", "q"], ["p", "q"])
    (unique,) = inspector.get_unique_constraints("item", "shop")
    assert (unique["name"], unique["column_names"]) == ("item_price_key", ["price"])
    (check,) = inspector.get_check_constraints("item", "shop")
    assert check["sqltext"] == "id > 0"
    dear, key = inspector.get_indexes("item", "shop")
    assert (dear["name"], dear["column_sorting"]) == ("dear", {"price": ("desc",)})
    assert key["duplicates_constraint"] == "item_price_key"
    (pairs,) = inspector.get_indexes("sale")
    assert (pairs["unique"], pairs["column_names"]) == (True, ["amount", "item"])


@pytest.mark.long
def test_tables_are_reflected_and_queried(inspector: Any) -> None:
    tables = sa.MetaData()
    tables.reflect(inspector.bind, views=True)
    assert {"sale", "place", "items", "shop.item"} <= set(tables.tables)
    assert inspector.bind.execute(sa.select(tables.tables["sale"])).all() == []
