"""One rival on a data set: load, check and time each query, drop."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from raydb.ssb import rivals
from raydb.ssb.machine import time_runs
from raydb.ssb.rivals import QUERY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from raydb.ssb.flat import FlatTable
    from raydb.ssb.machine import Timing
    from raydb.ssb.progress import Progress
    from raydb.ssb.rivals import Differences, Rival
    from raydb.ssb.workload import Query, Workload


@dataclass(frozen=True, slots=True)
class RivalRun:
    """What a rival took by query; queries that it answers wrongly are faults instead."""

    version: str
    load_s: float
    build_s: float | None
    times: dict[str, Timing]
    faults: dict[str, list[str]]


def run_rival(
    name: str,
    flat: FlatTable,
    kind: Workload,
    queries: Sequence[Query],
    runs: int,
    differences: Differences,
    progress: Progress,
    rival: Rival | None = None,
) -> RivalRun:
    """Load a rival, by its name unless it is given, check and time its queries, and drop it."""
    if rival is None:
        rival = rivals.make(name, kind)
    times: dict[str, Timing] = {}
    faults: dict[str, list[str]] = {}
    try:
        with progress.step(f"load {name}", flat.batch_count) as advance:
            rival.load(flat, advance)
        with progress.step(name, len(queries)) as advance:
            for query in queries:
                ask = rival.prepare(query)
                wrong = differences(query.name, ask())
                if wrong:
                    faults[query.name] = wrong
                else:
                    times[query.name] = time_runs(ask, runs, QUERY_SECONDS)
                advance()
    finally:
        rival.close()
        release_memory()
    return RivalRun(rival.version, progress.seconds[f"load {name}"], rival.build_s, times, faults)


def release_memory() -> None:
    """Give what a closed engine held back to the system."""
    gc.collect()
    pa.default_memory_pool().release_unused()
