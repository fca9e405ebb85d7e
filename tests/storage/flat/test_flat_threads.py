"""A file has the same bytes, however many threads encode its columns; threads read one table."""

from __future__ import annotations

import io
import threading

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from raydb.errors import OperationalError
from raydb.running import Interrupts, Running
from raydb.storage.flat import column_plan, open_table, write, write_table
from raydb.storage.flat.encodings import find
from raydb.storage.flat.write import write_stream

ROWS = 200_000


@pytest.fixture(scope="module")
def rows():
    draw = np.random.default_rng(5)
    numbers = draw.integers(0, 2**40, ROWS)
    few = draw.integers(0, 50, ROWS)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "wide": pa.array(numbers, mask=few == 3),
            "few": few,
            "x": draw.random(ROWS),
            "text": pa.array([f"a text of {n % 9973} words" for n in numbers.tolist()]),
            "shop": pa.array([f"shop {n}" for n in few.tolist()]),
            "price": pa.array(numbers).cast(pa.decimal128(20, 0)),
            "list": pa.array([[n] * (n % 3) for n in few.tolist()]),
            "none": pa.nulls(ROWS, pa.int32()),
        }
    )


def written(table):
    sink = io.BytesIO()
    write_stream(sink, table)
    return sink.getvalue()


def test_threads_write_the_same_bytes(rows, monkeypatch):
    in_threads = written(rows)
    monkeypatch.setattr(write, "_FEW_RUNS", 10**9)
    monkeypatch.setattr(column_plan, "_THREAD_ROWS", 10**9)
    before = threading.active_count()
    assert written(rows) == in_threads
    assert threading.active_count() == before


def test_an_error_of_a_chunk_ends_the_threads(rows, monkeypatch):
    def fail(plan, first, array, known):
        if first >= 100_000:
            raise ZeroDivisionError(first)
        return original(plan, first, array, known)

    original = write.encode_rows
    monkeypatch.setattr(write, "encode_rows", fail)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        written(rows)
    assert threading.active_count() == before


def test_an_interrupt_ends_the_threads(rows):
    interrupts = Interrupts()

    class Sink(io.BytesIO):
        def write(self, data):
            if self.tell() > 100_000:
                interrupts.interrupt()
            return super().write(data)

    before = threading.active_count()
    with pytest.raises(OperationalError, match="interrupted"), Running(interrupts):
        write_stream(Sink(), rows)
    assert threading.active_count() == before


def test_a_chunk_that_another_thread_opens_is_read_by_its_address(tmp_path, monkeypatch):
    """A thread reads a chunk as soon as it is kept, before all that is known of it is."""
    monkeypatch.setattr(find, "are_loops_loaded", lambda: True)
    texts = [f"a text of {row % 97} words, row {row}" for row in range(3000)]
    table = pa.table({"x": texts})
    write_table(table, tmp_path / "x.flat", chunk_rows=3000, encodings={"x": "fsst"})
    flat, wanted, found = open_table(tmp_path / "x.flat"), pc.field("x") == texts[7], []

    class Chunks(list):
        def __setitem__(self, number, chunk):
            super().__setitem__(number, chunk)
            if not found:
                found.append(None)
                other = threading.Thread(target=lambda: found.append(flat.scan(filter=wanted)))
                other.start()
                other.join(5)

    reader = flat.reader("x")
    reader._chunks = Chunks(reader._chunks)
    found.append(flat.scan(filter=wanted))
    assert [each.num_rows for each in found[1:]] == [1, 1]
