"""From masks over attribute codes to sorted, merged, disjoint cell intervals.

A cell is the mixed-radix number of its coordinates, the last attribute fastest (RayDB, section
4.2). A conjunction with one mask an attribute is a product of code sets: the intervals of the last
constrained attribute, repeated for every combination of the codes before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# More intervals than this cost more to make and to walk than the rows that they exclude.
INTERVAL_LIMIT = 65_536


def mask_intervals(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the runs of true codes as half-open intervals, int64 of shape (k, 2).

    >>> mask_intervals(np.array([True, True, False, True]))
    [[0, 2], [3, 4]]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return edges.reshape(-1, 2).astype(np.int64)


def merge_intervals(intervals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join sorted, disjoint, half-open intervals that touch."""
    if len(intervals) == 0:
        return intervals
    apart = intervals[1:, 0] > intervals[:-1, 1]
    starts = intervals[np.concatenate([[True], apart]), 0]
    ends = intervals[np.concatenate([apart, [True]]), 1]
    return np.column_stack([starts, ends])


def cell_intervals(
    masks: Sequence[NDArray[np.bool_]], limit: int = INTERVAL_LIMIT
) -> tuple[NDArray[np.int64], int]:
    """Return the cells whose every coordinate is allowed, and how many masks were applied.

    masks: for each attribute of Z, in its order, the allowed codes (bool, shape (radix,)).
    Returns (intervals, applied): half-open cell intervals, int64 of shape (k, 2), sorted, merged
    and disjoint. They obey masks[:applied]; where those after it constrain anything, there would
    have been more than `limit` intervals, and the caller checks their cells or rows again.
    """
    radices = [len(mask) for mask in masks]
    if not all(mask.any() for mask in masks):
        return np.empty((0, 2), np.int64), len(masks)
    last = max((i for i, mask in enumerate(masks) if not mask.all()), default=-1)
    if last < 0:
        return np.array([[0, _product(radices)]], np.int64), len(masks)
    applied = len(masks)
    counts = [int(mask.sum()) for mask in masks]
    while last > 0 and _product(counts[:last]) * len(mask_intervals(masks[last])) > limit:
        applied = last
        last -= 1
    if len(mask_intervals(masks[last])) > limit:
        return np.array([[0, _product(radices)]], np.int64), 0

    tail = _product(radices[last + 1 :])
    intervals = mask_intervals(masks[last]) * tail
    stride = tail * radices[last]
    for mask, radix in zip(
        masks[last - 1 :: -1] if last else [], radices[last - 1 :: -1], strict=False
    ):
        starts = np.flatnonzero(mask).astype(np.int64) * stride
        intervals = (starts[:, None, None] + intervals[None, :, :]).reshape(-1, 2)
        stride *= radix
    return merge_intervals(intervals), applied


def _product(factors: Sequence[int]) -> int:
    """Multiply as Python integers, which do not overflow."""
    product = 1
    for factor in factors:
        product *= factor
    return product
