"""The CUDA backend: a block for each stretch of a job's rows, all totals in one pass.

Without a BVH the same kernels scan whole tables in Crystal's manner: a block reads a tile of rows,
looks its codes up in the predicates' tables, loads the measures only where a row of four passes,
and adds up in shared memory (Shanbhag et al., SIGMOD 2020, section 3).

Where there are several devices, each has a part of a large BVH (`raydb.kernels.bvh.partition`).
"""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from raydb.kernels.backends.backend import PreparedJob
from raydb.kernels.backends.cuda.build import build_bvh
from raydb.kernels.backends.cuda.compiled import BLOCK_THREADS, SIMULATED, TILE_UNITS, kernel
from raydb.kernels.backends.cuda.memory import (
    UNIT_ROWS,
    Clock,
    Device,
    argument,
    devices,
    to_host,
    upload,
    xp,
)
from raydb.kernels.backends.cuda.source import Shape, Where
from raydb.kernels.backends.cuda.work import (
    MAX_GROUPS,
    MAX_ROWS,
    Work,
    find_work,
    windows,
    work_of_rows,
)
from raydb.kernels.backends.device import DeviceError, at_once, faults
from raydb.kernels.backends.device_totals import answer, merge_words, plan_totals
from raydb.kernels.bvh import partition as split
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backends.backend import FusedJob, FusedResult, Located
    from raydb.kernels.backends.device_totals import Total, Totals
    from raydb.kernels.bvh.build_input import BuildControl, Source
    from raydb.kernels.bvh.bvh import Bvh, Measure

T = TypeVar("T")

# Blocks that a multiprocessor has at once: 1,024 threads, each with up to 64 registers. A job has
# no more blocks: each takes its part of the tiles, and no second wave leaves half a device idle.
WAVE_BLOCKS = 4

# What a block has without asking the driver for more: 4,096 groups of one total and their rows.
SHARED_BYTES = 48 * 1024

# Below this, each group is there up to 32 times, so that the threads of a warp do not wait for each
# other at one word.
COPIES_BYTES = 12 * 1024
MAX_COPIES = 32

# What the driver takes of the shared memory for each block.
RESERVED_BYTES = 1024

# Registers for values that were loaded and are not used yet, in a thread that may have 64.
LOADED_REGISTERS = 32

# What a listed row takes on the device: its word, whether it passes, and once more if it does.
LOCATED_BYTES = 24


@dataclass(frozen=True, eq=False, slots=True)
class Share:
    """What one device does of a job: the BVH or the part of it that it has, and the work there."""

    device: Device
    bvh: Bvh
    work: Work


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A kernel's shape, how often each group is in shared memory (a power of two), and its size."""

    shape: Shape
    copies: int
    shared_bytes: int


@dataclass(frozen=True, eq=False, slots=True)
class CudaJob(PreparedJob):
    """A job on each device that has a part of the BVH."""

    bvh: Bvh
    job: FusedJob
    shares: tuple[Share, ...]
    figures: dict[str, float] = field(default_factory=dict)

    def launch(self) -> FusedResult:
        """Run the job: all its accumulators in one pass over its rows.

        Raises DeviceError where a device cannot. Columns that do not fit one are sent in turns.
        """
        functions = [(each.function, each.measure) for each in self.job.accumulators]
        row_count = sum(share.work.row_count for share in self.shares)
        totals = plan_totals(functions, self.bvh.measures, row_count)

        def run(share: Share) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
            inputs = [each.array(share.bvh.measures) for each in totals.inputs]
            return _accumulate(share, inputs, totals, self.job.group_count)

        with faults.translated("cuda"):
            (rows, words), *others = _on_devices(self.shares, run)
        for other_rows, other_words in others:
            rows += other_rows
            merge_words(totals, words, other_words)
        self._note()
        return answer(totals, rows, words)

    def locate(self) -> Located:
        """Return (places, groups) of the rows that pass the job's filters, in order of place."""
        with faults.translated("cuda"):
            found = _on_devices(self.shares, _locate)
        self._note()
        if len(found) == 1:
            return found[0]
        # The rows of a part are known by their places in the whole.
        places = np.concatenate(
            [
                share.bvh.row_ids[local].astype(np.int64)
                for share, (local, _) in zip(self.shares, found, strict=True)
            ]
        )
        order = np.argsort(places, kind="stable")
        return places[order], np.concatenate([groups for _, groups in found])[order]

    def accumulate(
        self,
        functions: Sequence[str],
        measures: Sequence[Measure],
        groups: NDArray[np.int64],
        group_count: int,
    ) -> FusedResult:
        """Accumulate located rows' values, the i-th function over the i-th measure."""
        pairs = [(function, position) for position, function in enumerate(functions)]
        totals = plan_totals(pairs, measures, len(groups))
        inputs = [each.array(measures) for each in totals.inputs]
        with faults.translated("cuda"):
            first, work = devices()[0], work_of_rows(groups)
            # Located rows are asked for once: nothing that is kept should leave for them.
            rows, words = _on_device(
                first, lambda: _in_turns(first, work, inputs, totals, group_count)
            )
        return answer(totals, rows, words)

    def _note(self) -> None:
        """Keep the figures of a run: of the devices the slowest one's time, and all rows."""
        found = [share.work.figures for share in self.shares]
        self.figures.clear()
        self.figures["device_ms"] = max(each.get("device_ms", 0.0) for each in found)
        self.figures["rows"] = sum(each.get("rows", 0.0) for each in found)
        turns = max(each.get("turns", 0.0) for each in found)
        if turns:
            self.figures["turns"] = turns
        if len(found) > 1:
            self.figures["devices"] = float(len(found))


class CudaBackend:
    """Runs fused jobs on CUDA cores."""

    name = "cuda"

    def __init__(self) -> None:
        self._parts = split.Parts()

    def build(self, source: Source, control: BuildControl) -> Bvh:
        """Sort the rows by cell on the first device; the arrays come back to the host.

        Raises DeviceError where its memory is too small.
        """
        with faults.translated(self.name):
            first = devices()[0]
            return _on_device(first, lambda: build_bvh(source, control, first.columns))

    def prepare(self, bvh: Bvh, job: FusedJob) -> CudaJob:
        """Find the runs of a job; their arrays reach the devices with the first launch."""
        with faults.translated(self.name):
            found = devices()
        # The columns of a table scan, which has one cell, belong to the table: one device has them.
        count = 1 if bvh.cell_count == 1 else min(len(found), -(-bvh.row_count // split.PART_ROWS))
        parts = self._parts.of(bvh, max(count, 1))
        shares = tuple(
            Share(device, part, find_work(part, job))
            for device, part in zip(found, parts, strict=False)
        )
        return CudaJob(bvh, job, shares)


def _on_device(device: Device, run: Callable[[], T]) -> T:
    with device.current():
        return run()


def _on_devices(shares: Sequence[Share], run: Callable[[Share], T]) -> list[T]:
    """Do something on each device at once; the simulator runs one kernel at a time."""
    calls = [partial(_on_device, share.device, partial(run, share)) for share in shares]
    return [call() for call in calls] if SIMULATED else at_once(calls)


def _accumulate(
    share: Share, inputs: list[NDArray[Any]], totals: Totals, group_count: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the rows and the words of each group, of the rows that one device has."""
    device, work = share.device, share.work
    _check_groups(device, totals, group_count)
    work.figures.clear()
    arrays = _columns(device, work, inputs)
    if arrays is None:
        return _in_turns(device, work, inputs, totals, group_count)
    return _add_up(device, work, arrays, inputs, totals, group_count)


def _columns(device: Device, work: Work, inputs: list[NDArray[Any]]) -> list[Any] | None:
    """Return what a job needs on its device, where it is kept; None where it must go in turns."""
    if work.last_place > MAX_ROWS:
        return None
    return device.columns.get(work.control, *work.codes, *inputs)


def _check_groups(device: Device, totals: Totals, group_count: int) -> None:
    size_bytes = 8 * (1 + len(totals.totals)) * group_count
    if group_count > MAX_GROUPS or not device.columns.has_room(size_bytes):
        raise DeviceError(f"cuda: {group_count} groups do not fit the device's memory")


def _in_turns(
    device: Device,
    work: Work,
    inputs: list[NDArray[Any]],
    totals: Totals,
    group_count: int,
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Send columns that are not kept, as many rows at a time as there is room for."""
    _check_groups(device, totals, group_count)
    rows = np.zeros(group_count, np.int64)
    words = [np.full(group_count, total.neutral, np.int64) for total in totals.totals]
    for _, part, part_inputs in _windows(device, work, inputs):
        arrays = [upload(host) for host in (part.control, *part.codes, *part_inputs)]
        part_rows, part_words = _add_up(device, part, arrays, inputs, totals, group_count)
        rows += part_rows
        merge_words(totals, words, part_words)
        _add_figures(work, part)
    return rows, words


def _windows(device: Device, work: Work, inputs: list[NDArray[Any]], found_bytes: int = 0) -> Any:
    """Return the windows of a job; what is kept leaves the device where it is in the way."""
    fixed = work.control.nbytes
    row_bytes = found_bytes + sum(column.itemsize for column in (*inputs, *work.codes))
    whole = row_bytes * (work.last_place + UNIT_ROWS)
    if not device.columns.make_room(fixed + whole):
        device.columns.clear()
    room = device.columns.budget_bytes - device.columns.size_bytes - fixed
    if room <= 0:
        raise DeviceError("cuda: the intervals of the job do not fit the device's memory")
    return windows(work, inputs, room, found_bytes)


def _add_up(
    device: Device,
    work: Work,
    arrays: Sequence[Any],
    inputs: Sequence[NDArray[Any]],
    totals: Totals,
    group_count: int,
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Launch the kernel once; return the rows and the words of each group."""
    plan = plan_launch(work, inputs, totals.totals, group_count)
    shape = plan.shape
    # The rows of each group and each total's words, which come back together. Sums of floats, which
    # are behind the others, start from 0.0, whose bits are those of 0.
    found = xp.zeros((1 + len(totals.totals), group_count), np.int64)
    whole = 1 + len(totals.totals) - shape.float_count
    for number, total in enumerate(totals.totals):
        if total.neutral:
            found[shape.row_of(number)] = total.neutral
    outs = [argument(found[:whole].reshape(-1))]
    if shape.float_count:
        outs.append(argument(found[whole:].reshape(-1).view(np.float64)))
    clock = Clock()
    if work.tile_count:
        grid, *tiles = _tiles(device, work, plan.shared_bytes)
        kernel(shape)[grid, BLOCK_THREADS, 0, plan.shared_bytes](
            arrays[0], *tiles, group_count, plan.copies, *_columns_and_tables(work, arrays), *outs
        )
    clock.stop()
    words = to_host(found)
    work.figures["device_ms"] = clock.elapsed_ms()
    work.figures["rows"] = float(work.row_count)
    return words[0], [
        words[shape.row_of(number) + (whole if total.kind == "float" else 0)]
        for number, total in enumerate(totals.totals)
    ]


def plan_launch(
    work: Work, inputs: Sequence[NDArray[Any]], totals: tuple[Total, ...], group_count: int
) -> LaunchPlan:
    """Decide where a job is accumulated, and by which kernel."""
    size_bytes = (8 * len(totals) + 4) * group_count
    if size_bytes > SHARED_BYTES:
        return LaunchPlan(_shape(work, inputs, totals, "global"), 1, 0)
    copies = 1
    while copies < MAX_COPIES and 2 * copies * size_bytes <= COPIES_BYTES:
        copies *= 2
    shape = _shape(work, inputs, totals, "shared")
    return LaunchPlan(shape, copies, -(-copies * size_bytes // 8) * 8)


def _shape(
    work: Work, inputs: Sequence[NDArray[Any]], totals: tuple[Total, ...], where: Where
) -> Shape:
    """Return the shape of a job, with as many units in flight as there are registers for."""
    is_sparse = work.is_sparse and where != "list"
    # Four values of a column for each unit; of sparse rows only the codes that are tested.
    tested = [m.codes for m in work.maps if m.lookup.test != "none" or not is_sparse]
    registers = sum(each.itemsize for each in (*tested, *(() if is_sparse else inputs)))
    units = next((n for n in (4, 2) if n * registers <= LOADED_REGISTERS), 1)
    lookups = tuple(each.lookup for each in work.maps)
    return Shape(lookups, len(inputs), totals, where, units, is_sparse, work.has_run_groups)


def _tiles(device: Device, work: Work, shared_bytes: int) -> tuple[int, int, int, int]:
    """Return the grid, where the runs of tiles lie, how many tiles there are, and those a block."""
    fitting = device.shared_bytes // (shared_bytes + RESERVED_BYTES)
    blocks = device.multiprocessors * max(min(WAVE_BLOCKS, fitting), 1)
    block_tiles = -(-work.tile_count // blocks)
    return -(-work.tile_count // block_tiles), work.tiles, work.tile_count, block_tiles


def _columns_and_tables(work: Work, arrays: Sequence[Any]) -> list[Any]:
    """Return codes and tables of each map, and the inputs, as a kernel takes them."""
    codes, inputs = arrays[1 : 1 + len(work.maps)], arrays[1 + len(work.maps) :]
    pairs = zip(codes, work.tables, strict=True)
    return [each for column, tables in pairs for each in (column, *tables)] + list(inputs)


def _locate(share: Share) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (places, groups) of the rows that one device has, in order of place."""
    device, work = share.device, share.work
    work.figures.clear()
    if device.columns.has_room(work.tile_count * TILE_UNITS * UNIT_ROWS * LOCATED_BYTES):
        arrays = _columns(device, work, [])
        if arrays is not None:
            return _list_rows(device, work, arrays)
    found = []
    for first, part, _ in _windows(device, work, [], LOCATED_BYTES):
        arrays = [upload(host) for host in (part.control, *part.codes)]
        places, groups = _list_rows(device, part, arrays)
        found.append((places + first, groups))
        _add_figures(work, part)
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    all_places, all_groups = zip(*found, strict=True)
    return np.concatenate(all_places), np.concatenate(all_groups)


def _list_rows(
    device: Device, work: Work, arrays: Sequence[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the group and the place of each row, and keep those that pass, in their order."""
    if not work.tile_count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    listed = xp.empty(work.tile_count * TILE_UNITS * UNIT_ROWS, np.int64)
    grid, *tiles = _tiles(device, work, 0)
    clock = Clock()
    kernel(_shape(work, (), (), "list"))[grid, BLOCK_THREADS](
        arrays[0], *tiles, 1, 1, *_columns_and_tables(work, arrays), argument(listed)
    )
    words = to_host(listed[xp.flatnonzero(listed >= 0)])
    clock.stop()
    work.figures["device_ms"] = clock.elapsed_ms()
    work.figures["rows"] = float(work.row_count)
    places = words & 0xFFFFFFFF
    return places, work.groups_at(places) if work.is_wide else words >> 32


def _add_figures(work: Work, part: Work) -> None:
    for name, figure in (*part.figures.items(), ("turns", 1.0)):
        work.figures[name] = work.figures.get(name, 0.0) + figure
