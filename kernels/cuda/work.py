"""A job as the kernels take it: units of four rows, cut into windows that fit the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.cpu.runs import find_runs
from raydb.kernels.cuda.memory import UNIT_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backend import FusedJob
    from raydb.kernels.bvh import Bvh


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """Runs of places (int64, shape (run_count,)) with their groups, and the maps by row.

    bounds: int64, shape (run_count + 1,); how many units lie before each run.
    maps: (stored codes, group part of each code) of the maps that decide row by row.
    figures: what EXPLAIN ANALYZE shows of the last launch.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    groups: NDArray[np.int64]
    bounds: NDArray[np.int64]
    maps: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...]
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def unit_count(self) -> int:
        """The number of units."""
        return int(self.bounds[-1])

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return int((self.ends - self.starts).sum())

    @property
    def runs(self) -> tuple[NDArray[np.int64], ...]:
        """The arrays of the runs, in the kernels' order."""
        return self.starts, self.ends, self.groups, self.bounds


def find_work(bvh: Bvh, job: FusedJob) -> Work:
    """Return the work of a job on a BVH."""
    runs = find_runs(bvh, job)
    maps = tuple(
        (bvh.codes[bvh.stored.index(code_map.hierarchy)], code_map.groups)
        for code_map in job.maps
        if not code_map.by_cell
    )
    return _work(runs.starts, runs.ends, runs.groups, maps)


def work_of_rows(groups: NDArray[np.int64]) -> Work:
    """Return the work that adds up gathered rows, each with its group."""
    whole = np.array([len(groups)], np.int64)
    zero = np.zeros(1, np.int64)
    parts = np.arange(int(groups.max()) + 1 if len(groups) else 1)
    ends = whole if len(groups) else whole[:0]
    return _work(zero[: len(ends)], ends, zero[: len(ends)], ((groups, parts),))


def _work(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    maps: tuple[tuple[NDArray[Any], NDArray[np.int64]], ...],
) -> Work:
    units = (ends - 1) // UNIT_ROWS - starts // UNIT_ROWS + 1
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(units)])
    return Work(starts, ends, groups, bounds, maps)


def windows(
    work: Work, inputs: Sequence[NDArray[Any]], room_bytes: int, found_bytes: int = 0
) -> Iterator[tuple[int, Work, list[NDArray[Any]]]]:
    """Cut a job into windows of places whose columns fit `room_bytes`, to be run in turns.

    found_bytes: what a row takes in the result. Yields the first place of each window with its
    work and inputs: the columns are slices, and places count from the first one. Rows lie in the
    order of their cells, so the windows of a job with few intervals are few too.
    """
    columns = (*inputs, *(codes for codes, _ in work.maps))
    row_bytes = found_bytes + sum(column.itemsize for column in columns)
    width = max(room_bytes // max(row_bytes, 1) // UNIT_ROWS, 1) * UNIT_ROWS
    place = int(work.starts[0]) if len(work.starts) else 0
    last = int(work.ends[-1]) if len(work.ends) else 0
    while place < last:
        low = place // UNIT_ROWS * UNIT_ROWS
        high = low + width
        # Runs lie in the order of their places.
        first = int(np.searchsorted(work.ends, low, side="right"))
        end = int(np.searchsorted(work.starts, high, side="left"))
        if first < end:
            starts = np.maximum(work.starts[first:end], low) - low
            ends = np.minimum(work.ends[first:end], high) - low
            maps = tuple((codes[low:high], parts) for codes, parts in work.maps)
            part = _work(starts, ends, work.groups[first:end], maps)
            yield low, part, [column[low:high] for column in inputs]
        place = high
        if end < len(work.starts) and (first == end or work.ends[end - 1] <= high):
            place = int(work.starts[end])
