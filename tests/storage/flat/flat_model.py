"""A FlatStor file as a value whose every number can be changed, and its bytes with right checksums.

    model = parse(path)                 what a written file holds
    model.columns[0].chunks[0].lies["row_count"] = 2**31
    model.to_bytes()                    whatever is wrong in it, its checksums are right

A part's `lies` replace what follows from its contents; its `scars` replace bytes of its metadata.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from raydb.storage.flat import open_table
from raydb.storage.flat.kinds import kind_of
from raydb.storage.flat.layout import (
    CHUNK_RANGE,
    HEADER,
    HEADER_CHECKED_BYTES,
    MAGIC,
    SECTION,
    SHARED_DICTIONARY,
    TAIL,
    TAIL_MAGIC,
    ChunkEntry,
    Kind,
    align,
)
from raydb.storage.flat.metadata.compose import (
    compose_chunk,
    compose_column,
    compose_table,
    compose_vtable,
)

if TYPE_CHECKING:
    from pathlib import Path

SECTIONS = ("validity", "index", "payload", "dictionary", "symbols")
_FIELD_BYTES = dict(zip(ChunkEntry._fields, (*(8,) * 3, *(4,) * 9, 1, 1, 2), strict=False))
_HEADER_FIELDS = {
    "row_count": 8,
    "null_count": 8,
    **{
        f"{name}_{part}": 8
        for name in ("dictionary", "symbols", "blooms")
        for part in ("offset", "length", "checksum")
    },
    "chunk_rows": 4,
    "dictionary_count": 4,
    "shared_dictionary": 4,
    "kind": 1,
    "modality": 1,
    "dictionary_tier": 1,
    "zero": 1,
}
HEADER_NAMES = tuple(_HEADER_FIELDS)
ENTRY_NAMES = ChunkEntry._fields


@dataclass
class Chunk:
    """A chunk: the fields of its entry that no section gives, and its sections by name."""

    fields: dict[str, int]
    sections: dict[str, bytes]
    value_range: bytes = b""
    texts: tuple[bytes, bytes] = (b"", b"")
    lies: dict[str, int] = field(default_factory=dict)


@dataclass
class Column:
    """A column: its type, its header's fields that nothing else gives, its chunks and parts."""

    type: Any
    fields: dict[str, int]
    chunks: list[Chunk]
    parts: dict[str, bytes] = field(default_factory=dict)
    has_texts: bool = False
    bloom_starts: bytes = b""
    media_types: bytes = b""
    modality_name: bytes = b""
    lies: dict[str, int] = field(default_factory=dict)
    scars: list[tuple[float, int]] = field(default_factory=list)


@dataclass
class Model:
    """A file. shared: the bytes of the table's dictionaries, with their count, kind and size."""

    row_count: int
    schema: pa.Schema
    columns: list[Column]
    shared: list[tuple[bytes, int, int, int]] = field(default_factory=list)
    schema_scars: list[tuple[float, int]] = field(default_factory=list)
    table_scars: list[tuple[float, int]] = field(default_factory=list)
    vtable_scars: list[tuple[float, int]] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """Return the file with its checksums."""
        head = HEADER.pack(MAGIC, 1, HEADER.size, 0, 0)[:HEADER_CHECKED_BYTES]
        data = bytearray(HEADER.pack(MAGIC, 1, HEADER.size, 0, xxh3_64_intdigest(head)))
        entries = [[_write_chunk(data, chunk) for chunk in each.chunks] for each in self.columns]
        parts: list[dict[str, tuple[int, int, int]]] = [{} for _ in self.columns]
        for found, each in zip(parts, self.columns, strict=True):
            found["blooms"] = _append(data, each.parts.get("blooms", b""))
        dictionaries = b""
        for contents, count, kind, size in self.shared:
            dictionaries += SHARED_DICTIONARY.pack(
                *_append(data, contents), count % 2**32, kind % 256, size % 256, 0
            )
        for found, each in zip(parts, self.columns, strict=True):
            for name in ("dictionary", "symbols"):
                found[name] = _append(data, each.parts.get(name, b""))
        sections = [
            _write_column(data, *each) for each in zip(self.columns, entries, parts, strict=True)
        ]
        schema = _scarred(self.schema.serialize().to_pybytes(), self.schema_scars)
        metadata = compose_table(self.row_count % 2**64, schema, dictionaries)
        table = SECTION.pack(*_append(data, _scarred(metadata, self.table_scars)))
        data += bytes(-len(data) % 8)
        columns = b"".join(sections)
        length = len(data) + len(compose_vtable(0, table, columns)) + TAIL.size
        vtable = _scarred(compose_vtable(length, table, columns), self.vtable_scars)
        return bytes(data) + vtable + _tail(len(data), vtable)


def _tail(offset: int, vtable: bytes) -> bytes:
    return TAIL.pack(offset, len(vtable), xxh3_64_intdigest(vtable), TAIL_MAGIC)


def _append(data: bytearray, contents: bytes) -> tuple[int, int, int]:
    """Append a section; return its offset, length and checksum, all zero if it is empty."""
    if not contents:
        return 0, 0, 0
    data += bytes(-len(data) % 8)
    data += contents
    return len(data) - len(contents), len(contents), xxh3_64_intdigest(contents)


def _scarred(contents: bytes, scars: list[tuple[float, int]]) -> bytes:
    """Return bytes some of which are replaced: those at these shares of the length."""
    changed = bytearray(contents)
    for share, value in scars:
        if changed:
            changed[int(share * len(changed))] = value
    return bytes(changed)


def _write_chunk(data: bytearray, chunk: Chunk) -> tuple[bytes, int]:
    """Append a chunk; return its entry and the checksum of what the entry names."""
    data += bytes(-len(data) % 64)
    start = len(data)
    for name in SECTIONS:
        data += bytes(-len(data) % 8)
        data += chunk.sections.get(name, b"")
    data += bytes(-len(data) % 8)
    lengths = {f"{name}_length": len(chunk.sections.get(name, b"")) for name in SECTIONS}
    named = {"offset": start, **lengths, **chunk.fields, "metadata_length": 0}
    blank = compose_chunk(bytes(64), chunk.value_range, *chunk.texts)
    named["metadata_length"] = len(blank)
    named |= chunk.lies
    packed = b"".join(
        (named[name] % 2 ** (8 * size)).to_bytes(size, "little")
        for name, size in _FIELD_BYTES.items()
    )
    data += compose_chunk(packed, chunk.value_range, *chunk.texts)
    size = sum(align(named[f"{name}_length"] % 2**32) for name in SECTIONS)
    offset, size = named["offset"] % 2**64, size + named["metadata_length"] % 2**32
    return packed, xxh3_64_intdigest(bytes(data[offset : offset + size]))


def _write_column(
    data: bytearray,
    column: Column,
    entries: list[tuple[bytes, int]],
    parts: dict[str, tuple[int, int, int]],
) -> bytes:
    """Append the metadata of a column, whose parts lie there already; return their Section."""
    named = dict.fromkeys(_HEADER_FIELDS, 0) | column.fields
    for name, section in parts.items():
        places = (f"{name}_offset", f"{name}_length", f"{name}_checksum")
        named |= dict(zip(places, section, strict=True))
    named |= column.lies
    for name in ("blooms", "dictionary", "symbols"):
        if {f"{name}_offset", f"{name}_length"} & set(column.lies):
            start, size = named[f"{name}_offset"], named[f"{name}_length"]
            named[f"{name}_checksum"] = xxh3_64_intdigest(bytes(data[start : start + size]))
    header = b"".join(
        (named[name] % 2 ** (8 * size)).to_bytes(size, "little")
        for name, size in _HEADER_FIELDS.items()
    )
    texts = [text for chunk in column.chunks for text in chunk.texts]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes() if column.has_texts else b""
    metadata = compose_column(
        header,
        b"".join(packed for packed, _ in entries),
        b"".join(digest.to_bytes(8, "little") for _, digest in entries),
        b"".join(chunk.value_range for chunk in column.chunks),
        b"".join(texts),
        offsets,
        column.bloom_starts,
        column.media_types,
        column.modality_name,
    )
    return SECTION.pack(*_append(data, _scarred(metadata, column.scars)))


def parse(path: Path) -> Model:
    """Return what a written file holds."""
    with open_table(path) as flat:
        view = flat._file.view
        shared = [
            (_bytes_at(view, each.section), each.entry_count, each.kind, each.value_size)
            for each in flat._shared
        ]
        columns = [_parse_column(view, flat.reader(name).column) for name in flat.schema.names]
        return Model(flat.row_count, flat.schema, columns, shared)


def _bytes_at(view: memoryview, section: Any) -> bytes:
    return bytes(view[section.offset : section.offset + section.length])


def _parse_column(view: memoryview, column: Any) -> Column:
    header = column.header
    parts = {name: getattr(header, name) for name in ("dictionary", "symbols", "blooms")}
    return Column(
        column.field.type,
        {name: getattr(header, name) for name in _HEADER_FIELDS if hasattr(header, name)},
        [_parse_chunk(view, column, number) for number in range(len(column.entries))],
        {name: _bytes_at(view, section) for name, section in parts.items()},
        has_texts=len(column.text_offsets) > 0,
        bloom_starts=column.bloom_starts.tobytes(),
        media_types=" ".join(column.media_types).encode(),
    )


def _parse_chunk(view: memoryview, column: Any, number: int) -> Chunk:
    entry = column.entry(number)
    starts = (0, *entry.starts()[:4])
    sections = {
        name: bytes(view[entry.offset + start :][: getattr(entry, f"{name}_length")])
        for name, start in zip(SECTIONS, starts, strict=True)
    }
    given = {"offset", "metadata_length", *(f"{name}_length" for name in SECTIONS)}
    fields = {name: value for name, value in entry._asdict().items() if name not in given}
    size = CHUNK_RANGE.size
    value_range = bytes(column.ranges[size * number : size * (number + 1)])
    texts = (b"", b"")
    if len(column.text_offsets):
        start, middle, end = column.text_offsets[2 * number : 2 * number + 3].tolist()
        texts = bytes(column.texts[start:middle]), bytes(column.texts[middle:end])
    return Chunk(fields, sections, value_range, texts)


def plain_chunk(rows: int, encoding: int, width: int = 0, **sections: bytes) -> Chunk:
    """Return a chunk of an encoding without NULLs, or of nothing else."""
    nulls = rows if encoding == 0 else 0
    fields = {"row_count": rows, "null_count": nulls, "encoding": encoding, "width": width}
    return Chunk(fields | {"reference": 0, "dictionary_count": 0, "flags": 0}, dict(sections))


def plain_column(data_type: Any, chunks: list[Chunk], shared_count: int = 0) -> Column:
    """Return a column of chunks that agree with each other, without parts of its own."""
    kind = Kind.DECIMAL if pa.types.is_decimal(data_type) else kind_of("", data_type)
    first = 0
    for chunk in chunks:
        chunk.fields["first_row"] = first
        first += chunk.fields["row_count"]
        if kind not in {Kind.BYTES, Kind.NESTED}:
            chunk.value_range = bytes(CHUNK_RANGE.size)
    fields = {
        "row_count": first,
        "null_count": sum(chunk.fields["null_count"] for chunk in chunks),
        "chunk_rows": chunks[0].fields["row_count"],
        "dictionary_count": shared_count,
        "kind": int(kind),
        "modality": 1,
        "dictionary_tier": 2 if shared_count else 0,
    }
    return Column(data_type, fields, chunks, has_texts=kind is Kind.BYTES)
