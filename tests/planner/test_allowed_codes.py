"""The codes that a predicate allows, by ranks, beside the predicate's value for each code."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from raydb.kernels.bvh.encode import Hierarchy
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Attribute, Call, Expression, Literal
from raydb.planner.stars.codes import allowed_codes as module
from raydb.planner.stars.codes.allowed_codes import allowed_codes

COMPARISONS = ("equal", "less", "less_equal", "greater", "greater_equal")
TEXTS = ["", "a", "A", "ab", "é", "z", "�", "\U0001f600", None]
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "integer": (pa.int32(), [-(2**31), -1, 0, 7, 8, 2**31 - 1, None]),
    "tinyint": (pa.uint8(), [0, 1, 255]),
    "date": (pa.date32(), [dt.date(1, 1, 1), dt.date(1992, 2, 29), dt.date(9999, 12, 31), None]),
    "decimal": (pa.decimal128(9, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("7.25"), None]),
    "text": (pa.string(), TEXTS),
}


def hierarchy_of(*levels: pa.Array) -> Hierarchy:
    count = len(levels[0])
    return Hierarchy(tuple(range(len(levels))), levels, np.arange(count, dtype=np.int32), count)


def random_predicate(rng: Random, attributes: list[Attribute], depth: int = 2) -> Expression:
    if depth and rng.random() < 0.4:
        parts = [random_predicate(rng, attributes, depth - 1) for _ in range(rng.randint(2, 3))]
        return Call(rng.choice(("and", "or")), tuple(parts), pa.bool_())
    attribute = rng.choice(attributes)
    values = next(values for kind, values in KINDS.values() if kind == attribute.type)
    others = {pa.string(): ["b", "zz"], pa.int32(): [1, 9]}.get(attribute.type, [])
    constants = [
        Literal(value, attribute.type) for value in rng.choices([*values, *others, None], k=3)
    ]
    if rng.random() < 0.3:
        return Call("in", (attribute, *constants), pa.bool_())
    sides: list[Expression] = [attribute, constants[0]]
    rng.shuffle(sides)
    return Call(rng.choice(COMPARISONS), tuple(sides), pa.bool_())


@pytest.mark.parametrize("seed", range(40))
def test_codes_are_those_for_which_it_is_true(seed: int) -> None:
    rng = Random(seed)
    names = rng.sample(list(KINDS), rng.randint(1, 3))
    attributes = [Attribute((), name, KINDS[name][0]) for name in names]
    rows = [[rng.choice(KINDS[name][1]) for name in names] for _ in range(rng.choice((1, 9, 60)))]
    columns = [
        pa.array([row[place] for row in rows], KINDS[name][0]) for place, name in enumerate(names)
    ]
    hierarchy = hierarchy_of(*columns)
    levels = {attribute: (0, place) for place, attribute in enumerate(attributes)}
    inputs = dict(zip(attributes, hierarchy.levels, strict=True))
    for _ in range(20):
        predicate = random_predicate(rng, attributes)
        found = allowed_codes(predicate, hierarchy, levels)
        expected = pc.fill_null(evaluate(predicate, inputs, hierarchy.code_count), False)
        assert found is not None
        assert found.dtype == np.bool_
        assert found.tolist() == expected.to_pylist(), predicate


@pytest.mark.parametrize("seed", range(10))
def test_many_numbers_are_found_by_an_array(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_VALUES", 2)
    rng = Random(seed)
    name = rng.choice(("integer", "tinyint", "date"))
    kind, values = KINDS[name]
    attribute = Attribute((), name, kind)
    hierarchy = hierarchy_of(pa.array(rng.choices(values, k=30), kind))
    for _ in range(20):
        predicate = random_predicate(rng, [attribute])
        found = allowed_codes(predicate, hierarchy, {attribute: (0, 0)})
        inputs = {attribute: hierarchy.levels[0]}
        expected = pc.fill_null(evaluate(predicate, inputs, hierarchy.code_count), False)
        assert found is not None
        assert found.tolist() == expected.to_pylist(), predicate


@pytest.mark.parametrize(
    "predicate",
    [
        Call(
            "not_equal", (Attribute((), "f", pa.float64()), Literal(1.0, pa.float64())), pa.bool_()
        ),
        Call("less", (Attribute((), "f", pa.float64()), Literal(1.0, pa.float64())), pa.bool_()),
        Call("less", (Attribute((), "i", pa.int32()), Attribute((), "i", pa.int32())), pa.bool_()),
        Call("less", (Attribute((), "i", pa.int32()), Literal(1, pa.int64())), pa.bool_()),
        Literal(value=True, type=pa.bool_()),
    ],
    ids=lambda predicate: str(predicate)[:24],
)
def test_other_predicates_have_none(predicate: Expression) -> None:
    columns = [pa.array([1.0, float("nan")]), pa.array([1, 2], pa.int32())]
    hierarchy = hierarchy_of(*columns)
    levels = {
        Attribute((), "f", pa.float64()): (0, 0),
        Attribute((), "i", pa.int32()): (0, 1),
    }
    assert allowed_codes(predicate, hierarchy, levels) is None


@pytest.mark.parametrize(
    ("limit", "values"),
    [("MOST_VALUES", pa.array(["a", "b", "c"])), ("_MOST_RANKED", pa.array([1, 2, 3], pa.int32()))],
)
def test_many_values_have_none(
    limit: str, values: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, limit, 2)
    attribute = Attribute((), "i", values.type)
    predicate = Call("less", (attribute, Literal(values[1].as_py(), values.type)), pa.bool_())
    assert allowed_codes(predicate, hierarchy_of(values), {attribute: (0, 0)}) is None
