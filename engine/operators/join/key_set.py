"""The keys of one side of a join as a bitmap, which tells rows of the other side without a partner.

    keys = key_set(values, bytes)      a bit for each code from the least key to the greatest
    keys.rows(others)                  the rows whose bit is set
    KeyFilters([...]).rows(rows)       the rows that pass several, found before one is copied

NULL is no key. Codes are those by which joins compare, so only columns of one type meet.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from raydb.engine.operators.codes import integer_codes
from raydb.engine.operators.relation import MORSEL_ROWS, joined
from raydb.interrupts import check_interrupt
from raydb.storage.in_order import in_order
from raydb.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from raydb.engine.operators.relation import Relation
    from raydb.planner.expressions.nodes import Column

# Filters are put in the order of how many of so many rows pass.
_SAMPLE_ROWS = 256

# To copy the rows that pass takes longer than to join them all where more than this share does.
_MOST_PASSING = 0.9

# A bitmap is no larger, and takes at most this share of the room.
_MOST_BYTES = 2**25
_SHARE = 16


@dataclass(frozen=True, eq=False, slots=True)
class KeySet:
    """Some keys, `count` of them distinct; least and most: their bounds, as values of a column."""

    words: NDArray[np.uint64]
    origin: int
    count: int
    least: pa.Scalar
    most: pa.Scalar

    def rows(
        self, values: pa.ChunkedArray | pa.Array, among: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32] | None:
        """Return the numbers of the rows whose value may be a key, None for all rows.

        among: the rows to look at, None for all.
        """
        from raydb.kernels.codecs.key_loops import (  # noqa: PLC0415  (numba: 0.24 s)
            drop_nulls,
            rows_with_keys,
            some_with_keys,
        )

        codes = integer_codes(values)
        if codes is None:
            return among
        if among is None:
            found = np.empty(len(codes), np.int32)
            rows = found[: rows_with_keys(codes, self.origin, self.words, found)]
        else:
            found = np.empty(len(among), np.int32)
            rows = found[: some_with_keys(codes, self.origin, self.words, among, found)]
        if values.null_count:
            whole = joined(values)
            bits = np.frombuffer(whole.buffers()[0], np.uint8)
            rows = rows[: drop_nulls(bits, whole.offset, rows)]
        return rows

    def marks(self, values: pa.ChunkedArray | pa.Array) -> NDArray[np.bool_]:
        """Return for each row whether its value may be a key."""
        rows = self.rows(values)
        if rows is None:
            return np.ones(len(values), np.bool_)
        found = np.zeros(len(values), np.bool_)
        found[rows] = True
        return found

    def mask(self, values: pa.ChunkedArray | pa.Array) -> pa.Array:
        """Return the marks as an array of Arrow's."""
        return pa.array(self.marks(values))


@dataclass(frozen=True, eq=False, slots=True)
class KeyFilters:
    """Columns, and the keys that their values may be, of filters that stand in a row."""

    filters: Sequence[tuple[Column, KeySet]]

    def strictest_first(self, rows: Relation) -> KeyFilters:
        """Return the filters in the order of how many rows of a sample pass them.

        One that nearly all rows pass is left out: what it drops, the join drops too.
        """
        step = rows.row_count // _SAMPLE_ROWS
        if step <= 1:
            return self
        asked = rows.select({column: None for column, _ in self.filters})
        some = asked.take(pa.array(np.arange(0, rows.row_count, step)))
        found = [keys.rows(some.columns[column]) for column, keys in self.filters]
        shares = [1.0 if each is None else len(each) / some.row_count for each in found]
        order = np.argsort(shares, kind="stable")
        return KeyFilters([self.filters[place] for place in order if shares[place] < _MOST_PASSING])

    def rows(self, rows: Relation) -> NDArray[np.int32] | None:
        """Return the numbers of the rows that pass all filters, None for all rows."""
        found = None
        for column, keys in self.filters:
            found = keys.rows(rows.columns[column], found)
        return found

    def rows_in_threads(self, rows: Relation) -> NDArray[np.int32] | None:
        """Do what `rows` does, on morsels in threads."""
        asked = rows.select({column: None for column, _ in self.filters})
        filters = self.strictest_first(asked)

        def find(start: int) -> NDArray[np.int32] | None:
            found = filters.rows(asked.slice(start, MORSEL_ROWS))
            return None if found is None else found + np.int32(start)

        parts = list(in_order(find, range(0, rows.row_count, MORSEL_ROWS)))
        found = [part for part in parts if part is not None]
        return np.concatenate(found) if len(found) == len(parts) else None


def key_set(values: pa.ChunkedArray | pa.Array, room: int | None = None) -> KeySet | None:
    """Return the values but NULL as a set; None where they have no codes, or far apart ones.

    room: the bytes that an operator may take, None for any number.
    """
    from raydb.kernels.codecs.key_loops import set_keys  # noqa: PLC0415  (as above)

    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    parts = []
    for chunk in chunks:
        check_interrupt()
        known = chunk.drop_null()
        codes = integer_codes(known)
        if codes is None:
            return None
        if len(codes):
            parts.append((codes, known))
    if not parts:
        nothing = pa.scalar(None, values.type)
        return KeySet(np.zeros(1, np.uint64), 0, 0, nothing, nothing)
    lows = [
        (int(codes[low]), known[low]) for codes, known in parts for low in [int(codes.argmin())]
    ]
    highs = [(int(codes[at]), known[at]) for codes, known in parts for at in [int(codes.argmax())]]
    least, first = min(lows, key=itemgetter(0))
    most, last = max(highs, key=itemgetter(0))
    word_count = (most - least + 1) // 64 + 1
    if 8 * word_count > (_MOST_BYTES if room is None else min(_MOST_BYTES, room // _SHARE)):
        return None
    words = np.zeros(word_count, np.uint64)
    count = sum(set_keys(codes, least, words) for codes, _ in parts)
    return KeySet(words, least, count, first, last)
