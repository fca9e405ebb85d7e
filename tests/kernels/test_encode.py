"""Dictionaries keep order; hierarchies are found from the data."""

import datetime as dt
import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from raydb.kernels.bvh import encode
from raydb.kernels.bvh.encode import (
    encode_blocks,
    encode_column,
    find_hierarchies,
    join_codes,
)
from raydb.kernels.codecs.arrow_numbers import from_numbers


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5))))
def test_codes_follow_the_order_of_the_values_with_null_last(values):
    encoded = encode_column(pa.array(values, pa.int32()))
    expected = sorted({v for v in values if v is not None})
    expected += [None] if None in values else []
    assert encoded.values.to_pylist() == expected
    assert [expected[code] for code in encoded.codes] == values


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["b", "a", None, "b"], pa.string()),
        ([dt.date(2020, 1, 2), dt.date(1999, 1, 1)], pa.date32()),
        ([True, False, None, True], pa.bool_()),
        ([0.5, None, -1.0], pa.float64()),
        ([], pa.string()),
    ],
)
def test_every_type_round_trips(values, kind):
    encoded = encode_column(pa.chunked_array([values[:2], values[2:]], kind))
    assert encoded.values.take(pa.array(encoded.codes)).to_pylist() == values


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint16(), pa.int64(), pa.date32(), pa.timestamp("us"), pa.decimal128(9, 2)],
    ids=str,
)
def test_whole_numbers_are_coded_as_other_values_are(kind, monkeypatch):
    rng = np.random.default_rng(3)
    numbers = rng.integers(0 if kind == pa.uint16() else -60, 60, 300)
    absent = rng.random(300) < 0.1
    columns = [from_numbers(numbers[:count], ~absent[:count], kind) for count in (0, 1, 300)]
    columns.append(from_numbers(numbers, None, kind))
    direct = [encode_column(column) for column in columns]
    monkeypatch.setattr(encode, "is_whole", lambda _: False)
    for found, column in zip(direct, columns, strict=True):
        wanted = encode_column(column)
        assert (found.codes.dtype, found.codes.tolist()) == (np.int32, wanted.codes.tolist())
        assert found.values.equals(wanted.values)


@pytest.mark.parametrize("least_span", [0, 100, 2**20])
@pytest.mark.parametrize(
    "values",
    [
        np.arange(500)[::-1] * 3 % 500,
        np.arange(500) * 7919 % 1000,
        np.arange(500) * 1_000_003 - 2**40,
        np.arange(500) % 40 / 8,
    ],
    ids=["dense", "twice as wide", "sparse", "doubles"],
)
def test_blocks_are_encoded_as_the_whole(values, least_span, monkeypatch):
    monkeypatch.setattr(encode, "BLOCK_ROWS", 64)
    monkeypatch.setattr(encode, "DIRECT_SPAN", least_span)
    column = pa.array(values, mask=np.arange(500) % 11 == 3)
    whole = encode_column(column)
    read, told = [], []

    def block(low, high):
        read.append(high - low)
        return column.slice(low, high - low)

    found = encode_blocks(block, len(column), told.append)
    assert found.codes.tolist() == whole.codes.tolist()
    assert found.values.equals(whole.values)
    assert sum(told) == found.codes.nbytes
    # A dictionary of many values is not hashed again for each few rows.
    assert max(read) == 64 or max(read) <= found.cardinality


def test_negative_zero_is_zero():
    zeros = pa.array([0.0, -0.0])
    assert encode_column(zeros).values.to_pylist() == [0.0]
    assert encode_column(zeros.dictionary_encode()).values.to_pylist() == [0.0]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2)), min_size=1))
def test_joined_codes_number_the_distinct_tuples_in_order(rows):
    columns = [encode_column(pa.array(column)) for column in zip(*rows, strict=True)]
    codes, tuples = join_codes(columns)
    named = [
        tuple(column.values[int(c)].as_py() for column, c in zip(columns, row, strict=True))
        for row in tuples
    ]
    assert named == sorted(set(rows))
    assert [named[code] for code in codes] == rows


def test_few_rows_of_many_possible_tuples_are_sorted_and_need_no_table_of_flags(monkeypatch):
    rows = [(i % 300, i * 11 % 299, i) for i in range(600)]
    lengths = []
    whole = np.cumsum

    def cumsum(values, **how):
        lengths.append(len(values))
        return whole(values, **how)

    columns = [encode_column(pa.array(column)) for column in zip(*rows, strict=True)]
    monkeypatch.setattr(np, "cumsum", cumsum)
    codes, tuples = join_codes(columns)
    assert [tuple(row) for row in tuples.tolist()] == sorted(rows)
    assert [tuple(tuples[code].tolist()) for code in codes] == rows
    assert max(lengths, default=0) <= len(rows)


def geography():
    """4 regions, 3 nations in each, 5 cities in each."""
    rows = [
        (f"R{r}", f"N{9 - r}{n}", f"C{n}{r}{c}")
        for r, n, c in itertools.product(range(4), range(3), range(5))
    ]
    return [encode_column(pa.array(column)) for column in zip(*rows, strict=True)]


def test_a_hierarchy_is_found_in_any_order_and_its_levels_are_ranges():
    region, nation, city = geography()
    ((hierarchy, codes),) = find_hierarchies([city, region, nation], [True, True, True])
    assert hierarchy.columns == (1, 2, 0)
    assert hierarchy.code_count == 60
    assert hierarchy.is_scan_only
    for level in hierarchy.levels[:2]:
        values = level.to_pylist()
        runs = [value for value, _ in itertools.groupby(values)]
        assert len(runs) == len(set(runs)), "a coarse value is not one range of codes"
    assert hierarchy.levels[2].take(pa.array(codes)).equals(city.values.take(pa.array(city.codes)))


def test_scan_levels_come_first_and_group_levels_are_stored():
    region, nation, city = geography()
    ((hierarchy, _),) = find_hierarchies([city, nation, region], [False, True, False])
    # The region is known once the nation is, so it is part of Z at no cost.
    assert hierarchy.columns == (2, 1, 0)
    assert hierarchy.scan_count == 12
    assert not hierarchy.is_scan_only
    assert np.all(np.diff(hierarchy.scan_codes) >= 0)


def test_independent_columns_stay_apart():
    rows = list(itertools.product(range(10), range(12)))
    columns = [encode_column(pa.array(column)) for column in zip(*rows, strict=True)]
    found = find_hierarchies(columns, [True, True])
    assert [hierarchy.columns for hierarchy, _ in found] == [(0,), (1,)]


def test_columns_that_hang_together_without_a_chain_share_an_attribute():
    # A month has 5 or 6 of the 53 weeks, and a week lies in one or two months.
    days = [dt.date(1993, 1, 1) + dt.timedelta(n) for n in range(3 * 365)]
    months = encode_column(pa.array([d.year * 100 + d.month for d in days]))
    weeks = encode_column(pa.array([d.timetuple().tm_yday // 7 + 1 for d in days]))
    found = find_hierarchies([months, weeks], [True, True])
    assert [hierarchy.columns for hierarchy, _ in found] == [(0, 1)]


def test_few_rows_make_no_columns_hang_together():
    numbers = np.random.default_rng(1).integers(0, 1000, (2, 5000))
    columns = [encode_column(pa.array(column)) for column in numbers]
    found = find_hierarchies(columns, [True, True])
    assert [hierarchy.columns for hierarchy, _ in found] == [(0,), (1,)]


def test_rows_may_stand_for_more():
    days = np.arange(1000)
    columns = [encode_column(pa.array(days // 10)), encode_column(pa.array(days % 97 // 5 * 5))]
    assert len(find_hierarchies(columns, [True, True])) == 2
    assert len(find_hierarchies(columns, [True, True], 4000)) == 1


def test_no_rows():
    empty = encode_column(pa.array([], pa.string()))
    ((hierarchy, codes),) = find_hierarchies([empty, empty], [True, False])
    assert hierarchy.code_count == 0
    assert len(codes) == 0
