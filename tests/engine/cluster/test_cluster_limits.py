"""A cluster with variables, with limits, with damaged files, and with workers that come late."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import Future

import psutil
import pytest
from cluster_cases import STAR, explained, in_a_thread, wait_for_workers
from differential import answer

import raydb
from raydb.engine.cluster.local_workers import LocalWorkers

pytestmark = pytest.mark.long


def test_a_connection_with_variables_asks_no_workers(con, alone):
    con.execute("SET VARIABLE most = 500")
    query = "SELECT count(*), sum(id) FROM f WHERE v < getvariable('most')"
    assert "cluster: at the coordinator: the connection has variables" in explained(con, query)
    expected = alone.execute("SELECT count(*), sum(id) FROM f WHERE v < 500").fetchall()
    assert con.execute(query).fetchall() == expected
    assert "the connection has variables" in explained(con, STAR)
    con.execute("RESET VARIABLE most")
    assert "workers answer 1 of 1 parts" in explained(con, STAR)
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()


class Padded:
    """An engine whose answers are longer than they are."""

    def __init__(self, engine):
        self.engine = engine

    def call(self, questions):
        return {
            worker: self._longer(answer) for worker, answer in self.engine.call(questions).items()
        }

    def _longer(self, answer):
        longer = Future()
        answer.add_done_callback(
            lambda answer: longer.set_result(answer.result() + bytes(6_000_000))
        )
        return longer

    def __getattr__(self, name):
        return getattr(self.engine, name)


def test_groups_that_come_back_fit_the_memory_limit(con, alone, monkeypatch):
    cluster = con._session.queries.cluster
    con.execute("SET memory_limit = '10MB'")
    assert "SegmentScan" in explained(con, STAR)
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "engine", Padded(cluster.engine))
        with pytest.raises(
            raydb.OperationalError, match="putting together the groups of the workers"
        ) as caught:
            con.execute(STAR)
    assert "memory_limit is 10" in str(caught.value)
    assert con.execute(STAR).fetchall() == alone.execute(STAR).fetchall()


def test_a_query_asks_each_worker_once_and_groups_are_all_that_comes(con, monkeypatch):
    engine = con._session.queries.cluster.engine
    call, answers = engine.call, []

    def counted(questions):
        asked = call(questions)
        answers.extend(asked.items())
        return asked

    rows = con.execute(STAR).fetchall()
    monkeypatch.setattr(engine, "call", counted)
    assert con.execute(STAR).fetchall() == rows
    assert sorted(worker for worker, _ in answers) == sorted(engine.workers())
    row_bytes = 32  # A short text with its end, and two numbers of 8 bytes.
    for _, found in answers:
        assert len(found.result()) <= len(rows) * row_bytes + 1024


def test_the_plan_as_a_page_shows_the_workers(con):
    ((page, *_),) = con.execute(f"EXPLAIN (ANALYZE, FORMAT HTML) {STAR}").fetchall()
    assert "2 workers, 8 of 8 segments read" in page


@pytest.mark.parametrize("damage", ["damaged", "missing"])
def test_a_file_that_is_damaged_or_gone_is_named(workers, path, tmp_path, damage):
    copy = tmp_path / "copy.raydb"
    shutil.copytree(path, copy)
    file = max(copy.rglob("*.flat"), key=lambda each: each.stat().st_size)
    config = {"segment_rows": 50_000}
    query = "SELECT k, sum(v), sum(p) FROM f GROUP BY k"
    with raydb.connect(copy, read_only=True, cluster=workers.client, config=config) as con:
        wait_for_workers(con, 2)
        spoil(file, damage)
        with pytest.raises(raydb.OperationalError, match=file.name):
            con.execute(query)
        assert con.execute("SELECT 1").fetchall() == [(1,)]


def spoil(file, damage):
    if damage == "missing":
        file.unlink()
        return
    data = bytearray(file.read_bytes())
    for place in range(64, len(data) - 4096, 512):
        data[place] ^= 0xFF
    file.write_bytes(data)


def test_a_worker_that_comes_in_mid_query_answers(path, alone):
    local = LocalWorkers(1)
    try:
        config = {"segment_rows": 50_000, "worker_timeout": 500}
        with raydb.connect(path, read_only=True, cluster=local.client, config=config) as con:
            wait_for_workers(con, 1)
            (only,) = local.processes
            psutil.Process(only).suspend()
            try:
                thread, found = in_a_thread(lambda: con.execute(STAR).fetchall())
                time.sleep(0.2)
                assert not found
                local._begin(1)
                local._tell(1)
                thread.join(60)
            finally:
                psutil.Process(only).resume()
            assert found == [alone.execute(STAR).fetchall()]
            wait_for_workers(con, 2)
            assert answer(con, STAR) == answer(alone, STAR)
    finally:
        local.close()
