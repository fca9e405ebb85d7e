"""Random numbers. The seed is one for the process, and the numbers come in the order of use."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from raydb.planner.expressions.casts.casts import Values
    from raydb.planner.expressions.nodes import Call

VOLATILE = frozenset({"random", "setseed"})
"""The functions that may have another value each time they are called."""

# Morsels of rows are computed in threads, and a generator serves one at a time.
_LOCK = threading.Lock()


@functools.cache
def _generator() -> np.random.Generator:
    """Return the one generator; NumPy imports its random numbers, in 6 ms, when it is asked."""
    return np.random.default_rng()


def random_numbers(count: int) -> pa.Array:
    """Return numbers from 0 up to 1, which is not reached."""
    with _LOCK:
        return pa.array(_generator().random(count))


def set_seed(call: Call, seed: Values) -> Values:
    """Let random() begin again with the numbers of a seed. Returns NULL."""
    seeds = [seed] if isinstance(seed, pa.Scalar) else seed
    with _LOCK:
        for each in seeds:
            bits = int(np.float64(each.as_py() or 0).view(np.uint64))
            _generator().bit_generator.state = np.random.PCG64(bits).state
    return pa.scalar(None, call.type)
