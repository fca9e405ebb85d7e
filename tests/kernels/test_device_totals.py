"""What a job accumulates on a device, as words of 64 bits."""

import numpy as np
import pytest

from raydb.kernels.backends.device_totals import answer, merge_words, plan_totals
from raydb.kernels.bvh.bvh import Measure


@pytest.mark.parametrize("value", [-1, -(2**40) - 1, 2**40 + 2**32 - 1])
def test_low_halves_of_more_than_2_to_the_31_rows(value):
    """In two windows, each of fewer: their words add up beyond what a sign leaves room for."""
    row_count = 2**31 + 2**30
    measure = Measure(np.array([value]), None, -(2**62), 2**62)
    totals = plan_totals([("sum", 0)], [measure], row_count)
    assert [total.kind for total in totals.totals] == ["high", "low"]
    halves = [(value >> 32), value & 0xFFFFFFFF]
    words = [np.zeros(1, np.int64) for _ in halves]
    for _ in range(2):
        part = [np.array([half * (row_count // 2)]) for half in halves]
        merge_words(totals, words, part)
    result = answer(totals, np.array([row_count]), words)
    assert result.values[0].tolist() == [value * row_count]
