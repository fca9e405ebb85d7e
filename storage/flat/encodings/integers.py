"""What the encodings of integers have in common: many chunks are decoded into one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.storage.flat.encodings.bits import loops_for, unpack
from raydb.storage.flat.encodings.encoding import INTEGERS, Encoding
from raydb.storage.flat.kinds import array_of, pooled, pooled_words, widen
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Encoded, Piece, Values
    from raydb.storage.flat.encodings.survey import Survey

NUMBERS_RUN = object()


class IntegerEncoding(Encoding):
    """An encoding of integers that is chosen by its size."""

    kinds = INTEGERS
    choices = INTEGERS - {Kind.BOOLEAN}
    competes = True

    def size(self, values: Values) -> int | None:
        """Return the bytes of integers of 64 bits, None of other values."""
        known = values.survey
        return None if known is None else self.integers_size(values, known)

    def integers_size(self, values: Values, known: Survey) -> int | None:
        """Return the bytes of integers of 64 bits; None where they are not taken."""
        raise NotImplementedError

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        """Return integers of 64 bits in this encoding; None for others, or where it takes none."""
        if values.words is None or values.survey is None:
            return None
        return self.encode_integers(values, values.words, values.survey)

    def encode_integers(
        self, values: Values, words: NDArray[np.int64], known: Survey
    ) -> Encoded | None:
        """Return integers of 64 bits in this encoding; None where they are not taken."""
        raise NotImplementedError

    def run_key(self, chunk: Chunk) -> object:
        """Return one key for all integers, so that chunks of any of these encodings are one run."""
        return None if chunk.column.kind is Kind.BOOLEAN else NUMBERS_RUN

    def decode_run(self, run: Sequence[Piece], sizes: NDArray[np.int64], is_checked: bool) -> Any:
        """Return the rows of chunks that follow each other, decoded into one array."""
        return decode_numbers(run)


def decode_numbers(run: Sequence[Piece]) -> Any:
    """Return the numbers of chunks that follow each other as one array."""
    column = run[0].chunk.column
    counts = [piece.stop - piece.start for piece in run]
    loops_for(sum(counts))
    if len(run) == 1:
        # Of a large chunk there is then no second copy.
        chunk, rows = run[0].chunk, slice(run[0].start, run[0].stop)
        values = chunk.encoding.read_values(chunk, rows, counts[0])
    elif column.kind is Kind.DECIMAL:
        values, first = pooled_words(sum(counts)), 0
        some = np.empty(max(counts), column.dtype)
        for piece, count in zip(run, counts, strict=True):
            piece.chunk.encoding.read_into(piece.chunk, piece.start, some[:count])
            widen(some[:count], values[first : first + count])
            first += count
    else:
        values, first = pooled(sum(counts), column.dtype), 0
        for piece, count in zip(run, counts, strict=True):
            out = values[first : first + count]
            piece.chunk.encoding.read_into(piece.chunk, piece.start, out)
            first += count
    return array_of(column.field.type, column.kind, values, run_validity(run))


def run_validity(run: Sequence[Piece]) -> Any:
    """Return the validity of rows of several chunks as a buffer; None where all are valid."""
    if all(piece.chunk.validity is None for piece in run):
        return None
    if all(piece.start % 8 == 0 for piece in run) and all(
        (piece.stop - piece.start) % 8 == 0 for piece in run[:-1]
    ):
        return pa.py_buffer(np.concatenate([_validity_bytes(piece) for piece in run]))
    bits = [
        np.ones(piece.stop - piece.start, np.uint8)
        if piece.chunk.validity is None
        else unpack(piece.chunk.validity, 1, piece.stop)[piece.start :]
        for piece in run
    ]
    return pa.py_buffer(np.packbits(np.concatenate(bits), bitorder="little"))


def _validity_bytes(piece: Piece) -> NDArray[np.uint8]:
    """Return the validity of rows that begin with a byte of it."""
    first, last = piece.start // 8, (piece.stop + 7) // 8
    if piece.chunk.validity is None:
        return np.full(last - first, 255, np.uint8)
    return np.frombuffer(piece.chunk.validity, np.uint8)[first:last]
