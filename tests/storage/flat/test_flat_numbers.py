"""Numbers of many chunks, read by one loop: the same as was written, whichever rows are wanted."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from test_flat_round_trip import stored

from raydb.errors import OperationalError
from raydb.kernels.backends.cpu.threads import machine_processors, use_processors
from raydb.kernels.codecs import packed_loops
from raydb.kernels.codecs.rows import entries, lanes, scan_loops
from raydb.storage.flat import FlatTable, column_reader, open_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 9000
ENCODINGS = ("frame", "line", "stride", "run_length", "runs", "dictionary", "patched", "verbatim")
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.fixture(autouse=True)
def _in_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    assert packed_loops.unpack_line
    monkeypatch.setattr(entries, "_THREAD_BYTES", 2000)
    monkeypatch.setattr(entries, "_SLICE_BYTES", 9000)
    use_processors(3)
    yield
    use_processors(machine_processors())


def check_slices(table: pa.Table, flat: FlatTable, seed: int) -> None:
    """Compare all rows, some that begin and end anywhere, and some that lie anywhere."""
    random = np.random.default_rng(seed)
    bounds = np.sort(random.integers(0, len(table) + 1, (6, 2)), axis=1).tolist()
    rows = random.integers(0, len(table), 200)
    taken = flat.take(rows)
    taken.validate(full=True)
    assert taken.equals(table.take(rows).combine_chunks())
    for name in table.column_names:
        column = table.column(name)
        assert flat.scan([name]).column(0).equals(column), name
        for start, stop in [*bounds, (1, len(table)), (1023, 1025), (7, len(table) - 1)]:
            found = flat.slice(name, start, stop)
            found.validate(full=True)
            assert found.equals(column.slice(start, stop - start)), (name, start, stop)


def numbers_of(encoding: str, dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, Any]:
    """Return integers that an encoding is good for, at the limits of their type."""
    random, rows = np.random.default_rng(seed), np.arange(ROWS)
    info = np.iinfo(dtype)
    span = int(random.integers(1, min(int(info.max), 2**62) // 2))
    match encoding:
        case "line":
            values = rows // max(ROWS // 50, 1) + random.integers(0, 3, ROWS)
        case "stride":
            values = random.integers(0, 6, ROWS) * 7
        case "run_length":
            values = np.repeat(random.integers(0, 100, ROWS), random.integers(1, 900, ROWS))[:ROWS]
        case "runs" | "dictionary":
            # Runs of one and of many rows; in a dictionary some are of one chunk alone.
            lengths = random.choice([1, 1, 2, 3, 7, 8, 9, 40], ROWS)
            values = np.repeat(random.integers(0, 60, ROWS) + rows // 4000, lengths)[:ROWS]
        case "patched":
            values = random.integers(0, 9, ROWS)
            values[random.random(ROWS) < 0.01] = 100
        case _:
            values = random.integers(0, span, ROWS)
    # The greatest ones are the greatest of the type; sums wrap around.
    shifted = values.astype(np.uint64) + np.uint64((int(info.max) - int(values.max())) % 2**64)
    return shifted.astype(dtype)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("seed", range(2))
def test_integers_of_every_encoding(name: str, seed: int, tmp_path: Path) -> None:
    dtype = np.dtype(name)
    mask = np.random.default_rng(seed).random(ROWS) < 0.1 * seed
    table = pa.table(
        {each: pa.array(numbers_of(each, dtype, seed), mask=mask) for each in ENCODINGS}
    )
    sizes = (1000, 4097)
    flat = stored(
        table, tmp_path, encodings={each: each for each in ENCODINGS}, chunk_rows=sizes[seed]
    )
    found = {column.name: set(column.encodings) for column in flat.metadata.columns}
    assert all(each in found[each] for each in ENCODINGS if each != "patched"), found
    check_slices(table, flat, seed)


def test_every_width_of_every_size(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    columns = {}
    for bits in (8, 16, 32, 64):
        for width in range(1, bits + 1):
            high = 2**width - 1
            columns[f"{width} in {bits}"] = random.integers(
                0, high, 1037, np.uint64, endpoint=True
            ).astype(f"u{bits // 8}")
    table = pa.table(columns)
    encodings = dict.fromkeys(columns, "frame")
    flat = stored(table, tmp_path, encodings=encodings, chunk_rows=345)
    assert {chunk.width for column in flat.metadata.columns for chunk in column.chunks} >= {
        *range(1, 14),
        *range(17, 28),
        *range(33, 57),
    }
    check_slices(table, flat, 5)


def test_doubles_and_decimals(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    cents = random.integers(-(10**6), 10**6, ROWS)
    prices = cents / 100
    prices[random.random(ROWS) < 0.01] = np.pi
    prices[17:20] = (np.nan, -0.0, np.inf)
    lengths = random.integers(1, 9, ROWS)
    few = random.choice([0.5, -0.0, np.nan, 6e4], ROWS)
    decimal = pa.decimal128(19)
    table = pa.table(
        {
            "alp": prices,
            "alp in runs": np.repeat(prices, lengths)[:ROWS],
            "dictionary": few,
            "dictionary of float32": few.astype(np.float32),
            "dictionary of float16": few.astype(np.float16),
            "frame": pa.array(cents).cast(decimal),
            "stride": pa.array(cents * 100).cast(decimal),
            "runs": pa.array(np.repeat(cents, lengths)[:ROWS]).cast(decimal),
            "run_length": pa.array(np.repeat(cents, 50 * lengths)[:ROWS]).cast(decimal),
            "line": pa.array(np.arange(ROWS) * 1001 - 4000).cast(decimal),
        }
    )
    flat = stored(table, tmp_path, chunk_rows=2000)
    for column in flat.metadata.columns:
        assert column.name.split()[0] in column.encodings, (column.name, column.encodings)
    for name in table.column_names:
        for start, stop in ((0, ROWS), (5, 4001), (1999, 2001), (2048, ROWS)):
            found = flat.slice(name, start, stop)
            expected = table.column(name).slice(start, stop - start)
            assert found.type == expected.type
            found, expected = found.combine_chunks(), expected.combine_chunks()
            bits = [each.view(pa.binary(each.type.bit_width // 8)) for each in (found, expected)]
            assert bits[0].equals(bits[1]), (name, start)


def test_loops_are_asked_for_chunks_of_numbers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"n": np.arange(ROWS) % 97, "text": ["a", "b"] * (ROWS // 2)})
    flat = stored(table, tmp_path, chunk_rows=1000)
    calls: list[int] = []
    scan = scan_loops.scan_words

    def counted(*arguments: Any) -> None:
        calls.append(len(arguments[2].chunks))
        scan(*arguments)

    monkeypatch.setattr(scan_loops, "scan_words", counted)
    assert flat.scan().equals(table)
    assert sum(calls) == 9
    assert len(calls) > 1  # By several threads.
    calls.clear()
    assert flat.slice("n", 1500, 1600).equals(table.column("n").slice(1500, 100))
    assert not calls  # Of one chunk.
    monkeypatch.setattr(column_reader, "loops_for", lambda _count: None)
    assert flat.scan().equals(table)
    assert not calls


@pytest.mark.parametrize("encoding", ["frame", "dictionary", "runs", "run_length", "patched"])
def test_what_is_wrong_is_named_before_the_loop_runs(encoding: str, tmp_path: Path) -> None:
    from flat_model import parse

    numbers = numbers_of(encoding, np.dtype(np.int32), 1)
    path = tmp_path / "table.flat"
    stored(pa.table({"n": numbers}), tmp_path, encodings={"n": encoding}, chunk_rows=4500)
    model = parse(path)
    chunk = model.columns[0].chunks[1]
    good = chunk.sections["payload"]
    random = np.random.default_rng(7)
    whole = pa.table({"n": numbers})
    for _ in range(60):
        data = bytearray(good)
        match random.integers(0, 3):
            case 0:
                data = data[: random.integers(0, len(data))]
            case 1:
                data += bytes(int(random.integers(1, 99)))
            case _:
                for place in random.integers(0, min(len(data), 700), 4).tolist():
                    data[place] = int(random.integers(0, 256))
        chunk.sections["payload"] = bytes(data)
        path.write_bytes(model.to_bytes())
        with open_table(path) as flat:
            try:
                found = flat.scan()
            except OperationalError:
                continue
            assert found.slice(0, 4500).equals(whole.slice(0, 4500))
            # A forged integer is cut to its type.
            items = np.array([flat.item(row, "n") for row in range(4500, ROWS, 37)])
            assert (items.astype(np.int32) == found.column(0).to_numpy()[4500::37]).all()


def test_entries_that_a_chunk_without_codes_claims_take_no_memory(tmp_path: Path) -> None:
    from flat_model import parse

    table = pa.table({"n": np.arange(ROWS) % 97})
    path = tmp_path / "table.flat"
    stored(table, tmp_path, encodings={"n": "frame"}, chunk_rows=1000)
    model = parse(path)
    model.columns[0].chunks[3].lies["dictionary_count"] = 2**26
    path.write_bytes(model.to_bytes())
    tracemalloc.start()
    with open_table(path) as flat:
        assert flat.scan().equals(table)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2**24


_WITHOUT_SHUFFLES = """
import numpy as np, pyarrow as pa
from raydb.kernels.codecs.rows import lanes
from raydb.kernels.codecs import packed_loops
from raydb.storage.flat import open_table, write_table
assert lanes.shuffle_name() is None
random = np.random.default_rng(1)
table = pa.table({
    "packed": random.integers(0, 5000, 4000, np.int32),
    "wide": random.integers(0, 2**40, 4000),
    "runs": np.repeat(random.integers(0, 99999, 4000), 3)[:4000].astype(np.int16),
})
write_table(table, "t.flat", chunk_rows=1000)
assert open_table("t.flat").scan().equals(table)
"""


@pytest.mark.long
def test_processors_without_the_shuffle(tmp_path: Path) -> None:
    assert lanes.shuffle_name() is not None
    features = {"NUMBA_CPU_FEATURES": "", "NUMBA_CPU_NAME": "generic"}
    command = [sys.executable, "-c", _WITHOUT_SHUFFLES]
    subprocess.run(command, check=True, cwd=tmp_path, env={**os.environ, **features})
