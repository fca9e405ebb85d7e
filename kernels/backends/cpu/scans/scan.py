"""A fused job over the rows of a table in their order, where no BVH sorts them by cell.

The rows lie in chunks, and the least and the greatest code of each chunk (its zone map) say which
maps it needs: a chunk of which no row passes is left out, a filter that all its rows pass is not
asked, and a part of the group number that they share is added once.

    codes  2 2 2 2 | 2 2 3 3 | 3 3 3 3      d_year in the order of the dates
    zones   2 .. 2    2 .. 3    3 .. 3
    = 2      all       filter    none

A column of codes is one array, or two whose pair is looked up in a table of both: that is how a
condition on two attributes is answered without a column of its own.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from raydb.interrupts import check_interrupt
from raydb.kernels.backends.aggregates import BY_ROW
from raydb.kernels.backends.backend import CHUNK_ROWS, FusedResult
from raydb.kernels.backends.cpu import warm
from raydb.kernels.backends.cpu.states import find_states
from raydb.kernels.backends.cpu.threads import processor_count, run_parts
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob
    from raydb.kernels.backends.cpu.states import Arrays, CpuState
    from raydb.kernels.bvh.bvh import Measure

    Zones = tuple[NDArray[Any], NDArray[Any]]
    _Slice = tuple[int, int]

T = TypeVar("T")

# The pieces that a thread takes at a time, 500,000 rows: after each it hears an interrupt.
SLICE_PIECES = 32

# A second thread takes 0.1 ms to start, which is 150,000 rows.
THREAD_ROWS = 2**18

# How a map filters, and what it does in a piece; `filter_loops` has the same numbers.
BY_TABLE, BY_RANGE, BY_BITS = 0, 1, 2
FILTERS, ADDS = 1, 2

# What `add_loops` knows float64 by.
_FLOAT = 9


@dataclass(frozen=True, eq=False, slots=True)
class ScanColumn:
    """What is known of a column of codes without its rows.

    code_counts: of one array, or of two that are looked up as a pair (a * code_counts[1] + b).
    zones: the least and the greatest code of each chunk; None for a pair.
    """

    code_counts: tuple[int, ...]
    zones: Zones | None

    @property
    def code_count(self) -> int:
        """The length of a look-up table."""
        return int(np.prod(self.code_counts))


@dataclass(frozen=True, eq=False, slots=True)
class ScanPlan:
    """What every run of a scan needs, to be made once.

    hierarchies: the job's hierarchy of each map; tables: int32, what a code adds to the group
        number, -1 where its rows are filtered out; filters: int64, shape (map_count, 3): how the
        map filters, with (low, span) of a range or the bits of up to 64 codes.
    pieces: int64, shape (piece_count, 2), the ranges of rows that are read; bases: int64, the group
        number that each begins from; active: uint8, shape (piece_count, map_count).
    """

    hierarchies: tuple[int, ...]
    tables: tuple[NDArray[np.int32], ...]
    filters: NDArray[np.int64]
    pieces: NDArray[np.int64]
    bases: NDArray[np.int64]
    active: NDArray[np.uint8]

    @property
    def row_count(self) -> int:
        """The number of rows that are read."""
        return int((self.pieces[:, 1] - self.pieces[:, 0]).sum())


@dataclass(frozen=True, eq=False, slots=True)
class _Job:
    """What is scanned: a plan, and the codes of each map."""

    plan: ScanPlan
    codes: Sequence[tuple[NDArray[Any], ...]]
    strides: tuple[int, ...]


def zones_of(codes: NDArray[Any]) -> Zones:
    """Return the least and the greatest code of each chunk of rows."""
    firsts = np.arange(0, len(codes), CHUNK_ROWS)
    if not len(codes):
        return codes[:0], codes[:0]
    return np.minimum.reduceat(codes, firsts), np.maximum.reduceat(codes, firsts)


def prepare_scan(job: FusedJob, columns: Sequence[ScanColumn], row_count: int) -> ScanPlan:
    """Plan a job over all rows; `columns` are those of the job's hierarchies."""
    # Of no rows there is nothing to look up, and codes may have no values.
    known = job.maps if row_count else ()
    firsts = np.arange(0, row_count, CHUNK_ROWS, dtype=np.int64)
    chunks = np.column_stack([firsts, np.minimum(firsts + CHUNK_ROWS, row_count)])
    kept = np.full(len(chunks), bool(len(job.intervals)))
    bases = np.zeros(len(chunks), np.int64)
    maps = sorted(known, key=lambda code_map: float((code_map.groups >= 0).mean()))
    active = np.zeros((len(chunks), len(maps)), np.uint8)
    filters = np.zeros((len(maps), 3), np.int64)
    for number, code_map in enumerate(maps):
        groups, column = code_map.groups, columns[code_map.hierarchy]
        passes = groups >= 0
        filters[number] = _filter_of(passes, column)
        active[:, number] = (0 if passes.all() else FILTERS) | (ADDS if groups.max() > 0 else 0)
        if column.zones is None:
            continue
        least, most = (zone.astype(np.int64) for zone in column.zones)
        passing = np.concatenate([[0], np.cumsum(passes)])
        count = passing[most + 1] - passing[least]
        kept &= count > 0
        all_pass = count == most - least + 1
        changes = np.concatenate([[0], np.cumsum(np.diff(groups) != 0)])
        is_one = all_pass & (changes[most] == changes[least])
        bases += np.where(is_one, groups[least], 0)
        active[all_pass, number] &= ADDS
        active[is_one, number] = 0
    return ScanPlan(
        tuple(code_map.hierarchy for code_map in maps),
        tuple(code_map.groups.astype(np.int32) for code_map in maps),
        filters,
        chunks[kept],
        bases[kept],
        active[kept],
    )


def _filter_of(passes: NDArray[np.bool_], column: ScanColumn) -> tuple[int, int, int]:
    """Return how a map filters best: by a range of codes, by bits, else by its table."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], passes, [False]]).astype(np.int8)))
    if len(column.code_counts) > 1 or not len(edges):
        return BY_TABLE, 0, 0
    if len(edges) == 2:
        return BY_RANGE, int(edges[0]), int(edges[1] - 1 - edges[0])
    if len(passes) <= 64:
        bits = sum(1 << int(code) for code in np.flatnonzero(passes))
        return BY_BITS, bits - 2**64 if bits >= 2**63 else bits, 0
    return BY_TABLE, 0, 0


def launch_scan(
    plan: ScanPlan,
    job: FusedJob,
    columns: Sequence[ScanColumn],
    codes: Sequence[tuple[NDArray[Any], ...]],
    measures: Sequence[Measure],
) -> FusedResult:
    """Run a scan: `codes` are the arrays of the job's hierarchies, uint8, uint16 or int32."""
    mapped = [codes[number] for number in plan.hierarchies]
    strides = tuple(columns[number].code_counts[-1] for number in plan.hierarchies)
    scanned = _Job(plan, mapped, strides)
    functions = [(a.function, a.measure) for a in job.accumulators]
    states = find_states(functions, measures, plan.row_count)

    def run(slices: Iterable[_Slice]) -> tuple[NDArray[np.int64], Arrays]:
        rows = np.zeros(job.group_count, np.int64)
        arrays = states.new_arrays(job.group_count)
        scan = _scan_into(scanned, rows, states.states, arrays)
        for low, high in slices:
            check_interrupt()
            scan(low, high)
        return rows, arrays

    (rows, arrays), *others = _run_slices(run, plan, job, measures)
    for other_rows, other_arrays in others:
        rows += other_rows
        states.merge(arrays, other_arrays)
    return FusedResult(rows, states.values(rows, arrays))


def _run_slices(
    run: Callable[[Iterable[_Slice]], T],
    plan: ScanPlan,
    job: FusedJob,
    measures: Sequence[Measure],
) -> list[T]:
    """Run slices of the pieces on several threads where that pays off; return what each has."""
    count = len(plan.pieces)
    per_thread = max(THREAD_ROWS // 2, 2 * job.group_count)
    wanted = min(max(plan.row_count // per_thread, 1), processor_count())
    if any(a.function == "sum" and measures[a.measure].is_float for a in job.accumulators):
        # The sum of floats depends on their order: each thread has its part of the table.
        edges = np.linspace(0, count, wanted + 1).astype(int).tolist()
        return run_parts(run, [[each] for each in itertools.pairwise(edges)])
    size = max(min(SLICE_PIECES, -(-count // wanted)), 1)
    waiting = iter([(low, min(low + size, count)) for low in range(0, count, size)])
    # A thread may start late, where others use the processor: who is free takes the next slice.
    try:
        return run_parts(run, [waiting] * wanted)
    finally:
        list(waiting)  # After an interrupt nobody goes on.


def _scan_into(
    job: _Job, rows: NDArray[np.int64], states: Sequence[CpuState], arrays: Arrays
) -> Callable[[int, int], None]:
    """Return what scans the pieces from one number to another, for one thread."""
    loops = warm.scan_loops()
    if loops is None:
        return functools.partial(scan_in_numpy, job, rows, states, arrays)
    plan = job.plan
    maps = np.zeros((len(plan.tables), 10), np.int64)
    start = 0
    for number, (table, codes) in enumerate(zip(plan.tables, job.codes, strict=True)):
        assert all(array.flags.c_contiguous for array in codes)
        first, second = codes if len(codes) == 2 else (codes[0], None)
        maps[number] = (
            first.ctypes.data,
            first.itemsize,
            0 if second is None else second.ctypes.data,
            0 if second is None else second.itemsize,
            job.strides[number],
            start,
            len(table),
            *plan.filters[number],
        )
        start += len(table)
    listed = np.zeros((len(states), 5), np.int64)
    for number, (state, array) in enumerate(zip(states, arrays, strict=True)):
        assert state.values.flags.c_contiguous
        listed[number] = (
            state.values.ctypes.data,
            _FLOAT if state.is_float else state.values.itemsize,
            0 if state.valid is None else state.valid.ctypes.data,
            BY_ROW.index(state.kind),
            array.ctypes.data,
        )
    tables = np.concatenate([*plan.tables, np.zeros(0, np.int32)])
    asked = (plan.pieces, plan.bases, plan.active, maps, tables)
    scratch = loops.make_scratch(listed)

    def scan(low: int, high: int) -> None:
        loops.scan_rows(low, high, asked, listed, rows, scratch)

    return scan


def scan_in_numpy(
    job: _Job,
    rows: NDArray[np.int64],
    states: Sequence[CpuState],
    arrays: Arrays,
    low: int,
    high: int,
) -> None:
    """Do in NumPy what `scan_loops.scan_rows` does, piece by piece."""
    plan = job.plan
    for number in range(low, high):
        places = np.arange(*plan.pieces[number])
        groups = np.full(len(places), plan.bases[number])
        for place, table in enumerate(plan.tables):
            active = plan.active[number, place]
            if not active:
                continue
            first, *second = job.codes[place]
            looked_up = first[places].astype(np.int64)
            if second:
                looked_up = looked_up * job.strides[place] + second[0][places]
            parts = table[looked_up]
            if active & ADDS:
                groups = groups + parts
            if active & FILTERS:
                places, groups = places[parts >= 0], groups[parts >= 0]
        warm.loops().count_groups(groups, rows)
        for state, array in zip(states, arrays, strict=True):
            state.add_places(array, places, groups)
