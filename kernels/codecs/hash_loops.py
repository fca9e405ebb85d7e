"""Hashes of keys, a column at a time: equal keys have equal hashes, in every process.

The steps of mixing are those of MurmurHash3's 64-bit finalizer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import entry, pasted

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST = np.uint64(0xFF51AFD7ED558CCD)
_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)


@pasted
def mix(word: np.uint64) -> np.uint64:
    """Spread every bit of a word over all of them."""
    word = (word ^ (word >> _SHIFT)) * _FIRST
    word = (word ^ (word >> _SHIFT)) * _SECOND
    return word ^ (word >> _SHIFT)


@entry
def hash_bytes(
    offsets: NDArray[np.int32], data: NDArray[np.uint8], hashes: NDArray[np.uint64]
) -> None:
    """Go on with each row's hash by the bytes from offsets[row] to offsets[row + 1]."""
    for row in range(len(hashes)):
        total = hashes[row] + np.uint64(offsets[row + 1] - offsets[row])
        for place in range(offsets[row], offsets[row + 1]):
            total = (total ^ np.uint64(data[place])) * _FIRST
            total ^= total >> _SHIFT
        hashes[row] = mix(total)
