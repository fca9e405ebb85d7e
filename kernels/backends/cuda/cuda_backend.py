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
from raydb.kernels.backends.cuda.compiled import SIMULATED, TILE_UNITS
from raydb.kernels.backends.cuda.launch import bind
from raydb.kernels.backends.cuda.memory import (
    UNIT_ROWS,
    Clock,
    Device,
    Words,
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
from raydb.kernels.backends.device import DeviceError, at_once, faults, owner_of
from raydb.kernels.backends.device_totals import answer, merge_words, plan_totals
from raydb.kernels.bvh import partition as split
from raydb.values import dataclass, replace

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

# Results of up to so many bytes have memory of their own on the host and the device, job by job.
KEPT_BYTES = 2**17

# What a listed row takes on the device: its word, whether it passes, and once more if it does.
LOCATED_BYTES = 24


@dataclass(eq=False, slots=True)
class Share:
    """What one device does of a job: the BVH or the part of it that it has, and the work there.

    bound: what the last launch had in place, if it may be had again.
    """

    device: Device
    bvh: Bvh
    work: Work
    bound: Bound | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Bound:
    """A kernel with its arguments in place, and the words of its results.

    launch: None where there are no rows. words: int64, shape (1 + totals, groups): the rows of each
        group, then each total's; sums of floats lie behind the others.
    owners: the host arrays whose copies are arguments, as long as none has left its device, which
        `dropped` tells.
    """

    shape: Shape
    launch: Callable[[], None] | None
    words: Words
    clock: Clock
    owners: tuple[NDArray[Any], ...] = ()
    dropped: int = -1


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
    totals: Totals
    figures: dict[str, float] = field(default_factory=dict)

    def launch(self) -> FusedResult:
        """Run the job: all its accumulators in one pass over its rows.

        Raises DeviceError where a device cannot. Columns that do not fit one are sent in turns.
        """
        totals = self.totals

        def run(share: Share) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
            return _accumulate(share, totals, self.job.group_count)

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
        first, *others = (share.work.figures for share in self.shares)
        self.figures.clear()
        self.figures.update({"device_ms": 0.0, "rows": 0.0} | first)
        for each in others:
            device_ms = each.get("device_ms", 0.0)
            self.figures["device_ms"] = max(self.figures["device_ms"], device_ms)
            self.figures["rows"] += each.get("rows", 0.0)
            if "turns" in each:
                self.figures["turns"] = max(self.figures.get("turns", 0.0), each["turns"])
        if others:
            self.figures["devices"] = float(len(self.shares))


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
        functions = [(each.function, each.measure) for each in job.accumulators]
        row_count = sum(share.work.row_count for share in shares)
        return CudaJob(bvh, job, shares, plan_totals(functions, bvh.measures, row_count))


def _on_device(device: Device, run: Callable[[], T]) -> T:
    with device.current():
        return run()


def _on_devices(shares: Sequence[Share], run: Callable[[Share], T]) -> list[T]:
    """Do something on each device at once; the simulator runs one kernel at a time."""
    calls = [partial(_on_device, share.device, partial(run, share)) for share in shares]
    return [call() for call in calls] if SIMULATED else at_once(calls)


def _accumulate(
    share: Share, totals: Totals, group_count: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the rows and the words of each group, of the rows that one device has."""
    device, work, bound = share.device, share.work, share.bound
    columns = device.columns
    work.figures.clear()
    if bound is not None and bound.dropped == columns.dropped and not columns.is_over_limit():
        columns.use(bound.owners)
        bound.words.begin()
        return _run(bound, work, totals)
    _check_groups(device, totals, group_count)
    inputs = [each.array(share.bvh.measures) for each in totals.inputs]
    arrays = _columns(device, work, inputs)
    if arrays is None:
        return _in_turns(device, work, inputs, totals, group_count)
    made = _bind(device, work, arrays, inputs, totals, group_count)
    found = _run(made, work, totals)
    if made.words.device.nbytes <= KEPT_BYTES:
        made.words.keep()
        owners = tuple(map(owner_of, (work.control, *work.codes, *inputs)))
        share.bound = replace(made, owners=owners, dropped=columns.dropped)
    return found


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
        bound = _bind(device, part, arrays, inputs, totals, group_count)
        part_rows, part_words = _run(bound, part, totals)
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


def _bind(
    device: Device,
    work: Work,
    arrays: Sequence[Any],
    inputs: Sequence[NDArray[Any]],
    totals: Totals,
    group_count: int,
) -> Bound:
    """Put a job's arguments in place; `arrays` are those of its control, its codes and inputs."""
    plan = plan_launch(work, inputs, totals.totals, group_count)
    shape = plan.shape
    # Sums of floats start from 0.0, whose bits are those of 0.
    first = np.zeros((1 + len(totals.totals), group_count), np.int64)
    whole = len(first) - shape.float_count
    for number, total in enumerate(totals.totals):
        if total.neutral:
            first[shape.row_of(number)] = total.neutral
    words, launch = Words(first), None
    if work.tile_count:
        outs = [words.device[:whole].reshape(-1)]
        if shape.float_count:
            outs.append(words.device[whole:].reshape(-1).view(np.float64))
        grid, *tiles = _tiles(device, work, plan.shared_bytes)
        of_kernel = [arrays[0], *tiles, group_count, plan.copies]
        of_kernel += [*_columns_and_tables(work, arrays), *outs]
        launch = bind(shape, device.number, grid, plan.shared_bytes, of_kernel)
    return Bound(shape, launch, words, Clock())


def _run(
    bound: Bound, work: Work, totals: Totals
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Launch a kernel once; return the rows and the words of each group."""
    shape = bound.shape
    bound.clock.start()
    if bound.launch is not None:
        bound.launch()
    bound.clock.stop()
    words = bound.words.fetch()
    work.figures["device_ms"] = bound.clock.elapsed_ms()
    work.figures["rows"] = float(work.row_count)
    whole = len(words) - shape.float_count
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
    of_kernel = [arrays[0], *tiles, 1, 1, *_columns_and_tables(work, arrays), listed]
    launch = bind(_shape(work, (), (), "list"), device.number, grid, 0, of_kernel)
    clock = Clock()
    clock.start()
    launch()
    clock.stop()
    words = to_host(listed[xp.flatnonzero(listed >= 0)])
    work.figures["device_ms"] = clock.elapsed_ms()
    work.figures["rows"] = float(work.row_count)
    places = words & 0xFFFFFFFF
    return places, work.groups_at(places) if work.is_wide else words >> 32


def _add_figures(work: Work, part: Work) -> None:
    for name, figure in (*part.figures.items(), ("turns", 1.0)):
        work.figures[name] = work.figures.get(name, 0.0) + figure
