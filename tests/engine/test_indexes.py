"""Indexes outlive the process: their names, their columns, and that unique ones are enforced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path


def test_indexes_are_durable(tmp_path: Path) -> None:
    path = tmp_path / "shop.raydb"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (a INTEGER, b VARCHAR); INSERT INTO t VALUES (1, 'x')")
        con.execute("CREATE INDEX i ON t (b DESC, a); CREATE UNIQUE INDEX u ON t (a)")
    with raydb.connect(path) as con:
        found = con.execute("SELECT * FROM indexes()").fetchall()
        assert found == [("i", "t", "b DESC, a", False), ("u", "t", "a", True)]
        with pytest.raises(raydb.IntegrityError, match="unique key 'u'"):
            con.execute("INSERT INTO t VALUES (1, 'y')")
        con.execute("DROP INDEX u; INSERT INTO t VALUES (1, 'y')")
    with raydb.connect(path, read_only=True) as con:
        assert con.execute("SELECT name FROM indexes()").fetchall() == [("i",)]
        with pytest.raises(raydb.OperationalError, match="read-only"):
            con.execute("DROP INDEX i")
