"""Exact arithmetic of decimals, in 64 bits and beyond, against Python's."""

from __future__ import annotations

import operator
import random
from decimal import Decimal, localcontext

import numpy as np
import pyarrow as pa
import pytest

from raydb.errors import DataError
from raydb.planner.expressions.columns.decimals import calculate, narrow, widen
from raydb.planner.expressions.evaluator import evaluate
from raydb.planner.expressions.nodes import Call, Column, Literal
from raydb.planner.expressions.registry import may_raise

OPERATIONS = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
COMPARISONS = {"less": operator.lt, "greater_equal": operator.ge, "equal": operator.eq}
TYPES = [(1, 0), (4, 2), (15, 2), (18, 0), (18, 18), (19, 4), (25, 2), (38, 0), (38, 6), (38, 38)]
ROWS = 60


def values_of(precision, scale, draw):
    """Return values of every magnitude that the type has, its extremes and NULL."""
    largest = 10**precision - 1
    drawn = [0, 1, -1, largest, -largest]
    drawn += [draw.randint(-(10**digits), 10**digits) for digits in range(precision)]
    unscaled = [None if draw.random() < 0.1 else draw.choice(drawn) for _ in range(ROWS)]
    with localcontext(prec=80):
        return [None if value is None else Decimal(value).scaleb(-scale) for value in unscaled]


def result_type(function, left, right):
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    if function == "multiply":
        scale, digits = left.scale + right.scale, left.precision + right.precision
    return None if scale > 38 else pa.decimal128(min(digits, 38), scale)


@pytest.mark.parametrize("function", OPERATIONS)
@pytest.mark.parametrize("left", TYPES)
def test_arithmetic_is_exact_or_an_error(function, left):
    draw = random.Random(f"{function}{left}")
    for right in TYPES:
        kinds = pa.decimal128(*left), pa.decimal128(*right)
        kind = result_type(function, *kinds)
        if kind is None:
            continue
        one, other = Column(0, "one", kinds[0]), Column(1, "other", kinds[1])
        values = values_of(*left, draw), values_of(*right, draw)
        for rows in (slice(0, ROWS), slice(7, 12), slice(3, 4)):
            # The slices give Arrow arrays with an offset.
            arrays = [pa.array(v, k)[rows] for v, k in zip(values, kinds, strict=True)]
            with localcontext(prec=100):
                expected = [
                    None if None in pair else OPERATIONS[function](*pair)
                    for pair in zip(*(v[rows] for v in values), strict=True)
                ]
                room = Decimal(10) ** (kind.precision - kind.scale)
                fits = all(value is None or abs(value) < room for value in expected)
            call = Call(function, (one, other), kind)
            inputs = {one: arrays[0], other: pa.chunked_array([arrays[1][:2], arrays[1][2:]])}
            if fits:
                assert evaluate(call, inputs, len(arrays[0])).to_pylist() == expected
            else:
                assert may_raise(call)
                with pytest.raises(DataError, match="out of range"):
                    evaluate(call, inputs, len(arrays[0]))


@pytest.mark.parametrize("function", COMPARISONS)
@pytest.mark.parametrize("kind", TYPES)
def test_comparisons(function, kind):
    draw = random.Random(f"{function}{kind}")
    one = Column(0, "one", pa.decimal128(*kind))
    values = values_of(*kind, draw)
    threshold = next(value for value in values if value is not None)
    call = Call(function, (one, Literal(threshold, one.type)), pa.bool_())
    expected = [None if v is None else COMPARISONS[function](v, threshold) for v in values]
    assert evaluate(call, {one: pa.array(values, one.type)}, ROWS).to_pylist() == expected
    assert (
        evaluate(call, {one: pa.array(values, one.type)[5:]}, ROWS - 5).to_pylist()
        == (expected[5:])
    )


def test_a_chain_of_operations_over_prices_stays_in_64_bits():
    money = pa.decimal128(15, 2)
    price = narrow(pa.array([Decimal("104949.50"), Decimal("900.00"), None], money))
    share = narrow(pa.array([Decimal("0.93"), Decimal("1.00"), Decimal("0.90")], money))
    once = calculate("multiply", price, share, pa.decimal128(30, 4))
    twice = calculate("multiply", once, share, pa.decimal128(38, 6))
    assert twice.values.type == pa.int64()
    assert widen(twice, pa.decimal128(38, 6)).to_pylist() == [
        Decimal("90770.822550"),
        Decimal("900.000000"),
        None,
    ]


def test_what_may_not_fit_64_bits_is_refused():
    wide = pa.decimal128(18, 0)
    largest = narrow(pa.array([Decimal(10**18 - 1)], wide))
    assert calculate("multiply", largest, largest, pa.decimal128(36, 0)) is None
    assert narrow(pa.array([Decimal(2**63)], pa.decimal128(38, 0))) is None
    assert narrow(pa.array([Decimal(2**63 - 1)], pa.decimal128(38, 0))) is not None
    assert narrow(pa.array([Decimal(-(2**63))], pa.decimal128(38, 0))) is not None
    assert narrow(pa.array([1.5])) is None


def test_what_lies_below_a_null_is_ignored():
    words = np.array([[5, 0], [7, 7]], np.int64)  # the second is 7 * 2**64 + 7
    validity = pa.py_buffer(bytes([0b01]))
    kind = pa.decimal128(38, 0)
    array = pa.Array.from_buffers(kind, 2, [validity, pa.py_buffer(words)])
    assert widen(narrow(array), kind).to_pylist() == [Decimal(5), None]


def test_calls_that_have_room_cannot_fail():
    money, column = pa.decimal128(15, 2), Column(0, "price", pa.decimal128(15, 2))
    assert not may_raise(Call("multiply", (column, column), pa.decimal128(30, 4)))
    assert may_raise(Call("multiply", (column, column), pa.decimal128(29, 4)))
    assert not may_raise(Call("add", (column, column), pa.decimal128(16, 2)))
    assert may_raise(Call("add", (column, column), money))
