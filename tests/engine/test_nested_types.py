"""STRUCT, MAP and UUID from other libraries, in files that are opened again, and out again."""

from __future__ import annotations

import datetime as dt
import json
import random
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raydb
from raydb.engine.shell.cli import main

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = (
    *(pa.bool_(), pa.int8(), pa.uint16(), pa.int64(), pa.uint64(), pa.float64(), pa.string()),
    *(pa.binary(), pa.date32(), pa.timestamp("us"), pa.decimal128(20, 3), pa.uuid()),
)
KEYS = (pa.int32(), pa.string(), pa.date32(), pa.uuid())
ONE, OTHER = uuid.UUID(int=1), uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")
_FEW = {
    pa.string(): ["", "x", "it's"],
    pa.binary(): [b"", b"\x00"],
    pa.bool_(): [True, False],
    pa.date32(): [dt.date(2026, 5, 1), dt.date(1, 1, 1)],
    pa.timestamp("us"): [dt.datetime(2026, 5, 1, 12), dt.datetime(1999, 1, 1, 0, 0, 0, 1)],
    pa.decimal128(20, 3): [Decimal("1.250"), Decimal("-7.000")],
}
ROWS = pa.table(
    {
        "i": pa.array([1, 2, 3], pa.int32()),
        "s": pa.array([{"a": 1, "b": {"c": ["x"]}}, None, {"a": None, "b": None}]),
        "l": pa.array([[{"x": 1.5}], [], None]),
        "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "u": pa.array([ONE.bytes, None, OTHER.bytes], pa.uuid()),
    }
)
PYTHON = [
    (1, {"a": 1, "b": {"c": ["x"]}}, [{"x": 1.5}], {"k": 1}, ONE),
    (2, None, [], {}, None),
    (3, {"a": None, "b": None}, None, None, OTHER),
]


def _random_type(chosen: random.Random, depth: int) -> pa.DataType:
    form = chosen.choice(["plain", "list", "struct", "map"]) if depth else "plain"
    if form == "list":
        return pa.list_(_random_type(chosen, depth - 1))
    if form == "struct":
        names = chosen.sample(["a", "B c", "ä", "d"], chosen.randint(1, 3))
        return pa.struct([(name, _random_type(chosen, depth - 1)) for name in names])
    if form == "map":
        return pa.map_(chosen.choice(KEYS), _random_type(chosen, depth - 1))
    return chosen.choice(PLAIN)


def _random_value(chosen: random.Random, kind: pa.DataType, *, may_lack: bool = True):
    if may_lack and chosen.random() < 0.2:
        return None
    if pa.types.is_list(kind):
        return [_random_value(chosen, kind.value_type) for _ in range(chosen.randint(0, 3))]
    if pa.types.is_struct(kind):
        return {field.name: _random_value(chosen, field.type) for field in kind}
    if pa.types.is_map(kind):
        keys = [_random_value(chosen, kind.key_type, may_lack=False) for _ in range(3)]
        return [(key, _random_value(chosen, kind.item_type)) for key in dict.fromkeys(keys)]
    if kind == pa.uuid():
        return chosen.choice([ONE, OTHER]).bytes
    return chosen.choice(_FEW.get(kind, [0, 1, 7, 100]))


def _column(chosen: random.Random, kind: pa.DataType) -> pa.Array:
    plain = _storage(kind)
    values = [_random_value(chosen, kind) for _ in range(40)]
    array = pa.array(values, plain)
    return array if plain == kind else _labelled(array, kind)


def _storage(kind: pa.DataType) -> pa.DataType:
    """Return a type with the bytes of UUIDs, of which Arrow makes arrays."""
    if kind == pa.uuid():
        return pa.binary(16)
    if pa.types.is_list(kind):
        return pa.list_(_storage(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _storage(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_storage(kind.key_type), _storage(kind.item_type))
    return kind


def _labelled(array: pa.Array, kind: pa.DataType) -> pa.Array:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("x", array.type)])) as writer:
        writer.write_batch(pa.record_batch([array], ["x"]))
    message = pa.ipc.open_stream(sink.getvalue()).read_next_batch()
    return pa.ipc.read_record_batch(message.serialize(), pa.schema([("x", kind)])).column(0)


@pytest.mark.parametrize("seed", range(12))
def test_random_tables(tmp_path: Path, seed: int) -> None:
    """A table of any types is the same in memory, in files, in Parquet and in .flat files."""
    chosen = random.Random(seed)
    kinds = [_random_type(chosen, 3) for _ in range(4)]
    rows = pa.table({f"c{n}": _column(chosen, kind) for n, kind in enumerate(kinds)})
    path = str(tmp_path / "t.raydb")
    with raydb.connect(path) as con:
        con.register("rows", rows)
        assert con.execute("FROM rows").to_arrow_table().equals(rows)
        con.execute("CREATE TABLE t AS FROM rows")
        con.execute("INSERT INTO t FROM rows")
        con.execute("CHECKPOINT")
        con.execute("INSERT INTO t FROM rows LIMIT 1")  # in the log
        con.execute(f"COPY t TO '{tmp_path}/t.parquet'; COPY t TO '{tmp_path}/t.flat'")
    expected = pa.concat_tables([rows, rows, rows.slice(0, 1)])
    with raydb.connect(path) as con:
        assert con.execute("FROM t").to_arrow_table().equals(expected)
        for name in ("t.parquet", "t.flat"):
            assert con.execute(f"FROM '{tmp_path}/{name}'").to_arrow_table().equals(expected)
        groups = con.execute("SELECT count(*) FROM (SELECT c0 FROM t GROUP BY c0)").fetchone()
        assert groups == (len({repr(each) for each in expected["c0"].to_pylist()}),)
        place = chosen.randrange(len(rows))
        one = con.execute(f"SELECT * FROM t LIMIT 1 OFFSET {place}").to_arrow_table()
        assert one.equals(rows.slice(place, 1))
    assert pq.read_table(tmp_path / "t.parquet").equals(expected)


@pytest.fixture
def con():
    return raydb.connect()


def test_frames(con: raydb.Connection) -> None:
    con.register("rows", ROWS)
    found = con.execute("SELECT * FROM rows")
    assert found.fetchall() == PYTHON
    frame = found.to_pandas()
    assert frame["u"].tolist() == [ONE, None, OTHER]
    assert frame["m"].tolist() == [{"k": 1}, {}, None]
    polars = found.to_polars()
    assert polars["u"].to_list() == [str(ONE), None, str(OTHER)]
    assert polars["s"].to_list() == ROWS["s"].to_pylist()
    con.register("frame", frame)
    con.register("polars", polars.drop("u", "m"))
    assert con.execute("SELECT i, s, l, u FROM frame").fetchall() == [
        (i, s, l_, u) for i, s, l_, _, u in PYTHON
    ]
    assert con.execute("SELECT s.b.c[1] FROM polars").fetchall() == [("x",), (None,), (None,)]
    assert con.stream("SELECT u FROM rows").read_all()["u"].type == pa.uuid()
    objects = pd.DataFrame({"o": [{"a": 1}, {"a": 2, "b": "x"}], "u": [ONE, None]})
    con.register("objects", objects)
    assert con.execute("SELECT o.a, o.b, u FROM objects").fetchall() == [
        (1, None, ONE),
        (2, "x", None),
    ]


def test_parameters(con: raydb.Connection) -> None:
    con.register("rows", ROWS)
    assert con.execute("SELECT i FROM rows WHERE u = ?", [OTHER]).fetchall() == [(3,)]
    assert con.execute("SELECT i FROM rows WHERE u = ?", [str(OTHER)]).fetchall() == [(3,)]
    given = {"a": 1, "b": {"c": [ONE]}}
    assert con.execute("SELECT ?", [given]).fetchone() == (given,)
    for ids in ([1, 3], (1, 3)):
        assert con.execute("SELECT i FROM rows WHERE i IN ? ORDER BY i", [ids]).fetchall() == [
            (1,),
            (3,),
        ]
        assert con.execute("SELECT i FROM rows WHERE i NOT IN $ids", {"ids": ids}).fetchall() == [
            (2,)
        ]
    con.execute("CREATE TABLE t (s STRUCT(a INTEGER, b VARCHAR), u UUID)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [({"a": 1, "b": "x"}, ONE), (None, None)])
    assert con.execute("FROM t").fetchall() == [({"a": 1, "b": "x"}, ONE), (None, None)]
    with pytest.raises(raydb.ProgrammingError, match="no type of SQL"):
        con.execute("SELECT ?", [{1: 2}])


def test_json(con: raydb.Connection, tmp_path: Path) -> None:
    con.register("rows", ROWS)
    path = tmp_path / "rows.json"
    con.execute(f"COPY (FROM rows) TO '{path}'")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {
        "i": 1,
        "s": {"a": 1, "b": {"c": ["x"]}},
        "l": [{"x": 1.5}],
        "m": {"k": 1},
        "u": str(ONE),
    }
    assert con.execute(f"SELECT s.b.c, l[1].x FROM '{path}'").fetchall()[0] == (["x"], 1.5)
    con.execute("CREATE TABLE t (i INTEGER, s STRUCT(a BIGINT, b STRUCT(c VARCHAR[])), u UUID)")
    con.execute(f"COPY (SELECT i, s, u FROM rows) TO '{path}'; COPY t FROM '{path}'")
    assert con.execute("FROM t").fetchall() == [(i, s, u) for i, s, _, _, u in PYTHON]


def test_the_shell_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    main(
        [
            "-c",
            "SELECT {'a': 1} AS s, MAP {'k': 'v'} AS m, 'a0eebc999c0b4ef8bb6d6bb9bd380a11'::UUID",
        ]
    )
    shown = capsys.readouterr().out
    assert "{'a': 1}" in shown
    assert "{'k': v}" in shown
    assert str(OTHER) in shown
    assert main(["--json", "-c", "SELECT {'a': [1], 'm': MAP {1: 'v'}, 'n': NULL} AS s"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"s": {"a": [1], "m": {"1": "v"}, "n": None}}]


@pytest.mark.parametrize("has_arrow_schema", [True, False])
def test_uuids_of_parquet_files(has_arrow_schema: bool, tmp_path: Path) -> None:
    """Other writers, such as DuckDB, do not store Arrow's schema."""
    path = tmp_path / "r.parquet"
    structs = pa.StructArray.from_arrays([pa.array([ONE.bytes], pa.uuid())], ["u"])
    rows = pa.table(
        {
            "i": pa.array([1, 2, 3], pa.int32()),
            "u": pa.array([ONE.bytes, None, OTHER.bytes], pa.uuid()),
            "n": pa.ListArray.from_arrays(pa.array([0, None, 1, 1], pa.int32()), structs),
        }
    )
    pq.write_table(rows, path, store_schema=has_arrow_schema, row_group_size=1)
    con = raydb.connect()
    assert con.execute(f"SELECT i, u FROM '{path}'").fetchall() == [(1, ONE), (2, None), (3, OTHER)]
    assert con.execute(f"SELECT i FROM '{path}' WHERE u = '{OTHER}'").fetchall() == [(3,)]
    assert con.execute(f"SELECT i FROM '{path}' WHERE u > '{ONE}' AND i > 1").fetchall() == [(3,)]
    con.execute(f"CREATE TABLE t (i INTEGER, u UUID, n STRUCT(u UUID)[]); COPY t FROM '{path}'")
    assert con.execute("FROM t").fetchall() == con.execute(f"FROM '{path}'").fetchall()


def test_uuids_of_text_files(tmp_path: Path) -> None:
    con = raydb.connect()
    con.execute(f"CREATE TABLE t (i INTEGER, u UUID); INSERT INTO t VALUES (1, '{ONE}'), (2, NULL)")
    for name, declared in (
        ("t.csv", "read_csv('{}', types => {{'u': 'UUID'}})"),
        ("t.json", "read_json('{}', columns => {{'i': 'INTEGER', 'u': 'UUID'}})"),
    ):
        path = tmp_path / name
        con.execute(f"COPY t TO '{path}'; CREATE TABLE s AS FROM t LIMIT 0; COPY s FROM '{path}'")
        assert con.execute("FROM s").fetchall() == [(1, ONE), (2, None)]
        found = con.execute(f"SELECT i, u, typeof(u) FROM {declared.format(path)} WHERE i = 1")
        assert found.fetchall() == [(1, ONE, "UUID")]
        con.execute("DROP TABLE s")
    path = tmp_path / "t.tbl"
    path.write_text(f"1|{ONE}|\n2||\n")
    con.execute(f"COPY t FROM '{path}'")
    assert con.execute("SELECT count(*), count(u) FROM t").fetchone() == (4, 2)


def test_integers_within_values_of_frames() -> None:
    """They stay integers beside NULLs, as in DuckDB; MAPs are dicts."""
    query = (
        "SELECT {'i': n, 'l': [n, 2]} AS s, [n, 2] AS l, MAP {'k': n} AS m, [{'i': n}] AS ls, n"
        " FROM (VALUES (1, 1), (2, NULL)) AS t(o, n) ORDER BY o"
    )
    ours = raydb.connect().execute(query).df()
    theirs = duckdb.connect().execute(query).df()

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        if isinstance(value, np.ndarray):
            return [plain(part) for part in value.tolist()]
        assert not isinstance(value, float)
        return value

    for name in ("s", "l", "m", "ls"):
        assert list(map(plain, ours[name])) == list(map(plain, theirs[name]))
    assert str(ours["n"].dtype) == "float64"


@pytest.mark.parametrize("key", ["{'a': k}", "[k]", "INTERVAL (n) DAY", "{'a': i}"])
def test_keys_without_codes_over_a_bvh(key: str) -> None:
    queries = (
        f"SELECT {key} AS g, n, sum(i) FROM t WHERE n > 0 GROUP BY ALL ORDER BY sum(i)",
        f"SELECT count(DISTINCT {key}), sum(i) FROM t WHERE n > 0",
        f"SELECT k, count({key}) FROM t GROUP BY k ORDER BY k",
    )
    with raydb.connect() as con:
        con.execute("CREATE TABLE t (k VARCHAR, n INTEGER, i INTEGER)")
        con.execute("INSERT INTO t VALUES ('a', 1, 1), ('a', 2, 3), ('b', 1, 9), (NULL, NULL, 27)")
        expected = [con.execute(query).fetchall() for query in queries]
        con.execute("CREATE BVH b ON t (SCAN (k, n), GROUP BY (k, n), AGGREGATE (i))")
        assert [con.execute(query).fetchall() for query in queries] == expected


@pytest.mark.parametrize(
    "query",
    [
        "SELECT [b] AS x, count(*) FROM t GROUP BY x ORDER BY x LIMIT 2",
        "SELECT {'k': b} AS x, max({'i': b}) FROM t GROUP BY x ORDER BY x LIMIT 2",
        "SELECT INTERVAL (b) DAY AS x, count(*) FROM t GROUP BY x ORDER BY x LIMIT 2",
        "SELECT CASE WHEN b = 1 THEN [1] END AS x, count(*) FROM t GROUP BY x ORDER BY x",
        "SELECT b % 2, min(NULL::INTEGER[]), max([1]), count(DISTINCT {'i': 1}) FROM t GROUP BY 1",
        "SELECT min(NULL::INTEGER[3]), mode([1]), count(DISTINCT NULL::INTEGER[]) FROM t",
        "SELECT DISTINCT NULL::STRUCT(i INTEGER), b FROM t ORDER BY b",
    ],
)
def test_what_has_no_codes_over_many_rows(query: str) -> None:
    with raydb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT range AS a, range % 10 AS b FROM range(100000)")
        found = con.execute(query).fetchall()
        con.execute("SET fused_path = off")
        assert sorted(map(repr, con.execute(query).fetchall())) == sorted(map(repr, found))
