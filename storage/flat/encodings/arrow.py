"""ARROW: nested values as an Arrow IPC record batch of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.storage.flat.encodings.encoding import Encoded, Encoding, bad_chunk
from raydb.storage.flat.layout import Kind
from raydb.storage.flat.metadata.flatbuffer import RootTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


# NULLs and empty structs take no bytes: of them a chunk has at most so many, of others a bit each.
MOST_ELEMENTS = 2**22

# Fields of Message and RecordBatch in Arrow's Message.fbs.
_HEADER, _COMPRESSION = 2, 3


class _Arrow(Encoding):
    code, name, kinds = 7, "arrow", frozenset({Kind.NESTED})

    def encode(self, values: Values, is_wanted: bool) -> Encoded:
        batch = pa.RecordBatch.from_arrays([values.array], names=[""])
        return Encoded(self, payload=batch.serialize().to_pybytes())

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        schema = pa.schema([pa.field("", column.field.type)])
        place = entry.starts()[1]
        try:
            message = pa.ipc.read_message(pa.py_buffer(sections.payload))
            _check_message(column.file.path, entry.offset + place, message)
            array = pa.ipc.read_record_batch(message, schema).column(0)
            array.validate(full=True)
            check_lengths(array, max(MOST_ELEMENTS, 8 * entry.payload_length))
        except (pa.ArrowException, OSError, ValueError, EOFError) as error:
            found = f"another ({error})"
            raise bad_chunk(column, entry, place, "an Arrow record batch", found) from None
        if len(array) != entry.row_count or array.null_count != entry.null_count:
            expected = f"{entry.row_count} rows with {entry.null_count} NULLs"
            found = f"{len(array)} with {array.null_count}"
            raise bad_chunk(column, entry, place, expected, found)
        return None, array

    def read(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        array = chunk.shared
        return array[rows] if isinstance(rows, slice) else array.take(pa.array(rows))

    def item_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        array = chunk.shared
        return lambda row: array[row].as_py()

    def decoded_bytes(self, column: Column, entries: NDArray[Any]) -> NDArray[Any]:
        return entries["payload_length"].astype(np.float64)


def _check_message(path: str, offset: int, message: Any) -> None:
    """Raise for a batch with compressed buffers, which a few bytes may fill all memory with."""
    if message.type != "record batch":
        raise ValueError(f"a {message.type}")
    batch = RootTable(path, offset, memoryview(message.metadata)).table(_HEADER)
    if batch.inline(_COMPRESSION, 4) is not None:
        raise ValueError("compressed buffers")


def check_lengths(array: Any, most: int) -> None:
    """Raise for more elements than bytes can stand for: those of some types take none."""
    if len(array) > most:
        raise ValueError(f"{len(array)} elements")
    data_type = array.type
    if pa.types.is_map(data_type):
        check_lengths(array.keys, most)
        check_lengths(array.items, most)
    elif pa.types.is_struct(data_type):
        for number in range(data_type.num_fields):
            check_lengths(array.field(number), most)
    elif hasattr(array, "values"):
        check_lengths(array.values, most)


ARROW = _Arrow()
