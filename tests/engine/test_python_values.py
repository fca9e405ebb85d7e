"""Values on their way in and out: parameters, Python values of rows, the command line, the disk."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import raydb
from raydb.engine.shell.cli import main

if TYPE_CHECKING:
    from pathlib import Path

MONTH = pa.MonthDayNano([1, -3, 0])
TABLE = """
    CREATE TABLE t (id INTEGER, h HUGEINT, tm TIME, iv INTERVAL, b BLOB, v FLOAT[2], l INTEGER[],
        n VARCHAR[][])"""
ROWS = [
    (1, 10**30, dt.time(10, 1), MONTH, b"\x00\xff", (1.5, 2.0), [1, None], [["a"], []]),
    (2, -7, dt.time(0, 0, 0, 1), dt.timedelta(days=1, seconds=3), b"", (0.0, -1.0), [], []),
    (3, None, None, None, None, None, None, None),
]


@pytest.mark.parametrize(
    ("value", "kind", "fetched"),
    [
        (10**30, "HUGEINT", 10**30),
        (Decimal("1.50"), "DECIMAL(3,2)", Decimal("1.50")),
        (dt.time(1, 2, 3), "TIME", dt.time(1, 2, 3)),
        (dt.timedelta(hours=-1), "INTERVAL", dt.timedelta(hours=-1)),
        (MONTH, "INTERVAL", MONTH),
        (b"\xab", "BLOB", b"\xab"),
        (bytearray(b"x"), "BLOB", b"x"),
        ([1, None, 2], "INTEGER[]", [1, None, 2]),
        ([1, 2.5], "DOUBLE[]", [1.0, 2.5]),
        ([["a"], None], "VARCHAR[][]", [["a"], None]),
        ([10**30], "HUGEINT[]", [10**30]),
        (np.array([1, 2], np.float32), "REAL[]", [1.0, 2.0]),
        (np.array([1, 2], np.int64), "BIGINT[]", [1, 2]),
        (np.float32(0.5), "REAL", 0.5),
        (np.datetime64("2024-01-02"), "DATE", dt.date(2024, 1, 2)),
        (np.timedelta64(5, "s"), "INTERVAL", dt.timedelta(seconds=5)),
        (np.bool_(True), "BOOLEAN", True),
    ],
)
def test_parameters_come_back(value: Any, kind: str, fetched: Any) -> None:
    cursor = raydb.connect().execute("SELECT ?", [value])
    assert cursor.description[0][1] == kind
    (found,) = cursor.fetchone()
    assert found == fetched
    assert type(found) is type(fetched)


@pytest.mark.parametrize("value", [1j, {object()}, object(), Decimal("NaN")])
def test_other_parameters_are_refused(value: Any) -> None:
    with pytest.raises((raydb.ProgrammingError, raydb.NotSupportedError), match="parameter 1"):
        raydb.connect().execute("SELECT ?", [value])


@pytest.mark.parametrize(
    "values",
    [
        {1, 2},
        frozenset({2, 3}),
        (1, 2),
        range(3),
        {2: "b"}.keys(),
        np.array([1, 2]),
        pa.array([2, None]),
        pa.chunked_array([[1], [2]]),
        pd.Series([2, 5]),
        pd.Series([2, None], dtype="Int64"),
        pd.Index([2]),
        pl.Series([1, 2]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_in_takes_any_collection(values: Any) -> None:
    found = raydb.connect().execute("SELECT count(*) FROM range(2, 3) WHERE range IN ?", [values])
    assert found.fetchone() == (1,)


@pytest.mark.parametrize(
    "texts", [{"a", "b"}, pl.Series(["a"]), pd.Series(["a", np.nan, "a"], dtype="category")]
)
def test_in_takes_collections_of_texts(texts: Any) -> None:
    con = raydb.connect()
    query = "SELECT s FROM (VALUES ('a'), ('z')) AS t (s) WHERE s IN ?"
    assert con.execute(query, [texts]).fetchall() == [("a",)]
    assert con.execute(query, [set()]).fetchall() == []


def test_in_takes_rows_as_tuples() -> None:
    con = raydb.connect()
    con.execute(
        "CREATE TABLE t AS FROM (VALUES (1, 'a', 1.5), (1, 'b', 2), (2, 'a', 3)) t(x, s, y)"
    )
    query = "SELECT x, s FROM t WHERE (x, s) IN ? ORDER BY ALL"
    assert con.execute(query, [[(1, "b"), (2, "a"), (3, "a")]]).fetchall() == [(1, "b"), (2, "a")]
    assert con.execute(query, [{(1, "a")}]).fetchall() == [(1, "a")]
    assert con.execute(query, [[(None, "a"), (1, None)]]).fetchall() == []
    assert con.execute(query, [[]]).fetchall() == []
    numbers = "SELECT s FROM t WHERE (x, y) NOT IN ? ORDER BY ALL"
    assert con.execute(numbers, [[(1, 1.5), (2, 4)]]).fetchall() == [("a",), ("b",)]
    with pytest.raises(raydb.ProgrammingError, match="a row of 2 values cannot be compared"):
        con.execute(query, [[(1, "a", 2)]])
    with pytest.raises(raydb.ProgrammingError, match="a row of 2 values cannot be compared"):
        con.execute(query, [[1, 2]])
    with pytest.raises(raydb.ProgrammingError, match="the values of parameter 1 are"):
        con.execute("SELECT ?", [{1, "a"}])


def test_rows_survive_the_disk(tmp_path: Path) -> None:
    connection = raydb.connect(tmp_path / "types.raydb")
    connection.execute(TABLE)
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", ROWS)
    assert connection.execute("SELECT * FROM t").fetchall() == ROWS
    connection.close()
    for statement in ("CHECKPOINT", "VACUUM"):  # first from the log, then from files
        with raydb.connect(tmp_path / "types.raydb") as connection:
            assert connection.execute("SELECT * FROM t").fetchall() == ROWS
            connection.execute(statement)
    with raydb.connect(tmp_path / "types.raydb", read_only=True) as connection:
        assert connection.execute("SELECT * FROM t").fetchall() == ROWS
        found = connection.execute("SELECT iv, l FROM t WHERE id = 2").fetchall()
    assert found == [(dt.timedelta(days=1, seconds=3), [])]


def test_a_statement_sees_one_moment() -> None:
    connection = raydb.connect()
    query = "SELECT now(), (SELECT now()), current_timestamp"
    (one, *others), (later, *_) = (connection.execute(query).fetchone() for _ in range(2))
    assert others == [one, one]
    assert later > one  # its plan is not kept


SQL = """
    SELECT INTERVAL '1 month 1 day' AS i, INTERVAL '1 day 02:00:00' AS j, [1, NULL] AS l, x'ab' AS b
"""


@pytest.mark.parametrize(
    ("shape", "parts"),
    [
        ("box", ["1 mon 1 day", "1 day 02:00:00", "[1, NULL]", "\\xab"]),
        ("json", ['"i": "1 mon 1 day"', '"b": "\\\\xab"']),
    ],
)
def test_the_command_line_shows_them(
    shape: str, parts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--{shape}", "-c", SQL]) == 0
    shown = capsys.readouterr().out
    for part in parts:
        assert part in shown
