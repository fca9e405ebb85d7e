"""Keys of many groups are decoded where they are read: what is above a job beside DuckDB."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb
from raydb.engine.fused import run

ROWS = 3_000
QUERIES = (
    "SELECT d.name, f.day, sum(f.x) FROM f JOIN d ON f.d = d.id GROUP BY 1, 2 HAVING count(*) > 1",
    "SELECT count(*) FROM (SELECT d.name, f.day FROM f JOIN d ON f.d = d.id GROUP BY 1, 2"
    " HAVING sum(f.x) > 100)",
    "SELECT day, name FROM (SELECT d.name, f.day, sum(f.x) AS s FROM f JOIN d ON f.d = d.id"
    " GROUP BY 1, 2) ORDER BY s DESC, day, name LIMIT 7 OFFSET 2",
    "SELECT a.day, b.day, a.name, b.name, a.s, b.s FROM (SELECT f.day, d.name, sum(f.x) AS s FROM f"
    " JOIN d ON f.d = d.id WHERE f.x < 60 GROUP BY 1, 2) AS a FULL JOIN (SELECT f.day, d.name,"
    " sum(f.x) AS s FROM f JOIN d ON f.d = d.id WHERE f.x > 40 GROUP BY 1, 2) AS b"
    " ON a.day = b.day AND a.name = b.name",
    "SELECT name, day, s, rank() OVER (PARTITION BY name ORDER BY s DESC, day) FROM (SELECT d.name,"
    " f.day, sum(f.x) AS s FROM f JOIN d ON f.d = d.id GROUP BY 1, 2)",
    "SELECT name, count(*), max(s) FROM (SELECT d.name, f.day, sum(f.x) AS s FROM f JOIN d"
    " ON f.d = d.id GROUP BY 1, 2) GROUP BY name",
    "SELECT name || '!', day + 1, name, s FROM (SELECT d.name, f.day, sum(f.x) AS s FROM f JOIN d"
    " ON f.d = d.id GROUP BY 1, 2) WHERE day % 3 = 0 AND s > 50",
    "SELECT name, day FROM (SELECT d.name, f.day, sum(f.x) FROM f JOIN d ON f.d = d.id GROUP BY 1,"
    " 2) UNION SELECT name, id FROM d",
    "SELECT d.name, sum(f.x) FROM f LEFT JOIN d ON f.d = d.id GROUP BY 1 ORDER BY 1 NULLS FIRST",
    "SELECT d.name, f.x % 7, count(*) FROM f JOIN d ON f.d = d.id WHERE f.day % 2 = 1"
    " GROUP BY 1, 2 HAVING count(*) > 3",
)


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(421)
    f = {
        "d": pa.array(rng.integers(0, 40, ROWS), mask=rng.random(ROWS) < 0.05),
        "day": rng.integers(0, 200, ROWS),
        "x": rng.integers(0, 100, ROWS),
    }
    names = [f"n{number % 23}" if number % 7 else None for number in range(40)]
    return pa.table(f), pa.table({"id": np.arange(40), "name": names})


@pytest.fixture(scope="module", params=["scan", "BVH", "BVH with fetches"])
def connections(request, tables):
    ours, theirs = raydb.connect(), duckdb.connect()
    for name, rows in zip("fd", tables, strict=True):
        theirs.register(name, rows)
        ours.execute(f"CREATE TABLE {name} AS SELECT * FROM rows")
        assert rows.num_rows
    ours.execute("ALTER TABLE d ADD PRIMARY KEY (id)")
    ours.execute("ALTER TABLE f ADD FOREIGN KEY (d) REFERENCES d")
    if request.param == "BVH":
        ours.execute("CREATE BVH b ON f (SCAN (d.name, f.day, f.x), AGGREGATE (f.x))")
    elif request.param == "BVH with fetches":
        ours.execute("CREATE BVH b ON f (SCAN (d.name), AGGREGATE (f.x))")
    return ours, theirs


@pytest.mark.parametrize("few", [0, 10**9], ids=["late", "at once"])
@pytest.mark.parametrize("query", QUERIES)
def test_rows_above_a_job_are_duckdbs(connections, query, few, monkeypatch):
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    monkeypatch.setattr(run, "_FEW_GROUPS", few)
    ours, theirs = connections
    found, expected = ours.execute(query).fetchall(), theirs.execute(query).fetchall()
    if "LIMIT" not in query:
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    assert found == expected
