"""Keys against an oracle of plain Python dictionaries."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raydb
from raydb.kernels.stored.deferred import Deferred, DeferredValues
from raydb.storage.tables.keys import (
    ABSENT,
    NULL_KEY,
    find_rows,
    first_repeat,
    is_key_type,
    keep_first,
)

SMALL = st.integers(-3, 3)
VALUES = {
    pa.int8(): SMALL,
    pa.int32(): SMALL | st.sampled_from([-(2**31), 2**31 - 1]),
    pa.int64(): SMALL | st.sampled_from([-(2**63), 2**63 - 1, 2**31, 2**40]),
    pa.uint64(): st.sampled_from([0, 1, 2**63, 2**64 - 1]),
    pa.bool_(): st.booleans(),
    pa.float64(): st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, -1e300]),
    pa.string(): st.sampled_from(["", "a", "b", "ab", "\u00e4", "a\0"]),
    pa.binary(): st.sampled_from([b"", b"a", b"\xff"]),
    pa.decimal128(5, 2): st.sampled_from([Decimal("1.00"), Decimal("-1.50"), Decimal("999.99")]),
    pa.date32(): st.dates(dt.date(1999, 12, 30), dt.date(2000, 1, 2)),
    pa.time64("us"): st.sampled_from([dt.time(0, 0), dt.time(1, 2, 3)]),
    pa.timestamp("us"): st.sampled_from([dt.datetime(1, 1, 1), dt.datetime(2000, 1, 1)]),
}


def columns_of(rows, types, cuts=()):
    """Columns in chunks that end at `cuts`."""
    columns = []
    for place, data_type in enumerate(types):
        array = pa.array([row[place] for row in rows], data_type)
        bounds = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
        chunks = [array[a:b] for a, b in itertools.pairwise(bounds)]
        columns.append(pa.chunked_array(chunks, data_type))
    return columns


def comparable(row):
    """A row as a dictionary key: SQL's NaN equals itself, and -0.0 equals 0.0."""
    return tuple("NaN" if isinstance(v, float) and math.isnan(v) else v for v in row)


@st.composite
def keys(draw, sides):
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    row = st.tuples(*(st.none() | VALUES[t] for t in types))
    return types, [draw(st.lists(row, max_size=12)) for _ in range(sides)]


@pytest.mark.long
@settings(max_examples=400)
@given(keys(1), st.lists(st.integers(0, 12), max_size=3))
def test_first_repeat_is_that_of_a_dictionary(case, cuts):
    types, (rows,) = case
    expected, seen = None, {}
    for number, row in enumerate(rows):
        if None not in row:
            if comparable(row) in seen:
                expected = number, seen[comparable(row)]
                break
            seen[comparable(row)] = number
    assert first_repeat(columns_of(rows, types, cuts)) == expected


@settings(max_examples=200)
@given(keys(1), st.integers(1, 3))
def test_keep_first_goes_row_by_row(case, split):
    types, (rows,) = case
    parts = [slice(0, len(types))] if split > len(types) else [slice(0, split), slice(split, None)]
    parts = [part for part in parts if types[part]]
    taken = [set() for _ in parts]
    expected = []
    for row in rows:
        own = [comparable(row[part]) for part in parts]
        stays = not any(key in seen for key, seen in zip(own, taken, strict=True))
        expected.append(stays)
        for key, seen in zip(own, taken, strict=True):
            if stays and None not in key:
                seen.add(key)
    keys_of = [columns_of([row[part] for row in rows], types[part]) for part in parts]
    assert keep_first(keys_of, len(rows)).tolist() == expected


@pytest.mark.long
@settings(max_examples=400)
@given(keys(2), st.lists(st.integers(0, 12), max_size=3))
def test_find_rows_is_a_dictionary(case, cuts):
    types, (probe, target) = case
    known: dict = {}
    unique = []
    for row in target:
        if None in row or comparable(row) not in known:
            if None not in row:
                known[comparable(row)] = len(unique)
            unique.append(row)
    expected = [NULL_KEY if None in row else known.get(comparable(row), ABSENT) for row in probe]
    found = find_rows(columns_of(probe, types, cuts), columns_of(unique, types))
    assert found.dtype == np.int32
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("probe", "target"),
    [(pa.int8(), pa.int64()), (pa.int64(), pa.int16()), (pa.uint64(), pa.int32()),
     (pa.int8(), pa.uint64())],
)  # fmt: skip
def test_integers_of_any_width_are_comparable(probe, target):
    found = find_rows([pa.chunked_array([pa.array([5, 1, 7], probe)])],
                      [pa.chunked_array([pa.array([1, 5], target)])])  # fmt: skip
    assert found.tolist() == [1, 0, ABSENT]
    far = pa.chunked_array([pa.array([1000, 1001], pa.int64())])
    assert find_rows([pa.chunked_array([pa.array([5, 1], probe)])], [far]).tolist() == [ABSENT] * 2
    if target == pa.int32():
        big = pa.chunked_array([pa.array([2**64 - 1], pa.uint64())])
        assert find_rows([big], [pa.chunked_array([pa.array([-1], target)])]).tolist() == [ABSENT]


@pytest.mark.parametrize("spread", [1, 1000, 2**40])
@pytest.mark.parametrize("sizes", [(20_000, 300), (300, 20_000), (5, 20_000), (20_000, 20_000)])
@pytest.mark.parametrize("width", [1, 2])
def test_large_keys_of_every_spread(spread, sizes, width):
    # The spreads and sizes choose among the lookup array, both sorts and the membership filter.
    print(f"seed: {(spread, *sizes, width)}")
    random = np.random.default_rng((spread, *sizes, width))
    probe_count, target_count = sizes
    distinct = random.choice(50_000, target_count, replace=False).astype(np.int64)
    asked = random.integers(0, 50_000, probe_count)

    def columns(numbers):
        if width == 1:
            return [pa.chunked_array([numbers * spread - 7])]
        return [pa.chunked_array([numbers // 9 * spread]), pa.chunked_array([numbers % 9 - 4])]

    row_of = {int(value): row for row, value in enumerate(distinct)}
    expected = [row_of.get(int(value), ABSENT) for value in asked]
    assert find_rows(columns(asked), columns(distinct)).tolist() == expected
    assert first_repeat(columns(distinct)) is None
    doubled = np.append(distinct, distinct[17 % target_count])
    assert first_repeat(columns(doubled)) == (target_count, 17 % target_count)


def test_three_wide_columns_do_not_wrap():
    wide = [-(2**63), 0, 2**63 - 1]
    rows = [(a, b, c) for a in wide for b in wide for c in wide]
    types = [pa.int64()] * 3
    assert first_repeat(columns_of(rows, types)) is None
    assert first_repeat(columns_of([*rows, rows[4]], types)) == (27, 4)
    assert find_rows(columns_of(rows[::-1], types), columns_of(rows, types)).tolist() == list(
        range(26, -1, -1)
    )


def test_nested_types_are_no_keys():
    assert not is_key_type(pa.list_(pa.float32()))
    assert not is_key_type(pa.null())
    assert all(is_key_type(data_type) for data_type in VALUES)


def test_ranges_of_rows_follow_no_key_before_it_is_asked_for():
    with raydb.connect() as con:
        con.execute("CREATE TABLE d (k INTEGER PRIMARY KEY); INSERT INTO d VALUES (7), (8), (9)")
        con.execute("CREATE TABLE f (k INTEGER REFERENCES d (k), v INTEGER)")
        con.execute("INSERT INTO f VALUES (9, 0), (8, 1), (7, 2), (NULL, 3), (8, 4), (9, 5)")
        table = con._session.databases.snapshot.tables["f"]
    (key,) = table.foreign_rows
    ranges = ((1, 3), (4, 6))
    assert table.only(ranges).foreign_rows[key].tolist() == [1, 0, 1, 2]
    asked = []
    pointers = Deferred(lambda: asked.append(key) or table.foreign_rows[key])
    part = replace(table, foreign_rows=DeferredValues({key: pointers})).only(ranges)
    assert part.rows.column("v").to_pylist() == [1, 2, 4, 5]
    assert not asked
    assert part.foreign_rows[key].tolist() == [1, 0, 1, 2]
    assert asked == [key]
