"""The description of a file: its three metadata tiers as frozen values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from raydb.storage.flat.encodings import known as known_encodings
from raydb.storage.flat.layout import Flags, Kind, Tier
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from raydb.storage.flat.metadata.column import Column, SharedDictionary


@dataclass(frozen=True, slots=True)
class ChunkMetadata:
    """One column chunk. width: the bits of a stored value; own_entries: those of its dictionary.

    minimum and maximum: the zone map, None without one: int or float, bytes for texts; dates,
    times and decimals as the integers that are stored. A text maximum may be rounded up.
    """

    first_row: int
    row_count: int
    null_count: int
    encoding: str
    width: int
    offset: int
    size_bytes: int
    offset_index: bool
    own_entries: int
    own_symbols: bool
    minimum: Any
    maximum: Any
    has_nan: bool


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """One column and its chunks.

    dictionary_tier: chunk, column or table, None without a dictionary; dictionary_entries: the
    number of entries at that tier. size_bytes: chunks, filters, dictionary, symbols and metadata.
    """

    name: str
    type: Any
    modality: str
    media_types: tuple[str, ...]
    null_count: int
    chunk_rows: int
    encodings: Mapping[str, int]
    dictionary_tier: str | None
    dictionary_entries: int
    shared_dictionary: int | None
    symbol_table_bytes: int
    bloom_bytes: int
    metadata_bytes: int
    size_bytes: int
    chunks: tuple[ChunkMetadata, ...]


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """A whole file. shared_dictionaries: the number of entries of each one of the table tier."""

    path: str
    format_version: int
    size_bytes: int
    row_count: int
    metadata_bytes: int
    shared_dictionaries: tuple[int, ...]
    columns: tuple[ColumnMetadata, ...]


def describe_column(column: Column, shared: tuple[SharedDictionary, ...]) -> ColumnMetadata:
    """Return the description of a column that has been read and checked."""
    header = column.header
    chunks = tuple(_describe_chunk(column, number) for number in range(len(column.entries)))
    tier, entry_count, number = column.tier, header.dictionary_count, None
    if tier is Tier.TABLE:
        number = header.shared_dictionary
        entry_count = shared[number].entry_count
    parts = (header.dictionary, header.symbols, header.blooms)
    return ColumnMetadata(
        name=column.field.name,
        type=column.field.type,
        modality=column.modality,
        media_types=column.media_types,
        null_count=header.null_count,
        chunk_rows=header.chunk_rows,
        encodings=dict(Counter(chunk.encoding for chunk in chunks)),
        dictionary_tier=tier.name.lower() if tier else None,
        dictionary_entries=entry_count,
        shared_dictionary=number,
        symbol_table_bytes=header.symbols.length,
        bloom_bytes=header.blooms.length,
        metadata_bytes=column.metadata_length,
        size_bytes=sum(chunk.size_bytes for chunk in chunks)
        + sum(part.length for part in parts)
        + column.metadata_length,
        chunks=chunks,
    )


def _describe_chunk(column: Column, number: int) -> ChunkMetadata:
    entry, bounds = column.entry(number), column.bounds(number)
    encoding = known_encodings.ENCODINGS[entry.encoding]
    has_index = column.kind is Kind.BYTES and entry.index_length > 0
    return ChunkMetadata(
        first_row=entry.first_row,
        row_count=entry.row_count,
        null_count=entry.null_count,
        encoding=encoding.name,
        width=entry.width,
        offset=entry.offset,
        size_bytes=entry.length,
        offset_index=has_index and not entry.flags & Flags.LENGTHS,
        own_entries=entry.dictionary_count,
        own_symbols=entry.symbols_length > 0,
        minimum=bounds.minimum if bounds else None,
        maximum=bounds.maximum if bounds else None,
        has_nan=bool(entry.flags & Flags.HAS_NAN),
    )
