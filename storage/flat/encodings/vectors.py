"""VECTORS: lists of one length, their numbers one after another as Arrow keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.storage.flat.encodings.encoding import Encoded, Encoding, bad_chunk
from raydb.storage.flat.kinds import is_vector
from raydb.storage.flat.layout import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from raydb.storage.flat.encodings.encoding import Chunk, Gather, Rows, Sections, Values
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

# So many vectors are copied without a loop, which would have to be loaded.
_FEW = 64


class _Vectors(Encoding):
    """Takes no NULLs, neither lists nor numbers: ARROW does."""

    code, name, kinds = 12, "vectors", frozenset({Kind.NESTED})

    def encode(self, values: Values, is_wanted: bool) -> Encoded | None:
        array = values.array
        if not is_vector(array.type) or array.null_count:
            return None
        numbers = array.flatten()
        if numbers.null_count or not len(numbers):
            return None
        size = numbers.type.bit_width // 8
        start = numbers.offset * size
        payload = memoryview(numbers.buffers()[1])[start : start + len(numbers) * size]
        return Encoded(self, numbers.type.bit_width, payload=payload)

    def open(self, column: Column, entry: ChunkEntry, sections: Sections) -> tuple[Any, Any]:
        place = entry.starts()[1]
        data_type = column.field.type
        if not is_vector(data_type) or entry.null_count or place:
            found = f"{data_type} with {entry.null_count} NULLs, {place} bytes in"
            raise bad_chunk(column, entry, place, "lists of numbers of one length", found)
        size, width = item_bytes(data_type), data_type.value_type.bit_width
        found_size = len(sections.payload)
        if not size or found_size != entry.row_count * size or entry.width != width:
            expected = f"{entry.row_count * size} bytes of {width} bits"
            found = f"{found_size} bytes of {entry.width} bits"
            raise bad_chunk(column, entry, place, expected, found)
        return None, vectors_of(data_type, entry.row_count, pa.py_buffer(sections.payload))

    def read(self, chunk: Chunk, rows: Rows, count: int, validity: Any) -> Any:
        array = chunk.shared
        return array[rows] if isinstance(rows, slice) else array.take(pa.array(rows))

    def item_reader(self, chunk: Chunk) -> Callable[[int], Any]:
        data_type = chunk.column.field.type
        size = item_bytes(data_type)
        dtype = data_type.value_type.to_pandas_dtype()
        payload = chunk.payload
        return lambda row: np.frombuffer(payload[row * size : row * size + size], dtype).tolist()

    def decoded_bytes(self, column: Column, entries: NDArray[Any]) -> NDArray[Any]:
        return entries["payload_length"].astype(np.float64)

    def gather(self, column: Column, width: int, flags: int) -> Gather | None:
        data, entries, data_type = column.file.bytes_, column.entries, column.field.type
        if not is_vector(data_type):
            return None  # What opens such a chunk refuses it.
        size = item_bytes(data_type)
        # Nothing is before a payload in its chunk, which begins at a multiple of 64 bytes.
        bases = entries["offset"].astype(np.int64) - entries["first_row"].astype(np.int64) * size

        def gather(rows: NDArray[np.int64], numbers: NDArray[np.int64]) -> Any:
            found = _copied(data, rows * size + bases[numbers], size)
            return vectors_of(data_type, len(rows), pa.py_buffer(found))

        return gather


def _copied(data: NDArray[np.uint8], starts: NDArray[np.int64], size: int) -> Any:
    """Return the bytes of some vectors, one after another."""
    if len(starts) <= _FEW:
        view: Any = memoryview(data.data)
        return b"".join([view[start : start + size] for start in starts.tolist()])
    from raydb.kernels.codecs.item_loops import copy_items  # noqa: PLC0415  (numba takes 0.24 s)

    found = np.empty(len(starts) * size, np.uint8)
    copy_items(data, starts, size, found)
    return found


def item_bytes(data_type: Any) -> int:
    """Return the bytes of a vector."""
    return int(data_type.list_size) * (int(data_type.value_type.bit_width) // 8)


def vectors_of(data_type: Any, count: int, numbers: Any) -> Any:
    """Return the array of so many vectors in a buffer."""
    flat = pa.Array.from_buffers(data_type.value_type, count * data_type.list_size, [None, numbers])
    return pa.FixedSizeListArray.from_arrays(flat, type=data_type)


VECTORS = _Vectors()
