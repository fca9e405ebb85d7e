"""Rows found by the values of some of their columns: those of a key or of an index.

    codes   3  5  9  12     ascending: a lone integer itself, of other values a hash
    rows    7  2  0   4     the number of the row that has each code

Rows are only ever added at the end of a table, and keep their numbers until VACUUM, so what is
sorted once is right for all later versions. Rows that were added are compared one by one, and
sorted as a further segment when they are many; a segment is sorted again, with the one before it,
once it is as large, so that a row is sorted about log2(rows) times.

Two values may have one code: what is found is all rows with the values, and perhaps others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from raydb.interrupts import beside
from raydb.kernels.codecs.arrow_numbers import words_of
from raydb.storage.row_hashes import add_to_hashes
from raydb.storage.tables.keys import find_rows
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.storage.tables.keys import Columns
    from raydb.storage.tables.rows import Rows

_Integer = TypeVar("_Integer", bound=np.integer[Any])

# Of fewer rows all are compared in 0.1 ms.
MIN_ROWS = 16_384

# So many look-ups are made without an index: sorting 6 M rows takes 0.6 s, comparing all of them
# 0.07 s, and finding one in files by zone maps and bloom filters 2 ms.
_COMPARED_IN_MEMORY = 4
_COMPARED_IN_FILES = 64

# Added rows are sorted from so many on; to compare them takes about 20 us.
_MAX_UNSORTED = 4096

# More keys at once are a join's work.
MAX_KEYS = 64

# Of more candidates for a key it is no better to look at each than at all rows.
_MAX_COMPARED = 4096

# What sorting takes a row, at most, and what stays of it.
SORTING_BYTES = 36


@dataclass(frozen=True, eq=False, slots=True)
class _Segment:
    """The rows from `start` to before `stop`, by code; rows is None where they are in order.

    codes: int64, ascending, shape (stop - start,); rows: int32, counted from `start`, likewise.
    """

    start: int
    stop: int
    codes: NDArray[np.int64]
    rows: NDArray[np.int32] | None


@dataclass(frozen=True, eq=False, slots=True)
class KeyIndex:
    """The segments of the first rows, one after the other; asked: look-ups before there was one."""

    segments: tuple[_Segment, ...] = ()
    asked: int = 0

    @property
    def row_count(self) -> int:
        """The number of rows that are sorted."""
        return self.segments[-1].stop if self.segments else 0


def is_searchable(kind: pa.DataType) -> bool:
    """Whether rows can be found by a column of a type: equal values have equal codes."""
    types = pa.types
    return not (
        types.is_floating(kind)
        or types.is_interval(kind)
        or types.is_nested(kind)
        or types.is_null(kind)
    )


def candidates(
    rows: Rows,
    names: tuple[str, ...],
    keys: Sequence[pa.Array | pa.ChunkedArray],
    most: int,
    room: int | None,
    *,
    decodes: bool = False,
) -> NDArray[np.int64] | None:
    """Return the ascending numbers of rows, among them all that have one of some keys.

    names: columns of searchable types; keys: the values of each in the keys, of the column's type.
    decodes: whether columns of files are decoded to compare all rows. None where there are more
    than `most`, and where all rows are to be compared still: they are few, nobody has asked often
    enough, or sorting them takes more than `room` bytes (None: any number).
    """
    in_memory = decodes or all(rows.is_decoded(name) for name in names)
    index = _index_of(rows, names, room, in_memory)
    if index is None:
        return None
    sought = _codes(
        [key if isinstance(key, pa.ChunkedArray) else pa.chunked_array([key]) for key in keys]
    )
    found = []
    for segment in index.segments:
        lows = np.searchsorted(segment.codes, sought, "left").tolist()
        highs = np.searchsorted(segment.codes, sought, "right").tolist()
        for low, high in zip(lows, highs, strict=True):
            most -= high - low
            if most < 0:
                return None
            if low < high:
                places = np.arange(low, high) if segment.rows is None else segment.rows[low:high]
                found.append(places + np.int64(segment.start))
    if index.row_count < rows.row_count:
        added = _codes(rows.only(((index.row_count, rows.row_count),)).columns(names))
        found.append(np.flatnonzero(np.isin(added, sought)) + index.row_count)
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)


def find_few(
    rows: Rows, live: NDArray[np.bool_] | None, names: tuple[str, ...], keys: Columns
) -> NDArray[np.int32] | None:
    """Return for some keys the number of the live row with each, as `find_rows` does.

    None where all rows are to be compared. No two live rows have the same key.
    """
    kinds = [rows.schema.field(name).type for name in names]
    same = all(kind == key.type for kind, key in zip(kinds, keys, strict=True))
    if not same or len(keys[0]) > MAX_KEYS or not all(map(is_searchable, kinds)):
        return None
    numbers = candidates(rows, names, keys, _MAX_COMPARED, None, decodes=True)
    if numbers is None:
        return None
    if live is not None:
        numbers = numbers[live[numbers]]
    found = find_rows(keys, [rows.take(name, numbers) for name in names])
    hit = found >= 0
    found[hit] = numbers[found[hit]]
    return found


def _index_of(
    rows: Rows, names: tuple[str, ...], room: int | None, in_memory: bool
) -> KeyIndex | None:
    """Return the index of some columns, which knows nearly all rows; None where it is not worth it.

    It is kept with the rows.
    """
    count = rows.row_count
    index = rows.key_indexes.get(names, KeyIndex())
    if not index.segments:
        if count < MIN_ROWS or (room is not None and room < count * SORTING_BYTES):
            return None
        if index.asked < (_COMPARED_IN_MEMORY if in_memory else _COMPARED_IN_FILES):
            rows.key_indexes[names] = replace(index, asked=index.asked + 1)
            return None
    added = count - index.row_count
    if added > (_MAX_UNSORTED if in_memory else 0):
        segments = list(index.segments)
        start = index.row_count
        while segments and segments[-1].stop - segments[-1].start <= count - start:
            start = segments.pop().start
        segment = beside(lambda: _sorted(rows, names, start), count - start)
        index = KeyIndex((*segments, segment))
        rows.key_indexes[names] = index
    return index


def _sorted(rows: Rows, names: tuple[str, ...], start: int) -> _Segment:
    """Sort the rows from number `start` on; what is decoded for it is not kept."""
    codes = _codes(rows.only(((start, rows.row_count),)).columns(names))
    stop = start + len(codes)
    if bool((codes[1:] >= codes[:-1]).all()):
        return _Segment(start, stop, _held(codes), None)
    order = np.argsort(codes)
    return _Segment(start, stop, _held(codes[order]), _held(order.astype(np.int32)))


def _held(array: NDArray[_Integer]) -> NDArray[_Integer]:
    """Return an array in memory of Arrow's, which a memory limit counts."""
    held: NDArray[_Integer] = np.frombuffer(pa.allocate_buffer(array.nbytes), array.dtype)
    held[:] = array
    return held


def _codes(columns: Sequence[pa.ChunkedArray]) -> NDArray[np.int64]:
    """Return a code for each row, equal where the values of all columns are."""
    row_count = len(columns[0])
    if len(columns) == 1 and _is_word(columns[0].type):
        words = [words_of(chunk) for chunk in columns[0].chunks]
        joined = np.concatenate(words) if words else np.empty(0, np.int64)
        return joined.astype(np.int64, copy=False)
    hashes = np.zeros(row_count, np.uint64)
    for column in columns:
        start = 0
        for chunk in column.chunks:
            add_to_hashes(chunk, hashes[start : start + len(chunk)])
            start += len(chunk)
    return hashes.view(np.int64)


def _is_word(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_signed_integer(kind) or types.is_temporal(kind))
