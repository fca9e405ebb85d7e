"""CONSTANT: one value for all rows, an integer in the chunk's reference, others in the payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.room import check_room
from raydb.storage.flat.encodings.bits import packed_bytes, signed_64
from raydb.storage.flat.encodings.decimals import check_decimal, check_wide_decimals
from raydb.storage.flat.encodings.encoding import Encoded, Encoding, bad_chunk, unreadable
from raydb.storage.flat.encodings.integers import NUMBERS_RUN, decode_numbers
from raydb.storage.flat.encodings.texts import arrays_of, check_texts, text_array
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Piece, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


# Few enough to be laid out again for each read, and many rows of most texts.
_LAID_OUT_BYTES = 2**22


class _Constant(Encoding):
    code, name, kinds = 1, "constant", frozenset(Kind) - {Kind.NESTED}

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        if values.survey is not None:
            if values.survey.span:
                return None
            return Encoded(self, reference=signed_64(values.survey.least))
        if values.numbers is None:
            data, offsets = values.text_parts
            length = int(offsets[1])
            is_one = length * (len(offsets) - 1) == len(data) and _all_equal(data, offsets)
            return Encoded(self, 8, payload=data[:length]) if is_one else None
        raw = np.ascontiguousarray(values.numbers)
        if len(raw) == 1 or raw[:1].tobytes() != raw[-1:].tobytes():
            return None
        words = raw.view(f"<u{min(8, raw.itemsize)}").reshape(len(raw), -1)
        if bool((words == words[0]).all()):
            return Encoded(self, values.plan.bits, payload=raw[:1].tobytes())
        return None

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        payload, place = sections.payload, entry.starts()[1]
        if column.kind is Kind.BYTES:
            check_texts(column, entry, place, np.array([0, len(payload)]), payload)
            return None, None
        size = packed_bytes(1, column.bits)
        sizes = {Kind.FLOAT: {size}, Kind.DECIMAL: {0, size}}.get(column.kind, {0})
        if len(payload) not in sizes:
            raise bad_chunk(column, entry, place, "one value", len(payload))
        if not payload:
            check_decimal(column, entry)
        elif column.kind is Kind.DECIMAL:
            check_wide_decimals(column, entry, payload)
        return None, None

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        column, entry = chunk.column, chunk.entry
        if not entry.payload_length:
            return np.full(count, np.array(entry.reference, np.int64).astype(column.dtype))
        if column.kind is Kind.DECIMAL:
            return np.tile(np.frombuffer(chunk.payload, "<i8"), (count, 1))
        return np.full(count, np.frombuffer(chunk.payload, column.dtype)[0])

    def read_texts(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        column, length = chunk.column, chunk.entry.payload_length
        # The text is laid out for some rows, and the same bytes stand for all others.
        step = max(_LAID_OUT_BYTES // max(length, 1) & -8, 8)
        offsets = np.arange(min(step, count) + 1, dtype=np.int64) * length
        data = bytes(chunk.payload) * min(step, count)
        if count <= step:
            return text_array(column.field.type, offsets, data, validity)
        check_room(count * (length + 8), f"texts of column '{column.field.name}'")
        arrays: list[Any] = []
        for first in range(0, count, step):
            bits = validity if validity is None else validity.slice(first // 8)
            bounds = offsets[: min(step, count - first) + 1]
            arrays += arrays_of(text_array(column.field.type, bounds, data, bits))
        return pa.chunked_array(arrays)

    def text_bytes(
        self, column: Column, entries: NDArray[Any], rows: NDArray[np.float64]
    ) -> NDArray[Any]:
        return np.asarray(rows * entries["payload_length"])

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        if chunk.entry.payload_length:
            return super().number_reader(chunk)
        reference = chunk.entry.reference
        value = reference % 2**64 if chunk.column.kind is Kind.UNSIGNED else reference
        return lambda _row: value

    def text_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        payload = chunk.payload
        try:
            value = str(payload, "utf-8") if chunk.column.is_text else bytes(payload)
        except ValueError as error:
            raise unreadable(chunk, error) from None
        return lambda _row: value

    def run_key(self, chunk: Chunk) -> object:
        """Return the key of integers, with which those of a reference are decoded."""
        are_integers = chunk.column.kind in {Kind.SIGNED, Kind.UNSIGNED, Kind.DECIMAL}
        return NUMBERS_RUN if are_integers and not chunk.entry.payload_length else None

    def decode_run(self, run: Sequence[Piece], sizes: NDArray[np.int64], is_checked: bool) -> Any:
        return decode_numbers(run)

    def match(self, chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
        return np.arange(start, stop if bytes(chunk.payload) == value else start)


def _all_equal(data: NDArray[np.uint8], offsets: NDArray[Any]) -> bool:
    count, length = len(offsets) - 1, int(offsets[1])
    if count == 1 or bool((np.diff(offsets) != length).any()):
        return False
    rows = data.reshape(count, length)
    return bool((rows == rows[0]).all())


CONSTANT = _Constant()
