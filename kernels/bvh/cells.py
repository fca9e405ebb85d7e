"""Entries of a BVH one by one: the cells behind ranges of them, and the groups that maps give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import CodeMap
    from raydb.kernels.bvh.bvh import Bvh


def list_entries(ranges: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every entry of half-open ranges, int64 of shape (k, 2)."""
    lengths = ranges[:, 1] - ranges[:, 0]
    jumps = np.repeat(ranges[:, 0] - np.cumsum(lengths) + lengths, lengths)
    return jumps + np.arange(len(jumps))


def cells_of(bvh: Bvh, entries: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each entry's cell."""
    return entries if bvh.cells is None else bvh.cells[entries]


def coordinates(bvh: Bvh, hierarchy: int, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the coordinate of each cell on one hierarchy's axis."""
    return cells // bvh.strides[hierarchy] % bvh.hierarchies[hierarchy].scan_count


def group_cells(
    bvh: Bvh, cells: NDArray[np.int64], by_cell: Sequence[CodeMap]
) -> NDArray[np.int64]:
    """Return the group of each cell as far as maps by cell say it, -1 where one excludes it."""
    groups = np.zeros(len(cells), np.int64)
    kept = np.ones(len(cells), np.bool_)
    for code_map in by_cell:
        parts = code_map.groups[coordinates(bvh, code_map.hierarchy, cells)]
        kept &= parts >= 0
        groups += parts
    groups[~kept] = -1
    return groups


def join_entries(
    entries: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Join sorted entries to ranges, int64 of shape (k, 2), where neighbours share a group."""
    if len(entries) == 0:
        return np.empty((0, 2), np.int64), groups
    changes = np.flatnonzero((np.diff(entries) != 1) | (np.diff(groups) != 0)) + 1
    firsts = np.concatenate([[0], changes])
    lasts = np.concatenate([changes, [len(entries)]]) - 1
    return np.column_stack([entries[firsts], entries[lasts] + 1]), groups[firsts]
