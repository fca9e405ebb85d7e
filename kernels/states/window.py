"""The window of a series: how many points a pattern of it has (SuSS).

The least width whose windows look much like the whole series, in mean, standard deviation and range
(Ermshaus, Schaefer and Leser, "ClaSP: parameter-free time series segmentation", 2023, section 3.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The least width that is tried, and how much of the way to the whole series is near enough.
_LEAST = 10
_NEAR = 0.89


def window_width(points: NDArray[np.float64]) -> int:
    """Return the window of a channel (n) in points, which is at least 20 where n allows it.

    A channel without variation has the least window.
    """
    from raydb.kernels.states.loops.window_loops import window_score  # noqa: PLC0415  (numba)

    count = len(points)
    low, high = points.min(), points.max()
    if count <= 2 * _LEAST or low == high:
        return min(2 * _LEAST, max(count, 1))
    scaled = (points - low) / (high - low)
    ends = np.empty((2, count), np.int64)
    mean, deviation = float(scaled.mean()), float(scaled.std())

    def score(w: int) -> float:
        return float(window_score(scaled, w, mean, deviation, ends))

    most, least = score(1), score(count - 1)
    if most == least:
        return 2 * _LEAST

    def nearness(w: int) -> float:
        return 1 - (score(w) - least) / (most - least)

    end = 1 << (_LEAST - 1).bit_length()
    while end < count - 1 and nearness(end) <= _NEAR:
        end *= 2
    low_w, high_w = max(_LEAST, end // 2), min(end + 1, count - 1)
    while low_w <= high_w:
        w = (low_w + high_w) // 2
        near = nearness(w)
        if near == _NEAR:
            break
        if near < _NEAR:
            low_w = w + 1
        else:
            high_w = w - 1
    return 2 * low_w
