"""The machine that figures were measured on, its memory bandwidth, and a process's peak."""

from __future__ import annotations

import contextlib
import os
import platform
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

import raydb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

# Far more than the caches hold.
_BANDWIDTH_BYTES: Final = 1 << 28
_BANDWIDTH_RUNS: Final = 7
_READ_RUNS: Final = 21


def describe_machine() -> dict[str, Any]:
    """Return the processor, cores, memory and versions."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "raydb": raydb.__version__,
        "pyarrow": pa.__version__,
        "numpy": np.__version__,
    }


@contextlib.contextmanager
def limited_cores(count: int) -> Iterator[None]:
    """Keep this process on its first `count` cores, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def read_bandwidth(threads: int) -> float:
    """Return the bytes per second at which as many threads add up an array that no cache holds."""
    values = np.ones(_BANDWIDTH_BYTES // 8, np.int64)
    return _BANDWIDTH_BYTES / _sum_seconds(np.array_split(values, threads), _BANDWIDTH_RUNS)


def read_seconds(size_bytes: int, threads: int) -> float:
    """Return the time to add up as many bytes of integers, again and again: caches hold what fits.

    It is that of one thread or of several, whichever is less. A call takes 2 us, of no bytes too.
    """
    values = np.ones(max(size_bytes // 8, 1), np.int64)
    return min(
        _sum_seconds([values], _READ_RUNS),
        _sum_seconds(np.array_split(values, threads), _READ_RUNS),
    )


def _sum_seconds(parts: Sequence[NDArray[np.int64]], runs: int) -> float:
    """Return the median time to add up the ones of all parts, each on a thread of its own."""
    times = []
    with ThreadPoolExecutor(len(parts)) as pool:
        for _ in range(runs):
            start = time.perf_counter()
            totals = list(pool.map(np.sum, parts)) if len(parts) > 1 else [parts[0].sum()]
            times.append(time.perf_counter() - start)
            assert sum(map(int, totals)) == sum(map(len, parts))
    return statistics.median(times)


class Timing(NamedTuple):
    """What some runs took, in ms: the median, and the quartiles beside it."""

    median_ms: float
    quartiles_ms: tuple[float, float]

    @property
    def spread(self) -> float:
        """How far the quartiles are from each other, as a share of the median."""
        low, high = self.quartiles_ms
        return (high - low) / self.median_ms


def time_runs(ask: Callable[[], object], runs: int, seconds: float) -> Timing:
    """Time `runs` runs, or fewer where they take longer than so many seconds."""
    times: list[float] = []
    while not times or (len(times) < runs and sum(times) < seconds):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    low, _, high = np.quantile(times, [0.25, 0.5, 0.75])
    return Timing(statistics.median(times) * 1000, (float(low) * 1000, float(high) * 1000))


def median_ms(ask: Callable[[], object], runs: int, seconds: float) -> float:
    """Return the median of `time_runs`."""
    return time_runs(ask, runs, seconds).median_ms


def resident_bytes(*, peak: bool) -> int:
    """Return the memory that this process holds, or held at most.

    Raises OperationalError where the system does not say: it is read from Linux's /proc.
    """
    name = "VmHWM:" if peak else "VmRSS:"
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        raise raydb.OperationalError(
            "the memory of a process is read from /proc, which this system does not have"
        ) from None
    (kib,) = (line.split()[1] for line in lines if line.startswith(name))
    return int(kib) * 1024


def forget_peak() -> None:
    """Begin anew with what `resident_bytes` calls the most that this process held."""
    with contextlib.suppress(OSError):  # Where it cannot be done the peak is that of all before.
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    if sys.platform == "win32":
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
