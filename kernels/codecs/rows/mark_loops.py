"""The loop that turns marks of rows into a bit a row; docs/flatstor.md has their layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_BITS = np.uint64(8)


@inlined
def _set_bits(begin: np.uint64, end: np.uint64, out: NDArray[np.uint8]) -> None:
    """Set the bits from one to before another."""
    at = begin
    while at < end and at & np.uint64(7):
        out[at >> np.uint64(3)] |= np.uint8(1) << np.uint8(at & np.uint64(7))
        at += np.uint64(1)
    while at + np.uint64(8) <= end:
        out[at >> np.uint64(3)] = np.uint8(255)
        at += np.uint64(8)
    while at < end:
        out[at >> np.uint64(3)] |= np.uint8(1) << np.uint8(at & np.uint64(7))
        at += np.uint64(1)


@compiled
def set_by_marks(
    starts: NDArray[np.uint16],
    places: NDArray[np.uint8],
    row_count: int,
    are_changes: bool,
    is_set: bool,
    out: NDArray[np.uint8],
) -> int:
    """Set the bits that marks tell of, in zeros; return how many, or -1 for marks that do not rise.

    A mark is of a row that is other than most, or, in changes, than the row before. is_set: whether
    the bits before the first mark are.
    """
    rows, least = np.uint64(row_count), np.uint64(0)
    begin, found, place = np.uint64(0), np.uint64(0), np.uint64(starts[0])
    if place != 0 or np.uint64(starts[-1]) != np.uint64(len(places)):
        return -1
    if is_set and not are_changes:
        _set_bits(begin, rows, out)
    for block in range(np.uint64(len(starts)) - np.uint64(1)):
        end = np.uint64(starts[block + np.uint64(1)])
        if end < place or end > np.uint64(len(places)):
            return -1
        while place < end:
            row = (block << _BLOCK_BITS) | np.uint64(places[place])
            if row < least or row >= rows:
                return -1
            if not are_changes:
                out[row >> np.uint64(3)] ^= np.uint8(1) << np.uint8(row & np.uint64(7))
            elif is_set:
                _set_bits(begin, row, out)
                found += row - begin
            least, begin = row + np.uint64(1), row
            is_set ^= are_changes
            place += np.uint64(1)
    if not are_changes:
        return int(rows - place if is_set else place)
    if is_set:
        _set_bits(begin, rows, out)
        found += rows - begin
    return int(found)
