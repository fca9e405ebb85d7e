"""From cell intervals to runs: ranges of places whose rows share a group as far as cells tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.cells import cells_of, group_cells, join_entries, list_entries
from raydb.kernels.cpu.warm import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from raydb.kernels.backend import CodeMap, FusedJob
    from raydb.kernels.bvh import Bvh


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """Ranges of places with one group each (int64, shape (run_count,)), none of them empty.

    bounds: int64, shape (run_count + 1,); how many rows lie before each run.
    maps: (stored codes, group part of each code) of the maps that decide row by row; a job whose
        maps are all by cell has none, and the runs say everything.
    passing: about which share of the rows the maps let pass, if all codes are as frequent.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    groups: NDArray[np.int64]
    bounds: NDArray[np.int64]
    maps: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...]
    passing: float

    @property
    def row_count(self) -> int:
        """The number of rows in all runs."""
        return int(self.bounds[-1])

    @property
    def triple(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Starts, ends and groups, as the loops take them."""
        return self.starts, self.ends, self.groups

    def part(self, low: int, high: int) -> Runs:
        """Return the rows from number `low` to before `high`, counted along the runs."""
        if low == 0 and high == self.row_count:
            return self
        first = int(np.searchsorted(self.bounds, low, side="right")) - 1
        last = int(np.searchsorted(self.bounds, high, side="left"))
        starts, ends = self.starts[first:last].copy(), self.ends[first:last].copy()
        starts[0] += low - self.bounds[first]
        ends[-1] -= self.bounds[last] - high
        bounds = np.clip(self.bounds[first : last + 1], low, high) - low
        return replace(
            self, starts=starts, ends=ends, groups=self.groups[first:last], bounds=bounds
        )

    def parts(self, row_count: int) -> Iterator[Runs]:
        """Cut into parts of at most `row_count` rows; a long run spans several parts."""
        for low in range(0, self.row_count, row_count):
            yield self.part(low, min(low + row_count, self.row_count))


def find_runs(bvh: Bvh, job: FusedJob) -> Runs:
    """Return the runs of a job."""
    entries = bvh.entries(job.intervals)
    by_cell = [m for m in job.maps if m.by_cell and (m.filters or m.groups.any())]
    if by_cell:
        # Each touched cell on its own: its coordinates decide its group.
        entries, groups = _split_by_group(bvh, entries, by_cell)
    else:
        groups = np.zeros(len(entries), np.int64)
    starts, ends = bvh.offsets[entries[:, 0]], bvh.offsets[entries[:, 1]]
    filled = ends > starts
    starts, ends, groups = starts[filled], ends[filled], groups[filled]
    by_row = [code_map for code_map in job.maps if not code_map.by_cell]
    return Runs(
        starts,
        ends,
        groups,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)]),
        tuple(
            (frozen(bvh.codes[bvh.stored.index(code_map.hierarchy)]), code_map.groups)
            for code_map in by_row
        ),
        math.prod(_passing(bvh, code_map) for code_map in by_row if code_map.filters),
    )


def _passing(bvh: Bvh, code_map: CodeMap) -> float:
    """Return which share of the codes passes, among those that share a coordinate with one."""
    passes = code_map.groups >= 0
    coordinates = bvh.hierarchies[code_map.hierarchy].scan_codes
    touched = np.zeros(bvh.hierarchies[code_map.hierarchy].scan_count, np.bool_)
    touched[coordinates[passes]] = True
    return float(passes.sum() / max(touched[coordinates].sum(), 1))


def _split_by_group(
    bvh: Bvh, entries: NDArray[np.int64], by_cell: list[CodeMap]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split entry intervals where the group changes, and drop the cells that a map excludes."""
    touched = list_entries(entries)
    groups = group_cells(bvh, cells_of(bvh, touched), by_cell)
    kept = groups >= 0
    return join_entries(touched[kept], groups[kept])
