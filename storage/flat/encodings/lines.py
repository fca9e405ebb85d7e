"""The head of a line, u64 step and u64 fraction, before packed integers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from raydb.storage.flat.encodings.bits import Line
from raydb.storage.flat.encodings.encoding import bad_chunk

if TYPE_CHECKING:
    from raydb.storage.flat.layout import ChunkEntry
    from raydb.storage.flat.metadata.column import Column

HEAD = struct.Struct("<qQ")
_FRACTION = 2**32


def pack_head(line: Line) -> bytes:
    """Return the bytes before the packed integers of a line."""
    return HEAD.pack(line.step, line.fraction)


def read_head(column: Column, entry: ChunkEntry, payload: memoryview) -> tuple[Line, memoryview]:
    """Return the line of a chunk and the packed integers behind its head.

    Raises OperationalError for a payload without one, and for a fraction that is none.
    """
    place = entry.starts()[1]
    if len(payload) < HEAD.size:
        raise bad_chunk(column, entry, place, f"a line of {HEAD.size} bytes", len(payload))
    step, fraction = HEAD.unpack_from(payload)
    if fraction >= _FRACTION:
        raise bad_chunk(column, entry, place + 8, f"a fraction below {_FRACTION}", fraction)
    return Line(entry.reference, step, fraction), payload[HEAD.size :]
