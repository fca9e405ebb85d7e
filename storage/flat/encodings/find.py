"""The rows of a column that equal a text, begin with one, or lie between two integers.

    pieces   of chunks that zone maps leave, those together that one loop reads    0 1 2 | 3
    rows     of each, by what is stored of them: codes, packed integers            7 90

An encoding that no loop knows is decoded, a chunk at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raydb.kernels.codecs.rows.entries import are_loops_loaded, in_slices
from raydb.late import pc
from raydb.room import check_room
from raydb.storage.flat.encodings.encoding import Interval, Text, slices_of
from raydb.storage.flat.encodings.gather import valid_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Slices
    from raydb.storage.flat.column_reader import ColumnReader
    from raydb.storage.flat.encodings.encoding import Chunk, Piece, Wanted

# A row's number is held where it is found, and joined with others.
_NUMBER_BYTES = 24
# So many rows are worth loading the loops, which takes 0.3 s.
_MANY_ROWS = 2**22


def find_rows(
    reader: ColumnReader, wanted: Wanted, ranges: list[tuple[int, int]]
) -> NDArray[np.int64]:
    """Return the rows of ascending ranges of which a column has what is wanted, ascending."""
    if isinstance(wanted, Interval) and wanted.least > wanted.greatest:
        return np.empty(0, np.int64)
    reader.bring_rows(ranges)
    slices = reader.slices(ranges)
    count, size = slices.row_count, reader.column.dtype.itemsize
    check_room(_NUMBER_BYTES * count, f"the rows of column '{reader.column.field.name}' that match")
    parts: dict[int, NDArray[np.int64]] = {}
    if not count:
        return np.empty(0, np.int64)
    by_loops = count >= _MANY_ROWS or are_loops_loaded()
    find_some = _whole_finder(reader, wanted, int(slices.chunks[0])) if by_loops else None

    def find(first: int, last: int) -> None:
        some = slices.part(first, last)
        if find_some is not None:
            reader.open_chunks(some.chunks)
            parts[first] = find_some(some)
            return
        groups = _groups(reader.pieces(some), wanted, by_loops)
        parts[first] = np.concatenate([_find(reader, *group, wanted) for group in groups])

    in_slices(find, len(slices.chunks), count * size)
    return valid_rows(reader.column, np.concatenate([parts[first] for first in sorted(parts)]))


def _whole_finder(
    reader: ColumnReader, wanted: Wanted, number: int
) -> Callable[[Slices], NDArray[np.int64]] | None:
    """Return the function that searches rows of any chunks, of which one is given.

    None where their encodings have too little in common.
    """
    match wanted:
        case Interval() if reader.scanner.knows_all:
            return lambda slices: reader.scanner.find(slices, wanted)
        case Text() if reader.scanner.is_uniform:
            return _text_finder(reader, wanted, reader.chunk(number))
    return None


def _text_finder(
    reader: ColumnReader, wanted: Text, chunk: Chunk
) -> Callable[[Slices], NDArray[np.int64]] | None:
    """Return the function that searches chunks that have the key of one, if loops do."""
    encoding = chunk.encoding
    if encoding.find_key(chunk) is None:
        return None
    passes = encoding.passing(chunk, wanted)
    if passes is not None:
        return lambda slices: reader.scanner.find_codes(slices, passes)
    needle = encoding.needle(chunk, wanted)
    return lambda slices: reader.scanner.find_texts(slices, reader.indexes, needle, wanted.value)


def _groups(
    pieces: Iterable[Piece], wanted: Wanted, by_loops: bool
) -> list[tuple[list[Piece], bool]]:
    """Return the pieces in groups, and whether loops search them: all of a group at once."""
    groups: list[tuple[list[Piece], bool]] = []
    before: object = None
    for piece in pieces:
        chunk = piece.chunk
        own = chunk.encoding.find_key(chunk) if by_loops and isinstance(wanted, Text) else None
        key = None if own is None else (chunk.encoding, own)
        if key is None or key != before:
            groups.append(([], key is not None))
        groups[-1][0].append(piece)
        before = key
    return groups


def _find(
    reader: ColumnReader, pieces: list[Piece], are_looped: bool, wanted: Wanted
) -> NDArray[np.int64]:
    _, chunk, start, stop = pieces[0]
    match wanted:
        case Text() if are_looped:
            find_all = _text_finder(reader, wanted, chunk)
            assert find_all is not None
            return find_all(slices_of(pieces))
        case Text(value, False):
            return chunk.encoding.match(chunk, value, start, stop) + chunk.entry.first_row
        case Text(value, _):
            plain = value.decode() if chunk.column.is_text else value
            texts = chunk.encoding.read(chunk, slice(start, stop), stop - start, None)
            begins = pc.starts_with(texts, plain).to_numpy(zero_copy_only=False)
            found = np.flatnonzero(begins)
        case Interval(least, greatest):
            values = chunk.encoding.read_values(chunk, slice(start, stop), stop - start)
            found = np.flatnonzero((values >= least) & (values <= greatest))
    return found + (chunk.entry.first_row + start)
