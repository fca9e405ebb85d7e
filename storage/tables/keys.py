"""Keys: the first repeated one, and the rows of another table that have them.

A key is one or more columns of equal length. Both questions are answered on one int64 code a row:

    (lo_orderkey, lo_linenumber) = (7, 2)  ->  (7 - 1) * 7 + (2 - 1) = 43

Integers, dates, times and floats are packed by their ranges; other types by their position among
the distinct values. Where both sides are known, only the range that they share is packed, so that
a few new rows narrow a large table to the few rows which can match, in one pass over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from raydb.late import pc
from raydb.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Columns = Sequence[pa.ChunkedArray]

NULL_KEY = -1
"""`find_rows`: a part of the key is NULL, so it points nowhere."""

ABSENT = -2
"""`find_rows`: no row of the target has the key."""

# A lookup array of int32 takes 4 bytes a slot: at 4 slots a row it costs 16 bytes a row of the
# smaller kind of table (a dimension) and answers in one memory access.
_LOOKUP_SLOTS = 4

# A bitmap takes one byte a slot, so 8 slots a row cost what sorting a copy of the codes does.
_BITMAP_SLOTS = 8

# Two codes below 2**31 multiply to less than 2**62.
_WIDE = 2**31

# Rows looked up at a time: the temporary codes (8 bytes each) stay in the processor's cache.
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class _Codes:
    """`codes` (int64) of the rows `rows` (int64; None: all rows in order), in [low, low + span)."""

    codes: NDArray[np.int64]
    rows: NDArray[np.int64] | None
    low: int
    span: int


@dataclass(frozen=True, slots=True)
class _Side:
    """A table's key while it is packed: the columns, rows and codes (int64) that are left."""

    columns: list[pa.ChunkedArray]
    rows: NDArray[np.int64] | None
    codes: NDArray[np.int64]


def is_key_type(data_type: pa.DataType) -> bool:
    """Tell whether columns of a type can be part of a key."""
    nested = pa.types.is_nested(data_type) or pa.types.is_null(data_type)
    return not (nested or pa.types.is_interval(data_type))


def first_repeat(columns: Columns) -> tuple[int, int] | None:
    """Return (row, earlier row) for the first row whose key an earlier row has, or None.

    A key with a NULL part equals no other key. Takes up to 16 bytes a row for a while.

    >>> first_repeat([pa.chunked_array([[1, 2, None, 2, None]])])
    (3, 1)
    """
    (packed,) = _pack([columns])
    codes = packed.codes
    if _is_ascending(codes) or not _repeats(codes, packed.low, packed.span):
        return None
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    later = int(order[1:][ordered[1:] == ordered[:-1]].min())
    earlier = int(np.flatnonzero(codes == codes[later])[0])
    return _row(packed, later), _row(packed, earlier)


def keep_first(keys: Sequence[Columns], row_count: int) -> NDArray[np.bool_]:
    """Return which rows are kept where a row goes if one that was kept before has a key of its.

    Shape (row_count,). A key with a NULL part equals no other key.

    >>> keep_first([[pa.chunked_array([[1, 2, 1, None, None]])]], 5)
    array([ True,  True, False,  True,  True])
    """
    kept = np.ones(row_count, np.bool_)
    ranks = [_ranks(columns, row_count) for columns in keys]
    if not ranks:
        return kept
    if len(ranks) == 1:
        _, first = np.unique(ranks[0], return_index=True)
        kept = ranks[0] < 0
        kept[first] = True
        return kept
    # Whether a row stays depends on the rows that stay before it, by any of their keys.
    taken: list[set[int]] = [set() for _ in ranks]
    for row in range(row_count):
        own = [int(rank[row]) for rank in ranks]
        kept[row] = not any(each in seen for each, seen in zip(own, taken, strict=True))
        if kept[row]:
            for each, seen in zip(own, taken, strict=True):
                if each >= 0:
                    seen.add(each)
    return kept


def _ranks(columns: Columns, row_count: int) -> NDArray[np.int64]:
    """Return a number for each row, equal where the keys are, and -1 for one with a NULL part."""
    (packed,) = _pack([columns])
    ranks = np.full(row_count, -1, np.int64)
    (distinct,), _ = _rank([packed.codes])
    ranks[slice(None) if packed.rows is None else packed.rows] = distinct
    return ranks


def find_rows(probe: Columns, target: Columns) -> NDArray[np.int32]:
    """Return for each row of `probe` the row of `target` with the same key, NULL_KEY or ABSENT.

    The keys of `target` are unique but for those with a NULL part, which are never found. The
    columns are compared in pairs: both integers, or both of the same type.

    Shape (len(probe[0]),). Takes up to 16 bytes a row of either side for a while.

    >>> find_rows([pa.chunked_array([[7, None, 5]])], [pa.chunked_array([[5, 6]])])
    array([-2, -1,  0], dtype=int32)
    """
    sought, known = _pack([probe, target])
    places = _match(sought, known)
    if known.rows is not None:
        hit = places >= 0
        places[hit] = known.rows[places[hit]]
    if sought.rows is None:
        return places
    found = np.full(len(probe[0]), ABSENT, np.int32)
    for column in probe:
        if column.null_count:
            found[column.is_null().to_numpy()] = NULL_KEY
    found[sought.rows] = places
    return found


def _row(packed: _Codes, place: int) -> int:
    return place if packed.rows is None else int(packed.rows[place])


def _is_ascending(codes: NDArray[np.int64]) -> bool:
    return bool((codes[1:] > codes[:-1]).all())


def _repeats(codes: NDArray[np.int64], low: int, span: int) -> bool:
    if span <= _BITMAP_SLOTS * len(codes):
        seen = np.zeros(span, np.bool_)
        for start in range(0, len(codes), _BLOCK_ROWS):
            seen[codes[start : start + _BLOCK_ROWS] - low] = True
        return int(np.count_nonzero(seen)) < len(codes)
    ordered = np.sort(codes)
    return bool((ordered[1:] == ordered[:-1]).any())


def _match(sought: _Codes, known: _Codes) -> NDArray[np.int32]:
    """Return for each sought code its place among the known ones, or ABSENT; int32."""
    if sought.span <= _LOOKUP_SLOTS * (len(sought.codes) + len(known.codes)):
        return _match_by_lookup(sought.codes, known.codes, sought.low, sought.span)
    if _LOOKUP_SLOTS * len(sought.codes) < len(known.codes):
        few = pc.is_in(pa.array(known.codes), value_set=pa.array(sought.codes))
        places = np.flatnonzero(few.to_numpy(zero_copy_only=False))
        found = _match_by_sort(sought.codes, known.codes[places])
        hit = found >= 0
        found[hit] = places[found[hit]]
        return found
    return _match_by_sort(sought.codes, known.codes)


def _match_by_lookup(
    sought: NDArray[np.int64], known: NDArray[np.int64], low: int, span: int
) -> NDArray[np.int32]:
    place_of = np.full(span, ABSENT, np.int32)
    for start in range(0, len(known), _BLOCK_ROWS):
        block = known[start : start + _BLOCK_ROWS]
        place_of[block - low] = np.arange(start, start + len(block), dtype=np.int32)
    found = np.empty(len(sought), np.int32)
    for start in range(0, len(sought), _BLOCK_ROWS):
        block = sought[start : start + _BLOCK_ROWS]
        found[start : start + len(block)] = place_of[block - low]
    return found


def _match_by_sort(sought: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.int32]:
    # Searching 6M random codes among 6M takes 4.5 s; sorting both first takes 0.6 s in all.
    found = np.full(len(sought), ABSENT, np.int32)
    if not len(known):
        return found
    order = np.argsort(known)
    ordered = known[order]
    sought_order = np.argsort(sought)
    asked = sought[sought_order]
    places = np.minimum(np.searchsorted(ordered, asked), len(ordered) - 1)
    hit = ordered[places] == asked
    found[sought_order[hit]] = order[places[hit]]
    return found


def _pack(keys: Sequence[Columns]) -> list[_Codes]:
    """Return codes for the keys of one table or two, equal where the keys are.

    Rows that cannot match are left out: with a NULL part, or outside of what the sides share.
    """
    sides = [_without_nulls(columns) for columns in keys]
    low, span = 0, 1
    for _ in keys[0]:
        if not all(len(side.columns[0]) for side in sides):
            nothing = np.empty(0, np.int64)
            return [_Codes(nothing, nothing, 0, 1) for _ in sides]
        sides, values, first, width = _share_column(sides)
        if len(keys[0]) == 1:
            # The values of a lone column are its codes: int64 columns are not even copied.
            codes = [value.astype(np.int64, copy=False) for value in values]
            low, span = first, width
        else:
            codes, span = _append_digits(sides, values, first, width, span)
        sides = [replace(side, codes=part) for side, part in zip(sides, codes, strict=True)]
    return [_Codes(side.codes, side.rows, low, span) for side in sides]


def _without_nulls(columns: Columns) -> _Side:
    valid = None
    for column in columns:
        if column.null_count:
            part = column.is_valid()
            valid = part if valid is None else pc.and_(valid, part)
    if valid is None:
        return _Side(list(columns), None, np.zeros(len(columns[0]), np.int64))
    rows = np.flatnonzero(valid.to_numpy())
    return _Side([column.filter(valid) for column in columns], rows, np.zeros(len(rows), np.int64))


def _share_column(sides: list[_Side]) -> tuple[list[_Side], list[NDArray[Any]], int, int]:
    """Take the sides' first columns, and keep the rows with values in the range all sides share.

    Returns the sides, the values, the lowest value and the width of the range (at least 1).
    """
    values = _integers([side.columns[0] for side in sides])
    first = max(int(value.min()) for value in values)
    last = min(int(value.max()) for value in values)
    kept = [_narrow(side, value, first, last) for side, value in zip(sides, values, strict=True)]
    return [side for side, _ in kept], [value for _, value in kept], first, max(last - first + 1, 1)


def _append_digits(
    sides: list[_Side], values: list[NDArray[Any]], first: int, width: int, span: int
) -> tuple[list[NDArray[np.int64]], int]:
    """Append the values, as digits of a base of `width`, to the sides' codes in [0, span)."""
    if width > _WIDE:
        values, width = _rank(values)
        first = 0
    prefixes = [side.codes for side in sides]
    if span > _WIDE:
        prefixes, span = _rank(prefixes)
    for prefix, value in zip(prefixes, values, strict=True):
        np.multiply(prefix, width, out=prefix)
        np.add(prefix, value, out=prefix)
        np.subtract(prefix, first, out=prefix)
    return prefixes, span * width


def _narrow(side: _Side, values: NDArray[Any], first: int, last: int) -> tuple[_Side, NDArray[Any]]:
    """Drop a side's first column, and its rows whose values are outside of [first, last]."""
    columns = side.columns[1:]
    if first <= int(values.min()) and int(values.max()) <= last:
        return replace(side, columns=columns), values
    inside = (values >= first) & (values <= last)
    mask = pa.array(inside)
    rows = np.flatnonzero(inside) if side.rows is None else side.rows[inside]
    left = [column.filter(mask) for column in columns]
    return _Side(left, rows, side.codes[inside]), values[inside]


def _rank(parts: list[NDArray[Any]]) -> tuple[list[NDArray[np.int64]], int]:
    """Replace the values by their positions among the distinct values of all parts."""
    distinct, ranks = np.unique(np.concatenate(parts), return_inverse=True)
    bounds = np.cumsum([len(part) for part in parts])[:-1]
    return np.split(ranks.astype(np.int64), bounds), len(distinct)


def _integers(columns: list[pa.ChunkedArray]) -> list[NDArray[Any]]:
    """Return signed integers (unsigned below 64 bits) that are equal where the values are.

    A value that only one of two sides has may become -1, a value that the other side lacks.
    """
    types = [column.type for column in columns]
    if all(pa.types.is_integer(data_type) for data_type in types):
        if not any(pa.types.is_uint64(data_type) for data_type in types):
            return [column.to_numpy() for column in columns]
        columns = [column.cast(pa.decimal128(20)) for column in columns]
    data_type = columns[0].type
    if pa.types.is_floating(data_type):
        return [float_bits(column) for column in columns]
    if pa.types.is_temporal(data_type):
        whole = pa.int32() if data_type.bit_width == 32 else pa.int64()
        return [column.cast(whole).to_numpy() for column in columns]
    if pa.types.is_boolean(data_type):
        return [column.cast(pa.uint8()).to_numpy() for column in columns]
    distinct = pc.unique(min(columns, key=len))
    return [pc.index_in(column, value_set=distinct).fill_null(-1).to_numpy() for column in columns]


def float_bits(column: pa.Array | pa.ChunkedArray) -> NDArray[np.int64]:
    """Return an integer for each floating-point number, equal where the numbers are as keys."""
    values = np.asarray(column.cast(pa.float64())) + 0.0  # -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan  # one bit pattern for every NaN
    bits: NDArray[np.int64] = values.view(np.int64)
    return bits
