"""A worker that is slow has another one beside it, and the limits of workers hold."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import replace

import pytest
from cluster_cases import STAR, in_a_thread, wait_for_workers

import raydb
from raydb.engine.cluster import cluster as coordinator
from raydb.engine.cluster.local_workers import LocalWorkers
from raydb.engine.cluster.messages import Asked

pytestmark = pytest.mark.long

PATIENCE_S = 60


class Held:
    """An engine that gives some answers when it is told to; `calls` are the workers asked."""

    is_local, limit = False, ""

    def __init__(self, engine):
        self.engine = engine
        self.calls, self.asked, self.ended = [], [], []
        self.held, self.broken = {}, set()

    def call(self, questions):
        return {worker: self._call(worker, question) for worker, question in questions.items()}

    def _call(self, worker, question):
        asked = Asked.parse(question)
        if self.limit:
            asked = replace(asked, settings={**asked.settings, "memory_limit": self.limit})
        # Who sees the call may hold the next one of this worker.
        is_held = worker in self.held
        self.asked.append(asked)
        self.calls.append((worker, asked.call))
        answer = self.engine.call({worker: asked.encode()})[worker]
        if not is_held:
            return answer
        late = Future()
        threading.Thread(target=self._give, args=(worker, answer, late)).start()
        return late

    def _give(self, worker, answer, late):
        self.held[worker].wait(PATIENCE_S)
        if worker in self.broken:
            late.set_exception(OSError("broken"))
        else:
            late.set_result(answer.result())

    def end(self, worker, call):
        self.ended.append((worker, call))
        self.engine.end(worker, call)

    def __getattr__(self, name):
        return getattr(self.engine, name)


@pytest.fixture
def held(con, alone, monkeypatch):
    """Hold back answers of workers, whose usual times are known."""
    cluster = con._session.queries.cluster
    for _ in range(3):
        assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    found = Held(cluster.engine)
    monkeypatch.setattr(cluster, "engine", found)
    yield found
    for each in found.held.values():
        each.set()


def wait_for(is_right):
    until = time.monotonic() + PATIENCE_S
    while not is_right():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_another_worker_answers_for_a_slow_one(con, alone, held):
    slow = min(held.workers())
    held.held[slow] = threading.Event()
    cursor = con.execute(f"EXPLAIN ANALYZE {STAR}")
    assert f"slow {slow}" in "\n".join(line for (line,) in cursor.fetchall())
    assert [worker for worker, _ in held.calls].count(slow) == 1
    assert len(held.calls) == 3
    (call,) = [name for worker, name in held.calls if worker == slow]
    assert held.ended == [(slow, call)]
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()


def test_the_first_answer_counts(con, alone, held):
    slow, quick = sorted(held.workers())
    held.held[slow] = threading.Event()
    thread, found = in_a_thread(lambda: con.execute(STAR).fetchall())
    wait_for(lambda: len(held.calls) >= 2 and not held.held.get(quick))
    held.held[quick] = threading.Event()
    wait_for(lambda: len(held.calls) == 3)
    assert not found
    held.held[slow].set()
    thread.join(PATIENCE_S)
    assert found == [alone.execute(STAR).fetchall()]
    assert held.ended == [held.calls[2]]
    held.held[quick].set()


def test_who_answers_for_a_slow_one_may_be_lost(con, alone, held):
    slow, quick = sorted(held.workers())
    held.held[slow] = threading.Event()
    thread, found = in_a_thread(lambda: con.execute(STAR).fetchall())
    wait_for(lambda: len(held.calls) >= 2)
    held.held[quick] = threading.Event()
    wait_for(lambda: len(held.calls) == 3)
    held.broken.add(quick)
    held.held[quick].set()
    time.sleep(0.2)
    assert not found
    assert len(held.calls) == 3, "the slow one is waited for"
    held.held[slow].set()
    thread.join(PATIENCE_S)
    assert found == [alone.execute(STAR).fetchall()]


def test_a_stopped_worker_is_a_slow_one(con, alone, stopped):
    for _ in range(3):
        con.execute(STAR).fetchall()
    con.execute("SET worker_timeout = 60000")
    stopped(1)
    start = time.monotonic()
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    assert time.monotonic() - start < 30


def test_nothing_is_slow_without_times(con, alone, held):
    cluster = con._session.queries.cluster
    cluster._times.clear()
    slow = min(held.workers())
    held.held[slow] = threading.Event()
    thread, found = in_a_thread(lambda: con.execute(STAR).fetchall())
    wait_for(lambda: len(held.calls) == 2)
    time.sleep(2 * coordinator._SLOW.seconds)
    held.held[slow].set()
    thread.join(PATIENCE_S)
    assert found == [alone.execute(STAR).fetchall()]
    assert len(held.calls) == 2


def test_a_lost_worker_has_left_copies(con, alone, held):
    con.execute("SET segment_copies = 2")
    for _ in range(2):  # Made once, and asked of nobody twice.
        assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    asked = [
        (worker, each.segments) for (worker, _), each in zip(held.calls, held.asked, strict=True)
    ]
    assert len(asked) == 6
    lost, other = (worker for worker, _ in asked[:2])
    assert set(asked[2:4]) == {(other, asked[0][1]), (lost, asked[1][1])}
    wait_for(lambda: not con.execute("SELECT sum(calls) FROM workers()").fetchone()[0])
    held.broken.add(lost)
    held.held[lost] = threading.Event()
    held.held[lost].set()
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()
    worker, _ = held.calls[-1]
    assert (worker, held.asked[-1].segments) in asked[2:4], "it has them already"
    assert not held.ended or {worker for worker, _ in held.ended} == {lost}


def test_times_are_kept_of_so_many_questions(con):
    cluster = con._session.queries.cluster
    for number in range(coordinator._MOST_KEPT + 5):
        for _ in range(2):
            cluster._note(f"question {number}", 1.0)
    assert len(cluster._times) == 5
    for _ in range(100):
        cluster._note("often", 1.0)
    assert len(cluster._times["often"]) == coordinator._MOST_TIMES


def test_progress_tells_of_workers(con):
    heard = []
    con.progress = lambda step, share: heard.append((step, share))
    con.execute(STAR).fetchall()
    steps = [share for step, share in heard if step == "scan at workers"]
    assert (steps[0], steps[-1]) == (0, 1)
    assert steps == sorted(steps)


@pytest.mark.parametrize("limit", ["1kB", "1MB"])
def test_a_memory_limit_is_one_sentence_and_workers_live_on(con, alone, held, limit):
    processes = "SELECT process FROM workers() ORDER BY ALL"
    before = con.execute(processes).fetchall()
    query = (
        f"SELECT k, m, count(*), sum(v), max(p) FROM f JOIN d USING (k) WHERE v <> {ord(limit[1])}"
    )
    query += " GROUP BY k, m ORDER BY k"
    held.limit = limit
    with pytest.raises(raydb.OperationalError, match="segments of 'f' needs about") as caught:
        con.execute(query)
    assert "and memory_limit is 1" in str(caught.value)
    assert "\n" not in str(caught.value)
    held.limit = "none"
    assert con.execute(query).fetchall() == alone.execute(query).fetchall()
    assert con.execute(processes).fetchall() == before


def test_local_workers_have_what_one_process_has(path):
    local = LocalWorkers(2)
    try:
        with raydb.connect(path, read_only=True, cluster=local.client) as con:
            wait_for_workers(con, 2)
            cluster = con._session.queries.cluster
            held = Held(cluster.engine)
            cluster.engine = held
            for is_local in (False, True):
                held.is_local = is_local
                con.execute("SET memory_limit = '1GB'; SET threads = 8")
                con.execute("SELECT count(*), sum(v) FROM f WHERE v < 7").fetchall()
                settings = held.asked[-1].settings
                if is_local:
                    assert settings["memory_limit"] == f"{10**9 // 2}B"
                    assert settings["threads"] == "4"
                else:
                    assert "threads" not in settings
    finally:
        local.close()
