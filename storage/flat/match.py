"""Find the rows of a chunk that equal a text, in the form in which they are stored.

FSST gives equal codes to equal texts, so that the codes are compared and nothing is decoded
(FSST, section 2.2); a dictionary has one code for a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.codecs import fsst
from raydb.storage.flat.encodings.numbers import unpack
from raydb.storage.flat.layout import Encoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from raydb.storage.flat.chunk import Chunk


def match_texts(chunk: Chunk, value: bytes, start: int, stop: int) -> NDArray[np.int64]:
    """Return the rows of the table, ascending, in which start..stop of a chunk equal a text."""
    entry = chunk.entry
    match chunk.encoding:
        case Encoding.ALL_NULL:
            found = np.empty(0, np.int64)
        case Encoding.CONSTANT:
            found = np.arange(start, stop if bytes(chunk.payload) == value else start)
        case Encoding.DICTIONARY:
            entries = chunk.entries.cast("binary" if not chunk.column.is_text else "string")
            position = entries.index(value if not chunk.column.is_text else value.decode()).as_py()
            codes = unpack(chunk.payload, entry.width, entry.row_count)[start:stop]
            found = np.flatnonzero(codes == position) + start if position >= 0 else np.arange(0)
        case _:
            needle = value
            if chunk.encoding is Encoding.FSST:
                assert chunk.symbols is not None
                needle = fsst.compress_one(chunk.symbols, value)
            found = _match_stored(chunk, needle, start, stop)
    if chunk.validity is not None and len(found):
        # A NULL has no bytes, as the empty text has none.
        found = found[unpack(chunk.validity, 1, entry.row_count)[found] > 0]
    return found + entry.first_row


def _match_stored(chunk: Chunk, needle: bytes, start: int, stop: int) -> NDArray[np.int64]:
    """Return the rows of a chunk whose stored bytes are `needle`."""
    index = chunk.index[start : stop + 1]
    rows = np.flatnonzero(index[1:] - index[:-1] == len(needle))
    begins = index[rows].astype(np.int64)
    stored = np.frombuffer(chunk.payload, np.uint8)
    # Byte by byte: after the first few hardly a row is left.
    for place, byte in enumerate(needle):
        if not len(rows):
            break
        equal = stored[begins + place] == byte
        rows, begins = rows[equal], begins[equal]
    return rows + start
