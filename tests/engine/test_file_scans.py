"""Queries over files read what they need: columns, row groups, first rows; and what goes wrong."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import raydb
from raydb.planner.stars.table_scan import MIN_ROWS
from raydb.storage.formats.delimited import infer
from raydb.storage.formats.delimited import read as delimited
from raydb.storage.formats.parquet import ParquetPart
from raydb.storage.formats.sources import FileSource, open_rows

SEED = 5
ROWS = 30_000  # more than the sample of a text file
GROUP = 1000


@pytest.fixture
def con(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raydb.connect() as connection:
        yield connection


def rows(connection, sql, parameters=()):
    return connection.execute(sql, parameters).fetchall()


def sample_table(count=ROWS):
    draw = random.Random(SEED)
    return pa.table(
        {
            "id": pa.array(range(count), pa.int32()),
            "kind": pa.array(draw.choices([1, 2, 3, None], k=count), pa.int64()),
            "name": [f"name {draw.randrange(300)}" for _ in range(count)],
            "price": pa.array([Decimal(n).scaleb(-2) for n in range(count)], pa.decimal128(9, 2)),
            "day": pa.array([dt.date(2026, 1, 1 + n // 1000) for n in range(count)]),
            "text": draw.choices(["a", "b", None], k=count),
        }
    )


# -- Parquet


@pytest.fixture
def decoded(monkeypatch):
    """The (row groups, columns) that are decoded whole, and the rows of what is decoded in part."""
    found = {"whole": [], "head": []}
    read, head = ParquetPart.read, ParquetPart.head

    def count_read(part, names):
        found["whole"].append((part.row_groups, tuple(sorted(names))))
        return read(part, names)

    def count_head(part, names, count):
        found["head"].append((part.row_groups, tuple(sorted(names)), count))
        return head(part, names, count)

    monkeypatch.setattr(ParquetPart, "read", count_read)
    monkeypatch.setattr(ParquetPart, "head", count_head)
    return found


def groups_of(found):
    return {group for groups, *_ in (*found["whole"], *found["head"]) for group in groups}


def columns_of(found):
    return {name for _, names, *_ in (*found["whole"], *found["head"]) for name in names}


@pytest.mark.parametrize(
    ("query", "groups", "columns"),
    [
        ("SELECT count(*) FROM 'p.parquet'", set(), set()),
        ("SELECT sum(id) FROM 'p.parquet'", set(range(30)), {"id"}),
        ("SELECT name FROM 'p.parquet' WHERE id = 7", {0}, {"id", "name"}),
        ("SELECT max(name) FROM 'p.parquet' WHERE 28500 < id", {28, 29}, {"id", "name"}),
        ("SELECT max(name) FROM 'p.parquet' WHERE id IN (1, 1500)", {0, 1}, {"id", "name"}),
        ("SELECT sum(id) FROM 'p.parquet' WHERE price < 5.00 AND kind > 0", {0},
         {"id", "price", "kind"}),
        ("SELECT id FROM 'p.parquet' WHERE day = '2026-01-03'", {2}, {"id", "day"}),
        ("SELECT kind FROM 'p.parquet' WHERE id > 99999", set(), set()),
        ("SELECT text FROM 'p.parquet' LIMIT 3 OFFSET 1100", {1}, {"text"}),
        ("SELECT a.id FROM 'p.parquet' a JOIN 'p.parquet' b ON a.id = b.id WHERE a.id < 5",
         {0}, {"id"}),
    ],
)  # fmt: skip
def test_only_what_is_read_is_decoded(con, decoded, query, groups, columns):
    parquet.write_table(sample_table(), "p.parquet", row_group_size=GROUP)
    found = rows(con, query)
    # What the planner samples are first rows of columns in a predicate.
    decoded["head"] = [each for each in decoded["head"] if each[2] != 2048]
    assert groups_of(decoded) == groups
    assert columns_of(decoded) == columns
    con.execute("CREATE TABLE t AS SELECT * FROM 'p.parquet'")
    expected = rows(con, query.replace("'p.parquet'", "t"))
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_a_limit_decodes_the_first_rows_only(con, decoded):
    parquet.write_table(sample_table(), "p.parquet")
    assert rows(con, "SELECT id FROM 'p.parquet' LIMIT 2") == [(0,), (1,)]
    assert decoded == {"whole": [], "head": [((0,), ("id",), 2)]}


BY_TEXT = [
    "SELECT id, word FROM {} WHERE word = 'word 4'",
    "SELECT id FROM {} WHERE word IN ('word 1', 'word 9', 'none') AND id % 5 = 0",
    "SELECT other, raw FROM {} WHERE word > 'word 5' AND word < 'word 7' AND other = 'ä'",
    "SELECT id FROM {} WHERE word IS NULL AND raw IS NOT NULL",
    "SELECT word FROM {} WHERE word LIKE '%1_' OR word = 'word 10'",
    "SELECT id FROM {} WHERE raw = '\\x00\\xFF'::BLOB AND length(word) = 7",
    "SELECT id FROM {} WHERE word IS NOT NULL AND id < 9",
    "SELECT a.id FROM {} a JOIN (SELECT 5 AS id) b ON a.id > b.id WHERE a.word = 'word 2'",
    "SELECT word, id FROM {} WHERE word <> 'word 3' LIMIT 200000 OFFSET 3",
    "SELECT word, count(*), sum(id) FROM {} GROUP BY word",
    "SELECT word, other, count(*) FROM {} WHERE id % 3 = 0 GROUP BY ALL",
    "SELECT count(DISTINCT word), min(word), max(other), count(word) FROM {}",
    "SELECT DISTINCT upper(word) FROM {}",
    "SELECT word, raw, count(*) FROM {} WHERE word LIKE '%1' OR word IS NULL GROUP BY ALL",
]


@pytest.mark.long
@pytest.mark.parametrize("layout", ["dictionary", "plain", "both", "files", "other types"])
def test_groups_of_texts_are_those_of_a_table(con, layout):
    draw = random.Random(SEED)
    count = 2 * MIN_ROWS
    words = [
        draw.choices([f"word {n}" for n in range(3 * half, 3 * half + 9)] + [None], k=MIN_ROWS)
        for half in range(2)  # Row groups and files have different dictionaries.
    ]
    table = pa.table(
        {
            "id": pa.array(range(count), pa.int32()),
            "word": [*words[0], *words[1]],
            "other": pa.array([None] * MIN_ROWS + draw.choices("äöü", k=MIN_ROWS)),
            "raw": draw.choices([b"", b"\0\xff", None], k=count),
        }
    )
    first, second = table.slice(0, MIN_ROWS), table.slice(MIN_ROWS)
    match layout:
        case "dictionary":
            parquet.write_table(table, "p.parquet", row_group_size=MIN_ROWS // 2)
        case "plain":
            parquet.write_table(table, "p.parquet", use_dictionary=False)
        case "both":  # A dictionary that is full is given up in the middle of a column.
            parquet.write_table(table, "p.parquet", dictionary_pagesize_limit=60)
        case "files":
            parquet.write_table(first, "p.parquet")
            parquet.write_table(second, "q.parquet", use_dictionary=False)
        case _:
            parquet.write_table(first, "p.parquet")
            kind = pa.dictionary(pa.int8(), pa.string())
            second = second.set_column(1, "word", second.column("word").cast(kind))
            second = second.set_column(2, "other", second.column("other").cast(pa.large_string()))
            parquet.write_table(second, "q.parquet")
    con.execute("CREATE TABLE t AS SELECT * FROM '[pq].parquet'")
    for query in BY_TEXT:
        found = rows(con, query.format("'[pq].parquet'"))
        assert sorted(map(repr, found)) == sorted(map(repr, rows(con, query.format("t")))), query


def test_texts_are_decoded_once_a_dictionary(con, decoded):
    words = pa.array(["a", "b"] * MIN_ROWS)
    parquet.write_table(pa.table({"word": words}), "p.parquet")
    assert sorted(rows(con, "SELECT word, count(*) FROM 'p.parquet' GROUP BY word")) == [
        ("a", MIN_ROWS),
        ("b", MIN_ROWS),
    ]
    assert decoded["whole"] == []


CONDITIONS = [
    "id < {0}",
    "id BETWEEN {0} AND {0} + 700",
    "kind = 2 AND id >= {0}",
    "kind IS NULL AND id > {0}",
    "name = 'name {1}'",
    "name < 'name {1}' AND day = '2026-01-{2:02}'",
    "price > {0}.5 AND price <= {0}",
    "price > {1}.25 AND text IS NOT NULL",
    "id IN ({0}, {1}, {2})",
    "text IN ('a', 'b') AND id < {1}",
    "id < {1} OR id > {0}",
    "NOT id < {0}",
    "{0} <= id AND kind IN (1, NULL)",
]


@pytest.mark.long
@pytest.mark.parametrize("files", [1, 3])
def test_filters_over_row_groups_are_those_over_a_table(con, files):
    table = sample_table(6000)
    step = 6000 // files
    for number in range(files):
        part = table.slice(number * step, step)
        # Names in another order, and a narrower type, in every other file.
        if number % 2:
            part = part.select(list(reversed(part.column_names)))
            part = part.set_column(0, "text", part.column("text").cast(pa.large_string()))
        parquet.write_table(part, f"p{number}.parquet", row_group_size=170)
    con.execute("CREATE TABLE t AS SELECT * FROM 'p*.parquet'")
    draw = random.Random(SEED)
    for condition in CONDITIONS * 3:
        written = condition.format(draw.randrange(6000), draw.randrange(300), draw.randrange(1, 7))
        for query in ("SELECT * FROM {} WHERE {} ORDER BY id", "SELECT count(*) FROM {} WHERE {}"):
            expected = rows(con, query.format("t", written))
            assert rows(con, query.format("'p*.parquet'", written)) == expected, written


AT = dt.datetime(2026, 1, 1, 1, tzinfo=dt.UTC)
TYPES = [
    (pa.uint8(), [255], "UTINYINT", [255]),
    (pa.uint64(), [2**64 - 1], "UBIGINT", [2**64 - 1]),
    (pa.float16(), [0.5], "REAL", [0.5]),
    (pa.timestamp("s"), [dt.datetime(9999, 12, 31)], "TIMESTAMP_MS", [dt.datetime(9999, 12, 31)]),
    (pa.timestamp("ms"), [dt.datetime(2026, 1, 1)], "TIMESTAMP_MS", [dt.datetime(2026, 1, 1)]),
    (pa.timestamp("ns"), [dt.datetime(2026, 1, 1)], "TIMESTAMP_NS", [dt.datetime(2026, 1, 1)]),
    (pa.time32("s"), [dt.time(1, 2, 3)], "TIME", [dt.time(1, 2, 3)]),
    (pa.date64(), [dt.date(2026, 1, 1)], "DATE", [dt.date(2026, 1, 1)]),
    (pa.dictionary(pa.int8(), pa.string()), ["x", None], "VARCHAR", ["x", None]),
    (pa.large_string(), ["x"], "VARCHAR", ["x"]),
    (pa.string_view(), ["x"], "VARCHAR", ["x"]),
    (pa.large_binary(), [b"x"], "BLOB", [b"x"]),
    (pa.binary(2), [b"xy"], "BLOB", [b"xy"]),
    (pa.decimal64(5, 2), [Decimal("1.50")], "DECIMAL(5,2)", [Decimal("1.50")]),
    (pa.null(), [None], "VARCHAR", [None]),
    (pa.list_(pa.uint8()), [[1, None], None], "UTINYINT[]", [[1, None], None]),
    (pa.large_list(pa.large_string()), [["a"], []], "VARCHAR[]", [["a"], []]),
    (pa.list_(pa.float32(), 2), [[1.0, 2.0]], "FLOAT[2]", [(1.0, 2.0)]),
    (pa.decimal256(50, 2), [Decimal("1.50")], "DECIMAL(38,2)", [Decimal("1.50")]),
    (pa.struct([("x", pa.int32())]), [{"x": 1}, None], "STRUCT(x INTEGER)", [{"x": 1}, None]),
    (pa.list_(pa.struct([("x", pa.int32())])), [[{"x": 1}]], "STRUCT(x INTEGER)[]", [[{"x": 1}]]),
    (pa.map_(pa.string(), pa.int32()), [[("k", 1)]], "MAP(VARCHAR, INTEGER)", [{"k": 1}]),
    (pa.timestamp("us", "UTC"), [AT], "TIMESTAMP WITH TIME ZONE", [AT]),
]


@pytest.mark.parametrize(("data_type", "values", "name", "expected"), TYPES, ids=str)
def test_types(con, data_type, values, name, expected):
    parquet.write_table(pa.table({"c": pa.array(values, data_type)}), "x.parquet")
    cursor = con.execute("SELECT c FROM 'x.parquet'")
    assert cursor.description[0][1] == name
    assert [row[0] for row in cursor.fetchall()] == expected


def test_a_decimal_beyond_38_digits(con):
    decimals = pa.array([Decimal(1), Decimal(10**39)], pa.decimal256(50, 2))
    parquet.write_table(pa.table({"id": [1, 2], "c": decimals}), "x.parquet")
    assert rows(con, "SELECT sum(id) FROM 'x.parquet'") == [(3,)]
    with pytest.raises(raydb.DataError, match=r"file 'x.parquet', row 2, column 'c': .* does not"):
        con.execute("SELECT c FROM 'x.parquet'")


def test_a_timestamp_out_of_range(con):
    parquet.write_table(pa.table({"c": pa.array([2**50], pa.timestamp("s"))}), "x.parquet")
    assert rows(con, "SELECT c::VARCHAR FROM 'x.parquet'") == [("35680317-09-25 18:57:04",)]
    with pytest.raises(raydb.DataError, match=r"out of range for TIMESTAMP$"):
        con.execute("SELECT c::TIMESTAMP FROM 'x.parquet'")
    con.execute("CREATE TABLE t (c TIMESTAMP)")
    with pytest.raises(raydb.DataError, match=r"file 'x.parquet', row 1, column 'c': .* does not"):
        con.execute("COPY t FROM 'x.parquet'")


# -- text


def write_lines(path, lines):
    Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def converted(monkeypatch):
    """The columns of each reading of a delimited file, by their places."""
    found = []
    read_part = delimited.read_part

    def count(part, schema, layout, chosen):
        found.append(list(chosen))
        return read_part(part, schema, layout, chosen)

    monkeypatch.setattr(delimited, "read_part", count)
    return found


def test_only_the_columns_that_are_read_are_converted(con, converted):
    write_lines("x.csv", ["a,b,c", *(f"{n},,x{n}" for n in range(ROWS))])
    assert rows(con, "SELECT sum(a), count(c) FROM 'x.csv'") == [(ROWS * (ROWS - 1) // 2, ROWS)]
    assert converted == [[0, 2]]
    assert rows(con, "SELECT count(*) FROM 'x.csv'") == [(ROWS,)]
    assert converted == [[0, 2], [0]]
    # A column of NULLs makes no line suspect.
    assert rows(con, "SELECT count(b), count(*) FROM 'x.csv'") == [(0, ROWS)]
    query = "SELECT c FROM 'x.csv' WHERE a = 29999 AND b IS NULL"
    assert rows(con, query) == [("x29999",)]
    assert len(converted) == 4


@pytest.mark.long
def test_a_limit_reads_the_first_lines_only(con):
    write_lines("x.csv", ["a,b", *(["1,x"] * ROWS), "oops"])
    write_lines("x.jsonl", [*(['{"a": 1}'] * ROWS), "oops"])
    for kind in ("csv", "jsonl"):
        assert rows(con, f"SELECT a FROM 'x.{kind}' LIMIT 2 OFFSET 1") == [(1,), (1,)]
        assert len(rows(con, f"SELECT a FROM 'x.{kind}' LIMIT 100")) == 100
        line = ROWS + (2 if kind == "csv" else 1)
        with pytest.raises(raydb.DataError, match=rf"file 'x.{kind}', line {line}: "):
            con.execute(f"SELECT a FROM 'x.{kind}' LIMIT 100000")
        with pytest.raises(raydb.DataError, match=rf"file 'x.{kind}', line {line}: "):
            con.execute(f"SELECT count(*) FROM 'x.{kind}'")


@pytest.mark.long
def test_a_value_far_down_changes_the_type(con):
    write_lines("x.csv", ["a,b", *(f"{n},{n}" for n in range(ROWS)), "x,1.5"])
    objects = [{"a": n, "b": n} for n in range(ROWS)]
    write_lines("x.jsonl", map(json.dumps, [*objects, {"a": None, "b": 1.5}]))
    for query in (
        "SELECT max(b) FROM 'x.{}' WHERE b < 2",
        "SELECT max(b) FROM 'x.{}' WHERE b = 1.5",
    ):
        for kind in ("csv", "jsonl"):
            assert rows(con, query.format(kind)) == [(1.5,)]
    assert rows(con, "SELECT a FROM 'x.csv' ORDER BY a DESC LIMIT 1") == [("x",)]
    con.execute("CREATE TABLE t AS SELECT * FROM 'x.csv'")
    assert rows(con, "SELECT count(*), max(a), min(b) FROM t") == [(ROWS + 1, "x", 0.0)]
    # Types that the statement gives are not changed.
    with pytest.raises(raydb.DataError, match=rf"line {ROWS + 2}, field 1 \(a\): 'x' is not a BI"):
        con.execute("SELECT a FROM read_csv('x.csv', types => {'a': BIGINT})")
    assert rows(con, "SELECT count(*) FROM read_csv('x.csv', sample_size => -1)") == [(ROWS + 1,)]


@pytest.mark.long
def test_a_key_far_down_is_a_column(con):
    write_lines("x.jsonl", [*(['{"a": 1}'] * ROWS), '{"a": 2, "late": "x"}'])
    assert rows(con, "SELECT * FROM 'x.jsonl' WHERE a = 2") == [(2, "x")]
    query = "SELECT count(late) FROM read_json('x.jsonl', sample_size => -1)"
    assert rows(con, query) == [(1,)]


@pytest.mark.long
@pytest.mark.parametrize("bad", ["1", "1,2,3", '"1,2', "1,\0"])
def test_a_broken_line_far_down_is_named(con, bad):
    write_lines("x.csv", ["a,b", *(f"{n},y" for n in range(ROWS)), bad, "1,y"])
    for columns in ("a", "b", "a, b"):
        with pytest.raises(raydb.DataError, match=rf"^file 'x.csv', line {ROWS + 2}\b"):
            con.execute(f"SELECT {columns} FROM 'x.csv'")


def test_what_is_not_read_of_a_line_may_be_wrong(con):
    write_lines("x.csv", ["a,b", *(f"{n},7" for n in range(ROWS)), "1,0x1F"])
    assert rows(con, "SELECT count(a) FROM 'x.csv'") == [(ROWS + 1,)]
    assert rows(con, "SELECT max(b) FROM 'x.csv'") == [("7",)]


def test_empty_lines_within_quotes(con):
    write_lines("x.csv", ["a,b", *(["1,"] * ROWS), '2,"x\n\ny"', ',""'])
    assert rows(con, "SELECT b FROM 'x.csv' WHERE a = 2") == [("x\n\ny",)]
    assert rows(con, "SELECT count(*), count(b) FROM 'x.csv' WHERE a IS NULL") == [(1, 1)]


# -- files that change, and files that are cut off


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "flat"])
def test_an_open_file_stays_the_same(con, kind):
    con.execute(f"COPY (SELECT i AS a, 'x' AS b FROM range({ROWS}) AS r (i)) TO 'x.{kind}'")
    found = open_rows(FileSource((f"x.{kind}",)))
    con.execute(f"COPY (SELECT 'other' AS a) TO 'x.{kind}'")
    assert found.column("a").to_pylist() == list(range(ROWS))
    Path(f"x.{kind}").unlink()
    assert set(found.column("b").to_pylist()) == {"x"}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl", "csv.gz", "jsonl.zst"])
@pytest.mark.parametrize("share", [0.3, 0.99])
def test_a_file_that_is_cut_off(con, kind, share):
    con.execute(f"COPY (SELECT i AS a, 'x,\"y' AS b FROM range({ROWS}) AS r (i)) TO 'x.{kind}'")
    path = Path(f"x.{kind}")
    content = path.read_bytes()
    end = int(len(content) * share)
    while kind in ("csv", "jsonl") and content[end : end + 1] in b'\n0123456789"':
        end -= 1
    path.write_bytes(content[:end])
    for sql in (f"SELECT * FROM 'x.{kind}'", f"SELECT count(a), count(b) FROM 'x.{kind}'"):
        with pytest.raises(raydb.DataError, match=rf"^file 'x.{kind}'") as caught:
            con.execute(sql)
        assert "\n" not in str(caught.value)
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    with pytest.raises(raydb.DataError, match=rf"^file 'x.{kind}'"):
        con.execute(f"COPY t FROM 'x.{kind}'")


def test_a_file_that_is_cut_off_while_it_is_open(con):
    parquet.write_table(sample_table(), "x.parquet")
    found = open_rows(FileSource(("x.parquet",)))
    with Path("x.parquet").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(raydb.DataError, match=r"file 'x.parquet' is a damaged Parquet file: "):
        found.column("name")


@pytest.mark.parametrize("nested", ["first", "last"])
def test_a_column_whose_name_is_the_path_of_a_nested_one(con, nested):
    columns = [("a.b", ["x", None, "y", "y"] * 500), ("a", [{"b": "z"}] * 2000)]
    parquet.write_table(pa.table(dict(columns[:: -1 if nested == "first" else 1])), "n.parquet")
    assert rows(con, "SELECT count(*) FROM 'n.parquet' WHERE \"a.b\" = 'y'") == [(1000,)]
    assert rows(con, "SELECT \"a.b\" FROM 'n.parquet' LIMIT 1") == [("x",)]
    found = rows(con, "SELECT \"a.b\", count(*) FROM 'n.parquet' GROUP BY 1 ORDER BY 1")
    assert found == [("x", 500), ("y", 1000), (None, 500)]


# -- the samples


def test_the_types_of_a_text_file_are_those_of_its_sample(con):
    write_lines("x.csv", ["a", *(["1"] * 10), "1.5"])
    cursor = con.execute("SELECT a FROM read_csv('x.csv', sample_size => 5) LIMIT 1")
    assert cursor.description[0][1] == "BIGINT"
    assert infer.SAMPLE_RECORDS < ROWS
