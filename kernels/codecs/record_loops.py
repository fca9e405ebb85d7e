"""The loop over the bytes of delimited text: where its last whole record ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LINE_FEED, _CARRIAGE_RETURN = 10, 13
_ZERO, _NINE = 48, 57
# Blanks and signs, which may be before the digits of a number.
_SIGNS = (32, 9, 43, 45)


@numba.njit(cache=True, nogil=True)
def _behind_quoted(data: NDArray[np.uint8], place: int, quote: int) -> int:
    """Return where a quoted field goes on behind its second quote, len(data) for nowhere.

    place: that of the field's first byte. A quote that is the last byte may be the first of two.
    """
    size = len(data)
    while True:
        while place < size and data[place] != quote:
            place += 1
        if place + 1 >= size:
            return size
        if data[place + 1] != quote:
            return place + 1
        place += 2


@numba.njit(cache=True, nogil=True)
def _behind_plain(data: NDArray[np.uint8], place: int, ends: NDArray[np.bool_]) -> int:
    """Return the place of the next byte of those that end something, len(data) for none."""
    size = len(data)
    while place < size and not ends[data[place]]:
        place += 1
    return place


@numba.njit(cache=True, nogil=True)
def last_record(
    data: NDArray[np.uint8],
    delimiter: int,
    quote: int,
    comment: int,
    zeros: NDArray[np.bool_],
) -> tuple[int, int]:
    """Return where the last whole record ends that begins in a piece of text, and the first blank.

    data: begins with a record. quote, comment: -1 for none. zeros, bool, one a column: set where a
    field begins with a zero and another digit, behind a sign perhaps. A record is whole if a byte
    follows it. The second number is where the first blank line is, -1 for none.
    """
    line_ends = np.zeros(256, np.bool_)
    line_ends[_LINE_FEED] = line_ends[_CARRIAGE_RETURN] = True
    ends = line_ends.copy()
    ends[delimiter] = True
    if comment >= 0:
        ends[comment] = True
    is_sign = np.zeros(256, np.bool_)
    for sign in _SIGNS:
        is_sign[sign] = sign != delimiter
    size = len(data)
    place = start = column = 0
    blank = -1
    while place < size:
        first = place
        if data[place] == quote:
            first = place + 1
            place = _behind_quoted(data, first, quote)
        if column < len(zeros):
            while first + 1 < size and is_sign[data[first]]:
                first += 1
            if first + 1 < size and data[first] == _ZERO:
                zeros[column] |= _ZERO <= data[first + 1] <= _NINE
        place = _behind_plain(data, place, ends)
        if place < size and data[place] == delimiter:
            place += 1
            column += 1
            if place < size:
                continue
        if place < size and data[place] == comment:
            place = _behind_plain(data, place, line_ends)
        if place + 1 >= size:
            break
        if place == start and blank < 0:
            blank = start
        is_pair = data[place] == _CARRIAGE_RETURN and data[place + 1] == _LINE_FEED
        place += 2 if is_pair else 1
        start, column = place, 0
    return start, blank
