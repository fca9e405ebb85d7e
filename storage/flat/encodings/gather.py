"""Rows of many chunks at once: the places of all values are computed with operations on arrays."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.rows.entries import ByAddress
from raydb.storage.flat.encodings.bits import load_words, loops_for
from raydb.storage.flat.encodings.texts import NARROW_HEAD
from raydb.storage.flat.kinds import array_of
from raydb.storage.flat.layout import Flags, Kind
from raydb.storage.flat.metadata.damage import damaged

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Gather
    from raydb.storage.flat.metadata.column import Column

    # From where payloads begin, where items begin and end in them, and the validity, to an array.
    ReadItems = Callable[[NDArray[np.int64], NDArray[Any], NDArray[Any], Any], Any]

_WORD_BITS = frozenset({8, 16, 32, 64})
LINE_HEAD_BYTES = 16


class Words(Enum):
    """What packed words are: the values themselves, or distances to a reference or to a line."""

    VALUES = 0
    FRAME = 1
    LINE = 2


def number_gather(column: Column, width: int, form: Words) -> Gather | None:
    """Return the function for numbers of a width; None for kinds whose values are no numbers."""
    if column.kind not in {Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT}:
        return None
    data, entries, dtype = column.file.bytes_, column.entries, column.dtype
    # Chunks and their sections are aligned to 8 bytes: places are whole words.
    payloads = payload_places(column)
    firsts = entries["first_row"].astype(np.int64)
    references = entries["reference"].astype(dtype)
    begins = payloads + LINE_HEAD_BYTES if form is Words.LINE else payloads
    read_words = _word_reader(data, width, begins, firsts)
    heads = data[: len(data) // 8 * 8].view("<u8")
    read_validity = validity_gather(column)
    kind, data_type = column.kind, column.field.type

    def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
        values = read_words(rows, numbers)
        if form is Words.VALUES:
            values = values.view(dtype)
        else:
            values = values.astype(dtype)
            values += references[numbers]
        if form is Words.LINE:
            places, local = payloads[numbers] >> 3, (rows - firsts[numbers]).astype(np.uint64)
            rise = heads[places] * local
            rise += (heads[places + 1] * local) >> np.uint64(32)
            values += rise.astype(dtype)
        return array_of(data_type, kind, values, read_validity and read_validity(rows, numbers))

    return gather


def _word_reader(
    data: NDArray[np.uint8], width: int, begins: NDArray[np.int64], firsts: NDArray[np.int64]
) -> Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]:
    """Return the function from rows and their chunks to their packed integers.

    begins: where the packed integers of each chunk begin; behind them are more bytes of the file.
    """
    if width in _WORD_BITS:
        size = width // 8
        words = data[: len(data) // size * size].view(f"<u{size}")
        bases = begins // size - firsts
        return lambda rows, numbers: words[rows + bases[numbers]]
    if not width:
        return lambda rows, _numbers: np.zeros(len(rows), np.uint8)
    bit_bases = begins * 8 - firsts * width
    return lambda rows, numbers: load_words(data, rows * width + bit_bases[numbers], width)


def text_gather(column: Column, flags: int, read: ReadItems) -> Gather:
    """Return the function for texts behind an offset index."""
    path = column.file.path
    indexes, payloads = indexed(column)
    bounds_of = _bounds_reader(column, indexes, flags)
    read_validity = validity_gather(column)

    def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
        begins = payloads[numbers]
        starts, ends = bounds_of(rows, numbers)
        validity = read_validity and read_validity(rows, numbers)
        try:
            return read(begins, starts, ends, validity)
        except (ValueError, pa.ArrowInvalid) as error:
            first = int(begins[0])
            raise damaged(path, first, "readable texts", f"others ({error})") from None

    return gather


def indexed(column: Column) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the index and the payload of each chunk begin in the file."""
    entries = column.entries
    indexes = entries["offset"].astype(np.int64) + _aligned(entries, "validity_length")
    return indexes, indexes + _aligned(entries, "index_length")


def chunk_words(column: Column, *parts: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first row and some parts of each chunk, a row of words each."""
    firsts = column.entries["first_row"]
    return np.stack([part.astype(np.int64) for part in (firsts, *parts)], axis=1)


def words_by_row(column: Column, chunks: NDArray[np.int64], *more: NDArray[Any] | int) -> ByAddress:
    """Return the words by which loops find the chunk of a row (`take_loops.chunk_at`), and more.

    chunks: what `chunk_words` returns.
    """
    row_count, uniform_rows = column.header.row_count, column.uniform_rows
    return ByAddress(row_count, uniform_rows, len(chunks), chunks, column.verified, *more)


def _bounds_reader(
    column: Column, indexes: NDArray[np.int64], flags: int
) -> Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[NDArray[Any], NDArray[Any]]]:
    """Return the function from rows and their chunks to where they begin and end in payloads."""
    data, firsts = column.file.bytes_, column.entries["first_row"].astype(np.int64)
    if not flags & Flags.NARROW:
        words = data[: len(data) // 4 * 4].view("<u4")
        bases = indexes // 4 - firsts

        def read_words(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
            places = rows + bases[numbers]
            return words[places].astype(np.int64), words[places + 1].astype(np.int64)

        return read_words
    heads = data[: len(data) // 8 * 8].view("<u8")
    fixed = data.view()
    fixed.flags.writeable = False  # As the loops take all of them.

    def read_lines(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
        begins, local = indexes[numbers], rows - firsts[numbers]
        loops = loops_for(0)
        if loops is not None:
            starts, ends = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
            loops.read_bounds(fixed, begins, local, starts, ends)
            return starts, ends
        places = begins >> 3
        reference, slope = heads[places].view(np.int64), heads[places + 1]
        # The reference of 56 bits lies above the width.
        widths = reference & 0xFF
        at = (begins + NARROW_HEAD.size) * 8 + local * widths
        masks = (np.uint64(1) << widths.astype(np.uint64)) - np.uint64(1)
        bounds = []
        for ahead in range(2):
            number = (local + ahead).astype(np.uint64)
            rise = ((slope * number) >> np.uint64(32)).view(np.int64) + (reference >> 8)
            packed = load_words(data, at + ahead * widths, 57) & masks
            bounds.append(rise + packed.view(np.int64))
        return tuple(bounds)

    return read_lines


def valid_rows(column: Column, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of some rows that hold a value."""
    read_validity = validity_gather(column)
    if read_validity is None or not len(rows):
        return rows
    bits = np.frombuffer(read_validity(rows, column.chunks_of(rows)), np.uint8)
    return rows[np.unpackbits(bits, count=len(rows), bitorder="little").view(np.bool_)]


def join_items(
    data: NDArray[np.uint8], starts: NDArray[Any], ends: NDArray[Any]
) -> tuple[bytes, NDArray[np.int64]]:
    """Return the bytes of the items data[start:end], one after another, and their offsets."""
    view: Any = memoryview(data.data)
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends.astype(np.int64) - starts.astype(np.int64), out=offsets[1:])
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return b"".join([view[start:end] for start, end in pairs]), offsets


def payload_places(column: Column) -> NDArray[np.int64]:
    """Return where the payload of each chunk begins in the file."""
    return section_places(column, "validity_length", "index_length")


def section_places(column: Column, *before: str) -> NDArray[np.int64]:
    """Return where the section of each chunk behind some others begins in the file."""
    places = _aligned(column.entries, *before)
    places += column.entries["offset"].astype(np.int64)
    return places


def validity_gather(column: Column) -> Gather | None:
    """Return the function from rows and their chunks to their validity; None without NULLs."""
    entries = column.entries
    if not column.header.null_count:
        return None
    firsts = entries["first_row"].astype(np.int64)
    data, starts = column.bitmaps or (column.file.bytes_, entries["offset"].astype(np.int64))
    has_validity = entries["validity_length"] > 0
    is_null = entries["null_count"] == entries["row_count"]

    def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
        has = has_validity[numbers]
        local = np.where(has, rows - firsts[numbers], 0)
        bits = data[starts[numbers] + (local >> 3)] >> (local & 7).astype(np.uint8) & 1
        bits = np.where(has, bits > 0, ~is_null[numbers])
        return pa.py_buffer(np.packbits(bits, bitorder="little"))

    return gather


def _aligned(entries: NDArray[Any], *names: str) -> NDArray[np.int64]:
    """Return the sum of the aligned lengths of some sections of each chunk."""
    lengths = [-(-entries[name].astype(np.int64) // 8) * 8 for name in names]
    total: NDArray[np.int64] = np.sum(lengths, axis=0)
    return total
