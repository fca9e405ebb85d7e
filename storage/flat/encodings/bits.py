"""Integers in 0 to 57 or 64 bits: packed, unpacked, one by one, and checked.

A value begins where the one before it ends, and is one load of 8 bytes at any place, a shift and a
mask; hence no width from 58 to 63. Widths below 8 that divide it, and whole words, are read as
such. Many values are unpacked by a compiled loop, few by NumPy, which takes three times as long.
Arithmetic is modulo 2**64: the reference of a uint64 is its two's complement.

    value of row n = reference + step * n + (fraction * n >> 32) + packed(n)      a line
    value of row n = reference + packed(n)                                        a frame
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from raydb.storage.flat.encodings.encoding import bad_chunk

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Rows
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

_WORDS: dict[int, np.dtype[Any]] = {
    8: np.dtype("<u1"),
    16: np.dtype("<u2"),
    32: np.dtype("<u4"),
    64: np.dtype("<u8"),
}
_FORMATS = {8: "B", 16: "H", 32: "I", 64: "Q"}
_SHIFTS = {bits: np.arange(0, 8, bits, dtype=np.uint8) for bits in (1, 2, 4)}
# A value of more bits begins so far into its first byte that it leaves the 8 bytes of a load.
_LONGEST_LOADED = 57
# The writer takes whole words where other widths save less than an eighth: NumPy reads words three
# times as fast as the loop reads other widths (0.2 and 0.6 ns a value), and verbatim is not copied.
_WORTHWHILE_PART = 7 / 8
# Importing the compiled loops takes 0.3 s: so many values take NumPy 2 ms.
_MANY_VALUES = 2**20
# Packed by way of single bits, in 20 us a thousand: more take less time by bytes.
_FEW_VALUES = 4096
_LOOPS = "raydb.kernels.codecs.packed_loops"
_ALL = slice(None)


def _width_for(bits: int) -> int:
    word = next(width for width in _WORDS if bits <= width)
    return word if bits > word * _WORTHWHILE_PART else max(bits, 1)


_WIDTHS = tuple(map(_width_for, range(65)))


class Line(NamedTuple):
    """What packed integers are added to. fraction: of 2**32."""

    reference: int
    step: int = 0
    fraction: int = 0


def loops_for(count: int) -> ModuleType | None:
    """Return the compiled loops for so many values; None where NumPy has done before they come."""
    if count < _MANY_VALUES and _LOOPS not in sys.modules:
        return None
    return _packed_loops()


@cache
def _packed_loops() -> ModuleType:
    # An import waits for another thread that is at it; a look into sys.modules would not.
    from raydb.kernels.codecs import packed_loops  # noqa: PLC0415  (numba takes 0.24 s)

    return packed_loops


def bits_for(span: int) -> int:
    """Return the width for 0 to `span`: the least one, or whole words where it saves little.

    >>> bits_for(5), bits_for(300), bits_for(2**14), bits_for(2**60)
    (3, 9, 16, 64)
    """
    return _WIDTHS[span.bit_length()]


def packed_bytes(count: int, bits: int) -> int:
    """Return the bytes of `count` packed values."""
    return -(-count * bits // 8)


def pack(values: NDArray[Any], bits: int) -> NDArray[Any]:
    """Pack integers of 0 to 2**bits - 1, the first in the lowest bits of the first byte."""
    if bits in _WORDS:
        return values.astype(_WORDS[bits])
    if bits == 1:
        return np.packbits(values.astype(np.uint8), bitorder="little")
    packed = np.zeros(packed_bytes(len(values), bits), np.uint8)
    loops = loops_for(0)
    if not bits or not len(values):
        return packed
    words = values.astype(np.uint64)
    if loops is not None:
        _pack_above(loops, words, bits, Line(0), packed)
        return packed
    if len(words) <= _FEW_VALUES:
        octets = words.astype("<u8").view(np.uint8).reshape(-1, 8)
        spread = np.unpackbits(octets, axis=1, count=bits, bitorder="little")
        return np.packbits(spread.ravel(), bitorder="little")
    # Eight values are `bits` bytes; each of them goes to the same bytes of all eights.
    eights = -(-len(words) // 8)
    padded = np.zeros(eights * 8, np.uint64)
    padded[: len(words)] = words
    spread = np.zeros((eights, bits), np.uint8)
    for place in range(8):
        shifted = padded[place::8] << np.uint64(place * bits & 7)
        first = place * bits >> 3
        for byte in range(-(-((place * bits & 7) + bits) // 8)):
            spread[:, first + byte] |= (shifted >> np.uint64(8 * byte)).astype(np.uint8)
    return spread.ravel()[: len(packed)]


def unpack(payload: Any, bits: int, count: int, rows: Rows = _ALL) -> NDArray[Any]:
    """Return some of `count` packed values as unsigned integers; whole words without a copy."""
    if bits in _WORDS:
        return np.frombuffer(payload, _WORDS[bits], count)[rows]
    if bits == 1:
        packed = np.frombuffer(payload, np.uint8)
        return np.unpackbits(packed, count=count, bitorder="little")[rows]
    if not isinstance(rows, slice):
        return _loaded(payload, bits, rows)
    start, stop, _ = rows.indices(count)
    stop = max(start, stop)
    loops = loops_for(0)
    if loops is not None:
        out = np.empty(stop - start, unsigned_of(bits))
        unpack_into(payload, bits, start, Line(0), out)
        return out
    first = start & -8
    return _eights(payload, bits, first, stop)[start - first :]


def unsigned_of(bits: int) -> np.dtype[Any]:
    """Return the least unsigned integers that hold so many bits."""
    return _WORDS[next(width for width in _WORDS if bits <= width)]


def _loaded(payload: Any, bits: int, rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return the values of any rows, each a load of its own."""
    if not bits:
        return np.zeros(len(rows), np.uint8)
    data = np.zeros(len(payload) + 8, np.uint8)
    data[: len(payload)] = np.frombuffer(payload, np.uint8)
    return load_words(data, rows.astype(np.int64) * bits, bits)


def load_words(data: NDArray[np.uint8], places: NDArray[np.int64], bits: int) -> NDArray[Any]:
    """Return the unsigned integers of `bits` bits, 57 at most, at places of bits in `data`.

    The 8 bytes from the first byte of each on are in the data.
    """
    words = np.ndarray((len(data) - 7,), "<u8", data, 0, (1,))
    found: NDArray[Any] = words[places >> 3] >> (places & 7).astype(np.uint64)
    found &= np.uint64((1 << bits) - 1)
    return found


def _eights(payload: Any, bits: int, first: int, stop: int) -> NDArray[Any]:
    """Return the values `first`, a multiple of 8, to `stop`: eight of them are `bits` bytes."""
    eights = -(-(stop - first) // 8)
    begin = first // 8 * bits
    if not bits or not eights:
        return np.zeros(stop - first, np.uint8)
    data = np.zeros(eights * bits + 8, np.uint8)
    there = np.frombuffer(payload, np.uint8)[begin : begin + eights * bits]
    data[: len(there)] = there
    word = np.dtype("<u2" if bits <= 9 else "<u4" if bits <= 25 else "<u8")
    out = np.empty((eights, 8), word)
    for place in range(8):
        at = place * bits
        column = np.ndarray((eights,), word, data, at >> 3, (bits,))
        np.right_shift(column, word.type(at & 7), out=out[:, place])
    out &= word.type((1 << bits) - 1)
    return out.ravel()[: stop - first]


def unpack_into(payload: Any, bits: int, first: int, line: Line, out: NDArray[Any]) -> None:
    """Write the values of a line from row `first` on; sums wrap around in the dtype of `out`."""
    loops = loops_for(len(out))
    if loops is None or (bits in _WORDS and not line.step and not line.fraction):
        stop = first + len(out)
        out[:] = unpack(payload, bits, stop, slice(first, stop))
        out += _line_at(line, range(first, stop), out.dtype)
        return
    data = np.frombuffer(payload, np.uint8)
    data.flags.writeable = False  # One type of array: the loop is compiled once.
    words = out.view(f"<u{out.itemsize}")
    loops.unpack_line(data, bits, first, *_signed(line), words)


def unpack_line(
    payload: Any, bits: int, count: int, line: Line, rows: Rows, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return some of the `count` values of a line; sums wrap around in the dtype."""
    if not isinstance(rows, slice):
        values = unpack(payload, bits, count, rows).astype(dtype)
        values += _line_at(line, rows, dtype)
        return values
    start, stop, _ = rows.indices(count)
    out = np.empty(max(stop - start, 0), dtype)
    unpack_into(payload, bits, start, line, out)
    return out


def _line_at(line: Line, rows: NDArray[Any] | range, dtype: np.dtype[Any]) -> Any:
    """Return the line at some rows, in integers of a dtype."""
    reference = np.array(signed_64(line.reference), np.int64).astype(dtype)
    if not line.step and not line.fraction:
        return reference
    numbers = np.asarray(rows, np.uint64)
    rise = numbers * np.uint64(line.step % 2**64)
    rise += (numbers * np.uint64(line.fraction)) >> np.uint64(32)
    return rise.astype(dtype) + reference


def signed_64(value: int) -> int:
    """Return the int64 that is congruent to `value` modulo 2**64.

    >>> signed_64(2**64 - 1)
    -1
    """
    return (value + 2**63) % 2**64 - 2**63


def pack_line(words: NDArray[np.int64], bits: int, line: Line) -> NDArray[Any]:
    """Pack what integers, modulo 2**64, are above a line."""
    loops = loops_for(0)
    if loops is None or not bits or bits in _WORDS:
        return pack(words - _line_at(line, np.arange(len(words)), words.dtype), bits)
    packed = np.empty(packed_bytes(len(words), bits), np.uint8)
    _pack_above(loops, words.view(np.uint64), bits, line, packed)
    return packed


def _pack_above(
    loops: ModuleType, words: NDArray[np.uint64], bits: int, line: Line, out: NDArray[np.uint8]
) -> None:
    words.flags.writeable = False  # One type of array: the loop is compiled once.
    loops.pack_line(words, bits, *_signed(line), out)


def _signed(line: Line) -> tuple[int, int, int]:
    """Return a line as the loops take it: numba reads Python's integers faster than NumPy's."""
    return signed_64(line.reference), signed_64(line.step), line.fraction


def packed_reader(payload: Any, bits: int) -> Callable[[int], int]:
    """Return the function from a row to its packed unsigned integer."""
    if bits in _WORDS:
        return word_reader(payload, _FORMATS[bits])
    mask = (1 << bits) - 1
    if bits in _SHIFTS:
        shift = bits.bit_length() - 1
        return lambda row: payload[row << shift >> 3] >> (row << shift & 7) & mask
    integer = int.from_bytes

    def read(row: int) -> int:
        place = row * bits
        byte = place >> 3
        return integer(payload[byte : byte + 8], "little") >> (place & 7) & mask

    return read


def line_reader(payload: Any, bits: int, line: Line, *, unsigned: bool) -> Callable[[int], int]:
    """Return the function from a row to its value of a line; unsigned ones are modulo 2**64."""
    unpacked = packed_reader(payload, bits) if bits else (lambda _row: 0)
    reference, step, fraction = line
    if not step and not fraction:
        if unsigned:
            return lambda row: (unpacked(row) + reference) % 2**64
        return lambda row: unpacked(row) + reference

    def read(row: int) -> int:
        return unpacked(row) + reference + step * row + (fraction * row >> 32)

    if unsigned:
        return lambda row: read(row) % 2**64
    return lambda row: signed_64(read(row))


def word_reader(payload: Any, word_format: str) -> Callable[[int], Any]:
    """Return the function from a row to a number of the format of `struct`."""
    read: Callable[[int], Any] = payload.cast(word_format).__getitem__
    return read


def check_packed(
    column: Column, entry: ChunkEntry, length: int, count: int, most_bits: int, least_bits: int = 1
) -> None:
    """Raise unless `length` bytes are just those of `count` values in the entry's width."""
    width = entry.width
    is_width = least_bits <= width <= most_bits and (width <= _LONGEST_LOADED or width == 64)
    if not is_width:
        word = " or 64" if most_bits == 64 else ""
        most = min(most_bits, _LONGEST_LOADED)
        expected = f"a width of {least_bits} to {most}{word} bits"
        raise bad_chunk(column, entry, 0, expected, width)
    if length != packed_bytes(count, width):
        expected = f"{packed_bytes(count, width)} bytes of values"
        raise bad_chunk(column, entry, entry.starts()[1], expected, length)
