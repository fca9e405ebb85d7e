"""The test that ends the search of a query; compiled into the loops over its lists."""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING

import numba

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KTH, RATIO = 0, 1


@numba.njit(cache=True, nogil=True)
def stop_score(
    score: int, scale: float, following: float, kth: float, terms: NDArray[np.float64]
) -> float:
    """Return a query's E_p before regularisation; see `raydb.kernels.stop`.

    following: the score of the next list, kth: that of the k-th row so far. terms (4): what makes
    squared distances of them.
    """
    # Rounding may leave a little less than no distance.
    reached = max(kth * terms[2] + terms[3], 0.0)
    if score == KTH:
        return 1.0 - min(reached / scale, 1.0)
    if reached == 0.0:
        return inf
    return sqrt(max(following * terms[0] + terms[1], 0.0) / reached)


@numba.njit(cache=True, nogil=True)
def margin(first: float, second: float, terms: NDArray[np.float64]) -> float:
    """Return the distance of a query's nearest centroid in parts of that of the second, by scores.

    1 where it lies between two lists.
    """
    away = max(second * terms[0] + terms[1], 0.0)
    if away == 0.0:
        return 1.0
    return sqrt(max(first * terms[0] + terms[1], 0.0) / away)
