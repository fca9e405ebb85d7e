"""Loops that decode texts of codes into Arrow's buffers.

Codes are decoded as they lie, one after another whatever row they are of, and 32 bytes are copied
for each: the next one overwrites what was too much. Where a row ends is looked up among the
positions of the last few thousand codes. So no branch depends on how long rows and entries are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba  # noqa: F401  (all of it, before a part: see kernels/compiling.py)
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from raydb.kernels.codecs.packed_loops import load, narrow_bound
from raydb.kernels.codecs.rows.entries import BLOCK_CODES, COPIED_BYTES, ITEM_BYTES
from raydb.kernels.codecs.rows.take_loops import chunk_at
from raydb.kernels.jit import compiled, inlined
from raydb.kernels.memory_loops import put, word_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Entries, Places, Span, Target

_ESCAPE = 255
_HALF_BYTES = COPIED_BYTES // 2
_UNKNOWN_BIT, _LAST_BYTE, _ONE = np.uint64(63), np.uint64(0xFF), np.uint64(1)
# What there is of each chunk of texts.
TEXT_WORDS = 4
# What is told in place of a size where codes are wrong.
BAD_CODE, BAD_ROW = -1, -2


def _copier(byte_count: int) -> Any:
    """Make a function that copies so many bytes from one address to another."""

    def declare(_context: Any, _source: Any, _target: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            block = ir.VectorType(ir.IntType(8), byte_count).as_pointer()
            found = builder.load(builder.inttoptr(arguments[0], block))
            stored = builder.store(found, builder.inttoptr(arguments[1], block))
            found.align = stored.align = 1
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return intrinsic(declare)


_copy_block, _copy_half, _copy_word = _copier(COPIED_BYTES), _copier(_HALF_BYTES), _copier(8)


@inlined
def _copy_entry(
    source: np.int64, size: np.int64, out: np.int64, to: np.int64, limit: np.int64
) -> None:
    """Copy some bytes; 32 more are behind them, and nothing from `limit` on is written.

    out: the address of the byte that `to` and `limit` are counted from.
    """
    target = out + to
    if to + max(size, np.int64(COPIED_BYTES)) <= limit:
        _copy_block(source, target)
        done = np.int64(COPIED_BYTES)
        while done < size:
            # The last block ends where the entry does.
            done = min(done, size - np.int64(COPIED_BYTES))
            _copy_block(source + done, target + done)
            done += np.int64(COPIED_BYTES)
    else:
        for byte in range(np.int64(size)):
            put(target + byte, np.uint8(word_at(source + byte) & _LAST_BYTE))


@compiled
def measure_codes(
    data: NDArray[np.uint8],
    width: np.uint64,
    begin: np.uint64,
    count: int,
    heads: NDArray[np.uint64],
) -> int:
    """Return the bytes of codes, the first at bit `begin` of `data`; BAD_CODE for unknown ones.

    8 bytes from the byte of every code on are in the data; heads has as many as codes of a width.
    """
    mask, found, all_heads = (np.uint64(1) << width) - np.uint64(1), np.uint64(0), np.uint64(0)
    at = begin
    for _ in range(count):
        head = heads[load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask]
        found += head & np.uint64(0xFFFFFFFF)
        all_heads |= head
        at += width
    return BAD_CODE if all_heads >> _UNKNOWN_BIT else int(np.int64(found))


@compiled
def spread_codes(
    data: NDArray[np.uint8],
    width: np.uint64,
    places: Places,
    index: NDArray[np.uint32],
    entries: Entries,
    target: Target,
    span: Span,
) -> None:
    """Write the texts of codes that have been measured.

    places: the bit of `data` where the codes of each chunk begin. index: of each chunk the number
    of the first code of each row, and of that behind the last row's.
    """
    heads, texts = entries
    source, out = texts.ctypes.data, target.data.ctypes.data
    _, offsets, positions = target
    limit, mask = np.int64(span.limit), (np.uint64(1) << width) - np.uint64(1)
    to, row, out_row = np.int64(span.to), np.uint64(0), np.uint64(span.row)
    for chunk in range(np.uint64(len(places.begins))):
        at, last_row = np.uint64(places.begins[chunk]), row + np.uint64(places.counts[chunk])
        first, last = np.uint64(index[row]), np.uint64(index[last_row])
        while row <= last_row:
            count = min(last - first, np.uint64(BLOCK_CODES))
            for number in range(count):
                positions[number] = to
                head = heads[load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask]
                size = np.int64(head & np.uint64(0xFFFFFFFF))
                _copy_entry(source + np.int64(head >> np.uint64(32)), size, out, to, limit)
                to += size
                at += width
            positions[count] = to
            while row <= last_row and np.uint64(index[row]) - first <= count:
                offsets[out_row] = positions[np.uint64(index[row]) - first]
                out_row += np.uint64(1)
                row += np.uint64(1)
            first += count
        out_row -= np.uint64(1)  # Where one chunk ends, the next one begins.


@compiled
def read_codes(chunk: int, row: int, out: int) -> int:
    """Write the text of one row of a chunk; return its bytes, BAD_ROW where that is not done.

    By addresses alone, since Python takes longer to hand over an array than a text takes here, and
    by few: each takes 25 ns. chunk: five words, the addresses of the payload, of the index as in
    `spread_codes`, from row 0 on, of heads and texts of entries, and the bits of a code, 32 at
    most. out: ITEM_BYTES.
    """
    payload, index = np.int64(word_at(chunk)), np.int64(word_at(chunk + 8))
    heads, texts = np.int64(word_at(chunk + 16)), np.int64(word_at(chunk + 24))
    width = word_at(chunk + 32)
    bounds = word_at(index + 4 * row)
    at, end = bounds & np.uint64(0xFFFFFFFF), bounds >> np.uint64(32)
    if (end - at) * np.uint64(COPIED_BYTES) > np.uint64(ITEM_BYTES):
        return BAD_ROW
    bits, to = np.uint64(width), np.int64(0)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    at, end = at * bits, end * bits
    while at < end:
        code = word_at(payload + np.int64(at >> np.uint64(3))) >> (at & np.uint64(7)) & mask
        head = word_at(heads + np.int64(code << np.uint64(3)))
        if head >> _UNKNOWN_BIT:
            return BAD_ROW
        _copy_block(texts + np.int64(head >> np.uint64(32)), out + to)
        to += np.int64(head & np.uint64(0xFFFFFFFF))
        at += bits
    return int(to)


@compiled
def take_codes(
    column: int,
    rows: NDArray[np.int64],
    out: int,
    room: int,
    offsets: int,
    offset_size: int,
) -> int:
    """Write the texts of rows of the table, and where they end.

    column: the address of what `chunk_at` asks for, with four words a chunk: its first row, the
    addresses of its index and of its payload, and 1 where its index is narrow, 0 where it is of
    u32; then as in `read_codes`, the addresses of heads and texts of entries, and the bits of a
    code. out: the address of `room` bytes, which may be too few: nothing is written behind them,
    and 8 more. offsets: that of room for one more than rows, of 4 or 8 bytes, and of 8 bytes more.

    Returns twice the bytes, and one more where some of these are not ASCII; BAD_CODE; BAD_ROW where
    a row is not there, or its chunk has not been verified.
    """
    heads, texts = np.int64(word_at(column + 40)), np.int64(word_at(column + 48))
    width, half = word_at(column + 56), np.uint64(0xFFFFFFFF)
    limit, to = np.int64(room), np.int64(0)
    mask, all_heads = (np.uint64(1) << width) - np.uint64(1), np.uint64(0)
    put(offsets, np.int64(0))
    for item in range(np.uint64(len(rows))):
        chunk = chunk_at(column, rows[item], TEXT_WORDS)
        if chunk == 0:
            return BAD_ROW
        row = np.uint64(rows[item]) - word_at(chunk)
        index, payload = np.int64(word_at(chunk + 8)), np.int64(word_at(chunk + 16))
        if word_at(chunk + 24):
            first = narrow_bound(index, row)
            last = narrow_bound(index, row + np.uint64(1))
        else:
            both = word_at(index + np.int64(row << np.uint64(2)))
            first, last = np.int64(both & half), np.int64(both >> np.uint64(32))
        at = np.uint64(first) * width
        for _ in range(last - first):
            code = word_at(payload + np.int64(at >> np.uint64(3))) >> (at & np.uint64(7)) & mask
            head = word_at(heads + np.int64(code << np.uint64(3)))
            size = np.int64(head & half)
            all_heads |= head
            # The head of a code without an entry says nowhere.
            if size and to + size <= limit:
                _copy_entry(texts + np.int64(head >> np.uint64(32)), size, out, to, limit)
            to += size
            at += width
        offsets += offset_size
        put(offsets, to)
    if all_heads >> _UNKNOWN_BIT:
        return BAD_CODE
    end = min(to, limit)
    last = end & np.int64(-8)
    bits = word_at(out + last) & ((np.uint64(1) << (np.uint64(end - last) << np.uint64(3))) - _ONE)
    for byte in range(np.int64(0), last, np.int64(8)):
        bits |= word_at(out + byte)
    return int(2 * to + np.int64(bits & np.uint64(0x8080808080808080) > 0))


@compiled
def spread_rows(
    data: NDArray[np.uint8],
    width: np.uint64,
    places: Places,
    entries: Entries,
    target: Target,
    span: Span,
) -> None:
    """Write texts of one code each; places as in `spread_codes`."""
    heads, texts = entries
    out, offsets = target.data.ctypes.data, target.offsets
    limit, mask = np.int64(span.limit), (np.uint64(1) << width) - np.uint64(1)
    to, out_row = np.int64(span.to), np.uint64(span.row)
    longest = np.uint64(0)
    for head in heads:
        longest = max(longest, head & np.uint64(0xFFFFFFFF))
    source = texts.ctypes.data
    for chunk in range(np.uint64(len(places.begins))):
        at, count = np.uint64(places.begins[chunk]), np.int64(places.counts[chunk])
        # Of short entries one copy is enough for all but those next to the limit.
        room = max(limit - to - np.int64(_HALF_BYTES), np.int64(0)) // np.int64(_HALF_BYTES)
        short = min(count, room) if longest <= _HALF_BYTES else np.int64(0)
        for _ in range(np.uint64(short)):
            head = heads[load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask]
            _copy_half(source + np.int64(head >> np.uint64(32)), out + to)
            to += np.int64(head & np.uint64(0xFFFFFFFF))
            at += width
            out_row += np.uint64(1)
            offsets[out_row] = to
        for _ in range(np.uint64(count - short)):
            head = heads[load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask]
            size = np.int64(head & np.uint64(0xFFFFFFFF))
            _copy_entry(source + np.int64(head >> np.uint64(32)), size, out, to, limit)
            to += size
            at += width
            out_row += np.uint64(1)
            offsets[out_row] = to


@compiled
def copy_codes(
    data: NDArray[np.uint8],
    widths: NDArray[np.uint8],
    places: Places,
    runs: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Write the codes of rows of chunks, of a width each; places as in `spread_codes`.

    runs: for chunks with a code a run the bit of `data` that says whether the first row begins one,
    the others' bits behind it; -1 for chunks with a code a row.
    """
    row = np.uint64(0)
    for chunk in range(np.uint64(len(places.begins))):
        at, width = np.uint64(places.begins[chunk]), np.uint64(widths[chunk])
        mask, count = (np.uint64(1) << width) - np.uint64(1), np.uint64(places.counts[chunk])
        if runs[chunk] < 0:
            for number in range(count):
                place = at + number * width
                code = load(data, place >> np.uint64(3)) >> (place & np.uint64(7)) & mask
                out[row + number] = np.int32(code)
        else:
            first = np.uint64(runs[chunk])
            # The first row's own bit is of no account: the code at its place is its code.
            at -= width * np.uint64(data[first >> np.uint64(3)] >> (first & np.uint64(7)) & _ONE)
            for number in range(count):
                bit = first + number
                at += width * np.uint64(data[bit >> np.uint64(3)] >> (bit & np.uint64(7)) & _ONE)
                code = load(data, at >> np.uint64(3)) >> (at & np.uint64(7)) & mask
                out[row + number] = np.int32(code)
        row += count


@compiled
def measure_symbols(
    data: NDArray[np.uint8], begin: int, end: int, lengths: NDArray[np.uint8], known: int
) -> int:
    """Return the bytes of FSST codes; BAD_CODE for one without a symbol or a lone escape."""
    place, last, found = np.uint64(begin), np.uint64(end), np.int64(0)
    while place < last:
        code = data[place]
        place += np.uint64(1)
        if code < known:
            found += np.int64(lengths[code])
        elif code == _ESCAPE and place < last:
            found += 1
            place += np.uint64(1)
        else:
            return BAD_CODE
    return int(found)


@compiled
def spread_symbols(
    data: NDArray[np.uint8],
    begin: int,
    index: NDArray[np.uint32],
    words: NDArray[np.uint64],
    lengths: NDArray[np.uint8],
    target: Target,
    span: Span,
) -> int:
    """Write the texts of FSST codes that have been measured; BAD_ROW where one ends in an escape.

    index: of bytes, as in `spread_codes`, of one chunk; byte index[0] is at `begin` in the data.
    """
    out, offsets, positions = target
    to, limit, symbols, bytes_ = np.int64(span.to), span.limit, words.ctypes.data, out.ctypes.data
    row, last_row, place = np.uint64(0), np.uint64(len(index) - 1), np.uint64(begin)
    end = place + np.uint64(index[last_row] - index[row])
    first = np.uint64(index[row])
    while row <= last_row:
        block = place
        until = min(end, block + np.uint64(BLOCK_CODES - 1))
        while place < until:
            code = np.uint64(data[place])
            positions[place - block] = to
            place += np.uint64(1)
            if code == _ESCAPE:
                # The byte behind it begins no row; it may be the first one of the next block.
                positions[place - block] = BAD_ROW
                out[np.uint64(to)] = data[place]
                to += 1
                place += np.uint64(1)
                continue
            size = np.int64(lengths[code])
            if to + 8 <= limit:
                _copy_word(symbols + np.int64(code << np.uint64(3)), bytes_ + to)
            else:
                word = words[code]
                for byte in range(np.uint64(size)):
                    out[np.uint64(to) + byte] = np.uint8(word >> (byte << np.uint64(3)))
            to += size
        count = place - block
        positions[count] = to
        while row <= last_row and np.uint64(index[row]) - first <= count:
            position = positions[np.uint64(index[row]) - first]
            if position < 0:
                return BAD_ROW
            offsets[np.uint64(span.row) + row] = position
            row += np.uint64(1)
        first += count
    return 0
