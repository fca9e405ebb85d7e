"""Whatever becomes of workers, an answer is right or an error says why."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from cluster_cases import STAR, explained, in_a_thread, wait_for_workers
from differential import answer

import raydb
from raydb.engine.cluster import cluster as coordinator
from raydb.engine.cluster import local_workers
from raydb.engine.cluster.local_workers import LocalWorkers
from raydb.engine.cluster.messages import Asked
from raydb.kernels.backends.cpu import warm

pytestmark = pytest.mark.long


def test_a_worker_is_killed_in_mid_query(con, alone, stopped):
    pid = stopped(0)
    thread, found = in_a_thread(lambda: con.execute(STAR).fetchall())
    time.sleep(0.2)
    assert not found
    os.kill(pid, signal.SIGKILL)
    thread.join(30)
    assert found == [alone.execute(STAR).fetchall()]
    wait_for_workers(con, 2)
    assert con.execute(STAR).fetchall() == found[0]


def test_a_worker_that_is_stopped_is_not_waited_for(con, alone, stopped):
    con.execute("SET worker_timeout = 500")
    stopped(1)
    start = time.monotonic()
    cursor = con.execute(f"EXPLAIN ANALYZE {STAR}")
    assert time.monotonic() - start < 10
    assert "lost tls://" in "\n".join(line for (line,) in cursor.fetchall())
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()


def test_all_workers_are_lost(con, alone, stopped, monkeypatch):
    monkeypatch.setattr(coordinator, "_RESTART_S", 0.5)
    con.execute("SET worker_timeout = 300")
    pids = [stopped(0), stopped(1)]
    with pytest.raises(raydb.OperationalError, match="segments of 'f' have no worker left"):
        con.execute(STAR)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    con.execute("SET worker_timeout = 5000")
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()


def test_a_worker_that_ended_rests_while_another_one_runs(monkeypatch):
    monkeypatch.setattr(local_workers, "_REST_S", 3600)
    local = LocalWorkers(2)
    try:
        first, second = local.processes
        os.kill(first, signal.SIGKILL)
        time.sleep(0.5)
        assert local.processes == [second]
        os.kill(second, signal.SIGKILL)
        end = time.monotonic() + 30
        while len(local.processes) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert not {first, second} & set(local.processes)
    finally:
        local.close()


def test_local_workers_come_with_their_loops(monkeypatch, caplog):
    monkeypatch.setattr(local_workers, "_QUIET_S", 0.001)
    with caplog.at_level(logging.INFO, "raydb"):
        local = LocalWorkers(2)
    assert "waiting for the 2 workers of cluster='local'" in caplog.text
    try:
        # By value, and what it names by its module: workers cannot import this one.
        ready = local.client.run(lambda: warm._warmup.scan_loops is not None)
        assert list(ready.values()) == [True, True]
    finally:
        local.close()


def compiling_processes(folder):
    found = []
    for each in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error):
            is_ours = "raydb.engine.cluster.local_loops" in (each.info["cmdline"] or [])
            if is_ours and each.environ()["RAYDB_CACHE_DIR"] == str(folder):
                found.append(each)
    return found


@pytest.mark.long
def test_nobody_waits_for_loops_that_are_to_be_compiled(path, alone, tmp_path, monkeypatch, caplog):
    expected = alone.execute(STAR).fetchall()
    monkeypatch.setenv("RAYDB_CACHE_DIR", str(tmp_path))
    config = {"segment_rows": 50_000}
    try:
        with raydb.connect(path, read_only=True, cluster="local", config=config) as con:
            assert "'raydb compile' does it ahead" in caplog.text
            assert con.execute(STAR).fetchall() == expected
            assert "at workers" in explained(con, STAR)
            states = con.execute("SELECT DISTINCT state FROM workers()").fetchall()
            assert states == [("compiling",)]
        assert compiling_processes(tmp_path), "what was begun is not lost with the connection"
    finally:
        for each in compiling_processes(tmp_path):
            each.kill()


def test_a_forked_process_has_no_workers(con):
    child = os.fork()
    if not child:
        try:
            con.execute(STAR)
        except raydb.InterfaceError as error:
            os._exit(7 if "was opened before this process was forked" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert con.execute(STAR).fetchall()


def asked_of(con, column):
    return con.execute(f"SELECT sum({column}) FROM workers()").fetchone()[0]


def wait_for_calls(con, is_right):
    until = time.monotonic() + 30
    while not is_right(asked_of(con, "calls")):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_an_end_reaches_the_workers(workers, tmp_path):
    path = str(tmp_path / "long.raydb")
    with raydb.connect(path) as con:
        con.execute("CREATE TABLE t (id INTEGER)")
        con.execute("INSERT INTO t SELECT range FROM range(200000)")
    conditions = " AND ".join(f"sin(id + {number}) < 2" for number in range(300))
    config = {"segment_rows": 50_000}
    with (
        raydb.connect(path, read_only=True, cluster=workers.client, config=config) as con,
        con.duplicate() as other,
    ):
        wait_for_workers(con, 2)
        before = asked_of(other, "cached_segments")
        query = f"SELECT count(*) FROM t WHERE {conditions}"
        thread, found = in_a_thread(lambda: con.execute(query).fetchall())
        wait_for_calls(other, lambda calls: calls > 0)
        con.interrupt()
        thread.join(30)
        (error,) = found
        assert isinstance(error, raydb.OperationalError)
        wait_for_calls(other, lambda calls: calls == 0)
        assert asked_of(other, "cached_segments") == before, "they have not come to an end"
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(200000,)]


def test_an_end_may_overtake_its_question(con, alone, monkeypatch):
    engine = con._session.queries.cluster.engine
    call, names = engine.call, []

    def ended_call(questions):
        for worker, question in questions.items():
            names.append(Asked.parse(question).call)
            engine._run(engine._client.rpc(worker).raydb_end(call=names[-1])).result(30)
        return call(questions)

    monkeypatch.setattr(engine, "call", ended_call)
    with pytest.raises(raydb.OperationalError, match="the statement was interrupted"):
        con.execute(STAR)
    assert names
    monkeypatch.undo()
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()


def test_a_statement_that_waits_for_workers_ends(con, stopped):
    con.execute("SET worker_timeout = 60000")
    stopped(0)
    thread, found = in_a_thread(lambda: con.execute(STAR).fetchall())
    time.sleep(0.2)
    con.interrupt()
    thread.join(30)
    assert isinstance(found[0], raydb.OperationalError)
    con.execute("SET max_execution_time = 300")
    with pytest.raises(raydb.OperationalError, match="ran longer than max_execution_time"):
        con.execute(STAR)


def test_an_error_of_a_worker_is_that_of_one_process(con, alone):
    query = "SELECT sum(v) FROM f WHERE 1000 / (id - 7) > 5"
    assert answer(con, query) == answer(alone, query)
    query = "SELECT sum(v * 9000000000000000000) FROM f"
    assert answer(con, query) == answer(alone, query)


PROGRAM = """
import os, signal, sys, raydb
assert "distributed" not in sys.modules
con = raydb.connect(sys.argv[1], read_only=True, cluster="local", config={"segment_rows": 50000})
print(con.execute("SELECT count(*) FROM f").fetchone()[0])
pids = con.execute("SELECT process FROM workers()").fetchall()
print(*[pid for pid, in pids], flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[2] == "closed":
    con.close()
"""


@pytest.mark.parametrize(
    "end", [*(pytest.param(end, marks=pytest.mark.long) for end in ("closed", "left")), "killed"]
)
def test_local_workers_end_with_the_program(path, alone, tmp_path, end):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, end],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == (-signal.SIGKILL if end == "killed" else 0), done.stderr
    count, pids = done.stdout.splitlines()
    assert int(count) == alone.execute("SELECT count(*) FROM f").fetchone()[0]
    until = time.monotonic() + 10
    while any(is_running(int(pid)) for pid in pids.split()):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert not done.stderr
    assert not list(tmp_path.glob("raydb-cluster-*"))


FORKING = """
import os, sys, time, raydb
con = raydb.connect(sys.argv[1], read_only=True, cluster="local", config={"segment_rows": 50000})
child = os.fork()
if not child:
    sys.exit(0)
start = time.monotonic()
assert os.waitpid(child, 0) == (child, 0)
assert time.monotonic() - start < 5
print(con.execute("SELECT count(*) FROM f").fetchone()[0])
con.close()
"""


@pytest.mark.long
def test_a_forked_process_ends_at_once_and_leaves_the_workers(path, alone):
    done = subprocess.run(
        [sys.executable, "-c", FORKING, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == alone.execute("SELECT count(*) FROM f").fetchone()[0]


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
