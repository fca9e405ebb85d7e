"""Read one column chunk: verify it once, then give single rows and Arrow arrays of it.

open_chunk -> Chunk (its sections, checked against each other)
item_reader -> a function from a row to its Python value, some of it in 1 µs
read_rows -> an Arrow array of any rows, without a copy where the bytes are Arrow's
"""

from __future__ import annotations

import datetime as dt
import decimal
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from raydb.kernels.codecs import fsst
from raydb.storage.damage import damaged
from raydb.storage.flat.encodings.numbers import (
    PACKED_BITS,
    add_reference,
    decode_runs,
    packed_bytes,
    run_layout,
    unpack,
)
from raydb.storage.flat.encodings.texts import check_utf8, read_index, text_array
from raydb.storage.flat.kinds import array_of
from raydb.storage.flat.layout import CHUNK_ENTRY, MAX_CHUNK_ROWS, ChunkEntry, Encoding, Kind
from raydb.storage.flat.metadata.column import (
    Column,
    entries_of,
    symbols_of,
)
from raydb.storage.flat.metadata.flatbuffer import RootTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rows = slice | NDArray[np.int64]

_FORMATS = {8: "B", 16: "H", 32: "I", 64: "Q"}
_SIGNED_FORMATS = {8: "b", 16: "h", 32: "i", 64: "q"}
_FLOAT_FORMATS = {32: "f", 64: "d"}
# By their codes, since calling Encoding takes 0.4 µs.
_ENCODINGS = tuple(Encoding)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
# Decimals of 38 digits are not to be rounded to the 28 of the default context.
_EXACT = decimal.Context(prec=76)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """A verified chunk: its sections as views of the file.

    index: the u32 offsets of its rows (kind BYTES). entries: shared and own dictionary entries.
    array: the values of an ARROW chunk.
    """

    column: Column
    entry: ChunkEntry
    encoding: Encoding
    validity: memoryview | None
    index: Any
    payload: memoryview
    entries: Any
    symbols: fsst.SymbolTable | None
    array: Any


def open_chunk(column: Column, number: int) -> Chunk:
    """Return a chunk of a column after checking its checksum and every length and code in it.

    Raises OperationalError, naming file, offset, expected and found.
    """
    file, entry = column.file, column.entry(number)
    starts = entry.starts()
    index_start, payload_start, dictionary_start, symbols_start, metadata_start = starts
    view = file.view[entry.offset : entry.offset + metadata_start + entry.metadata_length]
    digest = xxh3_64_intdigest(view)
    if digest != (wanted := int(column.checksums[number])):
        expected = f"chunk {number} of column '{column.field.name}' with checksum {wanted:016x}"
        raise damaged(file.path, entry.offset, expected, f"{digest:016x}")
    encoding = _ENCODINGS[entry.encoding]
    payload = view[payload_start : payload_start + entry.payload_length]
    if entry.row_count > MAX_CHUNK_ROWS:
        raise _bad(column, entry, 0, f"at most {MAX_CHUNK_ROWS} rows", entry.row_count)
    validity = view[: entry.validity_length] if entry.validity_length else None
    index, entries, symbols, array = None, column.dictionary, column.symbols, None
    match encoding:
        case Encoding.ALL_NULL:
            pass
        case Encoding.ARROW:
            array = _read_arrow(column, entry, payload)
        case Encoding.DICTIONARY:
            own = view[dictionary_start : dictionary_start + entry.dictionary_length]
            entries = _read_entries(column, entry, own)
            _check_codes(column, entry, payload)
        case Encoding.VERBATIM | Encoding.FSST if column.kind is Kind.BYTES:
            stored = view[index_start : index_start + entry.index_length]
            index = _read_index(column, entry, index_start, stored)
            if entry.symbols_length:
                stored = view[symbols_start : symbols_start + entry.symbols_length]
                symbols = symbols_of(file, stored, entry.offset + symbols_start)
            if encoding is Encoding.FSST and symbols is None:
                raise _bad(column, entry, 0, "a symbol table", "none")
            if encoding is Encoding.VERBATIM:
                _check_texts(column, entry, payload_start, index, payload)
        case Encoding.CONSTANT if column.kind is Kind.BYTES:
            ends = np.array([0, len(payload)])
            _check_texts(column, entry, payload_start, ends, payload)
        case _:
            _check_numbers(column, entry, payload)
    return Chunk(column, entry, encoding, validity, index, payload, entries, symbols, array)


def _bad(column: Column, entry: ChunkEntry, place: int, expected: str, found: object) -> Exception:
    what = f"{expected} in a chunk of column '{column.field.name}'"
    return damaged(column.file.path, entry.offset + place, what, found)


def _read_index(
    column: Column, entry: ChunkEntry, start: int, section: memoryview
) -> NDArray[np.uint32]:
    try:
        return read_index(section, entry.row_count, entry.flags, entry.payload_length)
    except ValueError as error:
        found = f"{len(section)} bytes of others"
        raise _bad(column, entry, start, str(error), found) from None


def _check_texts(
    column: Column, entry: ChunkEntry, start: int, offsets: NDArray[Any], payload: memoryview
) -> None:
    try:
        check_utf8(column.field.type, offsets, payload)
    except ValueError as error:
        raise _bad(column, entry, start, "readable texts", f"others ({error})") from None


def _read_entries(column: Column, entry: ChunkEntry, section: memoryview) -> Any:
    """Return the entries that codes refer to: the shared ones, then the chunk's own."""
    if not entry.dictionary_count:
        return column.dictionary
    own = entries_of(column.file, column.field, column.kind, section, entry.dictionary_count)
    if column.dictionary is None:
        return own
    if column.kind is Kind.BYTES:
        return pa.concat_arrays([column.dictionary, own])
    return np.concatenate([column.dictionary, own])


def _check_codes(column: Column, entry: ChunkEntry, payload: memoryview) -> None:
    count = column.dictionary_count + entry.dictionary_count
    _check_packed(column, entry, len(payload), entry.row_count, 32)
    greatest = int(unpack(payload, entry.width, entry.row_count).max())
    if greatest >= count:
        raise _bad(column, entry, entry.starts()[1], f"codes below {count}", greatest)


def _check_packed(
    column: Column, entry: ChunkEntry, length: int, count: int, most_bits: int
) -> None:
    """Raise unless `length` bytes are just those of `count` values in the entry's width."""
    if entry.width not in PACKED_BITS or entry.width > most_bits:
        raise _bad(column, entry, 0, f"a width of 1, 2, 4, .. {most_bits} bits", entry.width)
    if length != packed_bytes(count, entry.width):
        expected = f"{packed_bytes(count, entry.width)} bytes of values"
        raise _bad(column, entry, entry.starts()[1], expected, length)


def _check_numbers(column: Column, entry: ChunkEntry, payload: memoryview) -> None:
    value_bytes = packed_bytes(1, column.bits)
    match Encoding(entry.encoding):
        case Encoding.VERBATIM:
            size = packed_bytes(entry.row_count, column.bits)
            if len(payload) != size or entry.width != column.bits:
                found = f"{len(payload)} bytes of {entry.width} bits"
                place = entry.starts()[1]
                raise _bad(column, entry, place, f"{size} bytes of {column.bits} bits", found)
        case Encoding.CONSTANT if column.kind is not Kind.BYTES:
            sizes = {Kind.FLOAT: {value_bytes}, Kind.DECIMAL: {0, value_bytes}}
            if len(payload) not in sizes.get(column.kind, {0}):
                raise _bad(column, entry, entry.starts()[1], "one value", len(payload))
        case Encoding.FRAME:
            most = min(column.bits, 64)
            _check_packed(column, entry, len(payload), entry.row_count, most)
        case Encoding.RUN_LENGTH:
            try:
                ends, packed = run_layout(payload)
            except ValueError as error:
                place = entry.starts()[1]
                raise _bad(
                    column, entry, place, "runs", f"{error} in {len(payload)} bytes"
                ) from None
            if ends[-1] != entry.row_count or not ends[0] or (ends[1:] <= ends[:-1]).any():
                expected = f"run ends that rise to {entry.row_count}"
                raise _bad(column, entry, entry.starts()[1], expected, int(ends[-1]))
            _check_packed(column, entry, len(packed), len(ends), min(column.bits, 64))


def _read_arrow(column: Column, entry: ChunkEntry, payload: memoryview) -> Any:
    schema = pa.schema([pa.field("", column.field.type)])
    try:
        array = pa.ipc.read_record_batch(pa.py_buffer(payload), schema).column(0)
        array.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        found = f"another ({error})"
        raise _bad(column, entry, entry.starts()[1], "an Arrow record batch", found) from None
    if len(array) != entry.row_count or array.null_count != entry.null_count:
        expected = f"{entry.row_count} rows with {entry.null_count} NULLs"
        found = f"{len(array)} with {array.null_count}"
        raise _bad(column, entry, entry.starts()[1], expected, found)
    return array


def check_chunk_metadata(chunk: Chunk) -> None:
    """Raise unless the metadata beside a chunk are those that its column holds of it."""
    column, entry = chunk.column, chunk.entry
    start = entry.starts()[4]
    place = entry.offset + start
    view = column.file.view[place : place + entry.metadata_length]
    root = RootTable(column.file.path, place, view)
    own = ChunkEntry._make(CHUNK_ENTRY.unpack_from(view, root.required(0, CHUNK_ENTRY.size)))
    if own != entry:
        raise _bad(column, entry, start, f"the entry {tuple(entry)}", tuple(own))


# Arrow arrays


def read_rows(chunk: Chunk, rows: Rows) -> Any:
    """Return the Arrow array of some rows of a chunk: a slice without a step, or row numbers."""
    column, entry = chunk.column, chunk.entry
    data_type = column.field.type
    if chunk.array is not None:
        return chunk.array[rows] if isinstance(rows, slice) else chunk.array.take(pa.array(rows))
    count = _count(rows, entry.row_count)
    if chunk.encoding is Encoding.ALL_NULL:
        return pa.nulls(count, data_type)
    validity = _read_validity(chunk, rows)
    if column.kind is Kind.BYTES:
        return _read_texts(chunk, rows, count, validity)
    is_whole = isinstance(rows, slice) and count == entry.row_count
    if is_whole and chunk.encoding is Encoding.VERBATIM:
        return pa.Array.from_buffers(data_type, count, [validity, pa.py_buffer(chunk.payload)])
    return array_of(data_type, column.kind, read_values(chunk, rows, count), validity)


def _count(rows: Rows, row_count: int) -> int:
    return len(range(*rows.indices(row_count))) if isinstance(rows, slice) else len(rows)


def _read_validity(chunk: Chunk, rows: Rows) -> Any:
    if chunk.validity is None:
        return None
    row_count = chunk.entry.row_count
    if isinstance(rows, slice) and _count(rows, row_count) == row_count:
        return pa.py_buffer(chunk.validity)
    bits = unpack(chunk.validity, 1, row_count)[rows]
    return pa.py_buffer(np.packbits(bits, bitorder="little"))


def read_values(chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
    """Return the values of some rows of a chunk of numbers; those of NULLs are arbitrary.

    Shape (count,), or (count, 2) for wide decimals.
    """
    column, entry, payload = chunk.column, chunk.entry, chunk.payload
    dtype = column.dtype
    match chunk.encoding:
        case Encoding.CONSTANT if entry.payload_length:
            if column.kind is Kind.DECIMAL:
                return np.tile(np.frombuffer(payload, "<i8"), (count, 1))
            return np.full(count, np.frombuffer(payload, dtype)[0])
        case Encoding.CONSTANT:
            return add_reference(np.zeros(count, np.uint8), entry.reference, dtype)
        case Encoding.VERBATIM if column.kind is Kind.DECIMAL:
            return np.frombuffer(payload, "<i8").reshape(-1, 2)[rows]
        case Encoding.VERBATIM if column.kind is Kind.BOOLEAN:
            return unpack(payload, 1, entry.row_count)[rows]
        case Encoding.VERBATIM:
            return np.frombuffer(payload, dtype)[rows]
        case Encoding.FRAME:
            deltas = unpack(payload, entry.width, entry.row_count)[rows]
            return add_reference(deltas, entry.reference, dtype)
        case Encoding.RUN_LENGTH:
            ends, values = decode_runs(payload, entry.width, entry.reference, dtype)
            if isinstance(rows, slice):
                lengths = np.diff(ends, prepend=np.uint32(0))
                return np.repeat(values, lengths)[rows]
            return values[np.searchsorted(ends, rows, "right")]
        case Encoding.DICTIONARY:
            codes = unpack(payload, entry.width, entry.row_count)[rows]
            return np.asarray(chunk.entries[codes])
        case _:
            raise AssertionError(f"numbers are not stored as {chunk.encoding.name}")


def _read_texts(chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
    entry, data_type = chunk.entry, chunk.column.field.type
    try:
        match chunk.encoding:
            case Encoding.CONSTANT:
                offsets = np.arange(count + 1, dtype=np.int64) * entry.payload_length
                return text_array(data_type, offsets, bytes(chunk.payload) * count, validity)
            case Encoding.DICTIONARY:
                codes = unpack(chunk.payload, entry.width, entry.row_count)[rows]
                values = chunk.entries.take(pa.array(codes))
                return values if validity is None else _with_validity(values, validity)
            case _ if isinstance(rows, slice):
                return _read_text_range(chunk, *rows.indices(entry.row_count)[:2], validity)
            case _:
                starts, ends = chunk.index[rows], chunk.index[1:][rows]
                data, offsets = gather_texts(
                    np.frombuffer(chunk.payload, np.uint8), starts, ends, _symbols(chunk)
                )
                if chunk.encoding is Encoding.FSST:
                    check_utf8(data_type, offsets, data)
                return text_array(data_type, offsets, data, validity)
    except (ValueError, pa.ArrowInvalid) as error:
        found = f"others ({error})"
        raise _bad(chunk.column, entry, entry.starts()[1], "readable texts", found) from None


def _symbols(chunk: Chunk) -> fsst.SymbolTable | None:
    return chunk.symbols if chunk.encoding is Encoding.FSST else None


def _with_validity(values: Any, validity: Any) -> Any:
    _, offsets, data = values.buffers()
    return pa.Array.from_buffers(values.type, len(values), [validity, offsets, data])


def _read_text_range(chunk: Chunk, start: int, stop: int, validity: Any) -> Any:
    index, data_type = chunk.index[start : stop + 1], chunk.column.field.type
    if chunk.encoding is Encoding.FSST:
        assert chunk.symbols is not None
        codes = np.frombuffer(chunk.payload, np.uint8)
        data, offsets = fsst.decompress(chunk.symbols, codes, index)
        check_utf8(data_type, offsets, data)
        return text_array(data_type, offsets, data, validity)
    first = int(index[0])
    offsets = index - np.uint32(first) if first else index
    return text_array(data_type, offsets, chunk.payload[first : int(index[-1])], validity)


def gather_texts(
    data: NDArray[np.uint8],
    starts: NDArray[Any],
    ends: NDArray[Any],
    symbols: fsst.SymbolTable | None,
) -> tuple[Any, NDArray[np.int64]]:
    """Return the bytes of the items data[start:end], decoded with `symbols`, and their offsets."""
    if symbols is not None:
        return fsst.decompress_items(symbols, data, starts, ends)
    view: Any = memoryview(data.data)
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends.astype(np.int64) - starts.astype(np.int64), out=offsets[1:])
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    return b"".join([view[start:end] for start, end in pairs]), offsets


# Single rows


def item_reader(chunk: Chunk) -> Callable[[int], Any]:
    """Return the function from a row of a chunk, which it holds, to its Python value."""
    column = chunk.column
    if chunk.encoding is Encoding.ALL_NULL:
        return lambda _row: None
    array = chunk.array
    if array is not None:
        return lambda row: array[row].as_py()
    if column.kind is Kind.BYTES:
        read = _text_reader(chunk)
    else:
        read = _converted(column, _number_reader(chunk))
    if chunk.validity is None:
        return read
    validity = chunk.validity
    return lambda row: read(row) if validity[row >> 3] >> (row & 7) & 1 else None


def _text_reader(chunk: Chunk) -> Callable[[int], Any]:
    entry, payload, is_text = chunk.entry, chunk.payload, chunk.column.is_text
    if chunk.encoding is Encoding.DICTIONARY:
        code_of, entries = _packed_reader(chunk), chunk.entries
        return lambda row: entries[code_of(row)].as_py()

    def unreadable(error: ValueError) -> Exception:
        found = f"others ({error})"
        return _bad(chunk.column, entry, entry.starts()[1], "readable texts", found)

    if chunk.encoding is Encoding.CONSTANT:
        try:
            value = str(payload, "utf-8") if is_text else bytes(payload)
        except ValueError as error:
            raise unreadable(error) from None
        return lambda _row: value
    index = memoryview(chunk.index)
    if chunk.encoding is Encoding.FSST:
        symbols, decode = chunk.symbols, fsst.decompress_one
        assert symbols is not None

        def read_compressed(row: int) -> Any:
            try:
                value = decode(symbols, payload[index[row] : index[row + 1]])
                return value.decode() if is_text else value
            except ValueError as error:
                raise unreadable(error) from None

        return read_compressed
    if not is_text:
        return lambda row: payload[index[row] : index[row + 1]].tobytes()

    def read_verbatim(row: int) -> str:
        try:
            return str(payload[index[row] : index[row + 1]], "utf-8")
        except ValueError as error:
            raise unreadable(error) from None

    return read_verbatim


def _packed_reader(chunk: Chunk) -> Callable[[int], int]:
    """Return the function from a row to its packed unsigned integer."""
    return _unpack_one(chunk.payload, chunk.entry.width)


def _unpack_one(payload: Any, bits: int) -> Callable[[int], int]:
    if bits >= 8:
        return _words(payload, _FORMATS[bits])
    mask = (1 << bits) - 1
    shift = bits.bit_length() - 1
    return lambda row: payload[row << shift >> 3] >> (row << shift & 7) & mask


def _number_reader(chunk: Chunk) -> Callable[[int], Any]:
    """Return the function from a row to its value as an integer or a float."""
    column, entry = chunk.column, chunk.entry
    payload: Any = chunk.payload
    reference = entry.reference
    modulus = 2**64 if column.kind is Kind.UNSIGNED else 0
    match chunk.encoding:
        case Encoding.CONSTANT if not entry.payload_length:
            value = reference % modulus if modulus else reference
            return lambda _row: value
        case Encoding.FRAME:
            unpacked = _packed_reader(chunk)
            if modulus:
                return lambda row: (unpacked(row) + reference) % modulus
            return lambda row: unpacked(row) + reference
        case Encoding.VERBATIM if column.kind is Kind.BOOLEAN or column.kind is Kind.UNSIGNED:
            return _packed_reader(chunk)
        case Encoding.VERBATIM if column.kind is Kind.SIGNED:
            return _words(payload, _SIGNED_FORMATS[column.bits])
        case Encoding.VERBATIM if column.kind is Kind.FLOAT and column.bits in _FLOAT_FORMATS:
            return _words(payload, _FLOAT_FORMATS[column.bits])
        case Encoding.RUN_LENGTH:
            ends, packed = run_layout(payload)
            unpacked, run_ends = _unpack_one(packed, entry.width), ends.data
            if modulus:
                return lambda row: (unpacked(bisect_right(run_ends, row)) + reference) % modulus
            return lambda row: unpacked(bisect_right(run_ends, row)) + reference
        case Encoding.DICTIONARY:
            code_of, entries = _packed_reader(chunk), chunk.entries
            return lambda row: entries[code_of(row)].item()
        case _:
            return lambda row: _whole_number(read_values(chunk, slice(row, row + 1), 1)[0])


def _words(payload: Any, word_format: str) -> Callable[[int], Any]:
    read: Callable[[int], Any] = payload.cast(word_format).__getitem__
    return read


def _whole_number(value: Any) -> Any:
    """Return a float16 as a float, and the two words of a wide decimal as an integer."""
    if isinstance(value, np.ndarray):
        low, high = value.tolist()
        return (high << 64) + low % 2**64
    return value.item()


def _converted(column: Column, read: Callable[[int], Any]) -> Callable[[int], Any]:
    """Return `read` with its numbers turned into the Python values of the column's type."""
    data_type = column.field.type
    if column.kind is Kind.BOOLEAN:
        return lambda row: bool(read(row))
    if column.kind is Kind.DECIMAL:
        scale = -data_type.scale
        return lambda row: decimal.Decimal(read(row)).scaleb(scale, _EXACT)
    if pa.types.is_date32(data_type):
        of_day = dt.date.fromordinal
        return lambda row: of_day(read(row) + _EPOCH_DAY)
    if pa.types.is_temporal(data_type):
        whole = pa.int64() if column.bits == 64 else pa.int32()
        return lambda row: pa.array([read(row)], whole).view(data_type)[0].as_py()
    return read
