"""Averages and variances of many groups, each as the nearest double to the exact quotient."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from raydb.engine.fused.fold_values import finish
from raydb.planner.expressions.nodes import AggregateCall, Column

# Sums below and beyond what doubles hold.
LARGEST = (100, 10**6, 10**9, 10**15)


@pytest.mark.parametrize("kind", [pa.int32(), pa.decimal128(9, 2), pa.decimal128(18, 6)])
@pytest.mark.parametrize("largest", LARGEST)
def test_averages_are_rounded_once(kind: pa.DataType, largest: int) -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 50, 200)
    sums = rng.integers(-largest, largest, 200)
    scale = 10**kind.scale if pa.types.is_decimal(kind) else 1
    call = AggregateCall("avg", (Column(1, "x", kind),), pa.float64())
    expected = [
        float(Fraction(total, scale * count)) if count else None
        for total, count in zip(sums.tolist(), counts.tolist(), strict=True)
    ]
    for given in (sums, sums.astype(object)):
        assert finish(call, [given], counts).to_pylist() == expected


@pytest.mark.parametrize("function", ["var_pop", "var_samp"])
@pytest.mark.parametrize("kind", [pa.int32(), pa.decimal128(9, 2)])
@pytest.mark.parametrize("largest", LARGEST)
def test_variances_are_rounded_once(function: str, kind: pa.DataType, largest: int) -> None:
    rng = np.random.default_rng(4)
    groups = [rng.integers(-largest, largest, size).tolist() for size in rng.integers(0, 30, 100)]
    counts = np.array(list(map(len, groups)))
    sums = np.array(list(map(sum, groups)))
    squares = np.array([sum(x * x for x in group) for group in groups], object)
    scale = 10**kind.scale if pa.types.is_decimal(kind) else 1
    freedom = function == "var_samp"
    call = AggregateCall(function, (Column(1, "x", kind),), pa.float64())
    expected = [
        float(Fraction(n * whole - total * total, n * (n - freedom) * scale**2))
        if n > freedom
        else None
        for n, total, whole in zip(counts.tolist(), sums.tolist(), squares, strict=True)
    ]
    assert finish(call, [sums, squares], counts).to_pylist() == expected
