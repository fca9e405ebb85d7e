"""The CPU backend: cell intervals become runs of places, runs become sums."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from raydb.kernels.backends.backend import FusedResult, PreparedJob
from raydb.kernels.backends.cpu.runs import Runs, find_runs
from raydb.kernels.backends.cpu.states import CpuStates, find_states
from raydb.kernels.backends.cpu.threads import processor_count, run_parts
from raydb.kernels.backends.cpu.warm import loops
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob, Located
    from raydb.kernels.backends.cpu.runs import RunTable
    from raydb.kernels.backends.cpu.states import Arrays
    from raydb.kernels.bvh.build_input import BuildControl, Source
    from raydb.kernels.bvh.bvh import Bvh, Measure

# The rows of each group, where they are not known already, and the words of each state.
Accumulated: TypeAlias = "tuple[NDArray[np.int64] | None, Arrays]"

# Rows are located in blocks of this many, so that the scratch space (512 KiB) stays in the cache.
BLOCK_ROWS = 2**15

# Between two loops over this many rows an interrupt is heard; they take 0.3 to 8 ms. Where several
# sums look up the same codes one after the other, so many fewer that the codes stay in the cache.
CHUNK_ROWS = 2**23
CODE_CHUNK_ROWS = 2**17

# The rows of so many groups at most are kept with a plan (512 KiB), else counted at each launch.
KEPT_GROUPS = 2**16

# Located rows of more than this are listed block by block: both lists of all rows are 64 MiB.
LISTED_ROWS = 2**22

# The loops that look up codes have room for dropped rows, 16 MiB at most with the groups. They have
# it for every fourth row apart where all stays in the first two caches, and adding up costs little.
WIDEST = 2**20
LANES = 4
LANE_GROUPS = 2**10
LANE_ROWS_A_GROUP = 32

# Where fewer rows pass, the processor guesses right that one does not, and skips it.
FEW_PASSING = 1 / 16

# A thread pays off where it takes over this many rows. Those of runs are added up at 0.05 ns each,
# as fast as the memory gives them to one thread; codes are looked up at 0.6 ns, and a row takes
# 1.6 ns in blocks.
THREAD_RUN_ROWS = 2**22
THREAD_CODE_ROWS = 2**20
THREAD_BLOCK_ROWS = 2**19


@dataclass(frozen=True, eq=False, slots=True)
class CpuJob(PreparedJob):
    """A job for compiled loops.

    way: `runs` where a run's rows share a group; `codes` where stored codes decide, and there are
        loops that look them up; `blocks` where rows are listed first.
    parts: the runs, a part for each thread.
    rows: int64, shape (group_count,), frozen: the rows of each group, where runs alone tell and
        the groups are few.
    maps, lanes: those that the loops of `codes` take: the parts are the number of groups where a
        row is dropped.
    """

    runs: Runs
    group_count: int
    way: Literal["runs", "codes", "blocks"]
    parts: tuple[Runs, ...]
    states: CpuStates
    rows: NDArray[np.int64] | None = None
    maps: tuple[tuple[NDArray[Any], NDArray[np.int32]], ...] = ()
    lanes: tuple[int, int, int] = (1, 0, 0)

    def launch(self) -> FusedResult:
        """Run the job: all its accumulators in one pass over the runs."""
        if len(self.parts) == 1:
            (rows, arrays), others = self._accumulate_part(self.parts[0]), []
        else:
            (rows, arrays), *others = run_parts(self._accumulate_part, self.parts)
        for other_rows, other_arrays in others:
            if rows is not None and other_rows is not None:
                rows += other_rows
            self.states.merge(arrays, other_arrays)
        if rows is None:
            assert self.rows is not None
            rows = self.rows.copy()
        return FusedResult(rows, self.states.values(rows, arrays))

    def _accumulate_part(self, part: Runs) -> Accumulated:
        if self.way == "codes":
            return _add_by_code(part, self)
        arrays = self.states.new_arrays(self.group_count)
        if self.rows is not None:
            _add_runs(part, None, self.states, arrays)
            return None, arrays
        rows = np.zeros(self.group_count, np.int64)
        if self.way == "runs":
            _add_runs(part, rows, self.states, arrays)
        else:
            for places, groups in _located_blocks(part):
                _add_block(places, groups, rows, self.states, arrays)
        return rows, arrays

    def locate(self) -> Located:
        """Return (places, groups) of the rows that pass the job's filters."""
        runs = self.runs
        if runs.row_count <= LISTED_ROWS and len(runs.maps) == _together(runs):
            # Without maps a row takes 0.17 ns.
            least_rows = THREAD_CODE_ROWS if runs.maps else THREAD_RUN_ROWS
            return _list_parts(_thread_parts(runs, least_rows, self.group_count))
        parts = _thread_parts(runs, THREAD_BLOCK_ROWS, self.group_count)
        found = [block for part in run_parts(_list_blocks, parts) for block in part]
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        places, groups = zip(*found, strict=True)
        return np.concatenate(places), np.concatenate(groups)


class CpuBackend:
    """Runs fused jobs with compiled loops, on several threads where that pays off."""

    name = "cpu"

    def build(self, source: Source, control: BuildControl) -> Bvh:
        """Sort the rows by cell and gather the payload into that order."""
        from raydb.kernels.backends.cpu.build import build_from  # noqa: PLC0415  (few build)

        return build_from(source, control)

    def prepare(self, bvh: Bvh, job: FusedJob) -> CpuJob:
        """Find the runs of a job, and choose how they are added up."""
        runs = find_runs(bvh, job)
        functions = [(a.function, a.measure) for a in job.accumulators]
        return self.prepare_runs(
            runs, job.group_count, partial(find_states, functions, bvh.measures, runs.row_count)
        )

    def prepare_runs(
        self, runs: Runs, group_count: int, states_of: Callable[..., CpuStates]
    ) -> CpuJob:
        """Choose how runs are added up; states_of: as `find_states`, of the job's functions."""
        by_runs = not runs.maps
        states = states_of(by_runs=by_runs)
        if by_runs and states.takes_runs:
            rows = None
            if group_count <= KEPT_GROUPS:
                rows = np.zeros(group_count, np.int64)
                loops().count_runs(runs.table, rows)
                rows.flags.writeable = False
            parts: tuple[Runs, ...] = (runs,)
            if states.states:
                parts = _thread_parts(runs, THREAD_RUN_ROWS, group_count)
            return CpuJob(runs, group_count, "runs", parts, states, rows)
        if by_runs:
            states = states_of(by_runs=False)
        # Dropped rows are added up beyond the groups: a further part may follow what one drops.
        has_dropped = any(np.count_nonzero(parts < 0) for _, parts in runs.maps)
        width = group_count * (1 + len(runs.maps) * has_dropped)
        if not _has_loops(runs, states, width):
            parts = _thread_parts(runs, THREAD_BLOCK_ROWS, group_count)
            return CpuJob(runs, group_count, "blocks", parts, states)
        parts = _thread_parts(runs, THREAD_CODE_ROWS, group_count)
        maps = tuple(
            (codes, np.where(code_parts < 0, group_count, code_parts).astype(np.int32))
            for codes, code_parts in runs.maps
        )
        is_float = any(state.is_float for state in states.states)
        lane_count = 1 if is_float else _lane_count(parts[0].row_count, width)
        limit = group_count if runs.passing < FEW_PASSING else width
        lanes = lane_count, width, limit
        return CpuJob(runs, group_count, "codes", parts, states, None, maps, lanes)


def accumulate_rows(
    functions: Sequence[str],
    measures: Sequence[Measure],
    groups: NDArray[np.int64],
    group_count: int,
) -> FusedResult:
    """Accumulate values of rows, the i-th function over the i-th measure."""
    rows = np.zeros(group_count, np.int64)
    pairs = [(function, position) for position, function in enumerate(functions)]
    states = find_states(pairs, measures, len(groups))
    arrays = states.new_arrays(group_count)
    places = np.arange(len(groups))
    for low in range(0, len(groups), BLOCK_ROWS):
        block = slice(low, low + BLOCK_ROWS)
        _add_block(places[block], groups[block], rows, states, arrays)
    return FusedResult(rows, states.values(rows, arrays))


def _thread_parts(runs: Runs, least_rows: int, group_count: int) -> tuple[Runs, ...]:
    """Cut the runs into a part for each thread that pays off; at least one."""
    # Every thread has accumulators of its own, which must be made and merged.
    wanted = runs.row_count // max(least_rows, 2 * group_count)
    count = min(wanted, processor_count())
    return tuple(runs.parts(count)) if count > 1 else (runs,)


def _has_loops(runs: Runs, states: CpuStates, width: int) -> bool:
    """Whether there is a loop that looks up the codes and accumulates at once, for each state."""
    return (
        bool(runs.maps)
        and _together(runs) == len(runs.maps)
        and all(state.kind == "sum" for state in states.states)
        and width <= WIDEST
    )


def _lane_count(row_count: int, width: int) -> int:
    is_small = width <= min(LANE_GROUPS, row_count // LANE_ROWS_A_GROUP)
    return LANES if is_small else 1


def _add_runs(
    runs: Runs, rows: NDArray[np.int64] | None, states: CpuStates, arrays: Arrays
) -> None:
    """Accumulate the measures of runs, and count their rows where `rows` is not None."""
    if not states.states and rows is None:
        return
    for piece in runs.pieces(CHUNK_ROWS):
        if rows is not None:
            loops().count_runs(piece, rows)
        for state, array in zip(states.states, arrays, strict=True):
            state.add_runs(array, piece)


def _add_by_code(runs: Runs, job: CpuJob) -> Accumulated:
    """Look up the codes of one or two maps, count the rows and add up each measure."""
    (lane_count, width, _), group_count, states = job.lanes, job.group_count, job.states.states
    rows = np.zeros(lane_count * width, np.int64)
    arrays = job.states.new_arrays(lane_count * width)
    # Every loop counts the rows as well; what the first one counts is taken.
    counts = [rows, *(np.empty_like(rows) for _ in states[1:])]
    for piece in runs.pieces(CHUNK_ROWS if len(states) < 2 else CODE_CHUNK_ROWS):
        if not states:
            loops().count_by_code(piece, job.maps, job.lanes, rows)
        for state, own_counts, (sums,) in zip(states, counts, arrays, strict=False):
            loops().sum_by_code(piece, job.maps, state.values, job.lanes, own_counts, sums)
    if lane_count == 1:
        return rows[:group_count], [array[:, :group_count] for array in arrays]
    rows, *arrays = (
        array.reshape(-1, lane_count, width)[..., :group_count].sum(axis=1)
        for array in (rows, *arrays)
    )
    return rows[0], arrays


def _add_block(
    places: NDArray[np.int64],
    groups: NDArray[np.int64],
    rows: NDArray[np.int64],
    states: CpuStates,
    arrays: Arrays,
) -> None:
    loops().count_groups(groups, rows)
    for state, array in zip(states.states, arrays, strict=True):
        state.add_places(array, places, groups)


def _list_parts(parts: Sequence[Runs]) -> Located:
    """List the rows of all parts, each thread behind the other; then close the gaps."""
    room = np.empty((2, sum(part.row_count for part in parts)), np.int64)
    lows = list(itertools.accumulate((part.row_count for part in parts), initial=0))

    def run(part: int) -> int:
        runs = parts[part]
        return len(_list(runs, runs.table, room[:, lows[part] : lows[part + 1]])[0])

    found = 0
    for part, count in enumerate(run_parts(run, range(len(parts)))):
        if found < lows[part]:
            room[:, found : found + count] = room[:, lows[part] : lows[part] + count]
        found += count
    return room[0, :found], room[1, :found]


def _list_blocks(runs: Runs) -> list[Located]:
    # Copied, because the next block is listed in the same place.
    return [(places.copy(), groups.copy()) for places, groups in _located_blocks(runs)]


def _located_blocks(runs: Runs) -> Iterator[Located]:
    """Yield (places, groups) of the rows that pass the row maps, block by block.

    Each block is listed in the place of the one before.
    """
    room = np.empty((2, min(BLOCK_ROWS, runs.row_count)), np.int64)
    for piece in runs.pieces(BLOCK_ROWS):
        yield _list(runs, piece, room)


def _list(runs: Runs, piece: RunTable, room: NDArray[np.int64]) -> Located:
    """List the rows of a piece that pass the row maps at the start of both rows of `room`."""
    found = int((piece[1] - piece[0]).sum())
    places, groups = room[0, :found], room[1, :found]
    together = _together(runs)
    if together:
        found = loops().list_by_code(piece, runs.maps[:together], places, groups)
    else:
        loops().list_rows(piece, places, groups)
    for codes, code_parts in runs.maps[together:]:
        found = loops().refine_rows(places[:found], groups[:found], codes, code_parts)
    return places[:found], groups[:found]


def _together(runs: Runs) -> int:
    """Return how many of the first row maps one loop takes: two of one type or of 8 and 16 bits."""
    types = [codes.dtype for codes, _ in runs.maps[:2]]
    is_pair = len(types) == 2 and (types[0] == types[1] or types == [np.uint8, np.uint16])
    return 2 if is_pair else len(types[:1])
