"""Codecs of byte strings: an offset index beside the bytes, so that each row reads on its own.

offset index  u32 offsets[row_count + 1] into the payload, a raw vector      0 3 3 8
lengths       u8, u16 or u32 lengths[row_count] where a column has it off    3 0 5
VERBATIM      the bytes of all rows                                          onefiver
FSST          the codes of all rows, one symbol table for the column
CONSTANT      the bytes of the one value, no index
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs import fsst
from raydb.storage.flat.encodings.numbers import Encoded
from raydb.storage.flat.kinds import has_large_offsets, is_text
from raydb.storage.flat.layout import Encoding, Flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LENGTHS = (np.dtype("<u1"), np.dtype("<u2"), np.dtype("<u4"))

# A chunk whose codes take so much more than the column's sample promised gets symbols of its own,
# if these save as much again. Training takes 10 ms, so that small chunks are left alone.
_FALLS_BEHIND = 1.05
_MIN_TRAINING_BYTES = 2**14


def text_parts(array: Any) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the bytes of an Arrow array without NULLs and the offsets of its rows, from 0 on.

    data: uint8; offsets: int32 or int64, shape (length + 1,).
    """
    _, offsets, data = array.buffers()
    if not len(array):
        return np.empty(0, np.uint8), np.zeros(1, np.int32)
    dtype = np.dtype("<i8" if has_large_offsets(array.type) else "<i4")
    bounds = np.frombuffer(offsets, dtype, len(array) + 1, array.offset * dtype.itemsize)
    start, end = int(bounds[0]), int(bounds[-1])
    if data is None or start == end:
        return np.empty(0, np.uint8), bounds - start
    return np.frombuffer(data, np.uint8, end - start, start), bounds - start if start else bounds


def build_index(offsets: NDArray[Any], indexed: bool) -> tuple[NDArray[Any], int]:
    """Return the offset index, or the lengths in its place, and the chunk flags of that."""
    if indexed:
        return offsets.astype("<u4"), 0
    lengths = np.diff(offsets)
    most = int(lengths.max(initial=0))
    dtype = next(dtype for dtype in _LENGTHS if most < 2 ** (8 * dtype.itemsize))
    return lengths.astype(dtype), Flags.LENGTHS


def read_index(
    section: memoryview, row_count: int, flags: int, payload_length: int
) -> NDArray[np.uint32]:
    """Return the u32 offsets of a chunk's rows, whichever way they are stored.

    Raises ValueError, saying what was expected, unless they rise from 0 to the payload's length.
    """
    if flags & Flags.LENGTHS:
        size, rest = divmod(len(section), row_count)
        if rest or size not in {1, 2, 4}:
            raise ValueError(f"lengths of 1, 2 or 4 bytes for {row_count} rows")
        offsets = np.zeros(row_count + 1, np.int64)
        np.cumsum(np.frombuffer(section, f"<u{size}"), out=offsets[1:])
        if offsets[-1] != payload_length:
            raise ValueError(f"lengths whose sum is {payload_length}")
        return offsets.astype(np.uint32)
    if len(section) != 4 * (row_count + 1):
        raise ValueError(f"an offset index of {4 * (row_count + 1)} bytes")
    index = np.frombuffer(section, "<u4")
    if index[0] or index[-1] != payload_length or bool((index[1:] < index[:-1]).any()):
        raise ValueError(f"offsets that rise from 0 to {payload_length}")
    return index


def encode_texts(array: Any, indexed: bool) -> Encoded:
    """Keep the rows of an Arrow array without NULLs as they are, or once if they are all equal."""
    data, offsets = text_parts(array)
    length = int(offsets[1])
    if len(array) > 1 and length * len(array) == len(data) and _all_equal(data, offsets):
        return Encoded(Encoding.CONSTANT, 8, payload=data[:length])
    index, flags = build_index(offsets, indexed)
    return Encoded(Encoding.VERBATIM, 8, flags=flags, index=index, payload=data)


def _all_equal(data: NDArray[np.uint8], offsets: NDArray[Any]) -> bool:
    count, length = len(offsets) - 1, int(offsets[1])
    if bool((np.diff(offsets) != length).any()):
        return False
    rows = data.reshape(count, length)
    return bool((rows == rows[0]).all())


def encode_fsst(array: Any, indexed: bool, table: fsst.SymbolTable, ratio: float) -> Encoded:
    """Compress the rows of an Arrow array without NULLs with the symbols of the column.

    ratio: how many bytes a byte of codes held in the sample. Where the chunk falls 5 % behind, it
    gets symbols of its own.
    """
    verbatim = encode_texts(array, indexed)
    if verbatim.encoding is Encoding.CONSTANT:
        return verbatim
    data, narrow = text_parts(array)
    offsets = narrow.astype(np.int64)
    codes, bounds = fsst.compress(table, data, offsets)
    symbols = b""
    if len(data) >= _MIN_TRAINING_BYTES and len(codes) * ratio > len(data) * _FALLS_BEHIND:
        own = fsst.train(data, offsets)
        stored = own.to_bytes()
        own_codes, own_bounds = fsst.compress(own, data, offsets)
        if (len(own_codes) + len(stored)) * _FALLS_BEHIND < len(codes):
            codes, bounds, symbols = own_codes, own_bounds, stored
    if len(codes) >= len(data):
        return verbatim
    index, flags = build_index(bounds, indexed)
    return Encoded(Encoding.FSST, 8, flags=flags, index=index, payload=codes, symbols=symbols)


def pack_entries(array: Any) -> bytes:
    """Return dictionary entries of bytes: u32 offsets[count + 1], then the bytes."""
    data, offsets = text_parts(array)
    return bytes(offsets.astype("<u4").tobytes()) + data.tobytes()


def unpack_entries(section: memoryview, count: int, data_type: Any) -> Any:
    """Return the Arrow array of dictionary entries, without a copy.

    Raises ValueError, saying what was expected, for entries that leave the section.
    """
    start = 4 * (count + 1)
    if len(section) < start:
        raise ValueError(f"{count} dictionary entries")
    index = read_index(section[:start], count, 0, len(section) - start)
    check_utf8(data_type, index, section[start:])
    return text_array(data_type, index, section[start:], None)


def text_array(data_type: Any, offsets: NDArray[Any], data: Any, validity: Any) -> Any:
    """Return the Arrow array of a type of kind BYTES over its offsets and bytes, both checked."""
    if has_large_offsets(data_type):
        bounds = offsets.astype("<i8", copy=False)
    else:
        # Payloads have less than 2**31 bytes, so that u32 and i32 offsets are the same.
        bounds = offsets if offsets.dtype.itemsize == 4 else offsets.astype("<i4")
    buffers = [validity, pa.py_buffer(bounds), pa.py_buffer(data)]
    return pa.Array.from_buffers(data_type, len(offsets) - 1, buffers)


def check_utf8(data_type: Any, offsets: NDArray[Any], data: Any) -> None:
    """Raise ArrowInvalid, a ValueError, unless every item of a text type is UTF-8.

    They are if all of them joined are, and none begins inside of a character. Checking text by
    text takes five times as long.
    """
    if not is_text(data_type):
        return
    first, last = int(offsets[0]), int(offsets[-1])
    ends = pa.py_buffer(np.array([0, last - first], np.int64))
    buffer = pa.py_buffer(data).slice(first, last - first)
    pa.Array.from_buffers(pa.large_string(), 1, [None, ends, buffer]).validate(full=True)
    begins = offsets[:-1]
    starts = np.frombuffer(buffer, np.uint8)[begins[begins < last] - first]
    if bool((starts & 0xC0 == 0x80).any()):
        raise ValueError("a text that begins inside of a character")
