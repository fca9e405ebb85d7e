"""Text that is deep, wide, long or packed is read in time that its size tells, or refused."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydb
from raydb.storage import temporary_files
from raydb.storage.formats import text_file
from raydb.storage.formats.delimited import convert as delimited
from raydb.storage.formats.delimited import read
from raydb.storage.formats.delimited.read import DelimitedText, tables_of
from raydb.storage.formats.delimited.records import Layout, Record
from raydb.storage.formats.files.input_file import InputFile
from raydb.storage.formats.json import json_lines
from raydb.storage.formats.json.source import MAX_DEPTH, Nesting
from raydb.storage.formats.text_file import TextFile
from raydb.storage.temporary_files import Spool

# Beyond the rows that tell the types, a file is read column by column.
ROWS = 21_000


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as found:
        yield found


def write(path, text):
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(text.encode() if isinstance(text, str) else text)


def refused(con, query, error, message):
    with pytest.raises(error, match=re.escape(message)):
        con.execute(query).fetchall()


DEEP = {
    "lists": '{"a": ' + "[" * 20_000 + "]" * 20_000 + "}",
    "objects": '{"a": ' * 20_000 + "1" + "}" * 20_000,
    "never closed": '{"a": ' + "[" * 20_000,
    "over lines": '{"a": ' + "[\n" * 20_000,
    "behind closed ones": "]" * 30_000 + '\n{"a": ' + "[" * 20_000 + "]" * 20_000 + "}",
    "behind an open quote": '{"b": "\n{"a": ' + "[" * 20_000,
    "beside closed ones in strings": '{"a": ' + '["]]]]",' * 20_000,
    "behind quotes in strings": '{"a": ' + '["\\\\", "\\"",' * 20_000,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_json_that_is_nested_deeply_is_refused(con, text):
    write("deep.json", '{"a": 1}\n' + text + "\n")
    con.execute("CREATE TABLE t (a INTEGER[])")
    line = 3 if "\n{" in text else 2
    for query in (
        "SELECT * FROM 'deep.json'",
        "SELECT * FROM read_json('deep.json', columns => {'a': 'INTEGER[]'})",
        "COPY t FROM 'deep.json'",
    ):
        with pytest.raises(raydb.DataError, match=rf"line {line}|over|nested more than"):
            con.execute(query)
    write("first.json", text)
    with pytest.raises(raydb.DataError):
        con.execute("SELECT * FROM 'first.json'")


def test_json_within_the_depth_is_read(con):
    depth = MAX_DEPTH - 1
    write("deep.json", '{"a": ' + "[" * depth + "1" + "]" * depth + "}\n")
    assert con.execute("SELECT count(*) FROM 'deep.json'").fetchone() == (1,)
    con.execute("CREATE TABLE deep AS SELECT * FROM 'deep.json'")
    assert con.execute("SELECT count(a) FROM deep").fetchone() == (1,)


def test_objects_without_keys_are_rows(con):
    for count in (2, 3_000_000):  # in one sample, and in more
        write("empty.json", "{}\n" * count)
        assert con.execute("SELECT count(*), count(json) FROM 'empty.json'").fetchone() == (
            count,
            0,
        )


VALUES = st.recursive(
    st.none() | st.text('[]{}"\\\n:,a', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=20,
)


def depth_of(value):
    if not isinstance(value, list | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0)


@settings(max_examples=40)
@given(VALUES, st.integers(3, 9), st.booleans())
def test_depth_is_that_of_the_values_however_the_text_is_cut(value, size, ascii_):
    """So many brackets before the value let its own depth decide."""
    text = json.dumps(value, ensure_ascii=ascii_).encode("utf-8", "replace")
    for before, is_too_deep in (
        (MAX_DEPTH - depth_of(value), False),
        # The innermost levels may pass.
        (MAX_DEPTH + 6 - depth_of(value), True),
    ):
        nesting, line = Nesting(), b'"[{[{"' + b"[" * before + text + b"\n"
        found = [nesting.follow(line[at : at + size]) for at in range(0, len(line), size)]
        assert any(found) == is_too_deep


@pytest.mark.long
def test_the_types_of_twice_as_many_columns_take_twice_the_bytes(con, monkeypatch):
    """What the parser is given is counted, for all kinds of columns."""
    original, given_bytes = delimited.csv.read_csv, []

    def read_csv(source, **options):
        if isinstance(source, pa.BufferReader):
            given_bytes.append(source.size())
        return original(source, **options)

    counted = []
    monkeypatch.setattr(delimited.csv, "read_csv", read_csv)
    for width in (200, 400):
        values = ["1", "x", "nan", "2026-01-01", "23:59:59.5", "true", "9" * 20, ""]
        row = ",".join(values * (width // 8))
        write("wide.csv", ",".join(f"+{n}x" for n in range(width)) + f"\n{row}\n")
        given_bytes.clear()
        assert len(con.execute("SELECT * FROM 'wide.csv'").description) == width
        counted.append(sum(given_bytes))
    assert counted[0] > 0
    assert counted[1] < 2.5 * counted[0]


class CountedSchema:
    """A schema that counts how often all its columns are listed."""

    def __init__(self, schema):
        self.schema = schema
        self.listed = 0

    def __len__(self):
        return len(self.schema)

    def __iter__(self):
        self.listed += 1
        return iter(self.schema)

    def __getattr__(self, name):
        self.listed += name in {"types", "names"}
        return getattr(self.schema, name)


def test_the_columns_of_a_part_are_listed_a_few_times_however_many_there_are(con):
    width = 100
    layout = Layout(",", quotes=True, nulls=("",), null_strings=True)
    part = ",".join(["1"] * width).encode() + b"\n"
    schema = CountedSchema(pa.schema([(f"c{n}", pa.int64()) for n in range(width)]))
    assert not delimited.fails(part, schema, layout, range(width))
    assert schema.listed < 10
    write("wide.csv", part)
    text = DelimitedText(
        TextFile(InputFile("wide.csv"), None), layout, schema, Record(0, 0, 0, 1), len(part),
        frozenset(schema.schema.names),
    )  # fmt: skip
    next(tables_of(text))
    assert schema.listed < 10


def test_an_interrupt_is_heard_while_a_block_is_searched_for_its_fault(con, monkeypatch):
    """Blocks are searched by threads of their own."""
    original, searched = read.plain_records, []

    def plain_records(*arguments, **options):
        for each in original(*arguments, **options):
            if not searched:
                con.interrupt()
            searched.append(each.record.line)
            yield each

    monkeypatch.setattr(read, "plain_records", plain_records)
    rows = 3 * ROWS
    write("rows.csv", "a,b\n" + "1,2\n" * rows + "1,2,3\n")
    refused(con, "SELECT sum(a) FROM 'rows.csv'", raydb.OperationalError, "interrupted")
    assert len(searched) < rows // 2


def test_more_columns_than_a_table_may_have(con):
    write("wide.csv", "," * 100_000 + "\n")
    refused(con, "FROM 'wide.csv'", raydb.NotSupportedError, "has 100001 columns, where a table")
    write("wide.json", "{" + ",".join(f'"k{n}":1' for n in range(100_001)) + "}\n")
    refused(con, "FROM 'wide.json'", raydb.NotSupportedError, "has 100001 columns, where a table")


@pytest.mark.long
def test_keys_that_most_lines_lack_are_refused_before_they_are_read(con, monkeypatch):
    original, read_bytes = json_lines.arrow_json.read_json, [0]

    def read_json(*arguments):
        rows = original(*arguments)
        read_bytes.append(rows.nbytes)
        return rows

    monkeypatch.setattr(json_lines.arrow_json, "read_json", read_json)
    first = "{" + ",".join(f'"k{n}":1' for n in range(4000)) + "}\n"
    write("keys.json", first + "{}\n" * 3000)
    con.execute("SET memory_limit = '60MB'")
    refused(con, "FROM 'keys.json'", raydb.OperationalError, "and memory_limit is 60 MB")
    assert max(read_bytes) < 10e6  # the first lines alone
    con.execute("SET memory_limit = '1GB'")
    assert con.execute("SELECT sum(k3999), count(*) FROM 'keys.json'").fetchone() == (1, 3001)


def test_a_long_line_of_brackets_is_followed_piece_by_piece():
    line = b"[]" + b'"' + b"[" * (8 << 20)
    tracemalloc.start()
    try:
        assert not Nesting().follow(line)
        assert Nesting().follow(line[3:])
        assert tracemalloc.get_traced_memory()[1] < 80e6  # mostly 50 for each byte of a piece
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("last", [200, 20_000])
def test_keys_that_lines_do_not_share(con, last):
    lines = ['{"a": 1}\n'] * (300 if last > 200 else 0)
    write("keys.json", "".join([*lines, *(f'{{"k{n}" : {n}}}\n' for n in range(last))]))
    if last == 200:
        assert con.execute("SELECT count(k7), count(*) FROM 'keys.json'").fetchone() == (1, 200)
        return
    refused(con, "FROM 'keys.json'", raydb.NotSupportedError, "different keys up to here, most of")
    query = "SELECT sum(a), max(k19999) FROM read_json('keys.json', columns => {{{}}})"
    given_ = query.format("'a': 'INTEGER', 'k19999': 'INTEGER'")
    assert con.execute(given_).fetchone() == (300, 19_999)


def test_a_parquet_file_beyond_memory_limit_is_read_by_row_groups(con):
    con.execute("SET memory_limit = '70MB'")
    pq.write_table(pa.table({"a": pa.nulls(10_000_000, pa.int64())}), "m.parquet")
    assert con.execute("SELECT max(a), count(*) FROM 'm.parquet'").fetchone() == (None, 10_000_000)


def test_a_csv_file_beyond_memory_limit_is_read_block_by_block(con):
    con.execute("SET memory_limit = '70MB'")
    write("m.csv", b"a\n" + b"1\n" * 10_000_000)
    query = "SELECT count(*), sum(a), max(a) FROM 'm.csv'"
    assert con.execute(query).fetchone() == (10_000_000, 10_000_000, 1)


def test_a_json_file_beyond_memory_limit_is_read_part_by_part(con):
    con.execute("SET memory_limit = '70MB'")
    write("m.json", b"{}\n" * 10_000_000)
    query = "SELECT max(a), count(*) FROM read_json('m.json', columns => {'a': 'BIGINT'})"
    assert con.execute(query).fetchone() == (None, 10_000_000)


LINES = [("csv", b"1\n"), ("json", b'{"a":1}\n')]


def write_zipped(kind, line, size_bytes=80_000_000):
    some = 8_000_000
    lines = gzip.compress(line * (some // len(line)), 1) * (size_bytes // some)
    write(f"m.{kind}.gz", (gzip.compress(b"a\n") if kind == "csv" else b"") + lines)


@pytest.mark.parametrize(("kind", "line"), LINES)
def test_a_compressed_file_beyond_memory_limit_is_read_part_by_part(con, kind, line):
    con.execute("SET memory_limit = '70MB'")
    write_zipped(kind, line)
    query = f"SELECT max(a), count(*) FROM 'm.{kind}.gz'"
    assert con.execute(query).fetchone() == (1, 80_000_000 // len(line))


@pytest.mark.parametrize(("kind", "line"), LINES)
def test_a_compressed_file_beyond_the_disk_is_refused(con, monkeypatch, kind, line):
    free = shutil.disk_usage(".")._replace(free=40_000_000)
    monkeypatch.setattr(temporary_files.shutil, "disk_usage", lambda _: free)
    write_zipped(kind, line)
    query = f"SELECT max(a) FROM 'm.{kind}.gz'"
    refused(con, query, raydb.OperationalError, "would fill the disk")
    write_zipped(kind, line, 32_000_000)
    assert con.execute(query).fetchone() == (1,)


@pytest.mark.parametrize(("kind", "line"), LINES)
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_compressed_file_that_was_cut_short_is_refused(con, kind, line, compression):
    ending = {"gzip": "gz", "zstd": "zst"}[compression]
    content = pa.compress(line * 5_000_000, compression, asbytes=True)
    write(f"m.{kind}.{ending}", content[: len(content) // 2])
    con.execute("CREATE TABLE t (a BIGINT)")
    for text in (f"SELECT max(a) FROM 'm.{kind}.{ending}'", f"COPY t FROM 'm.{kind}.{ending}'"):
        refused(con, text, raydb.DataError, f"file 'm.{kind}.{ending}' is not a {compression} file")


def test_an_interrupt_is_heard_while_a_file_is_decompressed(con, monkeypatch):
    write_zipped("csv", b"1\n")
    taken = []
    monkeypatch.setattr(
        Spool, "write", lambda _, piece: taken.append(len(piece)) or con.interrupt()
    )
    refused(con, "SELECT max(a) FROM 'm.csv.gz'", raydb.OperationalError, "interrupted")
    assert len(taken) == 1


def test_quotes_are_doubled_in_files_of_any_length(con, monkeypatch):
    monkeypatch.setattr(temporary_files, "_HELD_BYTES", 1000)
    monkeypatch.setattr(text_file, "_PIECE_BYTES", 100)
    texts = [f'{n} "{"x" * (n % 300)}' for n in range(10_000)]
    lines = (
        f'{n},"{text.replace(chr(34), chr(92) + chr(34))}",z\n' for n, text in enumerate(texts)
    )
    content = "id,t,z\n" + "".join(lines)
    for encoding in ("utf-8", "utf-16"):
        write("q.csv", content.encode(encoding))
        options = f"escape => '\\', encoding => '{encoding}'"
        found = con.execute(f"SELECT id, t, z FROM read_csv('q.csv', {options})").fetchall()
        assert found == [(n, text, "z") for n, text in enumerate(texts)]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_columns_in_another_order_are_found_by_their_names(con, kind):
    for name, columns in (("one", "1 AS a, 2 AS b"), ("two", "2 AS b, 1 AS a")):
        con.execute(f"COPY (SELECT {columns} FROM range(0, {ROWS})) TO '{name}.{kind}'")
    query = f"SELECT min(a), max(a), min(b), max(b) FROM read_{kind}(['one.{kind}', 'two.{kind}'])"
    assert con.execute(query).fetchone() == (1, 1, 2, 2)


def test_names_that_a_header_has_elsewhere_are_refused(con):
    write("swapped.csv", "b,a\n1,2\n")
    message = "file 'swapped.csv': the header has 'b' where the options tell of 'a'; name the"
    for options in ("columns => {'a': 'INTEGER', 'b': 'INTEGER'}", "names => ['a']"):
        query = f"SELECT * FROM read_csv('swapped.csv', {options})"
        refused(con, query, raydb.ProgrammingError, message)
    query = "SELECT * FROM read_csv('swapped.csv', names => ['x', 'y'])"
    assert con.execute(query).fetchall() == [(1, 2)]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "flat"])
def test_a_file_that_is_named_twice_is_read_twice(con, kind):
    con.execute(f"COPY (SELECT 1 AS a) TO 'f.{kind}'")
    query = f"SELECT sum(a), count(*) FROM read_{kind}(['f.{kind}', '*.{kind}', 'f.{kind}'])"
    assert con.execute(query).fetchone() == (3, 3)


def test_sql_that_is_nested_deeply_is_refused(con):
    for before, after in (("(", ")"), ("[", "]"), ("- ", ""), ("NOT ", ""), ("abs(", ")")):
        query = f"SELECT {before * 10_000}1{after * 10_000}"
        refused(con, query, raydb.NotSupportedError, "the statement is nested too deeply")


def test_timestamps_that_python_lacks(con):
    pq.write_table(pa.table({"t": pa.array([1 << 60], pa.timestamp("us"))}), "t.parquet")
    assert con.execute("FROM 't.parquet'").fetchall() == [("38504-08-17 21:30:06.846976",)]
