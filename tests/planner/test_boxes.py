"""OR over several hierarchies as disjoint boxes, against every combination of codes."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from raydb.planner.expressions.nodes import Attribute, Call, Expression, conjunction
from raydb.planner.stars.codes.boxes import MAX_BOXES, joint_intervals, narrow_boxes

RADICES = (3, 4, 5)


@pytest.mark.parametrize("seed", range(30))
def test_boxes_have_what_the_predicates_allow_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks: dict[Expression, tuple[int, np.ndarray]] = {}

    def part() -> Expression:
        number = int(rng.integers(len(RADICES)))
        each = Attribute((), f"p{len(masks)}", pa.bool_())
        masks[each] = number, rng.random(RADICES[number]) < rng.choice((0.1, 0.5, 0.9))
        return each

    predicates = [
        Call(
            "or",
            tuple(
                conjunction([part() for _ in range(rng.integers(1, 4))])
                for _ in range(rng.integers(2, 4))
            ),
            pa.bool_(),
        )
        for _ in range(rng.integers(1, 3))
    ]
    boxes = [tuple(np.ones(radix, np.bool_) for radix in RADICES)]
    for predicate in predicates:
        narrowed = narrow_boxes(boxes, predicate, masks.get)
        assert narrowed is not None
        boxes = narrowed

    def holds(expression: Expression, codes: tuple[int, ...]) -> bool:
        if isinstance(expression, Call):
            how = any if expression.function == "or" else all
            return how(holds(each, codes) for each in expression.arguments)
        number, mask = masks[expression]
        return bool(mask[codes[number]])

    for codes in itertools.product(*map(range, RADICES)):
        inside = [all(m[c] for m, c in zip(box, codes, strict=True)) for box in boxes]
        assert sum(inside) == all(holds(each, codes) for each in predicates), codes


def test_what_is_no_or_of_boxes_is_none() -> None:
    box = (np.ones(3, np.bool_),)
    known = Attribute((), "a", pa.bool_())
    masks = {known: (0, np.array([True, False, True]))}
    unknown = Attribute((), "b", pa.bool_())
    assert narrow_boxes([box], known, masks.get) is None
    assert narrow_boxes([box], Call("or", (known, unknown), pa.bool_()), masks.get) is None
    apart = [(row,) for row in np.eye(MAX_BOXES + 1, dtype=np.bool_)]
    masks[known] = 0, np.ones(MAX_BOXES + 1, np.bool_)
    either = Call("or", (known, known), pa.bool_())
    assert narrow_boxes(apart, either, masks.get) is None
    narrowed = narrow_boxes(apart[1:], either, masks.get)
    assert narrowed is not None
    assert np.array_equal(narrowed, apart[1:])


def test_intervals_of_boxes_are_in_order_and_merged() -> None:
    parts = [np.array([[6, 7], [9, 12]]), np.array([[0, 2], [7, 8]])]
    assert joint_intervals(parts).tolist() == [[0, 2], [6, 8], [9, 12]]
    assert joint_intervals([]).tolist() == []
