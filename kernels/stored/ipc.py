"""Tables in Arrow's stream format, of whoever wrote them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The fields of a message, and of the record batch in it, that are looked at.
_HEADER_FIELD = 2
_COMPRESSION_FIELD = 3

# Of what Arrow computes with; the parts of a stream keep it where the stream has it.
_ALIGNMENT = 8


def read_table(data: NDArray[Any] | memoryview) -> pa.Table | None:
    """Return the table of a stream, whose columns share its bytes; None where it is none.

    Columns that would begin at odd addresses are copied: Arrow warns of them on stderr.
    Streams are written without compression. One with it is none: a few bytes could become any
    number of them.
    """
    source = pa.py_buffer(data)
    if source.address % _ALIGNMENT:
        source = pa.py_buffer(np.frombuffer(data, np.uint8).copy())
    try:
        if any(_is_compressed(message) for message in pa.ipc.MessageReader.open_stream(source)):
            return None
        table = pa.ipc.open_stream(source).read_all()
        table.validate(full=True)
    # A name that is no UTF-8 is a UnicodeError, which is a ValueError as ArrowInvalid is.
    except (pa.ArrowException, OSError, EOFError, ValueError, struct.error):
        return None
    return table


def _is_compressed(message: pa.ipc.Message) -> bool:
    """Whether a message holds rows that are compressed: its metadata is a flatbuffer."""
    if message.type != "record batch":
        # Dictionaries have rows as well, and no column is written with one.
        return bool(message.type != "schema")
    metadata = memoryview(message.metadata)
    (root,) = struct.unpack_from("<I", metadata)
    batch = _field(metadata, root, _HEADER_FIELD)
    if batch is None:
        return True
    (offset,) = struct.unpack_from("<I", metadata, batch)
    return _field(metadata, batch + offset, _COMPRESSION_FIELD) is not None


def _field(metadata: memoryview, table: int, number: int) -> int | None:
    """Return where a field of a table lies, None where it has none of that number."""
    (back,) = struct.unpack_from("<i", metadata, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", metadata, vtable)
    place = 4 + 2 * number
    if place + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, vtable + place)
    return table + offset if offset else None
