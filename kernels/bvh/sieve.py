"""Totals of cells: what a sieved BVH keeps, so that a job may leave the rows of cells unread.

    cell              0        1        2        3
    values of rows    5 1 7             2 2 4 1  9 9
    sums before it    0        13       13       22       40 (of all rows)
    least, most       1, 7     none     1, 4     9, 9

RTScan's data sieving (RayDB, section 2.3) stores the answers of covered regions and refines the
rest by its rows. Here a region is a cell; an interval of cells in one group is the difference of
two sums, and the cells that are not covered are a job of their own, for any backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.aggregates import word_of
from raydb.kernels.backends.backend import FusedResult, PreparedJob
from raydb.kernels.bvh.cells import cells_of, coordinates, group_cells, join_entries, list_entries
from raydb.kernels.bvh.intervals import merge_intervals
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import CodeMap, FusedJob, Located
    from raydb.kernels.bvh.bvh import Bvh, Measure

# Totals are made in blocks of about this many rows, between which an interrupt is heard.
BLOCK_ROWS = 2**22

# A range of so many cells is reduced by a call of its own, at 1.5 us and 0.1 ns a cell; of shorter
# ones the totals are gathered, at 5 ns a cell.
LONG_RANGE = 256


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

    def read_by(self, function: str) -> NDArray[Any] | None:
        """Return the array that answers a function, None where the offsets do."""
        return {"sum": self.sums, "count": self.counts, "min": self.least, "max": self.most}[
            function
        ]


@dataclass(frozen=True, eq=False, slots=True)
class Sieve:
    """The totals of each measure of a BVH."""

    totals: tuple[CellTotals, ...]

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """All arrays of all measures."""
        return [array for totals in self.totals for array in totals.arrays]

    @property
    def size_bytes(self) -> int:
        """The size of all arrays."""
        return sum(array.nbytes for array in self.arrays)


@dataclass(frozen=True, eq=False, slots=True)
class Sifted:
    """A job in two parts: entries that the sieve covers, and the job on the other cells.

    ranges: int64, shape (k, 2): entries of one group each, that of `groups`, int64, shape (k,).
    row_count: how many rows they have.
    rest: the job on the other cells, None where there are none.
    """

    ranges: NDArray[np.int64]
    groups: NDArray[np.int64]
    row_count: int
    rest: FusedJob | None

    @property
    def cell_count(self) -> int:
        """The number of covered entries."""
        return int((self.ranges[:, 1] - self.ranges[:, 0]).sum())


# -- what is kept


def build_sieve(bvh: Bvh) -> Sieve:
    """Return the totals of each measure in each cell of a BVH."""
    return Sieve(tuple(_total_cells(measure, bvh.offsets) for measure in bvh.measures))


def _total_cells(measure: Measure, offsets: NDArray[np.int64]) -> CellTotals:
    valid, kind = measure.valid, measure.values.dtype
    counts = None
    if valid is not None:
        counts = _before(_reduce_rows(np.add, valid.view(np.int8), None, 0, offsets), np.uint32)
    if measure.is_float:
        sums = _reduce_rows(np.add, measure.values, None, 0.0, offsets)
    else:
        added = _reduce_rows(np.add, measure.values, None, 0, offsets)
        # Every sum of some rows fits 32 bits where the sum of as many of the greatest does.
        fits = _bound(measure) * int(offsets[-1]) < 2**31
        sums = _before(added, np.int32 if fits else np.int64)
    # The least and the greatest number of the type: totals are as narrow as the values.
    low, high = (-np.inf, np.nan) if measure.is_float else (np.iinfo(kind).min, np.iinfo(kind).max)
    least = _reduce_rows(word_of("min").merge, measure.values, valid, high, offsets)
    most = _reduce_rows(word_of("max").merge, measure.values, valid, low, offsets)
    return CellTotals(sums, counts, least, most)


def _reduce_rows(
    reduce: np.ufunc,
    values: NDArray[Any],
    valid: NDArray[np.bool_] | None,
    neutral: float,
    offsets: NDArray[np.int64],
) -> NDArray[Any]:
    """Reduce the values of each entry; those that are not valid count as `neutral`.

    Integers are added up as int64; otherwise the type stays.
    """
    is_sum = reduce is np.add and values.dtype.kind != "f"
    kind = np.dtype(np.int64) if is_sum else values.dtype
    totals = np.full(len(offsets) - 1, neutral, kind)
    filled = np.flatnonzero(np.diff(offsets))
    starts = offsets[filled]
    low = 0
    while low < len(filled):
        high = max(int(np.searchsorted(starts, starts[low] + BLOCK_ROWS)), low + 1)
        first, last = int(starts[low]), int(offsets[filled[high - 1] + 1])
        block = values[first:last]
        if valid is not None:
            block = np.where(valid[first:last], block, kind.type(neutral))
        with np.errstate(all="ignore"):  # NaN and infinities are values
            totals[filled[low:high]] = reduce.reduceat(block, starts[low:high] - first, dtype=kind)
        low = high
    return totals


def _before(added: NDArray[np.int64], dtype: type[np.integer[Any]]) -> NDArray[Any]:
    """Return what is added up before each entry, and last of all; int64 wraps around."""
    sums = np.zeros(len(added) + 1, np.int64)
    np.cumsum(added, out=sums[1:])
    return sums.astype(dtype)


def _bound(measure: Measure) -> int:
    return max(-measure.low, measure.high)


# -- what a job may use


def stale_entries(bvh: Bvh) -> NDArray[np.int64]:
    """Return the entries whose totals count deleted rows, sorted: their rows are read."""
    if bvh.dead is None:
        return np.empty(0, np.int64)
    return np.unique(np.searchsorted(bvh.offsets, bvh.dead, side="right") - 1)


def splits_every_cell(bvh: Bvh, code_map: CodeMap) -> bool:
    """Whether a map by row leaves no cell in which all rows pass into one group."""
    least, most = _coordinate_groups(bvh, code_map)
    return not bool(((least == most) & (least >= 0)).any())


def may_overflow(bvh: Bvh, job: FusedJob, row_count: int) -> bool:
    """Whether the sum of `row_count` values of a measure that a job adds up might exceed int64."""
    added = [bvh.measures[a.measure] for a in job.accumulators if a.function == "sum"]
    return any(_bound(measure) * row_count >= 2**63 for measure in added)


def cell_bytes(bvh: Bvh, job: FusedJob) -> int:
    """Return how many bytes a job reads of a covered cell: its offset, and the totals it needs."""
    assert bvh.sieve is not None
    arrays = [bvh.sieve.totals[a.measure].read_by(a.function) for a in job.accumulators]
    return sum((array.itemsize for array in arrays if array is not None), bvh.offsets.itemsize)


def sift(bvh: Bvh, job: FusedJob) -> Sifted:
    """Part the cells that a job touches into those that the sieve covers and those it reads.

    A cell is covered where all of its rows have one group, and none of them is gone.
    """
    entries = bvh.entries(job.intervals)
    by_cell = [m for m in job.maps if m.by_cell and (m.filters or m.groups.any())]
    by_row = [code_map for code_map in job.maps if not code_map.by_cell]
    stale = stale_entries(bvh)
    if not by_cell and not by_row and not len(stale):
        filled = bvh.offsets[entries[:, 1]] > bvh.offsets[entries[:, 0]]
        return _sifted(bvh, job, entries[filled], np.zeros(filled.sum(), np.int64), entries[:0, 0])
    touched = list_entries(entries)
    cells = cells_of(bvh, touched)
    groups = group_cells(bvh, cells, by_cell)
    kept = groups >= 0
    covered = ~np.isin(touched, stale, assume_unique=True)
    for code_map in by_row:
        least, most = _coordinate_groups(bvh, code_map)
        places = coordinates(bvh, code_map.hierarchy, cells)
        kept &= most[places] >= 0
        covered &= least[places] == most[places]
        groups += least[places]
    whole, others = kept & covered, kept & ~covered
    return _sifted(bvh, job, *join_entries(touched[whole], groups[whole]), touched[others])


def _coordinate_groups(bvh: Bvh, code_map: CodeMap) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the least and the greatest group part among the codes of each coordinate on Z.

    Where both are equal a cell decides for all of its rows. Both are int64, shape (scan_count,).
    """
    if len(code_map.groups) == 0:
        return code_map.groups, code_map.groups
    changes = np.diff(bvh.hierarchies[code_map.hierarchy].scan_codes, prepend=-1) != 0
    firsts = np.flatnonzero(changes)
    least = np.minimum.reduceat(code_map.groups, firsts)
    return least, np.maximum.reduceat(code_map.groups, firsts)


def _sifted(
    bvh: Bvh,
    job: FusedJob,
    ranges: NDArray[np.int64],
    groups: NDArray[np.int64],
    others: NDArray[np.int64],
) -> Sifted:
    """Put covered ranges and the entries that are read together."""
    rest = None
    if len(others):
        cells = cells_of(bvh, others)
        intervals = merge_intervals(np.column_stack([cells, cells + 1]))
        rest = replace(job, intervals=intervals, sieved=False)
    row_count = int((bvh.offsets[ranges[:, 1]] - bvh.offsets[ranges[:, 0]]).sum())
    return Sifted(ranges, groups, row_count, rest)


# -- how it is used


@dataclass(frozen=True, eq=False, slots=True)
class SievedJob(PreparedJob):
    """A job that is sifted; rest: its part that reads rows, prepared by a backend."""

    bvh: Bvh
    job: FusedJob
    sifted: Sifted
    rest: PreparedJob | None

    @property
    def figures(self) -> Mapping[str, float]:
        """What the backend measured that read rows."""
        return {} if self.rest is None else self.rest.figures

    def launch(self) -> FusedResult:
        """Return what the covered cells and the rows of the others give."""
        cells = _add_cells(self.bvh, self.job, self.sifted)
        return cells if self.rest is None else _merged(self.job, cells, self.rest.launch())

    def locate(self) -> Located:
        """No row is known by its place: jobs that are asked this are not sieved."""
        raise AssertionError(self.job)

    def ran_on(self) -> str | None:
        """Say who read the rows, as that one does."""
        return None if self.rest is None else self.rest.ran_on()

    def warnings(self) -> list[str]:
        """Return what a result must say of those rows."""
        return [] if self.rest is None else self.rest.warnings()


def prepare_sieved(
    bvh: Bvh, job: FusedJob, prepare: Callable[[FusedJob], PreparedJob]
) -> SievedJob:
    """Return a sieved job; `prepare` takes the part of it that reads rows."""
    sifted = sift(bvh, job)
    rest = None if sifted.rest is None else prepare(sifted.rest)
    return SievedJob(bvh, job, sifted, rest)


def _merged(job: FusedJob, cells: FusedResult, rows: FusedResult) -> FusedResult:
    """Return the result of two parts of a job."""
    counts = {
        a.measure: values
        for a, values in zip(job.accumulators, rows.values, strict=True)
        if a.function == "count"
    }
    merged = []
    for a, one, other in zip(job.accumulators, cells.values, rows.values, strict=True):
        with np.errstate(all="ignore"):  # NaN and infinities are values
            both = word_of(a.function).merge(one, other)
        if a.function in ("min", "max"):  # Of no valid row it is arbitrary.
            both = np.where(counts[a.measure] > 0, both, one)
        merged.append(both)
    return FusedResult(cells.rows + rows.rows, tuple(merged))


def _add_cells(bvh: Bvh, job: FusedJob, sifted: Sifted) -> FusedResult:
    """Return what the covered entries give: the rows of each group, and every accumulator."""
    assert bvh.sieve is not None
    rows = _add_differences(bvh.offsets, sifted, job.group_count)
    values = []
    for accumulator in job.accumulators:
        held = bvh.sieve.totals[accumulator.measure].read_by(accumulator.function)
        if held is None:
            values.append(rows)
        elif len(held) == len(bvh.offsets):
            values.append(_add_differences(held, sifted, job.group_count))
        else:
            values.append(_reduce_cells(accumulator.function, held, sifted, job.group_count))
    return FusedResult(rows, tuple(values))


def _add_differences(before: NDArray[Any], sifted: Sifted, group_count: int) -> NDArray[np.int64]:
    """Add up, for each group, what lies between the ends of its ranges; int64 wraps around."""
    differences = before[sifted.ranges[:, 1]] - before[sifted.ranges[:, 0]]
    if group_count == 1:
        return np.add.reduce(differences, dtype=np.int64, keepdims=True)
    totals = np.zeros(group_count, np.int64)
    np.add.at(totals, sifted.groups, differences.astype(np.int64, copy=False))
    return totals


def _reduce_cells(
    function: str, values: NDArray[Any], sifted: Sifted, group_count: int
) -> NDArray[Any]:
    """Reduce the totals of the covered entries to those of the groups."""
    kind = np.dtype(np.float64 if values.dtype.kind == "f" else np.int64)
    word = word_of(function)
    reduce = word.merge
    totals = np.full(group_count, word.none[kind.kind == "f"], kind)
    ranges = sifted.ranges
    if len(ranges) == 0:
        return totals
    with np.errstate(all="ignore"):  # NaN and infinities are values
        if sifted.cell_count >= LONG_RANGE * len(ranges):
            of_ranges = np.array([reduce.reduce(values[a:b]) for a, b in ranges.tolist()], kind)
        elif sifted.cell_count == len(ranges):
            of_ranges = values[ranges[:, 0]].astype(kind)
        else:
            lengths = ranges[:, 1] - ranges[:, 0]
            starts = np.cumsum(lengths) - lengths
            of_ranges = reduce.reduceat(values[list_entries(ranges)], starts).astype(kind)
        reduce.at(totals, sifted.groups, of_ranges)
    return totals
