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
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

_HEAD = struct.Struct("<Q")
# What divides the distances of all rows divides those of a few.
_TRIED_ROWS = 33
# It has to save an eighth: values are multiplied when they are read.
_SLOWER = 8 / 7
_LONGEST_SPAN = 2**63 - 1


class _Stride(IntegerEncoding):
    code, name, shows_width = 10, "stride", True
    kinds = IntegerEncoding.choices

    def integers_size(self, values: Values) -> int | None:
        stride = _stride(values)
        if stride < 2:
            return None
        size = _HEAD.size + packed_bytes(values.count, bits_for(values.span // stride))
        return int(size * _SLOWER)

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        stride = _stride(values)
        if stride < 2 or values.numbers is None or values.least is None:
            return None
        bits = bits_for(values.span // stride)
        steps = (values.numbers.astype(np.int64) - np.int64(signed_64(values.least))) // stride
        payload = _HEAD.pack(stride) + pack(steps, bits).tobytes()
        return Encoded(self, bits, signed_64(values.least), payload=payload)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        payload, place = sections.payload, entry.starts()[1]
        if len(payload) < _HEAD.size:
            raise bad_chunk(column, entry, place, "a stride", len(payload))
        (stride,) = _HEAD.unpack_from(payload)
        packed = payload[_HEAD.size :]
        check_packed(column, entry, len(packed), entry.row_count, min(column.bits, 64))
        if column.kind is Kind.DECIMAL:
            most = entry.reference + stride * (2**entry.width - 1)
            limit = min(10**column.field.type.precision, 2**63)
            if not -limit < entry.reference <= most < limit:
                steps = int(unpack_line(packed, entry.width, entry.row_count, *_UNSIGNED).max())
                if not -limit < entry.reference <= entry.reference + stride * steps < limit:
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


def _stride(values: Values) -> int:
    """Return what divides all distances to the least value; kept from choice to encoding."""
    if "stride" not in values.kept:
        values.kept["stride"] = _find_stride(values)
    stride: int = values.kept["stride"]
    return stride


def _find_stride(values: Values) -> int:
    if values.numbers is None or values.least is None or not 0 < values.span <= _LONGEST_SPAN:
        return 0
    least = np.int64(signed_64(values.least))
    rows = np.arange(_TRIED_ROWS) * (values.count - 1) // (_TRIED_ROWS - 1)
    few = values.numbers[rows].astype(np.int64) - least
    if int(np.gcd.reduce(few)) == 1:
        return 1
    return int(np.gcd.reduce(values.numbers.astype(np.int64) - least))


STRIDE = _Stride()
