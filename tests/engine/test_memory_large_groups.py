"""Groups, partitions and sides of joins that are many times as large as `memory_limit`."""

from __future__ import annotations

import math

import pytest

import raydb

ROWS = 12_000
LIMIT = "500KB"


@pytest.fixture(scope="module")
def con():
    """A table in which nearly all rows have one h, with NULLs and doubles, and one of ranges."""
    connection = raydb.connect()
    connection.execute("SET fused_path = 'off'")
    connection.execute(
        "CREATE TABLE t AS SELECT range * 7919 % 12007 AS id, range % 300 AS k,"
        " CASE WHEN range % 19 > 0 THEN sin(range * 0.7::DOUBLE) * 1000 END AS x,"
        " (range * 31 % 9999)::DECIMAL(12, 2) AS d, 'text ' || range * 77 % 3001 AS s,"
        " CASE WHEN range % 17 > 0 THEN range % 3 > 0 END AS b,"
        " CASE WHEN range % 10 > 0 THEN 7 ELSE range % 300 END AS h"
        f" FROM range({ROWS})"
    )
    connection.execute(
        f"CREATE TABLE u AS SELECT range * 3 AS id, range * 2 AS y FROM range({ROWS // 3})"
    )
    return connection


def both_ways(con, sql):
    """Return the rows of a query with enough memory and with little, each in order."""
    expected = sorted(con.execute(sql).fetchall(), key=repr)
    con.execute(f"SET memory_limit = '{LIMIT}'")
    try:
        return expected, sorted(con.execute(sql).fetchall(), key=repr)
    finally:
        con.execute("RESET memory_limit")


WINDOWS = [
    "ntile(7) OVER (ORDER BY x, id)",
    "ntile(k + 1) OVER (PARTITION BY h ORDER BY id)",
    "percent_rank() OVER (ORDER BY k)",
    "percent_rank() OVER (PARTITION BY b ORDER BY h)",
    "cume_dist() OVER (PARTITION BY h ORDER BY k DESC)",
    "rank() OVER (ORDER BY b)",
    "dense_rank() OVER (PARTITION BY h ORDER BY b DESC NULLS FIRST)",
    "sum(d) OVER (ORDER BY d RANGE BETWEEN 100 PRECEDING AND 5 FOLLOWING)",
    "count(*) OVER (PARTITION BY b ORDER BY id RANGE BETWEEN 9 PRECEDING AND 9 FOLLOWING"
    " EXCLUDE CURRENT ROW)",
    "max(s) OVER (PARTITION BY h ORDER BY k GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING"
    " EXCLUDE GROUP)",
    "sum(id) OVER (ORDER BY id ROWS BETWEEN 2500 PRECEDING AND 2000 PRECEDING)",
    "count(DISTINCT k) OVER (PARTITION BY b ORDER BY id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)",
    "first_value(s) OVER (PARTITION BY h ORDER BY id)",
    "first_value(x IGNORE NULLS) OVER (ORDER BY id)",
    "last_value(k IGNORE NULLS) OVER (PARTITION BY b ORDER BY id)",
    "last_value(s) OVER (PARTITION BY h ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING"
    " AND UNBOUNDED FOLLOWING)",
    "sum(d) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "avg(d) OVER (PARTITION BY h ORDER BY k RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "max(x) OVER (ORDER BY id)",
    "min(x) OVER (PARTITION BY h ORDER BY id DESC)",
    "arg_max(s, id) OVER (PARTITION BY h)",
]


@pytest.mark.parametrize("call", WINDOWS)
def test_windows_over_partitions_beyond_the_memory(con, spilled, call):
    expected, found = both_ways(con, f"SELECT id, {call} FROM t")
    assert spilled, "all was in memory"
    assert found == expected


AGGREGATES = [
    "stddev(x), var_pop(d), skewness(id), kurtosis(x), stddev(DISTINCT k)",
    "corr(x, id), regr_slope(d, id), covar_samp(x, d) FILTER (WHERE b), regr_count(x, d)",
    "arg_max(s, x), arg_min(id, s), arg_max(x, k) FILTER (WHERE b), product(1 + x / 1e6)",
    "first(s ORDER BY id), last(x ORDER BY d, id), first(k ORDER BY x, id) FILTER (WHERE b)",
    "first(s), last(x), first(x) FILTER (WHERE k > 5), last(s) FILTER (WHERE b), median(x)",
    "entropy(s), entropy(k) FILTER (WHERE b), mode(k)",
]


@pytest.mark.parametrize("calls", AGGREGATES)
@pytest.mark.parametrize("keys", ["", " GROUP BY h"])
def test_aggregates_of_groups_beyond_the_memory(con, spilled, calls, keys):
    """Where doubles are added up in another order, their last bits differ."""
    key = "h, " if keys else ""
    expected, found = both_ways(con, f"SELECT {key}{calls} FROM t{keys}")
    assert spilled or not keys, "all was in memory"
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        for value, wanted in zip(row, other, strict=True):
            is_close = isinstance(value, float) and isinstance(wanted, float)
            assert value == wanted or (is_close and math.isclose(value, wanted, rel_tol=1e-9))


JOINS = [
    "SELECT u.id, t.id FROM u FULL JOIN t ON u.y BETWEEN t.id AND t.id + 3",
    "SELECT u.id, t.id FROM u RIGHT JOIN t ON u.y > t.id AND u.y < t.id + 5 AND u.id <> t.k",
    "SELECT u.id, t.s FROM u LEFT JOIN t ON u.y BETWEEN t.id AND t.id + 1 AND t.b",
    "SELECT id, EXISTS (SELECT 1 FROM u WHERE u.y BETWEEN t.id AND t.id + 3 AND u.id <> k) FROM t",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.y BETWEEN t.id AND t.id + 1)",
    "SELECT a.id, b.id FROM t a FULL JOIN (SELECT * FROM t WHERE k > 9 OR h <> 7) b"
    " ON a.h = b.h AND b.id = a.id + 700",
]


@pytest.mark.parametrize("sql", JOINS)
def test_joins_of_any_kind_whose_sides_are_beyond_the_memory(con, spilled, sql):
    expected, found = both_ways(con, sql)
    assert spilled, "all was in memory"
    assert found == expected


RECURSIONS = [
    "WITH RECURSIVE r AS (SELECT id AS n, s FROM t UNION SELECT n / 2, s FROM r WHERE n > 1000)"
    " SELECT n, s FROM r",
    "WITH RECURSIVE r AS (SELECT x, k FROM t UNION SELECT x, k - 1 FROM r WHERE k > 297)"
    " SELECT x, k FROM r",
    "WITH RECURSIVE r AS (SELECT range AS n FROM range(700)"
    " UNION SELECT (n * 7 + 3) % 30000 FROM r) SELECT count(*), sum(n) FROM r",
]


@pytest.mark.parametrize("sql", RECURSIONS)
def test_recursions_know_more_rows_again_than_fit_in_memory(con, spilled, sql):
    expected, found = both_ways(con, sql)
    assert spilled, "all was in memory"
    assert found == expected


def test_few_groups_of_many_rows_have_counts_of_distinct_values_beside_sums() -> None:
    con = raydb.connect()
    con.execute("CREATE TABLE line AS SELECT range AS id, range % 7 AS n FROM range(300000)")
    con.execute("SET memory_limit = '2MB'")
    query = "SELECT count(DISTINCT id), sum(n), arg_min(id, n) FROM line"
    assert con.execute(query).fetchall() == [(300_000, 899_997, 0)]
    groups = con.execute(f"{query} GROUP BY id % 2 ORDER BY 1, 2").fetchall()
    assert sum(row[1] for row in groups) == 899_997
    assert [row[0] for row in groups] == [150_000, 150_000]
