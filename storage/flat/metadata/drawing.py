"""The drawing of a FlatStor file: its three metadata tiers, chunks, encodings and sizes.

pets.flat: FlatStor version 1, 2 rows, 2 columns, 1.2 KiB
`- table: metadata of all tiers above the chunks 840 B
   |- id: int64, number, 352 B, 0 NULLs, 1 chunk of 16384 rows (1 frame)
   |  `- chunk 0 at 64: rows 0 to 1, frame 1-bit, 104 B, 1 to 2
   `- caption: string, text, 416 B, 1 NULL, 1 chunk of 9360 rows (1 verbatim)
      `- chunk 0 at 192: rows 0 to 1, verbatim, 152 B, 'a dog' to 'a dog'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from raydb.storage.flat.encodings.known import ENCODINGS
from raydb.storage.flat.encodings.references import REFERENCES
from raydb.storage.flat.flat_table import open_table

if TYPE_CHECKING:
    import os

    from raydb.storage.flat.metadata.description import ChunkMetadata, ColumnMetadata

_SHOWN_CHUNKS = 8
_SHOWN_VALUE = 28
_UNITS = ("B", "KiB", "MiB", "GiB")


def inspect(path: str | os.PathLike[str]) -> str:
    """Return a drawing of a file, without reading any chunk.

    Raises OperationalError for a file that cannot be read or is damaged.
    """
    with open_table(path) as table:
        metadata = table.metadata
    columns = metadata.columns
    lines = [
        f"{metadata.path}: FlatStor version {metadata.format_version}, {metadata.row_count} rows, "
        f"{len(columns)} columns, {_bytes(metadata.size_bytes)}",
        f"`- table: metadata of all tiers above the chunks {_bytes(metadata.metadata_bytes)}",
    ]
    for number, entries in enumerate(metadata.shared_dictionaries):
        names = [column.name for column in columns if column.shared_dictionary == number]
        lines.append(f"   |- dictionary of {entries} entries, shared by {', '.join(names)}")
    for number, column in enumerate(columns):
        last = number == len(columns) - 1
        lines.append(f"   {'`' if last else '|'}- {_describe(column)}")
        indent = "      " if last else "   |  "
        lines += [indent + line for line in _chunk_lines(column.chunks)]
    return "\n".join(lines)


def _describe(column: ColumnMetadata) -> str:
    encodings = ", ".join(f"{count} {name}" for name, count in column.encodings.items())
    parts = [
        f"{column.name}: {column.type}, {column.modality}",
        *column.media_types,
        _bytes(column.size_bytes),
        _count(column.null_count, "NULL"),
        f"{_count(len(column.chunks), 'chunk')} of {column.chunk_rows} rows ({encodings})",
    ]
    if column.dictionary_tier == "table":
        parts.append(f"dictionary {column.shared_dictionary} of the table")
    elif REFERENCES.name in column.encodings:
        parts.append(f"names of {_count(column.dictionary_entries, 'file')}")
    elif column.dictionary_tier is not None:
        parts.append(f"{column.dictionary_tier} dictionary of {column.dictionary_entries} entries")
    if column.symbol_table_bytes:
        parts.append(f"symbols {_bytes(column.symbol_table_bytes)}")
    if column.bloom_bytes:
        parts.append(f"bloom filters {_bytes(column.bloom_bytes)}")
    return ", ".join(parts)


def _chunk_lines(chunks: tuple[ChunkMetadata, ...]) -> list[str]:
    lines = []
    with_width = {encoding.name for encoding in ENCODINGS.values() if encoding.shows_width}
    for number, chunk in enumerate(chunks[:_SHOWN_CHUNKS]):
        width = f" {chunk.width}-bit" if chunk.encoding in with_width else ""
        zone = ""
        if chunk.minimum is not None:
            greatest = "..." if chunk.maximum is None else _value(chunk.maximum)
            zone = f", {_value(chunk.minimum)} to {greatest}"
        own = f", {chunk.own_entries} own entries" if chunk.own_entries else ""
        own += ", own symbols" if chunk.own_symbols else ""
        last = chunk.first_row + chunk.row_count - 1
        lines.append(
            f"|- chunk {number} at {chunk.offset}: rows {chunk.first_row} to {last}, "
            f"{chunk.encoding}{width}, {_bytes(chunk.size_bytes)}{zone}{own}"
        )
    if len(chunks) > _SHOWN_CHUNKS:
        lines.append(f"`- {len(chunks) - _SHOWN_CHUNKS} more chunks")
    elif lines:
        lines[-1] = f"`{lines[-1][1:]}"
    return lines


def _value(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    shown = repr(text) if isinstance(value, bytes) else text
    return shown if len(shown) <= _SHOWN_VALUE else f"{shown[: _SHOWN_VALUE - 4]}...'"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _bytes(count: int) -> str:
    """Return a size in the unit in which it has fewest digits.

    >>> _bytes(1536)
    '1.5 KiB'
    """
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{count} B"
