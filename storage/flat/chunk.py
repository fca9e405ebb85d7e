"""One column chunk of an open file: verified once, then read by single rows and as Arrow arrays.

open_chunk -> Chunk (its sections, checked against each other)
item_reader -> a function from a row to its Python value, some of it in 1 µs
read_rows -> an Arrow array of any rows, without a copy where the bytes are Arrow's
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.kernels.codecs.rows.entries import Places, are_loops_loaded, text_loops
from raydb.storage.flat.encodings.bits import unpack
from raydb.storage.flat.encodings.encoding import Chunk, Piece, Sections, bad_chunk
from raydb.storage.flat.encodings.gather import payload_places
from raydb.storage.flat.encodings.integers import run_validity
from raydb.storage.flat.encodings.known import ENCODINGS
from raydb.storage.flat.encodings.runs import runs_bytes
from raydb.storage.flat.encodings.validity import open_validity
from raydb.storage.flat.kinds import array_of, pooled
from raydb.storage.flat.layout import CHUNK_ENTRY, MAX_PAYLOAD_BYTES, ChunkEntry, Flags, Kind
from raydb.storage.flat.metadata.damage import damaged
from raydb.storage.flat.metadata.flatbuffer import RootTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from raydb.storage.flat.encodings.encoding import Rows
    from raydb.storage.flat.metadata.column import Column


def open_chunk(column: Column, number: int) -> Chunk:
    """Return a chunk of a column after checking its checksum and every length and code in it.

    Raises OperationalError, naming file, offset, expected and found.
    """
    file, entry = column.file, column.entry(number)
    index_start, payload_start, dictionary_start, symbols_start, metadata_start = entry.starts()
    end = entry.offset + metadata_start + entry.metadata_length
    wanted = int(column.checksums[number])
    digest = file.source.digest(entry.offset, end, wanted)
    if digest != wanted:
        expected = f"chunk {number} of column '{column.field.name}' with checksum {wanted:016x}"
        raise damaged(file.path, entry.offset, expected, f"{digest:016x}")
    if entry.payload_length > MAX_PAYLOAD_BYTES:
        expected = f"a payload of at most {MAX_PAYLOAD_BYTES} bytes"
        raise bad_chunk(column, entry, 0, expected, entry.payload_length)
    view = file.view[entry.offset : end]
    sections = Sections(
        view[index_start : index_start + entry.index_length],
        view[payload_start : payload_start + entry.payload_length],
        view[dictionary_start : dictionary_start + entry.dictionary_length],
        view[symbols_start : symbols_start + entry.symbols_length],
    )
    encoding = ENCODINGS[entry.encoding]
    index, shared = encoding.open(column, entry, sections)
    validity = open_validity(column, number, entry, view[: entry.validity_length])
    return Chunk(column, entry, encoding, validity, sections.payload, index, shared)


def check_chunk_metadata(chunk: Chunk) -> None:
    """Raise unless the metadata beside a chunk are those that its column holds of it."""
    column, entry = chunk.column, chunk.entry
    start = entry.starts()[4]
    place = entry.offset + start
    view = column.file.view[place : place + entry.metadata_length]
    root = RootTable(column.file.path, place, view)
    own = ChunkEntry._make(CHUNK_ENTRY.unpack_from(view, root.required(0, CHUNK_ENTRY.size)))
    if own != entry:
        raise bad_chunk(column, entry, start, f"the entry {tuple(entry)}", tuple(own))


def read_rows(chunk: Chunk, rows: Rows) -> Any:
    """Return the Arrow array of some rows of a chunk: a slice without a step, or row numbers."""
    row_count, validity = chunk.entry.row_count, chunk.validity
    count = len(range(*rows.indices(row_count))) if isinstance(rows, slice) else len(rows)
    if validity is None:
        return chunk.encoding.read(chunk, rows, count, None)
    if isinstance(rows, slice) and count == row_count:
        return chunk.encoding.read(chunk, rows, count, pa.py_buffer(validity))
    bits = np.packbits(unpack(validity, 1, row_count)[rows], bitorder="little")
    return chunk.encoding.read(chunk, rows, count, pa.py_buffer(bits))


def coded_rows(chunks: Sequence[Chunk], first: int) -> Any:
    """Return all texts of chunks, which share a dictionary, as Arrow's codes of its entries.

    first: the number of the first of them in their column.
    """
    pieces = [Piece(0, chunk, 0, chunk.entry.row_count) for chunk in chunks]
    codes, start = pooled(sum(piece.stop for piece in pieces), np.int32), 0
    some, column = slice(first, first + len(chunks)), chunks[0].column
    if are_loops_loaded():
        entries, payloads = column.entries[some], payload_places(column)[some]
        counts = entries["row_count"].astype(np.int64)
        in_runs = (entries["flags"] & Flags.RUNS) != 0
        places = Places(8 * (payloads + np.where(in_runs, runs_bytes(counts), 0)), counts)
        runs = np.where(in_runs, 8 * payloads, -1)
        widths = entries["width"].astype(np.uint8)
        text_loops().copy_codes(column.file.bytes_, widths, places, runs, codes)
    else:
        for piece in pieces:
            codes[start : start + piece.stop] = piece.chunk.shared.of(slice(0, piece.stop))
            start += piece.stop
    array = array_of(pa.int32(), Kind.SIGNED, codes, run_validity(pieces))
    # Codes were compared with the number of entries when the chunks were opened.
    return pa.DictionaryArray.from_arrays(array, chunks[0].shared.entries, safe=False)


def item_reader(chunk: Chunk) -> Callable[[int], Any]:
    """Return the function from a row of a chunk, which it holds, to its Python value."""
    read, validity = chunk.encoding.item_reader(chunk), chunk.validity
    if validity is None:
        return read
    return lambda row: read(row) if validity[row >> 3] >> (row & 7) & 1 else None
