"""Change points of a series: ClaSP, split by split.

    points  ->  nearest subsequences  ->  profile of splits  ->  the best one, if it is significant
            ->  both sides again, the better one first

A split is good where a subsequence and most of its nearest ones lie on the same side of it
(Ermshaus, Schaefer and Leser, "ClaSP: parameter-free time series segmentation", 2023).
"""

from __future__ import annotations

import heapq
import math
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.kernels.states.loops.neighbour_loops import Subsequences

# Subsequences that are compared with each, and the least segment in subsequences.
NEIGHBOURS = 3
SEGMENT_WIDTHS = 5

# Parts of a series that are tried where the whole has no significant split.
_PARTS = 10

# A split is significant where chance makes one as good less often, with one channel and with more.
_CHANCE = 1e-15
_CHANCE_OF_SEVERAL = 1e-30

# A subsequence is level whose standard deviation is at most this part of the whole series'.
_LEVEL = 1e-3

# Numbers of windows that are copied at a time, 2 MB.
_COPIED = 2**18

# Distances that are found between two looks at the clock, some 20 ms; and the rows of a run, which
# are many beside the w that its first row takes as long as.
_STEP = 2**25
_RUN_ROWS, _RUN_WIDTHS = 2048, 8

# Each thread takes 16 bytes a point and channel.
_MOST_THREADS = 4


class Change(NamedTuple):
    """A change point: the place of the first point behind it, and its score between 0 and 1."""

    place: int
    score: float


def least_points(w: int) -> int:
    """Return how many points a series has at least that may have a change."""
    return 2 * SEGMENT_WIDTHS * w


def find_changes(
    points: NDArray[np.float64],
    w: int,
    seed: int = 0,
    keep_going: Callable[[float], None] = lambda _: None,
) -> list[Change]:
    """Return the change points of a series, in order.

    points (d, n): by channel, all finite; channels that never change tell nothing. w: the points of
    a subsequence. keep_going: is told the share that is done; what it raises ends the search.
    """
    count = points.shape[1]
    moves = (points != points[:, :1]).any(axis=1)
    points = points[moves] if moves.any() else points[:1]
    least = SEGMENT_WIDTHS * w
    found: list[Change] = []
    waiting: list[tuple[float, int, int, int]] = []
    done = 0

    def look(start: int, end: int) -> None:
        if end - start < least_points(w):
            return
        split = _best_split(points[:, start:end], w, seed, tell)
        if split is not None and _is_apart(start + split.place, found, count, least):
            heapq.heappush(waiting, (-split.score, start + split.place, start, end))

    def tell(share: float) -> None:
        # A side is searched again as long as it has changes: what is left is not known.
        keep_going(done / (done + 2) + share / (done + 2) / (done + 3) * 2)

    look(0, count)
    while waiting and len(found) < count // least - 1:
        negative, place, start, end = heapq.heappop(waiting)
        found.append(Change(place, -negative))
        for side in ((start, place), (place, end)):
            done += 1
            look(*side)
    return sorted(found)


def _is_apart(place: int, found: list[Change], count: int, least: int) -> bool:
    """Tell whether a place is far enough from the ends and from other changes."""
    return all(abs(place - other) >= least for other in (0, count, *(each.place for each in found)))


def _best_split(
    points: NDArray[np.float64], w: int, seed: int, tell: Callable[[float], None]
) -> Change | None:
    """Return the best split of a part of a series, None where it is not significant.

    Where the split of the whole is not, smaller parts are tried as long as they score better.
    """
    count = points.shape[1]
    best: Change | None = None
    for start, end in _parts(count, w, seed):
        place, area, chance = best_of_part(points[:, start:end], w, tell)
        score = (area + (end - start) / count) / 2
        if best is not None and score <= best.score:
            return None
        best = Change(start + place, score)
        if chance <= (_CHANCE if len(points) == 1 else _CHANCE_OF_SEVERAL):
            return best
    return None


def _parts(count: int, w: int, seed: int) -> list[tuple[int, int]]:
    """Return the whole of a series and random parts of it, by their length, the longest first."""
    parts = [(0, count)]
    draw = np.random.RandomState(seed)
    while len(parts) < _PARTS and count > 3 * SEGMENT_WIDTHS * w:
        start, length = draw.randint(0, count, 2).tolist()
        end = min(start + length, count)
        if end - start >= least_points(w):
            parts.append((start, end))
    return sorted(parts, key=lambda part: part[0] - part[1])


def best_of_part(
    points: NDArray[np.float64], w: int, tell: Callable[[float], None] = lambda _: None
) -> tuple[int, float, float]:
    """Return the place of the best split, the area under its ROC curve, and its chance."""
    places = nearest(points, w, NEIGHBOURS, tell)
    least = SEGMENT_WIDTHS * w
    areas = profile(places, w, least, points.shape[1] - least + 1)
    place = least + int(np.argmax(areas))
    return place, float(areas[place - least]), _chance(places, w, place)


def nearest(
    points: NDArray[np.float64], w: int, k: int, tell: Callable[[float], None] = lambda _: None
) -> NDArray[np.int32]:
    """Return the places (m, k) of the nearest subsequences of w points, the nearest first.

    points (d, n). The distance is z-normalised, so level and scale do not count; those that start
    within w // 2 points do not either. Takes O(d n^2) time and O(d n) memory. Rows are found in
    runs of one length, whoever finds them: each begins with covariances of its own.
    """
    from raydb.kernels.backends.cpu.threads import processor_count, run_slices  # noqa: PLC0415
    from raydb.kernels.states.loops.neighbour_loops import (  # noqa: PLC0415  (numba)
        LANES,
        Room,
        find_neighbours,
        find_together,
    )

    channels, count = points.shape
    m = count - w + 1
    scale = points.std(axis=1, keepdims=True)
    scale[scale == 0] = 1
    standard = (points - points.mean(axis=1, keepdims=True)) / scale
    means, known = _describe(standard, w)
    places = np.empty((m, k), np.int32)
    run_rows = max(_RUN_ROWS, _RUN_WIDTHS * w)
    step = max(_STEP // (m * channels), 1)
    find = find_neighbours if channels == 1 else find_together
    done = 0

    def run(part: slice) -> None:
        nonlocal done
        start, end = part.start * run_rows, min(part.stop * run_rows, m)
        covariance = np.empty((channels, m + end - start - 1))
        for row, mean, ahead, aside, before in zip(
            *(standard, means, known.ahead, known.aside, covariance), strict=True
        ):
            # A step along the diagonals gives the covariances of the row `start`.
            products = np.correlate(row, row[start : start + w] - mean[start])
            steps = ahead[start] * aside + ahead * aside[start]
            before[end - start - 1 :] = products - steps
        rows = np.empty((min(channels, 2), m))
        room = Room(covariance, rows, np.empty((2, LANES)), np.empty(k))
        for first in range(start, end, step):
            last = min(first + step, end)
            find(known, first, last, end, w // 2, room, places)
            done += last - first
            tell(min(done / m, 1.0))

    threads = min(processor_count(), _MOST_THREADS)
    run_slices(run, -(-m // run_rows), 1, 1, threads)
    if channels == 1:
        _choose_levels(np.flatnonzero(known.inverse[0] == 0), w // 2, places)
    return places


def _describe(points: NDArray[np.float64], w: int) -> tuple[NDArray[np.float64], Subsequences]:
    """Return the means of the subsequences of a series (d, n), and what else is known of them.

    The deviation of a channel is 1, or 0 where it never changes.
    """
    from raydb.kernels.states.loops.neighbour_loops import Subsequences  # noqa: PLC0415  (numba)

    channels, m = len(points), points.shape[1] - w + 1
    means, inverse, ahead, aside, first = (np.zeros((channels, m)) for _ in range(5))
    windows = np.lib.stride_tricks.sliding_window_view(points, w, axis=1)
    step = max(_COPIED // w, 1)
    for channel, start in product(range(channels), range(0, m, step)):
        some = windows[channel, start : start + step]
        here = slice(start, start + len(some))
        means[channel, here] = some.mean(axis=1)
        deviation = some.std(axis=1)
        known = deviation > _LEVEL
        inverse[channel, here][known] = 1 / (deviation[known] * math.sqrt(w))
    for row, mean, covariance in zip(points, means, first, strict=True):
        covariance[:] = np.correlate(row, row[:w] - mean[0])
    ahead[:, 1:] = 0.5 * (points[:, w:] - points[:, : m - 1])
    aside[:, 1:] = (points[:, w:] - means[:, 1:]) + (points[:, : m - 1] - means[:, :-1])
    return means, Subsequences(inverse, ahead, aside, first)


def _choose_levels(levels: NDArray[np.int64], radius: int, places: NDArray[np.int32]) -> None:
    """Set places (m, k) of level subsequences to level ones that are not near, if there are enough.

    All of them are equally near. Each has those in the middle of all and on both sides of it, so
    that a level stretch looks the same everywhere, and from both ends.
    """
    k, count = places.shape[1], len(levels)
    if count < 2 * radius + 1 + k:
        return
    for each in range(k):
        ranks = np.full(count, (each + 1) * (count - 1) // (k + 1))
        while (near := np.abs(levels[ranks] - levels) <= radius).any():
            ranks[near] = (ranks[near] + 1) % count
        places[levels, each] = levels[ranks]


def profile(places: NDArray[np.int32], w: int, first: int, end: int) -> NDArray[np.float64]:
    """Return the area under the ROC curve of the splits first .. end, from places (m, k).

        split s:   0 0 0 0 0 1 1 1 1        the sides of subsequences
                   0 0 1 0 1 1 1 0 1        what most of their neighbours say; 1 for the w before s

    A prediction is one of two labels, so the area is the mean of the shares of both sides that are
    predicted right. The neighbours of a subsequence say 0 from a split on: behind the place of the
    one in the middle. So all splits take one pass.
    """
    m, k = places.shape
    own, splits = np.arange(m), np.arange(first, end)
    middle = np.partition(places, (k - 1) // 2, axis=1)[:, (k - 1) // 2]

    def counts(begins: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many of some have begun at each split."""
        return np.cumsum(np.bincount(begins, minlength=m + 1))[splits]

    zeros, left_zeros = counts(middle + 1), counts(np.maximum(own, middle) + 1)
    right_zeros = counts(np.maximum(own + w, middle) + 1)
    wrong = (zeros - left_zeros) / (m - splits)
    areas: NDArray[np.float64] = 0.5 * (right_zeros / splits + 1 - wrong)
    return areas


def _chance(places: NDArray[np.int32], w: int, split: int) -> float:
    """Return how often the labels on both sides of a split would differ as much by chance.

    It is the p-value of the two-sided rank-sum test in its normal approximation, without a
    correction for ties; 1 where labels are wrong more often than right, which tells of no change.
    """
    ones = np.count_nonzero(places >= split, axis=1) * 2 > places.shape[1]
    ones[split - w : split] = True
    m, one_count = len(ones), int(ones.sum())
    zero_count = m - one_count
    zero_rank, one_rank = (zero_count + 1) / 2, zero_count + (one_count + 1) / 2
    left_ones = int(ones[:split].sum())
    ranks = left_ones * one_rank + (split - left_ones) * zero_rank
    deviation = math.sqrt(split * (m - split) * (m + 1) / 12)
    return math.erfc(max(split * (m + 1) / 2 - ranks, 0) / deviation / math.sqrt(2))
