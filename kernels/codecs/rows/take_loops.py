"""The loop that reads packed numbers of any rows of any chunks, each where it lies in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.codecs.packed_loops import load
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


@inlined
def _ones(word: np.uint64) -> np.uint64:
    """Count the bits that are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return word * np.uint64(0x0101010101010101) >> np.uint64(56)


@inlined
def _run_of(
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
def _run_before_end(data: NDArray[np.uint8], place: np.uint64, row: np.uint64) -> np.uint64:
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
def _exception_of(
    data: NDArray[np.uint8], place: np.uint64, count: np.uint64, row: np.uint64
) -> np.uint64:
    """Return which of ascending rows one is, `count` where it is none of them."""
    low, high = np.uint64(0), count
    while low < high:
        middle = (low + high) >> np.uint64(1)
        found = load(data, place + (middle << np.uint64(2))) & np.uint64(0xFFFFFFFF)
        if found == row:
            return middle
        if found < row:
            low = middle + np.uint64(1)
        else:
            high = middle
    return count


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
        form, width = packed.forms[chunk], np.uint64(packed.widths[chunk])
        place = np.uint64(packed.payloads[chunk])
        number = np.uint64(rows[item] - packed.firsts[chunk])
        step, fraction, stride = np.uint64(0), np.uint64(0), np.uint64(1)
        said = np.uint64(0)
        if form >= _PATCHED:
            said = load(data, place)
            exceptions, said = said & np.uint64(0xFFFFFFFF), said >> np.uint64(32)
            found = _exception_of(data, place + np.uint64(8), exceptions, number)
            place += (np.uint64(15) + (exceptions << np.uint64(2))) >> np.uint64(3) << np.uint64(3)
            if found < exceptions:
                out[item] = load(data, place + (found << np.uint64(3)))
                continue
            place += exceptions << np.uint64(3)
        if _RUNS_LINE <= form <= _RUNS or form == _ALP_RUNS:
            count = np.uint64(packed.row_counts[chunk])
            number = _run_of(data, place, count, number)
            blocks = (count + _BLOCK_ROWS - np.uint64(1)) // _BLOCK_ROWS
            place += (count + np.uint64(63)) >> np.uint64(6) << np.uint64(3)
            place += (blocks + np.uint64(1)) >> np.uint64(1) << np.uint64(3)
        elif form == _RUN_ENDS:
            runs = load(data, place) & np.uint64(0xFFFFFFFF)
            number = _run_before_end(data, place, number)
            place += (np.uint64(11) + (runs << np.uint64(2))) >> np.uint64(3) << np.uint64(3)
        if _LINE <= form <= _RUNS_LINE:
            step, fraction = load(data, place), load(data, place + np.uint64(8))
            place += np.uint64(16)
        elif form == _STRIDE:
            stride = load(data, place)
            place += np.uint64(8)
        value = np.uint64(packed.references[chunk])
        if width:
            at = number * width
            word = load(data, place + (at >> np.uint64(3))) >> (at & np.uint64(7))
            mask = ~np.uint64(0) if width == 64 else (np.uint64(1) << width) - np.uint64(1)
            value += (word & mask) * stride
        if form >= _ALP:
            ten = scales[0, said >> np.uint64(8)]
            doubles[item] = np.float64(np.int64(value)) * ten * scales[1, said & np.uint64(255)]
        else:
            out[item] = value + number * step + (number * fraction >> np.uint64(32))
