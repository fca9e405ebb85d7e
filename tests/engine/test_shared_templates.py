"""Templates are those of all connections that read a snapshot and mean the same by a text."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import raydb
from raydb.engine.context.turns import turns
from raydb.engine.plans import template_cache

if TYPE_CHECKING:
    from collections.abc import Iterator

SHAPE = "SELECT count(*), min(b) FROM t WHERE a < {} ORDER BY 1"


@pytest.fixture
def con() -> Iterator[raydb.Connection]:
    with raydb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS a, nullif(range, 5) AS b FROM range(10)"
        )
        yield connection


def templates(connection: raydb.Connection) -> Any:
    assert connection._session is not None
    return connection._session.queries.cache.templates


def test_what_one_connection_has_prepared_others_use(con: raydb.Connection) -> None:
    other = con.duplicate()
    for end in (3, 4):
        con.execute(SHAPE.format(end)).fetchall()
    other.execute("SELECT 1").fetchall()
    assert templates(other) is templates(con)
    assert other.execute(SHAPE.format(7)).fetchall() == [(7, 0)]
    assert len(templates(con)._templates) == 1


def test_a_change_leaves_templates_behind(con: raydb.Connection) -> None:
    other = con.duplicate()
    for end in (3, 4, 5):
        assert other.execute(SHAPE.format(end)).fetchall() == [(end, 0)]
    old = weakref.ref(templates(other))
    con.execute("BEGIN")
    con.execute("DELETE FROM t WHERE a = 0")
    assert con.execute(SHAPE.format(3)).fetchall() == [(2, 1)]
    assert other.execute(SHAPE.format(3)).fetchall() == [(3, 0)]
    con.execute("COMMIT")
    assert con.execute(SHAPE.format(3)).fetchall() == [(2, 1)]
    assert other.execute(SHAPE.format(3)).fetchall() == [(2, 1)]
    gc.collect()
    assert old() is None, "what was prepared for a snapshot that nobody reads is kept"


def test_a_session_that_means_something_else_has_its_own(con: raydb.Connection) -> None:
    text = "SELECT b FROM t WHERE a > {} ORDER BY b LIMIT 1"
    for end in (3, 4):
        con.execute(text.format(end)).fetchall()
    nulls = con.duplicate()
    nulls.execute("SET default_null_order = 'nulls_first'")
    variable = con.duplicate()
    variable.execute("SET VARIABLE least = 2")
    schema = con.duplicate()
    schema.execute("CREATE SCHEMA apart")
    schema.execute("CREATE TABLE apart.t AS SELECT 7 AS a, 70 AS b")
    schema.execute("USE apart")
    temporary = con.duplicate()
    temporary.execute("CREATE TEMP TABLE t AS SELECT 8 AS a, 80 AS b")
    answers = [
        each.execute(text.format(2)).fetchall()
        for each in (con, nulls, schema, temporary, variable)
    ]
    assert answers == [[(3,)], [(None,)], [(70,)], [(80,)], [(3,)]]
    assert len({id(templates(each)) for each in (con, nulls, schema, temporary, variable)}) == 5
    for number in range(3):
        ask = f"SELECT getvariable('least') + {number}"
        assert con.execute(ask).fetchall() == [(None,)]
        assert variable.execute(ask).fetchall() == [(2 + number,)]


def test_a_table_stands_before_an_object_that_another_connection_has(
    con: raydb.Connection,
) -> None:
    other = con.duplicate()
    other.register("s", pa.table({"b": [42]}))
    con.execute("CREATE TABLE s AS SELECT 1 AS b")
    for number in range(3):
        for each in (con, other):
            assert each.execute(f"SELECT b + {number} FROM s").fetchall() == [(1 + number,)]
    con.execute("DROP TABLE s")
    for number in range(3):
        assert other.execute(f"SELECT b + {number} FROM s").fetchall() == [(42 + number,)]
        with pytest.raises(raydb.ProgrammingError):
            con.execute(f"SELECT b + {number} FROM s")


def test_settings_are_those_of_the_connection_that_asks(con: raydb.Connection) -> None:
    other = con.duplicate()
    other.execute("SET TimeZone = 'Asia/Tokyo'")
    other.execute("SET threads = 1")
    con.execute("SET threads = 2")
    for number in range(4):
        text = f"SELECT CAST('2024-01-01 0{number}:00:00' AS TIMESTAMPTZ)::VARCHAR"
        assert con.execute(text).fetchall() == [(f"2024-01-01 0{number}:00:00+00",)]
        assert other.execute(text).fetchall() == [(f"2024-01-01 0{number}:00:00+09",)]
        text = f"SELECT current_setting('threads'), {number}"
        assert con.execute(text).fetchall() == [("2", number)]
        assert other.execute(text).fetchall() == [("1", number)]


def test_threads_share_templates_while_tables_change(con: raydb.Connection) -> None:
    """What each thread is told is right for a table that only grows, at some moment of it."""
    wrong: list[Any] = []
    is_over = threading.Event()
    shapes = [
        "SELECT count(*) FROM t WHERE a < {}",
        "SELECT count(*) FROM t WHERE a < {} AND b >= 0 OR a = 5",
        "SELECT sum(1) FROM t JOIN (SELECT a AS c FROM t) ON a = c WHERE a < {}",
        "SELECT count(*) FROM (SELECT a FROM t WHERE a < {} ORDER BY a)",
    ]

    def ask(number: int) -> None:
        rng, connection = Random(number), con.duplicate()
        try:
            while not is_over.is_set():
                end = rng.randrange(6, 10)
                ((count,),) = connection.execute(rng.choice(shapes).format(end)).fetchall()
                if count != end:
                    wrong.append((end, count))
        except Exception as error:  # noqa: BLE001  (any is wrong)
            wrong.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for number in range(25):
        con.execute("INSERT INTO t VALUES (?, 0)", (1000 + number,))
        for _ in range(10):
            con.execute(shapes[0].format(number % 10)).fetchall()
    is_over.set()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_waits_for_no_thread_of_its_parent(con: raydb.Connection) -> None:
    for end in (3, 4):
        con.execute(SHAPE.format(end)).fetchall()
    with turns, template_cache._lock:
        child = os.fork()
        if child == 0:
            try:
                assert con.execute(SHAPE.format(5)).fetchall() == [(5, 0)]
            except BaseException:  # noqa: BLE001  (no test goes on in the child)
                os._exit(1)
            os._exit(0)
        until = time.monotonic() + 20
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
            time.sleep(0.01)
        if ended == (0, 0):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    assert ended == (child, 0)
