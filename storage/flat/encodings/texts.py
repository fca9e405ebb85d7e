"""Byte strings beside an offset index, so that each row reads on its own.

offset index  u32 offsets[row_count + 1] into the payload, a raw vector      0 3 3 8
lengths       u8, u16 or u32 lengths[row_count] where a column has it off    3 0 5
narrow        a line, packed(w) above it for each of the u32 offsets         0 0 1 -1
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.storage.flat.encodings.bits import Line, pack_line, packed_bytes, unpack_line
from raydb.storage.flat.encodings.encoding import bad_chunk
from raydb.storage.flat.encodings.survey import line_bounds
from raydb.storage.flat.kinds import has_large_offsets, is_text, text_parts
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Flags

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

# i64 with the width in its lowest 8 bits and the reference above them; u64 slope, of 2**32.
NARROW_HEAD = struct.Struct("<qQ")
_MOST_NARROW_BITS = 33
_FEW_BYTES = 2**14
_LENGTHS = (np.dtype("<u1"), np.dtype("<u2"), np.dtype("<u4"))


def build_index(offsets: NDArray[Any], indexed: bool) -> tuple[NDArray[Any], int]:
    """Return the offset index, or the lengths in its place, and the chunk flags of that."""
    if indexed:
        narrow = _narrow_index(offsets)
        if narrow is None:
            return offsets.astype("<u4"), 0
        return np.frombuffer(narrow, np.uint8), Flags.NARROW
    lengths = np.diff(offsets)
    most = int(lengths.max(initial=0))
    dtype = next(dtype for dtype in _LENGTHS if most < 2 ** (8 * dtype.itemsize))
    return lengths.astype(dtype), Flags.LENGTHS


def _narrow_index(offsets: NDArray[Any]) -> bytes | None:
    """Return the offsets as their distance from a line; None where that is not narrower."""
    count, words = len(offsets), offsets.astype(np.int64)
    slope = (int(words[-1]) << 32) // max(count - 1, 1)
    least, greatest = line_bounds(words, slope)
    width = (greatest - least).bit_length()
    if NARROW_HEAD.size + packed_bytes(count, width) >= 4 * count:
        return None
    packed = pack_line(words, width, Line(least, slope >> 32, slope & 0xFFFFFFFF))
    return NARROW_HEAD.pack(least << 8 | width, slope) + packed.tobytes()


def _read_narrow(section: memoryview, row_count: int) -> NDArray[np.int64]:
    """Return narrow offsets. Raises ValueError, saying what was expected, for other bytes."""
    if len(section) < NARROW_HEAD.size:
        raise ValueError(f"an offset index of {NARROW_HEAD.size} bytes or more")
    head, slope = NARROW_HEAD.unpack_from(section)
    width, count = head & 0xFF, row_count + 1
    size = NARROW_HEAD.size + packed_bytes(count, width)
    if width > _MOST_NARROW_BITS or len(section) != size or slope >= 2**62 // count:
        raise ValueError(f"a narrow offset index of {size} bytes")
    line = Line(head >> 8, slope >> 32, slope & 0xFFFFFFFF)
    packed = section[NARROW_HEAD.size :]
    return unpack_line(packed, width, count, line, slice(None), np.dtype(np.int64))


def read_index(
    section: memoryview, row_count: int, flags: int, payload_length: int | None
) -> NDArray[np.uint32]:
    """Return the u32 offsets of a chunk's rows, read-only, whichever way they are stored.

    Raises ValueError, saying what was expected, unless they rise from 0 to the payload's length,
    or, where that is None, to whatever 2**31 allows.
    """
    if flags & Flags.NARROW and not flags & Flags.LENGTHS:
        offsets = _read_narrow(section, row_count)
        most = int(offsets[-1]) if payload_length is None else payload_length
        falls = bool((offsets[1:] < offsets[:-1]).any())
        if offsets[0] or offsets[-1] != most or falls or most > MAX_PAYLOAD_BYTES:
            raise ValueError(f"offsets that rise from 0 to {most}")
        return _fixed(offsets)
    if flags & Flags.LENGTHS:
        size, rest = divmod(len(section), row_count)
        if rest or size not in {1, 2, 4}:
            raise ValueError(f"lengths of 1, 2 or 4 bytes for {row_count} rows")
        offsets = np.zeros(row_count + 1, np.int64)
        np.cumsum(np.frombuffer(section, f"<u{size}"), out=offsets[1:])
        most = MAX_PAYLOAD_BYTES if payload_length is None else payload_length
        if offsets[-1] > most or (payload_length is not None and offsets[-1] != most):
            raise ValueError(f"lengths whose sum is {most}")
        return _fixed(offsets)
    if len(section) != 4 * (row_count + 1):
        raise ValueError(f"an offset index of {4 * (row_count + 1)} bytes")
    index = np.frombuffer(section, "<u4")
    most = int(index[-1]) if payload_length is None else payload_length
    falls = bool((index[1:] < index[:-1]).any())
    if index[0] or index[-1] != most or falls or most > MAX_PAYLOAD_BYTES:
        raise ValueError(f"offsets that rise from 0 to {most}")
    return index


def _fixed(offsets: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Return offsets as they would be in a file, so that the loops over them are compiled once."""
    index = offsets.astype(np.uint32)
    index.flags.writeable = False
    return index


def open_index(
    column: Column, entry: ChunkEntry, section: memoryview, *, is_of_bytes: bool = True
) -> NDArray[np.uint32]:
    """Return the offsets of a chunk's rows. Raises OperationalError for wrong ones.

    is_of_bytes: whether they end where the payload does; else they count its codes.
    """
    try:
        last = entry.payload_length if is_of_bytes else None
        return read_index(section, entry.row_count, entry.flags, last)
    except ValueError as error:
        found = f"{len(section)} bytes of others"
        raise bad_chunk(column, entry, entry.starts()[0], str(error), found) from None


def match_stored(chunk: Chunk, needle: bytes, start: int, stop: int) -> NDArray[np.int64]:
    """Return those of the rows start..stop of a chunk whose stored bytes are `needle`."""
    index = chunk.index[start : stop + 1]
    rows = np.flatnonzero(index[1:] - index[:-1] == len(needle))
    begins = index[rows].astype(np.int64)
    stored = np.frombuffer(chunk.payload, np.uint8)
    # Byte by byte: after the first few hardly a row is left.
    for place, byte in enumerate(needle):
        if not len(rows):
            break
        equal = stored[begins + place] == byte
        rows, begins = rows[equal], begins[equal]
    return rows + start


def pack_entries(array: Any) -> bytes:
    """Return dictionary entries of bytes: u32 offsets[count + 1], then the bytes."""
    data, offsets = text_parts(array)
    return bytes(offsets.astype("<u4").tobytes()) + data.tobytes()


def unpack_entries(section: memoryview, count: int, data_type: Any) -> Any:
    """Return the Arrow array of dictionary entries, without a copy.

    Raises ValueError, saying what was expected, for entries that leave the section.
    """
    start = 4 * (count + 1)
    if not start <= len(section) <= start + MAX_PAYLOAD_BYTES:
        raise ValueError(f"{count} dictionary entries")
    index = read_index(section[:start], count, 0, len(section) - start)
    check_utf8(data_type, index, section[start:])
    return text_array(data_type, index, section[start:], None)


def text_array(data_type: Any, offsets: NDArray[Any], data: Any, validity: Any) -> Any:
    """Return texts over their offsets and bytes, both checked, as an Arrow array.

    It is a chunked one where 2 GiB of texts do not fit the 32-bit offsets of their type.
    """
    large = has_large_offsets(data_type)
    if not large and offsets[-1] > MAX_PAYLOAD_BYTES:
        wide = pa.large_string() if pa.types.is_string(data_type) else pa.large_binary()
        return narrow_texts(text_array(wide, offsets, data, validity), data_type)
    # As far as they reach here, u32 and i32 offsets are the same.
    is_wide = offsets.dtype.itemsize == 8
    bounds = offsets if is_wide is large else offsets.astype("<i8" if large else "<i4")
    buffers = [validity, pa.py_buffer(bounds), pa.py_buffer(data)]
    return pa.Array.from_buffers(data_type, len(offsets) - 1, buffers)


def is_narrow(data_type: Any) -> bool:
    """Tell whether a type is of kind BYTES with 32-bit offsets."""
    return bool(pa.types.is_string(data_type) or pa.types.is_binary(data_type))


def arrays_of(array: Any) -> list[Any]:
    """Return the chunks of a chunked array, or an array alone."""
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def narrow_texts(wide: Any, data_type: Any) -> Any:
    """Return an Arrow array of 64-bit offsets in a type of 32-bit ones, as a chunked array."""
    _, offsets = text_parts(wide)
    parts = []
    first = 0
    while first < len(wide):
        last = int(np.searchsorted(offsets, offsets[first] + MAX_PAYLOAD_BYTES, "right")) - 1
        parts.append(wide.slice(first, max(1, last - first)).cast(data_type))
        first += max(1, last - first)
    return pa.chunked_array(parts, data_type)


def check_texts(
    column: Column, entry: ChunkEntry, start: int, offsets: NDArray[Any], payload: memoryview
) -> None:
    """Raise OperationalError unless the texts of a chunk are UTF-8."""
    try:
        check_utf8(column.field.type, offsets, payload)
    except ValueError as error:
        raise bad_chunk(column, entry, start, "readable texts", f"others ({error})") from None


def check_utf8(data_type: Any, offsets: NDArray[Any], data: Any) -> None:
    """Raise ArrowInvalid, a ValueError, unless every item of a text type is UTF-8.

    They are if all of them joined are, and none begins inside of a character. Checking text by
    text takes five times as long.
    """
    if not is_text(data_type):
        return
    first, last = int(offsets[0]), int(offsets[-1])
    # Python finds a few texts that are ASCII, as most are, in a tenth of the time.
    if last - first <= _FEW_BYTES and str(memoryview(data)[first:last], "utf-8").isascii():
        return
    ends = pa.py_buffer(np.array([0, last - first], np.int64))
    buffer = pa.py_buffer(data).slice(first, last - first)
    pa.Array.from_buffers(pa.large_string(), 1, [None, ends, buffer]).validate(full=True)
    begins = offsets[:-1]
    starts = np.frombuffer(buffer, np.uint8)[begins[begins < last] - first]
    if bool((starts & 0xC0 == 0x80).any()):
        raise ValueError("a text that begins inside of a character")
