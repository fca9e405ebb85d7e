"""Turns: in the order they came, beside a long one, and passed on whatever happens to who waits."""

from __future__ import annotations

import _thread
import threading
import time
from typing import TYPE_CHECKING

import pytest

import raydb
from raydb.engine.context import turns as module
from raydb.engine.context.turns import Turns
from raydb.engine.fused.row_fast_path import FastRows

if TYPE_CHECKING:
    from collections.abc import Callable


def waiting(turns: Turns, count: int) -> None:
    """Return when so many threads wait."""
    until = time.monotonic() + 10
    while len(turns._waiting) < count:
        assert time.monotonic() < until
        time.sleep(0.0001)


def started(run: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_turns_come_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60)
    turns, had = Turns(), []

    def have(number: int) -> None:
        with turns:
            had.append(number)

    threads = []
    with turns:
        for number in range(5):
            threads.append(started(lambda number=number: have(number)))
            waiting(turns, number + 1)
        assert had == []
    for thread in threads:
        thread.join()
    assert had == [0, 1, 2, 3, 4]
    assert turns._holder is None


def test_a_long_statement_keeps_nobody_waiting() -> None:
    turns, goes_on = Turns(), threading.Event()

    def have() -> None:
        with turns:
            goes_on.set()

    with turns:
        thread = started(have)
        assert goes_on.wait(10)
        thread.join()
        assert turns._holder is None
        with turns:  # the first one is still at it
            pass
    assert turns._holder is None


def test_a_statement_within_a_statement_has_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60)
    with raydb.connect() as con:
        other = con.duplicate()

        def twice(number: int) -> int:
            return other.execute("SELECT 2 * ?", (number,)).fetchall()[0][0]  # type: ignore[no-any-return]

        assert twice(2) == 4
        with module.turns:
            assert twice(21) == 42
    assert module.turns._holder is None


def test_who_is_interrupted_waits_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60)
    turns, begun, is_over = Turns(), threading.Event(), threading.Event()

    def hold() -> None:
        with turns:
            begun.set()
            waiting(turns, 1)
            _thread.interrupt_main()
            is_over.wait(10)

    thread = started(hold)
    begun.wait(10)
    with pytest.raises(KeyboardInterrupt), turns:
        pass
    assert not turns._waiting
    is_over.set()
    thread.join()
    assert turns._holder is None


def test_rows_are_made_in_the_turn_where_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 60)
    text = "SELECT k, sum(v) FROM t GROUP BY k ORDER BY k"
    with raydb.connect() as con:
        con.execute("CREATE TABLE t (k INTEGER, v INTEGER); INSERT INTO t VALUES (1, 2), (3, 4)")
        con.execute("CREATE BVH b ON t (SCAN (k), GROUP BY (k), AGGREGATE (v))")
        for _ in range(3):
            con.execute(text)
        made: list[int] = []
        rows = FastRows.python_rows

        def python_rows(self: FastRows) -> list[tuple[object, ...]]:
            made.append(len(module.turns._waiting))
            return rows(self)

        monkeypatch.setattr(FastRows, "python_rows", python_rows)
        cursor = con.execute(text)
        assert made == []
        assert cursor.fetchall() == [(1, 2), (3, 4)]
        with module.turns:
            thread = started(lambda: con.duplicate().execute("SELECT 1").fetchall())
            waiting(module.turns, 1)
            cursor = con.execute(text)
            assert made == [0, 1]
        thread.join()
        assert cursor.fetchall() == [(1, 2), (3, 4)]


def test_a_text_that_writes_gives_its_turn_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of several threads share a sync, which they would not one after the other."""
    seen = []
    with raydb.connect() as con:
        run = con._session.changes.whole  # type: ignore[union-attr]

        def whole(*arguments: object) -> object:
            seen.append(module.turns._holder)
            return run(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(con._session.changes, "whole", whole)  # type: ignore[union-attr]
        con.execute("CREATE TABLE t (a INTEGER)")
        con.execute("INSERT INTO t VALUES (1)")
        assert con.execute("SELECT a FROM t").fetchall() == [(1,)]
    assert seen == [None, None]
