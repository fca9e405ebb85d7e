"""Rows that are found and taken by what is stored of them: the same as Arrow finds and takes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from test_flat_round_trip import stored

from raydb.errors import ProgrammingError
from raydb.kernels.backends.cpu.threads import machine_processors, use_processors
from raydb.kernels.codecs.rows import entries, take_loops
from raydb.storage.flat import column_reader
from raydb.storage.flat.encodings import find, taker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 3000
TEXTS = ("onpair", "fsst", "dictionary", "verbatim")
NUMBERS = (
    *(pa.int64(), pa.int32(), pa.int16(), pa.int8(), pa.uint64(), pa.uint8()),
    *(pa.decimal128(7, 2), pa.decimal128(38, 0)),
)
INTEGERS = ("verbatim", "frame", "run_length", "dictionary", "line", "runs", "stride")
WORDS = ["", "a", "an", "another ", "another cat", "\xfe", "ünder", "z" * 40, "zz", "dog "]


@pytest.fixture(params=["loops", "numpy"], autouse=True)
def with_and_without_loops(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    assert take_loops.take_words
    for module in (find, column_reader):
        monkeypatch.setattr(module, "are_loops_loaded", lambda: request.param == "loops")
    monkeypatch.setattr(entries, "_THREAD_BYTES", 2000)
    monkeypatch.setattr(entries, "_SLICE_BYTES", 5000)
    monkeypatch.setattr(taker, "_ROWS_AT_ONCE", 64)
    use_processors(3)
    yield
    use_processors(machine_processors())


def texts_of(seed: int) -> pa.Array:
    random = np.random.default_rng(seed)
    words = [
        "".join(random.choice(WORDS, size)) for size in random.integers(0, 5, ROWS // 6).tolist()
    ]
    # In runs now and then, so that codes are, too.
    places = np.repeat(random.integers(0, len(words), ROWS), random.integers(1, 9, ROWS))[:ROWS]
    return pa.array([words[place] for place in places], mask=random.random(ROWS) < 0.1)


def integers_of(seed: int, data_type: Any) -> pa.Array:
    random = np.random.default_rng(seed)
    values = np.repeat(random.integers(-50, 70, ROWS), random.integers(1, 5, ROWS))[:ROWS]
    if data_type.bit_width > 8:
        values *= 200
    if pa.types.is_unsigned_integer(data_type):
        values = values.astype(np.uint64) + np.uint64(2 ** (data_type.bit_width - 1))
    mask = random.random(ROWS) < 0.1
    if pa.types.is_decimal(data_type):
        numbers = [Decimal(value).scaleb(-data_type.scale) for value in values.tolist()]
        return pa.array(numbers, data_type, mask=mask)
    return pa.array(values, data_type, mask=mask)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("data_type", [pa.string(), pa.large_binary()], ids=str)
def test_texts_are_found_and_taken(seed: int, data_type: Any, tmp_path: Path) -> None:
    table = pa.table(dict.fromkeys(TEXTS, texts_of(seed).cast(data_type)))
    flat = stored(table, tmp_path, encodings={name: name for name in TEXTS}, chunk_rows=170)
    random = np.random.default_rng(seed)
    rows = random.integers(0, ROWS, 500)
    for name in TEXTS:
        found = flat.take(rows, [name]).column(0)
        found.validate(full=True)
        assert found.equals(table.column(name).take(rows)), name
        for row in [*rows[:20].tolist(), 0, ROWS - 1]:
            assert flat.take([row], [name]).equals(table.select([name]).slice(row, 1)), row
        for value in [*random.choice(WORDS, 2).tolist(), "another d", "z" * 41]:
            plain = value if data_type == pa.string() else value.encode()
            for wanted in (
                pc.field(name) == pa.scalar(plain, data_type),
                pc.starts_with(pc.field(name), plain),
                pc.starts_with(pc.field(name), plain) & (pc.field("verbatim") != plain),
            ):
                assert flat.scan(filter=wanted).equals(table.filter(wanted)), str(value)
            expected = table.filter(pc.starts_with(pc.field(name), plain))
            assert flat.scan(filter=[(name, "starts_with", plain)]).equals(expected)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("data_type", NUMBERS, ids=str)
def test_integers_are_found_and_taken(seed: int, data_type: Any, tmp_path: Path) -> None:
    column = integers_of(seed, data_type)
    of_words = not pa.types.is_decimal(data_type)
    names = [name for name in INTEGERS if of_words or name != "dictionary"]
    table = pa.table(dict.fromkeys(names, column))
    flat = stored(table, tmp_path, encodings={name: name for name in names}, chunk_rows=170)
    random = np.random.default_rng(seed)
    rows = random.integers(0, ROWS, 500)
    some = column.drop_null().take(random.integers(0, 2000, 4)).to_pylist()
    low, high = min(some), max(some)
    for name in names:
        field = pc.field(name)
        assert flat.take(rows, [name]).column(0).equals(table.column(name).take(rows)), name
        for row in rows[:20].tolist():
            assert flat.take([row], [name]).equals(table.select([name]).slice(row, 1)), row
        for wanted in (
            (field >= pa.scalar(low, data_type)) & (field < pa.scalar(high, data_type)),
            (field > pa.scalar(low, data_type)) & (field <= pa.scalar(high, data_type)),
            field == pa.scalar(low, data_type),
            (field > pa.scalar(high, data_type)) & (field < pa.scalar(low, data_type)),
            (field >= pa.scalar(low, data_type))
            & (pc.field("frame") != pa.scalar(high, data_type)),
        ):
            assert flat.scan(filter=wanted).equals(table.filter(wanted)), (name, str(wanted))


@pytest.mark.parametrize("chunk_rows", [997, 5000])
def test_few_rows_and_most_of_long_chunks(chunk_rows: int, tmp_path: Path) -> None:
    """Blocks of 1024 rows of which none, one, some or all match, in every form of a chunk."""
    random = np.random.default_rng(chunk_rows)
    count = 20_000
    keys = np.sort(random.integers(0, count, count))
    numbers = np.where(random.random(count) < 0.003, 10**9 + keys, random.integers(0, 200, count))
    runs = np.repeat(random.integers(0, 60, count), random.integers(1, 9, count))[:count]
    names = ("frame", "patched", "line", "runs", "run_length", "dictionary")
    columns = dict(zip(names, (numbers, numbers, keys, keys, runs, runs), strict=True))
    columns |= {"coded": runs, "price": numbers}
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    words = pa.array([f"{number % 7} {number}" for number in runs.tolist()])
    prices = table.column("price").cast(pa.decimal128(19)).cast(pa.decimal128(15, 2))
    table = table.set_column(6, "coded", words).set_column(7, "price", prices)
    encodings = {**{name: name for name in names}, "coded": "dictionary"}
    flat = stored(table, tmp_path, encodings=encodings, chunk_rows=chunk_rows)
    used = {column.name: set(column.encodings) for column in flat.metadata.columns}
    assert all(name in used[name] for name in names), used
    for name in names:
        field = pc.field(name)
        for low, high in ((0, 10**10), (7, 8), (50, 99), (10**9, 10**10), (3000, 3007), (-9, -1)):
            wanted = (field >= low) & (field < high)
            assert flat.scan(filter=wanted).equals(table.filter(wanted)), (name, low)
    for value in (Decimal(7), Decimal("150.00"), Decimal(10**9 + 5)):
        for wanted in (pc.field("price") < value, pc.field("price") == value):
            assert flat.scan(filter=wanted).equals(table.filter(wanted)), str(wanted)
    for wanted in (pc.field("coded") == words[5], pc.starts_with(pc.field("coded"), "3 ")):
        assert flat.scan(filter=wanted).equals(table.filter(wanted)), str(wanted)


def test_days_decimals_and_floats(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    days = [dt.date(1992, 1, 1) + dt.timedelta(int(day)) for day in random.integers(0, 2500, ROWS)]
    mask = random.random(ROWS) < 0.2
    mask[600:900] = True
    table = pa.table(
        {
            "day": pa.array(days, mask=mask),
            "price": pa.array(random.integers(0, 10**6, ROWS), mask=mask).cast(pa.decimal128(19)),
            "ratio": pa.array(random.random(ROWS), mask=mask),
            "same": pa.array(np.where(np.arange(ROWS) < 1500, 7, np.arange(ROWS)), mask=mask),
            "none": pa.nulls(ROWS, pa.int16()),
            "large": pa.array([10**25] * 600 + list(range(ROWS - 600)), pa.decimal128(38)),
        }
    )
    flat = stored(table, tmp_path, chunk_rows=100)
    wanted = (pc.field("day") >= dt.date(1994, 3, 1)) & (pc.field("day") < dt.date(1994, 4, 1))
    assert flat.scan(filter=wanted).equals(table.filter(wanted))
    assert flat.scan(filter=wanted).num_rows
    # Decimals of more than 64 bits, of which some chunks have none.
    for value in (599, 10**25, 0, 10**30):
        wanted = pc.field("large") == pa.scalar(Decimal(value), pa.decimal128(38))
        assert flat.scan(filter=wanted).equals(table.filter(wanted)), value
        wanted = pc.field("large") > pa.scalar(Decimal(value - 1), pa.decimal128(38))
        assert flat.scan(filter=wanted).equals(table.filter(wanted)), value
    for rows in (random.integers(0, ROWS, 700), np.arange(ROWS), np.array([ROWS - 1, 0, 0])):
        assert flat.take(rows).equals(table.take(rows))


@pytest.mark.parametrize("data_type", [pa.date32(), pa.date64()])
def test_days_beside_times_within_one(data_type: Any, tmp_path: Path) -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(row // 3) for row in range(90)]
    flat = stored(table := pa.table({"day": pa.array(days, data_type)}), tmp_path, chunk_rows=20)
    day = pc.field("day")
    for value in (dt.datetime(2020, 1, 9), dt.datetime(2020, 1, 9, 12)):
        for wanted in (day == value, day < value, day <= value, day > value, day >= value):
            assert flat.scan(filter=wanted).equals(table.filter(wanted)), str(wanted)


def test_rows_that_are_not_there_are_named(tmp_path: Path) -> None:
    flat = stored(pa.table({"x": ["a", "b" * 900]}), tmp_path, encodings={"x": "onpair"})
    assert flat.take([1]).to_pydict() == {"x": ["b" * 900]}
    for rows in ([2], [-1], [0, -1], [1, 2]):
        with pytest.raises(ProgrammingError, match=f"row {rows[-1]} does not exist"):
            flat.take(rows)


@pytest.mark.parametrize("name", ["x", "n", "both"])
def test_rows_are_integers(name: str, tmp_path: Path) -> None:
    column = pa.array([f"ein süßer Hund {row % 70}" for row in range(300)])
    table = pa.table({"x": column, "n": range(300)})
    flat = stored(table, tmp_path, encodings={"x": "onpair"}, chunk_rows=70)
    names = ["x", "n"] if name == "both" else [name]
    fixed = np.arange(300)
    fixed.flags.writeable = False
    for rows in (fixed, fixed[::-2], fixed.astype(np.uint16), range(299, 0, -3), pa.array([7, 7])):
        wanted = table.select(names).take(pa.array(np.asarray(rows), pa.int64()))
        assert flat.take(rows, names).equals(wanted)
    for bad in (None, 7, "7", [None], [[7]], [[7], [7, 7]], [7.0], [True], [2**70], {7}):
        with pytest.raises(ProgrammingError, match="rows are "):
            flat.take(bad, names)  # type: ignore[arg-type]
    large = np.array([7, 2**63], np.uint64)
    for missing in ([300], [-1], [*range(300), -(2**63)], large):
        for columns in (names, []):
            with pytest.raises(ProgrammingError, match="does not exist"):
                flat.take(missing, columns)


def test_rows_and_columns_of_other_kinds_are_told(tmp_path: Path) -> None:
    flat = stored(pa.table({"x": ["a", "b"], "n": [1, 2]}), tmp_path)
    assert flat.slice("x", 1, 9).to_pylist() == ["b"]
    for bad in ("a", None, 1.5, [0]):
        with pytest.raises(ProgrammingError, match="row"):
            flat.item(bad, "n")  # type: ignore[arg-type]
        with pytest.raises(ProgrammingError, match="rows are"):
            flat.slice("n", bad, 2)  # type: ignore[arg-type]
    with pytest.raises(ProgrammingError, match="row -5 does not exist"):
        flat.slice("n", -5, 2)
    for name in (None, 5):
        with pytest.raises(ProgrammingError, match=f"column '{name}' does not exist"):
            flat.item(0, name)  # type: ignore[arg-type]
        with pytest.raises(ProgrammingError, match="column"):
            flat.scan([name])  # type: ignore[list-item]
    for names in (5, "xn"):
        for read in (flat.scan, lambda names: flat.take([0], names)):
            with pytest.raises(ProgrammingError, match="columns are a list of names, not "):
                read(names)
    assert flat.take([0], iter(["n"])).equals(flat.scan(iter(["n"])).slice(0, 1))  # type: ignore[arg-type]


def test_a_value_that_was_read_is_found(tmp_path: Path) -> None:
    zone = pa.timestamp("ns", "Europe/Oslo")
    table = pa.table(
        {
            "t": pa.array([123456789, 123456000, 2**63 - 1], pa.timestamp("ns")),
            "z": pa.array([123456789, 123456000, 8 * 10**18 + 7], zone),
            "d": pa.array([123456789, 123456000, 2**63 - 1], pa.duration("ns")),
            "u": pa.array([2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
        }
    )
    flat = stored(table, tmp_path)
    for name in table.schema.names:
        for row in range(3):
            found = flat.scan(None, [(name, "==", flat.item(row, name))])
            assert found.equals(table.slice(row, 1)), (name, row)
    for number in (2**64, -(2**63) - 1, 2**70):
        with pytest.raises(ProgrammingError, match="column 'u' cannot be compared"):
            flat.scan(None, [("u", "<", number)])


def test_a_prefix_is_a_text(tmp_path: Path) -> None:
    flat = stored(pa.table({"x": ["a"], "n": [1]}), tmp_path)
    with pytest.raises(ProgrammingError, match="column 'x' starts with a text, not 5"):
        flat.scan(filter=[("x", "starts_with", 5)])
    with pytest.raises(ProgrammingError, match="cannot be evaluated"):
        flat.scan(filter=[("n", "starts_with", "5")])
