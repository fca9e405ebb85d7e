"""The loops over the frames of window functions: folds of values, and searches for a bound.

A frame is a range of places; frames come row by row, and mostly each begins and ends no earlier
than the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.kernels.jit import entry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ADD, LEAST, GREATEST, MULTIPLY = 0, 1, 2, 3
# A fold over fewer values is done anew, a longer one over the nodes of a tree.
SHORT_FRAME = 32


@entry
def combine(function: int, left: Any, right: Any) -> Any:
    """Fold two values."""
    if function == ADD:
        return left + right
    if function == MULTIPLY:
        return left * right
    if function == LEAST:
        return min(left, right)
    return max(left, right)


@entry
def build_tree(values: NDArray[Any], function: int, tree: NDArray[Any]) -> None:
    """Fill a tree of folds: node k folds nodes 2k and 2k + 1, place p is the leaf len(values) + p.

    `tree` has twice as many nodes as there are values.
    """
    count = len(values)
    tree[count:] = values
    for node in range(count - 1, 0, -1):
        tree[node] = combine(function, tree[2 * node], tree[2 * node + 1])


@entry
def fold_range(tree: NDArray[Any], start: int, end: int, function: int, nothing: Any) -> Any:
    """Fold the values of the places from `start` to before `end`."""
    total = nothing
    left, right = start + len(tree) // 2, end + len(tree) // 2
    while left < right:
        if left & 1:
            total = combine(function, total, tree[left])
            left += 1
        if right & 1:
            right -= 1
            total = combine(function, total, tree[right])
        left >>= 1
        right >>= 1
    return total


@entry
def fold_frames(
    values: NDArray[Any],
    tree: NDArray[Any],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    function: int,
    nothing: Any,
    results: NDArray[Any],
) -> None:
    """Fold the values of each frame; the result is `nothing` for an empty one.

    A frame that begins where the last one did goes on from its result, so that a running fold
    costs one step a row. No value is ever taken out again: the fold of a moving frame is as
    exact as one from scratch, with infinities and NaN too.
    """
    start, end = 0, 0
    total = nothing
    for row in range(len(starts)):
        if starts[row] != start or ends[row] < end:
            start, end = starts[row], starts[row]
            total = nothing
            if ends[row] - start > SHORT_FRAME:
                end = ends[row]
                total = fold_range(tree, start, end, function, nothing)
        for place in range(end, ends[row]):
            total = combine(function, total, values[place])
        end = max(end, ends[row])
        results[row] = total


@entry
def find_places(
    codes: NDArray[np.int64],
    lows: NDArray[np.int64],
    highs: NDArray[np.int64],
    targets: NDArray[np.int64],
    after: bool,
    places: NDArray[np.int64],
) -> None:
    """Find for each row the first place in low..high whose code is at least its target.

    With `after`, the first whose code is greater; the codes of the range are in ascending order.
    """
    for row in range(len(targets)):
        low, high = lows[row], highs[row]
        while low < high:
            middle = (low + high) // 2
            if codes[middle] < targets[row] or (after and codes[middle] == targets[row]):
                low = middle + 1
            else:
                high = middle
        places[row] = low
