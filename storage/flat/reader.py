"""Read one column of an open file: single rows, many rows in any order, all rows.

Rows in chunks of one encoding and width are gathered from the whole file at once: the places of
the values are computed with a few operations on arrays, however many chunks they lie in. Rows in
chunks of other encodings are read chunk by chunk.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.errors import ProgrammingError
from raydb.kernels.codecs import fsst
from raydb.storage.damage import damaged
from raydb.storage.flat.chunk import (
    Chunk,
    check_chunk_metadata,
    gather_texts,
    item_reader,
    open_chunk,
    read_rows,
)
from raydb.storage.flat.encodings.numbers import unpack
from raydb.storage.flat.encodings.texts import check_utf8, text_array
from raydb.storage.flat.kinds import array_of, has_large_offsets
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Encoding, Flags, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from raydb.storage.flat.metadata.column import Column

    # From rows and their chunks to the rows' values.
    _Gather = Callable[[NDArray[np.int64], NDArray[np.int64]], Any]

# Codes of so many bytes are decoded in one call: few enough to be held twice.
_DECODED_AT_ONCE = 2**26


class _Piece(NamedTuple):
    """Rows start to stop of a chunk."""

    number: int
    chunk: Chunk
    start: int
    stop: int

    @property
    def is_whole(self) -> bool:
        """Whether these are all rows of the chunk."""
        return self.stop - self.start == self.chunk.entry.row_count


class ColumnReader:
    """The chunks of a column, each verified when it is first touched, then kept.

    read_item: the function from a row of the table to its Python value.
    """

    def __init__(self, column: Column) -> None:
        self.column = column
        count = len(column.entries)
        self._chunks: list[Chunk | None] = [None] * count
        self._verified = np.zeros(count, np.bool_)
        # Chunks of codes that have once been decoded as a whole, to nothing but UTF-8.
        self._decoded = np.zeros(count, np.bool_)
        self._items: list[Callable[[int], Any] | None] = [None] * count
        self.read_item = self._make_item_reader()

    def chunk(self, number: int) -> Chunk:
        """Return a chunk, verified."""
        chunk = self._chunks[number]
        if chunk is None:
            chunk = self._chunks[number] = open_chunk(self.column, number)
            self._verified[number] = True
        return chunk

    def chunk_item(self, number: int) -> Callable[[int], Any]:
        """Return the function that reads single rows of a chunk."""
        read = self._items[number]
        if read is None:
            read = self._items[number] = item_reader(self.chunk(number))
        return read

    def _make_item_reader(self) -> Callable[[int], Any]:
        items, open_item = self._items, self.chunk_item
        row_count, chunk_rows = self.column.header.row_count, self.column.uniform_rows
        first_rows = self.column.entries["first_row"].astype(np.int64)

        def read_uniform(row: int) -> Any:
            if not 0 <= row < row_count:
                raise missing_row(self.column.file.path, row, row_count)
            number = row // chunk_rows
            return (items[number] or open_item(number))(row - number * chunk_rows)

        def read_any(row: int) -> Any:
            if not 0 <= row < row_count:
                raise missing_row(self.column.file.path, row, row_count)
            number = int(np.searchsorted(first_rows, row, "right")) - 1
            return (items[number] or open_item(number))(row - int(first_rows[number]))

        return read_uniform if chunk_rows else read_any

    def take(self, rows: NDArray[np.int64]) -> Any:
        """Return the values of rows, in their order, as an Arrow array or a chunked array.

        rows: int64, each from 0 to below the row count.
        """
        if not len(rows):
            return pa.array([], self.column.field.type)
        numbers = self.column.chunks_of(rows)
        if not self._verified[numbers].all():
            for number in np.unique(numbers[~self._verified[numbers]]).tolist():
                self.chunk(number)
        group_of, gathers = self._groups
        if len(gathers) == 1:
            return self._take_group(gathers[0], rows, numbers)
        groups = group_of[numbers]
        if (groups == groups[0]).all():
            return self._take_group(gathers[groups[0]], rows, numbers)

        def take_part(places: NDArray[np.int64]) -> Any:
            return self._take_group(gathers[groups[places[0]]], rows[places], numbers[places])

        return _take_parts(self.column.field.type, groups, take_part)

    def _take_group(
        self, gather: _Gather | None, rows: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> Any:
        if gather is not None:
            return gather(rows, numbers)

        def take_part(places: NDArray[np.int64]) -> Any:
            chunk = self.chunk(int(numbers[places[0]]))
            return read_rows(chunk, rows[places] - chunk.entry.first_row)

        return _take_parts(self.column.field.type, numbers, take_part)

    def read(self, ranges: list[tuple[int, int]] | None = None) -> list[Any]:
        """Return Arrow arrays with the rows of ascending disjoint ranges, all rows by default."""
        row_count = self.column.header.row_count
        if ranges is None:
            ranges = [(0, row_count)] if row_count else []
        arrays: list[Any] = []
        run: list[_Piece] = []
        run_bytes = 0
        for number, start, stop in self.pieces(ranges):
            chunk = self.chunk(number)
            joins = chunk.encoding is Encoding.FSST and run_bytes < _DECODED_AT_ONCE
            if run and not (joins and chunk.symbols is run[0].chunk.symbols):
                arrays += self._decode(run)
                run, run_bytes = [], 0
            if chunk.encoding is Encoding.FSST:
                run.append(_Piece(number, chunk, start, stop))
                run_bytes += chunk.entry.payload_length
            else:
                arrays.append(read_rows(chunk, slice(start, stop)))
        return arrays + (self._decode(run) if run else [])

    def _decode(self, run: list[_Piece]) -> list[Any]:
        """Return the rows of FSST chunks with the same symbols, decoded in one call."""
        column, symbols = self.column, run[0].chunk.symbols
        assert symbols is not None
        starts, ends = _code_bounds(run)
        validity = _read_bits(run)
        numbers = [piece.number for piece in run]
        try:
            data, offsets = fsst.decompress_items(symbols, column.file.bytes_, starts, ends)
            if not self._decoded[numbers].all():
                check_utf8(column.field.type, offsets, data)
            array = _text_arrays(column.field.type, offsets, data, validity, len(starts))
        except (ValueError, pa.ArrowInvalid) as error:
            found = f"others ({error})"
            raise damaged(column.file.path, int(starts[0]), "readable texts", found) from None
        self._decoded[[piece.number for piece in run if piece.is_whole]] = True
        return _arrays_of(array)

    @cached_property
    def blooms(self) -> NDArray[np.uint32]:
        """The blocks of the bloom filters of all chunks, shape (block_count, 8), verified."""
        column = self.column
        what = f"the bloom filters of column '{column.field.name}'"
        data = column.file.section(column.header.blooms, what, column.metadata_offset)
        return np.frombuffer(data, "<u4").reshape(-1, 8)

    def verify(self) -> None:
        """Check every chunk, and that its own metadata are those that the column holds of it."""
        column = self.column
        if len(column.bloom_starts):
            _ = self.blooms
        for number in range(len(column.entries)):
            chunk = self.chunk(number)
            read_rows(chunk, slice(None))
            check_chunk_metadata(chunk)

    def pieces(self, ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        """Yield the chunks that hold the ranges, with the rows of each: number, start, stop."""
        firsts = self.column.entries["first_row"].astype(np.int64)
        counts = self.column.entries["row_count"].astype(np.int64)
        for begin, end in ranges:
            number = int(np.searchsorted(firsts, begin, "right")) - 1
            while number < len(firsts) and firsts[number] < end:
                first, count = int(firsts[number]), int(counts[number])
                yield number, max(0, begin - first), min(count, end - first)
                number += 1

    # Rows of all chunks at once

    @cached_property
    def _groups(self) -> tuple[NDArray[np.int64], list[_Gather | None]]:
        """The group of each chunk, and the function for each group: None if there is none."""
        entries = self.column.entries
        lengths = entries["flags"] & Flags.LENGTHS > 0
        special = lengths | (entries["symbols_length"] > 0)
        keys = entries["encoding"].astype(np.int64) << 9 | entries["width"].astype(np.int64) << 1
        found, group_of = np.unique(keys | special, return_inverse=True)
        return group_of, [
            None if key & 1 else self._make_gather(Encoding(key >> 9), key >> 1 & 0xFF)
            for key in found.tolist()
        ]

    def _make_gather(self, encoding: Encoding, width: int) -> _Gather | None:
        """Return the function that takes rows and their verified chunks of one encoding."""
        column = self.column
        if encoding is Encoding.VERBATIM or encoding is Encoding.FSST:
            if column.kind is Kind.BYTES:
                return self._text_gather(encoding)
        elif encoding is not Encoding.FRAME:
            return None
        is_plain = column.kind in {Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT}
        return self._number_gather(encoding, width) if is_plain and width >= 8 else None

    def _number_gather(self, encoding: Encoding, width: int) -> _Gather:
        column, data = self.column, self.column.file.bytes_
        entries, size, dtype = column.entries, width // 8, column.dtype
        words = data[: len(data) // size * size].view(f"<u{size}")
        if encoding is Encoding.VERBATIM:
            words = words.view(dtype)
        # Chunks and their sections are aligned to 8 bytes: places are whole words.
        payloads = _aligned(entries, "validity_length", "index_length") + entries["offset"].astype(
            np.int64
        )
        bases = payloads // size - entries["first_row"].astype(np.int64)
        references = entries["reference"].astype(dtype)
        read_validity = self._validity_gather()
        kind, data_type = column.kind, column.field.type
        is_frame = encoding is Encoding.FRAME

        def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
            values = words[rows + bases[numbers]]
            if is_frame:
                values = values.astype(dtype)
                values += references[numbers]
            return array_of(data_type, kind, values, read_validity and read_validity(rows, numbers))

        return gather

    def _text_gather(self, encoding: Encoding) -> _Gather:
        column, data = self.column, self.column.file.bytes_
        entries, path = column.entries, column.file.path
        words = data[: len(data) // 4 * 4].view("<u4")
        offsets = entries["offset"].astype(np.int64)
        indexes = offsets + _aligned(entries, "validity_length")
        bases = indexes // 4 - entries["first_row"].astype(np.int64)
        payloads = indexes + _aligned(entries, "index_length")
        symbols = column.symbols if encoding is Encoding.FSST else None
        read_validity = self._validity_gather()

        def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
            places = rows + bases[numbers]
            begins = payloads[numbers]
            starts, ends = words[places] + begins, words[places + 1] + begins
            validity = read_validity and read_validity(rows, numbers)
            try:
                items, bounds = gather_texts(data, starts, ends, symbols)
                if symbols is not None:
                    check_utf8(column.field.type, bounds, items)
                return _text_arrays(column.field.type, bounds, items, validity, len(rows))
            except (ValueError, pa.ArrowInvalid) as error:
                first = int(starts[0])
                raise damaged(path, first, "readable texts", f"others ({error})") from None

        return gather

    def _validity_gather(self) -> _Gather | None:
        column, data = self.column, self.column.file.bytes_
        if not column.header.null_count:
            return None
        entries = column.entries
        firsts, offsets = entries["first_row"].astype(np.int64), entries["offset"].astype(np.int64)
        has_validity = entries["validity_length"] > 0

        def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
            local = rows - firsts[numbers]
            bits = data[offsets[numbers] + (local >> 3)] >> (local & 7).astype(np.uint8) & 1
            bits |= ~has_validity[numbers]
            return pa.py_buffer(np.packbits(bits, bitorder="little"))

        return gather


def missing_row(path: str, row: int, row_count: int) -> ProgrammingError:
    """Return the error for a row that a file does not have."""
    return ProgrammingError(f"row {row} does not exist: file '{path}' has {row_count} rows")


def _aligned(entries: NDArray[Any], *names: str) -> NDArray[np.int64]:
    """Return the sum of the aligned lengths of some sections of each chunk."""
    lengths = [-(-entries[name].astype(np.int64) // 8) * 8 for name in names]
    total: NDArray[np.int64] = np.sum(lengths, axis=0)
    return total


def _text_arrays(
    data_type: Any, offsets: NDArray[np.int64], data: Any, validity: Any, count: int
) -> Any:
    """Return gathered texts as an array, or as a chunked one where 2 GiB do not fit its offsets."""
    if has_large_offsets(data_type) or offsets[-1] <= MAX_PAYLOAD_BYTES:
        return text_array(data_type, offsets, data, validity)
    wide = pa.large_string() if pa.types.is_string(data_type) else pa.large_binary()
    array = text_array(wide, offsets, data, validity)
    parts = []
    first = 0
    while first < count:
        last = int(np.searchsorted(offsets, offsets[first] + MAX_PAYLOAD_BYTES, "right")) - 1
        parts.append(array.slice(first, max(1, last - first)).cast(data_type))
        first += max(1, last - first)
    return pa.chunked_array(parts, data_type)


def _take_parts(
    data_type: Any, keys: NDArray[Any], take_part: Callable[[NDArray[np.int64]], Any]
) -> Any:
    """Take the places with each key on their own; return the values in the order of the keys."""
    order = np.argsort(keys, kind="stable")
    cuts = np.flatnonzero(np.diff(keys[order])) + 1
    taken = [take_part(places) for places in np.split(order, cuts)]
    if len(taken) == 1:
        return taken[0]
    back = np.empty(len(keys), np.int64)
    back[order] = np.arange(len(keys))
    parts = [part for array in taken for part in _arrays_of(array)]
    return pa.chunked_array(parts, data_type).take(pa.array(back))


def _arrays_of(array: Any) -> list[Any]:
    return array.chunks if isinstance(array, pa.ChunkedArray) else [array]


def _code_bounds(run: list[_Piece]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the codes of each row begin and end in the file."""
    begins = [piece.chunk.entry.offset + piece.chunk.entry.starts()[1] for piece in run]
    indexes = [piece.chunk.index[piece.start : piece.stop + 1] for piece in run]
    bases = np.repeat(np.array(begins, np.int64), [len(index) - 1 for index in indexes])
    starts = np.concatenate([index[:-1] for index in indexes]) + bases
    return starts, np.concatenate([index[1:] for index in indexes]) + bases


def _read_bits(run: list[_Piece]) -> Any:
    """Return the validity of rows of several chunks as a buffer; None where all are valid."""
    if all(piece.chunk.validity is None for piece in run):
        return None
    bits = [
        np.ones(piece.stop - piece.start, np.uint8)
        if piece.chunk.validity is None
        else unpack(piece.chunk.validity, 1, piece.stop)[piece.start :]
        for piece in run
    ]
    return pa.py_buffer(np.packbits(np.concatenate(bits), bitorder="little"))
