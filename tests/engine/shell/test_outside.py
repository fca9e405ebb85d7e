"""Dot commands that reach outside: dumps, other databases, folders, programs, an editor."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

import duckdb
import pytest

import raydb
from raydb.engine.shell import cli

SALES = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, city VARCHAR NOT NULL UNIQUE);
CREATE TABLE sale (
    shop INTEGER REFERENCES shop (id), day DATE, amount DECIMAL(10, 2), share DOUBLE, ok BOOLEAN,
    picture BLOB, seen TIMESTAMP, "odd name" VARCHAR);
INSERT INTO shop VALUES (1, 'O''Hara'), (2, '東京');
INSERT INTO sale SELECT 1 + range % 2, DATE '2026-01-01' + range, range / 4.0, range * 0.1,
    range % 3 = 0, CASE WHEN range % 2 = 0 THEN x'00ff' END, TIMESTAMP '2026-01-01 10:00:00', NULL
    FROM range(250);
CREATE INDEX by_day ON sale (day);
CREATE VIEW total AS SELECT sum(amount) AS amount FROM sale;
"""
OWN = """
ALTER TABLE sale ADD COLUMN place FLOAT[2];
UPDATE sale SET place = [share, 1];
INSERT INTO sale (share, place) VALUES ('inf', [0, 1.5]);
CREATE BVH days ON sale (SCAN (day), GROUP BY (city), AGGREGATE (amount));
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(capfd, database: str, *lines: str) -> tuple[str, str]:
    """Return what the shell writes, and what it complains about."""
    cli.main([database, "--list", *(part for line in lines for part in ("-c", line))])
    said = capfd.readouterr()
    return said.out, said.err


def rows(path: str) -> list[list[tuple]]:
    queries = (
        "FROM sale ORDER BY day, amount",
        "FROM shop ORDER BY id",
        "FROM total",
        "FROM indexes()",
    )
    with raydb.connect(path, read_only=True) as con:
        found = [list(map(repr, con.execute(query).fetchall())) for query in queries]
        return [*found, con.execute("SELECT name, scan, row_count FROM bvhs()").fetchall()]


def test_a_dump_makes_the_same_database(capfd):
    with raydb.connect("old") as con:
        con.execute(SALES + OWN)
    dumped, errors = run(capfd, "old", ".once dump.sql", ".dump")
    assert (dumped, errors) == ("", "")
    assert run(capfd, "new", ".bail on", ".read dump.sql") == ("", "")
    assert rows("new") == rows("old")
    # A dump of the copy is the same text.
    assert run(capfd, "new", ".dump")[0] == Path("dump.sql").read_text()


@pytest.mark.parametrize("other", [sqlite3, duckdb])
def test_a_dump_is_read_by_other_databases(capfd, other):
    with raydb.connect("old") as con:
        con.execute(SALES)
        (expected,) = con.execute(
            "SELECT count(*), sum(shop), count(picture), sum(amount)::DOUBLE FROM sale"
        ).fetchall()
    text, _ = run(capfd, "old", ".dump")
    con = other.connect(":memory:")
    getattr(con, "executescript", con.execute)(text)
    query = "SELECT count(*), sum(shop), count(picture) FROM sale WHERE day < '2027-01-01'"
    assert con.execute(query).fetchone() == expected[:3]
    assert float(con.execute("SELECT amount FROM total").fetchone()[0]) == pytest.approx(
        expected[3]
    )
    con.close()


def test_a_dump_of_some_tables(capfd):
    with raydb.connect("old") as con:
        con.execute(SALES)
    text, _ = run(capfd, "old", ".dump shop")
    assert text.count("CREATE") == 1
    assert "nothing" in run(capfd, "old", ".dump nothing")[1]


def test_another_database_is_opened(capfd):
    lines = (
        "CREATE TABLE here (a INTEGER)", ".open there", "CREATE TABLE t (a INTEGER)",
        ".open --readonly there", ".tables", "DROP TABLE t", ".open", ".tables",
        ".open missing/there", "SELECT 'still here' AS s", ".open a b",
    )  # fmt: skip
    out, errors = run(capfd, ":memory:", *lines)
    assert out == "t\ns\nstill here\n"
    readonly, missing, usage = errors.splitlines()
    assert "the database is opened read-only" in readonly
    assert "missing" in missing
    assert ".open is used as" in usage


def test_folders_and_programs(capfd, tmp_path):
    (tmp_path / "below").mkdir()
    out, errors = run(
        capfd, ":memory:", ".cd below", ".shell pwd", ".system exit 3", ".cd nowhere", ".shell"
    )
    assert out == f"{tmp_path / 'below'}\n"
    assert "the command ended with code 3" in errors
    assert "folder 'nowhere' cannot be entered: no such file" in errors
    assert ".shell is used as" in errors


def test_an_editor_changes_the_last_statement(capfd, monkeypatch, tmp_path):
    (tmp_path / "editor.py").write_text(
        "import pathlib, sys; p = pathlib.Path(sys.argv[1]);"
        "p.write_text(p.read_text().replace('1', '2'))"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {tmp_path / 'editor.py'}")
    assert run(capfd, ":memory:", "SELECT 1 AS a", ".edit") == ("a\n1\na\n2\n", "")
    monkeypatch.setenv("VISUAL", "no-such-editor")
    assert "the editor 'no-such-editor' cannot be run" in run(capfd, ":memory:", ".edit")[1]


def test_nothing_is_reached_without_external_access(capfd):
    commands = (
        ".open there",
        ".cd /",
        ".shell ls",
        ".system ls",
        ".edit",
        ".once f",
        ".import a b",
    )
    out, errors = run(
        capfd, ":memory:", "SET external_access = 'off'", *commands, ".open", "SHOW external_access"
    )
    assert out == "external_access\noff\n"
    assert errors.count("is not allowed: external_access is off") == len(commands)


def test_separators_and_widths(capfd):
    query = "SELECT 'a;b' AS a, 'abcdef' AS b"
    out, errors = run(
        capfd, ":memory:", '.separator "\\t"', query, ".separator ';'", ".mode csv", query
    )
    assert out == 'a\tb\na;b\tabcdef\na;b\n"a;b";abcdef\n'
    out, errors = run(capfd, ":memory:", ".mode csv", ".separator xx", query, ".width x")
    assert "CSV is separated by one character" in errors
    assert ".width is numbers of columns" in errors
    out, _ = run(capfd, ":memory:", ".mode table", ".width 6 4", query, ".width", query)
    assert out.splitlines()[3] == "| a;b    | a... |" or out.splitlines()[3] == "| a;b    | abc… |"
    assert out.splitlines()[-2] == "| a;b | abcdef |"
