"""advise_bvh: which BVHs it never names, and that it keeps to its number, whatever the workload."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import raydb


@pytest.fixture(scope="module")
def con() -> Any:
    """Return a connection with sales, of which a dimension has a dimension of its own."""
    rng = np.random.default_rng(5)
    con = raydb.connect()
    con.execute("CREATE TABLE region (r_id INTEGER PRIMARY KEY, r_name VARCHAR)")
    con.execute("INSERT INTO region SELECT i, 'r' || i FROM range(9) AS t(i)")
    con.execute(
        "CREATE TABLE buyer (b_id INTEGER PRIMARY KEY, b_region INTEGER REFERENCES region,"
        " b_age INTEGER, b_debt INTEGER)"
    )
    con.execute("INSERT INTO buyer SELECT i, i % 9, i % 70, i % 31 FROM range(3000) AS t(i)")
    con.execute("CREATE TABLE sale (buyer INTEGER REFERENCES buyer, a INT, b INT, c INT, x INT)")
    rows = pa.table(
        {
            "buyer": rng.integers(0, 3000, 60_000),
            **{name: rng.integers(0, 12, 60_000) for name in "abc"},
            "x": rng.integers(0, 99, 60_000),
        }
    )
    con.execute("INSERT INTO sale SELECT * FROM rows")
    assert rows.num_rows
    return con


def advice(con: Any, queries: list[str], most: int = 4) -> tuple[list[str], dict[int, str]]:
    """Return the statements for a workload, and why queries have none."""
    rows = con.execute(
        "SELECT statement, queries, reason FROM advise_bvh(?, NULL, ?)", [";".join(queries), most]
    ).fetchall()
    statements = [statement for statement, _, _ in rows if statement]
    return statements, {number: why for text, (number, *_), why in rows if not text}


def test_bvhs_that_differ_in_group_by_alone_are_one(con: Any) -> None:
    queries = [f"SELECT {key}, sum(x) FROM sale WHERE a = 3 GROUP BY {key}" for key in "bc"]
    statements, refused = advice(con, queries)
    assert len(statements) == 1
    assert refused == {}


def test_a_bvh_has_more_than_one_cell(con: Any) -> None:
    statements, refused = advice(con, ["SELECT b, sum(x) FROM sale GROUP BY b"])
    assert statements == []
    assert "scan of 'sale'" in refused[1]


def test_a_dimension_gets_no_bvh(con: Any) -> None:
    queries = [
        "SELECT sum(b_debt) FROM buyer WHERE b_age = 30",
        "SELECT sum(x) FROM sale WHERE a = 1",
    ]
    statements, refused = advice(con, queries)
    assert [statement.split()[4] for statement in statements] == ["sale"]
    assert refused == {1: "'buyer' is a dimension of 'sale'"}


@pytest.mark.parametrize("most", [1, 2, 3])
def test_there_are_no_more_than_asked_for(con: Any, most: int) -> None:
    filters = ["a = 1", "b = 2", "c = 3", "b_age = 4", "r_name = 'r5'", "a = 1 AND b_age < 3"]
    queries = [
        f"SELECT sum(x), {key} FROM sale, buyer, region WHERE buyer = b_id AND b_region = r_id"
        f" AND {condition} GROUP BY {key}"
        for condition in filters
        for key in ("a", "b_age")
    ]
    statements, _ = advice(con, queries, most)
    assert 0 < len(statements) <= most
