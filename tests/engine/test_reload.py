"""Readers follow the writer: no answer of an earlier version, and nothing kept of one.

RAYDB_RELOADS=1000 pytest tests/engine/test_reload.py    for the long run
"""

from __future__ import annotations

import gc
import os
import random
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import raydb
from raydb.engine.catalog import store
from raydb.errors import OperationalError
from raydb.kernels.backends.cpu import warm

resource = pytest.importorskip("resource", reason="this system has no limits of descriptors")

RELOADS = int(os.environ.get("RAYDB_RELOADS", "30"))
SEED = int(os.environ.get("RAYDB_RELOAD_SEED", "1"))
LAYERS = tuple(str(Path(layer.__path__[0])) for layer in (raydb.engine, raydb.storage))
QUERIES = (
    "SELECT count(*), sum(m) FROM f",
    "SELECT name, sum(m) FROM f JOIN d ON d = id GROUP BY name ORDER BY name",
    "SELECT max(m) FROM f WHERE m > 3",
)
SETUP = """
CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR);
CREATE TABLE f (d INTEGER REFERENCES d (id), m INTEGER);
INSERT INTO d VALUES (1, 'a'), (2, 'b');
INSERT INTO f VALUES (1, 1), (2, 10);
CREATE BVH x ON f (SCAN (name), AGGREGATE (m));
CREATE TABLE e (v FLOAT[1]);
INSERT INTO e VALUES ([1]), ([4]);
CREATE INDEX near ON e USING ivf (v);
CALIBRATE INDEX near WITH (k = 1, fnr = 0.5);
CHECKPOINT
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute(SETUP)
    warm.wait()
    return path


class Tripwire:
    """Raises an error before the n-th bytecode that RayDB runs on this thread; None: counts them.

    It is how an interrupt comes: between any two.
    """

    def __init__(self, number, error):
        self.count = 0
        self._number = number
        self._error = error

    def __enter__(self):
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def _enter(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(LAYERS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, _, event, __):
        if event == "opcode":
            self.count += 1
            if self.count == self._number:
                raise self._error
        return self._step


def answers(con):
    return [con.execute(query).fetchall() for query in QUERIES]


def change(writer, number):
    """Commit something that changes all answers, of each kind of commit in turn."""
    writer.execute(f"INSERT INTO f VALUES (1, {100 + number}), (2, {number})")
    match number % 4:
        case 1:
            writer.execute("CHECKPOINT")
        case 2:
            writer.execute(f"DELETE FROM f WHERE m = {number - 2}; CHECKPOINT")
        case 3:
            writer.execute(f"INSERT INTO f VALUES (2, {number})")


def test_after_an_interrupted_reload_nothing_is_stale(path):
    chance = random.Random(SEED)
    print(f"RAYDB_RELOAD_SEED={SEED}")
    with raydb.connect(path) as writer, raydb.connect(path, read_only=True) as reader:
        answers(reader)
        interrupted, steps = 0, 5_000
        for number in range(RELOADS):
            change(writer, number)
            expected = answers(writer)
            error = chance.choice([KeyboardInterrupt, OSError(5, "Input/output error")])
            with Tripwire(chance.randrange(1, steps + 2), error) as tripwire:
                try:
                    found = reader.execute(QUERIES[0]).fetchall()
                except (KeyboardInterrupt, OSError, raydb.Error):
                    interrupted += 1
                else:
                    assert found == expected[0]
                    steps = tripwire.count
            assert answers(reader) == expected, f"reload {number}"
    assert interrupted > RELOADS / 2


def test_without_descriptors_a_reload_is_an_error_and_nothing_is_stale(path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    errors = 0
    with raydb.connect(path) as writer, raydb.connect(path, read_only=True) as reader:
        answers(reader)
        for left in range(4):
            change(writer, 4 * left + 1)
            expected = answers(writer)
            with ExitStack() as opened:
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
                opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
                fill_descriptors(opened, left)
                try:
                    found = answers(reader)
                except raydb.OperationalError as error:
                    errors += "too many open files" in str(error).lower()
                else:
                    assert found == expected
            assert answers(reader) == expected
    assert errors > 0


def fill_descriptors(opened, left):
    """Open files until so many descriptors are left."""
    numbers = []
    while True:
        try:
            numbers.append(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            break
    for number in numbers[left:]:
        opened.callback(os.close, number)
    for number in numbers[:left]:
        os.close(number)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="/proc is Linux's")
def test_a_reader_keeps_nothing_of_earlier_versions(path):
    def held():
        gc.collect()
        maps = Path("/proc/self/maps").read_text().splitlines()
        return len(list(Path("/proc/self/fd").iterdir())), sum(str(path) in line for line in maps)

    with raydb.connect(path) as writer, raydb.connect(path, read_only=True) as reader:
        known = []
        for number in range(5):
            writer.execute(f"CREATE OR REPLACE TABLE g AS SELECT {number} AS a; DROP BVH x")
            writer.execute("CREATE BVH x ON f (SCAN (name), AGGREGATE (m)); CHECKPOINT")
            answers(reader)
            assert reader.execute("SELECT a FROM g").fetchall() == [(number,)]
            known.append(held())
        assert len(set(known[1:])) == 1, known


def test_a_stream_that_is_being_read_keeps_its_version(path):
    with raydb.connect(path) as writer, raydb.connect(path, read_only=True) as reader:
        writer.execute(
            "INSERT INTO e SELECT [i] FROM generate_series(1, 300000) AS s (i); CHECKPOINT"
        )
        with reader.stream("SELECT v[1] FROM e") as stream:
            first = next(stream).num_rows
            writer.execute("DELETE FROM e; VACUUM")
            assert reader.execute("SELECT count(*) FROM e").fetchone() == (0,)
            assert first + sum(batch.num_rows for batch in stream) == 300_002


def test_a_reload_opens_new_files_only(path, monkeypatch):
    opened = []

    def counted(call):
        def counting(path):
            opened.append(Path(path.name).suffix)
            return call(path)

        return counting

    with raydb.connect(path) as writer, raydb.connect(path, read_only=True) as reader:
        for name in ("open_table", "read_sections"):
            monkeypatch.setattr(store, name, counted(getattr(store, name)))
        writer.execute("INSERT INTO f VALUES (1, 7)")
        answers(reader)
        assert opened == []
        writer.execute("CREATE TABLE g AS SELECT 1 AS a")
        opened.clear()
        answers(reader)
        # The table f has a new part and new keys.
        assert sorted(opened) == [".flat", ".flat", ".keys"]


def test_another_database_under_the_path_is_not_taken_for_the_first(tmp_path: Path) -> None:
    path = tmp_path / "shop"
    with raydb.connect(path) as writer:
        writer.execute("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (1)")
    with raydb.connect(path, read_only=True) as reader:
        assert reader.execute("SELECT x FROM t").fetchall() == [(1,)]
        path.rename(tmp_path / "moved")
        for _ in range(2):
            with pytest.raises(OperationalError, match="moved, removed or replaced"):
                reader.execute("SELECT x FROM t")
            with raydb.connect(path) as other:
                other.execute("CREATE TABLE IF NOT EXISTS z (x INTEGER)")


def test_a_writer_that_is_dropped_gives_its_lock_back_at_once(tmp_path: Path) -> None:
    gc.disable()
    try:
        raydb.connect(tmp_path / "shop").execute("CREATE TABLE t (x INTEGER)")
        raydb.connect(tmp_path / "shop").execute("INSERT INTO t VALUES (1)")
    finally:
        gc.enable()
    with raydb.connect(tmp_path / "shop") as connection:
        assert connection.execute("SELECT x FROM t").fetchall() == [(1,)]
