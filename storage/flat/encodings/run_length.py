"""RUN_LENGTH: u32 run count, u32 end of each run, then the runs' values as in FRAME."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from raydb.storage.flat.encodings.bits import (
    Line,
    bits_for,
    check_packed,
    line_reader,
    pack_line,
    packed_bytes,
    signed_64,
    unpack_line,
)
from raydb.storage.flat.encodings.decimals import check_packed_decimals
from raydb.storage.flat.encodings.encoding import Encoded, bad_chunk
from raydb.storage.flat.encodings.integers import IntegerEncoding
from raydb.storage.flat.layout import Kind, align

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Rows, Sections, Values
    from raydb.storage.flat.encodings.survey import Survey
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

# Runs are searched for where the payload without them has more bytes than this.
_MIN_RUN_BYTES = 64


class _RunLength(IntegerEncoding):
    code, name = 4, "run_length"
    choices = IntegerEncoding.kinds

    def integers_size(self, values: Values, known: Survey) -> int | None:
        bits = bits_for(known.span)
        frame_bytes = packed_bytes(values.count, bits)
        if frame_bytes <= _MIN_RUN_BYTES:
            return None
        run_bytes = 8 + 4 * known.run_count + packed_bytes(known.run_count, bits)
        return run_bytes if 2 * run_bytes < frame_bytes else None

    def encode_integers(
        self, values: Values, words: NDArray[np.int64], known: Survey
    ) -> Encoded | None:
        bits, least = bits_for(known.span), signed_64(known.least)
        starts = np.flatnonzero(values.run_starts)
        ends = np.append(starts[1:], len(words)).astype("<u4")
        head = np.array([len(ends)], "<u4").tobytes() + ends.tobytes()
        head += bytes(align(len(head)) - len(head))
        runs = pack_line(words[starts], bits, Line(least)).tobytes()
        return Encoded(self, bits, least, payload=head + runs)

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
        check_packed_decimals(column, entry, packed, len(ends), Line(entry.reference))
        return None, None

    def read_values(self, chunk: Chunk, rows: Rows, count: int) -> NDArray[Any]:
        entry = chunk.entry
        ends, packed = _run_layout(chunk.payload)
        line, dtype = Line(entry.reference), chunk.column.dtype
        values = unpack_line(packed, entry.width, len(ends), line, slice(None), dtype)
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(entry.row_count)
            first, last = np.searchsorted(ends, (start, stop - 1), "right")
            bounds = np.clip(ends[first : last + 1].astype(np.int64), None, stop)
            return np.repeat(values[first : last + 1], np.diff(bounds, prepend=start))
        found: NDArray[Any] = values[np.searchsorted(ends, rows, "right")]
        return found

    def number_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        ends, packed = _run_layout(chunk.payload)
        entry, run_ends = chunk.entry, ends.data
        unsigned = chunk.column.kind is Kind.UNSIGNED
        value_of = line_reader(packed, entry.width, Line(entry.reference), unsigned=unsigned)
        return lambda row: value_of(bisect_right(run_ends, row))


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
