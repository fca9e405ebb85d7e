"""ONPAIR: texts in codes of entries that are pairs of entries; a table for the column.

An entry has up to 32 bytes, so that a caption of 64 takes six codes of 12 bits. Equal texts have
equal codes, so that a text is searched for without decoding any.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs import onpair
from raydb.kernels.codecs.onpair import PairTable
from raydb.kernels.codecs.pairs.train import train
from raydb.kernels.codecs.rows.entries import (
    COPIED_BYTES,
    ITEM_BYTES,
    Places,
    Target,
    are_loops_loaded,
    read_only,
    text_loops,
)
from raydb.room import check_room
from raydb.storage.flat.encodings.bits import load_words, pack, packed_bytes, unpack
from raydb.storage.flat.encodings.constant import CONSTANT
from raydb.storage.flat.encodings.encoding import (
    Encoded,
    Known,
    Needle,
    Text,
    bad_chunk,
    unreadable,
    without_nulls,
)
from raydb.storage.flat.encodings.fsst import FSST, sample_of
from raydb.storage.flat.encodings.gather import (
    chunk_words,
    indexed,
    text_gather,
    validity_gather,
    words_by_row,
)
from raydb.storage.flat.encodings.text_runs import CodedTexts
from raydb.storage.flat.encodings.texts import (
    build_index,
    check_utf8,
    open_index,
    text_array,
)
from raydb.storage.flat.kinds import has_large_offsets, text_parts, valid_mask
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Flags, Kind
from raydb.storage.flat.metadata.damage import damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import ByAddress, Span
    from raydb.storage.flat.column_plan import ColumnPlan
    from raydb.storage.flat.encodings.encoding import (
        Chunk,
        Gather,
        Piece,
        Rows,
        Sections,
        Source,
        Taker,
        Values,
    )
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column, File

# Training takes 25 to 60 ms: less text is not worth it.
_MIN_COLUMN_BYTES = 2**18
_SAMPLE_BYTES = 2**19
_MIN_RATIO = 1 / 0.9
# Texts of fewer codes find the places of these made, which takes a twentieth of a point read.
_FEW_STEPS = 64
# Symbols have 8 bytes at most, and 2 to 3 on average: here none are trained, in 10 to 20 ms.
_SURE_RATIO = 4.0


# Of more rows the bytes are measured before there is room for them.
_FEW_ROWS = 1024


class _Room(NamedTuple):
    """Where a loop writes a text, and its address."""

    address: int
    data: bytearray

    @staticmethod
    def make() -> _Room:
        """Make room for one text."""
        data = bytearray(ITEM_BYTES)
        return _Room(np.frombuffer(data, np.uint8).ctypes.data, data)


# Those that no thread is using.
_ROOMS: list[_Room] = []


class _OnPair(CodedTexts):
    code, name, kinds = 11, "onpair", frozenset({Kind.BYTES})
    choices = kinds

    def prepare(self, source: Source, is_wanted: bool) -> Any:
        """Return the pairs of a column, or its FSST symbols where these take fewer bytes."""
        column, size_bytes = source.column, source.size_bytes
        if not is_wanted and size_bytes < _MIN_COLUMN_BYTES:
            return None
        rows = int(_SAMPLE_BYTES * len(column) / max(size_bytes, 1)) + 1
        data, bounds = sample_of(column, rows, 0.0)
        if not is_wanted and len(data) < _MIN_COLUMN_BYTES // 2:
            return None
        # A few long items are read in part.
        table = train(data, np.minimum(bounds, 2 * _SAMPLE_BYTES))
        if is_wanted:
            return table
        # At other rows than those by which it was trained.
        data, bounds = sample_of(column, max(rows // 4, 1), 0.5)
        codes, _ = onpair.compress(table, data, np.minimum(bounds, _SAMPLE_BYTES))
        size = min(len(data), _SAMPLE_BYTES)
        share = len(table.to_bytes()) * size / size_bytes
        ratio = size / (packed_bytes(len(codes), table.width) + share + 1)
        if ratio >= _SURE_RATIO:
            return table
        symbols = FSST.prepare(source, is_wanted)
        if symbols is not None and symbols.ratio >= ratio:
            return symbols
        return table if ratio >= _MIN_RATIO else None

    def encode_run(self, plan: ColumnPlan, array: Any) -> list[Known] | None:
        """Return what is known of the chunks of rows that follow each other, found in one call.

        None where they are not in pairs, or have lengths in place of an index.
        """
        table = plan.prepared
        if not isinstance(table, PairTable) or not plan.indexed:
            return None
        from raydb.kernels.codecs.pairs import chunk_loops as loops  # noqa: PLC0415  (numba)

        data, narrow = text_parts(without_nulls(array))
        offsets, rows = narrow.astype(np.int64), plan.chunk_rows
        valid = valid_mask(array) if array.null_count else np.empty(0, np.bool_)
        edges = np.minimum(np.arange(0, len(array) + rows, rows), len(array))
        longest = int(np.diff(offsets[edges]).max())
        found = np.zeros((len(edges) - 1, loops.FOUND_WORDS), np.int64)
        room = loops.Room.make(longest, min(rows, len(array)), len(data), len(found))
        data, valid = read_only(data), read_only(valid)
        loops.encode_chunks(table.tree, data, offsets, valid, rows, table.width, room, found)
        known = []
        for start, size, index, index_size, is_narrow, *bounds in found.tolist():
            least, greatest = (data[offsets[row] : offsets[row + 1]].tobytes() for row in bounds)
            encoded = Encoded(
                self,
                table.width,
                flags=is_narrow and Flags.NARROW,
                index=room.out[index : index + index_size],
                payload=room.out[start : start + size],
                uses_shared=True,
            )
            # Equal texts are a constant.
            is_encoded = size >= 0 and (least != greatest or rows == 1)
            known.append(Known(encoded if is_encoded else None, least, greatest))
        return known

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        table = values.plan.prepared
        if not isinstance(table, PairTable):
            return None
        if is_wanted and (constant := CONSTANT.encode(values, is_wanted=False)) is not None:
            return constant
        data, narrow = values.text_parts
        codes, bounds = onpair.compress(table, data, narrow.astype(np.int64))
        payload = pack(codes, table.width)
        if payload.nbytes >= len(data):
            return None
        index, flags = build_index(bounds, values.plan.indexed)
        return Encoded(
            self, table.width, flags=flags, index=index, payload=payload, uses_shared=True
        )

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        table, width = column.symbols, entry.width
        if not isinstance(table, PairTable) or width != table.width or entry.symbols_length:
            raise bad_chunk(column, entry, 0, "the pairs of its column", f"{width} bits")
        index = open_index(column, entry, sections.offset_index, is_of_bytes=False)
        size = packed_bytes(int(index[-1]), width)
        if size != entry.payload_length:
            place = entry.starts()[1]
            raise bad_chunk(column, entry, place, f"{size} bytes of codes", entry.payload_length)
        return index, table

    def read_texts(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(chunk.entry.row_count)
            bounds = chunk.index[start : stop + 1].astype(np.int64)
            starts, ends = bounds[:-1], bounds[1:]
        else:
            starts, ends = chunk.index[rows].astype(np.int64), chunk.index[1:][rows]
        place = chunk.entry.offset + chunk.entry.starts()[1]
        return _read(chunk.column, chunk.shared, place, starts, ends - starts, validity)

    def verify(self, chunk: Chunk) -> None:
        check_room(self.exact_text_bytes(chunk), f"texts of column '{chunk.column.field.name}'")
        self.read(chunk, slice(None), chunk.entry.row_count, None)

    def text_bytes(
        self, column: Column, entries: NDArray[Any], rows: NDArray[np.float64]
    ) -> NDArray[Any]:
        widths = np.maximum(entries["width"], 8)
        return np.asarray(entries["payload_length"] * (8.0 * onpair.LONGEST_ENTRY) / widths)

    def exact_text_bytes(self, chunk: Chunk) -> float:
        count, lengths = int(chunk.index[-1]), chunk.shared.lengths
        codes = np.bincount(unpack(chunk.payload, chunk.entry.width, count), minlength=len(lengths))
        return float(codes[: len(lengths)] @ lengths.astype(np.float64))

    def text_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        index, payload, is_text = memoryview(chunk.index), chunk.payload, chunk.column.is_text
        entries, width, integer = chunk.shared.entries, chunk.entry.width, int.from_bytes
        mask, steps = (1 << width) - 1, _steps(width)

        def read(row: int) -> Any:
            start = index[row]
            count = index[row + 1] - start
            start *= width
            bits = integer(payload[start >> 3 : start + count * width + 7 >> 3], "little")
            bits >>= start & 7
            places = steps[count] if count < _FEW_STEPS else range(0, count * width, width)
            try:
                value = b"".join([entries[bits >> at & mask] for at in places])
                return value.decode() if is_text else value
            except (ValueError, IndexError) as error:
                raise unreadable(chunk, error) from None

        return _by_loop(chunk, read) if are_loops_loaded() else read

    def match(self, chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
        needle, width = onpair.compress_one(chunk.shared, value), chunk.entry.width
        index = chunk.index[start : stop + 1].astype(np.int64)
        rows = np.flatnonzero(np.diff(index) == len(needle))
        data, place = chunk.column.file.bytes_, chunk.entry.offset + chunk.entry.starts()[1]
        begins = index[rows] * width + place * 8
        # Code by code: after the first few hardly a row is left.
        for number, code in enumerate(needle):
            if not len(rows):
                break
            equal = load_words(data, begins + number * width, width) == code
            rows, begins = rows[equal], begins[equal]
        return rows + start

    def find_key(self, chunk: Chunk) -> object:
        return chunk.shared

    def needle(self, chunk: Chunk, wanted: Text) -> Needle:
        table = chunk.shared
        if wanted.is_prefix:
            return Needle(table.width, None, table.decoded)
        return Needle(table.width, onpair.compress_one(table, wanted.value), None)

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        table = column.symbols
        if not isinstance(table, PairTable):
            return None  # A chunk that needs it is refused when it is opened.

        def read(payloads: NDArray[np.int64], starts: Any, ends: Any, validity: Any) -> Any:
            return _items(column, table, payloads * 8 + starts * width, ends - starts, validity)

        gather, take = text_gather(column, flags, read), _taker(column, table)

        def take_or_gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
            found = take(rows) if are_loops_loaded() else None
            return gather(rows, numbers) if found is None else found

        return take_or_gather

    def taker(self, column: Column) -> Taker | None:
        table, have_lengths = column.symbols, column.entries["flags"] & Flags.LENGTHS > 0
        if not isinstance(table, PairTable) or have_lengths.any():
            return None
        return _taker(column, table)

    def measure_texts(self, chunk: Chunk, start: int, stop: int) -> int:
        entries, width, index = chunk.shared.decoded, chunk.entry.width, chunk.index
        count = int(index[stop]) - int(index[start])
        loops, begin = text_loops(), np.uint64(_first_bit(chunk, start))
        size = int(
            loops.measure_codes(
                chunk.column.file.bytes_, np.uint64(width), begin, count, entries.heads
            )
        )
        if size < 0:
            raise ValueError(f"a code without an entry; there are {len(chunk.shared.entries)}")
        return size

    def table_key(self, chunk: Chunk) -> object:
        return chunk.shared

    def spread_texts(self, pieces: Sequence[Piece], target: Target, span: Span) -> None:
        column, table = pieces[0].chunk.column, pieces[0].chunk.shared
        begins = [_first_bit(piece.chunk, piece.start) for piece in pieces]
        counts = [piece.stop - piece.start for piece in pieces]
        text_loops().spread_codes(
            column.file.bytes_,
            np.uint64(table.width),
            Places(np.array(begins, np.int64), np.array(counts, np.int64)),
            np.concatenate([piece.chunk.index[piece.start : piece.stop + 1] for piece in pieces]),
            table.decoded,
            target,
            span,
        )


@cache
def _steps(width: int) -> tuple[range, ...]:
    """Return the places of the codes of texts, by how many these are."""
    return tuple(range(0, count * width, width) for count in range(_FEW_STEPS))


def _by_loop(chunk: Chunk, read: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return what reads a row by a compiled loop, and as `read` does where the loop does not.

    `read` holds the chunk, whose bytes, index and entries the loop is given the addresses of.
    """
    read_codes, is_text, rooms = text_loops().read_codes, chunk.column.is_text, _ROOMS
    entries, width = chunk.shared.decoded, chunk.entry.width
    payload = chunk.column.file.bytes_.ctypes.data + chunk.entry.offset + chunk.entry.starts()[1]
    addresses = [each.ctypes.data for each in (chunk.index, *entries)]
    words = np.array([payload, *addresses, width], np.int64)
    place = words.ctypes.data

    def read_by_loop(row: int, words: Any = words) -> Any:  # noqa: ARG001  (held for the loop)
        try:
            room = rooms.pop()  # No other thread has it.
        except IndexError:
            room = _Room.make()
        size = read_codes(place, row, room[0])
        value = room[1][:size] if size >= 0 else None
        rooms.append(room)
        if value is None:
            return read(row)
        if not is_text:
            return bytes(value)
        try:
            return value.decode()
        except ValueError:
            return read(row)

    return read_by_loop


def _first_bit(chunk: Chunk, row: int) -> int:
    """Return the bit of the file where the codes of a row begin."""
    place = chunk.entry.offset + chunk.entry.starts()[1]
    return place * 8 + int(chunk.index[row]) * chunk.entry.width


def _read(
    column: Column, table: PairTable, place: int, starts: Any, counts: Any, validity: Any
) -> Any:
    """Return the texts of a chunk whose payload is at `place`."""
    bits = starts * table.width + place * 8
    data, offsets = onpair.decompress(table, column.file.bytes_, bits, counts, table.width)
    check_utf8(column.field.type, offsets, data)
    return text_array(column.field.type, offsets, data, validity)


def _taker(column: Column, table: PairTable) -> Taker:
    """Return what takes rows of chunks in pairs by one loop."""
    indexes, payloads = indexed(column)
    start = column.file.bytes_.ctypes.data
    chunks = chunk_words(
        column, start + indexes, start + payloads, column.entries["flags"] & Flags.NARROW > 0
    )
    words = words_by_row(column, chunks, *table.decoded, table.width)
    data_type, is_text, place = column.field.type, column.is_text, words.address
    is_large, allocate = has_large_offsets(data_type), pa.allocate_buffer
    validity_of, from_buffers = validity_gather(column), pa.Array.from_buffers
    code_bytes = int(column.entries["payload_length"].sum()) / max(column.header.row_count, 1)
    expected = int(2 * code_bytes * 8 / table.width * float(table.lengths.mean())) + 1

    def take(rows: NDArray[np.int64], _held: ByAddress = words) -> Any:
        count = len(rows)
        room = count * expected + COPIED_BYTES if count <= _FEW_ROWS else COPIED_BYTES
        for _ in range(2):
            width = 8 if is_large or room > MAX_PAYLOAD_BYTES else 4
            offsets, out = allocate(width * count + 16), allocate(room + 8)
            take_codes = text_loops().take_codes
            found = take_codes(place, rows, out.address, room, offsets.address, width)
            size = found >> 1
            if size <= room:
                break
            room = size + COPIED_BYTES
        if found < 0:
            return None
        if (found & 1 and is_text) or size > MAX_PAYLOAD_BYTES:
            bounds = np.frombuffer(offsets, f"<i{width}", count + 1)
            try:
                check_utf8(data_type, bounds, out)
            except ValueError:
                return None
            if size > MAX_PAYLOAD_BYTES:
                validity = validity_of and validity_of(rows, column.chunks_of(rows))
                return text_array(data_type, bounds, out, validity)
        validity = validity_of and validity_of(rows, column.chunks_of(rows))
        return from_buffers(data_type, count, [validity, offsets, out])

    return take


def _items(
    column: Column,
    table: PairTable,
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    validity: Any,
) -> Any:
    """Return the texts of codes anywhere in the file; starts: the bit where each begins."""
    try:
        data, offsets = onpair.decompress(table, column.file.bytes_, starts, counts, table.width)
        check_utf8(column.field.type, offsets, data)
        return text_array(column.field.type, offsets, data, validity)
    except (ValueError, pa.ArrowInvalid) as error:
        found = f"others ({error})"
        raise damaged(column.file.path, int(starts[0]) >> 3, "readable texts", found) from None


def pairs_of(file: File, view: memoryview, offset: int) -> PairTable:
    """Return a table of pairs from its bytes at `offset`."""
    try:
        return PairTable.from_bytes(view)
    except ValueError as error:
        raise damaged(file.path, offset, "a table of pairs", f"another ({error})") from None


ONPAIR = _OnPair()
