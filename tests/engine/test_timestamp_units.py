"""TIMESTAMP_S, TIMESTAMP_MS and TIMESTAMP_NS on disk, in files and in other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")

KINDS = ["TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS"]
ROWS = """
    VALUES (1, '2026-05-17 10:00:00', '2026-05-17 10:00:00.001', '2026-05-17 10:00:00.000001',
            '2026-05-17 10:00:00.000000001'),
        (2, NULL, NULL, NULL, NULL),
        (3, '1969-12-31 23:59:59', '1969-12-31 23:59:59.999', '1969-12-31 23:59:59.999999',
            '1969-12-31 23:59:59.999999999'),
        (4, '9999-12-31', '0001-01-01', '9999-12-31', '2262-04-11')
"""
TEXTS = "SELECT id, s::VARCHAR, ms::VARCHAR, us::VARCHAR, ns::VARCHAR FROM {} ORDER BY id"


@pytest.fixture
def con(tmp_path: Path) -> raydb.Connection:
    """A database with a table of all units."""
    con = raydb.connect(tmp_path / "d.raydb")
    columns = ", ".join(
        f"{name} {kind}" for name, kind in zip(("s", "ms", "us", "ns"), KINDS, strict=True)
    )
    con.execute(f"CREATE TABLE t (id INTEGER, {columns}); INSERT INTO t {ROWS}")
    return con


def texts(con: raydb.Connection, table: str = "t") -> list[tuple[object, ...]]:
    return con.execute(TEXTS.format(table)).fetchall()


def test_a_database_keeps_them(con: raydb.Connection, tmp_path: Path) -> None:
    before = texts(con)
    con.execute("CHECKPOINT")
    con.close()
    con = raydb.connect(tmp_path / "d.raydb")
    assert texts(con) == before
    assert before[0][4] == "2026-05-17 10:00:00.000000001"
    found = con.execute("SELECT id FROM t WHERE ns > '2026-05-17 10:00:00' ORDER BY id").fetchall()
    assert found == [(1,), (4,)]


@pytest.mark.parametrize("ending", ["parquet", "arrow", "flat", "csv", "json"])
def test_files_keep_them(con: raydb.Connection, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"f.{ending}"
    con.execute(f"COPY t TO '{file}'; CREATE TABLE again AS FROM t LIMIT 0")
    con.execute(f"COPY again FROM '{file}'")
    assert texts(con, "again") == texts(con)
    if ending in ("parquet", "arrow", "flat"):
        assert texts(con, f"'{file}'") == texts(con)
        cursor = con.execute(f"SELECT * EXCLUDE (id) FROM '{file}'")
        # Parquet has no seconds.
        first = "TIMESTAMP_MS" if ending == "parquet" else "TIMESTAMP_S"
        assert [each[1] for each in cursor.description or ()] == [first, *KINDS[1:]]


def test_other_libraries_keep_them(con: raydb.Connection) -> None:
    arrow = con.execute("FROM t").to_arrow_table()
    assert [field.type for field in arrow][1:] == [pa.timestamp(u) for u in ("s", "ms", "us", "ns")]
    assert con.execute(TEXTS.format("arrow")).fetchall() == texts(con)
    frame = con.execute("FROM t").to_pandas()
    assert list(map(str, frame.dtypes))[1:] == [f"datetime64[{u}]" for u in ("s", "ms", "us", "ns")]
    assert con.execute(TEXTS.format("frame")).fetchall() == texts(con)
    polars = con.execute("SELECT id, ms, us, ns FROM t").to_polars()
    assert [polars[name].dtype.time_unit for name in ("ms", "us", "ns")] == ["ms", "us", "ns"]
    found = con.execute("SELECT ns::VARCHAR FROM polars WHERE id = 1").fetchall()
    assert found == [("2026-05-17 10:00:00.000000001",)]


def test_a_star_over_them(con: raydb.Connection) -> None:
    con.execute("CREATE TABLE f (k INTEGER NOT NULL, ns TIMESTAMP_NS, s TIMESTAMP_S, x INTEGER)")
    con.execute(
        "INSERT INTO f SELECT i % 3, make_timestamp_ns(i * 1000000001), make_timestamp(i * 1000000)"
        ", i FROM range(1000) r(i)"
    )
    query = (
        "SELECT k, max(ns)::VARCHAR, min(s)::VARCHAR, count(*), sum(x) FROM f"
        " WHERE ns >= '1970-01-01 00:01:00.000000060' AND s < '1970-01-01 00:10:00'"
        " GROUP BY k ORDER BY k"
    )
    before = con.execute(query).fetchall()
    assert [row[3] for row in before] == [180, 180, 180]
    assert before[0][1] == "1970-01-01 00:09:57.000000597"
    con.execute("CREATE BVH b ON f (SCAN (ns, s), GROUP BY (k), AGGREGATE (ns, s, x))")
    assert con.execute(query).fetchall() == before


def test_what_a_coarser_column_lacks_is_an_error(con: raydb.Connection, tmp_path: Path) -> None:
    con.execute(f"COPY (SELECT ns AS s FROM t WHERE id = 1) TO '{tmp_path / 'f.parquet'}'")
    con.execute("CREATE TABLE coarse (s TIMESTAMP_S)")
    with pytest.raises(raydb.DataError, match=r"row 1, column 's': .* has nanoseconds"):
        con.execute(f"COPY coarse FROM '{tmp_path / 'f.parquet'}'")
    con.execute("INSERT INTO coarse SELECT ns FROM t WHERE id = 1")
    assert con.execute("SELECT s::VARCHAR FROM coarse").fetchall() == [("2026-05-17 10:00:00",)]
