"""The CPU backend: cell intervals become runs of places, runs become sums."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from raydb.kernels.backend import FusedResult
from raydb.kernels.bvh import (
    DENSE_CELLS,
    Bvh,
    Measure,
    count_cells,
    narrow_codes,
    narrow_measure,
    number_cells,
)
from raydb.kernels.cpu.runs import Runs, find_runs
from raydb.kernels.cpu.totals import Total, add_places, add_runs, merge, new_total, value_of
from raydb.kernels.cpu.warm import loops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backend import FusedJob
    from raydb.kernels.encode import Hierarchy

P = TypeVar("P")
T = TypeVar("T")

# Rows are located in blocks of this many, so that the scratch space (512 KiB) stays in the cache.
BLOCK_ROWS = 2**15

# Runs are added up in chunks of this many rows, between which an interrupt is heard, and in which
# a measure is still in the cache for its second aggregate.
CHUNK_ROWS = 2**20

# Where from 1 to 99 % of the rows pass, the processor guesses wrong which, at 5 ns a row, and it is
# cheaper to list those that pass first: unless there are so few rows that calls cost more.
LEAST_UNFORESEEN = 0.01
LISTED_ROWS = 2**17

# Handing work to a thread takes 0.1 ms, and a second one reads memory at much the same pace as one
# alone. A part of fewer rows than this is not worth a thread: rows of runs are added up at 0.25 ns
# each, rows whose codes are looked up at 0.7 ns or more.
THREAD_RUN_ROWS = 2**23
THREAD_CODE_ROWS = 2**21


class CpuBackend:
    """Runs fused jobs with compiled loops, on several threads where that pays off."""

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
        codes = tuple(
            narrow_codes(row_codes[position], hierarchies[position].code_count)[row_ids]
            for position in stored
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
        return find_runs(bvh, job)

    def launch(self, bvh: Bvh, job: FusedJob, prepared: object) -> FusedResult:
        """Run a job: all its accumulators in one pass over the runs."""
        assert isinstance(prepared, Runs)
        runs = prepared

        def run(part: Runs) -> tuple[NDArray[np.int64], list[Total]]:
            rows = np.zeros(job.group_count, np.int64)
            totals = [
                new_total(a.function, bvh.measures[a.measure], job.group_count, runs.row_count)
                for a in job.accumulators
            ]
            _accumulate(part, rows, totals)
            return rows, totals

        (rows, totals), *others = run_parts(run, _thread_parts(runs, job.group_count))
        for other_rows, other_totals in others:
            rows += other_rows
            for total, other in zip(totals, other_totals, strict=True):
                merge(total, other)
        return FusedResult(rows, tuple(value_of(total, rows) for total in totals))

    def locate(
        self, bvh: Bvh, job: FusedJob, prepared: object
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (places, groups) of the rows that pass the job's filters."""
        del bvh
        assert isinstance(prepared, Runs)

        def run(part: Runs) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
            # Copied, because a block's arrays have room for all the rows that did not pass.
            return [(places.copy(), groups.copy()) for places, groups in _located_blocks(part)]

        found = run_parts(run, _thread_parts(prepared, job.group_count))
        blocks = [block for part in found for block in part]
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
        totals = [
            new_total(function, measure, group_count, len(groups))
            for function, measure in zip(functions, measures, strict=True)
        ]
        for low in range(0, len(groups), BLOCK_ROWS):
            block = groups[low : low + BLOCK_ROWS]
            _add_block(np.arange(low, low + len(block)), block, rows, totals)
        return FusedResult(rows, tuple(value_of(total, rows) for total in totals))


def _sort_rows(
    keys: NDArray[np.int64], cell_count: int
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64], NDArray[np.uint32]]:
    """Return (cells, offsets, row_ids) of rows in the order of their cells, stable."""
    from raydb.kernels.cpu import sort  # noqa: PLC0415  (numba takes 0.24 s)

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


def _thread_parts(runs: Runs, group_count: int) -> list[Runs]:
    """Cut the runs into a part for each thread that pays off; at least one."""
    least = THREAD_CODE_ROWS if runs.maps else THREAD_RUN_ROWS
    # Every thread has accumulators of its own, which must be made and merged.
    wanted = runs.row_count // max(least, 2 * group_count) + 1
    count = min(wanted, processor_count())
    return list(runs.parts(-(-runs.row_count // count))) if count > 1 else [runs]


def run_parts(run: Callable[[P], T], parts: list[P]) -> list[T]:
    """Run each part on a thread of its own, the first one on this thread."""
    if len(parts) == 1:
        return [run(parts[0])]
    rest = [threads().submit(run, part) for part in parts[1:]]
    return [run(parts[0]), *(future.result() for future in rest)]


@cache
def processor_count() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def threads() -> ThreadPoolExecutor:
    """Return the threads that all jobs share."""
    return ThreadPoolExecutor(processor_count(), thread_name_prefix="raydb")


def _accumulate(runs: Runs, rows: NDArray[np.int64], totals: list[Total]) -> None:
    """Add some runs to the totals: run by run where groups allow it, else row by row."""
    running = [total for total in totals if total.kind != "rows"]
    if not runs.maps and all(total.takes_runs for total in running):
        for part in runs.parts(CHUNK_ROWS):
            loops().count_runs(*part.triple, rows)
            for total in running:
                add_runs(total, part)
    elif _is_plain(runs) and [total.kind for total in running] in ([], ["sum"]):
        name = "by_code" if len(runs.maps) == 1 else "by_codes"
        loop = getattr(loops(), f"sum_{name}" if running else f"count_{name}")
        maps = [array for code_map in runs.maps for array in code_map]
        values = [running[0].values, rows, *running[0].arrays] if running else [rows]
        for part in runs.parts(CHUNK_ROWS):
            loop(*part.triple, *maps, *values)
    else:
        for places, groups in _located_blocks(runs):
            _add_block(places, groups, rows, running)


def _is_plain(runs: Runs) -> bool:
    """Whether one loop does all; not where the processor often guesses wrong which rows pass."""
    is_foreseen = not LEAST_UNFORESEEN < runs.passing < 1 - LEAST_UNFORESEEN
    return (
        bool(runs.maps)
        and (is_foreseen or runs.row_count < LISTED_ROWS)
        and _together(runs) == len(runs.maps)
    )


def _add_block(
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
    rows: NDArray[np.int64],
    totals: list[Total],
) -> None:
    loops().count_groups(groups, rows)
    for total in totals:
        add_places(total, places, groups)


def _located_blocks(runs: Runs) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield (places, groups) of the rows that pass the row maps, block by block."""
    for part in runs.parts(BLOCK_ROWS):
        places, groups = np.empty((2, part.row_count), np.int64)
        together = _together(runs)
        arrays = [array for code_map in runs.maps[:together] for array in code_map]
        if together:
            loop = loops().list_by_code if together == 1 else loops().list_by_codes
            found = loop(*part.triple, *arrays, places, groups)
            places, groups = places[:found], groups[:found]
        else:
            loops().list_rows(*part.triple, places, groups)
        for codes, code_parts in runs.maps[together:]:
            found = loops().refine_rows(places, groups, codes, code_parts)
            places, groups = places[:found], groups[:found]
        yield places, groups


def _together(runs: Runs) -> int:
    """Return how many of the first row maps one loop takes: two of codes of one type, else one."""
    types = [codes.dtype for codes, _ in runs.maps[:2]]
    return 2 if len(types) == 2 and types[0] == types[1] else len(types[:1])
