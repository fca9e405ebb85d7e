"""FRAME: the difference of each integer to the chunk's least one, in 1 to 57 or 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.storage.flat.encodings.bits import (
    Line,
    bits_for,
    check_packed,
    line_reader,
    pack_line,
    packed_bytes,
    signed_64,
    unpack_into,
    unpack_line,
)
from raydb.storage.flat.encodings.decimals import check_packed_decimals
from raydb.storage.flat.encodings.encoding import Encoded
from raydb.storage.flat.encodings.gather import Words, number_gather
from raydb.storage.flat.encodings.integers import IntegerEncoding
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import (
        Chunk,
        Gather,
        Rows,
        Sections,
        Values,
    )
    from raydb.storage.flat.encodings.survey import Survey
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


class _Frame(IntegerEncoding):
    code, name, shows_width = 3, "frame", True

    def integers_size(self, values: Values, known: Survey) -> int | None:
        bits = bits_for(known.span)
        if bits >= values.plan.bits:
            return None
        return packed_bytes(values.count, bits)

    def encode_integers(
        self, values: Values, words: NDArray[np.int64], known: Survey
    ) -> Encoded | None:
        bits, least = bits_for(known.span), signed_64(known.least)
        return Encoded(self, bits, least, payload=pack_line(words, bits, Line(least)))

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        most_bits = min(column.bits, 64)
        check_packed(column, entry, len(sections.payload), entry.row_count, most_bits)
        line = Line(entry.reference)
        check_packed_decimals(column, entry, sections.payload, entry.row_count, line)
        return None, None

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        entry = chunk.entry
        line = Line(entry.reference)
        return unpack_line(
            chunk.payload, entry.width, entry.row_count, line, rows, chunk.column.dtype
        )

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        unpack_into(chunk.payload, chunk.entry.width, start, Line(chunk.entry.reference), out)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        entry = chunk.entry
        unsigned = chunk.column.kind is Kind.UNSIGNED
        return line_reader(chunk.payload, entry.width, Line(entry.reference), unsigned=unsigned)

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        return number_gather(column, width, Words.FRAME)


FRAME = _Frame()
