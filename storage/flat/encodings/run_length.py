"""RUN_LENGTH: u32 run count, u32 end of each run, then the runs' values as in FRAME."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.flat.encodings.bits import (
    add_reference,
    bits_for,
    check_packed,
    pack_above,
    packed_bytes,
    packed_reader,
    signed_64,
    unpack,
)
from raydb.storage.flat.encodings.decimals import check_packed_decimals
from raydb.storage.flat.encodings.encoding import INTEGERS, Encoded, Encoding, bad_chunk
from raydb.storage.flat.layout import Kind, align

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

# Runs are searched for where the payload without them has more bytes than this.
_MIN_RUN_BYTES = 64


class _RunLength(Encoding):
    code, name, kinds, choices = 4, "run_length", INTEGERS, INTEGERS

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        numbers, least, greatest = values.numbers, values.least, values.greatest
        if numbers is None or least is None or greatest is None:
            return None
        bits = bits_for(greatest - least)
        frame_bytes = packed_bytes(len(numbers), bits)
        if frame_bytes <= _MIN_RUN_BYTES and not is_wanted:
            return None
        changes = np.flatnonzero(numbers[1:] != numbers[:-1])
        run_count = len(changes) + 1
        run_bytes = 8 + 4 * run_count + packed_bytes(run_count, bits)
        if 2 * run_bytes >= frame_bytes and not is_wanted:
            return None
        ends = np.append(changes + 1, len(numbers)).astype("<u4")
        head = np.array([len(ends)], "<u4").tobytes() + ends.tobytes()
        head += bytes(align(len(head)) - len(head))
        runs = pack_above(numbers[ends - 1], least, bits).tobytes()
        return Encoded(self, bits, signed_64(least), payload=head + runs)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        payload, place = sections.payload, entry.starts()[1]
        try:
            ends, packed = _run_layout(payload)
        except ValueError as error:
            found = f"{error} in {len(payload)} bytes"
            raise bad_chunk(column, entry, place, "runs", found) from None
        if ends[-1] != entry.row_count or not ends[0] or (ends[1:] <= ends[:-1]).any():
            expected = f"run ends that rise to {entry.row_count}"
            raise bad_chunk(column, entry, place, expected, int(ends[-1]))
        check_packed(column, entry, len(packed), len(ends), min(column.bits, 64))
        check_packed_decimals(column, entry, packed, len(ends))
        return None, None

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        entry = chunk.entry
        ends, packed = _run_layout(chunk.payload)
        deltas = unpack(packed, entry.width, len(ends))
        values = add_reference(deltas, entry.reference, chunk.column.dtype)
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(entry.row_count)
            first, last = np.searchsorted(ends, (start, stop - 1), "right")
            bounds = np.clip(ends[first : last + 1].astype(np.int64), None, stop)
            return np.repeat(values[first : last + 1], np.diff(bounds, prepend=start))
        found: NDArray[Any] = values[np.searchsorted(ends, rows, "right")]
        return found

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        ends, packed = _run_layout(chunk.payload)
        reference = chunk.entry.reference
        unpacked, run_ends = packed_reader(packed, chunk.entry.width), ends.data
        if chunk.column.kind is Kind.UNSIGNED:
            return lambda row: (unpacked(bisect_right(run_ends, row)) + reference) % 2**64
        return lambda row: unpacked(bisect_right(run_ends, row)) + reference


def _run_layout(payload: memoryview) -> tuple[NDArray[np.uint32], memoryview]:
    """Return the ends of the runs and the packed bytes of their values.

    Raises ValueError when the payload is too short for its own run count.
    """
    if len(payload) < 4:
        raise ValueError("a run count")
    run_count = int.from_bytes(payload[:4], "little")
    values_start = align(4 + 4 * run_count)
    if run_count < 1 or values_start > len(payload):
        raise ValueError(f"{run_count} runs")
    return np.frombuffer(payload, "<u4", run_count, 4), payload[values_start:]


RUN_LENGTH = _RunLength()
