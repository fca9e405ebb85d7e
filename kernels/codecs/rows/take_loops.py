"""The loop that reads packed numbers of any rows of any chunks, each where it lies in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.codecs.packed_loops import Stream, line_at, load, packed_at
from raydb.kernels.codecs.rows.entries import Form
from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import put, word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Numbers whose order tells which have the head of a line, and which have runs.
_PACKED, _CODES = int(Form.PACKED), int(Form.CODES)
_STRIDE, _LINE, _RUNS_LINE = int(Form.STRIDE), int(Form.LINE), int(Form.RUNS_LINE)
_RUNS, _RUN_ENDS = int(Form.RUNS), int(Form.RUN_ENDS)
_PATCHED, _ALP, _ALP_RUNS = int(Form.PATCHED), int(Form.ALP), int(Form.ALP_RUNS)
_BLOCK_ROWS = np.uint64(512)
_BLOCK_WORDS = _BLOCK_ROWS // np.uint64(64)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(3)  # A multiple of words is shifted by so many bits.
# What there is of each chunk of numbers.
CHUNK_WORDS = 6


@inlined
def _count_ones(word: np.uint64) -> np.uint64:
    """Count the bits that are set."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return word * np.uint64(0x0101010101010101) >> np.uint64(56)


class _Rank(NamedTuple):
    """How many runs begin before a word of bits, which is counted in words of its chunk."""

    word: np.uint64
    ones: np.uint64


# Of no word.
_NO_RANK = _Rank(~np.uint64(0) - np.uint64(63), np.uint64(0))


@inlined
def _rank_of(
    data: NDArray[np.uint8],
    place: np.uint64,
    row_count: np.uint64,
    row: np.uint64,
    before: _Rank,
) -> _Rank:
    """Return the rank of the word of a row, from another one that is not far before it."""
    (word, ones), last = before, row >> np.uint64(6)
    if not word <= last < word + _BLOCK_WORDS:
        ranks = place + ((row_count + np.uint64(63)) >> np.uint64(6) << _WORD)
        block = row // _BLOCK_ROWS
        ones = load(data, ranks + (block << np.uint64(2))) & _LOW
        word = block * _BLOCK_WORDS
    while word < last:
        ones += _count_ones(load(data, place + (word << _WORD)))
        word += np.uint64(1)
    return _Rank(word, ones)


@inlined
def _run_at(data: NDArray[np.uint8], place: np.uint64, row: np.uint64, rank: _Rank) -> np.uint64:
    """Return the run of a row, given the rank of its word."""
    kept = load(data, place + (rank.word << _WORD)) << (np.uint64(63) - (row & np.uint64(63)))
    return np.uint64(rank.ones + _count_ones(kept) - np.uint64(1))


@inlined
def run_of(
    data: NDArray[np.uint8], place: np.uint64, row_count: np.uint64, row: np.uint64
) -> np.uint64:
    """Return the run of a row, given where the bits that begin runs lie, with ranks behind them."""
    rank = _rank_of(data, place, row_count, row, _NO_RANK)
    return np.uint64(_run_at(data, place, row, rank))


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


@inlined
def chunk_at(column: np.int64, row: np.int64, size: int) -> np.int64:
    """Return the address of what a column has of the chunk of a row; 0 where that is not read.

    column: the address of five words: how many rows there are, how many in each chunk but the last
    one or 0, and how many chunks; the addresses of what there is of each, in `size` words that
    begin with its first row, and of a word for each, 0 until it has been verified.
    """
    uniform, count = word_at(column + 8), word_at(column + 16)
    chunks, verified = np.int64(word_at(column + 24)), np.int64(word_at(column + 32))
    if np.uint64(row) >= word_at(column):
        return np.int64(0)
    low, high = np.uint64(0), count
    if uniform:
        low = np.uint64(row) // uniform
    else:
        while high - low > 1:
            middle = (low + high) >> np.uint64(1)
            if np.int64(word_at(chunks + 8 * size * np.int64(middle))) <= row:
                low = middle
            else:
                high = middle
    if word_at(verified + 8 * np.int64(low)) == 0:
        return np.int64(0)
    return chunks + 8 * size * np.int64(low)


class Head(NamedTuple):
    """What is before the packed integers of a chunk, and these.

    exceptions: how many, whose rows lie at `exception_rows` and whose words at `exception_words`;
    said: what they tell of exponents. runs: where the bits that begin runs lie, or the number of
    runs that have ends.
    """

    form: np.int64
    row_count: np.uint64
    stream: Stream
    stride: np.uint64
    exceptions: np.uint64
    exception_rows: np.uint64
    exception_words: np.uint64
    said: np.uint64
    runs: np.uint64


@inlined
def head_of(data: NDArray[np.uint8], chunk: np.int64) -> Head:
    """Return where the parts of a chunk are, given the address of its words."""
    form, width = np.int64(word_at(chunk + 8)), word_at(chunk + 16)
    place, row_count = word_at(chunk + 24), word_at(chunk + 40)
    exceptions, said, rows, words = np.uint64(0), np.uint64(0), place, place
    if form >= _PATCHED:
        said = load(data, place)
        exceptions, said = said & _LOW, said >> np.uint64(32)
        rows = place + np.uint64(8)
        words = place + ((np.uint64(15) + (exceptions << np.uint64(2))) >> _WORD << _WORD)
        place = words + (exceptions << _WORD)
    runs = place
    if _RUNS_LINE <= form <= _RUNS or form == _ALP_RUNS:
        blocks = (row_count + _BLOCK_ROWS - np.uint64(1)) // _BLOCK_ROWS
        place += (row_count + np.uint64(63)) >> np.uint64(6) << _WORD
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
    stream = Stream(place, width, word_at(chunk + 32), step, fraction)
    return Head(form, row_count, stream, stride, exceptions, rows, words, said, runs)


@inlined
def _value_of(data: NDArray[np.uint8], head: Head, number: np.uint64) -> np.uint64:
    """Return the integer that is packed at some place."""
    value = line_at(head.stream, number)
    if head.stream.width:
        value += packed_at(data, head.stream, number) * head.stride
    return np.uint64(value)


@inlined
def _word_of(
    data: NDArray[np.uint8],
    head: Head,
    scales: NDArray[np.float64],
    row: np.uint64,
    room: np.int64,
) -> np.uint64:
    """Return what a chunk of any form has of a row. room: the address of 8 bytes."""
    if head.exceptions:
        found = exception_from(data, head.exception_rows, head.exceptions, row)
        place = head.exception_rows + (found << np.uint64(2))
        if found < head.exceptions and load(data, place) & _LOW == row:
            return np.uint64(load(data, head.exception_words + (found << _WORD)))
    number = row
    if head.form == _ALP_RUNS:
        number = run_of(data, head.runs, head.row_count, row)
    elif head.form == _RUN_ENDS:
        number = run_before_end(data, head.runs, row)
    value = _value_of(data, head, number)
    if head.form < _ALP:
        return np.uint64(value)
    ten = scales[0, head.said >> np.uint64(8)]
    tenth = scales[1, head.said & np.uint64(255)]
    put(room, np.float64(np.int64(value)) * ten * tenth)
    return np.uint64(word_at(room))


@compiled
def take_words(
    data: NDArray[np.uint8],
    column: int,
    rows: NDArray[np.int64],
    scales: NDArray[np.float64],
    entries: int,
    size: int,
    out: int,
) -> bool:
    """Write the value of each row, of the table; tell whether all are there, in verified chunks.

    column: the address of what `chunk_at` asks for, with the words of `packed_chunks`. scales: the
    powers of ten, and of a tenth, by exponent. entries: the address of what codes stand for, with 8
    bytes behind it; 0 for codes themselves. size: the bytes of a value, in which sums wrap around.
    out: the address of room for all values and 8 bytes more.
    """
    to, item, end = np.int64(out), np.uint64(0), np.uint64(len(rows))
    while item < end:
        chunk = chunk_at(column, rows[item], CHUNK_WORDS)
        if chunk == 0:
            return False
        first, head, rank = word_at(chunk), head_of(data, chunk), _NO_RANK
        are_runs = _RUNS_LINE <= head.form <= _RUNS
        is_plain = head.form in (_PACKED, _CODES) and head.stream.width > 0
        while item < end and np.uint64(rows[item]) - first < head.row_count:
            number = np.uint64(rows[item]) - first
            if is_plain:
                value = head.stream.reference + packed_at(data, head.stream, number)
            elif are_runs:
                rank = _rank_of(data, head.runs, head.row_count, number, rank)
                value = _value_of(data, head, _run_at(data, head.runs, number, rank))
            else:
                value = _word_of(data, head, scales, number, to)
            if entries:
                value = word_at(np.int64(entries) + np.int64(value) * size)
            put(to, value)
            to += size
            item += np.uint64(1)
    return True
