"""Cell intervals are sorted, merged, disjoint, and hold exactly the allowed cells."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from raydb.kernels.bvh.intervals import cell_intervals, mask_intervals, merge_intervals

masks = st.lists(
    st.lists(st.booleans(), min_size=1, max_size=6).map(lambda m: np.array(m, np.bool_)),
    min_size=1,
    max_size=4,
)


def cells_of(intervals):
    return [cell for start, end in intervals for cell in range(start, end)]


def allowed_cells(masks):
    """Every cell whose coordinates all pass, by brute force."""
    combinations = itertools.product(*(range(len(mask)) for mask in masks))
    return [
        cell
        for cell, coordinates in enumerate(combinations)
        if all(mask[c] for mask, c in zip(masks, coordinates, strict=True))
    ]


@given(masks)
def test_intervals_hold_exactly_the_allowed_cells(masks):
    intervals, applied = cell_intervals(masks)
    assert applied == len(masks)
    assert cells_of(intervals) == allowed_cells(masks)
    assert np.all(intervals[1:, 0] > intervals[:-1, 1]), "neighbours are merged"


@given(masks, st.integers(1, 8))
def test_over_the_limit_the_last_masks_are_left_to_the_caller(masks, limit):
    intervals, applied = cell_intervals(masks, limit)
    assert len(intervals) <= limit
    relaxed = [mask if i < applied else np.ones_like(mask) for i, mask in enumerate(masks)]
    if all(mask.any() for mask in masks):
        assert cells_of(intervals) == allowed_cells(relaxed)
    else:
        assert len(intervals) == 0


def test_no_constraint_is_one_interval():
    intervals, applied = cell_intervals([np.ones(7, np.bool_), np.ones(25, np.bool_)])
    assert intervals.tolist() == [[0, 175]]
    assert applied == 2


def test_masks_and_merging():
    assert mask_intervals(np.array([True, True, False, True])).tolist() == [[0, 2], [3, 4]]
    assert merge_intervals(np.array([[0, 2], [2, 3], [5, 6]])).tolist() == [[0, 3], [5, 6]]
    assert merge_intervals(np.empty((0, 2), np.int64)).tolist() == []
