"""Rows of a column of many chunks, whatever its type, are those that Arrow takes."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from raydb.engine.fused.denormalise import _take
from raydb.storage.take_rows import take_rows

ROWS = 9_000
TYPES = [
    pa.int8(),
    pa.int64(),
    pa.uint64(),
    pa.float32(),
    pa.float64(),
    pa.date32(),
    pa.timestamp("us"),
    pa.decimal128(15, 2),
    pa.bool_(),
    pa.string(),
]


def column_of(kind: pa.DataType, *, has_nulls: bool) -> pa.ChunkedArray:
    rng = np.random.default_rng(7)
    numbers = rng.integers(0, 100, ROWS)
    array = pa.array(numbers.astype(np.int32))
    if kind == pa.timestamp("us"):
        array = array.cast(pa.int64())
    elif kind == pa.bool_():
        array = pa.array(numbers % 2)
    array = array.cast(kind)
    if has_nulls:
        array = pc.if_else(pa.array(rng.random(ROWS) < 0.2), pa.scalar(None, kind), array)
    edges = [0, 0, 5, 700, 701, 4_000, ROWS]
    return pa.chunked_array(
        [array.slice(low, high - low) for low, high in itertools.pairwise(edges)]
    )


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("has_nulls", [False, True])
@pytest.mark.parametrize("count", [0, 1, 64, 65, 2_000])
@pytest.mark.parametrize("is_ascending", [True, False])
def test_rows_are_those_that_arrow_takes(
    kind: pa.DataType, has_nulls: bool, count: int, is_ascending: bool
) -> None:
    column = column_of(kind, has_nulls=has_nulls)
    rows = np.random.default_rng(count).integers(0, ROWS, count)
    rows = np.sort(rows) if is_ascending else rows
    found = take_rows(column, rows)
    found.validate(full=True)
    assert found.to_pylist() == column.take(pa.array(rows)).to_pylist()
    assert found.type == kind


@pytest.mark.parametrize("count", [3, 200, 2_000])
@pytest.mark.parametrize("is_ascending", [False, True])
def test_rows_that_are_fetched_stay_in_their_order(count: int, is_ascending: bool) -> None:
    column = column_of(pa.decimal128(15, 2), has_nulls=False)
    rows = np.random.default_rng(count).integers(0, ROWS, count).astype(np.uint32)
    rows = np.sort(rows) if is_ascending else rows
    assert _take(column, rows).to_pylist() == column.take(pa.array(rows)).to_pylist()
