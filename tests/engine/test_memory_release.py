"""What statements have held is free once they have ended, however they ended."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import raydb
from raydb import memory_release, running
from raydb.engine.operators import sort
from raydb.engine.operators.window import window
from raydb.engine.statements import upsert
from raydb.flatstor import write_table
from raydb.interrupts import beside
from raydb.running import Running
from raydb.storage.flat.flat_table import FlatTable
from raydb.storage.tables import key_parts
from raydb.storage.tables.sample import beginnings

ROWS = 300_000
# What the engine keeps of its own, such as plans.
LITTLE = 2**20


def join_work():
    """Wait for the threads that interrupted statements have left at their work."""
    for thread in threading.enumerate():
        if thread.name == "raydb work":
            thread.join(60)


@pytest.fixture
def every_statement_is_long(monkeypatch):
    """Give memory back after each statement; returns the list of when that was."""
    told = []
    monkeypatch.setattr(running, "_LONG_S", -1)
    monkeypatch.setattr(running, "give_back", lambda: told.append(pa.total_allocated_bytes()))
    return told


def test_an_error_that_is_kept_keeps_no_rows(every_statement_is_long):
    con = raydb.connect()
    con.execute("SELECT 1").fetchall()
    gc.disable()
    try:
        before = pa.total_allocated_bytes()
        with pytest.raises(raydb.DataError, match="division") as raised:
            con.execute(f"SELECT 1 / (range - 7) FROM (SELECT range FROM range({ROWS}) ORDER BY 1)")
        assert raised.value.__traceback__ is not None
        # Rows were free when memory was given back, and not only when the error was forgotten.
        assert every_statement_is_long[-1] < before + LITTLE
    finally:
        gc.enable()


def test_an_interrupted_window_ends_with_its_step(monkeypatch):
    """What runs on a thread of its own asks between its steps, so it holds its rows no longer."""
    con = raydb.connect()
    begun = []
    compute = window._compute

    def interrupted(task):
        begun.append(task.call.function)
        con.interrupt()
        return compute(task)

    monkeypatch.setattr(window, "_compute", interrupted)
    with pytest.raises(raydb.OperationalError, match="interrupted"):
        con.execute(
            "SELECT max(range) OVER w, sum(range) OVER w, lag(range) OVER w"
            f" FROM range({ROWS}) WINDOW w AS (ORDER BY range % 7)"
        )
    join_work()
    assert len(begun) == 1


def test_the_next_statement_does_not_wait_for_work_that_was_left(monkeypatch):
    """A sort of Arrow's cannot be ended from outside; it goes on alone."""
    con = raydb.connect()
    compute, may_end = sort.row_order, threading.Event()

    def held(*arguments):
        con.interrupt()
        may_end.wait(60)
        return compute(*arguments)

    sql = f"SELECT range FROM range({ROWS}) ORDER BY range % 7, range LIMIT {ROWS // 2}"
    try:
        with monkeypatch.context() as patch:
            patch.setattr(sort, "row_order", held)
            with pytest.raises(raydb.OperationalError, match="interrupted"):
                con.execute(sql)
        assert con.execute(sql).fetchmany(2) == [(0,), (7,)]
        assert con.execute("CREATE TABLE t AS SELECT 1 AS x; SELECT x FROM t").fetchall() == [(1,)]
        assert any(thread.name == "raydb work" for thread in threading.enumerate())
    finally:
        may_end.set()
        join_work()


@pytest.mark.long
@pytest.mark.parametrize(
    ("sql", "module", "function"),
    [
        (
            "SELECT max(r), max(m) FROM (SELECT sum(x) OVER (PARTITION BY k ORDER BY x, id) AS r,"
            " max(x) OVER (PARTITION BY k ORDER BY id) AS m FROM t) q",
            "window.window",
            "_compute",
        ),
        (
            "SELECT count(*), max(m) FROM (SELECT id % 1000000 AS g, median(x) AS m,"
            " count(DISTINCT k), stddev(x) FROM t GROUP BY g) q",
            "aggregate.ordered",
            "sort_rows",
        ),
        ("SELECT * FROM t ORDER BY x, id", "sort", "row_order"),
    ],
)
def test_an_interrupted_process_has_its_memory_back(sql, module, function):
    """What stays are compiled loops and the like."""
    program = Path(__file__).parent / "interrupted_statement.py"
    command = [sys.executable, str(program), sql, f"raydb.engine.operators.{module}", function]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert found[0] == "False", "a thread is still at work"
    taken, left = map(int, found[1:])
    assert taken > 100e6 > left


def test_what_others_hold_at_a_release_is_asked_for_again(monkeypatch):
    """Else as much as the others held would stay once they have ended."""
    held = []
    released = []
    monkeypatch.setattr(memory_release, "_base_bytes", 100e6)
    monkeypatch.setattr(memory_release, "_unused_bytes", lambda: held[0])
    monkeypatch.setattr(memory_release, "_malloc_trim", lambda: lambda _: released.append(held[0]))
    monkeypatch.setattr(memory_release, "at_work", {"another statement"})
    held[:] = [700e6]
    memory_release.give_back()
    memory_release.at_work.clear()
    held[:] = [500e6]
    memory_release.give_back()
    held[:] = [510e6]
    memory_release.give_back()
    assert released == [700e6, 500e6]


def test_much_that_was_kept_goes_back_when_it_is_dropped(monkeypatch):
    """What is kept for good is less by it, so that later statements leave no more than before."""
    released = []
    monkeypatch.setattr(memory_release, "_base_bytes", 500e6)
    monkeypatch.setattr(memory_release, "_unused_bytes", lambda: 300e6)
    monkeypatch.setattr(memory_release, "_malloc_trim", lambda: released.append)
    monkeypatch.setattr(memory_release, "at_work", {"this statement"})
    memory_release.give_back_dropped(2**20)
    assert released == []
    memory_release.give_back_dropped(2**28)
    assert released == [0]
    assert memory_release._base_bytes == 300e6


def test_what_a_thread_has_computed_is_the_callers_alone():
    class Rows:
        gone = False

        def __del__(self):
            Rows.gone = True

    gc.disable()
    try:
        with Running():
            rows = beside(Rows)
        del rows
        assert Rows.gone
    finally:
        gc.enable()


def test_a_file_in_other_types_is_read_by_slices(tmp_path, monkeypatch):
    """The columns of the file are no types of SQL; as a whole they would fill the memory."""
    draw = np.random.default_rng(3)
    times = draw.integers(0, 86_400, ROWS) * 10**9
    small = draw.integers(0, 200, ROWS).astype(np.uint8)
    rows = pa.table({"t": pa.array(times, pa.time64("ns")), "n": small})
    path = tmp_path / "x.flat"
    write_table(rows, path, chunk_rows=2**14)
    con = raydb.connect()
    sql = f"SELECT n, count(*), max(t) FROM '{path}' WHERE t > '00:10:00' GROUP BY n"
    expected = sorted(con.execute(sql).fetchall())
    con.execute("SET memory_limit = '2MB'")
    monkeypatch.setattr(FlatTable, "column", lambda *_: pytest.fail("a whole column was read"))
    assert sorted(con.execute(sql).fetchall()) == expected


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (["é" * 10_000, None, ""], ["é" * 256, None, ""]),
        ([b"x" * 10_000, None], [b"x" * 256, None]),
        ([[1] * 10_000, [], None], [[1] * 256, [], None]),
        ([7, None], [7, None]),
    ],
)
def test_samples_have_the_beginnings_of_long_values(values, kept):
    assert beginnings(pa.chunked_array([values])).to_pylist() == kept


def test_the_sample_of_few_long_texts_is_small(tmp_path, request):
    texts = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(20_000) % 3, pa.int32()), pa.array([c * 5_000 for c in "abc"])
    )
    path = tmp_path / "x.flat"
    write_table(pa.table({"s": texts.cast(pa.string())}), path)
    pool = request.getfixturevalue("pool")
    con = raydb.connect()
    (plan,) = con.execute(f"EXPLAIN SELECT count(*) FROM '{path}' WHERE s > 'b'").fetchmany(1)
    assert plan
    assert pool.max_memory() < 20e6


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), sum(n), max(s) FROM {}",
        "SELECT n % 10 AS k, count(*), min(s) FROM {} WHERE n % 3 > 0 GROUP BY k ORDER BY k",
        "SELECT n, s FROM {} WHERE s LIKE '%77' ORDER BY n",
        "SELECT u, s FROM {} ORDER BY s DESC, n LIMIT 20",
    ],
)
@pytest.mark.parametrize("group_rows", [20_000, ROWS])
def test_a_parquet_file_is_larger_than_the_memory(tmp_path, sql, group_rows):
    """It is read some rows at a time, whether a row group fits or not."""
    draw = np.random.default_rng(4)
    numbers = draw.permutation(ROWS)
    rows = {"n": numbers, "s": [f"text {n}" for n in numbers], "u": numbers.astype(np.uint32)}
    pq.write_table(pa.table(rows), tmp_path / "x.parquet", row_group_size=group_rows)
    con = raydb.connect()
    query = sql.format(f"'{tmp_path / 'x.parquet'}'")
    expected = con.execute(query).fetchall()
    con.execute("SET memory_limit = '3MB'")
    assert con.execute(query).fetchall() == expected


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE made AS SELECT n, s, u FROM {}",
        "INSERT INTO t SELECT * FROM {}",
        "SELECT count(*), sum(n), max(s) FROM {} WHERE n % 1000 = 7",
    ],
)
def test_a_row_group_is_never_held_as_a_whole(tmp_path, request, sql):
    numbers = np.random.default_rng(4).permutation(ROWS)
    rows = pa.table({"n": numbers, "s": [f"text {n}" for n in numbers], "u": numbers // 3})
    path = tmp_path / "x.parquet"
    pq.write_table(rows, path, row_group_size=len(numbers), use_dictionary=False)
    with raydb.connect(tmp_path / "x.raydb") as con:
        con.execute("CREATE TABLE t (n BIGINT, s VARCHAR, u BIGINT); SET memory_limit = '3MB'")
        del rows
        pool = request.getfixturevalue("pool")
        con.execute(sql.format(f"'{path}'"))
        assert pool.max_memory() < 7e6, "all of the group takes 11 MB"


def test_only_keys_of_rows_that_may_be_skipped_are_held(tmp_path, request, monkeypatch):
    held = []

    def keep_first(keys, row_count):
        held.append(pool.bytes_allocated())
        return key_parts.keep_first(keys, row_count)

    monkeypatch.setattr(upsert, "keep_first", keep_first)
    with raydb.connect(tmp_path / "x.raydb") as con:
        con.execute("CREATE TABLE u (id BIGINT PRIMARY KEY, s VARCHAR)")
        con.execute("INSERT INTO u SELECT range * 2, 'old' FROM range(1000)")
        con.execute("SET memory_limit = '3MB'")
        pool = request.getfixturevalue("pool")
        con.execute(
            "INSERT INTO u SELECT range, repeat('text ', 20) || range FROM range(200000)"
            " ON CONFLICT DO NOTHING"
        )
        assert held[0] < 6e6, "all of the rows take 22 MB"
        found = con.execute("SELECT count(*), count(*) FILTER (WHERE s = 'old') FROM u")
        assert found.fetchall() == [(200_000, 1000)]


def test_files_that_are_replaced_do_not_wait_for_the_collector(tmp_path):
    """What is mapped and decoded of them goes with the last statement that reads them."""
    with raydb.connect(tmp_path / "x.raydb") as con:
        con.execute("CREATE TABLE t AS SELECT range AS n, 'text ' || range AS s FROM range(1000)")
        con.execute("CHECKPOINT; SELECT count(*), max(n), max(s) FROM t WHERE n > 7").fetchall()
        (part,) = con._open_session().database.snapshot.tables["t"].rows.parts
        held = weakref.ref(part.flat), weakref.ref(part.flat.reader("s"))
        del part
        gc.disable()
        try:
            con.execute("UPDATE t SET n = n + 1")
            con.execute("CHECKPOINT")
            con.execute("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 3")
            con.execute("CHECKPOINT")
            assert [each() for each in held] == [None, None]
        finally:
            gc.enable()


@pytest.mark.parametrize("name", ["x.parquet", "x.csv"])
def test_rows_that_copy_reads_wait_in_files(tmp_path, spilled, name):
    rows = pa.table({"n": np.arange(ROWS), "s": [f"text {n}" for n in range(ROWS)]})
    if name == "x.csv":
        pa.csv.write_csv(rows, tmp_path / name)
    else:
        pq.write_table(rows, tmp_path / name, row_group_size=20_000)
    # Rows of text files go to the files of a database as they come, where it has any.
    con = raydb.connect() if name == "x.csv" else raydb.connect(tmp_path / "x.raydb")
    con.execute("CREATE TABLE t (n BIGINT PRIMARY KEY, s VARCHAR); SET memory_limit = '3MB'")
    con.execute(f"COPY t FROM '{tmp_path / name}'")
    assert spilled
    if name != "x.csv":
        con.close()
        con = raydb.connect(tmp_path / "x.raydb", read_only=True)
    assert con.execute("SELECT n, s FROM t").to_arrow_table().equals(rows)
    con.close()
