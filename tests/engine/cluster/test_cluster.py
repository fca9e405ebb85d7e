"""A cluster gives the answers of one process, whatever becomes of its workers, or an error.

RAYDB_FUZZ_CLUSTER says how many more random tables the long test asks 25 queries of (8).
"""

from __future__ import annotations

import datetime as dt
import decimal
import os
import re
import shutil
import sys
from random import Random

import dask
import numpy as np
import pytest
from cluster_cases import STAR, explained, wait_for_workers
from differential import answer, same
from plain_stars import plain_query, plain_star
from star_queries import star_query
from stars import random_rows, random_star

import raydb
from raydb.engine.cluster import cluster as coordinator
from raydb.engine.cluster.dask_engine import DaskEngine, check_address
from raydb.engine.cluster.local_workers import LocalWorkers
from raydb.engine.cluster.messages import (
    decode_answer,
    decode_parameters,
    encode_error,
    encode_parameters,
)
from raydb.engine.cluster.worker import Worker
from raydb.planner.segments.nodes import SegmentScan

CASES = int(os.environ.get("RAYDB_FUZZ_CLUSTER", "8"))
QUERIES = [
    STAR,
    "SELECT count(*), sum(v), avg(v), min(x), max(p) FROM f",
    "SELECT count(*), sum(v) FROM f WHERE v > 5000",
    "SELECT name, sum(x), avg(x) FROM f JOIN d USING (k) GROUP BY name ORDER BY name",
    "SELECT name, avg(p), sum(p) FROM f JOIN d USING (k) WHERE v < 500 GROUP BY name ORDER BY 1",
    "SELECT m, count(DISTINCT v), max(day) FROM f JOIN d USING (k) GROUP BY m ORDER BY m",
    "SELECT v, sum(id) AS s FROM f GROUP BY v HAVING sum(id) > 80000000 ORDER BY s DESC LIMIT 7",
    "SELECT name, m, sum(v) FROM f JOIN d USING (k) GROUP BY ROLLUP (name, m) ORDER BY 1, 2, 3",
    "SELECT sum(v) FILTER (WHERE name = 'n3') FROM f JOIN d USING (k)",
    "SELECT count(*) FROM f JOIN d USING (k) WHERE day < now()::DATE - 100000",
    "WITH t AS (SELECT k, sum(v) AS s FROM f GROUP BY k) SELECT count(*), max(s) FROM t WHERE s >"
    " (SELECT avg(s) FROM t)",
]


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_one_process(con, alone, query):
    assert "SegmentScan" in explained(con, query)
    for _ in range(3):  # planned, planned before, and prepared
        cursor = con.execute(query)
        assert same(cursor.fetchall(), alone.execute(query).fetchall(), True)
        assert not cursor.messages


def test_parameters_are_sent(con, alone):
    query = "SELECT count(*), sum(v) FROM f JOIN d USING (k) WHERE day < ? AND v <> ? AND name > ?"
    for values in ((dt.date(2026, 3, 1), 7, "n1"), (dt.date(2026, 2, 1), 8, "n4")):
        cursor = con.execute(query, values)
        assert cursor.fetchall() == alone.execute(query, values).fetchall()
        assert not cursor.messages


def test_parameters_come_as_they_are():
    values = [None, True, -(2**70), 0.1, float("inf"), "é", decimal.Decimal("1.50")]
    values += [dt.date(1, 2, 3), dt.datetime(2026, 1, 2, 3, 4, 5, 6)]
    found = decode_parameters(encode_parameters(values))
    assert found == values
    assert list(map(type, found)) == list(map(type, values))
    named = {f"p{i}": value for i, value in enumerate(values)}
    assert decode_parameters(encode_parameters(named)) == named
    assert encode_parameters([b"bytes"]) is None
    vectors = [[1.0, 2, float("inf")], np.array([0.1, -0.0], np.float32), np.arange(3)]
    for found, vector in zip(decode_parameters(encode_parameters(vectors)), vectors, strict=True):
        assert type(found) is type(vector)
        assert np.asarray(found).dtype == np.asarray(vector).dtype
        assert list(found) == list(vector)
    for other in ([1.0, None], [True], ["a"], np.zeros((2, 2)), np.array(["a"]), (1.0, 2.0)):
        assert encode_parameters({"a": other}) is None


def test_doubles_are_added_up_in_one_order(con, workers, monkeypatch):
    query = "SELECT sum(x), avg(x) FROM f"
    (found,) = con.execute(query).fetchall()
    both = DaskEngine.workers
    for number in range(2):
        monkeypatch.setattr(
            DaskEngine,
            "workers",
            lambda self, anew=False, number=number: dict([list(both(self).items())[number]]),
        )
        assert con.execute(query).fetchall() == [found]


@pytest.mark.parametrize("seed", range(3))
def test_random_stars_in_random_segments(workers, tmp_path, seed):
    compare_random(workers, tmp_path, Random(seed), 12)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 100 + CASES))
def test_more_random_stars(workers, tmp_path, seed):
    compare_random(workers, tmp_path, Random(seed), 25)


def compare_random(workers, tmp_path, rng, count):
    """Ask random queries of random rows in 1 to 9 segments, on one or two workers."""
    path = str(tmp_path / "random.raydb")
    star = random_star(rng) if rng.random() < 0.6 else None
    with raydb.connect(path) as con:
        if star is None:
            steps = [step for step in plain_star(rng) if not step.startswith("CREATE BVH")]
        else:
            *dimensions, fact = [table.ddl for table in star.tables]
            without_key = re.sub(r", (PRIMARY KEY|UNIQUE) \([^)]*\)", "", fact)
            steps = [*dimensions, without_key]
            steps += [insert.sql for insert in random_rows(rng, star)]
        for step in steps:
            con.execute(step)
        ((had,),) = con.execute("SELECT count(*) FROM f").fetchall()
        if not had:
            return
        con.execute(f"INSERT INTO f SELECT f.* FROM f, range({110_000 // had})")
        (rows,) = con.execute("SELECT count(*) FROM f").fetchone()
    split = {"segment_rows": max(-(-rows // rng.randint(1, 9)), 1000)}
    with (
        raydb.connect(path, read_only=True) as alone,
        raydb.connect(path, read_only=True, cluster=workers.client, config=split) as con,
    ):
        wait_for_workers(con, 2)
        for _ in range(count):
            query = star_query(rng, star).sql if star else plain_query(rng)
            query = query if isinstance(query, str) else query.sql
            found, expected = answer(con, query), answer(alone, query)
            assert same(found, expected, False), query


# What is not distributed, and says so


def test_what_runs_at_the_coordinator_says_why(con, tmp_path):
    assert "cluster: workers answer 1 of 1 parts" in explained(con, STAR)
    for query, why in {
        "SELECT id FROM f LIMIT 3": "the query has no aggregate",
        "SELECT count(*) FROM d": "'d' has less than 100000 rows",
        "SELECT quantile_cont(v, 0.5) FROM f": "not put together from parts",
        "SELECT count(*) FROM f WHERE v > (SELECT avg(k) FROM d)": "its subqueries run first",
    }.items():
        lines = explained(con, query)
        assert "cluster: at the coordinator: " in lines
        assert why in lines
    con.execute("BEGIN")
    assert "cluster: at the coordinator: a transaction is active" in explained(con, STAR)
    con.execute("ROLLBACK")
    con.execute("CREATE TEMP TABLE mine (a INTEGER)")
    assert "cluster: at the coordinator: there are attached" in explained(con, STAR)


def test_a_prepared_statement_says_what_its_query_does(con, alone):
    con.execute("PREPARE q AS SELECT count(*), sum(v) FROM f WHERE v < ? AND p > ?")
    assert "cluster: workers answer 1 of 1 parts" in explained(con, "EXECUTE q(500, 2.25)")
    assert "segments read" in explained(con, "ANALYZE EXECUTE q(500, 2.25)")
    cursor = con.execute("EXECUTE q(500, 2.25)")
    expected = alone.execute("SELECT count(*), sum(v) FROM f WHERE v < 500 AND p > 2.25").fetchall()
    assert cursor.fetchall() == expected
    assert not cursor.messages


def test_a_text_of_several_statements(con, alone):
    assert con.execute(f"SELECT 1; {STAR}").fetchall() == alone.execute(STAR).fetchall()


def test_rows_that_workers_see_otherwise_are_the_coordinators(con, alone, monkeypatch):
    monkeypatch.setattr(coordinator, "identity_of", lambda *_: "another")
    cursor = con.execute(STAR)
    assert cursor.fetchall() == alone.execute(STAR).fetchall()
    ((_, warning),) = cursor.messages
    assert "the coordinator reads 'f'" in str(warning)
    assert "it sees another version of the rows" in str(warning)


def test_a_writer_is_read_at_once(workers, tmp_path):
    path = str(tmp_path / "writer.raydb")
    query = "SELECT count(*), sum(a) FROM t"
    with raydb.connect(path, cluster=workers.client, config={"segment_rows": 40_000}) as con:
        con.execute("CREATE TABLE t (a INTEGER)")
        con.execute("INSERT INTO t SELECT range FROM range(120000)")
        assert con.execute(query).fetchall() == [(120000, 7199940000)]
        for number in range(5):
            con.execute("INSERT INTO t VALUES (?)", (number,))
            cursor = con.execute(query)
            assert cursor.fetchall() == [(120001 + number, 7199940000 + sum(range(number + 1)))]
            assert not cursor.messages
        con.execute("DELETE FROM t WHERE a < 10")
        con.execute("UPDATE t SET a = 0 WHERE a = 99999")
        con.execute("CHECKPOINT")
        con.execute("VACUUM")
        cursor = con.execute(query)
        assert cursor.fetchall() == [(119990, 7199940000 - 45 - 99999)]
        assert not cursor.messages


def test_a_database_that_is_made_anew_is_read_anew(workers, tmp_path):
    path = str(tmp_path / "anew.raydb")
    for number in range(3):
        with raydb.connect(path, cluster=workers.client) as con:
            con.execute("CREATE TABLE t (a INTEGER)")
            con.execute(f"INSERT INTO t SELECT {number} FROM range(150000)")
            cursor = con.execute("SELECT sum(a) FROM t")
            assert cursor.fetchall() == [(number * 150000,)]
            assert not cursor.messages
        shutil.rmtree(path)


def test_another_version_is_refused(con, monkeypatch):
    monkeypatch.setattr(raydb, "__version__", "9.9")
    with pytest.raises(raydb.NotSupportedError, match=r"the coordinator has raydb 9\.9"):
        con.execute(STAR)


def test_errors_come_as_those_of_pep_249():
    class OwnError(raydb.ConflictError):
        pass

    for error, kind in {
        OwnError("why"): raydb.ConflictError,
        raydb.DataError("why"): raydb.DataError,
        ValueError("why"): raydb.InternalError,
    }.items():
        with pytest.raises(kind, match="why") as caught:
            decode_answer(encode_error(error), "w")
        assert type(caught.value) is kind
    for name in ("did_you_mean", "difflib", "nothing"):
        with pytest.raises(raydb.InternalError, match="why"):
            decode_answer(f'{{"error": ["{name}", "why"]}}\n'.encode(), "w")


def test_bytes_that_are_no_question_are_an_error():
    worker = Worker()
    assert b'"error"' in worker.answer(b"\x80\x04garbage")
    assert b"protocol" in worker.answer(b'{"protocol": 99}')


def test_a_database_in_memory_is_refused(workers):
    for cluster in (workers.client, "local"):
        with pytest.raises(raydb.ProgrammingError, match="in memory cannot be distributed"):
            raydb.connect(cluster=cluster)


def test_addresses_without_tls_are_refused(path):
    for address in ("tcp://10.1.2.3:8786", "tcp://scheduler:8786"):
        with pytest.raises(raydb.OperationalError, match="without TLS"):
            raydb.connect(path, read_only=True, cluster=address)
        check_address(address, allow_insecure=True)
    for address in ("tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://far:1"):
        check_address(address, allow_insecure=False)
    no_ports = ("tls://far", "tls://far:", "tls://far:port", "tls://:1", "tls://far:65536")
    for wrong in ("scheduler", "http://far:1", *no_ports, 7):
        with pytest.raises(raydb.ProgrammingError, match="cluster is 'local'"):
            raydb.connect(path, read_only=True, cluster=wrong)


def test_an_address_with_tls_needs_keys(path, tmp_path):
    def connect():
        raydb.connect(path, read_only=True, cluster="tls://127.0.0.1:1")

    names = ("ca-file", "client.cert", "client.key")
    with pytest.raises(raydb.OperationalError, match=r"has no keys: set distributed\.comm\.tls"):
        connect()
    config = {f"distributed.comm.tls.{name}": str(tmp_path / "missing") for name in names}
    with (
        dask.config.set(config),
        pytest.raises(raydb.OperationalError, match=r"cannot be read: .*No such file"),
    ):
        connect()


def test_without_the_extra_one_sentence_says_so(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(raydb.NotSupportedError, match=r"pip install 'raydb\[cluster\]'"):
        raydb.connect(path, read_only=True, cluster="local")


@pytest.fixture
def stored(bucket):
    """Return the URL of a database in an object store."""
    url = f"s3://{bucket}/shop.raydb"
    with raydb.connect(url) as con:
        con.execute("CREATE TABLE t (a INTEGER, b DOUBLE)")
        con.execute("INSERT INTO t SELECT range, range / 8 FROM range(200000)")
    return url


def test_credentials_of_the_connection_are_not_those_of_workers(workers, stored):
    with raydb.connect(stored, read_only=True, cluster=workers.client) as con:
        wait_for_workers(con, 2)
        with pytest.raises(raydb.OperationalError, match="a worker cannot open 's3://") as caught:
            con.execute("SELECT sum(a) FROM t")
    assert "with the credentials of its own machine" in str(caught.value)


@pytest.mark.long
def test_a_database_in_an_object_store(stored):
    local = LocalWorkers(2)
    try:
        config = {"segment_rows": 30_000}
        with (
            raydb.connect(stored) as writer,
            raydb.connect(stored, read_only=True, cluster=local.client, config=config) as con,
        ):
            query = "SELECT count(*), sum(a), sum(b) FROM t"
            said = "\n".join(line for (line,) in con.execute(f"EXPLAIN ANALYZE {query}").fetchall())
            counts = r" ms, of the object store \d+ requests in \d+ trips, .* received"
            assert re.search(counts, said), said
            for number in range(3):
                writer.execute("INSERT INTO t VALUES (?, ?)", (number, number))
                assert "SegmentScan" in explained(con, query)
                cursor = con.execute(query)
                assert same(cursor.fetchall(), writer.execute(query).fetchall(), True)
                assert not cursor.messages
    finally:
        local.close()


def test_workers_are_listed(con, workers):
    con.execute(STAR)
    rows = con.execute(
        "SELECT process, state, version, memory_bytes > 0, cached_segments > 0 FROM workers()"
    ).fetchall()
    assert sorted(row[0] for row in rows) == sorted(workers.processes)
    assert {row[1] for row in rows} <= {"ready", "compiling"}  # as long as loops are not kept yet
    assert {row[2:] for row in rows} == {(raydb.__version__, True, True)}


def test_no_cluster_has_no_workers(alone):
    assert alone.execute("SELECT * FROM workers()").fetchall() == []


@pytest.mark.parametrize("keys", ["", "GROUP BY k HAVING count(*) > 3", "GROUP BY id % 5000"])
def test_groups_of_segments_are_put_together_whatever_their_number(con, alone, keys):
    query = f"SELECT count(*), sum(p), max(id), avg(v) FROM f WHERE v > 9 {keys}"
    rows = [sorted(each.execute(query).fetchall()) for each in (con, alone)]
    assert rows[0] == rows[1]
    (prepared, *_) = [plan for plan, _ in con._session.queries.cache._plans.values()]
    assert isinstance(prepared.post_aggregate.job, SegmentScan)


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="Linux alone tells")
def test_local_workers_leave_the_processor_to_who_wakes_them(workers):
    assert [os.sched_getscheduler(pid) for pid in workers.processes] == [os.SCHED_BATCH] * 2
