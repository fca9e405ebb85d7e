"""STRIDE: integers that are all so many apart, as how many times: u64 stride, then packed(w).

Decimals without cents and timestamps of whole seconds are such.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.flat.encodings.bits import (
    Line,
    bits_for,
    check_packed,
    line_reader,
    pack,
    packed_bytes,
    signed_64,
    unpack_into,
    unpack_line,
)
from raydb.storage.flat.encodings.encoding import Encoded, bad_chunk
from raydb.storage.flat.encodings.integers import IntegerEncoding
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Rows, Sections, Values
    from raydb.storage.flat.encodings.survey import Survey
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

_HEAD = struct.Struct("<Q")
# It has to save an eighth: values are multiplied when they are read.
_SLOWER = 8 / 7


class _Stride(IntegerEncoding):
    code, name, shows_width = 10, "stride", True
    kinds = IntegerEncoding.choices

    def integers_size(self, values: Values, known: Survey) -> int | None:
        if known.stride < 2:
            return None
        size = _HEAD.size + packed_bytes(values.count, bits_for(known.span // known.stride))
        return int(size * _SLOWER)

    def encode_integers(
        self, values: Values, words: NDArray[np.int64], known: Survey
    ) -> Encoded | None:
        if known.stride < 2:
            return None
        bits, least = bits_for(known.span // known.stride), signed_64(known.least)
        steps = (words - np.int64(least)) // known.stride
        payload = _HEAD.pack(known.stride) + pack(steps, bits).tobytes()
        return Encoded(self, bits, least, payload=payload)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        payload, place = sections.payload, entry.starts()[1]
        if len(payload) < _HEAD.size:
            raise bad_chunk(column, entry, place, "a stride", len(payload))
        (stride,) = _HEAD.unpack_from(payload)
        packed = payload[_HEAD.size :]
        check_packed(column, entry, len(packed), entry.row_count, min(column.bits, 64))
        if column.kind is Kind.DECIMAL:
            most = entry.reference + stride * (2**entry.width - 1)
            # The least of 64 bits is one below where the greatest ends.
            least = -(10**column.field.type.precision)
            limit = min(-least, 2**63)
            if not least < entry.reference <= most < limit:
                steps = int(unpack_line(packed, entry.width, entry.row_count, *_UNSIGNED).max())
                if not least < entry.reference <= entry.reference + stride * steps < limit:
                    expected = f"decimals of {column.field.type.precision} digits"
                    raise bad_chunk(column, entry, place, expected, f"a stride of {stride}")
        return None, (stride, packed)

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        (stride, packed), entry, dtype = chunk.shared, chunk.entry, chunk.column.dtype
        values = unpack_line(packed, entry.width, entry.row_count, Line(0), rows, dtype)
        return _scaled(values, stride, entry.reference)

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        stride, packed = chunk.shared
        unpack_into(packed, chunk.entry.width, start, Line(0), out)
        _scaled(out, stride, chunk.entry.reference)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        (stride, packed), reference = chunk.shared, chunk.entry.reference
        step_of = line_reader(packed, chunk.entry.width, Line(0), unsigned=False)
        if chunk.column.kind is Kind.UNSIGNED:
            return lambda row: (reference + stride * step_of(row)) % 2**64
        return lambda row: signed_64(reference + stride * step_of(row))


_UNSIGNED = (Line(0), slice(None), np.dtype("<u8"))


def _scaled(values: NDArray[Any], stride: int, reference: int) -> NDArray[Any]:
    """Multiply steps by the stride and add the reference, in place; both wrap around."""
    factors = np.array([stride, reference % 2**64], np.uint64).astype(values.dtype)
    values *= factors[0]
    values += factors[1]
    return values


STRIDE = _Stride()
