"""Groups of several sets of keys, of which some are made of others': answers are DuckDB's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import raydb

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS = (
    "CREATE TABLE t AS SELECT i * 7 % 5 AS a, CASE WHEN i % 11 = 0 THEN NULL ELSE i * 3 % 4 END AS"
    " b, 'x' || (i % 3) AS c, CASE WHEN i % 6 > 0 THEN CAST((i * 37 % 1000 - 500) * 0.25"
    " AS DECIMAL(9, 2)) END AS price, CAST(i AS DOUBLE) / 7 AS ratio FROM range(1000) r(i)"
)

SETS = (
    "ROLLUP (a, b, c)",
    "CUBE (a, b)",
    "GROUPING SETS ((a, b), (b), (), (b, a), (a))",
    "GROUPING SETS ((a), (b))",
    "GROUPING SETS ((a, c), (c), (c))",
)

CALLS = (
    "count(*), count(price), sum(price), min(price), max(c)",
    "avg(price), sum(a) FILTER (WHERE b > 1), bool_or(b = 2)",
    "count(DISTINCT c), sum(price)",
    "round(sum(ratio), 6), avg(price)",
)


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[Any, Any]]:
    with raydb.connect() as ours, duckdb.connect() as theirs:
        for each in (ours, theirs):
            each.execute(ROWS)
        ours.execute("SET fused_path = 'off'")
        yield ours, theirs


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("sets", SETS)
@pytest.mark.parametrize("where", ["", "WHERE a > 9"], ids=["rows", "no rows"])
def test_sets_of_groups_are_those_of_duckdb(
    sets: str, calls: str, where: str, engines: tuple[Any, Any]
) -> None:
    keys = ", ".join(key for key in "abc" if key in sets.partition("(")[2])
    sql = f"SELECT {keys}, GROUPING({keys}), {calls} FROM t {where} GROUP BY {sets}"
    found, expected = (Counter(map(str, each.execute(sql).fetchall())) for each in engines)
    assert found == expected


def test_a_sum_of_one_set_that_does_not_fit_is_an_error(engines: tuple[Any, Any]) -> None:
    ours, _ = engines
    large = "CAST('9' || repeat('9', 37) AS DECIMAL(38, 0))"
    rows = f"(VALUES (1, {large}), (1, {large}), (2, -{large})) v(a, x)"
    sql = f"SELECT a, sum(x) FROM {rows} WHERE a <= 2 GROUP BY GROUPING SETS ((a), ())"
    with pytest.raises(raydb.DataError, match="out of range"):
        ours.execute(sql).fetchall()
