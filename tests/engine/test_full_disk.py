"""A disk without a byte left, or no descriptor: what needs none works, the rest is an error."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import pytest

import raydb
from raydb.engine.api.connection import Connection
from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.catalog.store import Store
from raydb.engine.session.session import Session
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.durable.filesystem import FileSystem

BLOCK = 4096


class SmallDisk(FileSystem):
    """A file system that gives the files of a folder so many bytes, in blocks."""

    def __init__(self, path):
        self.path = path
        self.size_bytes = None

    def used(self):
        files = (p for p in self.path.rglob("*") if p.is_file())
        return sum(-(-p.stat().st_size // BLOCK) * BLOCK for p in files)

    def fill(self):
        """Let no byte be left."""
        self.size_bytes = self.used()

    def create(self, path):
        return SmallFile(self, super().create(path))

    def open(self, path):
        return SmallFile(self, super().open(path))


class SmallFile:
    """A file of a small disk."""

    def __init__(self, disk, file):
        self._disk, self._file = disk, file
        self.truncate, self.sync, self.close = file.truncate, file.sync, file.close

    def write(self, data, offset):
        size = os.fstat(self._file._file.fileno()).st_size
        self._file.write(data, offset)
        if self._disk.size_bytes is not None and self._disk.used() > self._disk.size_bytes:
            self._file.truncate(size)
            raise OSError(errno.ENOSPC, "No space left on device", "x")


@pytest.fixture
def disk(tmp_path):
    return SmallDisk(tmp_path / "db")


@pytest.fixture
def con(disk):
    directory = DatabaseDirectory.open(disk.path, read_only=False, files=disk)
    with Connection(Session(SharedDatabase(Store(directory)))) as con:
        con.execute(
            "CREATE TABLE large AS SELECT i, CAST(i * 7919 % 100003 AS VARCHAR) AS s "
            "FROM generate_series(1, 50000) AS g (i)"
        )
        con.execute("CREATE TABLE small (a INTEGER); INSERT INTO small VALUES (1), (2)")
        disk.fill()
        for text in ("INSERT INTO small SELECT i FROM large", "CREATE TABLE more (a INTEGER)"):
            with pytest.raises(raydb.OperationalError, match="no space left on device"):
                con.execute(text)
        yield con
    with raydb.connect(disk.path) as con:
        assert con.execute("SELECT count(*) FROM small").fetchone() == (2,)


@pytest.mark.parametrize(
    "text", ["DROP TABLE large", "TRUNCATE large", "DELETE FROM large; VACUUM"]
)
def test_what_frees_space_works_and_the_reserve_comes_back(con, disk, text):
    for each in text.split("; "):
        con.execute(each)
    assert (disk.path / "RESERVE").exists()
    con.execute("CREATE TABLE more AS SELECT i FROM generate_series(1, 1000) AS g (i)")


def test_a_checkpoint_frees_the_log(con, disk):
    con.execute("DELETE FROM large WHERE i % 5 = 0")
    con.execute("CHECKPOINT")
    assert con.execute("SELECT count(*) FROM large").fetchone() == (40_000,)


def test_one_table_after_the_other_is_dropped_from_a_disk_that_stays_full(disk):
    directory = DatabaseDirectory.open(disk.path, read_only=False, files=disk)
    with Connection(Session(SharedDatabase(Store(directory)))) as con:
        names = [f"t{number}" for number in range(6)]
        for name in (*names, "logged"):
            con.execute(f"CREATE TABLE {name} (a INTEGER)")
        # The first DROP writes these rows to a file, out of the reserve.
        con.execute("INSERT INTO logged SELECT i * 7919 % 100003 FROM range(9000) AS r (i)")
        for name in names:
            disk.fill()  # somebody else takes what the last DROP gave back
            con.execute(f"DROP TABLE {name}")
        assert con.execute("SHOW TABLES").fetchall() == [("logged",)]


def test_without_a_reserve_the_disk_is_told_to_be_full(con, disk):
    (disk.path / "RESERVE").unlink()
    disk.fill()
    with pytest.raises(raydb.OperationalError, match="no space left on device"):
        con.execute("DROP TABLE large")
    assert con.execute("SELECT count(*) FROM large").fetchone() == (50_000,)


WITHOUT_DESCRIPTORS = """\
import os, resource
import raydb
con = raydb.connect()
con.execute("SELECT 1 + 1 FROM 'rows.csv'").fetchall()
next_one = os.open("/dev/null", os.O_RDONLY)
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (next_one, hard))
os.close(next_one)
for text in (
    "SELECT '2026-01-01'::TIMESTAMPTZ AT TIME ZONE 'Europe/Oslo'",
    "SELECT * FROM 'rows.csv'",
):
    try:
        con.execute(text)
    except raydb.OperationalError as error:
        print(error)
print(con.execute("SELECT 1 + 1").fetchall())
"""


def test_a_module_or_file_that_cannot_be_opened_is_an_operational_error(tmp_path) -> None:
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    program = [sys.executable, "-c", WITHOUT_DESCRIPTORS]
    run = subprocess.run(program, capture_output=True, text=True, check=True, cwd=tmp_path)
    said, of_file, answer = run.stdout.splitlines()
    assert of_file == "file 'rows.csv' cannot be read: too many open files"
    assert said.startswith("the system refused what the statement needs: [Errno 24]")
    assert answer == "[(2,)]"
