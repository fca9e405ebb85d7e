"""`Connection.interrupt()` ends what runs, wherever it is, and nothing else."""

from __future__ import annotations

import random
import signal
import threading
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import raydb
from raydb import interrupts, running
from raydb.kernels.backends.cpu import blocks
from raydb.storage.formats import room, text_file
from raydb.storage.formats.delimited import records
from raydb.storage.formats.json import json_lines
from raydb.storage.formats.text_file import TextFile

# What would run for hours; a statement that is interrupted ends long before this.
PATIENCE_S = 60

ENDLESS = {
    "series": "SELECT max(range) FROM range(0, 100000000000)",
    "recursion": "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) TABLE r",
    "cross product": "SELECT count(*) FROM t a, t b, t c WHERE a.i + b.i < c.i",
    "lambda": "SELECT list_reduce(range(3000000), lambda x, y: (x + y) % 7)",
    "insert": "INSERT INTO t SELECT a.i FROM t a, t b, t c WHERE a.i + b.i < c.i",
    "update": "UPDATE t SET i = 1 WHERE i < (SELECT sum(a.i * b.i) FROM t a, t b, t c)",
    "create as": "CREATE TABLE u AS SELECT a.i FROM t a, t b, t c WHERE a.i + b.i < c.i",
    "explain": "EXPLAIN ANALYZE SELECT count(*) FROM t a, t b, t c WHERE a.i + b.i < c.i",
    "second": "SELECT 1; SELECT count(*) FROM t a, t b, t c WHERE a.i + b.i < c.i",
}


# A statement that has asked so often whether it is to end is at its work.
ASKED = 10


class AtWork:
    """Knows when a statement is at its work: the last one that has begun."""

    def __init__(self, monkeypatch):
        self._event = threading.Event()
        self._tell = self._event.set
        self._statements = set()
        enter = running.Running.__enter__

        def entered(statement):
            self._event.clear()
            if statement in self._statements:  # A stream begins again with each block.
                return enter(statement)
            self._statements.add(statement)
            is_over, asked = statement.is_over, []

            def counted():
                asked.append(None)
                if len(asked) % ASKED == 0:
                    self._tell()
                return is_over()

            statement.is_over = counted
            return enter(statement)

        monkeypatch.setattr(running.Running, "__enter__", entered)

    def wait(self):
        assert self._event.wait(PATIENCE_S), "the statement did not ask whether it is to end"

    def ask_again(self):
        """Wait until it has asked again, as it would not if it had ended."""
        self._event.clear()
        self.wait()

    def then(self, tell):
        """Call a function instead, on the thread that works."""
        self._tell = tell


class InThread:
    """A statement in a thread of its own, and what became of it."""

    def __init__(self, run):
        self.failure = None
        self.found = None
        self._run = run
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self):
        try:
            self.found = self._run()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (the test looks at it)
            self.failure = error

    def end(self):
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), "the statement was not heard of again"
        return self

    def check_interrupted(self):
        self.end()
        assert type(self.failure) is raydb.OperationalError
        assert str(self.failure) == "the statement was interrupted"


@pytest.fixture(params=["memory", "disk"])
def con(request, tmp_path):
    path = None if request.param == "memory" else tmp_path / "db"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT i FROM generate_series(1, 50000) AS s(i)")
        yield con


@pytest.fixture
def memory_con():
    with raydb.connect() as con:
        yield con


@pytest.fixture
def at_work(monkeypatch):
    return AtWork(monkeypatch)


@pytest.mark.parametrize("sql", ENDLESS.values(), ids=ENDLESS)
def test_a_statement_ends_and_has_changed_nothing(con, at_work, sql):
    con.execute("BEGIN; INSERT INTO t VALUES (-7)")
    statement = InThread(lambda: con.execute(sql))
    at_work.wait()
    con.interrupt()
    statement.check_interrupted()
    assert con.in_transaction
    assert con.execute("SELECT count(*), min(i) FROM t").fetchone() == (50_001, -7)
    con.commit()
    assert con.execute("SELECT count(*) FROM t").fetchone() == (50_001,)
    assert con.execute("SHOW TABLES").fetchall() == [("t",)]


def test_nothing_runs_and_nothing_happens(con):
    con.interrupt()
    assert con.execute("SELECT count(*) FROM t").fetchone() == (50_000,)
    cursor = con.execute("SELECT i FROM t ORDER BY i")
    con.interrupt()
    assert cursor.fetchone() == (1,)
    con.close()
    con.interrupt()


def test_a_long_call_of_arrow_is_left_alone(memory_con, monkeypatch):
    begun, let_go = threading.Event(), threading.Event()
    original = pc.sort_indices

    def slow(*arguments, **options):
        begun.set()
        assert let_go.wait(PATIENCE_S)
        return original(*arguments, **options)

    monkeypatch.setattr(pc, "sort_indices", slow)
    sql = "SELECT i FROM generate_series(1, 200000) AS s(i) ORDER BY -i"
    statement = InThread(lambda: memory_con.execute(sql).fetchone())
    assert begun.wait(PATIENCE_S)
    memory_con.interrupt()
    statement.check_interrupted()
    assert not let_go.is_set()
    let_go.set()
    assert memory_con.execute(sql).fetchone() == (200_000,)


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
@pytest.mark.parametrize("sql", ["COPY r FROM '{}'", "CREATE TABLE w AS SELECT * FROM '{}'"])
def test_reading_a_file_ends(memory_con, tmp_path, monkeypatch, format_, sql):
    con, path = memory_con, tmp_path / f"rows.{format_}"
    con.execute("CREATE TABLE r (i BIGINT, s VARCHAR)")
    con.execute(f"COPY (SELECT i, 'text ' || i AS s FROM range(0, 400000) r(i)) TO '{path}'")
    begun, let_go = threading.Event(), threading.Event()
    original = TextFile.read

    def slow(self, start, count):
        if start > 0:
            begun.set()
            assert let_go.wait(PATIENCE_S)
        return original(self, start, count)

    monkeypatch.setattr(TextFile, "read", slow)
    failures = []

    def interrupt():
        assert begun.wait(PATIENCE_S)
        con.interrupt()
        time.sleep(0.2)
        let_go.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        con.execute(sql.format(path))
    except raydb.OperationalError as error:
        failures.append(str(error))
    thread.join()
    assert failures == ["the statement was interrupted"]
    monkeypatch.undo()
    assert con.execute("SELECT count(*) FROM r").fetchone() == (0,)
    con.execute(f"COPY r FROM '{path}'")
    assert con.execute("SELECT count(*) FROM r").fetchone() == (400_000,)


LINE_BY_LINE = {
    "types from all lines": (records, "rows.csv", "FROM read_csv('{}', sample_size => -1)"),
    "a late fault": (records, "rows.csv", "COPY r FROM '{}'"),
    "a late value": (records, "rows.csv", "SELECT sum(i) FROM '{}'"),
    "a late fault in JSON": (json_lines, "rows.jsonl", "COPY r FROM '{}'"),
}


@pytest.mark.parametrize(("module", "name", "sql"), LINE_BY_LINE.values(), ids=LINE_BY_LINE)
def test_looking_at_the_lines_of_a_file_ends(memory_con, tmp_path, monkeypatch, module, name, sql):
    con, path = memory_con, tmp_path / name
    con.execute("CREATE TABLE r (i BIGINT, s VARCHAR)")
    con.execute(f"COPY (SELECT i, 'text ' || i AS s FROM range(0, 30000) r(i)) TO '{path}'")
    with path.open("a") as file:
        file.write('{"i": "x", "s": 1}\n' if path.suffix == ".jsonl" else "x,y\n")
    original, asked = module.check_interrupt, []

    def check():
        asked.append(None)
        if len(asked) == 2:
            con.interrupt()
        original()

    monkeypatch.setattr(module, "check_interrupt", check)
    with pytest.raises(raydb.OperationalError, match=r"^the statement was interrupted$"):
        con.execute(sql.format(path)).fetchall()
    assert len(asked) < 6  # The other lines were not looked at.


@pytest.mark.parametrize("options", ["", ", escape => '\\'"])
def test_decompressing_a_file_ends(memory_con, tmp_path, monkeypatch, options):
    con, path = memory_con, tmp_path / "rows.csv.gz"
    con.execute(f"COPY (SELECT 'some \"text\" ' || i AS s FROM range(0, 30000) r(i)) TO '{path}'")
    monkeypatch.setattr(text_file, "_PIECE_BYTES", 2**30 if options else 1000)
    asked = []

    def interrupt_check():
        check = interrupts.interrupt_check()

        def counted():
            asked.append(None)
            if len(asked) == 3:
                con.interrupt()
            check()

        return counted

    for module in (text_file, room):
        monkeypatch.setattr(module, "interrupt_check", interrupt_check)
    with pytest.raises(raydb.OperationalError, match=r"^the statement was interrupted$"):
        con.execute(f"FROM read_csv('{path}'{options})").fetchall()
    assert len(asked) == 3


@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet", "flat"])
def test_writing_a_file_ends_and_leaves_none(memory_con, tmp_path, target):
    con, path = memory_con, tmp_path / f"rows.{target}"
    path.write_bytes(b"before")
    con.execute("CREATE TABLE r AS SELECT i, 'text ' || i AS s FROM range(0, 3000000) r(i)")
    statement = InThread(lambda: con.execute(f"COPY r TO '{path}'"))
    while len(list(tmp_path.iterdir())) == 1 and statement.failure is None:
        time.sleep(0.001)  # until the new file is begun
    con.interrupt()
    statement.check_interrupted()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"before"


def test_a_bvh_ends(con, monkeypatch):
    begun = threading.Event()
    original = blocks.Build.cells_of

    def slow(self, low, high):
        begun.set()
        time.sleep(0.05)
        return original(self, low, high)

    monkeypatch.setattr(blocks.Build, "cells_of", slow)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 10)
    sql = "CREATE BVH b ON t (SCAN (i), AGGREGATE (i))"
    statement = InThread(lambda: con.execute(sql))
    assert begun.wait(PATIENCE_S)
    con.interrupt()
    statement.check_interrupted()
    assert con.execute("SELECT * FROM bvhs()").fetchall() == []
    monkeypatch.undo()
    con.execute(sql)


@pytest.mark.long
def test_a_vector_index_ends(memory_con, at_work):
    con = memory_con
    con.execute("""
        CREATE TABLE v AS SELECT [i % 7, i % 11, i % 13, i]::FLOAT[4] AS x
        FROM generate_series(1, 100000) AS s(i)
    """)
    sql = "CREATE INDEX v_x ON v USING ivf (x) WITH (lists = {})"
    statement = InThread(lambda: con.execute(sql.format(9000)))
    at_work.wait()
    con.interrupt()
    statement.check_interrupted()
    con.execute(sql.format(10))


@pytest.mark.parametrize("options", ["nprobe => 80", "exact => true", "metric => 'ip'"])
def test_a_batch_of_searches_ends(memory_con, at_work, options):
    con = memory_con
    con.execute("""
        CREATE TABLE v AS SELECT [i % 7, i % 11, i % 13, i]::FLOAT[4] AS x
        FROM generate_series(1, 80000) AS s(i)
    """)
    con.execute("CREATE INDEX v_x ON v USING ivf (x) WITH (lists = 80)")
    search = f"vector_search(v, x, {{}}, k => 1, {options})"
    con.execute(f"SELECT rank FROM {search.format('[1, 2, 3, 4]')}")
    statement = InThread(
        lambda: con.execute(f"SELECT count(*) FROM v q, LATERAL {search.format('q.x')} d")
    )
    at_work.wait()
    con.interrupt()
    statement.check_interrupted()


def test_a_commit_that_is_interrupted_is_a_rollback(tmp_path, monkeypatch):
    from raydb.storage.durable import database_files as directory

    begun, let_go = threading.Event(), threading.Event()
    original = directory._Sink.write

    def slow(self, data):
        begun.set()
        assert let_go.wait(PATIENCE_S)
        return original(self, data)

    with raydb.connect(tmp_path / "db") as con:
        con.execute("CREATE TABLE t (i BIGINT); INSERT INTO t VALUES (1)")
        con.begin()
        con.execute("INSERT INTO t SELECT i FROM generate_series(1, 1000000) AS s(i)")
        monkeypatch.setattr(directory._Sink, "write", slow)
        statement = InThread(con.commit)
        assert begun.wait(PATIENCE_S)
        con.interrupt()
        let_go.set()
        statement.check_interrupted()
        assert not con.in_transaction
        assert con.execute("SELECT count(*) FROM t").fetchone() == (1,)
    with raydb.connect(tmp_path / "db") as con:
        assert con.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_a_stream_ends_within_a_block_and_between_two(memory_con, at_work):
    con = memory_con
    reader = con.stream("SELECT i, i * 2 AS d FROM generate_series(1, 1000000000000) AS t(i)")
    other = con.stream("SELECT i FROM generate_series(1, 1000000000000) AS t(i)")
    next(iter(other))
    statement = InThread(lambda: sum(batch.num_rows for batch in reader))
    at_work.wait()
    con.interrupt()
    statement.check_interrupted()
    for stopped in (reader, other):
        for _ in range(2):  # A reader that goes on must not take it for the end.
            with pytest.raises(raydb.OperationalError, match="the statement was interrupted"):
                stopped.read_next_batch()
    assert con.stream("SELECT 1 AS one").read_all().to_pylist() == [{"one": 1}]


def test_executemany_is_all_or_nothing(con):
    begun = threading.Event()

    def values():
        for number in range(10**9):
            if number == 20:
                begun.set()
            yield (-number,)

    statement = InThread(lambda: con.executemany("INSERT INTO t VALUES (?)", values()))
    assert begun.wait(PATIENCE_S)
    con.interrupt()
    statement.check_interrupted()
    assert not con.in_transaction
    assert con.execute("SELECT count(*) FROM t").fetchone() == (50_000,)


def test_a_statement_that_waits_for_its_turn_is_not_meant(con, at_work):
    first = InThread(lambda: con.execute(ENDLESS["series"]))
    at_work.wait()
    waits, lock = threading.Event(), con._lock

    class Lock:
        def __enter__(self):
            waits.set()
            lock.acquire()

        def __exit__(self, *_):
            lock.release()

    con._lock = Lock()
    second = InThread(lambda: con.execute("SELECT count(*) FROM t").fetchone())
    assert waits.wait(PATIENCE_S)
    con.interrupt()
    first.check_interrupted()
    assert second.end().found == (50_000,)


def test_the_progress_function_may_interrupt(con):
    con.progress = lambda step, share: con.interrupt()
    with pytest.raises(raydb.OperationalError, match="the statement was interrupted"):
        con.execute("CREATE BVH b ON t (SCAN (i), AGGREGATE (i))")
    con.progress = None
    con.execute("CREATE BVH b ON t (SCAN (i), AGGREGATE (i))")


def test_a_handler_of_a_signal_may_interrupt(con, at_work):
    before = signal.signal(signal.SIGTERM, lambda *_: con.interrupt())
    at_work.then(lambda: signal.raise_signal(signal.SIGTERM))
    try:
        with pytest.raises(raydb.OperationalError, match="the statement was interrupted"):
            con.execute(ENDLESS["cross product"])
    finally:
        signal.signal(signal.SIGTERM, before)
    con.execute("SELECT 1")


def test_an_interrupt_is_of_one_connection(con, at_work):
    with raydb.connect() as other:
        statement = InThread(lambda: con.execute(ENDLESS["series"]))
        at_work.wait()
        other.interrupt()
        assert other.execute("SELECT 1").fetchone() == (1,)
        at_work.ask_again()
        assert statement.failure is None
        con.interrupt()
        statement.check_interrupted()


def test_interrupts_at_any_time_lose_and_repeat_nothing(con):
    """What was told to be done is there, what was told to be interrupted is not."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw = random.Random(seed)
    ended = threading.Event()

    def interrupt():
        while not ended.is_set():
            time.sleep(draw.random() * 0.002)
            con.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    kept, failures = 50_000, []
    for number in range(300):
        rows = 1 if number % 3 else 5000
        try:
            con.execute(f"INSERT INTO t SELECT i + 0 FROM generate_series(1, {rows}) AS s(i)")
            kept += rows
        except raydb.OperationalError as error:
            failures.append(str(error))
    ended.set()
    thread.join()
    assert set(failures) <= {"the statement was interrupted"}
    assert con.execute("SELECT count(*) FROM t").fetchone() == (kept,)


def test_what_is_interrupted_may_hold_tables_of_python(memory_con, at_work):
    rows = pa.table({"i": range(1000)})
    memory_con.register("rows", rows)
    statement = InThread(
        lambda: memory_con.execute("SELECT max(a.i) FROM rows a, rows b, rows c, rows d")
    )
    at_work.wait()
    memory_con.interrupt()
    statement.check_interrupted()
    assert memory_con.execute("SELECT max(i) FROM rows").fetchone() == (999,)


LONG_TEXTS = {
    "levenshtein": "SELECT levenshtein(repeat('ab', 20000), repeat('ba', 20000))",
    "damerau": "SELECT damerau_levenshtein(repeat('ab', 20000), repeat('ba', 20000))",
    "jaro": "SELECT jaro_similarity(repeat('ab', 200000), repeat('cd', 200000))",
}


@pytest.mark.parametrize("name", LONG_TEXTS)
def test_functions_of_long_texts_end_in_time(name):
    con = raydb.connect()
    con.execute("SET max_execution_time = 100")
    begun = time.monotonic()
    with pytest.raises(raydb.OperationalError, match="ran longer than max_execution_time, 100 ms"):
        con.execute(LONG_TEXTS[name])
    assert time.monotonic() - begun < PATIENCE_S


@pytest.mark.parametrize("name", ["series", "recursion", "cross product", "insert"])
def test_a_statement_ends_in_time(name):
    con = raydb.connect()
    # Pairs of 1,000 rows are less than 100 ms of work.
    con.execute("CREATE TABLE t AS SELECT range AS i FROM range(50000)")
    con.execute("SET max_execution_time = 100")
    begun = time.monotonic()
    with pytest.raises(raydb.OperationalError, match="ran longer than max_execution_time, 100 ms"):
        con.execute(ENDLESS[name])
    assert time.monotonic() - begun < PATIENCE_S
    con.execute("RESET max_execution_time")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (50_000,)


def test_a_limit_of_time_is_one_of_each_statement():
    con = raydb.connect()
    con.execute("SET statement_timeout = 60000")
    assert con.execute("SHOW max_execution_time").fetchone() == ("60000",)
    con.execute("SET max_execution_time = 1; SET max_execution_time = 0; SELECT 1")
    with pytest.raises(raydb.ProgrammingError, match="a number of milliseconds, 0 for none"):
        con.execute("SET max_execution_time = '5s'")
