"""The values of each frame as a multiset of ranks, from which values come and go.

A Fenwick tree (1994) counts the values by rank: one comes, goes or is found by its place in the
order in as many steps as the number of ranks has bits. Integers lose nothing as values go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.jit import compiled, leaf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@leaf
def _count(tree: NDArray[np.int64], rank: int, more: int) -> None:
    """Add to the count of a rank."""
    place = rank + 1
    while place < len(tree):
        tree[place] += more
        place += place & -place


@leaf
def _at(tree: NDArray[np.int64], place: int) -> int:
    """Return the rank of the value at a place in the order."""
    step = 1
    while 2 * step < len(tree):
        step *= 2
    rank = 0
    while step:
        if rank + step < len(tree) and tree[rank + step] <= place:
            rank += step
            place -= tree[rank]
        step //= 2
    return rank


@compiled
def find_ranks(
    ranks: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    places: NDArray[np.int64],
    tree: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Find the ranks at two places of each frame's values in order.

    places, found: shape (2, frame_count); of an empty frame nothing is written. tree: zeros, one
    more than there are ranks.
    """
    low, high = 0, 0
    for row in range(len(starts)):
        start, end = starts[row], ends[row]
        if start >= end:
            continue
        if start >= high or end <= low:
            for place in range(low, high):
                _count(tree, ranks[place], -1)
            low, high = start, start
        while low > start:
            low -= 1
            _count(tree, ranks[low], 1)
        while high < end:
            _count(tree, ranks[high], 1)
            high += 1
        while low < start:
            _count(tree, ranks[low], -1)
            low += 1
        while high > end:
            high -= 1
            _count(tree, ranks[high], -1)
        found[0, row] = _at(tree, places[0, row])
        found[1, row] = found[0, row]
        if places[1, row] != places[0, row]:
            found[1, row] = _at(tree, places[1, row])


@compiled
def add_ranks(
    ranks: NDArray[np.int64],
    weights: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    times: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add up the weights of the ranks of each frame, each rank once; 64 bits wrap.

    times: zeros, one for each rank.
    """
    low, high, total = 0, 0, 0
    for row in range(len(starts)):
        start, end = starts[row], ends[row]
        if start >= end:
            sums[row] = 0
            continue
        if start >= high or end <= low:
            for place in range(low, high):
                times[ranks[place]] = 0
            low, high, total = start, start, 0
        while low > start:
            low -= 1
            rank = ranks[low]
            total += weights[rank] * (times[rank] == 0)
            times[rank] += 1
        while high < end:
            rank = ranks[high]
            total += weights[rank] * (times[rank] == 0)
            times[rank] += 1
            high += 1
        while low < start:
            rank = ranks[low]
            times[rank] -= 1
            total -= weights[rank] * (times[rank] == 0)
            low += 1
        while high > end:
            high -= 1
            rank = ranks[high]
            times[rank] -= 1
            total -= weights[rank] * (times[rank] == 0)
        sums[row] = total


@leaf
def _count_best(times: NDArray[np.int64], best: NDArray[np.int64], rank: int, more: int) -> None:
    """Add to the count of a rank in a tree of which each node knows the best of its ranks.

    That is the most frequent one, and the first of several.
    """
    times[rank] += more
    node = (rank + len(times)) // 2
    while node:
        left, right = best[2 * node], best[2 * node + 1]
        best[node] = left if times[left] >= times[right] else right
        node //= 2


@compiled
def find_modes(
    ranks: NDArray[np.int64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    times: NDArray[np.int64],
    best: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Find the most frequent rank of each frame, the least of several; none of an empty one.

    times: zeros, a power of two and one for each rank at least; best: twice as many.
    """
    size = len(times)
    for rank in range(size):
        best[size + rank] = rank
    for node in range(size - 1, 0, -1):
        best[node] = best[2 * node]
    low, high = 0, 0
    for row in range(len(starts)):
        start, end = starts[row], ends[row]
        if start >= end:
            continue
        if start >= high or end <= low:
            for place in range(low, high):
                _count_best(times, best, ranks[place], -1)
            low, high = start, start
        while low > start:
            low -= 1
            _count_best(times, best, ranks[low], 1)
        while high < end:
            _count_best(times, best, ranks[high], 1)
            high += 1
        while low < start:
            _count_best(times, best, ranks[low], -1)
            low += 1
        while high > end:
            high -= 1
            _count_best(times, best, ranks[high], -1)
        found[row] = best[1]
