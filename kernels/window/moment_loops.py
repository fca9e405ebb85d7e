"""The moments of each frame: what variances, correlations and regressions are made of.

A state has, of pairs (y, x): their number, the means of y and x, the sums of the products of their
distances from the means, yy, xx and xy, the sums of the third and fourth powers of those of y, and
what the means are more than the nearest doubles, as Dekker (1971) has it. Two states are merged as
Pebay (2008, equations 2.1 to 3.11) does, which subtracts nothing large from something large; no
pair is ever taken out again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.kernels.jit import compiled, leaf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The places of the means in a state with their rests, and of the sums of powers of distances, of y
# or of y and x.
Y_MEAN, X_MEAN, Y_REST, X_REST = 1, 2, 8, 9
PLACES = {(2,): 3, (2, 0): 3, (0, 2): 4, (1, 1): 5, (3,): 6, (4,): 7}
STATE = 10
# Pairs of a leaf of the tree; frames of twice as many are folded anew pair by pair.
BLOCK = 8


@leaf
def _copy(state: NDArray[np.float64], target: NDArray[np.float64]) -> None:
    for place in range(STATE):
        target[place] = state[place]


@leaf
def _move(state: NDArray[np.float64], place: int, rest: int, step: float) -> None:
    """Add a step to a mean and its rest, which is all that the mean's last digit rounds away."""
    mean = state[place]
    moved = mean + step
    # What of both the sum has lost (Knuth 1969).
    part = moved - mean
    lost = (mean - (moved - part)) + (step - part) + state[rest]
    state[place] = moved + lost
    state[rest] = lost - (state[place] - moved)


@leaf
def merge(state: NDArray[np.float64], other: NDArray[np.float64]) -> None:
    """Add the pairs of another state to a state."""
    if other[0] == 0:
        return
    if state[0] == 0:
        _copy(other, state)
        return
    a, b = state[0], other[0]
    n = a + b
    dy = other[1] - state[1] + (other[8] - state[8])
    dx = other[2] - state[2] + (other[9] - state[9])
    weight = a * b / n
    step = dy / n
    state[7] += (
        other[7]
        + dy * step * step * step * a * b * (a * a - a * b + b * b)
        + 6 * step * step * (a * a * other[3] + b * b * state[3])
        + 4 * step * (a * other[6] - b * state[6])
    )
    state[6] += (
        other[6] + dy * step * step * a * b * (a - b) + 3 * step * (a * other[3] - b * state[3])
    )
    state[3] += other[3] + dy * dy * weight
    state[4] += other[4] + dx * dx * weight
    state[5] += other[5] + dy * dx * weight
    _move(state, 1, 8, step * b)
    _move(state, 2, 9, dx / n * b)
    state[0] = n


@leaf
def add_pairs(
    state: NDArray[np.float64],
    ys: NDArray[np.float64],
    xs: NDArray[np.float64],
    low: int,
    high: int,
    one: NDArray[np.float64],
) -> None:
    """Add the pairs at the places low..high to a state, each as a state of one pair.

    The distance of a number from itself is 0, of infinity and NaN it is NaN. one: a state to use.
    """
    one[0] = 1
    for place in range(low, high):
        one[1], one[2] = ys[place], xs[place]
        one[3], one[4] = ys[place] - ys[place], xs[place] - xs[place]
        one[5], one[6], one[7] = one[3] + one[4], one[3], one[3]
        one[8], one[9] = one[3], one[4]
        merge(state, one)


@compiled
def build_moments(
    ys: NDArray[np.float64],
    xs: NDArray[np.float64],
    tree: NDArray[np.float64],
    one: NDArray[np.float64],
) -> None:
    """Fill a tree of states: node k merges nodes 2k and 2k + 1, the leaves are blocks of pairs.

    tree: zeros of shape (2 * block_count, STATE). one: a state to use.
    """
    count = len(tree) // 2
    for block in range(count):
        low = block * BLOCK
        add_pairs(tree[count + block], ys, xs, low, min(low + BLOCK, len(ys)), one)
    for node in range(count - 1, 0, -1):
        merge(tree[node], tree[2 * node])
        merge(tree[node], tree[2 * node + 1])


@compiled
def fold_moments(
    ys: NDArray[np.float64],
    xs: NDArray[np.float64],
    tree: NDArray[np.float64],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    states: NDArray[np.float64],
    scratch: NDArray[np.float64],
) -> None:
    """Write the state of each frame, shape (frame_count, STATE); scratch: zeros, (2, STATE)."""
    count = len(tree) // 2
    state, one = scratch[0], scratch[1]
    start, end = 0, 0
    for row in range(len(starts)):
        if starts[row] != start or ends[row] < end:
            start, end = starts[row], starts[row]
            for place in range(STATE):
                state[place] = 0
            if ends[row] - start > 2 * BLOCK:
                left, right = (start + BLOCK - 1) // BLOCK, ends[row] // BLOCK
                add_pairs(state, ys, xs, start, left * BLOCK, one)
                end = right * BLOCK
                left, right = left + count, right + count
                while left < right:
                    if left & 1:
                        merge(state, tree[left])
                        left += 1
                    if right & 1:
                        right -= 1
                        merge(state, tree[right])
                    left >>= 1
                    right >>= 1
        add_pairs(state, ys, xs, end, ends[row], one)
        end = max(end, ends[row])
        _copy(state, states[row])
