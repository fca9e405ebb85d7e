"""FSST: texts in codes of a symbol table, one for the column or one of the chunk's own.

Equal texts have equal codes, so that a text is searched for without decoding any (FSST, 2.2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs import fsst
from raydb.kernels.codecs.rows.entries import text_loops
from raydb.late import pc
from raydb.room import check_room
from raydb.storage.flat.encodings.constant import CONSTANT
from raydb.storage.flat.encodings.encoding import Encoded, Needle, bad_chunk, unreadable
from raydb.storage.flat.encodings.gather import text_gather
from raydb.storage.flat.encodings.text_runs import CodedTexts
from raydb.storage.flat.encodings.texts import (
    build_index,
    check_utf8,
    match_stored,
    open_index,
    text_array,
)
from raydb.storage.flat.kinds import text_parts
from raydb.storage.flat.layout import Kind
from raydb.storage.flat.metadata.damage import damaged
from raydb.storage.take_rows import take_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Span, Target
    from raydb.storage.flat.encodings.encoding import (
        Chunk,
        Gather,
        Piece,
        Rows,
        Sections,
        Source,
        Text,
        Values,
    )
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column, File

# Training takes 10 ms: less text is not worth it.
_MIN_COLUMN_BYTES = 2**17
_MIN_RATIO = 1 / 0.9
_SAMPLE_ROWS = 4096
# A chunk whose codes take so much more than the column's sample promised gets symbols of its own,
# if these save as much again. Training takes 10 ms, so that small chunks are left alone.
_FALLS_BEHIND = 1.05
_MIN_TRAINING_BYTES = 2**14


class Symbols(NamedTuple):
    """The symbols of a column, and the bytes that a byte of codes held in the sample."""

    table: fsst.SymbolTable
    ratio: float


class _Fsst(CodedTexts):
    code, name, kinds = 6, "fsst", frozenset({Kind.BYTES})
    choices = kinds

    def prepare(self, source: Source, is_wanted: bool) -> Symbols | None:
        """Return the symbols of a column; None where it is small or they save less than 10 %."""
        if not is_wanted and source.size_bytes < _MIN_COLUMN_BYTES:
            return None
        data, bounds = sample_of(source.column, _SAMPLE_ROWS, 0.0)
        table = fsst.train(data, bounds)
        ratio = fsst.ratio(table, data, bounds)
        return Symbols(table, ratio) if is_wanted or ratio >= _MIN_RATIO else None

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        """Compress with the symbols of the column, or own ones where the chunk falls 5 % behind."""
        if not isinstance(values.plan.prepared, Symbols):
            return None
        if is_wanted and (constant := CONSTANT.encode(values, is_wanted=False)) is not None:
            return constant
        table, ratio = values.plan.prepared
        data, narrow = values.text_parts
        offsets = narrow.astype(np.int64)
        codes, bounds = fsst.compress(table, data, offsets)
        symbols = b""
        if len(data) >= _MIN_TRAINING_BYTES and len(codes) * ratio > len(data) * _FALLS_BEHIND:
            own = fsst.train(data, offsets)
            stored = own.to_bytes()
            own_codes, own_bounds = fsst.compress(own, data, offsets)
            if (len(own_codes) + len(stored)) * _FALLS_BEHIND < len(codes):
                codes, bounds, symbols = own_codes, own_bounds, stored
        if len(codes) >= len(data):
            return None
        index, flags = build_index(bounds, values.plan.indexed)
        return Encoded(
            self,
            8,
            flags=flags,
            index=index,
            payload=codes,
            symbols=symbols,
            uses_shared=not symbols,
        )

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        index, symbols = open_index(column, entry, sections.offset_index), column.symbols
        if entry.symbols_length:
            place = entry.offset + entry.starts()[3]
            symbols = symbols_of(column.file, sections.symbols, place)
        if not isinstance(symbols, fsst.SymbolTable):
            raise bad_chunk(column, entry, 0, "a symbol table", "none")
        return index, symbols

    def read_texts(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        data_type, codes = chunk.column.field.type, np.frombuffer(chunk.payload, np.uint8)
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(chunk.entry.row_count)
            data, offsets = fsst.decompress(chunk.shared, codes, chunk.index[start : stop + 1])
        else:
            starts, ends = chunk.index[rows], chunk.index[1:][rows]
            data, offsets = fsst.decompress_items(chunk.shared, codes, starts, ends)
        check_utf8(data_type, offsets, data)
        return text_array(data_type, offsets, data, validity)

    def verify(self, chunk: Chunk) -> None:
        check_room(self.exact_text_bytes(chunk), f"texts of column '{chunk.column.field.name}'")
        self.read(chunk, slice(None), chunk.entry.row_count, None)

    def text_bytes(
        self, column: Column, entries: NDArray[Any], rows: NDArray[np.float64]
    ) -> NDArray[Any]:
        return entries["payload_length"] * float(fsst.LONGEST_SYMBOL)

    def exact_text_bytes(self, chunk: Chunk) -> float:
        # A byte behind an escape is counted as if it were a code: a little too many are told.
        lengths = np.zeros(256)
        lengths[: len(chunk.shared.symbols)] = [len(symbol) for symbol in chunk.shared.symbols]
        codes = np.bincount(np.frombuffer(chunk.payload, np.uint8), minlength=256)
        return float(codes @ np.maximum(lengths, 1))

    def text_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        index, payload, is_text = memoryview(chunk.index), chunk.payload, chunk.column.is_text
        symbols, decode = chunk.shared, fsst.decompress_one

        def read(row: int) -> Any:
            try:
                value = decode(symbols, payload[index[row] : index[row + 1]])
                return value.decode() if is_text else value
            except ValueError as error:
                raise unreadable(chunk, error) from None

        return read

    def match(self, chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
        return match_stored(chunk, fsst.compress_one(chunk.shared, value), start, stop)

    def find_key(self, chunk: Chunk) -> object:
        return chunk.shared

    def needle(self, chunk: Chunk, wanted: Text) -> Needle:
        if wanted.is_prefix:
            return Needle(8, None, fsst.table_entries(chunk.shared))
        return Needle(8, fsst.compress_one(chunk.shared, wanted.value), None)

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        symbols, data_type = column.symbols, column.field.type
        if not isinstance(symbols, fsst.SymbolTable):
            return None  # A chunk that needs them is refused when it is opened.
        data = column.file.bytes_

        def read(payloads: NDArray[np.int64], starts: Any, ends: Any, validity: Any) -> Any:
            begins, stops = payloads + starts, payloads + ends
            items, offsets = fsst.decompress_items(symbols, data, begins, stops)
            check_utf8(data_type, offsets, items)
            return text_array(data_type, offsets, items, validity)

        return text_gather(column, flags, read)

    def measure_texts(self, chunk: Chunk, start: int, stop: int) -> int:
        _, lengths = fsst.table_words(chunk.shared)
        known, place = len(chunk.shared.symbols), _payload_place(chunk)
        begin, end = place + int(chunk.index[start]), place + int(chunk.index[stop])
        size = int(
            text_loops().measure_symbols(chunk.column.file.bytes_, begin, end, lengths, known)
        )
        if size < 0:
            raise ValueError("a code without a symbol, or a lone escape")
        return size

    def table_key(self, chunk: Chunk) -> object:
        return chunk

    def spread_texts(self, pieces: Sequence[Piece], target: Target, span: Span) -> None:
        ((_, chunk, start, stop),) = pieces
        words, lengths = fsst.table_words(chunk.shared)
        begin = _payload_place(chunk) + int(chunk.index[start])
        index, data = chunk.index[start : stop + 1], chunk.column.file.bytes_
        if text_loops().spread_symbols(data, begin, index, words, lengths, target, span):
            raise ValueError("a text that ends in an escape")


def sample_of(
    column: Any, row_count: int, phase: float
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes and the offsets of some rows from all over a chunked array.

    phase: 0 to 1, how far between one row of a sample and the next the rows are.
    """
    count = len(column)
    step = max(count / max(row_count, 1), 1.0)
    rows = (np.arange(min(count, row_count)) * step + phase * (step - 1)).astype(np.int64)
    sample = take_rows(column, rows).combine_chunks()
    data, offsets = text_parts(pc.fill_null(sample, pa.scalar("", sample.type)))
    return data, offsets.astype(np.int64)


def symbols_of(file: File, view: memoryview, offset: int) -> fsst.SymbolTable:
    """Return a symbol table from its bytes at `offset`."""
    try:
        return fsst.SymbolTable.from_bytes(view)
    except ValueError as error:
        raise damaged(file.path, offset, "a symbol table", f"another ({error})") from None


def _payload_place(chunk: Chunk) -> int:
    """Return where the payload of a chunk begins in its file."""
    return chunk.entry.offset + chunk.entry.starts()[1]


FSST = _Fsst()
