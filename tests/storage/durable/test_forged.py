"""A database of a stranger, whose check sums are right, is refused or answers: nothing worse.

RAYDB_FORGED=50000 RAYDB_FORGED_SEED=1 pytest -n 0 tests/storage/durable/test_forged.py
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from forged import QUERIES, build, forge, forge_at

import raydb
from raydb.errors import OperationalError
from raydb.kernels.stored.described import Described
from raydb.kernels.stored.ipc import read_table
from raydb.kernels.stored.stored_arrays import StoredArrays, below, between, flags, rising, spans

FORGED = int(os.environ.get("RAYDB_FORGED", "15"))
SEED = int(os.environ.get("RAYDB_FORGED_SEED", "0"))


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_forged_databases_are_refused_or_answer(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "reliability"))
    from sandbox import run_cases

    seeds = range(SEED * 1_000_000, SEED * 1_000_000 + FORGED)
    report = run_cases("forged:read_forged", seeds, memory_mb=1000, seconds=60)
    print(report)
    assert not report.failures, "\n".join(map(str, report.failures[:20]))
    assert report.refused


def refusal(path):
    """Return the first error of opening a database and of all queries, None where there is none."""
    try:
        with raydb.connect(path, read_only=True) as con:
            for query in QUERIES:
                con.execute(query).fetchall()
    except raydb.Error as error:  # a view's text may be wrong, and is bound where it is used
        return error
    return None


@pytest.mark.long
def test_what_is_forged_is_found(tmp_path):
    """What is not forged is answered, and each kind of forgery is refused at least once."""
    build(tmp_path / "whole.raydb")
    assert refusal(tmp_path / "whole.raydb") is None
    kinds = set()
    for seed in range(40):
        path = tmp_path / f"{seed}.raydb"
        shutil.copytree(tmp_path / "whole.raydb", path)
        told, error = forge(path, seed), refusal(path)
        if error is not None:
            is_of_file = isinstance(error, OperationalError)
            assert "is damaged" in str(error) or not is_of_file, (told, error)
            kinds.add(told.split(":")[0])
        shutil.rmtree(path)
    assert kinds >= {".bvh", ".ivf", ".cal", ".keys", ".man", ".log"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        (".bvh", ("properties", "bvh", "hierarchies", 0, "scan_count"), 2**31),
        (".bvh", ("properties", "bvh", "hierarchies", 0, "scan_count"), 2**62),
        (".man", ("tables", 0, "primary_key", 0), []),
    ],
)
def test_counts_are_compared_before_anything_is_made_of_them(tmp_path, kind, place, value):
    build(tmp_path / "x.raydb")
    forge_at(tmp_path / "x.raydb", kind, place, value)
    with pytest.raises(OperationalError, match="is damaged"):
        raydb.connect(tmp_path / "x.raydb")


@pytest.mark.parametrize(
    ("array", "rule"),
    [
        (np.array([0, 5], np.uint32), below(5)),
        (np.array([-2, 5], np.int32), between(-1, 9)),
        (np.array([0.0, np.nan], np.float32), between(-1e17, 1e17)),
        (np.array([1, 1]), rising),
        (np.array([0, 4, 3, 5]), spans(5)),
        (np.array([1, 5]), spans(5)),
        (np.empty(0, np.int64), spans(0)),
        (np.array([0, 1, 2], np.uint8).view(np.bool_), flags),
    ],
)
def test_rules_are_kept(array, rule):
    arrays = StoredArrays({"a": array}, "x.bvh")
    with pytest.raises(OperationalError, match=r"'x\.bvh' is damaged: expected array 'a'"):
        arrays.take("a", array.dtype, array.shape, rule)


def test_types_and_shapes_are_kept():
    arrays = StoredArrays({"a": np.zeros((2, 3), np.int32)}, "x.bvh")
    assert arrays.take("a", np.int32, (-1, 3)).shape == (2, 3)
    for name, dtype, shape in [
        ("b", np.int32, (2, 3)),
        ("a", np.uint32, (2, 3)),
        ("a", np.int32, (3, 2)),
        ("a", np.int32, (6,)),
    ]:
        with pytest.raises(OperationalError, match="is damaged"):
            arrays.take(name, dtype, shape)


@pytest.mark.parametrize(
    "read",
    [
        lambda state: state["b"],
        lambda state: state["a"].items(2),
        lambda state: state["a"].text(),
        lambda state: state["n"].integer(0, 6),
        lambda state: state["flag"].integer(),
        lambda state: state["n"].flag(),
        lambda state: state["nan"].number(),
        lambda state: state["a"]["x"],
        lambda state: state["text"].text("l2", "ip"),
    ],
)
def test_json_is_taken_by_its_type(read):
    text = b'{"a": [1], "n": 7, "flag": true, "nan": NaN, "text": "cosine"}'
    with pytest.raises(OperationalError, match=r"'1\.man' is damaged: expected state"):
        read(Described.parse(text, "1.man", "state"))


def test_a_stream_whose_names_are_no_text_is_none():
    sink = pa.BufferOutputStream()
    table = pa.table({"name": [1]})
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    written = sink.getvalue().to_pybytes()
    assert read_table(memoryview(written)).equals(table)
    assert read_table(memoryview(written.replace(b"name", b"nam\xff"))) is None


@pytest.mark.parametrize("text", [b"{", b"\xff", b"[" * 100_000, b"1" * 10_000])
def test_text_that_is_no_json_is_named(text):
    with pytest.raises(OperationalError, match=r"'1\.man' is damaged: state is not JSON"):
        Described.parse(text, "1.man", "state")
