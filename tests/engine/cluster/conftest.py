"""What tests of a cluster share: two workers, a database, connections with them and without."""

from __future__ import annotations

import os
import signal

import psutil
import pytest
from cluster_cases import wait_for_workers

import raydb
from raydb.engine.cluster.local_workers import LocalWorkers

ROWS = 400_000


@pytest.fixture(scope="session")
def workers():
    local = LocalWorkers(2)
    yield local
    local.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = str(tmp_path_factory.mktemp("cluster") / "shop.raydb")
    with raydb.connect(found) as con:
        con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
        con.execute("CREATE TABLE d (k INTEGER PRIMARY KEY, name VARCHAR, day DATE, m mood)")
        con.execute(
            "INSERT INTO d SELECT range, 'n' || (range % 7), DATE '2026-01-01' + range::INTEGER,"
            " (['sad', 'ok', 'happy'])[range % 3 + 1] FROM range(100)"
        )
        con.execute(
            "CREATE TABLE f (id INTEGER, k INTEGER REFERENCES d(k), v INTEGER, x DOUBLE,"
            " p DECIMAL(12, 2))"
        )
        con.execute(
            f"INSERT INTO f SELECT range, range % 100, (range * 7919) % 1000, range * 0.1,"
            f" range / 4 FROM range({ROWS})"
        )
        con.execute("DELETE FROM f WHERE id % 1001 = 5")
    return found


@pytest.fixture
def con(workers, path):
    with raydb.connect(
        path, read_only=True, cluster=workers.client, config={"segment_rows": 50_000}
    ) as con:
        wait_for_workers(con, 2)
        yield con


@pytest.fixture(scope="module")
def alone(path):
    with raydb.connect(path, read_only=True) as con:
        yield con


@pytest.fixture
def stopped(workers):
    """Stop a worker, and let it go on at the end if it is still there."""
    stopped = []

    def stop(number):
        pid = workers.processes[number]
        os.kill(pid, signal.SIGSTOP)
        stopped.append(pid)
        return pid

    yield stop
    for pid in stopped:
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGCONT)
