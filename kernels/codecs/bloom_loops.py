"""The loop that fills a bloom filter; the bits are those of `raydb.storage.flat.bloom`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import entry

if TYPE_CHECKING:
    from numpy.typing import NDArray


@entry
def set_bits(
    hashes: NDArray[np.uint64], salts: NDArray[np.uint32], words: NDArray[np.uint32]
) -> None:
    """Set the bits of some hashes in a filter, uint32, shape (block_count, 8)."""
    half = np.uint64(32)
    block_count = np.uint64(len(words))
    for place in range(len(hashes)):
        block = np.int64(((hashes[place] >> half) * block_count) >> half)
        low = np.uint32(hashes[place] & np.uint64(0xFFFFFFFF))
        for word in range(8):
            shift = np.uint32(low * salts[word]) >> np.uint32(27)
            words[block, word] |= np.uint32(1) << shift
