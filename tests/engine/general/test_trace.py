"""EXPLAIN ANALYZE: the rows and the time of each node."""

from __future__ import annotations

import json

import pytest

import raydb


@pytest.fixture(scope="module")
def con():
    con = raydb.connect()
    con.execute("""
        CREATE TABLE t AS
            SELECT i, i % 7 AS k, 'x' || i AS s FROM generate_series(1, 300000) AS g(i);
        CREATE TABLE d AS SELECT i AS k, 'n' || i AS n FROM generate_series(0, 4) AS g(i)
    """)
    return con


def nodes(con, query):
    """Return (node, rows) from the top, and check the times."""
    ((text,),) = con.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}").fetchall()
    described = json.loads(text)
    found, total = [], 0.0

    def walk(node):
        nonlocal total
        found.append((node["node"], node.get("rows")))
        total += node.get("time_ms", 0.0)
        assert node.get("time_ms", 0.0) >= 0.0
        for child in node["children"]:
            walk(child)

    walk(described["plan"])
    # Every moment is one node's own, but for the rounding of the sums. A fused query alone is timed
    # without looking at its nodes.
    assert total <= described["time_ms"] * (1 + 1e-9) or described["path"] == "fused"
    return found


def test_a_chain_of_filters_and_columns(con):
    assert nodes(con, "SELECT i + 1 AS j FROM (SELECT i, k * 2 AS m FROM t) AS q WHERE m > 10") == [
        ("ComputeColumns", 42857),
        ("FilterRows", 42857),
        ("ScanTable", 300000),
    ]


def test_joins_and_aggregates(con):
    query = "SELECT n, max(s) FROM t JOIN d USING (k) WHERE i > 1000 GROUP BY n"
    found = dict(nodes(con, query))
    assert found["HashAggregate"] == 5
    assert found["HashJoin"] == sum(1 for i in range(1001, 300001) if i % 7 < 5)
    assert found["FilterRows"] == 299000
    assert found["ScanTable"] == 5


def test_a_recursion_adds_up(con):
    query = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) TABLE r"
    found = nodes(con, query)
    assert ("RecursiveRows", 9) in found
    assert ("WorkingRows", 9) in found
    assert ("FilterRows", 8) in found


def test_a_shared_query_runs_once(con):
    query = """
        WITH c AS (SELECT k, sum(i * 2 + length(s)) AS n FROM t GROUP BY k)
        SELECT a.n FROM c a JOIN c b ON a.n = b.n WHERE a.k < 3
    """
    found = nodes(con, query)
    assert [rows for node, rows in found if node in ("HashAggregate", "FusedTableScan")] == [7]


def test_a_fused_job():
    con = raydb.connect()
    con.execute("""
        CREATE TABLE sale (day INTEGER, amount INTEGER);
        INSERT INTO sale SELECT i % 10, i FROM generate_series(1, 1000) AS t(i);
        CREATE BVH b ON sale (SCAN (day), AGGREGATE (amount))
    """)
    query = "SELECT day, sum(amount) AS total FROM sale WHERE day < 4 GROUP BY day"
    assert dict(nodes(con, query))["FusedScanAggregate"] == 4
