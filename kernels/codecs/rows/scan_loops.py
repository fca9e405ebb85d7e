"""Loops over the packed numbers of chunks, which read them into one column or find some of them.

Some rows at a time, so that what is decoded in steps stays in the cache:

    payload -> packed values -> entries of codes, multiples, doubles -> rows of runs -> exceptions
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from raydb.kernels.codecs.packed_loops import line_at, load, packed_at
from raydb.kernels.codecs.rows.entries import Form
from raydb.kernels.codecs.rows.lanes import spread_runs, store_entries, store_words, unpack_groups
from raydb.kernels.codecs.rows.take_loops import (
    CHUNK_WORDS,
    exception_from,
    head_of,
    run_before_end,
    run_of,
)
from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.packed_loops import Stream
    from raydb.kernels.codecs.rows.entries import Coded, Slices
    from raydb.kernels.codecs.rows.take_loops import Head

_PACKED, _STRIDE, _RUNS_LINE = int(Form.PACKED), int(Form.STRIDE), int(Form.RUNS_LINE)
_RUNS, _RUN_ENDS, _CODES = int(Form.RUNS), int(Form.RUN_ENDS), int(Form.CODES)
_PATCHED, _ALP, _ALP_RUNS = int(Form.PATCHED), int(Form.ALP), int(Form.ALP_RUNS)
_LOW = np.uint64(0xFFFFFFFF)
# Others are whole words.
_LONGEST = np.uint64(57)

# Rows at a time. Values lie behind a free group, and before as many bytes as are read too much.
BLOCK_ROWS = 1024
_ROOM_ROWS = 8 + BLOCK_ROWS + 8
_BLOCK, _GROUP, _GROUP_MASK = np.uint64(BLOCK_ROWS), np.uint64(8), np.uint64(7)


class Part(NamedTuple):
    """Rows, or values, from one on, and how many."""

    first: np.uint64
    length: np.uint64


class Target(NamedTuple):
    """The bytes of a value, and the address to which the first one goes."""

    size: np.int64
    to: np.int64


# Where one row in so many matches, no group of 8 is passed over: whether it has none is a guess.
_DENSE = np.uint64(32)


class Block(NamedTuple):
    """The values of some rows, as unsigned integers of each size, and which of them are wanted.

    flags: a byte each, 0 or 1; groups: those of 8 rows in one word.
    """

    bytes_: NDArray[np.uint8]
    halves: NDArray[np.uint16]
    ints: NDArray[np.uint32]
    longs: NDArray[np.uint64]
    flags: NDArray[np.uint8]
    groups: NDArray[np.uint64]

    @staticmethod
    def make() -> Block:
        """Make room for as many rows as are read at a time."""
        longs, groups = np.zeros(_ROOM_ROWS, np.uint64), np.zeros(_ROOM_ROWS >> 3, np.uint64)
        sizes = (longs.view(np.uint8), longs.view(np.uint16), longs.view(np.uint32), longs)
        return Block(*sizes, groups.view(np.uint8), groups)


class Room(NamedTuple):
    """Where values are decoded in steps: words, the same as doubles, and runs in their own size.

    block: where those go that are compared.
    """

    words: NDArray[np.uint64]
    doubles: NDArray[np.float64]
    runs: NDArray[np.uint64]
    block: Block

    @staticmethod
    def make() -> Room:
        """Make room for a thread."""
        words, runs = np.zeros((2, _ROOM_ROWS), np.uint64)
        return Room(words, words.view(np.float64), runs, Block.make())


class Wanted(NamedTuple):
    """Values of 1, 2, 4 or 8 bytes that are at most `span` above `low`, modulo their size."""

    size: np.int64
    low: np.uint64
    span: np.uint64


class Chunk(NamedTuple):
    """What the blocks of a chunk have in common. last_code: the greatest one, -1 without codes.

    is_plain: rows are unpacked, and nothing is made of them; is_constant: to one value.
    """

    head: Head
    is_in_runs: bool
    is_plain: bool
    is_constant: bool
    last_code: np.int64


@inlined
def _bring_entries(data: NDArray[np.uint8], coded: Coded, chunk: np.uint64, size: int) -> int:
    """Put a chunk's own entries behind those that are shared; return the greatest code."""
    begin = np.uint64(coded.shared_count * size)
    place = np.uint64(coded.places[chunk])
    for byte in range(np.uint64(coded.counts[chunk] * size)):
        coded.entries[begin + byte] = data[place + byte]
    return coded.shared_count + int(coded.counts[chunk]) - 1


@inlined
def _is_line(stream: Stream) -> bool:
    return bool(stream.step != 0 or stream.fraction != 0)


@inlined
def _unpack_groups(
    data: NDArray[np.uint8],
    stream: Stream,
    first: np.uint64,
    count: np.uint64,
    target: Target,
) -> np.uint64:
    """Write values from `first`, which begins a group of 8, on; return how many.

    All groups but those of a line, of whole words, and at the end of the data.
    """
    if _is_line(stream) or stream.width == 0 or stream.width > _LONGEST:
        return np.uint64(0)
    start = stream.place + (first * stream.width >> np.uint64(3))
    # The last vector of a group begins with its last 2 integers or before.
    needed = start + (np.uint64(6) * stream.width >> np.uint64(3)) + np.uint64(16)
    if needed > np.uint64(len(data)):
        return np.uint64(0)
    groups = min(count // _GROUP, (np.uint64(len(data)) - needed) // stream.width + np.uint64(1))
    address = data.ctypes.data + np.int64(start)
    unpack_groups(address, groups, stream.width, stream.reference, target.size, target.to)
    return groups * _GROUP


@inlined
def _spread(
    data: NDArray[np.uint8], place: np.uint64, part: Part, values: np.int64, target: Target
) -> None:
    """Write the values of rows by the bits that begin runs.

    values: the address of the value of the row before the first one; 16 bytes are behind the last.
    """
    (row, count), (size, to) = part, target
    alone = min((np.uint64(0) - row) & _GROUP_MASK, count)
    while count:
        for _ in range(alone):
            bits = data[place + (row >> np.uint64(3))] >> np.uint8(row & _GROUP_MASK)
            values += size * np.int64(bits & np.uint8(1))
            store_words(values, 1, size, to)
            to += size
            row += np.uint64(1)
        count -= alone
        whole = count >> np.uint64(3)
        bits_at = data.ctypes.data + np.int64(place + (row >> np.uint64(3)))
        values += spread_runs(bits_at, whole, size, values, to) * size
        to += np.int64(whole * _GROUP) * size
        row += whole * _GROUP
        count -= whole * _GROUP
        alone = count


@inlined
def _fill_runs(
    data: NDArray[np.uint8], head: Head, row: np.uint64, count: np.uint64, words: NDArray[np.uint64]
) -> None:
    """Write the values of some rows of runs that have ends."""
    run, last = run_before_end(data, head.runs, row), load(data, head.runs) & _LOW
    done = np.uint64(0)
    while done < count and run < last:
        end = load(data, head.runs + np.uint64(4) + (run << np.uint64(2))) & _LOW
        value = packed_at(data, head.stream, run) + head.stream.reference
        stop = min(max(end, row) - row, count)
        for number in range(done, stop):
            words[_GROUP + number] = value
        done = max(done, stop)
        run += np.uint64(1)


@inlined
def _patch(data: NDArray[np.uint8], head: Head, part: Part, target: Target) -> None:
    """Write the exceptions among some rows."""
    (first, count), (size, to) = part, target
    found = exception_from(data, head.exception_rows, head.exceptions, first)
    for number in range(found, head.exceptions):
        row = load(data, head.exception_rows + (number << np.uint64(2))) & _LOW
        if not first <= row < first + count:
            break
        word = data.ctypes.data + np.int64(head.exception_words + (number << np.uint64(3)))
        store_words(word, 1, size, to + np.int64(row - first) * size)


@inlined
def _unpack(
    data: NDArray[np.uint8],
    stream: Stream,
    first: np.uint64,
    count: np.uint64,
    words: NDArray[np.uint64],
    at: np.uint64,
) -> None:
    """Write values to words."""
    for number in range(count):
        packed = packed_at(data, stream, first + number)
        words[at + number] = packed + line_at(stream, first + number)


@inlined
def _compute(chunk: Chunk, scales: NDArray[np.float64], room: Room, at: Part) -> None:
    """Make multiples or doubles of what was packed."""
    words, head = room.words, chunk.head
    if head.form == _STRIDE:
        for number in range(at.first, at.first + at.length):
            above = words[number] - head.stream.reference
            words[number] = above * head.stride + head.stream.reference
    elif head.form >= _ALP:
        ten = scales[0, head.said >> np.uint64(8)]
        tenth = scales[1, head.said & np.uint64(255)]
        for number in range(at.first, at.first + at.length):
            room.doubles[number] = np.float64(np.int64(words[number])) * ten * tenth


@inlined
def _decode(
    data: NDArray[np.uint8],
    chunk: Chunk,
    coded: Coded,
    scales: NDArray[np.float64],
    room: Room,
    begun: np.uint64,
    part: Part,
    target: Target,
) -> np.uint64:
    """Write the values of some rows, and return how many runs have begun behind them.

    begun: how many have before them.
    """
    words, runs = room.words, room.runs
    (row, rows), (size, to), head = part, target, chunk.head
    word_size = np.int64(8) if size > 8 else size
    source = words.ctypes.data + 8 * np.int64(_GROUP)
    if head.form == _RUN_ENDS:
        _fill_runs(data, head, row, rows, words)
        store_words(source, rows, size, to)
        return begun
    first, count, at = row, rows, _GROUP
    if chunk.is_in_runs:
        # The run that goes on, if there is one, and those that begin.
        at += np.uint64(begun == 0)
        first = max(begun, np.uint64(1)) - np.uint64(1)
        begun = run_of(data, head.runs, head.row_count, row + rows - np.uint64(1)) + np.uint64(1)
        count = min(begun - first, rows + _GROUP + np.uint64(1) - at)
    # From the beginning of a group on.
    before = first & _GROUP_MASK
    first, count, at = first - before, count + before, at - before
    address = words.ctypes.data + 8 * np.int64(at)
    done = _unpack_groups(data, head.stream, first, count, Target(np.int64(8), address))
    _unpack(data, head.stream, first + done, count - done, words, at + done)
    _compute(chunk, scales, room, Part(at, count))
    kept, kept_size, kept_to = rows, size, to
    if chunk.is_in_runs:
        kept, kept_size = at + count - _GROUP, word_size
        kept_to = np.int64(runs.ctypes.data)
    if chunk.last_code >= 0:
        entries = coded.entries.ctypes.data
        store_entries(source, kept, kept_size, kept_to, entries, chunk.last_code)
    else:
        store_words(source, kept, kept_size, kept_to)
    if chunk.is_in_runs:
        spread_to = to if size <= 8 else source
        _spread(data, head.runs, part, kept_to, Target(kept_size, spread_to))
        if size > 8:
            store_words(source, rows, size, to)
    return begun


@inlined
def _chunk_of(
    data: NDArray[np.uint8],
    packed: np.int64,
    number: np.uint64,
    coded: Coded,
    room: Room,
    size: np.int64,
) -> Chunk:
    """Return what the blocks of a chunk have in common, and bring what they ask for into reach."""
    head = head_of(data, packed + 8 * CHUNK_WORDS * np.int64(number))
    is_in_runs = _RUNS_LINE <= head.form <= _RUNS or head.form == _ALP_RUNS
    is_plain = bool(head.form in (_PACKED, _PATCHED) and size <= 8)
    is_constant = bool(is_plain and head.stream.width == 0 and not _is_line(head.stream))
    if is_constant:
        room.words[_GROUP : _GROUP + _BLOCK] = head.stream.reference
    last_code = np.int64(-1)
    if head.form in (_RUNS, _CODES):
        last_code = _bring_entries(data, coded, number, size)
    return Chunk(head, is_in_runs, is_plain, is_constant, last_code)


@inlined
def _begun_before(data: NDArray[np.uint8], chunk: Chunk, row: np.uint64) -> np.uint64:
    """Return how many runs have begun before a row."""
    if chunk.is_in_runs and row:
        head = chunk.head
        run = run_of(data, head.runs, head.row_count, row - np.uint64(1))
        return np.uint64(run + np.uint64(1))
    return np.uint64(0)


@inlined
def _read(
    data: NDArray[np.uint8],
    chunk: Chunk,
    coded: Coded,
    scales: NDArray[np.float64],
    room: Room,
    begun: np.uint64,
    part: Part,
    target: Target,
) -> np.uint64:
    """Write the values of the rows of a block, and return how many runs have begun behind them."""
    (row, rows), (size, to), head = part, target, chunk.head
    source = room.words.ctypes.data + 8 * np.int64(_GROUP)
    if chunk.is_constant:
        store_words(source, rows, size, to)
    elif chunk.is_plain and row & _GROUP_MASK == 0:
        done = _unpack_groups(data, head.stream, row, rows, target)
        _unpack(data, head.stream, row + done, rows - done, room.words, _GROUP)
        store_words(source, rows - done, size, to + np.int64(done) * size)
    else:
        begun = _decode(data, chunk, coded, scales, room, begun, part, target)
    if head.exceptions:
        _patch(data, head, part, target)
    return begun


@compiled
def scan_words(
    data: NDArray[np.uint8],
    packed: int,
    slices: Slices,
    coded: Coded,
    scales: NDArray[np.float64],
    room: Room,
    size: int,
    out: NDArray[np.uint8],
) -> None:
    """Write the values of rows of chunks, which have been verified.

    packed: the address of the words of `packed_chunks`. scales: the powers of ten, and of a tenth,
    by exponent. size: the bytes of a value, in which sums wrap around; those of 16 are decimals of
    64 bits.
    """
    for item in range(np.uint64(len(slices.chunks))):
        number = np.uint64(slices.chunks[item])
        row, stop = np.uint64(slices.starts[item]), np.uint64(slices.stops[item])
        to = out.ctypes.data + slices.to[item] * np.int64(size)
        chunk = _chunk_of(data, np.int64(packed), number, coded, room, np.int64(size))
        begun = _begun_before(data, chunk, row)
        while row < stop:
            rows = min(stop, (row | (_BLOCK - np.uint64(1))) + np.uint64(1)) - row
            part, target = Part(row, rows), Target(np.int64(size), to)
            begun = _read(data, chunk, coded, scales, room, begun, part, target)
            to += np.int64(rows) * np.int64(size)
            row += rows


@inlined
def _compare(block: Block, wanted: Wanted, rows: np.uint64) -> np.uint64:
    """Write which values are wanted, and 0 for the rest of the last group; return how many are."""
    bytes_, halves, ints, longs, flags, _ = block
    size, low, span = wanted
    if size == 1:
        for row in range(rows):
            flags[row] = np.uint8(bytes_[row] - np.uint8(low)) <= np.uint8(span)
    elif size == 2:
        for row in range(rows):
            flags[row] = np.uint16(halves[row] - np.uint16(low)) <= np.uint16(span)
    elif size == 4:
        for row in range(rows):
            flags[row] = np.uint32(ints[row] - np.uint32(low)) <= np.uint32(span)
    else:
        for row in range(rows):
            flags[row] = longs[row] - low <= span
    for row in range(rows, (rows + _GROUP_MASK) & ~_GROUP_MASK):
        flags[row] = np.uint8(0)
    matches = np.uint64(0)
    for row in range(rows):
        matches += np.uint64(flags[row])
    return matches


@inlined
def _write_matches(
    block: Block,
    rows: np.uint64,
    first: np.int64,
    is_dense: bool,
    out: NDArray[np.int64],
    found: np.uint64,
) -> np.uint64:
    """Write the numbers of the rows that match behind `found` others; return how many these are."""
    for group in range((rows + _GROUP_MASK) // _GROUP):
        if is_dense or block.groups[group]:
            lane = group * _GROUP
            for _ in range(_GROUP):
                out[found] = first + np.int64(lane)
                found += np.uint64(block.flags[lane])
                lane += np.uint64(1)
    return found


@compiled
def find_words(
    data: NDArray[np.uint8],
    packed: int,
    slices: Slices,
    coded: Coded,
    scales: NDArray[np.float64],
    room: Room,
    wanted: Wanted,
    out: NDArray[np.int64],
) -> int:
    """Write the rows of the table whose values are wanted; return how many these are.

    out: there is room for one more, which is written before it is known that it does not match.
    Others as `scan_words`.
    """
    block, size, found = room.block, wanted.size, np.uint64(0)
    to = np.int64(block.longs.ctypes.data)
    for item in range(np.uint64(len(slices.chunks))):
        number = np.uint64(slices.chunks[item])
        row, stop = np.uint64(slices.starts[item]), np.uint64(slices.stops[item])
        first = np.int64(word_at(np.int64(packed) + 8 * CHUNK_WORDS * np.int64(number)))
        chunk = _chunk_of(data, np.int64(packed), number, coded, room, size)
        begun = _begun_before(data, chunk, row)
        while row < stop:
            rows = min(stop, (row | (_BLOCK - np.uint64(1))) + np.uint64(1)) - row
            part, target = Part(row, rows), Target(size, to)
            begun = _read(data, chunk, coded, scales, room, begun, part, target)
            matches = _compare(block, wanted, rows)
            is_dense = matches * _DENSE > rows
            found = _write_matches(block, rows, first + np.int64(row), is_dense, out, found)
            row += rows
    return int(found)
