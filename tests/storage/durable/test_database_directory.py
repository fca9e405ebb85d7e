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
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.durable.filesystem import FileSystem
from raydb.storage.durable.version import Version

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from raydb.storage.durable.filesystem import File, Lock

from directories import SHOP, listing, outcome, reader, small_disk, write, writer

# What is written is read


def test_a_new_database_is_empty(path: Path) -> None:
    with writer(path) as directory:
        assert directory.shown == Version(1, b"", (), {})
        assert directory.collect_garbage() == []
    with reader(path) as directory:
        assert directory.shown == Version(1, b"", (), {})


def test_commits_and_records_are_there_after_reopening(path: Path) -> None:
    with writer(path) as directory:
        directory.append(b"gone with the next commit")
        first = directory.write_file("flat", write(b"first"))
        assert directory.commit(b"one", [first]) == 2
        second = directory.write_file("bvh", write(b"number two"))
        assert directory.commit(b"two", [second, first]) == 3
        assert directory.shown.records == ()
        directory.append(b"a")
        directory.append(b"")
        directory.append(b"b" * 100_000)
    for read_only in (True, False):
        with DatabaseDirectory.open(path, read_only=read_only) as directory:
            files = {second: 10, first: 5}
            assert directory.shown == Version(3, b"two", (b"a", b"", b"b" * 100_000), files)
            assert directory.path_of(second).read_bytes() == b"number two"
            assert directory.log_bytes > 100_000
            directory.verify()


def test_a_relative_path_works(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    DatabaseDirectory.open("shop.raydb", read_only=False).close()
    assert path.is_dir()


def test_a_stream_counts_and_may_be_closed(path: Path) -> None:
    def fill(stream: BinaryIO) -> None:
        assert stream.writable()
        assert not stream.seekable()
        for number in range(5):
            stream.write(bytes([number]) * 700_000)
            assert stream.tell() == 700_000 * (number + 1)
        stream.close()

    with writer(path) as directory:
        name = directory.write_file("flat", fill)
        assert directory.path_of(name).stat().st_size == 3_500_000
        directory.commit(b"", [name])
        directory.verify()


def test_a_file_that_fails_leaves_nothing(path: Path) -> None:
    def fail(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise FileNotFoundError(2, "No such file or directory", "source.csv")

    with writer(path) as directory:
        with pytest.raises(FileNotFoundError, match=r"source\.csv"):
            directory.write_file("flat", fail)
        assert list((path / "data").iterdir()) == []
        directory.append(b"works")


def test_a_file_of_nobody_is_not_committed(path: Path) -> None:
    with writer(path) as directory:
        with pytest.raises(InternalError, match=r"'x\.flat' was not written for"):
            directory.commit(b"", ["x.flat"])
        with pytest.raises(InternalError, match=r"'x\.flat' is not part of version 1"):
            directory.path_of("x.flat")
        directory.append(b"works")
        assert directory.version == 1


def test_a_record_has_a_greatest_size(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MAX_RECORD_BYTES", 10)
    with writer(path) as directory:
        directory.append(b"0123456789")
        with pytest.raises(DataError, match="at most 10 bytes, not 11"):
            directory.append(b"0123456789x")


# Readers


def test_a_reader_stays_on_its_version_until_it_refreshes(path: Path) -> None:
    with writer(path) as directory, reader(path) as other:
        name = directory.write_file("flat", write(b"old"))
        directory.commit(b"old", [name])
        assert other.version == 1
        assert other.refresh()
        assert not other.refresh()
        directory.append(b"record")
        assert other.shown.records == ()
        assert other.refresh()
        assert other.shown.records == (b"record",)
        directory.commit(b"new", [])
        assert directory.collect_garbage()[0] == "manifests/1.man"
        directory.append(b"after")
        assert other.shown == Version(2, b"old", (b"record",), {name: 3})
        assert other.path_of(name).read_bytes() == b"old"
        assert other.refresh()
        assert other.shown == Version(3, b"new", (b"after",), {})
        assert directory.collect_garbage()[0] == "manifests/2.man"
        assert len(listing(path)) == 5


def test_a_killed_reader_keeps_nothing(path: Path) -> None:
    program = (
        "import sys, time; from raydb.storage.durable.database_directory import DatabaseDirectory\n"
        "directory = DatabaseDirectory.open(sys.argv[1], read_only=True)\n"
        "print(directory.version, flush=True)\n"
        "time.sleep(600)"
    )
    with writer(path) as directory:
        process = subprocess.Popen(
            [sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        directory.commit(b"", [])
        assert directory.collect_garbage() == []
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert directory.collect_garbage()[0] == "manifests/1.man"


def test_garbage_collection_keeps_what_is_asked_for(path: Path) -> None:
    with writer(path) as directory:
        kept, dropped, waiting = (directory.write_file("flat", write(b"x")) for _ in range(3))
        directory.commit(b"", [kept, dropped])
        directory.commit(b"", [])
        removed = directory.collect_garbage(keep=[kept])
        assert f"data/{dropped}" in removed
        assert {p.name for p in (path / "data").iterdir()} == {kept, waiting}
        directory.discard_file(waiting)
        assert set(directory.collect_garbage()) == {f"data/{kept}", f"data/{waiting}"}


def test_what_is_not_ours_is_left_alone(path: Path) -> None:
    with writer(path) as directory:
        for folder in ("data", "wal", "manifests"):
            (path / folder / "notes.txt").write_text("mine")
        directory.commit(b"", [])
        directory.collect_garbage()
        assert len([name for name in listing(path) if name.endswith("notes.txt")]) == 3


class Forbidding(FileSystem):
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
    with writer(path) as directory:
        directory.append(b"record")
    with DatabaseDirectory.open(path, read_only=True, files=Forbidding()) as directory:
        assert directory.shown.records == (b"record",)
        assert not directory.refresh()
    with pytest.raises(OperationalError, match=r"shop\.raydb/LOCK': read-only file system"):
        DatabaseDirectory.open(path, read_only=False, files=Forbidding())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_the_right_to_write_can_be_read(path: Path) -> None:
    with writer(path) as directory:
        directory.append(b"record")
    folders = [path, *(p for p in path.iterdir() if p.is_dir())]
    for folder in (*folders, *(p for p in path.rglob("*") if p.is_file())):
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    try:
        with reader(path) as directory:
            assert directory.shown.records == (b"record",)
        with pytest.raises(OperationalError, match="LOCK': permission denied"):
            writer(path)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_without_a_mark_a_reader_takes_every_whole_record(path: Path) -> None:
    with writer(path) as directory:
        directory.append(b"one")
        (path / "CURRENT").unlink()
        with reader(path) as other:
            assert other.shown.records == (b"one",)
            directory.append(b"two")
            assert other.refresh()
            assert other.shown.records == (b"one", b"two")
    with next((path / "wal").iterdir()).open("ab") as file:
        file.write(b"\xf1RAY torn")
    with reader(path) as other:
        assert other.shown.records == (b"one", b"two")


def test_a_reader_sees_nothing_before_it_is_durable() -> None:
    disk = small_disk()
    directory = DatabaseDirectory.open(SHOP, read_only=False, files=disk)
    name = directory.write_file("flat", write(b"new"))
    for change in (
        lambda: directory.append(b"record"),
        lambda: directory.commit(b"new state", [name]),
    ):
        seen: list[Version | str] = [outcome(disk, read_only=True)]
        disk.observe = lambda seen=seen: seen.append(outcome(disk, read_only=True))
        change()
        disk.observe = None
        # The mark is written last; until then a reader has no way to see the change.
        assert len(seen) > 3
        assert seen[:-1] == [seen[0]] * (len(seen) - 1)
        assert isinstance(seen[-1], Version)
        assert seen[-1] != seen[0]
    assert seen[-1].state == b"new state"


# Who is refused


def test_a_second_writer_is_refused(path: Path) -> None:
    with writer(path) as directory:
        with pytest.raises(
            OperationalError,
            match=rf"shop\.raydb' is open for writing in process {os.getpid()}; .*read_only=True",
        ):
            writer(path)
        program = (
            "import sys; from raydb.storage.durable.database_directory import DatabaseDirectory\n"
            "DatabaseDirectory.open(sys.argv[1], read_only=False)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, check=False
        )
        assert f"is open for writing in process {os.getpid()}".encode() in done.stderr
        directory.append(b"undisturbed")
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
    with writer(tmp_path / "half") as directory:
        assert directory.version == 1


def test_a_closed_database_and_a_reader_do_not_write(path: Path) -> None:
    directory = writer(path)
    directory.close()
    directory.close()
    for call in (
        directory.collect_garbage,
        directory.refresh,
        directory.verify,
        lambda: directory.append(b""),
    ):
        with pytest.raises(InterfaceError, match=r"shop\.raydb' is closed"):
            call()
    with reader(path) as directory:
        with pytest.raises(InterfaceError, match="is open for reading only"):
            directory.append(b"")
        with pytest.raises(InterfaceError, match="is open for reading only"):
            directory.commit(b"", [])


def test_a_forked_process_does_not_write(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = writer(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(InterfaceError, match="before this process was forked"):
            directory.append(b"")
    directory.append(b"")
    directory.close()


def test_a_version_that_exists_is_not_replaced(path: Path) -> None:
    class Racing(FileSystem):
        def link(self, source: Path, target: Path) -> None:
            if target.name == "2.man":
                target.write_bytes(b"another writer's")
            super().link(source, target)

    with DatabaseDirectory.open(path, read_only=False, files=Racing()) as directory:
        with pytest.raises(OperationalError, match=r"cannot commit: '.*/2\.man': file exists"):
            directory.commit(b"", [])
        assert (path / "manifests" / "2.man").read_bytes() == b"another writer's"
        with pytest.raises(OperationalError, match="a commit did not finish, so only a checkpoint"):
            directory.append(b"")


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


class Gated(FileSystem):
    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def create(self, path: Path) -> File:
        file = super().create(path)
        return self.gate.handle(file) if path.suffix == ".log" else file


def test_threads_share_a_sync_and_readers_see_no_record_before_it(path: Path) -> None:
    gate = Gate()
    gate.open.set()
    with (
        DatabaseDirectory.open(path, read_only=False, files=Gated(gate)) as directory,
        reader(path) as other,
    ):
        gate.open.clear()
        gate.reached.clear()
        gate.syncs = 0
        threads = [threading.Thread(target=directory.append, args=(b"%d" % i,)) for i in range(9)]
        threads[0].start()
        assert gate.reached.wait(60)
        for thread in threads[1:]:
            thread.start()
        while len(directory._writer._queue) < 8:
            threading.Event().wait(0.001)
        assert not other.refresh()
        gate.open.set()
        for thread in threads:
            thread.join()
        assert gate.syncs == 2
        assert other.refresh()
        assert other.shown.records[0] == b"0"
        assert sorted(other.shown.records) == [b"%d" % i for i in range(9)]


def test_threads_append_while_others_commit_and_collect(path: Path) -> None:
    with writer(path) as directory, reader(path) as other:
        failures: list[Exception] = []

        def run(work: Callable[[], object]) -> None:
            try:
                for _ in range(30):
                    work()
            except Exception as failure:  # noqa: BLE001
                failures.append(failure)

        def commit() -> None:
            directory.commit(b"", [directory.write_file("flat", write(b"x" * 1000))])

        def read() -> None:
            other.refresh()
            other.verify()

        work = (commit, commit, directory.collect_garbage, read, lambda: directory.append(b"x"))
        threads = [threading.Thread(target=run, args=(one,)) for one in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert directory.version == 61
        directory.verify()
