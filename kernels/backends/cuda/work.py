"""A job as the kernels take it: units of four rows in tiles, cut into windows that fit the device.

What the host tells a kernel is one array of 32-bit integers, which is sent at once:

    runs    for each run the units before it, its first place, the place behind it, its group
    tiles   the run of the first unit of each tile, and the last run
    maps    of each map the bits of the codes that pass, or what each adds to the group
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.backends.cpu.runs import find_runs
from raydb.kernels.backends.cuda.compiled import TILE_UNITS
from raydb.kernels.backends.cuda.memory import UNIT_ROWS
from raydb.kernels.backends.cuda.source import SHORT_TESTS, Lookup
from raydb.kernels.backends.device import DeviceError
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob
    from raydb.kernels.bvh.bvh import Bvh

# Places are 32-bit integers on the device, also those just behind the last row.
MAX_ROWS = 2**31 - 2**20

# So are groups, and the places in what the host tells a kernel.
MAX_GROUPS = 2**31
MAX_TOLD = 2**31 - 2**20

# Where no more of the rows pass, a thread goes from one of them to the next.
SPARSE_SHARE = 1 / 8

# How many codes a register, or two of them, have bits for.
WORD_CODES = 32


@dataclass(frozen=True, eq=False, slots=True)
class RowMap:
    """A map that decides row by row.

    codes: the stored code of each row.
    parts: int64; entry c + 1 is what code c adds to the group, or -1 where the row is dropped;
        entry 0 is that of code -1, which stands for the last one.
    """

    codes: NDArray[Any]
    parts: NDArray[np.int64]
    lookup: Lookup


@dataclass(frozen=True, eq=False, slots=True)
class Work:
    """Runs of places (int64, shape (run_count,)) with their groups, and the maps by row.

    is_sparse: whether few rows pass the maps.
    has_run_groups: whether runs have groups other than 0.
    is_wide: whether groups need more than 32 bits: kernels then tell only which rows pass.
    row_count: the rows in all runs.
    tables: where in `control` the tables of the maps lie, in the kernels' order.
    figures: what EXPLAIN ANALYZE shows of the last launch.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    groups: NDArray[np.int64]
    maps: tuple[RowMap, ...]
    is_sparse: bool
    has_run_groups: bool
    is_wide: bool
    row_count: int
    control: NDArray[np.int32]
    tables: tuple[tuple[int, ...], ...]
    tile_count: int
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def last_place(self) -> int:
        """The place behind the last row."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def codes(self) -> list[NDArray[Any]]:
        """The codes of the maps."""
        return [each.codes for each in self.maps]

    @property
    def tiles(self) -> int:
        """Where in `control` the runs of the tiles begin."""
        return 4 * len(self.starts)

    def groups_at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the groups of places whose rows pass."""
        groups: NDArray[np.int64] = self.groups[
            np.searchsorted(self.starts, places, side="right") - 1
        ]
        for each in self.maps:
            # Code -1 stands for the last one, as an index of Python's does.
            groups += each.parts[1:][each.codes[places]]
        return groups


def find_work(bvh: Bvh, job: FusedJob) -> Work:
    """Return the work of a job on a BVH."""
    runs = find_runs(bvh, job)
    drops = any((parts < 0).any() for _, parts in runs.maps)
    is_sparse = bool(drops and runs.passing <= SPARSE_SHARE)
    maps = [_row_map(codes, parts, is_sparse=is_sparse) for codes, parts in runs.maps]
    used = tuple(each for each in maps if each.lookup != Lookup("none", adds=False))
    starts, ends, groups = runs.table
    return _work(starts, ends, groups, used, is_sparse=is_sparse)


def work_of_rows(groups: NDArray[np.int64]) -> Work:
    """Return the work that adds up gathered rows, each with its group."""
    ends = np.full(min(len(groups), 1), len(groups), np.int64)
    parts = np.arange(-1, int(groups.max(initial=0)) + 1)
    maps = (RowMap(groups, parts, Lookup("none", adds=True)),)
    return _work(np.zeros_like(ends), ends, np.zeros_like(ends), maps, is_sparse=False)


def _row_map(codes: NDArray[Any], parts: NDArray[np.int64], *, is_sparse: bool) -> RowMap:
    """Say how a map is looked up; one that adds tells by what it adds which rows pass.

    Where few rows pass, that is found out first, and what it adds only of those.
    """
    adds = bool((parts > 0).any())
    if not (parts < 0).any() or (adds and not is_sparse):
        return RowMap(codes, parts, Lookup("none", adds))
    words = -(-(len(parts) - 1) // WORD_CODES)
    is_short = words <= len(SHORT_TESTS) and codes.dtype.kind == "u"
    return RowMap(codes, parts, Lookup(SHORT_TESTS[words - 1] if is_short else "bits", adds))


def _work(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    groups: NDArray[np.int64],
    maps: tuple[RowMap, ...],
    *,
    is_sparse: bool,
) -> Work:
    units = (ends - 1) // UNIT_ROWS - starts // UNIT_ROWS + 1
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(units)])
    tile_count = -(-int(bounds[-1]) // TILE_UNITS)
    firsts = np.searchsorted(bounds, np.arange(tile_count) * TILE_UNITS, side="right") - 1
    most = int(groups.max(initial=0)) + sum(int(each.parts.max(initial=0)) for each in maps)
    is_wide = most >= MAX_GROUPS
    told_groups = np.zeros_like(groups) if is_wide else groups
    runs = np.column_stack([bounds[:-1], starts, ends, told_groups]).reshape(-1)
    pieces = [runs.astype(np.int32), firsts.astype(np.int32), np.array([len(starts) - 1], np.int32)]
    tables = []
    for each in maps:
        places = []
        for table, before in _tables(each, is_wide=is_wide):
            places.append(sum(map(len, pieces)) + before)
            pieces.append(table)
        tables.append(tuple(places))
    if sum(map(len, pieces)) > MAX_TOLD:
        raise DeviceError(f"cuda: the {len(starts)} intervals of the job are too many for a kernel")
    control = np.concatenate(pieces)
    return Work(
        starts,
        ends,
        groups,
        maps,
        is_sparse,
        bool(told_groups.any()),
        is_wide,
        int((ends - starts).sum()),
        control,
        tuple(tables),
        tile_count,
    )


def _tables(row_map: RowMap, *, is_wide: bool) -> Iterator[tuple[NDArray[np.int32], int]]:
    """Yield the tables of a map, each with how many entries lie before that of code 0."""
    passes = row_map.parts[1:] >= 0
    match row_map.lookup.test:
        case "word" | "words":
            yield _bits(passes), 0
        case "bits":
            # The bit of code -1 is the last one of the word before.
            last = np.zeros(WORD_CODES, np.bool_)
            last[-1] = passes[-1]
            yield _bits(np.concatenate([last, passes])), 1
        case _:
            pass
    if row_map.lookup.adds:
        parts = np.minimum(row_map.parts, 0) if is_wide else row_map.parts
        yield parts.astype(np.int32), 1


def _bits(passes: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return flags as the bits of words, from the lowest bit of the first one on."""
    padded = np.zeros(-(-len(passes) // WORD_CODES) * WORD_CODES, np.bool_)
    padded[: len(passes)] = passes
    return np.packbits(padded, bitorder="little").view("<i4").astype(np.int32)


def windows(
    work: Work, inputs: Sequence[NDArray[Any]], room_bytes: int, found_bytes: int = 0
) -> Iterator[tuple[int, Work, list[NDArray[Any]]]]:
    """Cut a job into windows of places whose columns fit `room_bytes`, to be run in turns.

    found_bytes: what a row takes in the result. Yields the first place of each window with its
    work and inputs: the columns are slices, and places count from the first one. Rows lie in the
    order of their cells, so the windows of a job with few intervals are few too.
    """
    row_bytes = found_bytes + sum(column.itemsize for column in (*inputs, *work.codes))
    width = min(room_bytes // max(row_bytes, 1), MAX_ROWS)
    width = max(width // UNIT_ROWS, 1) * UNIT_ROWS
    place = int(work.starts[0]) if len(work.starts) else 0
    while place < work.last_place:
        low = place // UNIT_ROWS * UNIT_ROWS
        high = low + width
        # Runs lie in the order of their places.
        first = int(np.searchsorted(work.ends, low, side="right"))
        end = int(np.searchsorted(work.starts, high, side="left"))
        if first < end:
            starts = np.maximum(work.starts[first:end], low) - low
            ends = np.minimum(work.ends[first:end], high) - low
            maps = tuple(replace(each, codes=each.codes[low:high]) for each in work.maps)
            part = _work(starts, ends, work.groups[first:end], maps, is_sparse=work.is_sparse)
            yield low, part, [column[low:high] for column in inputs]
        place = high
        if end < len(work.starts) and (first == end or work.ends[end - 1] <= high):
            place = int(work.starts[end])
