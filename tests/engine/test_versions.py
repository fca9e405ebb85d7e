"""Databases of earlier versions are read as they are; a later one is refused and not touched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import raydb
from raydb.engine.catalog.store import READ_VERSIONS, STATE_VERSION
from raydb.storage.durable.database_directory import DatabaseDirectory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# What a state of an earlier version does not have.
LATER = {
    4: ("vector_indexes", "calibrations", "macros"),
    5: ("calibrations", "macros"),
    6: ("macros",),
    7: ("macros",),
    8: (),
    9: (),
}


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Commit the state of a database anew, changed."""
    with DatabaseDirectory.open(path, read_only=False) as directory:
        state = json.loads(directory.shown.state)
        change(state)
        directory.commit(json.dumps(state).encode(), directory.shown.files)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "d.raydb"
    with raydb.connect(path) as con:
        con.execute("""
            CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR);
            CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER);
            INSERT INTO d VALUES (1, 'a'), (2, 'b');
            INSERT INTO f VALUES (1, 5), (2, 7);
            CREATE BVH x ON f (SCAN (name), AGGREGATE (m));
            CHECKPOINT
        """)
    return path


@pytest.mark.parametrize("version", READ_VERSIONS)
def test_an_earlier_version_is_read_and_written_on(path: Path, version: int) -> None:
    def change(state: dict[str, Any]) -> None:
        state["version"] = version
        for name in LATER[version]:
            assert not state.pop(name)

    rewrite(path, change)
    query = "SELECT name, sum(m) FROM f JOIN d ON d = id GROUP BY name ORDER BY name"
    with raydb.connect(path, read_only=True) as con:
        assert con.execute(query).fetchall() == [("a", 5), ("b", 7)]
    with raydb.connect(path) as con:
        con.execute("INSERT INTO f VALUES (1, 1); CHECKPOINT")
    with DatabaseDirectory.open(path, read_only=True) as directory:
        assert json.loads(directory.shown.state)["version"] == STATE_VERSION
    with raydb.connect(path) as con:
        assert con.execute(query).fetchall() == [("a", 6), ("b", 7)]


@pytest.mark.parametrize("read_only", [True, False])
def test_a_later_version_is_refused_and_not_touched(path: Path, read_only: bool) -> None:
    rewrite(path, lambda state: state.update(version=STATE_VERSION + 1))
    before = contents(path)
    with pytest.raises(raydb.NotSupportedError, match=f"version {STATE_VERSION + 1}; this RayDB"):
        raydb.connect(path, read_only=read_only)
    assert contents(path) == before


def contents(path: Path) -> dict[Path, bytes]:
    return {
        file: file.read_bytes()
        for file in path.rglob("*")
        if file.is_file() and file.name not in {"LOCK", "CURRENT"}
    }
