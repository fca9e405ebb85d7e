"""The CUDA backend: a block for each stretch of a job's rows, all totals in one pass.

Without a BVH the same kernels scan whole tables in Crystal's manner: a block reads a tile of rows,
looks its codes up in the predicates' tables, loads the measures only where a row of four passes,
and adds up in shared memory (Shanbhag et al., SIGMOD 2020, section 3).

Where there are several devices, each has a part of a large BVH (`raydb.kernels.split`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from raydb.kernels import split
from raydb.kernels.cuda.build import build_bvh
from raydb.kernels.cuda.compiled import SIMULATED, kernel
from raydb.kernels.cuda.memory import (
    UNIT_ROWS,
    Clock,
    Device,
    argument,
    devices,
    to_host,
    upload,
    xp,
)
from raydb.kernels.cuda.source import Shape, Where
from raydb.kernels.cuda.work import Work, find_work, windows, work_of_rows
from raydb.kernels.device import DeviceError, at_once, faults
from raydb.kernels.device_totals import answer, input_array, merge_words, plan_totals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backend import FusedJob, FusedResult
    from raydb.kernels.bvh import Bvh, Measure
    from raydb.kernels.bvh_rows import BuildControl, Source
    from raydb.kernels.device_totals import Totals

T = TypeVar("T")

# A block of the simulator is as many Python threads, so that few of them show all that there is.
BLOCK_THREADS = 8 if SIMULATED else 256

# Units that a block works on: four a thread at least, and as many blocks as keep a device busy.
THREAD_UNITS = 4
MOST_BLOCKS = 8 if SIMULATED else 4096

# What a block has without asking the driver for more: 4,096 groups of one total and their rows.
SHARED_BYTES = 48 * 1024

# What a located row takes on the device: its place and its group, twice while they are picked out.
LOCATED_BYTES = 40


@dataclass(frozen=True, eq=False, slots=True)
class Share:
    """What one device does of a job: the BVH or the part of it that it has, and the work there."""

    device: Device
    bvh: Bvh
    work: Work


@dataclass(frozen=True, eq=False, slots=True)
class Prepared:
    """A job on each device that has a part of it.

    figures: what EXPLAIN ANALYZE shows of the last launch.
    """

    shares: tuple[Share, ...]
    figures: dict[str, float] = field(default_factory=dict)


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

    def prepare(self, bvh: Bvh, job: FusedJob) -> Prepared:
        """Find the runs of a job; their arrays reach the devices with the first launch."""
        with faults.translated(self.name):
            found = devices()
        # The columns of a table scan, which has one cell, belong to the table: one device has them.
        count = 1 if bvh.cell_count == 1 else min(len(found), -(-bvh.row_count // split.PART_ROWS))
        parts = self._parts.of(bvh, max(count, 1))
        return Prepared(
            tuple(
                Share(device, part, find_work(part, job))
                for device, part in zip(found, parts, strict=False)
            )
        )

    def launch(self, bvh: Bvh, job: FusedJob, prepared: object) -> FusedResult:
        """Run a job: all its accumulators in one pass over its rows.

        Raises DeviceError where a device cannot. Columns that do not fit one are sent in turns.
        """
        assert isinstance(prepared, Prepared)
        functions = [(each.function, each.measure) for each in job.accumulators]
        row_count = sum(share.work.row_count for share in prepared.shares)
        totals = plan_totals(functions, bvh.measures, row_count)

        def run(share: Share) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
            inputs = [input_array(each, share.bvh.measures) for each in totals.inputs]
            return _accumulate(share, inputs, totals, job.group_count)

        with faults.translated(self.name):
            (rows, words), *others = _on_devices(prepared.shares, run)
        for other_rows, other_words in others:
            rows += other_rows
            merge_words(totals, words, other_words)
        _note(prepared)
        return answer(totals, rows, words)

    def locate(
        self, bvh: Bvh, job: FusedJob, prepared: object
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (places, groups) of the rows that pass the job's filters, in order of place."""
        del bvh, job
        assert isinstance(prepared, Prepared)
        with faults.translated(self.name):
            found = _on_devices(prepared.shares, _locate)
        _note(prepared)
        if len(found) == 1:
            return found[0]
        # The rows of a part are known by their places in the whole.
        places = np.concatenate(
            [
                share.bvh.row_ids[local].astype(np.int64)
                for share, (local, _) in zip(prepared.shares, found, strict=True)
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
        """Accumulate gathered values, the i-th function over the i-th measure."""
        pairs = [(function, position) for position, function in enumerate(functions)]
        totals = plan_totals(pairs, measures, len(groups))
        inputs = [input_array(each, measures) for each in totals.inputs]
        with faults.translated(self.name):
            first, work = devices()[0], work_of_rows(groups)
            # Gathered rows are asked for once: nothing that is kept should leave for them.
            rows, words = _on_device(
                first, lambda: _in_turns(first, work, inputs, totals, group_count)
            )
        return answer(totals, rows, words)


def _on_device(device: Device, run: Callable[[], T]) -> T:
    with device.current():
        return run()


def _on_devices(shares: Sequence[Share], run: Callable[[Share], T]) -> list[T]:
    """Do something on each device at once; the simulator runs one kernel at a time."""
    calls = [partial(_on_device, share.device, partial(run, share)) for share in shares]
    return [call() for call in calls] if SIMULATED else at_once(calls)


def _note(prepared: Prepared) -> None:
    """Keep the figures of a launch: of the devices the slowest one's time, and all rows."""
    found = [share.work.figures for share in prepared.shares]
    prepared.figures.clear()
    prepared.figures["device_ms"] = max(each.get("device_ms", 0.0) for each in found)
    prepared.figures["rows"] = sum(each.get("rows", 0.0) for each in found)
    turns = max(each.get("turns", 0.0) for each in found)
    if turns:
        prepared.figures["turns"] = turns
    if len(found) > 1:
        prepared.figures["devices"] = float(len(found))


def _accumulate(
    share: Share, inputs: list[NDArray[Any]], totals: Totals, group_count: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Return the rows and the words of each group, of the rows that one device has."""
    device, work = share.device, share.work
    _check_groups(device, totals, group_count)
    work.figures.clear()
    arrays = device.columns.get(*work.runs, *_maps_of(work), *inputs)
    if arrays is None:
        return _in_turns(device, work, inputs, totals, group_count)
    return _add_up(work, arrays, len(inputs), totals, group_count)


def _check_groups(device: Device, totals: Totals, group_count: int) -> None:
    if not device.columns.has_room(8 * (1 + len(totals.totals)) * group_count):
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
        arrays = [upload(host) for host in (*part.runs, *_maps_of(part), *part_inputs)]
        part_rows, part_words = _add_up(part, arrays, len(inputs), totals, group_count)
        rows += part_rows
        merge_words(totals, words, part_words)
        _add_figures(work, part)
    return rows, words


def _maps_of(work: Work) -> list[NDArray[Any]]:
    return [array for pair in work.maps for array in pair]


def _windows(device: Device, work: Work, inputs: list[NDArray[Any]], found_bytes: int = 0) -> Any:
    """Return the windows of a job; what is kept leaves the device where it is in the way."""
    fixed = sum(array.nbytes for array in (*work.runs, *(parts for _, parts in work.maps)))
    columns = (*inputs, *(codes for codes, _ in work.maps))
    last = int(work.ends[-1]) if len(work.ends) else 0
    whole = (found_bytes + sum(column.itemsize for column in columns)) * (last + UNIT_ROWS)
    if not device.columns.make_room(fixed + whole):
        device.columns.clear()
    room = device.columns.budget_bytes - device.columns.size_bytes - fixed
    if room <= 0:
        raise DeviceError("cuda: the intervals of the job do not fit the device's memory")
    return windows(work, inputs, room, found_bytes)


def _add_up(
    work: Work, arrays: Sequence[Any], input_count: int, totals: Totals, group_count: int
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Launch the kernel once; return the rows and the words of each group."""
    where = _place(len(totals.totals), group_count)
    shape = Shape(_signed(work), input_count, totals.totals, where)
    # The rows of each group and each total's words, which come back together.
    found = xp.zeros((1 + len(totals.totals), group_count), np.int64)
    outs = [argument(found[0])]
    for word, total in zip(found[1:], totals.totals, strict=True):
        if total.neutral:
            word[...] = total.neutral
        # Sums of floats start from 0.0, whose bits are those of 0.
        outs.append(argument(word.view(np.float64) if total.kind == "float" else word))
    shared = 0 if where == "global" else (8 * len(totals.totals) + 4) * group_count
    clock = Clock()
    if work.unit_count:
        units = _units_a_block(work.unit_count, group_count if where == "shared" else 1)
        grid = -(-work.unit_count // units)
        runs, rest = arrays[: len(work.runs)], arrays[len(work.runs) :]
        kernel(shape)[grid, BLOCK_THREADS, 0, -(-shared // 8) * 8](
            *runs, units, group_count, *rest, *outs
        )
    work.figures["device_ms"] = clock.stop()
    work.figures["rows"] = float(work.row_count)
    rows, *words = to_host(found)
    return rows, words


def _signed(work: Work) -> tuple[bool, ...]:
    return tuple(codes.dtype.kind == "i" for codes, _ in work.maps)


def _place(total_count: int, group_count: int) -> Where:
    """Return where a job of so many groups is accumulated."""
    if group_count == 1:
        return "register"
    return "shared" if (8 * total_count + 4) * group_count <= SHARED_BYTES else "global"


def _units_a_block(unit_count: int, group_count: int) -> int:
    """Return how many units a block gets: more where it must write many groups at its end."""
    least = max(BLOCK_THREADS * THREAD_UNITS, group_count)
    return max(least, -(-unit_count // MOST_BLOCKS))


def _locate(share: Share) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (places, groups) of the rows that one device has, in order of place."""
    device, work = share.device, share.work
    work.figures.clear()
    if device.columns.has_room(work.unit_count * UNIT_ROWS * LOCATED_BYTES):
        arrays = device.columns.get(*work.runs, *_maps_of(work))
        if arrays is not None:
            return _list_rows(work, arrays)
    found = []
    for first, part, _ in _windows(device, work, [], LOCATED_BYTES):
        arrays = [upload(host) for host in (*part.runs, *_maps_of(part))]
        places, groups = _list_rows(part, arrays)
        found.append((places + first, groups))
        _add_figures(work, part)
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    all_places, all_groups = zip(*found, strict=True)
    return np.concatenate(all_places), np.concatenate(all_groups)


def _list_rows(work: Work, arrays: Sequence[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the place and the group of each row, and keep those that pass, in their order."""
    if not work.unit_count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    shape = Shape(_signed(work), 0, (), "list")
    places = xp.empty(work.unit_count * UNIT_ROWS, np.int64)
    groups = xp.empty(work.unit_count * UNIT_ROWS, np.int64)
    units = _units_a_block(work.unit_count, 1)
    runs, maps = arrays[: len(work.runs)], arrays[len(work.runs) :]
    outs = argument(places), argument(groups)
    clock = Clock()
    kernel(shape)[-(-work.unit_count // units), BLOCK_THREADS](*runs, units, 1, *maps, *outs)
    passed = xp.flatnonzero(groups >= 0)
    found = to_host(places[passed]), to_host(groups[passed])
    work.figures["device_ms"] = clock.stop()
    work.figures["rows"] = float(work.row_count)
    return found


def _add_figures(work: Work, part: Work) -> None:
    for name, figure in (*part.figures.items(), ("turns", 1.0)):
        work.figures[name] = work.figures.get(name, 0.0) + figure
