"""The sieve on the CPU: totals of cells are made, and added up, by the loops that take rows.

A run of cells in one group needs two reads of each sum and count, and every cell's minimum and
maximum; rows are read only in cells that a job splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.cpu.runs import (
    Runs,
    coordinates,
    group_cells,
    join_cells,
    moves_groups,
    new_runs,
    runs_of,
    touched_cells,
)
from raydb.kernels.cpu.warm import frozen, loops
from raydb.kernels.sieve import CellTotals, Sieve, coordinate_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backend import FusedJob
    from raydb.kernels.bvh import Bvh, Measure
    from raydb.kernels.cpu.totals import Total

# Totals are made in blocks of this many rows, between which an interrupt is heard.
BLOCK_ROWS = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class Sifted:
    """A job in two parts: ranges of covered entries with one group each, and runs of rows.

    firsts, lasts, groups: int64, shape (range_count,); `lasts` are the entries after the ranges.
    row_count: how many rows the covered entries have.
    """

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    groups: NDArray[np.int64]
    row_count: int
    runs: Runs

    @property
    def cell_count(self) -> int:
        """The number of covered entries."""
        return int((self.lasts - self.firsts).sum())


def build_sieve(bvh: Bvh) -> Sieve:
    """Return the totals of each measure in each cell of a BVH."""
    entry_count = len(bvh.offsets) - 1
    runs = new_runs(bvh.offsets[:-1], bvh.offsets[1:], np.arange(entry_count))
    totals = tuple(_cell_totals(measure, runs, entry_count) for measure in bvh.measures)
    return Sieve(totals, np.empty(0, np.int64))


def _cell_totals(measure: Measure, runs: Runs, entry_count: int) -> CellTotals:
    if measure.is_float:
        greatest, smallest = np.nan, -np.inf
        sums = _by_entry("sum_runs", measure.values, np.zeros(entry_count), runs)
    else:
        limits = np.iinfo(measure.values.dtype)
        greatest, smallest = int(limits.max), int(limits.min)
        added = _by_entry("sum_runs", measure.values, np.zeros(entry_count, np.int64), runs)
        # Every sum of some rows fits 32 bits where the sum of as many of the greatest does.
        fits = max(-measure.low, measure.high) * runs.row_count < 2**31
        sums = _before(added, np.int32 if fits else np.int64)
    kind = np.float64 if measure.is_float else np.int64
    extremes = []
    for loop, neutral in (("least_runs", greatest), ("most_runs", smallest)):
        values = measure.values
        if measure.valid is not None:
            values = np.where(measure.valid, values, values.dtype.type(neutral))
        found = _by_entry(loop, values, np.full(entry_count, neutral, kind), runs)
        extremes.append(found.astype(measure.values.dtype))
    counts = None
    if measure.valid is not None:
        valid = measure.valid.view(np.int8)
        found = _by_entry("sum_runs", valid, np.zeros(entry_count, np.int64), runs)
        counts = _before(found, np.uint32)  # as row numbers are
    return CellTotals(sums, counts, *extremes)


def _by_entry(loop: str, values: NDArray[Any], totals: NDArray[Any], runs: Runs) -> NDArray[Any]:
    """Accumulate the rows of each run into the total of the run's entry."""
    for part in runs.parts(BLOCK_ROWS):
        getattr(loops(), loop)(*part.triple, frozen(values), totals)
    return totals


def _before(added: NDArray[np.int64], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    """Return what is added up before each entry, and last of all; int64 wraps around."""
    sums = np.zeros(len(added) + 1, np.int64)
    np.cumsum(added, out=sums[1:])
    return sums.astype(dtype)


def sift(bvh: Bvh, job: FusedJob) -> Sifted:
    """Part the cells that a job touches into those that the sieve covers and those it reads.

    A cell is covered where all of its rows have one group, and none of them is gone.
    """
    assert bvh.sieve is not None
    entries = bvh.entries(job.intervals)
    by_cell = [code_map for code_map in job.maps if moves_groups(code_map)]
    by_row = [code_map for code_map in job.maps if not code_map.by_cell]
    if not by_cell and not by_row and not len(bvh.sieve.stale):
        groups = np.zeros(len(entries), np.int64)
        return _sifted(bvh, job, entries, groups, entries[:0], groups[:0])
    touched, cells = touched_cells(bvh, entries)
    groups = group_cells(bvh, cells, by_cell)
    covered = ~np.isin(touched, bvh.sieve.stale, assume_unique=True)
    kept = groups >= 0
    whole = groups.copy()
    for code_map in by_row:
        least, most = coordinate_groups(bvh, code_map)
        places = coordinates(bvh, code_map.hierarchy, cells)
        kept &= most[places] >= 0
        covered &= (least == most)[places]
        whole += least[places]
    return _sifted(
        bvh,
        job,
        *join_cells(touched[kept & covered], whole[kept & covered]),
        *join_cells(touched[kept & ~covered], groups[kept & ~covered]),
    )


def _sifted(
    bvh: Bvh,
    job: FusedJob,
    covered: NDArray[np.int64],
    covered_groups: NDArray[np.int64],
    others: NDArray[np.int64],
    other_groups: NDArray[np.int64],
) -> Sifted:
    """Put entry ranges together, shape (k, 2), that are covered and that are read."""
    firsts, lasts = covered[:, 0].copy(), covered[:, 1].copy()
    row_count = int((bvh.offsets[lasts] - bvh.offsets[firsts]).sum())
    runs = runs_of(bvh, job, others, other_groups)
    return Sifted(firsts, lasts, covered_groups, row_count, runs)


def add_cells(
    bvh: Bvh, job: FusedJob, sifted: Sifted, rows: NDArray[np.int64], totals: Sequence[Total]
) -> None:
    """Add the covered entries to the rows and the totals of their groups."""
    assert bvh.sieve is not None
    _add_differences(bvh.offsets, sifted, rows)
    triple = sifted.firsts, sifted.lasts, sifted.groups
    for accumulator, total in zip(job.accumulators, totals, strict=True):
        held = bvh.sieve.totals[accumulator.measure]
        match accumulator.function:
            case "count" if held.counts is not None:
                _add_differences(held.counts, sifted, *total.arrays)
            case "count":
                assert total.kind == "rows", total.kind
            case "sum" if held.sums.dtype.kind == "f":
                loops().sum_runs(*triple, frozen(held.sums), *total.arrays)
            case "sum":
                assert total.kind == "sum", total.kind
                _add_differences(held.sums, sifted, *total.arrays)
            case "min":
                loops().least_runs(*triple, frozen(held.least), *total.arrays)
            case "max":
                loops().most_runs(*triple, frozen(held.most), *total.arrays)


def _add_differences(before: NDArray[Any], sifted: Sifted, totals: NDArray[np.int64]) -> None:
    """Add what lies between the ends of each range, as the lengths of runs are added up."""
    starts = before[sifted.firsts].astype(np.int64, copy=False)
    ends = before[sifted.lasts].astype(np.int64, copy=False)
    loops().count_runs(starts, ends, sifted.groups, totals)
