"""Numbers of chunks that follow each other, read by one compiled loop into one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.codecs.rows.entries import Coded, Slices, in_slices, scan_loops
from raydb.storage.flat.encodings.alp import SCALES
from raydb.storage.flat.encodings.dictionary import DICTIONARY
from raydb.storage.flat.encodings.gather import section_places
from raydb.storage.flat.encodings.integers import run_validity
from raydb.storage.flat.encodings.taker import are_scanned, packed_chunks
from raydb.storage.flat.kinds import array_of, pooled, pooled_words
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.storage.flat.encodings.encoding import Piece
    from raydb.storage.flat.metadata.column import Column


def scanner_of(column: Column) -> Callable[[Sequence[Piece], Slices], Any] | None:
    """Return the function from chunks of a run of numbers, and the same as arrays, to their rows.

    None where the loop does not know the encoding of some. The chunks have been verified when it is
    called.
    """
    if not are_scanned(column):
        return None
    packed, data = packed_chunks(column), column.file.bytes_
    # Of a chunk in another encoding the count is a claim that nobody has verified.
    are_coded = column.entries["encoding"] == DICTIONARY.code
    counts = np.where(are_coded, column.entries["dictionary_count"], 0).astype(np.int64)
    dictionaries = section_places(column, "validity_length", "index_length", "payload_length")
    kind, is_wide = column.kind, column.kind is Kind.DECIMAL
    shared = np.empty(0, np.uint8)
    if column.dictionary is not None:
        shared = column.dictionary.view(np.uint8)

    def scan(pieces: Sequence[Piece], slices: Slices) -> Any:
        row_count = slices.row_count
        values = pooled_words(row_count) if is_wide else pooled(row_count, column.dtype)
        out = values.reshape(-1).view(np.uint8)
        size = values.nbytes // row_count

        def read(first: int, last: int) -> None:
            loops = scan_loops()
            some = Slices(*(each[first:last] for each in slices))
            own = np.zeros(int(counts[some.chunks].max()) * size, np.uint8)
            entries = np.concatenate([shared, own])
            coded = Coded(entries, len(shared) // size, dictionaries, counts)
            place, room = packed.ctypes.data, loops.Room.make()
            loops.scan_words(data, place, some, coded, SCALES, room, size, out)

        in_slices(read, len(pieces), values.nbytes)
        return array_of(column.field.type, kind, values, run_validity(pieces))

    return scan


def slices_of(pieces: Sequence[Piece]) -> Slices:
    """Return chunks that follow each other as the loop takes them."""
    places = [(piece.number, piece.start, piece.stop) for piece in pieces]
    chunks, starts, stops = np.array(places, np.int64).T.copy()
    counts = stops - starts
    return Slices(chunks, starts, stops, np.cumsum(counts) - counts)
