"""Unsigned integers beside DuckDB: in memory, and in files that are opened again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

TYPES = {"a": "UTINYINT", "b": "USMALLINT", "c": "UINTEGER", "d": "UBIGINT", "i": "BIGINT"}
ARROW = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.int64()]
QUERIES = (
    "SELECT * FROM t ORDER BY d DESC NULLS LAST, a NULLS FIRST, b, c, i",
    "SELECT typeof(a + b), typeof(d + 1), typeof(c + i), typeof(d + i), typeof(a * b) FROM t"
    " LIMIT 1",
    "SELECT d, count(*) AS n FROM t GROUP BY d ORDER BY d",
    "SELECT a, sum(d), min(d), max(d), min(c), max(b), sum(a) FROM t GROUP BY a ORDER BY a",
    "SELECT count(DISTINCT d), count(DISTINCT c), avg(b) FROM t",
    "SELECT d FROM t WHERE d > 9223372036854775807 ORDER BY d",
    "SELECT count(*) FROM t WHERE d = 18446744073709551615 OR a = 255 OR c IN (0, 4294967295)",
    "SELECT count(*) FROM t WHERE a > -1 AND d <> i",
    "SELECT x.d FROM t x JOIN t y ON x.d = y.d AND x.a = y.a ORDER BY 1",
    "SELECT x.i FROM t x JOIN t y ON x.i = y.b ORDER BY 1",
    "SELECT d::DOUBLE, d::VARCHAR, d::DECIMAL(20, 0), a::BIGINT, c::HUGEINT FROM t"
    " ORDER BY d, a, c",
    "SELECT TRY_CAST(d AS UTINYINT), TRY_CAST(i AS USMALLINT), TRY_CAST(b AS TINYINT) FROM t"
    " ORDER BY d, i, b",
    "SELECT a & 15, b | 1, ~c, d % 7, a + i, c * i, b - i FROM t WHERE i BETWEEN -99 AND 99"
    " ORDER BY d, a, b, c, i",
    "SELECT d, rank() OVER (ORDER BY d), sum(c) OVER (PARTITION BY a ORDER BY d, c, b) FROM t"
    " ORDER BY 1, 2, 3",
    "SELECT d FROM t UNION SELECT i FROM t ORDER BY 1",
    "SELECT coalesce(a, i), greatest(b, c), CASE WHEN a > 3 THEN d ELSE c END FROM t"
    " ORDER BY d, a, b, c, i",
    "SELECT a, bit_and(d), bit_or(d), bit_xor(d), bit_and(a), bit_xor(c) FROM t GROUP BY a"
    " ORDER BY a",
    "SELECT bit_or(d) OVER (ORDER BY d, c, b, a, i ROWS 2 PRECEDING) FROM t ORDER BY 1",
    "SELECT [a, b], list(d ORDER BY d) FROM t GROUP BY a, b ORDER BY a, b",
)
# Of sums of them DuckDB makes HUGEINT; here that of the narrower ones is BIGINT.
FAILING = (
    "SELECT a + 200::UTINYINT FROM t WHERE a > 100",
    "SELECT a - 200 FROM t WHERE a < 100",
    "SELECT -c FROM t WHERE c > 0",
    "SELECT d * 3 FROM t",
    "SELECT d::BIGINT FROM t",
    "SELECT i::UINTEGER FROM t",
    "INSERT INTO t (a) VALUES (256)",
    "INSERT INTO t (d) VALUES (-1)",
    "UPDATE t SET b = i",
)


def _rows() -> pa.Table:
    chosen = random.Random(4)
    columns = []
    for kind in ARROW:
        signed = kind == pa.int64()
        low, high = (-(2**63), 2**63 - 1) if signed else (0, 2**kind.bit_width - 1)
        few = [low, high, 0, 1, 3, high - 1, high // 2 + 1, 200, None]
        wide = [chosen.randint(low, high) for _ in range(6)]
        columns.append(pa.array([chosen.choice([*few, *wide]) for _ in range(200)], kind))
    return pa.table(columns, names=list(TYPES))


def _connect(place: str, folder: Path) -> raydb.Connection:
    rows = _rows()
    declared = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    path = ":memory:" if place == "memory" else str(folder / "u.raydb")
    con = raydb.connect(path)
    con.register("rows", rows)
    con.execute(f"CREATE TABLE t ({declared})")
    con.execute("INSERT INTO t SELECT * FROM rows")
    if place == "files":
        con.execute("CHECKPOINT")
        con.close()
        con = raydb.connect(path)
    return con


@pytest.mark.parametrize("place", ["memory", "files"])
def test_answers(tmp_path: Path, place: str) -> None:
    con = _connect(place, tmp_path)
    other = duckdb.connect()
    other.register("t", _rows())
    for query in QUERIES:
        assert con.execute(query).fetchall() == other.execute(query).fetchall(), query
    for query in FAILING:
        with pytest.raises(raydb.DataError, match="out of range"):
            con.execute(query)
    assert con.execute("SELECT * FROM t").to_arrow_table() == _rows()
    con.close()


def test_the_plan_says_why_large_sums_are_on_the_general_path() -> None:
    with raydb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT range::UBIGINT AS d FROM range(9)")
        plan = str(con.execute("EXPLAIN SELECT sum(d), count(d) FROM t").fetchall())
        assert "SUM over UBIGINT may not fit 64 bits" in plan
        assert "COUNT over" not in plan


def test_keys(tmp_path: Path) -> None:
    """A primary key of UBIGINT is found again, its foreign key is followed, both kept on disk."""
    with raydb.connect(str(tmp_path / "k.raydb")) as con:
        con.execute("CREATE TABLE p (k UBIGINT PRIMARY KEY, name VARCHAR)")
        con.execute("CREATE TABLE c (k UBIGINT REFERENCES p (k), small UINTEGER)")
        con.execute("INSERT INTO p VALUES (18446744073709551615, 'most'), (0, 'least')")
        con.execute("INSERT INTO c VALUES (18446744073709551615, 7), (0, 8), (NULL, 9)")
        with pytest.raises(raydb.IntegrityError):
            con.execute("INSERT INTO p VALUES (18446744073709551615, 'again')")
        with pytest.raises(raydb.IntegrityError):
            con.execute("INSERT INTO c VALUES (5, 1)")
    with raydb.connect(str(tmp_path / "k.raydb")) as con:
        query = "SELECT name, sum(small) FROM c JOIN p USING (k) GROUP BY name ORDER BY name"
        assert con.execute(query).fetchall() == [("least", 8), ("most", 7)]
        found = con.execute("SELECT name FROM p WHERE k = 18446744073709551615").fetchall()
        assert found == [("most",)]
        with pytest.raises(raydb.NotSupportedError, match="takes no UBIGINT"):
            con.execute("CREATE BVH wide ON c (SCAN (k), AGGREGATE (k))")
        con.execute("CREATE BVH small ON c (SCAN (k), GROUP BY (name), AGGREGATE (small))")
        assert con.execute(query).fetchall() == [("least", 8), ("most", 7)]


@pytest.mark.parametrize("extension", ["parquet", "csv", "json", "flat"])
def test_files(tmp_path: Path, extension: str) -> None:
    con = _connect("memory", tmp_path)
    path = tmp_path / f"u.{extension}"
    con.execute(f"COPY t TO '{path}'")
    con.execute("CREATE TABLE again AS FROM t LIMIT 0")
    con.execute(f"COPY again FROM '{path}'")
    assert con.execute("FROM again").to_arrow_table() == _rows()
    if extension == "parquet":
        assert pq.read_table(path) == _rows()
        assert con.execute(f"FROM '{path}'").to_arrow_table() == _rows()
