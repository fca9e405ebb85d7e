"""ARROW: nested values as an Arrow IPC record batch of one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from raydb.storage.flat.encodings.encoding import Encoded, Encoding, bad_chunk
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from raydb.storage.flat.encodings.encoding import Chunk, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column


class _Arrow(Encoding):
    code, name, kinds = 7, "arrow", frozenset({Kind.NESTED})

    def encode(self, values: Values, is_wanted: bool) -> Encoded:
        batch = pa.RecordBatch.from_arrays([values.array], names=[""])
        return Encoded(self, payload=batch.serialize().to_pybytes())

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        schema = pa.schema([pa.field("", column.field.type)])
        place = entry.starts()[1]
        try:
            payload = pa.py_buffer(sections.payload)
            array = pa.ipc.read_record_batch(payload, schema).column(0)
            array.validate(full=True)
        except (pa.ArrowException, OSError, ValueError) as error:
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


ARROW = _Arrow()
