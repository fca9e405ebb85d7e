"""EXPLAIN ANALYZE runs a query once, and the times of its nodes add up to the whole."""

from __future__ import annotations

import json

import pytest

import raydb
from raydb.engine.fused import run
from raydb.engine.session import plan_runner
from raydb.storage.objects.store import Wanted, open_store

QUERIES = [
    "SELECT city, sum(amount) FROM sale WHERE day > 3 GROUP BY city ORDER BY city",
    "SELECT sum(amount) FROM sale WHERE day > 3",
    "SELECT amount FROM sale WHERE day % 2 = 1 ORDER BY amount DESC LIMIT 5",
    "SELECT count(*) FROM sale a JOIN sale b ON a.day = b.day AND a.amount < b.amount",
]


@pytest.fixture
def con():
    with raydb.connect() as con:
        con.execute("CREATE TABLE sale (day INTEGER, city VARCHAR, amount INTEGER)")
        con.execute("INSERT INTO sale SELECT range % 9, 'c' || range % 4, range FROM range(900)")
        con.execute("CREATE BVH days ON sale (SCAN (day), GROUP BY (city), AGGREGATE (amount))")
        yield con


def own_times(node):
    return node.get("time_ms", 0.0) + sum(map(own_times, node["children"]))


@pytest.mark.parametrize("query", QUERIES)
def test_the_times_of_nodes_add_up(con, query):
    (text,) = con.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}").fetchone()
    plan = json.loads(text)
    assert own_times(plan["plan"]) == pytest.approx(plan["time_ms"], rel=1e-9)


@pytest.mark.parametrize("query", QUERIES)
def test_the_query_runs_once(con, query, monkeypatch):
    calls = []
    for module, name in ((plan_runner, "run_plan"), (run, "decode_groups")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *given, real=real, name=name: (calls.append(name), real(*given))[1]
        )
    con.execute(f"EXPLAIN ANALYZE {query}")
    assert calls.count("run_plan") == 1
    assert calls.count("decode_groups") <= 1


def test_a_bvh_is_counted_once(con):
    con.execute(f"EXPLAIN ANALYZE {QUERIES[0]}")
    assert con.execute("SELECT hits FROM bvhs()").fetchone() == (1,)


def test_requests_to_stores_are_told(con, bucket, monkeypatch):
    store, key = open_store(f"s3://{bucket}/x")
    store.put(key, bytes(3000))
    run_plan = plan_runner._run_plan

    def read_first(*arguments, **named):
        store.get_ranges([Wanted(key, (0, 1000)), Wanted(key, (2000, 3000))])
        return run_plan(*arguments, **named)

    monkeypatch.setattr(plan_runner, "_run_plan", read_first)
    told = "object stores: 2 requests in 1 trip, 2 KB received"
    for text in ("", "SELECT 1; "):  # what one statement asked is not the next one's
        lines = [line for (line,) in con.execute(f"{text}EXPLAIN ANALYZE FROM sale").fetchall()]
        assert lines[-2] == told
    (text,) = con.execute("EXPLAIN (ANALYZE, FORMAT JSON) FROM sale").fetchone()
    counts = {"requests": 2, "trips": 1, "received": 2000, "sent": 0}
    assert json.loads(text)["object_stores"] == counts
    (page,) = con.execute("EXPLAIN (ANALYZE, FORMAT HTML) FROM sale").fetchone()
    assert "<dt>object stores</dt><dd>2 requests in 1 trip, 2 KB received</dd>" in page
    monkeypatch.undo()
    assert "object stores" not in str(con.execute("EXPLAIN ANALYZE FROM sale").fetchall())
