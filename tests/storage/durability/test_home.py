"""A database directory: what it promises to its one writer and its readers, and whom it refuses."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

import pytest

from raydb.errors import (
    DataError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from raydb.storage.durable import wal as log
from raydb.storage.durable.database_directory import Home, Snapshot
from raydb.storage.durable.filesystem import LocalFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from raydb.storage.durable.filesystem import File, Lock

from homes import SHOP, listing, outcome, reader, small_disk, write, writer

# What is written is read


def test_a_new_database_is_empty(path: Path) -> None:
    with writer(path) as home:
        assert home.snapshot == Snapshot(1, b"", (), {})
        assert home.collect_garbage() == []
    with reader(path) as home:
        assert home.snapshot == Snapshot(1, b"", (), {})


def test_commits_and_records_are_there_after_reopening(path: Path) -> None:
    with writer(path) as home:
        home.append(b"gone with the next commit")
        first = home.write_file("flat", write(b"first"))
        assert home.commit(b"one", [first]) == 2
        second = home.write_file("bvh", write(b"number two"))
        assert home.commit(b"two", [second, first]) == 3
        assert home.records == ()
        home.append(b"a")
        home.append(b"")
        home.append(b"b" * 100_000)
    for read_only in (True, False):
        with Home.open(path, read_only=read_only) as home:
            files = {second: 10, first: 5}
            assert home.snapshot == Snapshot(3, b"two", (b"a", b"", b"b" * 100_000), files)
            assert home.path_of(second).read_bytes() == b"number two"
            assert home.log_bytes > 100_000
            home.verify()


def test_a_relative_path_works(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    Home.open("shop.raydb", read_only=False).close()
    assert path.is_dir()


def test_a_stream_counts_and_may_be_closed(path: Path) -> None:
    def fill(stream: BinaryIO) -> None:
        assert stream.writable()
        assert not stream.seekable()
        for number in range(5):
            stream.write(bytes([number]) * 700_000)
            assert stream.tell() == 700_000 * (number + 1)
        stream.close()

    with writer(path) as home:
        name = home.write_file("flat", fill)
        assert home.path_of(name).stat().st_size == 3_500_000
        home.commit(b"", [name])
        home.verify()


def test_a_file_that_fails_leaves_nothing(path: Path) -> None:
    def fail(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise FileNotFoundError(2, "No such file or directory", "source.csv")

    with writer(path) as home:
        with pytest.raises(FileNotFoundError, match=r"source\.csv"):
            home.write_file("flat", fail)
        assert list((path / "data").iterdir()) == []
        home.append(b"works")


def test_a_file_of_nobody_is_not_committed(path: Path) -> None:
    with writer(path) as home:
        with pytest.raises(InternalError, match=r"'x\.flat' was not written for"):
            home.commit(b"", ["x.flat"])
        with pytest.raises(InternalError, match=r"'x\.flat' is not part of version 1"):
            home.path_of("x.flat")
        home.append(b"works")
        assert home.version == 1


def test_a_record_has_a_greatest_size(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_RECORD_BYTES", 10)
    with writer(path) as home:
        home.append(b"0123456789")
        with pytest.raises(DataError, match="at most 10 bytes, not 11"):
            home.append(b"0123456789x")


# Readers


def test_a_reader_stays_on_its_version_until_it_refreshes(path: Path) -> None:
    with writer(path) as home, reader(path) as other:
        name = home.write_file("flat", write(b"old"))
        home.commit(b"old", [name])
        assert other.version == 1
        assert other.refresh()
        assert not other.refresh()
        home.append(b"record")
        assert other.records == ()
        assert other.refresh()
        assert other.records == (b"record",)
        home.commit(b"new", [])
        assert home.collect_garbage()[0] == "manifests/1.man"
        home.append(b"after")
        assert other.snapshot == Snapshot(2, b"old", (b"record",), {name: 3})
        assert other.path_of(name).read_bytes() == b"old"
        assert other.refresh()
        assert other.snapshot == Snapshot(3, b"new", (b"after",), {})
        assert home.collect_garbage()[0] == "manifests/2.man"
        assert len(listing(path)) == 4


def test_a_killed_reader_keeps_nothing(path: Path) -> None:
    program = (
        "import sys, time; from raydb.storage.durable.database_directory import Home\n"
        "home = Home.open(sys.argv[1], read_only=True); print(home.version, flush=True)\n"
        "time.sleep(600)"
    )
    with writer(path) as home:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        home.commit(b"", [])
        assert home.collect_garbage() == []
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert home.collect_garbage()[0] == "manifests/1.man"


def test_garbage_collection_keeps_what_is_asked_for(path: Path) -> None:
    with writer(path) as home:
        kept, dropped, waiting = (home.write_file("flat", write(b"x")) for _ in range(3))
        home.commit(b"", [kept, dropped])
        home.commit(b"", [])
        removed = home.collect_garbage(keep=[kept])
        assert f"data/{dropped}" in removed
        assert {p.name for p in (path / "data").iterdir()} == {kept, waiting}
        home.discard_file(waiting)
        assert set(home.collect_garbage()) == {f"data/{kept}", f"data/{waiting}"}


def test_what_is_not_ours_is_left_alone(path: Path) -> None:
    with writer(path) as home:
        for folder in ("data", "wal", "manifests"):
            (path / folder / "notes.txt").write_text("mine")
        home.commit(b"", [])
        home.collect_garbage()
        assert len([name for name in listing(path) if name.endswith("notes.txt")]) == 3


class Forbidding(LocalFileSystem):
    """A file system that is mounted read-only."""

    def forbid(self, path: Path) -> OSError:
        return OSError(errno.EROFS, "Read-only file system", str(path))

    def create(self, path: Path) -> File:
        raise self.forbid(path)

    def open(self, path: Path) -> File:
        raise self.forbid(path)

    def make_directory(self, path: Path) -> None:
        raise self.forbid(path)

    def sync_directory(self, path: Path) -> None:
        raise self.forbid(path)

    def unlink(self, path: Path) -> None:
        raise self.forbid(path)

    def lock(self, path: Path, *, exclusive: bool, create: bool) -> Lock | None:
        if create:
            raise self.forbid(path)
        return super().lock(path, exclusive=exclusive, create=create)


def test_a_read_only_file_system_can_be_read(path: Path) -> None:
    with writer(path) as home:
        home.append(b"record")
    with Home.open(path, read_only=True, files=Forbidding()) as home:
        assert home.records == (b"record",)
        assert not home.refresh()
    with pytest.raises(OperationalError, match=r"shop\.raydb/LOCK': read-only file system"):
        Home.open(path, read_only=False, files=Forbidding())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_the_right_to_write_can_be_read(path: Path) -> None:
    with writer(path) as home:
        home.append(b"record")
    folders = [path, *(p for p in path.iterdir() if p.is_dir())]
    for folder in (*folders, *(p for p in path.rglob("*") if p.is_file())):
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    try:
        with reader(path) as home:
            assert home.records == (b"record",)
        with pytest.raises(OperationalError, match="LOCK': permission denied"):
            writer(path)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_without_a_mark_a_reader_takes_every_whole_record(path: Path) -> None:
    with writer(path) as home:
        home.append(b"one")
        (path / "CURRENT").unlink()
        with reader(path) as other:
            assert other.records == (b"one",)
            home.append(b"two")
            assert other.refresh()
            assert other.records == (b"one", b"two")
    with next((path / "wal").iterdir()).open("ab") as file:
        file.write(b"\xf1RAY torn")
    with reader(path) as other:
        assert other.records == (b"one", b"two")


def test_a_reader_sees_nothing_before_it_is_durable() -> None:
    disk = small_disk()
    home = Home.open(SHOP, read_only=False, files=disk)
    name = home.write_file("flat", write(b"new"))
    for change in (lambda: home.append(b"record"), lambda: home.commit(b"new state", [name])):
        seen: list[Snapshot | str] = [outcome(disk, read_only=True)]
        disk.observe = lambda seen=seen: seen.append(outcome(disk, read_only=True))
        change()
        disk.observe = None
        # The mark is written last; until then a reader has no way to see the change.
        assert len(seen) > 3
        assert seen[:-1] == [seen[0]] * (len(seen) - 1)
        assert isinstance(seen[-1], Snapshot)
        assert seen[-1] != seen[0]
    assert seen[-1].state == b"new state"


# Who is refused


def test_a_second_writer_is_refused(path: Path) -> None:
    with writer(path) as home:
        with pytest.raises(
            OperationalError,
            match=rf"shop\.raydb' is open for writing in process {os.getpid()}$",
        ):
            writer(path)
        program = (
            "import sys; from raydb.storage.durable.database_directory import Home\n"
            "Home.open(sys.argv[1], read_only=False)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, check=False
        )
        assert f"is open for writing in process {os.getpid()}".encode() in done.stderr
        home.append(b"undisturbed")
    writer(path).close()


def test_paths_that_are_no_database(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    for open_home in (reader, writer):
        with pytest.raises(OperationalError, match=r"file' is a file, not a database directory$"):
            open_home(file)
    with pytest.raises(OperationalError, match=r"directory '.*/none' does not exist$"):
        writer(tmp_path / "none" / "shop.raydb")
    with pytest.raises(OperationalError, match=r"database '.*/none' does not exist$"):
        reader(tmp_path / "none")
    with pytest.raises(OperationalError, match="is not a database: it holds 'file', no manifests"):
        writer(tmp_path)
    with pytest.raises(OperationalError, match="is not a database: no manifests"):
        reader(tmp_path)
    assert listing(tmp_path) == ["file"]
    (tmp_path / "half" / "manifests").mkdir(parents=True)
    with pytest.raises(OperationalError, match="half' has not been created completely"):
        reader(tmp_path / "half")
    with writer(tmp_path / "half") as home:
        assert home.version == 1


def test_a_closed_database_and_a_reader_do_not_write(path: Path) -> None:
    home = writer(path)
    home.close()
    home.close()
    for call in (home.collect_garbage, home.refresh, home.verify, lambda: home.append(b"")):
        with pytest.raises(InterfaceError, match=r"shop\.raydb' is closed"):
            call()
    with reader(path) as home:
        with pytest.raises(InterfaceError, match="is open for reading only"):
            home.append(b"")
        with pytest.raises(InterfaceError, match="is open for reading only"):
            home.commit(b"", [])


def test_a_forked_process_does_not_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = writer(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(InterfaceError, match="before this process was forked"):
            home.append(b"")
    home.append(b"")
    home.close()


def test_a_version_that_exists_is_not_replaced(path: Path) -> None:
    class Racing(LocalFileSystem):
        def link(self, source: Path, target: Path) -> None:
            if target.name == "2.man":
                target.write_bytes(b"another writer's")
            super().link(source, target)

    with Home.open(path, read_only=False, files=Racing()) as home:
        with pytest.raises(OperationalError, match=r"cannot commit: '.*/2\.man': file exists"):
            home.commit(b"", [])
        assert (path / "manifests" / "2.man").read_bytes() == b"another writer's"
        with pytest.raises(OperationalError, match="a commit did not finish, so only a checkpoint"):
            home.append(b"")


# Many threads


class Gate:
    """Lets syncs of logs wait."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.reached = threading.Event()
        self.syncs = 0

    def handle(self, file: File) -> File:
        gate = self

        class Waiting:
            write, truncate, close = file.write, file.truncate, file.close

            def sync(self) -> None:
                gate.syncs += 1
                gate.reached.set()
                assert gate.open.wait(60)
                file.sync()

        return Waiting()


class Gated(LocalFileSystem):
    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def create(self, path: Path) -> File:
        file = super().create(path)
        return self.gate.handle(file) if path.suffix == ".log" else file


def test_threads_share_a_sync_and_readers_see_no_record_before_it(path: Path) -> None:
    gate = Gate()
    gate.open.set()
    with Home.open(path, read_only=False, files=Gated(gate)) as home, reader(path) as other:
        gate.open.clear()
        gate.reached.clear()
        gate.syncs = 0
        threads = [threading.Thread(target=home.append, args=(b"%d" % i,)) for i in range(9)]
        threads[0].start()
        assert gate.reached.wait(60)
        for thread in threads[1:]:
            thread.start()
        while len(home._writer._queue) < 8:
            threading.Event().wait(0.001)
        assert not other.refresh()
        gate.open.set()
        for thread in threads:
            thread.join()
        assert gate.syncs == 2
        assert other.refresh()
        assert other.records[0] == b"0"
        assert sorted(other.records) == [b"%d" % i for i in range(9)]


def test_threads_append_while_others_commit_and_collect(path: Path) -> None:
    with writer(path) as home, reader(path) as other:
        failures: list[Exception] = []

        def run(work: Callable[[], object]) -> None:
            try:
                for _ in range(30):
                    work()
            except Exception as failure:  # noqa: BLE001
                failures.append(failure)

        def commit() -> None:
            home.commit(b"", [home.write_file("flat", write(b"x" * 1000))])

        def read() -> None:
            other.refresh()
            other.verify()

        work = (commit, commit, home.collect_garbage, read, lambda: home.append(b"x"))
        threads = [threading.Thread(target=run, args=(one,)) for one in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert home.version == 61
        home.verify()
