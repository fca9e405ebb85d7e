"""Decimals and integers as the narrowest integers that hold them, and back.

DECIMAL(7, 2)    12.50  NULL  0.99         16 bytes a value in Arrow
int16            1250   0     99           2 here; as many as the values need, up to 8

INTEGER          42     NULL  -7           4 bytes a value
int8             42     0     -7           1 here
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.arrow_numbers import integer_type, words_of
from raydb.late import pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Digits that 64 bits hold, whatever they are.
_DIGITS = 18

# Rows widened at a time: the integers are still in the cache when their signs are looked at.
_BLOCK_ROWS = 2**15


def is_packed(kind: pa.DataType) -> bool:
    """Tell whether integers, which may be narrower, stand for the values of a type."""
    if pa.types.is_decimal128(kind):
        return bool(kind.precision <= _DIGITS)
    return bool(pa.types.is_signed_integer(kind))


def packed_numbers(column: pa.ChunkedArray, is_joined: bool, is_key: bool) -> pa.ChunkedArray:
    """Return values as the narrowest integers that hold all of them, 0 where they are NULL.

    is_joined: whether in one piece. is_key: integers keep their width unless a byte holds them.
    """
    low = high = 0
    for chunk in column.chunks:
        numbers = _numbers(chunk)
        low, high = min(low, numbers.min(initial=0)), max(high, numbers.max(initial=0))
    kind = integer_type(int(low), int(high))
    if is_key and kind.itemsize > 1 and pa.types.is_integer(column.type):
        kind = np.dtype(column.type.to_pandas_dtype())
    pieces = [column.chunks] if is_joined else [[chunk] for chunk in column.chunks]
    return pa.chunked_array([_piece(chunks, kind) for chunks in pieces], pa.from_numpy_dtype(kind))


def _numbers(chunk: pa.Array) -> NDArray[Any]:
    """Return values as integers, 0 where they are NULL."""
    words = words_of(chunk)
    numbers = words if words.ndim == 1 else words[:, 0]
    if not chunk.null_count:
        return numbers
    # What lies below a NULL is arbitrary.
    return np.where(pc.is_valid(chunk).to_numpy(zero_copy_only=False), numbers, 0)


def _piece(chunks: Sequence[pa.Array], kind: np.dtype[Any]) -> pa.Array:
    """Return the values of some chunks as integers in one array."""
    count = sum(map(len, chunks))
    held = pa.allocate_buffer(count * kind.itemsize)
    numbers = np.frombuffer(held, kind)
    start = 0
    for chunk in chunks:
        numbers[start : start + len(chunk)] = _numbers(chunk)
        start += len(chunk)
    nulls = sum(chunk.null_count for chunk in chunks)
    valid = pa.concat_arrays([pc.is_valid(chunk) for chunk in chunks]) if nulls else None
    bits = None if valid is None else valid.buffers()[1]
    return pa.Array.from_buffers(pa.from_numpy_dtype(kind), count, [bits, held], nulls)


def widened_column(
    integers: pa.ChunkedArray | pa.Array, kind: pa.DataType
) -> pa.ChunkedArray | pa.Array:
    """Return the values of a type that integers stand for."""
    if not pa.types.is_decimal(kind):
        return integers.cast(kind)
    if isinstance(integers, pa.Array):
        return widened(integers, kind)
    return pa.chunked_array([widened(chunk, kind) for chunk in integers.chunks], kind)


def widened(integers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the decimals of a type that integers stand for."""
    count = len(integers)
    numbers = words_of(integers)
    held = pa.allocate_buffer(count * 16)
    words = np.frombuffer(held, np.int64).reshape(-1, 2)
    for start in range(0, count, _BLOCK_ROWS):
        some, block = numbers[start : start + _BLOCK_ROWS], words[start : start + _BLOCK_ROWS]
        block[:, 0] = some
        np.right_shift(some, 8 * some.itemsize - 1, out=block[:, 1])
    bits, offset = integers.buffers()[0], integers.offset
    if not integers.null_count:
        bits = None
    elif offset % 8:
        bits = pc.is_valid(integers).buffers()[1]
    else:
        bits = bits.slice(offset // 8, -(-count // 8))
    return pa.Array.from_buffers(kind, count, [bits, held], integers.null_count)
