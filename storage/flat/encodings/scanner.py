"""Numbers of chunks, read by one compiled loop into one column, or searched by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.kernels.codecs.rows.entries import (
    Coded,
    Places,
    Prefix,
    in_slices,
    match_loops,
    scan_loops,
)
from raydb.storage.flat.encodings.alp import SCALES
from raydb.storage.flat.encodings.dictionary import DICTIONARY
from raydb.storage.flat.encodings.gather import section_places
from raydb.storage.flat.encodings.integers import run_validity
from raydb.storage.flat.encodings.taker import are_scanned, packed_chunks
from raydb.storage.flat.kinds import array_of, pooled, pooled_words
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Slices
    from raydb.storage.flat.encodings.encoding import Interval, Needle, Piece
    from raydb.storage.flat.metadata.column import Column


class Scanner:
    """The loops over the numbers of a column, or codes of its entries, in verified chunks.

    knows_all: whether they know the encodings of all chunks that are decoded with others.
    is_uniform: whether these have one encoding, with no entries and symbols of their own.
    """

    def __init__(self, column: Column) -> None:
        self.knows_all = are_scanned(column)
        self._column, self._packed = column, packed_chunks(column)
        # Of a chunk in another encoding the count is a claim that nobody has verified.
        are_coded = column.entries["encoding"] == DICTIONARY.code
        counts = np.where(are_coded, column.entries["dictionary_count"], 0).astype(np.int64)
        self._counts, self._no_counts = counts, np.zeros(len(counts), np.int64)
        encodings, own = column.entries["encoding"], column.entries["symbols_length"]
        self.is_uniform = bool((encodings == encodings[:1]).all()) and not (
            own.any() or counts.any()
        )
        self._dictionaries = section_places(
            column, "validity_length", "index_length", "payload_length"
        )

    def scan(self, pieces: Sequence[Piece], slices: Slices) -> Any:
        """Return the rows of chunks that follow each other, given as both, as an Arrow array."""
        column, row_count = self._column, slices.row_count
        is_wide = column.kind is Kind.DECIMAL
        values = pooled_words(row_count) if is_wide else pooled(row_count, column.dtype)
        out, size = values.reshape(-1).view(np.uint8), values.nbytes // row_count

        def read(first: int, last: int) -> None:
            some = slices.part(first, last)
            where = self._where(some, self._coded(some, size))
            scan_loops().scan_words(*where, size, out)

        in_slices(read, len(pieces), values.nbytes)
        return array_of(column.field.type, column.kind, values, run_validity(pieces))

    def find(self, slices: Slices, wanted: Interval) -> NDArray[np.int64]:
        """Return the rows of the table whose integers are wanted; NULLs may be among them."""
        size, (least, greatest) = self._column.dtype.itemsize, wanted
        low, span = np.uint64(least % 2 ** (8 * size)), np.uint64(greatest - least)
        return self._find(slices, self._coded(slices, size), size, low, span)

    def find_codes(self, slices: Slices, passes: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the rows of codes for which `passes` has 1; every other code has 0."""
        # What the loop reads of each code is whether it passes.
        coded = Coded(passes, len(passes), self._dictionaries, self._no_counts)
        return self._find(slices, coded, 1, np.uint64(1), np.uint64(0))

    def find_texts(
        self, slices: Slices, indexes: NDArray[np.int64], needle: Needle, value: bytes
    ) -> NDArray[np.int64]:
        """Return the rows of the table that have the codes of a needle, or begin with a value.

        indexes: the address of the offset index of each chunk, uint32.
        """
        chunks, starts, counts = slices.chunks, slices.starts, slices.stops - slices.starts
        firsts, out = self._packed[chunks, 0] + starts, np.empty(slices.row_count + 1, np.int64)
        places, at = Places(8 * self._packed[chunks, 3], counts), indexes[chunks] + 4 * starts
        what = (self._column.file.bytes_, np.uint64(needle.width), places, at)
        if needle.entries is None:
            codes = np.array(list(needle.codes or ()), np.uint64)
            count = match_loops().match_codes(*what, codes, firsts, out)
        else:
            prefix = Prefix.of(value, needle.entries)
            count = match_loops().match_prefix(*what, needle.entries, prefix, firsts, out)
        return out[:count]

    def _find(
        self, slices: Slices, coded: Coded, size: int, low: np.uint64, span: np.uint64
    ) -> NDArray[np.int64]:
        loops, out = scan_loops(), np.empty(slices.row_count + 1, np.int64)
        wanted = loops.Wanted(np.int64(size), low, span)
        return out[: loops.find_words(*self._where(slices, coded), wanted, out)]

    def _coded(self, slices: Slices, size: int) -> Coded:
        """Return the entries of some chunks, with room for those of one."""
        shared, own = np.empty(0, np.uint8), int(self._counts[slices.chunks].max())
        if self._column.dictionary is not None and self._column.kind is not Kind.BYTES:
            shared = self._column.dictionary.view(np.uint8)
        entries = np.concatenate([shared, np.zeros(own * size, np.uint8)])
        return Coded(entries, len(shared) // size, self._dictionaries, self._counts)

    def _where(self, slices: Slices, coded: Coded) -> tuple[Any, ...]:
        """Return what both loops take first."""
        room = scan_loops().Room.make()
        place = self._packed.ctypes.data
        return self._column.file.bytes_, place, slices, coded, SCALES, room
