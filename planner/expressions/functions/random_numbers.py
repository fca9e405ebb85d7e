"""Random numbers. The seed is one for the process, and the numbers come in the order of use."""

from __future__ import annotations

import functools
import os
import threading
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.planner.expressions.registry import scalar
from raydb.storage.uuids import UUID

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
    "gen_random_uuid(), uuid() -> UUID",
    "a random UUID (version 4), another one for each row and call: length(uuid()::VARCHAR) -> 36",
    takes="rows",
    is_volatile=True,
)
def _random_uuid(_: Call, rows: Rows) -> Values:
    # From the system, so that two processes never give the same.
    words = np.frombuffer(os.urandom(16 * rows.count), np.uint8).reshape(-1, 16).copy()
    words[:, 6] = words[:, 6] & 0x0F | 0x40
    words[:, 8] = words[:, 8] & 0x3F | 0x80
    return pa.Array.from_buffers(UUID, rows.count, [None, pa.py_buffer(words)])


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
