"""How many of a BVH's rows predicates leave, as far as each coordinate of Z tells alone."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from raydb.planner.stars.codes.by_arrays import mask_coordinates

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
    for number, (allowed, hierarchy) in enumerate(
        zip(coordinates, bvh.index.hierarchies, strict=True)
    ):
        if not allowed.all():
            rows *= float(_coordinate_shares(number, hierarchy, bvh)[allowed].sum())
    return rows


def _coordinate_shares(number: int, hierarchy: Hierarchy, bvh: BvhInfo) -> NDArray[np.float64]:
    """Return the share of the rows at each coordinate of a hierarchy, which is made once."""
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
