"""The FlatBuffers of the three metadata tiers and of the Global VTable, as they are written.

The builder of the flatbuffers package takes 50 µs a table, as much as Parquet needs for a whole
column of 1,000 rows. All columns with as many chunks have metadata of one shape, though: a shape
is built once, with zeros, and what is between its fields joins those of each column.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import flatbuffers

from raydb.storage.flat.layout import (
    CHUNK_ENTRY,
    CHUNK_RANGE,
    COLUMN_HEADER,
    SECTION,
    SHARED_DICTIONARY,
)
from raydb.storage.flat.metadata.flatbuffer import RootTable


class _Field(NamedTuple):
    """A field of a table in flatstor.fbs: the bytes of its struct or number, or of an item."""

    size: int
    is_vector: bool = True
    is_number: bool = False


class _Shape(NamedTuple):
    """The bytes of a table, without those of its fields.

    length: with them. order: the fields that have bytes, as they lie. between: the bytes before
    each of these, and behind the last one.
    """

    length: int
    order: tuple[int, ...]
    between: tuple[bytes, ...]


_NUMBER = _Field(8, is_vector=False, is_number=True)
_BYTES = _Field(1)
_OFFSETS = _Field(4)
# The fields of flatstor.fbs, in its order.
_TABLES = {
    "chunk": (
        _Field(CHUNK_ENTRY.size, is_vector=False),
        _Field(CHUNK_RANGE.size, is_vector=False),
        _BYTES,
        _BYTES,
    ),
    "column": (
        _Field(COLUMN_HEADER.size, is_vector=False),
        _Field(CHUNK_ENTRY.size),
        _Field(8),
        _Field(CHUNK_RANGE.size),
        _BYTES,
        _OFFSETS,
        _OFFSETS,
        _BYTES,
        _BYTES,
    ),
    "table": (_NUMBER, _BYTES, _Field(SHARED_DICTIONARY.size)),
    "vtable": (_NUMBER, _Field(SECTION.size, is_vector=False), _Field(SECTION.size)),
}


def compose_chunk(entry: bytes, value_range: bytes, minimum: bytes, maximum: bytes) -> bytes:
    """Return the ChunkMetadata of a packed ChunkEntry and its zone map."""
    return _stamp("chunk", (entry, value_range, minimum, maximum))


def chunk_metadata_length(range_size: int, minimum_size: int, maximum_size: int) -> int:
    """Return the length of the ChunkMetadata whose fields have these sizes."""
    return _shape("chunk", (CHUNK_ENTRY.size, range_size, minimum_size, maximum_size)).length


def compose_column(header: bytes, *vectors: bytes | bytearray) -> bytes:
    """Return the ColumnMetadata of packed structs; an empty vector is left out.

    vectors: entries, checksums, ranges, text bounds, their offsets, bloom starts, media types,
    the name of an added modality.
    """
    return _stamp("column", (header, *vectors))


def compose_table(row_count: int, schema: bytes, dictionaries: bytes) -> bytes:
    """Return the TableMetadata of an Arrow IPC schema and packed SharedDictionary structs."""
    return _stamp("table", (row_count.to_bytes(8, "little"), schema, dictionaries))


def compose_vtable(file_length: int, table: bytes, columns: bytes) -> bytes:
    """Return the GlobalVTable of packed Section structs."""
    return _stamp("vtable", (file_length.to_bytes(8, "little"), table, columns))


def _stamp(name: str, contents: tuple[bytes | bytearray, ...]) -> bytes:
    _, order, between = _shape(name, tuple(map(len, contents)))
    pieces: list[bytes | bytearray] = [between[0]]
    for field, after in zip(order, between[1:], strict=True):
        pieces += (contents[field], after)
    return b"".join(pieces)


@lru_cache(maxsize=512)
def _shape(name: str, sizes: tuple[int, ...]) -> _Shape:
    fields = _TABLES[name]
    builder = flatbuffers.Builder(sum(sizes) + 256)
    vectors = [
        _blank_vector(builder, field, size) for field, size in zip(fields, sizes, strict=True)
    ]
    builder.StartObject(len(fields))
    for slot, (field, size, vector) in enumerate(zip(fields, sizes, vectors, strict=True)):
        if not size:
            continue
        if field.is_number:
            builder.PrependUint64Slot(slot, 1, 0)  # A zero would be left out, as the default.
        elif field.is_vector:
            builder.PrependUOffsetTRelativeSlot(slot, vector, 0)
        else:
            builder.Prep(8, size)
            builder.Pad(size)
            builder.PrependStructSlot(slot, builder.Offset(), 0)
    builder.Finish(builder.EndObject())
    blank = bytes(builder.Output())
    positions = _positions(blank, fields, sizes)
    order = sorted([slot for slot, size in enumerate(sizes) if size], key=positions.__getitem__)
    starts = [positions[slot] for slot in order]
    ends = [0, *(positions[slot] + sizes[slot] for slot in order)]
    cuts = zip(ends, [*starts, len(blank)], strict=True)
    return _Shape(len(blank), tuple(order), tuple([blank[end:start] for end, start in cuts]))


def _blank_vector(builder: Any, field: _Field, size: int) -> int:
    if not field.is_vector or not size:
        return 0
    builder.StartVector(field.size, size // field.size, min(8, field.size))
    builder.Pad(size)
    return int(builder.EndVector())


def _positions(blank: bytes, fields: tuple[_Field, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    root = RootTable("", 0, memoryview(blank))
    positions = []
    for slot, (field, size) in enumerate(zip(fields, sizes, strict=True)):
        if not size:
            positions.append(0)
        elif field.is_vector:
            positions.append(root.vector(slot, field.size)[0])
        else:
            positions.append(root.required(slot, size))
    return tuple(positions)
