"""Ctrl-C while a statement becomes durable: it answers, and the interrupt comes after it."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import raydb
from raydb.engine.catalog.database import Database
from raydb.storage.durable import replace
from raydb.storage.durable.database_directory import DatabaseDirectory

STATEMENTS = {
    "insert": "INSERT INTO t VALUES (2)",
    "create": "CREATE TABLE u AS SELECT 1 AS a",
    "transaction": "BEGIN; INSERT INTO t VALUES (2); COMMIT",
    "copy": "COPY t FROM 't.csv'",
    "checkpoint": "INSERT INTO t VALUES (2); CHECKPOINT",
}
LONG_S = 30


@pytest.fixture(autouse=True)
def ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a\n2\n")
    with raydb.connect("db") as con:
        con.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1)")
        yield con


def press():
    os.kill(os.getpid(), signal.SIGINT)


def pressed_after(call):
    """Return a method during which Ctrl-C is pressed, when its work is done."""

    def run(self, *arguments, **options):
        found = call(self, *arguments, **options)
        press()
        return found

    return run


@pytest.fixture
def pressing(monkeypatch):
    for name in ("_wait", "commit"):
        call = getattr(DatabaseDirectory, name)
        monkeypatch.setattr(DatabaseDirectory, name, pressed_after(call))


def expect_interrupt():
    with pytest.raises(KeyboardInterrupt):
        time.sleep(LONG_S)


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_a_statement_that_became_durable_answers(con, pressing, statement):
    first, *rest = statement.split("; ")
    if first == "BEGIN":
        con.execute(first)
        first, *rest = rest
    for text in (first, *rest):
        con.execute(text)
        if not con.in_transaction:
            expect_interrupt()
    assert not con.in_transaction
    found = con.execute("SELECT count(*) FROM u" if "u AS" in statement else "FROM t ORDER BY a")
    assert found.fetchall() == ([(1,)] if "u AS" in statement else [(1,), (2,)])
    with raydb.connect("db", read_only=True) as reader:
        assert reader.execute("FROM t").fetchall() == con.execute("FROM t").fetchall()


def test_many_rows_and_an_appender_answer(con, pressing):
    assert con.executemany("INSERT INTO t VALUES (?)", [(2,), (3,)]).rowcount == 2
    expect_interrupt()
    with con.appender("t") as appender:
        appender.append(4)
    expect_interrupt()
    assert con.execute("SELECT count(*) FROM t").fetchone() == (4,)


def test_the_next_statement_of_a_text_does_not_begin(con, pressing):
    with pytest.raises(KeyboardInterrupt):
        con.execute("INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)")
    assert con.execute("FROM t ORDER BY a").fetchall() == [(1,), (2,)]


def test_before_that_nothing_has_changed(con, monkeypatch):
    monkeypatch.setattr(Database, "apply", pressed_after(Database.apply))
    with pytest.raises(KeyboardInterrupt):
        con.execute("INSERT INTO t VALUES (2)")
    assert con.execute("FROM t").fetchall() == [(1,)]


def test_a_statement_that_fails_while_it_becomes_durable_tells_why(con, monkeypatch):
    def fail(*_):
        press()
        raise raydb.OperationalError("the disk is on fire")

    with monkeypatch.context() as patch:
        patch.setattr(DatabaseDirectory, "_wait", fail)
        with pytest.raises(raydb.OperationalError, match="on fire"):
            con.execute("INSERT INTO t VALUES (2)")
        expect_interrupt()
    assert con.execute("FROM t").fetchall() == [(1,)]


def test_a_table_in_memory_answers_too(monkeypatch):
    with raydb.connect() as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        monkeypatch.setattr(Database, "save", pressed_after(Database.save))
        con.execute("INSERT INTO t VALUES (1)")
        expect_interrupt()
        assert con.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_a_file_that_has_its_name_is_written(con, tmp_path, monkeypatch):
    monkeypatch.setattr(replace, "_sync_directory", lambda _: press())
    con.execute("COPY t TO 'out.csv'")
    expect_interrupt()
    assert (tmp_path / "out.csv").read_text() == "a\n1\n"


def test_a_handler_of_the_program_hears_it_and_stays(con, pressing):
    heard = []
    signal.signal(signal.SIGINT, mine := lambda *_: heard.append(threading.current_thread()))
    con.execute("INSERT INTO t VALUES (2)")
    assert signal.getsignal(signal.SIGINT) is mine
    end = time.monotonic() + LONG_S
    while not heard and time.monotonic() < end:
        time.sleep(0.01)
    assert heard == [threading.main_thread()]


def test_other_threads_and_ignored_signals_are_left_alone(con):
    def write():
        con.execute("INSERT INTO t VALUES (2)")

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    write()
    press()
    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert con.execute("SELECT count(*) FROM t").fetchone() == (3,)
