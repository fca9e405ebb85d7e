"""Files in FROM and COPY, and scans of files that read only what the query asks for."""

from __future__ import annotations

import datetime as dt
import gzip
import os
import random
import threading
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import raydb
from raydb import flatstor
from raydb.engine.operators import limit
from raydb.engine.operators.scan import scan
from raydb.storage.flat import column_reader

SEED = 11
FORMATS = ("flat", "parquet", "csv")
EVERY_TYPE = """
CREATE TABLE t (id INTEGER, tiny TINYINT, big BIGINT, d DECIMAL(20, 3), r REAL, x DOUBLE,
    s VARCHAR, ok BOOLEAN, day DATE, at TIMESTAMP, clock TIME);
INSERT INTO t VALUES
    (1, -128, 9223372036854775807, 12345678901234567.891, 0.5, 1e300, 'a', true,
        '0001-01-01', '2020-02-29 23:59:59.999999', '00:00:00'),
    (2, 127, -9223372036854775808, -0.001, -2.5, -0.1, 'say "x, y"', false,
        '9999-12-31', '1970-01-01 00:00:00', '23:59:59.5'),
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
    (4, 0, 0, 0, 0, 0, '', true, '1970-01-01', '1969-12-31 00:00:00', '12:00:00');
"""


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as connection:
        yield connection


def rows(connection, sql, parameters=()):
    return connection.execute(sql, parameters).fetchall()


# Formats


@pytest.mark.parametrize("kind", FORMATS)
def test_every_type_comes_back(con, kind):
    con.execute(EVERY_TYPE)
    expected = rows(con, "SELECT * FROM t ORDER BY id")
    assert con.execute(f"COPY t TO 'x.{kind}'").rowcount == 4
    con.execute(EVERY_TYPE.split(";", maxsplit=1)[0].replace("TABLE t", "TABLE back"))
    assert con.execute(f"COPY back FROM 'x.{kind}'").rowcount == 4
    assert rows(con, "SELECT * FROM back ORDER BY id") == expected
    if kind != "csv":
        assert rows(con, f"FROM 'x.{kind}' ORDER BY id") == expected


@pytest.mark.parametrize("kind", FORMATS)
def test_no_rows_come_back(con, kind):
    con.execute("CREATE TABLE t (a INTEGER, s VARCHAR)")
    assert con.execute(f"COPY t TO 'x.{kind}'").rowcount == 0
    assert con.execute(f"SELECT * FROM 'x.{kind}'").to_arrow_table().column_names == ["a", "s"]
    assert con.execute(f"COPY t FROM 'x.{kind}'").rowcount == 0


def test_blobs(con):
    con.execute("CREATE TABLE t (b BLOB)")
    parquet.write_table(pa.table({"b": [b"\x00\xff", b"", None]}), "b.parquet")
    con.execute("COPY t FROM 'b.parquet'; COPY t TO 'b.flat'")
    assert rows(con, "FROM 'b.flat'") == [(b"\x00\xff",), (b"",), (None,)]
    with pytest.raises(raydb.NotSupportedError, match=r"column 'b' is BLOB, which cannot be writ"):
        con.execute("COPY t TO 'b.csv'")


def test_types_that_sql_lacks_become_the_nearest(con):
    table = pa.table(
        {
            "u": pa.array([2**64 - 1, None], pa.uint64()),
            "b": pa.array([255, 0], pa.uint8()),
            "s": pa.array(["x", None]).dictionary_encode(),
            "l": pa.array(["long", "er"], pa.large_string()),
            "at": pa.array([1_000_000_000, 0], pa.timestamp("ns")),
            "n": pa.nulls(2),
        }
    )
    parquet.write_table(table, "x.parquet")
    found = rows(con, "SELECT * FROM 'x.parquet' WHERE u IS NOT NULL")
    at = dt.datetime(1970, 1, 1, 0, 0, 1)
    assert found == [(Decimal(2**64 - 1), 255, "x", "long", at, None)]


def test_nanoseconds_are_named_when_they_are_read(con):
    parquet.write_table(pa.table({"at": pa.array([1], pa.timestamp("ns"))}), "ns.parquet")
    con.execute("CREATE TABLE t (at TIMESTAMP)")
    with pytest.raises(raydb.DataError, match=r"row 1, column 'at': .* SET nanoseconds = 'cut'"):
        con.execute("COPY t FROM 'ns.parquet'")


def test_columns_of_the_same_name(con):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(table, "x.parquet")
    with pytest.raises(raydb.ProgrammingError, match=r"file 'x.parquet' has two columns named 'a'"):
        con.execute("SELECT 1 FROM 'x.parquet'")
    parquet.write_table(pa.table({"row number": [1]}), "y.parquet")
    with pytest.raises(raydb.NotSupportedError, match="a name that is reserved"):
        con.execute("SELECT 1 FROM 'y.parquet'")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,x\n2,\n", [(1, "x"), (2, None)]),
        ("1,x\n2,y\n", [(1, "x"), (2, "y")]),
        (
            "day,at\n2020-01-01,2020-01-01 10:00:00\n",
            [(dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 10))],
        ),
        ("t,f\nt,f\n", [(True, False), (True, False)]),
        ("x,x\ny,z\n", [("y", "z")]),
        ("x\n1.5\n2\n", [(1.5,), (2.0,)]),
        ("n\n0\n1\ntrue\n", [(False,), (True,), (True,)]),
        ('"a","b"\n"1"",",0x1F\n', [('1",', "0x1F")]),
        ("only,names\n", []),
    ],
)
def test_the_columns_of_a_csv_file_are_found(con, tmp_path, text, expected):
    (tmp_path / "x.csv").write_text(text, encoding="utf-8")
    assert rows(con, "SELECT * FROM 'x.csv'") == expected


def test_a_late_value_changes_the_type_of_a_csv_column(con, tmp_path):
    lines = ["a,b,c", *(["1,2020-01-01,7"] * 10_000), "x,2020-01-01 01:00:00,7.5"]
    (tmp_path / "x.csv").write_text("\n".join(lines), encoding="utf-8")
    found = rows(con, "SELECT a, b, c FROM 'x.csv' WHERE c > 7 OR a = 'x'")
    assert found == [("x", dt.datetime(2020, 1, 1, 1), 7.5)]
    (tmp_path / "y.csv").write_text("\n".join([*lines, "1,2"]), encoding="utf-8")
    with pytest.raises(raydb.DataError, match="line 10003: 2 fields where 3 are expected"):
        con.execute("SELECT * FROM 'y.csv'")


# Files in statements


def test_a_file_is_opened_afresh_by_each_statement(con):
    for value in (1, 2, 3):
        con.execute("COPY (SELECT ? AS a) TO 'x.flat'", [value])
        assert rows(con, "SELECT a FROM 'x.flat'") == [(value,)]
    Path("x.flat").unlink()
    with pytest.raises(raydb.OperationalError, match=r"file 'x.flat' does not exist"):
        con.execute("SELECT a FROM 'x.flat'")


def test_a_file_can_be_copied_over_itself(con):
    con.execute("COPY (SELECT 1 AS a) TO 'x.flat'")
    con.execute("COPY (SELECT a + 1 AS a FROM 'x.flat') TO 'x.flat'")
    assert rows(con, "SELECT a FROM 'x.flat'") == [(2,)]


@pytest.mark.parametrize(
    "statement", ["COPY t FROM 'x.flat'", "INSERT INTO t SELECT * FROM 'x.flat'"]
)
def test_a_table_keeps_no_bytes_of_the_file_it_was_read_from(con, tmp_path, statement):
    values = random.Random(SEED).randbytes(800)
    flatstor.write_table(
        pa.table({"x": np.frombuffer(values, np.int64)}), "x.flat", encodings={"x": "verbatim"}
    )
    con.execute("CREATE TABLE t (x BIGINT)")
    con.execute(statement)
    before = rows(con, "SELECT * FROM t")
    path = tmp_path / "x.flat"
    with path.open("r+b") as file:
        file.write(bytes(path.stat().st_size))
    assert rows(con, "SELECT * FROM t") == before


def test_a_query_over_a_file_can_be_explained_and_takes_parameters(con):
    con.execute("COPY (SELECT 7 AS a) TO 'x.flat'")
    assert ("    ScanTable: 'x.flat' (a)",) in rows(
        con, "EXPLAIN SELECT a FROM 'x.flat' WHERE a = 7"
    )
    assert rows(con, "SELECT a FROM 'x.flat' WHERE a = ?", [7]) == [(7,)]
    assert rows(con, "SELECT a FROM 'x.flat' WHERE a = ?", [8]) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files(con, tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    path.write_bytes(b'"\xff\x00' * 100)
    for sql in (f"SELECT * FROM 'x.{kind}'", f"CREATE TABLE t (a INTEGER); COPY t FROM 'x.{kind}'"):
        with pytest.raises((raydb.DataError, raydb.OperationalError), match=rf"file 'x.{kind}'"):
            con.execute(sql)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_is_replaced_complete_or_not_at_all(con, tmp_path, monkeypatch, kind):
    con.execute(f"COPY (SELECT 1 AS a) TO 'x.{kind}'")

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(
        raydb.OperationalError, match=rf"file 'x.{kind}' cannot be written: no spac"
    ):
        con.execute(f"COPY (SELECT 2 AS a) TO 'x.{kind}'")
    assert rows(con, f"SELECT * FROM 'x.{kind}'") == [(1,)]
    assert [path.name for path in tmp_path.iterdir()] == [f"x.{kind}"]


def test_what_is_no_regular_file_is_left_alone(con, tmp_path):
    with pytest.raises(raydb.OperationalError, match="'/dev/null' is not a regular file"):
        con.execute("COPY (SELECT 1) TO '/dev/null' (FORMAT csv)")
    (tmp_path / "link.csv").symlink_to(tmp_path / "target.csv")
    con.execute("COPY (SELECT 1 AS a) TO 'link.csv'")
    assert (tmp_path / "link.csv").is_symlink()
    assert rows(con, "SELECT a FROM 'target.csv'") == [(1,)]


def test_chunk_rows(con):
    con.execute("COPY (SELECT 1 AS a, 'x' AS b) TO 'x.flat' (chunk_rows 5)")
    with flatstor.open_table("x.flat") as file:
        assert {column.chunk_rows for column in file.metadata.columns} == {5}


def test_a_reader_may_copy_to_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect("shop") as con:
        con.execute("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2)")
        con.execute("DELETE FROM t WHERE a = 1")
    with raydb.connect("shop", read_only=True) as con:
        assert con.execute("COPY t TO 'x.parquet'").rowcount == 1
        assert rows(con, "FROM 'x.parquet'") == [(2,)]


# Scans that read little


COUNT = 4000
IMAGE_BYTES = 3000
COLUMNS = "id INTEGER, kind INTEGER, name VARCHAR, x DOUBLE"


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """A database on disk whose images are most of its bytes."""
    folder = tmp_path_factory.mktemp("pets")
    draw = random.Random(SEED)
    table = pa.table(
        {
            "id": pa.array(range(COUNT), pa.int32()),
            "kind": pa.array(draw.choices([1, 2, 3, None], k=COUNT), pa.int32()),
            "name": [f"pet {draw.randrange(500)}" for _ in range(COUNT)],
            "x": [draw.choice([0.5, float("nan"), -1.0, None]) for _ in range(COUNT)],
            "image": pa.array([draw.randbytes(IMAGE_BYTES) for _ in range(COUNT)]),
        }
    )
    parquet.write_table(table, folder / "pet.parquet")
    flatstor.write_table(table, folder / "pet.flat", chunk_rows={"image": 4})
    with raydb.connect(folder / "pets") as con:
        con.execute(
            "CREATE TABLE pet (id INTEGER, kind INTEGER, name VARCHAR, x DOUBLE, image BLOB)"
        )
        con.execute(f"COPY pet FROM '{folder / 'pet.parquet'}'; CHECKPOINT")
    return folder


@pytest.fixture
def touched(monkeypatch):
    """The bytes of each column's chunks that are opened, by the name of the column."""
    sizes: dict[str, int] = {}
    open_chunk = column_reader.open_chunk

    def count(column, number):
        chunk = open_chunk(column, number)
        name = column.field.name
        sizes[name] = sizes.get(name, 0) + chunk.entry.payload_length
        return chunk

    monkeypatch.setattr(column_reader, "open_chunk", count)
    return sizes


@pytest.mark.parametrize("source", ["pet", "'pet.flat'"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT image FROM {} WHERE id = 7",
        "SELECT image FROM {} WHERE 7 >= id AND id > 6 AND kind + 1 > -100",
        "SELECT image FROM {} WHERE id % 2000 = 7",
        "SELECT image FROM {} LIMIT 1 OFFSET 7",
    ],
)
def test_a_query_for_one_image_reads_that_image(pets, monkeypatch, touched, source, query):
    monkeypatch.chdir(pets)
    with raydb.connect("pets", read_only=True) as con:
        found = rows(con, query.format(source))
        assert 1 <= len(found) <= 2
        assert touched["image"] <= len(found) * COUNT * IMAGE_BYTES // 30
        assert {"name", "x"}.isdisjoint(touched)


QUERIES = [
    "SELECT * FROM pet WHERE {}",
    "SELECT id, name FROM pet WHERE {}",
    "SELECT count(*), min(name), sum(kind) FROM pet WHERE {}",
    "SELECT a.id, b.name FROM pet a JOIN pet b ON a.id = b.id WHERE a.id < 40 AND b.id IN (3, 4)",
]
CONDITIONS = [
    "id = 7",
    "id = -1",
    "kind = 2 AND id < 300",
    "kind IS NULL AND id > 3990",
    "name = 'pet 17'",
    "name < 'pet 100' AND name > 'pet 0' AND id <> 5",
    "x > 0.4 AND id < 900",
    "x = 'NaN' AND kind = 3",
    "3 <= kind AND 10 > id",
    "id > 100 OR kind = 1",
    "id < 100 AND 0 > 1",
    "name = 'pet 17' AND x IS NOT NULL AND kind > 1",
]


@pytest.mark.long
@pytest.mark.parametrize("deletes", [False, True])
def test_results_are_those_of_the_plain_way(pets, tmp_path, monkeypatch, deletes):
    def answers():
        database = tmp_path / "copy"
        with raydb.connect(database) as con:
            con.execute(
                "CREATE TABLE IF NOT EXISTS pet (id INTEGER, kind INTEGER, name VARCHAR, x DOUBLE)"
            )
            if not rows(con, "SELECT 1 FROM pet LIMIT 1"):
                con.execute(f"INSERT INTO pet SELECT id, kind, name, x FROM '{pets / 'pet.flat'}'")
                con.execute(
                    "CHECKPOINT; INSERT INTO pet VALUES (7, 2, 'pet 17', 0.5), (NULL, 3, 'z', 1)"
                )
                if deletes:
                    con.execute(
                        "DELETE FROM pet WHERE id % 3 = 1; UPDATE pet SET kind = 9 WHERE id = 6"
                    )
        found = []
        for condition in CONDITIONS:
            # A connection of its own, so that no column is decoded already.
            for query in QUERIES:
                with raydb.connect(database) as con:
                    found.append(sorted(map(repr, rows(con, query.format(condition)))))
        with raydb.connect(database) as con:
            found += [
                repr(rows(con, f"SELECT * FROM pet LIMIT 3 OFFSET {n}")) for n in (0, 3999, 9999)
            ]
        return found

    late = answers()
    for module, name in ((scan, "scan_matches"), (limit, "scan_slice")):
        monkeypatch.setattr(module, name, lambda *arguments: None)
    assert late == answers()


def test_a_comparison_does_not_hide_an_error_before_it(pets):
    with raydb.connect(pets / "pets", read_only=True) as con:
        with pytest.raises(raydb.DataError):
            con.execute("SELECT image FROM pet WHERE 10 / id > 0 AND id = 7")
        assert len(rows(con, "SELECT image FROM pet WHERE id = 7 AND 10 / id > 0")) == 1


@pytest.fixture
def pipe():
    """Return what puts bytes into a pipe and returns its path; nobody writes to it any more."""
    opened = []

    def fill(content):
        reading, writing = os.pipe()
        opened.append(reading)
        os.write(writing, content)
        os.close(writing)
        return f"/dev/fd/{reading}"

    yield fill
    for descriptor in opened:
        os.close(descriptor)


has_paths_of_open_files = pytest.mark.skipif(
    not Path("/dev/fd").exists(), reason="open files have no paths here"
)


@has_paths_of_open_files
@pytest.mark.parametrize(
    ("reading", "content"),
    [
        ("read_csv('{}')", b"a\n1\n2\n"),
        ("read_csv('{}', compression => 'gzip')", gzip.compress(b"a\n1\n2\n", mtime=0)),
        ("read_json('{}')", b'{"a": 1}\n{"a": 2}'),
        ("read_json('{}')", b'[{"a": 1}, {"a": 2}]'),
    ],
)
def test_an_open_pipe_is_a_text_file(con, pipe, reading, content):
    assert rows(con, f"FROM {reading.format(pipe(content))}") == [(1,), (2,)]


@has_paths_of_open_files
def test_copy_from_an_open_pipe(con, pipe):
    con.execute("CREATE TABLE t (a INTEGER)")
    path = pipe(b"a\n3\n")
    con.execute(f"COPY t FROM '{path}' (FORMAT csv)")
    assert rows(con, "FROM t") == [(3,)]
    for content, read, error in (
        (b"", "csv", r"file '/dev/fd/\d+' is empty"),
        (b"a", "parquet", r"file '/dev/fd/\d+' cannot be read"),
    ):
        with pytest.raises(raydb.DatabaseError, match=error):
            con.execute(f"FROM read_{read}('{pipe(content)}')")


@has_paths_of_open_files
def test_an_interrupt_ends_waiting_for_a_pipe(con):
    reading, writing = os.pipe()
    timer = threading.Timer(0.3, con.interrupt)
    timer.start()
    with pytest.raises(raydb.OperationalError, match="interrupted"):
        con.execute(f"FROM read_csv('/dev/fd/{reading}')")
    timer.join()
    os.close(reading)
    os.close(writing)
