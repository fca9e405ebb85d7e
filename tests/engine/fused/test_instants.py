"""What the day or the hour of a TIMESTAMP tells is a key or a predicate of a fused pass."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = 6_000
QUERIES = (
    "SELECT date_trunc('month', sold) AS m, sum(x) FROM t GROUP BY m",
    "SELECT date_trunc('week', sold) AS w, date_trunc('quarter', sold) AS q, count(*) FROM t"
    " GROUP BY w, q",
    "SELECT extract(hour FROM sold) AS h, count(*) FROM t WHERE k = 2 GROUP BY h",
    "SELECT year(sold) AS y, month(sold) AS m, dayname(sold) AS dn, sum(x) FROM t, d WHERE k = id"
    " AND name = 'b' GROUP BY y, m, dn",
    "SELECT sold::DATE AS a, min(x) FROM t GROUP BY a",
    "SELECT strftime(date_trunc('year', sold), '%Y') AS y, count(*) FROM t GROUP BY y",
    "SELECT k, count(*) FROM t WHERE sold >= TIMESTAMP '1970-03-01' AND sold < TIMESTAMP"
    " '1971-01-01 05:00:00' GROUP BY k",
    "SELECT k, count(*) FROM t WHERE year(sold) = 1969 AND hour(sold) > 12 GROUP BY k",
    "SELECT k, count(DISTINCT sold::DATE) FROM t GROUP BY k",
    "SELECT k, sum(x) FROM t WHERE date_trunc('day', sold) IS NULL GROUP BY k",
    "SELECT CASE WHEN hour(sold) < 12 THEN 'am' ELSE 'pm' END AS half, sum(x) FROM t GROUP BY half",
)
# These ask for more than the hour.
OTHERS = (
    "SELECT minute(sold) AS m, count(*) FROM t WHERE k = 1 GROUP BY m",
    "SELECT k, count(*) FROM t WHERE sold >= TIMESTAMP '1970-03-01 00:30:00' GROUP BY k",
    "SELECT k, count(*) FROM t WHERE sold > TIMESTAMP '1970-03-01 00:00:00' GROUP BY k",
    "SELECT date_trunc('minute', sold) AS m, hour(sold) AS h, count(*) FROM t GROUP BY m, h",
)
CHANGES = (
    "INSERT INTO t VALUES (TIMESTAMP '1999-12-31 23:59:59.999999', 1, 5), (NULL, 2, 7)",
    "DELETE FROM t WHERE x % 5 = 1",
    "UPDATE t SET sold = sold + INTERVAL 90 MINUTE WHERE x % 7 = 2",
)


def moments() -> pa.Table:
    rng = np.random.default_rng(4)
    # Before 1970 moments are negative, and a day or an hour begins before them.
    offsets = rng.integers(-400 * 86_400_000_000, 400 * 86_400_000_000, ROWS)
    offsets[: ROWS // 10] = offsets[: ROWS // 10] // 3_600_000_000 * 3_600_000_000
    return pa.table(
        {
            "sold": pa.array(offsets, pa.int64(), mask=rng.random(ROWS) < 0.1).cast(
                pa.timestamp("us")
            ),
            "k": pa.array(rng.integers(1, 4, ROWS), pa.int32()),
            "x": pa.array(rng.integers(0, 100, ROWS), pa.int32()),
        }
    )


@pytest.fixture(params=["pass", "BVH"])
def pair(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr("raydb.planner.stars.table_scan.MIN_ROWS", 0)
    given = moments()
    ours, theirs = raydb.connect(), duckdb.connect()
    for connection in (ours, theirs):
        connection.execute("CREATE TABLE d (id INTEGER PRIMARY KEY, name VARCHAR)")
        connection.execute("INSERT INTO d VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        connection.execute("CREATE TABLE t (sold TIMESTAMP, k INTEGER REFERENCES d, x INTEGER)")
        connection.register("given", given)
        connection.execute("INSERT INTO t SELECT * FROM given")
    if request.param == "BVH":
        ours.execute("CREATE BVH by_k ON t (SCAN (k), GROUP BY (name), AGGREGATE (x))")
    yield ours, theirs
    theirs.close()


def text(row: tuple[Any, ...]) -> str:
    """Return a row with dates and midnights alike: date_trunc gives either."""
    return repr([str(value).removesuffix(" 00:00:00") for value in row])


@pytest.mark.long
def test_days_and_hours_are_those_of_duckdb(pair):
    ours, theirs = pair
    for change in ("SELECT 1", *CHANGES):
        for connection in pair:
            connection.execute(change)
        for query in (*QUERIES, *OTHERS):
            wanted = sorted(map(text, theirs.execute(query).fetchall()))
            for path in ("on", "off"):
                ours.execute(f"SET fused_path = '{path}'")
                assert sorted(map(text, ours.execute(query).fetchall())) == wanted, (query, path)


def test_keys_that_days_or_hours_tell_are_fused(pair):
    ours, _ = pair
    for query in QUERIES:
        answer = ours.execute(f"EXPLAIN (FORMAT JSON) {query}").fetchone()[0]
        assert json.loads(answer)["path"] == "fused", query
