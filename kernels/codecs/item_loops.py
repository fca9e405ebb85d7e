"""The loop that copies items of one size from anywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


def copy_items(
    data: NDArray[np.uint8], starts: NDArray[np.int64], size: int, found: NDArray[np.uint8]
) -> None:
    """Copy the `size` bytes of data from each start on, one item after another, to `found`."""
    word = next(each for each in (8, 4, 2, 1) if size % each == 0)
    dtype = f"<u{word}"
    words = data[: len(data) // word * word].view(dtype)
    _copy_words(words, starts // word, size // word, found.view(dtype))


@compiled
def _copy_words(
    words: NDArray[Any], starts: NDArray[np.int64], count: int, found: NDArray[Any]
) -> None:
    place, size = np.uint64(0), np.uint64(count)
    for item in range(len(starts)):
        start = np.uint64(starts[item])
        for word in range(size):
            found[place + word] = words[start + word]
        place += size
