"""Schemas: what a database keeps of them, copies of it, and who else sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import raydb
from raydb.engine.shell.outside.dump import dump

if TYPE_CHECKING:
    from pathlib import Path

MADE = """
CREATE TABLE t (x INTEGER PRIMARY KEY); INSERT INTO t VALUES (1);
CREATE SCHEMA sales; CREATE SCHEMA "Odd one";
CREATE TABLE sales.t (x INTEGER PRIMARY KEY, note VARCHAR NOT NULL DEFAULT 'none', CHECK (x > 1));
INSERT INTO sales.t VALUES (2, 'two'), (3, DEFAULT);
CREATE TABLE sales.line (x INTEGER REFERENCES sales.t (x), y INTEGER REFERENCES main.t (x));
INSERT INTO sales.line VALUES (2, 1);
CREATE TABLE "Odd one"."order" (id INTEGER GENERATED ALWAYS AS IDENTITY, v INTEGER);
INSERT INTO "Odd one"."order" (v) VALUES (7), (8);
CREATE INDEX by_note ON sales.t (note);
CREATE VIEW sales.v AS SELECT sum(x) AS s FROM t;
CREATE SEQUENCE sales.steps START 5;
SELECT nextval('sales.steps');
"""
ASKED = {
    "FROM t": [(1,)],
    "FROM sales.t ORDER BY x": [(2, "two"), (3, "none")],
    "FROM sales.line": [(2, 1)],
    'FROM "Odd one"."order"': [(1, 7), (2, 8)],
    "FROM sales.v": [(5,)],
    "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL": [
        ("Odd one", "order"),
        ("main", "t"),
        ("sales", "line"),
        ("sales", "t"),
        ("sales", "v"),
    ],
    "SELECT name, table_name FROM indexes()": [("sales.by_note", "sales.t")],
}


def check(con: raydb.Connection) -> None:
    for query, answer in ASKED.items():
        assert con.execute(query).fetchall() == answer
    assert con.execute("SELECT nextval('sales.steps')").fetchall() == [(6,)]
    returned = con.execute('INSERT INTO "Odd one"."order" (v) VALUES (9) RETURNING id')
    assert returned.fetchall() == [(3,)]
    for refused in ("t VALUES (1, 'a')", "t (x) VALUES (2)", "line VALUES (1, 1)"):
        with pytest.raises(raydb.IntegrityError):
            con.execute(f"INSERT INTO sales.{refused}")


def test_a_database_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute(MADE)
    with raydb.connect(path) as con:
        con.execute("INSERT INTO sales.t VALUES (4, 'logged')")
    with raydb.connect(path) as con:
        con.execute("DELETE FROM sales.t WHERE x = 4; CHECKPOINT; VACUUM")
    with raydb.connect(path) as con:
        check(con)
        con.execute("DROP SCHEMA sales CASCADE")
        assert con.execute("SHOW TABLES").fetchall() == [("t",)]
    with raydb.connect(path) as con, pytest.raises(raydb.ProgrammingError, match="'sales'"):
        con.execute("FROM sales.t")


@pytest.mark.parametrize("file_format", ["parquet", "csv", "flat"])
def test_export(tmp_path: Path, file_format: str) -> None:
    with raydb.connect() as con:
        con.execute(MADE)
        con.execute(f"USE sales; EXPORT DATABASE '{tmp_path / 'saved'}' (FORMAT {file_format})")
    with raydb.connect() as con:
        con.execute(f"IMPORT DATABASE '{tmp_path / 'saved'}'")
        check(con)


def test_dump() -> None:
    with raydb.connect() as con, raydb.connect() as other:
        con.execute(MADE)
        other.execute("\n".join(dump(con)))
        check(other)


def test_a_dump_of_some_tables() -> None:
    with raydb.connect() as con, raydb.connect() as other:
        con.execute(MADE)
        other.execute("\n".join(dump(con, "sales.t")))
        query = "FROM sales.t ORDER BY x"
        assert other.execute(query).fetchall() == ASKED[query]
        schemas = other.execute("SELECT schema_name FROM information_schema.schemata").fetchall()
        assert ("Odd one",) not in schemas


def test_connections_have_a_schema_each(tmp_path: Path) -> None:
    with raydb.connect(tmp_path / "shop") as con:
        con.execute(MADE)
        con.execute("USE sales")
        for _ in range(3):
            assert con.execute("SELECT sum(x) FROM t").fetchall() == [(5,)]
        with con.duplicate() as twin, raydb.connect(tmp_path / "shop") as other:
            assert twin.execute("SELECT sum(x) FROM t").fetchall() == [(5,)]
            assert other.execute("SELECT sum(x) FROM t").fetchall() == [(1,)]
            other.execute("INSERT INTO sales.t VALUES (10, 'more')")
        assert con.execute("SELECT sum(x) FROM t").fetchall() == [(15,)]
        con.execute("USE main")
        assert con.execute("SELECT sum(x) FROM t").fetchall() == [(1,)]
    with raydb.connect() as reader:
        reader.execute(f"ATTACH '{tmp_path / 'shop'}' AS shop (READ_ONLY)")
        assert reader.execute("SELECT sum(x) FROM shop.sales.t").fetchall() == [(15,)]
        assert reader.execute("SELECT s FROM shop.sales.v").fetchall() == [(15,)]
        reader.execute("USE shop.sales")
        assert reader.execute("SELECT count(*) FROM line").fetchall() == [(1,)]


def test_stars_in_a_schema_are_fused() -> None:
    with raydb.connect() as con:
        con.execute("""
            CREATE SCHEMA s;
            CREATE TABLE s.city (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE s.sale (city INTEGER NOT NULL REFERENCES s.city (id), amount INTEGER);
            INSERT INTO s.city VALUES (0, 'Oslo'), (1, 'Lyon');
            INSERT INTO s.sale SELECT range % 2, range FROM range(200000);
        """)
        query = "SELECT name, sum(amount) FROM s.sale, s.city WHERE city = id GROUP BY name"
        assert sorted(con.execute(query).fetchall()) == [
            ("Lyon", 10_000_000_000),
            ("Oslo", 9_999_900_000),
        ]
        plan = con.execute(f"EXPLAIN {query}").fetchall()
        assert any("FusedTableScan" in line for (line,) in plan)


def test_two_connections_define_in_two_schemas() -> None:
    with raydb.connect() as con, con.duplicate() as other:
        con.execute("BEGIN; CREATE SCHEMA a; CREATE TABLE a.t (x INTEGER)")
        other.execute("CREATE SCHEMA b")
        with pytest.raises(raydb.ConflictError, match="schema 'b'"):
            con.commit()


def test_another_connection_drops_the_current_schema() -> None:
    with raydb.connect() as con, con.duplicate() as other:
        con.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS x; USE s")
        other.execute("DROP SCHEMA s CASCADE")
        with pytest.raises(raydb.ProgrammingError, match="'t' does not exist"):
            con.execute("FROM t")
        with pytest.raises(raydb.ProgrammingError, match="schema 's' was dropped"):
            con.execute("CREATE TABLE t (x INTEGER)")
        con.execute("USE main; CREATE TABLE t (x INTEGER)")


def test_a_variable_of_python_hides_no_table_that_is_written_to() -> None:
    with raydb.connect() as con:
        con.execute("CREATE SCHEMA s; CREATE TABLE s.rows_of (x INTEGER)")
        rows_of = [1]
        con.execute("INSERT INTO s.rows_of VALUES (?)", rows_of)
        con.execute("INSERT INTO s.rows_of (x) VALUES (2); UPDATE s.rows_of SET x = x + 1")
        con.execute("DELETE FROM s.rows_of WHERE x = 2")
        assert con.execute("SELECT x FROM s.rows_of").fetchall() == [(3,)]
