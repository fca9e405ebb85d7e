"""Keys part by part: what is found is what all rows at once give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_keys import columns_of, comparable, keys

from raydb.storage.tables import key_parts
from raydb.storage.tables import keys as whole
from raydb.storage.tables.parts import ArrowPart
from raydb.storage.tables.rows import Rows

LIMIT = 100_000


@pytest.fixture(autouse=True, scope="module")
def parts():
    """Split rows however few they are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_parts, "_part_count", lambda columns, row_count: 3)
        patch.setattr(key_parts, "_BLOCK_ROWS", 5)
        yield


@pytest.mark.long
@settings(max_examples=300)
@given(keys(1), st.lists(st.integers(0, 12), max_size=3))
def test_first_repeat_is_that_of_all_rows(case, cuts):
    types, (rows,) = case
    columns = columns_of(rows, types, cuts)
    assert key_parts.first_repeat(columns) == whole.first_repeat(columns)


@settings(max_examples=300)
@given(keys(2), st.lists(st.integers(0, 12), max_size=3))
def test_rows_are_found_as_among_all(case, cuts):
    types, (probe, target) = case
    unique = list({comparable(row): row for row in target}.values())
    sides = columns_of(probe, types, cuts), columns_of(unique, types)
    found = key_parts.find_rows(*sides)
    assert found.dtype == np.int32
    assert found.tolist() == whole.find_rows(*sides).tolist()


@settings(max_examples=200)
@given(keys(1), st.lists(st.integers(0, 12), max_size=3))
def test_the_first_rows_are_kept_as_of_all(case, cuts):
    types, (rows,) = case
    columns = [columns_of(rows, types, cuts)]
    kept = key_parts.keep_first(columns, len(rows))
    assert kept.tolist() == whole.keep_first(columns, len(rows)).tolist()


def test_integers_of_other_widths_are_in_one_part():
    numbers = [*range(-40, 90), 2**31 - 1]
    found = key_parts.find_rows(
        [pa.chunked_array([pa.array(numbers, pa.int64())])],
        [pa.chunked_array([pa.array(numbers[::-1], pa.int32())])],
    )
    assert found.tolist() == [*range(len(numbers))][::-1]


def test_columns_that_are_many_are_read_in_pieces(monkeypatch):
    monkeypatch.setattr(key_parts, "read_limit", lambda: LIMIT)
    kept = []
    monkeypatch.setattr(
        key_parts, "keep_rows", lambda rows, are_many: kept.append((rows, are_many)) or rows
    )
    numbers = np.random.default_rng(3).permutation(30_000)
    live = numbers % 3 > 0
    table = pa.table({"id": pa.array(numbers), "s": pa.array(numbers.astype(str))})
    rows = Rows(table.schema, (ArrowPart(table[:7_000]), ArrowPart(table[7_000:])))
    found = key_parts.key_columns(rows, ["id", "s"], live)
    assert all(many and rows.nbytes < LIMIT / 8 for rows, many in kept)
    assert len(kept) > 20
    assert [column.to_pylist() for column in found] == [
        column.to_pylist() for column in table.filter(live).columns
    ]
    assert key_parts.key_columns(rows, ["id"])[0].to_pylist() == numbers.tolist()
