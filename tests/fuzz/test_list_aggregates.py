"""Aggregates of lists, shares of rows, rows side by side and TRY give what DuckDB gives."""

from __future__ import annotations

import math
import random
from typing import Any

import duckdb
import pytest
from stars import SEED

import raydb

AGGREGATES = (
    *("count", "sum", "avg", "min", "max", "first", "last", "product", "median", "mad"),
    *("stddev_pop", "stddev_samp", "var_pop", "var_samp", "skewness", "kurtosis", "entropy"),
    *("histogram", "approx_count_distinct", "any_value", "bit_or", "bit_xor", "string_agg"),
)
QUERIES = (
    *(f"SELECT i, list_aggregate(l, '{name}') FROM t ORDER BY i" for name in AGGREGATES),
    *(f"SELECT i, list_{name}(l) FROM t ORDER BY i" for name in AGGREGATES),
    "SELECT i, list_aggr(l, 'quantile_cont', 0.3) FROM t ORDER BY i",
    "SELECT i, list_aggr(l, 'quantile_disc', 0.7) FROM t ORDER BY i",
    "SELECT count(*) FROM t WHERE list_aggr(l, 'var_pop') > list_aggr(l, 'mad')",
    "SELECT g, mad(x), mad(x * 0.25::DOUBLE), mad(DATE '2020-01-01' + x) FROM t GROUP BY g"
    " ORDER BY g",
    "SELECT i, mad(x) OVER (ORDER BY i ROWS 3 PRECEDING) FROM t ORDER BY i",
    *(f"SELECT i FROM t ORDER BY i LIMIT {share}% OFFSET 2" for share in (0, 7, 33.3, 50, 99, 100)),
    "SELECT a.i, b.x FROM t AS a POSITIONAL JOIN (SELECT x FROM t ORDER BY i LIMIT 5) AS b",
    "SELECT i, TRY(s::INTEGER), TRY(x % g), TRY(s::DATE) FROM t ORDER BY i",
    "SELECT i, repeat(l, 3), repeat(s, 2) FROM t ORDER BY i",
)


def shown(value: Any) -> Any:
    """Return a value with ten digits of doubles, and containers as such."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else round(float(f"{value:.10g}"), 12) + 0.0
    if isinstance(value, list | tuple):
        return [shown(part) for part in value]
    return value


@pytest.mark.parametrize("number", range(3))
def test_lists_and_rows_as_in_duckdb(number: int) -> None:
    rng = random.Random(f"{SEED} {number}")
    rows = []
    for i in range(rng.choice([3, 30, 150])):
        some = [rng.choice(["NULL", "0", "1", "5", "17"]) for _ in range(rng.randrange(7))]
        values = rng.choice([f"[{', '.join(some)}]::INTEGER[]", "NULL"])
        text = rng.choice(["'7'", "'x'", "NULL", "'2024-02-29'", "''"])
        number_or_null = rng.choice(["NULL", str(rng.randrange(99))])
        rows.append(f"({i}, {values}, {text}, {number_or_null}, {rng.randrange(3)})")
    con, rival = raydb.connect(), duckdb.connect()
    for each in (con, rival):
        each.execute("CREATE TABLE t (i INTEGER, l INTEGER[], s VARCHAR, x INTEGER, g INTEGER)")
        each.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    for query in QUERIES:
        theirs = [shown(row) for row in rival.execute(query).fetchall()]
        assert [shown(row) for row in con.execute(query).fetchall()] == theirs, query
