"""Integers in all widths and encodings, by the compiled loops and by NumPy, which agree."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from test_flat_round_trip import check_everything, stored

from raydb.errors import OperationalError
from raydb.kernels.codecs import packed_loops
from raydb.storage.flat import column_reader, open_table, write_stream, zone_map
from raydb.storage.flat.encodings import bits, integers, runs, survey

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 20_003


@pytest.fixture(params=["compiled", "numpy"])
def _loops(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    found = packed_loops if request.param == "compiled" else None
    for module in (bits, column_reader, integers, runs):
        monkeypatch.setattr(module, "loops_for", lambda _count: found)
    if found is None:
        for module in (survey, zone_map):
            monkeypatch.setattr(module, "survey_loops", lambda: None)


def in_all_widths() -> pa.Table:
    random = np.random.default_rng(1)
    columns = {}
    for width in range(1, 65):
        most = 2**width - 1
        columns[f"u{width}"] = random.integers(0, most, ROWS, np.uint64, endpoint=True)
        low, high = -(2 ** (width - 1)), 2 ** (width - 1) - 1
        columns[f"s{width}"] = random.integers(low, high, ROWS, endpoint=True)
    return pa.table(columns)


def in_all_encodings() -> pa.Table:
    random = np.random.default_rng(2)
    keys = random.integers(0, 10**6, ROWS // 3)
    lengths = random.integers(1, 8, len(keys))
    words = np.array(["AIR", "RAIL", "SHIP"])[keys % 3]
    counted = np.arange(ROWS, dtype=np.uint64) * np.uint64(7)
    shaken = 1000 * np.arange(ROWS) + random.integers(0, 9, ROWS)
    decimals = pa.decimal128(21, 2)
    return pa.table(
        {
            "line": np.arange(ROWS) - 5,
            "line from 2**63 on": counted + np.uint64(2**63 - 70_000),
            "line down": np.sort(random.integers(-(2**60), 2**60, ROWS))[::-1],
            "line of decimals": pa.array(shaken).cast(decimals),
            "line with NULLs": pa.array(shaken, mask=np.arange(ROWS) % 9 == 3),
            "runs": np.repeat(keys, lengths)[:ROWS],
            "runs in line": np.repeat(np.sort(keys), lengths)[:ROWS],
            "runs of decimals": pa.array(np.repeat(keys, lengths)[:ROWS]).cast(decimals),
            "stride": random.integers(-(10**5), 10**5, ROWS) * 10**9 + 5,
            "stride of decimals": pa.array(random.integers(0, 50, ROWS) * 100).cast(decimals),
            "stride of bytes": pa.array((random.integers(-9, 9, ROWS) * 7).astype(np.int8)),
            "dictionary": np.repeat(words, lengths)[:ROWS],
            "dictionary of numbers": np.repeat(keys % 5 * 10**9 + keys % 3, lengths)[:ROWS],
        }
    )


@pytest.mark.usefixtures("_loops")
def test_every_width_is_read(tmp_path: Path) -> None:
    table = in_all_widths()
    flat = stored(table, tmp_path)
    check_everything(table, flat, [0, 16_383, 16_384, ROWS - 1, 17, 17])
    widths = {chunk.width for column in flat.metadata.columns for chunk in column.chunks}
    # What saves less than an eighth of whole words is in whole words.
    assert widths >= {1, 2, 3, 5, 6, 7, 13, 14, 16, 28, 32, 33, 56, 64}
    assert not widths & {15, 29, 31, 57, 63}


@pytest.mark.usefixtures("_loops")
def test_every_encoding_is_read(tmp_path: Path) -> None:
    table = in_all_encodings()
    flat = stored(table, tmp_path, encodings={"stride of bytes": "stride"})
    random = np.random.default_rng(3)
    check_everything(table, flat, random.integers(0, ROWS, 300).tolist())
    for name in table.column_names:
        for start, stop in ((5, 6), (100, 17_000), (16_380, 16_390), (ROWS - 3, ROWS), (7, 7)):
            expected = table.column(name).slice(start, stop - start)
            assert flat.slice(name, start, stop).equals(expected), (name, start)
    for column in flat.metadata.columns:
        assert set(column.encodings) == {column.name.split(maxsplit=1)[0]}, column.name
    short = {column.name: column.size_bytes for column in flat.metadata.columns}
    assert short["line"] < 1000
    assert short["dictionary"] < ROWS // 4


def test_loops_and_numpy_write_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = (in_all_widths(), in_all_encodings())
    written: list[list[bytes]] = []
    for loops in (packed_loops, None):
        monkeypatch.setattr(bits, "loops_for", lambda _count, found=loops: found)
        sinks = [io.BytesIO() for _ in tables]
        for table, sink in zip(tables, sinks, strict=True):
            write_stream(sink, table)
        written.append([sink.getvalue() for sink in sinks])
    assert written[0] == written[1]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 63, 64, 65])
@pytest.mark.parametrize("width", [0, 1, 3, 7, 8, 12, 25, 26, 33, 57, 64])
def test_the_last_values_are_loaded_byte_by_byte(
    count: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(width)
    values = random.integers(0, 2**width - 1, count, np.uint64, endpoint=True)
    packed = bits.pack(values, width)
    payload = memoryview(packed.tobytes())
    assert len(payload) == bits.packed_bytes(count, width)
    line = bits.Line(5, -3, 2**31)
    rows = np.arange(count)
    for loops in (packed_loops, None):
        monkeypatch.setattr(bits, "loops_for", lambda _count, found=loops: found)
        for start in range(0, count, 3):
            assert (bits.unpack(payload, width, count, slice(start, count)) == values[start:]).all()
        assert (bits.unpack(payload, width, count, rows[::-1]) == values[::-1]).all()
        found = bits.unpack_line(payload, width, count, line, slice(None), np.dtype(np.int64))
        assert (found == values.astype(np.int64) + 5 - 3 * rows + rows // 2).all()
    if width:
        read = bits.packed_reader(payload, width)
        assert [read(row) for row in range(count)] == values.tolist()


def test_many_values_bring_the_loops() -> None:
    assert bits.loops_for(2**20) is packed_loops
    assert bits.loops_for(0) is packed_loops  # They are there now.


def change(data: bytes, place: int, value: int) -> bytes:
    return data[:place] + value.to_bytes(8, "little") + data[place + 8 :]


@pytest.mark.parametrize(
    ("encoding", "damage", "expected"),
    [
        ("line", lambda p: p[:9], "a line of 16 bytes"),
        ("line", lambda p: change(p, 8, 2**32), "a fraction below 4294967296"),
        ("line", lambda p: p + b"\0", "bytes of values"),
        ("stride", lambda p: p[:4], "a stride"),
        ("stride", lambda p: p[:-1], "bytes of values"),
        ("runs", lambda p: p[:9], "runs of 16 bytes"),
        ("runs", lambda p: bytes([p[0] ^ 1]) + p[1:], "the bits and ranks of 24 rows"),
        ("runs", lambda p: p[:4] + b"\1" + p[5:], "the bits and ranks of 24 rows"),
        ("runs", lambda p: p[:8] + b"\1" + p[9:], "the bits and ranks of 24 rows"),
        ("runs", lambda p: bytes([p[0] ^ 2]) + p[1:], "bytes of values"),
    ],
)
def test_what_does_not_hold_is_named(
    encoding: str, damage: Any, expected: str, tmp_path: Path
) -> None:
    from flat_model import parse

    rows = range(24)
    numbers = {
        "line": [row * 3 + row % 2 for row in rows],
        "runs": [row // 4 * 5 % 11 for row in rows],
        "stride": [row * 7 % 11 * 100 for row in rows],
    }
    path = tmp_path / "table.flat"
    stored(pa.table({"n": numbers[encoding]}), tmp_path, encodings={"n": encoding})
    model = parse(path)
    sections = model.columns[0].chunks[0].sections
    sections["payload"] = damage(sections["payload"])
    path.write_bytes(model.to_bytes())
    with open_table(path) as flat, pytest.raises(OperationalError, match=f"expected .*{expected}"):
        flat.scan()


def test_the_least_decimal_of_64_bits_comes_back(tmp_path: Path) -> None:
    least = -(2**63)
    values = pa.array([least, least + 1000, least, least + 5000] * 8)
    table = pa.table({"d": values.cast(pa.decimal128(19))})
    for encoding in ("stride", "frame", "line", "runs", "run_length", "patched"):
        flat = stored(table, tmp_path, encodings={"d": encoding}, chunk_rows=8)
        assert flat.scan().equals(table), encoding
