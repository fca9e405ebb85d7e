"""Rows by cell: a counting sort, two passes over the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@numba.njit(cache=True, nogil=True)
def count_keys(keys: NDArray[np.int64], offsets: NDArray[np.int64]) -> None:
    """Count key k into offsets[k + 1] and sum up, so that offsets[k] is where key k begins."""
    for row in range(len(keys)):
        offsets[keys[row] + 1] += 1
    for cell in range(1, len(offsets)):
        offsets[cell] += offsets[cell - 1]


@numba.njit(cache=True, nogil=True)
def scatter_rows(
    keys: NDArray[np.int64], places: NDArray[np.int64], row_ids: NDArray[np.uint32]
) -> None:
    """Write each row's number to the next place of its key; `places` starts as the offsets."""
    for row in range(len(keys)):
        place = places[keys[row]]
        row_ids[place] = row
        places[keys[row]] = place + 1
