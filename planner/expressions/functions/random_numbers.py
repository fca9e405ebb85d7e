"""Random numbers. The seed is one for the process, and the numbers come in the order of use."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.planner.expressions.registry import scalar

if TYPE_CHECKING:
    from raydb.planner.expressions.columns.arrays import Values
    from raydb.planner.expressions.evaluator import Rows
    from raydb.planner.expressions.nodes import Call

# Morsels of rows are computed in threads, and a generator serves one at a time.
_LOCK = threading.Lock()


@functools.cache
def _generator() -> np.random.Generator:
    """Return the one generator; NumPy imports its random numbers, in 6 ms, when it is asked."""
    return np.random.default_rng()


@scalar(
    "random() -> DOUBLE",
    "a number from 0 up to 1, another one for each row and call: random() < 1 -> true",
    takes="rows",
    is_volatile=True,
)
def _random(_: Call, rows: Rows) -> Values:
    with _LOCK:
        return pa.array(_generator().random(rows.count))


@scalar(
    "setseed(x: double) -> INTEGER",
    "makes random() begin again; gives NULL: setseed(0.5) -> NULL",
    is_volatile=True,
)
def _set_seed(call: Call, seed: Values) -> Values:
    seeds = [seed] if isinstance(seed, pa.Scalar) else seed
    with _LOCK:
        for each in seeds:
            bits = int(np.float64(each.as_py() or 0).view(np.uint64))
            _generator().bit_generator.state = np.random.PCG64(bits).state
    return pa.scalar(None, call.type)
