"""The CUDA backend: a block for each stretch of a job's rows, all totals in one pass.

Without a BVH the same kernels scan whole tables in Crystal's manner: a block reads a tile of rows,
looks its codes up in the predicates' tables, loads the measures only where a row of four passes,
and adds up in shared memory (Shanbhag et al., SIGMOD 2020, section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.cuda.build import build_bvh
from raydb.kernels.cuda.compiled import SIMULATED, kernel
from raydb.kernels.cuda.memory import UNIT_ROWS, Clock, columns, to_host, upload, xp
from raydb.kernels.cuda.source import Shape, Where
from raydb.kernels.cuda.work import Work, find_work, windows, work_of_rows
from raydb.kernels.device import DeviceError, faults
from raydb.kernels.device_totals import answer, input_array, merge_words, plan_totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.backend import FusedJob, FusedResult
    from raydb.kernels.bvh import Bvh, Measure
    from raydb.kernels.device_totals import Totals
    from raydb.kernels.encode import Hierarchy

# A block of the simulator is as many Python threads, so that few of them show all that there is.
BLOCK_THREADS = 8 if SIMULATED else 256

# Units that a block works on: four a thread at least, and as many blocks as keep a device busy.
THREAD_UNITS = 4
MOST_BLOCKS = 8 if SIMULATED else 4096

# What a block has without asking the driver for more: 4,096 groups of one total and their rows.
SHARED_BYTES = 48 * 1024


class CudaBackend:
    """Runs fused jobs on CUDA cores."""

    name = "cuda"

    def build(
        self,
        hierarchies: Sequence[Hierarchy],
        row_codes: Sequence[NDArray[np.int32]],
        measures: Sequence[tuple[NDArray[Any], NDArray[np.bool_] | None]],
        row_count: int,
    ) -> Bvh:
        """Sort the rows by cell on the device; its arrays come back to the host."""
        with faults.translated(self.name):
            return build_bvh(hierarchies, row_codes, measures, row_count)

    def prepare(self, bvh: Bvh, job: FusedJob) -> Work:
        """Find the runs of a job; their arrays reach the device with the first launch."""
        return find_work(bvh, job)

    def launch(self, bvh: Bvh, job: FusedJob, prepared: object) -> FusedResult:
        """Run a job: all its accumulators in one pass over its rows.

        Raises DeviceError where the device cannot. Columns that do not fit it are sent in turns.
        """
        assert isinstance(prepared, Work)
        functions = [(each.function, each.measure) for each in job.accumulators]
        with faults.translated(self.name):
            return _accumulate(prepared, functions, bvh.measures, job.group_count)

    def locate(
        self, bvh: Bvh, job: FusedJob, prepared: object
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (places, groups) of the rows that pass the job's filters."""
        del bvh, job
        assert isinstance(prepared, Work)
        with faults.translated(self.name):
            return _locate(prepared)

    def accumulate(
        self,
        functions: Sequence[str],
        measures: Sequence[Measure],
        groups: NDArray[np.int64],
        group_count: int,
    ) -> FusedResult:
        """Accumulate gathered values, the i-th function over the i-th measure."""
        pairs = [(function, position) for position, function in enumerate(functions)]
        with faults.translated(self.name):
            return _accumulate(work_of_rows(groups), pairs, measures, group_count)


def _accumulate(
    work: Work,
    functions: Sequence[tuple[str, int]],
    measures: Sequence[Measure],
    group_count: int,
) -> FusedResult:
    totals = plan_totals(functions, measures, work.row_count)
    inputs = [input_array(each, measures) for each in totals.inputs]
    word_count = 1 + len(totals.totals)
    if 8 * word_count * group_count > columns.budget_bytes:
        raise DeviceError(f"cuda: {group_count} groups do not fit the device's memory")
    work.figures.clear()
    held = (*work.runs, *(array for pair in work.maps for array in pair), *inputs)
    if columns.fits(*held):
        return answer(totals, *_add_up(work, inputs, totals, group_count, columns.get))
    rows = np.zeros(group_count, np.int64)
    words = [np.full(group_count, total.neutral, np.int64) for total in totals.totals]
    for part, part_inputs in _parts(work, inputs):
        part_rows, part_words = _add_up(part, part_inputs, totals, group_count, _upload_all)
        rows += part_rows
        merge_words(totals, words, part_words)
        _add_figures(work, part)
    return answer(totals, rows, words)


def _parts(work: Work, inputs: list[NDArray[Any]]) -> Any:
    """Yield the windows of a job that is too large, once everything else has left the device."""
    columns.clear()
    fixed = sum(array.nbytes for array in (*work.runs, *(parts for _, parts in work.maps)))
    room = columns.budget_bytes - fixed
    if room <= 0:
        raise DeviceError("cuda: the intervals of the job do not fit the device's memory")
    return windows(work, inputs, room)


def _upload_all(*hosts: NDArray[Any]) -> list[Any]:
    return [upload(host) for host in hosts]


def _add_up(
    work: Work,
    inputs: Sequence[NDArray[Any]],
    totals: Totals,
    group_count: int,
    to_device: Any,
) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """Launch the kernel once; return the rows and the words of each group."""
    where = _place(len(totals.totals), group_count)
    shape = Shape(_signed(work), len(inputs), totals.totals, where)
    rows = xp.zeros(group_count, np.int64)
    words = [xp.full(group_count, total.neutral, np.int64) for total in totals.totals]
    # Sums of floats start from 0.0, whose bits are those of 0.
    outs = [
        word.view(np.float64) if total.kind == "float" else word
        for word, total in zip(words, totals.totals, strict=True)
    ]
    arrays = to_device(*work.runs, *(array for pair in work.maps for array in pair), *inputs)
    # The runs' own lengths count: their copies on the device are rounded up.
    runs = [copy[: len(host)] for copy, host in zip(arrays, work.runs, strict=False)]
    rest = _unpadded_maps(work, arrays[len(runs) :])
    shared = 0 if where == "global" else (8 * len(totals.totals) + 4) * group_count
    clock = Clock()
    if work.unit_count:
        units = _units_a_block(work.unit_count, group_count if where == "shared" else 1)
        grid = -(-work.unit_count // units)
        kernel(shape)[grid, BLOCK_THREADS, 0, -(-shared // 8) * 8](
            *runs, units, group_count, *rest, rows, *outs
        )
    work.figures["device_ms"] = clock.stop()
    work.figures["rows"] = float(work.row_count)
    return to_host(rows), [to_host(word) for word in words]


def _unpadded_maps(work: Work, arrays: list[Any]) -> list[Any]:
    """Give the parts of each map their own length back: a code of -1 is counted from its end."""
    trimmed = list(arrays)
    for number, (_, parts) in enumerate(work.maps):
        trimmed[2 * number + 1] = arrays[2 * number + 1][: len(parts)]
    return trimmed


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


def _locate(work: Work) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the place and the group of each row, and keep those that pass, in their order."""
    if not work.unit_count:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    shape = Shape(_signed(work), 0, (), "list")
    maps = [array for pair in work.maps for array in pair]
    if not columns.fits(*work.runs, *maps):
        raise DeviceError("cuda: the codes of the job do not fit the device's memory")
    arrays = columns.get(*work.runs, *maps)
    runs = [copy[: len(host)] for copy, host in zip(arrays, work.runs, strict=False)]
    rest = _unpadded_maps(work, arrays[len(runs) :])
    places = xp.empty(work.unit_count * UNIT_ROWS, np.int64)
    groups = xp.empty(work.unit_count * UNIT_ROWS, np.int64)
    units = _units_a_block(work.unit_count, 1)
    clock = Clock()
    kernel(shape)[-(-work.unit_count // units), BLOCK_THREADS](
        *runs, units, 1, *rest, places, groups
    )
    passed = xp.flatnonzero(groups >= 0)
    found = to_host(places[passed]), to_host(groups[passed])
    work.figures["device_ms"] = clock.stop()
    work.figures["rows"] = float(work.row_count)
    return found


def _add_figures(work: Work, part: Work) -> None:
    for name, figure in part.figures.items():
        work.figures[name] = work.figures.get(name, 0.0) + figure
