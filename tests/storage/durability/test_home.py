"""A database directory: what it promises to its one writer and its readers, and whom it refuses."""

from __future__ import annotations

import errno
import os
import signal
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, BinaryIO

import pytest
from faults import Fault, Handle, SimulatedDisk
from xxhash import xxh3_64_intdigest

from raydb.errors import (
    DatabaseError,
    DataError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
)
from raydb.storage import log
from raydb.storage.filesystem import LocalFileSystem
from raydb.storage.home import Home, Snapshot
from raydb.storage.manifest import Mark, decode_manifest, decode_mark, encode_mark

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.filesystem import File, Lock

SEED = 1
ROOT = Path("/disk")
SHOP = ROOT / "shop.raydb"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.raydb"


def write(content: bytes) -> Callable[[BinaryIO], None]:
    def to(stream: BinaryIO) -> None:
        stream.write(content)

    return to


def writer(path: Path) -> Home:
    return Home.open(path, read_only=False)


def reader(path: Path) -> Home:
    return Home.open(path, read_only=True)


def listing(path: Path) -> list[str]:
    return sorted(p.relative_to(path).as_posix() for p in path.rglob("*") if p.is_file())


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
    monkeypatch.setattr(log, "MOST_RECORD_BYTES", 10)
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
        "import sys, time; from raydb.storage.home import Home\n"
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
            "import sys; from raydb.storage.home import Home\n"
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


# Damage


def small_disk() -> SimulatedDisk:
    """Return a disk with a database that was closed: 2 versions, 2 files, 3 records."""
    disk = SimulatedDisk(ROOT, Random(SEED))
    with Home.open(SHOP, read_only=False, files=disk) as home:
        files = [home.write_file("flat", write(content)) for content in (b"one", b"number two")]
        home.commit(b"state", files)
        for record in (b"first", b"", b"the third"):
            home.append(record)
    return disk


def damageable(disk: SimulatedDisk, suffix: str) -> Path:
    """Return the file of the newest version with a suffix."""
    folder = SHOP / {".man": "manifests", ".log": "wal", ".flat": "data"}.get(suffix, "")
    names = [name for name in disk.names(folder) if name.endswith(suffix)]
    return folder / max(names)


def outcome(disk: SimulatedDisk, *, read_only: bool) -> Snapshot | str:
    """Open a copy of a disk; return what it holds, or what is said about it."""
    try:
        with Home.open(SHOP, read_only=read_only, files=disk.kill()) as home:
            home.verify()
            return home.snapshot
    except OperationalError as error:
        return str(error)


def with_content(disk: SimulatedDisk, path: Path, content: bytes) -> SimulatedDisk:
    copy = disk.kill()
    file = copy.open(path)
    file.truncate(0)
    file.write(content, 0)
    file.sync()
    return copy


def flips(content: bytes) -> list[bytes]:
    return [
        content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :]
        for place in range(len(content))
        for bit in range(8)
    ]


@pytest.mark.parametrize("suffix", [".man", ".log", ".flat", "CURRENT", "LOCK"])
def test_every_flip_and_truncation_is_named_or_harmless(suffix: str) -> None:
    disk = small_disk()
    expected = outcome(disk, read_only=True)
    assert isinstance(expected, Snapshot)
    path = damageable(disk, suffix)
    content = disk.peek(path)
    said = 0
    for bad in (*flips(content), *(content[:size] for size in range(len(content)))):
        for read_only in (True, False):
            found = outcome(with_content(disk, path, bad), read_only=read_only)
            if found != expected:
                assert isinstance(found, str)
                assert f"file '{path}' is damaged at offset " in found
                said += 1
    # CURRENT is a hint and LOCK a message: nothing is lost. Of the others, everything is told.
    least = 0 if suffix in ("CURRENT", "LOCK") else 2 * 9 * len(content)
    assert said == least


def test_without_a_mark_only_the_last_frame_can_be_taken_for_torn() -> None:
    disk = small_disk()
    disk.unlink(SHOP / "CURRENT")
    expected = outcome(disk, read_only=True)
    assert isinstance(expected, Snapshot)
    shorter = Snapshot(expected.version, expected.state, expected.records[:-1], expected.files)
    path = damageable(disk, ".log")
    content = disk.peek(path)
    last = len(content) - len(log.encode_frame([b"the third"], 3, 0))
    for place, bad in enumerate(flips(content)):
        found = outcome(with_content(disk, path, bad), read_only=False)
        if place // 8 < last:
            assert isinstance(found, str)
            assert f"file '{path}' is damaged at offset" in found
        else:
            assert found == shorter


def test_a_torn_tail_is_cut_off(path: Path) -> None:
    with writer(path) as home:
        home.append(b"record")
    (file,) = (path / "wal").iterdir()
    whole = file.read_bytes()
    for tail in (b"\0" * 5000, log.encode_frame([b"next"], 2, 0), b"\xf1RAY" * 100):
        file.write_bytes(whole + tail)
        with writer(path) as home:
            assert home.records == (b"record",)
            assert file.read_bytes() == whole


@pytest.mark.parametrize("suffix", [".man", ".log", ".flat"])
def test_a_missing_file_is_named(suffix: str) -> None:
    disk = small_disk()
    path = damageable(disk, suffix)
    disk.unlink(path)
    for read_only in (True, False):
        found = outcome(disk, read_only=read_only)
        assert isinstance(found, str)
        assert f"file '{path}' is missing" in found


def test_lost_manifests_are_told_even_without_a_mark() -> None:
    disk = small_disk()
    disk.unlink(SHOP / "CURRENT")
    for name in disk.names(SHOP / "manifests"):
        disk.unlink(SHOP / "manifests" / name)
    assert outcome(disk, read_only=False) == (
        f"database '{SHOP}' has data files, and no manifest is left"
    )


def test_the_log_of_another_version_is_not_replayed() -> None:
    disk = small_disk()
    newest = damageable(disk, ".log")
    (older,) = (name for name in disk.names(SHOP / "wal") if name != newest.name)
    found = outcome(with_content(disk, newest, disk.peek(SHOP / "wal" / older)), read_only=False)
    assert isinstance(found, str)
    assert f"file '{newest}' is damaged at offset 16: expected log id" in found


def test_a_stale_frame_of_the_same_log_is_not_replayed() -> None:
    frames = [log.encode_frame([b"%d" % i], i, 7) for i in (1, 2, 3)]
    header = log.encode_header(7)
    path = Path("x.log")
    tail = log.decode_log(header + frames[0] + frames[1] + frames[0], 7, path)
    assert tail.records == (b"1", b"2")
    assert log.decode_log(header + log.encode_frame([b"x"], 1, 8), 7, path).records == ()
    with pytest.raises(OperationalError, match="expected frame 2, found frame 3"):
        log.decode_log(header + frames[0] + frames[2], 7, path)


def test_hostile_frames_with_right_checksums_are_damage() -> None:
    def frame(body: bytes, count: int) -> bytes:
        head = struct.pack("<4sIIQQ", b"\xf1RAY", len(body), count, 1, xxh3_64_intdigest(body))
        return head + struct.pack("<Q", xxh3_64_intdigest(head, 7)) + body

    path = Path("x.log")
    for body, count in ((b"", 1), (b"\xff" * 4, 1), (b"abcd", 2**32 - 1), (b"left over", 0)):
        with pytest.raises(OperationalError, match=r"file 'x\.log' is damaged at offset 68"):
            log.decode_log(log.encode_header(7) + frame(body, count), 7, path)


def manifest(
    layout: int = 1, count: int = 1, version: int = 3, state: int = 5, name: str = "0" * 32 + ".a"
) -> bytes:
    content = struct.pack("<8sIIQQQ", b"RAYDBMAN", layout, count, version, 9, state)
    content += struct.pack("<BQQ", len(name), 1, 2) + name.encode() + b"state"
    return content + struct.pack("<Q", xxh3_64_intdigest(content))


def test_hostile_manifests_with_right_checksums_are_damage() -> None:
    path = Path("3.man")
    assert decode_manifest(manifest(), 3, path).state == b"state"
    for hostile, offset in (
        (manifest(count=2), 91),
        (manifest(count=2**32 - 1), 91),
        (manifest(count=0), 32),
        (manifest(version=4), 16),
        (manifest(state=4), 32),
        (manifest(state=2**64 - 1), 32),
        (manifest(name="../" * 11 + ".a"), 57),
        (manifest(name=""), 57),
    ):
        with pytest.raises(OperationalError, match=rf"'3\.man' is damaged at offset {offset}:"):
            decode_manifest(hostile, 3, path)
    with pytest.raises(NotSupportedError, match="format 2 of database directories"):
        decode_manifest(manifest(layout=2), 3, path)


def test_random_bytes_are_never_more_than_an_error() -> None:
    print(f"seed {SEED}")
    random = Random(SEED)
    path = Path("x")
    for _ in range(3000):
        content = bytearray(manifest()[:-8])
        for _ in range(random.randint(1, 4)):
            content[random.randrange(8, len(content))] = random.choice((0, 1, 127, 128, 255))
        data = bytes(content) + struct.pack("<Q", xxh3_64_intdigest(bytes(content)))
        with suppress(DatabaseError):
            decode_manifest(data, 3, path)
        decode_mark(random.randbytes(random.randrange(200)))


def test_a_mark_is_read_back() -> None:
    for mark in (Mark(1, 32, ""), Mark(2**60, 2**62, "97c140d1-7c60-4821-9872-55699260be38")):
        assert decode_mark(encode_mark(mark)) == mark
        assert decode_mark(encode_mark(mark) + b"rest of a longer one\n") == mark
    assert decode_mark(b"") is None


# A disk that fails


def failing(operations: int, number: int, lasting: bool = False) -> tuple[SimulatedDisk, Home]:
    """Return an open database whose disk fails at the n-th operation from now."""
    disk = small_disk()
    home = Home.open(SHOP, read_only=False, files=disk)
    disk.fault = Fault(disk.operations + operations, number, lasting)
    return disk, home


def test_a_full_disk_is_named_and_can_be_used_again() -> None:
    disk, home = failing(1, errno.ENOSPC, lasting=True)
    for _ in range(2):
        with pytest.raises(
            OperationalError, match=r"cannot append: .*/wal/2-.*\.log': no space left on device"
        ):
            home.append(b"too much")
    with pytest.raises(OperationalError, match=r"cannot commit: .*no space left on device"):
        home.commit(b"", [])
    disk.fault = None
    home.append(b"fits")
    home.close()
    with Home.open(SHOP, read_only=True, files=disk) as home:
        assert home.records == (b"first", b"", b"the third", b"fits")


def test_a_write_that_fails_after_its_last_byte_is_undone_durably(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = small_disk()
    home = Home.open(SHOP, read_only=False, files=disk)

    def fail(handle: Handle, data: bytes, offset: int) -> None:
        original(handle, data, offset)
        raise OSError(errno.EIO, "Input/output error", "x")

    original = Handle.write
    with monkeypatch.context() as patch:
        patch.setattr(Handle, "write", fail)
        with pytest.raises(OperationalError, match="input/output error"):
            home.append(b"undone")
    print(f"seed {SEED}")
    for after in (disk.kill(), *(disk.cut_power(0.5) for _ in range(50))):
        with Home.open(SHOP, read_only=False, files=after) as found:
            assert found.records == (b"first", b"", b"the third")


def test_after_a_failed_sync_the_log_takes_nothing_until_a_commit() -> None:
    _, home = failing(2, errno.EIO)
    with pytest.raises(OperationalError, match="input/output error"):
        home.append(b"perhaps")
    with pytest.raises(OperationalError, match="so only a checkpoint, or opening the database"):
        home.append(b"not now")
    home.commit(b"all", [])
    home.append(b"works")
    home.close()


def test_an_interrupt_leaves_a_record_out_or_stops_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    for call, place in ((Handle, "write"), (Handle, "sync"), (Home, "_acknowledge")):
        disk = small_disk()
        home = Home.open(SHOP, read_only=False, files=disk)
        with monkeypatch.context() as patch:
            original = getattr(call, place)
            calls = iter((interrupt, *[original] * 9))
            patch.setattr(call, place, lambda *arguments, c=calls: next(c)(*arguments))
            with pytest.raises(KeyboardInterrupt):
                home.append(b"interrupted")
        if place == "_acknowledge":
            with pytest.raises(OperationalError, match="an earlier write of the log failed"):
                home.append(b"next")
            home.commit(b"all", [])
        home.append(b"next")
        home.close()
        with Home.open(SHOP, read_only=True, files=disk) as home:
            assert b"interrupted" not in home.records
            assert home.records[-1] == b"next"
