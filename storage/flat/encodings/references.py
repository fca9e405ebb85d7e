"""REFERENCES: bytes that stay where they are, as ranges of files beside the FlatStor file.

A record of 24 bytes a row: the checksum of its bytes, their offset and length in a file, and the
number of that file's name among the dictionary of the column. The chunk's reference is the sum of
the lengths, so that what rows take in memory is known before any of them is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xxhash import xxh3_64_intdigest

from raydb.errors import OperationalError
from raydb.interrupts import check_interrupt
from raydb.room import check_room
from raydb.storage.flat.encodings.encoding import Encoded, Encoding, bad_chunk
from raydb.storage.flat.encodings.outside import (
    MAX_OFFSET,
    RECORD,
    OutsideFiles,
    Reading,
    reason_of,
)
from raydb.storage.flat.encodings.texts import pack_entries, text_array
from raydb.storage.flat.layout import MAX_PAYLOAD_BYTES, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


class FileNames(NamedTuple):
    """The names of the files that a column refers to, an Arrow array of bytes."""

    names: Any

    def pack(self) -> bytes:
        """Return the names as entries of a dictionary."""
        return pack_entries(self.names)


class _Ranges(NamedTuple):
    """What is read of a chunk: its records, and the files that they are of."""

    records: NDArray[Any]
    files: OutsideFiles


class _References(Encoding):
    """Is never chosen: `by_reference` of the writer asks for it."""

    code, name, kinds = 15, "references", frozenset({Kind.BYTES})

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        if not is_wanted:
            return None
        array = values.array
        records = np.frombuffer(
            array.buffers()[1], RECORD, len(array), array.offset * RECORD.itemsize
        )
        total = int(records["length"].sum(dtype=np.int64))
        return Encoded(self, reference=total, payload=records.view(np.uint8), uses_shared=True)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        place, size = entry.starts()[1], entry.row_count * RECORD.itemsize
        if column.is_text or column.dictionary is None:
            raise bad_chunk(column, entry, place, "bytes in named files", column.field.type)
        if len(sections.payload) != size:
            raise bad_chunk(column, entry, place, f"{size} bytes of records", len(sections.payload))
        records = np.frombuffer(sections.payload, RECORD)
        for name, limit in (
            ("file", column.dictionary_count),
            ("length", MAX_PAYLOAD_BYTES + 1),
            ("offset", MAX_OFFSET),
        ):
            greatest = int(records[name].max())
            if greatest >= limit:
                raise bad_chunk(column, entry, place, f"{name}s below {limit}", greatest)
        total = int(records["length"].sum(dtype=np.int64))
        if total != entry.reference:
            raise bad_chunk(column, entry, place, f"lengths whose sum is {entry.reference}", total)
        return None, _Ranges(records, OutsideFiles(column.file, column.dictionary))

    def verify(self, chunk: Chunk) -> None:
        for row in range(chunk.entry.row_count):
            check_interrupt()
            self.read_texts(chunk, slice(row, row + 1), 1, None)

    def read_texts(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        column, records = chunk.column, chunk.shared.records[rows]
        bounds = np.zeros(count + 1, np.int64)
        np.cumsum(records["length"], out=bounds[1:])
        check_room(int(bounds[-1]), f"column '{column.field.name}' of file '{column.file.path}'")
        data = np.empty(int(bounds[-1]), np.uint8)
        view, numbers = memoryview(data.data), np.arange(chunk.entry.row_count)[rows].tolist()
        with chunk.shared.files.reading(records) as reading:
            for place in np.flatnonzero(records["length"]).tolist():
                check_interrupt()
                target = view[bounds[place] : bounds[place + 1]]
                _read_value(chunk, numbers[place], target, reading)
        return text_array(column.field.type, bounds, data, validity)

    def text_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        records, files = chunk.shared

        def read(row: int) -> bytes:
            value = bytearray(int(records["length"][row]))
            if value:
                with files.reading(records[row : row + 1]) as reading:
                    _read_value(chunk, row, memoryview(value), reading)
            return bytes(value)

        return read

    def text_bytes(
        self, column: Column, entries: NDArray[Any], rows: NDArray[np.float64]
    ) -> NDArray[Any]:
        return np.asarray(np.maximum(entries["reference"], 0), np.float64)


def _read_value(chunk: Chunk, row: int, target: memoryview, reading: Reading) -> None:
    """Fill a buffer with the value of a row. Raises OperationalError unless it is as it was."""
    checksum, offset, length, number = chunk.shared.records[row].item()
    try:
        reading.read(number, offset, target)
        if xxh3_64_intdigest(target) == checksum:
            return
        reason = "has been changed since"
    except (OSError, ValueError) as error:
        reason = reason_of(error)
    column = chunk.column
    raise OperationalError(
        f"row {chunk.entry.first_row + row} of column '{column.field.name}' in file"
        f" '{column.file.path}' is bytes {offset} to {offset + length} of the file"
        f" '{chunk.shared.files.name(number)}', which {reason}"
    )


REFERENCES = _References()
