"""The rows of a result in a temporary file, of which windows are read while others still come.

The file is a stream of Arrow without an end: the schema, then batches of about a megabyte, whose
places are known. It has no name, and is gone with the last reference.
"""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_right
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import ipc

from raydb.storage.nested import map_leaves, rebuild

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raydb.storage.temporary_files import TemporaryFolder

# A window is cut from whole batches, so these are small.
BATCH_BYTES = 1 << 20
BATCH_ROWS = 8192


class RowsFile:
    """Rows that one thread writes and any may read.

    schema: the types of the rows as they were found; in the file those of an ENUM are texts.
    """

    def __init__(self, schema: pa.Schema, folder: TemporaryFolder) -> None:
        self.schema = pa.schema([field.with_type(_plain_type(field.type)) for field in schema])
        self._folder = folder
        self._file = folder.new_file()
        self._lock = threading.Lock()
        # Where each batch begins, in rows and in bytes, and where the next one will.
        self._rows = [0]
        self._places = [0]
        self._put(self.schema.serialize())
        self._places = [self._places[-1]]

    @property
    def row_count(self) -> int:
        """How many rows are there by now."""
        return self._rows[-1]

    @property
    def size_bytes(self) -> int:
        """What the file takes."""
        return self._places[-1]

    def write(self, batch: pa.RecordBatch) -> Iterator[int]:
        """Append rows; yield how many there are after each of the batches that these make.

        Raises OperationalError where the disk fails or is too small.
        """
        row_bytes = max(batch.nbytes // max(batch.num_rows, 1), 1)
        step = max(min(BATCH_BYTES // row_bytes, BATCH_ROWS), 1)
        columns = [
            _plain_array(column, kind)
            for column, kind in zip(batch.columns, self.schema.types, strict=True)
        ]
        plain = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        for start in range(0, plain.num_rows, step):
            part = plain.slice(start, step)
            with self._lock:
                self._put(part.serialize())
                self._rows.append(self._rows[-1] + part.num_rows)
            yield self._rows[-1]

    def window(self, offset: int, count: int) -> pa.RecordBatch:
        """Return up to `count` rows from `offset` on, fewer where the rows end or are to come."""
        parts = []
        with self._lock:
            stop = min(offset + count, self._rows[-1])
            place = bisect_right(self._rows, offset) - 1
            while self._rows[place] < stop:
                first = self._rows[place]
                batch = self._read(place)
                parts.append(batch.slice(max(offset - first, 0), stop - max(offset, first)))
                place += 1
        if not parts:
            return pa.RecordBatch.from_pylist([], self.schema)
        return pa.concat_batches(parts)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows that are there by now, a batch at a time."""
        place = 0
        while True:
            with self._lock:
                if place == len(self._rows) - 1:
                    return
                batch = self._read(place)
            yield batch
            place += 1

    def table(self) -> pa.Table:
        """Return the rows that are there by now as a table whose memory is the file."""
        with self._lock:
            self._file.flush()
            mapped = mmap.mmap(self._file.fileno(), self._places[-1], access=mmap.ACCESS_READ)
        return ipc.open_stream(pa.py_buffer(mapped)).read_all()

    def close(self) -> None:
        """Give the file up; tables that were made of it stay readable."""
        with self._lock:
            self._file.close()
            self._rows = [0]

    def _put(self, message: pa.Buffer) -> None:
        self._folder.take(message.size)
        try:
            self._file.seek(0, 2)
            self._file.write(memoryview(message))
            self._file.flush()
        except OSError as error:
            raise self._folder.failed(error) from error
        self._places.append(self._places[-1] + message.size)

    def _read(self, place: int) -> pa.RecordBatch:
        start, end = self._places[place], self._places[place + 1]
        self._file.seek(start)
        return ipc.read_record_batch(pa.py_buffer(self._file.read(end - start)), self.schema)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type without dictionaries, which a batch alone does not hold."""
    if not (pa.types.is_nested(kind) or pa.types.is_dictionary(kind)):
        return kind
    return map_leaves(kind, lambda leaf: getattr(leaf, "value_type", leaf))


def _plain_array(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type == kind:
        return array
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    return rebuild(array, kind, _plain_array)
