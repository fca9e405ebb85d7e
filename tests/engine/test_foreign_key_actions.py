"""What foreign keys do to rows is in the log, in exports, and holds among connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import raydb
from raydb.engine.shell.outside.dump import dump

if TYPE_CHECKING:
    from pathlib import Path

TABLES = """
    CREATE TABLE p (id INTEGER PRIMARY KEY);
    CREATE TABLE c (n INTEGER, p INTEGER DEFAULT 1 REFERENCES p ON DELETE SET DEFAULT
        ON UPDATE CASCADE, twice AS (p * 2), up INTEGER REFERENCES p (id) ON DELETE SET NULL);
    INSERT INTO p VALUES (1), (2), (3);
    INSERT INTO c VALUES (1, 1, 3), (2, 2, 2), (3, 3, 1);
"""


def rows(con: Any) -> list[tuple[Any, ...]]:
    return con.execute("SELECT * FROM c ORDER BY n").fetchall()


def test_the_log_has_what_follows(tmp_path: Path) -> None:
    con = raydb.connect(tmp_path / "db")
    con.execute(TABLES)
    con.execute("CHECKPOINT")
    con.execute("UPDATE c SET up = 1 WHERE n = 1; UPDATE p SET id = 30 WHERE id = 3")
    con.execute("DELETE FROM p WHERE id = 2; INSERT INTO c (n) VALUES (4)")
    expected = [(1, 1, 2, 1), (2, 1, 2, None), (3, 30, 60, 1), (4, 1, 2, None)]
    assert rows(con) == expected
    con.close()
    con = raydb.connect(tmp_path / "db")
    assert rows(con) == expected
    con.execute("VACUUM; UPDATE p SET id = 31 WHERE id = 30")
    assert rows(con)[2] == (3, 31, 62, 1)


def test_exports_have_the_actions(tmp_path: Path) -> None:
    con = raydb.connect()
    con.execute(TABLES)
    con.execute(f"EXPORT DATABASE '{tmp_path}/out'")
    again, dumped = raydb.connect(), raydb.connect()
    again.execute(f"IMPORT DATABASE '{tmp_path}/out'")
    dumped.execute("\n".join(dump(con)))
    for other in (con, again, dumped):
        other.execute("DELETE FROM p WHERE id = 2")
        assert rows(other) == [(1, 1, 2, 3), (2, 1, 2, None), (3, 3, 6, 1)]


def test_rows_that_others_have_added_follow_too() -> None:
    con = raydb.connect()
    con.execute(TABLES)
    other = con.duplicate()
    con.execute("BEGIN; DELETE FROM p WHERE id = 2")
    other.execute("INSERT INTO c VALUES (5, 2, 2)")
    con.execute("COMMIT")
    assert rows(con)[-1] == (5, 1, 2, None)


def test_changes_whose_rows_would_get_other_numbers_conflict() -> None:
    con = raydb.connect()
    con.execute(TABLES)
    other = con.duplicate()
    con.execute("BEGIN; DELETE FROM p WHERE id = 2; UPDATE c SET n = 20 WHERE n = 2")
    other.execute("INSERT INTO c VALUES (5, 2, 2)")
    with pytest.raises(raydb.ConflictError):
        con.execute("COMMIT")
    assert [n for n, *_ in rows(con)] == [1, 2, 3, 5]
