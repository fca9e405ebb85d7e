"""How many of a BVH's rows predicates leave, as far as each coordinate of Z tells alone."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from raydb.planner.stars.codes.by_arrays import mask_coordinates, reduce_to_scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.bvh.encode import Hierarchy
    from raydb.planner.catalog import BvhInfo
    from raydb.planner.expressions.nodes import Expression

# Of more cells some are looked at.
_MOST_CELLS = 2**18

# The share of the rows at each coordinate.
_shares: WeakKeyDictionary[Hierarchy, NDArray[np.float64]] = WeakKeyDictionary()


def rows_passing(predicates: Sequence[Expression], bvh: BvhInfo) -> float:
    """Guess how many rows the cells have that predicates leave; 0 where it can't be told.

    That is where one is not over a single hierarchy. Hierarchies are taken to be independent.
    """
    coordinates = mask_coordinates(predicates, bvh)
    if coordinates is None:
        return 0.0
    rows = float(bvh.index.count_rows(np.array([[0, bvh.index.cell_count]])))
    for number, allowed in enumerate(coordinates):
        rows *= _share_at(allowed, number, bvh)
    return rows


def share_passing(codes: NDArray[np.bool_], number: int, bvh: BvhInfo) -> float:
    """Guess which share of the rows has these codes of a hierarchy, as `rows_passing` does."""
    return _share_at(
        reduce_to_scan(np.logical_or, codes, bvh.index.hierarchies[number]), number, bvh
    )


def _share_at(allowed: NDArray[np.bool_], number: int, bvh: BvhInfo) -> float:
    return 1.0 if allowed.all() else float(_coordinate_shares(number, bvh)[allowed].sum())


def _coordinate_shares(number: int, bvh: BvhInfo) -> NDArray[np.float64]:
    """Return the share of the rows at each coordinate of a hierarchy, which is made once."""
    hierarchy = bvh.index.hierarchies[number]
    known = _shares.get(hierarchy)
    if known is None:
        index = bvh.index
        entries = np.arange(len(index.offsets) - 1)
        if len(entries) > _MOST_CELLS:
            entries = np.random.default_rng(0).choice(entries, _MOST_CELLS)
        cells = entries if index.cells is None else index.cells[entries]
        rows = index.offsets[entries + 1] - index.offsets[entries]
        places = cells // index.strides[number] % hierarchy.scan_count
        counts = np.bincount(places, rows, hierarchy.scan_count)
        known = _shares[hierarchy] = counts / max(float(counts.sum()), 1.0)
    return known
