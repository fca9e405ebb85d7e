"""PATCHED: integers of which a few are far from the others: exceptions beside a narrow frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
from raydb.storage.flat.encodings.decimals import check_packed_decimals, check_patched_decimals
from raydb.storage.flat.encodings.encoding import Encoded, bad_chunk
from raydb.storage.flat.encodings.integers import IntegerEncoding
from raydb.storage.flat.encodings.patches import (
    Frame,
    Patches,
    choose_frame,
    outside,
    patched_gather,
    read_patches,
)
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Gather, Rows, Sections, Values
    from raydb.storage.flat.encodings.survey import Survey
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

# Few rows have few outliers, and to look for them takes 30 us.
_MIN_ROWS = 4096
# It has to save an eighth of a frame, which is read without a look at exceptions.
_SLOWER = 8 / 7
_LONGEST_SPAN = 2**63 - 1


class _Patched(IntegerEncoding):
    code, name, shows_width = 14, "patched", True
    kinds = IntegerEncoding.choices

    def integers_size(self, values: Values, known: Survey) -> int | None:
        if values.count < _MIN_ROWS:
            return None
        fitted = _fitted(values, known)
        if fitted is None or fitted[0].bits >= bits_for(known.span):
            return None
        frame, patches = fitted
        return int((patches.size + packed_bytes(values.count, frame.bits)) * _SLOWER)

    def encode_integers(
        self, values: Values, words: NDArray[np.int64], known: Survey
    ) -> Encoded | None:
        fitted = _fitted(values, known)
        if fitted is None:
            return None
        frame, patches = fitted
        packed = words.copy()
        packed[patches.rows] = frame.least
        payload = patches.pack(0) + pack_line(packed, frame.bits, Line(frame.least)).tobytes()
        return Encoded(self, frame.bits, frame.least, payload=payload)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        word, patches, packed = read_patches(column, entry, sections.payload)
        if word:
            raise bad_chunk(column, entry, entry.starts()[1] + 4, "zeros", word)
        check_packed(column, entry, len(packed), entry.row_count, min(column.bits, 64), 0)
        check_packed_decimals(column, entry, packed, entry.row_count, Line(entry.reference))
        check_patched_decimals(column, entry, patches.words.view(np.int64))
        return None, (patches, packed)

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        (patches, packed), entry = chunk.shared, chunk.entry
        line, dtype = Line(entry.reference), chunk.column.dtype
        values = unpack_line(packed, entry.width, entry.row_count, line, rows, dtype)
        if isinstance(rows, slice):
            patches.put(rows.indices(entry.row_count)[0], values)
        else:
            patches.put_rows(rows, values)
        return values

    def read_into(self, chunk: Chunk, start: int, out: NDArray[Any]) -> None:
        patches, packed = chunk.shared
        unpack_into(packed, chunk.entry.width, start, Line(chunk.entry.reference), out)
        patches.put(start, out)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        (patches, packed), entry = chunk.shared, chunk.entry
        unsigned = chunk.column.kind is Kind.UNSIGNED
        value_of = line_reader(packed, entry.width, Line(entry.reference), unsigned=unsigned)
        words = patches.words if unsigned else patches.words.view(np.int64)
        known = dict(zip(patches.rows.tolist(), words.tolist(), strict=True))

        def read(row: int) -> int:
            found = known.get(row)
            return value_of(row) if found is None else found

        return read

    def gather(self, column: Column, width: int, flags: int) -> Gather:
        return patched_gather(column, width, lambda words, _: words.astype(column.dtype))


def _fitted(values: Values, known: Survey) -> tuple[Frame, Patches] | None:
    """Return the frame of most integers and the others; kept from the choice to the encoding."""
    if "patched" not in values.kept:
        words, least = values.words, signed_64(known.least)
        assert words is not None
        found = None
        if 0 < known.span <= _LONGEST_SPAN and least <= signed_64(known.greatest):
            frame = choose_frame(words, least, known.span)
            places = np.flatnonzero(outside(words, frame))
            found = frame, Patches(places.astype(np.uint32), words[places].view(np.uint64))
        values.kept["patched"] = found
    fitted: tuple[Frame, Patches] | None = values.kept["patched"]
    return fitted


PATCHED = _Patched()
