"""advise_bvh: as good as the BVHs made by hand for SSB, within its limits, right about sizes."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import raydb
from raydb.ssb import workload
from raydb.ssb.generate import DataSet, prepare
from raydb.ssb.progress import Progress
from raydb.ssb.run import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Load = Callable[[float], Any]

QUERIES = [workload.query(name, "star") for name in workload.QUERIES]


@pytest.fixture(scope="module")
def ssb(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Return a function that gives a connection with SSB of a scale factor loaded."""
    connections: dict[float, Any] = {}

    def connect(scale_factor: float) -> Any:
        if scale_factor not in connections:
            folder: Path = tmp_path_factory.mktemp("ssb")
            progress = Progress(Console(quiet=True))
            prepare(folder / "data", DataSet(scale_factor), progress)
            connections[scale_factor] = raydb.connect()
            load(connections[scale_factor], folder / "data", progress)
        return connections[scale_factor]

    return connect


def advise(connection: Any, queries: list[str], **limits: object) -> list[dict[str, Any]]:
    """Return the rows of advise_bvh as dictionaries."""
    named = "".join(f", {name} => ${name}" for name in limits)
    cursor = connection.execute(
        f"SELECT * FROM advise_bvh($workload{named})", {"workload": ";".join(queries), **limits}
    )
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def fused_jobs(connection: Any, query: str) -> Iterator[dict[str, Any]]:
    (text,) = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchone()
    nodes = [json.loads(text)["plan"]]
    while nodes:
        node = nodes.pop()
        nodes += node["children"]
        if node["node"] == "FusedScanAggregate":
            yield node


def measured(
    connection: Any, statements: list[str], queries: list[str]
) -> tuple[list[int], dict[str, int]]:
    """Build BVHs, and return the rows that each query touches and the size of each BVH."""
    for statement in statements:
        connection.execute(statement)
    touched = []
    for query in queries:
        (job,) = fused_jobs(connection, query)
        touched.append(job["rows_touched"])
    sizes = dict(connection.execute("SELECT name, size_bytes FROM bvhs()").fetchall())
    for name in sizes:
        connection.execute(f"DROP BVH {name}")
    return touched, sizes


def geometric_mean(touched: list[int]) -> float:
    """Return the mean of one row more each, for a query may touch none."""
    return math.exp(sum(math.log(rows + 1) for rows in touched) / len(touched))


@pytest.mark.long
@pytest.mark.parametrize("scale_factor", [0.01, 0.1])
def test_ssb_is_served_as_well_as_by_hand(ssb: Load, scale_factor: float) -> None:
    connection = ssb(scale_factor)
    advice = advise(connection, QUERIES)
    assert len(advice) <= 4
    assert sorted(number for row in advice for number in row["queries"]) == list(range(1, 14))
    touched, sizes = measured(connection, [row["statement"] for row in advice], QUERIES)
    by_hand, _ = measured(connection, workload.statements("bvhs.sql"), QUERIES)
    # The set made by hand is for scale factor 10: here it has more cells than rows. Of that only
    # q3.4 has an advantage, which reads 1 to 4 rows instead of 5 to 31.
    assert sum(touched) <= 1.001 * sum(by_hand)
    assert geometric_mean(touched) <= 1.2 * geometric_mean(by_hand)
    for row in advice:
        assert row["size_bytes"] == pytest.approx(sizes[row["name"]], rel=0.25)
        rows = sum(touched[number - 1] for number in row["queries"])
        assert row["rows_touched"] == pytest.approx(rows, rel=0.25, abs=20)


def test_the_same_workload_gets_the_same_advice(ssb: Load) -> None:
    queries = QUERIES[:6]
    assert advise(ssb(0.01), queries) == advise(ssb(0.01), queries)


@pytest.mark.long
def test_advice_keeps_to_its_limits(ssb: Load) -> None:
    connection = ssb(0.01)
    queries = [QUERIES[0], QUERIES[3], QUERIES[6], QUERIES[10]]
    free = advise(connection, queries)
    sizes = sum(row["size_bytes"] for row in free)
    for max_bvhs in (1, 2):
        rows = advise(connection, queries, max_bvhs=max_bvhs)
        assert len([row for row in rows if row["name"]]) == max_bvhs
    for share in (0.8, 0.5, 0.3):
        limit = int(sizes * share)
        rows = [row for row in advise(connection, queries, memory=f"{limit}B") if row["name"]]
        assert rows
        _, built = measured(connection, [row["statement"] for row in rows], [])
        assert sum(row["size_bytes"] for row in rows) <= limit
        assert sum(built.values()) <= limit * 1.25
    assert not [row for row in advise(connection, queries, memory="1KB") if row["name"]]


def test_a_stored_flat_table_has_hierarchies_too(ssb: Load) -> None:
    connection = ssb(0.01)
    connection.execute("CREATE TABLE flat AS SELECT * FROM lineorder_flat")
    names = ["q2.1", "q3.2", "q3.3", "q4.1"]
    queries = [workload.query(name, "flat").replace("lineorder_flat", "flat") for name in names]
    advice = advise(connection, queries)
    touched, sizes = measured(connection, [row["statement"] for row in advice], queries)
    stars = [workload.query(name, "star") for name in names]
    by_hand, _ = measured(connection, workload.statements("bvhs.sql"), stars)
    assert sum(touched) <= sum(by_hand)
    for row in advice:
        assert row["size_bytes"] == pytest.approx(sizes[row["name"]], rel=0.25)


def test_many_cells_are_kept_as_those_that_occur() -> None:
    connection = raydb.connect()
    connection.execute("CREATE TABLE t (a INTEGER, b INTEGER, x INTEGER)")
    connection.execute("INSERT INTO t SELECT range % 499, range % 503, range FROM range(20000)")
    (row,) = advise(connection, ["SELECT sum(x) FROM t WHERE a = 1 AND b < 9"])
    assert "250997 cells" in row["reason"]
    _, sizes = measured(connection, [row["statement"]], [])
    assert row["size_bytes"] == pytest.approx(sizes[row["name"]], rel=0.25)


def test_deleted_rows_and_keys_that_are_null_count() -> None:
    connection = raydb.connect()
    connection.execute("CREATE TABLE d (id INTEGER PRIMARY KEY, kind VARCHAR)")
    connection.execute("CREATE TABLE f (d INTEGER REFERENCES d (id), x INTEGER)")
    connection.execute("INSERT INTO d SELECT range, 'k' || range % 4 FROM range(100)")
    connection.execute(
        "INSERT INTO f SELECT CASE WHEN range % 10 > 0 THEN range % 100 END, range FROM range(5000)"
    )
    connection.execute("DELETE FROM f WHERE x >= 3000")
    query = "SELECT sum(x) FROM f JOIN d ON d = id WHERE kind = 'k1'"
    (row,) = advise(connection, [query])
    assert row["rows_total"] == 3000
    touched, _ = measured(connection, [row["statement"]], [query])
    assert touched == [750]
    assert row["rows_touched"] == pytest.approx(750, rel=0.15)


def test_levels_come_from_columns_that_no_query_names() -> None:
    connection = raydb.connect()
    connection.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, city INTEGER, nation INTEGER)")
    connection.execute("CREATE TABLE trip (a INTEGER REFERENCES place (id), b INTEGER, x INTEGER)")
    connection.execute("INSERT INTO place SELECT range, range / 2, range / 50 FROM range(2000)")
    connection.execute("INSERT INTO trip SELECT range % 2000, range % 977, 1 FROM range(40000)")
    query = "SELECT sum(x) FROM trip JOIN place ON a = id WHERE city = 7 AND b BETWEEN 3 AND 5"
    (row,) = advise(connection, [query])
    assert row["statement"] == (
        "CREATE BVH trip_1 ON trip (SCAN (nation, b), GROUP BY (city), AGGREGATE (x));"
    )


def test_a_foreign_key_has_the_codes_of_what_lies_behind_it() -> None:
    connection = raydb.connect()
    connection.execute("CREATE TABLE place (id INTEGER PRIMARY KEY, city INTEGER, nation INTEGER)")
    connection.execute("CREATE TABLE trip (a INTEGER REFERENCES place (id), x INTEGER)")
    connection.execute("INSERT INTO place SELECT range, range / 2, range / 50 FROM range(2000)")
    connection.execute("INSERT INTO trip SELECT range * 7 % 2000, range % 99 FROM range(40000)")
    query = "SELECT sum(x) FROM trip JOIN place ON a = id WHERE nation = 3 AND a < 170"
    (row,) = advise(connection, [query])
    touched, sizes = measured(connection, [row["statement"]], [query])
    assert row["size_bytes"] == pytest.approx(sizes[row["name"]], rel=0.05)
    assert row["rows_touched"] == touched[0] == 400


def test_what_create_bvh_cannot_take_is_left_to_the_rows() -> None:
    connection = raydb.connect()
    connection.execute("CREATE TABLE t (a INTEGER, tags INTEGER[], d DECIMAL(38, 0))")
    connection.execute(
        "INSERT INTO t VALUES (1, [1], 1), (2, [2], 99999999999999999999999), (3, NULL, 2)"
    )
    rows = advise(
        connection,
        [
            "SELECT sum(a) FROM t WHERE tags IS NULL AND a < 3",
            "SELECT sum(d) FROM t WHERE a = 1",
            "SELECT sum(CASE WHEN a > 1 THEN a END) FROM t WHERE a = 1",
        ],
    )
    for row in rows:
        if row["name"]:
            connection.execute(row["statement"])
    assert {number for row in rows for number in row["queries"]} == {1, 2, 3}
    refused = {row["queries"][0]: row["reason"] for row in rows if not row["name"]}
    assert refused[2] == "no BVH within the limits is faster than a scan of 't'"
