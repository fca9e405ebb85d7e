"""The test that ends the search of a query; compiled into the loops over its lists."""

from __future__ import annotations

from math import inf, sqrt

import numba

KTH, RATIO = 0, 1


@numba.njit(cache=True, nogil=True)
def squared(score: float, factor: float, summand: float) -> float:
    """Return the squared distance that a score stands for; see `raydb.kernels.stop.stop_terms`."""
    # Rounding may leave a little less than no distance.
    return max(score * factor + summand, 0.0)


@numba.njit(cache=True, nogil=True)
def stop_score(
    stop: int,
    gamma: float,
    kreg: int,
    scale: float,
    share: float,
    lists: int,
    nearest: float,
    following: float,
    reached: float,
) -> float:
    """Return E_p of `raydb.kernels.stop.stop_scores` for one query that has k rows."""
    if stop == KTH:
        score = 1.0 - min(reached / scale, 1.0)
    elif reached == 0.0:
        score = inf
    else:
        score = sqrt(max(following - share * nearest, 0.0) / reached)
    return score + gamma * max(0, lists - kreg)


@numba.njit(cache=True, nogil=True)
def margin(nearest: float, following: float) -> float:
    """Return the distance of the nearest centroid in parts of that of the second, by their squares.

    1 where the query lies between two lists.
    """
    return 1.0 if following == 0.0 else min(sqrt(nearest / following), 1.0)
