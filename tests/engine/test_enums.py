"""ENUM: what a database keeps, files, frames, transactions; what SQL answers is in enums.sql."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import raydb
from raydb.engine.shell.cli import main

if TYPE_CHECKING:
    from pathlib import Path

LABELS = ("sad", "ok", "happy")
MOOD = f"CREATE TYPE mood AS ENUM {LABELS}"
KEPT = """
CREATE TYPE moods AS mood[];
CREATE TABLE t (
    id INTEGER PRIMARY KEY, m mood DEFAULT 'ok' CHECK (m <> 'sad' OR id < 100), l moods,
    s STRUCT(a mood, b INTEGER), k MAP(VARCHAR, mood), e ENUM('x', 'y z') NOT NULL DEFAULT 'y z');
INSERT INTO t VALUES (1, 'happy', ['sad', NULL], {'a': 'ok', 'b': 2}, MAP {'z': 'ok'}, 'x');
INSERT INTO t (id) VALUES (2);
INSERT INTO t (id, m) VALUES (3, 'sad'), (4, NULL);
CREATE TABLE by_mood (m mood PRIMARY KEY, n INTEGER);
INSERT INTO by_mood VALUES ('sad', 1), ('ok', 2), ('happy', 3);
CREATE VIEW better AS SELECT id, m FROM t WHERE m >= 'ok'::mood
"""
ROWS = [
    (3, "sad", None, None, None, "y z"),
    (2, "ok", None, None, None, "y z"),
    (1, "happy", ["sad", None], {"a": "ok", "b": 2}, {"z": "ok"}, "x"),
    (4, None, None, None, None, "y z"),
]


def check(con: raydb.Connection) -> None:
    """Everything of KEPT is there, and its types are what they were."""
    assert con.execute("FROM t ORDER BY m NULLS LAST").fetchall() == ROWS
    assert con.execute("SELECT id FROM better ORDER BY m DESC").fetchall() == [(1,), (2,)]
    assert con.execute("SELECT max(m), typeof(max(m)) FROM by_mood").fetchall() == [
        ("happy", f"ENUM{LABELS}")
    ]
    with pytest.raises(raydb.DataError, match="'glad' is no value of type 'mood'"):
        con.execute("INSERT INTO t (id, m) VALUES (5, 'glad')")
    with pytest.raises(raydb.ProgrammingError, match="column 'm' of table 't' needs it"):
        con.execute("DROP TYPE mood")


@pytest.fixture
def con() -> raydb.Connection:
    con = raydb.connect()
    con.execute(MOOD)
    return con


def test_a_database_is_opened_again(tmp_path: Path) -> None:
    for checkpoints in (False, True):
        path = tmp_path / str(checkpoints)
        with raydb.connect(path) as con:
            con.execute(MOOD)
            con.execute(KEPT)
            con.execute("CREATE BVH b ON by_mood (SCAN (m), AGGREGATE (if(m = 'ok'::mood, n, 0)))")
            if checkpoints:
                con.execute("CHECKPOINT")
        with raydb.connect(path) as con:
            check(con)
            query = "SELECT sum(if(m = 'ok'::mood, n, 0)) FROM by_mood WHERE m <> 'sad'"
            assert "FusedScanAggregate" in str(con.execute(f"EXPLAIN {query}").fetchall())
            assert con.execute(query).fetchall() == [(2,)]


def test_an_export_and_a_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "folder")
    with raydb.connect(tmp_path / "db") as con:
        con.execute(MOOD)
        con.execute(KEPT)
        con.execute(f"EXPORT DATABASE '{folder}'")
    assert main([str(tmp_path / "db"), "-c", ".dump"]) == 0
    for text in (f"IMPORT DATABASE '{folder}'", capsys.readouterr().out):
        with raydb.connect() as con:
            con.execute(text)
            check(con)


@pytest.mark.parametrize("extension", ["csv", "parquet", "json", "flat", "arrow"])
def test_a_file_is_written_and_read(con: raydb.Connection, extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"file.{extension}"
    con.execute("CREATE TABLE t (i INTEGER, m mood, e ENUM('a,b', 'c'))")
    con.execute("INSERT INTO t VALUES (1, 'happy', 'a,b'), (2, 'sad', 'c'), (3, NULL, NULL)")
    rows = con.execute("FROM t ORDER BY m").fetchall()
    con.execute(f"COPY t TO '{path}'")
    assert con.execute(f"SELECT * FROM '{path}' ORDER BY m::mood").fetchall() == rows
    con.execute("CREATE TABLE other AS FROM t WITH NO DATA")
    con.execute(f"COPY other FROM '{path}'; INSERT INTO other SELECT * FROM '{path}' WHERE i = 1")
    assert con.execute("SELECT m FROM other ORDER BY m").fetchall() == [
        *(("sad",), ("happy",), ("happy",), (None,))
    ]
    con.execute(f"COPY (SELECT 1 AS i, 'glad' AS m, 'c' AS e) TO '{path}'")
    with pytest.raises(raydb.DataError, match="'glad'"):
        con.execute(f"COPY other FROM '{path}'")


def test_lines_of_csv_without_a_label_are_left_out(con: raydb.Connection, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("i,m\n1,ok\n2,glad\n3,\n")
    con.execute("CREATE TABLE t (i INTEGER, m mood)")
    con.execute(f"COPY t FROM '{tmp_path / 'a.csv'}' (IGNORE_ERRORS)")
    assert con.execute("FROM t").fetchall() == [(1, "ok"), (3, None)]
    reads = f"read_csv('{tmp_path / 'a.csv'}', types => {{'m': 'mood'}}, ignore_errors => true)"
    query = f"SELECT max(m), typeof(max(m)) FROM {reads}"
    assert con.execute(query).fetchall() == [("ok", f"ENUM{LABELS}")]


def test_frames_go_out(con: raydb.Connection) -> None:
    con.execute("CREATE TABLE t (i INTEGER, m mood)")
    con.execute("INSERT INTO t VALUES (1, 'happy'), (2, 'sad'), (3, NULL)")
    cursor = con.execute("SELECT m, [m] AS l FROM t ORDER BY i")
    kind = pa.dictionary(pa.uint8(), pa.string(), ordered=True)
    assert cursor.arrow().schema.types == [kind, pa.list_(kind)]
    assert cursor.arrow().column(1).to_pylist() == [["happy"], ["sad"], [None]]
    frame = cursor.df()
    assert frame["m"].dtype == pd.CategoricalDtype(LABELS, ordered=True)
    assert frame["m"].tolist()[:2] == ["happy", "sad"]
    assert cursor.pl()["m"].to_list() == ["happy", "sad", None]
    assert cursor.pl().schema["m"] == pl.Enum(LABELS)
    frame = con.sql("SELECT ['ok'::mood] AS l, {'a': ['sad'::mood], 'b': 1} AS s").pl()
    assert frame.rows() == [(["ok"], {"a": ["sad"], "b": 1})]
    assert frame.schema["l"] == pl.List(pl.Enum(LABELS))
    assert frame.schema["s"] == pl.Struct({"a": pl.List(pl.Enum(LABELS)), "b": pl.Int32})
    assert con.stream("SELECT m FROM t").read_all().column(0).to_pylist() == ["happy", "sad", None]
    assert "ENUM('sad', 'ok', 'happy')" in repr(cursor)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"m": pd.Categorical(["ok", None, "sad"], LABELS, ordered=True)}),
        pl.DataFrame({"m": ["ok", None, "sad"]}, schema={"m": pl.Enum(LABELS)}),
        pl.LazyFrame({"m": ["ok", None, "sad"]}, schema={"m": pl.Enum(LABELS)}),
    ],
    ids=["pandas", "Polars", "lazy"],
)
def test_frames_come_in(con: raydb.Connection, frame: object) -> None:
    con.register("frame", frame)
    con.execute("CREATE TABLE t AS FROM frame")
    for source in ("frame", "t"):
        found = con.execute(f"SELECT m, typeof(m) FROM {source} WHERE m <= 'ok'::mood ORDER BY m")
        assert found.fetchall() == [("sad", f"ENUM{LABELS}"), ("ok", f"ENUM{LABELS}")]


def test_parameters_and_the_appender(con: raydb.Connection) -> None:
    con.execute("CREATE TABLE t (i INTEGER, m mood, l mood[])")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, "ok", ["sad"]), (2, None, None)])
    con.executemany("UPDATE t SET m = ? WHERE i = ?", [("happy", 2), ("sad", 1)])
    with con.appender("t") as appender:
        appender.append(3, "ok", ["ok", None])
    assert con.execute("SELECT i FROM t WHERE m = ? OR m = ?", ["ok", "glad"]).fetchall() == [(3,)]
    assert con.execute("SELECT m, l FROM t ORDER BY m").fetchall() == [
        *(("sad", ["sad"]), ("ok", ["ok", None]), ("happy", None))
    ]
    with pytest.raises(raydb.DataError, match="'glad' is no value of type 'mood'"):
        con.executemany("INSERT INTO t (m) VALUES (?)", [("ok",), ("glad",)])


def test_a_transaction_sees_its_own_types(con: raydb.Connection) -> None:
    con.execute("BEGIN; CREATE TYPE size AS ENUM ('s', 'l'); CREATE TABLE t (s size)")
    con.execute("INSERT INTO t VALUES ('l'); ROLLBACK")
    with pytest.raises(raydb.ProgrammingError, match="type 'size' does not exist"):
        con.execute("SELECT 's'::size")


def test_two_connections_create_the_same_type(con: raydb.Connection) -> None:
    other = con.duplicate()
    con.execute("BEGIN; CREATE TYPE size AS ENUM ('s', 'l')")
    other.execute("BEGIN; CREATE TYPE size AS ENUM ('m')")
    con.commit()
    with pytest.raises(raydb.OperationalError, match="type 'size' was changed by another"):
        other.commit()
    assert other.execute("SELECT enum_range(NULL::size)").fetchall() == [(["s", "l"],)]


def test_thousands_of_labels(con: raydb.Connection) -> None:
    con.execute("CREATE TYPE word AS ENUM (SELECT 'w' || i FROM range(70000) AS r(i))")
    con.execute("CREATE TABLE t AS SELECT ('w' || 7 * i)::word AS w FROM range(10000) AS r(i)")
    assert con.execute("SELECT max(w), count(DISTINCT w) FROM t").fetchall() == [("w69993", 10000)]
    with pytest.raises(raydb.DataError, match="'x' is no value of type 'word'"):
        con.execute("SELECT 'x'::word")


def test_nested_constants_in_lambdas():
    con = raydb.connect()
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
    made = "list_transform([1, 2], lambda x: {'n': x, 'm': ['ok'::mood, NULL]})"
    found = con.execute(f"SELECT {made}, typeof({made})").fetchone()
    assert found == (
        [{"n": 1, "m": ["ok", None]}, {"n": 2, "m": ["ok", None]}],
        "STRUCT(n INTEGER, m ENUM('sad', 'ok')[])[]",
    )
