"""Median times of a statement in engines that take turns, so that all meet the same load."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def medians(
    sql: str, engines: Mapping[str, Callable[[str], Any]], runs: int, seconds: float
) -> dict[str, float]:
    """Return the median time of a query in each engine, in ms, its plan and its rows included.

    engines: what executes a text, by name. Each run has a text of its own, or else its plan would
    be known. No run begins after so many seconds.
    """
    times: dict[str, list[float]] = {name: [] for name in engines}
    start = time.perf_counter()
    for run in range(runs):
        for name, execute in engines.items():
            times[name].append(_milliseconds(execute, f"{sql}\n-- run {run}"))
        if time.perf_counter() - start > seconds:
            break
    return {name: statistics.median(found) for name, found in times.items()}


def _milliseconds(execute: Callable[[str], Any], sql: str) -> float:
    start = time.perf_counter()
    execute(sql).fetchall()
    return 1e3 * (time.perf_counter() - start)
