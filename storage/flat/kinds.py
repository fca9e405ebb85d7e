"""Kinds of columns: the map from Arrow's types to what a file stores, and back.

kind        Arrow types                                        stored as
BOOLEAN     bool                                               bits
SIGNED      int8..int64, date32/64, time32/64, timestamp, duration   integers
UNSIGNED    uint8..uint64                                      integers
FLOAT       float16, float32, float64                          IEEE 754
DECIMAL     decimal128                                         unscaled integers
BYTES       string, binary and their large variants            offset index and bytes
NESTED      list, large_list, fixed_size_list, struct, map,    Arrow IPC record batches
            fixed_size_binary, uuid, interval, null, decimal256(39, 0)
"""

from __future__ import annotations

import datetime as dt
import decimal
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.errors import NotSupportedError
from raydb.storage.flat.layout import Kind
from raydb.storage.integers import UHUGEINT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_TYPES = pa.types
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
# What NumPy calls values of so many bytes.
_CODES = {Kind.SIGNED: "<i", Kind.UNSIGNED: "<u", Kind.FLOAT: "<f"}
_BYTE, _HALF_WORD, _WORD = np.dtype(np.uint8), np.dtype("<i4"), np.dtype("<i8")
# Arrow has scales of 31 bits: a decimal is written with as many zeros.
_MAX_SCALE = 76
# Rows that are still in the cache when their signs are looked at.
_BLOCK_ROWS = 2**14
# By Arrow's number of a type: a dozen questions about one take 1 us.
_KINDS = {
    each.id: kind
    for kind, types in (
        (Kind.BOOLEAN, (pa.bool_(),)),
        (Kind.SIGNED, (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.date32(), pa.date64())),
        (Kind.SIGNED, (pa.time32("s"), pa.time64("us"), pa.timestamp("s"), pa.duration("s"))),
        (Kind.UNSIGNED, (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
        (Kind.FLOAT, (pa.float16(), pa.float32(), pa.float64())),
        (Kind.DECIMAL, (pa.decimal128(1),)),
        (Kind.BYTES, (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())),
    )
    for each in types
}
_TEXTS = frozenset({pa.string().id, pa.large_string().id})
_LARGE = frozenset({pa.large_string().id, pa.large_binary().id})
# Decimals of 38 digits are not to be rounded to the 28 of the default context.
EXACT = decimal.Context(prec=76)


def kind_of(name: str, data_type: Any) -> Kind:
    """Return how a column of an Arrow type is stored.

    Raises NotSupportedError, naming the column, for types that FlatStor does not store.
    """
    kind = _plain_kind(data_type)
    if kind is None and _is_nested(data_type):
        kind = Kind.NESTED
    if kind is None:
        raise NotSupportedError(
            f"column '{name}' has the type {data_type}, which FlatStor does not store"
        )
    return kind


def _plain_kind(data_type: Any) -> Kind | None:
    kind = _KINDS.get(data_type.id)
    return None if kind is Kind.DECIMAL and abs(data_type.scale) > _MAX_SCALE else kind


def _is_nested(data_type: Any) -> bool:
    if _TYPES.is_null(data_type) or _TYPES.is_fixed_size_binary(data_type):
        return True
    if _TYPES.is_interval(data_type) or isinstance(data_type, pa.UuidType) or data_type == UHUGEINT:
        return True
    if _TYPES.is_map(data_type):
        return _is_stored(data_type.key_type) and _is_stored(data_type.item_type)
    if (
        _TYPES.is_list(data_type)
        or _TYPES.is_large_list(data_type)
        or _TYPES.is_fixed_size_list(data_type)
    ):
        return _is_stored(data_type.value_type)
    if _TYPES.is_struct(data_type):
        return all(_is_stored(field.type) for field in data_type)
    return False


def _is_stored(data_type: Any) -> bool:
    return _plain_kind(data_type) is not None or _is_nested(data_type)


def is_text(data_type: Any) -> bool:
    """Tell whether the values are UTF-8."""
    return data_type.id in _TEXTS


def has_large_offsets(data_type: Any) -> bool:
    """Tell whether Arrow keeps 64-bit offsets for a type of kind BYTES."""
    return data_type.id in _LARGE


def is_vector(data_type: Any) -> bool:
    """Tell whether the values are embeddings: fixed-size lists of numbers."""
    return bool(
        _TYPES.is_fixed_size_list(data_type)
        and (_TYPES.is_floating(data_type.value_type) or _TYPES.is_integer(data_type.value_type))
    )


def value_dtype(data_type: Any, kind: Kind) -> np.dtype[Any]:
    """Return the dtype of a column's values in memory; booleans are uint8 and decimals int64.

    Kinds BYTES and NESTED have none: uint8 stands for their bytes.
    """
    code = _CODES.get(kind)
    if code is None:
        return _BYTE if kind is not Kind.DECIMAL else _WORD
    return _dtype(code, data_type.bit_width)


@cache
def _dtype(code: str, bits: int) -> np.dtype[Any]:
    return np.dtype(code + str(bits >> 3))


def type_bits(data_type: Any, kind: Kind) -> int:
    """Return the bits of a verbatim value; 8 for bytes."""
    match kind:
        case Kind.BOOLEAN:
            return 1
        case Kind.DECIMAL:
            return 128
        case Kind.BYTES | Kind.NESTED:
            return 8
        case _:
            return int(data_type.bit_width)


def null_bytes(data_type: Any) -> float:
    """Return the bytes that a NULL takes in an Arrow array: in one of fixed size, those of a value.

    >>> null_bytes(pa.list_(pa.float64(), 1000))
    9001.0
    """
    if _TYPES.is_fixed_size_list(data_type):
        return 1.0 + int(data_type.list_size) * null_bytes(data_type.value_type)
    if _TYPES.is_struct(data_type):
        return 1 + sum(null_bytes(field.type) for field in data_type)
    if _TYPES.is_null(data_type):
        return 8.0  # None, but Arrow numbers the elements of a list that it takes.
    try:
        return 1 + float(data_type.bit_width // 8)
    except ValueError:
        return 1.0 + 8


def values_of(array: Any, kind: Kind) -> NDArray[Any]:
    """Return the values of an Arrow array without a copy where they are whole bytes.

    Shape (length,), or (length, 2) for decimals: the low and the high word. What lies under a NULL
    is arbitrary.
    """
    length, offset = len(array), array.offset
    buffer = array.buffers()[1]
    if kind is Kind.BOOLEAN:
        packed = np.frombuffer(buffer, np.uint8)
        return np.unpackbits(packed, count=offset + length, bitorder="little")[offset:]
    if kind is Kind.DECIMAL:
        words = np.frombuffer(buffer, "<i8", 2 * length, 16 * offset)
        return words.reshape(length, 2)
    dtype = value_dtype(array.type, kind)
    return np.frombuffer(buffer, dtype, length, offset * dtype.itemsize)


def text_parts(array: Any) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the bytes of an Arrow array without NULLs and the offsets of its rows, from 0 on.

    data: uint8; offsets: int32 or int64, shape (length + 1,).
    """
    _, offsets, data = array.buffers()
    if not len(array):
        return np.empty(0, np.uint8), np.zeros(1, np.int32)
    dtype = _WORD if has_large_offsets(array.type) else _HALF_WORD
    bounds = np.frombuffer(offsets, dtype, len(array) + 1, array.offset * dtype.itemsize)
    start, end = int(bounds[0]), int(bounds[-1])
    if data is None or start == end:
        return np.empty(0, np.uint8), bounds - start
    return np.frombuffer(data, np.uint8, end - start, start), bounds - start if start else bounds


def valid_mask(array: Any) -> NDArray[np.bool_]:
    """Return which rows of an Arrow array with NULLs hold a value; bool, shape (length,)."""
    packed = np.frombuffer(array.buffers()[0], np.uint8)
    length, offset = len(array), array.offset
    bits = np.unpackbits(packed, count=offset + length, bitorder="little")
    return bits[offset:].view(np.bool_)


def pooled(count: int, dtype: Any) -> NDArray[Any]:
    """Return an array without values in memory of Arrow's pool, for what is decoded.

    The pool keeps the pages of large arrays that are let go. NumPy gives those of 32 MB and more
    back to the system, which clears others for the next one.
    """
    kind = np.dtype(dtype)
    return np.ndarray((count,), kind, pa.allocate_buffer(count * kind.itemsize))


def pooled_words(count: int) -> NDArray[np.int64]:
    """Return room for decimals: the low and the high word of each."""
    return pooled(2 * count, np.int64).reshape(-1, 2)


def widen(values: NDArray[np.int64], words: NDArray[np.int64]) -> None:
    """Write both words of decimals of 64 bits."""
    for start in range(0, len(values), _BLOCK_ROWS):
        some, block = values[start : start + _BLOCK_ROWS], words[start : start + _BLOCK_ROWS]
        block[:, 0] = some
        np.right_shift(some, 63, out=block[:, 1])


def array_of(data_type: Any, kind: Kind, values: NDArray[Any], validity: Any) -> Any:
    """Return the Arrow array of decoded values, sharing their memory; booleans are packed.

    values: shape (length,), or (length, 2) int64 for decimals. validity: a buffer or None.
    """
    data: NDArray[Any]
    if kind is Kind.BOOLEAN:
        data = np.packbits(values, bitorder="little")
    elif kind is Kind.DECIMAL and values.ndim == 1:
        data = pooled_words(len(values))
        widen(values, data)
    else:
        data = np.ascontiguousarray(values)
    return pa.Array.from_buffers(data_type, len(values), [validity, pa.py_buffer(data)])


def python_reader(data_type: Any, kind: Kind, read: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return `read` with its numbers turned into the Python values of a column's type."""
    if kind is Kind.BOOLEAN:
        return lambda row: bool(read(row))
    if kind is Kind.DECIMAL:
        scale = -data_type.scale
        return lambda row: decimal.Decimal(read(row)).scaleb(scale, EXACT)
    if _TYPES.is_date32(data_type):
        of_day = dt.date.fromordinal
        return lambda row: of_day(read(row) + _EPOCH_DAY)
    if _TYPES.is_temporal(data_type):
        whole = pa.int64() if data_type.bit_width == 64 else pa.int32()
        return lambda row: pa.array([read(row)], whole).view(data_type)[0].as_py()
    return read
