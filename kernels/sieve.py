"""What a sieved BVH keeps of each cell, so that a job may leave the cell's rows unread.

    cell              0        1        2        3
    values of rows    5 1 7             2 2 4 1  9 9
    sums before it    0        13       13       22       40 (of all rows)
    least, most       1, 7     none     1, 4     9, 9

RTScan's data sieving (RayDB, section 2.3) stores the answers of covered regions and refines the
rest by its rows. Here a region is a cell, and an interval of cells in one group is the difference
of two sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.backend import CodeMap, FusedJob
    from raydb.kernels.bvh import Bvh


@dataclass(frozen=True, eq=False, slots=True)
class CellTotals:
    """One measure's totals by entry, an entry being a cell or a position in `Bvh.cells`.

    sums: of integers int32 or int64, shape (entry_count + 1,): the sum of the rows before each
        entry, modulo 2**64, so that a difference is exact wherever the sum itself fits. Of floats
        float64, shape (entry_count,): the sum of each entry, for a difference would not be exact.
    counts: uint32, shape (entry_count + 1,): the valid values before each entry, None where every
        value is valid.
    least, most: in the measure's type, shape (entry_count,). Where an entry has no valid value they
        are those that no other value loses to: NaN or the type's greatest, -inf or its least.
    """

    sums: NDArray[Any]
    counts: NDArray[np.uint32] | None
    least: NDArray[Any]
    most: NDArray[Any]

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All arrays."""
        kept = [] if self.counts is None else [self.counts]
        return [self.sums, self.least, self.most, *kept]


@dataclass(frozen=True, eq=False, slots=True)
class Sieve:
    """The totals of each measure of a BVH.

    stale: int64, sorted: the entries some of whose rows are gone, so that their totals are wrong
        and their rows are read. `with_dead_places` tells.
    """

    totals: tuple[CellTotals, ...]
    stale: NDArray[np.int64]

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All arrays of all measures."""
        return [array for totals in self.totals for array in totals.arrays]

    @property
    def size_bytes(self) -> int:
        """The size of all arrays."""
        return sum(array.nbytes for array in self.arrays)


def with_dead_places(bvh: Bvh, places: NDArray[np.int64]) -> Bvh:
    """Return a BVH whose sieve answers for no cell that has one of these places.

    places: int64, those of rows that no query sees any more, in any order. Without a sieve the BVH
    is returned as it is.
    """
    if bvh.sieve is None or len(places) == 0:
        return bvh
    entries = np.searchsorted(bvh.offsets, places, side="right") - 1
    stale = np.union1d(bvh.sieve.stale, entries).astype(np.int64)
    return replace(bvh, sieve=replace(bvh.sieve, stale=stale))


def coordinate_groups(bvh: Bvh, code_map: CodeMap) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the greatest group part among the codes of each coordinate on Z.

    Where both are equal a cell decides for all of its rows. Both are int64, shape (scan_count,).
    """
    if len(code_map.groups) == 0:
        return code_map.groups, code_map.groups
    changes = np.diff(bvh.hierarchies[code_map.hierarchy].scan_codes, prepend=-1) != 0
    firsts = np.flatnonzero(changes)
    least = np.minimum.reduceat(code_map.groups, firsts)
    return least, np.maximum.reduceat(code_map.groups, firsts)


def splits_every_cell(bvh: Bvh, code_map: CodeMap) -> bool:
    """Whether a map by row leaves no cell in which all rows pass into one group."""
    least, most = coordinate_groups(bvh, code_map)
    return not bool(((least == most) & (least >= 0)).any())


def may_overflow(bvh: Bvh, job: FusedJob, row_count: int) -> bool:
    """Whether the sum of `row_count` values of a measure that a job adds up might exceed int64."""
    added = [bvh.measures[a.measure] for a in job.accumulators if a.function == "sum"]
    return any(max(-measure.low, measure.high) * row_count >= 2**63 for measure in added)


def cell_bytes(bvh: Bvh, job: FusedJob) -> int:
    """Return how many bytes a job reads of a covered cell: its offset, and the totals it needs."""
    assert bvh.sieve is not None
    width = bvh.offsets.itemsize
    for accumulator in job.accumulators:
        held = bvh.sieve.totals[accumulator.measure]
        array = {"sum": held.sums, "count": held.counts, "min": held.least, "max": held.most}[
            accumulator.function
        ]
        width += 0 if array is None else array.itemsize
    return width
