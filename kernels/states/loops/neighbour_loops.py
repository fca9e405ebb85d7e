"""The nearest subsequences of each subsequence of a series, row by row of the distance matrix.

    row i of a channel:  covariance (i, j)  ->  correlation (i, j) for all j  ->  the k greatest

The z-normalised distance of two subsequences of w points is 2 w (1 - correlation), so the nearest
ones are those of the greatest correlation. A covariance follows from the one before it on its
diagonal by two products (Zimmermann and others, "Matrix Profile XIV", SoCC 2019); a diagonal has
one place, so that a row is updated where it lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.jit import compiled, leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Correlations that are compared at a time with the k-th greatest so far.
_BLOCK = 256

# Sums of a row are added up in so many lanes, in one order on every machine.
LANES = 16


class Subsequences(NamedTuple):
    """What is known of the m subsequences of w points of a series, by channel (d, m).

    inverse: 1 / (standard deviation * sqrt(w)); 0 where the subsequence is level. ahead, aside: the
    factors of the steps along a diagonal. first: the covariance with subsequence 0.
    """

    inverse: NDArray[np.float64]
    ahead: NDArray[np.float64]
    aside: NDArray[np.float64]
    first: NDArray[np.float64]


class Room(NamedTuple):
    """What a run over the rows start .. end writes into.

    covariance (d, m + end - start - 1): of each diagonal, that of j - i at j - i + end - 1.
    rows (1 or 2, m): of correlations; two where there are several channels. sums (2, LANES).
    values (k): the greatest of a row.
    """

    covariance: NDArray[np.float64]
    rows: NDArray[np.float64]
    sums: NDArray[np.float64]
    values: NDArray[np.float64]


@leaf
def _correlate(
    i: int,
    inverse: NDArray[np.float64],
    ahead: NDArray[np.float64],
    aside: NDArray[np.float64],
    covariance: NDArray[np.float64],
    row: NDArray[np.float64],
) -> None:
    """Set a row (m) to the correlations of a subsequence; its covariances are those of i - 1."""
    ahead_i, aside_i, inverse_i = ahead[i], aside[i], inverse[i]
    for j in range(len(row)):
        value = covariance[j] + (ahead_i * aside[j] + ahead[j] * aside_i)
        covariance[j] = value
        row[j] = value * inverse_i * inverse[j]
    if inverse_i == 0.0:
        # A level subsequence is like others, and unlike all that are not level.
        for j in range(len(row)):
            row[j] = 1.0 if inverse[j] == 0.0 else 0.0


@leaf
def _add_standard(
    i: int,
    radius: int,
    row: NDArray[np.float64],
    sums: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Add a row, less its mean and over its deviation, to a total: those near i are left out."""
    m = len(row)
    low, high = max(i - radius, 0), min(i + radius + 1, m)
    sums[:] = 0.0
    row[low:high] = 0.0
    whole = m // LANES * LANES
    for start in range(0, whole, LANES):
        for lane in range(LANES):
            value = row[start + lane]
            sums[0, lane] += value
            sums[1, lane] += value * value
    for j in range(whole, m):
        sums[0, 0] += row[j]
        sums[1, 0] += row[j] * row[j]
    mean, square = 0.0, 0.0
    for lane in range(LANES):
        mean += sums[0, lane]
        square += sums[1, lane]
    count = max(m - (high - low), 1)
    mean /= count
    variance = square / count - mean * mean
    scale = 1.0 / np.sqrt(variance) if variance > 1e-12 else 0.0
    for j in range(m):
        total[j] += (row[j] - mean) * scale


@leaf
def _choose(
    i: int,
    radius: int,
    row: NDArray[np.float64],
    bound: float,
    places: NDArray[np.int32],
    values: NDArray[np.float64],
) -> None:
    """Set places (k) to those of the greatest values of a row, the greatest first, none near i.

    bound: a value that k of them reach. Of equal values the first.
    """
    m, k = len(row), len(places)
    values[:] = -np.inf
    for start in range(0, m, _BLOCK):
        end = min(start + _BLOCK, m)
        hits = 0
        for j in range(start, end):
            hits += row[j] >= bound
        if hits == 0:
            continue
        for j in range(start, end):
            value = row[j]
            if value < bound or value <= values[k - 1] or abs(j - i) <= radius:
                continue
            place = k - 1
            while place > 0 and values[place - 1] < value:
                values[place], places[place] = values[place - 1], places[place - 1]
                place -= 1
            values[place], places[place] = value, j
            bound = max(bound, values[k - 1])


@leaf
def _bound(i: int, radius: int, row: NDArray[np.float64], before: NDArray[np.int32]) -> float:
    """Return a value that k places of a row reach: those behind the ones of the row before."""
    bound = np.inf
    for place in before:
        j = place + 1
        if j >= len(row) or abs(j - i) <= radius:
            return -np.inf
        bound = min(bound, row[j])
    return bound


@compiled
def find_neighbours(
    known: Subsequences,
    first: int,
    last: int,
    end: int,
    radius: int,
    room: Room,
    places: NDArray[np.int32],
) -> None:
    """Set places (m, k) of the rows first .. last to the nearest subsequences, the nearest first.

    The rows start .. end of a run are found in their order, each once; at first, covariances are
    those of the row before it. radius: subsequences up to so far away do not count. There is one
    channel.
    """
    inverse, ahead, aside = known.inverse[0], known.ahead[0], known.aside[0]
    row = room.rows[0]
    for i in range(first, last):
        here = room.covariance[0, end - 1 - i : end - 1 - i + len(row)]
        # The first of a row has none before it on its diagonal.
        here[0] = known.first[0, i]
        _correlate(i, inverse, ahead, aside, here, row)
        bound = _bound(i, radius, row, places[i - 1]) if i > first else -np.inf
        _choose(i, radius, row, bound, places[i], room.values)


@compiled
def find_together(
    known: Subsequences,
    first: int,
    last: int,
    end: int,
    radius: int,
    room: Room,
    places: NDArray[np.int32],
) -> None:
    """Do the same for several channels, which is compiled for those who have them.

    A row is the sum of the rows of channels, each less its mean and over its deviation.
    """
    total, row = room.rows[0], room.rows[1]
    for i in range(first, last):
        total[:] = 0.0
        for channel in range(len(known.inverse)):
            here = room.covariance[channel, end - 1 - i : end - 1 - i + len(row)]
            here[0] = known.first[channel, i]
            inverse = known.inverse[channel]
            _correlate(i, inverse, known.ahead[channel], known.aside[channel], here, row)
            _add_standard(i, radius, row, room.sums, total)
        bound = _bound(i, radius, total, places[i - 1]) if i > first else -np.inf
        _choose(i, radius, total, bound, places[i], room.values)
