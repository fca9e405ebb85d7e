"""The CPU backend: cell intervals become runs of places, runs become sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backend import FusedResult
from raydb.kernels.bvh import (
    DENSE_CELLS,
    Bvh,
    Measure,
    count_cells,
    narrow_measure,
    number_cells,
    stack_codes,
)
from raydb.kernels.cpu import sort, sums

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backend import Accumulator, FusedJob
    from raydb.kernels.encode import Hierarchy

# Rows are located in blocks of this many, so that the scratch space stays at 32 MiB.
BLOCK_ROWS = 2**21


@dataclass(frozen=True, eq=False, slots=True)
class Runs:
    """Ranges of places with one group each (int64, shape (run_count,)), and the row maps.

    A job whose maps are all by cell has no row maps: the runs say everything.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    groups: NDArray[np.int64]
    code_rows: NDArray[np.int64]
    maps: NDArray[np.int64]
    map_starts: NDArray[np.int64]

    @property
    def row_count(self) -> int:
        """The number of rows in all runs."""
        return int((self.ends - self.starts).sum())


class CpuBackend:
    """Runs fused jobs with numba kernels on one core."""

    name = "cpu"

    def build(
        self,
        hierarchies: Sequence[Hierarchy],
        row_codes: Sequence[NDArray[np.int32]],
        measures: Sequence[tuple[NDArray[Any], NDArray[np.bool_] | None]],
        row_count: int,
    ) -> Bvh:
        """Sort the rows by cell and gather the payload into that order."""
        cell_count = count_cells(hierarchies)
        keys = number_cells(hierarchies, row_codes, row_count)
        cells, offsets, row_ids = _sort_rows(keys, cell_count)
        del keys
        stored = tuple(
            position for position, hierarchy in enumerate(hierarchies) if not hierarchy.is_scan_only
        )
        codes = stack_codes(
            [row_codes[position] for position in stored],
            [hierarchies[position].code_count for position in stored],
            row_ids,
        )
        gathered = []
        for values, valid in measures:
            measure = narrow_measure(values, valid)
            kept = None if valid is None else valid[row_ids]
            gathered.append(Measure(measure.values[row_ids], kept, measure.low, measure.high))
        return Bvh(
            tuple(hierarchies), cell_count, cells, offsets, row_ids, stored, codes, tuple(gathered)
        )

    def prepare(self, bvh: Bvh, job: FusedJob) -> Runs:
        """Find the runs of a job."""
        starts, ends, groups = _find_runs(bvh, job)
        by_row = [code_map for code_map in job.maps if not code_map.by_cell]
        lengths = [len(code_map.groups) for code_map in by_row]
        return Runs(
            starts,
            ends,
            groups,
            np.array([bvh.stored.index(code_map.hierarchy) for code_map in by_row], np.int64),
            np.concatenate([np.empty(0, np.int64), *(code_map.groups for code_map in by_row)]),
            np.cumsum([0, *lengths])[: len(by_row)].astype(np.int64),
        )

    def launch(self, bvh: Bvh, job: FusedJob, prepared: object) -> FusedResult:
        """Run a job; sums and counts of cell-constant groups never leave the run loop."""
        assert isinstance(prepared, Runs)
        rows = np.zeros(job.group_count, np.int64)
        measures = [bvh.measures[accumulator.measure] for accumulator in job.accumulators]
        states = [
            _new_state(accumulator.function, measure, job.group_count, prepared.row_count)
            for accumulator, measure in zip(job.accumulators, measures, strict=True)
        ]
        additive = all(a.function in ("sum", "count") for a in job.accumulators)
        if additive and len(prepared.code_rows) == 0:
            runs = prepared.starts, prepared.ends, prepared.groups
            sums.count_runs(*runs, rows)
            for accumulator, measure, state in zip(job.accumulators, measures, states, strict=True):
                _add_runs(accumulator, measure, runs, rows, state)
        else:
            for places, groups in _located_blocks(bvh, prepared):
                sums.count_groups(groups, rows)
                for accumulator, measure, state in zip(
                    job.accumulators, measures, states, strict=True
                ):
                    _add_groups(accumulator.function, _take(measure, places), groups, state)
        return FusedResult(rows, tuple(_finish(state) for state in states))

    def locate(
        self, bvh: Bvh, job: FusedJob, prepared: object
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (places, groups) of the rows that pass the job's filters."""
        del job
        assert isinstance(prepared, Runs)
        blocks = list(_located_blocks(bvh, prepared))
        if not blocks:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        places, groups = zip(*blocks, strict=True)
        return np.concatenate(places), np.concatenate(groups)

    def accumulate(
        self,
        functions: Sequence[str],
        measures: Sequence[Measure],
        groups: NDArray[np.int64],
        group_count: int,
    ) -> FusedResult:
        """Accumulate gathered values, the i-th function over the i-th measure."""
        rows = np.zeros(group_count, np.int64)
        sums.count_groups(groups, rows)
        values = []
        for function, measure in zip(functions, measures, strict=True):
            state = _new_state(function, measure, group_count, len(groups))
            _add_groups(function, measure, groups, state)
            values.append(_finish(state))
        return FusedResult(rows, tuple(values))


def _sort_rows(
    keys: NDArray[np.int64], cell_count: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64], NDArray[np.uint32]]:
    """Return (cells, offsets, row_ids) of rows in the order of their cells, stable."""
    row_count = len(keys)
    if cell_count <= max(DENSE_CELLS, 2 * row_count):
        offsets = np.zeros(cell_count + 1, np.int64)
        sort.count_keys(keys, offsets)
        row_ids = np.empty(row_count, np.uint32)
        sort.scatter_rows(keys, offsets[:-1].copy(), row_ids)
        return None, offsets, row_ids
    order = np.argsort(keys, kind="stable")
    cells, firsts = np.unique(keys[order], return_index=True)
    return cells, np.append(firsts, row_count).astype(np.int64), order.astype(np.uint32)


def _find_runs(
    bvh: Bvh, job: FusedJob
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return (starts, ends, groups) of the job's runs, none of them empty."""
    entries = bvh.entries(job.intervals)
    by_cell = [m for m in job.maps if m.by_cell and (m.filters or m.groups.any())]
    if not by_cell:
        groups = np.zeros(len(entries), np.int64)
    else:
        # Each touched cell on its own: its coordinates decide its group.
        entries, groups = _split_by_group(bvh, entries, by_cell)
    starts, ends = bvh.offsets[entries[:, 0]], bvh.offsets[entries[:, 1]]
    filled = ends > starts
    return starts[filled], ends[filled], groups[filled]


def _split_by_group(
    bvh: Bvh, entries: NDArray[np.int64], by_cell: list[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split entry intervals where the group changes, and drop the cells that a map excludes."""
    lengths = entries[:, 1] - entries[:, 0]
    jumps = np.repeat(entries[:, 0] - np.cumsum(lengths) + lengths, lengths)
    touched = jumps + np.arange(len(jumps))
    cells = touched if bvh.cells is None else bvh.cells[touched]
    groups = np.zeros(len(cells), np.int64)
    kept = np.ones(len(cells), np.bool_)
    for code_map in by_cell:
        stride = bvh.strides[code_map.hierarchy]
        radix = bvh.hierarchies[code_map.hierarchy].scan_count
        parts = code_map.groups[cells // stride % radix]
        kept &= parts >= 0
        groups += parts
    touched, groups = touched[kept], groups[kept]
    if len(touched) == 0:
        return np.empty((0, 2), np.int64), groups
    changes = np.flatnonzero((np.diff(touched) != 1) | (np.diff(groups) != 0)) + 1
    firsts = np.concatenate([[0], changes])
    lasts = np.concatenate([changes, [len(touched)]]) - 1
    return np.column_stack([touched[firsts], touched[lasts] + 1]), groups[firsts]


def _located_blocks(bvh: Bvh, runs: Runs) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield (places, groups) of the rows that pass the row maps, block by block."""
    for starts, ends, groups in _split_runs(runs):
        size = int((ends - starts).sum())
        places, row_groups = np.empty(size, np.int64), np.empty(size, np.int64)
        found = sums.locate_rows(
            starts,
            ends,
            groups,
            bvh.codes,
            runs.code_rows,
            runs.maps,
            runs.map_starts,
            places,
            row_groups,
        )
        yield places[:found], row_groups[:found]


def _split_runs(
    runs: Runs,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Cut the runs into blocks of at most BLOCK_ROWS rows; a long run spans several blocks."""
    bounds = np.concatenate([[0], np.cumsum(runs.ends - runs.starts)])
    for low in range(0, int(bounds[-1]), BLOCK_ROWS):
        high = min(low + BLOCK_ROWS, int(bounds[-1]))
        first = int(np.searchsorted(bounds, low, side="right")) - 1
        last = int(np.searchsorted(bounds, high, side="left"))
        starts, ends = runs.starts[first:last].copy(), runs.ends[first:last].copy()
        starts[0] += low - bounds[first]
        ends[-1] -= bounds[last] - high
        yield starts, ends, runs.groups[first:last]


def _take(measure: Measure, places: NDArray[np.int64]) -> Measure:
    valid = None if measure.valid is None else measure.valid[places]
    return Measure(measure.values[places], valid, measure.low, measure.high)


def _new_state(
    function: str, measure: Measure, group_count: int, row_count: int
) -> tuple[NDArray[Any], ...]:
    """Return the arrays that a function accumulates into: one, or (high, low) of a wide sum."""
    match function:
        case "count":
            return (np.zeros(group_count, np.int64),)
        case "sum" if measure.is_float:
            return (np.zeros(group_count, np.float64),)
        case "sum" if max(-measure.low, measure.high) * row_count < 2**63:
            return (np.zeros(group_count, np.int64),)
        case "sum":
            return np.zeros(group_count, np.int64), np.zeros(group_count, np.int64)
        case "min" if measure.is_float:
            return (np.full(group_count, np.nan),)
        case "min":
            return (np.full(group_count, np.iinfo(np.int64).max),)
        case "max" if measure.is_float:
            return (np.full(group_count, -np.inf),)
        case "max":
            return (np.full(group_count, np.iinfo(np.int64).min),)
        case _:
            raise AssertionError(function)


def _add_runs(
    accumulator: Accumulator,
    measure: Measure,
    runs: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    rows: NDArray[np.int64],
    state: tuple[NDArray[Any], ...],
) -> None:
    if accumulator.function == "count" and measure.valid is None:
        state[0][:] = rows
    elif accumulator.function == "count":
        assert measure.valid is not None
        sums.sum_runs(*runs, measure.valid.view(np.uint8), state[0])
    elif len(state) == 2:
        sums.sum_runs_wide(*runs, measure.values, *state)
    else:
        sums.sum_runs(*runs, measure.values, state[0])


def _add_groups(
    function: str,
    measure: Measure,
    groups: NDArray[np.int64],
    state: tuple[NDArray[Any], ...],
) -> None:
    match function:
        case "count" if measure.valid is None:
            sums.count_groups(groups, state[0])
        case "count":
            assert measure.valid is not None
            sums.sum_groups(groups, measure.valid.view(np.uint8), state[0])
        case "sum" if len(state) == 2:
            sums.sum_groups_wide(groups, measure.values, *state)
        case "sum":
            sums.sum_groups(groups, measure.values, state[0])
        case _:
            valid = measure.valid
            if valid is None:
                valid = np.ones(len(groups), np.bool_)
            kernel = sums.min_groups if function == "min" else sums.max_groups
            kernel(groups, measure.values, valid, state[0])


def _finish(state: tuple[NDArray[Any], ...]) -> NDArray[Any]:
    """Return the values of a state; a wide sum becomes Python integers."""
    if len(state) == 1:
        return state[0]
    high, low = state
    wide: NDArray[Any] = high.astype(object) * 2**32 + low.astype(object)
    return wide
