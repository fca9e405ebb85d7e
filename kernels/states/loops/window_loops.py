"""What a series looks like through windows of a width: the score of SuSS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray


@compiled
def window_score(
    points: NDArray[np.float64], w: int, mean: float, deviation: float, ends: NDArray[np.int64]
) -> float:
    """Return how far the windows of w points are from the whole series, on average.

    The distance is that of (mean, standard deviation, range), over sqrt(w); points are between 0
    and 1, and mean and deviation are those of all. ends (2, n): room for the places of candidates
    for the least and the greatest value of a window.
    """
    count = len(points)
    lows, highs = ends[0], ends[1]
    low, low_end, high, high_end = 0, 0, 0, 0
    total, squares, distance = 0.0, 0.0, 0.0
    for i in range(count):
        value = points[i]
        total += value
        squares += value * value
        if i >= w:
            total -= points[i - w]
            squares -= points[i - w] * points[i - w]
            if lows[low] == i - w:
                low += 1
            if highs[high] == i - w:
                high += 1
        while low_end > low and points[lows[low_end - 1]] >= value:
            low_end -= 1
        lows[low_end] = i
        low_end += 1
        while high_end > high and points[highs[high_end - 1]] <= value:
            high_end -= 1
        highs[high_end] = i
        high_end += 1
        # The first window does not count: SuSS, as it is known, leaves it out.
        if i >= w:
            here = total / w
            spread = np.sqrt(max(squares / w - here * here, 0.0))
            extent = points[highs[high]] - points[lows[low]]
            distance += np.sqrt(
                (here - mean) ** 2 + (spread - deviation) ** 2 + (extent - 1.0) ** 2
            )
    return float(distance / (np.sqrt(float(w)) * (count - w)))
