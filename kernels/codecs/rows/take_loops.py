"""The loop that reads packed numbers of any rows of any chunks, each where it lies in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.kernels.codecs.packed_loops import Stream, line_at, load, packed_at
from raydb.kernels.codecs.rows.entries import Form
from raydb.kernels.jit import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Packed

# Numbers whose order tells which have the head of a line, and which have runs.
_STRIDE, _LINE, _RUNS_LINE = int(Form.STRIDE), int(Form.LINE), int(Form.RUNS_LINE)
_RUNS, _RUN_ENDS = int(Form.RUNS), int(Form.RUN_ENDS)
_PATCHED, _ALP, _ALP_RUNS = int(Form.PATCHED), int(Form.ALP), int(Form.ALP_RUNS)
_BLOCK_ROWS = np.uint64(512)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(3)  # A multiple of words is shifted by so many bits.


@inlined
def _ones(word: np.uint64) -> np.uint64:
    """Count the bits that are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return word * np.uint64(0x0101010101010101) >> np.uint64(56)


@inlined
def run_of(
    data: NDArray[np.uint8], place: np.uint64, row_count: np.uint64, row: np.uint64
) -> np.uint64:
    """Return the run of a row, given where the bits that begin runs lie, with ranks behind them."""
    ranks = place + ((row_count + np.uint64(63)) >> np.uint64(6) << np.uint64(3))
    block = row // _BLOCK_ROWS
    ones = load(data, ranks + (block << np.uint64(2))) & np.uint64(0xFFFFFFFF)
    word = place + (block << np.uint64(6))
    last = place + (row >> np.uint64(6) << np.uint64(3))
    while word < last:
        ones += _ones(load(data, word))
        word += np.uint64(8)
    kept = load(data, last) << (np.uint64(63) - (row & np.uint64(63)))
    return np.uint64(ones + _ones(kept) - np.uint64(1))


@inlined
def run_before_end(data: NDArray[np.uint8], place: np.uint64, row: np.uint64) -> np.uint64:
    """Return the first run whose end is above a row; the ends are behind their number."""
    low, high = np.uint64(0), load(data, place) & np.uint64(0xFFFFFFFF)
    while low < high:
        middle = (low + high) >> np.uint64(1)
        end = load(data, place + np.uint64(4) + (middle << np.uint64(2))) & np.uint64(0xFFFFFFFF)
        if end > row:
            high = middle
        else:
            low = middle + np.uint64(1)
    return low


@inlined
def exception_from(
    data: NDArray[np.uint8], place: np.uint64, count: np.uint64, row: np.uint64
) -> np.uint64:
    """Return the first of ascending rows that is one or behind it, `count` where none is."""
    low, high = np.uint64(0), count
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if load(data, place + (middle << np.uint64(2))) & _LOW < row:
            low = middle + np.uint64(1)
        else:
            high = middle
    return low


class Head(NamedTuple):
    """What is before the packed integers of a chunk, and these.

    exceptions: how many, whose rows lie at `exception_rows` and whose words at `exception_words`;
    said: what they tell of exponents. runs: where the bits that begin runs lie, or the number of
    runs that have ends.
    """

    stream: Stream
    stride: np.uint64
    exceptions: np.uint64
    exception_rows: np.uint64
    exception_words: np.uint64
    said: np.uint64
    runs: np.uint64


@inlined
def head_of(data: NDArray[np.uint8], packed: Packed, chunk: np.uint64) -> Head:
    """Return where the parts of a chunk are."""
    form, width = packed.forms[chunk], np.uint64(packed.widths[chunk])
    place = np.uint64(packed.payloads[chunk])
    exceptions, said, rows, words = np.uint64(0), np.uint64(0), place, place
    if form >= _PATCHED:
        said = load(data, place)
        exceptions, said = said & _LOW, said >> np.uint64(32)
        rows = place + np.uint64(8)
        words = place + ((np.uint64(15) + (exceptions << np.uint64(2))) >> _WORD << _WORD)
        place = words + (exceptions << _WORD)
    runs = place
    if _RUNS_LINE <= form <= _RUNS or form == _ALP_RUNS:
        count = np.uint64(packed.row_counts[chunk])
        blocks = (count + _BLOCK_ROWS - np.uint64(1)) // _BLOCK_ROWS
        place += (count + np.uint64(63)) >> np.uint64(6) << _WORD
        place += (blocks + np.uint64(1)) >> np.uint64(1) << _WORD
    elif form == _RUN_ENDS:
        count = load(data, place) & _LOW
        place += (np.uint64(11) + (count << np.uint64(2))) >> _WORD << _WORD
    step, fraction, stride = np.uint64(0), np.uint64(0), np.uint64(1)
    if _LINE <= form <= _RUNS_LINE:
        step, fraction = load(data, place), load(data, place + np.uint64(8))
        place += np.uint64(16)
    elif form == _STRIDE:
        stride = load(data, place)
        place += np.uint64(8)
    reference = np.uint64(packed.references[chunk])
    stream = Stream(place, width, reference, step, fraction)
    return Head(stream, stride, exceptions, rows, words, said, runs)


@compiled
def take_words(
    data: NDArray[np.uint8],
    packed: Packed,
    rows: NDArray[np.int64],
    chunks: NDArray[np.int64],
    scales: NDArray[np.float64],
    out: NDArray[Any],
    doubles: NDArray[np.float64],
) -> None:
    """Write the value of each row, of the table, in its chunk.

    scales: the powers of ten, and of a tenth, by exponent. out: unsigned integers of any size, in
    which sums wrap around; doubles: the same memory, where ALP chunks are. The chunks have been
    verified.
    """
    for item in range(np.uint64(len(rows))):
        chunk = np.uint64(chunks[item])
        form, head = packed.forms[chunk], head_of(data, packed, chunk)
        number = np.uint64(rows[item] - packed.firsts[chunk])
        if head.exceptions:
            found = exception_from(data, head.exception_rows, head.exceptions, number)
            place = head.exception_rows + (found << np.uint64(2))
            if found < head.exceptions and load(data, place) & _LOW == number:
                out[item] = load(data, head.exception_words + (found << _WORD))
                continue
        if _RUNS_LINE <= form <= _RUNS or form == _ALP_RUNS:
            number = run_of(data, head.runs, np.uint64(packed.row_counts[chunk]), number)
        elif form == _RUN_ENDS:
            number = run_before_end(data, head.runs, number)
        value = line_at(head.stream, number)
        if head.stream.width:
            value += packed_at(data, head.stream, number) * head.stride
        if form >= _ALP:
            ten = scales[0, head.said >> np.uint64(8)]
            tenth = scales[1, head.said & np.uint64(255)]
            doubles[item] = np.float64(np.int64(value)) * ten * tenth
        else:
            out[item] = value
