"""REINDEX of an index on disk: its lists are written from where they lie, and read from there."""

from __future__ import annotations

import errno
import subprocess
import sys
from textwrap import dedent

import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.kernels.stored.pieces import Pieces
from raydb.storage.durable.filesystem import File

WIDTH = 24
SEARCH = "SELECT id, distance FROM vector_search(t, emb, ?, k => 8, nprobe => {}) ORDER BY rank"


def add(con, seed, first, count):
    made = np.random.default_rng(seed).normal(size=(count, WIDTH)).astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(made.ravel()), WIDTH)
    con.register("made", pa.table({"id": np.arange(first, first + count), "emb": column}))
    con.execute("INSERT INTO t SELECT * FROM made")
    con.unregister("made")


def make(con, options=""):
    con.execute(f"CREATE TABLE t (id INTEGER, emb FLOAT[{WIDTH}])")
    add(con, 1, 0, 3000)
    con.execute(f"CREATE INDEX i ON t USING ivf (emb) WITH (lists = 50{options})")


def change(con):
    """Insert 150 rows and delete 30, some of a few lists alone."""
    add(con, 2, 3000, 150)
    con.execute("DELETE FROM t WHERE id % 100 = 7")


def found(con, nprobe=50):
    queries = np.random.default_rng(3).normal(size=(20, WIDTH)).astype(np.float32)
    return [con.execute(SEARCH.format(nprobe), [query]).fetchall() for query in queries]


@pytest.mark.parametrize("metric", ["l2", "cosine", "ip", "l1"])
def test_lists_are_as_those_in_memory(tmp_path, monkeypatch, metric):
    path, options = tmp_path / "t.raydb", f", metric = '{metric}'"
    expected = raydb.connect()
    make(expected, options)
    change(expected)
    expected.execute("REINDEX i")
    con = raydb.connect(path)
    make(con, options)
    change(con)
    whole, made = Pieces.whole, []
    with monkeypatch.context() as patch:
        patch.setattr(Pieces, "whole", lambda each: made.append(each.shape) or whole(each))
        con.execute("REINDEX i")
        for nprobe in (5, 50):
            assert found(con, nprobe) == found(expected, nprobe)
    assert not any(len(shape) > 1 for shape in made)
    # Once more, from the file that was written; then as it is read back.
    for each in (con, expected):
        add(each, 4, 4000, 40)
        each.execute("REINDEX i")
        add(each, 5, 5000, 3)
    assert found(con, 5) == found(expected, 5)
    con.close()
    with raydb.connect(path) as again:
        assert found(again, 5) == found(expected, 5)


def test_a_transaction_reads_lists_that_are_in_no_file_yet(tmp_path):
    with raydb.connect(tmp_path / "t.raydb") as con:
        make(con)
        change(con)
        before = found(con, 50)
        for end in ("ROLLBACK", "COMMIT"):
            con.execute("BEGIN; REINDEX i")
            assert found(con, 50) == before
            beside = "SELECT rows_beside FROM vector_indexes()"
            assert con.execute(beside).fetchone() == (0,)
            con.execute(end)
            assert con.execute(beside).fetchone() == (150 if end == "ROLLBACK" else 0,)
            assert found(con, 50) == before


@pytest.mark.parametrize("room", [0, 30_000, 200_000])
def test_a_full_disk_leaves_the_index_that_was_there(tmp_path, monkeypatch, room):
    path, write = tmp_path / "t.raydb", File.write

    def until_full(file, data, offset):
        if ".ivf" in str(file._path) and offset + len(data) > room:
            raise OSError(errno.ENOSPC, "no space left on device")
        write(file, data, offset)

    con = raydb.connect(path)
    make(con)
    change(con)
    before = found(con)
    with monkeypatch.context() as patch:
        patch.setattr(File, "write", until_full)
        with pytest.raises(raydb.OperationalError, match="no space left"):
            con.execute("REINDEX i")
        assert found(con) == before
    con.close()
    with raydb.connect(path) as con:
        assert found(con) == before
        con.execute("REINDEX i")
        assert found(con) == before
        assert len(list(path.rglob("*.ivf*"))) == 1


@pytest.mark.long
@pytest.mark.parametrize("room", [0, 100_000, 10**9])
def test_a_killed_process_leaves_the_index_that_was_there(tmp_path, room):
    """The last one dies once all is written, before a version names it."""
    path = tmp_path / "t.raydb"
    with raydb.connect(path) as con:
        make(con)
        change(con)
        before = found(con)
    script = f"""
        import os, raydb
        from raydb.storage.durable.database_directory import DatabaseDirectory
        from raydb.storage.durable.filesystem import File
        write = File.write

        def until_killed(file, data, offset):
            write(file, data, offset)
            if ".ivf" in str(file._path) and offset + len(data) > {room}:
                os._exit(9)

        con = raydb.connect({str(path)!r})
        File.write = until_killed
        DatabaseDirectory.commit = lambda *given: os._exit(9)
        con.execute("REINDEX i")
    """
    run = subprocess.run([sys.executable, "-c", dedent(script)], check=False)
    assert run.returncode == 9
    with raydb.connect(path) as con:
        assert found(con) == before
        assert con.execute("SELECT rows_beside FROM vector_indexes()").fetchone() == (150,)
        con.execute("REINDEX i")
        assert found(con) == before
