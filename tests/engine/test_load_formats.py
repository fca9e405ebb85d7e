"""Files of every format are loaded some rows at a time: the same rows, and the same faults."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import raydb
from raydb.engine.statements import load
from raydb.storage.formats import format as formats
from raydb.storage.formats import hive
from raydb.storage.formats import parquet as parquet_format
from raydb.storage.formats.json import array, lines

# More lines than the sample that tells the columns.
ROWS = 22_000


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Parts and blocks of some hundred rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1 << 17)
    monkeypatch.setattr(lines, "PART_BYTES", 1 << 16)
    monkeypatch.setattr(array, "_BLOCK_BYTES", 9999)
    monkeypatch.setattr(parquet_format, "_BATCH_ROWS", 1000)
    monkeypatch.setattr(formats, "_PIECE_ROWS", 1000)
    monkeypatch.setattr(load, "FILE_BYTES", 1 << 16)


@pytest.fixture
def con(tmp_path, small):
    with raydb.connect(tmp_path / "shop") as found:
        yield found


def rows_of(count=ROWS, **others):
    rows = [
        {"id": n, "name": f'[{n % 7}], "x"\\', "part": n / 4, "tags": [n % 3], "at": "2024-05-06"}
        for n in range(count)
    ]
    for number, row in others.items():
        rows[int(number[1:])] |= row
    return rows


def write(kind, rows):
    path = Path(f"r.{kind}")
    match kind:
        case "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "json":
            path.write_text(json.dumps(rows, indent=1))
        case "parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
        case "arrow":
            table = pa.Table.from_pylist(rows)
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, 1000)
    return path


@pytest.fixture
def written(monkeypatch):
    original, calls = load.write_part, []
    monkeypatch.setattr(load, "write_part", lambda *some: calls.append(some) or original(*some))
    return calls


TABLE = "CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT, part DOUBLE, tags BIGINT[], at {at})"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["jsonl", "json", "parquet", "arrow"])
@pytest.mark.parametrize(
    "statement", ["COPY t FROM '{}'", "INSERT INTO t FROM '{}'", "CREATE TABLE u AS FROM '{}'"]
)
def test_rows_are_written_as_they_come(con, written, kind, statement):
    path = write(kind, rows_of())
    con.execute(TABLE.format(at="DATE" if "json" in kind else "TEXT"))
    con.execute(statement.format(path))
    assert len(written) > 3
    query = f"SELECT * FROM {'u' if 'u AS' in statement else 't'} ORDER BY id"
    found = con.execute(query).fetchall()
    assert [(row[0], row[1], row[2], list(row[3]), str(row[4])) for row in found] == [
        tuple(row.values()) for row in rows_of()
    ]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_an_aggregate_over_many_lines_is_that_of_the_table(con, kind):
    path = write(kind, rows_of())
    con.execute(f"CREATE TABLE t AS FROM '{path}'")
    query = "SELECT name, count(*), sum(id), max(at) FROM {} GROUP BY name ORDER BY name"
    assert con.execute(query.format(f"'{path}'")).fetchall() == (
        con.execute(query.format("t")).fetchall()
    )
    given = f"read_json('{path}', columns => {{id: 'BIGINT', name: 'TEXT', at: 'DATE'}})"
    assert con.execute(query.format(given)).fetchall() == con.execute(query.format("t")).fetchall()
    assert con.execute(f"SELECT count(*) FROM '{path}'").fetchone() == (ROWS,)


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("jsonl", {"id": "x"}, "line 19001, column 'id': a string where a number is expected"),
        ("json", {"id": "x"}, "element 19001, column 'id': a string where a number is expected"),
        ("jsonl", {"at": "May"}, "row 19001, column 'at': 'May' is not a DATE"),
        ("json", {"id": 2**31}, "element 19001, column 'id': 2147483648 does not fit INTEGER"),
        ("jsonl", {"deep": [[[]]] * 3}, "file 'r.jsonl' has a column 'deep'"),
        ("parquet", {"id": 2**31}, "row 19001, column 'id': '2147483648' does not fit INTEGER"),
        ("arrow", {"id": 2**31}, "row 19001, column 'id': '2147483648' does not fit INTEGER"),
    ],
)
def test_what_is_wrong_is_named_by_its_place_in_the_file(con, kind, row, message):
    path = write(kind, rows_of(n19000=row))
    con.execute(TABLE.format(at="DATE" if "json" in kind else "TEXT").replace("BIGINT P", "INT P"))
    before = sorted(Path("shop/data").iterdir())
    with pytest.raises(raydb.Error, match=re.escape(message)):
        con.execute(f"COPY t FROM '{path}'")
    assert sorted(Path("shop/data").iterdir()) == before
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_values_that_come_late_change_the_columns(con):
    path = write("jsonl", rows_of(30_000, n29000={"id": 0.5}, n29001={"new": True}))
    found = con.execute(f"SELECT id FROM '{path}' WHERE id IN (0.5, 29001)").fetchall()
    assert found == [(0.5,), (29001.0,)]
    con.execute(f"CREATE TABLE t AS FROM '{path}'")
    assert con.execute("SELECT count(*), count(new) FROM t").fetchone() == (30_000, 1)


def test_an_array_that_does_not_end_is_found_out_at_its_end(con):
    path = write("json", rows_of())
    con.execute(TABLE.format(at="DATE"))
    text = path.read_text()
    for broken, what in ((text[:-1], "its array does not end"), (f"{text} 7", "behind its array")):
        path.write_text(broken)
        with pytest.raises(raydb.DataError, match=what):
            con.execute(f"COPY t FROM '{path}'")
    path.write_text("[" + " " * 5000 + "]")
    assert con.execute(f"COPY t FROM '{path}'").rowcount == 0


def test_a_line_of_any_length_is_read_whole(con):
    path = write("jsonl", rows_of(2000, n1500={"name": "y" * 130_000}))
    con.execute(TABLE.format(at="DATE"))
    con.execute(f"COPY t FROM '{path}'")
    assert con.execute("SELECT length(name) FROM t WHERE id = 1500").fetchone() == (130_000,)
    write("jsonl", rows_of(2000, n1500={"name": "y" * 140_000}))
    with pytest.raises(raydb.DataError, match=r"line 1501: more than 131072 bytes, which a line"):
        con.execute(f"COPY t FROM '{path}'")


def test_batches_of_a_parquet_file_are_as_small_as_memory_limit_asks_for(con, monkeypatch):
    monkeypatch.setattr(parquet_format, "_BATCH_ROWS", 131_072)
    texts = pa.array([f"{n}" * 2000 for n in range(1000, 3000)])
    parquet.write_table(pa.table({"a": texts}), "t.parquet", compression="none")
    original, steps = parquet_format.ParquetPart._batches, []
    monkeypatch.setattr(
        parquet_format.ParquetPart,
        "_batches",
        lambda part, names, most: steps.append(most) or original(part, names, most),
    )
    con.execute("CREATE TABLE t (a TEXT)")
    for limit, expected in (("16MB", 125), ("1GB", 2097)):
        con.execute(f"SET memory_limit = '{limit}'; COPY t FROM 't.parquet'")
        assert steps[-1] == pytest.approx(expected, rel=0.05)
    assert con.execute("SELECT count(*), max(length(a)) FROM t").fetchone() == (4000, 8000)


def test_rows_go_into_folders_piece_by_piece(con, monkeypatch):
    monkeypatch.setattr(hive, "_PIECE_ROWS", 700)
    con.execute("SET memory_limit = '2MB'")
    query = "SELECT range AS id, range % 3 AS k, 'x' || range % 7 AS name FROM range(20000)"
    con.execute(f"COPY ({query}) TO 'folders' (FORMAT parquet, PARTITION_BY (k, name))")
    assert len(list(Path("folders").glob("k=*/name=*/data_0.parquet"))) == 21
    one = parquet.read_table("folders/k=2/name=x4/data_0.parquet").column("id").to_pylist()
    assert one == [n for n in range(20000) if n % 3 == 2 and n % 7 == 4]
    found = con.execute("SELECT id, k, name FROM 'folders/*/*/*.parquet' ORDER BY id").fetchall()
    assert found == con.execute(query).fetchall()
