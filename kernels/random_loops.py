"""Random numbers by the number of a sample: whoever draws it, and whenever, it is the same sample.

The steps are those of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np
from numba.core import types
from numba.extending import overload

from raydb.kernels.jit import inlined, leaf

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STRIDE = np.uint64(0xD1342543DE82EF95)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@inlined
def _mix(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@leaf
def begin(key: np.uint64, sample: int, state: NDArray[np.uint64]) -> None:
    """Set the state (1) to where a sample's numbers begin; a key is a stream of samples."""
    state[0] = _mix(key + np.uint64(sample) * _STRIDE)


@leaf
def draw_word(state: NDArray[np.uint64]) -> Any:
    """Return the next 64 random bits."""
    state[0] += _GOLDEN
    return _mix(state[0])


@inlined
def high_product(one: np.uint64, other: np.uint64) -> np.uint64:
    """Return the upper 64 of the 128 bits of a product."""
    low_one, high_one = one & _LOW, one >> _HALF
    low_other, high_other = other & _LOW, other >> _HALF
    middle = high_one * low_other + ((low_one * low_other) >> _HALF)
    other_middle = low_one * high_other + (middle & _LOW)
    return high_one * high_other + (middle >> _HALF) + (other_middle >> _HALF)


def scale(word: np.uint64, total: Any) -> Any:
    """Return the part word / 2**64 of a total: of an integer the largest integer up to it."""
    raise NotImplementedError


@overload(scale, inline="always")
def _scale_by_type(word: Any, total: Any) -> Callable[[Any, Any], Any]:  # noqa: ARG001
    # numba compares the parameters of these, annotations included.
    def scale_float(word: Any, total: Any) -> Any:
        # 53 bits, so that the part is less than the whole.
        return float(word >> np.uint64(11)) * 2.0**-53 * total

    def scale_integer(word: Any, total: Any) -> Any:
        return np.int64(high_product(word, np.uint64(total)))

    return scale_float if isinstance(total, types.Float) else scale_integer


@leaf
def draw_below(state: NDArray[np.uint64], total: Any) -> Any:
    """Return a random number from 0 up to a total, of its type: an integer, or a float64."""
    return scale(draw_word(state), total)
