"""VERBATIM: the values as Arrow keeps them; booleans in bits, texts one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.rows.entries import single_bytes
from raydb.storage.flat.encodings.bits import (
    pack,
    packed_bytes,
    packed_reader,
    unpack,
    word_reader,
)
from raydb.storage.flat.encodings.constant import CONSTANT
from raydb.storage.flat.encodings.decimals import check_wide_decimals
from raydb.storage.flat.encodings.encoding import (
    Encoded,
    Encoding,
    Needle,
    Text,
    bad_chunk,
    unreadable,
)
from raydb.storage.flat.encodings.gather import Words, join_items, number_gather, text_gather
from raydb.storage.flat.encodings.texts import (
    build_index,
    check_texts,
    match_stored,
    open_index,
    text_array,
)
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import (
        Chunk,
        Gather,
        Rows,
        Sections,
        Values,
    )
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

_SIGNED_FORMATS = {8: "b", 16: "h", 32: "i", 64: "q"}
_FLOAT_FORMATS = {32: "f", 64: "d"}


class _Verbatim(Encoding):
    code, name, kinds = 2, "verbatim", frozenset(Kind) - {Kind.NESTED}
    competes = True
    choices = kinds

    def size(self, values: Values) -> int:
        return packed_bytes(values.count, values.plan.bits)

    def encode(self, values: Values, is_wanted: bool) -> Encoded:
        # Integers are kept as asked; of others, equal ones are kept once whatever is asked for.
        if is_wanted and values.survey is None:
            constant = CONSTANT.encode(values, is_wanted=False)
            if constant is not None:
                return constant
        bits = values.plan.bits
        if values.numbers is None:
            data, offsets = values.text_parts
            index, flags = build_index(offsets, values.plan.indexed)
            return Encoded(self, 8, flags=flags, index=index, payload=data)
        if values.survey is None:
            return Encoded(self, bits, payload=np.ascontiguousarray(values.numbers))
        return Encoded(self, bits, payload=pack(values.numbers, bits))

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        payload, place = sections.payload, entry.starts()[1]
        if column.kind is Kind.BYTES:
            index = open_index(column, entry, sections.offset_index)
            check_texts(column, entry, place, index, payload)
            return index, None
        size = packed_bytes(entry.row_count, column.bits)
        if len(payload) != size or entry.width != column.bits:
            found = f"{len(payload)} bytes of {entry.width} bits"
            expected = f"{size} bytes of {column.bits} bits"
            raise bad_chunk(column, entry, place, expected, found)
        if column.kind is Kind.DECIMAL:
            check_wide_decimals(column, entry, payload)
        return None, None

    def read(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        column = chunk.column
        is_whole = isinstance(rows, slice) and count == chunk.entry.row_count
        if is_whole and column.kind is not Kind.BYTES:
            buffers = [validity, pa.py_buffer(chunk.payload)]
            return pa.Array.from_buffers(column.field.type, count, buffers)
        return super().read(chunk, rows, count, validity)

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        payload = chunk.payload
        match chunk.column.kind:
            case Kind.DECIMAL:
                return np.frombuffer(payload, "<i8").reshape(-1, 2)[rows]
            case Kind.BOOLEAN:
                return unpack(payload, 1, chunk.entry.row_count)[rows]
            case _:
                return np.frombuffer(payload, chunk.column.dtype)[rows]

    def read_texts(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        data_type, payload = chunk.column.field.type, chunk.payload
        if not isinstance(rows, slice):
            starts, ends = chunk.index[rows], chunk.index[1:][rows]
            data, offsets = join_items(np.frombuffer(payload, np.uint8), starts, ends)
            return text_array(data_type, offsets, data, validity)
        start, stop, _ = rows.indices(chunk.entry.row_count)
        index = chunk.index[start : stop + 1]
        first = int(index[0])
        offsets = index - np.uint32(first) if first else index
        return text_array(data_type, offsets, payload[first : int(index[-1])], validity)

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        bits, payload = chunk.column.bits, chunk.payload
        match chunk.column.kind:
            case Kind.BOOLEAN | Kind.UNSIGNED:
                return packed_reader(payload, bits)
            case Kind.SIGNED:
                return word_reader(payload, _SIGNED_FORMATS[bits])
            case Kind.FLOAT if bits in _FLOAT_FORMATS:
                return word_reader(payload, _FLOAT_FORMATS[bits])
            case _:
                return super().number_reader(chunk)

    def text_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        index, payload = memoryview(chunk.index), chunk.payload
        if not chunk.column.is_text:
            return lambda row: payload[index[row] : index[row + 1]].tobytes()

        def read(row: int) -> str:
            try:
                return str(payload[index[row] : index[row + 1]], "utf-8")
            except ValueError as error:
                raise unreadable(chunk, error) from None

        return read

    def match(self, chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
        return match_stored(chunk, value, start, stop)

    def find_key(self, chunk: Chunk) -> object:
        return self

    def needle(self, chunk: Chunk, wanted: Text) -> Needle:
        return (
            Needle(8, None, single_bytes()) if wanted.is_prefix else Needle(8, wanted.value, None)
        )

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        if column.kind is Kind.BYTES:
            data, data_type = column.file.bytes_, column.field.type

            def read(payloads: NDArray[np.int64], starts: Any, ends: Any, validity: Any) -> Any:
                items, bounds = join_items(data, payloads + starts, payloads + ends)
                return text_array(data_type, bounds, items, validity)

            return text_gather(column, flags, read)
        return number_gather(column, width, Words.VALUES)


VERBATIM = _Verbatim()
