"""A disk that is full or fails at any moment: the statement fails as a whole, the database goes on.

File system calls of a workload fail once each, in turn; what was acknowledged is there after
reopening, and nothing else is.

RAYDB_FAILING_SHARE says how many of the calls (0.3; 1 is all of them).
"""

from __future__ import annotations

import errno
import os
from functools import wraps
from random import Random

import pytest

import raydb
from raydb.engine.api.connection import Connection
from raydb.engine.catalog.shared_database import SharedDatabase
from raydb.engine.catalog.store import Store
from raydb.engine.session.session import Session
from raydb.storage.durable.database_directory import DatabaseDirectory
from raydb.storage.durable.filesystem import FileSystem

SHARE = float(os.environ.get("RAYDB_FAILING_SHARE", "0.3"))
SETUP = """
CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER);
INSERT INTO d VALUES (1, 'a'), (2, 'b');
CREATE BVH x ON f (SCAN (name), AGGREGATE (m));
CREATE TABLE e (v FLOAT[1]);
INSERT INTO e VALUES ([1]), ([4]);
"""
STATEMENTS = (
    "INSERT INTO f VALUES (1, 1), (2, 10)",
    "CREATE TABLE extra (a INTEGER)",
    "BEGIN; INSERT INTO d VALUES (3, 'c'); INSERT INTO f VALUES (3, 100); COMMIT",
    "CHECKPOINT",
    "INSERT INTO f VALUES (1, 1000)",
    "DROP BVH x",
    "CREATE BVH x ON f (SCAN (name, m), AGGREGATE (m))",
    "CREATE INDEX near ON e USING ivf (v)",
    "CALIBRATE INDEX near WITH (k = 1, fnr = 0.5)",
    f"INSERT INTO f VALUES {', '.join(['(2, 0)'] * 12)}",
    "DROP TABLE extra",  # and the files of f become one
)
QUERIES = (
    "SELECT name, sum(m) FROM f JOIN d ON d = id GROUP BY name ORDER BY name",
    "SELECT count(*) FROM d",
    "SELECT name, lists, vectors FROM vector_indexes()",
    "SELECT v FROM vector_search(e, v, [0], k => 1)",
    "SELECT index_name, k, fnr, state FROM index_calibrations()",
    "SELECT name, table_name, scan, group_by, aggregate FROM bvhs()",
)
CALLS = ("create", "open", "sync_directory", "rename", "link", "unlink", "make_directory")


class CountedFile:
    """A file whose calls count, too."""

    def __init__(self, file, files):
        self.write = files.counted(file.write)
        self.truncate = files.counted(file.truncate)
        self.sync = files.counted(file.sync)
        self.close = file.close


class FailingFileSystem(FileSystem):
    """The machine's file system, whose n-th call fails once it is armed."""

    def __init__(self, number):
        self.left = None
        self.number = number
        for name in CALLS:
            setattr(self, name, self.counted(getattr(self, name)))

    def counted(self, call):
        @wraps(call)
        def counting(*arguments, **options):
            self.count()
            result = call(*arguments, **options)
            return CountedFile(result, self) if hasattr(result, "truncate") else result

        return counting

    def count(self):
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")


def state(con):
    def answer(query):
        try:
            return con.execute(query).fetchall()
        except raydb.ProgrammingError:
            return None

    return [answer(query) for query in (*QUERIES, "SELECT count(*) FROM extra")]


def attempt(con, statement):
    """Return the message of the error, if there is one."""
    try:
        con.execute(statement)
    except raydb.OperationalError as error:
        return str(error)
    return None


def connected(path, files):
    database = DatabaseDirectory.open(path, read_only=False, files=files)
    con = Connection(Session(SharedDatabase(Store(database))))
    con.execute(SETUP)
    return con


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """Return the states before each statement and after the last one where nothing fails."""
    path = tmp_path_factory.mktemp("whole") / "db"
    con = connected(path, FileSystem())
    found = [state(con)]
    for statement in STATEMENTS:
        con.execute(statement)
        found.append(state(con))
    con.close()
    return found


def run(path, number, states):
    """Run the workload with the n-th call failing; return whether a call failed."""
    files = FailingFileSystem(number)
    con = connected(path, files)
    files.left = number
    failures = 0
    for statement, before in zip(STATEMENTS, states, strict=False):
        message = attempt(con, statement)
        if message is not None:
            failures += 1
            assert "no space left on device" in message.lower()
            assert state(con) == before, statement
            con.execute(statement)
    assert state(con) == states[-1]
    con.close()
    with raydb.connect(path) as again:
        assert state(again) == states[-1]
    assert failures <= 1
    return files.left <= 0


@pytest.mark.long
def test_calls_fail_once_each(tmp_path, states):
    random = Random("failing calls")
    number = 1
    while run(tmp_path / str(number), number, states):
        number += 1
        while random.random() >= SHARE:
            number += 1
    assert number > 100


def test_the_workload_itself(states):
    assert states[-1][0] == [("a", 1001), ("b", 10), ("c", 100)]
    assert states[-1][-1] is None
