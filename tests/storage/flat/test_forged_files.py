"""Files whose checksums hold and whose contents do not: refused by name, or read within bounds."""

from __future__ import annotations

import os
import struct
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from flat_model import Column, Model, parse, plain_chunk, plain_column
from forged_flat import forge
from read_forged import MOST_MB
from sandbox import run_cases

import raydb
from raydb.errors import DataError, NotSupportedError, OperationalError
from raydb.flatstor import open_table, write_table
from raydb.running import DeviceMemory, Running
from raydb.storage.flat import column_reader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FILES = int(os.environ.get("RAYDB_FORGED", "40"))
SEED = int(os.environ.get("RAYDB_FORGED_SEED", "0"))
MANY_ROWS = 2**24


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from Linux's /proc")
def test_forged_files_are_harmless() -> None:
    report = run_cases("read_forged:read_forged", range(SEED, SEED + FILES), memory_mb=MOST_MB)
    assert not report.failures, "\n".join(map(str, report.failures))


def test_a_seed_is_a_file() -> None:
    assert forge(1) == forge(1) != forge(2)


def write_model(path: Path, *columns: Column) -> Path:
    """Write a file of columns that agree with each other; return its path."""
    names = [f"c{number}" for number in range(len(columns))]
    fields = [pa.field(name, each.type) for name, each in zip(names, columns, strict=True)]
    model = Model(columns[0].fields["row_count"], pa.schema(fields), list(columns))
    path.write_bytes(model.to_bytes())
    return path


def constant_text(data_type: Any, text: bytes, rows: int) -> Column:
    return plain_column(data_type, [plain_chunk(rows, 1, 8, payload=text)])


@pytest.mark.parametrize("data_type", [pa.string(), pa.large_binary()])
def test_one_text_stands_for_more_than_4_gib(data_type: Any, tmp_path: Path) -> None:
    text = bytes(range(32, 127)) * 2 + b"x" * 67
    path = write_model(tmp_path / "x.flat", constant_text(data_type, text, MANY_ROWS))
    before = pa.total_allocated_bytes()
    with Running() as running, open_table(path) as flat:
        running.begin(DeviceMemory(), lambda: None)
        column = flat.column("c0")
        assert len(column) == MANY_ROWS
        for row in (0, 16_000_000, MANY_ROWS - 1):
            assert column[row].as_buffer().to_pybytes() == text
        # The bytes of all rows are those of a few.
        assert pa.total_allocated_bytes() < before + 2**27


def test_entries_and_symbols_stand_for_more_than_2_gib(tmp_path: Path) -> None:
    entry = struct.pack("<III", 0, 1, 70_001) + b"a" + b"x" * 70_000
    codes = np.packbits(np.arange(2**15) % 2 == 1, bitorder="little").tobytes()
    column = plain_column(pa.string(), [plain_chunk(2**15, 5, 1, payload=codes)], shared_count=2)
    column.parts["dictionary"] = entry
    path = write_model(tmp_path / "x.flat", column)
    with raydb.connect() as connection:
        connection.execute("SET memory_limit = '300MB'")
        with pytest.raises(OperationalError, match=r"needs about 1.15 GB, and memory_limit is 300"):
            connection.execute(f"SELECT max(c0) FROM '{path}'")
        # The entries are counted by their codes: 1.15 GB and not twice as many.
        connection.execute(f"SELECT count(*) FROM '{path}'")


def runs(data_type: Any, rows: int, chunk_count: int, value: int = 0) -> Column:
    payload = struct.pack("<II", 1, rows) + b"\0"
    chunks = [plain_chunk(rows, 4, 1, payload=payload) for _ in range(chunk_count)]
    for chunk in chunks:
        chunk.fields["reference"] = value
    return plain_column(data_type, chunks)


def test_one_forged_integer_is_cut_to_its_type_as_many_are(tmp_path: Path) -> None:
    chunk = plain_chunk(3, 1, 8)
    chunk.fields["reference"] = 2**62 + 5
    with open_table(write_model(tmp_path / "x.flat", plain_column(pa.uint8(), [chunk]))) as flat:
        assert flat.take([1]).to_pydict() == {"c0": [5]}
        assert flat.take([1, 2]).to_pydict() == {"c0": [5, 5]}


def test_entries_that_a_chunk_without_codes_claims_are_not_looked_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(column_reader, "are_loops_loaded", lambda: True)
    chunks = [plain_chunk(3, 2, 8, payload=bytes([1, 2, 3])) for _ in range(2)]
    chunks[1].fields["dictionary_count"] = 16
    with open_table(write_model(tmp_path / "x.flat", plain_column(pa.int8(), chunks))) as flat:
        assert flat.take([0, 4, 5] * 100).column(0).to_pylist() == [1, 2, 3] * 100


def test_rows_that_a_file_may_claim_are_counted_at_once(tmp_path: Path) -> None:
    path = write_model(tmp_path / "x.flat", runs(pa.int64(), MANY_ROWS, 40))
    with raydb.connect() as connection:
        connection.execute("SET memory_limit = '200MB'")
        counted = connection.execute(f"SELECT count(*) FROM '{path}'").fetchall()
        assert counted == [(40 * MANY_ROWS,)]
        assert connection.execute(f"SELECT c0 FROM '{path}' LIMIT 2").fetchall() == [(0,)] * 2
        for query in ("SELECT c0, count(*) FROM '{}' GROUP BY c0", "SELECT sum(c0) FROM '{}'"):
            with pytest.raises(OperationalError, match=r"needs about .* GB, and memory_limit is"):
                connection.execute(query.format(path))


def claim(model: Model) -> None:
    model.row_count = 2**40


def claim_in_columns(model: Model) -> None:
    model.row_count = model.columns[0].fields["row_count"] = 2**25 + 2
    model.columns[0].chunks[0].fields["row_count"] = 2**25


def overlap(model: Model) -> None:
    model.columns[0].chunks[1].lies["offset"] = 64


def cut_blooms(model: Model) -> None:
    model.columns[1].parts["blooms"] += bytes(8)


def narrow_decimals(model: Model) -> None:
    model.schema = model.schema.set(3, model.schema.field(3).with_type(pa.decimal128(1, 0)))


def compress(model: Model) -> None:
    array = pa.array([[0] * 2**16] * 4)
    batch = pa.RecordBatch.from_arrays([array], names=[""])
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    reader.read_next_message()
    payload = reader.read_next_message().serialize().to_pybytes()
    model.columns[2].chunks[0].sections["payload"] = payload


def fill_with_nothing(model: Model) -> None:
    offsets = pa.array([0, 2**30, 2**30, 2**30, 2**30], pa.int32())
    array = pa.ListArray.from_arrays(offsets, pa.nulls(2**30))
    batch = pa.RecordBatch.from_arrays([array], names=[""])
    model.columns[4].chunks[0].sections["payload"] = batch.serialize().to_pybytes()


def name_modality(model: Model) -> None:
    model.columns[0].modality_name = b"a\x1b[31m"


def empty_batch(model: Model) -> None:
    model.columns[2].chunks[0].sections["payload"] = b""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (claim, "at most 50331648 rows, found 1099511627776"),
        (claim_in_columns, "at most 16777216 rows a chunk"),
        (overlap, "chunks behind each other"),
        (cut_blooms, "bloom filters of 32 bytes a block"),
        (narrow_decimals, "decimals of 1 digits in a chunk of column 'd'"),
        (compress, r"an Arrow record batch .* found another \(compressed buffers\)"),
        (fill_with_nothing, r"an Arrow record batch .* found another \(1073741824 elements\)"),
        (name_modality, "the name of a modality, found 'a"),
        (empty_batch, "an Arrow record batch .* found another"),
    ],
)
def test_what_contradicts_itself_is_named(
    change: Callable[[Model], None], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.flat"
    table = pa.table(
        {
            "n": [5, 5, 9, 9],
            "id": [1, 4, 2, 3],
            "list": [[1], [2], [], [3]],
            "d": pa.array([1, 22, 3, 4]).cast(pa.decimal128(19)),
            "nulls": pa.array([[None], [], [], []], pa.list_(pa.null())),
        }
    )
    rows = {"n": 2, "id": 1, "list": 4, "d": 4, "nulls": 4}
    write_table(table, path, chunk_rows=rows, encodings={"id": "frame"})
    model = parse(path)
    change(model)
    path.write_bytes(model.to_bytes())
    with pytest.raises(OperationalError, match=f"is damaged at offset .*expected .*{expected}"):
        _ = [open_table(path).reader(name).read() for name in table.column_names]
    with raydb.connect() as connection, pytest.raises(OperationalError, match=expected):
        connection.execute(f"SELECT n, id, list, d, nulls FROM '{path}'")


def test_types_that_no_writer_has_are_refused_before_a_plan_is_made(tmp_path: Path) -> None:
    zeros = runs(pa.decimal128(9, 2**31 - 1), 4, 1)
    path = write_model(tmp_path / "x.flat", zeros)
    with raydb.connect() as connection:
        for query in ("SELECT c0 FROM '{}' WHERE c0 = '7'", "SUMMARIZE SELECT * FROM '{}'"):
            with pytest.raises(NotSupportedError, match="which FlatStor does not store"):
                connection.execute(query.format(path))


def test_values_that_python_lacks_are_errors_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "x.flat"
    days = pa.array([2**30, 0], pa.int32()).view(pa.date32())
    times = pa.array([2**62, 0], pa.int64()).view(pa.time64("us"))
    zoned = pa.array([0, 0], pa.timestamp("us", "No/Zone"))
    write_table(pa.table({"days": days, "times": times, "zoned": zoned}), path)
    with open_table(path) as flat:
        for name in flat.schema.names:
            with pytest.raises(DataError, match=f"row 0 of column '{name}' has no Python value"):
                flat.item(0, name)
        assert flat.scan(["days", "times"]).column("days").equals(pa.chunked_array([days]))
    with raydb.connect() as connection:
        assert connection.execute(f"SELECT min(zoned)::VARCHAR FROM '{path}'").fetchone() == (
            "1970-01-01 00:00:00+00",
        )
        for days_of in ("days", "days::VARCHAR"):
            text = connection.execute(f"SELECT {days_of} FROM '{path}'").fetchone()
            assert text == ("2941775-04-07",)
        with pytest.raises(DataError, match="a TIME of the answer is no value of Python"):
            connection.execute(f"SELECT times FROM '{path}'").fetchall()
        written = connection.execute(f"SELECT times::VARCHAR FROM '{path}'").fetchone()
        assert "out of range" in written[0]


def test_values_that_do_not_fit_may_be_in_zones_that_are_unknown(tmp_path: Path) -> None:
    seconds = pa.array([2**53], pa.int64()).view(pa.timestamp("s", "No/Zone"))
    listed = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), seconds)
    path = tmp_path / "x.flat"
    write_table(pa.table({"plain": seconds, "listed": listed}), path)
    with raydb.connect() as connection:
        for name, shown in (("plain", "'.*Z'"), ("listed", "a value that cannot be written")):
            with pytest.raises(DataError, match=f"row 1, column '{name}': {shown} does not fit"):
                connection.execute(f"SELECT {name} FROM '{path}'")
