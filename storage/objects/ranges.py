"""Ranges of bytes: those that are asked for together, and those that one request fetches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

# A request costs as much as some 100 KB on the way: what lies between two ranges comes along.
_GAP_BYTES = 1 << 17
# Longer ranges come as several requests, side by side.
_REQUEST_BYTES = 8 << 20

Range = tuple[int, int]


def joined(ranges: Iterable[Range], gap: int = _GAP_BYTES) -> list[Range]:
    """Return ascending ranges that cover the given ones; those near each other become one.

    >>> joined([(500, 600), (0, 10), (20, 30)], gap=10)
    [(0, 30), (500, 600)]
    """
    found: list[Range] = []
    for start, stop in sorted(ranges):
        if start >= stop:
            continue
        if found and start - found[-1][1] <= gap:
            found[-1] = found[-1][0], max(found[-1][1], stop)
        else:
            found.append((start, stop))
    return found


def divided(ranges: Iterable[Range], most: int = _REQUEST_BYTES) -> list[Range]:
    """Return the ranges in pieces of at most so many bytes.

    >>> divided([(0, 25)], most=10)
    [(0, 10), (10, 20), (20, 25)]
    """
    return [
        (place, min(place + most, stop))
        for start, stop in ranges
        for place in range(start, stop, most)
    ]


def runs(flags: NDArray[np.bool_]) -> list[Range]:
    """Return the ranges of places where flags are set.

    >>> runs(np.array([True, False, True, True]))
    [(0, 1), (2, 4)]
    """
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
