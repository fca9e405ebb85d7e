"""The first rows in order at workers: those of one process, in its order."""

from __future__ import annotations

from random import Random

import pytest
from cluster_cases import explained, wait_for_workers
from differential import same

import raydb
from raydb.engine.cluster import cluster as coordinator
from raydb.engine.session import queries

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _free_calls(monkeypatch):
    monkeypatch.setattr(queries, "CALL_COST", 0.0)


QUERIES = [
    "SELECT id, v FROM f ORDER BY v, id LIMIT 10",
    "SELECT id, v FROM f ORDER BY v LIMIT 1000",
    "SELECT id, v FROM f WHERE v > 990 ORDER BY v DESC LIMIT 7 OFFSET 5",
    "SELECT k, x FROM f WHERE k IN (3, 5) AND x > 100 ORDER BY k DESC, v LIMIT 50",
    "SELECT * FROM f WHERE v = 77 ORDER BY p DESC LIMIT 30",
    "SELECT CASE WHEN v < 500 THEN k END AS w, id FROM f WHERE id >= 250000 ORDER BY w LIMIT 20",
    "SELECT id FROM f WHERE v > 5000 ORDER BY id LIMIT 3",
    "SELECT id FROM f WHERE id < 0 ORDER BY v LIMIT 3",
    "WITH t AS (SELECT id, v FROM f WHERE k = 7 ORDER BY v, id LIMIT 100) SELECT sum(id) FROM t",
]


@pytest.mark.parametrize("query", QUERIES)
def test_first_rows_are_those_of_one_process(con, alone, query):
    assert "SegmentRows" in explained(con, query)
    for _ in range(2):
        cursor = con.execute(query)
        assert cursor.fetchall() == alone.execute(query).fetchall()
        assert not cursor.messages


def test_random_first_rows(con, alone):
    rng = Random(5)
    distributed = 0
    for _ in range(40):
        conditions = [
            f"v {rng.choice('<>=')} {rng.randrange(1000)}",
            f"k <> {rng.randrange(100)}",
            f"x BETWEEN {rng.randrange(30000)} AND {rng.randrange(40000)}",
            f"id < {rng.randrange(500000)}",
        ]
        keys = rng.sample(["v", "k DESC", "x", "p DESC", "id"], rng.randint(1, 3))
        where = " AND ".join(rng.sample(conditions, rng.randint(1, 3)))
        query = f"SELECT * FROM f WHERE {where} ORDER BY {', '.join(keys)}"
        query += f" LIMIT {rng.choice((0, 1, 5, 300))} OFFSET {rng.choice((0, 0, 3))}"
        distributed += "SegmentRows" in explained(con, query)
        found, expected = con.execute(query).fetchall(), alone.execute(query).fetchall()
        assert same(found, expected, True), query
    assert distributed > 20


def test_segments_are_pruned(con):
    lines = explained(con, "ANALYZE SELECT id FROM f WHERE id < 0 ORDER BY v LIMIT 3")
    assert "ran: 0 workers, 0 of 9 segments read, 9 pruned" in lines or "8 pruned" in lines, lines


def test_what_workers_are_not_asked_says_why(con, monkeypatch):
    for query, why in {
        "SELECT id FROM f LIMIT 3": "no LIMIT that reads many rows",
        "SELECT k FROM d ORDER BY name LIMIT 3": "'d' has less than 100000 rows",
        "SELECT id FROM f WHERE 10 / id > 1 ORDER BY v LIMIT 3": "an expression of it may fail",
    }.items():
        lines = explained(con, query)
        assert "SegmentRows" not in lines
        assert why in lines
    monkeypatch.setattr(queries, "CALL_COST", 1e9)
    lines = explained(con, "SELECT id FROM f WHERE v = 7 ORDER BY x LIMIT 3")
    assert "a scan of 'f' takes about" in lines
    assert "a question to workers 1e+03 ms" in lines


def test_rows_that_workers_see_otherwise_are_the_coordinators(con, alone, monkeypatch):
    monkeypatch.setattr(coordinator, "identity_of", lambda *_: "another")
    cursor = con.execute(QUERIES[0])
    assert cursor.fetchall() == alone.execute(QUERIES[0]).fetchall()
    ((_, warning),) = cursor.messages
    assert "the coordinator reads 'f'" in str(warning)


def test_values_of_all_types_come(workers, tmp_path):
    path = str(tmp_path / "types.raydb")
    with raydb.connect(path, cluster=workers.client, config={"segment_rows": 30_000}) as con:
        con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
        con.execute(
            "CREATE TABLE t (id INTEGER, m mood, u UUID, j JSON, l INTEGER[], s STRUCT(a INTEGER),"
            " i INTERVAL, z TIMESTAMPTZ, d TIME, b BLOB, v FLOAT[2], h DECIMAL(30, 3), y TEXT)"
        )
        con.execute(
            "INSERT INTO t SELECT range, (['sad', 'ok', 'happy'])[range % 3 + 1],"
            " ('00000000-0000-0000-0000-0000000' || (range % 90000 + 10000))::UUID, '{\"a\": 1}',"
            " [range, NULL], {'a': range}, to_days(range::INTEGER), TIMESTAMPTZ '2026-01-01',"
            " TIME '01:02:03', 'x'::BLOB, [range, 1], range / 7,"
            " CASE WHEN range % 5 > 0 THEN 'é' END"
            " FROM range(120000)"
        )
        wait_for_workers(con, 2)
        for order in ("m DESC, id", "u, id DESC", "y NULLS FIRST, id", "h DESC", "z, id"):
            query = f"SELECT * FROM t WHERE m <> 'ok' ORDER BY {order} LIMIT 25"
            assert "SegmentRows" in explained(con, query)
            cursor = con.execute(query)
            found = cursor.fetchall()
            assert not cursor.messages
            types = [each[1] for each in cursor.description]
            with raydb.connect(path, read_only=True) as alone:
                cursor = alone.execute(query)
                assert found == cursor.fetchall()
                assert types == [each[1] for each in cursor.description]
        blocks = list(con.execute("SELECT id FROM t ORDER BY id DESC LIMIT 3"))
        assert [row[0] for row in blocks] == [119999, 119998, 119997]
