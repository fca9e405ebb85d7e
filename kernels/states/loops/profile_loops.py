"""The classification score profile: how well neighbours tell the two sides of each split.

    split s:   0 0 0 0 0 1 1 1 1        the sides of subsequences
               0 0 1 0 1 1 1 0 1        what most of their neighbours say; 1 for the w before s

From a split to the next one subsequence changes sides, and what is predicted changes only for those
that have it as a neighbour: the whole profile takes O(k m).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.jit import compiled, leaf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@leaf
def _reverse(
    places: NDArray[np.int32], starts: NDArray[np.int32], members: NDArray[np.int32]
) -> None:
    """Set members[starts[j] : starts[j + 1]] to the subsequences that have j as a neighbour."""
    m, k = places.shape
    starts[:] = 0
    for i in range(m):
        for each in range(k):
            starts[places[i, each] + 1] += 1
    for j in range(m):
        starts[j + 1] += starts[j]
    for i in range(m):
        for each in range(k):
            j = places[i, each]
            members[starts[j]] = i
            starts[j] += 1
    for j in range(m, 0, -1):
        starts[j] = starts[j - 1]
    starts[0] = 0


@compiled
def fill_profile(
    places: NDArray[np.int32],
    w: int,
    first: int,
    profile: NDArray[np.float64],
    starts: NDArray[np.int32],
    members: NDArray[np.int32],
    zeros: NDArray[np.int32],
) -> None:
    """Set profile (c) to the areas under the ROC curves of the splits first .. first + c.

    places (m, k): of neighbours. starts (m + 1), members (m k), zeros (m): room. A prediction is
    one of two labels, so the area is the mean of the shares of both sides that are predicted right.
    """
    m, k = places.shape
    _reverse(places, starts, members)
    # A majority says 1.
    least = (k + 1) // 2
    zeros[:] = 0
    for i in range(m):
        for each in range(k):
            zeros[i] += places[i, each] < first
    left, every, near = 0, 0, 0
    for i in range(m):
        if zeros[i] >= least:
            every += 1
            left += i < first
            near += first - w <= i < first
    for number in range(len(profile)):
        split = first + number
        if number > 0:
            moved = split - 1
            for at in range(starts[moved], starts[moved + 1]):
                i = members[at]
                zeros[i] += 1
                if zeros[i] == least:
                    every += 1
                    left += i < moved
                    near += moved - w <= i < moved
            # The subsequence before the split has changed sides, and the zone has moved by one.
            left += zeros[moved] >= least
            near += zeros[moved] >= least
            if moved - w >= 0:
                near -= zeros[moved - w] >= least
        right_zeros, wrong_zeros = left - near, every - left
        profile[number] = 0.5 * (right_zeros / split + 1.0 - wrong_zeros / (m - split))
