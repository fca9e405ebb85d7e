"""FRAME: the difference of each integer to the chunk's least one, in 1 to 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.storage.flat.encodings.bits import (
    add_reference,
    bits_for,
    check_packed,
    pack_above,
    packed_reader,
    signed_64,
    unpack,
)
from raydb.storage.flat.encodings.decimals import check_packed_decimals
from raydb.storage.flat.encodings.encoding import INTEGERS, Encoded, Encoding
from raydb.storage.flat.encodings.gather import number_gather
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Gather, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


class _Frame(Encoding):
    code, name, kinds, shows_width = 3, "frame", INTEGERS, True
    choices = INTEGERS - {Kind.BOOLEAN}

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        numbers, least, greatest = values.numbers, values.least, values.greatest
        if numbers is None or least is None or greatest is None:
            return None
        bits = bits_for(greatest - least)
        if bits >= values.plan.bits and not is_wanted:
            return None
        return Encoded(self, bits, signed_64(least), payload=pack_above(numbers, least, bits))

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        most_bits = min(column.bits, 64)
        check_packed(column, entry, len(sections.payload), entry.row_count, most_bits)
        check_packed_decimals(column, entry, sections.payload, entry.row_count)
        return None, None

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        entry = chunk.entry
        deltas = unpack(chunk.payload, entry.width, entry.row_count)[rows]
        return add_reference(deltas, entry.reference, chunk.column.dtype)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        unpacked, reference = packed_reader(chunk.payload, chunk.entry.width), chunk.entry.reference
        if chunk.column.kind is Kind.UNSIGNED:
            return lambda row: (unpacked(row) + reference) % 2**64
        return lambda row: unpacked(row) + reference

    def gather(self, column: Column, width: int) -> Gather | None:
        return number_gather(column, width, has_reference=True)


FRAME = _Frame()
