"""The head of a line, u64 step and u64 fraction, before packed integers; how a line is found."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.storage.flat.encodings.bits import Line, bits_for, signed_64
from raydb.storage.flat.encodings.encoding import bad_chunk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

HEAD = struct.Struct("<qQ")
_FRACTION = 2**32
# Rows by which a line is first tried: what it leaves of them, it leaves of all.
_TRIED_ROWS = 33
# Longer spans would wrap around, when the line is taken from the values.
_LONGEST_SPAN = 2**62


class Fitted(NamedTuple):
    """A line below integers, and what is above it, in how many bits."""

    line: Line
    bits: int
    above: NDArray[np.int64]

    @property
    def head(self) -> bytes:
        """The bytes before the packed integers."""
        return HEAD.pack(self.line.step, self.line.fraction)


def fit_line(numbers: NDArray[Any], span: int, bits: int) -> Fitted | None:
    """Return the line from the first to the last of some integers, moved below all of them.

    span: their greatest less their least. None where it would take `bits` bits or more.
    """
    count = len(numbers)
    if count < 2 or not 0 < span < _LONGEST_SPAN:
        return None
    step, rest = divmod(int(numbers[-1]) - int(numbers[0]), count - 1)
    line = Line(0, step, rest * _FRACTION // (count - 1))
    few = _above(numbers, line, np.arange(_TRIED_ROWS) * (count - 1) // (_TRIED_ROWS - 1))
    if bits_for(int(few.max()) - int(few.min())) >= bits and few.min() < few.max():
        return None
    above = _above(numbers, line, None)
    least, greatest = int(above.min()), int(above.max())
    width = bits_for(greatest - least) if greatest > least else 0
    if width >= bits:
        return None
    above -= least
    reference = signed_64(int(numbers[0]) + least)
    return Fitted(line._replace(reference=reference), width, above)


def _above(numbers: NDArray[Any], line: Line, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return how far the integers of some rows, or of all, are above a line from the first on."""
    places = np.arange(len(numbers)) if rows is None else rows
    chosen = numbers if rows is None else numbers[rows]
    words = chosen.astype(np.int64)
    words -= np.int64(signed_64(int(numbers[0])))  # Or unsigned ones might span 2**63.
    words -= places * np.int64(line.step)
    words -= (places * np.int64(line.fraction)) >> np.int64(32)
    return words


def read_head(column: Column, entry: ChunkEntry, payload: memoryview) -> tuple[Line, memoryview]:
    """Return the line of a chunk and the packed integers behind its head.

    Raises OperationalError for a payload without one, and for a fraction that is none.
    """
    place = entry.starts()[1]
    if len(payload) < HEAD.size:
        raise bad_chunk(column, entry, place, f"a line of {HEAD.size} bytes", len(payload))
    step, fraction = HEAD.unpack_from(payload)
    if fraction >= _FRACTION:
        raise bad_chunk(column, entry, place + 8, f"a fraction below {_FRACTION}", fraction)
    return Line(entry.reference, step, fraction), payload[HEAD.size :]
