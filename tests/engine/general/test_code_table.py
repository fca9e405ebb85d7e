"""Integers of any range, numbered by a hash table, for groups and for joins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from raydb.engine.operators import codes
from raydb.engine.operators.join import keys
from raydb.engine.operators.join.keys import encode_keys
from raydb.kernels.codecs.code_table import number_codes


@pytest.mark.parametrize("distinct", [1, 300, 90_000])
def test_integers_are_numbered_as_they_come(distinct: int) -> None:
    draw = np.random.default_rng(distinct)
    least, most = -(2**63), 2**63 - 1
    values = draw.integers(least, most, distinct)[draw.integers(0, distinct, 120_000)]
    values[[0, 70_000, 119_999]] = least, most, 0
    table, numbers = number_codes(values)
    expected = pc.dictionary_encode(pa.array(values))
    assert (numbers == expected.indices.to_numpy()).all()
    assert (table.known == expected.dictionary.to_numpy()).all()
    assert (table.find(values) == numbers).all()
    assert table.find(values[:1] + 1).tolist() == [-1]


@pytest.mark.parametrize("step", [pow(0x9E3779B97F4A7C15, -1, 2**64), 1_134_903_170, 1, 2**40])
def test_evenly_spaced_integers_lie_far_apart_in_the_table(step: int) -> None:
    values = (np.arange(16_000, dtype=np.uint64) * np.uint64(step)).view(np.int64)
    table, _ = number_codes(values)
    free = np.flatnonzero(table.slots < 0)
    gaps = np.diff(free, prepend=-1, append=len(table.slots))
    assert gaps.max() < 500  # so many slots are looked through at most


def test_no_integers() -> None:
    table, numbers = number_codes(np.empty(0, np.int64))
    assert len(table.known) == len(numbers) == 0
    assert table.find(np.array([0, -1])).tolist() == [-1, -1]


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (codes, keys):
        monkeypatch.setattr(module, "MANY_CODES", 0)


@pytest.mark.usefixtures("always")
def test_groups_and_partners_are_those_of_a_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(3)
    wide = draw.integers(-(2**62), 2**62, 500)

    def column(count: int) -> pa.Array:
        return pa.array(wide[draw.integers(0, 500, count)], mask=draw.random(count) < 0.1)

    left, right = [column(3000), column(3000)], [column(400), column(400)]
    by_table = codes.group_rows(left, 3000), encode_keys(right, left, [1])
    for module in (codes, keys):
        monkeypatch.setattr(module, "MANY_CODES", 2**16)
    grouped, joined = codes.group_rows(left, 3000), encode_keys(right, left, [1])
    assert (by_table[0].members.numbers == grouped.members.numbers).all()
    assert (by_table[0].rows == grouped.rows).all()
    assert (by_table[1].build == joined.build).all()
    assert (by_table[1].probe == joined.probe).all()
    assert by_table[1].size == joined.size
