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
    count = len(points)
    low, high = points.min(), points.max()
    if count <= 2 * _LEAST or low == high:
        return min(2 * _LEAST, max(count, 1))
    scaled = (points - low) / (high - low)
    # Sums of the first points (n + 1), of their squares too.
    sums = np.concatenate((np.zeros((2, 1)), np.cumsum((scaled, scaled**2), axis=1)), axis=1)

    def score(w: int) -> float:
        return _score(scaled, sums, w)

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


def _score(scaled: NDArray[np.float64], sums: NDArray[np.float64], w: int) -> float:
    """Return how far the windows of w points are from the whole series, on average.

    The distance is that of (mean, standard deviation, range), over sqrt(w); points are between 0
    and 1. The first window does not count: SuSS, as it is known, leaves it out.
    """
    means, squares = (sums[:, w + 1 :] - sums[:, 1:-w]) / w
    deviations = np.sqrt(np.maximum(squares - means**2, 0))
    ranges = _greatest(scaled, w) + _greatest(-scaled, w)
    far = (means - scaled.mean()) ** 2 + (deviations - scaled.std()) ** 2 + (ranges[1:] - 1) ** 2
    return float(np.sqrt(far).mean() / np.sqrt(w))


def _greatest(points: NDArray[np.float64], w: int) -> NDArray[np.float64]:
    """Return the greatest value of each window of w points (n - w + 1).

    A window is the end of one block of w points and the beginning of the next.
    """
    count = len(points)
    blocks = np.full((-(-count // w), w), -np.inf)
    blocks.ravel()[:count] = points
    to_here = np.maximum.accumulate(blocks, axis=1).ravel()
    from_here = np.maximum.accumulate(blocks[:, ::-1], axis=1)[:, ::-1].ravel()
    found: NDArray[np.float64] = np.maximum(from_here[: count - w + 1], to_here[w - 1 : count])
    return found
