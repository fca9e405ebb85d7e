"""What the encodings of integers ask of a chunk, found in one pass: bounds, runs, stride, line.

8 10 12 12 18   least 8, greatest 18, 4 runs, stride 2, a line of step 2 with 0 to 2 above it
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.storage.flat.encodings.bits import Line, bits_for, loops_for, signed_64

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import NDArray

# A line has to save an eighth of a frame, as other widths have of whole words.
WORTHWHILE_EIGHTHS = 7
_FRACTION = 2**32
_FLIP = np.int64(-(2**63))
_NO_FLIP = np.int64(0)
# What divides the distances of all rows divides those of a few, and what a line leaves of a few
# rows, it leaves of all.
_TRIED_ROWS = 33
_LONGEST_STRIDED = 2**63 - 1
# Longer spans would wrap around, when the line is taken from the values.
_LONGEST_SPAN = 2**62


class Survey(NamedTuple):
    """What is known of the integers of a chunk.

    stride: what divides the distances of all to the least, 0 where all are equal or it was not
    looked for. line: the one from the first to the last of them, moved below all; None where it
    does not pay. line_bits: the width of what is above it.
    """

    least: int
    greatest: int
    run_count: int
    stride: int = 0
    line: Line | None = None
    line_bits: int = 0

    @property
    def span(self) -> int:
        """The greatest less the least."""
        return self.greatest - self.least


def survey_loops() -> ModuleType | None:
    """Return the compiled loops where numba is there already; None where NumPy is to do."""
    return None if loops_for(0) is None else _survey_loops()


@cache
def _survey_loops() -> ModuleType:
    from raydb.kernels.codecs import survey_loops as loops  # noqa: PLC0415  (numba is there)

    return loops


def survey_integers(
    words: NDArray[np.int64], *, unsigned: bool, eighths: int = WORTHWHILE_EIGHTHS
) -> Survey:
    """Return what is known of some integers, at least one, modulo 2**64 where they are unsigned.

    eighths: of a frame's width, which a line has to stay below.
    """
    loops = survey_loops()
    if loops is None:
        return _survey_by_arrays(words, unsigned=unsigned, eighths=eighths)
    found = np.empty(8, np.int64)
    words.flags.writeable = False  # One type of array: the loop is compiled once.
    loops.survey_integers(words, _FLIP if unsigned else _NO_FLIP, eighths, found)
    least, greatest, run_count, stride, step, fraction, reference, above = found.tolist()
    if unsigned:
        least, greatest = least % 2**64, greatest % 2**64
    if fraction < 0:
        return Survey(least, greatest, run_count, stride)
    line = Line(reference, step, fraction)
    return Survey(least, greatest, run_count, stride, line, bits_for(above) if above else 0)


def line_bounds(words: NDArray[np.int64], slope: int) -> tuple[int, int]:
    """Return how far below and above a line from the first integer on the others are at most.

    slope: what it rises a row, in 2**-32.
    """
    step, fraction = divmod(slope, _FRACTION)
    loops = survey_loops()
    if loops is None:
        above = _above(words, Line(0, step, fraction), None)
        return int(above.min()), int(above.max())
    found = np.empty(2, np.int64)
    loops.survey_line(words, step, fraction, found)
    low, high = found.tolist()
    return low, high


def _survey_by_arrays(words: NDArray[np.int64], *, unsigned: bool, eighths: int) -> Survey:
    """Do as `survey_integers` without numba."""
    values = words.view(np.uint64) if unsigned else words
    least, greatest = int(values.min()), int(values.max())
    span = greatest - least
    if not span:
        return Survey(least, greatest, 1)
    run_count = 1 + int(np.count_nonzero(words[1:] != words[:-1]))
    stride = _find_stride(words, signed_64(least)) if span <= _LONGEST_STRIDED else 0
    line, bits = None, 0
    if len(words) > 1 and span < _LONGEST_SPAN:
        line, bits = _fit_line(words, bits_for(span) * eighths // 8)
    return Survey(least, greatest, run_count, stride, line, bits)


def _find_stride(words: NDArray[np.int64], least: int) -> int:
    rows = np.arange(_TRIED_ROWS) * (len(words) - 1) // (_TRIED_ROWS - 1)
    few = words[rows] - np.int64(least)
    if int(np.gcd.reduce(few)) == 1:
        return 1
    return int(np.gcd.reduce(words - np.int64(least)))


def _fit_line(words: NDArray[np.int64], bits: int) -> tuple[Line | None, int]:
    """Return the line and the width of what is above it; no line for `bits` bits or more."""
    count = len(words)
    step, rest = divmod(signed_64(int(words[-1]) - int(words[0])), count - 1)
    line = Line(0, step, rest * _FRACTION // (count - 1))
    few = _above(words, line, np.arange(_TRIED_ROWS) * (count - 1) // (_TRIED_ROWS - 1))
    if few.min() < few.max() and bits_for(int(few.max()) - int(few.min())) >= bits:
        return None, 0
    above = _above(words, line, None)
    least, greatest = int(above.min()), int(above.max())
    width = bits_for(greatest - least) if greatest > least else 0
    if greatest > least and width >= bits:
        return None, 0
    return line._replace(reference=signed_64(int(words[0]) + least)), width


def _above(words: NDArray[Any], line: Line, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Return how far the integers of some rows, or of all, are above a line from the first on."""
    places = np.arange(len(words)) if rows is None else rows
    above: NDArray[np.int64] = (words if rows is None else words[rows]) - words[0]
    above -= places * np.int64(line.step)
    above -= (places * np.int64(line.fraction)) >> np.int64(32)
    return above
