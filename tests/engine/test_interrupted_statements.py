"""An interrupt while a statement changes the database: all that it says is there, or nothing."""

from __future__ import annotations

import pytest

import raydb
from raydb.engine.catalog.database import Database

STATEMENTS = {
    "insert": "INSERT INTO t VALUES (2, 'b')",
    "upsert": "INSERT INTO t VALUES (1, 'b'), (3, 'c') ON CONFLICT (a) DO UPDATE SET b = 'u'",
    "alter": "ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 1",
    "create as": "CREATE TABLE u AS SELECT * FROM t",
    "truncate": "TRUNCATE t",
}


@pytest.fixture(params=["memory", "disk"])
def con(request, tmp_path):
    path = None if request.param == "memory" else tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR); INSERT INTO t VALUES (1, 'a')"
        )
        yield con


def state(con):
    return con.execute("SHOW TABLES").fetchall(), con.execute("FROM t").fetchall()


def interrupted(original):
    """Return a method that is interrupted right after it has done its work."""

    def run(self, *arguments, **options):
        original(self, *arguments, **options)
        raise KeyboardInterrupt

    return run


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_what_was_not_saved_is_gone(con, statement, monkeypatch):
    before = state(con)
    with monkeypatch.context() as patch:
        for name in ("apply", "define"):
            patch.setattr(Database, name, interrupted(getattr(Database, name)))
        with pytest.raises(KeyboardInterrupt):
            con.execute(statement)
    assert state(con) == before
    con.execute(statement)
    assert state(con) != before


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_a_transaction_goes_on_without_the_statement(con, statement, monkeypatch):
    con.execute("BEGIN; INSERT INTO t VALUES (9, 'kept')")
    before = state(con)
    with monkeypatch.context() as patch:
        for name in ("apply", "define"):
            patch.setattr(Database, name, interrupted(getattr(Database, name)))
        with pytest.raises(KeyboardInterrupt):
            con.execute(statement)
    assert state(con) == before
    con.commit()
    assert state(con) == before


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_what_was_saved_stays(con, statement, monkeypatch):
    before = state(con)
    with monkeypatch.context() as patch:
        patch.setattr(Database, "save", interrupted(Database.save))
        with pytest.raises(KeyboardInterrupt):
            con.execute(statement)
    after = state(con)
    assert after != before
    con.execute("BEGIN; DELETE FROM t; ROLLBACK")
    assert state(con) == after
