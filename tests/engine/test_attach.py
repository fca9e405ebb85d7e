"""ATTACH of database directories: names, versions, what may be written, who else uses them."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[raydb.Connection]:
    """A database of its own, open for writing."""
    with raydb.connect(tmp_path / "shop.raydb") as shop:
        shop.execute("""
            CREATE TABLE city (c_id INTEGER PRIMARY KEY, c_name VARCHAR NOT NULL);
            CREATE TABLE sale (s_city INTEGER NOT NULL REFERENCES city (c_id), amount INTEGER);
            INSERT INTO city VALUES (1, 'Oslo'), (2, 'Lyon');
            INSERT INTO sale VALUES (1, 10), (2, 20), (1, 30);
            CREATE VIEW big AS SELECT amount FROM sale WHERE amount > 15;
        """)
        yield shop


@pytest.fixture
def con(shop: raydb.Connection, tmp_path: Path) -> Iterator[raydb.Connection]:
    """A database in memory to which the other one is attached."""
    with raydb.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'shop.raydb'}' AS Shop (READ_ONLY)")
        con.execute("CREATE TABLE sale (amount INTEGER); INSERT INTO sale VALUES (7)")
        yield con


def ask(con: raydb.Connection, query: str, parameters: tuple[object, ...] = ()) -> list[object]:
    rows = con.execute(query, parameters).fetchall()
    return [row[0] if len(row) == 1 else row for row in rows]


# The answers are those that DuckDB 2.0 gives, where it has the name `memory` for `raydb`.
@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT amount FROM shop.sale ORDER BY 1", [10, 20, 30]),
        ("SELECT shop.sale.amount FROM SHOP.main.SALE ORDER BY 1", [10, 20, 30]),
        ("SELECT shop.main.sale.amount FROM shop.sale ORDER BY 1", [10, 20, 30]),
        ("SELECT main.sale.amount FROM shop.sale ORDER BY 1", [10, 20, 30]),
        ("SELECT sale.amount FROM shop.sale ORDER BY 1", [10, 20, 30]),
        ("SELECT amount FROM raydb.sale", [7]),
        ("SELECT amount FROM main.sale", [7]),
        ("SELECT amount FROM raydb.main.sale", [7]),
        ("SELECT shop.sale.amount, raydb.sale.amount FROM shop.sale, sale ORDER BY 1",
         [(10, 7), (20, 7), (30, 7)]),
        ("SELECT shop.sale.* FROM shop.sale, sale ORDER BY 2", [(1, 10), (2, 20), (1, 30)]),
        ("SELECT sum(x.amount) FROM shop.sale x JOIN sale y ON x.amount > y.amount", [60]),
        ("SELECT amount FROM shop.big ORDER BY 1", [20, 30]),
        ("FROM shop.sale SELECT count(*)", [3]),
        ("WITH sale AS (SELECT 1 AS amount) SELECT amount FROM sale", [1]),
        ("WITH sale AS (SELECT 1 AS amount) SELECT sum(amount) FROM shop.sale", [60]),
        ("SELECT (SELECT max(amount) FROM shop.sale WHERE s_city = c_id) FROM shop.city ORDER BY 1",
         [20, 30]),
        ("SELECT amount FROM sale WHERE amount IN (SELECT amount - 3 FROM shop.sale)", [7]),
    ],
)  # fmt: skip
def test_names(con: raydb.Connection, query: str, answer: list[object]) -> None:
    assert ask(con, query) == answer


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("FROM shop.nope", "table 'shop.nope' does not exist"),
        ("FROM shop.sal", "did you mean 'sale'"),
        ("FROM nope.sale", "schema 'nope' does not exist, and no database is attached as 'nope'"),
        ("FROM shp.sale", "no database is attached as 'shp'; did you mean 'Shop'?"),
        ("SELECT nope.sale.amount FROM sale", "table 'nope.sale' is not in FROM"),
        ("INSERT INTO nope.sale VALUES (1)", "no database is attached as 'nope'"),
        ("FROM shop.nope.sale", "schema 'nope' does not exist"),
        ("SELECT sale.amount FROM shop.sale, sale", "it is in 'Shop' and in 'raydb'"),
        ("SELECT amount FROM shop.sale, sale", "column 'amount' is ambiguous"),
        ("SELECT 1 FROM shop.sale, shop.sale", "used twice"),
        ("SELECT shop.sale.nope FROM shop.sale", "column 'nope' does not exist"),
        ("SELECT shop.sale.amount FROM sale", "table 'shop.sale' is not in FROM"),
        (
            "SELECT shop.sale.amount FROM shop.sale AS s",
            "table 'sale' is not in FROM; did you mean its alias 's'",
        ),
        ('FROM "Shop.sale"', "table 'Shop.sale' does not exist"),
        ("FROM shop.information_schema.tables", "one for all databases"),
    ],
)
def test_wrong_names(con: raydb.Connection, query: str, message: str) -> None:
    with pytest.raises(raydb.ProgrammingError, match=message):
        con.execute(query)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO shop.sale VALUES (1, 1)",
        "INSERT INTO shop.main.sale (amount) VALUES (1)",
        "UPDATE shop.sale SET amount = 1",
        "DELETE FROM shop.sale",
        "TRUNCATE shop.sale",
        "CREATE TABLE shop.x (i INTEGER)",
        "CREATE TABLE shop.x AS SELECT 1 AS i",
        "CREATE VIEW shop.x AS SELECT 1 AS i",
        "CREATE SEQUENCE shop.x",
        "CREATE INDEX x ON shop.sale (amount)",
        "CREATE BVH x ON shop.sale (SCAN (amount))",
        "ALTER TABLE shop.sale ADD COLUMN i INTEGER",
        "DROP TABLE shop.sale",
        "DROP VIEW IF EXISTS shop.big",
        "COPY shop.sale FROM 'sale.csv'",
        "EXPLAIN INSERT INTO shop.sale VALUES (1, 1)",
        "USE shop; INSERT INTO sale VALUES (1, 1)",
        "USE shop; CREATE TABLE x (i INTEGER)",
    ],
)
def test_attached_databases_are_read_only(con: raydb.Connection, statement: str) -> None:
    with pytest.raises(raydb.OperationalError, match="database 'Shop' is attached, and so read-on"):
        con.execute(statement)
    with pytest.raises(raydb.OperationalError, match="read-only"):
        con.executemany("INSERT INTO shop.sale VALUES (?, ?)", [(1, 1), (2, 2)])
    assert ask(con, "SELECT sum(amount) FROM shop.sale") == [60]


def test_own_tables_are_made_of_attached_ones(con: raydb.Connection) -> None:
    con.execute("CREATE TABLE kept AS SELECT * FROM shop.sale")
    con.execute("INSERT INTO raydb.kept SELECT s_city, amount + 1 FROM shop.main.sale")
    con.execute("UPDATE kept SET amount = 0 WHERE amount IN (SELECT amount FROM shop.big)")
    con.execute(
        "DELETE FROM raydb.main.kept USING shop.city WHERE s_city = c_id AND c_name = 'Lyon'"
    )
    assert ask(con, "SELECT amount FROM kept ORDER BY 1") == [0, 10, 11, 31]
    with pytest.raises(raydb.ProgrammingError, match="in one database"):
        con.execute("DROP TABLE kept, shop.sale")


def test_use(con: raydb.Connection) -> None:
    con.execute("CREATE VIEW own AS SELECT sum(amount) FROM sale")
    con.execute("USE shop")
    assert ask(con, "SHOW TABLES") == ["big", "city", "sale"]
    assert ask(con, "SELECT current_database(), current_catalog") == [("Shop", "Shop")]
    assert ask(con, "SELECT sum(amount) FROM sale") == [60]
    assert ask(con, "FROM raydb.own") == [7]
    assert ask(con, "DESCRIBE big") == [("amount", "INTEGER", "YES", None, None, None)]
    con.execute("INSERT INTO raydb.sale SELECT amount FROM sale")
    with pytest.raises(raydb.ProgrammingError, match="is the current one"):
        con.execute("DETACH shop")
    con.execute("USE main")
    assert ask(con, "SELECT current_database(), current_schema") == [("raydb", "main")]
    assert ask(con, "SELECT count(*) FROM sale") == [4]
    assert ask(con, "SHOW TABLES FROM shop") == ["big", "city", "sale"]
    with pytest.raises(raydb.ProgrammingError, match="no database is attached as 'nope'"):
        con.execute("USE nope")


def test_what_is_listed(con: raydb.Connection, shop: raydb.Connection, tmp_path: Path) -> None:
    assert ask(con, "SHOW DATABASES") == ["Shop", "raydb"]
    path = str(tmp_path / "shop.raydb")
    assert ask(con, "PRAGMA database_list") == [(0, "raydb", None), (1, "Shop", path)]
    tables = "SELECT table_catalog, table_name, table_type FROM information_schema.tables"
    assert ask(con, f"{tables} ORDER BY 1, 2") == [
        ("Shop", "big", "VIEW"),
        ("Shop", "city", "BASE TABLE"),
        ("Shop", "sale", "BASE TABLE"),
        ("raydb", "sale", "BASE TABLE"),
    ]
    columns = "SELECT column_name FROM information_schema.columns WHERE table_catalog = 'Shop'"
    assert ask(con, f"{columns} AND table_name = 'big'") == ["amount"]
    assert ask(con, "DESCRIBE shop.city")[0] == ("c_id", "INTEGER", "NO", "PRI", None, None)
    shop.execute("CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TABLE day (m mood[])")
    con.execute("CREATE TYPE mood AS ENUM ('other')")
    assert ask(con, "FROM information_schema.user_defined_types") == [
        ("raydb", "main", "mood", "ENUM", "ENUM('other')"),
        ("Shop", "main", "mood", "ENUM", "ENUM('sad', 'glad')"),
    ]
    declared = "SELECT declared_type FROM information_schema.columns WHERE table_name = 'day'"
    assert ask(con, declared) == ["mood[]"]
    assert ask(con, "SELECT max FROM (SELECT 1 AS max)") == [1]
    assert len(ask(con, "SUMMARIZE shop.sale")) == 2


def test_attach_and_detach(con: raydb.Connection, tmp_path: Path) -> None:
    path = tmp_path / "shop.raydb"
    (tmp_path / "link").symlink_to(path)
    refused = {
        f"ATTACH '{path}' AS shop": "a database is attached as 'Shop' already",
        f"ATTACH '{path}' AS other": "is attached already, as 'Shop'",
        f"ATTACH '{tmp_path / 'link'}' AS other": "is attached already, as 'Shop'",
        f"ATTACH '{tmp_path / 'none'}' AS other (READ_ONLY)": "does not exist",
        f"ATTACH '{tmp_path / 'none'}' AS other (TYPE sqlite)": "does not exist",
        f"ATTACH '{path}' AS main": "cannot be attached as 'main'",
        f"ATTACH '{path}' AS raydb": "cannot be attached as 'raydb'",
        f"ATTACH '{path}' AS o (NOPE)": "option 'nope' of ATTACH does not exist",
        f"ATTACH '{path}' AS o (TYPE raydb, TYPE = raydb)": "has the option 'type' twice",
        f"ATTACH '{path}' AS o (TYPE duckdb)": "the types raydb and sqlite",
        f"ATTACH '{path}' AS o (TYPE sqlite, READ_ONLY false)": "SQLite's files are only read",
        "ATTACH ':memory:' AS o (READ_ONLY)": "READ_ONLY has no use",
        f"ATTACH '{__file__}' AS o": "is a file, not a database directory",
        "DETACH nope": "'nope' is not attached",
        "DETACH raydb": "is the connection's own",
        "BEGIN; DETACH shop": "within a transaction",
        "PRAGMA nope": "is not supported",
        "COPY FROM DATABASE nope TO raydb": "'nope' is not attached",
        "CREATE TABLE one (x INT); COPY FROM DATABASE shop TO raydb": "'raydb' is not empty",
    }
    for statement, message in refused.items():
        with pytest.raises(raydb.Error, match=message):
            con.execute(statement)
        con.rollback()
    con.execute(f"ATTACH DATABASE IF NOT EXISTS '{tmp_path / 'none'}' AS SHOP")
    con.execute("DETACH DATABASE shop; DETACH IF EXISTS shop")
    with pytest.raises(raydb.ProgrammingError, match="schema 'shop' does not exist"):
        con.execute("FROM shop.sale")
    con.execute(f"ATTACH '{path}'; ATTACH OR REPLACE '{path}' AS shop")
    assert ask(con, "SELECT sum(amount) FROM shop.sale") == [60]


def test_the_own_database_is_not_attached(shop: raydb.Connection, tmp_path: Path) -> None:
    with pytest.raises(raydb.OperationalError, match="is the one of this connection"):
        shop.execute(f"ATTACH '{tmp_path / 'shop.raydb'}' AS o")


def test_external_access(shop: raydb.Connection, tmp_path: Path) -> None:
    with (
        raydb.connect(external_access=False) as con,
        pytest.raises(raydb.OperationalError, match="external_access is off"),
    ):
        con.execute(f"ATTACH '{tmp_path / 'shop.raydb'}' AS o")


def test_names_that_look_like_keys(con: raydb.Connection) -> None:
    con.execute('CREATE TABLE "Shop.sale" (amount INTEGER); INSERT INTO "Shop.sale" VALUES (1)')
    assert ask(con, "SELECT sum(amount) FROM shop.sale") == [60]
    assert ask(con, 'SELECT sum(amount) FROM "Shop.sale"') == [1]
    con.register("Shop.city", {"c_name": ["Rome"]})
    assert ask(con, 'SELECT c_name FROM "Shop.city"') == ["Rome"]
    assert ask(con, "SELECT min(c_name) FROM shop.city") == ["Lyon"]


# -- versions


QUERIES = (
    "SELECT sum(amount) FROM shop.sale",
    "SELECT sum(amount) FROM shop.sale WHERE amount > 0",
    "SELECT c_name, sum(amount) FROM shop.sale JOIN shop.city ON s_city = c_id GROUP BY ALL"
    " ORDER BY 1",
    "SELECT x.amount FROM shop.sale x, raydb.sale ORDER BY 1",
    "SELECT sum(amount) FROM shop.big",
)


def test_commits_of_others_are_seen(con: raydb.Connection, shop: raydb.Connection) -> None:
    con.execute("PREPARE p AS SELECT sum(amount) FROM shop.sale WHERE amount > $1")
    for number in range(3):
        for _ in range(3):  # Parsed, from a template, from a plan.
            for query in QUERIES:
                written = query.replace("shop.", "").replace("raydb.sale", "(SELECT 7) y")
                assert ask(con, query) == ask(shop, written), query
            assert ask(con, "EXECUTE p(0)") == ask(con, QUERIES[0])
            assert ask(con, "SELECT sum(amount) FROM shop.sale WHERE amount > ?", (0,)) == ask(
                con, QUERIES[0]
            )
        shop.execute(f"INSERT INTO sale VALUES (2, {100 + number}), (1, 1)")
        shop.execute("DELETE FROM sale WHERE amount = 10")
        shop.execute("UPDATE city SET c_name = c_name || '!' WHERE c_id = 1")
    shop.execute("ALTER TABLE sale ADD COLUMN more INTEGER DEFAULT 5")
    assert ask(con, "SELECT sum(more) FROM shop.sale") == ask(shop, "SELECT sum(more) FROM sale")


@pytest.mark.long
def test_commits_of_other_processes_are_seen(con: raydb.Connection, tmp_path: Path) -> None:
    assert ask(con, "SELECT sum(amount) FROM shop.sale") == [60]
    other = tmp_path / "other.raydb"
    program = (
        "import raydb, sys\n"
        f"con = raydb.connect({str(other)!r})\n"
        "con.execute('CREATE TABLE IF NOT EXISTS t (i INTEGER)')\n"
        "con.execute('INSERT INTO t VALUES (1)')\n"
    )

    def write() -> None:
        subprocess.run([sys.executable, "-c", program], check=True)

    write()
    con.execute(f"ATTACH '{other}' AS other")
    assert ask(con, "SELECT sum(i) FROM other.t") == [1]
    write()
    assert ask(con, "SELECT sum(i) FROM other.t") == [2]


def test_a_transaction_reads_one_version(con: raydb.Connection, shop: raydb.Connection) -> None:
    con.execute("BEGIN")
    assert ask(con, QUERIES[0]) == [60]
    shop.execute("INSERT INTO sale VALUES (1, 1000)")
    assert ask(con, QUERIES[0]) == [60]
    con.execute("INSERT INTO sale SELECT amount FROM shop.sale; COMMIT")
    assert ask(con, QUERIES[0]) == [1060]
    assert ask(con, "SELECT sum(amount) FROM sale") == [67]


def test_a_stream_goes_on_with_its_version(con: raydb.Connection, shop: raydb.Connection) -> None:
    reader = con.stream("SELECT amount FROM shop.sale")
    shop.execute("DELETE FROM sale; CHECKPOINT")
    assert ask(con, "SELECT count(*) FROM shop.sale") == [0]
    assert reader.read_all().num_rows == 3


# -- BVHs and indexes


def test_stars_use_bvhs_of_attached_databases(
    con: raydb.Connection, shop: raydb.Connection
) -> None:
    shop.execute("CREATE BVH sales ON sale (SCAN (c_name), GROUP BY (c_name), AGGREGATE (amount))")
    query = (
        "SELECT c_name, sum(amount) FROM shop.sale JOIN shop.city ON s_city = c_id"
        " WHERE c_name >= 'M' GROUP BY c_name"
    )
    plan = "\n".join(ask(con, f"EXPLAIN {query}"))
    assert "Shop.sales" in plan
    assert "FusedScanAggregate" in plan
    assert ask(con, query) == [("Oslo", 40)]
    shop.execute("DELETE FROM sale WHERE amount = 10; INSERT INTO sale VALUES (1, 100)")
    assert ask(con, query) == [("Oslo", 130)]
    assert ask(con, query) == [("Oslo", 130)]
    across = query.replace("shop.city", "place")
    con.execute("CREATE TABLE place (c_id INTEGER PRIMARY KEY, c_name VARCHAR)")
    con.execute("INSERT INTO place VALUES (1, 'Paris'), (2, 'Ale')")
    assert ask(con, across) == [("Paris", 130)]


def test_vector_search(con: raydb.Connection, shop: raydb.Connection) -> None:
    shop.execute("CREATE TABLE item (i INTEGER, v FLOAT[2])")
    shop.execute("INSERT INTO item VALUES (1, [0, 0]), (2, [1, 1]), (3, [5, 5])")
    shop.execute("CREATE INDEX near ON item USING ivf (v)")
    query = "SELECT i FROM vector_search(shop.item, v, [1.1, 1.0]::FLOAT[2], k => 2) ORDER BY i"
    expected = ask(shop, query.replace("shop.", ""))
    assert ask(con, query) == expected


# -- who else is there


def test_views_over_attached_databases(tmp_path: Path, shop: raydb.Connection) -> None:
    attach = f"ATTACH '{tmp_path / 'shop.raydb'}' AS shop"
    with raydb.connect(tmp_path / "own") as con:
        con.execute(attach)
        con.execute("CREATE VIEW v AS SELECT sum(amount) AS total FROM shop.sale")
        assert ask(con, "FROM v") == [60]
        con.execute("DETACH shop")
        with pytest.raises(raydb.ProgrammingError, match="in the view 'v': schema 'shop' does not"):
            con.execute("FROM v")
    with raydb.connect(tmp_path / "own") as con:
        with pytest.raises(raydb.ProgrammingError, match="schema 'shop' does not exist"):
            con.execute("FROM v")
        con.execute(attach)
        assert ask(con, "FROM v") == [60]


def test_a_duplicate_has_what_is_attached(con: raydb.Connection, shop: raydb.Connection) -> None:
    con.execute("USE shop")
    with con.duplicate() as other:
        assert ask(other, "SELECT sum(amount) FROM sale") == [60]
        other.execute("USE raydb")
        con.execute("BEGIN")
        other.execute(
            "DETACH shop; ATTACH ':memory:' AS more; CREATE TABLE more.t AS SELECT 5 AS x"
        )
        assert ask(con, "SELECT sum(amount) FROM sale") == [60]
        con.execute("COMMIT")
        for text in ("FROM sale", "INSERT INTO sale VALUES (1, 2)", "CREATE TABLE u (x INTEGER)"):
            with pytest.raises(raydb.ProgrammingError, match="'Shop' was detached; USE another"):
                con.execute(text)
        assert ask(con, "SHOW DATABASES") == ["more", "raydb"]
        con.execute("USE more; INSERT INTO t VALUES (6)")
        assert ask(other, "SELECT sum(x) FROM more.t") == [11]
        with pytest.raises(raydb.ProgrammingError, match="attached as 'more' already"):
            con.execute("ATTACH ':memory:' AS more")
    assert ask(con, "SELECT sum(x) FROM t") == [11]


def test_the_writer_may_come_and_go(
    con: raydb.Connection, shop: raydb.Connection, tmp_path: Path
) -> None:
    shop.close()
    assert ask(con, "SELECT sum(amount) FROM shop.sale") == [60]
    with raydb.connect(tmp_path / "shop.raydb") as again:
        again.execute("INSERT INTO sale VALUES (1, 5)")
        assert ask(con, "SELECT sum(amount) FROM shop.sale") == [65]
    con.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_reads_on(con: raydb.Connection, shop: raydb.Connection) -> None:
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, str(ask(con, "SELECT sum(amount) FROM shop.sale")).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"[60]"
    os.close(read)
    os.close(write)


def test_exports_and_dumps_leave_attached_databases_out(
    con: raydb.Connection, tmp_path: Path
) -> None:
    con.execute(f"EXPORT DATABASE '{tmp_path / 'saved'}'")
    assert "city" not in (tmp_path / "saved" / "schema.sql").read_text()


@pytest.mark.parametrize("kind", ["raydb", "sqlite"])
def test_a_database_that_is_lost(tmp_path: Path, kind: str) -> None:
    path, away = tmp_path / "other", tmp_path / "away"
    if kind == "raydb":
        raydb.connect(path).execute("CREATE TABLE t AS SELECT 1 AS i").connection.close()
    else:
        with sqlite3.connect(path) as file:
            file.execute("CREATE TABLE t AS SELECT 1 AS i")
        file.close()
    with raydb.connect() as con:
        con.execute(f"ATTACH '{path}' AS o; CREATE VIEW v AS FROM o.t; CREATE TABLE i AS FROM v")
        path.rename(away)
        for query in ("FROM o.t", "FROM v", "SHOW TABLES FROM o", "USE o; FROM t"):
            with pytest.raises(raydb.OperationalError, match=r"database '.*other' "):
                con.execute(query)
        con.execute("USE raydb; INSERT INTO i VALUES (2); ALTER TABLE i ADD COLUMN j INTEGER")
        assert ask(con, "SELECT i FROM i ORDER BY i") == [1, 2]
        assert ask(con, "SHOW DATABASES") == ["o", "raydb"]
        con.execute(f"EXPORT DATABASE '{tmp_path / 'saved'}'")
        cursor = con.execute("SELECT table_name FROM information_schema.tables ORDER BY 1")
        assert cursor.fetchall() == [("i",), ("v",)]
        (warning,) = [text for _, text in cursor.messages]
        assert str(warning).startswith("the tables of 'o' are left out: ")
        with con.duplicate() as again:
            assert ask(again, "SELECT sum(i) FROM i") == [3]
            with pytest.raises(raydb.OperationalError, match=r"database '.*other' "):
                again.execute("FROM v")
            away.rename(path)
            assert ask(again, "FROM v") == [1]
        assert ask(con, "FROM v") == [1]
        path.rename(away)
        con.execute("DETACH o")
        assert ask(con, "SHOW DATABASES") == ["raydb"]
