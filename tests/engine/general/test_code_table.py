"""Integers of any range, numbered by a hash table, for groups and for joins."""

from __future__ import annotations

from typing import Any

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
    monkeypatch.setattr(keys, "_STEPS_A_ROW", -1)  # no chains
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


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("steps", [8, 0, -1], ids=["chains", "too long chains", "no chains"])
def test_keys_of_several_columns_are_equal_where_all_are(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "_STEPS_A_ROW", steps)
    monkeypatch.setattr(keys, "_FEW_CODES", 16)
    draw = np.random.default_rng(4)
    ranges = (90, 7, 40)

    def columns(count: int) -> list[pa.Array]:
        return [
            pa.array(draw.integers(0, most, count), mask=draw.random(count) < 0.1)
            for most in ranges
        ]

    build, probe = columns(300), columns(2000)
    build[0] = pa.array([*build[0].to_pylist()[:200], *build[0].to_pylist()[:100]])
    for null_safe in ((), (1,), (0, 1, 2)):
        for place in range(1, 4):
            codes = encode_keys(build[:place], probe[:place], null_safe)
            for own in (build, probe):
                found = codes.build if own is build else codes.probe
                expected = _equal(build[:place], own[:place], null_safe)
                assert ((codes.build[:, None] == found) & (found >= 0) == expected).all()
            assert max(codes.build.max(), codes.probe.max()) < codes.size


def _equal(left: list[pa.Array], right: list[pa.Array], null_safe: tuple[int, ...]) -> Any:
    """Return for each row on the left and each on the right whether all keys are equal."""
    found: Any = True
    for place in range(len(left)):
        one, other = (side[place].fill_null(-1).to_numpy() for side in (left, right))
        found = found & (one[:, None] == other)
        if place not in null_safe:
            found = found & (one[:, None] >= 0)
    return found
