"""What an open file says of itself before any column: header, tail, Global VTable, dictionaries."""

from __future__ import annotations

from xxhash import xxh3_64_intdigest

from raydb.errors import NotSupportedError
from raydb.storage.flat.layout import (
    FORMAT_VERSION,
    HEADER,
    HEADER_CHECKED_BYTES,
    MAGIC,
    SECTION,
    SHARED_DICTIONARY,
    TAIL,
    TAIL_MAGIC,
    Section,
)
from raydb.storage.flat.metadata.column import File, SharedDictionary
from raydb.storage.flat.metadata.damage import damaged
from raydb.storage.flat.metadata.flatbuffer import RootTable


def check_header(file: File) -> None:
    """Raise unless a file begins with the header of a version that is known."""
    magic, version, size, _, checksum = HEADER.unpack_from(file.view, 0)
    if magic != MAGIC:
        raise damaged(file.path, 0, f"the magic bytes {MAGIC!r}", repr(magic))
    digest = xxh3_64_intdigest(file.view[:HEADER_CHECKED_BYTES])
    if checksum != digest:
        raise damaged(file.path, 0, f"a header with checksum {checksum:016x}", f"{digest:016x}")
    if not 1 <= version <= FORMAT_VERSION:
        raise NotSupportedError(
            f"file '{file.path}' has the format version {version}; "
            f"this RayDB reads versions 1 to {FORMAT_VERSION}"
        )
    if size != HEADER.size:
        raise damaged(file.path, 12, f"a header of {HEADER.size} bytes", size)


def read_vtable(file: File) -> tuple[RootTable, int]:
    """Return the Global VTable, which the tail names, and its offset."""
    where = len(file.view) - TAIL.size
    file.source.need([(where, len(file.view))])
    offset, length, checksum, magic = TAIL.unpack_from(file.view, where)
    if magic != TAIL_MAGIC:
        raise damaged(file.path, where + 24, f"the magic bytes {TAIL_MAGIC!r}", repr(magic))
    if offset + length != where:
        raise damaged(file.path, where, f"a Global VTable that ends at {where}", offset + length)
    view = file.section(Section(offset, length, checksum), "the Global VTable", where)
    return RootTable(file.path, offset, view), offset


def read_sections(file: File, vtable: RootTable, offset: int) -> tuple[Section, list[Section]]:
    """Return where the table metadata and the metadata of each column lie."""
    place = vtable.required(0, 8)
    file_length = int.from_bytes(vtable.view[place : place + 8], "little")
    if file_length != len(file.view):
        raise damaged(file.path, offset, f"a file of {file_length} bytes", len(file.view))
    table = Section(*SECTION.unpack_from(vtable.view, vtable.required(1, SECTION.size)))
    columns = vtable.bytes_of(2, SECTION.size)
    return table, [Section(*fields) for fields in SECTION.iter_unpack(columns)]


def read_shared(root: RootTable) -> tuple[SharedDictionary, ...]:
    """Return the dictionaries of the table tier, given the table metadata."""
    return tuple(
        SharedDictionary(Section(*fields[:3]), *fields[3:6])
        for fields in SHARED_DICTIONARY.iter_unpack(root.bytes_of(2, SHARED_DICTIONARY.size))
    )
