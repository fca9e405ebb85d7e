"""Who may write when LOCK was removed, when processes fork, and when files vanish."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from directories import reader, write, writer

import raydb
from raydb.errors import OperationalError
from raydb.storage.durable.filesystem import File
from raydb.storage.durable.mark import MarkFile

if TYPE_CHECKING:
    from pathlib import Path


def test_after_lock_is_removed_the_first_writer_writes_no_more(path: Path) -> None:
    first = writer(path)
    first.append(b"first")
    (path / "LOCK").unlink()
    with writer(path) as second:
        for change in (
            lambda: first.append(b"lost"),
            lambda: first.commit(b"lost", []),
            first.collect_garbage,
        ):
            with pytest.raises(OperationalError, match="takes no changes: its file 'LOCK' was rem"):
                change()
        second.append(b"second")
    first.close()
    with reader(path) as directory:
        assert directory.shown.records == (b"first", b"second")


def test_rows_of_two_writers_are_not_lost(path: Path) -> None:
    with raydb.connect(path) as first:
        first.execute("CREATE TABLE t (a INTEGER)")
        (path / "LOCK").unlink()
        with raydb.connect(path) as second:
            second.execute("INSERT INTO t VALUES (1)")
            for text in ("INSERT INTO t VALUES (2)", "CREATE TABLE u (a INTEGER)", "CHECKPOINT"):
                with pytest.raises(raydb.OperationalError, match="takes no changes"):
                    first.execute(text)
        assert first.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with raydb.connect(path) as con:
        assert con.execute("FROM t").fetchall() == [(1,)]


def test_what_another_has_committed_is_not_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writer(path) as directory:
        directory.commit(b"ours", [])
        (path / "manifests" / "3.man").write_bytes(b"of a writer that did not ask for LOCK")
        for change in (lambda: directory.append(b"lost"), lambda: directory.commit(b"lost", [])):
            with pytest.raises(OperationalError, match="another process has written to it"):
                change()
    (path / "manifests" / "3.man").unlink()
    with writer(path) as directory, monkeypatch.context() as patch:
        patch.setattr(MarkFile, "write", lambda *_: None)
        (path / "manifests" / "2.man").unlink()
        with pytest.raises(OperationalError, match="another process has written to it"):
            directory.commit(b"lost", [])


def test_a_child_does_not_keep_the_lock_of_its_parent(path: Path) -> None:
    program = textwrap.dedent(
        """
        import os, sys, time
        from raydb.storage.durable.database_directory import DatabaseDirectory
        directory = DatabaseDirectory.open(sys.argv[1], read_only=False)
        directory.append(b"record")
        child = os.fork()
        if child:
            print(child, flush=True)
            os._exit(0)
        os.close(1)
        os.close(2)
        time.sleep(600)
        """
    )
    parent = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, check=True, timeout=60
    )
    try:
        with writer(path) as directory:
            assert directory.shown.records == (b"record",)
    finally:
        os.kill(int(parent.stdout), signal.SIGKILL)


def test_a_child_leaves_the_lock_to_its_parent(path: Path) -> None:
    with writer(path) as directory:
        child = os.fork()
        if not child:
            directory.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        with pytest.raises(OperationalError, match="is open for writing in process"):
            writer(path)
        directory.append(b"still ours")


def test_a_manifest_names_no_file_that_is_gone(path: Path) -> None:
    with writer(path) as directory:
        kept, gone = (directory.write_file("flat", write(b"rows")) for _ in range(2))
        directory.commit(b"both", [kept, gone])
        directory.path_of(gone).unlink()
        with pytest.raises(OperationalError, match=rf"{gone}' is missing: version 3 names it"):
            directory.commit(b"more", [kept, gone])
        directory.path_of(kept).write_bytes(b"row")
        with pytest.raises(OperationalError, match=rf"{kept}.*: expected 4 bytes"):
            directory.commit(b"less", [kept])
        assert directory.commit(b"none", []) == 3
    with reader(path) as directory:
        assert directory.shown.state == b"none"


def test_a_program_may_go_to_another_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    with raydb.connect("shop.raydb") as con, raydb.connect("shop.raydb", read_only=True) as other:
        monkeypatch.chdir("/")
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
        assert other.execute("FROM t").fetchall() == [(1,)]


def test_a_record_that_is_durable_is_acknowledged_if_its_lock_cannot_be_looked_at(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error", "LOCK")

    with writer(path) as directory:
        check = directory._check_lock
        checks = iter([check, fail])
        monkeypatch.setattr(directory, "_check_lock", lambda: next(checks)())  # noqa: PLW0108  (another one at each call)
        directory.append(b"record")
        monkeypatch.setattr(directory, "_check_lock", fail)
        with pytest.raises(OperationalError, match="takes no changes: 'LOCK': input/output error"):
            directory.append(b"another")
        monkeypatch.setattr(directory, "_check_lock", check)
    with reader(path) as directory:
        assert directory.shown.records == (b"record",)


def test_what_lock_was_removed_from_under_is_in_doubt(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writer(path) as directory:
        sync = File.sync
        monkeypatch.setattr(File, "sync", lambda file: (sync(file), (path / "LOCK").unlink()))
        with pytest.raises(OperationalError, match=r"LOCK' was removed.*makes it certain what is"):
            directory.append(b"record")
