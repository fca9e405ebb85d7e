"""The rows of a column that equal a text, begin with one, or lie between two integers.

    pieces   of chunks that zone maps leave, those together that share a table     0 1 2 | 3
    rows     of each, by what is stored of them: codes, packed integers            7 90

An encoding that no loop knows is decoded, a chunk at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from raydb.kernels.codecs.rows.entries import (
    Places,
    Prefix,
    are_loops_loaded,
    in_slices,
    match_loops,
)
from raydb.room import check_room
from raydb.storage.flat.encodings.encoding import Interval, Piece, Text
from raydb.storage.flat.encodings.gather import valid_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.kernels.codecs.rows.entries import Entries
    from raydb.storage.flat.column_reader import ColumnReader
    from raydb.storage.flat.encodings.encoding import Wanted

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
    pieces = [
        Piece(number, reader.chunk(number), start, stop)
        for number, start, stop in reader.pieces(ranges)
    ]
    parts: dict[int, NDArray[np.int64]] = {}

    count = sum(piece.stop - piece.start for piece in pieces)
    by_loops = count >= _MANY_ROWS or are_loops_loaded()

    def find(first: int, last: int) -> None:
        groups = _groups(pieces[first:last], wanted, by_loops)
        parts[first] = np.concatenate([_find(group, wanted, key) for key, group in groups])

    check_room(_NUMBER_BYTES * count, f"the rows of column '{reader.column.field.name}' that match")
    in_slices(find, len(pieces), count * reader.column.dtype.itemsize)
    if not parts:
        return np.empty(0, np.int64)
    return valid_rows(reader.column, np.concatenate([parts[first] for first in sorted(parts)]))


def _groups(
    pieces: list[Piece], wanted: Wanted, by_loops: bool
) -> list[tuple[object, list[Piece]]]:
    """Return the pieces in groups that one loop reads, with what they share."""
    groups: list[tuple[object, list[Piece]]] = []
    for piece in pieces:
        encoding = piece.chunk.encoding
        key = (encoding, encoding.find_key(piece.chunk, wanted)) if by_loops else None
        if key is not None and key[1] is None:
            key = None
        if key is None or not groups or key != groups[-1][0]:
            groups.append((key, []))
        groups[-1][1].append(piece)
    return groups


def _find(pieces: list[Piece], wanted: Wanted, key: object) -> NDArray[np.int64]:
    _, chunk, start, stop = pieces[0]
    if key is not None:
        return chunk.encoding.find(pieces, wanted)
    match wanted:
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


# What encodings search with


def find_texts(
    pieces: Sequence[Piece],
    begins: list[int],
    width: int,
    needle: Sequence[int] | bytes | None,
    prefix: tuple[Entries, bytes] | None,
) -> NDArray[np.int64]:
    """Return the rows of chunks behind an offset index that have some codes, or begin with bytes.

    begins: the bit of the first row's codes in each. One of needle and prefix is given.
    """
    places, firsts, out = found_places(pieces, begins)
    data = pieces[0].chunk.column.file.bytes_
    index = np.concatenate([piece.chunk.index[piece.start : piece.stop + 1] for piece in pieces])
    what = (data, np.uint64(width), places, index)
    if prefix is None:
        assert needle is not None
        codes = np.array(list(needle), np.uint64)
        count = match_loops().match_codes(*what, codes, firsts, out)
    else:
        entries, value = prefix
        wanted = Prefix.of(value, entries)
        count = match_loops().match_prefix(*what, entries, wanted, firsts, out)
    return out[:count]


def found_places(
    pieces: Sequence[Piece], begins: list[int]
) -> tuple[Places, NDArray[np.int64], NDArray[np.int64]]:
    """Return where rows lie, and what `found_rows` does."""
    counts = np.array([piece.stop - piece.start for piece in pieces], np.int64)
    return Places(np.array(begins, np.int64), counts), *found_rows(pieces)


def found_rows(pieces: Sequence[Piece]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of the first row of each chunk, and room for the numbers of all rows.

    There is room for one more, which loops write before they know that it does not match.
    """
    firsts = [piece.chunk.entry.first_row + piece.start for piece in pieces]
    count = sum(piece.stop - piece.start for piece in pieces)
    return np.array(firsts, np.int64), np.empty(count + 1, np.int64)


def find_words(
    pieces: Sequence[Piece], width: int, lows: list[int], spans: list[int]
) -> NDArray[np.int64]:
    """Return the rows of chunks whose packed integers are at most `spans` above `lows`."""
    begins = []
    for _, chunk, start, _ in pieces:
        begins.append(8 * (chunk.entry.offset + chunk.entry.starts()[1]) + start * width)
    places, firsts, out = found_places(pieces, begins)
    data, bounds = pieces[0].chunk.column.file.bytes_, np.array([lows, spans], np.uint64)
    count = match_loops().match_words(data, np.uint64(width), places, *bounds, firsts, out)
    return out[:count]
