"""A scan with a filter finds what pyarrow's own filter finds, and skips what it can."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from raydb.errors import ProgrammingError
from raydb.storage.flat import FlatTable, open_table, write_table
from raydb.storage.flat.bloom import build_filters, hash_integers, hash_texts, may_contain
from raydb.storage.flat.predicate import build_expression, read_expression
from raydb.storage.flat.select import select_rows
from raydb.storage.flat.zone_map import round_up

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 2000
WORDS = ["", "a", "ab", "dog", 'quo"ted', "back\\slash", "(par)", "z" * 40, "z" * 30, "ÿ" * 20]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(13)
    texts = [f"{WORDS[n % len(WORDS)]}{n % 171}" for n in random.integers(0, 5000, ROWS)]
    mask = random.random(ROWS) < 0.1
    days = [dt.date(2020, 1, 1) + dt.timedelta(int(n)) for n in random.integers(0, 900, ROWS)]
    floats = random.choice([0.0, -0.0, 1.5, 2.5, float("nan")], ROWS)
    floats[:64] = float("nan")
    return pa.table(
        {
            "id": np.arange(ROWS),
            "key": pa.array(random.integers(0, 2**60, ROWS), mask=mask),
            "big": pa.array(random.integers(0, 2**64, ROWS, dtype=np.uint64)),
            "text": pa.array(texts, mask=mask),
            "word": pa.array([WORDS[n] for n in random.integers(0, len(WORDS), ROWS)], mask=mask),
            "raw": pa.array([text.encode() for text in texts], pa.binary()),
            "float": pa.array(floats, mask=mask),
            "single": pa.array(random.random(ROWS), pa.float32()),
            "day": days,
            "time": pa.array([dt.datetime(2020, 1, 1, second=n % 60) for n in range(ROWS)]),
            "price": pa.array(
                [decimal.Decimal(n % 97) / 4 for n in range(ROWS)], pa.decimal128(9, 2)
            ),
            "flag": pa.array((np.arange(ROWS) > 300).tolist()),
            "a b": pa.array((np.arange(ROWS) // 100).astype(np.int32)),
            "many": pa.array([f"{n:x}" * 5 for n in random.integers(0, 2**40, ROWS)]),
        }
    )


@pytest.fixture(scope="module")
def flat(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> FlatTable:
    path = tmp_path_factory.mktemp("scan") / "scan.flat"
    rows = {name: 64 + 16 * number for number, name in enumerate(table.column_names)}
    encodings = {"text": "fsst", "many": "fsst", "raw": "verbatim"}
    write_table(table, path, chunk_rows=rows, encodings=encodings)
    return open_table(path)


VALUES = {
    "id": st.integers(-5, ROWS + 5),
    "key": st.integers(0, 2**60),
    "text": st.builds("{}{}".format, st.sampled_from(WORDS), st.integers(0, 175)),
    "word": st.sampled_from([*WORDS, "absent", "zz"]),
    "raw": st.builds("{}{}".format, st.sampled_from(WORDS), st.integers(0, 175)).map(str.encode),
    "float": st.sampled_from([0.0, -0.0, 1.5, 2.0, float("nan"), 1]),
    "single": st.one_of(st.floats(0, 1), st.integers(0, 2)),
    "day": st.dates(dt.date(2019, 12, 1), dt.date(2022, 12, 1)),
    "time": st.datetimes(dt.datetime(2019, 12, 31), dt.datetime(2020, 1, 2)),
    "price": st.decimals(0, 26, places=2),
    "flag": st.booleans(),
    "a b": st.integers(-1, 22),
}


def same_but_for_nan(found: pa.Table, expected: pa.Table) -> bool:
    return found.schema == expected.schema and repr(found.to_pydict()) == repr(expected.to_pydict())


@st.composite
def comparisons(draw: st.DrawFn) -> pc.Expression:
    name = draw(st.sampled_from(sorted(VALUES)))
    value = draw(VALUES[name])
    field = pc.field(name)
    if isinstance(value, str) and draw(st.booleans()):
        return pc.starts_with(field, value[: draw(st.integers(0, 4))])
    match draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">="])):
        case "==":
            return field == value
        case "!=":
            return field != value
        case "<":
            return field < value
        case "<=":
            return field <= value
        case ">":
            return field > value
        case _:
            return field >= value


FILTERS = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda one: ~one, inner),
    ),
    max_leaves=4,
)


@pytest.mark.long
@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
@given(wanted=FILTERS)
def test_filters_agree_with_pyarrow(table: pa.Table, flat: FlatTable, wanted: Any) -> None:
    columns = ["id", "text", "float", "price"]
    expected = table.filter(wanted).select(columns)
    assert same_but_for_nan(flat.scan(columns, wanted), expected), str(wanted)


@pytest.mark.parametrize(
    "name", ["id", "key", "text", "word", "raw", "day", "price", "many", "big"]
)
def test_every_value_is_found_by_equality(table: pa.Table, flat: FlatTable, name: str) -> None:
    for value in table.column(name).slice(0, 150).drop_null().unique():
        wanted = pc.field(name) == value
        assert flat.scan(["id"], wanted).equals(table.filter(wanted).select(["id"])), value


def test_other_expressions(table: pa.Table, flat: FlatTable) -> None:
    for wanted in (
        pc.field("word").isin(["dog", "ab"]),
        pc.is_null(pc.field("text")),
        pc.starts_with(pc.field("text"), "dog"),
        pc.field("id") + pc.field("a b") > 1000,
        pc.scalar(5) > pc.field("id"),
        pc.field("word") == pc.field("text"),
    ):
        assert same_but_for_nan(flat.scan(filter=wanted), table.filter(wanted)), str(wanted)


def test_comparisons_as_tuples(table: pa.Table, flat: FlatTable) -> None:
    wanted = (pc.field("id") >= 7) & (pc.field("word") == "dog")
    found = flat.scan(["id"], [("id", ">=", 7), ("word", "==", "dog")])
    assert found.equals(table.filter(wanted).select(["id"]))
    assert flat.scan(["id"], []).num_rows == ROWS


def rows_left(flat: FlatTable, wanted: Any) -> int:
    return sum(stop - start for start, stop in select_rows(flat, wanted)[1])


def test_chunks_are_skipped(table: pa.Table, flat: FlatTable) -> None:
    assert rows_left(flat, pc.field("id") == 777) == 64
    assert rows_left(flat, pc.field("id") < 0) == 0
    assert rows_left(flat, (pc.field("id") == 777) & (pc.field("flag") == False)) == 0  # noqa: E712
    assert rows_left(flat, (pc.field("id") == 3) | (pc.field("id") == 1999)) == 64 + 16
    assert rows_left(flat, pc.field("a b") > 18) < 2 * (64 + 16 * 12)
    columns = {column.name: column for column in flat.metadata.columns}
    for name in ("key", "big", "many"):
        value = table.column(name)[1234]
        assert columns[name].bloom_bytes > 0
        assert rows_left(flat, pc.field(name) == value) <= 3 * columns[name].chunk_rows
    assert columns["id"].bloom_bytes == 0


def test_expressions_are_read_or_left_alone(flat: FlatTable) -> None:
    schema = flat.schema
    for wanted in (
        pc.field("id") == 5,
        (pc.field("word") == 'quo"ted') & (pc.field("a b") < 3),
        (pc.field("word") == ") and (") | (pc.field("raw") == b"\0\xff"),
        pc.field("price") >= pa.scalar(decimal.Decimal("1.50"), pa.decimal128(9, 2)),
        pc.field("day") < dt.date(2021, 1, 1),
        pc.field("a b") == pa.scalar(5, pa.int32()),
    ):
        predicate = read_expression(wanted, schema)
        assert predicate is not None, str(wanted)
        assert build_expression(predicate).equals(wanted)
    for wanted in (~(pc.field("id") == 5), pc.field("id") == pc.field("key"), pc.field("flag")):
        assert read_expression(wanted, schema) is None


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (pc.field("absent") == 1, "cannot be evaluated: No match for FieldRef"),
        (pc.field("id") == "x", "cannot be evaluated"),
        ([("wrd", "==", 1)], "column 'wrd' does not exist; did you mean 'word'"),
        ([("id", "=", 1)], "operator '=' is not one of ==, !="),
        ([("id", 1)], "a filter holds"),
        ("id = 1", "a filter is a pyarrow Expression or a sequence"),
    ],
)
def test_filters_that_cannot_be_evaluated(flat: FlatTable, wanted: Any, message: str) -> None:
    with pytest.raises(ProgrammingError, match=message):
        flat.scan(filter=wanted)


def test_nested_fields(tmp_path: Path) -> None:
    table = pa.table({"s": [{"x": 1}, {"x": 2}, None], "id": [1, 2, 3]})
    write_table(table, tmp_path / "x.flat")
    wanted = pc.field("s", "x") == 2
    assert open_table(tmp_path / "x.flat").scan(["id"], wanted).to_pydict() == {"id": [2]}


@given(st.binary(min_size=1, max_size=6), st.binary(max_size=6))
def test_rounding_up_is_above(prefix: bytes, rest: bytes) -> None:
    above = round_up(prefix)
    if above is None:
        assert set(prefix) == {0xFF}
    else:
        assert above > prefix + rest


def test_bloom_filters_have_few_false_positives() -> None:
    keys = [str(number).encode() for number in range(4000)]
    hashes = hash_texts(keys)
    words, counts = build_filters(hashes[:1000].copy(), np.array([0, 1000]), 4000)
    starts = np.array([0, *counts, *counts], np.uint32)
    assert words.nbytes * 8 <= 10 * 1000 + 256
    found = [may_contain(words, starts, int(digest)).tolist() for digest in hashes]
    assert all(one for one, _ in found[:1000])
    assert not any(empty for _, empty in found)
    assert sum(one for one, _ in found[1000:]) < 3000 * 0.03
    assert len(np.unique(hash_integers(np.arange(-500, 500)))) == 1000


def test_equal_integers_and_nulls_come_as_one_array(tmp_path: Path) -> None:
    some = np.zeros(1000, np.int64)
    some[300:330] = np.random.default_rng(3).integers(-(2**40), 2**40, 30)
    holes = np.arange(1000) % 7 == 0
    table = pa.table(
        {
            "same": np.full(1000, -5, np.int8),
            "most": np.full(1000, 2**64 - 5, np.uint64),
            "some": some,
            "holes": pa.array(some, mask=holes),
            "price": pa.array([decimal.Decimal("-7.25")] * 1000, pa.decimal128(9, 2)),
            "day": pa.array([dt.date(2020, 2, 29)] * 1000),
            "none": pa.nulls(1000, pa.int32()),
            "no text": pa.nulls(1000, pa.string()),
            "nested": pa.nulls(1000, pa.list_(pa.int8())),
        }
    )
    path = tmp_path / "same.flat"
    write_table(table, path, chunk_rows=64)
    flat = open_table(path)
    for ranges in (None, [(3, 70), (100, 101), (250, 999)]):
        expected = (
            table
            if ranges is None
            else pa.concat_tables([table.slice(start, stop - start) for start, stop in ranges])
        )
        for name in table.column_names:
            found = pa.chunked_array(flat.reader(name).read(ranges))
            assert found.equals(expected.column(name)), name
            assert found.num_chunks == 1, name
