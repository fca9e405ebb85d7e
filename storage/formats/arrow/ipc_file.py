"""Arrow IPC files, which Feather's are since its version 2, and streams: .arrow, .feather, .arrows.

What the messages say is counted before anything is decompressed, and each batch is validated.
"""

from __future__ import annotations

import struct
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from raydb.errors import DataError, NotSupportedError, ProgrammingError, did_you_mean
from raydb.interrupts import check_interrupt
from raydb.room import check_room
from raydb.storage.flat.encodings.arrow import MOST_ELEMENTS, check_lengths
from raydb.storage.flat.metadata.flatbuffer import RootTable
from raydb.storage.formats.arrow.exported import exported
from raydb.storage.formats.arrow.sql_types import check_names
from raydb.storage.formats.format import Format, Setting, Use
from raydb.storage.formats.room import Room
from raydb.storage.formats.text_part import TextPart
from raydb.storage.nested import leaf_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from raydb.storage.formats.files.input_file import InputFile
    from raydb.storage.formats.options import Options

_MAGIC, _FIRST_FEATHER = b"ARROW1", b"FEA1"
# Of these intervals, older than those of months, days and nanoseconds, Python has no values.
_WITHOUT_VALUES = (pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME)
# What is raised for a damaged file; EOFError for a message that is empty.
_FAULTS = (pa.ArrowException, OSError, ValueError, EOFError, struct.error)
_STREAM_EXTENSION = ".arrows"
_COMPRESSIONS = ("none", "lz4", "zstd")
_BATCH_ROWS = 2**16
# Fields of Message, DictionaryBatch and RecordBatch in Arrow's Message.fbs.
_HEADER, _DATA = 2, 1
_LENGTH, _BUFFERS, _COMPRESSION = 0, 2, 3
_BUFFER = struct.Struct("<qq")
# Fields of Footer in File.fbs, a block's offset and lengths, and what follows the footer.
_DICTIONARIES, _BATCHES = 2, 3
_BLOCK = struct.Struct("<qi4xq")
_FOOTER_SIZE = struct.Struct("<i")
_TAIL_BYTES = 10
_SIZE = struct.Struct("<q")


class _Ipc(Format):
    name, extensions, copy_place = "arrow", ("arrow", "feather", "ipc", "arrows"), 5
    has_dictionaries = True
    options = {"compression": Setting("none, lz4 or zstd", (Use.WRITE,))}

    def open(self, file: InputFile, settings: Options) -> tuple[pa.Schema, TextPart]:
        """Return the columns of a file or a stream, and its rows, batch by batch.

        Raises DataError for what is none, or is damaged; OperationalError for one that memory_limit
        has no room for.
        """
        messages = _IpcFile(file)
        rows = messages.count_rows()

        def head(names: Sequence[str], count: int) -> pa.Table:
            found = [pa.Table.from_batches([], messages.schema).select(list(names))]
            for block in messages.blocks(names):
                found.append(block().slice(0, count))
                count -= found[-1].num_rows
                if count <= 0:
                    break
            return pa.concat_tables(found)

        return messages.schema, TextPart(messages.schema, messages.blocks, head, rows)

    def writer(self, path: str, rows: pa.Table, settings: Options) -> Callable[[BinaryIO], None]:
        compression = str(settings.get("compression", "none")).lower()
        if compression not in _COMPRESSIONS:
            near = did_you_mean(compression, _COMPRESSIONS)
            raise ProgrammingError(
                f"option compression is none, lz4 or zstd, not '{compression}'{near}"
            )
        options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
        is_stream = PurePath(path).suffix.lower() == _STREAM_EXTENSION
        make = pa.ipc.new_stream if is_stream else pa.ipc.new_file
        shown = exported(rows)

        def write(sink: BinaryIO) -> None:
            with make(sink, shown.schema, options=options) as writer:
                for batch in shown.to_batches(_BATCH_ROWS):
                    check_interrupt()
                    writer.write_batch(batch)

        return write


ARROW_IPC = _Ipc()


class _IpcFile:
    """The messages of a file; what takes its place later is another file."""

    def __init__(self, file: InputFile) -> None:
        path = self._path = file.path
        file.bring()
        self._source = file.open()
        self._room = Room(path)
        magic = self._source.read_at(8, 0)
        if magic.startswith(_FIRST_FEATHER):
            raise DataError(f"file '{path}' is a Feather file of version 1; write it as version 2")
        self._has_footer = magic.startswith(_MAGIC)
        try:
            self.schema: pa.Schema = self._reader(None).schema
            check_names(path, self.schema)
            for field in self.schema:
                if any(leaf.id in _WITHOUT_VALUES for leaf in leaf_types(field.type)):
                    where = f"file '{path}', column '{field.name}'"
                    raise NotSupportedError(f"{where}: the type {field.type} is not supported")
        except _FAULTS as error:
            raise self._damaged(error) from None

    def _reader(self, options: pa.ipc.IpcReadOptions | None) -> Any:
        if self._has_footer:
            return pa.ipc.open_file(self._source, options=options)
        return pa.ipc.open_stream(self._stream(), options=options)

    def _stream(self) -> pa.NativeFile:
        """Return the bytes of the file, to be read from their start."""
        return self._source.get_stream(0, self._source.size())

    def _messages(self) -> Iterator[pa.ipc.Message]:
        """Yield the messages of a stream, or those that the footer of a file names."""
        if not self._has_footer:
            yield from pa.ipc.MessageReader.open_stream(self._stream())
            return
        size = self._source.size()
        (length,) = _FOOTER_SIZE.unpack(self._source.read_at(4, max(size - _TAIL_BYTES, 0)))
        if not 0 < length <= size - _TAIL_BYTES:
            raise ValueError(f"a footer of {length} bytes")
        content = self._source.read_at(length, size - _TAIL_BYTES - length)
        footer = RootTable(self._path, size - _TAIL_BYTES - length, memoryview(content))
        for slot in (_DICTIONARIES, _BATCHES):
            start, count = footer.vector(slot, _BLOCK.size)
            for number in range(count):
                offset, head, body = _BLOCK.unpack_from(content, start + number * _BLOCK.size)
                if min(offset, head, body) < 0 or offset + head + body > size:
                    raise ValueError(f"a message at {offset} of {head} and {body} bytes")
                yield pa.ipc.read_message(self._source.read_at(head + body, offset))

    def _damaged(self, error: Exception) -> DataError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return DataError(f"file '{self._path}' is no Arrow file or a damaged one: {reason}")

    def count_rows(self) -> int:
        """Count the rows, and what the file needs; raises OperationalError where that is too much.

        Of compressed buffers each begins with the number of bytes that it becomes.
        """
        rows, need = 0, 0
        try:
            for message in self._messages():
                check_interrupt()
                if message.type == "schema":
                    continue
                batch = RootTable(self._path, 0, memoryview(message.metadata)).table(_HEADER)
                if message.type == "dictionary":
                    batch = batch.table(_DATA)
                else:
                    rows += _number(batch)
                need += _decompressed_bytes(batch, message.body)
                check_room(need + 8 * rows, f"file '{self._path}'")
        except _FAULTS as error:
            raise self._damaged(error) from None
        return rows

    def blocks(self, names: Sequence[str]) -> Iterator[Callable[[], pa.Table]]:
        """Yield some columns of each batch. Raises DataError for a damaged file."""
        places = [self.schema.get_field_index(name) for name in names]
        # Without any, Arrow reads all.
        options = pa.ipc.IpcReadOptions(included_fields=places or [0])
        try:
            for batch in self._batches(self._reader(options)):
                self._room.check()
                batch.validate(full=True)
                for column in batch.columns:
                    check_lengths(column, max(MOST_ELEMENTS, 8 * batch.nbytes))
                rows = pa.Table.from_batches([batch]).select(list(names))
                yield lambda rows=rows: rows  # type: ignore[misc]
        except _FAULTS as error:
            raise self._damaged(error) from None

    def _batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        if not self._has_footer:
            yield from reader
            return
        for number in range(reader.num_record_batches):
            yield reader.get_batch(number)


def _number(batch: RootTable) -> int:
    place = batch.inline(_LENGTH, 8)
    count = 0 if place is None else int(_SIZE.unpack_from(batch.view, place)[0])
    if count < 0:
        raise ValueError(f"a batch of {count} rows")
    return count


def _decompressed_bytes(batch: RootTable, body: pa.Buffer | None) -> int:
    """Return how many bytes the buffers of a batch become."""
    start, count = batch.vector(_BUFFERS, _BUFFER.size)
    if batch.inline(_COMPRESSION, 4) is None or body is None:
        return 0
    content = memoryview(body)
    total = 0
    for number in range(count):
        place, length = _BUFFER.unpack_from(batch.view, start + number * _BUFFER.size)
        if length >= _SIZE.size and 0 <= place <= len(content) - length:
            # -1 stands for bytes that are not compressed.
            total += max(_SIZE.unpack_from(content, place)[0], 0)
    return total
