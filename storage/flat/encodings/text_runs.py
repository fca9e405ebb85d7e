"""Texts of many chunks, decoded side by side into the buffers of one Arrow array.

    sizes    of each chunk's texts, measured once              120 80 100
    buffers  of all, made once                                 300 bytes
    threads  each some chunks, to where they belong            0..120 | 120..300

An encoding whose texts are made of codes tells how many bytes they take, and writes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.rows.entries import Span, Target, are_loops_loaded, in_slices
from raydb.storage.flat.encodings.encoding import Encoding, unreadable
from raydb.storage.flat.encodings.integers import NUMBERS_RUN, decode_numbers, run_validity
from raydb.storage.flat.encodings.texts import check_utf8, is_narrow, text_array
from raydb.storage.flat.kinds import pooled
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Piece

_TEXTS_RUN = object()
# So many codes are worth loading the loops, which takes 0.3 s.
_MANY_CODES = 2**22


class CodedTexts(Encoding):
    """An encoding of texts in codes. few_codes: of a chunk, read without loops before they come."""

    few_codes = 1024

    def code_count(self, piece: Piece) -> int:
        """Return how many codes the texts of some rows have."""
        return int(piece.chunk.index[piece.stop]) - int(piece.chunk.index[piece.start])

    def measure_texts(self, chunk: Chunk, start: int, stop: int) -> int:
        """Return the bytes of the texts of rows start to stop; ValueError for wrong codes."""
        raise NotImplementedError

    def table_key(self, chunk: Chunk) -> object:
        """Return what is equal for chunks whose texts are written in one call."""
        raise NotImplementedError

    def spread_texts(self, pieces: Sequence[Piece], target: Target, span: Span) -> None:
        """Write the texts of chunks of one table, which have been measured.

        ValueError for wrong codes.
        """
        raise NotImplementedError

    def run_key(self, chunk: Chunk) -> object:
        """Return one key for all texts, so that chunks of any of these encodings are one run."""
        return _TEXTS_RUN if chunk.column.kind is Kind.BYTES else NUMBERS_RUN

    def decode_run(self, run: Sequence[Piece], sizes: NDArray[np.int64], is_checked: bool) -> Any:
        """Return the texts of chunks that follow each other, a part for each 2 GiB of them."""
        data_type = run[0].chunk.column.field.type
        if run[0].chunk.column.kind is not Kind.BYTES:
            return decode_numbers(run)
        if not are_loops_loaded() and _has_few_codes(run):
            return pa.chunked_array([part for piece in run for part in _read(piece)], data_type)
        _measure(run, sizes)
        most = MAX_PAYLOAD_BYTES if is_narrow(data_type) else 2**62
        arrays: list[Any] = []
        for first, last in _cuts(sizes, most):
            if last == first + 1 and sizes[first] > most:
                arrays += _read(run[first])
            else:
                arrays.append(_decode(run[first:last], sizes[first:last], is_checked))
        return arrays[0] if len(arrays) == 1 else pa.chunked_array(arrays, data_type)


def _encoding(piece: Piece) -> CodedTexts:
    encoding = piece.chunk.encoding
    assert isinstance(encoding, CodedTexts)
    return encoding


def _has_few_codes(run: Sequence[Piece]) -> bool:
    """Tell whether a run is read before the loops are loaded."""
    counts = [_encoding(piece).code_count(piece) for piece in run]
    few = all(n <= _encoding(piece).few_codes for n, piece in zip(counts, run, strict=True))
    return few and sum(counts) < _MANY_CODES


def _read(piece: Piece) -> list[Any]:
    """Return the texts of a chunk in as many arrays as they need."""
    rows = slice(piece.start, piece.stop)
    found = piece.chunk.encoding.read(
        piece.chunk, rows, piece.stop - piece.start, run_validity([piece])
    )
    return found.chunks if isinstance(found, pa.ChunkedArray) else [found]


def _measure(run: Sequence[Piece], sizes: NDArray[np.int64]) -> None:
    """Fill in the sizes that are not known yet."""
    unknown = np.flatnonzero(sizes < 0).tolist()

    def measure(first: int, last: int) -> None:
        for number in unknown[first:last]:
            piece = run[number]
            try:
                sizes[number] = _encoding(piece).measure_texts(piece.chunk, piece.start, piece.stop)
            except ValueError as error:
                raise unreadable(piece.chunk, error) from None

    pieces = [run[number] for number in unknown]
    in_slices(measure, len(unknown), sum(_encoding(each).code_count(each) for each in pieces))


def _cuts(sizes: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
    """Yield parts of a run that have at most so many bytes, or one piece."""
    first, held = 0, 0
    for number, size in enumerate(sizes.tolist()):
        if number > first and held + size > most:
            yield first, number
            first, held = number, 0
        held += size
    yield first, len(sizes)


def _decode(run: Sequence[Piece], sizes: NDArray[np.int64], is_checked: bool) -> Any:
    """Return the texts of chunks, which have been measured, as one array."""
    data_type = run[0].chunk.column.field.type
    bounds = [0, *np.cumsum(sizes).tolist()]
    rows = [0, *np.cumsum([piece.stop - piece.start for piece in run]).tolist()]
    offsets = pooled(rows[-1] + 1, np.int32 if is_narrow(data_type) else np.int64)
    offsets[0] = 0
    target = Target(pooled(bounds[-1], np.uint8), offsets, np.empty(0, np.int64))
    keys = [_encoding(piece).table_key(piece.chunk) for piece in run]

    def spread(first: int, last: int) -> None:
        own = target.for_thread()
        for begin, end in _tables(keys, first, last):
            span = Span(bounds[begin], rows[begin], bounds[last])
            try:
                _encoding(run[begin]).spread_texts(run[begin:end], own, span)
            except ValueError as error:
                raise unreadable(run[begin].chunk, error) from None

    in_slices(spread, len(run), bounds[-1])
    if not is_checked:
        _check(run, rows, target)
    return text_array(data_type, target.offsets, target.data, run_validity(run))


def _tables(keys: list[object], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a slice that share a table."""
    for number in range(first + 1, last):
        if keys[number] != keys[number - 1]:
            yield first, number
            first = number
    yield first, last


def _check(run: Sequence[Piece], rows: list[int], target: Target) -> None:
    """Raise OperationalError, naming the chunk, unless all texts are UTF-8."""
    data_type = run[0].chunk.column.field.type
    try:
        check_utf8(data_type, target.offsets, target.data)
    except ValueError:
        for number, piece in enumerate(run):
            try:
                bounds = target.offsets[rows[number] : rows[number + 1] + 1]
                check_utf8(data_type, bounds, target.data)
            except ValueError as error:
                raise unreadable(piece.chunk, error) from None
        raise
