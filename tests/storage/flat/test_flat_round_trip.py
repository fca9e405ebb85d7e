"""Whatever is written is read again: types, values, encodings, NULLs, slices, any order of rows."""

from __future__ import annotations

import datetime as dt
import decimal
import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raydb.errors import InterfaceError, NotSupportedError, OperationalError, ProgrammingError
from raydb.storage.flat import FlatTable, open_table, write_stream, write_table

if TYPE_CHECKING:
    from pathlib import Path

_TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "a", "b", "\0", "a\0b", "ÿ", "日本語", "a dog on a surf board"]),
)
_BYTES = st.one_of(st.binary(max_size=12), st.sampled_from([b"", b"\0", b"\xff", b"\xff\xff\0"]))


def whole(bits: int, signed: bool) -> st.SearchStrategy[int]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    return st.one_of(st.integers(low, high), st.sampled_from([low, high, 0, 1]))


def narrow_decimal() -> st.SearchStrategy[decimal.Decimal]:
    return st.decimals(-(10**7), 10**7, places=2, allow_nan=False, allow_infinity=False)


TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    *((getattr(pa, f"int{bits}")(), whole(bits, True)) for bits in (8, 16, 32, 64)),
    *((getattr(pa, f"uint{bits}")(), whole(bits, False)) for bits in (8, 16, 32, 64)),
    (pa.int64(), st.integers(1000, 1003)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, float("nan")])),
    (pa.decimal128(12, 2), narrow_decimal()),
    (pa.decimal128(38, 0), st.integers(-(10**37), 10**37).map(decimal.Decimal)),
    (pa.date32(), st.dates()),
    (pa.date64(), st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))),
    (pa.time32("s"), st.times().map(lambda time: time.replace(microsecond=0))),
    (pa.time64("us"), st.times()),
    (pa.timestamp("us"), st.datetimes()),
    (pa.timestamp("ms", "UTC"), st.integers(-(2**40), 2**40)),
    (pa.duration("us"), st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999))),
    (pa.string(), _TEXTS),
    (pa.large_string(), _TEXTS),
    (pa.binary(), _BYTES),
    (pa.large_binary(), _BYTES),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.list_(pa.int32()), st.lists(whole(32, True), max_size=3)),
    (pa.large_list(pa.string()), st.lists(st.text(max_size=3), max_size=3)),
    (pa.list_(pa.float32(), 2), st.lists(st.floats(width=32), min_size=2, max_size=2)),
    (pa.list_(pa.int8(), 3), st.lists(whole(8, True), min_size=3, max_size=3)),
    (pa.struct([("x", pa.int8()), ("y", pa.string())]), st.just({"x": 1, "y": "z"})),
    (pa.map_(pa.string(), pa.int8()), st.just([("k", 1)])),
    (pa.null(), st.none()),
]

_OF_INTEGERS = ("verbatim", "frame", "run_length", "line", "runs", "stride", "patched")
FORCED = {
    "bool": ("verbatim", "run_length"),
    "int64": (*_OF_INTEGERS, "dictionary"),
    "uint64": (*_OF_INTEGERS, "dictionary"),
    "int8": (*_OF_INTEGERS, "dictionary"),
    "double": ("verbatim", "dictionary", "alp"),
    "decimal128(12, 2)": _OF_INTEGERS,
    "string": ("verbatim", "dictionary", "fsst", "onpair"),
    "large_binary": ("verbatim", "dictionary", "fsst", "onpair"),
}


def stored(table: pa.Table, folder: Path, **settings: Any) -> FlatTable:
    path = folder / "table.flat"
    write_table(table, path, **settings)
    return open_table(path)


def bits_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """View floats as integers, for which NaN equals NaN and -0.0 is not 0.0."""
    if not pa.types.is_floating(column.type):
        return column
    whole_type = getattr(pa, f"int{column.type.bit_width}")()
    return pa.chunked_array([chunk.view(whole_type) for chunk in column.chunks], whole_type)


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    found.validate(full=True)
    assert found.schema.equals(expected.schema, check_metadata=True)
    assert found.num_rows == expected.num_rows
    for name in expected.column_names:
        one, other = bits_of(found.column(name)), bits_of(expected.column(name))
        if not one.equals(other):
            # Lists of NaN are not equal to themselves, but print alike.
            assert repr(one.to_pylist()) == repr(other.to_pylist()), name


def check_everything(table: pa.Table, flat: FlatTable, rows: list[int]) -> None:
    assert_same(flat.scan(), table)
    taken = table.take(pa.array(rows, pa.int64()))
    assert_same(flat.take(rows), taken)
    for name in table.column_names:
        expected = taken.column(name).to_pylist()
        assert repr([flat.item(row, name) for row in rows]) == repr(expected), name
        assert_same(
            pa.table({name: flat.column(name)}), table.select([name]).replace_schema_metadata()
        )
        check_codes(table.column(name), flat, name)
    flat.verify()


def check_codes(column: pa.ChunkedArray, flat: FlatTable, name: str) -> None:
    """Check that texts in dictionaries, and nothing else, can be had as codes."""
    coded = flat.coded_column(name)
    described = next(each for each in flat.metadata.columns if each.name == name)
    is_text = column.type in (pa.string(), pa.binary())
    assert (coded is not None) == (is_text and set(described.encodings) == {"dictionary"})
    if coded is not None:
        assert coded.cast(column.type).to_pylist() == column.to_pylist()


@st.composite
def arrays(draw: st.DrawFn, types: Any = TYPES) -> pa.ChunkedArray:
    """Draw a chunked array, with NULLs and slices of larger arrays."""
    data_type, values = draw(st.sampled_from(types))
    pool = draw(st.lists(st.one_of(st.none(), values), min_size=1, max_size=6))
    chunks = []
    for _ in range(draw(st.integers(1, 3))):
        items = draw(st.lists(st.sampled_from(pool), max_size=24))
        array = pa.array(items, data_type)
        start = draw(st.integers(0, len(items)))
        chunks.append(array.slice(start, draw(st.integers(0, len(items)))))
    return pa.chunked_array(chunks, data_type)


@pytest.mark.long
@settings(
    max_examples=250,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
@given(st.data())
def test_every_type_round_trips(tmp_path: Path, data: st.DataObject) -> None:
    column = data.draw(arrays())
    table = pa.table({"value": column}, metadata={"origin": "a test"})
    chunk_rows = data.draw(st.sampled_from([None, 1, 3, 8, 17]))
    encoding = data.draw(st.sampled_from(("auto", *FORCED.get(str(column.type), ()))))
    indexed = data.draw(st.booleans())
    flat = stored(
        table,
        tmp_path,
        chunk_rows=chunk_rows,
        encodings={"value": encoding},
        offset_index={"value": indexed},
    )
    rows = data.draw(st.lists(st.integers(0, len(column) - 1), max_size=20)) if len(column) else []
    check_everything(table, flat, rows)


@pytest.mark.parametrize("data_type", [data_type for data_type, _ in TYPES], ids=str)
@pytest.mark.parametrize("row_count", [0, 1, 9])
def test_null_columns(tmp_path: Path, data_type: pa.DataType, row_count: int) -> None:
    table = pa.table({"value": pa.nulls(row_count, data_type), "id": range(row_count)})
    check_everything(table, stored(table, tmp_path, chunk_rows=4), list(range(row_count)))


def captions(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    words = [
        "a",
        "man",
        "dog",
        "on",
        "the",
        "red",
        "street",
        "riding",
        "wave",
        "with",
        "two",
        "cats,",
        "über",
        "日本",
    ]
    return [" ".join(random.choice(words, 11)) for _ in range(count)]


def test_many_rows_in_every_encoding(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    count = 5000
    mask = random.random(count) < 0.1
    numbers = random.integers(-(10**6), 10**6, count)
    texts = captions(count, 3)
    categories = random.choice(["AIR", "RAIL", "SHIP", "TRUCK"], count)
    table = pa.table(
        {
            "id": np.arange(count),
            "number": pa.array(numbers, mask=mask),
            "bits": pa.array(random.integers(0, 3, count)),
            "flag": pa.array(random.random(count) < 0.5, mask=mask),
            "runs": np.repeat(np.arange(count // 100), 100),
            "caption": pa.array(texts, mask=mask),
            "category": pa.array(categories.tolist(), mask=mask),
            "price": pa.array(
                [decimal.Decimal(int(n)) / 100 for n in numbers], pa.decimal128(12, 2)
            ),
            "ratio": random.choice([0.25, 0.5, float("nan")], count),
            "constant": ["same"] * count,
            "vector": pa.FixedSizeListArray.from_arrays(random.random(count * 4), 4),
        }
    )
    flat = stored(table, tmp_path)
    check_everything(table, flat, random.integers(0, count, 200).tolist())
    found = {column.name: set(column.encodings) for column in flat.metadata.columns}
    assert found == {
        "id": {"line"},
        "number": {"frame"},
        "bits": {"frame"},
        "flag": {"verbatim"},
        "runs": {"run_length"},
        "caption": {"fsst"},
        "category": {"dictionary"},
        "price": {"frame"},
        "ratio": {"dictionary"},
        "constant": {"constant"},
        "vector": {"vectors"},
    }


def test_texts_that_change_get_symbols_of_their_own(tmp_path: Path) -> None:
    random = np.random.default_rng(11)
    hexes = [random.bytes(24).hex() for _ in range(1500)]
    rare = ["qzjx " * 8 + str(number) for number in range(400)]
    table = pa.table({"text": captions(4000, 5) + rare + hexes})
    flat = stored(table, tmp_path, chunk_rows=400)
    chunks = flat.metadata.columns[0].chunks
    assert {chunk.own_symbols for chunk in chunks} == {True, False}
    check_everything(table, flat, random.integers(0, table.num_rows, 300).tolist())


def test_items_of_a_megabyte(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    items = [random.bytes(2**20), b"", None, bytes(2**20), b"\xff" * (2**20 + 1)]
    table = pa.table({"blob": pa.array(items, pa.binary()), "text": ["x" * 2**20] * 4 + [None]})
    check_everything(table, stored(table, tmp_path), [4, 0, 2, 3, 1, 1])


def test_no_columns(tmp_path: Path) -> None:
    flat = stored(pa.table({"a": [1, 2, 3]}).select([]), tmp_path)
    assert (flat.row_count, flat.scan().num_rows, flat.take([2, 2]).num_rows) == (3, 3, 2)
    assert flat.scan().column_names == []
    assert stored(pa.table({}), tmp_path).row_count == 0


def test_thousand_columns(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    table = pa.table({f"c{n}": random.integers(0, 10**6, 20) for n in range(1000)})
    flat = stored(table, tmp_path)
    assert_same(flat.take([3, 1], ["c999", "c0"]), table.take([3, 1]).select(["c999", "c0"]))
    assert flat.scan().equals(table)


def test_garbage_under_nulls_is_not_stored(tmp_path: Path) -> None:
    secret = pa.array([b"secret", b"plain"], pa.binary())
    validity = pa.py_buffer(b"\x02")
    array = pa.Array.from_buffers(pa.binary(), 2, [validity, *secret.buffers()[1:]])
    numbers = pa.array([0x5EC2E7, 7])
    number = pa.Array.from_buffers(pa.int64(), 2, [validity, numbers.buffers()[1]])
    path = tmp_path / "x.flat"
    write_table(pa.table({"a": array, "b": number}), path, encodings={"b": "verbatim"})
    assert b"secret" not in path.read_bytes()
    assert (0x5EC2E7).to_bytes(8, "little") not in path.read_bytes()
    assert open_table(path).scan().to_pydict() == {"a": [None, b"plain"], "b": [None, 7]}


def test_a_stream_is_the_file(tmp_path: Path) -> None:
    table = pa.table({"id": range(100), "text": captions(100, 1)})
    sink = io.BytesIO()
    write_stream(sink, table)
    write_table(table, tmp_path / "x.flat")
    assert (tmp_path / "x.flat").read_bytes() == sink.getvalue()


def test_writing_replaces_a_file_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "x.flat"
    write_table(pa.table({"a": ["old"]}), path)
    before = open_table(path)
    write_table(pa.table({"a": ["new"]}), path)
    assert (before.item(0, "a"), open_table(path).item(0, "a")) == ("old", "new")
    assert [file.name for file in tmp_path.iterdir()] == ["x.flat"]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "x.flat"
    write_table(pa.table({"a": [1]}), path)
    with pytest.raises(NotSupportedError, match="column 'b' has the type dictionary"):
        write_table(pa.table({"b": pa.array(["x"]).dictionary_encode()}), path)
    assert open_table(path).scan().to_pydict() == {"a": [1]}
    assert [file.name for file in tmp_path.iterdir()] == ["x.flat"]
    with pytest.raises(OperationalError, match="cannot be written: no such file"):
        write_table(pa.table({"a": [1]}), tmp_path / "absent" / "x.flat")


def test_arrays_outlive_the_table(tmp_path: Path) -> None:
    table = pa.table({"a": np.random.default_rng(1).random(1000)})
    with stored(table, tmp_path) as flat:
        column = flat.column("a")
        assert column.chunk(0).buffers()[1].address % 8 == 0
    assert column.equals(table.column("a"))
    for read in (lambda: flat.item(0, "a"), lambda: flat.take([0]), lambda: flat.column("a")):
        with pytest.raises(InterfaceError, match=r"table.flat' is closed"):
            read()


def test_verbatim_columns_are_not_copied(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    table = pa.table({"number": random.random(1000), "text": [random.bytes(9).hex()] * 1000})
    flat = stored(table, tmp_path, encodings={"text": "verbatim"})
    before = pa.total_allocated_bytes()
    column = flat.column("number")
    assert pa.total_allocated_bytes() == before
    assert len(column) == 1000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chunk_rows": {"captoin": 3}}, "column 'captoin' does not exist; did you mean 'caption'"),
        ({"chunk_rows": 0}, "chunk_rows of column 'id' is 1 to 16777216, not 0"),
        ({"encodings": {"id": "fsst"}}, "column 'id' cannot have the encoding 'fsst'; it may"),
        ({"encodings": {"id": "fram"}}, "'fram', which does not exist; did you mean 'frame'"),
        ({"offset_index": {"x": False}}, "column 'x' does not exist"),
    ],
)
def test_settings_that_do_not_fit(tmp_path: Path, settings: Any, message: str) -> None:
    table = pa.table({"id": [1], "caption": ["x"]})
    with pytest.raises(ProgrammingError, match=message):
        write_table(table, tmp_path / "x.flat", **settings)


def test_names_and_rows_that_do_not_exist(tmp_path: Path) -> None:
    flat = stored(pa.table({"caption": ["a", "b"]}), tmp_path)
    for row in (-1, 2):
        with pytest.raises(ProgrammingError, match=f"row {row} does not exist: .* has 2 rows"):
            flat.item(row, "caption")
        with pytest.raises(ProgrammingError, match=f"row {row} does not exist: .* has 2 rows"):
            flat.take([0, row])
    for read in (lambda: flat.item(0, "captoin"), lambda: flat.scan(["captoin"])):
        with pytest.raises(ProgrammingError, match=r"'captoin' does not exist in .*'caption'"):
            read()
    with pytest.raises(ProgrammingError, match="rows are integers, not float64"):
        flat.take([0.5])
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ProgrammingError, match="column 'a' appears 2 times"):
        write_table(twice, tmp_path / "y.flat")


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(OperationalError, match=r"absent.flat' does not exist"):
        open_table(tmp_path / "absent.flat")
    with pytest.raises(OperationalError, match="is a directory, not a file"):
        open_table(tmp_path)
    (tmp_path / "empty.flat").touch()
    with pytest.raises(OperationalError, match="at offset 0: expected a file of 96 bytes or more"):
        open_table(tmp_path / "empty.flat")


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "uint16", "int64"])
@pytest.mark.parametrize("length", [1, 3, 128])
def test_vectors_beside_some_with_nulls(tmp_path: Path, kind: str, length: int) -> None:
    random = np.random.default_rng(length)
    numbers = (random.random(60 * length) * 100).astype(kind)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(numbers), length)
    some = pa.array(vectors[20:40].to_pylist(), vectors.type)
    holes = [None if row % 7 == 3 else each.as_py() for row, each in enumerate(some)]
    missing = pa.array(holes, some.type)
    inside = pa.array([[None] * length, *some[1:].to_pylist()], some.type)
    parts = [vectors[:20], missing, vectors[40:], inside, vectors[3:23]]
    table = pa.table({"v": pa.chunked_array(parts)})
    with stored(table, tmp_path, chunk_rows=20) as flat:
        (column,) = flat.metadata.columns
        assert dict(column.encodings) == {"vectors": 3, "arrow": 2}
        assert flat.scan().equals(table)
        assert [flat.item(row, "v") for row in range(100)] == table["v"].to_pylist()
        for rows in (random.permutation(100), np.array([99, 0, 0, 45]), np.arange(2, 19)):
            assert flat.take(rows).equals(table.take(rows))
