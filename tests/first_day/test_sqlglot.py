"""sqlglot writes other dialects as RayDB's SQL, and RayDB's as others."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot

import raydb

ROWS = "(VALUES (1, 4, 'ab'), (2, 3, NULL), (NULL, 0, 'C')) AS t(a, b, s)"

FROM_OTHERS = (
    ("duckdb", "SELECT b / 8 FROM t ORDER BY b", [0.0, 0.375, 0.5]),
    ("postgres", "SELECT b / 8 FROM t ORDER BY b", [0, 0, 0]),
    ("mysql", "SELECT ifnull(a, 0) FROM `t` ORDER BY a", [0, 1, 2]),
    ("postgres", "SELECT a FROM t ORDER BY a DESC", [None, 2, 1]),
    ("duckdb", "SELECT a FROM t ORDER BY a DESC", [2, 1, None]),
    ("bigquery", "SELECT safe_cast(s AS int64) FROM `t`", [None, None, None]),
    ("bigquery", "SELECT array_length([a, b]) FROM t", [2, 2, 2]),
    ("snowflake", "SELECT iff(b > 1, s, 'no') FROM t ORDER BY b", ["no", None, "ab"]),
    ("snowflake", "SELECT listagg(b, ',') WITHIN GROUP (ORDER BY b) FROM t", ["0,3,4"]),
    ("spark", "SELECT collect_list(a) FROM t", [[1, 2]]),
    ("spark", "SELECT date_add(DATE '2024-01-30', 3)", [None]),
    ("tsql", "SELECT TOP 1 isnull(s, 'x') FROM t ORDER BY b", ["C"]),
    ("sqlite", "SELECT b FROM t WHERE s GLOB 'C*'", [0]),
    ("oracle", "SELECT nvl(s, 'x') FROM t ORDER BY b", ["C", "x", "ab"]),
)
TO_DUCKDB = (
    "SELECT b // 3, b % 3 FROM t ORDER BY a",
    "SELECT s FROM t ORDER BY s DESC",
    "SELECT list_transform([a, b], lambda x: x + 1), {'x': a}.x FROM t ORDER BY b",
    "SELECT MAP {'k': b}['k'], b FROM t ORDER BY b",
    "SELECT median(b) FILTER (WHERE a > 0), count(*) FROM t",
    "SELECT a, row_number() OVER (ORDER BY b) AS n FROM t QUALIFY n < 3 ORDER BY n",
    "FROM t SELECT s ->> 'x' WHERE false",
)


@pytest.mark.parametrize(("dialect", "sql", "expected"), FROM_OTHERS)
def test_other_dialects_become_raydbs(dialect: str, sql: str, expected: list[object]) -> None:
    (written,) = sqlglot.transpile(sql, read=dialect, write="raydb")
    with raydb.connect() as con:
        con.execute(f"CREATE TABLE t AS FROM {ROWS}")
        found = [value for (value,) in con.execute(written).fetchall()]
    if expected != [None]:
        assert found == expected, written


@pytest.mark.parametrize("sql", TO_DUCKDB)
def test_raydbs_becomes_duckdbs(sql: str) -> None:
    (written,) = sqlglot.transpile(sql, read="raydb", write="duckdb")
    (again,) = sqlglot.transpile(sql, read="raydb", write="raydb")
    with raydb.connect() as con, duckdb.connect() as theirs:
        for each in (con, theirs):
            each.execute(f"CREATE TABLE t AS FROM {ROWS}")
        expected = con.execute(sql).fetchall()
        assert theirs.execute(written).fetchall() == expected, written
        assert con.execute(again).fetchall() == expected, again
