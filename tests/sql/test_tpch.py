"""The 22 queries of TPC-H at scale factor 0.01 have DuckDB's answers, fused or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest
from tpch_data import (
    QUERY_NUMBERS,
    build_bvhs,
    difference,
    load_duckdb,
    load_raydb,
    query_text,
)

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.engine.api.connection import Connection

SCALE_FACTOR = 0.01


@pytest.fixture(scope="module")
def ours() -> Iterator[Connection]:
    connection = raydb.connect()
    load_raydb(connection, SCALE_FACTOR)
    build_bvhs(connection)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def theirs() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    load_duckdb(connection, SCALE_FACTOR)
    yield connection
    connection.close()


@pytest.mark.parametrize("fused_path", ["on", "off"])
@pytest.mark.parametrize("number", QUERY_NUMBERS, ids="q{:02}".format)
def test_query_has_the_answer_of_duckdb(
    number: int, fused_path: str, ours: Connection, theirs: duckdb.DuckDBPyConnection
) -> None:
    ours.execute(f"SET fused_path = '{fused_path}'")
    sql = query_text(number)
    rows = ours.execute(sql).fetchall()
    assert not difference(number, rows, theirs.execute(sql).fetchall())


@pytest.mark.parametrize("number", [1, 6])
def test_queries_over_one_star_take_the_fused_path(number: int, ours: Connection) -> None:
    ours.execute("SET fused_path = 'on'")
    assert ours.execute(f"EXPLAIN {query_text(number)}").fetchone() == ("path: fused",)


def test_generated_rows_are_those_of_the_specification(ours: Connection) -> None:
    counts = {"region": 5, "nation": 25, "supplier": 100, "customer": 1500, "part": 2000}
    counts |= {"partsupp": 8000, "orders": 15000, "lineitem": 60175}
    found = {t: ours.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in counts}
    assert found == counts
