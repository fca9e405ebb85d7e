"""Queries of rowid give what DuckDB gives, while no row was changed."""

from __future__ import annotations

import random

import duckdb
import pytest
from stars import SEED

import raydb

QUERIES = (
    "SELECT rowid, * FROM t ORDER BY rowid",
    "SELECT max(rowid), min(rowid), sum(rowid), count(rowid) FROM t WHERE v > 3",
    "SELECT k, min(rowid), sum(v) FROM t GROUP BY k ORDER BY k",
    "SELECT rowid // 10, count(*), sum(v) FROM t GROUP BY 1 ORDER BY 1",
    "SELECT sum(v) FROM t WHERE rowid BETWEEN 5 AND 200 AND k <> 2",
    "SELECT w, sum(v) FROM t JOIN s ON t.k = s.k WHERE t.rowid % 3 = 1 GROUP BY w ORDER BY w",
    "SELECT t.rowid, s.rowid FROM t LEFT JOIN s ON t.k = s.rowid ORDER BY ALL",
    "SELECT rowid, v FROM t WHERE rowid IN (SELECT max(rowid) FROM t GROUP BY k) ORDER BY rowid",
    "SELECT rowid, (SELECT max(v) FROM t o WHERE o.rowid = t.rowid + 1) FROM t ORDER BY 1",
    "SELECT v, rowid FROM t ORDER BY v DESC NULLS LAST, rowid LIMIT 7",
    "SELECT rowid, lag(v) OVER (PARTITION BY k ORDER BY rowid) FROM t ORDER BY 1",
    "SELECT DISTINCT rowid % 4 FROM t ORDER BY 1",
    "SELECT rowid FROM t UNION SELECT k FROM s ORDER BY 1",
    "DELETE FROM t WHERE rowid % 7 = 3",
    "SELECT rowid, * FROM t ORDER BY rowid",
    "SELECT k, count(*), max(rowid) FROM t GROUP BY k ORDER BY k",
    "DELETE FROM t WHERE rowid NOT IN (SELECT min(rowid) FROM t GROUP BY k, v)",
    "SELECT count(*), sum(rowid) FROM t",
)


@pytest.mark.long
@pytest.mark.parametrize("rows", [4, 300, 20_000])
def test_row_ids_as_in_duckdb(rows: int) -> None:
    rng = random.Random(f"{SEED} {rows}")
    values = [(rng.randrange(5), rng.choice([None, *range(9)])) for _ in range(rows)]
    con, rival = raydb.connect(), duckdb.connect()
    listed = ", ".join(f"({k}, {'NULL' if v is None else v})" for k, v in values)
    for each in (con, rival):
        each.execute("CREATE TABLE s (k INTEGER PRIMARY KEY, w VARCHAR)")
        each.execute("INSERT INTO s VALUES (0, 'a'), (1, 'b'), (2, 'a'), (3, 'c'), (4, NULL)")
        each.execute("CREATE TABLE t (k INTEGER REFERENCES s (k), v INTEGER)")
        each.execute(f"INSERT INTO t VALUES {listed}")
    for query in QUERIES:
        cursor, theirs = con.execute(query), rival.execute(query).fetchall()
        if query.startswith("SELECT"):
            assert cursor.fetchall() == theirs, query
