"""Threads with a connection each: sums stay, no update is lost, and a state is seen as a whole."""

from __future__ import annotations

import random
import threading

import pytest

import raydb

ACCOUNTS = 10


def run_threads(functions):
    """Run functions side by side; raise what one of them raises."""
    failures = []

    def call(function):
        try:
            function()
        except BaseException as error:  # noqa: BLE001  (raised by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=call, args=(each,), daemon=True) for each in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread stands still"
    if failures:
        raise failures[0]


def retried(con, work):
    """Run a transaction until nobody else was faster."""
    while True:
        con.begin()
        try:
            work()
            con.commit()
        except raydb.ConflictError:
            continue
        return


@pytest.fixture(params=["memory", "disk"])
def bank(request, tmp_path):
    path = None if request.param == "memory" else tmp_path / "d"
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL)")
        con.execute(f"INSERT INTO account SELECT range, 100 FROM range({ACCOUNTS})")
        con.execute("CREATE TABLE log (thread INTEGER, step INTEGER)")
        yield con
    if path is not None:
        with raydb.connect(path) as con:
            assert con.execute("SELECT sum(balance) % 1000 FROM account").fetchone() == (0,)


@pytest.mark.long
def test_transfers_keep_the_sum(bank):
    end = threading.Event()

    def transfer(place):
        chance = random.Random(place)
        with bank.duplicate() as con:
            for step in range(4):
                one, other = chance.sample(range(ACCOUNTS), 2)
                amount = chance.randrange(50)

                def work(one=one, other=other, amount=amount, step=step):
                    change = "UPDATE account SET balance = balance + ? WHERE id = ?"
                    con.execute(change, [-amount, one])
                    con.execute(change, [amount, other])
                    con.execute("INSERT INTO log VALUES (?, ?)", [place, step])

                retried(con, work)

    def watch():
        with bank.duplicate() as con:
            while not end.is_set():
                found = con.execute("SELECT sum(balance), count(*) FROM account").fetchone()
                assert found == (100 * ACCOUNTS, ACCOUNTS)

    def read_long():
        with bank.duplicate() as con:
            con.begin()
            state = con.execute("FROM account").fetchall(), con.execute("FROM log").fetchall()
            while not end.is_set():
                assert con.execute("FROM account").fetchall() == state[0]
                assert con.execute("FROM log").fetchall() == state[1]

    def keep_house():
        with bank.duplicate() as con:
            for text in ("CHECKPOINT", "VACUUM", "CHECKPOINT"):
                con.execute(text)

    def work():
        try:
            run_threads([keep_house, *(lambda place=place: transfer(place) for place in range(8))])
        finally:
            end.set()

    run_threads([watch, read_long, work])
    assert bank.execute("SELECT count(*), count(DISTINCT thread) FROM log").fetchone() == (32, 8)
    assert bank.execute("SELECT sum(balance) FROM account").fetchone() == (100 * ACCOUNTS,)


def test_no_update_is_lost(bank):
    def add(place):
        with bank.duplicate() as con:
            for step in range(4):
                if step % 2:
                    con.execute("UPDATE account SET balance = balance + 1000 WHERE id = 0")
                    continue

                def work():
                    (found,) = con.execute("SELECT balance FROM account WHERE id = 0").fetchone()
                    con.execute("UPDATE account SET balance = ? WHERE id = 0", [found + 1000])

                retried(con, work)

    run_threads([lambda place=place: add(place) for place in range(8)])
    assert bank.execute("SELECT balance FROM account WHERE id = 0").fetchone() == (32_100,)


def test_a_key_is_inserted_once(bank):
    won = []

    def insert(place):
        with bank.duplicate() as con:
            for key in range(100, 110):
                try:
                    if place % 2:
                        con.begin()
                    con.execute("INSERT INTO account VALUES (?, 0)", [key])
                    con.commit()
                except raydb.IntegrityError:
                    con.rollback()
                else:
                    won.append(key)

    run_threads([lambda place=place: insert(place) for place in range(6)])
    assert sorted(won) == list(range(100, 110))
    assert bank.execute("SELECT count(*) FROM account WHERE id >= 100").fetchone() == (10,)


def test_definitions_beside_rows(bank):
    def define(place):
        with bank.duplicate() as con:
            for step in range(3):
                con.execute(f"CREATE TABLE t{place}_{step} AS SELECT * FROM account")
                con.execute(f"CREATE BVH b{place}_{step} ON log (AGGREGATE (step))")
                con.execute(f"DROP BVH b{place}_{step}")

    def insert(place):
        with bank.duplicate() as con:
            for step in range(8):
                con.execute("INSERT INTO log VALUES (?, ?)", [place, step])
                con.execute("SELECT sum(step) FROM log")

    run_threads([lambda: define(0), lambda: define(1), lambda: insert(2), lambda: insert(3)])
    assert bank.execute("SELECT count(*), sum(step) FROM log").fetchone() == (16, 56)
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_name LIKE 't%'"
    assert bank.execute(tables).fetchone() == (6,)


def test_what_several_need_is_made_once(bank):
    bank.execute("CREATE TABLE f AS SELECT range % 7 AS g, range AS m FROM range(100000)")
    query = "SELECT g, sum(m) FROM f GROUP BY g ORDER BY g"
    answers = []

    def ask():
        with bank.duplicate() as con:
            answers.append(con.execute(query).fetchall())

    run_threads([ask] * 8)
    assert answers == [answers[0]] * 8
    expected = [(g, sum(range(g, 100_000, 7))) for g in range(7)]
    assert answers[0] == expected
