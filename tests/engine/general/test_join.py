"""Joins of every kind over keys and conditions of every kind, in small morsels, against DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raydb
from raydb.engine.operators.join import keys as join_keys
from raydb.engine.operators.join import partners as join_partners
from raydb.engine.operators.join.keys import encode_keys

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from raydb.engine.api.connection import Connection

CONDITIONS = {
    "unique integers": "l.id = r.id",
    "repeated integers": "l.k = r.k",
    "sparse integers": "l.k * 100000007 = r.k * 100000007",
    "text": "l.s = r.s",
    "doubles": "l.x = r.x",
    "decimals": "l.d = r.d",
    "wide decimals": "CAST(l.d AS DECIMAL(38, 4)) = CAST(r.d AS DECIMAL(38, 4))",
    "dates": "l.day = r.day",
    "several": "l.k = r.k AND l.s = r.s AND l.day = r.day",
    "null safe": "l.k IS NOT DISTINCT FROM r.k AND l.s = r.s",
    "null safe text": "l.s IS NOT DISTINCT FROM r.s AND l.id < 60",
    "key and residual": "l.k = r.k AND l.id <> r.id",
    "key and other text": "l.k = r.k AND l.s <> r.s",
    "key and other double": "l.k = r.k AND l.x <> r.x",
    "key and later day": "l.k = r.k AND l.day < r.day",
    "key and no greater double": "r.x <= l.x AND l.k = r.k",
    "keys and greater decimal": "l.k = r.k AND l.s IS NOT DISTINCT FROM r.s AND l.d >= r.d",
    "key and one side": "l.k = r.k AND l.id > 50 AND r.id < 150",
    "range": "l.id < r.k",
    "two ranges": "r.k >= l.k AND r.k < l.id",
    "crossing ranges": "l.id <= r.id AND l.k > r.k",
    "range of text": "l.s > r.s AND l.k = 3",
    "range of doubles": "l.x >= r.x AND l.id < 40",
    "range and residual": "l.id < r.k AND l.s <> r.s",
    "neither": "l.k + r.k = 7 OR l.id = r.id",
    "one side": "l.id = 5",
    "everything": "TRUE",
    "nothing": "FALSE",
}
SIZES = {"equal": (120, 120), "left larger": (150, 30), "right larger": (30, 150)}
EMPTY = {"left empty": (0, 20), "right empty": (20, 0)}


def table(draw: random.Random, rows: int) -> pa.Table:
    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(
            [None if draw.random() < 0.1 else draw.choice(values) for _ in range(rows)], kind
        )

    return pa.table(
        {
            "id": pa.array(draw.sample(range(200), rows), pa.int64()),
            "k": column(list(range(9)), pa.int32()),
            "s": column(["", "a", "b", "ä", "zz"], pa.string()),
            "x": column([0.0, -0.0, 1.5, float("inf"), float("nan")], pa.float64()),
            "d": column([0, 1, -3], pa.decimal128(9, 2)),
            "day": column([0, 1, 20000], pa.date32()),
        }
    )


@pytest.fixture(autouse=True)
def _small_morsels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(join_partners, "MORSEL_ROWS", 16)
    monkeypatch.setattr(join_keys, "MORSEL_ROWS", 16)


@pytest.fixture(params=[*SIZES, *EMPTY])
def pair(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Connection, duckdb.DuckDBPyConnection]]:
    draw = random.Random(request.param)
    sides = dict(zip("lr", {**SIZES, **EMPTY}[request.param], strict=True))
    ours, theirs = raydb.connect(), duckdb.connect()
    for name, rows in sides.items():
        pq.write_table(table(draw, rows), tmp_path / f"{name}.parquet")
        for connection in (ours, theirs):
            connection.execute(f"CREATE TABLE {name} AS FROM '{tmp_path / name}.parquet'")
    yield ours, theirs
    ours.close()


def rows(connection: Any, sql: str) -> Counter[str]:
    return Counter(repr(row).replace("-0.0", "0.0") for row in connection.execute(sql).fetchall())


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_joins_agree_with_duckdb(
    condition: str, pair: tuple[Connection, duckdb.DuckDBPyConnection]
) -> None:
    ours, theirs = pair
    for kind in ("", "LEFT", "RIGHT", "FULL"):
        sql = f"SELECT l.id, l.s, r.id, r.x FROM l {kind} JOIN r ON {condition}"
        assert rows(ours, sql) == rows(theirs, sql), sql
    for kind in ("SEMI", "ANTI"):
        sql = f"SELECT l.id, l.s FROM l {kind} JOIN r ON {condition}"
        assert rows(ours, sql) == rows(theirs, sql), sql
    sql = f"SELECT l.id, EXISTS (SELECT 1 FROM r WHERE {condition}) FROM l"
    assert rows(ours, sql) == rows(theirs, sql), sql
    sql = f"SELECT count(*) FROM l JOIN r ON {condition}"
    assert rows(ours, sql) == rows(theirs, sql), sql


def test_codes_are_equal_where_keys_are() -> None:
    build = [pa.array([7, 9, 9, None, 2**62]), pa.array(["a", "b", None, "a", "c"])]
    probe = [pa.array([9, 8, 7, None, 2**62]), pa.array(["b", "b", "a", "a", "c"])]
    codes = encode_keys(build, probe, ())
    assert codes.probe[0] == codes.build[1]
    assert codes.probe[2] == codes.build[0]
    assert codes.probe[4] == codes.build[4]
    assert len({*codes.build[[0, 1, 4]]}) == 3
    assert [*codes.probe[[1, 3]], *codes.build[[2, 3]]] == [-1, -1, -1, -1]
    assert max(codes.build.max(), codes.probe.max()) < codes.size


def test_codes_of_extreme_integers() -> None:
    build, probe = pa.array([-(2**63), 2**63 - 1]), pa.array([2**63 - 1, 0, -(2**63)])
    codes = encode_keys([build], [probe], ())
    assert np.array_equal(codes.probe, [codes.build[1], -1, codes.build[0]])


def test_null_is_a_key_where_it_is_safe() -> None:
    keys = pa.array([1, None]), pa.array([None, 1, 2])
    codes = encode_keys([keys[0]], [keys[1]], {0})
    assert np.array_equal(codes.probe, [codes.build[1], codes.build[0], -1])
