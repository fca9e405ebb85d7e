"""A database of a version that kept names apart which differ by case alone.

names/0.1.0a2.zip has two tables, two views, two BVHs and two indexes of that kind; the one without
quotes was in lower case. Version 0.1.0a2 made it by

    CREATE TABLE "Orders" (id INTEGER PRIMARY KEY, "Amount" INTEGER CHECK ("Amount" > 0));
    CREATE TABLE orders (id INTEGER PRIMARY KEY, amount INTEGER,
        oid INTEGER REFERENCES "Orders" (id));
    INSERT INTO "Orders" VALUES (1, 5);
    INSERT INTO orders VALUES (1, 7, 1);
    CREATE VIEW v AS SELECT amount FROM orders;
    CREATE VIEW "V" AS SELECT "Amount" FROM "Orders";
    CREATE BVH b ON orders (SCAN (orders.id), AGGREGATE (amount));
    CREATE BVH "B" ON "Orders" (SCAN (id), AGGREGATE ("Amount"));
    CREATE INDEX i ON orders (amount);
    CREATE INDEX "I" ON "Orders" ("Amount");
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import raydb


@pytest.fixture
def path(tmp_path):
    with zipfile.ZipFile(Path(__file__).parent / "names" / "0.1.0a2.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path / "names.raydb"


def test_each_is_found_by_the_name_that_it_had(path):
    with raydb.connect(path) as con:
        for query, rows in (
            ("SHOW TABLES", [("Orders",), ("V",), ("orders",), ("v",)]),
            ("SELECT amount FROM orders", [(7,)]),
            ("SELECT AMOUNT FROM ORDERS", [(7,)]),
            ('SELECT amount FROM "Orders"', [(5,)]),
            ("SELECT amount FROM v", [(7,)]),
            ('SELECT amount FROM "V"', [(5,)]),
            ("SELECT name, table_name FROM bvhs() ORDER BY 1", [("B", "Orders"), ("b", "orders")]),
            ("SELECT sum(amount) FROM orders WHERE id = 1", [(7,)]),
        ):
            assert con.execute(query).fetchall() == rows
        assert "bvh: b (" in str(con.execute("EXPLAIN SELECT sum(amount) FROM orders").fetchall())


def test_they_are_written_on_and_taken_apart(path):
    with raydb.connect(path) as con:
        con.execute('INSERT INTO orders VALUES (2, 8, 1); UPDATE "Orders" SET amount = 6')
        con.execute('DROP VIEW "V"; DROP BVH "B"; DROP INDEX i; DROP INDEX I')
        con.execute('ALTER TABLE "Orders" RENAME TO shop')
        with pytest.raises(raydb.ProgrammingError, match="table 'orders' exists already"):
            con.execute("CREATE TABLE ORDERS (a INTEGER)")
    with raydb.connect(path) as con:
        assert con.execute("SHOW TABLES").fetchall() == [("orders",), ("shop",), ("v",)]
        assert con.execute("SELECT max(AMOUNT) FROM SHOP").fetchall() == [(6,)]
        assert con.execute("SELECT max(amount) FROM V").fetchall() == [(8,)]
