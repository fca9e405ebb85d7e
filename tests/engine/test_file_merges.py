"""Many checkpoints leave few files; databases of many files open with few descriptors."""

from __future__ import annotations

import subprocess
import sys

import pytest

import raydb
from raydb import flatstor
from raydb.storage.flat import write as writing
from raydb.storage.tables import file_merges
from raydb.storage.tables.parts import FilePart

CHECK = "SELECT count(*), sum(a), count(DISTINCT b) FROM t"


def files(path, kind="flat"):
    return sorted((path / "data").glob(f"*.{kind}"))


def unmerged(path, count, monkeypatch):
    """Make a table of one row a file, as it was before there were merges."""
    with monkeypatch.context() as patch, raydb.connect(path) as con:
        patch.setattr(file_merges, "FANOUT", 10**9)
        con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
        for number in range(count):
            con.execute("INSERT INTO t VALUES (?, ?)", [number, f"text {number}"])
            con.execute("CHECKPOINT")
    assert len(files(path)) == count


def test_checkpoints_leave_few_files_of_any_kind(tmp_path):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute(
            "CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR);"
            "CREATE TABLE t (a INTEGER UNIQUE, b VARCHAR, d INTEGER REFERENCES d (id), v FLOAT[1]);"
            "INSERT INTO d VALUES (0, 'even'), (1, 'odd');"
            "INSERT INTO t SELECT -1 - range, 'first', 0, [range]::FLOAT[1] FROM range(4);"
            "CREATE BVH x ON t (SCAN (name), AGGREGATE (a));"
            "CREATE INDEX near ON t USING ivf (v) WITH (lists = 2);"
            "CALIBRATE INDEX near WITH (k = 1, fnr = 0.5);"
        )
        for number in range(25):
            con.execute("INSERT INTO t VALUES (?, ?, ?, [?])", [number, "b", number % 2, number])
            if number % 7 == 0:
                con.execute("UPDATE t SET b = 'c' WHERE a = ?", [number])
            con.execute("CHECKPOINT")
            assert len(files(path)) <= 10
        kinds = ("keys", "live", "bvh", "ivf", "cal")
        assert [len(files(path, kind)) for kind in kinds] == [1] * len(kinds)
        assert [len(list((path / name).iterdir())) for name in ("manifests", "wal")] == [1, 1]
        rows = con.execute("SELECT a, b, d FROM t").fetchall()
        sums = con.execute("SELECT name, sum(a) FROM t JOIN d ON d = id GROUP BY name").fetchall()
    with raydb.connect(path) as con:
        assert con.execute("SELECT a, b, d FROM t").fetchall() == rows
        assert sorted(sums) == [("even", 146), ("odd", 144)]
        con.execute("VACUUM")
        assert len(files(path)) == 2
        assert con.execute("SELECT a, b, d FROM t").fetchall() == rows


def test_a_table_that_did_not_change_is_not_written_again(tmp_path):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1); CHECKPOINT")
        con.execute("INSERT INTO t VALUES (2); CREATE TABLE other (a INTEGER); VACUUM")
        assert len(files(path)) == 1
        before, rows = files(path), con._session.database.snapshot.tables["t"].rows
        con.execute("VACUUM; CHECKPOINT; INSERT INTO other VALUES (1); CHECKPOINT")
        assert set(before) < set(files(path))
        assert con._session.database.snapshot.tables["t"].rows is rows


def test_merged_files_have_the_columns_and_the_layout_of_the_table(tmp_path, monkeypatch):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (a INTEGER, b VARCHAR, gone DATE) WITH (a.chunk_rows = 2)")
        con.execute("INSERT INTO t VALUES (1, 'x', '2026-01-01'); CHECKPOINT")
        con.execute("INSERT INTO t VALUES (2, 'y', NULL); ALTER TABLE t ADD COLUMN late DOUBLE")
        con.execute("ALTER TABLE t DROP COLUMN gone; ALTER TABLE t RENAME COLUMN a TO id")
        con.execute("INSERT INTO t VALUES (3, NULL, 1.5); CHECKPOINT")
        con.execute("INSERT INTO t VALUES (4, 'z', 2.5); CHECKPOINT")
        answer = [(1, "x", None), (2, "y", None), (3, None, 1.5), (4, "z", 2.5)]
        assert con.execute("SELECT id, b, late FROM t").fetchall() == answer
        con.execute("VACUUM")
    (file,) = files(path)
    with flatstor.open_table(file) as table:
        assert table.scan().to_pylist() == [
            dict(zip(("id", "b", "late"), row, strict=True)) for row in answer
        ]
        assert [chunk.row_count for chunk in table.metadata.columns[0].chunks] == [2, 2]


def test_large_files_and_memory_follow_memory_limit(tmp_path, monkeypatch):
    path = tmp_path / "db"
    unmerged(path, 24, monkeypatch)
    with raydb.connect(path) as con:
        # Of some 20 bytes a row, 10 rows are decoded at a time; the DELETE has left 192 decoded.
        con.execute("SET memory_limit = '800B'; CHECKPOINT; SET memory_limit = 'none'")
        assert 2 <= len(files(path)) <= 6
        assert con.execute(CHECK).fetchall() == [(24, 276, 24)]
        con.execute("DELETE FROM t WHERE a % 2 = 0; SET memory_limit = '600B'; VACUUM")
        con.execute("SET memory_limit = 'none'")
        assert 2 <= len(files(path)) <= 4
        assert con.execute(CHECK).fetchall() == [(12, 144, 12)]
        con.execute("VACUUM")
        assert len(files(path)) == 1
        assert con.execute(CHECK).fetchall() == [(12, 144, 12)]


CHILD = """
import os, resource, sys
import raydb
path, check = sys.argv[1:]
with raydb.connect(path, read_only=True) as con:
    con.execute(check)
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
with os.scandir("/dev/fd") as descriptors:
    most = max(int(each.name) for each in descriptors) + 16
resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
with raydb.connect(path, read_only=True) as reader, raydb.connect(path) as con:
    print(reader.execute(check).fetchall())
    print(con.execute(check).fetchall())
    con.execute("INSERT INTO t VALUES (-1, 'last'); CHECKPOINT")
    print(reader.execute(check).fetchall())
    con.execute("DELETE FROM t WHERE a < 0; VACUUM")
    print(reader.execute(check).fetchall())
"""


@pytest.mark.long
def test_a_database_of_many_files_opens_and_is_merged(tmp_path, monkeypatch):
    pytest.importorskip("resource", reason="the system has no limit of descriptors")
    path = tmp_path / "db"
    unmerged(path, 30, monkeypatch)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, path, CHECK], capture_output=True, text=True, check=False
    )
    assert child.stderr == ""
    answers = ["[(30, 435, 30)]", "[(30, 435, 30)]", "[(31, 434, 31)]", "[(30, 435, 30)]"]
    assert child.stdout.splitlines() == answers
    with raydb.connect(path) as con:
        con.execute("CHECKPOINT")  # removes what the reader had
        assert len(files(path)) == 1


def test_a_damaged_file_is_no_error_of_a_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "db"
    unmerged(path, 3, monkeypatch)
    with raydb.connect(path) as con:
        damaged = files(path)[0]
        data = bytearray(damaged.read_bytes())
        start = data.index(b"text ")
        data[start] ^= 1
        damaged.write_bytes(data)
        con.execute("INSERT INTO t VALUES (3, 'text 3'); CHECKPOINT")
        with pytest.raises(raydb.OperationalError, match=f"'{damaged}' is damaged at offset"):
            con.execute("SELECT b FROM t")
        assert con.execute("SELECT a FROM t ORDER BY a").fetchall() == [(0,), (1,), (2,), (3,)]
    with raydb.connect(path) as con:
        con.execute("CHECKPOINT")
        assert con.execute("SELECT sum(a) FROM t").fetchall() == [(6,)]


def test_a_disk_without_room_for_a_merge_takes_the_new_rows(tmp_path, monkeypatch):
    path = tmp_path / "db"
    unmerged(path, 3, monkeypatch)
    with raydb.connect(path) as con:
        con.execute("INSERT INTO t VALUES (3, 'text 3')")
        write_stream = writing.write_stream
        refused = []

        def write(sink, table, **options):
            if table.num_rows > 1:
                refused.append(table.num_rows)
                raise raydb.OperationalError("no space left on device")
            write_stream(sink, table, **options)

        monkeypatch.setattr(writing, "write_stream", write)
        con.execute("CHECKPOINT")
        assert refused == [4]
        assert len(files(path)) == 4
        with pytest.raises(raydb.OperationalError, match="no space left"):
            con.execute("VACUUM")
        assert con.execute(CHECK).fetchall() == [(4, 6, 4)]
    with raydb.connect(path) as con:
        assert con.execute(CHECK).fetchall() == [(4, 6, 4)]


def test_an_interrupted_merge_leaves_the_files_as_they_were(tmp_path, monkeypatch):
    path = tmp_path / "db"
    unmerged(path, 5, monkeypatch)
    with raydb.connect(path) as con:
        before = files(path)
        con.execute("INSERT INTO t VALUES (5, 'text 5')")
        columns = FilePart.columns

        def interrupted(part, names):
            con.interrupt()
            return columns(part, names)

        with monkeypatch.context() as patch:
            patch.setattr(FilePart, "columns", interrupted)
            with pytest.raises(raydb.OperationalError, match="the statement was interrupted"):
                con.execute("CHECKPOINT")
        assert files(path) == before
        assert con.execute(CHECK).fetchall() == [(6, 15, 6)]
        con.execute("CHECKPOINT")
        assert len(files(path)) == 1
    with raydb.connect(path) as con:
        assert con.execute(CHECK).fetchall() == [(6, 15, 6)]
