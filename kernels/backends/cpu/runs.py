"""From cell intervals to runs: ranges of places whose rows share a group as far as cells tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from raydb.kernels.backends.cpu.warm import frozen
from raydb.kernels.bvh.cells import cells_of, group_cells, join_entries, list_entries
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import CodeMap, FusedJob
    from raydb.kernels.bvh.bvh import Bvh

    # Starts, ends and groups of runs, int64, shape (3, run_count), as the loops take them.
    RunTable: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """Ranges of places with one group each, none of them empty.

    table: their starts, ends and groups. row_count: of all runs.
    maps: (stored codes, parts) of the maps that decide row by row; a job whose maps are all by cell
        has none, and the runs say everything. Entry c + 1 of `parts` is what code c adds to the
        group, or -1 where the row is dropped; entry 0 is that of code -1, which stands for the last
        one.
    passing: about which share of the rows the maps let pass, if all codes are as frequent.
    """

    table: RunTable
    row_count: int
    maps: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...]
    passing: float

    @property
    def bounds(self) -> NDArray[np.int64]:
        """How many rows lie before each run, and in all; int64, shape (run_count + 1,)."""
        bounds = np.zeros(self.table.shape[1] + 1, np.int64)
        np.cumsum(self.table[1] - self.table[0], out=bounds[1:])
        return bounds

    def parts(self, count: int) -> Iterator[Runs]:
        """Cut into at most `count` parts of about as many rows."""
        for table in self.pieces(-(-self.row_count // count)):
            yield Runs(table, _row_count(table), self.maps, self.passing)

    def pieces(self, row_count: int) -> Iterator[RunTable]:
        """Yield the runs of `row_count` rows after the other; a piece may begin or end in a run."""
        if self.row_count <= row_count:
            if self.row_count:
                yield self.table
            return
        bounds, lows = self.bounds, np.arange(0, self.row_count, row_count)
        highs = np.minimum(lows + row_count, self.row_count)
        firsts = np.searchsorted(bounds, lows, side="right") - 1
        lasts = np.searchsorted(bounds, highs, side="left")
        before = (lows - bounds[firsts]).tolist()
        after = (bounds[lasts] - highs).tolist()
        for piece, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
            table = self.table[:, first:last].copy()
            table[0, 0] += before[piece]
            table[1, -1] -= after[piece]
            yield table


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
    table = _join_neighbours(starts[filled], ends[filled], groups[filled])
    return runs_of(bvh, job.maps, table, job.places)


def runs_of(
    bvh: Bvh, maps: Sequence[CodeMap], table: RunTable, places: NDArray[np.int64] | None = None
) -> Runs:
    """Return the runs of a job from ranges of places that may hold deleted rows.

    maps, places: those of the job.
    """
    passing = math.prod([_passing(bvh, each) for each in maps if not each.by_cell and each.filters])
    if places is not None:
        table = within(table, places)
    return living_runs(bvh, maps, table, _row_count(table), passing)


def living_runs(
    bvh: Bvh, maps: Sequence[CodeMap], table: RunTable, row_count: int, passing: float
) -> Runs:
    """Return the runs of a job from ranges of so many places, without those of deleted rows."""
    if bvh.dead is not None:
        table = _punch(table, bvh.dead)
        row_count = _row_count(table)
    coded = [
        (frozen(bvh.codes[bvh.stored.index(code_map.hierarchy)]), code_map.groups)
        for code_map in maps
        if not code_map.by_cell
    ]
    # Narrow codes first, so that loops over two kinds of codes take them in one order.
    coded.sort(key=lambda codes_groups: codes_groups[0].itemsize)
    looked_up = tuple([(codes, np.concatenate([groups[-1:], groups])) for codes, groups in coded])
    return Runs(table, row_count, looked_up, passing)


def within(table: RunTable, places: NDArray[np.int64]) -> RunTable:
    """Return what of some runs lies in ranges of places; both ascend.

    >>> within(np.array([[0, 9], [5, 12], [0, 1]]), np.array([[2, 3], [4, 10]]))
    array([[ 2,  4,  9], [ 3,  5, 10], [0, 0, 1]])
    """
    starts, ends, groups = table
    firsts = np.searchsorted(places[:, 1], starts, side="right")
    counts = np.searchsorted(places[:, 0], ends, side="left") - firsts
    run = np.repeat(np.arange(len(starts)), counts)
    before = np.cumsum(counts) - counts
    chosen = places[firsts[run] + np.arange(len(run)) - before[run]]
    return np.array(
        [np.maximum(starts[run], chosen[:, 0]), np.minimum(ends[run], chosen[:, 1]), groups[run]]
    )


def _punch(table: RunTable, dead: NDArray[np.int64]) -> RunTable:
    """Return the runs without the dead places, of which each splits a run in two at most.

    >>> _punch(np.array([[0, 9], [5, 12], [0, 1]]), np.array([2, 9, 10, 20]))
    array([[ 0,  3, 11], [ 2,  5, 12], [0, 0, 1]])
    """
    starts, ends, groups = table
    firsts, lasts = np.searchsorted(dead, starts), np.searchsorted(dead, ends)
    counts = lasts - firsts
    if not counts.any():
        return table
    # Run r becomes counts[r] + 1 pieces: from its start or after a dead place, up to the next one.
    pieces = np.cumsum(counts + 1)
    before = pieces - counts - 1
    in_run = np.arange(pieces[-1]) - np.repeat(before, counts + 1)
    following = np.repeat(firsts, counts + 1) + in_run
    new_starts = dead[np.maximum(following - 1, 0)] + 1
    new_starts[before] = starts
    new_ends = dead[np.minimum(following, len(dead) - 1)]
    new_ends[pieces - 1] = ends
    punched = np.stack([new_starts, new_ends, np.repeat(groups, counts + 1)])
    return punched.compress(new_ends > new_starts, axis=1)


def _passing(bvh: Bvh, code_map: CodeMap) -> float:
    """Return which share of the codes passes, among those that share a coordinate with one."""
    passes = code_map.groups >= 0
    coordinates = bvh.hierarchies[code_map.hierarchy].scan_codes
    touched = np.zeros(bvh.hierarchies[code_map.hierarchy].scan_count, np.bool_)
    touched[coordinates[passes]] = True
    return int(np.count_nonzero(passes)) / max(int(np.count_nonzero(touched[coordinates])), 1)


def _row_count(table: RunTable) -> int:
    return int((table[1] - table[0]).sum())


def _join_neighbours(
    starts: NDArray[np.int64], ends: NDArray[np.int64], groups: NDArray[np.int64]
) -> RunTable:
    """Make one run of runs of one group between which only empty cells lie."""
    is_new = np.ones(len(starts), np.bool_)
    is_new[1:] = (starts[1:] != ends[:-1]) | (groups[1:] != groups[:-1])
    if is_new.all():
        return np.array([starts, ends, groups])
    firsts = np.flatnonzero(is_new)
    lasts = np.append(firsts[1:], len(starts)) - 1
    return np.array([starts[firsts], ends[lasts], groups[firsts]])


def _split_by_group(
    bvh: Bvh, entries: NDArray[np.int64], by_cell: list[CodeMap]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split entry intervals where the group changes, and drop the cells that a map excludes."""
    touched = list_entries(entries)
    groups = group_cells(bvh, cells_of(bvh, touched), by_cell)
    kept = groups >= 0
    return join_entries(touched[kept], groups[kept])
