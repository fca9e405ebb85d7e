"""Arrow IPC files, Feather files and streams: written, read, and what is wrong with them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import raydb

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.table(
    {
        "i": pa.array([1, 2, None], pa.uint32()),
        "t": ["x", None, "it's"],
        "s": [{"a": [1], "b": "q"}, None, {"a": None, "b": None}],
        "u": pa.array([b"0123456789abcdef", None, bytes(16)], pa.uuid()),
        "n": pa.ListArray.from_arrays(
            pa.array([0, None, 1, 1], pa.int32()),
            pa.StructArray.from_arrays([pa.array([bytes(16)], pa.uuid())], ["u"]),
        ),
    }
)


@pytest.fixture
def con() -> raydb.Connection:
    return raydb.connect()


@pytest.mark.parametrize("name", ["r.arrow", "r.feather", "r.ipc", "r.arrows"])
@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
def test_round_trips(con: raydb.Connection, tmp_path: Path, name: str, compression: str) -> None:
    path = tmp_path / name
    con.register("rows", ROWS)
    con.execute(f"COPY (FROM rows) TO '{path}' (COMPRESSION '{compression}')")
    assert con.execute(f"FROM '{path}'").to_arrow_table().equals(ROWS)
    assert con.execute(f"SELECT s.b, count(*) FROM '{path}' GROUP BY 1 ORDER BY 1").fetchall() == [
        ("q", 1),
        (None, 2),
    ]
    assert con.execute(f"SELECT count(*) FROM read_arrow('{path}')").fetchone() == (3,)
    assert con.execute(f"FROM '{path}' LIMIT 2").to_arrow_table().equals(ROWS.slice(0, 2))
    con.execute(f"CREATE TABLE t AS FROM '{path}'; DELETE FROM t; COPY t FROM '{path}'")
    assert con.execute("FROM t").to_arrow_table().equals(ROWS)
    opened = pa.ipc.open_stream if name.endswith("arrows") else pa.ipc.open_file
    assert opened(path.read_bytes()).read_all().equals(ROWS)


def test_files_of_others(con: raydb.Connection, tmp_path: Path) -> None:
    """Dictionaries, several batches and Polars' layouts are read."""
    frame = pl.DataFrame(
        {"c": ["x", "y", "x"], "n": [1, 2, 3]}, {"c": pl.Categorical, "n": pl.UInt8}
    )
    frame.write_ipc(tmp_path / "p.arrow", compression="zstd")
    assert con.execute(f"FROM '{tmp_path}/p.arrow'").fetchall() == [("x", 1), ("y", 2), ("x", 3)]
    feather.write_feather(pa.table({"n": range(1000)}), tmp_path / "f.feather", chunksize=100)
    query = f"SELECT sum(n), count(*) FROM '{tmp_path}/f.feather' WHERE n >= 500"
    assert con.execute(query).fetchone() == (374750, 500)
    assert con.execute(f"FROM '{tmp_path}/f.feather' LIMIT 2 OFFSET 150").fetchall() == [
        (150,),
        (151,),
    ]
    (tmp_path / "old.feather").write_bytes(b"FEA1" + bytes(20) + b"FEA1")
    with pytest.raises(raydb.DataError, match="a Feather file of version 1"):
        con.execute(f"FROM '{tmp_path}/old.feather'")
    with pytest.raises(raydb.ProgrammingError, match="none, lz4 or zstd, not 'gzip'"):
        con.execute(f"COPY (SELECT 1) TO '{tmp_path}/g.arrow' (COMPRESSION 'gzip')")


def test_a_bomb_is_refused(con: raydb.Connection, tmp_path: Path) -> None:
    path = tmp_path / "bomb.arrow"
    zeros = pa.table({"b": pa.array([bytes(2**28)])})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(path, zeros.schema, options=options) as writer:
        writer.write_table(zeros)
    assert path.stat().st_size < 2**20
    con.execute("SET memory_limit = '100MB'")
    with pytest.raises(raydb.OperationalError, match="memory_limit is 100 MB"):
        con.execute(f"SELECT count(b) FROM '{path}'")


@pytest.mark.parametrize("kind", ["none", "zstd"])
def test_damage_is_answered_or_refused(con: raydb.Connection, tmp_path: Path, kind: str) -> None:
    """Whatever bytes are changed or cut off: rows, or an error of PEP 249, and nothing else."""
    path = tmp_path / "d.arrow"
    con.register("rows", ROWS)
    con.execute(f"COPY (FROM rows) TO '{path}' (COMPRESSION '{kind}')")
    content = path.read_bytes()
    chance = random.Random(9)
    refused = 0
    for _ in range(150):
        changed = bytearray(content)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.choice([0, 1, 127, 255])
        path.write_bytes(bytes(changed[: chance.choice([len(changed), chance.randrange(999)])]))
        try:
            con.execute(f"FROM '{path}'").fetchall()
        except raydb.Error:
            refused += 1
    assert refused > 50


def test_an_empty_message_is_damage(con: raydb.Connection, tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, pa.schema([("a", pa.int64())])) as writer:
        writer.write_table(pa.table({"a": [1]}))
    data = path.read_bytes()
    batch = data.index(b"\xff" * 4, 16)
    path.write_bytes(data[: batch + 4] + bytes(4) + data[batch + 8 :])
    with pytest.raises(raydb.DataError, match="is no Arrow file or a damaged one"):
        con.execute(f"SELECT * FROM '{path}'")
