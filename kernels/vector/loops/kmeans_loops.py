"""The loops of k-means: the nearest centroid of each vector, sums by list, rows put in order."""

from __future__ import annotations

from math import inf, nan
from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import entry
from raydb.kernels.vector.loops.ranking import centroid_kind_of
from raydb.kernels.vector.loops.simd import PADDED, PRODUCTS, add_up, at_most, trailing_zeros

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Vectors whose scores are computed together: of 1,024 lists they take 128 KiB.
_GROUP = 32


@entry
def nearest_centroids(
    metric: int,
    vectors: NDArray[np.float32],
    centroids: NDArray[np.float32],
    squares: NDArray[np.float32],
    members: NDArray[np.int32],
) -> None:
    """Write the centroid with the least squares[c] - 2 x c for each vector x, the first of several.

    Under l1 and hamming it is the one with the least distance.
    vectors (n, d), centroids (lists, d), squares (lists), members (n).
    """
    count, kind = len(squares), centroid_kind_of(metric)
    scores = np.empty((_GROUP, count + -count % PADDED), np.float32)
    for first in range(0, len(vectors), _GROUP):
        last = min(first + _GROUP, len(vectors))
        add_up(kind, centroids, vectors[first:last], scores)
        for row in range(first, last):
            some = scores[row - first]
            for each in range(count if kind == PRODUCTS else 0):
                some[each] = squares[each] - 2 * some[each]
            some[count:] = nan
            best, chosen = np.float32(inf), 0
            for base in range(0, count, PADDED):
                mask = at_most(some.ctypes.data + 4 * base, best)
                while mask:
                    each = base + trailing_zeros(mask)
                    mask &= mask - np.uint64(1)
                    if some[each] < best:
                        best, chosen = some[each], each
            members[row] = chosen


@entry
def add_members(
    vectors: NDArray[np.float32],
    members: NDArray[np.int32],
    sums: NDArray[np.float64],
    sizes: NDArray[np.int64],
) -> None:
    """Add each vector (n, d) to the sum of its list (lists, d), and count it."""
    for row in range(len(vectors)):
        total, vector = sums[members[row]], vectors[row]
        for place in range(len(vector)):
            total[place] += vector[place]
        sizes[members[row]] += 1


@entry
def list_places(
    members: NDArray[np.int32], next_places: NDArray[np.int64], places: NDArray[np.uint32]
) -> None:
    """Write the place of each row, by list and then in order. next_places: each list's first."""
    for row in range(len(members)):
        places[row] = next_places[members[row]]
        next_places[members[row]] += 1


@entry
def put_rows(
    vectors: NDArray[np.float32], places: NDArray[np.uint32], kept: NDArray[np.float32]
) -> None:
    """Copy each vector (n, d) to its place."""
    for row in range(len(vectors)):
        kept[places[row]] = vectors[row]
