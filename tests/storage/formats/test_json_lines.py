"""JSON lines: what is written is read back the same, and what is wrong is named with its line."""

from __future__ import annotations

import json
import re

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydb
from raydb.errors import DataError, NotSupportedError, ProgrammingError
from raydb.storage.formats.copy import read_rows, write_rows
from raydb.storage.formats.sources import FileSource, open_rows
from raydb.storage.tables.table import TableDefinition

INSTANT, TIME = pa.timestamp("us", "UTC"), pa.time64("us")
INT, LONG, TEXT, MONEY = pa.int32(), pa.int64(), pa.string(), pa.decimal128(9, 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def infer(folder, content):
    (folder / "x.jsonl").write_bytes(content.encode() if isinstance(content, str) else content)
    return open_rows(FileSource(("x.jsonl",))).table()


def exactly(error, message):
    return pytest.raises(error, match=f"^{re.escape(message)}$")


INTEGERS = st.none() | st.integers(-(2**31), 2**31 - 1)
TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RECORDS = st.tuples(
    INTEGERS,
    TEXTS,
    st.none() | st.decimals(-9_999_999, 9_999_999, places=2),
    st.none() | st.dates(),
    st.none() | st.datetimes(),
    st.none() | st.times(),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.booleans(),
    st.none() | st.lists(INTEGERS, max_size=3),
    st.none() | st.lists(TEXTS, max_size=3),
)
TYPES = (
    *(INT, TEXT, MONEY, pa.date32(), pa.timestamp("us"), pa.time64("us"), pa.float64(), pa.bool_()),
    *(pa.list_(INT), pa.list_(TEXT)),
)


@pytest.mark.long
@settings(max_examples=200)
@given(st.lists(RECORDS, min_size=1), st.sampled_from([".jsonl", ".ndjson.gz", ".json.zst"]))
def test_round_trip(tmp_path_factory, records, extension):
    schema = pa.schema([(f"c{n} \"é'", kind) for n, kind in enumerate(TYPES)])
    columns = [pa.array(values, kind) for values, kind in zip(zip(*records), TYPES)]  # noqa: B905
    table = pa.Table.from_arrays(columns, schema=schema)
    path = str(tmp_path_factory.getbasetemp() / f"round{extension}")
    write_rows(path, table, {})
    found = read_rows(path, TableDefinition("t", schema), None, {})
    assert found.to_pylist() == table.to_pylist()
    if extension == ".jsonl":
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            lines = file.read().split("\n")
        assert len(lines) == len(records) + 1
        assert [list(json.loads(line)) for line in lines[:-1]] == [schema.names] * len(records)


def test_slices_of_lists_are_written(folder):
    rows = pa.table({"u": [{"tags": ["x", "y"]}, {"tags": []}, {"tags": None}, None]})
    write_rows("x.jsonl", rows.slice(1), {})
    assert (
        folder / "x.jsonl"
    ).read_text() == '{"u":{"tags":[]}}\n{"u":{"tags":null}}\n{"u":null}\n'


@pytest.mark.parametrize(
    ("values", "data_type"),
    [
        (["2026-01-01", "2026-02-29"], TEXT),
        (["2026-01-01", None], pa.date32()),
        (["2026-01-01", "x"], TEXT),
        (["2026-01-01 10:00", "2026-01-01T10:00:00.123456"], pa.timestamp("us")),
        (["2026-01-01", "2026-01-01 10:00:00"], TEXT),
        (["10:00:00", "23:59:59.5"], pa.time64("us")),
        (["10:00:00", "24:00:01"], TEXT),
        (["10"], TEXT),
        ([1, 2], LONG),
        ([1, 2.5], pa.float64()),
        ([True, None], pa.bool_()),
        ([None, None], TEXT),
        ([[1], []], pa.list_(LONG)),
        ([["2026-01-01"], None, []], pa.list_(pa.date32())),
        ([["2026-01-01"], ["x"]], pa.list_(TEXT)),
        ([["2026-01-01T10:00:00+02:00"]], pa.list_(INSTANT)),
        (
            [{"at": "2026-01-01T10:00:00Z", "t": [{"d": "10:00:00"}], "n": 1}, None],
            pa.struct([("at", INSTANT), ("t", pa.list_(pa.struct([("d", TIME)]))), ("n", LONG)]),
        ),
    ],
)
def test_inferred_types(folder, values, data_type):
    content = "\n".join(json.dumps({"a": value, "z": 0}) for value in values)
    assert infer(folder, content).schema.field("a").type == data_type


def test_keys(folder):
    content = '\ufeff{"b": 1, "A": 2}\n\n  \n{"c": "x", "A": 3}'
    assert infer(folder, content).to_pylist() == [
        {"b": 1, "A": 2, "c": None},
        {"b": None, "A": 3, "c": "x"},
    ]
    definition = TableDefinition("t", pa.schema([("a", INT), ("d", TEXT)]))
    rows = read_rows("x.jsonl", definition, ("a",), {})
    assert rows.to_pylist() == [{"a": 2, "d": None}, {"a": 3, "d": None}]
    with exactly(
        ProgrammingError,
        "file 'x.jsonl' has a column 'b', which the table lacks; name the columns to read",
    ):
        read_rows("x.jsonl", definition, None, {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": }', ", line 2: not JSON at character 7: expecting value"),
        ('{"a": 1}\n\n5', ", line 3: a number where an object is expected"),
        ('{"a": 1, "a": 2}', ", line 1: the key 'a' is there twice"),
        (b'{"a": "\xff"}', ", line 1: byte 0xff is not valid UTF-8"),
        (b'{"a": ["\xff"]}', ", line 1: byte 0xff is not valid UTF-8"),
        (b'{"a\xff": 1}', ", line 1: byte 0xff is not valid UTF-8"),
        ("[[1]]", " holds an array of arrays, where objects are expected"),
        (" \n ", " is empty"),
        ("", " is empty"),
    ],
)
def test_what_is_wrong(folder, content, message):
    with exactly(DataError, f"file 'x.jsonl'{message}"):
        infer(folder, content)


@pytest.mark.parametrize(
    ("data_type", "written", "message"),
    [
        (INT, "2147483648", "line 2, column 'a': 2147483648 does not fit INTEGER"),
        (INT, "1.5", "line 2, column 'a': 1.5 does not fit INTEGER"),
        (INT, '"1"', "line 2, column 'a': a string where a number is expected"),
        (MONEY, "1.555", "line 2, column 'a': 1.555 does not fit DECIMAL(9,2)"),
        (pa.bool_(), "1", "line 2, column 'a': a number where a boolean is expected"),
        (pa.date32(), '"2026-02-30"', "row 2, column 'a': '2026-02-30' is not a DATE"),
        (pa.time64("us"), '"25:00:00"', "row 2, column 'a': '25:00:00' is not a TIME"),
        (pa.timestamp("us"), '"now"', "row 2, column 'a': 'now' is not a TIMESTAMP"),
    ],
)
def test_values_that_do_not_fit(folder, data_type, written, message):
    (folder / "x.jsonl").write_text(f'{{"a": null}}\n{{"a": {written}}}\n', encoding="utf-8")
    definition = TableDefinition("t", pa.schema([("a", data_type)]))
    with exactly(DataError, f"file 'x.jsonl', {message}"):
        read_rows("x.jsonl", definition, None, {})


def test_numbers_are_exact(folder):
    content = '{"a": 1234567.10, "b": 9223372036854775807}\n{"a": 7, "b": -1}\n'
    (folder / "x.jsonl").write_text(content, encoding="utf-8")
    schema = pa.schema([("a", MONEY), ("b", LONG)])
    rows = read_rows("x.jsonl", TableDefinition("t", schema), None, {})
    assert [str(value) for value in rows.column("a").to_pylist()] == ["1234567.10", "7.00"]
    assert rows.column("b").to_pylist() == [2**63 - 1, -1]


def test_types_that_json_lacks(folder):
    for kind, name in ((pa.binary(), "BLOB"), (pa.month_day_nano_interval(), "INTERVAL")):
        table = pa.table({"c": pa.nulls(1, kind)})
        message = f"column 'c' is {name}, which cannot be"
        with exactly(NotSupportedError, f"{message} written to a JSON file"):
            write_rows("x.jsonl", table, {})
        (folder / "x.jsonl").write_text('{"c": null}\n', encoding="utf-8")
        with exactly(NotSupportedError, f"{message} read from a JSON file"):
            read_rows("x.jsonl", TableDefinition("t", table.schema), None, {})


MIXED = """{"id": 1, "a": 1, "s": {"x": 1}, "l": [1], "n": 1}
{"id": 2, "a": "it's", "s": {"x": [ 1 ]}, "l": ["x"], "n": 2.5}

{"s": null, "a": [1, "x"], "id": 3, "l": null, "n": null}
{"id": 4, "a": {"q": 1.5}, "s": {}, "l": []}
{"id": 5, "a": true}
"""


def test_values_of_several_kinds_are_texts(folder):
    """As DuckDB reads them into VARCHAR columns: a string as it is, all else as it is written."""
    (folder / "x.jsonl").write_text(MIXED, encoding="utf-8")
    con, oracle = raydb.connect(), duckdb.connect()
    cursor = con.execute("FROM 'x.jsonl'")
    kinds = [column[1] for column in cursor.description]
    assert kinds == ["BIGINT", "VARCHAR", "VARCHAR", "VARCHAR", "DOUBLE"]
    found = [row[1:4] for row in cursor.fetchall()]
    texts = "columns={'a': 'VARCHAR', 's': 'VARCHAR', 'l': 'VARCHAR'}"
    wanted = oracle.execute(f"FROM read_json('x.jsonl', {texts})").fetchall()

    def plain(rows):
        return [[None if each is None else each.replace(" ", "") for each in row] for row in rows]

    assert plain(found) == plain(wanted)
    assert con.execute(f"FROM read_json('x.jsonl', {texts})").fetchall() == found
    told = {str(text) for _, text in cursor.messages}
    assert told == {
        f"file 'x.jsonl': column '{name}' is VARCHAR, for its values are of several kinds"
        for name in ("a", "s", "l")
    }
    con.execute("CREATE TABLE t (n DOUBLE, a VARCHAR); COPY t (a, n) FROM 'x.jsonl'")
    assert con.execute("FROM t").fetchall() == [(n, a) for (a, _, _), n in zip(
        found, [1.0, 2.5, None, None, None], strict=True)]  # fmt: skip
    con.execute("CREATE TABLE u (id VARCHAR, a INTEGER)")
    with exactly(
        DataError, "file 'x.jsonl', line 2, column 'a': a string where a number is expected"
    ):
        con.execute("COPY u (id, a) FROM 'x.jsonl'")


@pytest.mark.long
def test_kinds_that_differ_late(folder):
    """Behind the lines that tell the types, and where other columns are dates."""
    lines = ['{"d": "2024-01-01", "v": 1}'] * 30_000 + ['{"d": "2024-01-02", "v": "x"}']
    (folder / "x.jsonl").write_text("\n".join(lines), encoding="utf-8")
    query = "SELECT typeof(d), v, count(*) FROM 'x.jsonl' GROUP BY ALL ORDER BY v"
    found = raydb.connect().execute(query).fetchall()
    assert found == [("DATE", "1", 30_000), ("DATE", "x", 1)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('null\n{"a": 1}\nnull\n', [{"a": None}, {"a": 1}, {"a": None}]),
        ('[\n null, null, {"a": 1}]', [{"a": None}, {"a": None}, {"a": 1}]),
        ('{"a": 1}\nnull\n{"a": "x"}\n', [{"a": "1"}, {"a": None}, {"a": "x"}]),
        ("null\n{}\n", [{"json": None}, {"json": None}]),
    ],
)
def test_null_instead_of_an_object_is_a_row_of_nulls(folder, content, expected):
    assert infer(folder, content).to_pylist() == expected


def test_null_may_be_the_first_value_of_any_block(folder, monkeypatch):
    monkeypatch.setattr("raydb.storage.formats.json.json_lines.BLOCK_BYTES", 64)
    for width in range(1, 13):
        lines = [f'{{"a": "{"x" * width}"}}\n', "null\n"] * 12
        rows = infer(folder, "".join(lines))
        assert rows.column("a").to_pylist() == ["x" * width, None] * 12


@pytest.mark.parametrize("content", ["null, 1", "nullx", 'null\n{"a": 1}\nnul'])
def test_what_only_begins_with_null_is_no_json(folder, content):
    with pytest.raises(DataError, match="not JSON at character"):
        infer(folder, content)


def test_objects_without_keys_are_rows_beside_other_files(folder):
    (folder / "one.json").write_text("{}\n{}\n")
    (folder / "two.json").write_text('{"a": 1}\n')
    found = raydb.connect().execute(
        "FROM read_json(['one.json', 'two.json'], union_by_name => true)"
    )
    assert found.fetchall() == [(None,), (None,), (1,)]


def test_integers_beyond_64_bits_are_exact(folder):
    huge = pa.decimal128(38, 0)
    lines = (
        '{"a": 1, "b": [18446744073709551615], "c": {"x": -9223372036854775809},'
        ' "d": 1e30, "e": 1}\n'
        '{"a": 9223372036854775808, "b": [null, 1], "c": {"x": null}, "d": 1e31, "e": 2}\n'
        "null\n"
    )
    found = infer(folder, lines)
    fields = [("a", huge), ("b", pa.list_(huge)), ("c", pa.struct([("x", huge)]))]
    assert found.schema == pa.schema([*fields, ("d", pa.float64()), ("e", pa.int64())])
    assert found.to_pylist()[:2] == [
        {"a": 1, "b": [2**64 - 1], "c": {"x": -(2**63) - 1}, "d": 1e30, "e": 1},
        {"a": 2**63, "b": [None, 1], "c": {"x": None}, "d": 1e31, "e": 2},
    ]
    assert infer(folder, '{"a": 9223372036854775808}\n{"a": 0.5}').schema.types == [pa.float64()]


def test_integers_that_become_doubles_are_told(folder):
    (folder / "x.json").write_text('{"a": 9, "day": "2026-01-01"}\n{"a": 1' + "0" * 38 + "}\n")
    with raydb.connect() as con:
        cursor = con.execute("SELECT a, day FROM 'x.json' WHERE day IS NULL")
        assert cursor.fetchall() == [(1e38, None)]
        (message,) = cursor.messages
        assert "column 'a' is DOUBLE, for it has integers of more than 38 digits" in str(message[1])
