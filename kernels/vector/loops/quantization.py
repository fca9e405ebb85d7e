"""Vectors as bytes: a row of a list is center + step * code, with whole numbers from -127 to 127.

How far any row of a list is from what its codes say is known, so that of the rows that a scan of
the codes leaves out none can be among the nearest: answers are those without codes.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.jit import entry, leaf

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST = 127

# Codes of a list are made anew where rows that are added make its error so many times as great.
_MOST_GROWN = 1.25


class Codes(NamedTuple):
    """By place: codes (n, d) int8 and |step code|^2 (n), both empty where there are none.

    By list: centers, steps (lists, d), and errors (lists, 2): the greatest distance of a row from
    what its codes say, and the greatest length |step code|. Under cosine rows are unit vectors.
    """

    codes: NDArray[np.int8]
    squares: NDArray[np.float32]
    centers: NDArray[np.float32]
    steps: NDArray[np.float32]
    errors: NDArray[np.float32]


@leaf
def _encode_row(
    row: int, scale: Any, vectors: NDArray[np.float32], each: int, into: Codes
) -> tuple[float, float]:
    """Write the code of a row of a list; return |row - what it says|^2 and |step code|^2."""
    center, step = into.centers[each], into.steps[each]
    missed, total = 0.0, 0.0
    for place in range(vectors.shape[1]):
        away = vectors[row, place] * scale - center[place]
        code = np.rint(away / step[place]) if step[place] > 0 else np.float32(0)
        code = min(max(code, np.float32(-_MOST)), np.float32(_MOST))
        into.codes[row, place] = np.int8(code)
        part = np.float64(step[place]) * code
        value = np.float64(vectors[row, place]) * np.float64(scale)
        off = value - (np.float64(center[place]) + part)
        missed += off * off
        total += part * part
    into.squares[row] = total
    return missed, total


@leaf
def _encode_list(
    vectors: NDArray[np.float32],
    scales: NDArray[np.float32],
    start: int,
    end: int,
    each: int,
    room: tuple[NDArray[np.float32], NDArray[np.float32]],
    into: Codes,
) -> None:
    """Write the codes of a list, whose rows are start .. end - 1."""
    width, (low, high) = vectors.shape[1], room
    for place in range(width):
        low[place], high[place] = inf, -inf
    for row in range(start, end):
        scale = scales[row] if len(scales) else np.float32(1)
        for place in range(width):
            value = vectors[row, place] * scale
            low[place], high[place] = min(low[place], value), max(high[place], value)
    for place in range(width):
        into.centers[each, place] = (low[place] + high[place]) / 2 if start < end else 0
        into.steps[each, place] = (high[place] - low[place]) / (2 * _MOST) if start < end else 0
    error, reach = 0.0, 0.0
    for row in range(start, end):
        scale = scales[row] if len(scales) else np.float32(1)
        missed, total = _encode_row(row, scale, vectors, each, into)
        error, reach = max(error, sqrt(missed)), max(reach, sqrt(total))
    # Rounded up, for these are bounds.
    into.errors[each, 0] = error * (1 + 2.0**-20)
    into.errors[each, 1] = reach * (1 + 2.0**-20)


@entry
def encode_lists(
    vectors: NDArray[np.float32],
    scales: NDArray[np.float32],
    offsets: NDArray[np.int64],
    first: int,
    last: int,
    into: Codes,
) -> None:
    """Write the codes of the lists first .. last. vectors (n, d): by list; scales: see `Rows`."""
    width = vectors.shape[1]
    room = np.empty(width, np.float32), np.empty(width, np.float32)
    for each in range(first, last):
        _encode_list(vectors, scales, offsets[each], offsets[each + 1], each, room, into)


@entry
def encode_added(
    vectors: NDArray[np.float32],
    scales: NDArray[np.float32],
    offsets: NDArray[np.int64],
    is_added: NDArray[np.bool_],
    first: int,
    last: int,
    into: Codes,
) -> None:
    """Write the codes of the rows that were added to the lists first .. last; others have theirs.

    Where added ones are too far from what codes can say, all rows of the list get new ones.
    """
    width = vectors.shape[1]
    room = np.empty(width, np.float32), np.empty(width, np.float32)
    for each in range(first, last):
        start, end, known = offsets[each], offsets[each + 1], into.errors[each, 0]
        error, reach = np.float64(known), np.float64(into.errors[each, 1])
        for row in range(start, end):
            if is_added[row]:
                scale = scales[row] if len(scales) else np.float32(1)
                missed, total = _encode_row(row, scale, vectors, each, into)
                error = max(error, np.float64(sqrt(missed) * (1 + 2.0**-20)))
                reach = max(reach, np.float64(sqrt(total) * (1 + 2.0**-20)))
        into.errors[each, 0], into.errors[each, 1] = error, reach
        if error > _MOST_GROWN * known:
            _encode_list(vectors, scales, start, end, each, room, into)


@leaf
def weigh(
    is_l2: bool,
    query: NDArray[np.float32],
    center: NDArray[np.float32],
    step: NDArray[np.float32],
    weights: NDArray[np.float32],
) -> tuple[Any, Any]:
    """Write what a query's codes are multiplied by: -2 (q - center) step, or -q step.

    Return what is added to the products, and the length of what was multiplied with the steps.
    """
    total, length = 0.0, 0.0
    for place in range(len(query)):
        if is_l2:
            away = query[place] - center[place]
            weights[place] = -2 * away * step[place]
            total += np.float64(away) * np.float64(away)
        else:
            weights[place] = -query[place] * step[place]
            total -= np.float64(query[place]) * np.float64(center[place])
            length += np.float64(query[place]) * np.float64(query[place])
    return np.float32(total), np.float32(sqrt(total if is_l2 else length))


@leaf
def reach_of(
    is_l2: bool,
    bound: Any,
    times: int,
    total: Any,
    length: Any,
    errors: NDArray[np.float32],
    width: int,
) -> Any:
    """Return the approximate score up to which there are rows within a bound.

    times: 1 for a bound of exact scores, 2 for one of approximate scores of rows of the list.
    total, length: see `weigh`. errors (2): those of the list. width: the elements of a vector.
    """
    if bound == np.float32(inf):
        return bound
    # What float32 may lose, with room to spare: a sum of n products is off by n roundings at most.
    rounding = (width + 8) * 2.0**-22
    if is_l2:
        lost = rounding * (length * length + errors[1] * errors[1])
        reached = max(np.float64(bound), 0.0) + (times - 1) * lost
        # |q - x| and |q - codes of x| differ by |x - codes of x| at most.
        away = sqrt(reached) + times * np.float64(errors[0])
        return np.float32(away * away * (1 + 1e-6) + lost)
    lost = rounding * (length * errors[1] + abs(total)) + abs(bound) * 1e-6
    return np.float32(bound + times * (length * np.float64(errors[0]) + lost))
