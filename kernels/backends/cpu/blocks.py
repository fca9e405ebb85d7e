"""A build under way: the rows of a BVH to be, read and worked on in blocks by several threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.interrupts import check_interrupt
from raydb.kernels.backends.cpu import sort
from raydb.kernels.backends.cpu.warm import frozen
from raydb.kernels.bvh.bvh import code_type
from raydb.kernels.codecs.arrow_numbers import integer_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.bvh.build_input import BuildControl, Source

    # What a thread, by its number, does on the rows or partitions from `low` to before `high`.
    Work = Callable[[int, int, int], None]
    # The places of the rows of a block, each block asked for once and in order by one thread.
    Place = Callable[[int, int, int], NDArray[np.uint32]]
    # Cells and offsets of a BVH, and the places of its rows.
    Placed = tuple[NDArray[np.int64] | None, NDArray[np.int64], Place]

# 1 MiB of cells; a block takes 3 to 6 ms, after which an interrupt is heard.
BLOCK_ROWS = 2**17

# Fewer rows are not worth a thread of their own.
THREAD_ROWS = 2**18

# Offsets are summed up so many at a time, in 1 to 4 ms.
SUMMED_CELLS = 2**18


class Build:
    """A build under way: what is read of a block, the threads, and the bounds of the measures."""

    def __init__(self, source: Source, control: BuildControl, cell_count: int) -> None:
        self.source = source
        self.control = control
        self.cell_count = cell_count
        self.threads = thread_count(source.row_count)
        self._stop = Event()
        self.stored = tuple(
            position for position, h in enumerate(source.hierarchies) if not h.is_scan_only
        )
        self._axes = []
        stride = 1
        for hierarchy, codes in zip(
            reversed(source.hierarchies), reversed(source.codes), strict=True
        ):
            if hierarchy.scan_count > 1:
                coordinates = frozen(codes.table(hierarchy.scan_codes))
                self._axes.append((codes, coordinates, stride))
            stride *= hierarchy.scan_count
        self.stored_types = [code_type(source.hierarchies[n].code_count) for n in self.stored]
        self.bounds: list[_Bounds] = []

    @property
    def row_bytes(self) -> int:
        """The bytes of a row number and of the stored codes."""
        return 4 + sum(kind.itemsize for kind in self.stored_types)

    def cells_of(self, low: int, high: int) -> NDArray[np.int64]:
        """Return the cells of a block of rows."""
        cells = np.zeros(high - low, np.int64)
        for codes, coordinates, stride in self._axes:
            sort.add_cells(cells, frozen(codes.places(low, high)), coordinates, stride)
        return cells

    def count(self, shift: int, counts: NDArray[np.uint32]) -> None:
        """Count the rows of each 2**shift cells, a row of `counts` a thread; bound the measures.

        Then all sizes are known, and room is taken for the measures.
        """
        measures = self.source.measures
        # Of no rows at least the types are known.
        found = [[_Bounds(*read(0, 0)) for read in measures] for _ in counts]

        def count(thread: int, low: int, high: int) -> None:
            sort.count_cells(self.cells_of(low, high), shift, counts[thread])
            for read, bounds in zip(measures, found[thread], strict=True):
                bounds.add(*read(low, high))

        self.run("count", count, self.source.row_count)
        self.bounds, *others = found
        for other in others:
            for bounds, more in zip(self.bounds, other, strict=True):
                bounds.merge(more)
        widths = (bounds.type.itemsize + bounds.has_null for bounds in self.bounds)
        self.control.room.take(sum(widths) * self.source.row_count)

    def check(self) -> None:
        """End this thread's work where another thread has failed, or an interrupt has come."""
        check_interrupt()
        if self._stop.is_set():
            raise _StoppedError

    def run(self, step: str, work: Work, count: int, size: int | None = None) -> None:
        """Do some work on blocks, each thread on a range of its own, the first on this one.

        count: of rows or, with a block's `size`, of anything else. All threads have ended when it
        returns or raises.
        """
        stop = self._stop = Event()
        threads = min(self.threads, max(count, 1))
        size = BLOCK_ROWS if size is None else size
        ends = [count * (thread + 1) // threads for thread in range(threads)]

        def run_range(thread: int) -> None:
            start, end = (ends[thread - 1] if thread else 0), ends[thread]
            try:
                for low in range(start, end, size):
                    self.check()
                    high = min(low + size, end)
                    work(thread, low, high)
                    if thread == 0:
                        self.control.report(step, (high - start) / (end - start))
            except _StoppedError:
                pass
            except BaseException:
                stop.set()
                raise

        with ThreadPoolExecutor(max(threads - 1, 1), thread_name_prefix="raydb build") as pool:
            try:
                others = [pool.submit(run_range, thread) for thread in range(1, threads)]
                run_range(0)
                for other in others:
                    other.result()
            finally:
                stop.set()


class _StoppedError(Exception):
    """Ends a thread; the reason is raised by another one."""


class _Bounds:
    """What the values of a measure have been so far, of one thread's rows."""

    def __init__(self, values: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        self.low = 0
        self.high = 0
        self.is_empty = True
        self.is_float = values.dtype.kind == "f"
        self.has_null = valid is not None

    def add(self, values: NDArray[Any], valid: NDArray[np.bool_] | None) -> None:
        """Look at the values of a block."""
        self.has_null |= valid is not None
        if not self.is_float and len(values):
            self._widen(int(values.min()), int(values.max()))

    def merge(self, other: _Bounds) -> None:
        """Add what another thread has seen."""
        self.has_null |= other.has_null
        if not other.is_empty:
            self._widen(other.low, other.high)

    def _widen(self, low: int, high: int) -> None:
        self.low = low if self.is_empty else min(self.low, low)
        self.high = high if self.is_empty else max(self.high, high)
        self.is_empty = False

    @property
    def type(self) -> np.dtype[Any]:
        """The narrowest type that holds the values."""
        return np.dtype(np.float64) if self.is_float else integer_type(self.low, self.high)


def thread_count(row_count: int) -> int:
    """Return how many threads a build of so many rows pays off for."""
    has_affinity = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(min(processors, row_count // THREAD_ROWS), 1)


def begin_places(counts: NDArray[np.uint32], offsets: NDArray[np.int64]) -> None:
    """Turn counts into the threads' first places and the offsets of all."""
    offsets[0] = 0
    for low in range(0, len(offsets) - 1, SUMMED_CELLS):
        sort.begin_places(counts, offsets, low, min(low + SUMMED_CELLS, len(offsets) - 1))


def new_array(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Allocate an array where Arrow does, so that a memory limit counts it as it counts tables."""
    return np.frombuffer(pa.allocate_buffer(count * dtype.itemsize), dtype)
