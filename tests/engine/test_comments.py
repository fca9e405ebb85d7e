"""Comments of COMMENT ON in a database: what keeps them, who sees them, where they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

MADE = """
CREATE SCHEMA s;
CREATE TABLE s.t (a INTEGER PRIMARY KEY, b VARCHAR);
CREATE VIEW v AS SELECT a FROM s.t;
CREATE MACRO lines(n) AS TABLE SELECT range AS i FROM range(n);
COMMENT ON TABLE s.t IS 'It''s; a table';
COMMENT ON COLUMN s.t.b IS 'ein Ö';
COMMENT ON VIEW v IS 'a view';
COMMENT ON SCHEMA s IS 'a schema';
COMMENT ON MACRO TABLE lines IS 'a macro';
"""
KEPT = [
    ("table", "s.t", None, "It's; a table"),
    ("column", "s.t", "b", "ein Ö"),
    ("view", "v", None, "a view"),
    ("schema", "s", None, "a schema"),
    ("table macro", "lines", None, "a macro"),
]


def kept(con: raydb.Connection) -> list[tuple[object, ...]]:
    return con.execute("FROM comments()").fetchall()


@pytest.mark.parametrize("between", ["", "CHECKPOINT", "INSERT INTO s.t VALUES (1, 'x')", "VACUUM"])
def test_a_database_keeps_its_comments(tmp_path: Path, between: str) -> None:
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute(MADE)
        if between:
            con.execute(between)
    with raydb.connect(path) as con:
        assert kept(con) == KEPT
        con.execute("COMMENT ON TABLE s.t IS NULL; ALTER TABLE s.t RENAME b TO c")
    with raydb.connect(path, read_only=True) as con:
        assert kept(con) == [("column", "s.t", "c", "ein Ö"), *KEPT[2:]]
        with pytest.raises(raydb.OperationalError, match="read-only"):
            con.execute("COMMENT ON TABLE s.t IS 'x'")


def test_other_connections_see_what_is_committed() -> None:
    con = raydb.connect()
    con.execute(MADE)
    other = con.duplicate()
    assert kept(other) == KEPT
    con.execute("BEGIN; COMMENT ON VIEW v IS 'another one'")
    assert kept(other) == KEPT
    con.execute("COMMIT")
    assert ("view", "v", None, "another one") in kept(other)


def test_the_first_to_commit_wins() -> None:
    con = raydb.connect()
    con.execute(MADE)
    other = con.duplicate()
    con.execute("BEGIN; COMMENT ON VIEW v IS 'mine'")
    other.execute("COMMENT ON VIEW v IS 'yours'")
    with pytest.raises(raydb.ConflictError, match="the comment on 'v' was changed"):
        con.execute("COMMIT")
    assert ("view", "v", None, "yours") in kept(con)


def test_an_export_has_the_comments(tmp_path: Path) -> None:
    con = raydb.connect()
    con.execute(MADE)
    con.execute(f"EXPORT DATABASE '{tmp_path / 'all'}'")
    again = raydb.connect()
    again.execute(f"IMPORT DATABASE '{tmp_path / 'all'}'")
    assert kept(again) == KEPT


def test_the_shell_writes_comments() -> None:
    from raydb.engine.shell.outside.dump import dump
    from raydb.engine.shell.schema import schema_statements

    con = raydb.connect()
    con.execute(MADE)
    again = raydb.connect()
    again.execute("\n".join(dump(con)))
    assert kept(again) == KEPT
    assert list(schema_statements(con, "v")) == [
        "CREATE VIEW v AS SELECT a FROM s.t;",
        "COMMENT ON VIEW v IS 'a view';",
    ]


def test_attached_databases_have_their_comments(tmp_path: Path) -> None:
    with raydb.connect(tmp_path / "shop.raydb") as con:
        con.execute(MADE)
    con = raydb.connect()
    con.execute(f"ATTACH '{tmp_path / 'shop.raydb'}' AS shop")
    assert con.execute("SELECT comment FROM duckdb_tables()").fetchall() == [("It's; a table",)]
    con.execute("COMMENT ON COLUMN shop.s.t.a IS 'the key'")
    con.close()
    with raydb.connect(tmp_path / "shop.raydb") as con:
        assert ("column", "s.t", "a", "the key") in kept(con)
