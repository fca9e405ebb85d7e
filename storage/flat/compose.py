"""Build the FlatBuffers of the three metadata tiers and of the Global VTable.

The builder of the flatbuffers package takes 50 µs a table, as much as Parquet needs for a whole
column of 1,000 rows. All columns with as many chunks have metadata of one shape, though: a shape
is built once, with zeros, and its bytes are stamped into copies.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import flatbuffers

from raydb.storage.flat.flatbuffer import RootTable
from raydb.storage.flat.generated import ChunkMetadata as Chunk
from raydb.storage.flat.generated import ColumnMetadata as Column
from raydb.storage.flat.generated import GlobalVTable as VTable
from raydb.storage.flat.generated import TableMetadata as Table
from raydb.storage.flat.layout import (
    CHUNK_ENTRY,
    CHUNK_RANGE,
    COLUMN_HEADER,
    SECTION,
    SHARED_DICTIONARY,
)

_SCALAR = 8

if TYPE_CHECKING:
    from collections.abc import Callable


class _Field(NamedTuple):
    """A field: what adds it, what starts its vector (None: it lies in the table), item bytes."""

    add: Callable[..., None]
    start: Callable[..., Any] | None
    item_size: int


class _Shape(NamedTuple):
    """The bytes of a table with zeros in its fields, and where each field's bytes begin."""

    blank: bytes
    positions: tuple[int, ...]


_TABLES: dict[str, tuple[Any, tuple[_Field, ...]]] = {
    "chunk": (
        Chunk,
        (
            _Field(Chunk.AddEntry, None, CHUNK_ENTRY.size),
            _Field(Chunk.AddRange, None, CHUNK_RANGE.size),
            _Field(Chunk.AddTextMinimum, Chunk.StartTextMinimumVector, 1),
            _Field(Chunk.AddTextMaximum, Chunk.StartTextMaximumVector, 1),
        ),
    ),
    "column": (
        Column,
        (
            _Field(Column.AddHeader, None, COLUMN_HEADER.size),
            _Field(Column.AddChunks, Column.StartChunksVector, CHUNK_ENTRY.size),
            _Field(Column.AddChecksums, Column.StartChecksumsVector, 8),
            _Field(Column.AddRanges, Column.StartRangesVector, CHUNK_RANGE.size),
            _Field(Column.AddTextBounds, Column.StartTextBoundsVector, 1),
            _Field(Column.AddTextBoundOffsets, Column.StartTextBoundOffsetsVector, 4),
            _Field(Column.AddBloomStarts, Column.StartBloomStartsVector, 4),
            _Field(Column.AddMediaTypes, Column.StartMediaTypesVector, 1),
        ),
    ),
    "table": (
        Table,
        (
            _Field(Table.AddRowCount, None, _SCALAR),
            _Field(Table.AddSchema, Table.StartSchemaVector, 1),
            _Field(
                Table.AddSharedDictionaries,
                Table.StartSharedDictionariesVector,
                SHARED_DICTIONARY.size,
            ),
        ),
    ),
    "vtable": (
        VTable,
        (
            _Field(VTable.AddFileLength, None, _SCALAR),
            _Field(VTable.AddTable, None, SECTION.size),
            _Field(VTable.AddColumns, VTable.StartColumnsVector, SECTION.size),
        ),
    ),
}


def compose_chunk(entry: bytes, value_range: bytes, minimum: bytes, maximum: bytes) -> bytes:
    """Return the ChunkMetadata of a packed ChunkEntry and its zone map."""
    return _stamp("chunk", (entry, value_range, minimum, maximum))


def chunk_metadata_length(range_size: int, minimum_size: int, maximum_size: int) -> int:
    """Return the length of the ChunkMetadata whose fields have these sizes."""
    return len(_shape("chunk", (CHUNK_ENTRY.size, range_size, minimum_size, maximum_size)).blank)


def compose_column(
    header: bytes,
    entries: bytes,
    checksums: bytes,
    ranges: bytes,
    text_bounds: bytes,
    text_bound_offsets: bytes,
    bloom_starts: bytes,
    media_types: bytes,
) -> bytes:
    """Return the ColumnMetadata of packed structs; an empty vector is left out."""
    vectors = (entries, checksums, ranges, text_bounds, text_bound_offsets)
    return _stamp("column", (header, *vectors, bloom_starts, media_types))


def compose_table(row_count: int, schema: bytes, dictionaries: bytes) -> bytes:
    """Return the TableMetadata of an Arrow IPC schema and packed SharedDictionary structs."""
    return _stamp("table", (row_count.to_bytes(8, "little"), schema, dictionaries))


def compose_vtable(file_length: int, table: bytes, columns: bytes) -> bytes:
    """Return the GlobalVTable of packed Section structs."""
    return _stamp("vtable", (file_length.to_bytes(8, "little"), table, columns))


def _stamp(name: str, contents: tuple[bytes, ...]) -> bytes:
    blank, positions = _shape(name, tuple(map(len, contents)))
    stamped = bytearray(blank)
    for position, content in zip(positions, contents, strict=True):
        if content:
            stamped[position : position + len(content)] = content
    return bytes(stamped)


@lru_cache(maxsize=512)
def _shape(name: str, sizes: tuple[int, ...]) -> _Shape:
    module, fields = _TABLES[name]
    builder = flatbuffers.Builder(sum(sizes) + 256)
    vectors = [
        _blank_vector(builder, field, size) for field, size in zip(fields, sizes, strict=True)
    ]
    module.Start(builder)
    for field, size, vector in zip(fields, sizes, vectors, strict=True):
        if not size:
            continue
        if field.item_size == _SCALAR and field.start is None:
            field.add(builder, 1)  # A zero would be left out, as the default.
        elif field.start is None:
            builder.Prep(8, size)
            builder.Pad(size)
            field.add(builder, builder.Offset())
        else:
            field.add(builder, vector)
    builder.Finish(module.End(builder))
    blank = bytes(builder.Output())
    return _Shape(blank, _positions(blank, fields, sizes))


def _blank_vector(builder: Any, field: _Field, size: int) -> int:
    if field.start is None or not size:
        return 0
    field.start(builder, size // field.item_size)
    builder.Pad(size)
    return int(builder.EndVector())


def _positions(blank: bytes, fields: tuple[_Field, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    root = RootTable("", 0, memoryview(blank))
    positions = []
    for slot, (field, size) in enumerate(zip(fields, sizes, strict=True)):
        if not size:
            positions.append(0)
        elif field.start is None:
            positions.append(root.required(slot, size))
        else:
            positions.append(root.vector(slot, field.item_size)[0])
    return tuple(positions)
