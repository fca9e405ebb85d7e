"""A loss of power in the middle of SQL: the database is that before the statement or after it.

A seeded workload of statements runs on the simulated disk. After each operation on the disk, what a
loss of power may leave of it is opened and asked. RAYDB_CRASH_SEED chooses the workload,
RAYDB_CRASH_STATEMENTS its length (60; the long run has 200) and RAYDB_CRASH_SHARE how many of the
operations are followed by a crash (0.2; 1 is all of them).
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from faults import SimulatedDisk

import raydb
from raydb.engine.api.connection import Connection
from raydb.engine.catalog import store, stored_rows
from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.session.session import Session
from raydb.storage.durable import database_directory
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.mapped import open_source
from raydb.storage.tables.file_merges import JoinedPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.storage.tables.parts import Part

SEED = int(os.environ.get("RAYDB_CRASH_SEED", "1"))
STATEMENTS = int(os.environ.get("RAYDB_CRASH_STATEMENTS", "60"))
SHARE = float(os.environ.get("RAYDB_CRASH_SHARE", "0.2"))
ROOT = Path("/disk")
PATH = ROOT / "shop.raydb"

SCHEMA = (
    "CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR)",
    "CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER, t VARCHAR)",
    "CREATE BVH x ON f (SCAN (name), AGGREGATE (m))",
    "CREATE TABLE e (v FLOAT[1])",
    "INSERT INTO e SELECT [range]::FLOAT[1] FROM range(12)",
    "CREATE INDEX near ON e USING ivf (v) WITH (lists = 3)",
)
QUERIES = (
    "SELECT * FROM d",
    "SELECT * FROM f",
    "SELECT name, sum(m), count(*) FROM f JOIN d ON d = id GROUP BY name",
    "SELECT name FROM bvhs()",
    "SELECT k, seed, threshold, state, rows_added, rows_deleted FROM index_calibrations()",
)


class Files:
    """Gives the engine, which maps files, the files of the simulated disk in use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk: SimulatedDisk | None = None

    def real(self, path: Path) -> Path:
        assert self.disk is not None
        target = self.folder / path.name
        target.unlink(missing_ok=True)  # what is mapped stays as it is
        target.write_bytes(self.disk.peek(path))
        return target


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    files = Files(tmp_path)
    monkeypatch.setattr(
        database_directory, "open_source", lambda path: open_source(files.real(path))
    )
    return files


def workload(random: Random) -> Iterator[str]:
    """Yield statements that change the database, in all the ways that it is written."""
    yield from SCHEMA
    known = 0
    for number in range(STATEMENTS - len(SCHEMA)):
        match random.choices(range(10), weights=(5, 8, 3, 3, 2, 2, 2, 2, 3, 1))[0]:
            case 0:
                known += 1
                yield f"INSERT INTO d VALUES ({known}, 'name {known % 5}')"
            case 1 if known:
                rows = ", ".join(
                    f"({random.randint(1, known)}, {random.randint(-9, 99)}, '{'x' * number}')"
                    for _ in range(random.randint(1, 4))
                )
                yield f"INSERT INTO f (d, m, t) VALUES {rows}"
            case 2 if known:
                row = f"({random.randint(1, known)}, {number}, NULL)"
                known += 1
                yield (
                    f"BEGIN; INSERT INTO d VALUES ({known}, 'both'); "
                    f"INSERT INTO f (d, m, t) VALUES {row}, ({known}, 1, 'both'); COMMIT"
                )
            case 3:
                yield f"DELETE FROM f WHERE m % 10 = {random.randint(0, 9)}"
            case 4:
                yield f"UPDATE f SET m = m + 1 WHERE d = {random.randint(0, known)}"
            case 5:
                yield "CHECKPOINT"
            case 6 if known:
                row = random.randint(1, known)
                known += 1
                yield (
                    f"INSERT INTO d VALUES ({row}, 'upsert'), ({known}, 'new') "
                    "ON CONFLICT (id) DO UPDATE SET name = d.name || d.id"
                )
            case 7:
                yield random.choice(
                    (
                        f"ALTER TABLE f ADD COLUMN c{number} INTEGER",
                        f"ALTER TABLE f ADD COLUMN c{number} INTEGER DEFAULT {number}",
                        f"ALTER TABLE f RENAME t TO c{number}, ADD t VARCHAR DEFAULT 'none'",
                        "ALTER TABLE f ALTER m SET DEFAULT 7",
                        f"CREATE TABLE t{number} AS SELECT * FROM f",
                        "TRUNCATE f",
                    )
                )
            case 8:
                yield random.choice(
                    (
                        f"CALIBRATE INDEX near WITH (k = 2, fnr = 0.3, seed = {number})",
                        "CALIBRATE INDEX near USING (SELECT v FROM e) WITH (fnr = 0.4)",
                        f"INSERT INTO e VALUES ([{number}]), ([{number + 1}])",
                        "REINDEX near",
                    )
                )
            case _:
                yield random.choice(("VACUUM", f"CREATE TABLE t{number} (a INTEGER)"))


def connect(disk: SimulatedDisk) -> Connection:
    return Connection(
        Session(
            SharedDatabase(store.Store(DatabaseDirectory.open(PATH, read_only=False, files=disk)))
        )
    )


def state(con: Connection) -> list[list[tuple[object, ...]]] | None:
    """Return all rows, in a fixed order; None before the tables are there."""
    try:
        return [sorted(con.execute(query).fetchall(), key=repr) for query in QUERIES]
    except raydb.ProgrammingError:
        return None


@pytest.mark.long
@pytest.mark.parametrize("share", ["0%", "60%"])
def test_a_loss_of_power_leaves_whole_statements(
    files: Files, share: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """share: how many changed rows CHECKPOINT leaves beside the BVH."""
    print(f"RAYDB_CRASH_SEED={SEED}")
    monkeypatch.setattr("raydb.engine.catalog.stored_bvh.ALWAYS_MERGED", 0)
    merges = []

    def joined(parts: tuple[Part, ...]) -> JoinedPart:
        merges.append(len(parts))
        return JoinedPart(parts)

    monkeypatch.setattr(stored_rows, "JoinedPart", joined)
    random = Random(SEED)
    disk = SimulatedDisk(ROOT, random)
    files.disk = disk
    con = connect(disk)
    con.execute(f"SET bvh_merge_share = '{share}'")
    before = after = state(con)
    crashes = 0

    def crash() -> None:
        nonlocal crashes
        if random.random() >= SHARE:
            return
        left.append(disk.cut_power(random.choice((0.0, 0.5, 1.0))))
        crashes += 1

    # The same statements whatever the disk has drawn.
    for statement in workload(Random(SEED)):
        left: list[SimulatedDisk] = []
        disk.observe = crash
        con.execute(statement)
        disk.observe = None
        before, after = after, state(con)
        for rest in left:
            files.disk = rest
            recovered = connect(rest)
            found = state(recovered)
            recovered.close()
            assert found in (before, after), statement
        # What was acknowledged survives, whatever was not synced.
        files.disk = disk.cut_power(0.0)
        recovered = connect(files.disk)
        assert state(recovered) == after, statement
        recovered.close()
        files.disk = disk
    con.close()
    assert crashes > STATEMENTS * SHARE
    assert len(merges) > STATEMENTS / 20


@pytest.mark.long
def test_a_loss_of_power_during_a_merge_changes_nothing(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    print(f"RAYDB_CRASH_SEED={SEED}")
    monkeypatch.setattr("raydb.engine.catalog.stored_bvh.MIN_MERGED", 0)
    monkeypatch.setattr("raydb.engine.catalog.stored_bvh.MERGED_SHARE", 0.0)
    random = Random(f"merge {SEED}")
    disk = SimulatedDisk(ROOT, random)
    files.disk = disk
    con = connect(disk)
    for statement in (*SCHEMA, "INSERT INTO d VALUES (1, 'one'), (2, 'two')"):
        con.execute(statement)
    left: list[SimulatedDisk] = []

    def crash() -> None:
        left.append(disk.cut_power(random.choice((0.0, 0.5, 1.0))))

    changes = (
        "INSERT INTO f VALUES (1, 1, 'a'), (2, 2, 'b'), (NULL, 3, 'c')",
        "DELETE FROM f WHERE m = 2",
        "UPDATE d SET name = 'other' WHERE id = 1",
        "UPDATE f SET m = 7; INSERT INTO f VALUES (2, 4, 'd')",
    )
    endings = ("CHECKPOINT", "INSERT INTO d VALUES (100, '')", "VACUUM", "close")
    crashes = 0
    for change, ending in zip(changes, endings, strict=True):
        con.execute(change)
        disk.observe = crash
        expected = state(con)  # the merge begins with the first query
        con._session.database.shared.merger.wait()
        assert state(con) == expected
        if ending == "close":
            con.close()
        else:
            con.execute(ending)
        disk.observe = None
        allowed = [expected]
        if ending.startswith("INSERT"):
            allowed.append(state(con))
        for rest in left:
            files.disk = rest
            recovered = connect(rest)
            found = state(recovered)
            recovered.close()
            assert found in allowed, change
        files.disk = disk
        crashes += len(left)
        left.clear()
    assert crashes > 20
