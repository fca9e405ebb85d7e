"""From cell intervals to runs: ranges of places whose rows share a group as far as cells tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.cpu.warm import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    by_cell = [code_map for code_map in job.maps if moves_groups(code_map)]
    if by_cell:
        # Each touched cell on its own: its coordinates decide its group.
        touched, cells = touched_cells(bvh, entries)
        groups = group_cells(bvh, cells, by_cell)
        kept = groups >= 0
        entries, groups = join_cells(touched[kept], groups[kept])
    else:
        groups = np.zeros(len(entries), np.int64)
    return runs_of(bvh, job, entries, groups)


def runs_of(bvh: Bvh, job: FusedJob, entries: NDArray[np.int64], groups: NDArray[np.int64]) -> Runs:
    """Return the rows of entry ranges, int64 of shape (k, 2), with the maps that decide by row."""
    by_row = [code_map for code_map in job.maps if not code_map.by_cell]
    return new_runs(
        bvh.offsets[entries[:, 0]],
        bvh.offsets[entries[:, 1]],
        groups,
        tuple(
            (frozen(bvh.codes[bvh.stored.index(code_map.hierarchy)]), code_map.groups)
            for code_map in by_row
        ),
        math.prod(_passing(bvh, code_map) for code_map in by_row if code_map.filters),
    )


def new_runs(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    maps: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...] = (),
    passing: float = 1.0,
) -> Runs:
    """Return runs without those that are empty."""
    filled = ends > starts
    starts, ends, groups = starts[filled], ends[filled], groups[filled]
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends - starts)])
    return Runs(starts, ends, groups, bounds, maps, passing)


def _passing(bvh: Bvh, code_map: CodeMap) -> float:
    """Return which share of the codes passes, among those that share a coordinate with one."""
    passes = code_map.groups >= 0
    coordinates = bvh.hierarchies[code_map.hierarchy].scan_codes
    touched = np.zeros(bvh.hierarchies[code_map.hierarchy].scan_count, np.bool_)
    touched[coordinates[passes]] = True
    return float(passes.sum() / max(touched[coordinates].sum(), 1))


def moves_groups(code_map: CodeMap) -> bool:
    """Whether a map's cells differ in what they add to the group, or whether they pass."""
    return code_map.by_cell and (code_map.filters or bool(code_map.groups.any()))


def touched_cells(
    bvh: Bvh, entries: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every entry of some ranges, and the number of its cell."""
    lengths = entries[:, 1] - entries[:, 0]
    jumps = np.repeat(entries[:, 0] - np.cumsum(lengths) + lengths, lengths)
    touched = jumps + np.arange(len(jumps))
    return touched, touched if bvh.cells is None else bvh.cells[touched]


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


def join_cells(
    touched: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Join sorted entries to ranges, int64 of shape (k, 2), where neighbours share a group."""
    if len(touched) == 0:
        return np.empty((0, 2), np.int64), groups
    changes = np.flatnonzero((np.diff(touched) != 1) | (np.diff(groups) != 0)) + 1
    firsts = np.concatenate([[0], changes])
    lasts = np.concatenate([changes, [len(touched)]]) - 1
    return np.column_stack([touched[firsts], touched[lasts] + 1]), groups[firsts]
