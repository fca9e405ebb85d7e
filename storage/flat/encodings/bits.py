"""Integers in 1, 2, 4, 8, 16, 32 or 64 bits: packed, unpacked, one by one, and checked.

Widths are powers of two, so that no value straddles a byte and unpacking is a shift and a mask.
Arithmetic is modulo 2**64: the reference of a uint64 is its two's complement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.flat.encodings.encoding import bad_chunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

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


def bits_for(span: int) -> int:
    """Return the least width that holds 0 to `span`.

    >>> bits_for(5), bits_for(300)
    (4, 16)
    """
    return max(1, 1 << max(0, span.bit_length() - 1).bit_length())


def packed_bytes(count: int, bits: int) -> int:
    """Return the bytes of `count` packed values."""
    return -(-count * bits // 8)


def pack(values: NDArray[Any], bits: int) -> NDArray[Any]:
    """Pack integers of 0 to 2**bits - 1, the first in the lowest bits of the first byte."""
    if bits >= 8:
        return values.astype(_WORDS[bits])
    if bits == 1:
        return np.packbits(values.astype(np.uint8), bitorder="little")
    shifts = _SHIFTS[bits]
    rows = -(-len(values) // len(shifts))
    padded = np.zeros(rows * len(shifts), np.uint8)
    padded[: len(values)] = values
    shifted = padded.reshape(rows, len(shifts)) << shifts
    packed: NDArray[np.uint8] = np.bitwise_or.reduce(shifted, axis=1)
    return packed


def unpack(payload: memoryview, bits: int, count: int) -> NDArray[Any]:
    """Return the `count` packed values as unsigned integers, without a copy from 8 bits on."""
    if bits >= 8:
        return np.frombuffer(payload, _WORDS[bits], count)
    packed = np.frombuffer(payload, np.uint8)
    if bits == 1:
        return np.unpackbits(packed, count=count, bitorder="little")
    spread = (packed[:, None] >> _SHIFTS[bits]) & np.uint8((1 << bits) - 1)
    return spread.ravel()[:count]


def signed_64(value: int) -> int:
    """Return the int64 that is congruent to `value` modulo 2**64.

    >>> signed_64(2**64 - 1)
    -1
    """
    return (value + 2**63) % 2**64 - 2**63


def pack_above(values: NDArray[Any], least: int, bits: int) -> NDArray[Any]:
    """Pack the differences of integers to the least of them."""
    return pack(values.astype(np.int64, copy=False) - np.int64(signed_64(least)), bits)


def add_reference(deltas: NDArray[Any], reference: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the values of packed differences; sums wrap around in the dtype."""
    values = deltas.astype(dtype)
    values += np.array(reference, np.int64).astype(dtype)
    return values


def packed_reader(payload: Any, bits: int) -> Callable[[int], int]:
    """Return the function from a row to its packed unsigned integer."""
    if bits >= 8:
        return word_reader(payload, _FORMATS[bits])
    mask = (1 << bits) - 1
    shift = bits.bit_length() - 1
    return lambda row: payload[row << shift >> 3] >> (row << shift & 7) & mask


def word_reader(payload: Any, word_format: str) -> Callable[[int], Any]:
    """Return the function from a row to a number of the format of `struct`."""
    read: Callable[[int], Any] = payload.cast(word_format).__getitem__
    return read


def check_packed(
    column: Column, entry: ChunkEntry, length: int, count: int, most_bits: int
) -> None:
    """Raise unless `length` bytes are just those of `count` values in the entry's width."""
    if entry.width not in (*_SHIFTS, *_WORDS) or entry.width > most_bits:
        expected = f"a width of 1, 2, 4, .. {most_bits} bits"
        raise bad_chunk(column, entry, 0, expected, entry.width)
    if length != packed_bytes(count, entry.width):
        expected = f"{packed_bytes(count, entry.width)} bytes of values"
        raise bad_chunk(column, entry, entry.starts()[1], expected, length)
