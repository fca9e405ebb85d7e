"""LINE: integers that rise or fall about evenly, as their distance from a line.

Keys in the order in which they were made, and times of a clock, take few bits or none; a row is
read as in FRAME, by one load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from raydb.storage.flat.encodings.bits import (
    check_packed,
    line_reader,
    pack_line,
    packed_bytes,
    unpack_into,
    unpack_line,
)
from raydb.storage.flat.encodings.decimals import check_packed_decimals
from raydb.storage.flat.encodings.encoding import Encoded
from raydb.storage.flat.encodings.gather import Words, number_gather
from raydb.storage.flat.encodings.integers import IntegerEncoding
from raydb.storage.flat.encodings.lines import HEAD, pack_head, read_head
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Gather, Rows, Sections, Values
    from raydb.storage.flat.encodings.survey import Survey
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


class _Line(IntegerEncoding):
    code, name, shows_width = 8, "line", True
    kinds = IntegerEncoding.choices

    def integers_size(self, values: Values, known: Survey) -> int | None:
        if known.line is None:
            return None
        return HEAD.size + packed_bytes(values.count, known.line_bits)

    def encode_integers(
        self, values: Values, words: NDArray[np.int64], known: Survey
    ) -> Encoded | None:
        line, bits = known.line, known.line_bits
        if line is None:
            return None
        payload = pack_head(line) + pack_line(words, bits, line).tobytes()
        return Encoded(self, bits, line.reference, payload=payload)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        line, packed = read_head(column, entry, sections.payload)
        check_packed(column, entry, len(packed), entry.row_count, min(column.bits, 64), 0)
        check_packed_decimals(column, entry, packed, entry.row_count, line)
        return None, (line, packed)

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        (line, packed), entry = chunk.shared, chunk.entry
        return unpack_line(packed, entry.width, entry.row_count, line, rows, chunk.column.dtype)

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        line, packed = chunk.shared
        unpack_into(packed, chunk.entry.width, start, line, out)

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        return number_gather(column, width, Words.LINE)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        line, packed = chunk.shared
        unsigned = chunk.column.kind is Kind.UNSIGNED
        return line_reader(packed, chunk.entry.width, line, unsigned=unsigned)


LINE = _Line()
