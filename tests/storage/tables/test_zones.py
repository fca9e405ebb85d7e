"""Ranges of rows that the bounds of a column in memory leave."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from raydb.storage.tables import zones
from raydb.storage.tables.parts import ArrowPart, Comparison
from raydb.storage.tables.rows import Rows


@pytest.fixture
def small_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zones, "ZONE_ROWS", 8)


def table(values: list[object], kind: pa.DataType) -> Rows:
    whole = pa.table({"x": pa.array(values, kind)})
    return Rows(whole.schema, (ArrowPart(whole),))


def asked_twice(rows: Rows, *comparisons: Comparison) -> list[tuple[int, int]]:
    assert rows.ranges(comparisons) == [(0, rows.row_count)]  # Nothing is known yet.
    return rows.ranges(comparisons)


@pytest.mark.usefixtures("small_zones")
def test_rows_of_other_zones_are_left_out() -> None:
    rows = table(list(range(30)), pa.int32())

    def beside(sign: str, value: int) -> Comparison:
        return Comparison("x", sign, pa.scalar(value, pa.int32()))

    assert asked_twice(rows, beside("==", 17)) == [(16, 24)]
    assert rows.ranges([beside("<", 8)]) == [(0, 8)]
    assert rows.ranges([beside("<=", 8)]) == [(0, 16)]
    assert rows.ranges([beside(">", 23)]) == [(24, 30)]
    assert rows.ranges([beside(">=", 23), beside("<", 24)]) == [(16, 24)]
    assert rows.ranges([beside(">", 99)]) == []


@pytest.mark.usefixtures("small_zones")
@pytest.mark.parametrize("kind", [pa.int16(), pa.string(), pa.decimal128(9, 2), pa.date32()])
def test_no_row_that_matches_is_left_out(kind: pa.DataType) -> None:
    draw = random.Random(7)
    given = [None if draw.random() < 0.3 else draw.randrange(20) + n // 10 for n in range(100)]
    given[40:56] = [None] * 16
    numbers = pa.array(given, pa.int16())
    days = numbers.cast(pa.int32()) if pa.types.is_date(kind) else numbers
    values = days.cast(kind).to_pylist()
    rows = table(values, kind)
    signs = {"==": "__eq__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
    for sign, method in signs.items():
        for value in set(values) - {None}:
            comparison = Comparison("x", sign, pa.scalar(value, kind))
            kept = {n for low, high in rows.ranges([comparison]) for n in range(low, high)}
            matches = {
                n for n, x in enumerate(values) if x is not None and getattr(x, method)(value)
            }
            assert matches <= kept
    assert not set(range(40, 56)) & kept


@pytest.mark.usefixtures("small_zones")
def test_zones_go_on_with_rows_that_are_added() -> None:
    rows = table(list(range(20)), pa.int32())
    late = Comparison("x", ">=", pa.scalar(20, pa.int32()))
    assert asked_twice(rows, late) == []
    more = rows.append(pa.table({"x": pa.array([19, 33, 34, 3, 4], pa.int32())}))
    # The zone that was not full is seen anew; so are those behind it.
    assert more.ranges([late]) == [(16, 24)]
    last = more.append(pa.table({"x": pa.array([35], pa.int32())}))
    assert last.ranges([late]) == [(16, 26)]
    assert last.ranges([Comparison("x", "<", pa.scalar(8, pa.int32()))]) == [(0, 8), (16, 26)]
    assert rows.ranges([late]) == []
